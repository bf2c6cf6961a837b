//! The PX4 profile says and does what the recorded PX4 (a70a5583) said and did.
//!
//! Owns: its behaviour as sentences, with times from the recordings. Must not: look inside the model.

mod support;

use mavlink::dialects::ardupilotmega::{MavLandedState as Landed, MavMessage, MavState};
use sitl::model::{Autopilot, VehicleConfig};
use sitl::wire::{Address, Outgoing, Request};
use support::Verdict::{Accepted, Denied, Failed, TemporarilyRejected, Unsupported};
use support::{Bench, HOME, near};

const NAN: f32 = f32::NAN;
const HOLD: u32 = 0x0304_0000;
const TAKEOFF: u32 = 0x0204_0000;
const LAND: u32 = 0x0604_0000;
const RETURN: u32 = 0x0504_0000;
const ARM_DENIED: &str = "Arming denied: Resolve system health failures first\t";
const ARM_DENIED_EVENT: u32 = 16_910_493;
const GROUND_STATION: u8 = 6;
const COMPANION: u8 = 18;

/// Ready at 7 s, with ground station heartbeats.
fn ready() -> Bench {
    let mut bench = Bench::new(Autopilot::Px4);
    bench.heartbeat = Some(GROUND_STATION);
    bench.pass_to(1.5);
    for (message, hz) in [(1, 1.0), (245, 10.0), (33, 4.0), (147, 1.0)] {
        bench.stream(message, hz);
    }
    bench.pass_to(7.0);
    bench
}

fn take_off_to(bench: &mut Bench, amsl_m: f32) {
    assert_eq!(bench.command(22, [NAN, 0.0, 0.0, NAN, NAN, NAN, amsl_m]), Accepted);
}

fn hovering(height_m: f32) -> Bench {
    let mut bench = ready();
    assert_eq!(bench.arm(), Accepted);
    take_off_to(&mut bench, 488.0 + height_m);
    bench.until("hold", 60.0, |bench| bench.truth().custom_mode == HOLD);
    bench.pass(2.0);
    bench
}

fn set_mode(bench: &mut Bench, main: f32, sub: f32) -> Vec<support::Verdict> {
    bench.verdicts(176, [1.0, main, sub, 0.0, 0.0, 0.0, 0.0])
}

#[test]
fn it_streams_unasked_and_is_standby_about_three_seconds_after_its_first_heartbeat() {
    let mut bench = Bench::new(Autopilot::Px4);
    bench.pass_to(10.0);
    let beats = bench.heartbeats();
    near("first heartbeat", beats[0].0, 1.5, 0.05);
    assert_eq!(beats[0].1.system_status, MavState::MAV_STATE_UNINIT);
    assert_eq!(beats[0].1.custom_mode, HOLD);
    let standby = beats
        .iter()
        .find(|(_, beat)| beat.system_status == MavState::MAV_STATE_STANDBY)
        .unwrap();
    near("standby", standby.0, 5.0, 0.6);
    for kind in [
        |message: &MavMessage| matches!(message, MavMessage::EXTENDED_SYS_STATE(_)),
        |message: &MavMessage| matches!(message, MavMessage::GLOBAL_POSITION_INT(_)),
        |message: &MavMessage| matches!(message, MavMessage::SYS_STATUS(_)),
        |message: &MavMessage| matches!(message, MavMessage::EVENT(_)),
        |message: &MavMessage| matches!(message, MavMessage::CURRENT_MODE(_)),
    ] {
        assert!(bench.count(kind) > 2);
    }
    assert!(bench.texts().is_empty(), "no ground station, no text");
}

#[test]
fn arming_too_early_is_temporarily_rejected_with_one_event_and_one_text_that_names_no_reason() {
    let mut bench = Bench::new(Autopilot::Px4);
    bench.heartbeat = Some(GROUND_STATION);
    bench.pass_to(3.0);
    for force in [0.0, 21196.0] {
        let start = bench.now_s();
        assert_eq!(
            bench.command(400, [1.0, force, 0.0, 0.0, 0.0, 0.0, 0.0]),
            TemporarilyRejected
        );
        assert_eq!(
            bench.events_since(start).iter().map(|(id, _)| *id).collect::<Vec<_>>(),
            [ARM_DENIED_EVENT]
        );
        bench.pass(0.5);
        assert_eq!(bench.texts_since(start), [ARM_DENIED]);
    }
}

