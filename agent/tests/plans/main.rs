//! The pilot brings a plan onto simulated autopilots, follows, interrupts and resumes it. Must not: test the protocol
//! message by message, or who decides ([`fleet::flight::converge`]).
#![allow(deprecated, reason = "the one way to set an item that both know")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

mod again;
mod home;
mod killed;
mod others;
mod refused;

use agent::pilot::Pilot;
use agent::state_file::State;
use agent_testkit::line::{HOME, Line};
use agent_testkit::orders::assignment;
use link::dialect::{MISSION_ITEM_REACHED_DATA, MavCmd, MavMessage, MavMissionType};
use link::{Frame, LinkEvent};
use mavlink::MavHeader;
use model::assignment::{Assignment, Desired, GroundedWhy, Order};
use model::geo::{offset, shifted};
use model::ids::{NodeName, Term};
use model::plan::item::{self, Item};
use model::plan::{FlightPlan, PlanReport, PlanState};
use model::report::{Activity, Report};
use model::reported_flight::SoFar;
use model::route_order::{OrderNumber, RouteOrder, Waypoint};
use model::time::Moment;
use model::units::{AltitudeAboveHome, AltitudeAmsl, SystemId, Wgs84};
use model::vehicle::FlightTruth;
use sitl::model::{Autopilot, VehicleConfig};

const BOTH: [Autopilot; 2] = [Autopilot::ArduPilot, Autopilot::Px4];
const FLY: Desired = Desired::Flying {
    altitude: AltitudeAboveHome(10.0),
};

fn pilot(state: State, now: Moment) -> Pilot {
    Pilot::new(NodeName::parse("pine").unwrap(), state, now).as_ground_station(Some(SystemId(255)))
}

fn line(autopilot: Autopilot) -> Line {
    let config = VehicleConfig::new(autopilot, 7, HOME);
    let mut line = Line::new(pilot(State::default(), Moment::default()), config);
    line.pass(60);
    line
}

fn place(command: u16, east: f64, north: f64, params: [f64; 3]) -> Item {
    let home = Wgs84 {
        latitude_deg: HOME.lat_deg,
        longitude_deg: HOME.lon_deg,
    };
    let at = shifted(home, east, north);
    let [a, b, c] = params.map(Some);
    let (x, y) = (Some(at.latitude_deg), Some(at.longitude_deg));
    Item {
        command,
        frame: item::FRAME_GLOBAL_RELATIVE_ALT,
        params: [a, b, c, None, x, y, Some(15.0)],
        goes_on: true,
    }
}

const fn action(command: u16, params: [f64; 3]) -> Item {
    let [a, b, c] = params;
    Item {
        command,
        frame: item::FRAME_MISSION,
        params: [Some(a), Some(b), Some(c), Some(0.0), Some(0.0), Some(0.0), Some(0.0)],
        goes_on: true,
    }
}

fn items() -> Vec<Item> {
    vec![
        action(item::DO_CHANGE_SPEED, [1.0, 4.0, -1.0]),
        place(item::NAV_WAYPOINT, 0.0, 40.0, [0.0, 0.0, 0.0]),
        action(item::DO_SET_CAM_TRIGG_DIST, [5.0, 0.0, 1.0]),
        place(item::NAV_WAYPOINT, 50.0, 40.0, [2.0, 0.0, 0.0]),
        place(item::NAV_WAYPOINT, 50.0, 0.0, [3.0, 0.0, 0.0]),
        place(item::NAV_WAYPOINT, 30.0, 20.0, [0.0, 0.0, 0.0]),
    ]
}

fn plan_of(items: Vec<Item>) -> FlightPlan {
    FlightPlan::new(Term(3), items).unwrap()
}

fn order(generation: i64, desired: Desired, plan: Option<&FlightPlan>, resume_after: u32) -> Order {
    Order::Assigned(Assignment {
        plan: plan.map(|plan| plan.digest.clone()),
        resume_after,
        ..assignment(generation, desired)
    })
}

fn report(line: &Line) -> Report {
    line.pilot.report(line.now())
}

fn progress(line: &Line) -> PlanReport {
    report(line).plan
}

fn is_up(line: &Line) -> bool {
    matches!(line.truth(), FlightTruth::Airborne(_))
}

