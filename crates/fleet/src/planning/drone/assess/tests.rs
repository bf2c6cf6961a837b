//! Each decision between what is observed of a Drone and its facts.

use super::*;
use model::assignment::Preflight;
use model::ids::{NodeName, Term};
use model::plan::PlanReport;
use model::rules::RulesReport;
use model::vehicle::{Airborne, HardwareUid, WhyUnknown};

const UP: FlightTruth = FlightTruth::Airborne(Airborne::InAir);

fn uid(name: &str) -> DroneUid {
    DroneUid(name.to_owned())
}

fn digest() -> PlanDigest {
    PlanDigest("p".to_owned())
}

fn planned() -> MissionPlan {
    MissionPlan::Some {
        digest: digest(),
        takeoff: AltitudeAboveHome(20.0),
    }
}

/// A person's Drone, bound to a node where nothing is in its way; its agent is not heard.
fn observed() -> Observations<'static> {
    Observations {
        uid: uid("own"),
        name: DroneName {
            namespace: "field".to_owned(),
            name: "alpha-good-bird".to_owned(),
        },
        generation: 2,
        deleting: false,
        guarded: true,
        grounded: false,
        takeoff: AltitudeAboveHome(10.0),
        has_station: false,
        failsafe: Failsafe::default(),
        resume_after: 0,
        swarm: OwnerSwarm::None,
        has_mission: false,
        made_by_swarm: false,
        made_by_mission: false,
        marked_recalled: false,
        reported_flight: ReportedFlight::default(),
        same_node: true,
        claim: Some(uid("own")),
        node: Some(node(NodeUse::Open)),
        ground_mark: None,
        ordered: false,
        acts: true,
        plan: MissionPlan::NoMission,
        rules: None,
        report: None,
    }
}

fn node(usable: NodeUse) -> BoundNode {
    BoundNode {
        usable,
        upgrades: false,
        forbids_hold: false,
    }
}

fn known(grounded: bool, has_slot: bool) -> OwnerSwarm {
    OwnerSwarm::Known { grounded, has_slot }
}

/// The agent's, which holds an order to `holder`.
fn report(holder: Option<&str>, truth: FlightTruth) -> Report {
    let held = holder.map(|holder| Held {
        uid: uid(holder),
        term: Term(1),
        generation: 2,
        grounded: false,
        settled: false,
        details: None,
    });
    Report {
        truth,
        held,
        ..Report::of_nothing(NodeName::parse("n").unwrap())
    }
}

fn facts(observed: Observations<'_>) -> Facts {
    assess(observed, AirspaceClearance::default())
}

#[test]
fn what_needs_no_decision_is_passed_on() {
    let mark = Some(GroundMark::Given(model::ground::GroundOrderId(7)));
    let rules = Some(RulesDigest("r".to_owned()));
    let report = report(Some("own"), UP);
    let facts = facts(Observations {
        generation: 3,
        deleting: true,
        guarded: false,
        resume_after: 4,
        ground_mark: mark,
        rules: rules.clone(),
        report: Some(&report),
        ..observed()
    });
    assert_eq!((facts.generation, facts.resume_after), (3, 4));
    assert!(facts.deleting && !facts.guarded && !facts.flown);
    assert_eq!((facts.ground_mark, facts.rules), (mark, rules));
    assert_eq!((facts.uid, facts.truth), (uid("own"), Some(UP)));
}

#[test]
fn a_node_is_claimed_by_the_holder_of_its_claim() {
    for (holder, claimed) in [
        (Some("own"), Claimed::Ours),
        (Some("other"), Claimed::Other),
        (None, Claimed::Free),
    ] {
        let claim = holder.map(uid);
        let facts = facts(Observations { claim, ..observed() });
        assert_eq!(facts.claim, claimed);
    }
}

#[test]
fn a_drone_is_grounded_by_itself_its_swarm_or_an_order_and_an_orphan_is_unknown() {
    // Its Swarm; whether a Swarm made it, or a Mission; whether it has a Mission.
    for (swarm, made_by_swarm, made_by_mission, has_mission, ground) in [
        (OwnerSwarm::None, false, false, false, Ground::No),
        (OwnerSwarm::None, true, false, false, Ground::Unknown),
        (OwnerSwarm::None, false, true, true, Ground::No),
        (OwnerSwarm::None, false, true, false, Ground::Unknown),
        (OwnerSwarm::Unknown, true, false, false, Ground::Unknown),
        (known(false, true), true, false, false, Ground::No),
        (known(true, true), true, false, false, Ground::Ordered),
    ] {
        let drone = Observations {
            swarm,
            made_by_swarm,
            made_by_mission,
            has_mission,
            ..observed()
        };
        assert_eq!(facts(drone.clone()).ground, ground, "{drone:?}");
        for (grounded, ordered) in [(true, false), (false, true)] {
            let drone = Observations {
                grounded,
                ordered,
                ..drone.clone()
            };
            assert_eq!(facts(drone).ground, Ground::Ordered);
        }
    }
}

