//! The target notices what it must, and its runs are flights.

use super::facts::{Facts, Mode, Ours, State};
use super::oracle::Oracle;
use super::{Tally, run};
use crate::seeds;
use agent::outgoing::Outgoing;
use link::dialect::{
    COMMAND_LONG_DATA, EXTENDED_SYS_STATE_DATA, GLOBAL_POSITION_INT_DATA, HEARTBEAT_DATA, HOME_POSITION_DATA,
    MavAutopilot, MavCmd, MavLandedState, MavMessage, MavModeFlag, MavSysStatusSensor, MavType, SYS_STATUS_DATA,
};
use model::assignment::{Assignment, Desired, Failsafe, GroundedWhy, Order};
use model::ids::{DroneName, DroneUid, Term};
use model::units::{Address, AltitudeAboveHome, ComponentId, SystemId};
use model::vehicle::{Autopilot, Identity};
use std::time::Duration;

#[test]
fn the_seeds_fly_land_kill_and_restart_and_nothing_is_wrong_with_them() {
    let mut all = Tally::default();
    for seed in seeds::flight() {
        let tally = run(&seed);
        assert_eq!(tally, run(&seed), "the same input is the same run");
        all += tally;
    }
    assert!(all.arms > 40 && all.takeoffs > 40 && all.descents > 10, "{all:?}");
    assert!(all.kills > 0 && all.restarts > 5 && all.refused > 5, "{all:?}");
}

const FLYING: Desired = Desired::Flying {
    altitude: AltitudeAboveHome(10.0),
};

fn order(desired: Desired) -> Order {
    Order::Assigned(Assignment {
        term: Term(4),
        uid: DroneUid("d".into()),
        name: DroneName {
            namespace: "field".into(),
            name: "d".into(),
        },
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
    })
}

fn beat(armed: bool, custom_mode: u32) -> MavMessage {
    let mut base_mode = MavModeFlag::empty();
    base_mode.set(MavModeFlag::MAV_MODE_FLAG_SAFETY_ARMED, armed);
    MavMessage::HEARTBEAT(HEARTBEAT_DATA {
        custom_mode,
        mavtype: MavType::MAV_TYPE_QUADROTOR,
        autopilot: MavAutopilot::MAV_AUTOPILOT_ARDUPILOTMEGA,
        base_mode,
        mavlink_version: 3,
        ..HEARTBEAT_DATA::default()
    })
}

fn landed(landed_state: MavLandedState) -> MavMessage {
    MavMessage::EXTENDED_SYS_STATE(EXTENDED_SYS_STATE_DATA {
        landed_state,
        ..EXTENDED_SYS_STATE_DATA::default()
    })
}

const NOW: u64 = 20_000;

fn passed() -> MavMessage {
    let mut health = MavSysStatusSensor::empty();
    health.set(MavSysStatusSensor::MAV_SYS_STATUS_PREARM_CHECK, true);
    MavMessage::SYS_STATUS(SYS_STATUS_DATA {
        onboard_control_sensors_health: health,
        battery_remaining: 90,
        ..SYS_STATUS_DATA::default()
    })
}

/// An oracle that has seen all that an arming takes, with GUIDED as the mode.
fn ready() -> Oracle {
    let mut oracle = Oracle::born(Default::default(), 10_000);
    let identity = Identity {
        autopilot: Autopilot::ArduPilot,
        system: SystemId(7),
        component: ComponentId(1),
        firmware: None,
        hardware: None,
    };
    oracle.received((7, 1), &beat(false, 4), None, 16_000);
    oracle.received((7, 1), &beat(false, 4), Some(&identity), NOW);
    oracle.received((7, 1), &passed(), None, NOW);
    oracle.received((7, 1), &landed(MavLandedState::MAV_LANDED_STATE_ON_GROUND), None, NOW);
    oracle.stream(true, NOW);
    oracle.order_received(&order(FLYING), true, NOW);
    oracle
}

fn command(command: MavCmd, param1: f32, param2: f32) -> Outgoing {
    Outgoing {
        from: Address::new(7, 191),
        message: MavMessage::COMMAND_LONG(COMMAND_LONG_DATA {
            command,
            param1,
            param2,
            target_system: 7,
            target_component: 1,
            ..COMMAND_LONG_DATA::default()
        }),
        within: Duration::from_millis(200),
        once_remembered: false,
        on_ground_until: None,
        permit: None,
    }
}

/// The oracle's objection to an arm command after `change`, or "". A permit cannot be made here, so the command is
/// judged without its frame.
fn against_arming(change: impl FnOnce(&mut Oracle)) -> String {
    failure_of(|| {
        let mut oracle = ready();
        change(&mut oracle);
        oracle.judge_arm([1.0, 0.0, 0.0, 0.0], NOW);
    })
}

fn failure_of(judge: impl FnOnce()) -> String {
    let judged = std::panic::catch_unwind(std::panic::AssertUnwindSafe(judge));
    judged.err().map_or_else(String::new, |why| {
        let text = why.downcast_ref::<String>().cloned();
        text.or_else(|| why.downcast_ref::<&str>().map(|text| (*text).to_owned()))
            .unwrap_or_default()
    })
}

