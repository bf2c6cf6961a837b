//! Zip archives, in memory: the list of entries, and an entry unpacked.
//!
//! Owns: what an archive may cost, by bytes that were unpacked and not by what it says of itself. Must not: write a file, follow the path of an
//! entry, or unpack an archive in an archive.

use std::io::{Cursor, Read as _};
use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

/// Photos in a KMZ are entries, too.
pub const MOST_ENTRIES: usize = 10_000;

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadArchive {
    #[error("the list of files at the end of the zip archive is missing or broken; copy or download it again")]
    List,
    #[error("the zip archive has more than {MOST_ENTRIES} files; pack the map alone")]
    TooMany,
    #[error("{0:?} in the zip archive has a password; unpack it and import that")]
    Encrypted(String),
    #[error("{0:?} in the zip archive is packed by a method that Skein does not read; unpack it and import that")]
    Method(String),
    #[error("{name:?} in the zip archive is too long: unpacked, its maps have more than {most} bytes; divide them")]
    TooLong { name: String, most: usize },
    #[error("{0:?} in the zip archive is damaged; copy or download the archive again")]
    Damaged(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Path in the archive, with slashes: for words and endings only.
    pub name: String,
    index: usize,
}

impl Entry {
    /// `ending`: without the dot.
    #[must_use]
    pub fn ends(&self, ending: &str) -> bool {
        let own = self.file_name().rsplit_once('.');
        own.is_some_and(|(_, own)| own.eq_ignore_ascii_case(ending))
    }

    #[must_use]
    pub fn file_name(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or_default()
    }
}

#[must_use]
pub fn is_one(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04")
}

#[derive(Debug)]
pub struct Archive<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
    most: usize,
    room: usize,
}

impl<'a> Archive<'a> {
    /// `most`: bytes that are unpacked, of all entries together.
    pub fn open(bytes: &'a [u8], most: usize) -> Result<Self, BadArchive> {
        // Counted before the list is read, which takes memory for each.
        let heads = bytes.windows(4).filter(|four| four == b"PK\x01\x02");
        if heads.take(MOST_ENTRIES + 1).count() > MOST_ENTRIES {
            return Err(BadArchive::TooMany);
        }
        let zip = ZipArchive::new(Cursor::new(bytes)).map_err(|_| BadArchive::List)?;
        Ok(Self { zip, most, room: most })
    }

    /// Files, without folders and without what macOS packs beside each file.
    pub fn entries(&self) -> Result<Vec<Entry>, BadArchive> {
        let mut entries = Vec::new();
        for index in 0..self.zip.len() {
            let data = self.zip.by_index_data(index).map_err(|_| BadArchive::List)?;
            // Some programs on Windows write backslashes.
            let name = String::from_utf8_lossy(data.name_raw()).replace('\\', "/");
            let entry = Entry { name, index };
            let is_of_macos = entry.name.starts_with("__MACOSX/") || entry.file_name().starts_with("._");
            if !entry.name.ends_with('/') && !is_of_macos {
                entries.push(entry);
            }
        }
        Ok(entries)
    }

    pub fn unpack(&mut self, entry: &Entry) -> Result<Vec<u8>, BadArchive> {
        let name = || entry.name.clone();
        let file = self.zip.by_index(entry.index).map_err(|why| match why {
            ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED) => BadArchive::Encrypted(name()),
            ZipError::UnsupportedArchive(_) => BadArchive::Method(name()),
            _ => BadArchive::Damaged(name()),
        })?;
        if !matches!(
            file.compression(),
            CompressionMethod::Stored | CompressionMethod::Deflated
        ) {
            return Err(BadArchive::Method(name()));
        }
        let limit = u64::try_from(self.room).unwrap_or(u64::MAX).saturating_add(1);
        let mut unpacked = Vec::new();
        let read = file.take(limit).read_to_end(&mut unpacked);
        let Some(room) = self.room.checked_sub(unpacked.len()) else {
            return Err(BadArchive::TooLong {
                name: name(),
                most: self.most,
            });
        };
        read.map_err(|_| BadArchive::Damaged(name()))?;
        self.room = room;
        Ok(unpacked)
    }
}
