//! Task that opens a link, reads it, notices its loss, and opens it again with a capped, jittered back-off.
//!
//!   Closed --opened--> Up --end of file, error, stuck write, long silence--> Down --back-off--> Closed

use crate::backlog::{self, Backlog};
use crate::decode::{Unread, decode};
use crate::events::{Frame, LinkEvent, Sender};
use crate::framing::Framer;
use crate::handle::Shared;
use crate::raw::{Direction, RawFrame};
use crate::signing::Verdict;
use crate::signing::stamps::Stamp;
use crate::transport::{Opener, Wire};
use futures::FutureExt;
use model::backoff::Backoff;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tracing::{debug, info, warn};

const REOPEN: Backoff = Backoff {
    first: Duration::from_millis(200),
    cap: Duration::from_secs(3),
};
/// Time up after which a link resets its back-off.
const STEADY: Duration = Duration::from_secs(5);
/// Time without a byte after which an unfinished frame is suspected to be noise.
const SILENCE: Duration = Duration::from_millis(250);
/// Bytes without a single frame that mean a wrong setting.
const NO_FRAME_IN: u64 = 2000;
/// Longer than any link lives.
const NEVER: Duration = Duration::from_secs(3600 * 24 * 365);

pub(crate) struct Supervisor<O> {
    opener: O,
    name: String,
    shared: Arc<Shared>,
    events: Sender,
}

struct Session {
    opened: Instant,
    last_accepted: Option<Instant>,
    backlog: Backlog,
    framer: Framer,
    frames: u64,
    /// Bytes since the opening or the last warning, none of which made a frame.
    mute_bytes: u64,
    warned_of_signatures: bool,
}

impl Shared {
    pub async fn set_down(&self) {
        self.up.store(false, Ordering::Relaxed);
        *self.writer.lock().await = None;
    }
}

impl<O: Opener> Supervisor<O> {
    pub const fn new(opener: O, name: String, shared: Arc<Shared>, events: Sender) -> Self {
        Self {
            opener,
            name,
            shared,
            events,
        }
    }

    pub async fn run(mut self) {
        let mut failures = 0_u32;
        let mut last_reason = String::new();
        loop {
            let mut was_up = false;
            self.opener.turn().await;
            let deadline = self.opener.open_deadline();
            let why = match timeout(deadline, self.opener.open()).await {
                Ok(Ok(wire)) => {
                    was_up = true;
                    self.shared.counters.opens(1);
                    let opened = Instant::now();
                    info!(link = %self.name, "link opened");
                    let (why, accepted) = self.read_until_lost(wire).await;
                    if !accepted {
                        self.opener.nothing_accepted();
                    }
                    if opened.elapsed() >= STEADY {
                        failures = 0;
                        last_reason.clear();
                    }
                    why
                }
                Ok(Err(error)) => {
                    self.shared.counters.open_failures(1);
                    error.to_string()
                }
                Err(_) => {
                    self.shared.counters.open_failures(1);
                    format!("no answer within {} s", deadline.as_secs())
                }
            };
            if was_up || why != last_reason {
                self.events.send(LinkEvent::Down(why.clone()));
            }
            if why == last_reason {
                debug!(link = %self.name, why, "link still down");
            } else {
                warn!(link = %self.name, why, "link down, retrying for ever");
                last_reason = why;
            }
            failures = failures.saturating_add(1);
            sleep(REOPEN.delay(failures, rand::random())).await;
        }
    }

    /// Returns why the link was lost, and whether anything received was believed.
    async fn read_until_lost(&mut self, wire: Wire) -> (String, bool) {
        let Wire { mut reader, writer } = wire;
        let shared = Arc::clone(&self.shared);
        // A writer may have complained of the line before this one.
        let _ = shared.stuck.notified().now_or_never();
        *shared.writer.lock().await = Some(writer);
        shared.up.store(true, Ordering::Relaxed);
        shared
            .senders
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .forget_sequences();
        self.events.send(LinkEvent::Up);
        let patience = self.opener.silence_limit();
        let mut session = Session::new(Instant::now());
        let mut buffer = reader.buffer();
        let why = loop {
            let too_silent = session.last_accepted.unwrap_or(session.opened) + patience.unwrap_or(NEVER);
            let read = tokio::select! {
                read = reader.read(&mut buffer) => Some(read),
                () = sleep(SILENCE), if session.framer.unfinished() => None,
                () = shared.stuck.notified() => break "the line does not take what is written".to_owned(),
                () = sleep_until(too_silent), if patience.is_some() => {
                    break format!("no frame for {} s", patience.unwrap_or(NEVER).as_secs());
                }
            };
            match read {
                Some(Ok(0)) => break "the other end hung up".to_owned(),
                Some(Ok(n)) => {
                    let bytes = buffer.get(..n).unwrap_or_default();
                    let accepted_before = session.last_accepted;
                    self.take(&mut session, bytes, reader.is_datagrams());
                    if session.last_accepted != accepted_before {
                        reader.accepted();
                    }
                }
                Some(Err(error)) => break format!("reading failed: {error}"),
                None => self.take_frames(&mut session, true),
            }
        };
        shared.counters.skipped(session.framer.waiting() as u64);
        shared.set_down().await;
        (why, session.last_accepted.is_some())
    }

