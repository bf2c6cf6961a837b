//! The pilot against the simulated PX4: it fetches the autopilot's descriptions of its events, and holds up nothing by it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

mod life;

use agent::metadata::MetadataCache;
use agent::outgoing::{Outgoing, Written};
use agent::pilot::Pilot;
use agent::state_file::State;
use fleet::assignment::{Assignment, Desired, Failsafe, GroundedWhy, Order};
use fleet::ids::{DroneName, DroneUid, NodeName, Term};
use fleet::time::Moment;
use fleet::units::AltitudeAboveHome;
use fleet::vehicle::FlightTruth;
use link::dialect::{MavCmd, MavMessage};
use link::{Frame, LinkEvent};
use mavlink::{MAVLinkV2MessageRaw, MavHeader, MavlinkVersion, Message};
use sitl::model::{Autopilot, Fault, Vehicle, VehicleConfig, Wgs84};
use sitl::wire::{FrameReader, Incoming, Sender};
use std::path::Path;
use std::time::Duration;

const STEP_MS: u64 = 20;
const HOME: Wgs84 = Wgs84 {
    lat_deg: 47.397_742,
    lon_deg: 8.545_594,
    amsl_m: 488.0,
};
const FLY: Desired = Desired::Flying {
    altitude: AltitudeAboveHome(10.0),
};

/// Pilot and vehicle, on a line that may lose one frame in `loses`.
struct World {
    pilot: Pilot,
    vehicle: Vehicle,
    sender: Sender,
    ms: u64,
    loses: Option<u64>,
    /// The next event with this number is lost.
    loses_event: Option<u32>,
    /// Answers to commands are lost.
    loses_acks: bool,
    frames: u64,
    /// What the pilot wrote, and when.
    wrote: Vec<(u64, MavMessage)>,
    dir: tempfile::TempDir,
}

fn pilot(dir: Option<&Path>) -> Pilot {
    let pilot = Pilot::new(NodeName::parse("pine").unwrap(), State::default(), Moment::default());
    match dir {
        Some(dir) => pilot.keeping_descriptions(MetadataCache::in_state(dir)),
        None => pilot,
    }
}

impl World {
    fn with(autopilot: Autopilot) -> Self {
        Self::of(VehicleConfig::new(autopilot, 7, HOME))
    }

    fn of(config: VehicleConfig) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut world = Self {
            pilot: pilot(Some(dir.path())),
            vehicle: Vehicle::new(config),
            sender: Sender::new(7, 1),
            ms: 0,
            loses: None,
            loses_event: None,
            loses_acks: false,
            frames: 0,
            wrote: Vec::new(),
            dir,
        };
        world.pilot.receive(&LinkEvent::Up, world.now(), 0.5);
        world
    }

    fn now(&self) -> Moment {
        Moment::at(Duration::from_millis(self.ms))
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
            let event = if let MavMessage::EVENT(m) = &message {
                Some(m.id)
            } else {
                None
            };
            if event.is_some() && self.loses_event.take_if(|id| Some(*id) == event).is_some() {
                continue;
            }
            if self.loses_acks && matches!(message, MavMessage::COMMAND_ACK(_)) {
                continue;
            }
            let frame = Frame {
                header: header(frame.system, frame.component),
                message,
                at: tokio::time::Instant::now(),
            };
            self.pilot.receive(&LinkEvent::Frame(Box::new(frame)), self.now(), 0.5);
        }
    }

    fn write(&mut self, out: Outgoing) {
        self.pilot.written(Written::Yes, self.now(), 0.5);
        let mut raw = MAVLinkV2MessageRaw::new();
        raw.serialize_message(header(out.from.system.0, out.from.component.0), &out.message);
        self.wrote.push((self.ms, out.message));
        if self.lost() {
            return;
        }
        let mut reader = FrameReader::default();
        reader.push(raw.raw_bytes());
        while let Some(frame) = reader.next_frame() {
            let said = self.vehicle.on_message(&Incoming::decode(&frame));
            self.arrives(said);
        }
    }

    /// Lets 20 ms pass: first the vehicle speaks, then the pilot writes.
    fn step(&mut self) {
        self.ms += STEP_MS;
        let said = self.vehicle.step(Duration::from_millis(STEP_MS));
        self.arrives(said);
        if let Some(job) = self.pilot.take_job() {
            let done = job.run();
            self.pilot.job_done(Some(done), self.now(), 0.5);
        }
        while let Some(out) = self.pilot.next(self.now(), 0.5) {
            self.write(out);
        }
    }

    fn pass(&mut self, seconds: u64) {
        for _ in 0..seconds * 1000 / STEP_MS {
            self.step();
        }
    }

    /// Lets time pass until `holds`; how long that took, in milliseconds.
    fn until(&mut self, what: &str, seconds: u64, holds: impl Fn(&Self) -> bool) -> u64 {
        let began = self.ms;
        while !holds(self) {
            assert!(self.ms - began < seconds * 1000, "not within {seconds} s: {what}");
            self.step();
        }
        self.ms - began
    }

    fn until_described(&mut self) -> u64 {
        self.until("the descriptions are in the cache", 120, |w| w.kept() == 2)
    }

    /// Files in the cache.
    fn kept(&self) -> usize {
        std::fs::read_dir(self.dir.path().join("metadata")).map_or(0, Iterator::count)
    }

    fn assign(&mut self, generation: i64, desired: Desired) {
        self.pilot.uplink_opened(self.now());
        let fence = self.pilot.consider(&order(generation, desired), self.now()).unwrap();
        self.pilot.adopt(fence, self.now());
    }

    fn truth(&self) -> FlightTruth {
        self.pilot.report(self.now()).truth
    }

    fn reasons(&self) -> Vec<String> {
        self.pilot
            .report(self.now())
            .reasons
            .into_iter()
            .map(|r| r.text)
            .collect()
    }

    fn packets(&self) -> impl Iterator<Item = u64> {
        self.wrote
            .iter()
            .filter(|(_, message)| is_packet(message))
            .map(|(ms, _)| *ms)
    }

    fn commanded(&self, wanted: MavCmd) -> Option<u64> {
        let is = |message: &MavMessage| match message {
            MavMessage::COMMAND_LONG(m) => m.command == wanted,
            MavMessage::COMMAND_INT(m) => m.command == wanted,
            _ => false,
        };
        self.wrote.iter().find(|(_, message)| is(message)).map(|(ms, _)| *ms)
    }
}

