//! Invariant 15, for one vehicle whose autopilot executes a failsafe of its own.

use super::tests::{FLY, GROUND, World, low, world};
use super::*;
use crate::flight::memory::Outcome;
use model::alarm::{Alarm, Cause};
use model::time::Sighting;
use model::units::{AltitudeAmsl, ComponentId, SystemId};
use model::vehicle::{Autopilot, Identity, LandedState, Position, SystemState};

const GIVES_WAY: Activity = Activity::HandsOff(HandsOff::AutopilotFailsafe);
const ORDERED: Desired = Desired::Grounded {
    why: GroundedWhy::Ordered,
};

impl World {
    fn of(mut self, autopilot: Autopilot, state: SystemState) -> Self {
        self.vehicle.identity = Some(Identity {
            autopilot,
            system: SystemId(1),
            component: ComponentId(1),
            firmware: None,
            hardware: None,
        });
        self.vehicle.state = Some(Sighting::new(state, self.now));
        self
    }

    /// PX4 in the air, executing a failsafe in this mode: in Hold it waits before it acts.
    fn in_failsafe(self, mode: Mode) -> Self {
        self.of(Autopilot::Px4, SystemState::Critical).flying(mode)
    }

    fn later(mut self, seconds: u64) -> Self {
        self.now = self.now.plus(Duration::from_secs(seconds));
        self
    }
}

fn waits_grounded(why: GroundedWhy) -> World {
    world(Desired::Grounded { why })
}

#[test]
fn nothing_of_ours_overrides_a_failsafe_that_the_autopilot_executes() {
    let another_height = {
        let mut w = world(FLY).in_failsafe(Mode::Station);
        let position = Position {
            at: model::units::Wgs84 {
                latitude_deg: 47.4,
                longitude_deg: 8.5,
            },
            amsl: AltitudeAmsl(518.0),
            above_home: AltitudeAboveHome(30.0),
        };
        w.vehicle.position = Some(Sighting::new(position, w.now));
        w
    };
    let mut ends = world(FLY);
    ends.terminating = true;
    for (what, w) in [
        ("another height", another_height),
        ("a low battery", low(Level::Low, OnLowBattery::Return)),
        ("an empty battery", low(Level::Emergency, OnLowBattery::Land)),
        (
            "a lost coordinator",
            world(FLY).failsafe(OnCoordinatorLoss::Return, 600),
        ),
        ("an agent that ends", ends),
        ("no Drone any more", waits_grounded(GroundedWhy::Unbound)),
        ("a node that is drained", waits_grounded(GroundedWhy::Waiting)),
        ("a deletion, which may be a Swarm's", world(GROUND)),
        ("nothing", world(FLY)),
    ] {
        for mode in [Mode::Station, Mode::Takeoff] {
            let w = w.clone().in_failsafe(mode);
            assert_eq!(w.decide(), rest(GIVES_WAY), "{what}");
        }
    }
}

#[test]
fn what_is_on_its_way_is_not_sent_again_once_the_autopilot_executes_a_failsafe() {
    let returning = low(Level::Low, OnLowBattery::Return);
    assert!(!called_off(
        StepKind::FailsafeReturn,
        &returning.clone().flying(Mode::Station).situation()
    ));
    assert!(called_off(
        StepKind::FailsafeReturn,
        &returning.in_failsafe(Mode::Station).situation()
    ));
    let landing = world(GROUND);
    assert!(!called_off(
        StepKind::Land,
        &landing.clone().flying(Mode::Station).situation()
    ));
    assert!(called_off(
        StepKind::Land,
        &landing.in_failsafe(Mode::Station).situation()
    ));
    let ordered = world(ORDERED).in_failsafe(Mode::Station);
    assert!(!called_off(StepKind::Land, &ordered.situation()), "a person ordered it");
}

#[test]
fn a_persons_ground_order_lands_a_vehicle_out_of_a_failsafe() {
    let w = world(ORDERED).in_failsafe(Mode::Station);
    assert_eq!(
        (w.kind(), w.decide().activity),
        (Some(StepKind::Land), Activity::Landing)
    );
    for mode in [Mode::Land, Mode::Return] {
        assert_eq!(world(ORDERED).in_failsafe(mode).kind(), None);
    }
}

#[test]
fn a_deletion_lands_it_once_the_failsafe_has_had_time_to_act_and_keeps_it_up() {
    let mut w = world(GROUND).in_failsafe(Mode::Station);
    for _ in 0..14 {
        assert_eq!(w.decide(), rest(GIVES_WAY));
        w = w.later(2).in_failsafe(Mode::Station);
    }
    w = w.later(2).in_failsafe(Mode::Station);
    assert_eq!(w.kind(), Some(StepKind::Land));
    let over = w.later(1).of(Autopilot::Px4, SystemState::Normal).flying(Mode::Station);
    assert_eq!(over.later(1).in_failsafe(Mode::Station).decide(), rest(GIVES_WAY));
}

