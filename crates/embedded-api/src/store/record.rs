//! One record of the log, as bytes:
//! ```text
//! checksum u32 │ kind u8 │ time u64 │ three lengths u16 │ resource │ namespace │ name │ object as JSON
//! ```
//! Numbers are little-endian. The checksum is CRC-32 over the revision and everything after the checksum, so a record
//! that is found under another revision is detected too.

use super::error::WriteError;
use super::object::Key;
use bytes::Bytes;

const PUT: u8 = 1;
const DELETED: u8 = 2;
const CHECKSUM: usize = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) key: Key,
    pub(super) deleted: bool,
    /// Milliseconds since 1970, by this machine's clock.
    pub(super) written_ms: u64,
    pub(super) json: Bytes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotARecord {
    #[error("the checksum of revision {0} does not match")]
    Checksum(u64),
    /// Right checksum, unreadable content.
    #[error("revision {0} cannot be read")]
    Layout(u64),
}

impl Record {
    /// Errors: `Malformed` when a part of the key is longer than its length field allows.
    pub(super) fn encode(&self, revision: u64) -> Result<Vec<u8>, WriteError> {
        let parts = [&self.key.resource, &self.key.namespace, &self.key.name];
        let text: usize = parts.iter().map(|part| part.len()).sum();
        let mut bytes = Vec::with_capacity(32 + text + self.json.len());
        bytes.extend([0; CHECKSUM]);
        bytes.push(if self.deleted { DELETED } else { PUT });
        bytes.extend(self.written_ms.to_le_bytes());
        for part in parts {
            let length = u16::try_from(part.len()).map_err(|_| WriteError::Malformed("its name is too long"))?;
            bytes.extend(length.to_le_bytes());
        }
        for part in parts {
            bytes.extend(part.as_bytes());
        }
        bytes.extend(&self.json[..]);
        let (checksum, rest) = bytes.split_at_mut(CHECKSUM);
        checksum.copy_from_slice(&sum(revision, rest));
        Ok(bytes)
    }

    pub(super) fn decode(revision: u64, bytes: &[u8]) -> Result<Self, NotARecord> {
        let layout = NotARecord::Layout(revision);
        let (checksum, rest) = bytes.split_at_checked(CHECKSUM).ok_or(layout)?;
        if *checksum != sum(revision, rest) {
            return Err(NotARecord::Checksum(revision));
        }
        read(rest).ok_or(layout)
    }
}

fn read(bytes: &[u8]) -> Option<Record> {
    let ([kind], rest) = bytes.split_first_chunk()?;
    let (written_ms, rest) = rest.split_first_chunk()?;
    let (resource, rest) = rest.split_first_chunk()?;
    let (namespace, rest) = rest.split_first_chunk()?;
    let (name, rest) = rest.split_first_chunk()?;
    let text = |bytes: &[u8]| std::str::from_utf8(bytes).ok().map(Into::into);
    let length = |bytes: [u8; 2]| usize::from(u16::from_le_bytes(bytes));
    let (resource, rest) = rest.split_at_checked(length(*resource))?;
    let (namespace, rest) = rest.split_at_checked(length(*namespace))?;
    let (name, json) = rest.split_at_checked(length(*name))?;
    Some(Record {
        key: Key {
            resource: text(resource)?,
            namespace: text(namespace)?,
            name: text(name)?,
        },
        deleted: match *kind {
            PUT => false,
            DELETED => true,
            _ => return None,
        },
        written_ms: u64::from_le_bytes(*written_ms),
        json: Bytes::copy_from_slice(json),
    })
}

fn sum(revision: u64, bytes: &[u8]) -> [u8; CHECKSUM] {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&revision.to_le_bytes());
    hasher.update(bytes);
    hasher.finalize().to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record(namespace: &str, deleted: bool, json: &str) -> Record {
        Record {
            key: Key::new("drones.skein.dev", namespace, "gänse-7"),
            deleted,
            written_ms: 1_700_000_000_123,
            json: Bytes::copy_from_slice(json.as_bytes()),
        }
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(namespace in ".{0,20}", deleted: bool, json in ".{0,200}", revision: u64) {
            let record = record(&namespace, deleted, &json);
            let bytes = record.encode(revision).expect("short names");
            prop_assert_eq!(Record::decode(revision, &bytes), Ok(record));
        }

        #[test]
        fn no_flipped_bit_goes_unnoticed(bit in 0..8 * 80_usize, revision in 1..1000_u64) {
            let mut bytes = record("default", false, r#"{"metadata":{"name":"x"}}"#).encode(revision).expect("short");
            let bit = bit % (8 * bytes.len());
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(Record::decode(revision, &bytes), Err(NotARecord::Checksum(revision)));
        }
    }

    #[test]
    fn a_record_under_another_revision_is_noticed() {
        let bytes = record("", true, "{}").encode(7).expect("short");
        assert_eq!(Record::decode(8, &bytes), Err(NotARecord::Checksum(8)));
    }

    #[test]
    fn a_cut_record_is_noticed() {
        let bytes = record("", true, "{}").encode(7).expect("short");
        for end in 0..bytes.len() {
            assert!(Record::decode(7, &bytes[..end]).is_err(), "cut at {end}");
        }
    }

    #[test]
    fn a_name_longer_than_a_length_can_say_is_refused() {
        let long = record(&"x".repeat(65_536), false, "{}");
        assert!(matches!(long.encode(1), Err(WriteError::Malformed(_))));
    }
}
