//! What people want of the autopilot's own logs, and what has come: between the pilot, which speaks with the autopilot, and those who
//! write to the disk.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The download rests then.
pub(crate) const WAITING_AT_MOST: usize = 256 * 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RemoteLog {
    pub(crate) path: String,
    /// Its path below the folder of logs, as the name of a file.
    pub(crate) name: String,
    pub(crate) bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Errand {
    List,
    /// `before`: bytes that are there already.
    Fetch {
        path: String,
        before: u64,
    },
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Outcome {
    #[default]
    Open,
    Listed(Vec<RemoteLog>),
    /// Length and checksum are those that the autopilot gives.
    Fetched {
        bytes: u64,
        crc: u32,
    },
    Failed(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    Soon(&'static str),
    Long(&'static str),
}

impl Wait {
    pub(crate) const fn why(self) -> &'static str {
        match self {
            Self::Soon(why) | Self::Long(why) => why,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Board {
    /// Has a number that no other errand has.
    pub(crate) errand: Option<(u64, Errand)>,
    /// Grows each time that somebody asks: an errand about which nobody asks any more is dropped.
    pub(crate) asked: u64,
    pub(crate) outcome: Outcome,
    /// Bytes that have come; `come_at`: their offset in the file.
    pub(crate) come: Vec<u8>,
    pub(crate) come_at: u64,
    pub(crate) size: Option<u64>,
    pub(crate) waits: Option<Wait>,
    pub(crate) pause: Duration,
}

impl Board {
    /// Takes the place of another errand.
    pub(crate) fn begin(&mut self, errand: Errand) {
        let number = self
            .errand
            .as_ref()
            .map_or(self.asked, |(number, _)| *number)
            .max(self.asked)
            + 1;
        *self = Self {
            errand: Some((number, errand)),
            asked: number,
            ..Self::default()
        };
    }

    pub(crate) fn begin_after(&mut self, pause: Duration, errand: Errand) {
        self.begin(errand);
        self.pause = pause;
    }

    pub(crate) fn end(&mut self) {
        *self = Self {
            asked: self.asked,
            ..Self::default()
        };
    }
}

#[derive(Clone, Debug, Default)]
pub struct Wanted(Arc<Mutex<Board>>);

impl Wanted {
    pub(crate) fn board(&self) -> MutexGuard<'_, Board> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
