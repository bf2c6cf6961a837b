//! Convergence of one vehicle.

use super::*;
use crate::flight::battery::Levels;
use crate::flight::memory::Outcome;
use model::assignment::Failsafe;
use model::ids::{DroneName, DroneUid, Term};
use model::time::Sighting;
use model::vehicle::{Heartbeat, LandedState, ModeReport, OurPlan};
use proptest::prelude::*;

pub(super) const FLY: Desired = Desired::Flying {
    altitude: AltitudeAboveHome(10.0),
};
pub(super) const GROUND: Desired = Desired::Grounded {
    why: GroundedWhy::Deleted,
};

fn at(ms: u64) -> Moment {
    Moment::at(Duration::from_millis(ms))
}

#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) vehicle: Vehicle,
    pub(super) fence: Fence,
    pub(super) confirmed: bool,
    pub(super) behind: bool,
    pub(super) uplink_silent: Duration,
    pub(super) record: FlightRecord,
    pub(super) memory: Memory,
    pub(super) battery: Levels,
    pub(super) near_reserve: bool,
    pub(super) preflight: Clearance,
    pub(super) rules: RulesClearance,
    pub(super) plan: PlanStage,
    pub(super) terminating: bool,
    pub(super) lent: bool,
    pub(super) rest: Rest,
    pub(super) now: Moment,
}

pub(super) fn world(desired: Desired) -> World {
    let uid = DroneUid("drone-1".into());
    let name = DroneName {
        namespace: "default".into(),
        name: "alpha-1".into(),
    };
    let held = Assignment {
        term: Term(3),
        uid: uid.clone(),
        name,
        generation: 1,
        desired,
        failsafe: Failsafe::default(),
        resume_after: 0,
        ground_mark: None,
        reported_flight: model::reported_flight::ReportedFlight::default(),
        routed: false,
        manner: model::station::Manner::default(),
        recalled: false,
        void: model::route_order::OrderNumber::default(),
        rules: None,
        plan: None,
        route: None,
    };
    World {
        vehicle: Vehicle::default(),
        fence: Fence {
            highest_term: Term(3),
            held: Some(held),
            ground_latch: None,
            last_route: model::route_order::OrderNumber::default(),
        },
        confirmed: true,
        behind: false,
        uplink_silent: Duration::ZERO,
        record: FlightRecord {
            uid: Some(uid),
            ..FlightRecord::default()
        },
        memory: Memory::default(),
        battery: Levels::default(),
        near_reserve: false,
        preflight: Clearance::Clear,
        rules: RulesClearance::Clear,
        plan: PlanStage::None,
        terminating: false,
        lent: false,
        rest: Rest::default(),
        now: at(100_000),
    }
}

impl World {
    pub(super) fn vehicle(mut self, armed: bool, landed: Option<LandedState>, mode: Mode, ready: bool) -> Self {
        let mode = ModeReport {
            mode,
            label: format!("{mode:?}"),
        };
        self.vehicle.heartbeat = Some(Sighting::new(Heartbeat { armed, mode }, self.now));
        self.vehicle.landed = Some(Sighting::new(landed, self.now));
        self.vehicle.ready = Some(Sighting::new(ready, self.now));
        self.memory.observe(&self.vehicle, self.now);
        self
    }

    pub(super) fn disarmed(self, mode: Mode) -> Self {
        self.vehicle(false, Some(LandedState::OnGround), mode, true)
    }

    pub(super) fn flying(self, mode: Mode) -> Self {
        self.vehicle(true, Some(LandedState::InAir), mode, true)
    }

    pub(super) fn stage(mut self, stage: Stage) -> Self {
        self.record.stage = stage;
        self
    }

    pub(super) fn failsafe(mut self, action: OnCoordinatorLoss, silent: u64) -> Self {
        if let Some(held) = &mut self.fence.held {
            held.failsafe = Failsafe {
                on_coordinator_loss: action,
                after: Duration::from_secs(60),
                ..Failsafe::default()
            };
        }
        self.uplink_silent = Duration::from_secs(silent);
        self
    }

    pub(super) fn decide(&self) -> Verdict {
        converge(&self.situation())
    }

    pub(super) fn situation(&self) -> Situation<'_> {
        Situation {
            vehicle: &self.vehicle,
            fence: &self.fence,
            confirmed: self.confirmed,
            behind: self.behind,
            uplink_silent: self.uplink_silent,
            record: &self.record,
            stands_down: false,
            memory: &self.memory,
            battery: self.battery,
            near_reserve: self.near_reserve,
            preflight: self.preflight,
            rules: self.rules,
            plan: self.plan,
            terminating: self.terminating,
            lent: self.lent,
            rest: self.rest,
            now: self.now,
        }
    }

    pub(super) fn kind(&self) -> Option<StepKind> {
        self.decide().step.kind()
    }
}

