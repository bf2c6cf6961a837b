//! Missions: work that completes, on real autopilots.

use std::time::Duration;

use anyhow::{Context, ensure};
use mavlink::dialects::ardupilotmega::{MavCmd, MavMessage, MavMissionType};
use serde_json::{Value, json};
use testkit::autopilots::{HOME, Stack};

use super::formations::{gaps, resume, wait_flying};
use super::stations::{Track, place, track};
use crate::field::{Field, NODES, Setup};
use crate::figures::Figures;
use crate::modes::{HOLD, MISSION, PILOTS};
use crate::objects::{condition, is};
use crate::scenario::Scenario;
use skein_tests::wire::now;

pub const ALL: &[Scenario] = &[
    Scenario::new(
        "mission",
        "a route with holds and photos, past two killed coordinators, a pilot, somebody else's mission and a plan that is refused",
        mission,
    )
    .with(|_| Setup {
        // Somebody has drawn a fence of the vehicle's own, unknown to Skein.
        px4: vec![("GF_MAX_HOR_DIST", 150.0), ("GF_ACTION", 2.0)],
        ..Setup::default()
    })
    .real_time(),
    Scenario::new(
        "mission-file",
        "a plan of QGroundControl in a ConfigMap: its items are on the autopilot unchanged, and are flown",
        file,
    )
    .real_time(),
    Scenario::new(
        "survey",
        "a field that is not convex, with a hole, shared by three vehicles: one is relieved as its battery is small, one is lost",
        survey,
    )
    .with(|_| Setup {
        vehicles: 4,
        apart: 25.0,
        ..Setup::default()
    })
    .real_time(),
    Scenario::new(
        "patrol",
        "a patrol for ever, twelve times around: how long no vehicle is on the way when one vehicle follows another",
        patrol,
    )
    .with(|_| Setup {
        vehicles: 3,
        apart: 25.0,
        ..Setup::default()
    })
    .real_time(),
];

const NODE: &str = NODES[0];
const NAME: &str = "field";
const UP: f64 = 20.0;

pub(super) fn apply(field: &Field, name: &str, spec: &Value) -> anyhow::Result<()> {
    let object =
        json!({"apiVersion": "skein.dev/v1alpha1", "kind": "Mission", "metadata": {"name": name}, "spec": spec});
    field.kubectl().apply(&object.to_string()).map(drop)
}

fn get(field: &Field, name: &str) -> anyhow::Result<Value> {
    field.read(&format!("namespaces/default/missions/{name}"))
}

pub(super) fn wait_for(field: &Field, name: &str, kind: &str, seconds: u32) -> anyhow::Result<Value> {
    field.wait(&format!("Mission {name} to be {kind}"), seconds, || {
        let object = get(field, name)?;
        ensure!(is(&object, kind), "{}", object["status"]);
        Ok(object)
    })
}

pub(super) fn wait_on_plan(field: &Field, node: &str, seconds: u32) -> anyhow::Result<()> {
    field.wait(&format!("{node} to fly its plan"), seconds, || {
        let record = field.record(node);
        let (mode, wanted) = (record.mode(), MISSION.number(field.stack));
        ensure!(mode == Some(wanted) && record.said().in_air(), "mode {mode:?}");
        Ok(())
    })
}

fn reached(field: &Field, node: &str, since: u64) -> Vec<(u64, u16)> {
    let record = field.record(node);
    let items = record.reported_since(since).filter_map(|(at, message)| match message {
        MavMessage::MISSION_ITEM_REACHED(m) => Some((at, m.seq)),
        _ => None,
    });
    let mut items: Vec<_> = items.collect();
    items.dedup_by_key(|(_, seq)| *seq);
    items
}

/// PX4 also reports items that it does where it is.
fn first_place_reached(field: &Field, node: &str, since: u64) -> Option<u64> {
    let mut all = reached(field, node, since).into_iter();
    let record = field.record(node);
    let is_place = |(at, reached): &(u64, u16)| {
        let mut item = record
            .sent_since(0)
            .filter(|(sent, _)| sent < at)
            .filter_map(|(_, message)| match message {
                MavMessage::MISSION_ITEM_INT(item) if item.seq == *reached => Some(item.command),
                _ => None,
            });
        item.next_back() == Some(MavCmd::MAV_CMD_NAV_WAYPOINT)
    };
    all.find(is_place).map(|(at, _)| at)
}

