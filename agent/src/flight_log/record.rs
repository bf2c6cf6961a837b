//! One record of a `.tlog`: when, and the frame. The format that MAVProxy, pymavlink and QGroundControl read.
//!
//! A record is 8 bytes, microseconds since 1970 in big-endian order, and the frame as it was on the wire. SETUP_SIGNING
//! (256) carries a key and is left out. Of a signed frame the six bytes that the key made are zeros here; link
//! id and timestamp stay. The checksum does not cover the signature, so the frame reads as before.

use link::raw::RawFrame;
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::time::Instant;

const SETUP_SIGNING: u32 = 256;
const SIGNATURE: usize = 6;

/// Wall-clock time of instants by one reading: a clock that is set meanwhile does not shuffle the records of a file.
#[derive(Clone, Copy, Debug)]
pub struct Anchor {
    instant: Instant,
    wall: SystemTime,
}

impl Anchor {
    pub const fn new(instant: Instant, wall: SystemTime) -> Self {
        Self { instant, wall }
    }

    pub fn micros(&self, at: Instant) -> u64 {
        let wall = match at.checked_duration_since(self.instant) {
            Some(after) => self.wall.checked_add(after),
            None => self.wall.checked_sub(self.instant.saturating_duration_since(at)),
        };
        let since_1970 = wall.and_then(|wall| wall.duration_since(UNIX_EPOCH).ok());
        since_1970.map_or(0, |since| u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
    }

    pub const fn wall(&self) -> SystemTime {
        self.wall
    }
}

/// Returns whether the frame is to be logged.
pub fn append(records: &mut Vec<u8>, frame: &RawFrame, anchor: &Anchor) -> bool {
    if frame.message_id == SETUP_SIGNING {
        return false;
    }
    records.extend_from_slice(&anchor.micros(frame.at).to_be_bytes());
    match frame.bytes.len().checked_sub(SIGNATURE).filter(|_| frame.signed) {
        Some(bare) => {
            records.extend_from_slice(frame.bytes.get(..bare).unwrap_or_default());
            records.extend_from_slice(&[0; SIGNATURE]);
        }
        None => records.extend_from_slice(&frame.bytes),
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gcs::tests::{frame, ping};
    use link::dialect::{MavMessage, SETUP_SIGNING_DATA};
    use model::units::Address;
    use std::time::Duration;

    fn anchor(now: Instant) -> Anchor {
        Anchor::new(now, UNIX_EPOCH + Duration::from_secs(1_700_000_000))
    }

    #[test]
    fn a_record_is_the_time_and_the_frame_byte_for_byte() {
        let mut ping = frame(Address::new(255, 190), &ping());
        let anchor = anchor(ping.at);
        ping.at += Duration::from_micros(5);
        let mut records = Vec::new();
        assert!(append(&mut records, &ping, &anchor));
        assert_eq!(records[..8], 1_700_000_000_000_005_u64.to_be_bytes());
        assert_eq!(records[8..], ping.bytes[..]);
    }

    #[test]
    fn a_frame_that_came_before_the_clock_was_looked_at_has_its_own_time() {
        let now = Instant::now();
        assert_eq!(
            anchor(now).micros(now - Duration::from_micros(7)),
            1_699_999_999_999_993
        );
        assert_eq!(Anchor::new(now, UNIX_EPOCH).micros(now - Duration::from_secs(1)), 0);
    }

    #[test]
    fn what_a_key_made_is_not_in_the_log() {
        let mut signed = frame(Address::new(255, 190), &ping());
        let mut bytes = signed.bytes.to_vec();
        bytes[2] |= 1;
        bytes.extend_from_slice(&[3, 10, 11, 12, 13, 14, 15, 21, 22, 23, 24, 25, 26]);
        signed.bytes = bytes.into();
        signed.signed = true;
        let mut records = Vec::new();
        assert!(append(&mut records, &signed, &anchor(signed.at)));
        let logged = &records[8..];
        assert_eq!(logged.len(), signed.bytes.len());
        assert!(logged.ends_with(&[3, 10, 11, 12, 13, 14, 15, 0, 0, 0, 0, 0, 0]));

        let key = frame(
            Address::new(255, 190),
            &MavMessage::SETUP_SIGNING(SETUP_SIGNING_DATA::default()),
        );
        let before = records.len();
        assert!(!append(&mut records, &key, &anchor(key.at)));
        assert_eq!(records.len(), before);
    }
}
