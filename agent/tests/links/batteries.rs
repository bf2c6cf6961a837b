//! Vehicles with batteries of which some drive no motors, or one falls silent.

use agent::pilot::Pilot;
use agent::state_file::State;
use agent_testkit::line::{HOME, Line};
use agent_testkit::orders::assignment;
use link::dialect::MavBatteryFunction as Function;
use model::assignment::{Desired, Order};
use model::ids::NodeName;
use model::report::{Activity, Report};
use model::time::Moment;
use model::units::{AltitudeAboveHome, Percent};
use sitl::model::{Autopilot, OtherBattery, VehicleConfig};

const BOTH: [Autopilot; 2] = [Autopilot::ArduPilot, Autopilot::Px4];

fn second(function: Function, percent: i8) -> OtherBattery {
    OtherBattery {
        id: 1,
        function,
        percent,
        volts: 11.1,
    }
}

fn line(autopilot: Autopilot, motors: &str, other: OtherBattery) -> Line {
    let pilot = Pilot::new(NodeName::parse("pine").unwrap(), State::default(), Moment::default());
    let mut config = VehicleConfig::new(autopilot, 7, HOME);
    config.battery_percent_per_minute = 0.0;
    config.other_batteries = vec![other];
    let mut line = Line::new(pilot.driven_by(motors.parse().unwrap()), config);
    line.pass(60);
    let altitude = AltitudeAboveHome(20.0);
    line.order(&Order::Assigned(assignment(1, Desired::Flying { altitude })));
    line
}

fn report(line: &Line) -> Report {
    line.pilot.report(line.now())
}

fn left(line: &Line) -> Option<u8> {
    report(line).battery?.remaining.map(Percent::get)
}

fn holds(line: &Line) -> bool {
    report(line).activity == Activity::Holding
}

#[test]
fn a_payload_battery_at_5_percent_keeps_no_vehicle_down_and_brings_none_down() {
    let payload = second(Function::MAV_BATTERY_FUNCTION_PAYLOAD, 5);
    for autopilot in BOTH {
        let mut line = line(autopilot, "", payload);
        line.until("holding", 120, holds);
        line.pass(60);
        assert!(holds(&line), "{autopilot:?}: {:?}", report(&line));
        assert_eq!(left(&line), Some(100), "{autopilot:?}");
    }
}

#[test]
fn a_second_monitor_that_names_no_function_counts_unless_a_person_names_which_do() {
    for (autopilot, function) in [
        (Autopilot::ArduPilot, Function::MAV_BATTERY_FUNCTION_UNKNOWN),
        (Autopilot::Px4, Function::MAV_BATTERY_FUNCTION_ALL),
    ] {
        let camera = second(function, 5);
        let mut all = line(autopilot, "", camera);
        all.pass(60);
        let reasons = report(&all).reasons;
        assert!(
            reasons.iter().any(|reason| reason.text.starts_with("battery at 5 %")),
            "{autopilot:?}: {reasons:?}"
        );
        let mut named = line(autopilot, "0", camera);
        named.until("holding", 120, holds);
        named.pass(60);
        assert!(holds(&named), "{autopilot:?}");
    }
}

#[test]
fn a_pack_that_falls_silent_in_flight_raises_no_charge_and_is_named() {
    for autopilot in BOTH {
        let pack = second(Function::MAV_BATTERY_FUNCTION_ALL, 45);
        let mut line = line(autopilot, "", pack);
        line.until("holding", 120, holds);
        line.pass(10);
        assert_eq!(left(&line), Some(45), "{autopilot:?}");
        line.vehicle.set_other_batteries(Vec::new());
        line.pass(60);
        assert_eq!(left(&line), Some(45), "{autopilot:?}");
        let warnings = report(&line).warnings;
        let words = "battery 2 (id 1) has fallen silent in flight, at 45 %";
        assert!(
            warnings.iter().any(|line| line.starts_with(words)),
            "{autopilot:?}: {warnings:?}"
        );
    }
}

#[test]
fn no_charge_below_0_percent_is_reported() {
    for autopilot in BOTH {
        let mut line = line(autopilot, "1", second(Function::MAV_BATTERY_FUNCTION_ALL, -106));
        line.pass(10);
        assert_eq!(left(&line), None, "{autopilot:?}");
    }
}
