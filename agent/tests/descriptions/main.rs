//! The pilot fetches a simulated PX4's descriptions of its events, and holds up nothing by it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

mod life;

use agent::metadata::MetadataCache;
use agent::pilot::Pilot;
use agent::state_file::State;
use agent_testkit::line::{HOME, Line, STEP_MS};
use agent_testkit::orders::assignment;
use link::dialect::{MavCmd, MavMessage};
use model::assignment::{Desired, GroundedWhy, Order};
use model::ids::NodeName;
use model::time::Moment;
use model::units::AltitudeAboveHome;
use model::vehicle::FlightTruth;
use sitl::model::{Autopilot, Fault, VehicleConfig};
use std::ops::{Deref, DerefMut};
use std::path::Path;

const FLY: Desired = Desired::Flying {
    altitude: AltitudeAboveHome(10.0),
};

struct World {
    line: Line,
    dir: tempfile::TempDir,
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
        let line = Line::new(pilot(Some(dir.path())), config);
        Self { line, dir }
    }

    fn without_descriptions(&mut self) {
        self.replace(pilot(None));
    }

    fn another_life(&mut self) {
        let again = pilot(Some(self.dir.path()));
        self.replace(again);
    }

    fn until_described(&mut self) -> u64 {
        self.until_kept(120)
    }

    fn until_kept(&mut self, seconds: u64) -> u64 {
        let cache = self.cache();
        self.until("the descriptions are in the cache", seconds, |_| files(&cache) == 2)
    }

    fn cache(&self) -> std::path::PathBuf {
        self.dir.path().join("metadata")
    }

    fn kept(&self) -> usize {
        files(&self.cache())
    }

    fn assign(&mut self, generation: i64, desired: Desired) {
        self.order(&order(generation, desired));
    }

    fn reasons(&self) -> Vec<String> {
        let reasons = self.pilot.report(self.now()).reasons;
        reasons.into_iter().map(|r| r.text).collect()
    }
}

fn files(folder: &Path) -> usize {
    std::fs::read_dir(folder).map_or(0, Iterator::count)
}

trait Download {
    fn packets(&self) -> impl Iterator<Item = u64>;
    fn commanded(&self, wanted: MavCmd) -> Option<u64>;
}

impl Download for Line {
    fn packets(&self) -> impl Iterator<Item = u64> {
        let packets = self.wrote.iter().filter(|(_, message)| is_packet(message));
        packets.map(|(ms, _)| *ms)
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

fn order(generation: i64, desired: Desired) -> Order {
    Order::Assigned(assignment(generation, desired))
}

const fn is_packet(message: &MavMessage) -> bool {
    matches!(message, MavMessage::FILE_TRANSFER_PROTOCOL(_))
}

const ARM: MavCmd = MavCmd::MAV_CMD_COMPONENT_ARM_DISARM;
const LAND: MavCmd = MavCmd::MAV_CMD_NAV_LAND;

#[test]
fn px4s_descriptions_are_fetched_on_the_ground_and_cached_for_the_next_life() {
    let mut world = World::with(Autopilot::Px4);
    let took = world.until_described();
    assert!(took < 30_000, "{took} ms");
    world.pass(1);
    let before = world.packets().count();
    world.another_life();
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
            world.without_descriptions();
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

/// Milliseconds from the order, given after that many packets of the download, to armed and to airborne.
fn take_off(world: &mut World, packets: usize) -> (u64, u64) {
    world.until("ready to fly", 90, |w| w.pilot.report(w.now()).ready == Some(true));
    world.until("so many packets", 90, |w| w.packets().count() >= packets);
    let assigned_at = world.ms;
    world.assign(1, FLY);
    world.until("in the air", 60, |w| matches!(w.truth(), FlightTruth::Airborne(_)));
    (world.commanded(ARM).unwrap() - assigned_at, world.ms - assigned_at)
}

/// The vehicle is ready before the download begins, and the download is not over.
fn downloading() -> World {
    let mut world = World::with(Autopilot::Px4);
    world.without_descriptions();
    world.pass(40);
    world.another_life();
    world
}

#[test]
fn an_order_to_fly_during_the_download_is_carried_out_as_fast_as_without_it() {
    let mut plain = World::with(Autopilot::Px4);
    plain.without_descriptions();
    plain.pass(40);
    plain.without_descriptions();
    let (arm, air) = take_off(&mut plain, 0);
    let mut world = downloading();
    let (arm_during, air_during) = take_off(&mut world, 5);
    assert!(world.kept() < 2, "the download was under way");
    assert!(arm_during <= arm + 2 * STEP_MS && air_during <= air + 500);
    // Nothing is downloaded in the air; the download goes on after the landing.
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
    world.until_kept(600);
}

#[test]
fn a_reboot_during_the_download_only_delays_it() {
    let mut world = downloading();
    world.until("it has begun", 90, |w| w.packets().count() >= 10);
    assert!(world.kept() < 2);
    world.vehicle.power_cycle();
    world.until_described();
}
