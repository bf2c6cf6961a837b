//! The logs on the disk that can be uploaded, and what a log is, read once: its checksums, and its place in the store.

use crate::flight_log::file_name;
use crate::logs::shelf::Shelf;
use md5::Md5;
use model::ids::NodeName;
use model::logs::LogName;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Bytes of a part, but for the last: the least that stores take. A longer log goes in parts.
pub(super) const PART: u64 = if cfg!(test) { 64 * 1024 } else { 5 * 1024 * 1024 };
const PIECE: usize = 64 * 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WholeLog {
    /// No other log of the node has this name.
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
    pub(super) autopilot: bool,
}

/// The logs that grow no more: flight logs, the oldest first, then those of the autopilot that were brought to the disk.
pub(super) fn whole_logs(folder: &Path, node: &NodeName) -> io::Result<Vec<WholeLog>> {
    let mut logs = Vec::new();
    for entry in entries(folder)? {
        if let Some(number) = file_name::number(node, &entry.name) {
            logs.push((number, entry));
        }
    }
    logs.sort_by_key(|(number, _)| *number);
    // The newest one is being written, or will be left alone once the next one is begun.
    logs.pop();
    let mut logs: Vec<_> = logs.into_iter().map(|(_, log)| log).collect();
    let mut autopilots = entries(&Shelf::folder(folder, node))?;
    autopilots.retain(|log| !log.name.ends_with(".part"));
    autopilots.sort_by(|a, b| a.name.cmp(&b.name));
    logs.extend(autopilots.into_iter().map(|log| WholeLog { autopilot: true, ..log }));
    Ok(logs)
}

fn entries(folder: &Path) -> io::Result<Vec<WholeLog>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut logs = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let about = match entry.metadata() {
            Ok(about) => about,
            // Removed meanwhile, to make room.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        if about.is_file() && LogName::parse(&name).is_ok() {
            let (path, bytes) = (entry.path(), about.len());
            let autopilot = false;
            logs.push(WholeLog {
                name,
                path,
                bytes,
                autopilot,
            });
        }
    }
    Ok(logs)
}

impl WholeLog {
    /// Below the node, under its own name and the beginning of its SHA-256: equal logs have one key, and logs that differ never have the same.
    pub(super) fn key(&self, prefix: &str, node: &NodeName, sha256: &str) -> String {
        let slash = if prefix.is_empty() { "" } else { "/" };
        let folder = if self.autopilot { "/autopilot" } else { "" };
        let (stem, end) = self.name.rsplit_once('.').unwrap_or((&self.name, "log"));
        let short = sha256.get(..12).unwrap_or(sha256);
        format!("{prefix}{slash}{node}{folder}/{stem}-{short}.{end}")
    }

    pub(super) fn part(&self, file: &mut File, index: u64) -> io::Result<Vec<u8>> {
        let offset = index * PART;
        let length = self.bytes.saturating_sub(offset).min(PART);
        file.seek(SeekFrom::Start(offset))?;
        let mut data = Vec::new();
        file.take(length).read_to_end(&mut data)?;
        if u64::try_from(data.len()).unwrap_or(u64::MAX) < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(data)
    }
}

/// In hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sums {
    pub(super) sha256: String,
    /// The ETag of most stores for what came in one piece.
    pub(super) md5: String,
    pub(super) parts: Vec<String>,
    /// The ETag of most stores for parts: the MD5 of their MD5s, and their number.
    pub(super) md5_of_parts: String,
}

impl Sums {
    /// Fails also where the file is shorter than `bytes`.
    pub(super) fn of(file: &mut File, bytes: u64) -> io::Result<Self> {
        file.seek(SeekFrom::Start(0))?;
        let (mut sha256, mut md5, mut of_parts) = (Sha256::new(), Md5::new(), Md5::new());
        let mut parts = Vec::new();
        let mut piece = vec![0; PIECE];
        let mut left = bytes;
        while left > 0 {
            let mut part = Md5::new();
            let mut in_part = left.min(PART);
            left -= in_part;
            while in_part > 0 {
                let most = usize::try_from(in_part).unwrap_or(PIECE).min(PIECE);
                let read = file.read(piece.get_mut(..most).unwrap_or_default())?;
                if read == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                let data = piece.get(..read).unwrap_or_default();
                sha256.update(data);
                md5.update(data);
                part.update(data);
                in_part -= u64::try_from(read).unwrap_or(in_part);
            }
            let part = part.finalize();
            of_parts.update(part);
            parts.push(hex(&part));
        }
        Ok(Self {
            sha256: hex(&sha256.finalize()),
            md5: hex(&md5.finalize()),
            md5_of_parts: format!("{}-{}", hex(&of_parts.finalize()), parts.len()),
            parts,
        })
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_logs_but_the_one_that_grows_are_whole_the_oldest_first() {
        let folder = tempfile::tempdir().unwrap();
        let node = NodeName::parse("pine").unwrap();
        assert_eq!(whole_logs(&folder.path().join("none"), &node).unwrap(), []);
        let write = |name: &str| fs::write(folder.path().join(name), name).unwrap();
        write("skein-pine-20261121T080203Z-9.tlog");
        write("skein-pine-20261121T080303Z-10.tlog");
        write("skein-pine-20261121T080403Z-11.tlog");
        write("skein-oak-20261121T080203Z-1.tlog");
        write("uploads-pine.json");
        fs::create_dir(folder.path().join("autopilot-pine")).unwrap();
        write("autopilot-pine/00000003-7.BIN");
        write("autopilot-pine/00000004-9.BIN.part");
        let logs = whole_logs(folder.path(), &node).unwrap();
        let names: Vec<_> = logs.iter().map(|log| (log.name.as_str(), log.autopilot)).collect();
        assert_eq!(
            names,
            [
                ("skein-pine-20261121T080203Z-9.tlog", false),
                ("skein-pine-20261121T080303Z-10.tlog", false),
                ("00000003-7.BIN", true),
            ]
        );
        let digest = "0123456789abcdef";
        assert_eq!(
            logs[0].key("", &node, digest),
            "pine/skein-pine-20261121T080203Z-9-0123456789ab.tlog"
        );
        assert_eq!(
            logs[2].key("fleet/2026", &node, digest),
            "fleet/2026/pine/autopilot/00000003-7-0123456789ab.BIN"
        );
    }

    #[test]
    fn checksums_are_those_that_stores_give() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        fs::write(&path, b"abc").unwrap();
        let sums = Sums::of(&mut File::open(&path).unwrap(), 3).unwrap();
        assert_eq!(
            sums.sha256,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(sums.md5, "900150983cd24fb0d6963f7d28e17f72");
        assert_eq!(sums.parts, ["900150983cd24fb0d6963f7d28e17f72"]);
        // The MD5 of the sixteen bytes of that one.
        assert_eq!(sums.md5_of_parts, "af5da9f45af7a300e3aded972f8ff687-1");
        let short = Sums::of(&mut File::open(&path).unwrap(), 4).unwrap_err();
        assert_eq!(short.kind(), io::ErrorKind::UnexpectedEof);
        let log = WholeLog {
            name: "log".to_owned(),
            bytes: PART + 2,
            path: path.clone(),
            autopilot: false,
        };
        fs::write(&path, vec![7; usize::try_from(PART).unwrap() + 2]).unwrap();
        let mut file = File::open(&path).unwrap();
        assert_eq!(Sums::of(&mut file, log.bytes).unwrap().parts.len(), 2);
        assert_eq!(log.part(&mut file, 1).unwrap(), [7, 7]);
    }
}
