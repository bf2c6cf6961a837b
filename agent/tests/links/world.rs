//! A pilot that is its vehicle's ground station, and the orders of successive coordinators.

use agent::pilot::Pilot;
use agent::state_file::State;
use agent_testkit::line::{HOME, Line};
use agent_testkit::orders::assignment;
use link::dialect::{MavCmd, MavMessage};
use model::assignment::{Assignment, Desired, Failsafe, Order, Preflight};
use model::ids::{NodeName, Term};
use model::report::Activity;
use model::time::Moment;
use model::units::{AltitudeAboveHome, SystemId};
use sitl::model::{Autopilot, VehicleConfig};
use std::ops::{Deref, DerefMut};

pub const RTL_ARDUPILOT: u32 = 6;
pub const RTL_PX4: u32 = 0x0504_0000;

pub struct World {
    line: Line,
    pub preflight: Preflight,
    term: u64,
}

impl Deref for World {
    type Target = Line;

    fn deref(&self) -> &Line {
        &self.line
    }
}

impl DerefMut for World {
    fn deref_mut(&mut self) -> &mut Line {
        &mut self.line
    }
}

fn pilot(state: State, now: Moment) -> Pilot {
    Pilot::new(NodeName::parse("pine").unwrap(), state, now).as_ground_station(Some(SystemId(255)))
}

impl World {
    pub fn new(autopilot: Autopilot, change: impl FnOnce(&mut VehicleConfig)) -> Self {
        let mut config = VehicleConfig::new(autopilot, 7, HOME);
        config.battery_percent_per_minute = 0.5;
        change(&mut config);
        Self {
            line: Line::new(pilot(State::default(), Moment::default()), config),
            preflight: Preflight::Ignore,
            term: 2,
        }
    }

    pub fn order_again(&mut self) {
        self.term += 1;
        let altitude = AltitudeAboveHome(10.0);
        let order = Order::Assigned(Assignment {
            term: Term(self.term),
            failsafe: Failsafe {
                preflight: self.preflight,
                ..Failsafe::default()
            },
            ..assignment(1, Desired::Flying { altitude })
        });
        self.order(&order);
    }

    pub fn close_uplink(&mut self) {
        let now = self.now();
        self.pilot.uplink_closed(now);
    }

    pub fn fly(&mut self) {
        self.pass(5);
        self.order_again();
        self.until("it holds", 240, |w| {
            w.pilot.report(w.now()).activity == Activity::Holding
        });
        self.pass(5);
    }

    pub fn agent_restarts(&mut self) {
        let again = pilot(self.pilot.state().clone(), self.now());
        self.replace(again);
    }

    #[allow(deprecated, reason = "older firmware knows no other way, and newer still knows it")]
    pub fn asked(&self) -> impl Iterator<Item = (MavCmd, f32)> {
        const ASKING: [MavCmd; 3] = [
            MavCmd::MAV_CMD_GET_MESSAGE_INTERVAL,
            MavCmd::MAV_CMD_SET_MESSAGE_INTERVAL,
            MavCmd::MAV_CMD_REQUEST_MESSAGE,
        ];
        let commands = self.wrote.iter().filter_map(|(_, message)| match message {
            MavMessage::COMMAND_LONG(m) => Some((m.command, m.param1)),
            MavMessage::COMMAND_INT(m) => Some((m.command, m.param1)),
            _ => None,
        });
        commands.filter(|(command, _)| ASKING.contains(command))
    }

    pub fn received_since(&self, id: u32, ms: u64) -> usize {
        let of_it = |(at, received): &&(u64, u32)| *received == id && *at >= ms;
        self.received.iter().filter(of_it).count()
    }
}