#[test]
fn a_companion_gets_the_reasons_as_events_only() {
    let mut bench = Bench::new(Autopilot::Px4);
    bench.heartbeat = Some(COMPANION);
    bench.pass_to(3.0);
    assert_eq!(bench.arm(), TemporarilyRejected);
    bench.pass(0.5);
    let start = bench.now_s();
    assert_eq!(bench.command(401, [0.0; 7]), Accepted);
    let ids: Vec<u32> = bench.events_since(start).iter().map(|(id, _)| *id).collect();
    let (summary, no_local, no_global) = (27_825_120, 30_612_409, 26_788_467);
    let (no_mission, no_offboard, no_manual, no_station) = (17_154_777, 19_865_031, 17_231_145, 23_579_003);
    let health = 18_691_879;
    assert_eq!(
        ids,
        [
            summary,
            no_local,
            no_global,
            no_mission,
            no_offboard,
            no_manual,
            no_station,
            health
        ]
    );
    bench.pass(5.0);
    assert!(bench.texts().is_empty());
}

#[test]
fn a_long_text_comes_in_chunks_of_fifty_bytes_and_the_first_has_id_zero() {
    let mut bench = Bench::new(Autopilot::Px4);
    bench.heartbeat = Some(GROUND_STATION);
    bench.pass_to(3.0);
    assert_eq!(bench.arm(), TemporarilyRejected);
    bench.pass(0.5);
    let chunks: Vec<(u16, u8, String)> = bench
        .messages()
        .filter_map(|(_, message)| match message {
            MavMessage::STATUSTEXT(text) => Some((text.id, text.chunk_seq, text.text.to_str().unwrap().to_owned())),
            _ => None,
        })
        .collect();
    assert_eq!(
        chunks[0],
        (0, 0, "Arming denied: Resolve system health failures firs".into())
    );
    assert_eq!(chunks[1], (0, 1, "t\t".into()));
}

#[test]
fn a_missing_compass_keeps_it_from_arming_and_is_said_after_each_check() {
    let mut config = VehicleConfig::new(Autopilot::Px4, 1, HOME);
    config.never_ready = true;
    let mut bench = Bench::with(config);
    bench.heartbeat = Some(GROUND_STATION);
    bench.pass_to(60.0);
    assert_eq!(bench.arm(), TemporarilyRejected);
    assert_eq!(bench.last_heartbeat().system_status, MavState::MAV_STATE_UNINIT);
    bench.pass(1.0);
    let start = bench.now_s();
    assert_eq!(bench.command(401, [0.0; 7]), Accepted);
    assert!(
        bench
            .events_since(start)
            .iter()
            .any(|(id, args)| *id == 22_720_449 && args[..7] == [255, 255, 255, 255, 27, 1, 2])
    );
    bench.pass(0.3);
    assert_eq!(
        bench.texts_since(start),
        ["Preflight Fail: Found 1 compass (required: 2)"]
    );
}

#[test]
fn a_flight_to_ten_metres_and_back_takes_about_as_long_as_recorded() {
    let mut bench = ready();
    assert_eq!(bench.arm(), Accepted);
    bench.pass(0.96);
    let took_off_at = bench.now_s();
    take_off_to(&mut bench, 498.0);
    bench.until("hold", 60.0, |bench| bench.truth().custom_mode == HOLD);
    bench.pass(6.0);
    near("hover height", bench.truth().height_m, 10.0, 0.2);
    let landing_at = bench.now_s();
    assert_eq!(bench.command(21, [0.0, 0.0, 0.0, NAN, NAN, NAN, NAN]), Accepted);
    bench.until("disarmed", 60.0, |bench| !bench.truth().armed);
    let disarmed_at = bench.now_s();
    assert_eq!(bench.truth().custom_mode, HOLD, "the mode is Hold again");
    bench.pass(1.2);
    let states = bench.landed_states();
    let order: Vec<Landed> = states.iter().map(|(_, state)| *state).collect();
    let wanted = [
        Landed::MAV_LANDED_STATE_ON_GROUND,
        Landed::MAV_LANDED_STATE_TAKEOFF,
        Landed::MAV_LANDED_STATE_IN_AIR,
        Landed::MAV_LANDED_STATE_LANDING,
        Landed::MAV_LANDED_STATE_ON_GROUND,
    ];
    assert_eq!(order, wanted);
    near("TAKEOFF after the command", states[1].0 - took_off_at, 1.1, 0.3);
    near("IN_AIR after the command", states[2].0 - took_off_at, 11.3, 0.8);
    near("ON_GROUND after the land command", states[4].0 - landing_at, 19.6, 1.5);
    near("motors off after ON_GROUND", disarmed_at - states[4].0, 2.0, 0.15);
    let texts = bench.texts_since(0.0);
    for text in [
        "Armed by external command\t",
        "Takeoff detected\t",
        "Landing at current position\t",
        "Landing detected\t",
        "Disarmed by landing\t",
    ] {
        assert!(texts.iter().any(|said| said == text), "{text}: {texts:?}");
    }
    let own: Vec<u16> = bench
        .said
        .iter()
        .filter_map(|(_, said)| match said {
            Outgoing::Command(command) => Some(command.command),
            _ => None,
        })
        .collect();
    assert_eq!(
        own,
        [1001, 1000, 1001, 1001, 1001, 1001],
        "commands of its own at the landing"
    );
}