pub(super) fn wait_near(field: &Field, node: &str, at: [f64; 2], meters: f64, since: u64) -> anyhow::Result<()> {
    field.wait(&format!("{node} to be near {at:?}"), 120, || {
        let track = track(field, node, since);
        let nearest = nearest(&track, at);
        ensure!(nearest <= meters, "it came as near as {nearest:.1} m");
        Ok(())
    })
}

pub(super) fn nearest(track: &Track, at: [f64; 2]) -> f64 {
    let distances = track.iter().map(|(_, p)| (p[0] - at[0]).hypot(p[1] - at[1]));
    distances.fold(f64::INFINITY, f64::min)
}

/// Distance of a point from the way through `places`, over ground and in altitude.
fn off(point: [f64; 3], places: &[[f64; 3]]) -> f64 {
    let legs = places.windows(2).map(|leg| {
        let way = [0, 1, 2].map(|axis| leg[1][axis] - leg[0][axis]);
        let from = [0, 1, 2].map(|axis| point[axis] - leg[0][axis]);
        let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
        let share = (dot(from, way) / dot(way, way).max(1e-9)).clamp(0.0, 1.0);
        let left = [0, 1, 2].map(|axis| from[axis] - way[axis] * share);
        dot(left, left).sqrt()
    });
    legs.fold(f64::INFINITY, f64::min)
}

/// Distance of a point from the plan through `places`: on a leg that leads up or down, PX4 may be at any of its altitudes.
fn off_plan(stack: Stack, point: [f64; 3], places: &[[f64; 3]]) -> f64 {
    let flat = |[east, north, _]: [f64; 3]| [east, north, 0.0];
    let legs = places.windows(2).map(|leg| {
        if stack == Stack::ArduPilot {
            return off(point, leg);
        }
        let (low, high) = (leg[0][2].min(leg[1][2]), leg[0][2].max(leg[1][2]));
        off(flat(point), &[flat(leg[0]), flat(leg[1])]).hypot(point[2] - point[2].clamp(low, high))
    });
    legs.fold(f64::INFINITY, f64::min)
}

fn spread(mut all: Vec<f64>) -> anyhow::Result<[f64; 2]> {
    all.sort_by(f64::total_cmp);
    let worst = *all.last().context("nothing was flown")?;
    Ok([all[all.len() / 2], worst])
}

fn refused(field: &Field, figures: &mut Figures) -> anyhow::Result<()> {
    let pilot = &field.vehicle(NODE).pilot;
    let since = now();
    let waypoints = json!([place(0.0, 40.0, UP), place(0.0, 180.0, UP)]);
    apply(
        field,
        "refused",
        &json!({"backoffLimit": 0, "route": {"waypoints": waypoints}}),
    )?;
    let object = field.wait("the refused Mission to fail", 150, || {
        // ArduCopter takes each item of a route: here a ground station keeps it busy with an upload that never ends.
        if field.stack == Stack::ArduPilot {
            pilot.begin_upload()?;
        }
        let object = get(field, "refused")?;
        ensure!(is(&object, "Failed"), "{}", object["status"]);
        Ok(object)
    })?;
    figures.took("refused after", since, now());
    let message = condition(&object, "Failed")["message"].as_str().unwrap_or_default();
    let words = match field.stack {
        Stack::ArduPilot => "ground station is transferring one",
        Stack::Px4 => "Geofence violation",
    };
    ensure!(message.contains(words), "it does not say {words:?}: {message}");
    ensure!(field.record(NODE).arm_commands_since(0) == 0, "it was armed");
    field.kubectl().run(["delete", "mission", "refused"]).map(drop)
}

fn kill_the_coordinator(field: &mut Field) -> anyhow::Result<()> {
    field.kill_coordinator();
    field.pass(6, Duration::from_secs(6));
    field.start_coordinator()
}

fn wait_let_go(field: &Field) -> anyhow::Result<()> {
    field.wait("the Drone to be Interrupted", 20, || {
        let drone = field.objects().of(NODE).context("there is no Drone")?;
        ensure!(drone["status"]["phase"] == "Interrupted", "{}", drone["status"]);
        Ok(())
    })
}

