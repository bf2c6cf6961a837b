//! The link's reader as one function of bytes, for coverage-guided fuzzing and for property tests.
//!
//! Owns: [`reader`], and what must hold whatever comes. Must not: be used by anything that flies.

use crate::decode::decode;
use crate::framing::Framer;
use crate::raw::{Direction, LONGEST, NotAFrame, RawFrame};
use mavlink::Message;
use mavlink::dialects::ardupilotmega::MavMessage;

/// What was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Whole frames.
    pub frames: u64,
    /// Of them, those whose message could be read.
    pub messages: u64,
    /// Bytes that belonged to no frame.
    pub skipped: u64,
}

/// A promise that the reader broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// A frame holds other bytes than those that came.
    #[error("a frame is not byte for byte what came")]
    OtherBytes,
    /// A frame of the dialect has a wrong checksum.
    #[error("a frame with a wrong checksum was accepted")]
    BadChecksum,
    /// A frame that was cut from a stream is none on its own.
    #[error("a frame from the stream is not a frame on its own: {0}")]
    NotAFrame(NotAFrame),
    /// A frame on its own says something else.
    #[error("a frame on its own reads differently from the same frame in a stream")]
    ReadsDifferently,
    /// Bytes were lost or invented.
    #[error("frames, skipped and waiting bytes are not those that came")]
    Unaccounted,
    /// More bytes wait than a frame can have.
    #[error("the reader holds back more than a frame")]
    HoldsBack,
}

/// Reads `input` as a link does. Its first byte sets how it is cut into pieces and whether they are datagrams or parts of
/// a stream that falls silent now and then; the rest is what comes.
///
/// # Errors
/// [`Broken`], which is a fault in this crate.
pub fn reader(input: &[u8]) -> Result<Tally, Broken> {
    let Some((&how, bytes)) = input.split_first() else {
        return Ok(Tally::default());
    };
    let datagrams = how & 0x80 != 0;
    let silent_after_each = how & 0x40 != 0;
    let size = usize::from(how & 0x3F) * 5 + 1;
    let mut run = Run {
        framer: Framer::new(Direction::Autopilot),
        bytes,
        pushed: 0,
        tally: Tally::default(),
        in_frames: 0,
    };
    for piece in bytes.chunks(size) {
        run.framer.push(piece);
        run.pushed += piece.len();
        run.take(datagrams || silent_after_each)?;
        if datagrams {
            run.framer.forget_unfinished();
        }
        run.account()?;
    }
    run.take(true)?;
    run.account()?;
    Ok(run.tally)
}

struct Run<'a> {
    framer: Framer,
    bytes: &'a [u8],
    pushed: usize,
    tally: Tally,
    in_frames: usize,
}

impl Run<'_> {
    /// Takes all frames that are whole.
    fn take(&mut self, ended: bool) -> Result<(), Broken> {
        let next = if ended {
            Framer::next_after_silence
        } else {
            Framer::next_frame
        };
        while let Some(frame) = next(&mut self.framer) {
            self.check(&frame)?;
            self.tally.frames += 1;
            self.tally.messages += u64::from(decode(&frame).is_ok());
            self.in_frames += frame.bytes.len();
        }
        if self.framer.waiting() > LONGEST {
            return Err(Broken::HoldsBack);
        }
        Ok(())
    }

    fn check(&self, frame: &RawFrame) -> Result<(), Broken> {
        // It is what came just before the bytes that wait.
        let end = self.pushed - self.framer.waiting();
        let received = end
            .checked_sub(frame.bytes.len())
            .and_then(|start| self.bytes.get(start..end));
        if received != Some(&frame.bytes[..]) {
            return Err(Broken::OtherBytes);
        }
        if is_known(frame.message_id) && !has_good_checksum(frame) {
            return Err(Broken::BadChecksum);
        }
        let mut alone = RawFrame::parse(&frame.bytes).map_err(Broken::NotAFrame)?;
        (alone.at, alone.from) = (frame.at, frame.from);
        if alone != *frame {
            return Err(Broken::ReadsDifferently);
        }
        Ok(())
    }

    fn account(&mut self) -> Result<(), Broken> {
        self.tally.skipped += self.framer.take_skipped();
        let skipped = usize::try_from(self.tally.skipped).unwrap_or(usize::MAX);
        if self.in_frames + skipped + self.framer.waiting() == self.pushed {
            Ok(())
        } else {
            Err(Broken::Unaccounted)
        }
    }
}

