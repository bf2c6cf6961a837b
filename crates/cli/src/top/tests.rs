//! The view by its screens: state and keys in, text out.

use super::draw::{Paint, draw};
use super::keys::Key;
use super::model::{Effect, Model, Over, View};
use super::objects::{Details, EventLine};
use super::rows::{self, List, RowKey};
use crate::args::Filter;
use crate::live::clock::Now;
use crate::live::fleet_feed::{FleetSnapshot, Lost};
use crate::orders::{Order, Outcome, Verb, Whom};
use crate::vehicle::tests::{holding, pending};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use proto::v1;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

fn after(seconds: f64) -> Now {
    Now {
        elapsed: Duration::from_secs(1000) + Duration::from_secs_f64(seconds),
        utc: "2026-11-24T12:00:00Z".parse().unwrap(),
    }
}

fn model_of(vehicles: Vec<v1::Vehicle>) -> Model {
    let mut model = Model::new("http://coordinator".into(), Filter::default());
    model.fleet = FleetSnapshot {
        vehicles: Arc::new(vehicles),
        received: Some(after(0.0).elapsed),
        lost: None,
    };
    model
}

fn idle(node: &str) -> v1::Vehicle {
    v1::Vehicle {
        drone_namespace: String::new(),
        drone_name: String::new(),
        swarm: String::new(),
        node: node.into(),
        phase: "Idle".into(),
        message: "no Drone wants it".into(),
        ..holding(node)
    }
}

fn fleet() -> Vec<v1::Vehicle> {
    let mut low = holding("drone-10");
    low.report.as_mut().unwrap().battery.as_mut().unwrap().remaining_percent = Some(9);
    let mut silent = holding("drone-2");
    silent.report.as_mut().unwrap().battery = None;
    vec![low, silent, pending("waits"), idle("spare")]
}

fn lost(model: &mut Model) {
    model.fleet.lost = Some(Lost {
        since: after(0.0).elapsed,
        why: "connection refused".into(),
    });
}

fn buffer(model: &mut Model, now: Now, (width, height): (u16, u16), color: bool) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, model, now, Paint { color })).unwrap();
    terminal.backend().buffer().clone()
}

fn screen(model: &mut Model, now: Now) -> String {
    text(&buffer(model, now, (80, 24), true))
}

