//! The pilot against simulated autopilots: rules on board, and their effect on arming. Must not: test the protocol step
//! by step, as `agent/src/rules/tests.rs` does.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

mod versions;

use agent::pilot::Pilot;
use agent::state_file::State;
use agent_testkit::line::{HOME, Line};
use agent_testkit::orders::assignment;
use link::dialect::{MavCmd, MavMessage};
use model::assignment::{Assignment, Desired, Failsafe, GroundedWhy, Order, Preflight};
use model::geo::shifted;
use model::ids::{NodeName, Term};
use model::rules::{
    Enforce, Fence, FenceState, Outline, Rules, RulesDigest, RulesReport, Shape, Side, WantedParameter,
};
use model::time::Moment;
use model::units::{AltitudeAboveHome, SystemId, Wgs84};
use model::vehicle::FlightTruth;
use sitl::model::{Autopilot, VehicleConfig};

/// `navigator_geofence_invalid_against_home`.
const WITHOUT_HOME: u32 = 27_750_677;

fn line(autopilot: Autopilot) -> Line {
    let failsafes: &[(&str, f32)] = match autopilot {
        Autopilot::ArduPilot => &[("FS_GCS_ENABLE", 1.0), ("BATT_FS_LOW_ACT", 2.0)],
        Autopilot::Px4 => &[("NAV_DLL_ACT", 2.0), ("COM_LOW_BAT_ACT", 3.0)],
    };
    let config = VehicleConfig {
        parameters: failsafes
            .iter()
            .map(|(name, value)| ((*name).to_owned(), *value))
            .collect(),
        ..VehicleConfig::new(autopilot, 7, HOME)
    };
    Line::new(pilot(State::default(), Moment::default()), config)
}

/// PX4 does not arm without a ground station that its failsafe waits for.
fn pilot(state: State, now: Moment) -> Pilot {
    Pilot::new(NodeName::parse("pine").unwrap(), state, now).as_ground_station(Some(SystemId(255)))
}

fn square(north_m: f64) -> Shape {
    let home = Wgs84 {
        latitude_deg: HOME.lat_deg,
        longitude_deg: HOME.lon_deg,
    };
    let corners = [(60.0, 60.0), (60.0, -60.0), (-60.0, -60.0), (-60.0, 60.0)];
    Shape {
        side: Side::Inside,
        outline: Outline::Polygon(
            corners
                .map(|(north, east)| shifted(home, east, north + north_m))
                .to_vec(),
        ),
    }
}

fn rules(digest: &str, fence: Option<Shape>, parameters: &[(&str, f64)]) -> Rules {
    let wanted = |(name, value): &(&str, f64)| WantedParameter {
        name: (*name).to_owned(),
        value: *value,
        enforce: Enforce::Apply,
        may_reboot: true,
        any_name: false,
    };
    Rules {
        term: Term(3),
        digest: RulesDigest(digest.to_owned()),
        fence: fence.map(|shape| Fence { shapes: vec![shape] }),
        parameters: parameters.iter().map(wanted).collect(),
    }
}

fn report(line: &Line) -> RulesReport {
    line.pilot.report(line.now()).rules
}

fn order(generation: i64, desired: Desired, digest: &str) -> Order {
    Order::Assigned(Assignment {
        failsafe: Failsafe {
            preflight: Preflight::Refuse,
            ..Failsafe::default()
        },
        rules: Some(RulesDigest(digest.to_owned())),
        ..assignment(generation, desired)
    })
}

const FLY: Desired = Desired::Flying {
    altitude: AltitudeAboveHome(10.0),
};

fn changes(line: &Line) -> usize {
    let changes = |message: &MavMessage| {
        matches!(
            message,
            MavMessage::MISSION_COUNT(_) | MavMessage::MISSION_CLEAR_ALL(_) | MavMessage::PARAM_SET(_)
        )
    };
    line.wrote.iter().filter(|(_, message)| changes(message)).count()
}

fn is_up(line: &Line) -> bool {
    matches!(line.truth(), FlightTruth::Airborne(_))
}