#[test]
fn an_arming_that_an_invariant_forbids_is_noticed() {
    assert_eq!(against_arming(|_| ()), "");
    let received = |oracle: &mut Oracle, message: MavMessage| oracle.received((7, 1), &message, None, NOW);
    for (what, change) in [
        (
            "no leader orders it",
            &(|o: &mut Oracle| o.order_received(&order(GROUNDED), true, NOW)) as &dyn Fn(&mut Oracle),
        ),
        ("that is deposed", &|o| {
            let Order::Assigned(a) = order(FLYING) else { return };
            let newer = Assignment {
                term: Term(5),
                uid: DroneUid("e".into()),
                ..a
            };
            o.order_received(&Order::Assigned(newer), false, NOW);
        }),
        ("on an order of before", &|o| o.stream(false, NOW)),
        ("on an order of before", &|o| o.stream(true, NOW)),
        ("while ending", &|o| o.terminate()),
        ("not known to be down", &|o| {
            received(o, landed(MavLandedState::MAV_LANDED_STATE_IN_AIR))
        }),
        ("not known to be down", &|o| {
            received(o, landed(MavLandedState::MAV_LANDED_STATE_UNDEFINED))
        }),
        ("not known to be down", &|o| received(o, beat(true, 4))),
        ("another's mode", &|o| received(o, beat(false, 5))),
        ("checks do not pass", &|o| {
            received(o, MavMessage::SYS_STATUS(SYS_STATUS_DATA::default()))
        }),
        ("checks do not pass", &|o| {
            received(o, beat(false, 5));
            received(o, beat(false, 4));
            received(o, passed());
        }),
        ("armed after a kill", &|o| o.ledger.killed = true),
        ("came down unasked", &|o| o.ledger.over = true),
    ] {
        let text = against_arming(change);
        assert!(text.contains(what), "{what}: {text}");
    }
    let late = failure_of(|| ready().judge_arm([1.0, 0.0, 0.0, 0.0], NOW + 2001));
    assert!(late.contains("not heard lately"), "{late}");
    let force = failure_of(|| ready().judge_arm([1.0, 21_196.0, 0.0, 0.0], NOW));
    assert!(force.contains("forces"), "{force}");
    let twice = against_arming(|o| o.judge_arm([1.0, 0.0, 0.0, 0.0], NOW - 100));
    assert!(twice.contains("armed again"), "{twice}");
}

const GROUNDED: Desired = Desired::Grounded {
    why: GroundedWhy::Ordered,
};

#[test]
fn a_command_that_an_invariant_forbids_is_noticed() {
    let airborne = |custom_mode| {
        let mut oracle = ready();
        oracle.received((7, 1), &beat(true, custom_mode), None, NOW);
        oracle.received((7, 1), &landed(MavLandedState::MAV_LANDED_STATE_IN_AIR), None, NOW);
        oracle
    };
    let judged = |mut oracle: Oracle, out: Outgoing| failure_of(move || oracle.judge(&out, NOW));
    let land = || command(MavCmd::MAV_CMD_NAV_LAND, 0.0, 0.0);
    let height = |meters| {
        let mut out = command(MavCmd::MAV_CMD_DO_REPOSITION, -1.0, 0.0);
        if let MavMessage::COMMAND_LONG(m) = &mut out.message {
            m.param7 = meters;
        }
        out
    };
    for (what, text) in [
        ("not justified", judged(airborne(4), land())),
        (
            "not justified",
            judged(airborne(4), command(MavCmd::MAV_CMD_NAV_RETURN_TO_LAUNCH, 0.0, 0.0)),
        ),
        ("not armed", judged(ready(), land())),
        (
            "elsewhere than the ground",
            judged(ready(), command(MavCmd::MAV_CMD_NAV_TAKEOFF, 0.0, 0.0)),
        ),
        (
            "nothing is forced",
            judged(
                airborne(4),
                command(MavCmd::MAV_CMD_COMPONENT_ARM_DISARM, 0.0, 21_196.0),
            ),
        ),
        (
            "no business",
            judged(ready(), command(MavCmd::MAV_CMD_DO_FLIGHTTERMINATION, 1.0, 0.0)),
        ),
        (
            "without need",
            judged(airborne(4), command(MavCmd::MAV_CMD_DO_SET_MODE, 1.0, 4.0)),
        ),
        ("does not fly", judged(ready(), height(10.0))),
        ("does not hold", judged(airborne(6), height(10.0))),
        ("another height", judged(airborne(4), height(11.0))),
    ] {
        assert!(text.contains(what), "{what}: {text}");
    }
    assert_eq!(judged(airborne(4), height(10.0)), "");
    let mut stranger = land();
    if let MavMessage::COMMAND_LONG(m) = &mut stranger.message {
        m.target_system = 8;
    }
    assert!(judged(ready(), stranger).contains("stranger"));
    let ordered_down = |mut oracle: Oracle| {
        oracle.order_received(&order(GROUNDED), true, NOW);
        oracle
    };
    assert_eq!(judged(ordered_down(airborne(4)), land()), "");
    assert!(judged(ordered_down(airborne(5)), land()).contains("while a pilot flies"));
    let mut given_back = airborne(5);
    given_back.received((7, 1), &beat(true, 4), None, NOW);
    assert!(judged(ordered_down(given_back), land()).contains("after a takeover"));
}

