//! Versions of autopilots with different names and units for one parameter.

use super::{FLY, HOME, Line, is_up, pilot, report, rules};
use agent::state_file::State;
use agent_testkit::orders::assignment;
use link::dialect::MavMessage;
use model::assignment::{Assignment, Failsafe, Order, Preflight};
use model::rules::{DeviationWhy, Rules};
use model::time::Moment;
use model::units::AltitudeAboveHome;
use sitl::model::{Autopilot, Firmware, VehicleConfig};

fn line(autopilot: Autopilot, firmware: Firmware, parameters: &[(&str, f32)], missing: &[&str]) -> Line {
    let failsafes = [
        ("FS_GCS_ENABLE", 1.0),
        ("BATT_FS_LOW_ACT", 2.0),
        ("NAV_DLL_ACT", 2.0),
        ("COM_LOW_BAT_ACT", 3.0),
    ];
    let parameters = failsafes.iter().chain(parameters);
    let config = VehicleConfig {
        firmware,
        parameters: parameters.map(|(name, value)| ((*name).to_owned(), *value)).collect(),
        missing_parameters: missing.iter().map(|name| (*name).to_owned()).collect(),
        ..VehicleConfig::new(autopilot, 7, HOME)
    };
    Line::new(pilot(State::default(), Moment::default()), config)
}

fn order() -> Order {
    Order::Assigned(Assignment {
        failsafe: Failsafe {
            preflight: Preflight::Refuse,
            ..Failsafe::default()
        },
        ..assignment(1, FLY)
    })
}

fn requests(line: &Line, of: &str) -> usize {
    let asked = |message: &MavMessage| match message {
        MavMessage::PARAM_REQUEST_READ(m) => m.param_id.to_str() == Ok(of),
        _ => false,
    };
    line.wrote.iter().filter(|(_, message)| asked(message)).count()
}

fn return_altitude(line: &Line) -> Option<AltitudeAboveHome> {
    line.pilot.report(line.now()).return_height
}

fn warnings(line: &Line) -> Vec<String> {
    line.pilot.report(line.now()).warnings
}

#[test]
fn the_return_altitude_is_read_in_meters_from_each_version() {
    for (autopilot, firmware, name, stored) in [
        (Autopilot::ArduPilot, Firmware::Recorded, "RTL_ALT", 10_000.0),
        (Autopilot::ArduPilot, Firmware::Copter46, "RTL_ALT", 10_000.0),
        (Autopilot::ArduPilot, Firmware::Copter48, "RTL_ALT_M", 100.0),
        (Autopilot::Px4, Firmware::Recorded, "RTL_RETURN_ALT", 100.0),
        (Autopilot::Px4, Firmware::Px4V118, "RTL_RETURN_ALT", 100.0),
    ] {
        let mut line = line(autopilot, firmware, &[(name, stored)], &[]);
        // Without a Drone, too: it limits where the vehicle may be.
        line.pass(20);
        assert_eq!(return_altitude(&line), Some(AltitudeAboveHome(100.0)), "{firmware:?}");
        line.order(&order());
        if firmware == Firmware::Px4V118 {
            line.pass(60);
            let corners = warnings(&line);
            assert!(
                corners.len() == 1 && corners[0].starts_with("NAV_ACC_RAD is 10 m"),
                "{corners:?}"
            );
            assert!(!is_up(&line));
            continue;
        }
        line.until("in the air", 90, is_up);
        assert_eq!(warnings(&line), [""; 0], "{firmware:?}");
    }
}

#[test]
fn a_version_without_a_return_altitude_is_not_given_one_and_is_not_asked_for_ever() {
    let mut line = line(Autopilot::ArduPilot, Firmware::Copter48, &[], &["RTL_ALT_M"]);
    line.order(&order());
    line.pass(90);
    assert_eq!(return_altitude(&line), None);
    let warnings = warnings(&line);
    assert!(
        warnings.len() == 1 && warnings[0].contains("RTL_ALT_M or RTL_ALT could not be read"),
        "{warnings:?}"
    );
    assert!(!line.vehicle.truth().armed, "its Drone wants it known");
    let asked = ["RTL_ALT_M", "RTL_ALT"].map(|name| requests(&line, name));
    line.pass(900);
    assert_eq!(
        asked,
        ["RTL_ALT_M", "RTL_ALT"].map(|name| requests(&line, name)),
        "it has said that it has none"
    );
    assert!(asked.iter().all(|count| *count <= 2), "{asked:?}");
}

