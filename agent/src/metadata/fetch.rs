//! The way to the descriptions of the autopilot's events: index, then events file, each from the cache or by MAVLink FTP.
//!
//! [`Fetch`] is a plain state machine. Must not: send, wait, read a clock, touch the disk.
//!
//!   Waiting --due--> Asked --URI and checksum--> Working (cache) --not there--> Downloading --file--> Working (read)
//!     the same again for the events file, then Ready. Any failure: Waiting, longer each time.
//!
//! The caller runs [`Fetch::next`] only while the vehicle is disarmed and nothing else is to be sent. What has come
//! of a file is kept over a loss of the link, a reboot or a flight, and the download goes on from there.

use super::cache::MetadataCache;
use super::job::{Done, Found, Job, Which};
use super::named::{MESSAGES, named};
use super::place::{Place, place};
use super::table::Table;
use crate::ftp::download::{Download, Failed, Progress};
use crate::ftp::message;
use fleet::flight::memory::Outcome;
use link::dialect::MavMessage;
use model::backoff::Backoff;
use model::time::Moment;
use model::units::Address;
use model::vehicle::Identity;
use std::sync::Arc;
use std::time::Duration;
use tracing::{debug, info};

/// After a failure.
const AGAIN: Backoff = Backoff {
    first: Duration::from_secs(10),
    cap: Duration::from_secs(3600),
};
/// From the request to the message with the URI.
const MESSAGE_WITHIN: Duration = Duration::from_secs(3);
/// A download does not begin so soon after somebody else's was heard: PX4 has one session for all.
const AFTER_OTHERS: Duration = Duration::from_secs(10);
/// So many downloads in a row find the session taken before it is ended by us: it is one that nobody uses.
const BUSY_AT_MOST: u32 = 3;

#[derive(Clone, Debug)]
pub struct Fetch {
    /// `None`: nothing is fetched.
    cache: Option<MetadataCache>,
    stage: Stage,
    message: usize,
    partial: Option<(Target, Vec<u8>)>,
    failures: u32,
    busy: u32,
    reset: bool,
    others_heard: Option<Moment>,
    job: Option<Job>,
    jobs: u64,
    seq: u16,
    logged: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Target {
    which: Which,
    crc: Option<u32>,
    uri: String,
}

#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one")]
enum Stage {
    Waiting(Moment),
    Asked { until: Moment },
    Working { target: Target, number: u64 },
    Downloading { target: Target, download: Option<Download> },
    Ready,
}

impl Fetch {
    /// Without a cache it never does anything.
    pub const fn new(cache: Option<MetadataCache>) -> Self {
        Self {
            cache,
            stage: Stage::Waiting(Moment::at(Duration::ZERO)),
            message: 0,
            partial: None,
            failures: 0,
            busy: 0,
            reset: false,
            others_heard: None,
            job: None,
            jobs: 0,
            seq: 0,
            logged: None,
        }
    }

    /// After a reboot it may be another firmware, with other descriptions.
    pub fn rebooted(&mut self, now: Moment) {
        self.keep_partial();
        self.stage = Stage::Waiting(now);
        self.job = None;
        (self.message, self.failures, self.busy) = (0, 0, 0);
    }

    /// Message to ask for by MAV_CMD_REQUEST_MESSAGE.
    pub fn wanted(&self, now: Moment) -> Option<u16> {
        match self.stage {
            Stage::Waiting(until) if self.cache.is_some() && now >= until => MESSAGES.get(self.message).copied(),
            _ => None,
        }
    }

    pub fn asked(&mut self, now: Moment) {
        let until = now.plus(MESSAGE_WITHIN);
        self.stage = Stage::Asked { until };
    }

    pub fn answered(&mut self, outcome: &Outcome, now: Moment, jitter: f64) {
        if !matches!(self.stage, Stage::Asked { .. }) {
            return;
        }
        match outcome {
            Outcome::Accepted | Outcome::NoAnswer => {}
            Outcome::NotSent => self.stage = Stage::Waiting(now.plus(AGAIN.delay(1, jitter))),
            Outcome::Refused { .. } if self.message + 1 < MESSAGES.len() => {
                self.message += 1;
                self.stage = Stage::Waiting(now);
            }
            Outcome::Refused { .. } => self.failed("the autopilot offers none", now, jitter),
        }
    }

    /// Whether it uses the autopilot's file server, or is about to.
    pub const fn is_downloading(&self) -> bool {
        matches!(self.stage, Stage::Downloading { .. })
    }

    /// `us`: our system and component id.
    pub fn receive(&mut self, message: &MavMessage, us: Address, now: Moment, jitter: f64) {
        if let (Stage::Asked { .. }, Some((uri, crc))) = (&self.stage, named(message)) {
            let which = Which::Index;
            let crc = Some(crc);
            self.seek(Target { which, crc, uri }, now, jitter);
        }
        let MavMessage::FILE_TRANSFER_PROTOCOL(m) = message else {
            return;
        };
        if Address::new(m.target_system, m.target_component) != us {
            self.others_heard = Some(now);
            return;
        }
        if let Stage::Downloading {
            download: Some(download),
            ..
        } = &mut self.stage
        {
            download.receive(&m.payload, now);
            self.poll_download(now, jitter);
        }
    }