#[test]
fn a_takeoff_while_disarmed_is_accepted_and_arming_climbs_at_once() {
    let mut bench = ready();
    take_off_to(&mut bench, NAN);
    bench.pass(1.0);
    assert_eq!(bench.truth().custom_mode, TAKEOFF);
    assert!(!bench.truth().armed);
    assert_eq!(bench.arm(), Accepted);
    bench.until("hold", 30.0, |bench| bench.truth().custom_mode == HOLD);
    bench.pass(3.0);
    near("default height", bench.truth().height_m, 2.5, 0.2);
    assert!(bench.said_text("Using default takeoff altitude: 2.5 m\t"));
}

#[test]
fn an_altitude_meant_as_height_above_home_never_lifts_off() {
    for frame in [0, 3, 99] {
        let mut bench = ready();
        assert_eq!(bench.arm(), Accepted);
        let verdict = bench.command_int(22, frame, [NAN; 4], i32::MAX, i32::MAX, 10.0);
        assert_eq!(verdict, Accepted, "frame {frame} is not looked at");
        let waited = bench.until("disarmed", 20.0, |bench| !bench.truth().armed);
        near("auto-disarm", waited, 11.0, 0.1);
        assert_eq!(bench.truth().height_m, 0.0);
        assert_eq!(bench.truth().custom_mode, TAKEOFF, "the mode stays");
        bench.pass(0.5);
        assert!(bench.said_text("Already higher than takeoff altitude\t"));
        assert!(bench.said_text("Disarmed by auto preflight disarming\t"));
    }
}

#[test]
fn latitude_and_longitude_zero_are_accepted_and_never_lift_off() {
    let mut bench = ready();
    assert_eq!(bench.arm(), Accepted);
    assert_eq!(bench.command(22, [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 494.0]), Accepted);
    bench.until("disarmed", 20.0, |bench| !bench.truth().armed);
    assert_eq!(bench.truth().height_m, 0.0);
}

#[test]
fn coordinates_that_mean_unused_are_denied_in_the_wrong_kind_of_command() {
    let mut bench = ready();
    let unused = i32::MAX as f32;
    assert_eq!(bench.command(22, [NAN, 0.0, 0.0, NAN, unused, unused, 494.0]), Denied);
    assert_eq!(
        bench.command_int(22, 0, [NAN; 4], 0x7FF8_0000, 0x7FF8_0000, 494.0),
        Denied
    );
    assert_eq!(
        bench.command_int(22, 0, [NAN; 4], 0x7FC0_0000, 0x7FC0_0000, 494.0),
        Accepted
    );
    assert_eq!(
        bench.command_int(22, 0, [-1.0, 5.0, 0.0, NAN], i32::MAX, i32::MAX, 494.0),
        Accepted,
        "junk in p1, p2"
    );
}

#[test]
fn a_takeoff_to_another_place_flies_there_while_it_climbs() {
    let mut bench = ready();
    let (lat, lon) = HOME.offset_metres(20.0, 0.0).e7();
    assert_eq!(bench.command_int(22, 0, [NAN; 4], lat, lon, 494.0), Accepted);
    assert_eq!(bench.arm(), Accepted);
    let took = bench.until("hold", 60.0, |bench| bench.truth().custom_mode == HOLD);
    near("take-off", took, 12.5, 2.5);
    near(
        "north",
        (bench.truth().place.lat_deg - HOME.lat_deg) * 111_319.5,
        20.0,
        2.1,
    );
}