/// Nothing that moves it is sent until the resume; then it is on its plan again. Returns when.
fn gives_back(field: &Field, figures: &mut Figures, what: &str, since: u64) -> anyhow::Result<u64> {
    field.pass(5, Duration::from_secs(5));
    field.vehicle(NODE).pilot.mode(HOLD.0, HOLD.1)?;
    field.pass(3, Duration::from_secs(3));
    let sent = field.record(NODE).orders_since(since);
    ensure!(sent.is_empty(), "in other hands it was sent {sent:?}");
    let resumed = now();
    resume(field, NODE)?;
    wait_on_plan(field, NODE, 40)?;
    figures.took(&format!("gone on with after {what}"), resumed, now());
    Ok(now())
}

fn mission(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    refused(field, figures)?;
    let foreign = [[0.0, -60.0], [-60.0, -60.0]];
    let at = |[east, north]: [f64; 2]| -> anyhow::Result<[f64; 2]> {
        let at = place(east, north, UP);
        let degrees = |name: &str| at[name].as_f64().context("no place");
        Ok([degrees("latitudeDegrees")?, degrees("longitudeDegrees")?])
    };
    let foreign_places = [at(foreign[0])?, at(foreign[1])?];
    field.vehicle(NODE).pilot.upload_mission(&foreign_places, UP as f32)?;

    let places = [
        [0.0, 30.0, UP],
        [60.0, 30.0, UP],
        [60.0, 80.0, 30.0],
        [0.0, 80.0, 30.0],
        [-60.0, 80.0, UP],
        [-60.0, 30.0, UP],
        [0.0, 30.0, UP],
    ];
    let mut waypoints: Vec<Value> = places
        .iter()
        .map(|[east, north, up]| place(*east, *north, *up))
        .collect();
    waypoints[0]["speedMetersPerSecond"] = json!(5.0);
    waypoints[1]["holdSeconds"] = json!(4.0);
    waypoints[1]["actions"] = json!([{"type": "Photo"}]);
    waypoints[2]["actions"] = json!([{"type": "PhotoEvery", "distanceMeters": 10.0}]);
    waypoints[3]["holdSeconds"] = json!(3.0);
    waypoints[3]["headingDegrees"] = json!(180.0);
    waypoints[4]["actions"] = json!([{"type": "EndPhotos"}, {"type": "Photo"}]);
    let began = now();
    apply(field, NAME, &json!({"route": {"waypoints": waypoints}}))?;
    wait_on_plan(field, NODE, 150)?;
    let flies = now();
    figures.took("on its plan", began, flies);

    // The coordinator is killed on the first leg, and in the hold at the second place.
    kill_the_coordinator(field)?;
    wait_near(field, NODE, [60.0, 30.0], 10.0, flies)?;
    kill_the_coordinator(field)?;
    let sent = field.record(NODE).orders_since(flies);
    ensure!(sent.is_empty(), "on its plan it was sent {sent:?}");

    wait_near(field, NODE, [60.0, 55.0], 8.0, flies)?;
    let taken = now();
    field.vehicle(NODE).pilot.mode(PILOTS.0, PILOTS.1)?;
    wait_let_go(field)?;
    figures.took("let go after a takeover", taken, now());
    let first = gives_back(field, figures, "the takeover", taken)?;

    wait_near(field, NODE, [30.0, 80.0], 10.0, first)?;
    let uploaded = now();
    field.vehicle(NODE).pilot.upload_mission(&foreign_places, UP as f32)?;
    wait_let_go(field)?;
    figures.took("let go after a foreign upload", uploaded, now());
    let second = gives_back(field, figures, "the foreign upload", uploaded)?;

    let object = wait_for(field, NAME, "Complete", 240)?;
    let ended = now();
    figures.took("all flown", began, ended);
    ensure!(
        object["status"]["failures"] == 0 && object["status"]["done"] == "100%",
        "{}",
        object["status"]
    );
    field.wait_down(NODE)?;
    figures.took("down", began, now());
    ensure!(field.record(NODE).arms()? == 1, "it armed again");

    // Off its track: from each beginning on, and after somebody else had it, from the next place that it reached on.
    let up = [0.0, 0.0, UP];
    let wanted: Vec<[f64; 3]> = [up].into_iter().chain(places).chain([up]).collect();
    let reached_after = |since: u64| first_place_reached(field, NODE, since).context("no place was reached");
    let flown = [
        (flies, taken),
        (reached_after(first)?, uploaded),
        (reached_after(second)?, ended),
    ];
    let all = track(field, NODE, flies);
    let on_plan = all
        .iter()
        .filter(|(at, _)| flown.iter().any(|(from, to)| (from..to).contains(&at)));
    let [median, worst] = spread(
        on_plan
            .map(|(_, point)| off_plan(field.stack, *point, &wanted))
            .collect(),
    )?;
    figures.note(format!("off its track: median {median:.1} m, worst {worst:.1} m"));
    ensure!(worst < 3.0, "it was {worst:.1} m off its track");
    let passed = places.iter().map(|p| nearest(&all, [p[0], p[1]]));
    let [_, passed] = spread(passed.collect())?;
    figures.note(format!("each place passed within {passed:.1} m"));
    ensure!(
        passed < 12.0,
        "it passed one of its places no nearer than {passed:.1} m"
    );
    let items = reached(field, NODE, flies).len();
    figures.note(format!("{items} items reported as reached"));
    let astray = nearest(&all, foreign[1]);
    ensure!(astray > 50.0, "it flew the mission of somebody else, to {astray:.1} m");
    Ok(())
}

