//! What people read of a Drone, as sentences about one.

use super::*;
use crate::planning::drone::{Claimed, Ground};
use crate::planning::node_use::{Lift, NoLift};
use model::accuracy::Accuracy;
use model::assignment::{Failsafe, Held};
use model::ids::{DroneName, DroneUid, Term};
use model::report::{Activity, HandsOff};
use model::time::Moment;
use model::units::AltitudeAboveHome;
use model::vehicle::{Airborne, ArmingReason, ReasonClass};

pub(crate) fn drone() -> Facts {
    Facts {
        uid: DroneUid("u-1".into()),
        name: DroneName {
            namespace: "field".into(),
            name: "alpha-good-bird".into(),
        },
        generation: 2,
        deleting: false,
        recalled: false,
        guarded: true,
        claim: Claimed::Ours,
        altitude: AltitudeAboveHome(10.0),
        waits_for: None,
        failsafe: Failsafe::default(),
        ground: Ground::No,
        lift: Lift::Free,
        truth: None,
        flown: false,
        over: false,
        resume_after: 0,
        ground_mark: None,
        reported_flight: model::reported_flight::ReportedFlight::default(),
        forgotten: false,
        movement: None,
        rules: None,
        plan: None,
    }
}

pub(in crate::planning::drone) fn report(truth: FlightTruth, activity: Activity) -> Report {
    let held = Held {
        uid: DroneUid("u-1".into()),
        term: Term(1),
        generation: 2,
        grounded: false,
        settled: false,
        details: None,
    };
    Report {
        link_alive: true,
        truth,
        mode: Some("GUIDED".into()),
        ready: Some(true),
        held: Some(held),
        activity,
        ..Report::of_nothing(NodeName::parse("n").unwrap())
    }
}

fn bound() -> Binding {
    Binding::Bound(NodeName::parse("n").unwrap())
}

pub(super) fn of(drone: &Facts, report: Option<&Report>) -> Status {
    status(&Question {
        drone,
        binding: &bound(),
        report,
        no_release: None,
        height: Height::There,
    })
}

pub(super) fn get(status: &Status, kind: Kind) -> (Option<bool>, &str, &str) {
    let c = status.conditions.iter().find(|c| c.kind == kind).unwrap();
    (c.value, c.reason, &c.message)
}

pub(super) const IN_AIR: FlightTruth = FlightTruth::Airborne(Airborne::InAir);

#[test]
fn a_drone_does_not_fly_because_it_was_bound_but_because_its_autopilot_says_so() {
    let told = of(&drone(), Some(&report(FlightTruth::Disarmed, Activity::Arming)));
    assert_eq!((told.phase, told.flying), (Phase::Arming, Some(false)));
    let flies = of(&drone(), Some(&report(IN_AIR, Activity::Holding)));
    assert_eq!((flies.phase, flies.flying), (Phase::Flying, Some(true)));
    assert_eq!(get(&flies, Kind::Ready).0, Some(true));
}

#[test]
fn a_silent_agent_or_autopilot_makes_flying_unknown_and_never_false() {
    let silent = of(&drone(), None);
    assert_eq!((silent.phase, silent.flying), (Phase::Unknown, None));
    assert_eq!(get(&silent, Kind::Flying).0, None);
    assert_eq!(get(&silent, Kind::Connected).1, "AgentSilent");
    for why in [
        WhyUnknown::NeverHeard,
        WhyUnknown::LinkLost,
        WhyUnknown::LandedStateUnknown,
        WhyUnknown::Contradiction,
    ] {
        let s = of(&drone(), Some(&report(FlightTruth::Unknown(why), Activity::Waiting)));
        assert_eq!((s.phase, s.flying), (Phase::Unknown, None), "{why:?}");
    }
}

