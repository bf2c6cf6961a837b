//! Failsafes flown by the agent, as sentences about one vehicle.

use super::tests::{FLY, GROUND, World, low, world};
use super::*;
use crate::takeover::InCommand;

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
    assert_eq!(deleted.kind(), Some(StepKind::FailsafeLand), "whatever is wished");
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
