//! The pilot alone, one event at a time: what one mishap must not do.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use agent::outgoing::{Outgoing, Written};
use agent::pilot::Pilot;
use agent::state_file::State;
use agent_testkit::alone::{self, command, pilot_with};
use agent_testkit::orders::assignment;
use fleet::flight_record::Stage;
use link::dialect::{
    AUTOPILOT_VERSION_DATA, COMMAND_ACK_DATA, EXTENDED_SYS_STATE_DATA, GLOBAL_POSITION_INT_DATA, HEARTBEAT_DATA,
    HOME_POSITION_DATA, MavAutopilot, MavCmd, MavLandedState, MavMessage, MavModeFlag, MavResult, MavSysStatusSensor,
    MavType, PARAM_VALUE_DATA, SYS_STATUS_DATA, SYSTEM_TIME_DATA,
};
use link::{Frame, LinkEvent};
use mavlink::MavHeader;
use model::assignment::{Assignment, Desired, GroundedWhy, OnCoordinatorLoss, Order};
use model::ids::{DroneUid, Term};
use model::kill::{KillOrder, KillOutcome};
use model::preflight_policy::Preflight;
use model::remote_id::{Location, Operator, RemoteIdOrder};
use model::report::{Activity, HandsOff};
use model::reported_flight::{ReportedFlight, SoFar};
use model::route_order::OrderNumber;
use model::stand_down::{StandUp, StoodDown};
use model::time::Moment;
use model::units::{Address, AltitudeAboveHome, AltitudeAmsl, SystemId, Wgs84};
use model::vehicle::{FlightTruth, HardwareUid, WhyUnknown};
use std::time::Duration;

const GUIDED: u32 = 4;
const LOITER: u32 = 5;
const FLY: Desired = Desired::Flying {
    altitude: AltitudeAboveHome(10.0),
};
const GROUND: Desired = Desired::Grounded {
    why: GroundedWhy::Deleted,
};

/// Silence on the wire before a test begins, but for the autopilot.
const ALONE: Duration = Duration::from_secs(3);

fn at(ms: u64) -> Moment {
    Moment::at(ALONE + Duration::from_millis(ms))
}

fn receive(pilot: &mut Pilot, message: MavMessage, ms: u64) {
    alone::receive(pilot, message, at(ms));
}

fn beat(custom_mode: u32, armed: MavModeFlag) -> HEARTBEAT_DATA {
    alone::beat(MavAutopilot::MAV_AUTOPILOT_ARDUPILOTMEGA, custom_mode, armed)
}

fn reports(pilot: &mut Pilot, armed: bool, landed_state: MavLandedState, custom_mode: u32, ms: u64) {
    let armed = if armed {
        MavModeFlag::MAV_MODE_FLAG_SAFETY_ARMED
    } else {
        MavModeFlag::empty()
    };
    let beat = beat(custom_mode, armed);
    let health = SYS_STATUS_DATA {
        onboard_control_sensors_health: MavSysStatusSensor::MAV_SYS_STATUS_PREARM_CHECK,
        ..SYS_STATUS_DATA::default()
    };
    let landed = EXTENDED_SYS_STATE_DATA {
        landed_state,
        ..EXTENDED_SYS_STATE_DATA::default()
    };
    receive(pilot, MavMessage::HEARTBEAT(beat), ms);
    receive(pilot, MavMessage::EXTENDED_SYS_STATE(landed), ms);
    receive(pilot, MavMessage::SYS_STATUS(health), ms);
    // An altitude of home counts once it was received twice.
    let home = HOME_POSITION_DATA {
        altitude: 488_000,
        ..HOME_POSITION_DATA::default()
    };
    for _ in 0..2 {
        receive(pilot, MavMessage::HOME_POSITION(home.clone()), ms);
    }
}

fn on_ground(pilot: &mut Pilot, ms: u64) {
    reports(pilot, false, MavLandedState::MAV_LANDED_STATE_ON_GROUND, GUIDED, ms);
}

fn pilot() -> Pilot {
    let begin = Moment::default();
    let mut pilot = pilot_with(State::default(), begin);
    let beat = beat(GUIDED, MavModeFlag::empty());
    alone::receive(&mut pilot, MavMessage::HEARTBEAT(beat), begin);
    pilot
}

fn assigned(pilot: &mut Pilot, generation: i64, desired: Desired, ms: u64) {
    let order = Order::Assigned(assignment(generation, desired));
    pilot.uplink_opened(at(ms));
    takes(pilot, &order, ms);
}

fn written(pilot: &mut Pilot, ms: u64) -> Vec<Outgoing> {
    alone::written(pilot, at(ms))
}

fn armed_by(out: &[Outgoing]) -> bool {
    out.iter().any(|o| o.permit.is_some())
}

fn settled(pilot: &Pilot, ms: u64) -> bool {
    pilot.report(at(ms)).held.unwrap().settled
}

const ARM: MavCmd = MavCmd::MAV_CMD_COMPONENT_ARM_DISARM;
const LAND: MavCmd = MavCmd::MAV_CMD_NAV_LAND;

fn ground_station_beats(pilot: &mut Pilot, span: std::ops::Range<u64>) -> Vec<u64> {
    let mut beats = Vec::new();
    for ms in span.step_by(100) {
        while let Some(out) = pilot.next(at(ms), 0.0) {
            if out.from == Address::new(255, 190) {
                assert!(matches!(out.message, MavMessage::HEARTBEAT(m) if m.mavtype == MavType::MAV_TYPE_GCS));
                beats.push(ms);
            }
            pilot.written(Written::Yes, at(ms), 0.0);
        }
    }
    beats
}

#[test]
fn failsafes_that_were_read_for_the_drone_before_let_no_other_arm() {
    let ordered = |uid: &str, desired| {
        let mut assignment = assignment(1, desired);
        assignment.uid = DroneUid(uid.into());
        assignment.failsafe.preflight = Preflight::Refuse;
        Order::Assigned(assignment)
    };
    let on_ground_with_power = |pilot: &mut Pilot, ms| {
        on_ground(pilot, ms);
        let health = SYS_STATUS_DATA {
            onboard_control_sensors_health: MavSysStatusSensor::MAV_SYS_STATUS_PREARM_CHECK,
            voltage_battery: 16_000,
            battery_remaining: 90,
            ..SYS_STATUS_DATA::default()
        };
        receive(pilot, MavMessage::SYS_STATUS(health), ms);
    };
    let answer = |pilot: &mut Pilot, ms| {
        for (name, value) in [
            ("FS_GCS_ENABLE", 5.0),
            ("BATT_FS_LOW_ACT", 2.0),
            ("FS_GCS_TIMEOUT", 5.0),
            ("FS_OPTIONS", 0.0),
            ("BATT_LOW_VOLT", 14.0),
            ("BATT_LOW_MAH", 0.0),
            ("RTL_ALT", 1500.0),
            ("RTL_ALT_TYPE", 0.0),
            ("RTL_ALT_FINAL", 0.0),
            ("RTL_CLIMB_MIN", 0.0),
            ("WPNAV_RADIUS", 200.0),
            ("RALLY_TOTAL", 0.0),
            ("BATT_FS_CRT_ACT", 0.0),
            ("FS_THR_ENABLE", 1.0),
            ("FENCE_ACTION", 1.0),
        ] {
            let value = PARAM_VALUE_DATA {
                param_value: value,
                param_id: name.into(),
                ..PARAM_VALUE_DATA::default()
            };
            receive(pilot, MavMessage::PARAM_VALUE(value), ms);
        }
    };
    let mut pilot = pilot();
    on_ground_with_power(&mut pilot, 100);
    pilot.uplink_opened(at(100));
    takes(&mut pilot, &ordered("u-1", GROUND), 100);
    answer(&mut pilot, 200);
    let none = Order::Unassigned {
        term: Term(3),
        void: OrderNumber::default(),
    };
    takes(&mut pilot, &none, 300);
    on_ground_with_power(&mut pilot, 1000);
    written(&mut pilot, 1000);
    takes(&mut pilot, &ordered("u-2", FLY), 1000);
    let out = written(&mut pilot, 1000);
    assert!(!armed_by(&out), "somebody may have set them meanwhile: {out:?}");
    on_ground_with_power(&mut pilot, 1500);
    assert!(!armed_by(&written(&mut pilot, 1500)));
    answer(&mut pilot, 1600);
    on_ground_with_power(&mut pilot, 1700);
    assert!(armed_by(&written(&mut pilot, 1700)));
}