/// Two of its legs lead up and down by half their lengths.
const IN_FILE: [[f64; 3]; 4] = [[0.0, 30.0, UP], [40.0, 30.0, UP], [40.0, 70.0, 40.0], [0.0, 70.0, UP]];

fn file(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    let item = |command: u16, frame: u8, params: Value| json!({"type": "SimpleItem", "autoContinue": true, "command": command, "frame": frame, "params": params});
    let to = |command: u16, first: f64, [east, north, up]: [f64; 3]| {
        let at = place(east, north, up);
        let params = json!([first, 0, 0, null, at["latitudeDegrees"], at["longitudeDegrees"], up]);
        item(command, 3, params)
    };
    let mut items = vec![
        to(22, 0.0, [0.0, 0.0, UP]),
        item(178, 2, json!([1, 4, -1, 0, 0, 0, 0])),
        item(206, 2, json!([8, 0, 1, 0, 0, 0, 0])),
    ];
    items.extend([
        to(16, 0.0, IN_FILE[0]),
        to(16, 3.0, IN_FILE[1]),
        to(19, 4.0, IN_FILE[2]),
        to(16, 0.0, IN_FILE[3]),
    ]);
    items.push(item(206, 2, json!([0, 0, 0, 0, 0, 0, 0])));
    items.push(item(20, 2, json!([0, 0, 0, 0, 0, 0, 0])));
    let plan = json!({
        "fileType": "Plan", "version": 1, "groundStation": "QGroundControl",
        "geoFence": {"circles": [], "polygons": [], "version": 2}, "rallyPoints": {"points": [], "version": 2},
        "mission": {"version": 2, "firmwareType": 12, "vehicleType": 2, "cruiseSpeed": 15, "hoverSpeed": 5, "items": items,
                    "plannedHomePosition": [HOME[0], HOME[1], HOME[2]]},
    });
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "files"},
                     "data": {"field.plan": plan.to_string()}});
    field.kubectl().apply(&map.to_string())?;
    let began = now();
    let from = json!({"configMapKeyRef": {"name": "files", "key": "field.plan"}});
    apply(field, NAME, &json!({"planFrom": from}))?;
    wait_on_plan(field, NODE, 150)?;
    let flies = now();
    figures.took("on its plan", began, flies);
    let object = wait_for(field, NAME, "Complete", 240)?;
    let ended = now();
    figures.took("all flown", began, ended);
    let status = &object["status"];
    ensure!(status["failures"] == 0 && status["done"] == "100%", "{status}");
    field.wait_down(NODE)?;
    ensure!(field.record(NODE).arms()? == 1, "it armed again");
    let mut sent: Vec<(u16, u16, f32)> = Vec::new();
    for (_, message) in field.record(NODE).sent_since(began) {
        if let MavMessage::MISSION_ITEM_INT(item) = message
            && item.mission_type == MavMissionType::MAV_MISSION_TYPE_MISSION
        {
            sent.retain(|(seq, _, _)| *seq != item.seq);
            sent.push((item.seq, item.command as u16, item.param1));
        }
    }
    sent.sort_by_key(|(seq, _, _)| *seq);
    let commands: Vec<(u16, f32)> = sent.into_iter().map(|(_, command, first)| (command, first)).collect();
    // To PX4, a hold is a waypoint, whose radius it keeps.
    let hold = if field.stack == Stack::Px4 { 16 } else { 19 };
    let as_written = [
        (178, 1.0),
        (206, 8.0),
        (16, 0.0),
        (16, 3.0),
        (hold, 4.0),
        (16, 0.0),
        (206, 0.0),
    ];
    ensure!(
        commands.windows(7).any(|some| some == as_written),
        "it was sent {commands:?}"
    );
    let up = [0.0, 0.0, UP];
    let wanted: Vec<[f64; 3]> = [up].into_iter().chain(IN_FILE).chain([up]).collect();
    let all = track(field, NODE, flies);
    let on_plan = all.iter().filter(|(at, _)| *at < ended);
    let [median, worst] = spread(
        on_plan
            .map(|(_, point)| off_plan(field.stack, *point, &wanted))
            .collect(),
    )?;
    figures.note(format!("off its track: median {median:.1} m, worst {worst:.1} m"));
    ensure!(worst < 3.0, "it was {worst:.1} m off its track");
    Ok(())
}

