//! One run, in which each byte of an input has a meaning for the vehicle, the wire, the clock or the agent's lives.
//!
//! Takes the memory of the moment before anything was sent, as the agent's shell does. Must not: judge.

mod inputs;

use super::messages;
use super::oracle::Oracle;
use super::orders::Coordinators;
use super::tally::Tally;
use super::vehicle::{Kind, Mode, SYSTEM, Vehicle};
use crate::bytes::Bytes;
use agent::metadata::MetadataCache;
use agent::outgoing::{Outgoing, Written};
use agent::pilot::Pilot;
use agent::state_file::State as OnDisk;
use link::decode::decode;
use link::dialect::{MavCmd, MavMessage};
use link::framing::Framer;
use link::{Frame, LinkEvent};
use mavlink::MavHeader;
use model::ids::NodeName;
use model::time::Moment;
use model::units::SystemId;
use std::fmt::Debug;
use std::path::Path;
use std::time::Duration;
use tokio::time::Instant;

/// Fate of the next messages and of the answers.
#[derive(Clone, Copy, Debug)]
struct Wire {
    how: Written,
    arrives: bool,
    answers: bool,
    /// Milliseconds that writing takes.
    takes: u64,
}

const GOOD: Wire = Wire {
    how: Written::Yes,
    arrives: true,
    answers: true,
    takes: 0,
};

pub struct World<'a> {
    bytes: Bytes<'a>,
    now: u64,
    vehicle: Vehicle,
    pilot: Pilot,
    oracle: Oracle,
    /// Contents of the agent's disk, and the ledger of their moment.
    saved: (OnDisk, super::ledger::Ledger),
    coordinators: Coordinators,
    framer: Framer,
    /// Frames carry an instant, which nothing here uses.
    instant: Instant,
    link_up: bool,
    stream_open: bool,
    extras: u8,
    wire: Wire,
    last_command: MavCmd,
    /// Arrival of the last frame.
    arrived: u64,
    jitter: f64,
    /// Prints each step on standard error, for a person who looks into a failure.
    traced: bool,
    pub tally: Tally,
}

pub(super) fn at(ms: u64) -> Moment {
    Moment::at(Duration::from_millis(ms))
}

impl<'a> World<'a> {
    pub fn new(input: &'a [u8]) -> Self {
        let mut bytes = Bytes::new(input);
        let first = bytes.byte();
        let kind = if first & 1 == 0 { Kind::ArduCopter } else { Kind::Px4 };
        let now = 10_000;
        let extras = first;
        let mut world = Self {
            bytes,
            now,
            vehicle: Vehicle::new(kind),
            pilot: Self::pilot(OnDisk::default(), extras, now),
            oracle: Oracle::born(super::ledger::Ledger::default(), now),
            saved: Default::default(),
            coordinators: Coordinators::default(),
            framer: Framer::default(),
            instant: Instant::now(),
            link_up: true,
            stream_open: false,
            extras,
            wire: GOOD,
            last_command: MavCmd::MAV_CMD_NAV_LAND,
            arrived: now,
            jitter: 0.5,
            traced: std::env::var_os("SKEIN_FUZZ_STORY").is_some(),
            tally: Tally::default(),
        };
        world.link(true);
        world
    }

    /// An agent that may play the ground station and ask for descriptions. Its disk keeps nothing.
    fn pilot(on_disk: OnDisk, extras: u8, now: u64) -> Pilot {
        let node = NodeName::parse("pine").expect("it is a node name");
        let system = (extras & 2 != 0).then_some(SystemId(255));
        let pilot = Pilot::new(node, on_disk, at(now)).as_ground_station(system);
        if extras & 4 == 0 {
            return pilot;
        }
        pilot.keeping_descriptions(MetadataCache::in_state(Path::new("/dev/null")))
    }

    /// Plays the next byte; whether there was one.
    pub fn step(&mut self) -> bool {
        if self.bytes.is_empty() {
            return false;
        }
        let what = self.bytes.byte();
        self.jitter = f64::from(what >> 5) / 7.0;
        match what % 20 {
            0..=2 => (0..=what / 20).for_each(|_| self.calm()),
            3 => self.now += u64::from(self.bytes.byte()) * 10,
            4 => self.now += u64::from(self.bytes.byte()) * 100,
            5 => self.vehicle_sends(u64::from(what / 20) * 200),
            6 => self.tamper(),
            7 => self.receive_one(messages::heartbeat),
            8 => self.receive_one(messages::status),
            9 => self.receive_one(messages::parameter),
            10 => {
                let sender = self.sender();
                if let Some(message) = messages::any(&mut self.bytes) {
                    self.receive(sender, message, 0);
                }
            }
            11 => self.noise(),
            12 => {
                let answer = messages::answer(&mut self.bytes, self.last_command, SYSTEM);
                self.receive((SYSTEM, 1), answer, 0);
            }
            13 | 14 => self.order(what & 0x80 != 0),
            15 => self.stream(!self.stream_open),
            16 => self.link(!self.link_up),
            17 => self.end(what),
            18 => self.kill(),
            _ => self.wire = self.another_wire(),
        }
        self.pump();
        if let Some(job) = self.pilot.take_job() {
            self.pilot.job_done(Some(job.run()), at(self.now), self.jitter);
        }
        self.judge_report();
        true
    }

    fn trace(&self, what: &str, of: &dyn Debug) {
        if self.traced {
            eprintln!("{:>7} ms  {what}: {of:?}", self.now);
        }
    }

