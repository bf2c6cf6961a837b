//! One link to one autopilot, kept open for ever.
//!
//! Owns: [`Link`], the task that opens, reads, notices loss and reopens with a capped, jittered back-off, and
//! [`LinkHandle`], which writes. Must not: queue what is to be written, or decide what it is.
//!
//!   Closed --opened--> Up --end of file, error, stuck write--> Down --back-off--> Closed

use crate::backlog::{self, Backlog};
use crate::counters::{CounterSnapshot, Counters};
use crate::deframer::{Deframer, Found};
use crate::events::{Events, Frame, LinkEvent, Sender, queue};
use crate::transport::{Opener, UrlOpener, Wire, Writer};
use crate::url::LinkUrl;
use fleet::backoff::Backoff;
use futures::FutureExt;
use mavlink::dialects::ardupilotmega::MavMessage;
use mavlink::{MAVLinkV2MessageRaw, MavHeader};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;
use tokio::sync::{Mutex, Notify};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::{Instrument, debug, info, warn};

const OPEN_DEADLINE: Duration = Duration::from_secs(5);
const REOPEN: Backoff = Backoff {
    first: Duration::from_millis(200),
    cap: Duration::from_secs(3),
};
/// A link that was up for this long starts its back-off afresh.
const STEADY: Duration = Duration::from_secs(5);
/// After this long without a byte an unfinished frame is suspected to be none.
const SILENCE: Duration = Duration::from_millis(250);
/// This many bytes without a single frame mean that something is set wrong.
const NO_FRAME_IN: u64 = 2000;

/// The task that keeps a link open. Dropping it closes the link.
#[derive(Debug)]
pub struct Link {
    task: JoinHandle<()>,
    stop: DropGuard,
}

/// Writes to a link, and tells its counters.
#[derive(Clone, Debug)]
pub struct LinkHandle(Arc<Shared>);

struct Shared {
    writer: Mutex<Option<Writer>>,
    stuck: Notify,
    sequence: AtomicU8,
    counters: Arc<Counters>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared")
            .field("counters", &self.counters)
            .finish_non_exhaustive()
    }
}

/// Why a frame was not written.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// The link is down; not a byte left.
    #[error("the link is down")]
    Down,
    /// The line did not take the frame in time; a part of it may have left, the whole did not.
    #[error("the line did not take the frame in time")]
    Slow,
    /// Writing failed.
    #[error("writing to the link failed")]
    Failed(#[source] io::Error),
}

impl Link {
    /// Opens the link that `url` names and keeps it open. Needs a tokio runtime.
    #[must_use]
    pub fn open(url: LinkUrl) -> (Self, LinkHandle, Events) {
        let counters = Arc::new(Counters::default());
        let name = url.to_string();
        Self::start(UrlOpener::new(url, Arc::clone(&counters)), name, counters)
    }

    /// Keeps a link open over whatever `opener` opens; `name` is for the log.
    #[must_use]
    pub fn over(opener: impl Opener, name: &str) -> (Self, LinkHandle, Events) {
        Self::start(opener, name.to_owned(), Arc::new(Counters::default()))
    }

    fn start(opener: impl Opener, name: String, counters: Arc<Counters>) -> (Self, LinkHandle, Events) {
        let (tx, events) = queue(Arc::clone(&counters));
        let shared = Arc::new(Shared {
            writer: Mutex::new(None),
            stuck: Notify::new(),
            sequence: AtomicU8::new(0),
            counters,
        });
        let stop = CancellationToken::new();
        let keeper = Keeper {
            opener,
            name,
            shared: Arc::clone(&shared),
            events: tx,
        };
        let token = stop.clone();
        let closed = Arc::clone(&shared);
        let keep = async move {
            tokio::select! {
                () = keeper.run() => {}
                () = token.cancelled() => {}
            }
            // Handles that are still about must not hold the device open.
            *closed.writer.lock().await = None;
        };
        let task = tokio::spawn(keep.in_current_span());
        (
            Self {
                task,
                stop: stop.drop_guard(),
            },
            LinkHandle(shared),
            events,
        )
    }

    /// Closes the link and waits until it is closed.
    pub async fn close(self) {
        drop(self.stop);
        if let Err(error) = self.task.await {
            debug!(%error, "link task ended oddly");
        }
    }
}

