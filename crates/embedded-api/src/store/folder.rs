//! Folder of the store, for its owner and one process at a time. The lock file stays; if it is not empty, there were
//! objects.

use super::error::OpenError;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const OWNER_ONLY: u32 = 0o600;

#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    lock: File,
}

impl Folder {
    pub(super) fn open(path: &Path) -> Result<Self, OpenError> {
        make(path).map_err(|source| cannot_write(path, source))?;
        let lock = lock_path(path);
        let file = options().truncate(false).open(&lock);
        let file = file.map_err(|source| cannot_write(&lock, source))?;
        match file.try_lock() {
            Ok(()) => Ok(Self {
                path: path.to_owned(),
                lock: file,
            }),
            Err(TryLockError::WouldBlock) => Err(OpenError::InUse {
                folder: path.to_owned(),
                by: holder(&lock),
            }),
            Err(TryLockError::Error(source)) => Err(cannot_write(&lock, source)),
        }
    }

    pub(super) fn objects(&self) -> PathBuf {
        self.path.join("objects.redb")
    }

    /// Whether the objects file must be created. Errors: `Missing` when there was one, `Damaged` when it is empty.
    pub(super) fn is_fresh(&self) -> Result<bool, OpenError> {
        let (path, lock) = (self.objects(), lock_path(&self.path));
        match fs::metadata(&path) {
            Ok(found) if found.len() == 0 => Err(OpenError::Damaged {
                path,
                what: "it is empty".to_owned(),
            }),
            Ok(_) => Ok(false),
            Err(error) if error.kind() == ErrorKind::NotFound => match self.lock.metadata() {
                Ok(found) if found.len() == 0 => Ok(true),
                Ok(_) => Err(OpenError::Missing { path, lock }),
                Err(source) => Err(OpenError::Io { path: lock, source }),
            },
            Err(source) => Err(OpenError::Io { path, source }),
        }
    }

    /// Uses another name until the file is complete and on disk.
    pub(super) fn make_objects(&self, fill: impl FnOnce(&Path) -> Result<(), OpenError>) -> Result<(), OpenError> {
        let (path, half) = (self.objects(), self.path.join("objects.redb.new"));
        let failed = |source| cannot_write(&half, source);
        options().truncate(true).open(&half).map_err(failed)?;
        fill(&half)?;
        let on_disk = File::open(&half).and_then(|file| file.sync_all());
        on_disk.map_err(failed)?;
        fs::rename(&half, &path).map_err(failed)?;
        let on_disk = File::open(&self.path).and_then(|folder| folder.sync_all());
        on_disk.map_err(failed)
    }

    pub(super) fn sign(&mut self) -> Result<(), OpenError> {
        let lock = lock_path(&self.path);
        let line = format!("process {}\n", std::process::id());
        // Extended first, truncated afterwards: the file is never empty again.
        let signed = io::Seek::rewind(&mut self.lock)
            .and_then(|()| self.lock.write_all(line.as_bytes()))
            .and_then(|()| self.lock.set_len(line.len() as u64))
            .and_then(|()| self.lock.sync_all());
        signed.map_err(|source| cannot_write(&lock, source))
    }
}

/// Parents, too, survive a power failure.
fn make(path: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = path.ancestors().take_while(|each| !each.exists()).collect();
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    for made in missing {
        let parent = made.parent().filter(|parent| !parent.as_os_str().is_empty());
        File::open(parent.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    Ok(())
}

pub(super) fn cannot_write(path: &Path, source: io::Error) -> OpenError {
    let path = path.to_owned();
    match source.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => OpenError::NotWritable { path, source },
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => OpenError::Full { path, source },
        _ => OpenError::Io { path, source },
    }
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).mode(OWNER_ONLY);
    options
}

fn lock_path(folder: &Path) -> PathBuf {
    folder.join("objects.lock")
}

fn holder(lock: &Path) -> String {
    let signed = fs::read_to_string(lock).unwrap_or_default();
    match signed.trim() {
        "" => "another process".to_owned(),
        process => process.to_owned(),
    }
}