    fn sender(&mut self) -> (u8, u8) {
        self.bytes.pick(&[
            (SYSTEM, 1),
            (SYSTEM, 1),
            (SYSTEM + 1, 1),
            (SYSTEM, 2),
            (0, 1),
            (255, 190),
        ])
    }

    fn calm(&mut self) {
        self.now += 250;
        self.vehicle.fly(self.now, 250);
        self.vehicle_sends(0);
        self.pump();
    }

    fn another_wire(&mut self) -> Wire {
        let choice = self.bytes.byte();
        let how = [Written::Yes, Written::Yes, Written::Unsure, Written::No][usize::from(choice) % 4];
        Wire {
            how,
            arrives: how != Written::No && choice & 4 == 0,
            answers: choice & 8 == 0,
            takes: [0, 0, 150, 2000, 2001, 30_000][usize::from(choice >> 4) % 6],
        }
    }

    fn vehicle_sends(&mut self, late: u64) {
        for message in self.vehicle.reports(self.now) {
            self.receive((SYSTEM, 1), message, late);
        }
    }

    fn receive_one(&mut self, make: fn(&mut Bytes<'_>) -> MavMessage) {
        let sender = self.sender();
        let message = make(&mut self.bytes);
        self.receive(sender, message, 0);
    }

    /// The frame arrived `late` milliseconds ago and has waited since.
    fn receive(&mut self, sender: (u8, u8), message: MavMessage, late: u64) {
        if !self.link_up {
            return;
        }
        self.tally.received += 1;
        if self.traced {
            self.trace("heard", &messages::brief(sender, &message));
        }
        // Frames do not overtake one another.
        self.arrived = self.arrived.max(self.now.saturating_sub(late));
        let arrived = self.arrived;
        let frame = Frame {
            header: MavHeader {
                system_id: u32::from(sender.0),
                component_id: sender.1,
                sequence: 0,
            },
            message,
            at: self.instant,
            unchecked_signature: false,
        };
        let event = LinkEvent::Frame(Box::new(frame));
        self.pilot.receive(&event, at(arrived), self.jitter);
        let LinkEvent::Frame(frame) = event else { return };
        let found = self
            .oracle
            .seeks()
            .then(|| self.pilot.report(at(self.now)).identity)
            .flatten();
        self.oracle.received(sender, &frame.message, found.as_ref(), arrived);
    }

    /// Changes the vehicle without its agent.
    fn tamper(&mut self) {
        let vehicle = &mut self.vehicle;
        let how = self.bytes.byte();
        match how % 10 {
            0 => vehicle.mode = Mode::Pilot,
            1 => vehicle.mode = Mode::Station,
            2 => vehicle.mode = Mode::Land,
            3 => vehicle.mode = Mode::Return,
            4 => vehicle.ready = !vehicle.ready,
            5 => vehicle.remaining = self.bytes.byte().cast_signed(),
            6 => vehicle.reboot(self.now),
            7 => (vehicle.armed, vehicle.still_since) = (true, self.now),
            8 => (vehicle.armed, vehicle.in_air, vehicle.target) = (true, true, 10.0),
            _ => vehicle.armed = false,
        }
    }

    fn noise(&mut self) {
        let count = usize::from(self.bytes.below(64));
        self.framer.push(self.bytes.take(count));
        while let Some(frame) = self.framer.next_frame() {
            if let Ok((_, message)) = decode(&frame) {
                self.receive((frame.system.0, frame.component.0), message, 0);
            }
        }
    }

    fn pump(&mut self) {
        for _ in 0..8 {
            self.oracle.watch(self.now);
            let Some(out) = self.pilot.next(at(self.now), self.jitter) else {
                break;
            };
            self.save();
            self.tally.sent += 1;
            if !self.link_up {
                self.pilot.written(Written::No, at(self.now), self.jitter);
                break;
            }
            self.trace("sent", &out.message);
            self.oracle.judge(&out, self.now);
            let how = self.write(out);
            self.pilot.written(how, at(self.now), self.jitter);
            if how != Written::Yes {
                break;
            }
        }
        self.save();
    }

    fn write(&mut self, out: Outgoing) -> Written {
        if let Some(permit) = out.permit {
            let spent = permit.spend(at(self.now + self.wire.takes));
            assert_eq!(
                spent.is_ok(),
                self.wire.takes <= 2000,
                "an arm command outlives its two seconds"
            );
            if spent.is_err() {
                return Written::No;
            }
        }
        let (command, params) = match &out.message {
            MavMessage::COMMAND_LONG(m) => (m.command, [m.param1, m.param2, m.param3]),
            MavMessage::COMMAND_INT(m) => (m.command, [m.param1, m.param2, m.param3]),
            _ => return self.wire.how,
        };
        self.last_command = command;
        match command {
            MavCmd::MAV_CMD_COMPONENT_ARM_DISARM => self.tally.arms += 1,
            MavCmd::MAV_CMD_NAV_TAKEOFF => self.tally.takeoffs += 1,
            MavCmd::MAV_CMD_NAV_LAND | MavCmd::MAV_CMD_NAV_RETURN_TO_LAUNCH => self.tally.descents += 1,
            _ => {}
        }
        if self.wire.arrives
            && let Some(answer) = self.vehicle.obey(command, params, self.now)
            && self.wire.answers
        {
            self.receive((SYSTEM, 1), answer, 0);
        }
        self.wire.how
    }

    fn judge_report(&mut self) {
        let report = self.pilot.report(at(self.now));
        let may_exit = self.pilot.may_exit(at(self.now));
        self.oracle.judge_report(&report, may_exit, self.now);
    }
}
