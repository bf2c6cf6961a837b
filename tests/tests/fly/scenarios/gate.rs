//! One gate for all that moves a vehicle in the air, and one for arming after a person or a failsafe brought it down.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, ensure};
use mavlink::dialects::ardupilotmega::{MavCmd, MavMessage, MavMissionType};
use serde_json::{Value, json};
use testkit::autopilots::{HOME, Stack};

use super::formations::{nearest, resume, wait_flying};
use super::missions::{apply, corners, wait_for, wait_near, wait_on_plan};
use super::stations::{drone, place, position, track, wait_on_station};
use crate::field::{Field, NODES, SWARM, Setup};
use crate::figures::Figures;
use crate::modes::{HOLD, RETURN};
use crate::objects::{condition, is};
use crate::scenario::Scenario;
use skein_tests::wire::now;

pub const ALL: &[Scenario] = &[
    Scenario::new(
        "gate-plan",
        "layers of a shared survey set to nothing in flight, the leader killed: no plan is named again, no two come near",
        plan,
    )
    .with(|_| pair(20.0))
    .no_faster_than(2),
    Scenario::new(
        "gate-resume",
        "a pilot carries a vehicle of a Mission behind the station of another and hands back: it waits, says for whom, and goes on when there is room",
        resume_elsewhere,
    )
    .with(|_| pair(20.0))
    .no_faster_than(2),
    Scenario::new(
        "gate-neighbor",
        "a pilot carries a Mission's vehicle past one that holds: that makes room and no more, and both go on",
        passes_a_neighbor,
    )
    .with(|_| pair(20.0))
    .no_faster_than(2),
    Scenario::new(
        "gate-climb",
        "a person flies a vehicle over another that climbs for its Mission: that one stops below, says why, and goes on when there is room",
        climb,
    )
    .with(|_| pair(20.0))
    .no_faster_than(2),
    Scenario::new(
        "gate-pilot-home",
        "a pilot brings a Mission's vehicle home: it is armed for nobody until `skein resume --vehicle`",
        pilot_home,
    ),
    Scenario::new(
        "gate-rebound",
        "a battery return, after which the charge reads full: the vehicle stays down",
        rebound,
    )
    .with(|_| Setup {
        ardupilot: vec![
            ("SIM_BATT_CAP_AH", 0.45),
            ("BATT_CAPACITY", 450.0),
            ("BATT_FS_LOW_ACT", 0.0),
        ],
        px4: vec![
            ("SIM_BAT_DRAIN", 60.0),
            ("SIM_BAT_MIN_PCT", 0.0),
            ("COM_LOW_BAT_ACT", 0.0),
        ],
        ..Setup::default()
    })
    .real_time(),
    Scenario::new(
        "gate-grounded-mission",
        "a Mission under `skein ground --all`, applied and in flight: few Drones are made, and it is flown after the release",
        grounded_mission,
    )
    .no_faster_than(2),
    Scenario::new(
        "gate-set-home",
        "a ground station sets the home of a flying vehicle 8 m higher: the station is kept, and said to be",
        set_home,
    ),
];

const NODE: &str = NODES[0];
const NAME: &str = "field";
const UP: f64 = 20.0;

pub(super) fn pair(apart: f64) -> Setup {
    Setup {
        vehicles: 2,
        apart,
        ..Setup::default()
    }
}

fn plans_since(field: &Field, node: &str, since: u64) -> usize {
    let record = field.record(node);
    let counts = record.sent_since(since).filter(|(_, message)| {
        matches!(message, MavMessage::MISSION_COUNT(count)
            if count.mission_type == MavMissionType::MAV_MISSION_TYPE_MISSION && count.count > 0)
    });
    counts.count()
}