impl LinkHandle {
    /// Writes one frame now, as `(system, component)`. It is never queued: if the link is down, or does not take the
    /// frame within `within`, the frame is dropped.
    ///
    /// # Errors
    /// [`SendError`], when it was not written.
    pub async fn send(&self, from: (u8, u8), message: &MavMessage, within: Duration) -> Result<(), SendError> {
        let shared = &self.0;
        let header = MavHeader {
            system_id: u32::from(from.0),
            component_id: from.1,
            sequence: shared.sequence.fetch_add(1, Ordering::Relaxed),
        };
        let mut raw = MAVLinkV2MessageRaw::new();
        raw.serialize_message(header, message);
        let write = async {
            let mut writer = shared.writer.lock().await;
            let writer = writer.as_mut().ok_or(SendError::Down)?;
            writer.write(raw.raw_bytes()).await.map_err(|error| match error.kind() {
                io::ErrorKind::NotConnected => SendError::Down,
                _ => SendError::Failed(error),
            })
        };
        let result = timeout(within, write).await.unwrap_or(Err(SendError::Slow));
        match &result {
            Ok(()) => shared.counters.sent(1),
            Err(error) => {
                shared.counters.send_failures(1);
                // Reopening also throws away what a stuck line holds, so that it cannot come out later.
                if !matches!(error, SendError::Down) {
                    shared.stuck.notify_one();
                }
            }
        }
        result
    }

    /// The counters now.
    #[must_use]
    pub fn counters(&self) -> CounterSnapshot {
        self.0.counters.snapshot()
    }
}

struct Keeper<O> {
    opener: O,
    name: String,
    shared: Arc<Shared>,
    events: Sender,
}

impl<O: Opener> Keeper<O> {
    async fn run(mut self) {
        let mut failures = 0_u32;
        let mut said = String::new();
        loop {
            let mut was_up = false;
            let why = match timeout(OPEN_DEADLINE, self.opener.open()).await {
                Ok(Ok(wire)) => {
                    was_up = true;
                    self.shared.counters.opens(1);
                    let opened = Instant::now();
                    info!(link = %self.name, "link opened");
                    let why = self.read_until_lost(wire).await;
                    if opened.elapsed() >= STEADY {
                        failures = 0;
                        said.clear();
                    }
                    why
                }
                Ok(Err(error)) => {
                    self.shared.counters.open_failures(1);
                    error.to_string()
                }
                Err(_) => {
                    self.shared.counters.open_failures(1);
                    format!("no answer within {} s", OPEN_DEADLINE.as_secs())
                }
            };
            if was_up || why != said {
                self.events.send(LinkEvent::Down(why.clone()));
            }
            if why == said {
                debug!(link = %self.name, why, "link still down");
            } else {
                warn!(link = %self.name, why, "link down, retrying for ever");
                said = why;
            }
            failures = failures.saturating_add(1);
            sleep(REOPEN.delay(failures, rand::random())).await;
        }
    }

    /// Reads until the link is lost; says why.
    async fn read_until_lost(&mut self, wire: Wire) -> String {
        let Wire { mut reader, writer } = wire;
        // A writer may have complained of the line that was there before.
        let _ = self.shared.stuck.notified().now_or_never();
        *self.shared.writer.lock().await = Some(writer);
        self.events.send(LinkEvent::Up);
        let counters = &self.shared.counters;
        let opened = Instant::now();
        let mut backlog = Backlog::default();
        let mut deframer = Deframer::default();
        let mut buffer = vec![0; 4096];
        let mut bytes = 0_u64;
        let mut frames = 0_u64;
        let why = loop {
            let read = tokio::select! {
                read = reader.read(&mut buffer) => Some(read),
                () = sleep(SILENCE), if deframer.unfinished() => None,
                () = self.shared.stuck.notified() => break "the line does not take what is written".to_owned(),
            };
            let arrived = Instant::now();
            let silent = read.is_none();
            match read {
                Some(Ok(0)) => break "the other end hung up".to_owned(),
                Some(Ok(n)) => {
                    counters.bytes(n as u64);
                    bytes += n as u64;
                    if reader.is_datagrams() {
                        deframer.forget_unfinished();
                    }
                    deframer.push(&buffer[..n]);
                }
                Some(Err(error)) => break format!("reading failed: {error}"),
                None => {}
            }
            loop {
                let found = if silent {
                    deframer.next_after_silence()
                } else {
                    deframer.next_frame()
                };
                match found {
                    None => break,
                    Some(Found::Unreadable) => counters.unreadable(1),
                    Some(Found::Message(header, message)) => {
                        counters.frames(1);
                        frames += 1;
                        if backlog.is_news(backlog::boot_ms(&message), opened.elapsed()) {
                            self.events.send(LinkEvent::Frame(Box::new(Frame {
                                header,
                                message: *message,
                                at: arrived,
                            })));
                        } else {
                            counters.stale(1);
                        }
                    }
                }
            }
            counters.skipped(deframer.take_skipped());
            if frames == 0 && bytes >= NO_FRAME_IN {
                warn!(link = %self.name, bytes, "bytes arrive but no MAVLink frame; check the baud rate and that the port speaks MAVLink");
                bytes = 0;
                frames = 1;
            }
        };
        *self.shared.writer.lock().await = None;
        why
    }
}
