//! Vehicles that share a port of a ground station: each has a system id of its own there, whatever it is on its own
//! wire. A frame that has to be encoded again loses its signature, which would be wrong; others pass byte for byte.

use crate::layout::layout_of;
use crate::raw::{RawFrame, SIGNATURE, SIGNED, Shape, Version};
use bytes::Bytes;
use mavlink::calculate_crc;
use model::units::SystemId;
use std::collections::BTreeSet;

/// Vehicles have 1 to this; ids above are left to ground stations.
pub const VEHICLES_PER_PORT: u8 = 250;

/// SiK radios (component 68).
const RADIO: u8 = 51;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    pub port: usize,
    pub system: SystemId,
}

#[derive(Clone, Debug, Default)]
pub struct Numbers {
    ports: Vec<BTreeSet<u8>>,
    others: BTreeSet<u8>,
}

impl Numbers {
    /// Notes that something other than its vehicle sends as `system`; returns whether that is new. Given numbers stay.
    pub fn observe_other(&mut self, system: SystemId) -> bool {
        self.others.insert(system.0)
    }

    /// The `own` id if free on the first port with room, else the lowest that nothing uses on a wire; never given
    /// twice.
    pub fn give(&mut self, own: SystemId) -> Number {
        let ids = 1..=VEHICLES_PER_PORT;
        let room = self
            .ports
            .iter()
            .position(|port| port.len() < usize::from(VEHICLES_PER_PORT));
        let port = room.unwrap_or(self.ports.len());
        if room.is_none() {
            self.ports.push(BTreeSet::new());
        }
        let free = |id: &u8| self.ports.get(port).is_some_and(|taken| !taken.contains(id));
        let wanted = Some(own.0).filter(|own| ids.contains(own) && free(own));
        let unused = |id: &u8| free(id) && *id != RADIO && !self.others.contains(id);
        let lowest = || ids.clone().find(unused).or_else(|| ids.clone().find(free));
        let system = wanted.or_else(lowest).unwrap_or(own.0);
        if let Some(taken) = self.ports.get_mut(port) {
            taken.insert(system);
        }
        Number {
            port,
            system: SystemId(system),
        }
    }

    #[must_use]
    pub fn is_taken(&self, number: Number) -> bool {
        self.ports
            .get(number.port)
            .is_some_and(|port| port.contains(&number.system.0))
    }

    #[must_use]
    pub fn is_alone(&self, port: usize) -> bool {
        self.ports.get(port).is_none_or(|port| port.len() < 2)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Renumbered {
    pub own: SystemId,
    pub number: Number,
}

impl Renumbered {
    /// `None` when it is of another system there with the id that another vehicle has on this port.
    #[must_use]
    pub fn to_guests(&self, frame: &RawFrame, numbers: &Numbers) -> Option<RawFrame> {
        let shown = |system: SystemId| if system == self.own { self.number.system } else { system };
        let sender = Number {
            system: frame.system,
            ..self.number
        };
        if frame.system != self.own && numbers.is_taken(sender) {
            return None;
        }
        let target = frame.target.map(|to| shown(to.system));
        frame.renumbered(shown(frame.system), target)
    }

    /// `None` when it is for another, or of an unknown message on a shared port: it could name one in an unknown place.
    #[must_use]
    pub fn to_vehicle(&self, frame: &RawFrame, numbers: &Numbers) -> Option<RawFrame> {
        let Some(to) = frame.target else {
            let known = layout_of(frame.message_id).is_some();
            return (known || numbers.is_alone(self.number.port)).then(|| frame.clone());
        };
        let target = Number {
            system: to.system,
            ..self.number
        };
        match to.system {
            SystemId(0) => Some(frame.clone()),
            system if system == self.number.system => frame.renumbered(frame.system, Some(self.own)),
            // Another vehicle's, or a name that this one has only on its own wire.
            system if system == self.own || numbers.is_taken(target) => None,
            // Something else behind one of them: their agents know where.
            _ => Some(frame.clone()),
        }
    }
}

impl RawFrame {
    /// The same message of `sender` to `target`, unsigned if anything changed; `None` when it cannot be encoded again.
    #[must_use]
    pub fn renumbered(&self, sender: SystemId, target: Option<SystemId>) -> Option<Self> {
        let same_target = self.target.is_none_or(|was| target == Some(was.system));
        if sender == self.system && same_target {
            return Some(self.clone());
        }
        let shape = Shape::of(&self.bytes)?;
        let head = shape.head?;
        let extra = head.crc_extra(&self.bytes, &shape)?;
        let mut bytes = self.bytes.to_vec();
        let sender_at = match self.version {
            Version::V1 => 3,
            Version::V2 => 5,
        };
        *bytes.get_mut(sender_at)? = sender.0;
        if let (false, Some(target), Some(at)) =
            (same_target, target, head.layout.and_then(|layout| layout.target_system))
        {
            // A target that MAVLink 2 cut off is 0, all systems, and stays so.
            let payload = bytes.get_mut(shape.payload..shape.checksum)?;
            if let Some(byte) = payload.get_mut(at) {
                *byte = target.0;
            }
        }
        if shape.signed {
            *bytes.get_mut(2)? &= !SIGNED;
            bytes.truncate(bytes.len().checked_sub(SIGNATURE)?);
        }
        let checksum = calculate_crc(bytes.get(1..shape.checksum)?, extra).to_le_bytes();
        bytes.get_mut(shape.checksum..)?.copy_from_slice(&checksum);
        Self::written(&Bytes::from(bytes), self.from, self.at)
    }
}

#[cfg(test)]
mod tests;