#[test]
fn nothing_is_sent_to_a_vehicle_of_which_nothing_is_known() {
    for desired in [FLY, GROUND] {
        let w = world(desired);
        assert_eq!(w.decide(), rest(Activity::Waiting));
        let w = w.vehicle(true, None, Mode::Foreign, true);
        assert_eq!(w.decide(), rest(Activity::Waiting));
    }
}

#[test]
fn without_a_drone_nothing_is_sent() {
    let mut w = world(FLY).disarmed(Mode::Station);
    w.fence.held = None;
    assert_eq!(w.decide(), rest(Activity::Idle));
}

#[test]
fn the_mode_comes_first_then_arming_then_takeoff_then_holding() {
    let w = world(FLY).disarmed(Mode::Foreign);
    assert_eq!(w.kind(), Some(StepKind::SetStation));
    let mut w = w.disarmed(Mode::Station);
    assert_eq!(w.kind(), Some(StepKind::Arm));
    w.memory.began(StepKind::Arm, w.now);
    w.memory.ended(StepKind::Arm, &Outcome::Accepted, w.now, 0.0);
    assert_eq!(
        w.decide(),
        rest(Activity::Arming),
        "no second arm while the first may still show"
    );
    let w = w.vehicle(true, Some(LandedState::OnGround), Mode::Station, true);
    let takeoff = Step::TakeOff {
        altitude: AltitudeAboveHome(10.0),
    };
    assert_eq!(
        w.decide(),
        Verdict {
            step: takeoff,
            activity: Activity::TakingOff
        }
    );
    let w = w.vehicle(true, Some(LandedState::TakingOff), Mode::Station, true);
    assert_eq!(w.decide(), rest(Activity::TakingOff));
    assert_eq!(w.flying(Mode::Station).decide(), rest(Activity::Holding));
}

/// He may arm it again at any moment.
#[test]
fn the_mode_of_who_has_just_flown_or_armed_a_vehicle_is_left_to_him() {
    let mut w = world(FLY).disarmed(Mode::Foreign);
    assert_eq!(w.kind(), Some(StepKind::SetStation));
    w.memory = w.memory.others_flew_before(true, w.now);
    w.now = w.now.plus(Duration::from_secs(59));
    w = w.disarmed(Mode::Foreign);
    assert_eq!(w.decide(), rest(Activity::NotArmable));
    w.now = w.now.plus(Duration::from_secs(1));
    assert_eq!(w.disarmed(Mode::Foreign).kind(), Some(StepKind::SetStation));
}

/// What is sent reaches both.
#[test]
fn nothing_lifts_off_where_a_second_vehicle_speaks_with_its_system_id() {
    let mut w = world(FLY).disarmed(Mode::Station);
    w.memory.began(StepKind::Arm, w.now);
    let mut w = w.vehicle(true, Some(LandedState::OnGround), Mode::Station, true);
    assert_eq!(w.kind(), Some(StepKind::TakeOff));
    w.vehicle.id_shared_at = Some(w.now);
    assert_eq!(w.decide(), rest(Activity::Waiting), "its autopilot disarms it");
    assert!(called_off(StepKind::TakeOff, &w.situation()), "nor again");
}

/// Its autopilot does not stop them by itself, and the coordinator comes back after a while.
#[test]
fn a_vehicle_whose_motors_have_run_on_the_ground_for_long_is_not_lifted_off() {
    let mut w = world(FLY).disarmed(Mode::Station);
    w.memory.began(StepKind::Arm, w.now);
    for second in 0..=31 {
        w = w.vehicle(true, Some(LandedState::OnGround), Mode::Station, true);
        let takes_off = w.kind() == Some(StepKind::TakeOff);
        assert_eq!(takes_off, second <= 30, "after {second} s");
        assert_eq!(called_off(StepKind::TakeOff, &w.situation()), !takes_off);
        w.now = w.now.plus(Duration::from_secs(1));
    }
}

