//! The only thread that writes: takes queued writes, commits them together, makes them visible, and cleans up.
//! ```text
//! write or idle ─► forget old changes ─► journal open? ─► check, give revisions ─► commit ─► visible ─► answers
//!                                          │ no: open again, undo what was not acknowledged   │
//!                                          └◄──────────── after a failed commit ◄─────────────┘
//! ```

use super::batch::{Answer, Batch, BatchContext};
use super::error::OpenError;
use super::folder::Folder;
use super::history::Limits;
use super::journal::{Commit, Journal, Medium};
use super::load::Loaded;
use super::names::Names;
use super::object::FactsFn;
use super::shared::Shared;
use super::write::Write;
use std::collections::VecDeque;
use std::error::Error;
use std::mem;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tracing::{info, warn};

const MOST_WRITES: usize = 256;
/// Size from which a commit gets no further writes, bytes.
const MOST_BYTES: usize = 8 << 20;
const STEP: usize = 512;
/// Removed along with a write, besides two for each, which are what a write itself makes unneeded later.
const FEW: usize = 64;
/// Pause before cleaning up, when there is something to remove.
const BRISK: Duration = Duration::from_millis(50);
/// Else the pause, as a fraction of the age after which changes are dropped.
const CALM: u32 = 20;
/// Next attempt while the disk fails and nothing is written.
const RETRY: Duration = Duration::from_secs(1);
/// Pause before the file is opened again, besides a multiple of what opening takes: a disk may be full for hours.
const PAUSE: Duration = Duration::from_millis(100);
const REST: u32 = 4;

pub(super) enum Job {
    Write(Box<Write>, Answer),
    Close(oneshot::Sender<()>),
}

pub(super) struct Writer {
    journal: Result<Journal, Failure>,
    folder: Folder,
    medium: Medium,
    shared: Arc<Shared>,
    facts: FactsFn,
    names: Names,
    limits: Limits,
    unneeded: VecDeque<u64>,
    reopening: Duration,
    newest: u64,
    given: u64,
}

struct Failure {
    since: Instant,
    why: String,
}

impl Writer {
    pub(super) fn new(loaded: Loaded, shared: Arc<Shared>, medium: Medium, facts: FactsFn, limits: Limits) -> Self {
        let newest = shared.read().revision();
        Self {
            journal: Ok(loaded.journal),
            folder: loaded.folder,
            medium,
            shared,
            facts,
            names: loaded.names,
            limits,
            unneeded: loaded.unneeded.into(),
            reopening: Duration::ZERO,
            newest,
            given: newest,
        }
    }

    pub(super) async fn run(mut self, mut queue: mpsc::Receiver<Job>) {
        let mut jobs = Vec::new();
        let mut closers = Vec::new();
        loop {
            let pause = match (&self.journal, self.unneeded.is_empty()) {
                (Err(_), _) => RETRY,
                (Ok(_), true) => self.limits.age / CALM,
                (Ok(_), false) => BRISK,
            };
            match timeout(pause, queue.recv_many(&mut jobs, MOST_WRITES)).await {
                Ok(0) => break,
                Ok(_) => {}
                Err(_) => self.tidy(),
            }
            let mut writes = VecDeque::new();
            for job in jobs.drain(..) {
                match job {
                    Job::Write(write, answer) => writes.push_back((*write, answer)),
                    Job::Close(closer) => {
                        queue.close();
                        closers.push(closer);
                    }
                }
            }
            while !writes.is_empty() {
                self.write(&mut writes);
            }
        }
        drop(self);
        for closer in closers {
            let _ = closer.send(());
        }
    }

    fn write(&mut self, writes: &mut VecDeque<(Write, Answer)>) {
        let now_ms = now_ms();
        self.forget(now_ms);
        let mut batch = Batch::default();
        let (opened, given) = (self.reopen(), self.given);
        while batch.bytes < MOST_BYTES {
            let Some((write, answer)) = writes.pop_front() else {
                break;
            };
            let mut context = BatchContext {
                shared: &self.shared,
                facts: &self.facts,
                names: &mut self.names,
                given: &mut self.given,
                now_ms,
            };
            batch.add(write, answer, &mut context);
        }
        if opened.is_err() {
            // Nothing is attempted, so these revisions can be given again.
            self.given = given;
        }
        match opened.and_then(|()| self.commit(&batch.records)) {
            Ok(()) => batch.committed(&self.shared),
            Err(why) => batch.failed(&why),
        }
    }

    pub(super) fn tidy(&mut self) {
        while self.forget(now_ms()) {}
        if !self.unneeded.is_empty() || self.journal.is_err() {
            // The next write, and the log, report a failure.
            let _ = self.reopen().and_then(|()| self.commit(&[]));
        }
    }

    fn forget(&mut self, now_ms: u64) -> bool {
        let mut state = self.shared.write();
        let before = state.history().len();
        let unneeded = state.history_mut().trim(&self.limits, now_ms, STEP);
        self.unneeded.extend(unneeded);
        before - state.history().len() == STEP
    }

    fn commit(&mut self, records: &[(u64, Vec<u8>)]) -> Result<(), String> {
        let journal = self.journal.as_ref().map_err(|failure| failure.why.clone())?;
        let newest = records.last().map_or(self.newest, |(revision, _)| *revision);
        let most = if records.is_empty() {
            STEP
        } else {
            FEW + 2 * records.len()
        };
        let removed = self.unneeded.len().min(most);
        if records.is_empty() && removed == 0 {
            return Ok(());
        }
        let remove: Vec<u64> = self.unneeded.iter().take(removed).copied().collect();
        let commit = Commit {
            keep: records,
            remove: &remove,
            newest,
            floor: self.shared.read().history().floor(),
        };
        if let Err(error) = journal.commit(&commit) {
            return Err(self.failed(&error));
        }
        self.unneeded.drain(..removed);
        self.newest = newest;
        Ok(())
    }

    fn reopen(&mut self) -> Result<(), String> {
        let Err(failure) = &self.journal else { return Ok(()) };
        if failure.since.elapsed() < PAUSE.max(self.reopening * REST) {
            return Err(failure.why.clone());
        }
        let begun = Instant::now();
        let opened = self.opened_again();
        self.reopening = begun.elapsed();
        match opened {
            Ok(journal) => {
                info!(file = %self.folder.objects().display(), "objects are kept again");
                self.journal = Ok(journal);
                self.shared.set_failing(None);
                Ok(())
            }
            Err(error) => Err(self.failed(&error)),
        }
    }

    fn opened_again(&self) -> Result<Journal, OpenError> {
        let journal = Journal::open(&self.folder.objects(), &self.medium)?;
        let head = journal.head()?;
        if head.newest < self.newest {
            let what = format!("it ends at revision {}, and {} was kept", head.newest, self.newest);
            return Err(journal.damaged(what));
        }
        if head.newest > self.newest {
            journal.undo_after(self.newest)?;
        }
        Ok(journal)
    }

    fn failed(&mut self, error: &OpenError) -> String {
        let mut why = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            why = format!("{why}: {cause}");
            source = cause.source();
        }
        let failure = Failure {
            since: Instant::now(),
            why: why.clone(),
        };
        self.shared.set_failing(Some(why.clone()));
        if let Ok(journal) = mem::replace(&mut self.journal, Err(failure)) {
            warn!(error = %why, "objects cannot be kept; what is there stays readable");
            journal.abandon();
        }
        why
    }
}

impl Drop for Writer {
    /// Ends every wait for the thread, however it ends.
    fn drop(&mut self) {
        self.shared.close();
    }
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