#[test]
fn why_the_link_of_a_silent_autopilot_is_not_open_is_said() {
    let mut report = report(FlightTruth::Unknown(WhyUnknown::LinkLost), Activity::Waiting);
    report.link_alive = false;
    let said = |report: &Report| connected(report).message;
    assert!(said(&report).contains("check cable, port, baud rate and power"));
    report.link_fault = Some("serial device /dev/ttyACM0 is missing; there is now /dev/ttyACM1".to_owned());
    assert!(said(&report).ends_with("on its link: serial device /dev/ttyACM0 is missing; there is now /dev/ttyACM1"));
}

#[test]
fn a_refused_arming_is_told_in_the_autopilots_own_words() {
    let mut r = report(FlightTruth::Disarmed, Activity::NotArmable);
    r.ready = Some(false);
    r.reasons = vec![
        ArmingReason::reported("GPS 1: Bad fix".into(), Moment::default()),
        ArmingReason::reported("Battery low".into(), Moment::default()),
    ];
    let s = of(&drone(), Some(&r));
    assert_eq!(s.phase, Phase::Preparing);
    assert_eq!(
        get(&s, Kind::Armable),
        (Some(false), "ArmingChecksFail", "GPS 1: Bad fix; Battery low")
    );
    assert_eq!(get(&s, Kind::Ready).2, "GPS 1: Bad fix; Battery low");
}

#[test]
fn an_unbound_drone_says_why_it_waits() {
    let binding = Binding::NoFreeVehicle("no vehicle is free: of 1 drone node 1 are cordoned".into());
    let s = status(&Question {
        drone: &drone(),
        binding: &binding,
        report: None,
        no_release: None,
        height: Height::There,
    });
    assert_eq!((s.phase, s.flying), (Phase::Pending, Some(false)));
    assert_eq!(get(&s, Kind::Assigned).1, "NoFreeVehicle");
    assert!(get(&s, Kind::Ready).2.contains("cordoned"));
    let binding = Binding::Refused("cannot create a claim: admission denied it".into());
    let s = status(&Question {
        drone: &drone(),
        binding: &binding,
        report: None,
        no_release: None,
        height: Height::There,
    });
    assert_eq!((s.phase, get(&s, Kind::Assigned).1), (Phase::Pending, "Refused"));
    assert!(get(&s, Kind::Ready).2.contains("admission denied it"));
}

#[test]
fn a_drone_that_is_kept_tells_why_and_how_to_force_it() {
    let deleting = Facts {
        deleting: true,
        ..drone()
    };
    let q = Question {
        drone: &deleting,
        binding: &bound(),
        report: None,
        no_release: Some(NoRelease::AgentSilent),
        height: Height::There,
    };
    let s = status(&q);
    let message = get(&s, Kind::Ready).2;
    assert!(message.contains("agent on its node is not connected"), "{message}");
    assert!(
        message.contains("kubectl annotate -n field drone/alpha-good-bird skein.dev/force-release=u-1"),
        "{message}"
    );
}

#[test]
fn a_normal_landing_of_a_deleted_drone_does_not_say_how_to_force_its_release() {
    let deleting = Facts {
        deleting: true,
        ..drone()
    };
    let told = |truth, activity, no_release| {
        let report = report(truth, activity);
        let s = status(&Question {
            drone: &deleting,
            binding: &bound(),
            report: Some(&report),
            no_release: Some(no_release),
            height: Height::There,
        });
        get(&s, Kind::Ready).2.to_owned()
    };
    for (truth, activity, no_release) in [
        (IN_AIR, Activity::Holding, NoRelease::NotTaken),
        (IN_AIR, Activity::Landing, NoRelease::NotLanded),
        (FlightTruth::Disarmed, Activity::Idle, NoRelease::NotTaken),
        (IN_AIR, Activity::HandsOff(HandsOff::OtherMode), NoRelease::NotLanded),
    ] {
        let message = told(truth, activity, no_release);
        assert!(
            !message.contains("force-release")
                && message.starts_with("being deleted, and gone once its vehicle is landed"),
            "{message}"
        );
    }
    let lost = FlightTruth::Unknown(WhyUnknown::LinkLost);
    assert!(told(lost, Activity::Waiting, NoRelease::NotLanded).contains("force-release"));
}