/// The assignment for this node's Drone.
fn order(generation: i64, desired: Desired) -> Order {
    Order::Assigned(Assignment {
        term: Term(3),
        uid: DroneUid("u-1".into()),
        name: DroneName {
            namespace: "field".into(),
            name: "alpha-brave-finch".into(),
        },
        generation,
        desired,
        failsafe: Failsafe::default(),
        resume_after: 0,
        ground_mark: None,
        reported_flight: fleet::flight_record::ReportedFlight::default(),
        routed: false,
        manner: fleet::station::Manner::default(),
        void: fleet::airspace::OrderNumber::default(),
        rules: None,
        route: None,
    })
}

fn header(system: u8, component: u8) -> MavHeader {
    MavHeader {
        system_id: system.into(),
        component_id: component,
        sequence: 0,
    }
}

const fn is_packet(message: &MavMessage) -> bool {
    matches!(message, MavMessage::FILE_TRANSFER_PROTOCOL(_))
}

const ARM: MavCmd = MavCmd::MAV_CMD_COMPONENT_ARM_DISARM;
const LAND: MavCmd = MavCmd::MAV_CMD_NAV_LAND;

#[test]
fn px4s_descriptions_are_fetched_on_the_ground_and_found_in_the_cache_by_the_next_life() {
    let mut world = World::with(Autopilot::Px4);
    let took = world.until_described();
    assert!(took < 30_000, "{took} ms");
    world.pass(1);
    let before = world.packets().count();
    // Another life of the agent, with the same state directory.
    world.pilot = pilot(Some(world.dir.path()));
    world.pilot.receive(&LinkEvent::Up, world.now(), 0.5);
    world.pass(60);
    assert_eq!(world.packets().count(), before);
}

#[test]
fn a_reason_that_is_not_built_in_is_told_in_the_autopilots_words() {
    for described in [false, true] {
        let mut world = World::with(Autopilot::Px4);
        if described {
            world.until_described();
        } else {
            world.pilot = pilot(None);
            world.pilot.receive(&LinkEvent::Up, world.now(), 0.5);
        }
        world.pass(20);
        world.vehicle.suffer(Fault::MotorStops);
        world.assign(1, FLY);
        world.pass(30);
        let reasons = world.reasons();
        let told = reasons.iter().any(|r| r == "A motor has failed");
        assert_eq!(told, described, "{reasons:?}");
        assert!(!reasons.is_empty());
    }
}

#[test]
fn nothing_of_it_is_asked_of_ardupilot() {
    let mut world = World::with(Autopilot::ArduPilot);
    world.pass(60);
    assert_eq!((world.packets().count(), world.kept()), (0, 0));
    let asked = |message: &MavMessage| {
        matches!(message, MavMessage::COMMAND_LONG(m)
            if m.command == MavCmd::MAV_CMD_REQUEST_MESSAGE && [395.0, 397.0].contains(&m.param1))
    };
    assert!(!world.wrote.iter().any(|(_, message)| asked(message)));
}