#[test]
fn a_takeoff_in_flight_climbs_when_it_is_higher_and_stays_when_it_is_lower() {
    let mut bench = hovering(5.0);
    take_off_to(&mut bench, 496.0);
    bench.pass(8.0);
    near("higher", bench.truth().height_m, 8.0, 0.2);
    take_off_to(&mut bench, 492.0);
    bench.pass(4.0);
    near("not lower", bench.truth().height_m, 8.0, 0.2);
    assert!(bench.said_text("Already higher than takeoff altitude\t"));
    assert_eq!(bench.truth().custom_mode, HOLD);
}

#[test]
fn in_flight_a_disarm_is_refused_and_a_kill_stops_the_motors() {
    let mut bench = hovering(5.0);
    assert_eq!(bench.disarm(), TemporarilyRejected);
    bench.pass(0.2);
    assert!(bench.said_text("Disarming denied: not landed\t"));
    assert_eq!(bench.command(246, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]), Denied);
    assert_eq!(
        bench.command(241, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
        TemporarilyRejected
    );
    assert_eq!(bench.kill(), Accepted);
    assert!(!bench.truth().armed);
    bench.pass(0.5);
    assert_eq!(bench.truth().landed_state, 1, "on the ground by its own account");
    assert!(bench.truth().height_m > 2.0, "still falling");
    bench.pass(5.0);
    assert_eq!(bench.arm(), Accepted);
}

#[test]
fn do_set_mode_is_acknowledged_twice_and_only_the_second_is_true() {
    let mut bench = ready();
    assert_eq!(set_mode(&mut bench, 4.0, 3.0), [Accepted, Accepted]);
    assert_eq!(
        set_mode(&mut bench, 99.0, 0.0),
        [Accepted, Accepted],
        "an unknown main mode is ignored"
    );
    assert_eq!(bench.truth().custom_mode, HOLD);
    assert_eq!(set_mode(&mut bench, 4.0, 77.0), [Accepted, TemporarilyRejected]);
    bench.pass(0.3);
    assert!(bench.said_text("Unsupported auto mode\t"));
    let mut bench = hovering(5.0);
    assert_eq!(
        set_mode(&mut bench, 4.0, 4.0),
        [Accepted, TemporarilyRejected],
        "no mission"
    );
    bench.pass(0.3);
    assert!(bench.said_text("Switching to Mission is currently not available\t"));
}

#[test]
fn set_mode_as_a_message_has_one_true_ack() {
    let mut bench = hovering(5.0);
    let before = bench.said.len();
    bench.hear(Request::SetMode {
        system: 1,
        base_mode: 1,
        custom_mode: 0x0003_0000,
    });
    let acks: Vec<u8> = bench.said[before..]
        .iter()
        .filter_map(|(_, said)| match said {
            Outgoing::Ack(ack) if ack.command == 176 => Some(ack.result),
            _ => None,
        })
        .collect();
    assert_eq!(acks, [1]);
}

#[test]
fn modes_that_cannot_take_off_are_accepted_while_disarmed_and_cannot_be_armed_in() {
    let mut bench = ready();
    assert_eq!(bench.command(21, [0.0, 0.0, 0.0, NAN, NAN, NAN, NAN]), Accepted);
    bench.pass(1.0);
    assert_eq!(bench.last_heartbeat().custom_mode, LAND);
    assert_eq!(bench.last_heartbeat().system_status, MavState::MAV_STATE_UNINIT);
    assert_eq!(bench.arm(), TemporarilyRejected);
    assert_eq!(bench.command(20, [0.0; 7]), Accepted);
    assert_eq!(bench.truth().custom_mode, RETURN);
    assert_eq!(bench.arm(), TemporarilyRejected);
    for (main, sub) in [(4.0, 4.0), (3.0, 0.0), (6.0, 0.0)] {
        assert_eq!(set_mode(&mut bench, main, sub), [Accepted, Accepted]);
        assert_eq!(bench.arm(), TemporarilyRejected);
    }
    assert_eq!(set_mode(&mut bench, 4.0, 3.0), [Accepted, Accepted]);
    assert_eq!(bench.arm(), Accepted);
}

