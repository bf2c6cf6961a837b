//! Plans on PX4: upload, refusal, silence, the fence, and a mission that flies (recordings 07 and 07c).

mod support;

use mavlink::dialects::ardupilotmega::{MavMessage, MissionState};
use sitl::model::{Autopilot, Firmware, VehicleConfig};
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
    let (x, y) = HOME.offset_meters(north_m, east_m).e7();
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
fn a_waypoint_is_left_at_its_own_radius_and_at_that_of_the_version_without_one() {
    for (firmware, own_m, low_m, high_m) in [
        (Firmware::Recorded, 0.0, 0.0, 1.6),
        (Firmware::Px4V116, 0.0, 0.0, 1.6),
        (Firmware::Px4V118, 0.0, 4.0, 10.0),
        (Firmware::Px4V118, 2.0, 0.0, 1.6),
    ] {
        let mut bench = ready_with(VehicleConfig {
            firmware,
            ..VehicleConfig::new(Autopilot::Px4, 1, HOME)
        });
        let mut items = square();
        items[1].params[1] = own_m;
        assert_eq!(upload(&mut bench, MISSION_KIND, &items), Some(0));
        assert_eq!(set_mode(&mut bench, 4.0, 4.0).last(), Some(&Accepted));
        assert_eq!(bench.command(300, [0.0; 7]), Accepted);
        let corner = HOME.to_local(HOME.offset_meters(25.0, 0.0));
        let mut nearest = f64::INFINITY;
        bench.until("return", 90.0, |bench| {
            let here = HOME.to_local(bench.truth().place);
            nearest = nearest.min(here.ground_distance(corner));
            bench.truth().custom_mode == RETURN
        });
        assert!((low_m..high_m).contains(&nearest), "{firmware:?} {own_m}: {nearest}");
    }
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
fn a_mission_that_begins_in_the_air_below_its_first_item_climbs_at_its_place_before_it_flies_there() {
    let mut bench = hovering(5.0);
    assert_eq!(upload(&mut bench, MISSION_KIND, &[item(16, 60.0, 0.0, 30.0)]), Some(0));
    let from = HOME.to_local(bench.truth().place);
    assert_eq!(set_mode(&mut bench, 4.0, 4.0), [Accepted, Accepted]);
    let away = |bench: &Bench| HOME.to_local(bench.truth().place).ground_distance(from);
    bench.until("near its altitude", 40.0, |bench| {
        HOME.to_local(bench.truth().place).up > 28.0
    });
    assert!(away(&bench) < 2.0, "{}", away(&bench));
    assert!(bench.sent_text("Climb to 30.0 meters above home\t"));
    bench.until("there", 60.0, |bench| away(bench) > 57.0);
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
fn a_fence_that_comes_in_flight_ends_a_mission_that_does_not_keep_to_it_on_the_spot() {
    let mut bench = ready();
    assert_eq!(upload(&mut bench, MISSION_KIND, &square()), Some(0));
    assert_eq!(bench.command(300, [0.0; 7]), Accepted);
    bench.until("on its way", 40.0, |bench| {
        HOME.to_local(bench.truth().place).north > 5.0
    });
    let since_s = bench.now_s();
    assert_eq!(upload(&mut bench, FENCE_KIND, &fence(20.0)), Some(0));
    bench.until("hold", 5.0, |bench| bench.truth().custom_mode == HOLD);
    near("once it looks at the fence", bench.now_s() - since_s, 0.6, 0.2);
    bench.pass(1.0);
    for text in [
        "Geofence violation for waypoint 2\t",
        "No valid mission available, loitering\t",
    ] {
        assert!(bench.sent_text(text), "{text}");
    }
    let not_valid = |(id, _): &(u32, _)| *id == 0x0133_bacc;
    assert_eq!(
        bench
            .events_since(since_s)
            .iter()
            .filter(|event| not_valid(event))
            .count(),
        1
    );
    let (seq, state, ..) = current(&bench);
    assert_eq!((seq, state), (1, MissionState::MISSION_STATE_NO_MISSION));
    bench.pass(4.0);
    assert!(HOME.to_local(bench.truth().place).north < 20.0);

    // It continues from there, once it is ordered to.
    let none = MissionState::MISSION_STATE_NO_MISSION;
    assert_eq!(upload(&mut bench, FENCE_KIND, &fence(60.0)), Some(0));
    bench.pass(1.2);
    assert_eq!((current(&bench).0, current(&bench).1), (1, none));
    assert_eq!(set_mode(&mut bench, 4.0, 4.0), [Accepted, Accepted]);
    bench.pass(0.3);
    assert_eq!(current(&bench).0, 1);
    assert_eq!(upload(&mut bench, FENCE_KIND, &fence(21.0)), Some(0));
    bench.until("hold", 5.0, |bench| bench.truth().custom_mode == HOLD);

    // The same items uploaded again are not judged, until the mission was cleared.
    assert_eq!(upload(&mut bench, FENCE_KIND, &fence(61.0)), Some(0));
    bench.pass(1.2);
    assert_eq!(upload(&mut bench, MISSION_KIND, &square()), Some(0));
    bench.pass(1.2);
    assert_eq!((current(&bench).0, current(&bench).1), (1, none));
    bench.receive(plan(MISSION_KIND, PlanBody::Clear));
    assert_eq!(upload(&mut bench, MISSION_KIND, &square()), Some(0));
    bench.pass(1.2);
    assert_eq!(current(&bench).1, MissionState::MISSION_STATE_NOT_STARTED);
    // A mission that is not flown is judged by each fence.
    assert_eq!(upload(&mut bench, FENCE_KIND, &fence(22.0)), Some(0));
    bench.pass(2.0);
    assert_eq!(current(&bench).1, none);
    assert_eq!(upload(&mut bench, FENCE_KIND, &fence(62.0)), Some(0));
    bench.pass(1.2);
    assert_eq!(set_mode(&mut bench, 4.0, 4.0), [Accepted, Accepted]);
    bench.until("return", 60.0, |bench| bench.truth().custom_mode == RETURN);
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
fn a_silent_upload_is_requested_every_quarter_second_and_ends_after_five_unanswered() {
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

const WITHOUT_HOME: &str = "Geofence invalid, doesn't contain Home position\t";
const WITHOUT_HOME_EVENT: u32 = 27_750_677;

fn left_out(bench: &Bench, since_s: f64) -> usize {
    let events = bench.events_since(since_s);
    events.iter().filter(|(id, _)| *id == WITHOUT_HOME_EVENT).count()
}

fn elsewhere(half_m: f64) -> Vec<PlanItem> {
    let moved = |item: PlanItem| PlanItem {
        x: item.x + 100_000,
        ..item
    };
    fence(half_m).into_iter().map(moved).collect()
}

fn circle(command: u16, radius_m: f32) -> PlanItem {
    PlanItem {
        params: [radius_m, 0.0, 0.0, 0.0],
        frame: 5,
        ..item(command, 0.0, 0.0, 0.0)
    }
}

#[test]
fn a_fence_without_home_is_accepted_then_left_out_and_a_repeat_says_nothing() {
    let mut bench = ready();
    let began_s = bench.now_s();
    assert_eq!(upload(&mut bench, FENCE_KIND, &elsewhere(60.0)), Some(0));
    bench.pass(0.3);
    assert_eq!(left_out(&bench, began_s), 0, "it looks at it after a while");
    bench.pass(1.7);
    assert_eq!(left_out(&bench, began_s), 1);
    assert!(bench.sent_text(WITHOUT_HOME));
    let (.., id) = current(&bench);
    assert_ne!(id, 0, "it has its identity all the same");

    let again_s = bench.now_s();
    assert_eq!(upload(&mut bench, FENCE_KIND, &elsewhere(60.0)), Some(0));
    bench.pass(2.0);
    bench.receive(plan(FENCE_KIND, PlanBody::Clear));
    assert_eq!(upload(&mut bench, FENCE_KIND, &elsewhere(60.0)), Some(0));
    bench.pass(2.0);
    assert_eq!(left_out(&bench, again_s), 0, "nor so soon after it was cleared");
    bench.receive(plan(FENCE_KIND, PlanBody::Clear));
    bench.pass(1.2);
    assert_eq!(upload(&mut bench, FENCE_KIND, &elsewhere(60.0)), Some(0));
    bench.pass(2.0);
    assert_eq!(left_out(&bench, again_s), 1);
}

#[test]
fn an_exclusion_over_home_is_left_out_and_a_polygon_behind_a_circle_is_misread() {
    let over_home = |mut items: Vec<PlanItem>| {
        let out = fence(20.0).into_iter().map(|item| PlanItem { command: 5002, ..item });
        items.extend(out);
        items
    };
    let behind = |items: Vec<PlanItem>| [vec![circle(5003, 100.0)], items].concat();
    let before = |items: Vec<PlanItem>| [items, vec![circle(5003, 100.0)]].concat();
    for (items, expected) in [
        (over_home(fence(60.0)), 1),
        (behind(fence(60.0)), 3),
        (before(fence(60.0)), 0),
        (fence(61.0), 0),
    ] {
        let mut bench = ready();
        let began_s = bench.now_s();
        assert_eq!(upload(&mut bench, FENCE_KIND, &items), Some(0));
        bench.pass(2.0);
        assert_eq!(left_out(&bench, began_s), expected);
    }
}

#[test]
fn sixty_four_items_are_a_fence_and_one_more_has_no_room() {
    let ring = |count: u16| {
        vec![
            PlanItem {
                params: [f32::from(count), 0.0, 0.0, 0.0],
                ..fence(80.0)[0]
            };
            usize::from(count)
        ]
    };
    let mut bench = ready();
    assert_eq!(upload(&mut bench, FENCE_KIND, &ring(64)), Some(0));
    assert_eq!(upload(&mut bench, FENCE_KIND, &ring(65)), Some(4));
}

fn values(bench: &Bench, since: usize) -> Vec<(String, u32, u32)> {
    let value = |sent: &(f64, Outgoing)| match &sent.1 {
        Outgoing::Message(message) => match &**message {
            MavMessage::PARAM_VALUE(value) => {
                let name = value.param_id.to_str().unwrap_or("?").to_owned();
                Some((name, value.param_value.to_bits(), value.param_type as u32))
            }
            _ => None,
        },
        _ => None,
    };
    bench.sent[since..].iter().filter_map(value).collect()
}

#[test]
fn a_parameter_of_another_type_is_not_answered_and_the_hash_tells_of_each_change() {
    let mut bench = ready();
    let set = |bench: &mut Bench, value: f32, kind: u8| {
        let before = bench.sent.len();
        bench.receive(Request::ParamSet {
            to: US,
            name: "GF_ACTION".to_owned(),
            value,
            kind,
        });
        values(bench, before)
    };
    let hash = |bench: &mut Bench| {
        let before = bench.sent.len();
        bench.receive(Request::ParamRead {
            to: US,
            index: -1,
            name: "_HASH_CHECK".to_owned(),
        });
        match &values(bench, before)[..] {
            [(name, bits, 5)] if name == "_HASH_CHECK" => *bits,
            other => panic!("{other:?}"),
        }
    };
    let first = hash(&mut bench);
    assert_eq!(set(&mut bench, 3.0, 9), [], "a float");
    assert_eq!(set(&mut bench, f32::from_bits(3), 2), [], "a byte");
    assert_eq!(hash(&mut bench), first);
    let answer = ("GF_ACTION".to_owned(), 77, 6);
    assert_eq!(
        set(&mut bench, f32::from_bits(77), 6),
        [answer],
        "nobody looks at the range"
    );
    let second = hash(&mut bench);
    assert_ne!(second, first);
    set(&mut bench, f32::from_bits(2), 6);
    assert_eq!(hash(&mut bench), first, "as it was");
}