fn plan(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    let began = now();
    let area = [[-20.0, 40.0], [60.0, 40.0], [60.0, 110.0], [-20.0, 110.0]];
    let survey = json!({
        "area": {"polygon": corners(&area)}, "lineSpacingMeters": 16.0, "altitudeMeters": UP, "speedMetersPerSecond": 3.0,
    });
    apply(
        field,
        NAME,
        &json!({"parallelism": 2, "altitudeStepMeters": 15, "survey": survey}),
    )?;
    for node in &NODES[..2] {
        wait_on_plan(field, node, 150)?;
    }
    figures.took("two on their plans", began, now());
    field.pass(10, Duration::from_secs(3));
    let edited = now();
    let flat = json!({"spec": {"altitudeStepMeters": 0}}).to_string();
    field
        .kubectl()
        .run(["patch", "mission", NAME, "--type=merge", "-p", &flat])?;
    field.pass(3, Duration::from_secs(2));
    field.kill_coordinator();
    field.pass(6, Duration::from_secs(2));
    field.start_coordinator()?;
    field.pass(25, Duration::from_secs(12));
    for node in &NODES[..2] {
        let sent = plans_since(field, node, edited);
        ensure!(sent == 0, "{node} was sent {sent} plans after the edit");
        let sent = field.record(node).orders_since(edited);
        ensure!(sent.is_empty(), "{node} was sent {sent:?} after the edit");
    }
    let object = wait_for(field, NAME, "Complete", 600)?;
    ensure!(object["status"]["failures"] == 0, "{}", object["status"]);
    figures.took("all flown", began, now());
    wait_flying(field, 0)?;
    nearest(field, figures, began)
}

fn flies_around(field: &Field, guest: [f64; 3]) -> anyhow::Result<u64> {
    drone(field, "two", NODES[1], &place(guest[0], guest[1], guest[2]))?;
    wait_on_station(field, NODES[1], guest)?;
    let places = [[0.0, 30.0], [60.0, 30.0], [60.0, 90.0], [0.0, 90.0]];
    let waypoints: Vec<Value> = places.iter().map(|[east, north]| place(*east, *north, UP)).collect();
    let selector = json!({"kubernetes.io/hostname": NODE});
    apply(
        field,
        NAME,
        &json!({"nodeSelector": selector, "route": {"waypoints": waypoints}}),
    )?;
    wait_on_plan(field, NODE, 150)?;
    let flies = now();
    wait_near(field, NODE, [60.0, 60.0], 8.0, flies)?;
    Ok(flies)
}

fn resume_elsewhere(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    let began = now();
    let flies = flies_around(field, [30.0, 60.0, UP])?;
    // The straight leg from there to east 60 and north 90 leads through the station; the way there does not.
    let behind = [0.0, 30.0];
    carry(field, NODE, [60.0, 30.0], UP)?;
    carry(field, NODE, behind, UP)?;
    let carried = now();
    let sent = field.record(NODE).orders_since(flies);
    ensure!(sent.is_empty(), "in a pilot's hands it was sent {sent:?}");
    resume(field, NODE)?;
    field.wait("the Mission to say for whom it waits", 60, || {
        let object = field.read(&format!("namespaces/default/missions/{NAME}"))?;
        let said = condition(&object, "Progressing")["message"].to_string();
        ensure!(said.contains(NODES[1]), "{said}");
        Ok(())
    })?;
    field.pass(20, Duration::from_secs(8));
    let at = position(field, NODE)?;
    ensure!(
        (at[0] - behind[0]).hypot(at[1] - behind[1]) < 6.0,
        "it does not hold, but is at {at:?}"
    );
    let station = json!({"spec": {"station": place(-60.0, 60.0, UP)}}).to_string();
    field
        .kubectl()
        .run(["patch", "drone", "two", "--type=merge", "-p", &station])?;
    let object = wait_for(field, NAME, "Complete", 240)?;
    figures.took("flown after the resume", carried, now());
    figures.note(format!("failures {}", object["status"]["failures"]));
    nearest(field, figures, began)
}

fn passes_a_neighbor(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    let began = now();
    let station = [30.0, 60.0, UP];
    let flies = flies_around(field, station)?;
    // 13 m beside the one that holds, and back to where the leg to the next place is clear of it.
    carry(field, NODE, [0.0, 30.0], UP)?;
    carry(field, NODE, [60.0, 30.0], UP)?;
    let carried = now();
    resume(field, NODE)?;
    let object = wait_for(field, NAME, "Complete", 240)?;
    figures.took("flown after the resume", carried, now());
    figures.note(format!("failures {}", object["status"]["failures"]));
    wait_on_station(field, NODES[1], station)?;
    let highest = field
        .record(NODES[1])
        .heights_since(flies)
        .map(|(_, up)| up)
        .fold(0.0, f64::max);
    figures.note(format!("the one beside it climbed to {highest:.1} m"));
    ensure!(highest < UP + 13.0, "it climbed to {highest:.1} m");
    nearest(field, figures, began)
}

