//! The PX4 profile says what the recorded PX4 (a70a5583) said, at the recorded times: boot, arming, modes, answers.

mod support;

use mavlink::dialects::ardupilotmega::{MavMessage, MavState};
use sitl::model::{Autopilot, VehicleConfig};
use sitl::wire::{Outgoing, Request};
use support::Verdict::{Accepted, Denied, Failed, TemporarilyRejected, Unsupported};
use support::px4::*;
use support::{Bench, HOME, near};

#[test]
fn it_streams_unasked_and_is_standby_about_three_seconds_after_its_first_heartbeat() {
    let mut bench = Bench::new(Autopilot::Px4);
    bench.pass_to(16.0);
    let beats = bench.heartbeats();
    near("first heartbeat", beats[0].0, 1.17, 0.05);
    assert_eq!(beats[0].1.system_status, MavState::MAV_STATE_UNINIT);
    assert_eq!(beats[0].1.custom_mode, HOLD);
    let standby = beats
        .iter()
        .find(|(_, beat)| beat.system_status == MavState::MAV_STATE_STANDBY)
        .unwrap();
    near("standby", standby.0, 4.18, 0.1);
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
fn arming_too_early_is_temporarily_rejected_with_one_text_that_names_no_reason() {
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
fn a_missing_mission_prevents_arming_where_it_is_required_and_else_only_informs() {
    let mut bench = support::px4::ready();
    let start = bench.now_s();
    support::px4::set_parameter(&mut bench, "COM_ARM_MIS_REQ", 1);
    bench.pass(2.0);
    assert_eq!(bench.arm(), TemporarilyRejected);
    let events = bench.events_since(start);
    let (_, arguments) = events.iter().find(|(id, _)| *id == 17_154_777).unwrap();
    assert_eq!(arguments[..5], [0xFF, 0xFF, 0xFF, 0xFF, 0x14]);
    let levels = bench.messages().find_map(|(_, message)| match message {
        MavMessage::EVENT(event) if event.id == 17_154_777 => Some(event.log_levels),
        _ => None,
    });
    assert_eq!(levels, Some(0x66));
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
fn a_missing_compass_prevents_arming_and_is_reported_after_each_check() {
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
    assert!(bench.sent_text("Unsupported auto mode\t"));
    let mut bench = hovering(5.0);
    assert_eq!(
        set_mode(&mut bench, 4.0, 4.0),
        [Accepted, TemporarilyRejected],
        "no mission"
    );
    bench.pass(0.3);
    assert!(bench.sent_text("Switching to Mission is currently not available\t"));
}

#[test]
fn set_mode_as_a_message_has_one_true_ack() {
    let mut bench = hovering(5.0);
    let before = bench.sent.len();
    bench.receive(Request::SetMode {
        system: 1,
        base_mode: 1,
        custom_mode: 0x0003_0000,
    });
    bench.pass(0.02);
    assert_eq!(bench.acks_since(before), [(176, TemporarilyRejected)]);
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
    assert!(bench.sent_text("Unsupported ARM_DISARM param: 2.000\t"));
    assert_eq!(bench.command(400, [0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]), Accepted);
    assert!(bench.truth().armed);
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
fn past_events_can_be_requested_again_and_forgotten_ones_are_named() {
    let mut bench = ready();
    let start = bench.now_s();
    assert_eq!(bench.arm(), Accepted);
    let before = bench.sent.len();
    bench.pass(0.5);
    let last = bench.messages().filter_map(|(_, message)| match message {
        MavMessage::EVENT(event) => Some(event.sequence),
        _ => None,
    });
    let last = last.last().unwrap();
    bench.receive(Request::Events { first: last, last });
    bench.receive(Request::Events {
        first: last.wrapping_sub(200),
        last: last.wrapping_sub(199),
    });
    assert_eq!(bench.events_since(start).len(), 2, "the arming and its repeat");
    let errors = bench.sent[before..]
        .iter()
        .filter(|(_, sent)| matches!(sent, Outgoing::Message(message) if matches!(**message, MavMessage::RESPONSE_EVENT_ERROR(_))));
    assert_eq!(errors.count(), 2);
}