#[test]
fn a_drone_desired_on_the_ground_lands_and_is_grounded_once_disarmed() {
    let grounded = Facts {
        ground: Ground::Ordered,
        ..drone()
    };
    assert_eq!(
        of(&grounded, Some(&report(IN_AIR, Activity::Landing))).phase,
        Phase::Landing
    );
    assert_eq!(
        of(&grounded, Some(&report(FlightTruth::ArmedOnGround, Activity::Landing))).phase,
        Phase::Landing
    );
    let s = of(&grounded, Some(&report(FlightTruth::Disarmed, Activity::Idle)));
    assert_eq!((s.phase, get(&s, Kind::Ready).1), (Phase::Grounded, "Grounded"));
}

#[test]
fn somebody_elses_command_is_an_interruption_and_still_flies() {
    let mut r = report(IN_AIR, Activity::HandsOff(HandsOff::OtherMode));
    r.mode = Some("LOITER".into());
    let s = of(&drone(), Some(&r));
    assert_eq!((s.phase, s.flying), (Phase::Interrupted, Some(true)));
    assert!(get(&s, Kind::Ready).2.contains("LOITER"));
    let over = of(
        &drone(),
        Some(&report(FlightTruth::Disarmed, Activity::HandsOff(HandsOff::FlightOver))),
    );
    assert_eq!(get(&over, Kind::Ready).1, "FlightOver");
}

#[test]
fn a_vehicle_in_the_air_for_somebody_else_is_never_ready() {
    let mut r = report(IN_AIR, Activity::Holding);
    r.held = None;
    let s = of(&drone(), Some(&r));
    assert_eq!((s.phase, get(&s, Kind::Ready).0), (Phase::Interrupted, Some(false)));
}

#[test]
fn a_takeover_says_by_which_word_the_vehicle_goes_on() {
    let waits = report(IN_AIR, Activity::HandsOff(HandsOff::TakenOver));
    let s = of(&drone(), Some(&waits));
    assert_eq!((s.phase, get(&s, Kind::Ready).1), (Phase::Interrupted, "TakenOver"));
    assert!(
        get(&s, Kind::Ready)
            .2
            .ends_with("skein resume alpha-good-bird -n field")
    );
    let mut over = report(FlightTruth::Disarmed, Activity::HandsOff(HandsOff::FlightOver));
    over.takeovers = 1;
    let s = of(&drone(), Some(&over));
    assert!(
        get(&s, Kind::Ready)
            .2
            .contains("skein resume alpha-good-bird -n field, then ground and release")
    );
    let resumed = Facts {
        resume_after: 1,
        ..drone()
    };
    let s = of(&resumed, Some(&over));
    assert!(!get(&s, Kind::Ready).2.contains("skein resume"), "it has been resumed");
}

#[test]
fn a_kill_is_reported_with_what_is_left_to_do() {
    let killed = report(FlightTruth::Disarmed, Activity::HandsOff(HandsOff::Killed));
    let s = of(&drone(), Some(&killed));
    assert_eq!((s.phase, get(&s, Kind::Ready).1), (Phase::Interrupted, "Killed"));
    assert!(get(&s, Kind::Ready).2.contains("delete the Drone"));
}

