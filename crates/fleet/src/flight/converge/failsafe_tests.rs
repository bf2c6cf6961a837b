//! Failsafes flown by the agent.

use super::tests::{FLY, GROUND, World, low, world};
use super::*;
use crate::flight::memory::Outcome;
use model::geo::shifted;
use model::takeover::InCommand;
use model::time::Sighting;
use model::units::AltitudeAmsl;
use model::vehicle::{LandedState, Position};

const REFUSED: &str = "FAILED";

const HOME: Wgs84 = Wgs84 {
    latitude_deg: 47.4,
    longitude_deg: 8.5,
};

fn returning(mut w: World, by: InCommand) -> World {
    w.record.in_command = by;
    w.flying(Mode::Return)
}

/// East of home and above it, meters.
fn seen_at(mut w: World, (east, up): (f64, f64)) -> World {
    let position = Position {
        at: shifted(HOME, east, 0.0),
        amsl: AltitudeAmsl(488.0 + up),
        above_home: AltitudeAboveHome(up),
    };
    w.vehicle.home_at = Some(HOME);
    w.vehicle.position = Some(Sighting::new(position, w.now));
    w
}

fn returns_at(mut w: World, seconds: u64, at: (f64, f64)) -> World {
    w.now = w.now.plus(Duration::from_secs(seconds));
    seen_at(w, at).flying(Mode::Return)
}

/// The step after a return that hovered here for half a minute, observed once a second.
fn after_hovering(w: World, at: (f64, f64)) -> World {
    (0..30).fold(returns_at(w, 0, at), |w, _| {
        assert_eq!(w.kind(), None);
        returns_at(w, 1, at)
    })
}

#[test]
fn a_return_that_ends_in_a_hover_is_landed_after_half_a_minute_if_it_is_to_be_down() {
    let w = after_hovering(world(GROUND), (3.0, 5.0));
    assert_eq!(
        (w.kind(), w.decide().activity),
        (Some(StepKind::Land), Activity::Landing)
    );
    assert!(!called_off(StepKind::Land, &w.situation()), "it may be sent again");
    let landing = w.clone().flying(Mode::Land);
    assert_eq!(landing.kind(), None);
    assert!(called_off(StepKind::Land, &landing.situation()));
    let mut ending = after_hovering(world(FLY), (3.0, 5.0));
    assert_eq!(
        ending.kind(),
        None,
        "a return that somebody else began, and no order to land"
    );
    ending.terminating = true;
    assert_eq!(ending.kind(), Some(StepKind::Land));
    let on_its_way = returns_at(w, 1, (6.0, 5.0));
    assert_eq!(on_its_way.kind(), None);
    let away = after_hovering(world(GROUND), (20.0, 5.0));
    assert_eq!(away.kind(), None, "it is not over its home");
    let sinks = (0..60).fold(returns_at(world(GROUND), 0, (0.0, 30.0)), |w, second| {
        returns_at(w, 1, (0.0, 30.0 - 0.4 * f64::from(second)))
    });
    assert_eq!(sinks.kind(), None, "it lands by itself");
}

#[test]
fn a_failsafe_that_returns_lands_a_vehicle_that_is_over_its_home_without_a_climb() {
    let lost = world(FLY).failsafe(OnCoordinatorLoss::Return, 60);
    for w in [lost, low(Level::Low, OnLowBattery::Return)] {
        let there = |at| seen_at(w.clone().flying(Mode::Station), at).kind();
        assert_eq!(there((3.0, 12.0)), Some(StepKind::FailsafeLand));
        assert_eq!(there((3.1, 12.0)), Some(StepKind::FailsafeReturn));
        let unplaced = w.clone().flying(Mode::Station);
        assert_eq!(unplaced.kind(), Some(StepKind::FailsafeReturn), "it may be anywhere");
    }
}