/// Commands and set items written since then; requests for messages are left out.
fn commands(line: &Line, since: u64) -> Vec<MavCmd> {
    let asks = [
        MavCmd::MAV_CMD_SET_MESSAGE_INTERVAL,
        MavCmd::MAV_CMD_REQUEST_MESSAGE,
        MavCmd::MAV_CMD_GET_MESSAGE_INTERVAL,
        MavCmd::MAV_CMD_RUN_PREARM_CHECKS,
    ];
    let wrote = line.wrote.iter().filter(|(at, _)| *at > since);
    let commands = wrote.filter_map(|(_, message)| match message {
        MavMessage::COMMAND_LONG(m) => Some(m.command),
        MavMessage::COMMAND_INT(m) => Some(m.command),
        MavMessage::MISSION_SET_CURRENT(_) => Some(MavCmd::MAV_CMD_DO_SET_MISSION_CURRENT),
        MavMessage::SET_MODE(_) => Some(MavCmd::MAV_CMD_MISSION_START),
        _ => None,
    });
    commands.filter(|command| !asks.contains(command)).collect()
}

/// Each once.
fn uploaded(line: &Line, since: u64) -> Vec<u16> {
    let mut items: Vec<(u16, u16)> = Vec::new();
    for (_, message) in line.wrote.iter().filter(|(at, _)| *at > since) {
        if let MavMessage::MISSION_ITEM_INT(m) = message
            && m.mission_type == MavMissionType::MAV_MISSION_TYPE_MISSION
        {
            items.push((m.seq, m.command as u16));
        }
    }
    items.sort_unstable();
    items.dedup();
    items.into_iter().map(|(_, command)| command).collect()
}

fn flying(autopilot: Autopilot, plan: &FlightPlan) -> Line {
    let mut line = line(autopilot);
    line.pilot.take_plan(plan.clone());
    line.order(&order(1, FLY, Some(plan), 0));
    line.until("on its plan", 120, |line| progress(line).flying);
    line
}

#[test]
fn a_plan_is_uploaded_on_the_ground_and_flown_by_the_autopilot_once_it_is_up() {
    for autopilot in BOTH {
        let plan = plan_of(items());
        let mut line = line(autopilot);
        line.pilot.take_plan(plan.clone());
        line.pass(20);
        assert_eq!(uploaded(&line, 0), [] as [u16; 0], "nobody has asked for it");
        line.order(&order(
            1,
            Desired::Grounded {
                why: GroundedWhy::Waiting,
            },
            Some(&plan),
            0,
        ));
        line.until("ready", 30, |line| progress(line).state == PlanState::Ready);
        assert!(!line.vehicle.truth().armed);
        assert_eq!(progress(&line).held, Some(plan.digest.clone()));
        line.order(&order(2, FLY, Some(&plan), 0));
        line.until("on its plan", 90, |line| progress(line).flying);
        let began = line.ms;
        line.until("on the second leg", 60, |line| progress(line).current == Some(3));
        assert_eq!(progress(&line).reached.ranges(), [(0, 2)]);
        assert_eq!(report(&line).activity, Activity::Moving);
        line.until("on the last leg", 180, |line| progress(line).current == Some(5));
        assert_eq!(
            commands(&line, began),
            [] as [MavCmd; 0],
            "{autopilot:?}: it is left alone"
        );
        line.until("finished", 60, |line| progress(line).finished);
        line.until("holding", 10, |line| report(line).activity == Activity::Holding);
        line.pass(20);
        let after = progress(&line);
        assert_eq!(
            (after.reached.ranges(), after.ended, after.flying),
            (&[(0, 5)][..], true, false)
        );
        assert_eq!(
            after.passed_beside.places, 0,
            "{autopilot:?}: {:?}",
            after.passed_beside
        );
        assert!(is_up(&line) && report(&line).takeovers == 0);
        let mode = report(&line).mode.unwrap();
        assert!(["GUIDED", "AUTO.LOITER"].contains(&mode.as_str()), "{mode}");
        let all = commands(&line, 0);
        assert!(!all.contains(&MavCmd::MAV_CMD_MISSION_START));
        let armed = all
            .iter()
            .filter(|command| **command == MavCmd::MAV_CMD_COMPONENT_ARM_DISARM);
        assert_eq!(armed.count(), 1, "{all:?}");
        assert!(
            !all.contains(&MavCmd::MAV_CMD_DO_REPOSITION),
            "its height is that of the plan"
        );
    }
}

/// With the acceptance radius that PX4 1.18 has by default.
fn wide_px4() -> Line {
    let config = VehicleConfig {
        parameters: vec![("NAV_ACC_RAD".to_owned(), 10.0)],
        ..VehicleConfig::new(Autopilot::Px4, 7, HOME)
    };
    let mut line = Line::new(pilot(State::default(), Moment::default()), config);
    line.pass(60);
    line
}