/// A person has caught it with his hands, or it has fallen or drifted down.
#[test]
fn a_vehicle_that_touches_down_in_a_mode_of_ours_is_not_lifted_off_again() {
    for mode in [Mode::Station, Mode::Takeoff] {
        let mut w = world(FLY).disarmed(Mode::Station);
        w.memory.began(StepKind::Arm, w.now);
        let on_ground = |w: World| w.vehicle(true, Some(LandedState::OnGround), mode, true);
        let w = on_ground(w);
        assert_eq!(w.kind(), Some(StepKind::TakeOff));
        assert!(!called_off(StepKind::TakeOff, &w.situation()));
        let w = on_ground(w.flying(mode).stage(Stage::Flown));
        assert!(w.memory.armed_by_us());
        assert_eq!(w.decide(), rest(Activity::Landing), "{mode:?}");
        assert!(called_off(StepKind::TakeOff, &w.situation()), "nor again");
        let ordered = World {
            fence: world(GROUND).fence,
            ..w
        };
        assert_eq!(ordered.kind(), Some(StepKind::Land));
    }
}

#[test]
fn a_takeoff_answered_failed_while_the_vehicle_climbs_is_a_climb() {
    let mut w = world(FLY).vehicle(true, Some(LandedState::TakingOff), Mode::Station, true);
    let failed = Outcome::Refused {
        result: "FAILED".into(),
    };
    w.memory.ended(StepKind::TakeOff, &failed, w.now, 0.0);
    assert_eq!(w.decide(), rest(Activity::TakingOff));
}

#[test]
fn a_vehicle_whose_checks_fail_is_asked_why_and_not_armed() {
    let mut w = world(FLY).vehicle(false, Some(LandedState::OnGround), Mode::Station, false);
    assert_eq!(w.kind(), Some(StepKind::AskReasons));
    w.memory.ended(StepKind::AskReasons, &Outcome::Accepted, w.now, 0.0);
    assert_eq!(w.decide(), rest(Activity::NotArmable));
}

#[test]
fn a_refused_arm_is_tried_again_with_a_capped_back_off() {
    let mut w = world(FLY).disarmed(Mode::Station);
    let refused = Outcome::Refused {
        result: "FAILED".into(),
    };
    let mut waits = Vec::new();
    for _ in 0..7 {
        assert_eq!(w.kind(), Some(StepKind::Arm));
        w.memory.began(StepKind::Arm, w.now);
        w.memory.ended(StepKind::Arm, &refused, w.now, 1.0);
        let before = w.now;
        while w.kind() != Some(StepKind::Arm) {
            w.now = w.now.plus(Duration::from_millis(500));
            w = w.disarmed(Mode::Station);
        }
        waits.push(w.now.since(before).as_secs());
    }
    assert_eq!(waits, [2, 4, 8, 16, 30, 30, 30]);
}

#[test]
fn an_arm_command_not_written_yet_is_one_only_while_it_may_be_decided() {
    let decided = || {
        let mut w = world(FLY).disarmed(Mode::Station);
        assert_eq!(w.kind(), Some(StepKind::Arm));
        w.memory.began(StepKind::Arm, w.now);
        w.now = w.now.plus(Duration::from_millis(900));
        w
    };
    assert!(still_arms(&decided().situation()));
    let heard = |armed, landed, mode, ready| still_arms(&decided().vehicle(armed, landed, mode, ready).situation());
    let down = Some(LandedState::OnGround);
    assert!(heard(false, down, Mode::Station, true));
    assert!(!heard(false, down, Mode::Foreign, true), "a pilot has it");
    assert!(!heard(true, down, Mode::Station, true), "somebody has armed it");
    assert!(
        !heard(false, down, Mode::Station, false),
        "its checks do not pass any more"
    );
    assert!(!heard(false, Some(LandedState::InAir), Mode::Station, true));
    let mut unheard = decided();
    unheard.now = unheard.now.plus(Duration::from_millis(1200));
    assert!(!still_arms(&unheard.situation()));
    let mut lost = decided();
    lost.confirmed = false;
    assert!(!still_arms(&lost.situation()));
}

#[test]
fn an_arming_that_leads_to_no_flight_counts_as_a_failure() {
    let mut w = world(FLY).disarmed(Mode::Station);
    w.memory.began(StepKind::Arm, w.now);
    w.memory.ended(StepKind::Arm, &Outcome::Accepted, w.now, 0.0);
    w = w.vehicle(true, Some(LandedState::OnGround), Mode::Station, true);
    w.now = w.now.plus(Duration::from_secs(10));
    w = w.disarmed(Mode::Station);
    assert_eq!(w.memory.failures(StepKind::Arm), 1);
    assert_eq!(w.decide().step, Step::Nothing);
}