/// ArduCopter's LOITER and RTL.
const LOITER: u32 = 5;
const RTL: u32 = 6;
const HOME: (i32, i32) = (473_977_420, 85_455_940);

/// An oracle that has seen a pilot take over, and then a return, once a second for so many seconds from [`NOW`] on:
/// `north` of home in degrees × 10⁷, and above it by `above_home_mm` of the second.
fn returning(seconds: u64, north: i32, above_home_mm: impl Fn(u64) -> i32) -> Oracle {
    let mut oracle = ready();
    let mut said = |message: MavMessage, at: u64| oracle.received((7, 1), &message, None, at);
    said(beat(true, LOITER), NOW);
    said(landed(MavLandedState::MAV_LANDED_STATE_IN_AIR), NOW);
    said(
        MavMessage::HOME_POSITION(HOME_POSITION_DATA {
            latitude: HOME.0,
            longitude: HOME.1,
            altitude: 488_000,
            ..HOME_POSITION_DATA::default()
        }),
        NOW,
    );
    for second in 0..=seconds {
        let at = NOW + second * 1000;
        let above_home = above_home_mm(second);
        said(beat(true, RTL), at);
        said(landed(MavLandedState::MAV_LANDED_STATE_IN_AIR), at);
        said(
            MavMessage::GLOBAL_POSITION_INT(GLOBAL_POSITION_INT_DATA {
                time_boot_ms: u32::try_from(at).unwrap(),
                lat: HOME.0 + north,
                lon: HOME.1,
                alt: 488_000 + above_home,
                relative_alt: above_home,
                ..GLOBAL_POSITION_INT_DATA::default()
            }),
            at,
        );
    }
    oracle
}

#[test]
fn only_a_persons_order_lands_a_return_and_only_after_half_a_minute_of_hover() {
    let landed_after = |seconds: u64, mut oracle: Oracle, desired: Desired| {
        let now = NOW + seconds * 1000;
        oracle.order_received(&order(desired), true, now);
        failure_of(move || oracle.judge(&command(MavCmd::MAV_CMD_NAV_LAND, 0.0, 0.0), now))
    };
    let hovers = |_: u64| 5000;
    assert_eq!(landed_after(30, returning(30, 0, hovers), GROUNDED), "");
    for why in [GroundedWhy::Deleted, GroundedWhy::Unbound, GroundedWhy::Waiting] {
        let text = landed_after(30, returning(30, 0, hovers), Desired::Grounded { why });
        assert!(text.contains("after a takeover"), "{why:?}: {text}");
    }
    let sinks = |second: u64| 15_000 - i32::try_from(second).unwrap() * 300;
    let begins_anew = |second: u64| if second < 2 { 15_000 } else { 5000 };
    for (what, oracle, seconds) in [
        ("it may still land by itself", returning(29, 0, hovers), 29),
        ("it is not over its home", returning(30, 1800, hovers), 30),
        ("it descends", returning(30, 0, sinks), 30),
        ("it was higher half a minute ago", returning(30, 0, begins_anew), 30),
    ] {
        let text = landed_after(seconds, oracle, GROUNDED);
        assert!(text.contains("after a takeover"), "{what}: {text}");
    }
    let mut elsewhere = returning(31, 0, hovers);
    elsewhere.received((7, 1), &beat(true, 4), None, NOW + 31_100);
    elsewhere.received((7, 1), &beat(true, RTL), None, NOW + 31_200);
    let text = landed_after(32, elsewhere, GROUNDED);
    assert!(text.contains("after a takeover"), "it held meanwhile: {text}");
}

#[test]
fn messages_of_the_vehicle_are_read_as_the_autopilots_mean_them() {
    let ours = Ours {
        system: 7,
        component: 1,
        autopilot: MavAutopilot::MAV_AUTOPILOT_ARDUPILOTMEGA,
        kind: MavType::MAV_TYPE_QUADROTOR,
    };
    let mut facts = Facts::default();
    assert_eq!(facts.state(NOW), State::Unknown);
    facts.note(&ours, &beat(true, 9), NOW);
    facts.note(&ours, &landed(MavLandedState::MAV_LANDED_STATE_LANDING), NOW);
    assert_eq!(
        (facts.state(NOW), facts.mode(&ours, NOW)),
        (State::InTheAir, Some(Mode::Land))
    );
    assert_eq!(
        (facts.state(NOW + 3001), facts.mode(&ours, NOW + 3001)),
        (State::Unknown, None)
    );
}