/// When the vehicle was armed and in the air, in milliseconds after the order, which comes `after` so many packets of the
/// download; and the world as it is then.
fn take_off(world: &mut World, packets: usize) -> (u64, u64) {
    world.until("ready to fly", 90, |w| w.pilot.report(w.now()).ready == Some(true));
    world.until("so many packets", 90, |w| w.packets().count() >= packets);
    let assigned_at = world.ms;
    world.assign(1, FLY);
    world.until("in the air", 60, |w| matches!(w.truth(), FlightTruth::Airborne(_)));
    (world.commanded(ARM).unwrap() - assigned_at, world.ms - assigned_at)
}

/// A world in which the vehicle is ready before the download begins, and the download is not over yet.
fn downloading() -> World {
    let mut world = World::with(Autopilot::Px4);
    world.pilot = pilot(None);
    world.pilot.receive(&LinkEvent::Up, world.now(), 0.5);
    world.pass(40);
    world.pilot = pilot(Some(world.dir.path()));
    world.pilot.receive(&LinkEvent::Up, world.now(), 0.5);
    world
}

#[test]
fn an_order_to_fly_during_the_download_is_carried_out_as_fast_as_without_it() {
    let mut plain = World::with(Autopilot::Px4);
    plain.pilot = pilot(None);
    plain.pilot.receive(&LinkEvent::Up, plain.now(), 0.5);
    plain.pass(40);
    plain.pilot = pilot(None);
    plain.pilot.receive(&LinkEvent::Up, plain.now(), 0.5);
    let (arm, air) = take_off(&mut plain, 0);
    let mut world = downloading();
    let (arm_during, air_during) = take_off(&mut world, 5);
    assert!(world.kept() < 2, "the download was under way");
    assert!(arm_during <= arm + 2 * STEP_MS && air_during <= air + 500);
    // Nothing of it is sent in the air, and it goes on after the landing.
    let armed = world.commanded(ARM).unwrap();
    assert!(!world.packets().any(|ms| ms > armed));
    world.assign(
        2,
        Desired::Grounded {
            why: GroundedWhy::Deleted,
        },
    );
    world.until("on the ground", 90, |w| w.truth() == FlightTruth::Disarmed);
    assert!(world.commanded(LAND).is_some());
    world.until_described();
}

#[test]
fn while_a_step_is_on_its_way_nothing_of_the_download_is_sent() {
    let mut config = VehicleConfig::new(Autopilot::Px4, 7, HOME);
    config.never_ready = true;
    let mut world = World::of(config);
    world.until("it has begun", 90, |w| w.packets().count() >= 10);
    world.loses_acks = true;
    world.assign(1, FLY);
    world.step();
    let asked = world.commanded(MavCmd::MAV_CMD_RUN_PREARM_CHECKS).unwrap();
    world.pass(1);
    assert!(world.packets().any(|ms| ms < asked));
    // Its answer is awaited for a second, and then it is repeated.
    assert!(!world.packets().any(|ms| (asked..asked + 980).contains(&ms)));
    world.until_described();
}

#[test]
fn an_event_that_was_lost_is_asked_for_and_its_reason_told() {
    let missed = 22_720_449; // check_mag_sys_has_mag_missing
    for loses_event in [None, Some(missed)] {
        let mut config = VehicleConfig::new(Autopilot::Px4, 7, HOME);
        config.never_ready = true;
        let mut world = World::of(config);
        world.pass(20);
        world.assign(1, FLY);
        world.loses_event = loses_event;
        world.pass(20);
        assert!(world.loses_event.is_none(), "it was sent");
        let told = |r: &String| r.starts_with("Found 1 compass (required: 2)");
        assert!(world.reasons().iter().any(told), "{:?}", world.reasons());
        let asked = |(_, message): &&(u64, MavMessage)| matches!(message, MavMessage::REQUEST_EVENT(_));
        assert_eq!(
            world.wrote.iter().filter(asked).count(),
            usize::from(loses_event.is_some())
        );
    }
}

#[test]
fn a_line_that_loses_one_frame_in_ten_brings_the_descriptions_in_the_end() {
    let mut world = World::with(Autopilot::Px4);
    world.loses = Some(10);
    world.until("the descriptions are there", 600, |w| w.kept() == 2);
}

#[test]
fn a_reboot_during_the_download_only_delays_it() {
    let mut world = downloading();
    world.until("it has begun", 90, |w| w.packets().count() >= 10);
    assert!(world.kept() < 2);
    world.vehicle.power_cycle();
    world.until_described();
}