#[test]
fn arming_with_a_half_arms_and_with_two_gets_no_ack_at_all() {
    let mut bench = ready();
    assert_eq!(bench.verdicts(400, [2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]), []);
    bench.pass(0.2);
    assert!(bench.said_text("Unsupported ARM_DISARM param: 2.000\t"));
    assert_eq!(bench.command(400, [0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]), Accepted);
    assert!(bench.truth().armed);
}

#[test]
fn return_from_twenty_metres_away_climbs_to_thirty_and_lands_in_return_mode() {
    let mut bench = hovering(10.0);
    let (lat, lon) = HOME.offset_metres(25.0, 0.0).e7();
    assert_eq!(
        bench.command_int(192, 5, [-1.0, 1.0, 0.0, NAN], lat, lon, 498.0),
        Accepted
    );
    bench.pass(15.0);
    assert_eq!(bench.command(20, [0.0; 7]), Accepted);
    let mut highest: f64 = 0.0;
    bench.until("landing", 60.0, |bench| {
        highest = highest.max(bench.truth().height_m);
        bench.truth().landed_state == 4
    });
    near("return height", highest, 30.0, 1.0);
    assert_eq!(bench.truth().custom_mode, RETURN);
    bench.until("disarmed", 90.0, |bench| !bench.truth().armed);
    bench.pass(1.0);
    assert!(bench.said_text("RTL: land at destination\t"));
    assert_eq!(bench.truth().custom_mode, HOLD);
}

#[test]
fn a_reposition_with_a_relative_altitude_sinks() {
    let mut bench = hovering(15.0);
    assert_eq!(
        bench.command_int(192, 6, [-1.0, 1.0, 0.0, NAN], i32::MAX, i32::MAX, 12.0),
        Accepted
    );
    bench.pass(5.0);
    assert!(bench.truth().height_m < 11.0, "{:?}", bench.truth());
}