fn climb(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    // PX4 is at 50 m when the stray, which a person carries at 5 m/s, comes near.
    const TOP: f64 = 100.0;
    const STRAY: f64 = 80.0;
    const ASIDE: [f64; 2] = [120.0, 0.0];
    let stray = NODES[1];
    pilot_takes_off(field, stray)?;
    carry(field, stray, ASIDE, STRAY)?;
    field.wait("the stray's altitude", 60, || {
        let [_, _, up] = position(field, stray)?;
        ensure!((up - STRAY).abs() < 2.0, "it is at {up:.1} m");
        Ok(())
    })?;
    let began = now();
    let waypoints = json!([place(0.0, 40.0, TOP), place(0.0, 80.0, TOP)]);
    let selector = json!({"kubernetes.io/hostname": NODE});
    apply(
        field,
        NAME,
        &json!({"nodeSelector": selector, "route": {"waypoints": waypoints}}),
    )?;
    field.wait("the climb", 150, || {
        let [_, _, up] = position(field, NODE)?;
        ensure!(up > 1.5, "it is at {up:.1} m");
        Ok(())
    })?;
    let rises = now();
    send(field, stray, [0.0, 0.0], STRAY)?;
    field.wait("an Event of the stop", 60, || {
        let events = field.kubectl().json(["get", "events"])?;
        let mut all = events["items"].as_array().into_iter().flatten();
        let says = |event: &Value| {
            let words = event["message"].as_str().unwrap_or_default();
            event["reason"] == "AirspaceConflict" && words.contains("stops on its way") && words.contains(stray)
        };
        ensure!(all.any(says), "{events}");
        Ok(())
    })?;
    figures.took("told to stop after its begin", rises, now());
    field.wait("the stray over it", 60, || {
        let [east, north, _] = position(field, stray)?;
        ensure!(east.hypot(north) < 4.0, "it is at {east:.1} {north:.1}");
        Ok(())
    })?;
    field.pass(15, Duration::from_secs(6));
    let [_, _, up] = position(field, NODE)?;
    figures.note(format!("stopped at {up:.1} m"));
    ensure!(up > 3.0 && up < STRAY - 8.0, "it did not stop, but is at {up:.1} m");
    let leaves = now();
    carry(field, stray, ASIDE, STRAY)?;
    wait_on_plan(field, NODE, 120)?;
    figures.took("on its plan after the stray has left", leaves, now());
    let object = wait_for(field, NAME, "Complete", 240)?;
    figures.note(format!("failures {}", object["status"]["failures"]));
    nearest(field, figures, began)
}

fn pilot_takes_off(field: &Field, node: &str) -> anyhow::Result<()> {
    let pilot = &field.vehicle(node).pilot;
    field.wait("the pilot's takeoff", 90, || {
        if field.stack == Stack::ArduPilot {
            pilot.mode(HOLD.0, HOLD.1)?;
        }
        let on = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        pilot.command(MavCmd::MAV_CMD_COMPONENT_ARM_DISARM, on)?;
        let takeoff = match field.stack {
            Stack::ArduPilot => [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 5.0],
            Stack::Px4 => [f32::NAN; 7],
        };
        pilot.command(MavCmd::MAV_CMD_NAV_TAKEOFF, takeoff)?;
        field.pass(4, Duration::from_secs(2));
        let height = field.record(node).height().unwrap_or_default();
        ensure!(height > 1.8, "it is at {height:.1} m");
        Ok(())
    })
}

