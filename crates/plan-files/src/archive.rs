//! Zip archives, in memory: the list of entries at the end, and an entry unpacked.
//!
//! Owns: what an archive may cost, by bytes that were read or unpacked and not by what it says of itself. Must not:
//! write a file, follow the path of an entry, or unpack an archive in an archive. Form: PKWARE's APPNOTE.TXT, without
//! zip64, which only files above 4 GB need.

use flate2::Crc;
use flate2::bufread::DeflateDecoder;
use std::io::Read as _;

/// Photos in a KMZ are entries, too.
pub const MOST_ENTRIES: usize = 10_000;

const STORED: u16 = 0;
const DEFLATED: u16 = 8;

/// Bytes of the end record, without the comment behind it.
const END_BYTES: usize = 22;

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadArchive {
    #[error("the list of files at the end of the zip archive is missing or broken; copy or download it again")]
    List,
    #[error("the zip archive has {0} files, more than {MOST_ENTRIES}; pack the map alone")]
    TooMany(usize),
    #[error("{0:?} in the zip archive has a password; unpack it and import that")]
    Encrypted(String),
    #[error("{0:?} in the zip archive is packed by method {1}, which Skein does not read; unpack it and import that")]
    Method(String, u16),
    #[error("{name:?} in the zip archive is too long: unpacked, its maps have more than {most} bytes; divide them")]
    TooLong { name: String, most: usize },
    #[error("{0:?} in the zip archive is damaged; copy or download the archive again")]
    Damaged(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Path in the archive, with slashes: for words and endings only.
    pub name: String,
    is_encrypted: bool,
    method: u16,
    checksum: u32,
    packed_bytes: usize,
    at: usize,
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

/// Files, without folders and without what macOS packs beside each file.
pub fn entries(bytes: &[u8]) -> Result<Vec<Entry>, BadArchive> {
    let end = end(bytes).ok_or(BadArchive::List)?;
    let count = usize::from(half(end, 10).ok_or(BadArchive::List)?);
    if count > MOST_ENTRIES {
        return Err(BadArchive::TooMany(count));
    }
    let mut list = word(end, 16).and_then(|at| bytes.get(at..)).ok_or(BadArchive::List)?;
    let mut entries = Vec::new();
    for _ in 0..count {
        let (entry, rest) = entry(list).ok_or(BadArchive::List)?;
        list = rest;
        let is_of_macos = entry.name.starts_with("__MACOSX/") || entry.file_name().starts_with("._");
        if !entry.name.ends_with('/') && !is_of_macos {
            entries.push(entry);
        }
    }
    Ok(entries)
}

/// The last end record whose comment is there.
fn end(bytes: &[u8]) -> Option<&[u8]> {
    let last = bytes.len().checked_sub(END_BYTES)?;
    let first = last.saturating_sub(usize::from(u16::MAX));
    let mut ends = (first..=last).rev().filter_map(|at| bytes.get(at..));
    let is_end = |end: &&[u8]| {
        let comment = half(end, 20).map(usize::from);
        end.starts_with(b"PK\x05\x06") && comment.is_some_and(|comment| END_BYTES + comment <= end.len())
    };
    ends.find(is_end)
}

/// The first entry of the list, and the list after it.
fn entry(list: &[u8]) -> Option<(Entry, &[u8])> {
    if !list.starts_with(b"PK\x01\x02") {
        return None;
    }
    let length = |at: usize| half(list, at).map(usize::from);
    let (name, more) = (length(28)?, length(30)? + length(32)?);
    let (name, rest) = list.get(46..)?.split_at_checked(name)?;
    let entry = Entry {
        // Some programs on Windows write backslashes.
        name: String::from_utf8_lossy(name).replace('\\', "/"),
        is_encrypted: half(list, 8)? & 1 == 1,
        method: half(list, 10)?,
        checksum: u32::from_le_bytes(*list.get(16..)?.first_chunk()?),
        packed_bytes: word(list, 20)?,
        at: word(list, 42)?,
    };
    Some((entry, rest.get(more..)?))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn word(bytes: &[u8], at: usize) -> Option<usize> {
    usize::try_from(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?)).ok()
}

/// Unpacks entries of one archive, up to `most` bytes together.
#[derive(Debug)]
pub struct Unpacking<'a> {
    bytes: &'a [u8],
    most: usize,
    room: usize,
    /// Packed bytes not read yet: entries that overlap need more than the archive has.
    unread: usize,
}

impl<'a> Unpacking<'a> {
    #[must_use]
    pub const fn of(bytes: &'a [u8], most: usize) -> Self {
        Self {
            bytes,
            most,
            room: most,
            unread: bytes.len(),
        }
    }

    pub fn unpack(&mut self, entry: &Entry) -> Result<Vec<u8>, BadArchive> {
        let damaged = || BadArchive::Damaged(entry.name.clone());
        if entry.is_encrypted {
            return Err(BadArchive::Encrypted(entry.name.clone()));
        }
        let packed = self.packed(entry).ok_or_else(damaged)?;
        self.unread = self.unread.checked_sub(packed.len()).ok_or_else(damaged)?;
        let limit = u64::try_from(self.room).unwrap_or(u64::MAX).saturating_add(1);
        let mut unpacked = Vec::new();
        let read = match entry.method {
            STORED => packed.take(limit).read_to_end(&mut unpacked),
            DEFLATED => DeflateDecoder::new(packed).take(limit).read_to_end(&mut unpacked),
            other => return Err(BadArchive::Method(entry.name.clone(), other)),
        };
        read.map_err(|_| damaged())?;
        let Some(room) = self.room.checked_sub(unpacked.len()) else {
            return Err(BadArchive::TooLong {
                name: entry.name.clone(),
                most: self.most,
            });
        };
        self.room = room;
        let mut checksum = Crc::new();
        checksum.update(&unpacked);
        if checksum.sum() == entry.checksum {
            Ok(unpacked)
        } else {
            Err(damaged())
        }
    }

    /// Lies behind a head of its own, whose name and extra field may have other lengths than in the list.
    fn packed(&self, entry: &Entry) -> Option<&'a [u8]> {
        let head = self.bytes.get(entry.at..).filter(|head| is_one(head))?;
        let before = usize::from(half(head, 26)?) + usize::from(half(head, 28)?);
        head.get(30 + before..)?.get(..entry.packed_bytes)
    }
}