#[test]
fn a_mission_recalls_its_drones_and_a_swarm_those_that_it_marks() {
    for (has_mission, made_by_mission, marked_recalled) in [
        (false, false, false),
        (true, false, false),
        (false, true, false),
        (false, false, true),
    ] {
        let drone = Observations {
            has_mission,
            made_by_mission,
            marked_recalled,
            ..observed()
        };
        let recalled = has_mission || made_by_mission || marked_recalled;
        assert_eq!(facts(drone).recalled, recalled);
    }
}

#[test]
fn the_hardware_of_another_node_is_not_passed_on() {
    let reported_flight = ReportedFlight {
        takeovers: 2,
        so_far: SoFar::Flown,
        hardware: Some(HardwareUid::Short(7)),
    };
    for same_node in [true, false] {
        let drone = Observations {
            reported_flight,
            same_node,
            ..observed()
        };
        let flight = facts(drone).reported_flight;
        assert_eq!((flight.takeovers, flight.so_far), (2, SoFar::Flown));
        assert_eq!(flight.hardware.is_some(), same_node);
    }
}

#[test]
fn an_agent_that_serves_a_drone_and_reports_less_than_its_status_has_forgotten() {
    let reported_flight = ReportedFlight {
        takeovers: 2,
        ..ReportedFlight::default()
    };
    for (holder, takeovers, forgotten) in [
        (Some("own"), 1, true),
        (Some("own"), 2, false),
        (Some("other"), 1, false),
        (None, 1, false),
    ] {
        let report = Report {
            takeovers,
            ..report(holder, UP)
        };
        let facts = facts(Observations {
            reported_flight,
            report: Some(&report),
            ..observed()
        });
        assert_eq!(facts.forgotten, forgotten, "{holder:?} {takeovers}");
    }
}

#[test]
fn a_flight_is_over_by_its_agent_or_by_the_status_if_that_has_lost_its_memory() {
    use SoFar::{Flown, Fresh, Killed, Over};
    // Who is held; what the agent reports; what the status has.
    for (holder, now, before, over) in [
        (Some("own"), Over, Fresh, true),
        (Some("own"), Flown, Flown, false),
        (Some("own"), Flown, Killed, true),
        (Some("own"), Fresh, Over, false),
        (Some("other"), Over, Over, false),
        (None, Fresh, Over, true),
        (None, Fresh, Killed, true),
        (None, Fresh, Flown, false),
    ] {
        let report = Report {
            so_far: now,
            ..report(holder, FlightTruth::Disarmed)
        };
        let drone = Observations {
            reported_flight: ReportedFlight {
                so_far: before,
                ..ReportedFlight::default()
            },
            report: Some(&report),
            ..observed()
        };
        let silent = Observations {
            report: None,
            ..drone.clone()
        };
        let facts = facts(drone);
        assert_eq!(
            (facts.over, facts.flown),
            (over, now != Fresh),
            "{holder:?} {now:?} {before:?}"
        );
        assert!(!self::facts(silent).over, "its agent is not heard");
    }
}

#[test]
fn a_vehicle_waits_for_its_node_its_leader_its_plan_its_fence_and_its_slot() {
    let mut drone = Observations {
        node: Some(BoundNode {
            usable: NodeUse::Cordoned,
            upgrades: true,
            forbids_hold: true,
        }),
        acts: false,
        swarm: known(false, false),
        plan: MissionPlan::None,
        ..observed()
    };
    let lift = |drone: &Observations<'_>| facts(drone.clone()).lift;
    assert_eq!(lift(&drone), Lift::Stay(NoLift::Cordoned));
    let node = |upgrades, forbids_hold| {
        Some(BoundNode {
            usable: NodeUse::Open,
            upgrades,
            forbids_hold,
        })
    };
    drone.node = node(true, true);
    assert_eq!(lift(&drone), Lift::Stay(NoLift::Doubt));
    drone.acts = true;
    assert_eq!(lift(&drone), Lift::Stay(NoLift::Upgrade));
    drone.node = node(false, true);
    assert_eq!(lift(&drone), Lift::Stay(NoLift::Plan));
    drone.plan = MissionPlan::NoMission;
    assert_eq!(lift(&drone), Lift::Stay(NoLift::Geofence));
    drone.has_station = true;
    let slot = Lift::Stay(NoLift::TakeoffSlot);
    assert_eq!(lift(&drone), slot, "its station is checked with its route");
    (drone.has_station, drone.node) = (false, node(false, false));
    assert_eq!(lift(&drone), slot);
    for swarm in [known(false, true), OwnerSwarm::Unknown, OwnerSwarm::None] {
        drone.swarm = swarm;
        assert_eq!(lift(&drone), Lift::Free, "{swarm:?}");
    }
}

