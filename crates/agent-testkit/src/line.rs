//! A pilot and a simulated vehicle on a line that may lose frames, in steps of 20 ms.

use agent::outgoing::{Outgoing, Written};
use agent::pilot::Pilot;
use link::dialect::{MavCmd, MavMessage};
use link::{Frame, LinkEvent};
use mavlink::{MAVLinkV2MessageRaw, MavHeader, MavlinkVersion, Message};
use model::assignment::Order;
use model::time::Moment;
use model::vehicle::FlightTruth;
use sitl::model::{Vehicle, VehicleConfig, Wgs84};
use sitl::wire::{FrameReader, Incoming, Sender};
use std::time::Duration;

pub const STEP_MS: u64 = 20;
pub const HOME: Wgs84 = Wgs84 {
    lat_deg: 47.397_742,
    lon_deg: 8.545_594,
    amsl_m: 488.0,
};

pub struct Line {
    pub pilot: Pilot,
    pub vehicle: Vehicle,
    pub ms: u64,
    pub loses: Option<u64>,
    pub loses_event: Option<u32>,
    pub loses_acks: bool,
    /// The vehicle signs what it sends.
    pub signs: bool,
    /// It takes heartbeats only, as PX4 1.18 with a key: nothing that the pilot writes is signed.
    pub takes_only_signed: bool,
    pub dead: bool,
    /// Just before this command is written, once what it must remember for that is on the disk.
    pub dies_before: Option<MavCmd>,
    pub dies_after: Option<MavCmd>,
    /// Milliseconds for which the agent's process stops once, between a decision on the ground and the wire.
    pub freezes: Option<u64>,
    pub held_back: usize,
    pub wrote: Vec<(u64, MavMessage)>,
    pub received: Vec<(u64, u32)>,
    sender: Sender,
    frames: u64,
}

impl Line {
    pub fn new(pilot: Pilot, config: VehicleConfig) -> Self {
        let mut line = Self {
            pilot,
            vehicle: Vehicle::new(config),
            ms: 0,
            loses: None,
            loses_event: None,
            loses_acks: false,
            signs: false,
            takes_only_signed: false,
            dead: false,
            dies_before: None,
            dies_after: None,
            freezes: None,
            held_back: 0,
            wrote: Vec::new(),
            received: Vec::new(),
            sender: Sender::new(7, 1),
            frames: 0,
        };
        line.pilot.receive(&LinkEvent::Up, line.now(), 0.5);
        line
    }

    pub fn replace(&mut self, pilot: Pilot) {
        self.dead = false;
        self.pilot = pilot;
        self.pilot.receive(&LinkEvent::Up, self.now(), 0.5);
    }

    pub fn now(&self) -> Moment {
        Moment::at(Duration::from_millis(self.ms))
    }

    pub fn truth(&self) -> FlightTruth {
        self.pilot.report(self.now()).truth
    }

    pub fn order(&mut self, order: &Order) {
        self.pilot.uplink_opened(self.now());
        let fence = self.pilot.consider(order, self.now()).unwrap();
        self.pilot.adopt(fence, self.now());
    }

    /// The vehicle speaks first, then the pilot writes.
    pub fn step(&mut self) {
        self.ms += STEP_MS;
        let said = self.vehicle.step(Duration::from_millis(STEP_MS));
        self.arrives(said);
        if self.dead {
            return;
        }
        if let Some(job) = self.pilot.take_job() {
            let done = job.run();
            self.pilot.job_done(Some(done), self.now(), 0.5);
        }
        while let Some(out) = self.pilot.next(self.now(), 0.5) {
            let command = command(&out.message);
            self.dead = self.dies_before.take_if(|dies| Some(*dies) == command).is_some();
            if self.dead {
                break;
            }
            self.dead = self.dies_after.take_if(|dies| Some(*dies) == command).is_some();
            self.write(out);
            if self.dead {
                break;
            }
        }
    }

    pub fn pass(&mut self, seconds: u64) {
        for _ in 0..seconds * 1000 / STEP_MS {
            self.step();
        }
    }

    /// Returns the milliseconds that it took.
    pub fn until(&mut self, what: &str, seconds: u64, holds: impl Fn(&Self) -> bool) -> u64 {
        let began = self.ms;
        while !holds(self) {
            let report = self.pilot.report(self.now());
            let in_time = self.ms - began < seconds * 1000;
            assert!(in_time, "not within {seconds} s: {what}; {report:?}");
            self.step();
        }
        self.ms - began
    }

    fn lost(&mut self) -> bool {
        self.frames += 1;
        // A fixed series that looks like chance.
        self.loses
            .is_some_and(|one_in| self.frames.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33 & 0xFFFF < 0xFFFF / one_in)
    }

    fn arrives(&mut self, said: Vec<sitl::wire::Outgoing>) {
        for message in said {
            let bytes = self.sender.encode(&message);
            if self.lost() {
                continue;
            }
            let mut reader = FrameReader::default();
            reader.push(&bytes);
            let frame = reader.next_frame().unwrap();
            let Ok(message) = MavMessage::parse(MavlinkVersion::V2, frame.id, &frame.payload) else {
                continue;
            };
            let event = match &message {
                MavMessage::EVENT(m) => Some(m.id),
                _ => None,
            };
            let lost_event = event.is_some() && self.loses_event.take_if(|id| Some(*id) == event).is_some();
            if lost_event || (self.loses_acks && matches!(message, MavMessage::COMMAND_ACK(_))) {
                continue;
            }
            self.received.push((self.ms, frame.id));
            let frame = Frame {
                header: header(frame.system, frame.component),
                message,
                at: tokio::time::Instant::now(),
                unchecked_signature: self.signs,
            };
            if !self.dead {
                self.pilot.receive(&LinkEvent::Frame(Box::new(frame)), self.now(), 0.5);
            }
        }
    }

    fn write(&mut self, mut out: Outgoing) {
        let on_ground = out.on_ground_until.is_some();
        if let Some(ms) = self.freezes.take_if(|_| on_ground) {
            self.ms += ms;
            self.vehicle.step(Duration::from_millis(ms));
        }
        let now = self.now();
        if out.allow(now).is_err() || (on_ground && !self.pilot.may_change_rules(now)) {
            self.held_back += 1;
            self.pilot.written(Written::No, now, 0.5);
            return;
        }
        self.pilot.written(Written::Yes, self.now(), 0.5);
        let mut raw = MAVLinkV2MessageRaw::new();
        raw.serialize_message(header(out.from.system.0, out.from.component.0), &out.message);
        let ignored = self.takes_only_signed && !matches!(out.message, MavMessage::HEARTBEAT(_));
        self.wrote.push((self.ms, out.message));
        if self.lost() || ignored {
            return;
        }
        let mut reader = FrameReader::default();
        reader.push(raw.raw_bytes());
        while let Some(frame) = reader.next_frame() {
            let said = self.vehicle.on_message(&Incoming::decode(&frame));
            self.arrives(said);
        }
    }
}

fn command(message: &MavMessage) -> Option<MavCmd> {
    match message {
        MavMessage::COMMAND_LONG(m) => Some(m.command),
        MavMessage::COMMAND_INT(m) => Some(m.command),
        _ => None,
    }
}

fn header(system: u8, component: u8) -> MavHeader {
    MavHeader {
        system_id: system.into(),
        component_id: component,
        sequence: 0,
    }
}
