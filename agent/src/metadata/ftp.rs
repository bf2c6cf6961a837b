//! Downloads one file by MAVLink FTP: a client as a plain state machine.
//!
//! Owns: [`Download`]: the session, one request on its way at a time, repeating it, and the end. Must not: send, read a
//! clock, know what the file means. Moments and jitter come in.
//!
//! It reads piece by piece (ReadFile) and never asks for a burst. A burst cannot be held back once it is asked for, and on
//! a slow radio its 35 KiB would delay the answer to an arm or land command. This way at most one packet does.
//! After each answer it rests for as long as the answer took, so that the link stays half free.
//!
//!   Open --size--> Read --piece, again and again--> all there --> Close --> Done
//!   any answer that does not come is asked for again, a few times, with the same number; then the download has failed
//!   and what has come is kept: the next one goes on from there.

use super::packet::{Answer, DATA, Operation, Refusal, Request};
use fleet::backoff::Backoff;
use fleet::time::Moment;
use std::time::Duration;

/// Largest file that is taken.
pub(super) const LARGEST: usize = 4 * 1024 * 1024;
/// A request that is not answered is sent again after this and twice what the last answer took, and later each time.
const AGAIN: Backoff = Backoff {
    first: Duration::from_millis(600),
    cap: Duration::from_secs(3),
};
/// How often a request is sent in all.
const TRANSMISSIONS: u32 = 6;
/// Shortest and longest rest after an answer.
const REST: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(2));
/// How often the file is opened again because the server has forgotten the session.
const REOPENED_AT_MOST: u32 = 5;

/// Why a download ended without its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Failed {
    #[error("the autopilot does not answer; trying again later")]
    NoAnswer,
    #[error("the autopilot has no session free, perhaps a ground station is downloading; trying again later")]
    Busy,
    #[error("the autopilot does not have the file that it names")]
    NotThere,
    #[error("the file has {0} bytes and no more than {LARGEST} are taken")]
    TooLarge(usize),
    #[error("the autopilot refuses with code {0}; trying again later")]
    Refused(u8),
    #[error("the file changed or ended early; trying again later")]
    Changed,
}

