//! An agent whose process stops for a while, as in a debugger, a frozen container or without memory.

use agent::pilot::Pilot;
use agent::state_file::State;
use agent_testkit::line::{HOME, Line};
use agent_testkit::orders::assignment;
use link::dialect::{MavCmd, MavMessage};
use model::assignment::{Desired, Order};
use model::ids::NodeName;
use model::time::Moment;
use model::units::AltitudeAboveHome;
use model::vehicle::FlightTruth;
use sitl::model::{Autopilot, VehicleConfig};
use std::time::Duration;

fn leads_up(message: &MavMessage) -> bool {
    let command = match message {
        MavMessage::COMMAND_LONG(m) => m.command,
        MavMessage::COMMAND_INT(m) => m.command,
        _ => return false,
    };
    matches!(
        command,
        MavCmd::MAV_CMD_COMPONENT_ARM_DISARM | MavCmd::MAV_CMD_NAV_TAKEOFF | MavCmd::MAV_CMD_DO_SET_MODE
    )
}

/// The coordinator could not reach it, and may have reported that nothing flies; the loss of its stream shows seconds
/// later. After a suspend of the whole computer only the date shows that time has passed.
#[test]
fn a_flight_order_from_before_a_stop_lifts_nothing_off_until_it_is_known_as_current() {
    let long = Duration::from_secs(20);
    let (none, today) = (Duration::ZERO, Duration::from_secs(1_800_000_000));
    let stops = [
        (today, long, long),
        (today, none, long),
        (today, none, none),
        // A clock is set for the first time.
        (long, none, today),
    ];
    for autopilot in [Autopilot::ArduPilot, Autopilot::Px4] {
        for (day, moments, date) in stops {
            let pilot = Pilot::new(NodeName::parse("pine").unwrap(), State::default(), Moment::default());
            let mut line = Line::new(pilot, VehicleConfig::new(autopilot, 7, HOME));
            let altitude = AltitudeAboveHome(10.0);
            line.pilot.dated(Some(day));
            line.order(&Order::Assigned(assignment(1, Desired::Flying { altitude })));
            line.until("known to be down", 60, |line| line.truth() == FlightTruth::Disarmed);
            let wrote = line.wrote.len();
            line.ms += u64::try_from(moments.as_millis()).unwrap();
            line.pilot.dated(Some(day + date));
            line.vehicle.step(long);
            line.pass(40);
            let lifts = line.wrote.iter().skip(wrote).filter(|(_, message)| leads_up(message));
            assert_eq!(
                lifts.count() == 0,
                date == long,
                "{autopilot:?} {day:?} {moments:?} {date:?}"
            );
            assert!(line.pilot.report(line.now()).held.is_some());
            // The stream has lasted, so the order is current.
            line.until("up", 120, |line| matches!(line.truth(), FlightTruth::Airborne(_)));
        }
    }
}

/// Waits twice for its disk for 1 s, and is asked nothing meanwhile. The motors run by then.
#[test]
fn a_disk_that_is_slow_does_not_keep_an_armed_vehicle_on_the_ground() {
    for autopilot in [Autopilot::ArduPilot, Autopilot::Px4] {
        let pilot = Pilot::new(NodeName::parse("pine").unwrap(), State::default(), Moment::default());
        let mut line = Line::new(pilot, VehicleConfig::new(autopilot, 7, HOME));
        let altitude = AltitudeAboveHome(10.0);
        line.order(&Order::Assigned(assignment(1, Desired::Flying { altitude })));
        line.until("armed", 120, |line| line.truth() == FlightTruth::ArmedOnGround);
        line.ms += 2_000;
        line.vehicle.step(Duration::from_secs(2));
        line.until("up", 5, |line| matches!(line.truth(), FlightTruth::Airborne(_)));
    }
}
