//! Plans on PX4: upload, refusal, silence, the fence, and a mission that flies (recordings 07 and 07c).
//!
//! Owns: its behaviour as sentences, with times from the recordings. Must not: look inside the model.

mod support;

use mavlink::dialects::ardupilotmega::{MavMessage, MissionState};
use sitl::wire::{Outgoing, PlanBody, PlanItem, PlanMessage, PlanReply, Request};
use support::Verdict::{Accepted, Denied};
use support::px4::*;
use support::{Bench, HOME, US, near};

const MISSION_KIND: u8 = 0;
const FENCE_KIND: u8 = 1;

fn plan(kind: u8, body: PlanBody) -> Request {
    Request::Plan(PlanMessage { to: US, kind, body })
}

fn item(command: u16, north_m: f64, east_m: f64, height_m: f32) -> PlanItem {
    let (x, y) = HOME.offset_metres(north_m, east_m).e7();
    PlanItem {
        command,
        frame: 6,
        params: [0.0, 0.0, 0.0, f32::NAN],
        x,
        y,
        z: height_m,
        autocontinue: 1,
    }
}

/// Take-off, three corners, return: as recorded.
fn square() -> Vec<PlanItem> {
    let home = PlanItem {
        command: 20,
        frame: 2,
        params: [0.0; 4],
        x: 0,
        y: 0,
        z: 0.0,
        autocontinue: 1,
    };
    vec![
        item(22, 0.0, 0.0, 8.0),
        item(16, 25.0, 0.0, 10.0),
        item(16, 25.0, 20.0, 10.0),
        item(16, 5.0, 20.0, 12.0),
        home,
    ]
}

fn fence(half_m: f64) -> Vec<PlanItem> {
    [
        (half_m, half_m),
        (half_m, -half_m),
        (-half_m, -half_m),
        (-half_m, half_m),
    ]
    .map(|(north, east)| PlanItem {
        params: [4.0, 0.0, 0.0, 0.0],
        frame: 5,
        z: 0.0,
        ..item(5001, north, east, 0.0)
    })
    .to_vec()
}

fn replies(bench: &Bench, from: usize) -> Vec<PlanReply> {
    let reply = |sent: &(f64, Outgoing)| match sent.1 {
        Outgoing::Plan { reply, .. } => Some(reply),
        _ => None,
    };
    bench.sent[from..].iter().filter_map(reply).collect()
}

/// Uploads a plan; the verdict.
fn upload(bench: &mut Bench, kind: u8, items: &[PlanItem]) -> Option<u8> {
    let before = bench.sent.len();
    bench.receive(plan(kind, PlanBody::Count(items.len() as u16)));
    for (seq, item) in (0..).zip(items) {
        if replies(bench, before)
            .iter()
            .any(|reply| matches!(reply, PlanReply::Ack { .. }))
        {
            break;
        }
        let request = PlanReply::Request { seq, old: false };
        assert_eq!(
            replies(bench, before).last(),
            Some(&request),
            "asked at once, as integers"
        );
        bench.receive(plan(kind, PlanBody::Item { seq, item: *item }));
    }
    replies(bench, before).iter().find_map(|reply| match reply {
        PlanReply::Ack { verdict, .. } => Some(*verdict),
        _ => None,
    })
}

fn current(bench: &Bench) -> (u16, MissionState, u32, u32) {
    let homes = bench.messages().filter_map(|(_, message)| match message {
        MavMessage::MISSION_CURRENT(current) => {
            Some((current.seq, current.mission_state, current.mission_id, current.fence_id))
        }
        _ => None,
    });
    homes.last().expect("it is sent once a second")
}

#[test]
fn a_mission_is_flown_from_its_start_to_the_landing_at_home() {
    let mut bench = ready();
    assert_eq!(upload(&mut bench, MISSION_KIND, &square()), Some(0));
    assert_eq!(set_mode(&mut bench, 4.0, 4.0), [Accepted, Accepted]);
    assert_eq!(bench.command(300, [0.0; 7]), Accepted);
    let start_s = bench.now_s();
    bench.pass(0.5);
    for text in [
        "Armed by mission start\t",
        "Executing Mission\t",
        "Climb to 8.0 meters above home\t",
    ] {
        assert!(bench.sent_text(text), "{text}");
    }
    bench.until("return", 60.0, |bench| bench.truth().custom_mode == RETURN);
    near("all items", bench.now_s() - start_s, 36.5, 4.0);
    bench.pass(0.3);
    assert!(bench.sent_text("Mission finished, loitering\t"));
    let own: Vec<u16> = bench
        .sent
        .iter()
        .filter_map(|(_, sent)| match sent {
            Outgoing::Command(command) => Some(command.command),
            _ => None,
        })
        .collect();
    assert!(own.contains(&20) && own.contains(&2003), "it commands itself: {own:?}");
    let mut reached: Vec<u16> = bench
        .messages()
        .filter_map(|(_, message)| match message {
            MavMessage::MISSION_ITEM_REACHED(reached) => Some(reached.seq),
            _ => None,
        })
        .collect();
    assert!(reached.len() > 10, "said again each second");
    reached.dedup();
    assert_eq!(reached, [0, 1, 2, 4], "the last two are done in one moment");
    bench.until("down", 80.0, |bench| !bench.truth().armed);
    assert_eq!(bench.truth().custom_mode, HOLD);
    assert!(HOME.to_local(bench.truth().place).ground_distance(HOME.to_local(HOME)) < 2.0);
}