#[test]
fn what_stands_on_a_node_that_takes_no_new_flights_says_why_and_what_to_do() {
    let ready = report(FlightTruth::Disarmed, Activity::Idle);
    let told = |lift, report: &Report| {
        let drone = Facts { lift, ..drone() };
        let node = Binding::Bound(NodeName::parse("n1").unwrap());
        let status = status(&Question {
            drone: &drone,
            binding: &node,
            report: Some(report),
            no_release: None,
            height: Height::There,
        });
        (status.phase, status.conditions[4].reason)
    };
    for (why, reason) in [
        (NoLift::Cordoned, "NodeCordoned"),
        (NoLift::Drained, "NodeDrained"),
        (NoLift::NodeGone, "NodeGone"),
        (NoLift::TakeoffSlot, "WaitingItsTurn"),
        (NoLift::Upgrade, "AgentUpgrading"),
        (NoLift::Doubt, "NoLeader"),
    ] {
        assert_eq!(told(Lift::Stay(why), &ready), (Phase::Preparing, reason));
        let flies = report(IN_AIR, Activity::Holding);
        assert_eq!(told(Lift::Stay(why), &flies), (Phase::Flying, "Holding"));
    }
    let refuses = Report {
        ready: Some(false),
        ..ready.clone()
    };
    assert_eq!(
        told(Lift::Stay(NoLift::TakeoffSlot), &refuses),
        (Phase::Preparing, "ArmingChecksFail"),
        "it does not wait for a takeoff slot"
    );
    assert_eq!(told(Lift::Land, &ready), (Phase::Grounded, "NodeDrained"));
    let landing = report(IN_AIR, Activity::Landing);
    assert_eq!(told(Lift::Land, &landing), (Phase::Landing, "NodeDrained"));
}

#[test]
fn a_drone_that_waits_for_airspace_and_does_not_know_its_place_says_how_badly() {
    let waits = Facts {
        lift: Lift::Stay(NoLift::Airspace),
        ..drone()
    };
    let told = |accuracy| {
        let report = Report {
            ready: Some(true),
            accuracy,
            ..report(FlightTruth::Disarmed, Activity::Waiting)
        };
        let status = at_height(&waits, &report, Height::There);
        let (_, reason, message) = get(&status, Kind::Ready);
        assert_eq!(reason, "NoRoute");
        message.to_owned()
    };
    let why = told(Accuracy::of_meters(6.4, 3.0));
    let begins =
        "on the ground: it does not take off: its autopilot knows its place to 6.4 m over ground and 3.0 m in altitude";
    assert!(why.starts_with(begins), "{why}");
    let why = told(Accuracy::of_meters(0.9, 1.8));
    assert!(why.starts_with("on the ground: others fly or hold"), "{why}");
}

fn at_height(drone: &Facts, report: &Report, height: Height) -> Status {
    status(&Question {
        drone,
        binding: &bound(),
        report: Some(report),
        no_release: None,
        height,
    })
}

fn stalls(status: &Status) -> bool {
    status.conditions.iter().any(|c| c.kind == Kind::Stalled)
}

#[test]
fn a_drone_is_ready_only_at_its_height() {
    let holds = report(IN_AIR, Activity::Holding);
    let under_way = at_height(&drone(), &holds, Height::UnderWay);
    assert_eq!(under_way.flying, Some(true));
    assert_eq!(
        get(&under_way, Kind::Ready),
        (Some(false), "ChangingAltitude", "in the air, on its way to 10 m")
    );
    assert!(!stalls(&under_way));
    let at = AltitudeAboveHome(4.2);
    for activity in [Activity::Holding, Activity::TakingOff] {
        let stuck = at_height(&drone(), &report(IN_AIR, activity), Height::NotReached { at });
        let (value, reason, message) = get(&stuck, Kind::Ready);
        assert_eq!(
            (value, reason, stuck.flying),
            (Some(false), "AltitudeNotReached", Some(true))
        );
        assert!(
            message.contains("at 4 m") && message.contains("not at 10 m"),
            "{message}"
        );
        assert_eq!(get(&stuck, Kind::Stalled).1, "AltitudeNotReached");
    }
}