/// In the mode in which Skein holds.
fn send(field: &Field, node: &str, [east, north]: [f64; 2], up: f64) -> anyhow::Result<()> {
    let at = place(east, north, up);
    let degrees = |name: &str| at[name].as_f64().context("no place");
    #[allow(clippy::cast_possible_truncation, reason = "some hundred meters")]
    let amsl = (HOME[2] + up) as f32;
    let pilot = &field.vehicle(node).pilot;
    pilot.reposition([degrees("latitudeDegrees")?, degrees("longitudeDegrees")?], amsl)
}

fn carry(field: &Field, node: &str, [east, north]: [f64; 2], up: f64) -> anyhow::Result<()> {
    field.vehicle(node).pilot.mode(HOLD.0, HOLD.1)?;
    field.pass(3, Duration::from_secs(2));
    send(field, node, [east, north], up)?;
    field.wait(&format!("{node} to be carried to {east} {north}"), 90, || {
        let at = position(field, node)?;
        ensure!((at[0] - east).hypot(at[1] - north) < 4.0, "it is at {at:?}");
        Ok(())
    })
}

fn pilot_home(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    let waypoints = json!([place(0.0, 40.0, UP), place(60.0, 40.0, UP), place(0.0, 80.0, UP)]);
    apply(field, NAME, &json!({"route": {"waypoints": waypoints}}))?;
    wait_on_plan(field, NODE, 150)?;
    wait_near(field, NODE, [0.0, 40.0], 8.0, 0)?;
    let since = now();
    field.vehicle(NODE).pilot.mode(RETURN.0, RETURN.1)?;
    field.wait_down(NODE)?;
    let down = now();
    figures.took("home by the pilot", since, down);
    field.pass(60, Duration::from_secs(25));
    let sent = field.record(NODE).orders_since(since);
    ensure!(sent.is_empty(), "after a pilot brought it home it was sent {sent:?}");
    let vehicle = vehicle(field, NODE)?;
    ensure!(
        vehicle.to_string().contains("resume --vehicle"),
        "what a person does next is not said: {}",
        vehicle["status"]
    );
    let resumed = now();
    field.skein(&["resume", "--vehicle", NODE])?;
    wait_on_plan(field, NODE, 120)?;
    figures.took("on its plan after `skein resume --vehicle`", resumed, now());
    wait_for(field, NAME, "Complete", 240).map(drop)
}

fn vehicle(field: &Field, node: &str) -> anyhow::Result<Value> {
    let all = field.read("vehicles")?;
    let all = all["items"].as_array().cloned().unwrap_or_default();
    let own = all.into_iter().find(|one| one["spec"]["nodeName"] == node);
    own.with_context(|| format!("{node} has no Vehicle"))
}