#[test]
fn an_assignment_only_on_disk_keeps_a_vehicle_flying_but_never_lifts_one_off() {
    let mut w = world(FLY).flying(Mode::Station);
    w.confirmed = false;
    assert_eq!(w.decide(), rest(Activity::Holding));
    assert_eq!(w.disarmed(Mode::Station).decide(), rest(Activity::Waiting));
}

/// A ground order may have come while its agent was stopped; and somebody may have armed it.
#[test]
fn nothing_leads_off_the_ground_on_what_may_be_of_before_the_agent_was_stopped() {
    let behind = |mut w: World| {
        w.behind = true;
        w
    };
    for mode in [Mode::Station, Mode::Foreign] {
        let w = world(FLY).disarmed(mode);
        assert!(matches!(w.kind(), Some(StepKind::Arm | StepKind::SetStation)));
        assert_eq!(behind(w).decide(), rest(Activity::Waiting));
    }
    let mut armed = world(FLY).disarmed(Mode::Station);
    armed.memory.began(StepKind::Arm, armed.now);
    let armed = behind(armed.vehicle(true, Some(LandedState::OnGround), Mode::Station, true));
    assert_eq!(armed.decide(), rest(Activity::Waiting));
    let off = |kind| called_off(kind, &armed.situation());
    assert!(off(StepKind::TakeOff) && off(StepKind::SetStation), "nor again");
    let flying = behind(world(FLY).flying(Mode::Station));
    assert!(!called_off(StepKind::ChangeHeight, &flying.situation()));
}

#[test]
fn a_vehicle_that_came_down_by_itself_stays_down() {
    let w = world(FLY).stage(Stage::Over).disarmed(Mode::Station);
    assert_eq!(w.decide(), rest(Activity::HandsOff(HandsOff::FlightOver)));
}

#[test]
fn a_vehicle_armed_by_somebody_else_is_left_alone() {
    let w = world(FLY).vehicle(true, Some(LandedState::OnGround), Mode::Station, true);
    assert_eq!(w.decide(), rest(Activity::HandsOff(HandsOff::ArmedByOther)));
}

#[test]
fn a_pilot_in_command_is_left_in_command() {
    let hands_off = rest(Activity::HandsOff(HandsOff::OtherMode));
    assert_eq!(world(FLY).flying(Mode::Foreign).decide(), hands_off);
    assert_eq!(world(GROUND).flying(Mode::Foreign).decide(), hands_off);
}

#[test]
fn a_landing_once_begun_is_finished_no_matter_who_began_it() {
    for mode in [Mode::Land, Mode::Return] {
        assert_eq!(world(FLY).flying(mode).decide(), rest(Activity::Landing));
        assert_eq!(world(GROUND).flying(mode).decide(), rest(Activity::Landing));
    }
}

#[test]
fn a_flying_vehicle_that_is_desired_on_the_ground_lands() {
    for mode in [Mode::Station, Mode::Takeoff] {
        assert_eq!(world(GROUND).flying(mode).kind(), Some(StepKind::Land));
    }
    assert_eq!(world(GROUND).disarmed(Mode::Land).decide(), rest(Activity::Idle));
}

#[test]
fn a_lost_land_command_is_sent_again() {
    let mut w = world(GROUND).flying(Mode::Station);
    w.memory.began(StepKind::Land, w.now);
    w.memory.ended(StepKind::Land, &Outcome::NoAnswer, w.now, 1.0);
    assert_eq!(w.decide().step, Step::Nothing);
    w.now = w.now.plus(Duration::from_secs(1));
    assert_eq!(w.flying(Mode::Station).kind(), Some(StepKind::Land));
}

#[test]
fn an_armed_vehicle_that_stopped_saying_whether_it_is_landed_can_still_be_landed() {
    let w = world(GROUND).vehicle(true, None, Mode::Station, true);
    assert_eq!(w.kind(), Some(StepKind::Land));
}

#[test]
fn an_ending_agent_lands_its_vehicle_and_arms_none() {
    let mut w = world(FLY).flying(Mode::Station);
    w.terminating = true;
    assert_eq!(w.kind(), Some(StepKind::Land));
    assert_eq!(w.disarmed(Mode::Station).decide(), rest(Activity::Idle));
}

