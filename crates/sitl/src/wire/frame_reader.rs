//! Cuts a byte stream into MAVLink frames (versions 1 and 2) with a valid checksum.

use std::collections::VecDeque;
use std::io::{self, Read};

use mavlink::dialects::ardupilotmega::MavMessage;
use mavlink::{MAVLinkMessageRaw, MavlinkReader};

/// Uncut input; a peer that sends only noise cannot exceed this.
const QUEUE_LIMIT: usize = 64 * 1024;

#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    pub system: u8,
    pub component: u8,
    pub id: u32,
    /// MAVLink 2 may have cut trailing zeros.
    pub payload: Vec<u8>,
    pub raw: Vec<u8>,
}

pub struct FrameReader {
    reader: MavlinkReader<ByteQueue>,
}

#[derive(Default)]
struct ByteQueue(VecDeque<u8>);

impl Read for ByteQueue {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.0.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.0.read(buffer)
    }
}

impl Default for FrameReader {
    fn default() -> Self {
        Self {
            reader: MavlinkReader::with_capacity(1024, ByteQueue::default()),
        }
    }
}

impl FrameReader {
    pub fn push(&mut self, bytes: &[u8]) {
        let queue = &mut self.reader.get_mut().0;
        let room = QUEUE_LIMIT.saturating_sub(queue.len());
        queue.extend(&bytes[..bytes.len().min(room)]);
    }

    pub fn next_frame(&mut self) -> Option<Frame> {
        let raw = self.reader.read_any_raw_message::<MavMessage>().ok()?;
        let bytes = match &raw {
            MAVLinkMessageRaw::V1(frame) => frame.raw_bytes().to_vec(),
            MAVLinkMessageRaw::V2(frame) => frame.raw_bytes().to_vec(),
        };
        Some(Frame {
            system: u8::try_from(raw.system_id()).unwrap_or(0),
            component: raw.component_id(),
            id: raw.message_id(),
            payload: raw.payload().to_vec(),
            raw: bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{CommandAck, Outgoing, Sender};

    #[test]
    fn a_frame_survives_noise_before_it_and_arrival_in_single_bytes() {
        let ack = CommandAck {
            command: 400,
            result: 0,
            target_system: 255,
            target_component: 190,
        };
        let bytes = Sender::new(7, 1).encode(&Outgoing::Ack(ack));
        let mut reader = FrameReader::default();
        reader.push(&[0x00, 0x55, 0xFE, 0x00]);
        for byte in bytes.iter().chain([0u8; 300].iter()) {
            reader.push(&[*byte]);
        }
        let frame = reader.next_frame().unwrap();
        assert_eq!((frame.system, frame.id, frame.raw), (7, 77, bytes));
        assert_eq!(reader.next_frame(), None);
    }
}
