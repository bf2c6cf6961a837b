//! The way to the autopilot's own logs: list its folders, download one, and ask for its checksum.
//!
//! [`LogFetch`] is a plain state machine. Must not: send, read a clock, touch the disk, or begin anything by itself.
//!
//!   Idle --list--> Listing, folder by folder --> Listed
//!        --fetch--> Downloading --all bytes--> Checking --> Fetched
//!
//! The caller runs [`LogFetch::next`] only while the vehicle is disarmed and nothing else is to be sent. An errand that nobody asks about
//! any more ends, and so does its session on the autopilot, which PX4 has one of for everybody.

use super::wanted::{Board, Errand, Outcome, RemoteLog, WAITING_AT_MOST, Wait, Wanted};
use crate::ftp::download::{Download, Failed, Progress};
use crate::ftp::exchange::{Due, Exchange};
use crate::ftp::message;
use crate::ftp::packet::{Operation, Refusal, Request};
use link::dialect::MavMessage;
use model::logs::LogName;
use model::time::Moment;
use model::units::Address;
use model::vehicle::{Autopilot, Identity};
use std::collections::VecDeque;
use std::time::Duration;

/// Folders of logs: on boards, and in the simulator.
const ARDUPILOT: [&str; 2] = ["/APM/LOGS", "/logs"];
const PX4: [&str; 2] = ["/fs/microsd/log", "/log"];
const ABANDONED_AFTER: Duration = Duration::from_secs(20);
/// Nothing begins so soon after somebody else's file transfer was heard.
const AFTER_OTHERS: Duration = Duration::from_secs(10);
/// A download that finds no session free, or is not answered, is tried again after a pause.
const TRIES: u32 = 4;
const PAUSE: Duration = Duration::from_secs(2);
/// The autopilot reads all of the file.
const CHECKSUM_WORK: Duration = Duration::from_secs(30);
const FOLDERS_AT_MOST: usize = 400;
const LOGS_AT_MOST: usize = 2000;
/// Requests begin with a number far from those of other downloads.
const FIRST_SEQ: u16 = 0x8000;

#[derive(Clone, Debug, Default)]
pub(crate) struct LogFetch {
    wanted: Wanted,
    stage: Stage,
    number: u64,
    asked: u64,
    asked_at: Moment,
    seq: Option<u16>,
    /// End all sessions before the next download: one of ours may be left over.
    reset: bool,
    tries: u32,
    not_before: Moment,
    others_heard: Option<Moment>,
}

#[derive(Clone, Debug, Default)]
enum Stage {
    #[default]
    Idle,
    Listing(Listing),
    Downloading(Download),
    Checking {
        exchange: Exchange,
        bytes: u64,
    },
}

#[derive(Clone, Debug)]
struct Listing {
    root: usize,
    /// The first one from this entry on.
    folders: VecDeque<String>,
    entry: u32,
    logs: Vec<RemoteLog>,
    exchange: Exchange,
}

impl LogFetch {
    pub(crate) fn of(wanted: Wanted) -> Self {
        Self {
            wanted,
            ..Self::default()
        }
    }

    pub(crate) fn wait(&self, why: Wait) {
        self.wanted.board().waits = Some(why);
    }

    /// `us`: our system and component id.
    pub(crate) fn receive(&mut self, message: &MavMessage, us: Address, now: Moment) {
        let MavMessage::FILE_TRANSFER_PROTOCOL(m) = message else {
            return;
        };
        if Address::new(m.target_system, m.target_component) != us {
            self.others_heard = Some(now);
            return;
        }
        match &mut self.stage {
            Stage::Idle => {}
            Stage::Listing(listing) => {
                if let Some((answer, _)) = listing.exchange.receive(&m.payload, now) {
                    self.listed(answer.result);
                }
            }
            Stage::Downloading(download) => {
                download.receive(&m.payload, now);
                let wanted = self.wanted.clone();
                self.poll(&mut wanted.board(), now);
            }
            Stage::Checking { exchange, bytes } => {
                let bytes = *bytes;
                if let Some((answer, _)) = exchange.receive(&m.payload, now) {
                    let crc = answer.result.ok().and_then(|data| data.first_chunk().copied());
                    self.end(match crc {
                        Some(crc) => Outcome::Fetched {
                            bytes,
                            crc: u32::from_le_bytes(crc),
                        },
                        None => Outcome::Failed("the autopilot does not give the checksum of its log".to_owned()),
                    });
                }
            }
        }
    }