#[test]
fn a_mission_is_left_and_taken_up_again_where_it_was() {
    let mut bench = ready();
    assert_eq!(upload(&mut bench, MISSION_KIND, &square()), Some(0));
    assert_eq!(bench.command(300, [0.0; 7]), Accepted);
    bench.until("on its way", 40.0, |bench| {
        HOME.to_local(bench.truth().place).north > 10.0
    });
    assert_eq!(set_mode(&mut bench, 4.0, 3.0), [Accepted, Accepted]);
    bench.pass(5.0);
    let (seq, state, ..) = current(&bench);
    assert_eq!((seq, state), (1, MissionState::MISSION_STATE_PAUSED));
    let held = bench.truth().place;
    bench.pass(3.0);
    assert!(HOME.to_local(held).ground_distance(HOME.to_local(bench.truth().place)) < 1.0);
    assert_eq!(set_mode(&mut bench, 4.0, 4.0), [Accepted, Accepted]);
    bench.until("return", 60.0, |bench| bench.truth().custom_mode == RETURN);
}

#[test]
fn a_mission_that_leaves_the_fence_is_accepted_and_does_not_fly() {
    let mut bench = ready();
    assert_eq!(upload(&mut bench, FENCE_KIND, &fence(60.0)), Some(0));
    let mut outside = square();
    outside[2] = item(16, 150.0, 20.0, 10.0);
    assert_eq!(upload(&mut bench, MISSION_KIND, &outside), Some(0));
    bench.pass(1.2);
    assert!(bench.sent_text("Geofence violation for waypoint 3\t"));
    let (_, state, mission, fence) = current(&bench);
    assert_eq!(state, MissionState::MISSION_STATE_NO_MISSION);
    assert!(mission != 0 && fence != 0, "both plans have their identity");
    assert_eq!(bench.command(300, [0.0; 7]), Denied);
    assert_eq!(upload(&mut bench, MISSION_KIND, &square()), Some(0));
    bench.pass(1.2);
    assert_eq!(current(&bench).1, MissionState::MISSION_STATE_NOT_STARTED);
}

#[test]
fn bad_items_have_their_verdicts_and_leave_the_old_plan_whole() {
    let mut bench = ready();
    assert_eq!(upload(&mut bench, MISSION_KIND, &square()), Some(0));
    let with = |item: PlanItem| {
        let mut items = square();
        items[1] = item;
        items
    };
    let good = item(16, 25.0, 0.0, 10.0);
    let cases = [
        (with(PlanItem { command: 31999, ..good }), Some(3)),
        (with(PlanItem { frame: 99, ..good }), Some(2)),
    ];
    for (items, verdict) in cases {
        assert_eq!(upload(&mut bench, MISSION_KIND, &items), verdict);
    }
    bench.pass(0.5);
    assert!(bench.sent_text("IGN MISSION_ITEM: Invalid item\t"));
    let two = |mut items: Vec<PlanItem>| {
        items.truncate(2);
        items.iter_mut().for_each(|item| item.params[0] = 2.0);
        items
    };
    assert_eq!(
        upload(&mut bench, FENCE_KIND, &two(fence(50.0))),
        Some(1),
        "no polygon of two"
    );
    let before = bench.sent.len();
    bench.receive(plan(MISSION_KIND, PlanBody::Count(60_000)));
    bench.receive(plan(MISSION_KIND, PlanBody::List));
    let count = |reply: &PlanReply| matches!(reply, PlanReply::Count { count: 5, .. });
    let answers = replies(&bench, before);
    assert!(matches!(answers[0], PlanReply::Ack { verdict: 4, .. }), "no space");
    assert!(answers.iter().any(count), "{answers:?}");
    let far = PlanItem {
        x: 1_234_567_890,
        ..good
    };
    assert_eq!(
        upload(&mut bench, MISSION_KIND, &with(far)),
        Some(0),
        "latitude 123 is taken"
    );
}

#[test]
fn a_silent_upload_is_requested_again_every_quarter_second_and_ends_after_five_without_an_ack() {
    let mut bench = ready();
    let before = bench.sent.len();
    bench.receive(plan(MISSION_KIND, PlanBody::Count(3)));
    bench.pass(4.9);
    let requests = replies(&bench, before);
    assert!((18..=21).contains(&requests.len()), "{}", requests.len());
    assert!(
        requests
            .iter()
            .all(|reply| *reply == PlanReply::Request { seq: 0, old: false })
    );
    bench.pass(2.0);
    assert!(bench.sent_text("Operation timeout\t"));
    let end = replies(&bench, before).len();
    assert!(
        replies(&bench, before)
            .iter()
            .all(|reply| !matches!(reply, PlanReply::Ack { .. }))
    );
    bench.pass(2.0);
    assert_eq!(replies(&bench, before).len(), end, "it is over");
}
