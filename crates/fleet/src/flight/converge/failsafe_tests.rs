//! Failsafes flown by the agent, as sentences about one vehicle.

use super::tests::{FLY, GROUND, World, low, world};
use super::*;
use crate::flight::memory::Outcome;
use model::takeover::InCommand;
use model::vehicle::LandedState;

const REFUSED: &str = "FAILED";

fn returning(mut w: World, by: InCommand) -> World {
    w.record.in_command = by;
    w.flying(Mode::Return)
}

#[test]
fn a_vehicle_that_returns_on_our_word_lands_where_it_is_once_its_battery_says_land_now() {
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
fn a_vehicle_seen_to_fly_that_stopped_saying_whether_it_is_landed_still_has_its_failsafes() {
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
fn an_arming_that_was_out_of_sight_is_not_ours_any_more() {
    let armed = |w: World| w.vehicle(true, Some(LandedState::OnGround), Mode::Station, true);
    let mut w = world(FLY).disarmed(Mode::Station);
    w.memory.began(StepKind::Arm, w.now);
    w.now = w.now.plus(Duration::from_secs(1));
    w = armed(w);
    w.now = w.now.plus(Duration::from_secs(4));
    w = armed(w);
    assert_eq!(w.kind(), Some(StepKind::TakeOff));
    // Within this time the autopilot disarms by itself, and anybody may have armed it again.
    w.now = w.now.plus(Duration::from_secs(60));
    w = armed(w);
    assert_eq!(w.decide(), rest(Activity::HandsOff(HandsOff::ArmedByOther)));
}
