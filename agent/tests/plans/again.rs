//! The same plan for another Drone on the same vehicle: flown parts of one are never taken for the other's.

use super::*;
use model::ids::DroneUid;
use serde_json::Value;

fn there_and_back() -> FlightPlan {
    let mut items = items();
    items.truncate(2);
    items.push(action(item::NAV_RETURN_TO_LAUNCH, [0.0; 3]));
    plan_of(items)
}

fn for_drone(uid: &str, plan: &FlightPlan) -> Order {
    let Order::Assigned(assigned) = order(1, FLY, Some(plan), 0) else {
        unreachable!()
    };
    Order::Assigned(Assignment {
        uid: DroneUid(uid.to_owned()),
        ..assigned
    })
}

fn flown(autopilot: Autopilot, plan: &FlightPlan) -> Line {
    let mut line = flying(autopilot, plan);
    line.until("on the ground", 240, |line| line.truth() == FlightTruth::Disarmed);
    line.until("finished", 5, |line| progress(line).finished);
    line
}

fn assert_nothing_is_flown(line: &Line) {
    let now = progress(line);
    assert_eq!((now.reached.count(), now.ended, now.finished), (0, false, false));
}

#[test]
fn a_plan_that_was_flown_for_one_drone_is_flown_again_for_the_next() {
    for autopilot in BOTH {
        for released_first in [true, false] {
            let plan = there_and_back();
            let mut line = flown(autopilot, &plan);
            if released_first {
                line.order(&Order::unassigned(Term(3)));
                assert_nothing_is_flown(&line);
            }
            let second = line.ms;
            line.pilot.take_plan(plan.clone());
            line.order(&for_drone("u-2", &plan));
            assert_nothing_is_flown(&line);
            line.until("on its plan", 150, |line| progress(line).flying);
            assert_nothing_is_flown(&line);
            line.until("finished", 240, |line| progress(line).finished);
            assert!(commands(&line, second).contains(&MavCmd::MAV_CMD_COMPONENT_ARM_DISARM));
        }
    }
}

#[test]
fn an_agent_that_is_killed_as_it_takes_the_next_drone_flies_the_plan_again_for_it() {
    let plan = there_and_back();
    let mut line = flown(Autopilot::Px4, &plan);
    // As on the disk before it is acted on.
    let fence = line.pilot.consider(&for_drone("u-2", &plan), line.now()).unwrap();
    let state = State {
        fence,
        ..line.pilot.state().clone()
    };
    line.replace(pilot(state, line.now()));
    assert_nothing_is_flown(&line);
    line.order(&for_drone("u-2", &plan));
    line.until("on its plan", 150, |line| progress(line).flying);
}

/// Agents of older versions stored neither whose progress it is, nor what was observed.
#[test]
fn what_an_agent_of_an_older_version_wrote_in_the_middle_of_a_plan_is_gone_on_with() {
    for autopilot in BOTH {
        let plan = plan_of(items());
        let mut line = flying(autopilot, &plan);
        line.until("past the first place", 90, |line| progress(line).reached.has(1));
        line.pass(2);
        let mut old = serde_json::to_value(line.pilot.state()).unwrap();
        let kept = old.get_mut("plan").and_then(Value::as_object_mut).unwrap();
        for key in ["drone", "was_on_it", "told_to_hold"] {
            assert!(kept.remove(key).is_some(), "{key}");
        }
        let before = progress(&line).reached;
        line.replace(pilot(serde_json::from_value(old).unwrap(), line.now()));
        assert_eq!(progress(&line).reached, before, "{autopilot:?}");
        line.order(&order(1, FLY, Some(&plan), 0));
        line.until("finished", 180, |line| progress(line).finished);
        assert_eq!(report(&line).takeovers, 0, "{autopilot:?}");
    }
}
