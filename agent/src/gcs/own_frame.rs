//! A frame around a message of ours.

use super::routes::Address;
use link::dialect::MavMessage;
use link::raw::RawFrame;
use mavlink::{MAVLinkV2MessageRaw, MavHeader};

/// `message` as `from` sends it.
pub(super) fn own_frame(from: Address, sequence: u8, message: &MavMessage) -> Option<RawFrame> {
    let header = MavHeader {
        system_id: u32::from(from.system.0),
        component_id: from.component.0,
        sequence,
    };
    let mut raw = MAVLinkV2MessageRaw::new();
    raw.serialize_message(header, message);
    RawFrame::parse(raw.raw_bytes()).ok()
}
