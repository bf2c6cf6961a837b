//! Who is in command, and what an agent does that has let go.

use crate::flight::battery::Levels;
use crate::flight::converge::{Situation, Step, Verdict, converge};
use crate::flight::memory::{Memory, StepKind};
use crate::flight_record::{FlightRecord, Stage};
use crate::safety::{ArmQuestion, NoArm, may_arm};
use model::activity::{Activity, HandsOff};
use model::alarm::Cause;
use model::assignment::{Assignment, Desired, Failsafe, Fence, GroundedWhy, OnCoordinatorLoss};
use model::failsafe::Diverted;
use model::ids::{DroneName, DroneUid, Term};
use model::preflight_policy::Clearance;
use model::takeover::*;
use model::time::{Moment, Sighting};
use model::units::AltitudeAboveHome;
use model::vehicle::{Airborne, FlightTruth, Heartbeat, LandedState, Mode, ModeReport, Vehicle, WhyUnknown};
use proptest::prelude::*;
use std::time::Duration;

const IN_AIR: FlightTruth = FlightTruth::Airborne(Airborne::InAir);
const FLY: Desired = Desired::Flying {
    altitude: AltitudeAboveHome(10.0),
};
const GROUND: Desired = Desired::Grounded {
    why: GroundedWhy::Ordered,
};
const MODES: [Mode; 5] = [Mode::Station, Mode::Takeoff, Mode::Land, Mode::Return, Mode::Foreign];

fn assigned(uid: &str, desired: Desired, resume_after: u32) -> Assignment {
    Assignment {
        term: Term(3),
        uid: DroneUid(uid.into()),
        name: DroneName {
            namespace: "field".into(),
            name: uid.into(),
        },
        generation: 1,
        desired,
        failsafe: Failsafe {
            on_coordinator_loss: OnCoordinatorLoss::Land,
            after: Duration::from_secs(60),
            ..Failsafe::default()
        },
        resume_after,
        ground_mark: None,
        reported_flight: model::reported_flight::ReportedFlight::default(),
        routed: false,
        manner: model::station::Manner::default(),
        recalled: false,
        void: model::route_order::OrderNumber::default(),
        rules: None,
        plan: None,
        route: None,
    }
}

/// Each mode is observed once in the air, none commanded by us.
fn takeovers(assigned: &Assignment, modes: &[Mode]) -> u32 {
    let down = matches!(assigned.desired, Desired::Grounded { .. });
    let record = modes.iter().fold(FlightRecord::default(), |record, &mode| {
        let now = record.in_command.after(IN_AIR, Some(mode), None, down);
        record.commanded_by(Some(assigned), now)
    });
    record.takeovers
}

#[test]
fn a_mode_that_somebody_else_chose_in_the_air_is_one_takeover_however_long_it_lasts() {
    use Mode::{Foreign, Land, Return, Station, Takeoff};
    let fly = assigned("u", FLY, 0);
    assert_eq!(takeovers(&fly, &[Takeoff, Station, Station]), 0);
    assert_eq!(takeovers(&fly, &[Station, Foreign, Foreign, Foreign]), 1);
    assert_eq!(
        takeovers(&fly, &[Station, Foreign, Return, Land]),
        1,
        "one pilot, three modes"
    );
    assert_eq!(takeovers(&fly, &[Station, Return, Station, Land]), 2);
    assert_eq!(takeovers(&fly, &[Foreign, Station, Foreign]), 2);
}

#[test]
fn a_landing_that_is_wanted_is_no_takeover_and_a_return_instead_of_it_is() {
    let ground = assigned("u", GROUND, 0);
    assert_eq!(takeovers(&ground, &[Mode::Station, Mode::Land, Mode::Land]), 0);
    assert_eq!(takeovers(&ground, &[Mode::Station, Mode::Return]), 1);
    assert_eq!(takeovers(&ground, &[Mode::Foreign, Mode::Land]), 1);
}

