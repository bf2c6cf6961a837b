//! A reader's log: frames of the vehicle, and the gaps between their sequence numbers.

use std::path::Path;

const AUTOPILOT: u8 = 1;

#[derive(Clone, Copy, Debug, Default)]
pub struct Recorded {
    pub frames: u64,
    pub bytes: u64,
    /// By gaps in the sequence, which is counted modulo 256.
    pub lost: u64,
}

/// Unix microseconds.
pub fn count(path: &Path, system: u8, from_us: u64, to_us: u64) -> anyhow::Result<Recorded> {
    let log = std::fs::read(path)?;
    let (mut rest, mut recorded, mut last) = (log.as_slice(), Recorded::default(), None::<u8>);
    while rest.len() > 16 {
        let at_us = u64::from_be_bytes(rest[..8].try_into()?);
        let frame = &rest[8..];
        let (length, sequence, sender) = match frame[0] {
            0xFD => {
                let signature = if frame[2] & 1 != 0 { 13 } else { 0 };
                (12 + usize::from(frame[1]) + signature, frame[4], (frame[5], frame[6]))
            }
            0xFE => (8 + usize::from(frame[1]), frame[2], (frame[3], frame[4])),
            other => anyhow::bail!("{}: a frame begins with {other:#x}", path.display()),
        };
        if sender == (system, AUTOPILOT) {
            // The frame before the span has the first sequence number.
            if at_us >= from_us && at_us < to_us {
                recorded.frames += 1;
                recorded.bytes += length as u64;
                recorded.lost += last.map_or(0, |last| u64::from(sequence.wrapping_sub(last).wrapping_sub(1)));
            }
            last = Some(sequence);
        }
        rest = rest.get(8 + length..).unwrap_or_default();
    }
    Ok(recorded)
}
