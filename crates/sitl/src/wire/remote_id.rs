//! Messages of Remote ID (MAVLink common.xml, OPEN_DRONE_ID, 12900 to 12919), decoded leniently.

use super::fields::Fields;

#[derive(Clone, Debug, PartialEq)]
pub enum RemoteIdMessage {
    BasicId {
        id_type: u8,
        ua_type: u8,
        id: String,
    },
    SelfId {
        description: String,
    },
    System {
        lat_e7: i32,
        lon_e7: i32,
        /// Seconds since 2019.
        timestamp: u32,
        location_type: u8,
    },
    OperatorId {
        id: String,
    },
    ArmStatus {
        good: bool,
        error: String,
    },
    SystemUpdate {
        lat_e7: i32,
        lon_e7: i32,
        timestamp: u32,
    },
}

pub(super) fn decode(id: u32, p: Fields<'_>) -> Option<RemoteIdMessage> {
    Some(match id {
        12900 => RemoteIdMessage::BasicId {
            id_type: p.u8(22),
            ua_type: p.u8(23),
            id: p.text(24, 20),
        },
        12903 => RemoteIdMessage::SelfId {
            description: p.text(23, 23),
        },
        12904 => RemoteIdMessage::System {
            lat_e7: p.i32(0),
            lon_e7: p.i32(4),
            timestamp: p.u32(20),
            location_type: p.u8(50),
        },
        12905 => RemoteIdMessage::OperatorId { id: p.text(23, 20) },
        12918 => RemoteIdMessage::ArmStatus {
            good: p.u8(0) == 0,
            error: p.text(1, 50),
        },
        12919 => RemoteIdMessage::SystemUpdate {
            lat_e7: p.i32(0),
            lon_e7: p.i32(4),
            timestamp: p.u32(12),
        },
        _ => return None,
    })
}