    fn take(&self, session: &mut Session, bytes: &[u8], is_datagram: bool) {
        self.shared.counters.bytes(bytes.len() as u64);
        session.mute_bytes += bytes.len() as u64;
        session.framer.push_at(bytes, Instant::now());
        // Nothing continues behind the end of a datagram.
        self.take_frames(session, is_datagram);
        if is_datagram {
            session.framer.forget_unfinished();
            self.shared.counters.skipped(session.framer.take_skipped());
        }
        if session.mute_bytes >= NO_FRAME_IN && session.frames == 0 {
            warn!(link = %self.name, bytes = session.mute_bytes, advice = self.opener.advice(), "bytes arrive but no MAVLink frame");
            session.mute_bytes = 0;
        }
    }

    /// `ended`: nothing will complete an unfinished frame.
    fn take_frames(&self, session: &mut Session, ended: bool) {
        loop {
            let framer = &mut session.framer;
            let next = if ended {
                framer.next_after_silence()
            } else {
                framer.next_frame()
            };
            let Some(frame) = next else { break };
            self.take_frame(session, frame);
        }
        let counters = &self.shared.counters;
        counters.skipped(session.framer.take_skipped());
        counters.bad_checksums(session.framer.take_bad_checksums());
    }

    fn take_frame(&self, session: &mut Session, frame: RawFrame) {
        let shared = &self.shared;
        let counters = &shared.counters;
        session.frames += 1;
        if !self.accepts(session, &frame) {
            return;
        }
        let decoded = decode(&frame);
        match decoded {
            Ok(_) => counters.frames(1),
            Err(Unread::Unknown) => counters.unknown(1),
            Err(Unread::Payload) => counters.unreadable(1),
        }
        session.last_accepted = Some(frame.at);
        let mut senders = shared.senders.lock().unwrap_or_else(PoisonError::into_inner);
        let lost = senders.count(frame.sender(), frame.sequence());
        drop(senders);
        counters.lost(lost);
        let boot_ms = decoded.as_ref().ok().and_then(|(_, message)| backlog::boot_ms(message));
        let since_open = frame.at.saturating_duration_since(session.opened);
        if !session.backlog.is_news(boot_ms, since_open) {
            counters.stale(1);
            return;
        }
        let at = frame.at;
        let unchecked_signature = frame.signed && shared.signer.is_none();
        shared.taps.offer(&Arc::new(frame), counters);
        if let Ok((header, message)) = decoded {
            let frame = Frame {
                header,
                message,
                at,
                unchecked_signature,
            };
            self.events.send(LinkEvent::Frame(Box::new(frame)));
        }
    }
}

impl<O: Opener> Supervisor<O> {
    fn accepts(&self, session: &mut Session, frame: &RawFrame) -> bool {
        let Some(signer) = &self.shared.signer else {
            return true;
        };
        let verdict = signer
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .check(frame, Stamp::now());
        let counters = &self.shared.counters;
        match verdict {
            Verdict::Accepted => return true,
            Verdict::Unsigned => counters.unsigned(1),
            Verdict::Bad => counters.bad_signatures(1),
            Verdict::Replayed => counters.replayed(1),
        }
        if session.last_accepted.is_none() && !session.warned_of_signatures {
            session.warned_of_signatures = true;
            warn!(link = %self.name, ?verdict, "frames arrive that are not signed as they must be, and are ignored; does the autopilot have the same key?");
        }
        false
    }
}

impl Session {
    fn new(opened: Instant) -> Self {
        Self {
            opened,
            last_accepted: None,
            backlog: Backlog::default(),
            framer: Framer::new(Direction::Autopilot),
            frames: 0,
            mute_bytes: 0,
            warned_of_signatures: false,
        }
    }
}
