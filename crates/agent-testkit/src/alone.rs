//! A pilot without its shell: state, reports, orders and writes.

use agent::outgoing::{Outgoing, Written};
use agent::pilot::Pilot;
use agent::state_file::State;
use link::dialect::{HEARTBEAT_DATA, MavAutopilot, MavCmd, MavMessage, MavModeFlag, MavState, MavType};
use link::{Frame, LinkEvent};
use mavlink::MavHeader;
use model::assignment::Order;
use model::ids::NodeName;
use model::time::Moment;

pub fn pilot_with(state: State, begin: Moment) -> Pilot {
    let mut pilot = Pilot::new(NodeName::parse("pine").unwrap(), state, begin);
    pilot.receive(&LinkEvent::Up, begin, 0.0);
    pilot
}

pub fn receive(pilot: &mut Pilot, message: MavMessage, at: Moment) {
    let header = MavHeader {
        system_id: 7,
        component_id: 1,
        sequence: 0,
    };
    let frame = Frame {
        header,
        message,
        at: tokio::time::Instant::now(),
        unchecked_signature: false,
    };
    pilot.receive(&LinkEvent::Frame(Box::new(frame)), at, 0.0);
}

/// `armed`: empty for a disarmed vehicle.
pub fn beat(autopilot: MavAutopilot, custom_mode: u32, armed: MavModeFlag) -> HEARTBEAT_DATA {
    HEARTBEAT_DATA {
        custom_mode,
        mavtype: MavType::MAV_TYPE_QUADROTOR,
        autopilot,
        base_mode: MavModeFlag::MAV_MODE_FLAG_CUSTOM_MODE_ENABLED | armed,
        system_status: MavState::MAV_STATE_STANDBY,
        mavlink_version: 3,
    }
}

pub fn take(pilot: &mut Pilot, order: &Order, at: Moment) {
    let fence = pilot.consider(order, at).unwrap();
    pilot.adopt(fence, at);
}

pub fn written(pilot: &mut Pilot, at: Moment) -> Vec<Outgoing> {
    let mut all = Vec::new();
    while let Some(out) = pilot.next(at, 0.0) {
        pilot.written(Written::Yes, at, 0.0);
        all.push(out);
    }
    all
}

pub fn command(out: &Outgoing) -> Option<MavCmd> {
    match &out.message {
        MavMessage::COMMAND_LONG(m) => Some(m.command),
        MavMessage::COMMAND_INT(m) => Some(m.command),
        _ => None,
    }
}