/// How far a download is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// It goes on.
    Going,
    /// This is the file.
    Done(Vec<u8>),
    /// It ended; this is what has come so far.
    Failed(Failed, Vec<u8>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Stage {
    /// Sessions that nobody ends are ended first.
    Reset,
    Open,
    Read {
        session: u8,
        size: usize,
    },
    Close {
        session: u8,
        then: Result<(), Failed>,
    },
    Over(Result<(), Failed>),
}

/// One download.
#[derive(Clone, Debug)]
pub(super) struct Download {
    path: String,
    got: Vec<u8>,
    stage: Stage,
    seq: u16,
    sent: Option<Sent>,
    not_before: Moment,
    /// What the last answer took.
    took: Duration,
    reopened: u32,
}

#[derive(Clone, Debug)]
struct Sent {
    request: Request,
    times: u32,
    /// When it was sent first.
    at: Moment,
    again: Moment,
}

impl Download {
    /// A download of the file at `path`, of which `got` is there already. `seq` numbers its first request. With `reset`,
    /// all sessions of the server are ended first: for one that was left over from an earlier life.
    pub(super) fn new(path: String, got: Vec<u8>, seq: u16, reset: bool) -> Self {
        Self {
            path,
            got,
            stage: if reset { Stage::Reset } else { Stage::Open },
            seq,
            sent: None,
            not_before: Moment::default(),
            took: Duration::ZERO,
            reopened: 0,
        }
    }

    /// The number for the first request of the next download.
    pub(super) const fn seq(&self) -> u16 {
        self.seq
    }

    /// Ends it as it is: what has come so far.
    pub(super) fn give_up(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.got)
    }

    /// The packet to send now, if any. Call it only while nothing else is to be sent.
    pub(super) fn next(&mut self, now: Moment, jitter: f64) -> Option<Request> {
        let patience = self.took * 2;
        if let Some(sent) = &mut self.sent {
            if now < sent.again {
                return None;
            }
            if sent.times < TRANSMISSIONS {
                sent.times += 1;
                sent.again = now.plus(AGAIN.delay(sent.times, jitter) + patience);
                return Some(sent.request.clone());
            }
            self.sent = None;
            // A file that is there is there, whether or not the session was ended.
            self.stage = Stage::Over(match self.stage {
                Stage::Close { then, .. } => then,
                _ => Err(Failed::NoAnswer),
            });
        }
        if now < self.not_before {
            return None;
        }
        let (operation, session, data) = match self.stage {
            Stage::Reset => (Operation::Reset, 0, Vec::new()),
            Stage::Open => (Operation::Open, 0, self.path.clone().into_bytes()),
            Stage::Read { session, .. } => (Operation::Read, session, Vec::new()),
            Stage::Close { session, .. } => (Operation::Terminate, session, Vec::new()),
            Stage::Over(_) => return None,
        };
        let (offset, want) = match self.stage {
            Stage::Read { size, .. } => (self.got.len(), size.saturating_sub(self.got.len()).min(DATA)),
            _ => (0, 0),
        };
        let request = Request {
            seq: self.seq,
            session,
            operation,
            offset: u32::try_from(offset).unwrap_or(u32::MAX),
            want: u8::try_from(want).unwrap_or(u8::MAX),
            data,
        };
        // The answer takes the number after ours.
        self.seq = self.seq.wrapping_add(2);
        self.sent = Some(Sent {
            request: request.clone(),
            times: 1,
            at: now,
            again: now.plus(AGAIN.delay(1, jitter) + patience),
        });
        Some(request)
    }

    /// Takes what the server says. Answers to anything but the request on its way (late, doubled, made up) change nothing.
    pub(super) fn receive(&mut self, payload: &[u8], now: Moment) {
        let Some(answer) = Answer::decode(payload) else { return };
        let Some(sent) = self.sent.take_if(|sent| answer.is_to(&sent.request)) else {
            return;
        };
        self.took = now.since(sent.at).clamp(REST.0, REST.1);
        self.not_before = now.plus(self.took);
        self.stage = match (&self.stage, answer.result) {
            (Stage::Reset, _) => Stage::Open,
            (Stage::Open, Ok(data)) => self.opened(answer.session, &data),
            (&Stage::Read { session, size }, Ok(data)) => {
                let expected = usize::try_from(answer.offset).is_ok_and(|offset| offset == self.got.len());
                if !expected || data.is_empty() || self.got.len() + data.len() > size {
                    Stage::Close {
                        session,
                        then: Err(Failed::Changed),
                    }
                } else {
                    self.got.extend(data);
                    if self.got.len() == size {
                        Stage::Close { session, then: Ok(()) }
                    } else {
                        Stage::Read { session, size }
                    }
                }
            }
            (&Stage::Close { then, .. }, _) => Stage::Over(then),
            (Stage::Read { .. }, Err(Refusal::InvalidSession)) if self.reopened < REOPENED_AT_MOST => {
                self.reopened += 1;
                Stage::Open
            }
            (&Stage::Read { session, .. }, Err(why)) => Stage::Close {
                session,
                then: Err(failed(why)),
            },
            (_, Err(why)) => Stage::Over(Err(failed(why))),
            (Stage::Over(how), Ok(_)) => Stage::Over(*how),
        };
    }

    /// How far it is. A download that has ended gives up what it has.
    pub(super) fn progress(&mut self) -> Progress {
        match self.stage {
            Stage::Over(Ok(())) => Progress::Done(std::mem::take(&mut self.got)),
            Stage::Over(Err(why)) => Progress::Failed(why, std::mem::take(&mut self.got)),
            _ => Progress::Going,
        }
    }

    fn opened(&mut self, session: u8, data: &[u8]) -> Stage {
        let then = |then| Stage::Close { session, then };
        let Some(Ok(size)) = data
            .first_chunk()
            .map(|size| usize::try_from(u32::from_le_bytes(*size)))
        else {
            return then(Err(Failed::Changed));
        };
        if size > LARGEST {
            return then(Err(Failed::TooLarge(size)));
        }
        if self.got.len() > size {
            self.got.clear();
        }
        if self.got.len() == size {
            return then(Ok(()));
        }
        Stage::Read { session, size }
    }
}

const fn failed(why: Refusal) -> Failed {
    match why {
        Refusal::NoSessionsAvailable => Failed::Busy,
        Refusal::FileNotFound => Failed::NotThere,
        Refusal::EndOfFile => Failed::Changed,
        Refusal::InvalidSession => Failed::Refused(4),
        Refusal::Other(code) => Failed::Refused(code),
    }
}

#[cfg(test)]
mod tests;
