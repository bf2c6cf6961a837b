//! MAVLink 2 signing: what we send carries a signature, and frames without ours are not believed. Must not: keep a
//! clock, sign for guests, or send a key.
//!
//! A signature is a link id, a time stamp (10 µs since 2015-01-01 UTC), and the first 6 bytes of SHA-256 over the key
//! and all of the frame before them. Rules (MAVLink guide, message signing):
//! * Our time stamps only grow, also over restarts ([`stamps`]).
//! * A frame is refused when its time stamp is not above the last of its system, component and link id; the first of a
//!   new stream, when it is more than a minute behind our own.
//! * Only a frame whose signature is right moves anything.
//! * RADIO_STATUS comes from the radio itself, which has no key: it may be unsigned.

pub mod key;
pub mod stamps;

use crate::layout::layout_of;
use crate::raw::{RawFrame, SIGNATURE, SIGNED};
use bytes::Bytes;
use key::{Key, KeyError};
use mavlink::calculate_crc;
use model::units::Address;
use sha2::{Digest, Sha256};
use stamps::{Stamp, StampError, StampFile, Stamps};
use std::path::{Path, PathBuf};

const PROOF: usize = 6;
const RADIO_STATUS: u32 = 109;
/// Streams distinguished; only holders of the key make them. Beyond these, those too far behind to begin are forgotten.
const STREAMS: usize = 64;
const NEW_STREAM_BEHIND: Stamp = Stamp(60 * Stamp::SECOND);

#[derive(Debug)]
pub struct Signing {
    pub(crate) signer: Signer,
    pub(crate) file: StampFile,
}

#[derive(Debug, thiserror::Error)]
pub enum SigningError {
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error(transparent)]
    Stamp(#[from] StampError),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Accepted,
    Unsigned,
    Bad,
    Replayed,
}

impl Signing {
    /// Writes the first new stamp, too; failing to is an error only where there was none before. `link_id` tells the
    /// links of one key holder apart. Blocks. Errors: the link must not be opened: the autopilot would not believe it.
    pub fn load(key_file: &Path, link_id: u8, stamp_file: PathBuf) -> Result<Self, SigningError> {
        let key = Key::read(key_file)?;
        let file = StampFile::new(stamp_file);
        let last = file.read()?;
        let stamps = Stamps::after_restart(last, Stamp::now());
        let written = file.write(stamps.last());
        // A vehicle flown before may be in the air, so the link opens; it retries the write and reports failures.
        if last.is_none() {
            written?;
        }
        Ok(Self {
            signer: Signer::new(key, link_id, stamps),
            file,
        })
    }
}

#[derive(Debug)]
pub struct Signer {
    key: Key,
    link_id: u8,
    stamps: Stamps,
    streams: Vec<Stream>,
}

#[derive(Clone, Copy, Debug)]
struct Stream {
    of: (Address, u8),
    last: Stamp,
}

impl Signer {
    #[must_use]
    pub const fn new(key: Key, link_id: u8, stamps: Stamps) -> Self {
        Self {
            key,
            link_id,
            stamps,
            streams: Vec::new(),
        }
    }

    #[must_use]
    pub const fn last(&self) -> Stamp {
        self.stamps.last()
    }

    /// Anything but an unsigned MAVLink 2 frame of the dialect comes back unchanged.
    pub fn sign(&mut self, frame: &[u8], now: Stamp) -> Bytes {
        let mut bytes = Vec::with_capacity(frame.len() + SIGNATURE);
        bytes.extend_from_slice(frame);
        if with_signed_flag(&mut bytes).is_some() {
            bytes.push(self.link_id);
            bytes.extend_from_slice(&self.stamps.next(now).to_wire());
            let proof = self.proof(&bytes);
            bytes.extend_from_slice(&proof);
        }
        bytes.into()
    }

    /// Whether a received frame may be believed; if so, its time stamp counts from here on.
    pub fn check(&mut self, frame: &RawFrame, now: Stamp) -> Verdict {
        if !frame.signed {
            let radio = frame.message_id == RADIO_STATUS;
            return if radio { Verdict::Accepted } else { Verdict::Unsigned };
        }
        let Some((rest, proof)) = frame.bytes.split_last_chunk::<PROOF>() else {
            return Verdict::Bad;
        };
        let Some((_, &[link_id, ref stamp @ ..])) = rest.split_last_chunk::<{ SIGNATURE - PROOF }>() else {
            return Verdict::Bad;
        };
        if !same(proof, &self.proof(rest)) {
            return Verdict::Bad;
        }
        let stamp = Stamp::from_wire(stamp);
        let of = (frame.sender(), link_id);
        match self.streams.iter_mut().find(|stream| stream.of == of) {
            Some(stream) if stamp <= stream.last => return Verdict::Replayed,
            Some(stream) => stream.last = stamp,
            None => {
                let own = self.stamps.last().max(now);
                let ended = |last: Stamp| last.0.saturating_add(NEW_STREAM_BEHIND.0) < own.0;
                if self.streams.len() >= STREAMS {
                    // A forgotten stream is refused like a new one that is as old.
                    self.streams.retain(|stream| !ended(stream.last));
                }
                if ended(stamp) || self.streams.len() >= STREAMS {
                    return Verdict::Replayed;
                }
                self.streams.push(Stream { of, last: stamp });
            }
        }
        self.stamps.see(stamp);
        Verdict::Accepted
    }

    fn proof(&self, before: &[u8]) -> [u8; PROOF] {
        let hash = Sha256::new()
            .chain_update(self.key.bytes())
            .chain_update(before)
            .finalize();
        let mut proof = [0; PROOF];
        proof.iter_mut().zip(hash).for_each(|(to, from)| *to = from);
        proof
    }
}

fn same(a: &[u8; PROOF], b: &[u8; PROOF]) -> bool {
    a.iter().zip(b).fold(0, |different, (a, b)| different | (a ^ b)) == 0
}

/// The flag is under the checksum.
fn with_signed_flag(bytes: &mut [u8]) -> Option<()> {
    let id = match *bytes {
        [mavlink::MAV_STX_V2, _, 0, _, _, _, _, a, b, c, ..] => u32::from_le_bytes([a, b, c, 0]),
        _ => return None,
    };
    let extra = layout_of(id)?.crc_extra;
    *bytes.get_mut(2)? = SIGNED;
    let (covered, checksum) = bytes.split_last_chunk_mut::<2>()?;
    *checksum = calculate_crc(covered.get(1..)?, extra).to_le_bytes();
    Some(())
}

#[cfg(test)]
mod tests;