fn text(buffer: &Buffer) -> String {
    let width = usize::from(buffer.area.width);
    let lines = buffer.content.chunks(width).map(|line| {
        let line: String = line.iter().map(ratatui::buffer::Cell::symbol).collect();
        line.trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn press(model: &mut Model, keys: &str) -> Option<Effect> {
    keys.chars()
        .map(|c| model.press(Key::Char(c), after(0.0)))
        .last()
        .flatten()
}

fn drones(model: &Model) -> Vec<String> {
    let rows = model.rows(after(0.0));
    rows.iter().map(|row| row.cells[1].text.clone()).collect()
}

#[test]
fn a_fresh_fleet_is_live_and_has_each_drone_with_what_its_own_autopilot_says() {
    let screen = screen(&mut model_of(fleet()), after(0.5));
    assert!(
        screen.contains("live  3 Drones: 2 flying, 1 not flying, 0 unknown; 1 idle vehicle"),
        "{screen}"
    );
    let line = screen.lines().find(|line| line.contains("> ")).unwrap();
    assert!(
        line.contains("drone-10") && line.contains("Flying") && line.contains("yes"),
        "{line}"
    );
    assert!(line.contains("9%") && line.contains("10.0m"), "{line}");
    assert!(!screen.contains("spare"), "idle vehicles are in another list: {screen}");
    assert!(screen.contains("default/drone-10: flies as asked"), "{screen}");
}

#[test]
fn a_lost_coordinator_is_shown_at_once_with_the_age_of_everything() {
    let mut model = model_of(fleet());
    lost(&mut model);
    let at_once = screen(&mut model, after(0.6));
    assert!(
        at_once.contains("NOT CONNECTED, all below is from 600ms ago: connection refused"),
        "{at_once}"
    );
    assert!(at_once.contains("was Flying") && !at_once.contains("live"), "{at_once}");
    let later = screen(&mut model, after(12.0));
    assert!(later.contains("all below is from 12s ago"), "{later}");
    let line = later.lines().find(|line| line.contains("drone-10")).unwrap();
    assert!(line.contains("unknown") && line.contains("9% (12s ago)"), "{line}");
    assert!(!line.contains("yes"), "{line}");
    // Without a vehicle nothing could have changed.
    let waits = later.lines().find(|line| line.contains("waits")).unwrap();
    assert!(waits.contains("Pending") && !waits.contains("was"), "{waits}");
}

#[test]
fn a_connection_on_which_nothing_comes_is_no_live_one() {
    let mut model = model_of(fleet());
    assert!(screen(&mut model, after(4.9)).contains("live"));
    let silent = screen(&mut model, after(7.0));
    assert!(
        silent.contains("NOTHING RECEIVED for 7s: all below is as old"),
        "{silent}"
    );
    // Without a connected agent no reports are due.
    let mut none = model_of(vec![pending("waits")]);
    assert!(screen(&mut none, after(60.0)).contains("live  1 Drone:"));
}

#[test]
fn an_order_is_given_by_the_letter_y_and_by_no_other_key() {
    let mut model = model_of(fleet());
    assert_eq!(press(&mut model, "g"), None);
    let asked = screen(&mut model, after(0.0));
    assert!(asked.contains("ground Drone default/drone-10?"), "{asked}");
    assert!(asked.contains("It concerns this one:"), "{asked}");
    assert!(
        asked.contains("default/drone-10 on node-drone-10: Flying, flying, 10.0m"),
        "{asked}"
    );
    for key in [
        Key::Enter,
        Key::Char('g'),
        Key::Char('Y'),
        Key::Char(' '),
        Key::Char('d'),
        Key::PageDown,
    ] {
        assert_eq!(model.press(key, after(0.0)), None, "{key:?}");
        assert!(matches!(model.over, Some(Over::Confirm(_))), "{key:?}");
    }
    let order = Order {
        verb: Verb::Ground,
        whom: vec![Whom::Drone("default".into(), "drone-10".into())],
    };
    assert_eq!(press(&mut model, "y"), Some(Effect::Give(order)));
    assert_eq!((model.over.is_none(), model.pending), (true, 1));
    assert_eq!(press(&mut model, "y"), None, "once");
    for key in [Key::Esc, Key::Char('n'), Key::Char('q')] {
        press(&mut model, "r");
        assert_eq!(model.press(key, after(0.0)), None);
        assert!(model.over.is_none() && model.notice.as_deref() == Some("nothing was ordered"));
    }
}

#[test]
fn a_confirmation_lists_all_whom_it_concerns_and_how_old_that_is() {
    let mut model = model_of((1..=40).map(|n| holding(&format!("d-{n}"))).collect());
    press(&mut model, ":ground all");
    model.press(Key::Enter, after(0.0));
    let asked = screen(&mut model, after(0.0));
    assert!(
        asked.contains("ground ALL Swarms and Drones of all namespaces?"),
        "{asked}"
    );
    assert!(
        asked.contains("It concerns these 40:") && asked.contains("more lines"),
        "{asked}"
    );
    for _ in 0..60 {
        press(&mut model, "j");
    }
    assert!(screen(&mut model, after(0.0)).contains("default/d-40"));
    lost(&mut model);
    model.scroll = 0;
    let old = screen(&mut model, after(9.0));
    assert!(old.contains("It concerned these 40, as they were 9s AGO:"), "{old}");
    model.press(Key::End, after(9.0));
    assert!(screen(&mut model, after(9.0)).contains("was Flying, UNKNOWN whether it flies"));
    let mut narrow = model_of(vec![holding("a")]);
    narrow.filter.namespace = Some("default".into());
    press(&mut narrow, ":release all");
    narrow.press(Key::Enter, after(0.0));
    let text = screen(&mut narrow, after(0.0));
    assert!(text.contains("and others: this view was started for a part"), "{text}");
    assert!(text.contains("TAKE OFF again"), "{text}");
}

#[test]
fn an_answer_does_not_push_a_question_away() {
    let mut model = model_of(fleet());
    press(&mut model, "gy");
    press(&mut model, "r");
    let outcome = Outcome {
        verb: Verb::Ground,
        answers: vec![("Swarm a: you may not".into(), false), ("done".into(), true)],
    };
    model.answered(outcome.clone());
    assert!(matches!(model.over, Some(Over::Confirm(_))));
    assert_eq!(model.notice.as_deref(), Some("ground: NOT done in full"));
    press(&mut model, "n");
    model.answered(outcome);
    let shown = screen(&mut model, after(0.0));
    assert!(shown.contains("NOT DONE: Swarm a: you may not"), "{shown}");
}

#[test]
fn marked_rows_are_ordered_together_and_only_drones_are_resumed() {
    let mut model = model_of(fleet());
    press(&mut model, "  u");
    let Some(Over::Confirm(order)) = &model.over else {
        panic!("{:?}", model.over)
    };
    assert_eq!((order.verb, order.whom.len()), (Verb::Resume, 2));
    press(&mut model, "n");
    model.press(Key::Esc, after(0.0));
    assert!(model.marked.is_empty());
    press(&mut model, "3/spare");
    model.press(Key::Enter, after(0.0));
    press(&mut model, "u");
    assert_eq!(
        model.notice.as_deref(),
        Some("only Drones are resumed; none is selected")
    );
    press(&mut model, "g");
    let Some(Over::Confirm(order)) = &model.over else {
        panic!("{:?}", model.over)
    };
    assert_eq!(order.whom, [Whom::Node("spare".into())]);
}

#[test]
fn rows_are_sorted_by_figures_the_empty_last_and_names_as_people_count() {
    let mut model = model_of(fleet());
    press(&mut model, "N");
    assert_eq!(drones(&model), ["drone-2", "drone-10", "waits"]);
    press(&mut model, "N");
    assert_eq!(drones(&model), ["waits", "drone-10", "drone-2"]);
    press(&mut model, "B");
    assert_eq!(drones(&model)[0], "drone-10");
    press(&mut model, "B");
    assert_eq!(drones(&model)[0], "drone-10", "the others have none");
    assert!(screen(&mut model, after(0.0)).contains("BATTERY↓"));
}

#[test]
fn a_filter_keeps_what_has_the_text_and_escape_takes_it_back() {
    let mut model = model_of(fleet());
    press(&mut model, "/DRONE-1");
    assert_eq!(drones(&model), ["drone-10"], "while it is typed");
    model.press(Key::Esc, after(0.0));
    assert_eq!(drones(&model).len(), 3);
    press(&mut model, "/!pending");
    model.press(Key::Enter, after(0.0));
    assert_eq!(drones(&model), ["drone-10", "drone-2"]);
    assert_eq!(press(&mut model, "q"), Some(Effect::Quit));
    model.press(Key::Esc, after(0.0));
    assert_eq!(drones(&model).len(), 3);
    press(&mut model, "/nobody");
    let none = screen(&mut model, after(0.0));
    assert!(none.contains("nothing has \"nobody\"; Esc shows all"), "{none}");
}

#[test]
fn the_selection_stays_with_its_row_when_others_come_and_go() {
    let mut model = model_of(fleet());
    press(&mut model, "j");
    let selected = |model: &Model| {
        let rows = model.rows(after(0.0));
        model.selected(&rows).map(|index| rows[index].cells[1].text.clone())
    };
    assert_eq!(selected(&model).as_deref(), Some("drone-2"));
    let mut more = fleet();
    more.insert(0, holding("a-first"));
    model.fleet.vehicles = Arc::new(more);
    assert_eq!(selected(&model).as_deref(), Some("drone-2"));
    model.fleet.vehicles = Arc::new(vec![holding("b"), holding("c"), holding("d")]);
    assert_eq!(selected(&model).as_deref(), Some("c"), "the one at its place");
    model.fleet.vehicles = Arc::new(Vec::new());
    assert_eq!(selected(&model), None);
    assert_eq!(press(&mut model, "g d"), None);
}

#[test]
fn commands_of_k9s_lead_to_the_lists_and_an_unknown_one_says_which_there_are() {
    let mut model = model_of(fleet());
    for (command, view) in [
        ("swarms", View::List(List::Swarms)),
        ("vh", View::List(List::Vehicles)),
        ("ms", View::List(List::Missions)),
        ("map", View::Map),
        ("dr", View::List(List::Drones)),
    ] {
        press(&mut model, &format!(":{command}"));
        assert_eq!(model.press(Key::Enter, after(0.0)), None);
        assert_eq!(model.view, view);
    }
    press(&mut model, ":kill");
    model.press(Key::Enter, after(0.0));
    assert!(
        model
            .notice
            .as_deref()
            .unwrap()
            .starts_with("there is no command :kill; there are drones")
    );
    press(&mut model, ":q");
    assert_eq!(model.press(Key::Enter, after(0.0)), Some(Effect::Quit));
}

fn swarm(name: &str, replicas: i32) -> crds::Swarm {
    serde_json::from_value(json!({
        "apiVersion": "skein.dev/v1alpha1", "kind": "Swarm",
        "metadata": {"name": name, "namespace": "default", "creationTimestamp": "2026-11-24T11:58:00Z"},
        "spec": {"replicas": replicas, "grounded": name == "down"},
        "status": {"conditions": [{"type": "Ready", "status": "False", "reason": "R", "message": "2 of 3 fly",
            "lastTransitionTime": "2026-11-24T11:59:30Z"}]},
    }))
    .unwrap()
}

#[test]
fn swarms_are_those_of_the_api_and_those_that_drones_name_with_live_counts() {
    let mut model = model_of(fleet());
    press(&mut model, "2");
    let read = model.source(after(0.0)).rows(List::Swarms);
    assert_eq!(read.len(), 1, "alpha is known by its Drones");
    assert_eq!(read[0].cells[2].text, "-", "how many are desired is not known");
    let objects = Arc::new(vec![swarm("alpha", 3), swarm("down", 0)]);
    model.objects.swarms.note(Ok(objects), after(0.0).elapsed);
    let screen = screen(&mut model, after(0.0));
    let line = |name: &str| {
        let line = screen.lines().find(|line| line.contains(name)).unwrap();
        line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(line("> ")[1..6], ["alpha", "3", "3", "2", "0"], "{screen}");
    assert!(line(" down").contains(&"yes".to_owned()), "{screen}");
    assert!(screen.contains("2 of 3 fly"), "{screen}");
    model
        .objects
        .swarms
        .note(Err("you may not list the Swarms".into()), after(30.0).elapsed);
    let later = self::screen(&mut model, after(40.0));
    assert!(
        later.contains("Swarm objects as of 40s ago: you may not list the Swarms"),
        "{later}"
    );
}

fn mission(name: &str, status: serde_json::Value) -> crds::Mission {
    let corner = |latitude: f64| json!({"latitudeDegrees": latitude, "longitudeDegrees": 8.0, "altitudeMeters": 20});
    serde_json::from_value(json!({
        "apiVersion": "skein.dev/v1alpha1", "kind": "Mission",
        "metadata": {"name": name, "namespace": "default", "creationTimestamp": "2026-11-24T11:58:00Z"},
        "spec": {"route": {"waypoints": [corner(47.0), corner(47.001)]}},
        "status": status,
    }))
    .unwrap()
}

#[test]
fn missions_have_their_state_what_is_done_and_an_order_on_one_is_for_its_drones() {
    let mut model = model_of(fleet());
    press(&mut model, "4");
    assert!(screen(&mut model, after(0.0)).contains("Missions: being read"));
    let condition = |kind: &str, message: &str| json!({"type": kind, "status": "True", "reason": "R", "message": message, "lastTransitionTime": "2026-11-24T11:59:30Z"});
    let part = |drone: &str| json!({"drone": drone, "start": {"latitudeDegrees": 47.0, "longitudeDegrees": 8.0}, "ranges": []});
    let missions = vec![
        mission(
            "field",
            json!({"done": "40%", "vehicles": 2, "estimatedCompletionTime": "2026-11-24T12:05:00Z",
                   "parts": [part("drone-10"), part("drone-2")], "conditions": [condition("Progressing", "2 vehicles fly it")]}),
        ),
        mission(
            "over",
            json!({"done": "100%", "completed": 1, "conditions": [
            condition("Progressing", "all is flown"), condition("Complete", "all of it was flown")]}),
        ),
        mission(
            "wrecked",
            json!({"done": "40%", "vehicles": 3, "estimatedCompletionTime": "2026-11-24T12:07:00Z",
                   "parts": [part("drone-10"), part("gone")], "conditions": [condition("Stalled", "its work is edited to nonsense")]}),
        ),
    ];
    model.objects.missions.note(Ok(Arc::new(missions)), after(0.0).elapsed);
    let screen = screen(&mut model, after(0.0));
    let line = |name: &str| screen.lines().find(|line| line.contains(name)).unwrap().to_owned();
    for word in ["field", "Progressing", "40%", "5m", "2 vehicles fly it"] {
        assert!(line("> ").contains(word), "{word}: {screen}");
    }
    assert!(
        line(" over").contains("Complete") && line(" over").contains("all of it was flown"),
        "{screen}"
    );
    let wrecked: Vec<String> = line(" wrecked").split_whitespace().map(str::to_owned).collect();
    assert_eq!(
        wrecked[..4],
        ["wrecked", "Stalled", "40%", "1"],
        "as many as fly: {screen}"
    );
    assert_eq!(wrecked[4], "-", "no end is in sight: {screen}");
    press(&mut model, "g");
    let whom = ["drone-10", "drone-2"].map(|name| Whom::Drone("default".into(), name.into()));
    assert_eq!(
        model.over,
        Some(Over::Confirm(Order {
            verb: Verb::Ground,
            whom: whom.to_vec()
        }))
    );
    press(&mut model, "njg");
    assert_eq!(model.over, None, "nobody flies it");
    assert!(
        model
            .notice
            .as_deref()
            .unwrap()
            .contains("no Drone flies this Mission now")
    );
    press(&mut model, "kd");
    let details = self::screen(&mut model, after(0.0));
    assert!(
        details.contains("Mission default/field") && details.contains("drone-2 "),
        "{details}"
    );
}

fn object(name: &str, node: &str, uid: Option<&str>) -> crds::Vehicle {
    serde_json::from_value(json!({
        "apiVersion": "skein.dev/v1alpha1", "kind": "Vehicle", "metadata": {"name": name},
        "spec": {"nodeName": node, "hardwareUid": uid},
        "status": {"autopilot": "PX4", "flights": 7, "battery": {"remainingPercent": 75}, "conditions": [
            {"type": "Free", "status": "True", "reason": "Free", "message": "a Drone can be bound to it",
             "lastTransitionTime": "2026-11-24T11:59:30Z"}]},
    }))
    .unwrap()
}

#[test]
fn the_inventory_shows_what_is_not_heard_as_unknown_and_never_mixes_two_airframes() {
    let mut model = model_of(fleet());
    press(&mut model, "3");
    let zeros = "00".repeat(8);
    let objects = vec![
        object("spare-0", "spare", Some(&zeros)),
        object("spare-1", "spare", Some(&"11".repeat(8))),
        object("away-0", "away", None),
    ];
    model.objects.vehicles.note(Ok(Arc::new(objects)), after(0.0).elapsed);
    let rows = model.rows(after(0.0));
    let flying = |name: &str| {
        let of = |row: &&rows::Row| matches!(&row.key, RowKey::Vehicle(_, Some(object)) if object == name);
        rows.iter()
            .find(of)
            .map(|row| (row.cells[3].text.clone(), row.cells[4].text.clone()))
    };
    assert_eq!(
        flying("spare-0"),
        Some(("yes".into(), "87%".into())),
        "this one is heard"
    );
    assert_eq!(
        flying("spare-1"),
        Some(("unknown".into(), "-".into())),
        "another airframe of the node"
    );
    assert_eq!(flying("away-0"), Some(("unknown".into(), "-".into())));
    assert_eq!(rows.len(), 5, "two that serve Drones have no object yet");
}

#[test]
fn without_a_kubeconfig_the_view_says_what_it_does_not_show() {
    let mut model = model_of(fleet());
    model.objects.none = Some("no kubeconfig is named for this coordinator".into());
    for (key, what) in [("2", "Swarm objects"), ("3", "inventory")] {
        press(&mut model, key);
        let screen = screen(&mut model, after(0.0));
        let note = format!("{what} not shown: no kubeconfig is named");
        assert!(screen.contains(&note), "{screen}");
    }
    press(&mut model, "1d");
    let details = screen(&mut model, after(0.0));
    assert!(
        details.contains("Not shown, nor Events: no kubeconfig is named"),
        "{details}"
    );
    assert!(
        details.contains("InAir, Holding") && details.contains("47.397742, 8.545594"),
        "{details}"
    );
}

#[test]
fn details_have_conditions_and_events_of_that_object_and_of_no_other() {
    let mut model = model_of(fleet());
    press(&mut model, "d");
    let about = model.wanted().details.unwrap();
    assert_eq!(
        (about.kind, about.namespace.as_str(), about.name.as_str()),
        ("Drone", "default", "drone-10")
    );
    let condition: Condition = serde_json::from_value(json!({
        "type": "Ready", "status": "False", "reason": "TakenOver", "message": "a pilot\u{1b}[2J has it",
        "lastTransitionTime": "2026-11-24T11:59:30Z"
    }))
    .unwrap();
    let event = EventLine {
        at: Some("2026-11-24T11:59:00Z".parse().unwrap()),
        warning: true,
        reason: "TakenOver".into(),
        text: "somebody took over".into(),
        count: 3,
    };
    let details = Details {
        conditions: vec![condition],
        events: Ok(vec![event]),
    };
    let mut reading = crate::live::objects::Reading::default();
    reading.note(Ok(details), after(0.0).elapsed);
    model.objects.details = Some((about, reading));
    let shown = screen(&mut model, after(0.0));
    assert!(
        shown.contains("Ready        False    TakenOver (30s ago): a pilot [2J has it"),
        "{shown}"
    );
    assert!(
        shown.contains("60s ago Warning  TakenOver (×3): somebody took over"),
        "{shown}"
    );
    model.press(Key::Esc, after(0.0));
    press(&mut model, "jd");
    let other = screen(&mut model, after(0.0));
    assert!(other.contains("being read") && !other.contains("TakenOver"), "{other}");
}

#[test]
fn the_map_has_vehicles_homes_a_scale_and_says_who_is_missing() {
    let mut away = holding("b");
    let report = away.report.as_mut().unwrap();
    report.position.as_mut().unwrap().latitude_deg += 0.001;
    report.truth = v1::FlightTruth::Disarmed.into();
    report.home = Some(v1::Waypoint {
        latitude_deg: 47.3984,
        longitude_deg: 8.5465,
        altitude_amsl_m: 488.0,
    });
    let mut nowhere = holding("c");
    nowhere.report.as_mut().unwrap().position = None;
    let mut model = model_of(vec![holding("a"), away, nowhere]);
    press(&mut model, "5");
    let map = screen(&mut model, after(0.0));
    assert!(map.contains("▲ node-a") && map.contains("■ node-b"), "{map}");
    assert!(
        map.contains("⌂") && map.contains("north up") && map.contains("50 m"),
        "{map}"
    );
    assert!(map.contains("1 without a position"), "{map}");
    lost(&mut model);
    let old = screen(&mut model, after(9.0));
    assert!(old.contains("? node-a") && !old.contains("▲ node-a"), "{old}");
    let mut empty = model_of(vec![pending("a")]);
    press(&mut empty, "5");
    assert!(screen(&mut empty, after(0.0)).contains("No vehicle has reported a position."));
}

#[test]
fn no_size_is_too_small_or_too_large_and_nothing_is_said_by_color_alone() {
    let mut model = model_of(fleet());
    model.objects.none = Some("no kubeconfig".into());
    for keys in ["1", "2", "3", "4", "?", "1d", "1g", "4g", "3d"] {
        model.over = None;
        press(&mut model, keys);
        for width in [1, 20, 30, 31, 53, 80, 132, 300] {
            for height in [1, 3, 8, 9, 24, 70] {
                let colored = buffer(&mut model, after(20.0), (width, height), true);
                let plain = buffer(&mut model, after(20.0), (width, height), false);
                assert_eq!(text(&colored), text(&plain), "{keys} at {width}×{height}");
                for cell in &plain.content {
                    assert_eq!((cell.fg, cell.bg), (Color::Reset, Color::Reset), "{keys}");
                }
                for cell in &colored.content {
                    let indexed = matches!(cell.fg, Color::Rgb(..) | Color::Indexed(_));
                    assert!(!indexed && cell.bg == Color::Reset, "{keys}: {cell:?}");
                }
            }
        }
    }
    let mut model = model_of(fleet());
    let plain = buffer(&mut model, after(0.0), (80, 24), false);
    assert!(
        plain
            .content
            .iter()
            .any(|cell| cell.modifier.contains(Modifier::REVERSED))
    );
}

#[test]
fn drawing_takes_a_fifth_of_a_core_at_most_however_large_the_fleet_is() {
    let ms = Duration::from_millis;
    assert_eq!(
        super::rest(ms(1)),
        ms(50),
        "a small fleet is drawn twenty times a second"
    );
    for took in [20, 100, 3_000] {
        assert!(super::rest(ms(took)) >= ms(4 * took));
    }
}