#[test]
fn losing_the_coordinator_makes_the_agent_act_as_the_drone_says_at_its_time() {
    use OnCoordinatorLoss::{Continue, Hold, Land, Return};
    for (action, expected) in [
        (Continue, None),
        (Hold, None),
        (Return, Some(StepKind::FailsafeReturn)),
        (Land, Some(StepKind::FailsafeLand)),
    ] {
        assert_eq!(
            world(FLY).failsafe(action, 60).flying(Mode::Station).kind(),
            expected,
            "{action:?}"
        );
        assert_eq!(
            world(FLY).failsafe(action, 59).flying(Mode::Station).kind(),
            None,
            "{action:?}"
        );
    }
}

#[test]
fn a_failsafe_that_cannot_return_lands_where_it_is() {
    let mut w = world(FLY).failsafe(OnCoordinatorLoss::Return, 60).flying(Mode::Station);
    let refused = Outcome::Refused {
        result: "FAILED".into(),
    };
    for _ in 0..3 {
        assert_eq!(w.kind(), Some(StepKind::FailsafeReturn));
        w.memory.began(StepKind::FailsafeReturn, w.now);
        w.memory.ended(StepKind::FailsafeReturn, &refused, w.now, 1.0);
        w.now = w.now.plus(Duration::from_secs(3));
        w = w.flying(Mode::Station);
    }
    assert_eq!(w.kind(), Some(StepKind::FailsafeLand));
}

#[test]
fn a_failsafe_landing_ends_the_flight_and_an_ordered_one_does_not() {
    let after = |w: &World| {
        let held = w.fence.held.as_ref();
        let up = w
            .record
            .observed(held, FlightTruth::Airborne(Airborne::InAir), w.memory.landing_ours());
        up.observed(held, FlightTruth::Disarmed, w.memory.landing_ours()).stage
    };
    let mut w = world(FLY);
    w.memory.began(StepKind::FailsafeLand, w.now);
    assert_eq!(after(&w), Stage::Over);
    w.memory.began(StepKind::Land, w.now);
    assert_eq!(after(&w), Stage::Fresh);
}

#[test]
fn a_land_command_without_a_landing_does_not_make_a_later_failsafe_landing_ours() {
    let mut w = world(FLY).flying(Mode::Station);
    w.memory.began(StepKind::Land, w.now);
    let refused = Outcome::Refused {
        result: "FAILED".into(),
    };
    w.memory.ended(StepKind::Land, &refused, w.now, 0.0);
    w.now = w.now.plus(Duration::from_secs(9));
    w = w.flying(Mode::Station);
    assert!(w.memory.landing_ours(), "it may still begin");
    w.now = w.now.plus(Duration::from_secs(600));
    w = w.flying(Mode::Station);
    w = w.flying(Mode::Land);
    assert!(!w.memory.landing_ours());
    let held = w.fence.held.as_ref();
    let landed = w
        .record
        .observed(held, FlightTruth::Airborne(Airborne::Landing), w.memory.landing_ours())
        .observed(held, FlightTruth::Disarmed, w.memory.landing_ours());
    assert_eq!(landed.stage, Stage::Over);
}

#[test]
fn a_long_landing_of_ours_stays_ours() {
    let mut w = world(GROUND).flying(Mode::Station);
    w.memory.began(StepKind::Land, w.now);
    for _ in 0..100 {
        w.now = w.now.plus(Duration::from_secs(1));
        w = w.flying(Mode::Land);
    }
    assert!(w.memory.landing_ours());
}

#[test]
fn a_vehicle_whose_autopilot_still_considers_an_arm_command_is_not_settled() {
    let settled = |w: &World| crate::safety::settled(w.vehicle.truth(w.now), w.memory.arm_under_way(w.now));
    let mut w = world(FLY).disarmed(Mode::Station);
    w.memory.began(StepKind::Arm, w.now);
    w.memory.in_progress(StepKind::Arm, w.now);
    w.now = w.now.plus(Duration::from_secs(20));
    w = w.disarmed(Mode::Station);
    assert!(!settled(&w));
    let late = w
        .clone()
        .vehicle(true, Some(LandedState::OnGround), Mode::Station, true);
    assert!(late.memory.armed_by_us());
    w.now = w.now.plus(Duration::from_secs(11));
    w = w.disarmed(Mode::Station);
    assert!(settled(&w));
}

#[test]
fn a_vehicle_armed_for_a_superseded_leadership_does_not_take_off() {
    let mut w = world(FLY).disarmed(Mode::Station);
    w.memory.began(StepKind::Arm, w.now);
    w = w.vehicle(true, Some(LandedState::OnGround), Mode::Station, true);
    assert_eq!(w.kind(), Some(StepKind::TakeOff));
    w.fence = w.fence.raised_to(Term(4));
    assert_eq!(w.decide(), rest(Activity::Waiting));
    w.fence.highest_term = Term(3);
    w.confirmed = false;
    assert_eq!(w.decide(), rest(Activity::Waiting));
}

