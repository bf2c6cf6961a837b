//! The errors of the store, and what to do then.

use super::Object;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// The store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process uses it.
    #[error("{} is in use by {by}: end that process, or give another folder", folder.display())]
    InUse {
        /// The folder.
        folder: PathBuf,
        /// The process: `process 1234`.
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
        /// The error of the operating system.
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
    /// There were objects here, and their file is missing.
    #[error(
        "{} is missing: put it back from a copy, or remove {} to start with no objects",
        path.display(), lock.display()
    )]
    Missing {
        /// The file that contained the objects.
        path: PathBuf,
        /// The file that shows that there were some.
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
    /// It was written by another version of this program.
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

/// A write was refused.
#[derive(Clone, Debug, thiserror::Error)]
pub enum WriteError {
    /// It was to create an object that exists.
    #[error("the object is there already")]
    Exists,
    /// The object is not, or no longer, the one that was meant.
    #[error("the object has changed: read it again")]
    Changed {
        /// Its present state; `None` when it was deleted.
        now: Option<Arc<Object>>,
    },
    /// It cannot be an object: no `metadata`, or a name that is too long to store.
    #[error("this cannot be kept as an object: {0}")]
    Malformed(&'static str),
    /// The disk did not take it. Nothing of it is visible; the next write is tried again.
    #[error("not kept: {0}")]
    NotStored(String),
    /// The store is closed.
    #[error("the store is closed")]
    Closed,
}

/// A revision is older than what is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("revision {requested} is older than the oldest that is kept, {floor}: list again")]
pub struct Compacted {
    /// The requested revision.
    pub requested: u64,
    /// The oldest available revision.
    pub floor: u64,
}

/// Why a watch has no further event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Ended {
    /// It was read too slowly: events that it had not read are no longer kept.
    #[error("events after revision {after} are no longer kept: list again")]
    Lagged {
        /// The last revision that it had read.
        after: u64,
    },
    /// The store is closed.
    #[error("the store is closed")]
    Closed,
}