#[test]
fn a_ground_stations_heartbeat_lives_and_dies_with_the_contact_to_the_coordinator() {
    let mut pilot = pilot().as_ground_station(Some(SystemId(255)));
    on_ground(&mut pilot, 100);
    assert_eq!(ground_station_beats(&mut pilot, 500..3000), [0; 0]);
    assigned(&mut pilot, 1, GROUND, 3000);
    assert_eq!(ground_station_beats(&mut pilot, 3000..6000), [3000, 4000, 5000]);
    pilot.uplink_closed(at(6000));
    assert_eq!(ground_station_beats(&mut pilot, 6000..60_000).last(), Some(&26_000));
    // A stream without a leader's message is no contact.
    pilot.uplink_opened(at(60_000));
    assert_eq!(ground_station_beats(&mut pilot, 60_000..90_000), [0; 0]);
}

#[test]
fn an_arm_command_on_its_way_is_not_forgotten_with_a_heartbeat_of_ours() {
    let mut pilot = pilot();
    on_ground(&mut pilot, 100);
    written(&mut pilot, 100);
    assigned(&mut pilot, 1, FLY, 900);
    on_ground(&mut pilot, 900);
    assert!(armed_by(&written(&mut pilot, 900)));
    on_ground(&mut pilot, 1500);
    let out = pilot.next(at(1500), 0.0).unwrap();
    assert!(matches!(out.message, MavMessage::HEARTBEAT(_)), "{out:?}");
    pilot.written(Written::No, at(1500), 0.0);
    assert!(!settled(&pilot, 1500), "the arm command is still under way");
}

#[test]
fn a_kill_amid_an_arm_command_is_not_answered_by_the_answer_to_that() {
    let mut pilot = pilot();
    on_ground(&mut pilot, 100);
    written(&mut pilot, 100);
    assigned(&mut pilot, 1, FLY, 900);
    on_ground(&mut pilot, 900);
    assert!(armed_by(&written(&mut pilot, 900)));
    let kill = KillOrder {
        nonce: 5,
        uid: DroneUid("u-1".into()),
        term: Term(3),
        last_report: at(950),
    };
    assert!(pilot.kill(&kill, at(1000), at(1000), 0.0).is_some());
    pilot.kill_written(Written::Yes);
    let ack = COMMAND_ACK_DATA {
        command: ARM,
        result: MavResult::MAV_RESULT_ACCEPTED,
        ..COMMAND_ACK_DATA::default()
    };
    receive(&mut pilot, MavMessage::COMMAND_ACK(ack), 1100);
    reports(
        &mut pilot,
        true,
        MavLandedState::MAV_LANDED_STATE_ON_GROUND,
        GUIDED,
        1500,
    );
    assert_eq!(pilot.kill_answer(), None, "its motors run");
    written(&mut pilot, 3000);
    let answer = pilot.kill_answer().map(|answer| &answer.outcome);
    assert_eq!(answer, Some(&KillOutcome::NoAnswer));
}

/// He disarms it by his transmitter while the propellers spool up, and walks up to it.
#[test]
fn a_vehicle_whose_motors_a_person_has_stopped_is_not_armed_again() {
    let stands = MavLandedState::MAV_LANDED_STATE_ON_GROUND;
    let mut pilot = pilot();
    on_ground(&mut pilot, 100);
    written(&mut pilot, 100);
    assigned(&mut pilot, 1, FLY, 900);
    on_ground(&mut pilot, 900);
    assert!(armed_by(&written(&mut pilot, 900)));
    for ms in (1500..4000).step_by(500) {
        reports(&mut pilot, true, stands, GUIDED, ms);
        written(&mut pilot, ms);
    }
    for ms in (4000..120_000).step_by(500) {
        on_ground(&mut pilot, ms);
        assert_eq!(commands(&written(&mut pilot, ms)), [], "at {ms} ms");
    }
    let report = pilot.report(at(119_500));
    assert_eq!(
        (report.takeovers, report.activity),
        (1, Activity::HandsOff(HandsOff::TakenOver))
    );
}

/// Ordered to arm at 0.9 s.
fn ordered_to_arm() -> Pilot {
    let mut pilot = pilot();
    on_ground(&mut pilot, 100);
    written(&mut pilot, 100);
    assigned(&mut pilot, 1, FLY, 900);
    on_ground(&mut pilot, 900);
    assert!(armed_by(&written(&mut pilot, 900)));
    pilot
}

/// The first HEARTBEAT after the arming is of after his stop.
#[test]
fn a_person_who_stops_the_motors_at_once_finds_them_stopped() {
    let mut pilot = ordered_to_arm();
    let ack = COMMAND_ACK_DATA {
        command: ARM,
        result: MavResult::MAV_RESULT_ACCEPTED,
        ..COMMAND_ACK_DATA::default()
    };
    receive(&mut pilot, MavMessage::COMMAND_ACK(ack), 950);
    for ms in (1500..120_000).step_by(500) {
        on_ground(&mut pilot, ms);
        assert_eq!(commands(&written(&mut pilot, ms)), [], "at {ms} ms");
    }
    let report = pilot.report(at(119_500));
    assert_eq!(
        (report.takeovers, report.activity),
        (1, Activity::HandsOff(HandsOff::TakenOver))
    );
}

/// He flips the switch of his transmitter while the propellers spool up; they stop by themselves after 10 s.
#[test]
fn a_vehicle_that_a_pilot_takes_before_liftoff_is_his() {
    let stands = MavLandedState::MAV_LANDED_STATE_ON_GROUND;
    let mut pilot = ordered_to_arm();
    for ms in [1500, 2000] {
        reports(&mut pilot, true, stands, GUIDED, ms);
        written(&mut pilot, ms);
    }
    for ms in (2500..120_000).step_by(500) {
        reports(&mut pilot, ms < 11_000, stands, LOITER, ms);
        assert_eq!(commands(&written(&mut pilot, ms)), [], "at {ms} ms");
    }
    let report = pilot.report(at(119_500));
    assert_eq!(
        (report.takeovers, report.activity),
        (1, Activity::HandsOff(HandsOff::TakenOver))
    );
}

