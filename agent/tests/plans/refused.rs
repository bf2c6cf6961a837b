//! Plans that an autopilot or the agent refuses.

use super::*;

fn refusal(line: &Line) -> String {
    match progress(line).state {
        PlanState::Refused(words) => words,
        _ => String::new(),
    }
}

/// ArduPilot refused each photo of a route, as a number was left open.
#[test]
fn whatever_a_route_asks_for_is_taken_by_both_autopilots() {
    use model::plan::{Action, Waypoint};
    use model::station::Altitude;
    use model::units::{Heading, Meters, MetersPerSecond};
    for autopilot in BOTH {
        let home = Wgs84 {
            latitude_deg: HOME.lat_deg,
            longitude_deg: HOME.lon_deg,
        };
        let passed = Waypoint::passed(shifted(home, 0.0, 40.0), Altitude::AboveHome(AltitudeAboveHome(15.0)));
        let all = Waypoint {
            speed: Some(MetersPerSecond(4.0)),
            hold: std::time::Duration::from_secs(2),
            heading: Some(Heading(190.0)),
            actions: vec![Action::Photo, Action::TriggerEvery(Meters(5.0)), Action::StopTrigger],
            ..passed.clone()
        };
        let plan = plan_of(item::of_waypoints(&[passed, all]));
        let mut line = line(autopilot);
        line.pilot.take_plan(plan.clone());
        line.order(&order(1, FLY, Some(&plan), 0));
        line.until("finished", 120, |line| progress(line).finished);
        assert_eq!(refusal(&line), "");
    }
}

#[test]
fn a_plan_that_the_autopilot_refuses_keeps_the_vehicle_down_and_says_why() {
    for autopilot in BOTH {
        let command = match autopilot {
            Autopilot::ArduPilot => 195,
            Autopilot::Px4 => 18,
        };
        let mut items = items();
        items.push(place(command, 0.0, 0.0, [1.0, 0.0, 0.0]));
        let plan = plan_of(items);
        let mut line = line(autopilot);
        line.pilot.take_plan(plan.clone());
        line.order(&order(1, FLY, Some(&plan), 0));
        line.until("refused", 60, |line| {
            refusal(line).contains("it does not take these items")
        });
        line.pass(120);
        assert!(!line.vehicle.truth().armed, "{autopilot:?}");
        assert_eq!(report(&line).activity, Activity::NotArmable);
        let reasons: Vec<_> = report(&line).reasons.into_iter().map(|reason| reason.text).collect();
        assert!(
            reasons
                .iter()
                .any(|text| text.contains("the plan that it is to fly is refused")),
            "{reasons:?}"
        );
        let counts = line
            .wrote
            .iter()
            .filter(|(_, m)| matches!(m, MavMessage::MISSION_COUNT(_)))
            .count();
        assert!(
            (2..12).contains(&counts),
            "{autopilot:?}: tried {counts} times in two minutes"
        );
        let plan = plan_of(self::items());
        line.pilot.take_plan(plan.clone());
        line.order(&order(2, FLY, Some(&plan), 0));
        line.until("on another plan", 120, |line| progress(line).flying);
        assert_eq!(refusal(&line), "");
    }
}

/// PX4 accepts a mission that leaves its fence, and reports afterwards that it will not fly it.
#[test]
fn a_mission_outside_of_the_fence_that_px4_accepted_is_refused_in_its_words() {
    use model::rules::{Fence, Outline, Rules, RulesDigest, Shape, Side};
    let mut line = line(Autopilot::Px4);
    let home = Wgs84 {
        latitude_deg: HOME.lat_deg,
        longitude_deg: HOME.lon_deg,
    };
    let corners = [(30.0, 30.0), (30.0, -30.0), (-30.0, -30.0), (-30.0, 30.0)];
    let square = Shape {
        side: Side::Inside,
        outline: Outline::Polygon(corners.map(|(east, north)| shifted(home, east, north)).to_vec()),
    };
    line.pilot.take_rules(Rules {
        term: Term(3),
        digest: RulesDigest("a".to_owned()),
        fence: Some(Fence { shapes: vec![square] }),
        parameters: Vec::new(),
    });
    line.until("fenced", 60, |line| report(line).rules.in_force);
    let plan = plan_of(items());
    line.pilot.take_plan(plan.clone());
    line.order(&order(1, FLY, Some(&plan), 0));
    line.until("refused", 60, |line| {
        refusal(line).contains("Geofence violation for waypoint 2")
    });
    line.pass(60);
    assert!(refusal(&line).contains("Geofence violation for waypoint 2"));
    assert!(!line.vehicle.truth().armed);
}

#[test]
fn a_plan_that_arms_or_jumps_or_is_of_a_deposed_coordinator_is_never_uploaded() {
    let mut line = line(Autopilot::Px4);
    let plan = plan_of(items());
    line.order(&order(1, FLY, Some(&plan), 0));
    line.pilot.take_plan(FlightPlan {
        term: Term(2),
        ..plan.clone()
    });
    assert_eq!(progress(&line).held, None, "its sender no longer leads");
    let mut armed = plan.clone();
    armed.items.push(action(400, [1.0, 0.0, 0.0]));
    line.pilot.take_plan(armed);
    line.pass(60);
    assert!(
        refusal(&line).contains("item 6 (no command that Skein knows, command 400)"),
        "{}",
        refusal(&line)
    );
    assert_eq!(uploaded(&line, 0), [] as [u16; 0]);
    assert!(!line.vehicle.truth().armed);
}