#[test]
fn it_goes_on_once_the_failsafe_is_over() {
    let w = low(Level::Low, OnLowBattery::Return).in_failsafe(Mode::Station);
    assert_eq!(w.kind(), None);
    let over = w.of(Autopilot::Px4, SystemState::Normal).flying(Mode::Station);
    assert_eq!(over.kind(), Some(StepKind::FailsafeReturn));
}

#[test]
fn ardupilots_flag_of_an_idle_failsafe_leaves_ours_in_force_until_its_words_come() {
    let critical = |w: World| w.of(Autopilot::ArduPilot, SystemState::Critical).flying(Mode::Station);
    let w = critical(low(Level::Low, OnLowBattery::Return));
    assert_eq!(w.kind(), Some(StepKind::FailsafeReturn));
    let mut announced = w;
    let alarm = Alarm {
        cause: Cause::Battery,
        words: "Battery Failsafe".into(),
    };
    announced.vehicle.alarm = Some(Sighting::new(alarm, announced.now));
    let announced = critical(announced);
    assert_eq!(announced.decide(), rest(GIVES_WAY));
    let nothing_followed = critical(announced.later(4));
    assert_eq!(nothing_followed.kind(), Some(StepKind::FailsafeReturn));
}

#[test]
fn a_failsafe_on_the_ground_lifts_nothing_off() {
    let mut w = world(FLY).disarmed(Mode::Station);
    w.memory.began(StepKind::Arm, w.now);
    let on_ground = |w: World| w.vehicle(true, Some(LandedState::OnGround), Mode::Station, true);
    let w = on_ground(w.later(1));
    assert_eq!(w.kind(), Some(StepKind::TakeOff));
    let w = on_ground(w.of(Autopilot::Px4, SystemState::Critical));
    assert_eq!(w.decide(), rest(GIVES_WAY));
}

#[test]
fn our_own_return_for_a_low_battery_is_reported_as_that_until_it_has_landed() {
    let mut w = low(Level::Low, OnLowBattery::Return).flying(Mode::Station);
    assert_eq!(w.kind(), Some(StepKind::FailsafeReturn));
    w.memory.began(StepKind::FailsafeReturn, w.now);
    w.memory.ended(StepKind::FailsafeReturn, &Outcome::Accepted, w.now, 0.0);
    w.record = w.record.diverted(Diverted::LowBattery);
    w.record.in_command = InCommand::OurReturn;
    assert_eq!(w.flying(Mode::Return).decide(), rest(Activity::LowBattery));
}

#[test]
fn a_vehicle_that_has_just_landed_rests_before_it_is_armed() {
    let mut w = world(FLY).flying(Mode::Station).later(1).disarmed(Mode::Station);
    assert_eq!(w.decide(), rest(Activity::Waiting));
    w = w.later(3).disarmed(Mode::Station);
    assert_eq!(w.kind(), None);
    w = w.later(1).disarmed(Mode::Station);
    assert_eq!(w.kind(), Some(StepKind::Arm));
}

/// A pilot may have landed it by hand, and be walking up to it.
#[test]
fn a_vehicle_that_may_have_flown_unheard_rests_before_it_is_armed() {
    let mut w = world(FLY).disarmed(Mode::Station);
    assert_eq!(w.kind(), Some(StepKind::Arm));
    w = w.later(6).disarmed(Mode::Station);
    for _ in 0..5 {
        assert_eq!(w.decide(), rest(Activity::Waiting));
        w = w.later(1).disarmed(Mode::Station);
    }
    assert_eq!(w.kind(), Some(StepKind::Arm));
}

#[test]
fn nothing_is_armed_before_the_takeoff_before_is_accounted_for() {
    let mut w = world(FLY).disarmed(Mode::Station);
    w.record = w.record.lifting();
    assert_eq!(w.decide(), rest(Activity::Waiting));
}

#[test]
fn a_landing_that_was_commanded_and_does_not_come_is_owed() {
    use model::answer::Answer;
    let mut w = world(GROUND).flying(Mode::Station);
    assert_eq!(w.memory.owed(), None);
    let began = w.now;
    for (outcome, answer) in [
        (Outcome::NoAnswer, Answer::Missing),
        (
            Outcome::Refused {
                result: "DENIED".into(),
            },
            Answer::Refused("DENIED".into()),
        ),
        (Outcome::Accepted, Answer::Accepted),
    ] {
        assert_eq!(w.kind(), Some(StepKind::Land));
        w.memory.began(StepKind::Land, w.now);
        w.memory.ended(StepKind::Land, &outcome, w.now, 0.0);
        assert_eq!(
            w.memory.owed().map(|owed| (owed.since, owed.answer.clone())),
            Some((began, answer))
        );
        w = w.later(5).flying(Mode::Station);
    }
    assert_eq!(w.memory.owed().map(|owed| owed.times), Some(3));
    assert_eq!(w.flying(Mode::Land).memory.owed(), None);
}
