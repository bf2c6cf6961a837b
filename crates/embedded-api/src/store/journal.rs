//! The log on disk: one file of the redb engine, one transaction per commit. Table `log` has records by revision;
//! `about`, data on the log as a whole.
//!
//! Every commit is in two phases: the engine writes the new pages and syncs, then points to them and syncs. With the
//! second sync the last commit can always be distinguished from a torn one: damage to it is an error instead of a
//! silent rollback. After a failed commit the file must be opened again, and the commit may be in it or not:
//! [`Journal::undo_after`].

use super::error::OpenError;
use super::folder::cannot_write;
use redb::{Database, ReadableDatabase, ReadableTable, ReadableTableMetadata, TableDefinition, WriteTransaction};
use std::io::{self, ErrorKind};
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const FORMAT: u64 = 1;

/// Bytes. Only written through: all reads are from memory.
const CACHE: usize = 4 << 20;

const LOG: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("log");
const ABOUT: TableDefinition<'_, &str, u64> = TableDefinition::new("about");

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) newest: u64,
    /// Older changes are not kept one by one.
    pub(super) floor: u64,
    pub(super) records: u64,
}

#[derive(Debug, Default)]
pub(super) struct Commit<'a> {
    pub(super) keep: &'a [(u64, Vec<u8>)],
    pub(super) remove: &'a [u64],
    pub(super) newest: u64,
    pub(super) floor: u64,
}

/// The plain file, or in tests a disk that can be made to fail.
pub(super) type Medium = Arc<dyn Fn(&Path) -> Result<Database, redb::DatabaseError> + Send + Sync>;

pub(super) struct Journal {
    path: PathBuf,
    database: Database,
}

impl Journal {
    pub(super) fn create(path: &Path) -> Result<(), OpenError> {
        let database = engine(path, |builder| builder.create(path))?;
        let journal = Self {
            path: path.to_owned(),
            database,
        };
        journal.change(|change| {
            change.open_table(LOG)?;
            let mut about = change.open_table(ABOUT)?;
            about.insert("format", FORMAT)?;
            Ok(())
        })?;
        journal.commit(&Commit::default())
    }

    /// The engine checks each page against its checksum.
    pub(super) fn open(path: &Path, medium: &Medium) -> Result<Self, OpenError> {
        // Some damage makes the engine panic. Nothing of it is used afterwards.
        let opened = panic::catch_unwind(AssertUnwindSafe(|| medium(path)));
        let path = path.to_owned();
        match opened {
            Ok(Ok(database)) => Ok(Self { path, database }),
            Ok(Err(error)) => Err(refused(&path, error.into())),
            Err(_) => Err(OpenError::Damaged {
                path,
                what: "the engine cannot read it".to_owned(),
            }),
        }
    }

    /// Errors: `Format`, or `Damaged` when the log is not as it was left.
    pub(super) fn head(&self) -> Result<Head, OpenError> {
        let (format, head) = self.read(|transaction| {
            let about = transaction.open_table(ABOUT)?;
            let number = |name| -> Result<_, redb::Error> { Ok(about.get(name)?.map(|number| number.value())) };
            let head = [number("newest")?, number("floor")?, number("records")?];
            Ok((number("format")?, head))
        })?;
        match (format, head) {
            (Some(FORMAT), [Some(newest), Some(floor), Some(records)]) => Ok(Head { newest, floor, records }),
            (Some(FORMAT), _) => Err(self.damaged("it does not say where it ends".to_owned())),
            (found, _) => Err(OpenError::Format {
                path: self.path.clone(),
                found: found.map_or("none".to_owned(), |found| found.to_string()),
                known: FORMAT,
            }),
        }
    }

    pub(super) fn each(&self, mut visit: impl FnMut(u64, &[u8]) -> Result<(), OpenError>) -> Result<(), OpenError> {
        self.read(|transaction| {
            let log = transaction.open_table(LOG)?;
            for entry in log.iter()? {
                let (revision, record) = entry?;
                if let Err(error) = visit(revision.value(), record.value()) {
                    return Ok(Err(error));
                }
            }
            Ok(Ok(()))
        })?
    }

    /// Atomic. After an error the file has to be opened again.
    pub(super) fn commit(&self, commit: &Commit<'_>) -> Result<(), OpenError> {
        self.change(|change| {
            let mut log = change.open_table(LOG)?;
            for (revision, record) in commit.keep {
                log.insert(*revision, record.as_slice())?;
            }
            for revision in commit.remove {
                log.remove(*revision)?;
            }
            let mut about = change.open_table(ABOUT)?;
            about.insert("newest", commit.newest)?;
            about.insert("floor", commit.floor)?;
            about.insert("records", log.len()?)?;
            Ok(())
        })
    }