#[test]
fn a_descent_of_ours_is_ours_to_its_end() {
    let us = InCommand::Us;
    let landing = us.after(IN_AIR, Some(Mode::Land), Some(Descent::Land), false);
    assert_eq!(landing, InCommand::OurLanding);
    assert_eq!(
        landing.after(IN_AIR, Some(Mode::Land), None, false),
        InCommand::OurLanding
    );
    let back = us.after(IN_AIR, Some(Mode::Return), Some(Descent::Return), false);
    assert_eq!(back, InCommand::OurReturn);
    assert_eq!(
        back.after(IN_AIR, Some(Mode::Land), None, false),
        InCommand::OurReturn,
        "a return ends in a landing"
    );
    let pilots = us.after(IN_AIR, Some(Mode::Return), Some(Descent::Land), false);
    assert_eq!(
        pilots,
        InCommand::SomebodyElse,
        "it was ordered to land, and somebody had it return"
    );
    let taken = landing.after(IN_AIR, Some(Mode::Foreign), Some(Descent::Land), true);
    assert_eq!(
        taken.after(IN_AIR, Some(Mode::Land), Some(Descent::Land), true),
        InCommand::SomebodyElse,
        "the pilot who took over lands it"
    );
}

#[test]
fn on_the_ground_and_while_nothing_is_known_nobody_takes_over() {
    for truth in [
        FlightTruth::Disarmed,
        FlightTruth::ArmedOnGround,
        FlightTruth::Unknown(WhyUnknown::LinkLost),
        FlightTruth::Unknown(WhyUnknown::LandedStateUnknown),
    ] {
        for mode in MODES {
            assert_eq!(InCommand::Us.after(truth, Some(mode), None, false), InCommand::Us);
        }
    }
    let pilot = InCommand::SomebodyElse;
    let silent = FlightTruth::Unknown(WhyUnknown::LinkLost);
    assert_eq!(pilot.after(silent, None, None, false), pilot, "and none is forgotten");
    assert_eq!(pilot.after(IN_AIR, None, None, false), pilot);
    assert_eq!(
        pilot.after(FlightTruth::ArmedOnGround, Some(Mode::Station), None, false),
        pilot
    );
}

#[test]
fn an_agent_restarted_during_a_takeover_counts_it_once_and_finds_a_new_one() {
    let fly = assigned("u", FLY, 0);
    let taken = FlightRecord::default().commanded_by(Some(&fly), InCommand::SomebodyElse);
    let read_back = taken.clone();
    let seen = read_back.in_command.after(IN_AIR, Some(Mode::Foreign), None, false);
    assert_eq!(read_back.commanded_by(Some(&fly), seen), taken);
    let flew = FlightRecord::default().observed(Some(&fly), IN_AIR, false);
    let seen = flew.in_command.after(IN_AIR, Some(Mode::Foreign), None, false);
    assert_eq!(flew.commanded_by(Some(&fly), seen).takeovers, 1);
}

#[test]
fn a_descent_commanded_by_an_agent_that_then_ended_is_known_as_ours_by_the_next() {
    let fly = assigned("u", FLY, 0);
    let station = Some(Mode::Station);
    let sent = FlightRecord::default().watched(Some(&fly), IN_AIR, station, Some(Descent::Return), false);
    let found = sent.watched(
        Some(&fly),
        FlightTruth::Unknown(WhyUnknown::NeverHeard),
        None,
        None,
        false,
    );
    let found = found.watched(Some(&fly), IN_AIR, Some(Mode::Return), None, false);
    assert_eq!((found.takeovers, found.in_command), (0, InCommand::OurReturn));
    let came_to_nothing = sent.watched(Some(&fly), IN_AIR, station, None, false);
    let pilots = came_to_nothing.watched(Some(&fly), IN_AIR, Some(Mode::Return), None, false);
    assert_eq!(pilots.takeovers, 1);
}

#[test]
fn takeovers_are_counted_for_each_drone_and_nobody_can_agree_to_those_to_come() {
    let taken = FlightRecord::default().commanded_by(Some(&assigned("u", FLY, 0)), InCommand::SomebodyElse);
    assert!(taken.let_go(&assigned("u", FLY, 0)) && !taken.let_go(&assigned("u", FLY, 1)));
    assert!(!taken.let_go(&assigned("v", FLY, 0)));
    let early = assigned("u", FLY, 9);
    let again = taken
        .commanded_by(Some(&early), InCommand::Us)
        .commanded_by(Some(&early), InCommand::SomebodyElse);
    assert!(again.let_go(&early), "{again:?}");
    let next = taken.commanded_by(Some(&assigned("v", FLY, 0)), InCommand::Us);
    assert_eq!((next.takeovers, next.killed), (0, false));
    assert_eq!(taken.commanded_by(None, InCommand::Us), FlightRecord::default());
}

