//! The autopilot's own logs, for those who ask: which there are, and bringing one to the agent's disk.
//!
//! Each question looks at what has come, writes it down, and says how far it is. A log has room before it is written, also when it is longer than
//! its list said; one without room leaves nothing behind. Must not: speak with the autopilot ([`super::fetch`] does).

use super::LISTED;
use super::no_answer::NoAnswer;
use super::shelf::Shelf;
use super::wanted::{Errand, Outcome, RemoteLog, Wait, Wanted};
use proto::v1;
use std::time::Duration;
use tracing::warn;

/// A log that does not grow and differs from its checksum is fetched again from its beginning.
const DIFFERS_AT_MOST: u32 = 2;
/// The download of a log that grew goes on after a pause: each check has the autopilot read all of it, and ArduCopter writes for 15 s after it is
/// disarmed (`HAL_LOGGER_ARM_PERSIST`).
const GROWS_AT_MOST: u32 = 30;
const GROWTH_PAUSE: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct AutopilotLogs {
    wanted: Wanted,
    logs: Vec<RemoteLog>,
    differed: u32,
    grew: u32,
    checked: Option<u64>,
    /// Bytes for which room was made.
    room: u64,
}

#[derive(Debug)]
pub(super) enum Listing {
    There(Vec<v1::LogFile>),
    NotYet(Option<Wait>),
}

impl AutopilotLogs {
    pub(super) const fn of(wanted: Wanted) -> Self {
        Self {
            wanted,
            logs: Vec::new(),
            differed: 0,
            grew: 0,
            checked: None,
            room: 0,
        }
    }

    pub(super) fn list(&mut self) -> Result<Listing, NoAnswer> {
        let mut board = self.wanted.board();
        match (&board.errand, board.outcome.clone()) {
            (Some((_, Errand::List)), Outcome::Listed(logs)) => {
                board.end();
                drop(board);
                let listed = logs.iter().map(|log| v1::LogFile {
                    name: log.name.clone(),
                    bytes: log.bytes,
                    autopilot: true,
                    ..v1::LogFile::default()
                });
                let listed = listed.take(LISTED).collect();
                self.logs = logs;
                Ok(Listing::There(listed))
            }
            (Some((_, Errand::List)), Outcome::Failed(why)) => {
                board.end();
                Err(NoAnswer::Autopilot(why))
            }
            (Some((_, Errand::List)), Outcome::Open | Outcome::Fetched { .. }) => {
                board.asked += 1;
                Ok(Listing::NotYet(board.waits))
            }
            (Some((_, Errand::Fetch { .. })), Outcome::Open) => Err(NoAnswer::Busy),
            (Some((_, Errand::Fetch { .. })) | None, _) => {
                board.begin(Errand::List);
                Ok(Listing::NotYet(None))
            }
        }
    }

