//! ArduCopter's missions, parameters and link, from recordings of the real one.

mod support;

use mavlink::dialects::ardupilotmega::{MavMessage, MavParamType, MissionState};
use sitl::model::Autopilot;
use sitl::wire::{Outgoing, PlanBody, PlanItem, PlanReply, Request};
use support::Verdict::{Accepted, Denied, Failed};
use support::ardupilot::*;
use support::{Bench, HOME, US, near};

fn mission() -> Vec<PlanItem> {
    vec![
        item(16, 0.0, 0.0, 0.0),
        lift_to(10.0),
        item(16, 25.0, 0.0, 10.0),
        item(16, 25.0, 25.0, 10.0),
        PlanItem {
            x: 0,
            y: 0,
            ..item(20, 0.0, 0.0, 0.0)
        },
    ]
}

fn with_mission(items: &[PlanItem]) -> Bench {
    let mut bench = ready();
    bench.stream(42, 10.0);
    assert_eq!(upload(&mut bench, 0, items), answer(0));
    bench
}

fn started(items: &[PlanItem]) -> Bench {
    let mut bench = with_mission(items);
    assert_eq!(bench.arm(), Accepted);
    assert_eq!(set_mode(&mut bench, AUTO), Accepted);
    assert_eq!(bench.command(300, [0.0; 7]), Accepted);
    bench
}

fn reached(bench: &Bench) -> Vec<(f64, u16)> {
    let reached = bench.messages().filter_map(|(at, message)| match message {
        MavMessage::MISSION_ITEM_REACHED(reached) => Some((at, reached.seq)),
        _ => None,
    });
    reached.collect()
}

fn current(bench: &Bench) -> Option<(u16, u16, MissionState)> {
    let current = bench.messages().filter_map(|(_, message)| match message {
        MavMessage::MISSION_CURRENT(current) => Some((current.seq, current.total, current.mission_state)),
        _ => None,
    });
    current.last()
}

#[test]
fn a_mission_is_flown_from_takeoff_to_the_return_and_disarms_at_its_end() {
    let mut bench = started(&mission());
    let start = bench.now_s();
    bench.until("disarmed", 120.0, |bench| !bench.truth().armed);
    let times: Vec<(f64, u16)> = reached(&bench).into_iter().map(|(at, seq)| (at - start, seq)).collect();
    assert_eq!(times.iter().map(|(_, seq)| *seq).collect::<Vec<_>>(), [1, 2, 3, 4]);
    // 8.0 s from the start in the recording, and 2.3 s because the motors just began to run.
    near("climb", times[0].0, 10.3, 0.5);
    near("25 m north", times[1].0 - times[0].0, 8.1, 0.8);
    for text in [
        "Mission: 1 Takeoff",
        "Mission: 2 WP",
        "Reached command #2",
        "Mission: 4 RTL",
        "Disarming motors",
    ] {
        assert!(bench.sent_text(text), "{text}");
    }
    assert!(
        !bench.sent_text("Reached command #1"),
        "a take-off is reached without a word"
    );
    bench.pass(0.2);
    assert_eq!(current(&bench), Some((0, 4, MissionState::MISSION_STATE_COMPLETE)));
    assert_eq!(bench.truth().custom_mode, AUTO, "the mode stays");
}

#[test]
fn an_armed_vehicle_in_auto_stays_on_the_ground_until_the_mission_is_started() {
    let mut bench = with_mission(&mission());
    assert_eq!(bench.arm(), Accepted);
    assert_eq!(set_mode(&mut bench, AUTO), Accepted);
    bench.pass(0.3);
    assert_eq!(current(&bench), Some((1, 4, MissionState::MISSION_STATE_ACTIVE)));
    bench.pass(5.0);
    assert_eq!(bench.truth().landed_state, 1);
    assert_eq!(bench.command(300, [0.0; 7]), Accepted);
    let waited = bench.until("lifts off", 3.0, |bench| bench.truth().landed_state == 3);
    near("spool-up", waited, 1.0, 0.2);
}

#[test]
fn a_mission_without_a_takeoff_cannot_begin_on_the_ground_with_motors_on() {
    let mut bench = with_mission(&[item(16, 0.0, 0.0, 0.0), item(16, 25.0, 0.0, 10.0)]);
    assert_eq!(bench.arm(), Accepted);
    assert_eq!(set_mode(&mut bench, AUTO), Failed);
    assert!(bench.sent_text("Auto: Missing Takeoff Cmd"));
    assert!(bench.sent_text("Mode change to AUTO failed: init failed"));
    assert_eq!(bench.command(300, [0.0; 7]), Failed);
}