/// The current of the motors resets its computer.
#[test]
fn an_arm_command_that_the_agent_did_not_survive_is_not_repeated_by_the_next() {
    let stands = MavLandedState::MAV_LANDED_STATE_ON_GROUND;
    let before = ordered_to_arm();
    let mut pilot = next_life(&before, 2000);
    for ms in (2500..90_000).step_by(500) {
        reports(&mut pilot, ms < 10_000, stands, GUIDED, ms);
        if ms == 3000 {
            assigned(&mut pilot, 1, FLY, ms);
        }
        assert_eq!(commands(&written(&mut pilot, ms)), [], "at {ms} ms");
    }
    let report = pilot.report(at(89_500));
    assert_eq!(report.activity, Activity::HandsOff(HandsOff::FlightOver));
    assert!(report.stand_down.is_some());
}

/// He tests its motors, and stands beside it.
#[test]
fn a_vehicle_rests_from_a_person_who_has_armed_it_on_the_ground() {
    let stands = MavLandedState::MAV_LANDED_STATE_ON_GROUND;
    let mut pilot = pilot();
    for ms in (100..6000).step_by(500) {
        on_ground(&mut pilot, ms);
        written(&mut pilot, ms);
    }
    for ms in [6200, 6700, 7200] {
        reports(&mut pilot, true, stands, GUIDED, ms);
        written(&mut pilot, ms);
    }
    on_ground(&mut pilot, 7700);
    assigned(&mut pilot, 1, FLY, 7700);
    let mut armed_at = None;
    for ms in (8000..90_000).step_by(500) {
        on_ground(&mut pilot, ms);
        let armed = armed_by(&written(&mut pilot, ms));
        armed_at = armed_at.or(armed.then_some(ms));
    }
    assert!(
        armed_at.is_some_and(|ms| (67_000..69_000).contains(&ms)),
        "{armed_at:?}"
    );
    assert_eq!(pilot.state().record.takeovers, 0);
}

/// He has armed it before the agent began to hear it, to test its motors or to fly it in a mode of ours.
#[test]
fn a_vehicle_that_the_agent_finds_armed_is_somebody_elses_unless_its_record_says_otherwise() {
    let found = || {
        let (_, state) = serves();
        let mut pilot = pilot_with(state, Moment::default());
        for ms in (100..3000).step_by(500) {
            reports(&mut pilot, true, MavLandedState::MAV_LANDED_STATE_ON_GROUND, GUIDED, ms);
            if ms == 100 {
                is_hardware(&mut pilot, 1, ms);
                assigned(&mut pilot, 1, FLY, ms);
            }
            assert_eq!(commands(&written(&mut pilot, ms)), [], "at {ms} ms");
        }
        pilot
    };
    let mut stopped = found();
    let mut armed_at = None;
    for ms in (3000..90_000).step_by(500) {
        on_ground(&mut stopped, ms);
        let armed = armed_by(&written(&mut stopped, ms));
        armed_at = armed_at.or(armed.then_some(ms));
    }
    assert!(
        armed_at.is_some_and(|ms| (62_000..64_000).contains(&ms)),
        "{armed_at:?}"
    );
    assert_eq!(stopped.state().record.takeovers, 0);
    let mut flown = found();
    for ms in (3000..20_000).step_by(500) {
        reports(&mut flown, true, MavLandedState::MAV_LANDED_STATE_IN_AIR, GUIDED, ms);
        assert_eq!(commands(&written(&mut flown, ms)), [], "at {ms} ms");
    }
    assert_eq!(flown.state().record.takeovers, 1);
}

#[test]
fn a_vehicle_whose_autopilot_asks_elsewhere_for_leave_to_arm_is_not_settled() {
    let mut pilot = pilot();
    on_ground(&mut pilot, 100);
    written(&mut pilot, 100);
    assigned(&mut pilot, 1, FLY, 900);
    on_ground(&mut pilot, 900);
    assert!(armed_by(&written(&mut pilot, 900)));
    let ack = COMMAND_ACK_DATA {
        command: ARM,
        result: MavResult::MAV_RESULT_IN_PROGRESS,
        ..COMMAND_ACK_DATA::default()
    };
    receive(&mut pilot, MavMessage::COMMAND_ACK(ack), 1000);
    assigned(&mut pilot, 2, GROUND, 2000);
    for ms in (2000..30_000).step_by(1000) {
        on_ground(&mut pilot, ms);
        written(&mut pilot, ms);
        assert!(!settled(&pilot, ms), "at {ms} ms");
    }
    on_ground(&mut pilot, 31_100);
    assert!(settled(&pilot, 31_100));
}

#[test]
fn a_land_command_without_an_answer_is_not_repeated_against_a_pilot_who_took_over() {
    let airborne = MavLandedState::MAV_LANDED_STATE_IN_AIR;
    for (mode, repeated) in [(GUIDED, true), (LOITER, false)] {
        let mut pilot = pilot();
        reports(&mut pilot, true, airborne, GUIDED, 100);
        // Its agent has lost its disk in flight.
        let order = Order::Assigned(Assignment {
            reported_flight: ReportedFlight {
                so_far: SoFar::Flown,
                ..ReportedFlight::default()
            },
            ..assignment(1, GROUND)
        });
        pilot.uplink_opened(at(200));
        takes(&mut pilot, &order, 200);
        let lands = |out: Vec<Outgoing>| out.iter().any(|o| command(o) == Some(LAND));
        assert!(lands(written(&mut pilot, 200)));
        reports(&mut pilot, true, airborne, mode, 900);
        assert_eq!(lands(written(&mut pilot, 1300)), repeated);
    }
}

/// PX4's AUTO.LOITER and POSCTL.
const HOLD: u32 = 0x0304_0000;
const POSCTL: u32 = 0x0003_0000;
const HIGHER: Desired = Desired::Flying {
    altitude: AltitudeAboveHome(25.0),
};

fn px4_beat(custom_mode: u32, armed: MavModeFlag) -> HEARTBEAT_DATA {
    alone::beat(MavAutopilot::MAV_AUTOPILOT_PX4, custom_mode, armed)
}

fn px4_hovers(pilot: &mut Pilot, ms: u64) {
    let beat = px4_beat(HOLD, MavModeFlag::MAV_MODE_FLAG_SAFETY_ARMED);
    hovers_as(pilot, beat, 488_000, ms);
}

fn px4_pilot() -> Pilot {
    let begin = Moment::default();
    let mut pilot = pilot_with(State::default(), begin);
    let first = px4_beat(HOLD, MavModeFlag::empty());
    alone::receive(&mut pilot, MavMessage::HEARTBEAT(first), begin);
    pilot
}

fn moves(pilot: &mut Pilot, ms: u64) -> bool {
    commands(&written(pilot, ms)).contains(&MavCmd::MAV_CMD_DO_REPOSITION)
}

/// PX4 changes to Hold for it from any mode, also from that of a pilot who has taken over meanwhile.
#[test]
fn a_movement_is_repeated_only_once_a_heartbeat_names_a_mode_of_ours() {
    for asks_for_another_form in [false, true] {
        for (mode, repeated) in [(HOLD, true), (POSCTL, false)] {
            let mut pilot = px4_pilot();
            px4_hovers(&mut pilot, 100);
            assigned(&mut pilot, 1, HIGHER, 500);
            assert!(moves(&mut pilot, 500));
            if asks_for_another_form {
                let answer = COMMAND_ACK_DATA {
                    command: MavCmd::MAV_CMD_DO_REPOSITION,
                    result: MavResult::MAV_RESULT_COMMAND_UNSUPPORTED_MAV_FRAME,
                    ..COMMAND_ACK_DATA::default()
                };
                receive(&mut pilot, MavMessage::COMMAND_ACK(answer), 1400);
            }
            for ms in [1500, 1800, 2100] {
                assert!(!moves(&mut pilot, ms), "at {ms} ms");
            }
            let beat = px4_beat(mode, MavModeFlag::MAV_MODE_FLAG_SAFETY_ARMED);
            receive(&mut pilot, MavMessage::HEARTBEAT(beat), 2200);
            assert_eq!(moves(&mut pilot, 2200), repeated, "{asks_for_another_form}");
        }
    }
}