/// Meters over ground.
fn distance(line: &Line, item: &Item) -> f64 {
    let [.., x, y, _] = item.params;
    let place = Wgs84 {
        latitude_deg: x.unwrap(),
        longitude_deg: y.unwrap(),
    };
    let (east, north) = offset(place, report(line).position.unwrap().at);
    east.hypot(north)
}

#[test]
fn a_px4_flies_to_each_place_though_its_own_radius_is_ten_meters_unless_a_file_gives_one() {
    let end = place(item::NAV_WAYPOINT, 50.0, 0.0, [0.0, 0.0, 0.0]);
    let hold = place(item::NAV_LOITER_TIME, 0.0, 40.0, [1.0, 0.0, 0.0]);
    let by_the_file = place(item::NAV_WAYPOINT, 0.0, 40.0, [0.0, 10.0, 0.0]);
    let by_the_plan = place(item::NAV_WAYPOINT, 0.0, 40.0, [0.0, 0.0, 0.0]);
    for (first, comes_near) in [(hold, true), (by_the_file, false), (by_the_plan, true)] {
        let plan = plan_of(vec![action(item::DO_CHANGE_SPEED, [1.0, 4.0, -1.0]), first, end]);
        let mut line = wide_px4();
        line.pilot.take_plan(plan.clone());
        line.order(&order(1, FLY, Some(&plan), 0));
        let near = |line: &Line| distance(line, &first) < 2.0;
        line.until("near or past the first place", 240, |line| {
            near(line) || progress(line).reached.has(1)
        });
        assert_eq!(near(&line), comes_near, "{first:?}: {} m", distance(&line, &first));
        line.until("finished", 240, |line| progress(line).finished);
        assert_eq!(progress(&line).passed_beside.places, 0, "{first:?}");
    }
}

#[test]
fn a_place_that_an_autopilot_takes_for_reached_ten_meters_from_it_was_passed_beside() {
    let first = place(item::NAV_WAYPOINT, 0.0, 40.0, [0.0, 0.0, 0.0]);
    let end = place(item::NAV_WAYPOINT, 50.0, 0.0, [0.0, 0.0, 0.0]);
    let plan = plan_of(vec![action(item::DO_CHANGE_SPEED, [1.0, 4.0, -1.0]), first, end]);
    let mut line = line(Autopilot::Px4);
    line.pilot.take_plan(plan.clone());
    line.order(&order(1, FLY, Some(&plan), 0));
    line.until("ten meters before", 240, |line| {
        is_up(line) && distance(line, &first) < 10.0
    });
    let frame = Frame {
        header: MavHeader {
            system_id: 7,
            component_id: 1,
            sequence: 0,
        },
        message: MavMessage::MISSION_ITEM_REACHED(MISSION_ITEM_REACHED_DATA { seq: 1 }),
        at: tokio::time::Instant::now(),
        unchecked_signature: false,
    };
    let now = line.now();
    line.pilot.receive(&LinkEvent::Frame(Box::new(frame)), now, 0.5);
    line.until("finished", 240, |line| progress(line).finished);
    let passed = progress(&line).passed_beside;
    assert_eq!(passed.places, 1, "{passed:?}");
    assert!((7.0..=10.5).contains(&passed.farthest.0), "{passed:?}");
}

#[test]
fn an_agent_that_is_restarted_in_the_middle_goes_on_following_and_tells_the_same() {
    for autopilot in BOTH {
        let plan = plan_of(items());
        let mut line = flying(autopilot, &plan);
        line.until("past the first place", 90, |line| progress(line).reached.has(1));
        line.pass(2);
        let (before, began) = (progress(&line), line.ms);
        let state = serde_json::to_string(line.pilot.state()).unwrap();
        let state: State = serde_json::from_str(&state).unwrap();
        line.replace(pilot(state, line.now()));
        assert_eq!(progress(&line).reached, before.reached);
        line.order(&order(1, FLY, Some(&plan), 0));
        line.until("finished", 180, |line| progress(line).finished);
        assert_eq!(report(&line).takeovers, 0);
        assert_eq!(
            uploaded(&line, began),
            [] as [u16; 0],
            "{autopilot:?}: it was only read"
        );
        assert!(!commands(&line, began).contains(&MavCmd::MAV_CMD_COMPONENT_ARM_DISARM));
    }
}

#[test]
fn on_a_link_that_loses_every_twelfth_frame_only_what_was_reached_is_told() {
    for autopilot in BOTH {
        let plan = plan_of(items());
        let mut line = line(autopilot);
        line.loses = Some(12);
        line.pilot.take_plan(plan.clone());
        line.order(&order(1, FLY, Some(&plan), 0));
        line.until("at its end", 400, |line| progress(line).ended);
        let reached = progress(&line).reached;
        assert!(reached.has(3) && reached.has(4), "it waited there: {reached:?}");
        assert_eq!(report(&line).takeovers, 0);
    }
}

