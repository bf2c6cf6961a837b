//! The records of a flight log, from bytes that may end in the middle of one.

use link::raw::RawFrame;

/// Bytes before each frame: microseconds since 1970, big-endian.
const STAMP: usize = 8;
pub const LONGEST: usize = STAMP + link::raw::LONGEST;

#[derive(Debug)]
pub struct Records<'a> {
    bytes: &'a [u8],
    used: usize,
}

#[derive(Debug)]
pub struct Record {
    /// Microseconds since 1970.
    pub at_us: u64,
    pub frame: RawFrame,
}

impl<'a> Records<'a> {
    pub const fn of(bytes: &'a [u8]) -> Self {
        Self { bytes, used: 0 }
    }

    /// Bytes of the records that were whole.
    pub const fn used(&self) -> usize {
        self.used
    }
}

impl Iterator for Records<'_> {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        loop {
            let (stamp, rest) = self.bytes.get(self.used..)?.split_first_chunk::<STAMP>()?;
            let frame = rest.get(..frame_length(rest)?)?;
            self.used += STAMP + frame.len();
            // A frame that is damaged is passed over: its length was right, or the next one ends the log.
            if let Ok(frame) = RawFrame::parse(frame) {
                let at_us = u64::from_be_bytes(*stamp);
                return Some(Record { at_us, frame });
            }
        }
    }
}

const fn frame_length(bytes: &[u8]) -> Option<usize> {
    match *bytes {
        [0xFD, length, flags, ..] => Some(12 + length as usize + if flags & 1 == 0 { 0 } else { link::raw::SIGNATURE }),
        [0xFE, length, ..] => Some(8 + length as usize),
        _ => None,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::flight_log::record::{Anchor, append};
    use crate::gcs::tests::frame;
    use link::dialect::MavMessage;
    use model::units::Address;
    use std::time::{Duration, UNIX_EPOCH};
    use tokio::time::Instant;

    pub fn log_of(messages: &[(u64, MavMessage)]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let now = Instant::now();
        for (ms, message) in messages {
            let mut frame = frame(Address::new(1, 1), message);
            frame.at = now;
            let anchor = Anchor::new(now, UNIX_EPOCH + Duration::from_millis(*ms));
            assert!(append(&mut bytes, &frame, &anchor));
        }
        bytes
    }

    #[test]
    fn a_record_that_is_not_whole_yet_is_left_for_the_next_time() {
        let ping = crate::gcs::tests::ping();
        let bytes = log_of(&[(5, ping.clone()), (6, ping)]);
        for cut in 0..bytes.len() {
            let mut records = Records::of(&bytes[..cut]);
            let whole = records.by_ref().count();
            assert_eq!(records.used(), whole * bytes.len() / 2);
            assert_eq!(whole, cut / (bytes.len() / 2), "{cut}");
        }
        let mut records = Records::of(&bytes);
        let times: Vec<_> = records.by_ref().map(|record| record.at_us).collect();
        assert_eq!((times, records.used()), (vec![5000, 6000], bytes.len()));
    }

    #[test]
    fn what_is_no_record_ends_the_log() {
        let mut bytes = log_of(&[(5, crate::gcs::tests::ping())]);
        let whole = bytes.len();
        bytes.extend([0; 300]);
        let mut records = Records::of(&bytes);
        assert_eq!((records.by_ref().count(), records.used()), (1, whole));
    }
}
