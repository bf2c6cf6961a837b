//! Target `link`: chunks of bytes through the framer, the decoder and the signing.
//!
//! Fails when a byte is neither in a frame, nor counted as skipped, nor waiting; when a frame is not byte for byte what
//! came, or has a wrong checksum; when a true frame before a silence is not found; or when the signing believes a false
//! frame.

mod line;
mod signed;

use crate::bytes::Bytes;
use line::Line;
use signed::Signatures;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub bytes: u64,
    pub frames: u64,
    /// Frames of which the message could be read.
    pub read: u64,
    pub believed: u64,
}

/// A HEARTBEAT (0) of system 1 component 1 as it stands on the wire, MAVLink 2 and 1.
pub(crate) const HEARTBEATS: [&[u8]; 2] = [
    &[0xFD, 9, 0, 0, 7, 1, 1, 0, 0, 0, 0, 0, 0, 0, 2, 3, 81, 3, 3, 0xA1, 0x20],
    &[0xFE, 9, 8, 1, 1, 0, 0, 0, 0, 0, 2, 3, 81, 3, 3, 0x1B, 0xBE],
];

/// Runs one input; panics when the reader does what it must not.
pub fn run(input: &[u8]) -> Tally {
    let mut bytes = Bytes::new(input);
    let mut line = Line::default();
    let mut signatures = Signatures::for_input(input);
    while !bytes.is_empty() {
        let what = bytes.byte();
        let frames = match what % 8 {
            0 => line.silence(),
            1 => line.end_of_datagram(),
            2 => line.true_frame(HEARTBEATS[usize::from(what >> 3) % 2]),
            3 => line.chunk(&signatures.a_frame_of_ours(&mut bytes)),
            4 => line.chunk(&signatures.the_last_again(&mut bytes)),
            5 => line.chunk(&line::with_a_good_checksum(&mut bytes)),
            6 => line.chunk(bytes.take(usize::from(what >> 3) * 16)),
            _ => line.chunk(bytes.take(usize::from(what >> 3))),
        };
        for frame in &frames {
            line::judge_frame(frame, &mut line.tally);
            line.tally.believed += u64::from(signatures.judge(frame));
        }
    }
    line.tally
}

#[cfg(test)]
mod tests;
