//! MAVLink 2 signing on the vehicle's side (MAVLink guide, message signing): unsigned frames are ignored.

use std::collections::BTreeMap;

use mavlink::calculate_crc;
use mavlink::dialects::ardupilotmega::MavMessage;
use sha2::{Digest, Sha256};

const SIGNED: u8 = 1;
const SIGNATURE: usize = 13;
const PROOF: usize = 6;
const LINK: u8 = 0;
const PER_SECOND: f64 = 100_000.0;

#[derive(Clone, PartialEq, Eq)]
pub struct Key([u8; 32]);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a key is 32 bytes or 64 hexadecimal digits; write one with `openssl rand -hex 32`")]
pub struct KeyError;

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(..)")
    }
}

impl Key {
    /// 32 bytes, or 64 hexadecimal digits with white space around.
    pub fn from_contents(contents: &[u8]) -> Result<Self, KeyError> {
        if let Ok(key) = contents.try_into() {
            return Ok(Self(key));
        }
        let text = contents.trim_ascii();
        let mut key = [0; 32];
        if text.len() != 64 {
            return Err(KeyError);
        }
        for (byte, digits) in key.iter_mut().zip(text.chunks(2)) {
            let digits = std::str::from_utf8(digits).map_err(|_| KeyError)?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| KeyError)?;
        }
        Ok(Self(key))
    }

    fn proof(&self, frame: &[u8], link_and_stamp: &[u8]) -> [u8; PROOF] {
        let digest = Sha256::new()
            .chain_update(self.0)
            .chain_update(frame)
            .chain_update(link_and_stamp)
            .finalize();
        std::array::from_fn(|i| digest[i])
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Signer {
    last: u64,
    last_stamps: BTreeMap<(u8, u8, u8), u64>,
}

impl Signer {
    /// `now_s`: seconds since 2015-01-01 UTC.
    pub(super) fn sign(&mut self, key: &Key, frame: &[u8], now_s: f64) -> Vec<u8> {
        let [_, length, ..] = *frame else { return frame.to_vec() };
        let end = 10 + usize::from(length);
        let (Some(head), Some(id)) = (frame.get(..end), frame.get(7..10)) else {
            return frame.to_vec();
        };
        let mut signed = head.to_vec();
        signed[2] |= SIGNED;
        let id = u32::from_le_bytes([id[0], id[1], id[2], 0]);
        // The flag is part of the frame's own checksum.
        let crc = calculate_crc(&signed[1..], extra_crc(id));
        signed.extend(crc.to_le_bytes());
        self.last = (self.last + 1).max((now_s * PER_SECOND) as u64);
        let mut tail = vec![LINK];
        tail.extend(&self.last.to_le_bytes()[..6]);
        let proof = key.proof(&signed, &tail);
        signed.extend(tail);
        signed.extend(proof);
        signed
    }

    pub(super) fn believes(&mut self, key: &Key, frame: &[u8]) -> bool {
        let signed = frame.first() == Some(&0xFD) && frame.get(2).is_some_and(|flags| flags & SIGNED != 0);
        if !signed || frame.len() < 12 + SIGNATURE {
            return false;
        }
        let (body, signature) = frame.split_at(frame.len() - SIGNATURE);
        let (tail, proof) = signature.split_at(SIGNATURE - PROOF);
        if key.proof(body, tail) != *proof {
            return false;
        }
        let stamp = tail[1..]
            .iter()
            .rev()
            .fold(0, |stamp, &byte| stamp << 8 | u64::from(byte));
        let last = self.last_stamps.entry((frame[5], frame[6], tail[0])).or_insert(0);
        let newer = stamp > *last;
        *last = stamp.max(*last);
        newer
    }
}

fn extra_crc(id: u32) -> u8 {
    <MavMessage as mavlink::Message>::extra_crc(id)
}
