//! An agent that is killed just before or after it writes a command of a plan, and its successor.

use super::others::gives_back;
use super::*;
use model::assignment::{Failsafe, OnCoordinatorLoss};
use std::time::Duration;

fn restart(line: &mut Line) {
    line.until("killed", 150, |line| line.dead);
    line.pass(2);
    let state = serde_json::to_string(line.pilot.state()).unwrap();
    let state: State = serde_json::from_str(&state).unwrap();
    line.replace(pilot(state, line.now()));
}

#[test]
fn an_agent_that_is_killed_right_after_its_own_hold_knows_it_for_its_own() {
    for autopilot in BOTH {
        let plan = plan_of(items());
        let mut line = flying(autopilot, &plan);
        line.until("past the first place", 90, |line| progress(line).reached.has(1));
        line.order(&order(2, FLY, None, 0));
        line.dies_after = Some(MavCmd::MAV_CMD_DO_SET_MODE);
        restart(&mut line);
        line.pass(20);
        let after = report(&line);
        assert_eq!((after.takeovers, after.plan.flying), (0, false), "{autopilot:?}");
        line.order(&order(3, FLY, Some(&plan), 0));
        line.until("finished", 240, |line| progress(line).finished);
        assert_eq!(report(&line).takeovers, 0, "{autopilot:?}");
    }
}

#[test]
fn nor_is_its_hold_for_a_lost_coordinator_a_takeover_and_a_ground_order_lands_it() {
    for autopilot in BOTH {
        let plan = plan_of(items());
        let mut line = flying(autopilot, &plan);
        let Order::Assigned(mut assigned) = order(2, FLY, Some(&plan), 0) else {
            unreachable!()
        };
        assigned.failsafe = Failsafe {
            on_coordinator_loss: OnCoordinatorLoss::Hold,
            after: Duration::from_secs(5),
            ..Failsafe::default()
        };
        line.order(&Order::Assigned(assigned));
        line.pilot.uplink_closed(line.now());
        line.dies_after = Some(MavCmd::MAV_CMD_DO_SET_MODE);
        restart(&mut line);
        line.pass(20);
        assert_eq!(report(&line).takeovers, 0, "{autopilot:?}");
        let why = GroundedWhy::Ordered;
        line.order(&order(3, Desired::Grounded { why }, None, 0));
        line.until("on the ground", 90, |line| line.truth() == FlightTruth::Disarmed);
    }
}

#[test]
fn an_agent_killed_as_it_begins_a_plan_begins_or_follows_it_in_its_next_life() {
    for autopilot in BOTH {
        for before in [true, false] {
            let plan = plan_of(items());
            let mut line = line(autopilot);
            line.pilot.take_plan(plan.clone());
            line.order(&order(1, FLY, Some(&plan), 0));
            line.until("up", 120, is_up);
            let begins = Some(MavCmd::MAV_CMD_DO_SET_MODE);
            *if before {
                &mut line.dies_before
            } else {
                &mut line.dies_after
            } = begins;
            restart(&mut line);
            line.pass(20);
            assert_eq!(report(&line).takeovers, 0, "{autopilot:?}, before: {before}");
            line.order(&order(1, FLY, Some(&plan), 0));
            line.until("at its end", 240, |line| progress(line).ended);
            let reached = progress(&line).reached;
            // Items before the first place are reached only for an agent that was there then.
            let from = u16::from(!before);
            assert_eq!(reached.ranges(), [(from, 5)], "{autopilot:?}, before: {before}");
            assert_eq!(report(&line).takeovers, 0, "{autopilot:?}, before: {before}");
        }
    }
}

#[test]
fn a_hold_that_was_never_obeyed_lends_its_name_to_nobodys_hold_after_it() {
    for autopilot in BOTH {
        let plan = plan_of(items());
        let mut line = flying(autopilot, &plan);
        line.order(&order(2, FLY, None, 0));
        line.dies_before = Some(MavCmd::MAV_CMD_DO_SET_MODE);
        restart(&mut line);
        line.order(&order(3, FLY, Some(&plan), 0));
        line.pass(10);
        assert!(progress(&line).flying, "{autopilot:?}");
        gives_back(&mut line, autopilot);
        line.until("let go", 15, |line| report(line).takeovers == 1);
    }
}