    pub(super) fn fetch(&mut self, name: &str, shelf: &Shelf) -> Result<v1::LogFetched, NoAnswer> {
        let known = self.logs.iter().find(|log| log.name == name).cloned();
        let Some(mut log) = known else {
            // Of an agent that has started meanwhile.
            return match self.list()? {
                Listing::NotYet(waits) => Ok(v1::LogFetched {
                    waits: waits.map_or("", Wait::why).to_owned(),
                    ..v1::LogFetched::default()
                }),
                Listing::There(_) if self.logs.iter().any(|log| log.name == name) => Ok(v1::LogFetched::default()),
                Listing::There(_) => Err(NoAnswer::NoSuchLog(name.chars().take(200).collect())),
            };
        };
        if let Some(stored) = Shelf::name(&log).filter(|stored| shelf.path(stored).is_some()) {
            return Ok(v1::LogFetched {
                got: log.bytes,
                size: log.bytes,
                done: true,
                waits: String::new(),
                name: stored.to_string(),
            });
        }
        let (outcome, come, come_at, size, waits) = {
            let mut board = self.wanted.board();
            match &board.errand {
                Some((_, Errand::Fetch { path, .. })) if *path == log.path => board.asked += 1,
                Some(_) if board.outcome == Outcome::Open => return Err(NoAnswer::Busy),
                _ => {
                    shelf.make_room(&log)?;
                    if shelf.there(&log) > log.bytes {
                        shelf.begin_again(&log)?;
                    }
                    board.begin(Errand::Fetch {
                        path: log.path.clone(),
                        before: shelf.there(&log),
                    });
                    (self.differed, self.grew, self.checked) = (0, 0, None);
                    self.room = log.bytes;
                }
            }
            let come = std::mem::take(&mut board.come);
            (board.outcome.clone(), come, board.come_at, board.size, board.waits)
        };
        if let Some(size) = size {
            log.bytes = size;
        }
        let fits = match self.store(&log, come_at, &come, shelf) {
            Ok(fits) => fits,
            Err(why) => {
                self.give_up(&log, shelf);
                return Err(why);
            }
        };
        let mut answer = v1::LogFetched {
            got: shelf.there(&log),
            size: log.bytes,
            done: false,
            waits: waits.map_or("", Wait::why).to_owned(),
            name: String::new(),
        };
        match outcome {
            _ if !fits => self.again(&log, shelf, Duration::ZERO),
            Outcome::Open | Outcome::Listed(_) => {}
            Outcome::Failed(why) => {
                self.wanted.board().end();
                return Err(NoAnswer::Autopilot(why));
            }
            Outcome::Fetched { bytes, crc } => {
                log.bytes = bytes;
                if let Some(stored) = shelf.finish(&log, crc)? {
                    self.wanted.board().end();
                    if let Some(listed) = self.logs.iter_mut().find(|listed| listed.name == name) {
                        listed.bytes = bytes;
                    }
                    (answer.done, answer.name) = (true, stored.to_string());
                    (answer.got, answer.size) = (bytes, bytes);
                } else {
                    self.differs(&log, shelf)?;
                }
            }
        }
        Ok(answer)
    }

    /// Makes room for all of the log first; returns whether it fits to what is there.
    fn store(&mut self, log: &RemoteLog, at: u64, come: &[u8], shelf: &Shelf) -> Result<bool, NoAnswer> {
        if log.bytes > self.room {
            shelf.make_room(log)?;
            self.room = log.bytes;
        }
        shelf.append(log, at, come)
    }

    /// Frees what the log has taken of a disk that is full.
    fn give_up(&self, log: &RemoteLog, shelf: &Shelf) {
        self.wanted.board().end();
        if let Err(error) = shelf.begin_again(log) {
            warn!(file = log.name, %error, "cannot remove what has come of a log of the autopilot; check the disk");
        }
    }

    /// Goes on with a log that may have grown since it came; else begins it again.
    fn differs(&mut self, log: &RemoteLog, shelf: &Shelf) -> Result<(), NoAnswer> {
        let grows = self.checked.is_none_or(|before| log.bytes > before);
        self.checked = Some(log.bytes);
        let (count, most) = if grows {
            (&mut self.grew, GROWS_AT_MOST)
        } else {
            (&mut self.differed, DIFFERS_AT_MOST)
        };
        *count += 1;
        let is_too_often = *count > most;
        // Asked for again, it is gone on with as well.
        if let Some(listed) = self.logs.iter_mut().find(|listed| listed.path == log.path) {
            listed.bytes = log.bytes;
        }
        if is_too_often {
            self.wanted.board().end();
            return Err(NoAnswer::Differs);
        }
        if grows {
            self.again(log, shelf, GROWTH_PAUSE);
        } else {
            shelf.begin_again(log)?;
            self.again(log, shelf, Duration::ZERO);
        }
        Ok(())
    }

    fn again(&self, log: &RemoteLog, shelf: &Shelf, pause: Duration) {
        let errand = Errand::Fetch {
            path: log.path.clone(),
            before: shelf.there(log),
        };
        self.wanted.board().begin_after(pause, errand);
    }
}

#[cfg(test)]
mod tests;
