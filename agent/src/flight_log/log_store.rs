//! Where log files are kept: a folder, or in tests a disk that breaks on purpose.

use super::file_name;
use model::ids::NodeName;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredLog {
    pub number: u64,
    pub name: String,
    pub bytes: u64,
}

pub trait LogStore: Send + 'static {
    /// In any order.
    fn stored(&mut self) -> io::Result<Vec<StoredLog>>;

    fn begin(&mut self, name: &str) -> io::Result<Box<dyn LogFile>>;

    fn remove(&mut self, name: &str) -> io::Result<()>;

    /// Bytes that are free for everybody.
    fn free(&mut self) -> io::Result<u64>;
}

pub trait LogFile: Send {
    /// What was added before an error is undefined.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    fn cut(&mut self, bytes: u64) -> io::Result<()>;

    /// What was added survives a loss of power once this returns.
    fn sync(&mut self) -> io::Result<()>;
}

/// Other nodes' logs and other files may be in it, too.
#[derive(Clone, Debug)]
pub struct Folder {
    /// Made when it is missing.
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