#[test]
fn a_command_on_its_way_is_not_repeated_against_somebody_who_has_taken_over_since() {
    use StepKind::{Arm, FailsafeLand, FailsafeReturn, Land, SetStation, TakeOff};
    let overtaken = |w: &World, kind| overtaken(kind, &w.situation());
    let pilot = world(FLY).flying(Mode::Foreign);
    for kind in [SetStation, TakeOff, Land, FailsafeLand, FailsafeReturn] {
        assert!(overtaken(&pilot, kind), "{kind:?}");
    }
    let holding = world(FLY).flying(Mode::Station);
    for kind in [Land, FailsafeLand, FailsafeReturn, Arm] {
        assert!(!overtaken(&holding, kind), "{kind:?}");
    }
    assert!(overtaken(&world(FLY).flying(Mode::Land), FailsafeReturn));
    assert!(overtaken(&world(FLY).flying(Mode::Return), Land));
    assert!(!overtaken(&world(FLY).disarmed(Mode::Foreign), SetStation));
    let armed = world(FLY).vehicle(true, Some(LandedState::OnGround), Mode::Foreign, true);
    assert!(overtaken(&armed, SetStation));
}

#[test]
fn a_command_is_not_repeated_once_it_shows_its_effect_or_nothing_is_received() {
    use StepKind::{AskReasons, FailsafeLand, FailsafeReturn, Land, TakeOff};
    let overtaken = |w: &World, kind| overtaken(kind, &w.situation());
    let on_the_ground = world(FLY).vehicle(true, Some(LandedState::OnGround), Mode::Station, true);
    assert!(!overtaken(&on_the_ground, TakeOff));
    assert!(overtaken(&world(FLY).flying(Mode::Station), TakeOff), "it climbs");
    assert!(
        overtaken(&world(FLY).disarmed(Mode::Station), TakeOff),
        "it has disarmed itself"
    );
    let mut unheard = on_the_ground;
    unheard.now = unheard.now.plus(Duration::from_secs(4));
    assert!(overtaken(&unheard, TakeOff), "it is not known what it does now");
    for kind in [Land, FailsafeLand, FailsafeReturn] {
        assert!(overtaken(&world(FLY).flying(Mode::Land), kind), "{kind:?}: it lands");
        assert!(
            overtaken(&world(FLY).disarmed(Mode::Station), kind),
            "{kind:?}: it is down"
        );
        assert!(
            !overtaken(&unheard, kind),
            "{kind:?}: a command to land is safe to repeat"
        );
    }
    assert!(overtaken(&world(FLY).flying(Mode::Station), AskReasons));
    assert!(!overtaken(&world(FLY).disarmed(Mode::Station), AskReasons));
}