fn rebound(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    const RESERVE: i8 = 50;
    field.fly_with(1, 10.0, &json!({"reservePercent": RESERVE, "onLowBattery": "Return"}))?;
    field.wait("the flight", 120, || {
        ensure!(field.record(NODE).said().in_air(), "{:?}", field.record(NODE).said());
        Ok(())
    })?;
    let up = now();
    field.wait("a command to come home", 180, || {
        let record = field.record(NODE);
        let commands = record.commands_since(up);
        commands.first().context("none yet").map(drop)
    })?;
    field.wait_down(NODE)?;
    let down = now();
    // PX4's simulated battery is full again by itself once disarmed.
    if field.stack == Stack::ArduPilot {
        let full = [1.0, 98.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        field.vehicle(NODE).pilot.command(MavCmd::MAV_CMD_BATTERY_RESET, full)?;
    }
    field.wait("the charge to read full", 60, || {
        let charge = field.record(NODE).charge().context("it reports no charge")?;
        ensure!(charge > 90, "{charge} %");
        Ok(())
    })?;
    figures.took("reads full after", down, now());
    field.pass(40, Duration::from_secs(40));
    let record = field.record(NODE);
    ensure!(record.arm_commands_since(down) == 0, "it was armed again");
    let kept = record.said().down();
    ensure!(kept, "{:?}", record.said());
    Ok(())
}

fn drones_made(field: &Field, seen: &mut BTreeSet<String>) -> anyhow::Result<usize> {
    let list = field.kubectl().json(["get", "drones", "-A"])?;
    let all = list["items"].as_array().cloned().unwrap_or_default();
    let uid = |drone: &Value| drone["metadata"]["uid"].as_str().map(str::to_owned);
    seen.extend(all.iter().filter_map(uid));
    Ok(all.len())
}

fn grounded_mission(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    const MOST: usize = 4;
    field.wait("a vehicle", 60, || {
        ensure!(field.record(NODE).position().is_some(), "it has no position");
        Ok(())
    })?;
    let waypoints = json!([place(0.0, 40.0, UP), place(60.0, 40.0, UP)]);
    let spec = json!({"parallelism": 1, "route": {"waypoints": waypoints}});
    let mut seen = BTreeSet::new();
    let mut under_order = |field: &Field, what: &str| -> anyhow::Result<()> {
        seen.clear();
        for _ in 0..40 {
            drones_made(field, &mut seen)?;
            std::thread::sleep(Duration::from_secs(1));
        }
        ensure!(
            seen.len() <= MOST,
            "{what}: {} Drones were made in 40 s of a ground order",
            seen.len()
        );
        Ok(())
    };
    field.skein(&["ground", "--all"])?;
    apply(field, NAME, &spec)?;
    under_order(field, "applied")?;
    ensure!(field.record(NODE).arm_commands_since(0) == 0, "it was armed");
    field.skein(&["release", "--all"])?;
    wait_on_plan(field, NODE, 150)?;
    field.skein(&["ground", "--all"])?;
    field.wait_down(NODE)?;
    let down = now();
    under_order(field, "in flight")?;
    ensure!(field.record(NODE).arm_commands_since(down) == 0, "it was armed");
    let released = now();
    field.skein(&["release", "--all"])?;
    wait_for(field, NAME, "Complete", 300)?;
    figures.took("flown after the release", released, now());
    field.wait_down(NODE)?;
    let at = track(field, NODE, released).last().context("no position")?.1;
    ensure!(
        at[0].hypot(at[1]) < 5.0,
        "its home is east 0 north 0, and it ended at {at:?}"
    );
    Ok(())
}

fn set_home(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    let station = [0.0, 30.0, UP];
    drone(field, "one", NODE, &place(station[0], station[1], station[2]))?;
    wait_on_station(field, NODE, station)?;
    let since = now();
    let at = place(0.0, 30.0, UP);
    let degrees = |name: &str| at[name].as_f64().context("no place");
    #[allow(clippy::cast_possible_truncation, reason = "COMMAND_LONG has them so")]
    let [latitude, longitude] = [degrees("latitudeDegrees")? as f32, degrees("longitudeDegrees")? as f32];
    #[allow(clippy::cast_possible_truncation, reason = "some hundred meters")]
    let higher = (HOME[2] + 8.0) as f32;
    let params = [0.0, 0.0, 0.0, 0.0, latitude, longitude, higher];
    field.vehicle(NODE).pilot.command(MavCmd::MAV_CMD_DO_SET_HOME, params)?;
    field.pass(30, Duration::from_secs(12));
    let moved: Vec<String> = field.record(NODE).orders_since(since);
    let [east, north, up] = position(field, NODE)?;
    figures.note(format!("after it at {up:.1} m, sent {moved:?}"));
    ensure!(
        (east - station[0]).hypot(north - station[1]) < 3.0 && (up - UP).abs() < 3.0,
        "it is at {east:.1} {north:.1} {up:.1}"
    );
    let drone = field.objects().of(NODE).context("there is no Drone")?;
    ensure!(is(&drone, "Ready"), "{}", condition(&drone, "Ready"));
    field.kubectl().run(["delete", "drone", "one", "--wait=false"])?;
    field.wait_down(NODE)?;
    field.wait("the Drone to be gone", 30, || {
        let left = field.kubectl().run(["get", "drones", "-o", "name"])?;
        ensure!(left.is_empty(), "{left}");
        Ok(())
    })
}

pub(super) fn swarm(field: &Field, spec: &Value) -> anyhow::Result<()> {
    let swarm = json!({"apiVersion": "skein.dev/v1alpha1", "kind": "Swarm", "metadata": {"name": SWARM}, "spec": spec});
    field.kubectl().apply(&swarm.to_string()).map(drop)
}