#[test]
fn a_mission_can_be_begun_in_the_air_and_at_its_end_the_vehicle_waits() {
    let mut bench = with_mission(&[item(16, 0.0, 0.0, 0.0), item(16, 25.0, 0.0, 10.0)]);
    bench = hover(bench, 10.0);
    assert_eq!(set_mode(&mut bench, AUTO), Accepted);
    bench.until("complete", 30.0, |bench| {
        current(bench).is_some_and(|(_, _, state)| state == MissionState::MISSION_STATE_COMPLETE)
    });
    bench.pass(10.0);
    assert!(bench.truth().armed);
    near("height", bench.truth().height_m, 10.0, 0.2);
}

#[test]
fn a_mission_is_paused_and_goes_on() {
    let mut bench = started(&mission());
    bench.until("item 2", 30.0, |bench| current(bench).is_some_and(|now| now.0 == 2));
    bench.pass(3.0);
    assert_eq!(bench.command(193, [0.0; 7]), Accepted);
    bench.pass(3.0);
    assert_eq!(current(&bench), Some((2, 4, MissionState::MISSION_STATE_PAUSED)));
    bench.pass(3.0);
    let place = bench.truth().place;
    bench.pass(5.0);
    assert!(
        (bench.truth().place.lat_deg - place.lat_deg).abs() < 3e-6,
        "it stays there"
    );
    assert_eq!(bench.command(193, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]), Accepted);
    bench.until("item 3", 30.0, |bench| current(bench).is_some_and(|now| now.0 == 3));
    assert_eq!(bench.command(193, [9.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]), Denied);
}

