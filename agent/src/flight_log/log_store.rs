//! Where log files are kept: a folder, or in tests something that breaks on purpose.

use super::file_name;
use model::ids::NodeName;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredLog {
    /// Which of the node's files it is.
    pub number: u64,
    pub name: String,
    pub bytes: u64,
}

pub trait LogStore: Send + 'static {
    /// The log files of this node, in any order.
    ///
    /// # Errors
    /// The place cannot be read.
    fn stored(&mut self) -> io::Result<Vec<StoredLog>>;

    /// Begins a file that does not exist yet.
    ///
    /// # Errors
    /// It cannot be made.
    fn begin(&mut self, name: &str) -> io::Result<Box<dyn LogFile>>;

    /// Removes a file.
    ///
    /// # Errors
    /// It cannot be removed.
    fn remove(&mut self, name: &str) -> io::Result<()>;

    /// Bytes that are free for everybody.
    ///
    /// # Errors
    /// The place cannot be asked.
    fn free(&mut self) -> io::Result<u64>;
}

/// A file that is being written.
pub trait LogFile: Send {
    /// Adds bytes at the end. What was added before an error is undefined.
    ///
    /// # Errors
    /// They could not be added.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Cuts the file to this length.
    ///
    /// # Errors
    /// It could not be cut.
    fn cut(&mut self, bytes: u64) -> io::Result<()>;

    /// Asks that what was added survives a loss of power.
    ///
    /// # Errors
    /// It may not survive one.
    fn sync(&mut self) -> io::Result<()>;
}

/// A folder on a disk, shared with other nodes' logs and other files perhaps.
#[derive(Clone, Debug)]
pub struct Folder {
    /// The folder. It is made when it is missing.
    pub path: PathBuf,
    pub node: NodeName,
}

impl LogStore for Folder {
    fn stored(&mut self) -> io::Result<Vec<StoredLog>> {
        fs::create_dir_all(&self.path)?;
        let mut kept = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if let Some(number) = file_name::number(&self.node, &name) {
                let bytes = entry.metadata()?.len();
                kept.push(StoredLog { number, name, bytes });
            }
        }
        Ok(kept)
    }

    fn begin(&mut self, name: &str) -> io::Result<Box<dyn LogFile>> {
        let path = self.path.join(name);
        let file = OpenOptions::new().append(true).create_new(true).open(path)?;
        Ok(Box::new(file))
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    fn free(&mut self) -> io::Result<u64> {
        let disk = nix::sys::statvfs::statvfs(&self.path)?;
        Ok(disk.blocks_available().saturating_mul(disk.fragment_size()))
    }
}

impl LogFile for File {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }

    fn cut(&mut self, bytes: u64) -> io::Result<()> {
        self.set_len(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}
