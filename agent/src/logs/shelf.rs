//! The autopilot's logs on the agent's disk: a folder beside the flight logs.

use super::no_answer::NoAnswer;
use super::wanted::RemoteLog;
use crate::flight_log::writer::LEFT_FREE;
use crate::ftp::packet::crc32_on;
use crate::sent::Sent;
use model::ids::NodeName;
use model::logs::LogName;
use model::logs::upload::first_to_go;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use tracing::warn;

#[derive(Debug)]
pub(crate) struct Shelf {
    folder: PathBuf,
    limit: u64,
    sent: Sent,
}

impl Shelf {
    /// Several nodes may share the folder with flight logs.
    pub(super) fn beside(flight_logs: &Path, node: &NodeName, limit: u64, sent: Sent) -> Self {
        Self {
            folder: Self::folder(flight_logs, node),
            limit,
            sent,
        }
    }

    pub(crate) fn folder(flight_logs: &Path, node: &NodeName) -> PathBuf {
        flight_logs.join(format!("autopilot-{node}"))
    }

    /// The name has the log's length, since an autopilot uses its numbers again.
    pub(super) fn name(log: &RemoteLog) -> Option<LogName> {
        LogName::on_disk(&log.name, log.bytes)
    }

    /// `None`: it is not whole.
    pub(super) fn path(&self, name: &LogName) -> Option<PathBuf> {
        let path = self.folder.join(name.as_str());
        let is_part = path.extension().is_some_and(|end| end == "part");
        (!is_part && path.is_file()).then_some(path)
    }

    fn part(&self, log: &RemoteLog) -> PathBuf {
        self.folder.join(format!("{}.part", log.name))
    }

    pub(super) fn there(&self, log: &RemoteLog) -> u64 {
        fs::metadata(self.part(log)).map_or(0, |part| part.len())
    }

    /// Logs that were uploaded go before the others, and the oldest first.
    pub(super) fn make_room(&self, log: &RemoteLog) -> Result<(), NoAnswer> {
        if log.bytes > self.limit {
            return Err(NoAnswer::NoRoom);
        }
        fs::create_dir_all(&self.folder)?;
        let own = self.part(log);
        let mut others: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let about = entry.metadata()?;
            if about.is_file() && entry.path() != own {
                let modified = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                others.push((modified, about.len(), entry.path()));
            }
        }
        others.sort();
        let mut total: u64 = others.iter().map(|(_, bytes, _)| bytes).sum();
        let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
        let is_sent = |path: &Path| name(path).is_some_and(|name| self.sent.key(&name).is_some());
        for (_, bytes, path) in first_to_go(others, |(_, _, path)| is_sent(path)) {
            if total.saturating_add(log.bytes) <= self.limit {
                break;
            }
            let is_part = path.extension().is_some_and(|end| end == "part");
            if let Some(name) = name(&path).filter(|name| !is_part && self.sent.is_lost_with(name)) {
                warn!(
                    file = name,
                    "removed a log of the autopilot that had not been uploaded, to make room for another"
                );
            }
            fs::remove_file(path)?;
            total -= bytes;
        }
        let disk = nix::sys::statvfs::statvfs(&self.folder).map_err(io::Error::from)?;
        let free = disk.blocks_available().saturating_mul(disk.fragment_size());
        let missing = log.bytes.saturating_sub(self.there(log));
        if free < missing.saturating_add(LEFT_FREE) {
            return Err(NoAnswer::NoRoom);
        }
        Ok(())
    }

    /// Returns whether the bytes, which begin at `at`, fit to what is there.
    pub(super) fn append(&self, log: &RemoteLog, at: u64, bytes: &[u8]) -> Result<bool, NoAnswer> {
        if bytes.is_empty() {
            return Ok(true);
        }
        let end = u64::try_from(bytes.len()).map_or(u64::MAX, |length| at.saturating_add(length));
        if end > self.limit {
            return Err(NoAnswer::NoRoom);
        }
        let mut file = File::options().create(true).append(true).open(self.part(log))?;
        if file.metadata()?.len() != at {
            return Ok(false);
        }
        file.write_all(bytes)?;
        Ok(true)
    }

    pub(super) fn begin_again(&self, log: &RemoteLog) -> io::Result<()> {
        match fs::remove_file(self.part(log)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Gives the log its name, if all of it is there and has this checksum.
    pub(super) fn finish(&self, log: &RemoteLog, crc: u32) -> io::Result<Option<LogName>> {
        let part = self.part(log);
        let mut file = File::options().create(true).append(true).read(true).open(&part)?;
        let Some(name) = Self::name(log).filter(|_| self.there(log) == log.bytes) else {
            return Ok(None);
        };
        if checksum(&mut file)? != crc {
            return Ok(None);
        }
        file.sync_all()?;
        fs::rename(&part, self.folder.join(name.as_str()))?;
        File::open(&self.folder)?.sync_all()?;
        Ok(Some(name))
    }
}

fn checksum(file: &mut File) -> io::Result<u32> {
    let (mut crc, mut piece) = (0, vec![0; 64 * 1024]);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(crc),
            read => crc = crc32_on(crc, piece.get(..read).unwrap_or_default()),
        }
    }
}
