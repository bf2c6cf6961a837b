//! What people want of the autopilot's own logs, and what has come: between the pilot, which speaks with the autopilot, and those who
//! write to the disk.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Most bytes that wait for the disk; the download rests then.
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
    /// Bring this one, of which so many bytes are there.
    Fetch {
        path: String,
        before: u64,
    },
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It goes on, or waits.
    #[default]
    Open,
    Listed(Vec<RemoteLog>),
    /// All bytes have come; the autopilot gives this length and checksum.
    Fetched {
        bytes: u64,
        crc: u32,
    },
    Failed(String),
}

/// Why an errand does not go on now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// It goes on by itself soon.
    Soon(&'static str),
    /// Something has to happen first, which may take long.
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
    /// What is to be done, if anything is, with a number that no other errand has.
    pub(crate) errand: Option<(u64, Errand)>,
    /// Grows each time that somebody asks: an errand that nobody asks about any more is dropped.
    pub(crate) asked: u64,
    pub(crate) outcome: Outcome,
    /// Bytes that have come and where in the file they begin.
    pub(crate) come: Vec<u8>,
    pub(crate) come_at: u64,
    /// How large the file is, once that is known.
    pub(crate) size: Option<u64>,
    /// Why it does not go on now, if it does not.
    pub(crate) waits: Option<Wait>,
    /// Time before it is begun.
    pub(crate) pause: Duration,
}

impl Board {
    /// Begins an errand, in place of another.
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

    /// Begins an errand after a pause, in place of another.
    pub(crate) fn begin_after(&mut self, pause: Duration, errand: Errand) {
        self.begin(errand);
        self.pause = pause;
    }

    /// Ends the errand, whatever has become of it.
    pub(crate) fn end(&mut self) {
        *self = Self {
            asked: self.asked,
            ..Self::default()
        };
    }
}

/// See the module text.
#[derive(Clone, Debug, Default)]
pub struct Wanted(Arc<Mutex<Board>>);

impl Wanted {
    pub(crate) fn board(&self) -> MutexGuard<'_, Board> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
