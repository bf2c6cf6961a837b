//! Downloads one file by MAVLink FTP: a client as a plain state machine.
//!
//! Must not: send, read a clock, know what the file means.
//!
//! It reads piece by piece (ReadFile) and never asks for a burst. A burst cannot be held back once it is asked for, and on
//! a slow radio its 35 KiB would delay the answer to an arm or land command. This way at most one packet does.
//! After each answer it rests for as long as the answer took, so that the link stays half free. A log, which is large and comes on the ground
//! only, does without that rest where the answers come fast: such a line is free for most of the time between two packets anyway.
//!
//!   Open --size--> Read --piece, again and again--> all there --> Close --> Done
//!   any answer that does not come is asked for again, a few times, with the same number; then the download has failed
//!   and what has come is kept: the next one goes on from there.

use super::exchange::{Due, Exchange};
use super::packet::{DATA, Operation, Refusal, Request};
use model::time::Moment;
use std::time::Duration;

/// Largest file that is taken whole.
pub(crate) const LARGEST: usize = 4 * 1024 * 1024;
const REST: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(2));
/// Answers are fast that take no longer.
const FAST: Duration = Duration::from_millis(30);
const FAIL: u8 = 1;
/// How often the file is opened again because the server has forgotten the session.
const REOPENED_AT_MOST: u32 = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Failed {
    #[error("the autopilot does not answer")]
    NoAnswer,
    #[error("the autopilot has no session free, perhaps a ground station is downloading")]
    Busy,
    #[error("the autopilot does not have the file that it names")]
    NotThere,
    #[error("the file has {0} bytes and no more than {LARGEST} are taken")]
    TooLarge(usize),
    #[error("the autopilot refuses with code {0}")]
    Refused(u8),
    #[error("the file changed or ended early")]
    Changed,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Going,
    Done(Vec<u8>),
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

#[derive(Clone, Debug)]
pub(crate) struct Download {
    path: String,
    /// Bytes of the file that were there before, or were taken since.
    before: usize,
    got: Vec<u8>,
    largest: usize,
    rests: bool,
    stage: Stage,
    exchange: Exchange,
    not_before: Moment,
    reopened: u32,
}

impl Download {
    /// `got` is there already; `seq` numbers the first request. `reset` ends all sessions of the server first: one may be left over.
    pub(crate) fn new(path: String, got: Vec<u8>, seq: u16, reset: bool) -> Self {
        Self {
            path,
            before: 0,
            got,
            largest: LARGEST,
            rests: true,
            stage: if reset { Stage::Reset } else { Stage::Open },
            exchange: Exchange::new(seq),
            not_before: Moment::default(),
            reopened: 0,
        }
    }

    /// For a log of any size, of which `before` bytes are elsewhere already. What comes has to be taken ([`Self::take`]).
    pub(crate) fn of_log(path: String, before: usize, seq: u16, reset: bool) -> Self {
        Self {
            before,
            largest: usize::MAX,
            rests: false,
            ..Self::new(path, Vec::new(), seq, reset)
        }
    }

    /// What has come since it was last taken, and its offset in the file.
    pub(crate) fn take(&mut self) -> (usize, Vec<u8>) {
        let (at, got) = (self.before, std::mem::take(&mut self.got));
        self.before += got.len();
        (at, got)
    }

    pub(crate) const fn waiting(&self) -> usize {
        self.got.len()
    }

    /// `None` unless the file is being read.
    pub(crate) const fn size(&self) -> Option<usize> {
        match self.stage {
            Stage::Read { size, .. } => Some(size),
            _ => None,
        }
    }

    const fn position(&self) -> usize {
        self.before + self.got.len()
    }

    pub(crate) const fn seq(&self) -> u16 {
        self.exchange.seq()
    }

    pub(crate) fn give_up(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.got)
    }

    /// Call it only while nothing else is to be sent.
    pub(crate) fn next(&mut self, now: Moment, jitter: f64) -> Option<Request> {
        match self.exchange.due(now, jitter) {
            Due::Wait => return None,
            Due::Again(request) => return Some(request),
            // A file that is there is there, whether or not the session was ended.
            Due::Unanswered => {
                self.stage = Stage::Over(match self.stage {
                    Stage::Close { then, .. } => then,
                    _ => Err(Failed::NoAnswer),
                });
            }
            Due::Free => {}
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
            Stage::Read { size, .. } => (self.position(), size.saturating_sub(self.position()).min(DATA)),
            _ => (0, 0),
        };
        let request = Request {
            seq: 0,
            session,
            operation,
            offset: u32::try_from(offset).unwrap_or(u32::MAX),
            want: u8::try_from(want).unwrap_or(u8::MAX),
            data,
        };
        Some(self.exchange.send(request, Duration::ZERO, now, jitter))
    }

    /// Answers to anything but the request on its way (late, doubled, made up) change nothing.
    pub(crate) fn receive(&mut self, payload: &[u8], now: Moment) {
        let Some((answer, took)) = self.exchange.receive(payload, now) else {
            return;
        };
        let rest = if self.rests || took > FAST {
            took.clamp(REST.0, REST.1)
        } else {
            Duration::ZERO
        };
        self.not_before = now.plus(rest);
        self.stage = match (&self.stage, answer.result) {
            (Stage::Reset, _) => Stage::Open,
            (Stage::Open, Ok(data)) => self.opened(answer.session, &data),
            // ArduPilot's word for it, until its session was not used for 3 s; a file that is not there is another code.
            (Stage::Open, Err(Refusal::Other(FAIL))) => Stage::Over(Err(Failed::Busy)),
            (&Stage::Read { session, size }, Ok(data)) => {
                let expected = usize::try_from(answer.offset).is_ok_and(|offset| offset == self.position());
                if !expected || data.is_empty() || self.position() + data.len() > size {
                    Stage::Close {
                        session,
                        then: Err(Failed::Changed),
                    }
                } else {
                    self.got.extend(data);
                    if self.position() == size {
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

    /// A download that has ended gives up what it has.
    pub(crate) fn progress(&mut self) -> Progress {
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
        if size > self.largest {
            return then(Err(Failed::TooLarge(size)));
        }
        if self.before > size {
            return then(Err(Failed::Changed));
        }
        if self.position() > size {
            self.got.clear();
        }
        if self.position() == size {
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
