//! Messages that the MAVLink dialect marks as outdated but that the imitated autopilots send and peers still request.
#![allow(deprecated, reason = "the real autopilots of these versions still send them")]

use mavlink::dialects::ardupilotmega as apm;
use mavlink::dialects::ardupilotmega::MavMessage;
use mavlink::types::CharArray;

use super::core::Core;
use crate::wire::Address;

/// PX4 sends a request now and then.
pub(super) fn ping(core: &Core) -> MavMessage {
    MavMessage::PING(apm::PING_DATA {
        time_usec: core.boot_us(),
        ..apm::PING_DATA::DEFAULT
    })
}

pub(super) fn ping_answer(to: Address, time_usec: u64, seq: u32) -> MavMessage {
    MavMessage::PING(apm::PING_DATA {
        time_usec,
        seq,
        target_system: to.system,
        target_component: to.component,
    })
}

pub(super) fn protocol_version() -> MavMessage {
    MavMessage::PROTOCOL_VERSION(apm::PROTOCOL_VERSION_DATA {
        version: 200,
        min_version: 100,
        max_version: 200,
        ..apm::PROTOCOL_VERSION_DATA::DEFAULT
    })
}

pub(super) fn component_information(core: &Core, crc: u32, uri: CharArray<100>) -> MavMessage {
    MavMessage::COMPONENT_INFORMATION(apm::COMPONENT_INFORMATION_DATA {
        time_boot_ms: core.boot_ms(),
        general_metadata_file_crc: crc,
        general_metadata_uri: uri,
        ..apm::COMPONENT_INFORMATION_DATA::DEFAULT
    })
}