fn is_known(id: u32) -> bool {
    MavMessage::all_ids().contains(&id)
}

/// Computed bit by bit, not by the code that the reader uses: CRC-16/MCRF4XX over all but the start byte and the message's
/// extra byte.
fn has_good_checksum(frame: &RawFrame) -> bool {
    let signature = if frame.signed { crate::raw::SIGNATURE } else { 0 };
    let end = frame.bytes.len().saturating_sub(signature);
    let Some((covered, wire)) = frame.bytes.get(1..end).and_then(<[u8]>::split_last_chunk::<2>) else {
        return false;
    };
    let extra = MavMessage::extra_crc(frame.message_id);
    let all = covered.iter().chain(std::iter::once(&extra));
    let crc = all.fold(0xFFFF_u16, |crc, &byte| {
        (0..8).fold(crc ^ u16::from(byte), |crc, _| {
            (crc >> 1) ^ if crc & 1 == 1 { 0x8408 } else { 0 }
        })
    });
    u16::from_le_bytes(*wire) == crc
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framing::tests::{beat, foreign};
    use proptest::prelude::*;

    #[test]
    fn a_clean_stream_is_read_to_the_last_byte() {
        for how in 0..=255 {
            let bytes = [vec![how], beat(0), foreign(0x00AB_CDEF, 9, b"unknown"), beat(1)].concat();
            let tally = reader(&bytes).unwrap();
            // Pieces of a stream may come in any size; datagrams must hold whole frames.
            if how & 0x80 == 0 {
                assert_eq!((tally.frames, tally.messages, tally.skipped), (3, 2, 0), "how {how:#x}");
            }
        }
        assert_eq!(reader(&[]).unwrap(), Tally::default());
    }

    #[test]
    fn the_checks_find_a_wrong_checksum() {
        let mut frame = RawFrame::parse(&beat(0)).unwrap();
        assert!(has_good_checksum(&frame));
        let mut bytes = frame.bytes.to_vec();
        bytes[13] ^= 4;
        frame.bytes = bytes.into();
        assert!(!has_good_checksum(&frame));
    }

    fn anything() -> impl Strategy<Value = Vec<u8>> {
        let id = prop_oneof![
            any::<u32>().prop_map(|id| id & 0x00FF_FFFF),
            proptest::sample::select(MavMessage::all_ids())
        ];
        let payload = proptest::collection::vec(any::<u8>(), 0..=255);
        let piece = prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..40),
            any::<u8>().prop_map(beat),
            (id, payload).prop_map(|(id, payload)| foreign(id, MavMessage::extra_crc(id), &payload)),
            Just(vec![0xFD]),
            Just(vec![0xFE]),
            (any::<u8>(), 1..21_usize).prop_map(|(n, len)| beat(n)[..len].to_vec()),
        ];
        (any::<u8>(), proptest::collection::vec(piece, 0..30))
            .prop_map(|(how, pieces)| [vec![how], pieces.concat()].concat())
    }

    proptest! {
        #[test]
        fn no_input_breaks_a_promise(input in anything()) {
            prop_assert_eq!(reader(&input).err(), None);
        }

        #[test]
        fn one_flipped_byte_breaks_no_promise(input in anything(), at in any::<prop::sample::Index>(), to in any::<u8>()) {
            let mut input = input;
            let at = at.index(input.len());
            input[at] = to;
            prop_assert_eq!(reader(&input).err(), None);
        }
    }
}