    pub(crate) fn next(&mut self, to: &Identity, now: Moment, jitter: f64) -> Option<MavMessage> {
        let wanted = self.wanted.clone();
        let request = {
            let mut board = wanted.board();
            board.waits = None;
            self.take_up(&mut board, to, now);
            if matches!(self.stage, Stage::Idle) {
                return None;
            }
            if matches!(self.stage, Stage::Downloading(_)) && board.come.len() >= WAITING_AT_MOST {
                return None;
            }
            self.request(&mut board, now, jitter)
        };
        request.map(|request| message(&request, to))
    }

    fn take_up(&mut self, board: &mut Board, to: &Identity, now: Moment) {
        if board.asked != self.asked {
            (self.asked, self.asked_at) = (board.asked, now);
        }
        if board.errand.is_some() && now.since(self.asked_at) >= ABANDONED_AFTER {
            board.end();
        }
        let wanted = board.errand.as_ref().filter(|_| board.outcome == Outcome::Open);
        let Some((number, errand)) = wanted else {
            self.drop_stage();
            return;
        };
        if *number == self.number && !matches!(self.stage, Stage::Idle) {
            return;
        }
        self.drop_stage();
        if self.others_heard.is_some_and(|at| now.since(at) < AFTER_OTHERS) {
            board.waits = Some(Wait::Soon("somebody else transfers files with the autopilot"));
            return;
        }
        if *number != self.number {
            (self.number, self.tries, self.not_before) = (*number, 0, now.plus(board.pause));
        }
        if now < self.not_before {
            if !board.pause.is_zero() {
                board.waits = Some(Wait::Soon("the autopilot still writes the log"));
            }
            return;
        }
        let seq = self.seq.unwrap_or(FIRST_SEQ);
        self.stage = match errand {
            Errand::List => Stage::Listing(Listing {
                root: 0,
                folders: roots(to.autopilot)
                    .first()
                    .map(|root| (*root).to_owned())
                    .into_iter()
                    .collect(),
                entry: 0,
                logs: Vec::new(),
                exchange: Exchange::new(seq),
            }),
            Errand::Fetch { path, before } => {
                let before = usize::try_from(*before).unwrap_or(usize::MAX);
                let reset = std::mem::take(&mut self.reset);
                Stage::Downloading(Download::of_log(path.clone(), before, seq, reset))
            }
        };
    }

    /// A download that breaks off leaves its session behind.
    fn drop_stage(&mut self) {
        match std::mem::take(&mut self.stage) {
            Stage::Idle => {}
            Stage::Listing(listing) => self.seq = Some(listing.exchange.seq()),
            Stage::Checking { exchange, .. } => self.seq = Some(exchange.seq()),
            Stage::Downloading(download) => {
                self.seq = Some(download.seq());
                self.reset = true;
            }
        }
    }

    fn request(&mut self, board: &mut Board, now: Moment, jitter: f64) -> Option<Request> {
        match &mut self.stage {
            Stage::Idle => None,
            Stage::Listing(listing) => {
                let folder = listing.folders.front()?.clone();
                let request = asked(Operation::List, listing.entry, folder);
                match listing.exchange.due(now, jitter) {
                    Due::Wait => None,
                    Due::Again(request) => Some(request),
                    Due::Free => Some(listing.exchange.send(request, Duration::ZERO, now, jitter)),
                    Due::Unanswered => {
                        self.end_on(board, failed(Failed::NoAnswer));
                        None
                    }
                }
            }
            Stage::Downloading(download) => {
                let request = download.next(now, jitter);
                if request.is_none() {
                    self.poll(board, now);
                }
                request
            }
            Stage::Checking { exchange, .. } => {
                let Some((_, Errand::Fetch { path, .. })) = &board.errand else {
                    return None;
                };
                let request = asked(Operation::Checksum, 0, path.clone());
                match exchange.due(now, jitter) {
                    Due::Wait => None,
                    Due::Again(request) => Some(request),
                    Due::Free => Some(exchange.send(request, CHECKSUM_WORK, now, jitter)),
                    Due::Unanswered => {
                        self.end_on(board, failed(Failed::NoAnswer));
                        None
                    }
                }
            }
        }
    }

    fn poll(&mut self, board: &mut Board, now: Moment) {
        let Stage::Downloading(download) = &mut self.stage else {
            return;
        };
        if let Some(size) = download.size() {
            board.size = u64::try_from(size).ok();
        }
        if download.waiting() > 0 {
            let (at, bytes) = download.take();
            if board.come.is_empty() {
                board.come_at = u64::try_from(at).unwrap_or(u64::MAX);
            }
            board.come.extend(bytes);
        }
        match download.progress() {
            Progress::Going => {}
            Progress::Done(_) => {
                let (end, _) = download.take();
                let bytes = u64::try_from(end).unwrap_or(u64::MAX);
                let exchange = Exchange::new(download.seq());
                board.size = Some(bytes);
                self.stage = Stage::Checking { exchange, bytes };
            }
            Progress::Failed(why, _) => {
                let (come_to, _) = download.take();
                self.seq = Some(download.seq());
                self.stage = Stage::Idle;
                self.tries += 1;
                // A session that was ours is ended before the next attempt, and at last one that nobody seems to use.
                self.reset = why == Failed::NoAnswer || (why == Failed::Busy && self.tries + 1 == TRIES);
                match &mut board.errand {
                    Some((_, Errand::Fetch { before, .. }))
                        if matches!(why, Failed::NoAnswer | Failed::Busy) && self.tries < TRIES =>
                    {
                        *before = u64::try_from(come_to).unwrap_or(u64::MAX);
                        self.not_before = now.plus(PAUSE);
                    }
                    _ => self.end_on(board, failed(why)),
                }
            }
        }
    }

