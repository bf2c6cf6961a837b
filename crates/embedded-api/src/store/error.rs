//! What can go wrong in the store, and what to do then.
//!
//! Owns: the wording. Must not: hide a cause.

use super::Object;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// The store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has it.
    #[error("{} is in use by {by}: end that process, or give another folder", folder.display())]
    InUse {
        /// The folder.
        folder: PathBuf,
        /// Who has it: `process 1234`.
        by: String,
    },
    /// The folder or a file in it cannot be written by this user.
    #[error("{} cannot be written: give this user the right to, or give another folder", path.display())]
    NotWritable {
        /// What cannot be written.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// No space left.
    #[error("the disk of {} is full: free some space", path.display())]
    Full {
        /// What could not be written.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// Any other failure of the disk or the file system.
    #[error("{} cannot be read or written: see to the disk", path.display())]
    Io {
        /// What could not be read or written.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// There were objects here, and their file is gone.
    #[error(
        "{} is missing: put it back from a copy, or remove {} to start with no objects",
        path.display(), lock.display()
    )]
    Missing {
        /// The file that held the objects.
        path: PathBuf,
        /// The file that says there were some.
        lock: PathBuf,
    },
    /// The file does not hold what was written.
    #[error("{} is damaged ({what}): put it back from a copy, or move it and its folder away to start with no objects", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// Written by another version of this program.
    #[error("{} has format {found}, this program knows {known}: use the program that wrote it", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: String,
        /// The format that can be read.
        known: u64,
    },
}

/// A write was not done.
#[derive(Clone, Debug, thiserror::Error)]
pub enum WriteError {
    /// It was to make an object, and there is one.
    #[error("the object is there already")]
    Exists,
    /// The object is not, or no longer, the one that was meant.
    #[error("the object has changed: read it again")]
    Changed {
        /// What it is now; `None` when it is gone.
        now: Option<Arc<Object>>,
    },
    /// It cannot be an object: no `metadata`, or a name that is too long to keep.
    #[error("this cannot be kept as an object: {0}")]
    Malformed(&'static str),
    /// The disk did not take it. Nothing of it is visible; the next write is tried afresh.
    #[error("not kept: {0}")]
    NotKept(String),
    /// The store is closed.
    #[error("the store is closed")]
    Closed,
}

/// A revision is older than what is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("revision {asked} is older than the oldest that is kept, {floor}: list again")]
pub struct Compacted {
    /// The revision asked for.
    pub asked: u64,
    /// The oldest that can be asked for.
    pub floor: u64,
}

/// Why a watch has no further event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Ended {
    /// It was read too slowly: events it had not seen are no longer kept.
    #[error("events after revision {seen} are no longer kept: list again")]
    Lagged {
        /// The last revision it had seen.
        seen: u64,
    },
    /// The store is closed.
    #[error("the store is closed")]
    Closed,
}
