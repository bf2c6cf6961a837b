//! Framing: from arbitrary chunks of bytes to MAVLink frames with a good checksum.
//!
//! Owns: [`Deframer`], incremental and free of clocks, and what it counts. Must not: read, wait, or interpret messages.
//!
//! A false start byte in the noise claims up to 280 bytes; on a quiet link true frames would wait behind it for many
//! seconds. So after a silence the caller asks [`Deframer::next_after_silence`], which also looks inside an unfinished
//! frame. And once the other end has spoken MAVLink 2, a MAVLink 1 start byte (0xFE) is only noise.

use mavlink::dialects::ardupilotmega::MavMessage;
use mavlink::{MAV_STX, MAV_STX_V2, MavHeader, MavlinkVersion, Message, calculate_crc};

const SIGNED: u8 = 0x01;
const SIGNATURE_LEN: usize = 13;
/// Longest frame: 10 header, 255 payload, 2 checksum, 13 signature bytes.
pub const LONGEST: usize = 280;

/// Cuts a byte stream into frames.
#[derive(Debug, Default)]
pub struct Deframer {
    pending: Vec<u8>,
    start: usize,
    v2_only: bool,
    skipped: u64,
}

/// What was found in the bytes.
#[derive(Debug)]
pub enum Found {
    /// A frame with a good checksum.
    Message(MavHeader, Box<MavMessage>),
    /// A frame with a good checksum whose message could not be read.
    Unreadable,
}

enum Look {
    Whole { len: usize, version: MavlinkVersion },
    Unfinished,
    Nothing,
}

impl Deframer {
    /// Adds bytes as they came.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.start > 0 {
            self.pending.drain(..self.start);
            self.start = 0;
        }
        self.pending.extend_from_slice(bytes);
    }

    /// Forgets an unfinished frame (a datagram never continues the one before) and counts its bytes as skipped.
    pub fn forget_unfinished(&mut self) {
        self.skipped += (self.pending.len() - self.start) as u64;
        self.pending.clear();
        self.start = 0;
    }

    /// Whether an unfinished frame is waiting for more bytes.
    #[must_use]
    pub fn unfinished(&self) -> bool {
        self.start < self.pending.len()
    }

    /// Bytes skipped since the last call.
    pub fn take_skipped(&mut self) -> u64 {
        std::mem::take(&mut self.skipped)
    }

    /// The next frame, if a whole one is there.
    pub fn next_frame(&mut self) -> Option<Found> {
        while self.start < self.pending.len() {
            match self.look(self.start) {
                Look::Whole { len, version } => return Some(self.cut(len, version)),
                Look::Unfinished => return None,
                Look::Nothing => {
                    self.start += 1;
                    self.skipped += 1;
                }
            }
        }
        None
    }

    /// Like [`Self::next_frame`], for when no byte has come for a while: a whole frame is also taken from behind an
    /// unfinished one, which then was none.
    pub fn next_after_silence(&mut self) -> Option<Found> {
        if let Some(found) = self.next_frame() {
            return Some(found);
        }
        let behind = (self.start..self.pending.len()).find_map(|at| match self.look(at) {
            Look::Whole { len, version } => Some((at, len, version)),
            Look::Unfinished | Look::Nothing => None,
        });
        let (at, len, version) = behind?;
        self.skipped += (at - self.start) as u64;
        self.start = at;
        Some(self.cut(len, version))
    }

    fn look(&self, at: usize) -> Look {
        let bytes = &self.pending[at..];
        let (version, head, enough) = match bytes.first() {
            Some(&MAV_STX_V2) => (MavlinkVersion::V2, 10, 3),
            Some(&MAV_STX) if !self.v2_only => (MavlinkVersion::V1, 6, 2),
            _ => return Look::Nothing,
        };
        if bytes.len() < enough {
            return Look::Unfinished;
        }
        let flags = if version == MavlinkVersion::V2 { bytes[2] } else { 0 };
        if flags & !SIGNED != 0 {
            return Look::Nothing;
        }
        let end = head + usize::from(bytes[1]);
        let len = end + 2 + if flags & SIGNED == 0 { 0 } else { SIGNATURE_LEN };
        if bytes.len() < len {
            return Look::Unfinished;
        }
        let crc = u16::from_le_bytes([bytes[end], bytes[end + 1]]);
        let extra = MavMessage::extra_crc(message_id(bytes, version));
        if calculate_crc(&bytes[1..end], extra) == crc {
            Look::Whole { len, version }
        } else {
            Look::Nothing
        }
    }

    fn cut(&mut self, len: usize, version: MavlinkVersion) -> Found {
        let frame = &self.pending[self.start..self.start + len];
        let payload_len = usize::from(frame[1]);
        let (header, payload) = match version {
            MavlinkVersion::V1 => (
                MavHeader {
                    sequence: frame[2],
                    system_id: u32::from(frame[3]),
                    component_id: frame[4],
                },
                &frame[6..6 + payload_len],
            ),
            MavlinkVersion::V2 => (
                MavHeader {
                    sequence: frame[4],
                    system_id: u32::from(frame[5]),
                    component_id: frame[6],
                },
                &frame[10..10 + payload_len],
            ),
        };
        let found = match MavMessage::parse(version, message_id(frame, version), payload) {
            Ok(message) => Found::Message(header, Box::new(message)),
            Err(_) => Found::Unreadable,
        };
        self.v2_only |= version == MavlinkVersion::V2;
        self.start += len;
        found
    }
}

