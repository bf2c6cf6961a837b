//! Convergence of a vehicle that a program flies or has flown.

use super::tests::{FLY, GROUND, World, world};
use super::*;
use crate::flight::memory::Outcome;
use model::battery_level::Level;
use model::time::Sighting;
use model::units::AltitudeAmsl;
use model::vehicle::{Heartbeat, LandedState, ModeReport, OFFBOARD, Position};

const HERE: Waypoint = Waypoint {
    at: Wgs84 {
        latitude_deg: 47.4,
        longitude_deg: 8.5,
    },
    amsl: AltitudeAmsl(508.0),
};

/// In the air under GUIDED, moved by routes only.
fn flown(desired: Desired) -> World {
    let mut w = world(desired).flying(Mode::Station);
    w.fence.held.as_mut().unwrap().routed = true;
    w.vehicle.lent = true;
    placed(w)
}

fn placed(mut w: World) -> World {
    let position = Position {
        at: HERE.at,
        amsl: HERE.amsl,
        above_home: AltitudeAboveHome(20.0),
    };
    w.vehicle.position = Some(Sighting::new(position, w.now));
    w
}

fn in_offboard(mut w: World) -> World {
    let mode = ModeReport {
        mode: Mode::Foreign,
        label: OFFBOARD.to_owned(),
    };
    w.vehicle.heartbeat = Some(Sighting::new(Heartbeat { armed: true, mode }, w.now));
    w.vehicle.landed = Some(Sighting::new(Some(LandedState::InAir), w.now));
    w.memory.observe(&w.vehicle, w.now);
    w
}

fn later(w: World, ms: u64) -> World {
    let now = w.now.plus(Duration::from_millis(ms));
    placed(World { now, ..w }.flying(Mode::Station))
}

#[test]
fn while_a_program_flies_only_what_battery_or_person_asks_for_is_sent() {
    let mut w = in_offboard(flown(FLY));
    w.lent = true;
    assert_eq!(w.decide(), rest(Activity::Holding));
    w.battery.lasting = Level::Low;
    w.fence.held.as_mut().unwrap().failsafe.on_low_battery = OnLowBattery::Land;
    assert_eq!(w.kind(), Some(StepKind::FailsafeLand));
    let mut grounded = in_offboard(flown(GROUND));
    grounded.lent = true;
    assert_eq!(grounded.kind(), Some(StepKind::Land));
}

#[test]
fn a_vehicle_that_is_taken_back_is_stopped_until_nothing_can_come_late() {
    let mut w = flown(FLY);
    w.memory.take_back(w.now);
    for confirmed in [true, false] {
        w.confirmed = confirmed;
        assert_eq!(w.decide().step, Step::Stop { at: HERE }, "{confirmed}");
    }
    let stopped = |mut w: World| {
        w.memory.began(StepKind::Stop, w.now);
        w.memory.ended(StepKind::Stop, &Outcome::Accepted, w.now, 0.0);
        w
    };
    let w = later(stopped(w), 1100);
    assert_eq!(
        w.kind(),
        Some(StepKind::Stop),
        "a set-point may have come after the first"
    );
    let w = later(stopped(later(w, 200)), 2000);
    assert_eq!(w.kind(), None);
}

#[test]
fn an_offboard_without_a_program_is_ended_and_a_pilots_mode_is_left_alone() {
    let w = in_offboard(flown(FLY));
    assert_eq!(w.decide().step, Step::Stop { at: HERE });
    assert!(!called_off(StepKind::Stop, &w.situation()));
    let mut theirs = flown(FLY);
    theirs.memory.take_back(theirs.now);
    let theirs = theirs.flying(Mode::Foreign);
    assert_eq!(theirs.kind(), None);
    assert!(called_off(StepKind::Stop, &theirs.situation()));
    assert!(!theirs.memory.is_to_stop());
}