#[test]
fn a_drain_lands_a_vehicle_that_nobody_replaces_and_concerns_no_unbound_drone() {
    let drained = Lift::Stay(NoLift::Drained);
    for (swarm, has_mission, lift) in [
        (OwnerSwarm::None, false, Lift::Land),
        (OwnerSwarm::Unknown, false, Lift::Land),
        (known(false, true), false, drained),
        (OwnerSwarm::None, true, drained),
    ] {
        let mut drone = Observations {
            swarm,
            has_mission,
            node: Some(node(NodeUse::Drained)),
            ..observed()
        };
        assert_eq!(facts(drone.clone()).lift, lift, "{swarm:?}");
        (drone.node, drone.acts) = (None, false);
        assert_eq!(facts(drone).lift, Lift::Free);
    }
}

#[test]
fn one_whose_flight_is_over_gets_no_order_to_wait_and_lands_for_a_drain_if_it_flies() {
    for (usable, truth, lift) in [
        (NodeUse::Cordoned, FlightTruth::Disarmed, Lift::Free),
        (NodeUse::Cordoned, UP, Lift::Free),
        (NodeUse::Drained, FlightTruth::Disarmed, Lift::Free),
        (NodeUse::Drained, UP, Lift::Land),
    ] {
        let report = Report {
            so_far: SoFar::Over,
            ..report(Some("own"), truth)
        };
        let drone = Observations {
            node: Some(node(usable)),
            acts: false,
            report: Some(&report),
            ..observed()
        };
        assert_eq!(facts(drone).lift, lift, "{usable:?} {truth:?}");
    }
}

#[test]
fn a_vehicle_takes_off_for_its_mission_once_its_autopilot_has_the_plan() {
    let (other, stay) = (PlanDigest("q".to_owned()), Lift::Stay(NoLift::Plan));
    for (held, state, truth, lift) in [
        (digest(), PlanState::Ready, FlightTruth::Disarmed, Lift::Free),
        (digest(), PlanState::Uploading, FlightTruth::Disarmed, stay),
        (other.clone(), PlanState::Ready, FlightTruth::Disarmed, stay),
        (
            other.clone(),
            PlanState::Ready,
            FlightTruth::Unknown(WhyUnknown::LinkLost),
            stay,
        ),
        (other, PlanState::Ready, UP, Lift::Free),
    ] {
        let report = Report {
            plan: PlanReport {
                held: Some(held),
                state,
                ..PlanReport::default()
            },
            ..report(Some("own"), truth)
        };
        let mut drone = Observations {
            has_mission: true,
            plan: planned(),
            report: Some(&report),
            ..observed()
        };
        assert_eq!(facts(drone.clone()).lift, lift, "{report:?}");
        drone.plan = MissionPlan::None;
        assert_eq!(facts(drone.clone()).lift, stay, "it has no part");
        (drone.plan, drone.report) = (planned(), None);
        assert_eq!(facts(drone).lift, Lift::Free, "its agent is not heard");
    }
}

#[test]
fn the_order_of_one_that_is_called_back_names_no_plan() {
    let drone = Observations {
        plan: planned(),
        ..observed()
    };
    assert_eq!(drone.plan_to_name(), Some(&digest()));
    let deleted = Observations {
        deleting: true,
        ..drone.clone()
    };
    assert_eq!(deleted.plan_to_name(), None);
    let drained = Observations {
        node: Some(node(NodeUse::Drained)),
        ..drone.clone()
    };
    assert_eq!(drained.plan_to_name(), None, "it lands");
    let waits = Observations {
        node: Some(node(NodeUse::Cordoned)),
        ..drone
    };
    assert_eq!(waits.plan_to_name(), Some(&digest()));
    for plan in [MissionPlan::NoMission, MissionPlan::None] {
        assert_eq!(Observations { plan, ..observed() }.plan_to_name(), None);
    }
}