#[test]
fn a_withdrawn_plan_stops_and_named_again_goes_on_where_it_was_with_its_settings() {
    for autopilot in BOTH {
        let plan = plan_of(items());
        let mut line = flying(autopilot, &plan);
        line.until("on the second leg", 90, |line| progress(line).reached.has(2));
        line.order(&order(2, FLY, None, 0));
        line.until("holding", 20, |line| {
            report(line).activity == Activity::Holding && !progress(line).flying
        });
        line.pass(30);
        assert_eq!(report(&line).takeovers, 0, "{autopilot:?}: it was us");
        assert_eq!(progress(&line).reached.ranges(), [(0, 2)]);
        let again = line.ms;
        line.order(&order(3, FLY, Some(&plan), 0));
        line.until("finished", 240, |line| progress(line).finished);
        let home: &[u16] = if autopilot == Autopilot::ArduPilot { &[16] } else { &[] };
        let rest = [item::DO_CHANGE_SPEED, item::DO_SET_CAM_TRIGG_DIST, 16, 16, 16];
        assert_eq!(uploaded(&line, again), [home, &rest].concat(), "{autopilot:?}");
    }
}

/// Without a plan, to hold so high above its home.
fn stop(generation: i64, from: f64, to: f64) -> Order {
    let place = |up: f64| Waypoint {
        at: Wgs84 {
            latitude_deg: HOME.lat_deg,
            longitude_deg: HOME.lon_deg,
        },
        amsl: AltitudeAmsl(HOME.amsl_m + up),
    };
    let term = Term(3);
    Order::Assigned(Assignment {
        routed: true,
        route: Some(RouteOrder {
            number: OrderNumber { term, count: 1 },
            places: vec![place(from), place(to)],
            room: None,
        }),
        ..assignment(generation, FLY)
    })
}

#[test]
fn a_vehicle_that_is_stopped_in_the_climb_to_its_plan_flies_it_from_there_once_named_again() {
    for autopilot in BOTH {
        let plan = plan_of(items());
        let mut line = line(autopilot);
        line.pilot.take_plan(plan.clone());
        line.order(&order(1, FLY, Some(&plan), 0));
        line.until("3 m up", 120, |line| line.vehicle.truth().height_m > 3.0);
        line.order(&stop(2, 3.0, 7.0));
        line.until("holding", 30, |line| report(line).activity == Activity::Holding);
        for _ in 0..500 {
            line.step();
            let up = line.vehicle.truth().height_m;
            assert!(up < 8.5, "{autopilot:?}: {up} m");
        }
        assert!(!progress(&line).flying);
        line.order(&order(3, FLY, Some(&plan), 0));
        line.until("finished", 240, |line| progress(line).finished);
        assert_eq!(report(&line).takeovers, 0, "{autopilot:?}: it was us");
    }
}

#[test]
fn a_ground_order_lands_it_from_its_plan_and_its_progress_is_kept() {
    for autopilot in BOTH {
        let plan = plan_of(items());
        let mut line = flying(autopilot, &plan);
        line.until("past the first place", 90, |line| progress(line).reached.has(1));
        line.order(&order(
            2,
            Desired::Grounded {
                why: GroundedWhy::Ordered,
            },
            None,
            0,
        ));
        line.until("on the ground", 90, |line| line.truth() == FlightTruth::Disarmed);
        assert_eq!(report(&line).takeovers, 0, "{autopilot:?}");
        assert!(progress(&line).reached.has(1) && !progress(&line).flying);
    }
}

#[test]
fn a_return_by_the_last_item_is_the_plans_own_and_ends_the_flight() {
    for autopilot in BOTH {
        let mut items = items();
        items.truncate(2);
        items.push(action(item::NAV_RETURN_TO_LAUNCH, [0.0; 3]));
        let plan = plan_of(items);
        let mut line = flying(autopilot, &plan);
        line.until("on the ground", 240, |line| line.truth() == FlightTruth::Disarmed);
        line.pass(5);
        let after = report(&line);
        assert!(after.plan.finished, "{autopilot:?}: {after:?}");
        assert_eq!(
            (after.takeovers, after.so_far, after.diversion),
            (0, SoFar::Over, None),
            "{autopilot:?}"
        );
        let down = line.ms;
        line.pass(30);
        assert!(!commands(&line, down).contains(&MavCmd::MAV_CMD_COMPONENT_ARM_DISARM));
    }
}