fn message_id(frame: &[u8], version: MavlinkVersion) -> u32 {
    match version {
        MavlinkVersion::V1 => frame.get(5).copied().map_or(0, u32::from),
        MavlinkVersion::V2 => match frame.get(7..10) {
            Some(id) => u32::from_le_bytes([id[0], id[1], id[2], 0]),
            None => 0,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mavlink::dialects::ardupilotmega::HEARTBEAT_DATA;
    use mavlink::{MAVLinkV1MessageRaw, MAVLinkV2MessageRaw};
    use proptest::prelude::*;

    fn beat(sequence: u8) -> Vec<u8> {
        let header = MavHeader {
            system_id: 7,
            component_id: 1,
            sequence,
        };
        let mut raw = MAVLinkV2MessageRaw::new();
        raw.serialize_message(header, &MavMessage::HEARTBEAT(HEARTBEAT_DATA::default()));
        raw.raw_bytes().to_vec()
    }

    fn beat_v1() -> Vec<u8> {
        let header = MavHeader {
            system_id: 7,
            component_id: 1,
            sequence: 0,
        };
        let mut raw = MAVLinkV1MessageRaw::new();
        raw.serialize_message(header, &MavMessage::HEARTBEAT(HEARTBEAT_DATA::default()));
        raw.raw_bytes().to_vec()
    }

    fn sequences(deframer: &mut Deframer) -> Vec<u8> {
        std::iter::from_fn(|| deframer.next_frame())
            .filter_map(|f| match f {
                Found::Message(h, _) => Some(h.sequence),
                Found::Unreadable => None,
            })
            .collect()
    }

    #[test]
    fn frames_come_out_whole_whatever_the_chunks() {
        let mut bytes = b"Init ArduCopter\n".to_vec();
        (0..4).for_each(|n| bytes.extend(beat(n)));
        for size in 1..bytes.len() {
            let mut deframer = Deframer::default();
            let mut seen = Vec::new();
            for chunk in bytes.chunks(size) {
                deframer.push(chunk);
                seen.extend(sequences(&mut deframer));
            }
            assert_eq!(seen, [0, 1, 2, 3], "chunks of {size}");
            assert_eq!(deframer.take_skipped(), 16);
        }
    }

    #[test]
    fn a_false_start_byte_holds_a_quiet_link_no_longer_than_the_silence() {
        for noise in [&[0xFE, 0xFF][..], &[0xFD, 0xFF, 0x00][..]] {
            let mut deframer = Deframer::default();
            deframer.push(noise);
            deframer.push(&beat(9));
            assert!(
                deframer.next_frame().is_none(),
                "hidden in what looks like a long frame"
            );
            assert!(matches!(deframer.next_after_silence(), Some(Found::Message(h, _)) if h.sequence == 9));
            assert!(!deframer.unfinished());
        }
    }

    #[test]
    fn a_frame_that_is_only_slow_is_not_lost_to_the_silence() {
        let mut deframer = Deframer::default();
        let frame = beat(3);
        deframer.push(&frame[..11]);
        assert!(deframer.next_after_silence().is_none());
        deframer.push(&frame[11..]);
        assert_eq!(sequences(&mut deframer), [3]);
    }

    #[test]
    fn mavlink_1_is_understood_until_the_other_end_speaks_mavlink_2() {
        let mut deframer = Deframer::default();
        deframer.push(&beat_v1());
        assert_eq!(sequences(&mut deframer).len(), 1);
        deframer.push(&beat(1));
        assert_eq!(sequences(&mut deframer).len(), 1);
        deframer.push(&beat_v1());
        assert_eq!(sequences(&mut deframer).len(), 0);
    }

    #[test]
    fn an_unreadable_message_does_not_stop_the_next_one() {
        let mut broken = beat(0);
        broken[14] = 0xEE; // HEARTBEAT.type: no such vehicle
        let end = broken.len() - 2;
        let crc = calculate_crc(&broken[1..end], MavMessage::extra_crc(0)).to_le_bytes();
        broken[end..].copy_from_slice(&crc);
        let mut deframer = Deframer::default();
        deframer.push(&broken);
        deframer.push(&beat(5));
        assert!(matches!(deframer.next_frame(), Some(Found::Unreadable)));
        assert_eq!(sequences(&mut deframer), [5]);
    }

    proptest! {
        #[test]
        fn noise_never_panics_and_never_grows_the_buffer_beyond_a_frame(noise in proptest::collection::vec(
            prop_oneof![any::<u8>(), Just(MAV_STX), Just(MAV_STX_V2)], 0..2000)) {
            let mut deframer = Deframer::default();
            for chunk in noise.chunks(97) {
                deframer.push(chunk);
                while deframer.next_frame().is_some() {}
                prop_assert!(deframer.pending.len() - deframer.start <= LONGEST);
            }
            while deframer.next_after_silence().is_some() {}
        }
    }
}