/// A HEARTBEAT comes while it waits, or is lost.
#[test]
fn a_command_that_waited_for_the_disk_is_not_written_against_a_pilot() {
    for (mode, ms, is_wanted) in [
        (None, 700, true),
        (Some(HOLD), 1800, true),
        (Some(POSCTL), 700, false),
        (None, 1800, false),
    ] {
        let mut pilot = px4_pilot();
        px4_hovers(&mut pilot, 100);
        assigned(&mut pilot, 1, HIGHER, 500);
        let out = pilot.next(at(500), 0.0).unwrap();
        assert_eq!(command(&out), Some(MavCmd::MAV_CMD_DO_REPOSITION));
        if let Some(mode) = mode {
            let beat = px4_beat(mode, MavModeFlag::MAV_MODE_FLAG_SAFETY_ARMED);
            receive(&mut pilot, MavMessage::HEARTBEAT(beat), ms);
        }
        assert_eq!(pilot.is_still_wanted(at(ms)), is_wanted, "{mode:?} after {ms} ms");
    }
}

/// A person has changed its mode, has armed it, or switches it off; or nothing is heard of it.
#[test]
fn an_arm_command_that_waited_for_the_disk_is_decided_again_before_it_is_written() {
    for (heard, ms, is_wanted) in [
        (None, 1000, true),
        (Some((false, GUIDED)), 1800, true),
        (Some((false, LOITER)), 1800, false),
        (Some((true, GUIDED)), 1800, false),
        (None, 3000, false),
    ] {
        let mut pilot = pilot();
        on_ground(&mut pilot, 100);
        written(&mut pilot, 100);
        assigned(&mut pilot, 1, FLY, 900);
        on_ground(&mut pilot, 900);
        while pilot.next(at(900), 0.0).unwrap().permit.is_none() {
            pilot.written(Written::Yes, at(900), 0.0);
        }
        if let Some((armed, mode)) = heard {
            reports(&mut pilot, armed, DOWN, mode, ms);
        }
        assert_eq!(pilot.is_still_wanted(at(ms)), is_wanted, "{heard:?} after {ms} ms");
    }
}

#[test]
fn a_command_that_waited_for_the_disk_is_not_written_to_an_autopilot_that_rebooted() {
    let time = |pilot: &mut Pilot, time_boot_ms, ms| {
        let time = SYSTEM_TIME_DATA {
            time_boot_ms,
            ..SYSTEM_TIME_DATA::default()
        };
        receive(pilot, MavMessage::SYSTEM_TIME(time), ms);
    };
    let mut pilot = px4_pilot();
    px4_hovers(&mut pilot, 100);
    time(&mut pilot, 12_000, 200);
    assigned(&mut pilot, 1, HIGHER, 500);
    let out = pilot.next(at(500), 0.0).unwrap();
    assert_eq!(command(&out), Some(MavCmd::MAV_CMD_DO_REPOSITION));
    assert!(pilot.is_still_wanted(at(600)));
    for time_boot_ms in [100, 200] {
        time(&mut pilot, time_boot_ms, 600);
    }
    assert!(!pilot.is_still_wanted(at(600)));
    pilot.written(Written::No, at(600), 0.0);
}

#[test]
fn a_line_that_loses_answers_and_every_second_heartbeat_delays_a_movement_only() {
    let mut pilot = px4_pilot();
    let mut moved = Vec::new();
    for ms in (100..60_000).step_by(100) {
        if ms % 2000 == 100 {
            px4_hovers(&mut pilot, ms);
        }
        if ms == 500 {
            assigned(&mut pilot, 1, HIGHER, ms);
        }
        moved.extend(moves(&mut pilot, ms).then_some(ms));
    }
    assert!(moved.starts_with(&[500, 2100]), "{moved:?}");
    assert!(moved.len() >= 4, "it is asked for again and again: {moved:?}");
    let of_now = |ms: &u64| (ms - 100) % 2000 <= 1200;
    assert!(moved.iter().all(of_now), "{moved:?}");
}

#[test]
fn the_flight_log_has_a_line_a_takeoff_and_landing_and_claims_no_earlier_takeoff() {
    let air = MavLandedState::MAV_LANDED_STATE_IN_AIR;
    let mut pilot = pilot();
    let mut lines = |in_air: bool, ms: u64| {
        if in_air {
            reports(&mut pilot, true, air, GUIDED, ms);
        } else {
            on_ground(&mut pilot, ms);
        }
        written(&mut pilot, ms);
        pilot.take_flight_lines()
    };
    let begun_in_air = lines(true, 100);
    assert!(begun_in_air[0].contains("which rules it took off with was not observed"));
    assert_eq!(lines(true, 1000), Vec::<String>::new());
    assert_eq!(lines(false, 2000), ["Skein: landed"]);
    let took_off = lines(true, 3000);
    assert_eq!(took_off.len(), 1);
    assert!(
        took_off[0].starts_with("Skein: took off with no rules; no Drone"),
        "{took_off:?}"
    );
}

fn is_hardware(pilot: &mut Pilot, uid: u64, ms: u64) {
    let version = AUTOPILOT_VERSION_DATA {
        uid,
        flight_sw_version: 0x0407_00ff,
        ..AUTOPILOT_VERSION_DATA::default()
    };
    receive(pilot, MavMessage::AUTOPILOT_VERSION(version), ms);
}

fn serves() -> (Pilot, State) {
    let mut pilot = pilot();
    on_ground(&mut pilot, 100);
    is_hardware(&mut pilot, 1, 200);
    assigned(&mut pilot, 1, FLY, 900);
    let state = pilot.state().clone();
    (pilot, state)
}

/// As it serves, and ordered to arm at 0.9 s.
fn arms() -> Pilot {
    let (mut pilot, _) = serves();
    on_ground(&mut pilot, 900);
    assert!(armed_by(&written(&mut pilot, 900)));
    pilot
}

fn commands(out: &[Outgoing]) -> Vec<MavCmd> {
    let moves = |command: &MavCmd| {
        matches!(
            command,
            MavCmd::MAV_CMD_DO_SET_MODE
                | MavCmd::MAV_CMD_COMPONENT_ARM_DISARM
                | MavCmd::MAV_CMD_NAV_TAKEOFF
                | MavCmd::MAV_CMD_DO_REPOSITION
                | MavCmd::MAV_CMD_NAV_LAND
                | MavCmd::MAV_CMD_NAV_RETURN_TO_LAUNCH
        )
    };
    out.iter().filter_map(command).filter(moves).collect()
}

