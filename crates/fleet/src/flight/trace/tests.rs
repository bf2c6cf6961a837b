//! A takeoff as its trace shows it, with every way in which it can go wrong.

use super::*;
use model::assignment::{Failsafe, GroundedWhy};
use model::ids::{DroneName, DroneUid, Term};
use model::units::AltitudeAboveHome;
use model::vehicle::{Airborne, WhyUnknown};
use std::time::Duration;

const UP: FlightTruth = FlightTruth::Airborne(Airborne::InAir);
const DOWN: FlightTruth = FlightTruth::Disarmed;

fn at(second: u64) -> Moment {
    Moment::at(Duration::from_secs(second))
}

fn order(uid: &str, desired: Desired) -> Assignment {
    Assignment {
        term: Term(1),
        uid: DroneUid(uid.into()),
        name: DroneName {
            namespace: "default".into(),
            name: uid.into(),
        },
        generation: 2,
        desired,
        failsafe: Failsafe::default(),
        resume_after: 0,
        ground_mark: None,
        reported_flight: Default::default(),
        routed: false,
        route: None,
        manner: Default::default(),
        recalled: false,
        void: Default::default(),
        rules: None,
        plan: None,
    }
}

fn fly(uid: &str) -> Assignment {
    order(
        uid,
        Desired::Flying {
            altitude: AltitudeAboveHome(10.0),
        },
    )
}

fn ended(trace: &mut TakeoffTrace) -> Vec<(Part, u64, u64, Option<String>)> {
    let seconds = |moment: Moment| moment.since_epoch().as_secs();
    let spans = trace.take().into_iter();
    spans
        .map(|span| (span.part, seconds(span.start), seconds(span.end), span.fault))
        .collect()
}

#[test]
fn a_takeoff_is_four_spans_each_of_which_begins_where_the_one_before_has_ended() {
    let (mut trace, order) = (TakeoffTrace::default(), fly("u"));
    trace.observe(None, DOWN, at(1));
    trace.observe(Some(&order), DOWN, at(2));
    trace.observe(Some(&order), DOWN, at(3));
    trace.sent(StepKind::SetStation, at(4));
    trace.answered(StepKind::SetStation, &Outcome::Accepted, at(5));
    trace.sent(StepKind::Arm, at(6));
    trace.answered(StepKind::Arm, &Outcome::Accepted, at(7));
    trace.observe(Some(&order), FlightTruth::ArmedOnGround, at(8));
    trace.sent(StepKind::TakeOff, at(9));
    trace.answered(StepKind::TakeOff, &Outcome::Accepted, at(10));
    trace.observe(Some(&order), UP, at(12));
    trace.observe(Some(&order), UP, at(13));
    assert_eq!(
        ended(&mut trace),
        [
            (Part::Prepare, 2, 6, None),
            (Part::Arm, 6, 7, None),
            (Part::Takeoff, 9, 10, None),
            (Part::Liftoff, 10, 12, None),
        ]
    );
    assert_eq!(ended(&mut trace), [], "each is written once");
}

#[test]
fn a_refused_arm_command_is_a_failed_span_and_the_vehicle_is_prepared_anew() {
    let (mut trace, order) = (TakeoffTrace::default(), fly("u"));
    trace.observe(Some(&order), DOWN, at(1));
    trace.sent(StepKind::Arm, at(2));
    let refused = Outcome::Refused {
        result: "DENIED".into(),
    };
    trace.answered(StepKind::Arm, &refused, at(3));
    trace.sent(StepKind::Arm, at(8));
    trace.answered(StepKind::Arm, &Outcome::NoAnswer, at(11));
    assert_eq!(
        ended(&mut trace),
        [
            (Part::Prepare, 1, 2, None),
            (Part::Arm, 2, 3, Some("refused: DENIED".into())),
            (Part::Prepare, 3, 8, None),
            (Part::Arm, 8, 11, Some("no answer".into())),
        ]
    );
}

#[test]
fn a_vehicle_up_before_its_takeoff_is_answered_has_lifted_off_since_it_was_sent() {
    let (mut trace, order) = (TakeoffTrace::default(), fly("u"));
    trace.observe(Some(&order), DOWN, at(1));
    trace.sent(StepKind::Arm, at(2));
    trace.answered(StepKind::Arm, &Outcome::Accepted, at(3));
    trace.sent(StepKind::TakeOff, at(4));
    trace.observe(Some(&order), UP, at(6));
    trace.answered(StepKind::TakeOff, &Outcome::Accepted, at(7));
    assert_eq!(
        ended(&mut trace)[2..],
        [(Part::Liftoff, 4, 6, None), (Part::Takeoff, 4, 7, None)]
    );
}

#[test]
fn an_agent_that_finds_its_vehicle_in_the_air_writes_nothing_of_that_takeoff() {
    let (mut trace, order) = (TakeoffTrace::default(), fly("u"));
    trace.observe(Some(&order), UP, at(1));
    trace.observe(Some(&order), FlightTruth::Unknown(WhyUnknown::LinkLost), at(5));
    trace.observe(Some(&order), UP, at(9));
    trace.sent(StepKind::Arm, at(10));
    assert_eq!(ended(&mut trace), []);
}

#[test]
fn a_vehicle_that_takes_off_again_or_for_another_drone_is_traced_again() {
    let mut trace = TakeoffTrace::default();
    let down = Desired::Grounded {
        why: GroundedWhy::Waiting,
    };
    for (held, truth, second) in [
        (fly("u"), DOWN, 1),
        (fly("u"), UP, 5),
        (order("u", down), UP, 10),
        (order("u", down), DOWN, 15),
        (fly("u"), DOWN, 20),
        (fly("u"), UP, 25),
        (fly("v"), DOWN, 30),
        (fly("v"), UP, 35),
    ] {
        trace.observe(Some(&held), truth, at(second));
    }
    assert_eq!(
        ended(&mut trace),
        [
            (Part::Liftoff, 1, 5, None),
            (Part::Liftoff, 20, 25, None),
            (Part::Liftoff, 30, 35, None)
        ]
    );
}

#[test]
fn the_spans_have_the_generation_that_was_held_when_they_ended() {
    let (mut trace, order) = (TakeoffTrace::default(), fly("u"));
    trace.observe(Some(&order), DOWN, at(1));
    let changed = Assignment { generation: 3, ..order };
    trace.observe(Some(&changed), DOWN, at(2));
    trace.sent(StepKind::Arm, at(3));
    assert_eq!(trace.take()[0].of.generation, 3);
}

#[test]
fn what_nobody_takes_does_not_grow_for_ever() {
    let (mut trace, order) = (TakeoffTrace::default(), fly("u"));
    trace.observe(Some(&order), DOWN, at(0));
    for second in 1..1000 {
        trace.sent(StepKind::Arm, at(second));
        trace.answered(StepKind::Arm, &Outcome::NotSent, at(second));
    }
    assert_eq!(trace.take().len(), MAX_WAITING_SPANS);
}