    pub(super) fn undo_after(&self, newest: u64) -> Result<(), OpenError> {
        self.change(|change| {
            let mut log = change.open_table(LOG)?;
            log.retain_in(newest + 1.., |_, _| false)?;
            let mut about = change.open_table(ABOUT)?;
            about.insert("newest", newest)?;
            about.insert("records", log.len()?)?;
            Ok(())
        })
    }

    pub(super) fn damaged(&self, what: String) -> OpenError {
        OpenError::Damaged {
            path: self.path.clone(),
            what,
        }
    }

    fn read<T>(&self, read: impl FnOnce(&redb::ReadTransaction) -> Result<T, redb::Error>) -> Result<T, OpenError> {
        let begun = self.database.begin_read().map_err(redb::Error::from);
        let result = begun.and_then(|transaction| read(&transaction));
        result.map_err(|error| refused(&self.path, error))
    }

    fn change(&self, make: impl FnOnce(&WriteTransaction) -> Result<(), redb::Error>) -> Result<(), OpenError> {
        let run = || {
            let mut change = self.database.begin_write()?;
            change.set_two_phase_commit(true);
            make(&change)?;
            Ok(change.commit()?)
        };
        // Some damage makes the engine panic here too. Nothing of this journal is used afterwards.
        match panic::catch_unwind(AssertUnwindSafe(run)) {
            Ok(done) => done.map_err(|error| refused(&self.path, error)),
            Err(_) => Err(OpenError::Io {
                path: self.path.clone(),
                source: io::Error::other("the engine that keeps it failed"),
            }),
        }
    }

    /// Closes even an engine that fails again.
    pub(super) fn abandon(self) {
        let path = self.path.clone();
        if panic::catch_unwind(AssertUnwindSafe(|| drop(self))).is_err() {
            tracing::warn!(file = %path.display(), "the engine failed to close its file");
        }
    }
}

pub(super) fn file() -> Medium {
    Arc::new(|path| open_checked(|builder| builder.open(path)))
}

fn engine(
    path: &Path,
    open: impl FnOnce(&mut redb::Builder) -> Result<Database, redb::DatabaseError>,
) -> Result<Database, OpenError> {
    open_checked(open).map_err(|error| refused(path, error.into()))
}

/// Requests the engine's check of the file, which it does itself after a stop without a close.
pub(super) fn open_checked(
    open: impl FnOnce(&mut redb::Builder) -> Result<Database, redb::DatabaseError>,
) -> Result<Database, redb::DatabaseError> {
    let checked = Arc::new(AtomicBool::new(false));
    let repaired = Arc::clone(&checked);
    let mut builder = Database::builder();
    builder.set_cache_size(CACHE);
    builder.set_repair_callback(move |_| repaired.store(true, Ordering::Relaxed));
    let mut database = open(&mut builder)?;
    if !checked.load(Ordering::Relaxed) {
        database.check_integrity()?;
    }
    Ok(database)
}

fn refused(path: &Path, error: redb::Error) -> OpenError {
    let path = path.to_owned();
    match error {
        // The engine's error for a file that is not one of its own.
        redb::Error::Io(source) if matches!(source.kind(), ErrorKind::InvalidData | ErrorKind::UnexpectedEof) => {
            let what = source.to_string();
            OpenError::Damaged { path, what }
        }
        redb::Error::Io(source) => cannot_write(&path, source),
        redb::Error::DatabaseAlreadyOpen => OpenError::InUse {
            folder: path,
            by: "another process".to_owned(),
        },
        redb::Error::UpgradeRequired(found) => OpenError::Format {
            path,
            found: format!("{found} of the engine"),
            known: FORMAT,
        },
        redb::Error::Corrupted(what) => OpenError::Damaged { path, what },
        other @ (redb::Error::TableDoesNotExist(_)
        | redb::Error::TableTypeMismatch { .. }
        | redb::Error::TypeDefinitionChanged { .. }
        | redb::Error::TableIsMultimap(_)
        | redb::Error::TableIsNotMultimap(_)) => OpenError::Damaged {
            path,
            what: other.to_string(),
        },
        other => OpenError::Io {
            path,
            source: io::Error::other(other),
        },
    }
}