#[test]
fn after_a_restart_nothing_is_armed_before_its_hardware_is_known_to_be_the_same() {
    let (_, state) = serves();
    let mut pilot = pilot_with(state, Moment::default());
    on_ground(&mut pilot, 1000);
    assigned(&mut pilot, 1, FLY, 1100);
    on_ground(&mut pilot, 1200);
    reports(
        &mut pilot,
        false,
        MavLandedState::MAV_LANDED_STATE_ON_GROUND,
        LOITER,
        1250,
    );
    assert_eq!(
        commands(&written(&mut pilot, 1250)),
        [],
        "its hardware was not read yet"
    );
    is_hardware(&mut pilot, 1, 1300);
    // Its mode has changed, so the checks run first.
    on_ground(&mut pilot, 1400);
    assert!(!armed_by(&written(&mut pilot, 1400)));
    let ran = COMMAND_ACK_DATA {
        command: MavCmd::MAV_CMD_RUN_PREARM_CHECKS,
        result: MavResult::MAV_RESULT_ACCEPTED,
        ..COMMAND_ACK_DATA::default()
    };
    receive(&mut pilot, MavMessage::COMMAND_ACK(ran), 1450);
    // Somebody may have flown it while no agent was there.
    for ms in (1500..6000).step_by(500) {
        on_ground(&mut pilot, ms);
        assert!(!armed_by(&written(&mut pilot, ms)), "at {ms} ms");
    }
    on_ground(&mut pilot, 6000);
    assert!(armed_by(&written(&mut pilot, 6000)));
}

#[test]
fn a_takeover_that_the_coordinator_knows_counts_also_where_no_order_can_be_written() {
    let (mut pilot, _) = serves();
    let order = Order::Assigned(Assignment {
        reported_flight: ReportedFlight {
            takeovers: 1,
            ..ReportedFlight::default()
        },
        ..assignment(2, FLY)
    });
    assert_eq!(pilot.report(at(950)).takeovers, 0);
    pilot.not_taken(order.term());
    pilot.remind(&order);
    on_ground(&mut pilot, 1000);
    assert_eq!(pilot.report(at(1000)).takeovers, 1);
    assert!(!armed_by(&written(&mut pilot, 1000)));
}

#[test]
fn another_airframe_on_the_wire_is_sent_nothing_and_not_taken_for_the_first() {
    let (_, state) = serves();
    for desired in [FLY, GROUND] {
        let mut pilot = pilot_with(state.clone(), Moment::default());
        on_ground(&mut pilot, 1000);
        is_hardware(&mut pilot, 2, 1100);
        assigned(&mut pilot, 2, desired, 1200);
        for (ms, landed) in [
            (1300, MavLandedState::MAV_LANDED_STATE_ON_GROUND),
            (3300, MavLandedState::MAV_LANDED_STATE_IN_AIR),
        ] {
            let armed = landed == MavLandedState::MAV_LANDED_STATE_IN_AIR;
            reports(&mut pilot, armed, landed, GUIDED, ms);
            assert_eq!(commands(&written(&mut pilot, ms)), []);
            let report = pilot.report(at(ms));
            assert_eq!(report.activity, Activity::HandsOff(HandsOff::AnotherAirframe));
            assert_eq!((report.identity, report.link_alive), (None, false));
            assert_eq!(report.truth, FlightTruth::Unknown(WhyUnknown::NeverHeard));
        }
        for ms in (3500..=70_000).step_by(500) {
            assert_eq!(commands(&written(&mut pilot, ms)), []);
        }
        // The first is back, and rests until nobody flew for a minute.
        on_ground(&mut pilot, 70_000);
        is_hardware(&mut pilot, 1, 70_100);
        let mut armed_at = None;
        for ms in (70_200..80_000).step_by(500) {
            on_ground(&mut pilot, ms);
            assert!(pilot.report(at(ms)).link_alive);
            let armed = armed_by(&written(&mut pilot, ms));
            armed_at = armed_at.or(armed.then_some(ms));
        }
        assert_eq!(armed_at.is_some(), desired == FLY);
        assert!(armed_at.is_none_or(|ms| ms >= 75_000), "unheard, it may have flown");
    }
}

#[test]
fn an_airframe_changed_while_the_link_was_silent_is_asked_again_which_it_is() {
    let (mut pilot, _) = serves();
    assert_eq!(
        pilot.report(at(900)).identity.unwrap().hardware,
        HardwareUid::of(1, [0; 18])
    );
    on_ground(&mut pilot, 9000);
    assert_eq!(pilot.report(at(9000)).identity.unwrap().hardware, None);
    assert!(!armed_by(&written(&mut pilot, 9000)));
    let mut asked = Vec::new();
    for ms in (9000..14_000).step_by(200) {
        on_ground(&mut pilot, ms);
        asked.extend(written(&mut pilot, ms).into_iter().filter_map(|out| match out.message {
            MavMessage::COMMAND_LONG(m) if m.command == MavCmd::MAV_CMD_REQUEST_MESSAGE => Some(m.param1),
            _ => None,
        }));
    }
    assert!(asked.contains(&148.0), "{asked:?}");
    is_hardware(&mut pilot, 2, 14_000);
    on_ground(&mut pilot, 14_100);
    assert!(!armed_by(&written(&mut pilot, 14_100)));
}

/// Its radio has the network id of another that is switched on, and both answer.
#[test]
fn the_hardware_of_a_second_vehicle_is_not_taken_for_that_of_the_one_that_flies() {
    let mut pilot = arms();
    for ms in [2000, 3000] {
        reports(&mut pilot, true, MavLandedState::MAV_LANDED_STATE_IN_AIR, GUIDED, ms);
        is_hardware(&mut pilot, 2, ms + 100);
        written(&mut pilot, ms + 100);
    }
    let hardware = |pilot: &Pilot, ms: u64| pilot.report(at(ms)).identity.and_then(|identity| identity.hardware);
    assert_eq!(hardware(&pilot, 3100), HardwareUid::of(1, [0; 18]));
    // After a silence it is asked again, and the other answers first.
    reports(&mut pilot, true, MavLandedState::MAV_LANDED_STATE_IN_AIR, GUIDED, 8000);
    is_hardware(&mut pilot, 2, 8100);
    is_hardware(&mut pilot, 1, 8200);
    is_hardware(&mut pilot, 2, 8300);
    assert_eq!(hardware(&pilot, 8300), HardwareUid::of(1, [0; 18]));
    assigned(&mut pilot, 2, GROUND, 8400);
    assert_eq!(commands(&written(&mut pilot, 8400)), [LAND]);
}

#[test]
fn an_agent_without_its_disk_goes_by_the_hardware_that_was_reported_before() {
    let mut pilot = pilot();
    on_ground(&mut pilot, 100);
    is_hardware(&mut pilot, 2, 200);
    let order = Order::Assigned(Assignment {
        reported_flight: ReportedFlight {
            hardware: HardwareUid::of(1, [0; 18]),
            ..ReportedFlight::default()
        },
        ..assignment(1, FLY)
    });
    pilot.uplink_opened(at(900));
    takes(&mut pilot, &order, 900);
    on_ground(&mut pilot, 1000);
    assert!(!armed_by(&written(&mut pilot, 1000)));
    assert_eq!(
        pilot.report(at(1000)).activity,
        Activity::HandsOff(HandsOff::AnotherAirframe)
    );
}

#[test]
fn a_vehicle_in_the_air_whose_hardware_is_not_read_yet_still_lands() {
    let (_, mut state) = serves();
    state.record.stage = Stage::Flown;
    let mut pilot = pilot_with(state, Moment::default());
    reports(&mut pilot, true, MavLandedState::MAV_LANDED_STATE_IN_AIR, GUIDED, 1000);
    assigned(&mut pilot, 2, GROUND, 1100);
    assert_eq!(commands(&written(&mut pilot, 1100)), [LAND]);
}

