//! One MAVLink frame, byte for byte as on the wire: its header and checksum.

use crate::layout::{Layout, layout_of};
use bytes::Bytes;
use mavlink::{MAV_STX, MAV_STX_V2, calculate_crc};
use model::units::{Address, ComponentId, SystemId};
use tokio::time::Instant;

/// 10 header, 255 payload, 2 checksum, 13 signature bytes.
pub const LONGEST: usize = 280;
/// Link id, 6 bytes of time stamp, 6 bytes of signature.
pub const SIGNATURE: usize = 13;
/// Bit of MAVLink 2's incompatibility flags; no other is understood.
pub const SIGNED: u8 = 0x01;
const CHECKSUM: usize = 2;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawFrame {
    pub bytes: Bytes,
    pub at: Instant,
    pub from: Direction,
    pub version: Version,
    /// Valid or not.
    pub signed: bool,
    pub system: SystemId,
    pub component: ComponentId,
    pub message_id: u32,
    /// 0 means all; `None` when the message has no target or the dialect does not know it.
    pub target: Option<Address>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The autopilot and all else on its wire.
    Autopilot,
    Us,
    /// Ground station or similar, through this program.
    Guest,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    V1,
    V2,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAFrame {
    #[error("the bytes do not begin like a MAVLink frame; send whole MAVLink 1 or 2 frames")]
    NoStart,
    #[error("{got} bytes, but the header says {expected}; send exactly one frame")]
    Length { got: usize, expected: usize },
    #[error("the checksum is wrong; the frame was damaged on its way, or comes from another dialect")]
    Checksum,
}

impl RawFrame {
    #[must_use]
    pub const fn sender(&self) -> Address {
        Address {
            system: self.system,
            component: self.component,
        }
    }

    /// Reads exactly one frame, as from a guest, arrived now; unknown messages pass when some `CRC_EXTRA` fits.
    pub fn parse(bytes: &[u8]) -> Result<Self, NotAFrame> {
        let shape = Shape::of(bytes).ok_or(NotAFrame::NoStart)?;
        let expected = shape.len;
        let head = shape.head.filter(|_| bytes.len() == expected);
        let head = head.ok_or(NotAFrame::Length {
            got: bytes.len(),
            expected,
        })?;
        if !head.checksum_fits(bytes, &shape) {
            return Err(NotAFrame::Checksum);
        }
        Ok(Self::build(bytes, &shape, &head, Direction::Guest, Instant::now()))
    }

    pub(crate) fn written(bytes: &Bytes, from: Direction, at: Instant) -> Option<Self> {
        let shape = Shape::of(bytes)?;
        let head = shape.head?;
        Some(Self::of_parts(bytes.clone(), &shape, &head, from, at))
    }

    pub(crate) fn build(bytes: &[u8], shape: &Shape, head: &Head, from: Direction, at: Instant) -> Self {
        Self::of_parts(Bytes::copy_from_slice(bytes), shape, head, from, at)
    }

    fn of_parts(bytes: Bytes, shape: &Shape, head: &Head, from: Direction, at: Instant) -> Self {
        let payload = bytes.get(shape.payload..shape.checksum).unwrap_or_default();
        let target = head.layout.and_then(|layout| layout.target(payload));
        Self {
            bytes,
            at,
            from,
            version: shape.version,
            signed: shape.signed,
            system: head.system,
            component: head.component,
            message_id: head.message_id,
            target,
        }
    }

    #[must_use]
    pub fn sequence(&self) -> u8 {
        let at = match self.version {
            Version::V1 => 2,
            Version::V2 => 4,
        };
        self.bytes.get(at).copied().unwrap_or(0)
    }

    /// Payload as sent: MAVLink 2 cuts its trailing zeros.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        let payload = Shape::of(&self.bytes).and_then(|shape| self.bytes.get(shape.payload..shape.checksum));
        payload.unwrap_or_default()
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub version: Version,
    pub signed: bool,
    pub payload: usize,
    pub checksum: usize,
    pub len: usize,
    pub head: Option<Head>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub system: SystemId,
    pub component: ComponentId,
    pub message_id: u32,
    pub layout: Option<&'static Layout>,
}

impl Head {
    pub const fn sender(&self) -> Address {
        Address {
            system: self.system,
            component: self.component,
        }
    }
}

impl Shape {
    pub const fn needs(start: u8) -> Option<usize> {
        match start {
            MAV_STX => Some(2),
            MAV_STX_V2 => Some(3),
            _ => None,
        }
    }

    /// `None` when `bytes` begin no understood frame, or are fewer than [`Shape::needs`].
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let (version, payload, flags) = match *bytes {
            [MAV_STX, _, ..] => (Version::V1, 6, 0),
            [MAV_STX_V2, _, flags, ..] => (Version::V2, 10, flags),
            _ => return None,
        };
        // A frame with an unknown flag may mean something else.
        if flags & !SIGNED != 0 {
            return None;
        }
        let signed = flags & SIGNED != 0;
        let checksum = payload + usize::from(*bytes.get(1)?);
        Some(Self {
            version,
            signed,
            payload,
            checksum,
            len: checksum + CHECKSUM + if signed { SIGNATURE } else { 0 },
            head: Head::of(bytes),
        })
    }
}

impl Head {
    fn of(bytes: &[u8]) -> Option<Self> {
        let (system, component, message_id) = match *bytes {
            [MAV_STX, _, _, system, component, id, ..] => (system, component, u32::from(id)),
            [MAV_STX_V2, _, _, _, _, system, component, a, b, c, ..] => {
                (system, component, u32::from_le_bytes([a, b, c, 0]))
            }
            _ => return None,
        };
        Some(Self {
            system: SystemId(system),
            component: ComponentId(component),
            message_id,
            layout: layout_of(message_id),
        })
    }

    /// Passes about one damaged frame in 256 of an unknown message.
    pub fn checksum_fits(&self, bytes: &[u8], shape: &Shape) -> bool {
        self.crc_extra(bytes, shape).is_some()
    }

    /// The dialect's if it fits; for an unknown message the only one that fits.
    pub fn crc_extra(&self, bytes: &[u8], shape: &Shape) -> Option<u8> {
        let covered = bytes.get(1..shape.checksum)?;
        let &[low, high] = bytes.get(shape.checksum..shape.checksum + CHECKSUM)? else {
            return None;
        };
        let wire = u16::from_le_bytes([low, high]);
        match (self.layout, covered) {
            (Some(layout), _) => (calculate_crc(covered, layout.crc_extra) == wire).then_some(layout.crc_extra),
            (None, [but_last @ .., last]) => {
                let before_extra = calculate_crc(but_last, *last);
                (0..=u8::MAX).find(|extra| with_extra(before_extra, *extra) == wire)
            }
            (None, []) => None,
        }
    }
}

/// CRC-16/MCRF4XX.
const fn with_extra(crc: u16, extra: u8) -> u16 {
    let [low, high] = crc.to_le_bytes();
    let mut mixed = extra ^ low;
    mixed ^= mixed << 4;
    let mixed = mixed as u16;
    high as u16 ^ (mixed << 8) ^ (mixed << 3) ^ (mixed >> 4)
}

#[cfg(test)]
mod tests;
