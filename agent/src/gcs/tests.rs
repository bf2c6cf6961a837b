//! Frames for the tests of the pass-through and of the flight log.

use super::own_frame::own_frame;
use link::dialect::{HEARTBEAT_DATA, MavAutopilot, MavMessage, MavModeFlag, MavType};
use link::raw::{Direction, RawFrame};
use model::units::Address;

pub fn frame(from: Address, message: &MavMessage) -> RawFrame {
    own_frame(from, 0, message).unwrap()
}

pub fn from_line(mut frame: RawFrame, direction: Direction) -> RawFrame {
    frame.from = direction;
    frame
}

pub fn heartbeat(mavtype: MavType, autopilot: MavAutopilot, armed: bool) -> MavMessage {
    let armed = if armed {
        MavModeFlag::MAV_MODE_FLAG_SAFETY_ARMED
    } else {
        MavModeFlag::empty()
    };
    MavMessage::HEARTBEAT(HEARTBEAT_DATA {
        mavtype,
        autopilot,
        base_mode: armed,
        mavlink_version: 3,
        ..HEARTBEAT_DATA::default()
    })
}

/// A frame that changes nothing, to nobody in particular.
#[allow(deprecated, reason = "old, and every autopilot still answers it")]
pub fn ping() -> MavMessage {
    MavMessage::PING(link::dialect::PING_DATA::default())
}