fn any_world() -> impl Strategy<Value = World> {
    let landed = prop_oneof![
        Just(None),
        Just(Some(LandedState::OnGround)),
        Just(Some(LandedState::InAir)),
        Just(Some(LandedState::TakingOff)),
        Just(Some(LandedState::Landing)),
    ];
    let mode = prop_oneof![
        Just(Mode::Station),
        Just(Mode::Takeoff),
        Just(Mode::Mission),
        Just(Mode::Land),
        Just(Mode::Return),
        Just(Mode::Foreign)
    ];
    let plan = prop_oneof![
        Just(PlanStage::None),
        Just(PlanStage::Preparing),
        Just(PlanStage::Set),
        Just(PlanStage::Flying),
        Just(PlanStage::Ended)
    ];
    let ours = prop_oneof![Just(OurPlan::No), Just(OurPlan::Flies), Just(OurPlan::StoppedByOther)];
    let plan = (plan, ours);
    let stage = prop_oneof![Just(Stage::Fresh), Just(Stage::Flown), Just(Stage::Over)];
    let loss = prop_oneof![
        Just(OnCoordinatorLoss::Continue),
        Just(OnCoordinatorLoss::Land),
        Just(OnCoordinatorLoss::Return)
    ];
    let flags = any::<[bool; 7]>();
    (
        landed,
        (mode, plan),
        stage,
        loss,
        flags,
        0u64..8000,
        0u64..8000,
        0u64..120,
    )
        .prop_map(
            |(
                landed,
                (mode, (plan, our_plan)),
                stage,
                loss,
                [fly, armed, ready, confirmed, ending, armed_by_us, stale_term],
                age,
                arm_age,
                silent,
            )| {
                let mut w = world(if fly { FLY } else { GROUND })
                    .stage(stage)
                    .failsafe(loss, silent);
                if armed_by_us {
                    w.memory.began(StepKind::Arm, w.now);
                }
                w.now = w.now.plus(Duration::from_millis(arm_age));
                (w.plan, w.vehicle.our_plan) = (plan, our_plan);
                w = w.vehicle(armed, landed, mode, ready);
                w.now = w.now.plus(Duration::from_millis(age));
                w.confirmed = confirmed;
                w.terminating = ending;
                if stale_term {
                    w.fence.highest_term = Term(4);
                }
                w
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn whatever_the_situation_no_step_breaks_an_invariant(w in any_world()) {
        let truth = w.vehicle.truth(w.now);
        let wanted = w.fence.held.as_ref().map(|h| h.desired);
        let mode = w.vehicle.mode(w.now);
        match w.decide().step {
            Step::Nothing => {}
            Step::Arm(_) => {
                prop_assert_eq!(truth, FlightTruth::Disarmed);
                prop_assert_eq!(wanted, Some(FLY));
                prop_assert!(w.confirmed && !w.terminating && w.record.stage != Stage::Over);
                prop_assert!(w.fence.highest_term == Term(3) && w.vehicle.ready(w.now) == Some(true));
                prop_assert!(!w.memory.arm_under_way(w.now));
            }
            Step::TakeOff { .. } => {
                prop_assert_eq!(truth, FlightTruth::ArmedOnGround);
                prop_assert!(w.memory.armed_by_us() && !w.terminating && w.record.stage == Stage::Fresh);
                prop_assert!(w.confirmed && w.fence.highest_term == Term(3));
                prop_assert_eq!(wanted, Some(FLY));
            }
            Step::SetStation | Step::AskReasons => prop_assert_eq!(truth, FlightTruth::Disarmed),
            Step::ChangeHeight { .. } => {
                prop_assert!(matches!(truth, FlightTruth::Airborne(_)) && mode == Some(Mode::Station));
                prop_assert!(wanted == Some(FLY) && w.confirmed && !w.terminating);
            }
            Step::FlyTo { .. } | Step::SetSpeed { .. } | Step::TurnTo { .. } => prop_assert!(false, "it has no route"),
            Step::Stop { .. } => prop_assert!(false, "no program has flown it"),
            Step::FlyPlan => {
                prop_assert!(matches!(truth, FlightTruth::Airborne(_)) && mode == Some(Mode::Station));
                prop_assert!(wanted == Some(FLY) && w.confirmed && !w.terminating && w.plan == PlanStage::Set);
                prop_assert!(w.fence.highest_term == Term(3));
            }
            Step::Hold => {
                prop_assert!(matches!(truth, FlightTruth::Airborne(_)) && mode == Some(Mode::Mission));
                prop_assert!(wanted == Some(FLY) && !w.terminating && w.plan != PlanStage::Flying);
            }
            Step::Land => {
                prop_assert!(wanted == Some(GROUND) || w.terminating);
                prop_assert!(matches!(mode, Some(Mode::Station | Mode::Takeoff | Mode::Mission)));
            }
            Step::FailsafeLand | Step::FailsafeReturn => {
                let unsaid = truth == FlightTruth::Unknown(WhyUnknown::LandedStateUnknown);
                let up = matches!(truth, FlightTruth::Airborne(_)) || (unsaid && w.record.stage == Stage::Flown);
                prop_assert!(up && w.uplink_silent >= Duration::from_secs(60));
                prop_assert!(matches!(mode, Some(Mode::Station | Mode::Takeoff | Mode::Mission)));
            }
        }
    }
}

pub(super) fn low(lasting: Level, policy: OnLowBattery) -> World {
    let mut w = world(FLY);
    w.battery = Levels {
        latest: lasting,
        lasting,
        low_for: Duration::ZERO,
    };
    if let Some(held) = &mut w.fence.held {
        held.failsafe.on_low_battery = policy;
    }
    w
}

#[test]
fn a_low_battery_brings_a_flying_vehicle_home_or_down_as_the_drone_says() {
    use OnLowBattery::{Continue, Land, Return};
    let step = |level, policy| low(level, policy).flying(Mode::Station).kind();
    assert_eq!(step(Level::Low, Return), Some(StepKind::FailsafeReturn));
    assert_eq!(step(Level::Low, Land), Some(StepKind::FailsafeLand));
    assert_eq!(
        step(Level::Emergency, Return),
        Some(StepKind::FailsafeLand),
        "there is no time to go home"
    );
    for level in [Level::Low, Level::Emergency] {
        assert_eq!(step(level, Continue), None);
    }
    for level in [Level::Unknown, Level::Fine] {
        assert_eq!(step(level, Return), None);
    }
}

#[test]
fn a_vehicle_that_cannot_return_on_a_low_battery_lands() {
    let mut w = low(Level::Low, OnLowBattery::Return);
    for _ in 0..RETURNS_TRIED {
        let refused = Outcome::Refused {
            result: "FAILED".into(),
        };
        w.memory.ended(StepKind::FailsafeReturn, &refused, w.now, 0.0);
    }
    w.now = w.now.plus(Duration::from_secs(5));
    assert_eq!(w.flying(Mode::Station).kind(), Some(StepKind::FailsafeLand));
}

#[test]
fn a_low_battery_takes_no_vehicle_from_a_pilot_and_a_landing_is_not_begun_twice() {
    for mode in [Mode::Foreign, Mode::Land, Mode::Return] {
        assert_eq!(
            low(Level::Emergency, OnLowBattery::Land).flying(mode).decide().step,
            Step::Nothing
        );
    }
}

#[test]
fn a_vehicle_at_its_reserve_is_not_armed() {
    for policy in [OnLowBattery::Continue, OnLowBattery::Return] {
        let verdict = low(Level::Low, policy).disarmed(Mode::Station).decide();
        assert_eq!(verdict, rest(Activity::NotArmable));
    }
}

#[test]
fn a_drone_that_requires_failsafes_keeps_its_vehicle_down_until_they_are_known_on() {
    let mut w = world(FLY);
    for preflight in [Clearance::Reading, Clearance::Problems] {
        w.preflight = preflight;
        w = w.disarmed(Mode::Station);
        assert_eq!(w.decide(), rest(Activity::NotArmable));
    }
    w.preflight = Clearance::Clear;
    assert_eq!(w.disarmed(Mode::Station).kind(), Some(StepKind::Arm));
}

#[test]
fn a_vehicle_on_which_a_selected_fence_or_profile_is_not_in_force_is_not_armed() {
    let mut w = world(FLY);
    w.rules = RulesClearance::NotInForce;
    w = w.disarmed(Mode::Station);
    assert_eq!(w.decide(), rest(Activity::NotArmable));
    w.rules = RulesClearance::Clear;
    assert_eq!(w.disarmed(Mode::Station).kind(), Some(StepKind::Arm));
}

#[test]
fn a_command_on_its_way_is_called_off_once_nothing_asks_for_it() {
    let off = |w: &World, kind| called_off(kind, &w.situation());
    let on_the_ground = || world(FLY).vehicle(true, Some(LandedState::OnGround), Mode::Station, true);
    assert!(!off(&on_the_ground(), StepKind::TakeOff));
    let mut alone = on_the_ground();
    alone.confirmed = false;
    assert!(off(&alone, StepKind::TakeOff), "no leader confirms the assignment");
    let mut deposed = on_the_ground();
    deposed.fence.highest_term = Term(9);
    assert!(off(&deposed, StepKind::TakeOff));
    let mut down = world(GROUND).vehicle(true, Some(LandedState::OnGround), Mode::Station, true);
    down.confirmed = true;
    for kind in [
        StepKind::TakeOff,
        StepKind::Arm,
        StepKind::SetStation,
        StepKind::AskReasons,
    ] {
        assert!(off(&down, kind), "{kind:?}: it is desired on the ground");
    }
    assert!(!off(&world(GROUND).flying(Mode::Station), StepKind::Land));
    assert!(
        off(&world(FLY).flying(Mode::Station), StepKind::Land),
        "it is desired in the air again"
    );
    for kind in [StepKind::FailsafeLand, StepKind::FailsafeReturn] {
        let lost = |silent| {
            world(FLY)
                .failsafe(OnCoordinatorLoss::Land, silent)
                .flying(Mode::Station)
        };
        assert!(!off(&lost(60), kind), "{kind:?}");
        assert!(off(&lost(0), kind), "{kind:?}: the coordinator is back");
        assert!(
            !off(&low(Level::Low, OnLowBattery::Land).flying(Mode::Station), kind),
            "{kind:?}"
        );
    }
}