#[test]
fn a_ground_order_ends_neither_a_takeover_nor_what_a_kill_has_ended() {
    let record = FlightRecord::default()
        .commanded_by(Some(&assigned("u", FLY, 0)), InCommand::SomebodyElse)
        .killed()
        .observed(Some(&assigned("u", GROUND, 0)), FlightTruth::Disarmed, true);
    assert_eq!((record.stage, record.takeovers, record.killed), (Stage::Fresh, 1, true));
}

fn verdict(assigned: &Assignment, record: &FlightRecord, beat: (bool, LandedState, Mode)) -> Verdict {
    let (armed, landed, mode) = beat;
    let now = Moment::at(Duration::from_secs(1000));
    let report = ModeReport {
        mode,
        label: String::new(),
    };
    let vehicle = Vehicle {
        heartbeat: Some(Sighting::new(Heartbeat { armed, mode: report }, now)),
        landed: Some(Sighting::new(Some(landed), now)),
        ready: Some(Sighting::new(true, now)),
        ..Vehicle::default()
    };
    let mut memory = Memory::default();
    memory.began(StepKind::Arm, now);
    memory.observe(&vehicle, now);
    if !armed {
        memory = Memory::default();
    }
    converge(&Situation {
        vehicle: &vehicle,
        fence: &Fence {
            highest_term: Term(3),
            held: Some(assigned.clone()),
            ground_latch: None,
            last_route: model::route_order::OrderNumber::default(),
        },
        battery: Levels::default(),
        near_reserve: false,
        preflight: Clearance::default(),
        rules: model::rules::RulesClearance::Clear,
        plan: crate::flight::converge::PlanStage::None,
        confirmed: true,
        behind: false,
        uplink_silent: Duration::from_secs(600),
        record,
        stands_down: false,
        memory: &memory,
        terminating: false,
        lent: false,
        rest: crate::safety::Rest::default(),
        now,
    })
}

fn recorded(takeovers: u32, stage: Stage) -> FlightRecord {
    FlightRecord {
        uid: Some(DroneUid("u".into())),
        stage,
        takeovers,
        ..FlightRecord::default()
    }
}

#[test]
fn a_vehicle_that_was_given_back_is_told_to_wait_for_a_word_and_flies_on_after_it() {
    let holding = (true, LandedState::InAir, Mode::Station);
    let taken = recorded(1, Stage::Flown);
    let waits = Activity::HandsOff(HandsOff::TakenOver);
    for desired in [FLY, GROUND] {
        let told = verdict(&assigned("u", desired, 0), &taken, holding);
        assert_eq!((told.step, told.activity), (Step::Nothing, waits));
    }
    assert_eq!(
        verdict(&assigned("u", GROUND, 1), &taken, holding).step.kind(),
        Some(StepKind::Land)
    );
    assert_eq!(
        verdict(&assigned("u", FLY, 1), &taken, holding).step.kind(),
        Some(StepKind::FailsafeLand)
    );
}

#[test]
fn while_somebody_elses_mode_lasts_it_is_named() {
    let other = Activity::HandsOff(HandsOff::OtherMode);
    for mode in [Mode::Foreign, Mode::Land, Mode::Return] {
        let told = verdict(
            &assigned("u", FLY, 0),
            &recorded(1, Stage::Flown),
            (true, LandedState::InAir, mode),
        );
        assert_eq!(told.activity, other, "{mode:?}");
    }
}

#[test]
fn a_vehicle_that_somebody_landed_is_not_armed_before_a_word() {
    let ground = (false, LandedState::OnGround, Mode::Station);
    let landed = |stage, resume| verdict(&assigned("u", FLY, resume), &recorded(1, stage), ground);
    let activity = |stage, resume| landed(stage, resume).activity;
    assert_eq!(activity(Stage::Over, 0), Activity::HandsOff(HandsOff::FlightOver));
    assert_eq!(activity(Stage::Over, 1), Activity::HandsOff(HandsOff::FlightOver));
    assert_eq!(activity(Stage::Fresh, 0), Activity::HandsOff(HandsOff::TakenOver));
    assert_eq!(landed(Stage::Fresh, 1).step.kind(), Some(StepKind::Arm));
    let grounded = verdict(&assigned("u", GROUND, 0), &recorded(1, Stage::Fresh), ground);
    assert_eq!(grounded.activity, Activity::Idle, "it is where it should be");
}

