//! Vehicles that share a port of a ground station: each has a system id of its own there, whatever it is called on its own wire.
//!
//! Owns: which vehicle has which number on which port ([`Numbers`]), and frames with another number ([`Renumbered`]). Must not: touch a
//! socket, or decide what a guest may send.
//!
//! A frame that has to be encoded again loses its signature, which would be wrong. One that needs no other number passes byte for byte.

use crate::layout::layout_of;
use crate::raw::{RawFrame, SIGNATURE, SIGNED, Shape, Version};
use bytes::Bytes;
use mavlink::calculate_crc;
use model::units::SystemId;
use std::collections::BTreeSet;

/// System ids of vehicles on one port: 1 to this. Those above are left to ground stations.
pub const VEHICLES_PER_PORT: u8 = 250;

/// System id of SiK radios (component 68).
const RADIO: u8 = 51;

/// Identity of a vehicle for ground stations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    pub port: usize,
    pub system: SystemId,
}

/// System ids in use, by port.
#[derive(Clone, Debug, Default)]
pub struct Numbers {
    ports: Vec<BTreeSet<u8>>,
    /// Ids of others on the wires of the vehicles.
    others: BTreeSet<u8>,
}

impl Numbers {
    /// Notes that something other than its vehicle sends as `system`; returns whether that is new. Numbers already given stay.
    pub fn observe_other(&mut self, system: SystemId) -> bool {
        self.others.insert(system.0)
    }

    /// A number for a vehicle that calls itself `own`: that one if it is free on the first port that has room, else the lowest free one as
    /// which nothing else speaks on a wire, while there is such. It is never given to another one.
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

    /// Whether at most one vehicle has a number on `port`.
    #[must_use]
    pub fn is_alone(&self, port: usize) -> bool {
        self.ports.get(port).is_none_or(|port| port.len() < 2)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Renumbered {
    /// System id on the vehicle's own wire.
    pub own: SystemId,
    /// Where ground stations see it.
    pub number: Number,
}

impl Renumbered {
    /// A frame from the vehicle's wire, as ground stations get it. `None` when it is of another system there whose number is another
    /// vehicle's on this port: they would take the one for the other.
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

    /// A ground station's frame, as the vehicle gets it; `None` when it is not for this one. Where several vehicles share the port, a
    /// message that the dialect does not know goes to none: it could name one of them in a place that is not known.
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
    /// The same message of `sender` to `target`, without a signature unless nothing has changed. `None` when it cannot be
    /// encoded again: it is no frame.
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
            // What MAVLink 2 has cut off was 0, which means all systems, and stays so.
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