const RTL: u32 = 6;
const AIR: MavLandedState = MavLandedState::MAV_LANDED_STATE_IN_AIR;
const DOWN: MavLandedState = MavLandedState::MAV_LANDED_STATE_ON_GROUND;

fn takes(pilot: &mut Pilot, order: &Order, ms: u64) {
    alone::take(pilot, order, at(ms));
}

fn for_drone(uid: &str, desired: Desired) -> Order {
    Order::Assigned(Assignment {
        uid: DroneUid(uid.into()),
        ..assignment(1, desired)
    })
}

/// Percent, millivolts.
fn battery(pilot: &mut Pilot, (remaining, voltage): (i8, u16), ms: u64) {
    let health = SYS_STATUS_DATA {
        onboard_control_sensors_health: MavSysStatusSensor::MAV_SYS_STATUS_PREARM_CHECK,
        voltage_battery: voltage,
        battery_remaining: remaining,
        ..SYS_STATUS_DATA::default()
    };
    receive(pilot, MavMessage::SYS_STATUS(health), ms);
}

fn rests(pilot: &mut Pilot, charge: (i8, u16), span: std::ops::Range<u64>) -> Vec<Outgoing> {
    let mut all = Vec::new();
    for ms in span.step_by(500) {
        reports(pilot, false, DOWN, GUIDED, ms);
        battery(pilot, charge, ms);
        all.extend(written(pilot, ms));
    }
    all
}

const FULL: (i8, u16) = (95, 16_600);

/// A ground station brought it home from a flight for Drone u-1.
fn brought_home() -> Pilot {
    let mut pilot = arms();
    reports(&mut pilot, true, AIR, GUIDED, 2000);
    written(&mut pilot, 2000);
    reports(&mut pilot, true, AIR, RTL, 3000);
    written(&mut pilot, 3000);
    rests(&mut pilot, FULL, 4000..12_000);
    pilot
}

#[test]
fn a_vehicle_that_somebody_brought_home_is_armed_for_no_other_drone() {
    let mut pilot = brought_home();
    takes(&mut pilot, &Order::unassigned(Term(3)), 12_000);
    rests(&mut pilot, FULL, 12_000..80_000);
    takes(&mut pilot, &for_drone("u-2", FLY), 80_000);
    assert_eq!(commands(&rests(&mut pilot, FULL, 80_000..160_000)), []);
}

#[test]
fn the_rebounding_charge_of_a_battery_arms_no_vehicle_that_its_reserve_landed() {
    let mut pilot = arms();
    for ms in (2000..8000).step_by(500) {
        reports(&mut pilot, true, AIR, GUIDED, ms);
        battery(&mut pilot, (15, 14_000), ms);
        written(&mut pilot, ms);
    }
    for ms in (8000..12_000).step_by(500) {
        reports(&mut pilot, true, AIR, RTL, ms);
        battery(&mut pilot, (14, 14_000), ms);
        written(&mut pilot, ms);
    }
    rests(&mut pilot, (14, 14_100), 12_000..20_000);
    takes(&mut pilot, &Order::unassigned(Term(3)), 20_000);
    takes(&mut pilot, &for_drone("u-2", FLY), 25_000);
    assert_eq!(commands(&rests(&mut pilot, (97, 14_600), 25_000..120_000)), []);
}

#[test]
fn a_vehicle_stands_down_in_its_agents_next_life_too_until_a_person_lets_it_fly() {
    let mut before = brought_home();
    takes(&mut before, &Order::unassigned(Term(3)), 12_000);
    let text = serde_json::to_string(before.state()).unwrap();
    let state: State = serde_json::from_str(&text).unwrap();
    let mut pilot = pilot_with(state, at(12_000));
    rests(&mut pilot, FULL, 12_000..20_000);
    pilot.uplink_opened(at(20_000));
    takes(&mut pilot, &for_drone("u-2", FLY), 20_000);
    assert_eq!(commands(&rests(&mut pilot, FULL, 20_000..90_000)), []);
    let report = pilot.report(at(89_500));
    let down = report.stand_down.unwrap();
    assert_eq!(
        (down.number, down.why, down.uid.0.as_str()),
        (1, StoodDown::TakenOver, "u-1")
    );
    assert_eq!((report.activity, report.ready), (Activity::NotArmable, Some(false)));
    assert!(
        report.reasons[0].text.contains("`skein resume --vehicle pine`"),
        "{:?}",
        report.reasons
    );
    let says = |term, number| StandUp {
        term: Term(term),
        number,
    };
    for (term, number) in [(2, 1), (3, 2)] {
        pilot.stand_up(says(term, number), at(90_000));
        assert_eq!(
            commands(&rests(&mut pilot, FULL, 90_000..91_000)),
            [],
            "{term} {number}"
        );
    }
    pilot.stand_up(says(3, 1), at(91_000));
    assert!(armed_by(&rests(&mut pilot, FULL, 91_000..99_000)));
}

#[test]
fn a_home_at_two_altitudes_is_not_reported_and_a_person_reads_why() {
    let mut pilot = pilot();
    for ms in (100..5000).step_by(500) {
        on_ground(&mut pilot, ms);
        // Beside home, which is at 488 m.
        let position = GLOBAL_POSITION_INT_DATA {
            time_boot_ms: u32::try_from(ms).unwrap(),
            lat: 1,
            lon: 1,
            alt: 1_488_000,
            ..GLOBAL_POSITION_INT_DATA::default()
        };
        receive(&mut pilot, MavMessage::GLOBAL_POSITION_INT(position), ms);
        written(&mut pilot, ms);
    }
    let report = pilot.report(at(5000));
    assert_eq!((report.home, report.ready), (None, Some(false)));
    let words = "its home position is reported 1000 m below the home from which it counts its altitude";
    assert!(
        report.reasons.iter().any(|reason| reason.text.starts_with(words)),
        "{:?}",
        report.reasons
    );
}

/// 10 m above where it took off at 488 m; `home`: its altitude by the autopilot, millimeters.
fn hovers(pilot: &mut Pilot, home: i32, ms: u64) {
    let armed = beat(GUIDED, MavModeFlag::MAV_MODE_FLAG_SAFETY_ARMED);
    hovers_as(pilot, armed, home, ms);
}

fn hovers_as(pilot: &mut Pilot, beat: HEARTBEAT_DATA, home: i32, ms: u64) {
    let (latitude, longitude, altitude) = (473_977_420, 85_455_940, 498_000);
    let position = GLOBAL_POSITION_INT_DATA {
        time_boot_ms: u32::try_from(ms).unwrap(),
        lat: latitude,
        lon: longitude,
        alt: altitude,
        relative_alt: altitude - home,
        ..GLOBAL_POSITION_INT_DATA::default()
    };
    let landed = EXTENDED_SYS_STATE_DATA {
        landed_state: MavLandedState::MAV_LANDED_STATE_IN_AIR,
        ..EXTENDED_SYS_STATE_DATA::default()
    };
    let home = HOME_POSITION_DATA {
        latitude,
        longitude,
        altitude: home,
        ..HOME_POSITION_DATA::default()
    };
    receive(pilot, MavMessage::HEARTBEAT(beat), ms);
    receive(pilot, MavMessage::EXTENDED_SYS_STATE(landed), ms);
    for _ in 0..2 {
        receive(pilot, MavMessage::HOME_POSITION(home.clone()), ms);
    }
    receive(pilot, MavMessage::GLOBAL_POSITION_INT(position), ms);
}

