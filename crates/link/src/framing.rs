//! Framing: from arbitrary chunks of bytes to whole frames, byte for byte.
//!
//! Owns: [`Framer`], incremental, and what it counts. Must not: read, wait, or parse payloads.
//!
//! What is a frame:
//! * A message of the dialect with a good checksum.
//! * A message that the dialect does not know, whose `CRC_EXTRA` is therefore unknown too, when all of these hold: its
//!   sender has already sent a frame of the dialect; there is a `CRC_EXTRA` that makes its checksum right; and behind it
//!   begins another frame or nothing has come yet. Of random bytes behind a false start one in some thousand millions
//!   passes.
//!
//! A false start byte in the noise claims up to 280 bytes; on a quiet link true frames would wait behind it for many
//! seconds. So after a silence the caller asks [`Framer::next_after_silence`], which also searches an unfinished
//! frame. What could never become a frame is not waited for: an unknown message of an unknown sender, and, once the other
//! end has spoken MAVLink 2, a MAVLink 1 frame whose length is not that of its message.

use crate::raw::{Direction, Head, RawFrame, Shape, Version};
use mavlink::{MAV_STX, MAV_STX_V2};
use model::units::Address;
use tokio::time::Instant;

/// Most senders that are remembered; a wire has a handful.
const SENDERS: usize = 64;

/// Cuts a byte stream into frames.
#[derive(Debug)]
pub struct Framer {
    from: Direction,
    at: Instant,
    pending: Vec<u8>,
    start: usize,
    spoke_v2: bool,
    senders: Vec<Address>,
    skipped: u64,
    bad_checksums: u64,
}

enum Candidate {
    Whole(Shape, Head),
    Unfinished,
    Nothing,
    BadChecksum,
}

impl Default for Framer {
    fn default() -> Self {
        Self::new(Direction::Guest)
    }
}

impl Framer {
    #[must_use]
    pub fn new(from: Direction) -> Self {
        Self {
            from,
            at: Instant::now(),
            pending: Vec::new(),
            start: 0,
            spoke_v2: false,
            senders: Vec::new(),
            skipped: 0,
            bad_checksums: 0,
        }
    }

    /// Adds bytes that came just now.
    pub fn push(&mut self, bytes: &[u8]) {
        self.push_at(bytes, Instant::now());
    }

    /// Adds bytes that came at `at`. Frames that they complete are as old as this.
    pub fn push_at(&mut self, bytes: &[u8], at: Instant) {
        self.at = at;
        if self.start > 0 {
            self.pending.drain(..self.start);
            self.start = 0;
        }
        self.pending.extend_from_slice(bytes);
    }

    /// Forgets an unfinished frame (a datagram never continues the one before) and counts its bytes as skipped.
    pub fn forget_unfinished(&mut self) {
        self.skipped += self.pending().len() as u64;
        self.pending.clear();
        self.start = 0;
    }

    /// Whether an unfinished frame is waiting for more bytes.
    #[must_use]
    pub fn unfinished(&self) -> bool {
        !self.pending().is_empty()
    }

    /// Bytes that wait for the rest of their frame; never more than a frame once [`Self::next_frame`] has said `None`.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.pending().len()
    }

    /// Bytes since the last call that belonged to no frame.
    pub fn take_skipped(&mut self) -> u64 {
        std::mem::take(&mut self.skipped)
    }

    /// Messages of the dialect since the last call with a wrong checksum. Noise that resembles one counts
    /// too. The bytes also count as skipped, unless a true frame was found among them.
    pub fn take_bad_checksums(&mut self) -> u64 {
        std::mem::take(&mut self.bad_checksums)
    }

    /// The next frame, if a whole one is there.
    pub fn next_frame(&mut self) -> Option<RawFrame> {
        loop {
            match self.candidate(self.start)? {
                Candidate::Whole(shape, head) => return Some(self.cut(&shape, &head)),
                Candidate::Unfinished => return None,
                Candidate::BadChecksum => {
                    self.bad_checksums += 1;
                    self.skip(1);
                }
                Candidate::Nothing => {
                    let rest = self.pending().get(1..).unwrap_or_default();
                    let next = rest.iter().position(|b| matches!(*b, MAV_STX | MAV_STX_V2));
                    self.skip(1 + next.unwrap_or(rest.len()));
                }
            }
        }
    }

    /// Like [`Self::next_frame`], after a silence: also takes a whole frame from behind an unfinished one, which was noise.
    pub fn next_after_silence(&mut self) -> Option<RawFrame> {
        if let Some(frame) = self.next_frame() {
            return Some(frame);
        }
        let behind = (self.start..self.pending.len()).find_map(|at| match self.candidate(at) {
            Some(Candidate::Whole(shape, head)) => Some((at, shape, head)),
            _ => None,
        });
        let (at, shape, head) = behind?;
        self.skip(at - self.start);
        Some(self.cut(&shape, &head))
    }

    fn pending(&self) -> &[u8] {
        self.pending.get(self.start..).unwrap_or_default()
    }

    fn skip(&mut self, bytes: usize) {
        self.start += bytes;
        self.skipped += bytes as u64;
    }

    /// `None` when nothing is there.
    fn candidate(&self, at: usize) -> Option<Candidate> {
        let bytes = self.pending.get(at..)?;
        let needs = Shape::needs(*bytes.first()?);
        let Some(shape) = Shape::of(bytes) else {
            let begun = needs.is_some_and(|needs| bytes.len() < needs);
            return Some(if begun {
                Candidate::Unfinished
            } else {
                Candidate::Nothing
            });
        };
        let Some(head) = shape.head else {
            return Some(Candidate::Unfinished);
        };
        if head.layout.is_none() && !self.senders.contains(&head.sender()) {
            return Some(Candidate::Nothing);
        }
        let Some((frame, behind)) = bytes.split_at_checked(shape.len) else {
            return Some(if self.is_worth_waiting_for(&shape, &head) {
                Candidate::Unfinished
            } else {
                Candidate::Nothing
            });
        };
        let followed = matches!(behind.first(), None | Some(&(MAV_STX | MAV_STX_V2)));
        let fits = (head.layout.is_some() || followed) && head.checksum_fits(frame, &shape);
        Some(match (fits, head.layout) {
            (true, _) => Candidate::Whole(shape, head),
            (false, Some(_)) => Candidate::BadChecksum,
            (false, None) => Candidate::Nothing,
        })
    }

    fn is_worth_waiting_for(&self, shape: &Shape, head: &Head) -> bool {
        let v1_length = head.layout.map(|layout| layout.v1_payload);
        shape.version == Version::V2 || !self.spoke_v2 || v1_length == Some(shape.checksum - shape.payload)
    }

    fn cut(&mut self, shape: &Shape, head: &Head) -> RawFrame {
        let bytes = self.pending.get(self.start..self.start + shape.len).unwrap_or_default();
        let frame = RawFrame::build(bytes, shape, head, self.from, self.at);
        self.start += shape.len;
        self.spoke_v2 |= shape.version == Version::V2;
        let sender = head.sender();
        if head.layout.is_some() && self.senders.len() < SENDERS && !self.senders.contains(&sender) {
            self.senders.push(sender);
        }
        frame
    }
}

#[cfg(test)]
pub(crate) mod tests;