#[test]
fn a_return_of_ours_that_ends_in_a_hover_is_landed_though_flight_is_wanted() {
    let ours = |mut w: World| {
        w.record.in_command = InCommand::OurReturn;
        w
    };
    let w = after_hovering(ours(low(Level::Low, OnLowBattery::Return)), (0.0, 5.0));
    assert_eq!(w.kind(), Some(StepKind::FailsafeLand));
    let back = after_hovering(ours(world(FLY)), (0.0, 5.0));
    assert_eq!(
        back.kind(),
        Some(StepKind::FailsafeLand),
        "the coordinator is back meanwhile"
    );
    assert!(!called_off(StepKind::FailsafeLand, &back.situation()));
    let mut taken = after_hovering(world(GROUND), (0.0, 5.0));
    taken.record.takeovers = 1;
    assert_eq!(taken.kind(), None, "a pilot has it");
}

#[test]
fn a_ground_order_lands_a_hover_at_the_end_of_a_return_that_somebody_else_began() {
    let taken = |desired: Desired| {
        let mut w = world(desired);
        w.record.takeovers = 1;
        w
    };
    let ordered = taken(Desired::Grounded {
        why: GroundedWhy::Ordered,
    });
    let hovers = after_hovering(ordered.clone(), (0.0, 5.0));
    assert_eq!(
        (hovers.kind(), hovers.decide().activity),
        (Some(StepKind::Land), Activity::Landing)
    );
    assert!(!called_off(StepKind::Land, &hovers.situation()), "it may be sent again");
    for desired in [FLY, GROUND] {
        let w = after_hovering(taken(desired), (0.0, 5.0));
        assert_eq!(w.kind(), None, "no person has ordered it: {desired}");
        assert!(called_off(StepKind::Land, &w.situation()));
    }
    let moves_on = hovers.clone().flying(Mode::Foreign);
    assert_eq!(moves_on.kind(), None, "a pilot flies");
    assert!(called_off(StepKind::Land, &moves_on.situation()));
    let away = after_hovering(ordered.clone(), (20.0, 5.0));
    assert_eq!(away.kind(), None, "it is not over its home");
    assert_eq!(
        returns_at(ordered, 0, (0.0, 5.0)).kind(),
        None,
        "it may still land by itself"
    );
}

#[test]
fn a_vehicle_that_returns_at_our_command_lands_once_its_battery_says_land_now() {
    for policy in [OnLowBattery::Return, OnLowBattery::Land] {
        let w = returning(low(Level::Emergency, policy), InCommand::OurReturn);
        assert_eq!(
            (w.kind(), w.decide().activity),
            (Some(StepKind::FailsafeLand), Activity::LowBattery)
        );
        assert!(
            !called_off(StepKind::FailsafeLand, &w.situation()),
            "it may be sent again"
        );
        let landing = w.flying(Mode::Land);
        assert_eq!(landing.kind(), None);
        assert!(called_off(StepKind::FailsafeLand, &landing.situation()));
    }
    let mut deleted = low(Level::Emergency, OnLowBattery::Return);
    if let Some(held) = &mut deleted.fence.held {
        held.desired = GROUND;
    }
    let deleted = returning(deleted, InCommand::OurReturn);
    assert_eq!(deleted.kind(), Some(StepKind::FailsafeLand), "whatever is desired");
}

#[test]
fn a_return_that_is_not_ours_or_has_time_is_flown_to_its_end() {
    let others = returning(low(Level::Emergency, OnLowBattery::Return), InCommand::SomebodyElse);
    let slow = returning(low(Level::Low, OnLowBattery::Return), InCommand::OurReturn);
    let left = returning(low(Level::Emergency, OnLowBattery::Continue), InCommand::OurReturn);
    for w in [others, slow, left] {
        assert_eq!(w.kind(), None, "{w:#?}");
        assert!(called_off(StepKind::FailsafeLand, &w.situation()));
    }
}