#[test]
fn a_vehicle_of_a_mission_strays_while_its_order_names_no_plan() {
    let named = digest();
    for (plan, named, strays) in [
        (MissionPlan::NoMission, None, false),
        (MissionPlan::None, None, true),
        (planned(), None, true),
        (planned(), Some(&named), false),
    ] {
        assert_eq!(Observations { plan, ..observed() }.strays(named), strays);
    }
}

#[test]
fn a_vehicle_takes_off_to_the_altitude_of_its_plan_or_its_spec_unless_it_is_kept() {
    for (plan, asked) in [
        (MissionPlan::NoMission, 10.0),
        (MissionPlan::None, 10.0),
        (planned(), 20.0),
    ] {
        let asked = AltitudeAboveHome(asked);
        let drone = Observations { plan, ..observed() };
        assert_eq!(drone.altitude(), asked);
        let facts = facts(drone);
        assert_eq!((facts.altitude, facts.waits_for), (asked, None));
    }
    let (low, asked) = (AltitudeAboveHome(5.0), AltitudeAboveHome(10.0));
    for (why, waits_for) in [(None, None), (Some(NoLift::Geofence), Some((asked, NoLift::Geofence)))] {
        let cleared = AirspaceClearance {
            altitude: Some((low, why)),
            ..AirspaceClearance::default()
        };
        let facts = assess(observed(), cleared);
        assert_eq!((facts.altitude, facts.waits_for), (low, waits_for));
    }
}

#[test]
fn only_one_without_routes_and_without_a_plan_holds_above_its_home() {
    let (movement, plan) = (Movement::default(), digest());
    assert!(holds_above_home(None, None));
    assert!(!holds_above_home(Some(&movement), None));
    assert!(!holds_above_home(None, Some(&plan)));
}

#[test]
fn a_drone_that_refuses_waits_until_its_rules_are_in_force() {
    let rules = || Some(RulesDigest("r".to_owned()));
    let stay = Lift::Stay(NoLift::Rules);
    for (preflight, in_force, so_far, lift) in [
        (Preflight::Refuse, true, SoFar::Fresh, Lift::Free),
        (Preflight::Refuse, false, SoFar::Fresh, stay),
        (Preflight::Refuse, false, SoFar::Over, Lift::Free),
        (Preflight::Warn, false, SoFar::Fresh, Lift::Free),
        (Preflight::Ignore, false, SoFar::Fresh, Lift::Free),
    ] {
        let report = Report {
            so_far,
            rules: RulesReport {
                held: rules(),
                in_force,
                ..RulesReport::default()
            },
            ..report(Some("own"), FlightTruth::Disarmed)
        };
        let mut drone = Observations {
            failsafe: Failsafe {
                preflight,
                ..Failsafe::default()
            },
            rules: rules(),
            report: Some(&report),
            ..observed()
        };
        assert_eq!(facts(drone.clone()).lift, lift, "{preflight:?} {in_force} {so_far:?}");
        drone.report = None;
        assert_eq!(facts(drone).lift, Lift::Free, "its agent is not heard");
    }
}

#[test]
fn a_vehicle_waits_for_its_route_and_for_the_airspace_that_keeps_it_down() {
    let down = report(None, FlightTruth::Disarmed);
    let over = Report {
        so_far: SoFar::Over,
        ..report(Some("own"), FlightTruth::Disarmed)
    };
    let routeless = Some(Movement::default());
    let stay = Lift::Stay(NoLift::Airspace);
    for (report, movement, keeps_down, lift) in [
        (&down, None, false, Lift::Free),
        (&down, None, true, stay),
        (&down, routeless.clone(), false, stay),
        (&over, routeless.clone(), true, Lift::Free),
    ] {
        let cleared = AirspaceClearance {
            movement: movement.clone(),
            keeps_down,
            ..AirspaceClearance::default()
        };
        let report = Some(report);
        let facts = assess(Observations { report, ..observed() }, cleared);
        assert_eq!((facts.lift, facts.movement), (lift, movement));
    }
    let cordoned = Observations {
        node: Some(node(NodeUse::Cordoned)),
        ..observed()
    };
    let cleared = AirspaceClearance {
        plan: Some(digest()),
        keeps_down: true,
        ..AirspaceClearance::default()
    };
    let facts = assess(cordoned, cleared);
    assert_eq!(facts.lift, Lift::Stay(NoLift::Cordoned), "the first reason stays");
    assert_eq!(facts.plan, Some(digest()));
}