    fn listed(&mut self, result: Result<Vec<u8>, Refusal>) {
        let Stage::Listing(listing) = &mut self.stage else {
            return;
        };
        let folder = listing.folders.front().cloned().unwrap_or_default();
        match result {
            Ok(data) if !data.is_empty() => {
                let mut entries = 0;
                for entry in data.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
                    entries += 1;
                    listing.take(&folder, entry);
                }
                listing.entry = listing.entry.saturating_add(entries);
            }
            Ok(_) | Err(Refusal::EndOfFile) => listing.next_folder(),
            Err(_) if listing.entry == 0 && listing.depth(&folder) == 0 => listing.next_root(&folder),
            Err(_) => listing.next_folder(),
        }
        if listing.folders.is_empty() {
            let mut logs = std::mem::take(&mut listing.logs);
            logs.sort_by(|a, b| b.name.cmp(&a.name));
            self.end(Outcome::Listed(logs));
        }
    }

    fn end(&mut self, outcome: Outcome) {
        let wanted = self.wanted.clone();
        self.end_on(&mut wanted.board(), outcome);
    }

    fn end_on(&mut self, board: &mut Board, outcome: Outcome) {
        if board.errand.as_ref().is_some_and(|(number, _)| *number == self.number) {
            board.outcome = outcome;
        }
        // What ends in order leaves no session behind.
        let reset = self.reset;
        self.drop_stage();
        self.reset = reset;
    }
}

impl Listing {
    /// `D` and a name, or `F`, a name, a tab and its size.
    fn take(&mut self, folder: &str, entry: &[u8]) {
        let Ok(entry) = std::str::from_utf8(entry) else { return };
        let below = |name: &str| format!("{folder}/{name}");
        if let Some(name) = entry.strip_prefix('D') {
            let is_name = LogName::parse(name).is_ok();
            if is_name && self.depth(folder) == 0 && self.folders.len() < FOLDERS_AT_MOST {
                self.folders.push_back(below(name));
            }
            return;
        }
        let Some((name, size)) = entry.strip_prefix('F').and_then(|entry| entry.split_once('\t')) else {
            return;
        };
        let path = below(name);
        let name = match self.depth(folder) {
            0 => name.to_owned(),
            _ => format!("{}_{name}", folder.rsplit('/').next().unwrap_or_default()),
        };
        let is_log = [".bin", ".ulg"]
            .iter()
            .any(|end| name.to_ascii_lowercase().ends_with(end));
        let size = size.parse().ok().filter(|_| is_log && LogName::parse(&name).is_ok());
        if let Some(bytes) = size.filter(|_| self.logs.len() < LOGS_AT_MOST) {
            self.logs.push(RemoteLog { path, name, bytes });
        }
    }

    fn depth(&self, folder: &str) -> usize {
        let is_root = ARDUPILOT.iter().chain(&PX4).any(|root| *root == folder);
        usize::from(!is_root)
    }

    fn next_folder(&mut self) {
        self.folders.pop_front();
        self.entry = 0;
    }

    /// The folder of logs is not there: it may be at the next place.
    fn next_root(&mut self, folder: &str) {
        self.root += 1;
        let all = if ARDUPILOT.contains(&folder) { ARDUPILOT } else { PX4 };
        self.folders = all.get(self.root).map(|root| (*root).to_owned()).into_iter().collect();
        self.entry = 0;
    }
}

fn failed(why: Failed) -> Outcome {
    Outcome::Failed(format!("{why}; try again later"))
}

const fn roots(autopilot: Autopilot) -> [&'static str; 2] {
    match autopilot {
        Autopilot::ArduPilot => ARDUPILOT,
        Autopilot::Px4 => PX4,
    }
}

fn asked(operation: Operation, offset: u32, path: String) -> Request {
    Request {
        seq: 0,
        session: 0,
        operation,
        offset,
        want: 0,
        data: path.into_bytes(),
    }
}

#[cfg(test)]
pub(in crate::logs) mod tests;
