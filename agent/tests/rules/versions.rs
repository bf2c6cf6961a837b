//! The pilot against versions of autopilots that have one parameter under different names and units.
//!
//! Owns: what is read before a flight, and reported. Must not: change a parameter.

use super::{FLY, HOME, Line, order, pilot};
use agent::state_file::State;
use link::dialect::MavMessage;
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
        // Without a Drone, too: it says where the vehicle may be.
        line.pass(20);
        assert_eq!(return_altitude(&line), Some(AltitudeAboveHome(100.0)), "{firmware:?}");
        line.order(&order(1, FLY, "a"));
        line.pass(20);
        assert_eq!(return_altitude(&line), Some(AltitudeAboveHome(100.0)), "{firmware:?}");
        let corners = warnings(&line);
        let expected = usize::from(firmware == Firmware::Px4V118);
        assert_eq!(corners.len(), expected, "{firmware:?}: {corners:?}");
        assert!(corners.iter().all(|line| line.starts_with("NAV_ACC_RAD is 10 m")));
    }
}

#[test]
fn a_version_without_a_return_altitude_is_not_given_one_and_is_not_asked_for_ever() {
    let mut line = line(Autopilot::ArduPilot, Firmware::Copter48, &[], &["RTL_ALT_M"]);
    line.order(&order(1, FLY, "a"));
    line.pass(30);
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