#[test]
fn a_drone_whose_autopilot_does_not_fly_its_route_says_what_that_makes_of_it() {
    use model::answer::{Answer, Stalled};
    let told = |answer, words: &str| {
        let mut moves = report(IN_AIR, Activity::Moving);
        moves.route.stalled = Some(Stalled {
            answer,
            words: words.to_owned(),
        });
        let status = of(&drone(), Some(&moves));
        let (value, reason, message) = get(&status, Kind::Ready);
        assert_eq!(
            (value, reason, status.flying),
            (Some(false), "PlaceNotReached", Some(true))
        );
        assert_eq!(get(&status, Kind::Stalled).1, "PlaceNotReached");
        message.to_owned()
    };
    let accepted = told(Answer::Accepted, "Reposition is outside geofence");
    assert!(
        accepted.contains("accepted, and says \"Reposition is outside geofence\"; check"),
        "{accepted}"
    );
    let refused = told(Answer::Refused("FAILED".into()), "");
    assert!(refused.contains("refused (FAILED); check"), "{refused}");
}

#[test]
fn a_drone_whose_change_is_not_taken_up_is_not_ready() {
    let changed = Facts {
        generation: 3,
        ..drone()
    };
    let told = of(&changed, Some(&report(IN_AIR, Activity::Holding)));
    assert_eq!(
        (get(&told, Kind::Ready).0, get(&told, Kind::Ready).1),
        (Some(false), "Updating")
    );
}

#[test]
fn what_only_a_person_can_mend_is_stalled_and_what_heals_or_is_meant_is_not() {
    let refused = |class| {
        let mut r = report(FlightTruth::Disarmed, Activity::NotArmable);
        r.ready = Some(false);
        r.reasons = vec![ArmingReason {
            class,
            ..ArmingReason::reported("Compass not calibrated".into(), Moment::default())
        }];
        of(&drone(), Some(&r))
    };
    assert!(stalls(&refused(ReasonClass::NeedsHuman)));
    assert!(!stalls(&refused(ReasonClass::WillHeal)) && !stalls(&refused(ReasonClass::Unclear)));
    for (why, needs) in [
        (HandsOff::FlightOver, true),
        (HandsOff::Killed, true),
        (HandsOff::TakenOver, true),
        (HandsOff::OtherMode, false),
        (HandsOff::ArmedByOther, false),
    ] {
        let told = of(&drone(), Some(&report(FlightTruth::Disarmed, Activity::HandsOff(why))));
        assert_eq!(stalls(&told), needs, "{why:?}");
    }
    for other in [
        of(&drone(), None),
        of(&drone(), Some(&report(IN_AIR, Activity::Holding))),
        of(&drone(), Some(&report(FlightTruth::Disarmed, Activity::Arming))),
    ] {
        assert!(!stalls(&other), "{other:?}");
    }
    let taken = Binding::NodeTaken {
        node: "n".into(),
        by: "field/other".into(),
    };
    let told = status(&Question {
        drone: &drone(),
        binding: &taken,
        report: None,
        no_release: None,
        height: Height::There,
    });
    assert!(stalls(&told), "only a person can name another node");
}

#[test]
fn a_descent_because_the_agent_ends_is_told_apart_from_one_after_a_release() {
    let released = report(IN_AIR, Activity::Landing);
    let told = of(&drone(), Some(&released));
    assert_eq!((told.phase, get(&told, Kind::Ready).1), (Phase::Landing, "Landing"));
    let ending = Report {
        terminating: true,
        ..released
    };
    let told = of(&drone(), Some(&ending));
    assert_eq!((told.phase, get(&told, Kind::Ready).1), (Phase::Landing, "AgentEnding"));
}