#[test]
fn a_jump_to_an_item_is_reported_at_once_and_one_past_the_end_denied() {
    let mut bench = started(&mission());
    bench.until("item 2", 30.0, |bench| current(bench).is_some_and(|now| now.0 == 2));
    let to = |seq: f32| [seq, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    assert_eq!(bench.command(224, to(3.0)), Accepted);
    assert_eq!(current(&bench).map(|now| now.0), Some(3));
    assert!(bench.sent_text("Mission: 3 WP"));
    assert_eq!(bench.command(224, to(44.0)), Denied);
    bench.until("item 3 reached", 30.0, |bench| {
        reached(bench).iter().any(|(_, seq)| *seq == 3)
    });
    assert!(reached(&bench).iter().all(|(_, seq)| *seq != 2));
}

#[test]
fn a_mission_left_for_another_mode_goes_on_where_it_was() {
    let mut bench = started(&mission());
    bench.until("item 3", 60.0, |bench| current(bench).is_some_and(|now| now.0 == 3));
    assert_eq!(set_mode(&mut bench, GUIDED), Accepted);
    bench.pass(5.0);
    let before = reached(&bench).len();
    assert_eq!(set_mode(&mut bench, AUTO), Accepted);
    bench.until("item 3 reached", 30.0, |bench| reached(bench).len() > before);
    assert_eq!(reached(&bench).last().map(|(_, seq)| *seq), Some(3));
}

#[test]
fn a_jump_item_repeats_a_leg_and_a_delay_holds() {
    let jump = PlanItem {
        params: [2.0, 1.0, 0.0, 0.0],
        ..item(177, 0.0, 0.0, 0.0)
    };
    let wait = PlanItem {
        params: [5.0, 0.0, 0.0, 0.0],
        ..item(16, 10.0, 0.0, 10.0)
    };
    let mut bench = started(&[
        item(16, 0.0, 0.0, 0.0),
        lift_to(10.0),
        wait,
        item(16, 0.0, 0.0, 10.0),
        jump,
        PlanItem {
            x: 0,
            y: 0,
            ..item(21, 0.0, 0.0, 0.0)
        },
    ]);
    bench.until("disarmed", 180.0, |bench| !bench.truth().armed);
    let order: Vec<u16> = reached(&bench).iter().map(|(_, seq)| *seq).collect();
    assert_eq!(order, [1, 2, 3, 2, 3, 5]);
}

#[test]
fn a_mission_that_is_flown_cannot_be_cleared() {
    let mut bench = started(&mission());
    assert_eq!(plan(&mut bench, 0, PlanBody::Clear), [answer(1)]);
    bench.until("disarmed", 120.0, |bench| !bench.truth().armed);
    assert_eq!(plan(&mut bench, 0, PlanBody::Clear), [answer(0)]);
    bench.pass(0.2);
    assert_eq!(current(&bench), Some((0, 0, MissionState::MISSION_STATE_NO_MISSION)));
}

#[test]
fn auto_without_a_mission_is_never_armed_and_with_one_only_where_an_option_allows() {
    let mut bench = ready();
    assert_eq!(set_mode(&mut bench, AUTO), Accepted);
    let start = bench.now_s();
    assert_eq!(bench.arm(), Failed);
    assert_eq!(bench.texts_since(start), ["Arm: Mode requires mission"]);
    assert_eq!(upload(&mut bench, 0, &mission()), answer(0));
    bench.pass(0.1);
    let start = bench.now_s();
    assert_eq!(bench.arm(), Failed);
    assert_eq!(bench.texts_since(start), ["Arm: AUTO mode not armable"]);
    set_parameter(&mut bench, "AUTO_OPTIONS", 1.0);
    assert_eq!(bench.arm(), Accepted);
}

#[test]
fn a_good_mission_is_read_back_with_its_own_home_and_frames() {
    let mut bench = with_mission(&mission());
    assert!(bench.sent_text("Flight plan received"));
    let count = PlanReply::Count { count: 5, opaque_id: 0 };
    assert_eq!(plan(&mut bench, 0, PlanBody::List), [count]);
    let mut read = |seq: u16| match plan(&mut bench, 0, PlanBody::Request { seq })[..] {
        [PlanReply::Item { item, current, .. }] => (item, current),
        ref other => panic!("no item: {other:?}"),
    };
    let (home, _) = read(0);
    assert_eq!((home.x, home.y), HOME.e7());
    near("ground", f64::from(home.z), 488.1, 0.05);
    assert_eq!(read(2).0, mission()[2]);
    let (last, current) = read(4);
    assert_eq!((last.command, last.frame, current), (20, 0, false));
}

#[test]
fn an_upload_before_the_boot_ends_is_taken_up_after_it() {
    let mut bench = Bench::new(Autopilot::ArduPilot);
    bench.pass_to(0.7);
    assert_eq!(plan(&mut bench, 0, PlanBody::Count(2)), []);
    let requested = |bench: &Bench| bench.sent.iter().any(|(_, sent)| matches!(sent, Outgoing::Plan { .. }));
    let waited = bench.until("it asks", 5.0, requested);
    near("asks at", 0.7 + waited, 2.73, 0.1);
}

#[test]
fn streams_are_four_times_slower_while_a_plan_is_uploaded() {
    let mut bench = ready();
    let states = |bench: &Bench| bench.count(|message| matches!(message, MavMessage::GLOBAL_POSITION_INT(_)));
    plan(&mut bench, 0, PlanBody::Count(5));
    let before = states(&bench);
    bench.pass(6.0);
    let slow = states(&bench) - before;
    assert!((5..=7).contains(&slow), "4 Hz became 1 Hz: {slow} in 6 s");
    bench.until("given up", 4.0, |bench| bench.sent_text("Mission upload timeout"));
    let before = states(&bench);
    bench.pass(6.0);
    assert!((23..=25).contains(&(states(&bench) - before)));
}

#[test]
fn two_vertices_are_no_fence_and_are_reported() {
    let mut bench = ready();
    let two: Vec<PlanItem> = square(5001, 10.0)
        .into_iter()
        .take(2)
        .map(|item| PlanItem {
            params: [2.0, 0.0, 0.0, 0.0],
            ..item
        })
        .collect();
    assert_eq!(upload(&mut bench, 1, &two), answer(1));
    assert!(bench.sent_text("Invalid vertex count (2)") && bench.sent_text("Fence validation failed"));
}

fn values(bench: &Bench, since: usize) -> Vec<(String, f32, u16, MavParamType)> {
    let value = |sent: &(f64, Outgoing)| match &sent.1 {
        Outgoing::Message(message) => match &**message {
            MavMessage::PARAM_VALUE(value) => Some((
                value.param_id.to_str().unwrap_or("?").to_owned(),
                value.param_value,
                value.param_index,
                value.param_type,
            )),
            _ => None,
        },
        _ => None,
    };
    bench.sent[since..].iter().filter_map(value).collect()
}

fn read_param(bench: &mut Bench, index: i16, name: &str) -> Vec<(String, f32, u16, MavParamType)> {
    let before = bench.sent.len();
    bench.receive(Request::ParamRead {
        to: US,
        index,
        name: name.to_owned(),
    });
    values(bench, before)
}

#[test]
fn a_parameter_is_read_by_name_and_by_index_and_a_wrong_one_is_not_answered() {
    let mut bench = ready();
    let by_name = read_param(&mut bench, -1, "FENCE_ALT_MAX");
    let fence = (
        "FENCE_ALT_MAX".to_owned(),
        100.0,
        65535,
        MavParamType::MAV_PARAM_TYPE_REAL32,
    );
    assert_eq!(by_name, [fence]);
    let by_index = read_param(&mut bench, 0, "");
    assert_eq!(by_index[0].2, 0);
    assert_eq!(read_param(&mut bench, -1, "NO_SUCH_NAME"), []);
    assert_eq!(read_param(&mut bench, 9999, ""), []);
}

#[test]
fn a_list_brings_every_parameter_once_over_some_steps() {
    let mut bench = ready();
    let before = bench.sent.len();
    bench.receive(Request::ParamList { to: US });
    assert_eq!(values(&bench, before).len(), 0, "not in one burst");
    bench.pass(2.0);
    let list = values(&bench, before);
    let indices: Vec<u16> = list.iter().map(|(_, _, index, _)| *index).collect();
    assert_eq!(indices, (0..list.len() as u16).collect::<Vec<_>>());
    assert!(list.iter().any(|(name, ..)| name == "FS_GCS_ENABLE"));
}

#[test]
fn a_written_parameter_is_sent_back_with_the_value_and_type_it_has_now() {
    let mut bench = ready();
    let mut write = |name: &str, value: f32| {
        let before = bench.sent.len();
        set_parameter(&mut bench, name, value);
        values(&bench, before)
    };
    let small = MavParamType::MAV_PARAM_TYPE_INT8;
    let float = MavParamType::MAV_PARAM_TYPE_REAL32;
    assert_eq!(
        write("FS_GCS_ENABLE", 5.4),
        [("FS_GCS_ENABLE".to_owned(), 5.0, 65535, small)]
    );
    assert_eq!(write("NO_SUCH_NAME", 1.0), []);
    assert_eq!(write("FENCE_ALT_MAX", f32::NAN), []);
    assert_eq!(
        write("FENCE_ACTION", 1.0),
        [("FENCE_ACTION".to_owned(), 1.0, 65535, float)],
        "a default that was never stored is sent as a float"
    );
    assert_eq!(
        write("FENCE_ACTION", 2.0),
        [("FENCE_ACTION".to_owned(), 2.0, 65535, small)]
    );
    assert_eq!(
        write("FENCE_ACTION", 1.0),
        [("FENCE_ACTION".to_owned(), 1.0, 65535, small)]
    );
}

#[test]
fn what_waits_for_a_blocked_link_comes_at_once_when_it_takes_again() {
    let mut bench = hovering(10.0);
    assert_eq!(bench.vehicle.set_link_blocked(true), []);
    let before = bench.sent.len();
    bench.pass(5.0);
    assert_eq!(bench.sent.len(), before);
    let waited = bench.vehicle.set_link_blocked(false);
    let heartbeats = waited.iter().filter(|sent| match sent {
        Outgoing::Message(message) => matches!(**message, MavMessage::HEARTBEAT(_)),
        _ => false,
    });
    assert_eq!(heartbeats.count(), 1, "each message waits once");
}

#[test]
fn a_parameter_that_is_read_only_is_answered_with_its_old_value_and_a_text() {
    let mut bench = ready();
    let before = bench.sent.len();
    set_parameter(&mut bench, "MIS_TOTAL", 55.0);
    let small = MavParamType::MAV_PARAM_TYPE_INT16;
    assert_eq!(values(&bench, before), [("MIS_TOTAL".to_owned(), 0.0, 65535, small)]);
    bench.pass(0.5);
    assert!(bench.sent_text("Param write denied (MIS_TOTAL)"));
}

#[test]
fn the_number_of_items_is_sent_to_all_after_each_change_of_the_fence() {
    let mut bench = ready();
    let before = bench.sent.len();
    assert_eq!(upload(&mut bench, 1, &square(5001, 60.0)), answer(0));
    plan(&mut bench, 1, PlanBody::Clear);
    let small = MavParamType::MAV_PARAM_TYPE_INT8;
    let total = |items| ("FENCE_TOTAL".to_owned(), items, 65535, small);
    assert_eq!(values(&bench, before), [total(6.0), total(0.0)]);
}

#[test]
fn a_fence_without_home_is_accepted_and_one_of_too_many_items_refused() {
    let elsewhere: Vec<_> = square(5001, 60.0)
        .into_iter()
        .map(|item| PlanItem {
            x: item.x + 100_000,
            ..item
        })
        .collect();
    let mut bench = ready();
    assert_eq!(upload(&mut bench, 1, &elsewhere), answer(0));
    assert_eq!(plan(&mut bench, 1, PlanBody::Count(71)), [answer(4)]);
    bench.pass(0.5);
    assert!(bench.sent_text("Only 70 items are supported"));
}
