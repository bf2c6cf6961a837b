//! A pilot, a simulated vehicle and the coordinator's word, 20 ms after 20 ms.

use agent::outgoing::{Outgoing, Written};
use agent::pilot::Pilot;
use agent::state_file::State;
use fleet::assignment::{Assignment, Desired, Failsafe, Order, Preflight};
use fleet::ids::{DroneName, DroneUid, NodeName, Term};
use fleet::report::Activity;
use fleet::time::Moment;
use fleet::units::{AltitudeAboveHome, SystemId};
use fleet::vehicle::FlightTruth;
use link::dialect::{MavCmd, MavMessage};
use link::{Frame, LinkEvent};
use mavlink::{MAVLinkV2MessageRaw, MavHeader, MavlinkVersion, Message};
use sitl::model::{Autopilot, Vehicle, VehicleConfig, Wgs84};
use sitl::wire::{FrameReader, Incoming, Sender};
use std::time::Duration;

pub const RTL_ARDUPILOT: u32 = 6;
pub const RTL_PX4: u32 = 0x0504_0000;
const STEP_MS: u64 = 20;
const HOME: Wgs84 = Wgs84 {
    lat_deg: 47.397_742,
    lon_deg: 8.545_594,
    amsl_m: 488.0,
};

pub struct World {
    pub pilot: Pilot,
    pub vehicle: Vehicle,
    pub ms: u64,
    pub preflight: Preflight,
    sender: Sender,
    dead: bool,
    term: u64,
    /// Commands of the pilot, and their first parameter.
    commands: Vec<(MavCmd, f32)>,
    /// When which message came.
    heard: Vec<(u64, u32)>,
}

fn pilot(state: State, now: Moment) -> Pilot {
    let mut pilot = Pilot::new(NodeName::parse("pine").unwrap(), state, now).as_ground_station(Some(SystemId(255)));
    pilot.receive(&LinkEvent::Up, now, 0.5);
    pilot
}

impl World {
    pub fn new(autopilot: Autopilot, change: impl FnOnce(&mut VehicleConfig)) -> Self {
        let mut config = VehicleConfig::new(autopilot, 7, HOME);
        config.battery_percent_per_minute = 0.5;
        change(&mut config);
        Self {
            pilot: pilot(State::default(), Moment::default()),
            vehicle: Vehicle::new(config),
            ms: 0,
            preflight: Preflight::Ignore,
            sender: Sender::new(7, 1),
            dead: false,
            term: 2,
            commands: Vec::new(),
            heard: Vec::new(),
        }
    }

    pub fn now(&self) -> Moment {
        Moment::at(Duration::from_millis(self.ms))
    }

    pub fn truth(&self) -> FlightTruth {
        self.pilot.report(self.now()).truth
    }

    /// A coordinator of the next term connects and says the same.
    pub fn order_again(&mut self) {
        self.term += 1;
        let order = Order::Assigned(Assignment {
            term: Term(self.term),
            uid: DroneUid("u-1".into()),
            name: DroneName {
                namespace: "field".into(),
                name: "alpha-brave-finch".into(),
            },
            generation: 1,
            desired: Desired::Flying {
                altitude: AltitudeAboveHome(10.0),
            },
            failsafe: Failsafe {
                preflight: self.preflight,
                ..Failsafe::default()
            },
            resume_after: 0,
            ground_mark: None,
            reported_flight: fleet::flight_record::ReportedFlight::default(),
            routed: false,
            manner: fleet::station::Manner::default(),
            void: fleet::airspace::OrderNumber::default(),
            rules: None,
            route: None,
        });
        self.pilot.uplink_opened(self.now());
        let fence = self.pilot.consider(&order, self.now()).unwrap();
        self.pilot.adopt(fence, self.now());
    }

    /// Flies and holds.
    pub fn fly(&mut self) {
        self.pass(5);
        self.order_again();
        self.until("it holds", 240, |w| {
            w.pilot.report(w.now()).activity == Activity::Holding
        });
        self.pass(5);
    }

