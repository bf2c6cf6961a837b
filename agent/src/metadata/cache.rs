//! Metadata files kept in the state directory, by their checksum, so that they are downloaded once.
//!
//! A file is written whole or not at all, and checked by its checksum when it is read. Called off the pilot's thread; every fault is as good
//! as an empty cache.

use super::unpack::unpack;
use crate::durable;
use crate::ftp::download::LARGEST;
use crate::ftp::packet::crc32;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Two for each firmware.
const FILES_AT_MOST: usize = 8;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetadataCache {
    folder: PathBuf,
}

impl MetadataCache {
    /// Nothing is read or written yet.
    pub fn in_state(dir: &Path) -> Self {
        Self {
            folder: dir.join("metadata"),
        }
    }

    fn file(&self, crc: u32) -> PathBuf {
        self.folder.join(format!("{crc:08x}"))
    }

    /// `None`: it is not there, or not whole.
    pub(super) fn load(&self, crc: u32) -> Option<Vec<u8>> {
        let file = self.file(crc);
        let size = fs::metadata(&file).ok()?.len();
        if usize::try_from(size).map_or(true, |size| size > LARGEST) {
            return None;
        }
        // PX4 names a packed file by the checksum of what is in it.
        let is_whole = |bytes: &Vec<u8>| crc32(bytes) == crc || unpack(bytes).is_ok_and(|text| crc32(&text) == crc);
        fs::read(&file).ok().filter(is_whole)
    }

    pub(super) fn keep(&self, crc: u32, bytes: &[u8]) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        durable::replace_file(&self.file(crc), &self.folder.join("new"), bytes)?;
        self.clear_out(crc)
    }

    /// Removes the oldest files beyond the bound, never the one that has just come.
    fn clear_out(&self, newest: u32) -> io::Result<()> {
        let newest = self.file(newest);
        let mut files: Vec<(SystemTime, PathBuf)> = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let modified = entry.metadata()?.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            if entry.path() != newest {
                files.push((modified, entry.path()));
            }
        }
        files.sort();
        let surplus = (files.len() + 1).saturating_sub(FILES_AT_MOST);
        files
            .iter()
            .take(surplus)
            .try_for_each(|(_, file)| fs::remove_file(file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_found_by_its_checksum_and_what_is_damaged_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let cache = MetadataCache::in_state(dir.path());
        let bytes = b"a file".to_vec();
        let crc = crc32(&bytes);
        assert_eq!(cache.load(crc), None);
        cache.keep(crc, &bytes).unwrap();
        assert_eq!(cache.load(crc), Some(bytes.clone()));
        fs::write(cache.file(crc), b"a fIle").unwrap();
        assert_eq!(cache.load(crc), None);
        cache.keep(crc, &bytes).unwrap();
        assert_eq!(cache.load(crc), Some(bytes));
    }

    #[test]
    fn the_cache_is_bounded_and_the_newest_stays() {
        let dir = tempfile::tempdir().unwrap();
        let cache = MetadataCache::in_state(dir.path());
        for n in 0..30_u32 {
            let bytes = n.to_le_bytes();
            cache.keep(crc32(&bytes), &bytes).unwrap();
            assert_eq!(cache.load(crc32(&bytes)), Some(bytes.to_vec()));
        }
        assert_eq!(fs::read_dir(&cache.folder).unwrap().count(), FILES_AT_MOST);
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_an_error_and_an_empty_cache() {
        let cache = MetadataCache::in_state(Path::new("/proc/none"));
        assert!(cache.keep(1, b"x").is_err());
        assert_eq!(cache.load(1), None);
    }
}