fn by_meaning(digest: &str, name: &str, value: f64) -> Rules {
    let mut rules = rules(digest, None, &[(name, value)]);
    rules.parameters[0].any_name = true;
    rules
}

#[test]
fn a_value_by_meaning_is_set_by_name_and_unit_of_each_version_and_given_back() {
    for (autopilot, firmware, newest, name, set) in [
        (Autopilot::ArduPilot, Firmware::Copter46, "RTL_ALT_M", "RTL_ALT", 3550.0),
        (Autopilot::ArduPilot, Firmware::Recorded, "RTL_ALT_M", "RTL_ALT", 3550.0),
        (Autopilot::ArduPilot, Firmware::Copter48, "RTL_ALT_M", "RTL_ALT_M", 35.5),
        (
            Autopilot::Px4,
            Firmware::Px4V116,
            "RTL_RETURN_ALT",
            "RTL_RETURN_ALT",
            35.5,
        ),
        (
            Autopilot::Px4,
            Firmware::Recorded,
            "RTL_RETURN_ALT",
            "RTL_RETURN_ALT",
            35.5,
        ),
        (
            Autopilot::Px4,
            Firmware::Px4V118,
            "RTL_RETURN_ALT",
            "RTL_RETURN_ALT",
            35.5,
        ),
    ] {
        let mut line = line(autopilot, firmware, &[], &[]);
        let before = line.vehicle.parameter(name).unwrap();
        line.pass(10);
        line.pilot.take_rules(by_meaning("a", newest, 35.5));
        line.until("in force", 20, |line| report(line).in_force);
        assert_eq!(line.vehicle.parameter(name), Some(set), "{firmware:?}");
        // A restarted agent finds it, and restores what was there before.
        let state = line.pilot.state().clone();
        line.replace(pilot(state, line.now()));
        line.until("in force again", 20, |line| report(line).in_force);
        line.pilot.take_rules(rules("b", None, &[]));
        line.until("given back", 20, |line| line.vehicle.parameter(name) == Some(before));
        line.until("nothing is wanted", 20, |line| report(line).in_force);
    }
}

#[test]
fn a_value_by_meaning_that_differs_is_reported_in_the_unit_of_the_rules() {
    let mut line = line(Autopilot::ArduPilot, Firmware::Copter46, &[], &[]);
    line.pass(10);
    let mut wanted = by_meaning("a", "RTL_ALT_M", 35.5);
    wanted.parameters[0].enforce = model::rules::Enforce::Report;
    line.pilot.take_rules(wanted);
    line.until("read", 20, |line| {
        report(line)
            .deviations
            .iter()
            .any(|one| one.why == DeviationWhy::ReportOnly)
    });
    let deviation = report(&line).deviations[0].clone();
    assert_eq!(
        (deviation.name.as_str(), deviation.wanted, deviation.actual),
        ("RTL_ALT_M", 35.5, Some(15.0))
    );
}

#[test]
fn a_name_of_another_version_is_refused_with_the_name_and_unit_that_others_have() {
    let mut line = line(Autopilot::ArduPilot, Firmware::Copter48, &[], &[]);
    line.pass(10);
    line.pilot.take_rules(rules("a", None, &[("RTL_ALT", 3000.0)]));
    let refusal = |line: &Line| {
        report(line).deviations.iter().find_map(|one| match &one.why {
            DeviationWhy::Missing(why) => Some(why.clone()),
            _ => None,
        })
    };
    let took = line.until("refused", 20, |line| refusal(line).is_some());
    assert!(took <= 2000, "{took} ms: it has said so");
    let words = refusal(&line).unwrap();
    assert!(
        words.contains("no parameter RTL_ALT; ArduCopter from 4.7 has it as RTL_ALT_M (m); correct the name"),
        "{words}"
    );
    let asked = requests(&line, "RTL_ALT");
    line.pass(600);
    assert!(requests(&line, "RTL_ALT") <= asked + 1, "it is not asked for ever");
}