#[test]
fn a_vehicle_that_was_killed_never_rises_again_for_its_drone_but_can_be_landed() {
    let killed = recorded(0, Stage::Fresh).killed();
    let ground = (false, LandedState::OnGround, Mode::Station);
    let told = verdict(&assigned("u", FLY, 0), &killed, ground);
    assert_eq!(
        (told.step, told.activity),
        (Step::Nothing, Activity::HandsOff(HandsOff::Killed))
    );
    let armed = (true, LandedState::OnGround, Mode::Station);
    assert_eq!(verdict(&assigned("u", FLY, 0), &killed, armed).step, Step::Nothing);
    let up = (true, LandedState::InAir, Mode::Station);
    assert_eq!(
        verdict(&assigned("u", GROUND, 0), &killed, up).step.kind(),
        Some(StepKind::Land),
        "the autopilot did not obey the kill"
    );
}

#[test]
fn what_may_be_armed_is_asked_for_kills_takeovers_and_ground_orders_too() {
    let now = Moment::at(Duration::from_secs(9));
    let mode = ModeReport {
        mode: Mode::Station,
        label: String::new(),
    };
    let vehicle = Vehicle {
        heartbeat: Some(Sighting::new(Heartbeat { armed: false, mode }, now)),
        landed: Some(Sighting::new(Some(LandedState::OnGround), now)),
        ready: Some(Sighting::new(true, now)),
        ..Vehicle::default()
    };
    let held = assigned("u", FLY, 0);
    let ask = |record: &FlightRecord, latch: Option<u64>| {
        may_arm(&ArmQuestion {
            vehicle: &vehicle,
            held: Some(&held),
            highest_term: Term(3),
            confirmed: true,
            battery: Levels::default().latest,
            preflight: Clearance::default(),
            rules: model::rules::RulesClearance::Clear,
            ground_latch: latch.map(model::ground::GroundOrderId),
            record,
            stands_down: false,
            terminating: false,
            since_armed: None,
            since_unrested: None,
            since_others_flew: None,
            behind: false,
            rest: crate::safety::Rest::default(),
            now,
        })
        .err()
    };
    let fresh = recorded(0, Stage::Fresh);
    assert_eq!(ask(&fresh, None), None);
    assert_eq!(ask(&fresh, Some(7)), Some(NoArm::GroundOrder));
    assert_eq!(ask(&fresh.killed(), None), Some(NoArm::Killed));
    assert_eq!(ask(&recorded(1, Stage::Fresh), None), Some(NoArm::TakenOver));
}

proptest! {
    #[test]
    fn a_vehicle_that_is_taken_over_is_sent_nothing_whatever_it_does(
        armed in any::<bool>(),
        landed in prop_oneof![Just(LandedState::OnGround), Just(LandedState::InAir), Just(LandedState::TakingOff), Just(LandedState::Landing)],
        mode in prop::sample::select(MODES.to_vec()),
        fly in any::<bool>(),
        resumed in 0_u32..3,
        more in 1_u32..4,
    ) {
        let assigned = assigned("u", if fly { FLY } else { GROUND }, resumed);
        let told = verdict(&assigned, &recorded(resumed + more, Stage::Flown), (armed, landed, mode));
        prop_assert_eq!(told.step, Step::Nothing);
    }

    #[test]
    fn a_count_never_falls_and_rises_by_one_at_a_time(modes in prop::collection::vec(prop::sample::select(MODES.to_vec()), 0..40)) {
        let fly = assigned("u", FLY, 0);
        let mut record = FlightRecord::default();
        for mode in modes {
            let next = record.commanded_by(Some(&fly), record.in_command.after(IN_AIR, Some(mode), None, false));
            prop_assert!(next.takeovers == record.takeovers || next.takeovers == record.takeovers + 1);
            record = next;
        }
    }
}

