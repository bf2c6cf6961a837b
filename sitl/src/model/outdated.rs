//! Messages that the MAVLink dialect marks as outdated but that the imitated autopilots send and peers still ask for.
//!
//! Owns: PING (4) and PROTOCOL_VERSION (300). Must not: grow; new messages have no place here.
#![allow(deprecated, reason = "the real autopilots of these versions still send them")]

use mavlink::dialects::ardupilotmega as apm;
use mavlink::dialects::ardupilotmega::MavMessage;

use super::core::Core;
use crate::wire::Address;

/// A PING that asks, as PX4 sends it now and then.
pub(super) fn ping(core: &Core) -> MavMessage {
    MavMessage::PING(apm::PING_DATA {
        time_usec: core.boot_us(),
        ..apm::PING_DATA::DEFAULT
    })
}

/// The answer to a PING.
pub(super) fn ping_answer(to: Address, time_usec: u64, seq: u32) -> MavMessage {
    MavMessage::PING(apm::PING_DATA {
        time_usec,
        seq,
        target_system: to.system,
        target_component: to.component,
    })
}

/// PROTOCOL_VERSION: MAVLink 2.0, 1.0 understood.
pub(super) fn protocol_version() -> MavMessage {
    MavMessage::PROTOCOL_VERSION(apm::PROTOCOL_VERSION_DATA {
        version: 200,
        min_version: 100,
        max_version: 200,
        ..apm::PROTOCOL_VERSION_DATA::DEFAULT
    })
}