#[test]
fn an_agent_restarted_after_home_was_lowered_in_flight_sends_its_vehicle_nowhere() {
    let mut before = arms();
    for ms in (2000..12_000).step_by(500) {
        hovers(&mut before, 488_000, ms);
        written(&mut before, ms);
    }
    let mut pilot = next_life(&before, 12_000);
    hovers(&mut pilot, 438_000, 12_500);
    is_hardware(&mut pilot, 1, 12_600);
    assigned(&mut pilot, 1, FLY, 12_700);
    let mut sent = Vec::new();
    for ms in (13_000..25_000).step_by(500) {
        hovers(&mut pilot, 438_000, ms);
        sent.extend(written(&mut pilot, ms));
    }
    assert_eq!(commands(&sent), [], "10 m above the new home lies 40 m below the field");
    let home = pilot.report(at(24_500)).home.unwrap();
    assert_eq!(
        home.amsl,
        AltitudeAmsl(488.0),
        "stations are measured from the home of the takeoff"
    );
}

#[test]
fn an_autopilot_that_reboots_in_flight_and_sets_home_lower_is_sent_nowhere() {
    let mut pilot = arms();
    let time = |pilot: &mut Pilot, time_boot_ms, ms| {
        let time = SYSTEM_TIME_DATA {
            time_boot_ms,
            ..SYSTEM_TIME_DATA::default()
        };
        receive(pilot, MavMessage::SYSTEM_TIME(time), ms);
    };
    for ms in (2000..12_000).step_by(500) {
        hovers(&mut pilot, 488_000, ms);
        written(&mut pilot, ms);
    }
    time(&mut pilot, 12_000, 12_000);
    for time_boot_ms in [100, 200] {
        time(&mut pilot, time_boot_ms, 12_000 + u64::from(time_boot_ms));
    }
    assert_eq!(
        pilot.report(at(12_200)).identity.unwrap().hardware,
        None,
        "it has rebooted"
    );
    let mut sent = Vec::new();
    for ms in (12_500..25_000).step_by(500) {
        hovers(&mut pilot, 438_000, ms);
        sent.extend(written(&mut pilot, ms));
    }
    assert_eq!(commands(&sent), []);
    assert_eq!(pilot.report(at(24_500)).home.unwrap().amsl, AltitudeAmsl(488.0));
}

fn next_life(before: &Pilot, ms: u64) -> Pilot {
    let text = serde_json::to_string(before.state()).unwrap();
    pilot_with(serde_json::from_str(&text).unwrap(), at(ms))
}

/// Neither a restarting agent nor a lost network keeps a vehicle up that is to return.
#[test]
fn the_time_without_a_coordinator_counts_on_in_the_agents_next_life_while_it_flies() {
    let comes_down = |pilot: &mut Pilot, span: std::ops::Range<u64>| {
        span.step_by(500).find(|ms| {
            hovers(pilot, 488_000, *ms);
            let down = [LAND, MavCmd::MAV_CMD_NAV_RETURN_TO_LAUNCH];
            commands(&written(pilot, *ms)).iter().any(|sent| down.contains(sent))
        })
    };
    let mut ordered = assignment(1, FLY);
    ordered.failsafe.on_coordinator_loss = OnCoordinatorLoss::Return;
    let order = Order::Assigned(ordered);
    let mut before = pilot();
    on_ground(&mut before, 100);
    before.uplink_opened(at(900));
    takes(&mut before, &order, 900);
    on_ground(&mut before, 900);
    assert!(armed_by(&written(&mut before, 900)));
    assert_eq!(comes_down(&mut before, 2000..8000), None);
    assert_eq!(before.state().alone_for, Duration::ZERO);
    before.uplink_closed(at(8000));
    assert_eq!(comes_down(&mut before, 8000..62_000), None);
    assert_eq!(before.state().alone_for, Duration::from_secs(50));
    let mut again = next_life(&before, 62_000);
    assert_eq!(comes_down(&mut again, 62_500..90_000), Some(72_000));

    let mut many_lives = next_life(&before, 62_000);
    for life in 0..2 {
        let begins = 62_000 + life * 6000;
        assert_eq!(comes_down(&mut many_lives, begins..begins + 6000).is_some(), life == 1);
        many_lives = next_life(&many_lives, begins + 6000);
    }

    let mut down = next_life(&before, 62_000);
    for ms in (62_500..70_000).step_by(500) {
        on_ground(&mut down, ms);
    }
    assert_eq!(down.state().alone_for, Duration::ZERO, "the next flight is another");
    let mut heard = next_life(&before, 62_000);
    heard.uplink_opened(at(62_100));
    takes(&mut heard, &order, 62_100);
    assert_eq!(heard.state().alone_for, Duration::ZERO, "the coordinator is back");
    assert_eq!(comes_down(&mut heard, 62_500..90_000), None);
}

/// At its reserve it waits for 30 s for a way home, far from there.
#[test]
fn the_wait_at_the_reserve_counts_on_in_the_agents_next_life_while_it_flies() {
    let lands = |pilot: &mut Pilot, span: std::ops::Range<u64>| {
        span.step_by(500).find(|ms| {
            let armed = beat(GUIDED, MavModeFlag::MAV_MODE_FLAG_SAFETY_ARMED);
            let landed = EXTENDED_SYS_STATE_DATA {
                landed_state: AIR,
                ..EXTENDED_SYS_STATE_DATA::default()
            };
            let position = GLOBAL_POSITION_INT_DATA {
                time_boot_ms: u32::try_from(*ms).unwrap(),
                lat: 473_977_420,
                lon: 85_455_940,
                alt: 498_000,
                relative_alt: 10_000,
                ..GLOBAL_POSITION_INT_DATA::default()
            };
            receive(pilot, MavMessage::HEARTBEAT(armed), *ms);
            receive(pilot, MavMessage::EXTENDED_SYS_STATE(landed), *ms);
            receive(pilot, MavMessage::GLOBAL_POSITION_INT(position), *ms);
            battery(pilot, (15, 14_000), *ms);
            commands(&written(pilot, *ms)).contains(&LAND)
        })
    };
    let order = Order::Assigned(Assignment {
        routed: true,
        ..assignment(1, FLY)
    });
    let mut before = pilot();
    on_ground(&mut before, 100);
    before.uplink_opened(at(900));
    assert_eq!(lands(&mut before, 2000..2500), None);
    takes(&mut before, &order, 2100);
    assert_eq!(lands(&mut before, 2500..22_000), None);
    assert_eq!(before.state().low_for, Duration::from_secs(15));
    let mut again = next_life(&before, 22_000);
    again.uplink_opened(at(22_100));
    takes(&mut again, &order, 22_100);
    assert_eq!(lands(&mut again, 22_500..60_000), Some(37_500));
    on_ground(&mut again, 60_000);
    assert_eq!(again.state().low_for, Duration::ZERO, "the next flight is another");
}