#[test]
fn one_that_flies_home_to_land_says_so_and_what_is_in_its_way() {
    let leaving = |off_station| Facts {
        deleting: true,
        movement: Some(crate::planning::drone::Movement {
            route: None,
            manner: model::station::Manner::default(),
            way_home: crate::planning::drone::way_home::WayHome::Ahead,
            off_station,
            shared_return: None,
            crossed_station: None,
        }),
        ..drone()
    };
    let told = |off_station| {
        let status = of(&leaving(off_station), Some(&report(IN_AIR, Activity::Holding)));
        let (_, reason, message) = get(&status, Kind::Ready);
        (status.phase, reason.to_owned(), message.to_owned())
    };
    let waits = crate::planning::site::OffStation::Waits("waits for the airspace of the vehicle of node b".into());
    let (phase, reason, message) = told(Some(waits));
    assert_eq!((phase, reason.as_str()), (Phase::Flying, "NoRoute"));
    assert!(
        message.ends_with(
            "not landing yet (the Drone is being deleted): it waits for the airspace of the vehicle of node b"
        ),
        "{message}"
    );
    let (phase, reason, message) = told(Some(crate::planning::site::OffStation::Moving));
    assert_eq!((phase, reason.as_str()), (Phase::Landing, "Deleting"));
    assert!(
        message.ends_with("flying home to land: the Drone is being deleted"),
        "{message}"
    );
}

#[test]
fn one_that_is_stopped_in_its_climb_says_so_and_for_whom() {
    let stops = "stops on its way; near is the vehicle of node b";
    let climbing = Facts {
        movement: Some(crate::planning::drone::Movement {
            route: None,
            manner: model::station::Manner::default(),
            way_home: crate::planning::drone::way_home::WayHome::Over,
            off_station: Some(crate::planning::site::OffStation::KeepsClear(stops.to_owned())),
            shared_return: None,
            crossed_station: None,
        }),
        ..drone()
    };
    let status = of(&climbing, Some(&report(IN_AIR, Activity::TakingOff)));
    let (_, reason, message) = get(&status, Kind::Ready);
    assert_eq!((status.phase, reason), (Phase::TakingOff, "KeepsClear"));
    assert!(message.ends_with(&format!("climbing; it {stops}")), "{message}");
}

#[test]
fn a_drone_that_a_program_flies_is_ready_and_says_why_it_was_taken_back() {
    use crate::planning::site::OffStation;
    use model::lent::{Lent, WhyBack};
    let told = |off_station, lent, activity| {
        let lent_to = Facts {
            movement: Some(crate::planning::drone::Movement {
                route: None,
                manner: model::station::Manner::default(),
                way_home: crate::planning::drone::way_home::WayHome::Over,
                off_station,
                shared_return: None,
                crossed_station: None,
            }),
            ..drone()
        };
        let mut report = report(IN_AIR, activity);
        report.route.lent = lent;
        let status = of(&lent_to, Some(&report));
        let (ready, reason, _) = get(&status, Kind::Ready);
        (ready == Some(true), reason.to_owned())
    };
    let back = |why| Some(Lent::TakenBack(why));
    let (holds, moves) = (Activity::Holding, Activity::Moving);
    let waits = Some(OffStation::WaitsForRoom("waits for the airspace of b".to_owned()));
    for (off_station, lent, activity, expected) in [
        (Some(OffStation::Lent), None, holds, (true, "Holding")),
        (
            Some(OffStation::Lent),
            Some(Lent::Flies),
            holds,
            (true, "ExternalControl"),
        ),
        (
            Some(OffStation::Lent),
            back(WhyBack::LeftVolume),
            holds,
            (false, "LeftVolume"),
        ),
        (
            Some(OffStation::Moving),
            back(WhyBack::LeaseSilent),
            moves,
            (false, "LeaseSilent"),
        ),
        (
            Some(OffStation::Settling),
            back(WhyBack::LeftVolume),
            holds,
            (false, "LeftVolume"),
        ),
        (
            Some(OffStation::Moving),
            back(WhyBack::Recalled),
            moves,
            (false, "Moving"),
        ),
        (Some(OffStation::Moving), None, moves, (false, "Moving")),
        (None, back(WhyBack::LeaseSilent), holds, (true, "Holding")),
        (waits, None, holds, (false, "NoVolume")),
    ] {
        let (ready, reason) = expected;
        let words = format!("{off_station:?} {lent:?}");
        assert_eq!(told(off_station, lent, activity), (ready, reason.to_owned()), "{words}");
    }
}
