//! What is done with records: into the file of the day, a new file when it is time, old files out.
//!
//! [`Writer::run`] has a thread of its own, which may hang with the disk: nothing that flies may wait for it.
//!
//! * The files of a node take no more than their limit together, and are at most [`FILES_AT_MOST`]: the oldest are removed
//!   before a new one is begun, where logs are uploaded those that were before the others, and never the one that is being written.
//! * The disk is left room for others, first of all for the agent's own memory, without which no order to fly is taken.
//! * After an error the file is cut to its last whole record and left; a new one is begun after a while.
//! * What was written survives a loss of power after at most 5 s.

use super::counters::Counters;
use super::file_name;
use super::log_store::{LogFile, LogStore};
use crate::sent::Sent;
use model::ids::NodeName;
use model::logs::upload::first_to_go;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime};
use tracing::{info, warn};

pub const LEFT_FREE: u64 = 64 << 20;
const AGAIN_AFTER: Duration = Duration::from_secs(5);
/// An autopilot that arms again and again, or an agent that does not live long, makes many short files.
pub const FILES_AT_MOST: usize = 1000;
const SYNC_EVERY: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct Chunk {
    pub new_file: Option<SystemTime>,
    pub bytes: Vec<u8>,
    pub frames: u64,
}

struct Current {
    file: Box<dyn LogFile>,
    name: String,
    bytes: u64,
    synced: Instant,
}

pub struct Writer<S> {
    store: S,
    node: NodeName,
    limit: u64,
    longest: u64,
    counters: Arc<Counters>,
    sent: Sent,
    current: Option<Current>,
    wall: SystemTime,
    broken_until: Option<Instant>,
}

impl<S: LogStore> Writer<S> {
    /// `limit`: bytes of all files of the node together; `longest`: of one.
    pub fn new(store: S, node: NodeName, limit: u64, longest: u64, counters: Arc<Counters>) -> Self {
        Self {
            store,
            node,
            limit,
            longest,
            counters,
            sent: Sent::default(),
            current: None,
            wall: SystemTime::UNIX_EPOCH,
            broken_until: None,
        }
    }

    pub fn removing_first(mut self, sent: Sent) -> Self {
        self.sent = sent;
        self
    }

    pub fn run(mut self, chunks: &Receiver<Chunk>) {
        loop {
            match chunks.recv_timeout(SYNC_EVERY) {
                Ok(chunk) => self.take(&chunk, Instant::now()),
                Err(RecvTimeoutError::Timeout) => self.sync(Instant::now()),
                Err(RecvTimeoutError::Disconnected) => {
                    self.leave_file();
                    return;
                }
            }
        }
    }

    pub fn take(&mut self, chunk: &Chunk, now: Instant) {
        if let Some(wall) = chunk.new_file {
            self.leave_file();
            self.wall = wall;
        }
        if self.broken_until.is_some_and(|until| now < until) {
            self.counters.lost(chunk.frames);
            return;
        }
        match self.write(chunk, now) {
            Ok(()) => {
                self.counters.written(chunk.frames);
                if self.broken_until.take().is_some() {
                    info!("the flight log is written again");
                }
            }
            Err(error) => {
                self.counters.lost(chunk.frames);
                self.counters.disk_errors(1);
                if self.broken_until.is_none() {
                    warn!(%error, "the flight log cannot be written; flying goes on without it");
                }
                self.broken_until = Some(now + AGAIN_AFTER);
                self.abandon_file();
            }
        }
        self.sync(now);
    }

    fn write(&mut self, chunk: &Chunk, now: Instant) -> io::Result<()> {
        let length = chunk.bytes.len() as u64;
        if self.current.as_ref().is_some_and(|c| c.bytes + length > self.longest) {
            self.leave_file();
        }
        let mut current = match self.current.take() {
            Some(current) => current,
            None => self.begin(length, now)?,
        };
        let room = self.make_room(length);
        let result = room.and_then(|()| current.file.append(&chunk.bytes));
        if result.is_ok() {
            current.bytes += length;
        }
        self.current = Some(current);
        result
    }

    fn make_room(&mut self, length: u64) -> io::Result<()> {
        let free = self.store.free()?;
        if free >= LEFT_FREE + length {
            return Ok(());
        }
        let why = format!(
            "only {} MiB are free, and {} MiB are left for others",
            free >> 20,
            LEFT_FREE >> 20
        );
        Err(io::Error::new(io::ErrorKind::StorageFull, why))
    }

    fn begin(&mut self, length: u64, now: Instant) -> io::Result<Current> {
        let mut kept = self.store.stored()?;
        kept.sort_by_key(|file| file.number);
        let number = kept.last().map_or(1, |last| last.number.saturating_add(1));
        let (mut files, mut total) = (kept.len(), kept.iter().map(|file| file.bytes).sum::<u64>());
        for oldest in first_to_go(kept, |log| self.sent.key(&log.name).is_some()) {
            if total + self.longest <= self.limit && files < FILES_AT_MOST {
                break;
            }
            self.store.remove(&oldest.name)?;
            if self.sent.is_lost_with(&oldest.name) {
                warn!(
                    file = oldest.name,
                    "removed a flight log that had not been uploaded, to make room for a new one"
                );
            }
            self.counters.removed(1);
            files -= 1;
            total -= oldest.bytes;
        }
        self.make_room(length)?;
        let name = file_name::name(&self.node, self.wall, number);
        let file = self.store.begin(&name)?;
        self.counters.files(1);
        info!(file = name, "flight log begun");
        Ok(Current {
            file,
            name,
            bytes: 0,
            synced: now,
        })
    }

    fn sync(&mut self, now: Instant) {
        if let Some(current) = &mut self.current
            && now.saturating_duration_since(current.synced) >= SYNC_EVERY
        {
            current.synced = now;
            // The next write reports a broken disk.
            let _ = current.file.sync();
        }
    }

    fn leave_file(&mut self) {
        if let Some(mut current) = self.current.take() {
            let _ = current.file.sync();
        }
    }

    /// Leaves the file behind; its last record may be torn.
    fn abandon_file(&mut self) {
        if let Some(mut current) = self.current.take() {
            // A torn record at the end of a file is no harm to readers; an empty file says nothing.
            let _ = current.file.cut(current.bytes);
            if current.bytes == 0 {
                let _ = self.store.remove(&current.name);
            }
        }
    }
}

#[cfg(test)]
mod tests;