#[test]
fn who_has_armed_a_vehicle_flies_it_in_a_mode_of_ours_too() {
    let waits = Desired::Grounded {
        why: GroundedWhy::Waiting,
    };
    for desired in [FLY, waits] {
        let mut pilot = pilot();
        for ms in (100..6000).step_by(500) {
            on_ground(&mut pilot, ms);
        }
        assigned(&mut pilot, 1, desired, 6000);
        let mut sent = Vec::new();
        for ms in (6200..25_000).step_by(500) {
            let landed = match ms {
                ..9000 => MavLandedState::MAV_LANDED_STATE_ON_GROUND,
                _ => MavLandedState::MAV_LANDED_STATE_IN_AIR,
            };
            reports(&mut pilot, true, landed, GUIDED, ms);
            sent.extend(written(&mut pilot, ms));
        }
        assert_eq!(commands(&sent), [], "{desired:?}");
        assert_eq!(pilot.state().record.takeovers, 1, "{desired:?}");
        let activity = pilot.report(at(24_900)).activity;
        assert_eq!(activity, Activity::HandsOff(HandsOff::TakenOver), "{desired:?}");
    }
}

#[test]
fn a_vehicle_rests_after_somebody_elses_flight_in_its_agents_next_life_too() {
    let mut before = pilot();
    on_ground(&mut before, 100);
    reports(&mut before, true, MavLandedState::MAV_LANDED_STATE_IN_AIR, LOITER, 1000);
    on_ground(&mut before, 3000);
    let mut pilot = next_life(&before, 4000);
    on_ground(&mut pilot, 4500);
    is_hardware(&mut pilot, 1, 4600);
    assigned(&mut pilot, 1, FLY, 4600);
    let mut armed_at = None;
    for ms in (5000..80_000).step_by(500) {
        on_ground(&mut pilot, ms);
        let armed = armed_by(&written(&mut pilot, ms));
        armed_at = armed_at.or(armed.then_some(ms));
    }
    assert!(
        armed_at.is_some_and(|ms| (64_000..66_000).contains(&ms)),
        "{armed_at:?}"
    );
}

#[test]
fn two_vehicles_of_one_system_id_on_one_line_are_reported_until_one_is_gone() {
    let at = |s: u32| Moment::at(Duration::from_secs(s.into()));
    let time = |time_boot_ms| {
        MavMessage::SYSTEM_TIME(SYSTEM_TIME_DATA {
            time_boot_ms,
            ..SYSTEM_TIME_DATA::default()
        })
    };
    let mut pilot = pilot_with(State::default(), at(0));
    for s in 0..60_u32 {
        let beat = beat(0, MavModeFlag::empty());
        alone::receive(&mut pilot, MavMessage::HEARTBEAT(beat), at(s));
        alone::receive(&mut pilot, time(500_000 + s * 1000), at(s));
        if (10..20).contains(&s) {
            alone::receive(&mut pilot, time(s * 1000), at(s));
        }
        let report = pilot.report(at(s));
        let words: String = report.reasons.iter().map(|reason| reason.text.as_str()).collect();
        let shared = words.contains("two vehicles speak as system 7");
        assert_eq!(shared, (12..50).contains(&s), "at {s} s: {:?}", report.reasons);
        assert_eq!(report.warnings.iter().any(|line| line.contains("two vehicles")), shared);
        assert!(!shared || (report.ready != Some(true) && words.contains("MAV_SYSID (")));
    }
}

#[test]
fn a_vehicle_in_the_air_is_not_landed_by_a_second_one_with_its_system_id() {
    let mut pilot = arms();
    reports(&mut pilot, true, AIR, GUIDED, 2000);
    is_hardware(&mut pilot, 2, 2100);
    assigned(&mut pilot, 2, GROUND, 2200);
    pilot.terminate();
    for (ms, down) in [(8000, false), (40_000, true)] {
        on_ground(&mut pilot, ms);
        assert_eq!(pilot.report(at(ms)).truth, FlightTruth::Disarmed);
        assert_eq!(
            (settled(&pilot, ms), pilot.may_exit(at(ms))),
            (down, down),
            "at {ms} ms"
        );
        takes(&mut pilot, &Order::unassigned(Term(3)), ms);
        assert_eq!(pilot.state().fence.held.is_none(), down, "at {ms} ms");
    }
}

#[test]
fn the_operator_is_sent_on_in_flight_while_the_hardware_is_read_again_after_a_silence() {
    let mut pilot = arms();
    let operator = Operator {
        name: "north".to_owned(),
        id: "CHE87astrdge12k8".to_owned(),
        description: String::new(),
        location: Location::Fixed {
            at: Wgs84 {
                latitude_deg: 47.397_742,
                longitude_deg: 8.545_594,
            },
            altitude_m: None,
        },
        eu: None,
        aircraft: None,
    };
    let order = RemoteIdOrder {
        term: Term(3),
        operator: Some(operator),
    };
    pilot.take_remote_id(order, at(950));
    let sends = |pilot: &mut Pilot, landed: MavLandedState, ms: u64| {
        reports(pilot, landed == AIR, landed, GUIDED, ms);
        let is_place = |out: &Outgoing| matches!(out.message, MavMessage::OPEN_DRONE_ID_SYSTEM(_));
        written(pilot, ms).iter().any(is_place)
    };
    assert!(sends(&mut pilot, AIR, 2000));
    assert!(sends(&mut pilot, AIR, 7000));
    assert_eq!(pilot.report(at(7000)).identity.unwrap().hardware, None);
    assert!(!sends(&mut pilot, DOWN, 12_500), "it may be another");
}

#[test]
fn what_is_heard_instead_of_the_autopilot_is_reported_while_that_is_silent() {
    let at = |s: u64| Moment::at(Duration::from_secs(s));
    let hear = |pilot: &mut Pilot, system_id: u32, mavtype: MavType, s: u64| {
        let heartbeat = HEARTBEAT_DATA {
            mavtype,
            ..beat(GUIDED, MavModeFlag::empty())
        };
        let frame = Frame {
            header: MavHeader {
                system_id,
                component_id: 1,
                sequence: 0,
            },
            message: MavMessage::HEARTBEAT(heartbeat),
            at: tokio::time::Instant::now(),
            unchecked_signature: false,
        };
        pilot.receive(&LinkEvent::Frame(Box::new(frame)), at(s), 0.0);
        pilot.report(at(s)).link_fault
    };
    let quad = MavType::MAV_TYPE_QUADROTOR;
    let mut pilot = pilot_with(State::default(), at(0));
    for s in [1, 2, 3] {
        let no_frame = hear(&mut pilot, 7, MavType::MAV_TYPE_GENERIC, s);
        assert!(no_frame.is_some_and(|words| words.contains("FRAME_CLASS")), "{s}");
        // Its cable is plugged in again.
        if s == 2 {
            pilot.receive(&LinkEvent::Down("the other end hung up".to_owned()), at(s), 0.0);
            pilot.receive(&LinkEvent::Up, at(s), 0.0);
        }
    }
    // It was set up, and has rebooted.
    for s in 10..20 {
        hear(&mut pilot, 7, quad, s);
    }
    assert_eq!(pilot.report(at(19)).link_fault, None);
    // It was given another system id.
    let heard: Vec<_> = (20..30).map(|s| hear(&mut pilot, 8, quad, s)).collect();
    let (alive, silent) = heard.split_at(5);
    assert!(alive.iter().all(Option::is_none), "{heard:?}");
    let named = |words: &Option<String>| words.as_ref().is_some_and(|words| words.ends_with("restart the agent"));
    assert!(silent.iter().all(named), "{heard:?}");
    assert_eq!(hear(&mut pilot, 7, quad, 31), None);
}
