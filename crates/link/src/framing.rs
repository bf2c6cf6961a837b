//! Framing: from arbitrary chunks of bytes to whole frames, byte for byte. Never reads, waits, or parses payloads.
//!
//! A frame is a message of the dialect with a good checksum, or an unknown one (its `CRC_EXTRA` is unknown too) when
//! its sender has already sent a frame of the dialect, some `CRC_EXTRA` makes its checksum right, and behind it another
//! frame begins or nothing has come yet. One in some thousand millions of random byte runs behind a false start passes.
//!
//! A false start byte in noise claims up to 280 bytes; on a quiet link true frames would wait behind it for seconds. So
//! after a silence the caller asks [`Framer::next_after_silence`], which also searches an unfinished frame. Bytes that
//! could never become a frame are not waited for: an unknown message of an unknown sender, and, once the other end has
//! spoken MAVLink 2, a MAVLink 1 frame with another length than its message's.

use crate::raw::{Direction, Head, RawFrame, Shape, Version};
use mavlink::{MAV_STX, MAV_STX_V2};
use model::units::Address;
use tokio::time::Instant;

const SENDERS: usize = 64;

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

    pub fn push(&mut self, bytes: &[u8]) {
        self.push_at(bytes, Instant::now());
    }

    /// Adds bytes that arrived at `at`, which becomes the time of the frames that they complete.
    pub fn push_at(&mut self, bytes: &[u8], at: Instant) {
        self.at = at;
        if self.start > 0 {
            self.pending.drain(..self.start);
            self.start = 0;
        }
        self.pending.extend_from_slice(bytes);
    }

    /// Counts an unfinished frame as skipped bytes: a datagram never continues the one before.
    pub fn forget_unfinished(&mut self) {
        self.skipped += self.pending().len() as u64;
        self.pending.clear();
        self.start = 0;
    }

    #[must_use]
    pub fn unfinished(&self) -> bool {
        !self.pending().is_empty()
    }

    /// Bytes that wait for the rest of their frame; at most one frame once [`Self::next_frame`] has returned `None`.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.pending().len()
    }

    pub fn take_skipped(&mut self) -> u64 {
        std::mem::take(&mut self.skipped)
    }

    /// Counts messages of the dialect, or noise that resembles one. Their bytes also count as skipped, unless a true
    /// frame was found among them.
    pub fn take_bad_checksums(&mut self) -> u64 {
        std::mem::take(&mut self.bad_checksums)
    }

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

    /// Like [`Self::next_frame`], after a silence: an unfinished frame was noise, and a whole one may stand behind it.
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