#[test]
fn an_agent_that_has_lost_its_disk_goes_by_what_was_told_before() {
    use crate::flight_record::Stage;
    use model::reported_flight::{ReportedFlight, SoFar};
    let held = |so_far, takeovers| Assignment {
        reported_flight: ReportedFlight {
            takeovers,
            so_far,
            hardware: None,
        },
        ..assigned("d", FLY, 1)
    };
    let lost = |held: &Assignment, truth| {
        let record = FlightRecord::default().observed(Some(held), truth, false);
        record.watched(Some(held), truth, Some(Mode::Station), None, false)
    };
    let down = FlightTruth::Disarmed;
    assert!(
        lost(&held(SoFar::Flown, 2), IN_AIR).let_go(&held(SoFar::Flown, 2)),
        "the pilot keeps it"
    );
    assert!(
        !lost(&held(SoFar::Flown, 1), IN_AIR).let_go(&held(SoFar::Flown, 1)),
        "it was ordered to go on"
    );
    for (so_far, stage, killed) in [
        (SoFar::Fresh, Stage::Fresh, false),
        (SoFar::Flown, Stage::Over, false),
        (SoFar::Over, Stage::Over, false),
        (SoFar::Killed, Stage::Over, true),
    ] {
        let record = lost(&held(so_far, 0), down);
        assert_eq!((record.stage, record.killed), (stage, killed), "{so_far:?}");
    }
    // An agent that remembers the flight itself knows better how far it has come.
    let own = lost(&held(SoFar::Fresh, 0), down);
    assert_eq!(own.observed(Some(&held(SoFar::Over, 0)), down, false), own);
}

#[test]
fn an_agent_that_could_not_write_a_takeover_or_kill_gets_it_back_from_reports() {
    use model::reported_flight::{ReportedFlight, SoFar};
    let held = |so_far, takeovers, resume_after| Assignment {
        reported_flight: ReportedFlight {
            takeovers,
            so_far,
            hardware: None,
        },
        ..assigned("u", FLY, resume_after)
    };
    // Its disk is from before the pilot took over and gave the vehicle back.
    let old = recorded(0, Stage::Flown);
    let watched = |held: &Assignment| old.watched(Some(held), IN_AIR, Some(Mode::Station), None, false);
    let taken = held(SoFar::Flown, 1, 0);
    let reminded = watched(&taken);
    assert!(reminded.let_go(&taken), "the pilot keeps it");
    assert_eq!((reminded.takeovers, reminded.stage), (1, Stage::Flown));
    let holding = (true, LandedState::InAir, Mode::Station);
    assert_eq!(
        verdict(&assigned("u", FLY, 0), &reminded, holding).activity,
        Activity::HandsOff(HandsOff::TakenOver)
    );
    let resumed = held(SoFar::Flown, 1, 1);
    assert!(!watched(&resumed).let_go(&resumed), "it was ordered to go on");
    let next = reminded.commanded_by(Some(&resumed), InCommand::SomebodyElse);
    assert_eq!(next.takeovers, 2, "what is reported is no takeover of its own");
    let killed = held(SoFar::Killed, 0, 0);
    assert!(watched(&killed).was_killed(&killed));
    // Its disk is still not writable, and the order that says so is not taken.
    let untaken = old.reminded(&taken);
    assert!(untaken.let_go(&assigned("u", FLY, 0)) && old.reminded(&killed).was_killed(&killed));
    let of_another = Assignment {
        uid: DroneUid("v".into()),
        ..held(SoFar::Killed, 9, 0)
    };
    assert_eq!(old.reminded(&of_another), old);
}

#[test]
fn why_nothing_is_sent_is_kept_on_the_ground_until_a_person_resumes_the_drone() {
    let held = |desired, resume_after| assigned("one", desired, resume_after);
    let (fly, ground) = (held(FLY, 0), held(GROUND, 0));
    let flown = FlightRecord::default().observed(Some(&fly), IN_AIR, false);
    let landed_by_itself = flown
        .commanded_by(Some(&fly), InCommand::SomebodyElse)
        .diverted(Diverted::Autopilot(Cause::Position))
        .observed(Some(&fly), FlightTruth::Disarmed, false);
    let grounded = landed_by_itself.observed(Some(&ground), FlightTruth::Disarmed, false);
    let released = grounded.observed(Some(&fly), FlightTruth::Disarmed, false);
    assert_eq!(released.stage, Stage::Fresh);
    assert_eq!(released.diversion, landed_by_itself.diversion);
    let resumed = held(FLY, 1);
    let resumed = released.observed(Some(&resumed), FlightTruth::Disarmed, false);
    assert_eq!(resumed.diversion, None);
}