#[test]
fn strange_requests_get_the_recorded_answers() {
    let mut bench = ready();
    assert_eq!(bench.command(31999, [1.0; 7]), Unsupported);
    assert_eq!(bench.command(511, [9999.0, 1e6, 0.0, 0.0, 0.0, 0.0, 0.0]), Failed);
    assert_eq!(bench.command(512, [9999.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]), Denied);
    assert_eq!(bench.command(193, [0.0; 7]), Unsupported, "pause");
    assert_eq!(bench.command(300, [0.0; 7]), Denied, "no mission");
    for silent in [(77, 1), (1, 191), (0, 1), (0, 0)] {
        assert_eq!(
            bench.verdicts_from(silent, 512, [148.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
            []
        );
    }
    assert_eq!(
        bench.verdicts_from((1, 0), 512, [148.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
        [Accepted]
    );
}

#[test]
fn past_events_can_be_asked_for_again_and_forgotten_ones_are_named() {
    let mut bench = ready();
    let start = bench.now_s();
    assert_eq!(bench.arm(), Accepted);
    let before = bench.said.len();
    bench.pass(0.5);
    let last = bench.messages().filter_map(|(_, message)| match message {
        MavMessage::EVENT(event) => Some(event.sequence),
        _ => None,
    });
    let last = last.last().unwrap();
    bench.hear(Request::Events { first: last, last });
    bench.hear(Request::Events {
        first: last.wrapping_sub(200),
        last: last.wrapping_sub(199),
    });
    assert_eq!(bench.events_since(start).len(), 2, "the arming and its repeat");
    let errors = bench.said[before..]
        .iter()
        .filter(|(_, said)| matches!(said, Outgoing::Message(message) if matches!(**message, MavMessage::RESPONSE_EVENT_ERROR(_))));
    assert_eq!(errors.count(), 2);
}

#[test]
fn the_battery_warns_at_fifteen_seven_and_five_percent_and_refuses_to_arm_when_critical() {
    let mut config = VehicleConfig::new(Autopilot::Px4, 1, HOME);
    config.battery_percent = 15.5;
    config.battery_percent_per_minute = 60.0;
    let mut bench = Bench::with(config);
    bench.heartbeat = Some(GROUND_STATION);
    bench.pass_to(7.0);
    assert_eq!(bench.arm(), Accepted);
    bench.pass(10.0);
    assert!(bench.said_text("Low battery\t") && bench.said_text("Critical battery\t"));
    bench.pass(2.0);
    assert!(!bench.truth().armed, "left alone on the ground");
    assert_eq!(bench.arm(), TemporarilyRejected);
}

/// In the hover with NAV_DLL_ACT set to `action`, our heartbeats stop now.
fn heartbeats_stop(action: u32) -> Bench {
    let mut bench = ready();
    bench.hear(Request::ParamSet {
        to: Address {
            system: 1,
            component: 1,
        },
        name: "NAV_DLL_ACT".into(),
        value: f32::from_bits(action),
        kind: 6,
    });
    assert_eq!(bench.arm(), Accepted);
    take_off_to(&mut bench, 498.0);
    bench.until("hold", 60.0, |bench| bench.truth().custom_mode == HOLD);
    bench.pass_to(bench.now_s().ceil() + 0.02);
    bench.heartbeat = None;
    bench
}

#[test]
fn a_lost_ground_station_means_hold_for_five_seconds_and_then_return_with_events_and_no_text() {
    let mut bench = heartbeats_stop(2);
    let stopped_at = bench.now_s();
    bench.until("critical", 20.0, |bench| {
        bench.last_heartbeat().system_status == MavState::MAV_STATE_CRITICAL
    });
    near("noticed", bench.now_s() - stopped_at, 12.6, 1.2);
    assert_eq!(bench.truth().custom_mode, HOLD);
    let waited = bench.until("return", 10.0, |bench| bench.truth().custom_mode == RETURN);
    near("hold before the action", waited, 4.7, 0.6);
    let (lost, hold, acts) = (27_571_288, 30_481_910, 26_528_394);
    let events = bench.events_since(stopped_at);
    for (id, arguments) in [
        (lost, &[][..]),
        (hold, &[0, 0, 4, 3, 6, 5, 0, 2]),
        (acts, &[0, 0, 4, 3, 6, 2]),
    ] {
        assert!(
            events
                .iter()
                .any(|(seen, args)| *seen == id && args.starts_with(arguments)),
            "{id}: {events:?}"
        );
    }
    assert_eq!(bench.texts_since(stopped_at + 3.0), Vec::<String>::new());
    bench.heartbeat = Some(GROUND_STATION);
    bench.pass(2.0);
    assert!(bench.said_text("GCS connection regained\t"));
    assert_eq!(bench.truth().custom_mode, RETURN, "the mode stays");
    assert_eq!(set_mode(&mut bench, 4.0, 3.0), [Accepted, Accepted]);
    bench.pass(1.0);
    assert_eq!(bench.last_heartbeat().system_status, MavState::MAV_STATE_ACTIVE);
}

#[test]
fn a_mode_command_in_the_five_seconds_cancels_the_failsafe_for_this_loss() {
    let mut bench = heartbeats_stop(3);
    bench.until("critical", 20.0, |bench| {
        bench.last_heartbeat().system_status == MavState::MAV_STATE_CRITICAL
    });
    assert_eq!(set_mode(&mut bench, 4.0, 3.0), [Accepted, Accepted]);
    bench.pass(30.0);
    assert_eq!(bench.truth().custom_mode, HOLD);
}

#[test]
fn with_a_link_loss_action_set_arming_needs_a_ground_station_and_a_companion_is_none() {
    let mut bench = Bench::new(Autopilot::Px4);
    bench.heartbeat = Some(COMPANION);
    bench.hear(Request::ParamSet {
        to: Address {
            system: 1,
            component: 1,
        },
        name: "NAV_DLL_ACT".into(),
        value: f32::from_bits(2),
        kind: 6,
    });
    bench.pass_to(10.0);
    assert_eq!(bench.arm(), TemporarilyRejected);
    bench.heartbeat = Some(GROUND_STATION);
    bench.pass(1.5);
    assert_eq!(bench.arm(), Accepted);
}

#[test]
fn a_ground_station_that_goes_silent_means_nothing_with_the_default_settings() {
    let mut bench = heartbeats_stop(0);
    bench.pass(40.0);
    assert_eq!(bench.truth().custom_mode, HOLD);
    assert_eq!(bench.last_heartbeat().system_status, MavState::MAV_STATE_ACTIVE);
}
