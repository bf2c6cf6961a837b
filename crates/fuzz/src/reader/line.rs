//! The line in front of the framer, which knows every byte that was put on it.

use super::Tally;
use crate::bytes::Bytes;
use link::decode::decode;
use link::dialect::MavMessage;
use link::framing::Framer;
use link::raw::{Direction, LONGEST, RawFrame, SIGNATURE, Version};
use mavlink::Message;

#[derive(Debug)]
pub struct Line {
    framer: Framer,
    given: Vec<u8>,
    /// Number of given bytes that are accounted for.
    accounted: usize,
    /// Ends of the frames that were cut last.
    ends: Vec<usize>,
    pub tally: Tally,
}

impl Default for Line {
    fn default() -> Self {
        Self {
            framer: Framer::new(Direction::Autopilot),
            given: Vec::new(),
            accounted: 0,
            ends: Vec::new(),
            tally: Tally::default(),
        }
    }
}

impl Line {
    pub fn chunk(&mut self, bytes: &[u8]) -> Vec<RawFrame> {
        self.give(bytes);
        self.cut(Framer::next_frame)
    }

    pub fn silence(&mut self) -> Vec<RawFrame> {
        self.cut(Framer::next_after_silence)
    }

    /// Ends a datagram, which nothing continues.
    pub fn end_of_datagram(&mut self) -> Vec<RawFrame> {
        let frames = self.silence();
        self.framer.forget_unfinished();
        self.account_skipped();
        assert_eq!(self.accounted, self.given.len(), "bytes of a datagram that is over");
        assert!(!self.framer.unfinished());
        frames
    }

    /// A true frame, and then silence: it is found, unless a frame that began before it has swallowed some of it.
    pub fn true_frame(&mut self, frame: &[u8]) -> Vec<RawFrame> {
        let begin = self.given.len();
        self.give(frame);
        let frames = self.cut(Framer::next_after_silence);
        let found = self.ends.iter().any(|&end| end > begin);
        assert!(found, "a true frame was lost");
        frames
    }

    fn give(&mut self, bytes: &[u8]) {
        self.framer.push(bytes);
        self.given.extend_from_slice(bytes);
        self.tally.bytes += bytes.len() as u64;
    }

    fn account_skipped(&mut self) {
        self.accounted += usize::try_from(self.framer.take_skipped()).expect("bytes given fit in memory");
    }

    fn cut(&mut self, next: fn(&mut Framer) -> Option<RawFrame>) -> Vec<RawFrame> {
        let mut frames = Vec::new();
        self.ends.clear();
        while let Some(frame) = next(&mut self.framer) {
            self.account_skipped();
            let end = self.accounted + frame.bytes.len();
            assert_eq!(
                self.given.get(self.accounted..end),
                Some(&frame.bytes[..]),
                "a frame is not what came"
            );
            self.accounted = end;
            self.ends.push(end);
            frames.push(frame);
        }
        self.account_skipped();
        let waiting = self.framer.waiting();
        assert_eq!(self.accounted + waiting, self.given.len(), "bytes are unaccounted for");
        assert!(waiting <= LONGEST, "{waiting} bytes wait for the rest of one frame");
        assert_eq!(self.framer.unfinished(), waiting > 0);
        let found = self.framer.take_bad_checksums();
        assert!(found <= self.given.len() as u64, "more bad checksums than bytes");
        self.tally.frames += frames.len() as u64;
        frames
    }
}

pub fn judge_frame(frame: &RawFrame, tally: &mut Tally) {
    let again = RawFrame::parse(&frame.bytes).expect("what was cut is a frame");
    assert_eq!(
        (again.version, again.signed, again.sender()),
        (frame.version, frame.signed, frame.sender())
    );
    assert_eq!((again.message_id, again.target), (frame.message_id, frame.target));
    assert_eq!((again.sequence(), again.payload()), (frame.sequence(), frame.payload()));
    let overhead = match frame.version {
        Version::V1 => 8,
        Version::V2 => 12 + if frame.signed { 13 } else { 0 },
    };
    assert_eq!(frame.payload().len() + overhead, frame.bytes.len());
    let known = MavMessage::default_message_from_id(frame.message_id).is_some();
    assert!(
        !known || has_good_checksum(frame),
        "a frame with a wrong checksum was accepted"
    );
    if let Ok((header, message)) = decode(frame) {
        tally.read += 1;
        assert_eq!(
            (header.system_id, header.component_id, header.sequence),
            (u32::from(frame.system.0), frame.component.0, frame.sequence())
        );
        assert_eq!(message.message_id(), frame.message_id);
    }
}

/// CRC-16/MCRF4XX over all but the start byte, and the message's extra byte; computed bit by bit, not by the reader's
/// code.
pub fn has_good_checksum(frame: &RawFrame) -> bool {
    let end = frame.bytes.len() - if frame.signed { SIGNATURE } else { 0 };
    let (covered, wire) = frame.bytes[1..end]
        .split_last_chunk::<2>()
        .expect("a frame has a checksum");
    let extra = MavMessage::extra_crc(frame.message_id);
    let crc = covered.iter().chain([&extra]).fold(0xFFFF_u16, |crc, &byte| {
        (0..8).fold(crc ^ u16::from(byte), |crc, _| {
            (crc >> 1) ^ if crc & 1 == 1 { 0x8408 } else { 0 }
        })
    });
    u16::from_le_bytes(*wire) == crc
}

/// A frame of the dialect with a payload from the input and a good checksum.
pub fn with_a_good_checksum(bytes: &mut Bytes<'_>) -> Vec<u8> {
    let id = u32::from(bytes.short());
    let len = bytes.byte();
    let Some(extra) = MavMessage::default_message_from_id(id).map(|_| MavMessage::extra_crc(id)) else {
        return Vec::new();
    };
    let payload = bytes.take(usize::from(len));
    let [a, b, ..] = id.to_le_bytes();
    let length = u8::try_from(payload.len()).unwrap_or(u8::MAX);
    let mut frame = vec![
        0xFD,
        length,
        0,
        0,
        bytes.byte(),
        bytes.below(3),
        bytes.below(3),
        a,
        b,
        0,
    ];
    frame.extend_from_slice(payload);
    let checksum = mavlink::calculate_crc(&frame[1..], extra);
    frame.extend_from_slice(&checksum.to_le_bytes());
    frame
}

#[cfg(test)]
impl Line {
    /// As if the framer had been given one byte less.
    pub fn lose_a_byte(&mut self) {
        self.given.push(0);
    }
}
