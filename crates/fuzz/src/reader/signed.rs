//! The judge of the signing.

use super::HEARTBEATS;
use crate::bytes::Bytes;
use link::raw::RawFrame;
use link::signing::key::Key;
use link::signing::stamps::{Stamp, Stamps};
use link::signing::{Signer, Verdict};

const RADIO_STATUS: u32 = 109;
/// Some moment of the year 2026.
const NOW: Stamp = Stamp(36_000_000_000_000);

#[derive(Debug)]
pub struct Signatures {
    ours: Signer,
    checks: Signer,
    /// Signed frames, and whether each was believed before.
    signed: Vec<(Vec<u8>, bool)>,
}

impl Signatures {
    /// Both sides with a key that follows from the whole input: a frame that the fuzzer remembers from one run is not
    /// signed for another.
    pub fn for_input(input: &[u8]) -> Self {
        let mut mixed = 0xCBF2_9CE4_8422_2325_u64;
        for byte in input {
            mixed = (mixed ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3);
        }
        let mut key = [0x5A; 32];
        key[..8].copy_from_slice(&mixed.to_le_bytes());
        let signer = || Signer::new(Key::new(key), 3, Stamps::after_restart(None, NOW));
        Self {
            ours: signer(),
            checks: signer(),
            signed: Vec::new(),
        }
    }

    /// A frame that is signed with the right key, or (one of four) damaged afterwards.
    pub fn a_frame_of_ours(&mut self, bytes: &mut Bytes<'_>) -> Vec<u8> {
        let mut frame = self.ours.sign(HEARTBEATS[0], NOW).to_vec();
        assert_eq!(frame.len(), HEARTBEATS[0].len() + 13);
        self.signed.push((frame.clone(), false));
        let choice = bytes.byte();
        if choice.is_multiple_of(4) {
            let at = usize::from(bytes.byte()) % frame.len();
            frame[at] ^= 1 << (choice >> 5);
        }
        frame
    }

    pub fn the_last_again(&self, bytes: &mut Bytes<'_>) -> Vec<u8> {
        let back = usize::from(bytes.below(4));
        self.signed
            .iter()
            .rev()
            .nth(back)
            .map(|(frame, _)| frame.clone())
            .unwrap_or_default()
    }

    /// Judges the verdict on a frame; returns whether it was believed.
    pub fn judge(&mut self, frame: &RawFrame) -> bool {
        let verdict = self.checks.check(frame, NOW);
        let known = self.signed.iter_mut().find(|(signed, _)| signed[..] == frame.bytes[..]);
        match (verdict, known) {
            (Verdict::Accepted, Some((_, before))) => {
                assert!(!*before, "believed twice");
                *before = true;
                true
            }
            (Verdict::Accepted, None) => {
                assert!(
                    !frame.signed && frame.message_id == RADIO_STATUS,
                    "believed without a signature: {frame:?}"
                );
                false
            }
            (Verdict::Unsigned, _) => {
                assert!(!frame.signed, "a signed frame passes for unsigned");
                false
            }
            (Verdict::Bad, known) => {
                assert!(known.is_none(), "a good signature is taken for a bad one");
                false
            }
            (Verdict::Replayed, known) => {
                assert!(known.is_some(), "{frame:?}");
                false
            }
        }
    }
}
