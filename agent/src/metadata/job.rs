//! Reading the cache, unpacking and reading: on a thread of its own, one job at a time.

use super::cache::MetadataCache;
use super::events;
use super::table::Table;
use super::unpack::unpack;
use crate::ftp::packet::crc32;
use serde::Deserialize;
use std::sync::Arc;

/// COMP_METADATA_TYPE_EVENTS.
const TYPE_EVENTS: u32 = 4;
const ENTRIES_AT_MOST: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    Index,
    Events,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    pub(super) number: u64,
    pub(super) cache: MetadataCache,
    pub(super) which: Which,
    /// The index need not give one for its files.
    pub(super) crc: Option<u32>,
    /// `None`: read the cache.
    pub(super) bytes: Option<Vec<u8>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    pub(super) number: u64,
    pub(super) found: Found,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    Nothing,
    Index {
        uri: String,
        crc: Option<u32>,
    },
    Events(Arc<Table>),
    /// Why the file is of no use.
    Unusable(String),
    /// The file is not the one that was named: damaged on the way, or changed since.
    Damaged,
}

#[derive(Deserialize)]
struct Index {
    #[serde(rename = "metadataTypes", default)]
    types: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "type")]
    kind: u32,
    #[serde(default)]
    uri: String,
    #[serde(rename = "fileCrc")]
    crc: Option<u32>,
}

impl Job {
    /// Blocks for some tens of milliseconds.
    pub fn run(self) -> Done {
        Done {
            number: self.number,
            found: self.find(),
        }
    }

    fn find(self) -> Found {
        let fresh = self.bytes.is_some();
        let Some(bytes) = self.bytes.or_else(|| self.cache.load(self.crc?)) else {
            return Found::Nothing;
        };
        let text = unpack(&bytes);
        // PX4 gives the checksum of the packed events file, but of the index as it was before it was packed.
        let is_right = |crc: u32| crc32(&bytes) == crc || text.as_ref().is_ok_and(|text| crc32(text) == crc);
        if !self.crc.is_none_or(is_right) {
            return Found::Damaged;
        }
        let found = match text
            .map_err(|why| why.to_string())
            .and_then(|text| read(self.which, &text))
        {
            Ok(found) => found,
            Err(why) => return Found::Unusable(why),
        };
        if let Some(crc) = self.crc.filter(|_| fresh)
            && let Err(why) = self.cache.keep(crc, &bytes)
        {
            tracing::warn!(%why, "cannot keep the autopilot's event descriptions; they will be downloaded again");
        }
        found
    }
}

fn read(which: Which, text: &[u8]) -> Result<Found, String> {
    match which {
        Which::Events => match events::read(text) {
            Ok(table) => Ok(Found::Events(Arc::new(table))),
            Err(why) => Err(why.to_string()),
        },
        Which::Index => {
            let index: Index =
                serde_json::from_slice(text).map_err(|why| format!("the index of the metadata is no JSON: {why}"))?;
            let mut entries = index.types.into_iter().take(ENTRIES_AT_MOST);
            match entries.find(|entry| entry.kind == TYPE_EVENTS && !entry.uri.is_empty()) {
                Some(Entry { uri, crc, .. }) => Ok(Found::Index { uri, crc }),
                None => Err("the autopilot describes itself, but not its events".to_owned()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INDEX: &[u8] = br#"{"version": 1, "metadataTypes": [{"type": 1, "uri": "mftp://p", "fileCrc": 1},
        {"type": 4, "uri": "mftp://e", "fileCrc": 77, "uriFallback": "https://x"}]}"#;
    const EVENTS: &[u8] = br#"{"version": 1, "components": {"1": {"namespace": "a", "event_groups": {"default":
        {"events": {"3": {"name": "e", "message": "Hello"}}}}}}}"#;

    fn job(cache: &MetadataCache, which: Which, crc: Option<u32>, bytes: Option<&[u8]>) -> Found {
        Job {
            number: 1,
            cache: cache.clone(),
            which,
            crc,
            bytes: bytes.map(<[u8]>::to_vec),
        }
        .run()
        .found
    }

    #[test]
    fn a_file_that_was_downloaded_is_found_in_the_cache_from_then_on() {
        let dir = tempfile::tempdir().unwrap();
        let cache = MetadataCache::in_state(dir.path());
        let crc = Some(crc32(INDEX));
        assert_eq!(job(&cache, Which::Index, crc, None), Found::Nothing);
        let found = Found::Index {
            uri: "mftp://e".to_owned(),
            crc: Some(77),
        };
        assert_eq!(job(&cache, Which::Index, crc, Some(INDEX)), found);
        assert_eq!(job(&cache, Which::Index, crc, None), found);
        let mut packed = Vec::new();
        lzma_rs::xz_compress(&mut &EVENTS[..], &mut packed).unwrap();
        let Found::Events(table) = job(&cache, Which::Events, Some(crc32(&packed)), Some(&packed)) else {
            unreachable!("it is an events file")
        };
        assert_eq!(table.describe(0x0100_0003, &[]).unwrap().message, "Hello");
    }

    #[test]
    fn the_checksum_may_be_that_of_the_file_before_it_was_packed() {
        let dir = tempfile::tempdir().unwrap();
        let cache = MetadataCache::in_state(dir.path());
        let mut packed = Vec::new();
        lzma_rs::xz_compress(&mut &INDEX[..], &mut packed).unwrap();
        let found = Found::Index {
            uri: "mftp://e".to_owned(),
            crc: Some(77),
        };
        let crc = Some(crc32(INDEX));
        assert_eq!(job(&cache, Which::Index, crc, Some(&packed)), found);
        assert_eq!(job(&cache, Which::Index, crc, None), found, "from the cache");
    }

    #[test]
    fn a_file_with_another_checksum_is_not_taken_and_not_kept() {
        let dir = tempfile::tempdir().unwrap();
        let cache = MetadataCache::in_state(dir.path());
        assert_eq!(job(&cache, Which::Index, Some(5), Some(INDEX)), Found::Damaged);
        assert_eq!(job(&cache, Which::Index, Some(5), None), Found::Nothing);
    }

    #[test]
    fn a_file_without_a_checksum_is_taken_but_not_kept() {
        let dir = tempfile::tempdir().unwrap();
        let cache = MetadataCache::in_state(dir.path());
        assert!(matches!(
            job(&cache, Which::Events, None, Some(EVENTS)),
            Found::Events(_)
        ));
        assert_eq!(job(&cache, Which::Events, None, None), Found::Nothing);
        assert!(!dir.path().join("metadata").exists());
    }

    #[test]
    fn what_is_of_no_use_says_why_and_is_not_kept() {
        let dir = tempfile::tempdir().unwrap();
        let cache = MetadataCache::in_state(dir.path());
        let why = |which, bytes: &[u8]| match job(&cache, which, Some(crc32(bytes)), Some(bytes)) {
            Found::Unusable(why) => why,
            other => unreachable!("{other:?}"),
        };
        assert!(why(Which::Index, b"[").contains("no JSON"));
        assert!(why(Which::Index, br#"{"metadataTypes": []}"#).contains("not its events"));
        assert!(why(Which::Events, b"{}").contains("events file"));
        assert!(why(Which::Events, b"\xFD7zXZ\0").contains("damaged"));
        assert!(!dir.path().join("metadata").exists());
    }
}