fn nodes_with_parts(field: &Field) -> anyhow::Result<Vec<&'static str>> {
    let object = get(field, NAME)?;
    let parts = object["status"]["parts"].as_array().cloned().unwrap_or_default();
    let has_part = |node: &&'static str| {
        let drone = field.objects().of(node);
        drone.is_some_and(|drone| parts.iter().any(|part| part["drone"] == drone["metadata"]["name"]))
    };
    Ok(field.nodes().into_iter().filter(has_part).collect())
}

/// Seconds that a whole battery lasts, which is too short.
const SMALL: u16 = 1500;

/// Percent; a little above where a relief is sent.
const CHARGE: u8 = 36;

/// Sets a battery with [`CHARGE`] percent left, which lasts for [`SMALL`] when whole.
fn drain(field: &Field, node: &str) -> anyhow::Result<()> {
    let vehicle = field.vehicle(node);
    match field.stack {
        Stack::ArduPilot => {
            let amperes = field.record(node).amperes().context("it reports no current")?;
            // Whole milliampere-hours.
            let capacity = (amperes * 1000.0 / 3600.0 * f64::from(SMALL)).round();
            vehicle.pilot.parameter("BATT_CAPACITY", capacity as f32)?;
            let reset = MavCmd::MAV_CMD_BATTERY_RESET;
            vehicle
                .pilot
                .command(reset, [1.0, f32::from(CHARGE), 0.0, 0.0, 0.0, 0.0, 0.0])
        }
        // Its usual one is half empty after half a minute, and stays so.
        Stack::Px4 => {
            let set = |name: &str, value: &str| vehicle.autopilot.shell(&["param", "set", name, value]);
            set("SIM_BAT_MIN_PCT", &CHARGE.to_string())?;
            field.wait("its battery to be so empty", 60, || {
                let charge = field.record(node).charge().context("it reports no charge")?;
                ensure!(charge <= i8::try_from(CHARGE)? + 1, "{charge} %");
                Ok(())
            })?;
            set("SIM_BAT_DRAIN", &SMALL.to_string())?;
            set("SIM_BAT_MIN_PCT", "10").map(drop)
        }
    }
}

const FIELD: [[f64; 2]; 7] = [
    [-80.0, 40.0],
    [120.0, 40.0],
    [120.0, 80.0],
    [20.0, 120.0],
    [120.0, 160.0],
    [120.0, 200.0],
    [-80.0, 200.0],
];
const BARN: [[f64; 2]; 4] = [[-40.0, 100.0], [0.0, 100.0], [0.0, 140.0], [-40.0, 140.0]];
const SPACING: f64 = 16.0;

fn inside(point: [f64; 2], corners: &[[f64; 2]]) -> bool {
    let mut inside = false;
    for (number, a) in corners.iter().enumerate() {
        let b = corners[(number + 1) % corners.len()];
        let crosses = (a[1] > point[1]) != (b[1] > point[1]);
        if crosses && point[0] < a[0] + (b[0] - a[0]) * (point[1] - a[1]) / (b[1] - a[1]) {
            inside = !inside;
        }
    }
    inside
}

