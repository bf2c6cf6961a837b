//! Errors of the store, and what to do then.

use super::Object;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("{} is in use by {by}: end that process, or give another folder", folder.display())]
    InUse { folder: PathBuf, by: String },
    #[error("{} cannot be written: give this user the right to, or give another folder", path.display())]
    NotWritable { path: PathBuf, source: io::Error },
    #[error("the disk of {} is full: free some space", path.display())]
    Full { path: PathBuf, source: io::Error },
    #[error("{} cannot be read or written: see to the disk", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error(
        "{} is missing: put it back from a copy, or remove {} to start with no objects",
        path.display(), lock.display()
    )]
    Missing { path: PathBuf, lock: PathBuf },
    #[error("{} is damaged ({what}): put it back from a copy, or move it and its folder away to start with no objects", path.display())]
    Damaged { path: PathBuf, what: String },
    #[error("{} has format {found}, this program knows {known}: use the program that wrote it", path.display())]
    Format { path: PathBuf, found: String, known: u64 },
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum WriteError {
    #[error("the object is there already")]
    Exists,
    #[error("the object has changed: read it again")]
    Changed {
        /// `None` when it was deleted.
        now: Option<Arc<Object>>,
    },
    /// No `metadata`, or a name that is too long to store.
    #[error("this cannot be kept as an object: {0}")]
    Malformed(&'static str),
    /// Nothing of it is visible; the next write is tried again.
    #[error("not kept: {0}")]
    NotStored(String),
    #[error("the store is closed")]
    Closed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("revision {requested} is older than the oldest that is kept, {floor}: list again")]
pub struct Compacted {
    pub requested: u64,
    pub floor: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Ended {
    #[error("events after revision {after} are no longer kept: list again")]
    Lagged { after: u64 },
    #[error("the store is closed")]
    Closed,
}