#[test]
fn nothing_is_armed_before_its_rules_are_in_force_and_nothing_is_changed_in_the_air() {
    for autopilot in [Autopilot::ArduPilot, Autopilot::Px4] {
        let height = match autopilot {
            Autopilot::ArduPilot => "FENCE_ALT_MAX",
            Autopilot::Px4 => "GF_MAX_VER_DIST",
        };
        let mut line = line(autopilot);
        line.pass(60);
        assert_eq!(changes(&line), 0, "no rules: nothing is changed");
        line.order(&order(1, FLY, "a"));
        line.pass(60);
        assert!(!line.vehicle.truth().armed, "{autopilot:?}: its rules have not come");
        line.pilot.take_rules(rules("a", Some(square(0.0)), &[(height, 50.0)]));
        line.until("in force", 30, |line| report(line).in_force);

        // A restarted agent knows them, but takes nothing for in force before it has read it back.
        let state = line.pilot.state().clone();
        line.replace(pilot(state, line.now()));
        assert!(!report(&line).in_force);
        let before = changes(&line);
        line.order(&order(1, FLY, "a"));
        line.until("in the air", 60, is_up);
        assert!(report(&line).in_force, "{autopilot:?}: {:?}", report(&line));
        assert_eq!(changes(&line), before, "{autopilot:?}: it was only read");

        let sent = changes(&line);
        line.pilot.take_rules(rules("b", Some(square(5.0)), &[(height, 40.0)]));
        line.pass(20);
        assert_eq!(changes(&line), sent, "{autopilot:?}: not in the air");
        assert_eq!(report(&line).fence, FenceState::WaitsForGround);
        let ordered = GroundedWhy::Ordered;
        line.order(&order(2, Desired::Grounded { why: ordered }, "b"));
        line.until("in force after the landing", 120, |line| report(line).in_force);
        assert!(!line.vehicle.truth().armed);
        line.pilot.take_rules(rules("none", None, &[]));
        line.until("given back", 30, |line| report(line).in_force);
        let sent = changes(&line);
        line.pass(60);
        assert_eq!(changes(&line), sent);
    }
}

#[test]
fn a_change_that_was_held_up_on_its_way_to_the_wire_is_not_written_but_decided_anew() {
    for autopilot in [Autopilot::ArduPilot, Autopilot::Px4] {
        let mut line = line(autopilot);
        line.pass(60);
        line.freezes = Some(3000);
        line.pilot.take_rules(rules("a", Some(square(0.0)), &[]));
        line.until("the stop", 30, |line| line.held_back > 0);
        assert_eq!(changes(&line), 0, "{autopilot:?}: it was decided three seconds ago");
        line.until("in force", 60, |line| report(line).in_force);
        assert_eq!(line.held_back, 1);
    }
}

#[test]
fn after_its_process_was_stopped_the_agent_changes_nothing_before_fresh_telemetry() {
    for autopilot in [Autopilot::ArduPilot, Autopilot::Px4] {
        let mut line = line(autopilot);
        line.pass(60);
        line.pilot.take_rules(rules("a", Some(square(0.0)), &[]));
        line.until("the upload", 30, |line| changes(line) > 0);
        line.ms += 1100;
        line.step();
        let items = |line: &Line| {
            line.wrote
                .iter()
                .filter(|(_, m)| matches!(m, MavMessage::MISSION_ITEM_INT(_)))
                .count()
        };
        let sent = (changes(&line), items(&line));
        line.pass(4);
        assert_eq!(
            (changes(&line), items(&line)),
            sent,
            "{autopilot:?}: the line may be behind"
        );
        line.until("in force", 60, |line| report(line).in_force);
    }
}

#[test]
fn a_fence_that_px4_leaves_out_is_not_in_force_though_the_event_is_lost_on_the_way() {
    let mut line = line(Autopilot::Px4);
    line.pass(20);
    line.loses_event = Some(WITHOUT_HOME);
    line.pilot.take_rules(rules("a", Some(square(1000.0)), &[]));
    let refused = |line: &Line| match report(line).fence {
        FenceState::InForce => panic_in_force(),
        FenceState::Refused(words) => words.contains("doesn't contain Home position"),
        _ => false,
    };
    line.until("the discard to be named", 60, refused);
    assert_eq!(line.loses_event, None, "the event was lost once");
}

fn panic_in_force() -> bool {
    unreachable!("the fence is reported in force, and it was left out")
}

#[test]
fn a_parameter_that_counts_after_a_reboot_brings_one_if_asked_and_no_drone_flies() {
    let mut line = line(Autopilot::ArduPilot);
    line.pass(60);
    line.pilot.take_rules(rules("a", None, &[("BATT_MONITOR", 3.0)]));
    line.pass(30);
    assert_eq!(
        line.vehicle.reboots(),
        0,
        "no coordinator has said that no Drone is bound"
    );
    line.order(&Order::unassigned(Term(3)));
    line.until("in force", 60, |line| report(line).in_force);
    assert_eq!(line.vehicle.reboots(), 1);
    let reboot = |message: &MavMessage| matches!(message, MavMessage::COMMAND_LONG(m) if m.command == MavCmd::MAV_CMD_PREFLIGHT_REBOOT_SHUTDOWN);
    assert_eq!(line.wrote.iter().filter(|(_, message)| reboot(message)).count(), 1);
    line.pass(120);
    assert_eq!(line.vehicle.reboots(), 1, "once");
}