#[test]
fn a_flying_vehicle_that_stopped_saying_whether_it_landed_still_has_its_failsafes() {
    let silent = |w: World| w.stage(Stage::Flown).vehicle(true, None, Mode::Station, true);
    let lost = silent(world(FLY).failsafe(OnCoordinatorLoss::Land, 60));
    assert_eq!(lost.kind(), Some(StepKind::FailsafeLand));
    let empty = silent(low(Level::Low, OnLowBattery::Return));
    assert_eq!(empty.kind(), Some(StepKind::FailsafeReturn));
    let fine = silent(world(FLY).failsafe(OnCoordinatorLoss::Land, 59));
    assert_eq!(fine.decide(), rest(Activity::Waiting));
    let never_flew = lost.clone().stage(Stage::Fresh);
    assert_eq!(never_flew.decide(), rest(Activity::Waiting));
    let pilot = lost.vehicle(true, None, Mode::Foreign, true);
    assert_eq!(pilot.decide(), rest(Activity::Waiting));
}

#[test]
fn returns_that_failed_on_one_flight_do_not_count_on_the_next() {
    let mut w = world(FLY).failsafe(OnCoordinatorLoss::Return, 60).flying(Mode::Station);
    let refused = Outcome::Refused { result: REFUSED.into() };
    for _ in 0..RETURNS_TRIED {
        w.memory.ended(StepKind::FailsafeReturn, &refused, w.now, 1.0);
    }
    w = w.disarmed(Mode::Land).flying(Mode::Station);
    assert_eq!(w.kind(), Some(StepKind::FailsafeReturn));
}

#[test]
fn a_return_that_is_accepted_and_never_begun_ends_in_a_landing() {
    let mut w = world(FLY).failsafe(OnCoordinatorLoss::Return, 60).flying(Mode::Station);
    for _ in 0..RETURNS_TRIED {
        assert_eq!(w.kind(), Some(StepKind::FailsafeReturn));
        w.memory.began(StepKind::FailsafeReturn, w.now);
        w.memory.ended(StepKind::FailsafeReturn, &Outcome::Accepted, w.now, 0.0);
        w.now = w.now.plus(Duration::from_secs(5));
        w = w.flying(Mode::Station);
    }
    assert_eq!(w.kind(), Some(StepKind::FailsafeLand));
    w = w.flying(Mode::Return);
    w.now = w.now.plus(Duration::from_secs(5));
    assert_eq!(
        w.flying(Mode::Station).kind(),
        Some(StepKind::FailsafeReturn),
        "it can, after all"
    );
}

#[test]
fn a_return_that_was_never_sent_has_not_failed() {
    let mut w = world(FLY).failsafe(OnCoordinatorLoss::Return, 60).flying(Mode::Station);
    for _ in 0..=RETURNS_TRIED {
        w.memory.ended(StepKind::FailsafeReturn, &Outcome::NotSent, w.now, 0.0);
        w.now = w.now.plus(Duration::from_secs(2));
        w = w.flying(Mode::Station);
    }
    assert_eq!(w.kind(), Some(StepKind::FailsafeReturn));
}

#[test]
fn an_arming_that_was_out_of_sight_is_not_ours_any_more() {
    let armed = |w: World| w.vehicle(true, Some(LandedState::OnGround), Mode::Station, true);
    let mut w = world(FLY).disarmed(Mode::Station);
    w.memory.began(StepKind::Arm, w.now);
    w.now = w.now.plus(Duration::from_secs(1));
    w = armed(w);
    w.now = w.now.plus(Duration::from_secs(4));
    w = armed(w);
    assert_eq!(w.kind(), Some(StepKind::TakeOff));
    // By now the autopilot disarms by itself, and anybody may have armed it again.
    w.now = w.now.plus(Duration::from_secs(60));
    w = armed(w);
    assert_eq!(w.decide(), rest(Activity::HandsOff(HandsOff::ArmedByOther)));
}