pub(super) fn corners(all: &[[f64; 2]]) -> Vec<Value> {
    let corner = |[east, north]: &[f64; 2]| {
        let mut at = place(*east, *north, UP);
        at.as_object_mut().and_then(|at| at.remove("altitudeMeters"));
        at
    };
    all.iter().map(corner).collect()
}

fn survey(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    let began = now();
    let area = json!({"polygon": corners(&FIELD), "holes": [{"polygon": corners(&BARN)}]});
    let spec = json!({
        "parallelism": 3, "altitudeStepMeters": 10,
        "survey": {"area": area, "lineSpacingMeters": SPACING, "altitudeMeters": UP, "speedMetersPerSecond": 3.0},
    });
    apply(field, NAME, &spec)?;
    let sharing = field.wait("three to share the work", 120, || {
        let sharing = nodes_with_parts(field)?;
        ensure!(sharing.len() == 3, "{sharing:?} do");
        Ok(sharing)
    })?;
    for node in &sharing {
        wait_on_plan(field, node, 150)?;
    }
    figures.took("three on their plans", began, now());

    let (weak, lost) = (sharing[0], sharing[1]);
    let drained = now();
    drain(field, weak)?;

    let weak_drone = field.objects().of(weak).context("there is no Drone")?["metadata"]["name"].clone();
    field.wait("a relief to be on its way", 200, || {
        let object = get(field, NAME)?;
        let parts = object["status"]["parts"].as_array().cloned().unwrap_or_default();
        let its = parts
            .iter()
            .find(|part| part["drone"] == weak_drone)
            .context("it has no part")?;
        let charge = field.record(weak).charge();
        ensure!(its["relief"].is_object(), "{weak} at {charge:?} %: {parts:?}");
        Ok(())
    })?;
    figures.took("a relief sent after", drained, now());

    let since = now();
    field.vehicle_mut(lost)?.autopilot.power_off();

    let left = |node: &str| -> anyhow::Result<()> {
        let sharing = nodes_with_parts(field)?;
        ensure!(
            !sharing.contains(&node),
            "{sharing:?} have parts, {node} at {:?} %",
            field.record(node).charge()
        );
        Ok(())
    };
    field.wait("the one with the small battery to be relieved", 200, || left(weak))?;
    figures.took("relieved after", drained, now());
    figures.note(format!("at {} %", field.record(weak).charge().unwrap_or_default()));
    field.wait("the lost one to be given up", 120, || left(lost))?;
    figures.took("the lost one given up after", since, now());
    field.vehicle_mut(lost)?.autopilot.power_on()?;

    let object = wait_for(field, NAME, "Complete", 900)?;
    let ended = now();
    figures.took("all flown", began, ended);
    figures.note(format!("failures {}", object["status"]["failures"]));
    ensure!(object["status"]["failures"] == 1, "{}", object["status"]);
    wait_flying(field, 0)?;

    let mut lines: Vec<[[f64; 3]; 2]> = Vec::new();
    for node in field.nodes() {
        let mut flown = on_plan(field, node, began);
        flown.dedup_by(|next, last| next.0.saturating_sub(last.0) < 900_000);
        lines.extend(flown.windows(2).filter_map(|pair| {
            let near = pair[1].0.saturating_sub(pair[0].0) < 2_000_000;
            (near && pair[0].1[2] > UP - 3.0).then_some([pair[0].1, pair[1].1])
        }));
    }
    ensure!(!lines.is_empty(), "nothing was flown");
    let over_ground = |[east, north]: [f64; 2]| {
        let flat = |p: [f64; 3]| [p[0], p[1], 0.0];
        let each = lines
            .iter()
            .map(|line| off([east, north, 0.0], &[flat(line[0]), flat(line[1])]));
        each.fold(f64::INFINITY, f64::min)
    };
    let mut distances = Vec::new();
    for step in 0..(100 * 80) {
        let at = [-79.0 + 2.0 * f64::from(step % 100), 41.0 + 2.0 * f64::from(step / 100)];
        if inside(at, &FIELD) && !inside(at, &BARN) {
            distances.push(over_ground(at));
        }
    }
    let covered = distances.iter().filter(|distance| **distance <= SPACING / 2.0).count();
    let share = 100.0 * covered as f64 / distances.len() as f64;
    let [_, worst] = spread(distances)?;
    figures.note(format!(
        "{share:.2} % within half of the spacing of a flown line, the farthest {worst:.1} m off"
    ));
    let barn = lines
        .iter()
        .filter(|line| inside([line[0][0], line[0][1]], &BARN))
        .map(|line| {
            let walls = [BARN[0], BARN[1], BARN[2], BARN[3], BARN[0]].map(|[east, north]| [east, north, 0.0]);
            off([line[0][0], line[0][1], 0.0], &walls)
        });
    figures.note(format!("over the barn by {:.1} m at most", barn.fold(0.0, f64::max)));
    ensure!(
        share > 99.0 && worst < SPACING / 2.0 + 3.0,
        "covered {share:.2} %, the farthest point is {worst:.1} m off"
    );
    super::formations::nearest(field, figures, began)
}