    pub fn next(&mut self, to: &Identity, now: Moment, jitter: f64) -> Option<MavMessage> {
        if matches!(self.stage, Stage::Asked { until } if now >= until) {
            self.failed("the autopilot does not say where they are", now, jitter);
        }
        let Stage::Downloading { target, download } = &mut self.stage else {
            return None;
        };
        if download.is_none() {
            let others = self.others_heard.is_some_and(|at| now.since(at) < AFTER_OTHERS);
            let path = path(&target.uri, to);
            match path {
                Ok(_) if others => return None,
                Ok(path) => {
                    let same = self.partial.take_if(|(of, _)| of == target);
                    let got = same.map_or_else(Vec::new, |(_, got)| got);
                    *download = Some(Download::new(path, got, self.seq, std::mem::take(&mut self.reset)));
                }
                Err(why) => {
                    self.failed(why, now, jitter);
                    return None;
                }
            }
        }
        let request = download.as_mut().and_then(|download| download.next(now, jitter));
        if request.is_none() {
            self.poll_download(now, jitter);
        }
        request.map(|request| message(&request, to))
    }

    /// Work to be done elsewhere, once; its end goes to [`Self::done`].
    pub const fn take_job(&mut self) -> Option<Job> {
        self.job.take()
    }

    /// `None`: the job broke off. Returns the table, once it is there.
    pub fn done(&mut self, done: Option<Done>, now: Moment, jitter: f64) -> Option<Arc<Table>> {
        let Stage::Working { target, number } = &self.stage else {
            return None;
        };
        let target = target.clone();
        let found = match done {
            Some(done) if done.number != *number => return None,
            Some(done) => done.found,
            None => Found::Unusable("reading them broke off".to_owned()),
        };
        match found {
            Found::Nothing => self.stage = Stage::Downloading { target, download: None },
            Found::Index { uri, crc } => {
                let which = Which::Events;
                self.seek(Target { which, crc, uri }, now, jitter);
            }
            Found::Events(table) => {
                info!(
                    events = table.len(),
                    "the autopilot's own descriptions of its events are known"
                );
                self.stage = Stage::Ready;
                (self.failures, self.busy) = (0, 0);
                return Some(table);
            }
            Found::Unusable(why) => self.failed(&why, now, jitter),
            Found::Damaged => self.failed("a file is not the one that was named", now, jitter),
        }
        None
    }

    fn seek(&mut self, target: Target, now: Moment, jitter: f64) {
        match place(&target.uri) {
            Place::Vehicle { .. } => self.work(target, None),
            Place::Unknown => self.failed("the autopilot offers none", now, jitter),
            Place::Internet => {
                let why = "they are on the Internet, which is not asked: the built-in ones are used";
                self.log_once(why);
                self.stage = Stage::Ready;
            }
        }
    }

    fn work(&mut self, target: Target, bytes: Option<Vec<u8>>) {
        let Some(cache) = self.cache.clone() else { return };
        self.jobs += 1;
        let number = self.jobs;
        self.job = Some(Job {
            number,
            cache,
            which: target.which,
            crc: target.crc,
            bytes,
        });
        self.stage = Stage::Working { target, number };
    }

    fn poll_download(&mut self, now: Moment, jitter: f64) {
        let Stage::Downloading {
            target,
            download: Some(download),
        } = &mut self.stage
        else {
            return;
        };
        let (target, progress) = (target.clone(), download.progress());
        self.seq = download.seq();
        match progress {
            Progress::Going => {}
            Progress::Done(bytes) => {
                self.busy = 0;
                self.work(target, Some(bytes));
            }
            Progress::Failed(why, got) => {
                let worth = !got.is_empty() && why != Failed::Changed;
                self.partial = worth.then_some((target, got));
                if why == Failed::Busy {
                    self.busy += 1;
                }
                // A session that was ours, or that nobody has ended for long, is ended before the next attempt.
                self.reset = why == Failed::NoAnswer || self.busy >= BUSY_AT_MOST;
                if self.reset {
                    self.busy = 0;
                }
                self.failed(&format!("{why}; trying again later"), now, jitter);
            }
        }
    }

    fn keep_partial(&mut self) {
        if let Stage::Downloading {
            target,
            download: Some(download),
        } = &mut self.stage
        {
            self.seq = download.seq();
            self.partial = Some((target.clone(), download.give_up()));
        }
    }

    fn failed(&mut self, why: &str, now: Moment, jitter: f64) {
        self.failures = self.failures.saturating_add(1);
        self.message = 0;
        self.stage = Stage::Waiting(now.plus(AGAIN.delay(self.failures, jitter)));
        self.log_once(why);
    }

    fn log_once(&mut self, why: &str) {
        if self.logged.as_deref() == Some(why) {
            debug!(why, "no descriptions of the autopilot's events");
            return;
        }
        self.logged = Some(why.to_owned());
        info!(why, "no descriptions of the autopilot's events");
    }
}

fn path(uri: &str, to: &Identity) -> Result<String, &'static str> {
    match place(uri) {
        Place::Vehicle { component, path } if component.is_none_or(|it| it == to.component.0) => Ok(path),
        Place::Vehicle { .. } => Err("another component than the autopilot has them"),
        Place::Internet | Place::Unknown => Err("the autopilot offers none"),
    }
}

#[cfg(test)]
mod tests;