    pub const fn agent_dies(&mut self) {
        self.dead = true;
    }

    /// The agent is started anew, with what it had on the disk.
    pub fn agent_restarts(&mut self) {
        self.pilot = pilot(self.pilot.state().clone(), self.now());
    }

    /// Requests for messages and their rates, and about which.
    #[allow(deprecated, reason = "older firmware knows no other way, and newer still knows it")]
    pub fn asked(&self) -> impl Iterator<Item = (MavCmd, f32)> {
        const ASKING: [MavCmd; 3] = [
            MavCmd::MAV_CMD_GET_MESSAGE_INTERVAL,
            MavCmd::MAV_CMD_SET_MESSAGE_INTERVAL,
            MavCmd::MAV_CMD_REQUEST_MESSAGE,
        ];
        self.commands
            .iter()
            .copied()
            .filter(|(command, _)| ASKING.contains(command))
    }

    /// How many messages of this id came since then.
    pub fn heard_since(&self, id: u32, ms: u64) -> usize {
        self.heard
            .iter()
            .filter(|(at, heard)| *heard == id && *at >= ms)
            .count()
    }

    pub fn pass(&mut self, seconds: u64) {
        for _ in 0..seconds * 1000 / STEP_MS {
            self.step();
        }
    }

    /// Lets time pass until `holds`; how long that took, in milliseconds.
    pub fn until(&mut self, what: &str, seconds: u64, holds: impl Fn(&Self) -> bool) -> u64 {
        let began = self.ms;
        while !holds(self) {
            let report = self.pilot.report(self.now());
            assert!(
                self.ms - began < seconds * 1000,
                "not within {seconds} s: {what}; {report:?}"
            );
            self.step();
        }
        self.ms - began
    }

    /// Lets 20 ms pass: first the vehicle speaks, then the pilot writes.
    pub fn step(&mut self) {
        self.ms += STEP_MS;
        let said = self.vehicle.step(Duration::from_millis(STEP_MS));
        self.arrives(said);
        while !self.dead
            && let Some(out) = self.pilot.next(self.now(), 0.5)
        {
            self.write(out);
        }
    }

    fn arrives(&mut self, said: Vec<sitl::wire::Outgoing>) {
        for message in said {
            let mut reader = FrameReader::default();
            reader.push(&self.sender.encode(&message));
            let frame = reader.next_frame().unwrap();
            let Ok(message) = MavMessage::parse(MavlinkVersion::V2, frame.id, &frame.payload) else {
                continue;
            };
            self.heard.push((self.ms, frame.id));
            let frame = Frame {
                header: header(frame.system, frame.component),
                message,
                at: tokio::time::Instant::now(),
            };
            if !self.dead {
                let now = self.now();
                self.pilot.receive(&LinkEvent::Frame(Box::new(frame)), now, 0.5);
            }
        }
    }

    fn write(&mut self, out: Outgoing) {
        let now = self.now();
        self.pilot.written(Written::Yes, now, 0.5);
        match &out.message {
            MavMessage::COMMAND_LONG(m) => self.commands.push((m.command, m.param1)),
            MavMessage::COMMAND_INT(m) => self.commands.push((m.command, m.param1)),
            _ => {}
        }
        let mut raw = MAVLinkV2MessageRaw::new();
        raw.serialize_message(header(out.from.system.0, out.from.component.0), &out.message);
        let mut reader = FrameReader::default();
        reader.push(raw.raw_bytes());
        while let Some(frame) = reader.next_frame() {
            let said = self.vehicle.on_message(&Incoming::decode(&frame));
            self.arrives(said);
        }
    }
}

fn header(system: u8, component: u8) -> MavHeader {
    MavHeader {
        system_id: u32::from(system),
        component_id: component,
        sequence: 0,
    }
}