fn on_plan(field: &Field, node: &str, since: u64) -> Track {
    let record = field.record(node);
    let wanted = MISSION.number(field.stack);
    let mut flies = false;
    let mut modes: Vec<(u64, bool)> = Vec::new();
    for (at, message) in record.reported_since(since) {
        if let MavMessage::HEARTBEAT(beat) = message
            && (beat.custom_mode == wanted) != flies
        {
            flies = !flies;
            modes.push((at, flies));
        }
    }
    drop(record);
    let flies_at = |at: u64| {
        modes
            .iter()
            .rev()
            .find(|(since, _)| *since <= at)
            .is_some_and(|(_, flies)| *flies)
    };
    let all = track(field, node, since);
    all.into_iter().filter(|(at, _)| flies_at(*at)).collect()
}

fn patrol(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    const ROUNDS: usize = 12;
    let around = [
        [25.0, 40.0, UP],
        [75.0, 40.0, UP],
        [75.0, 100.0, UP],
        [-25.0, 100.0, UP],
        [-25.0, 40.0, UP],
        [25.0, 40.0, UP],
    ];
    let mut waypoints: Vec<Value> = around
        .iter()
        .map(|[east, north, up]| place(*east, *north, *up))
        .collect();
    waypoints[0]["speedMetersPerSecond"] = json!(5.0);
    let spec = json!({"repeat": "Forever", "altitudeStepMeters": 15, "handover": {"overlapSeconds": 10}, "route": {"waypoints": waypoints}});
    let applied = now();
    apply(field, NAME, &spec)?;
    let on_the_way = |p: &[f64; 3]| {
        let ground = around.map(|[east, north, _]| [east, north, 0.0]);
        off([p[0], p[1], 0.0], &ground) < 8.0 && p[2] > UP - 4.0
    };
    let began = field.wait("one to be on the way", 150, || {
        let there = |node: &&'static str| track(field, node, applied).iter().any(|(_, p)| on_the_way(p));
        field.nodes().into_iter().find(there).context("no vehicle is")?;
        Ok(now())
    })?;
    let mut rounds = 0;
    while rounds < ROUNDS {
        field.wait(&format!("round {} to be over", rounds + 1), 300, || {
            let object = get(field, NAME)?;
            let completed = object["status"]["completed"].as_u64().unwrap_or_default();
            ensure!(completed > rounds as u64, "{}", object["status"]);
            ensure!(
                object["status"]["failures"].as_u64().unwrap_or_default() == 0,
                "{}",
                object["status"]
            );
            Ok(())
        })?;
        rounds += 1;
    }
    let ended = now();
    figures.took(&format!("{ROUNDS} rounds"), began, ended);
    field.kubectl().run(["delete", "mission", NAME, "--wait=false"])?;
    wait_flying(field, 0)?;
    let nodes = field.nodes();
    let tracks: Vec<Track> = nodes.into_iter().map(|node| track(field, node, applied)).collect();
    let speedup = f64::from(field.speedup);
    let mut gaps: Vec<f64> = gaps(&tracks, on_the_way, began, ended)
        .iter()
        .map(|gap| gap * speedup)
        .collect();
    // A relief without a gap counts as none.
    gaps.resize(ROUNDS.max(gaps.len()), 0.0);
    let [median, worst] = spread(gaps)?;
    figures.note(format!("none on the way: median {median:.1} s, worst {worst:.1} s"));
    ensure!(worst < 10.0, "no vehicle was on the way for {worst:.1} s");
    super::formations::nearest(field, figures, applied)
}
