//! What reports say of a Mission's Drone.

use super::*;
use crate::planning::drone::status::tests::{drone, report as bound};
use crate::planning::node_use::Lift;
use model::ids::{DroneUid, NodeName};
use model::plan::{PlanReport, Reached};
use model::report::Report;
use model::route_order::Waypoint;
use model::units::{AltitudeAboveHome, AltitudeAmsl, Wgs84};
use model::vehicle::{Airborne, Position, WhyUnknown};

const HOME: Wgs84 = Wgs84 {
    latitude_deg: 47.4,
    longitude_deg: 8.5,
};

fn report(truth: FlightTruth) -> Report {
    Report {
        truth,
        link_alive: true,
        ready: Some(true),
        home: Some(Waypoint {
            at: HOME,
            amsl: AltitudeAmsl(488.0),
        }),
        position: Some(Position {
            at: HOME,
            amsl: AltitudeAmsl(488.0),
            above_home: AltitudeAboveHome(0.0),
        }),
        held: bound(truth, Activity::Idle).held,
        ..Report::of_nothing(NodeName::parse("n").unwrap())
    }
}

fn up() -> Report {
    report(FlightTruth::Airborne(Airborne::InAir))
}

fn digest() -> PlanDigest {
    PlanDigest("ours".to_owned())
}

fn plan(state: PlanState) -> PlanReport {
    PlanReport {
        held: Some(digest()),
        state,
        reached: Reached::none(),
        ..PlanReport::default()
    }
}

/// With and without a part; `long`: duration of the passing state.
fn of(change: impl Fn(&mut Facts), report: Option<&Report>, part: bool, long: u64) -> Doing {
    let mut facts = drone();
    facts.lift = Lift::Stay(NoLift::Plan);
    change(&mut facts);
    let digest = digest();
    let q = Question {
        drone: &facts,
        served: true,
        report,
        digest: part.then_some(&digest),
    };
    let passes = passing(&q).map(|what| (what, Duration::from_secs(long)));
    doing(&q, passes, &Patience::default())
}

fn as_it_is(_: &mut Facts) {}

#[test]
fn one_that_stands_ready_at_a_known_place_can_be_given_a_part() {
    let ready = report(FlightTruth::Disarmed);
    assert_eq!(of(as_it_is, Some(&ready), false, 0), Doing::Fit(HOME));
    assert_eq!(of(as_it_is, Some(&ready), true, 0), Doing::Busy);
    for change in [
        |report: &mut Report| report.home = None,
        |report: &mut Report| report.position = None,
        |report: &mut Report| report.ready = Some(false),
        |report: &mut Report| report.terminating = true,
        |report: &mut Report| report.so_far = SoFar::Flown,
        |report: &mut Report| report.link_alive = false,
    ] {
        let mut other = ready.clone();
        change(&mut other);
        assert_eq!(of(as_it_is, Some(&other), false, 0), Doing::Waits);
    }
    let ordered = |facts: &mut Facts| facts.ground = Ground::Ordered;
    assert_eq!(of(ordered, Some(&ready), true, 0), Doing::Grounded);
}

#[test]
fn what_may_pass_is_borne_for_a_while() {
    let mut pilot = up();
    pilot.activity = Activity::HandsOff(HandsOff::OtherMode);
    assert_eq!(of(as_it_is, Some(&pilot), true, 59), Doing::Busy);
    assert_eq!(of(as_it_is, Some(&pilot), true, 60), Doing::Taken);
    let silent = report(FlightTruth::Unknown(WhyUnknown::LinkLost));
    for report in [None, Some(&silent)] {
        assert_eq!(of(as_it_is, report, true, 59), Doing::Busy);
        assert_eq!(of(as_it_is, report, true, 60), Doing::Lost);
    }
    let mut refuses = report(FlightTruth::Disarmed);
    refuses.plan = plan(PlanState::Refused("Mission: item 3 not supported".to_owned()));
    assert_eq!(of(as_it_is, Some(&refuses), true, 19), Doing::Busy);
    let words = "Mission: item 3 not supported".to_owned();
    assert_eq!(of(as_it_is, Some(&refuses), true, 20), Doing::Refused(words));
}

#[test]
fn a_plan_has_ended_finished_or_short_only_by_the_account_of_this_plan() {
    let mut at_end = up();
    at_end.plan = PlanReport {
        ended: true,
        finished: true,
        ..plan(PlanState::Idle)
    };
    assert_eq!(of(as_it_is, Some(&at_end), true, 0), Doing::Finished);
    at_end.plan.finished = false;
    assert_eq!(of(as_it_is, Some(&at_end), true, 0), Doing::Short);
    at_end.plan.flying = true;
    assert_eq!(of(as_it_is, Some(&at_end), true, 0), Doing::Busy);
    at_end.plan.finished = true;
    at_end.plan.held = Some(PlanDigest("another".to_owned()));
    assert_eq!(of(as_it_is, Some(&at_end), true, 0), Doing::Busy);
    at_end.plan.held = Some(digest());
    assert_eq!(of(as_it_is, Some(&at_end), true, 0), Doing::Finished);
    let another = |drone: &mut Facts| drone.uid = DroneUid("u-2".to_owned());
    assert_eq!(
        of(another, Some(&at_end), true, 0),
        Doing::Busy,
        "the Drone before has flown an equal plan"
    );
}

#[test]
fn one_that_is_low_falls_back_or_has_landed_gives_up_its_part() {
    let with = |percent: u8| {
        let mut low = up();
        low.battery = Some(model::vehicle::Battery {
            remaining: Percent::new(percent),
            voltage: None,
            charge: model::vehicle::Charge::default(),
        });
        of(as_it_is, Some(&low), true, 0)
    };
    assert_eq!(
        [with(36), with(35), with(26), with(25)],
        [Doing::Busy, Doing::Tiring, Doing::Tiring, Doing::Tired]
    );
    let mut failsafe = up();
    failsafe.activity = Activity::LowBattery;
    assert_eq!(of(as_it_is, Some(&failsafe), true, 0), Doing::Diverted);
    let over = |facts: &mut Facts| facts.over = true;
    assert_eq!(of(over, Some(&report(FlightTruth::Disarmed)), true, 0), Doing::Over);
}

#[test]
fn a_vehicle_of_a_drained_node_leaves_and_of_a_cordoned_one_only_from_the_ground() {
    let with = |lift: Lift, report: &Report, part: bool| of(|facts| facts.lift = lift, Some(report), part, 0);
    let (stands, flies) = (report(FlightTruth::Disarmed), up());
    for part in [true, false] {
        for lift in [Lift::Land, Lift::Stay(NoLift::Drained)] {
            assert_eq!(with(lift, &stands, part), Doing::Drained);
            assert_eq!(with(lift, &flies, part), Doing::Drained);
        }
        for why in [NoLift::Cordoned, NoLift::NodeGone] {
            assert_eq!(with(Lift::Stay(why), &stands, part), Doing::Drained);
            assert_eq!(with(Lift::Stay(why), &flies, part), Doing::Busy);
        }
        let waits = with(Lift::Stay(NoLift::Doubt), &stands, part);
        assert_ne!(waits, Doing::Drained);
    }
}
