//! Geofences and ParameterProfiles, brought to real autopilots, changed by others, and given back.

use std::time::Duration;

use anyhow::{Context, ensure};
use mavlink::dialects::ardupilotmega::{MavCmd, MavMessage, MavSysStatusSensor};
use serde_json::{Value, json};
use testkit::autopilots::{HOME, Stack};

use super::failsafes::{wait_mode, wait_reason};
use super::missions;
use super::stations::{place, track};
use crate::field::{Field, NODES, SWARM, Setup};
use crate::figures::Figures;
use crate::modes::{LAND, RETURN};
use crate::objects::{condition, is};
use crate::pilot::Pilot;
use crate::record::is_armed;
use crate::scenario::Scenario;
use skein_tests::wire::now;

pub const ALL: &[Scenario] = &[
    Scenario::new(
        "fence",
        "a Geofence: armed only with it in force, corrected on the ground, named in the air, acted on, given back",
        fence,
    )
    .with(setup)
    .real_time(),
    Scenario::new(
        "parameters",
        "a ParameterProfile: armed only with it in force, corrected on the ground, named in the air, given back",
        parameters,
    )
    .with(setup)
    .real_time(),
    Scenario::new(
        "fence-frozen",
        "the agent is stopped in the middle of an upload, and a pilot takes off: nothing of it is sent when it goes on",
        frozen,
    )
    .with(setup)
    .real_time(),
    Scenario::new(
        "fence-mission",
        "a Mission flies against a fence that somebody draws on its way: the autopilot returns, and the rest is flown once a person resumes",
        on_a_mission,
    )
    .with(setup)
    .real_time(),
];

fn setup(_: Stack) -> Setup {
    Setup {
        ardupilot: vec![("FS_GCS_ENABLE", 1.0), ("BATT_FS_LOW_ACT", 2.0)],
        // From 1.18 on it is 10 m, which preflight refuses.
        px4: vec![("NAV_DLL_ACT", 2.0), ("COM_LOW_BAT_ACT", 3.0), ("NAV_ACC_RAD", 2.0)],
        ..Setup::default()
    }
}

const NODE: &str = NODES[0];
const HEIGHT: f64 = 10.0;
const CEILING: f64 = 20.0;

const OF_RULES: [u32; 9] = [20, 23, 40, 43, 44, 45, 47, 51, 73];

fn messages(field: &Field) -> u64 {
    let record = field.record(NODE);
    OF_RULES.iter().map(|id| record.passed_to_autopilot(*id)).sum()
}

fn changes_since(field: &Field, since: u64) -> usize {
    let record = field.record(NODE);
    let changes = |(_, message): &(u64, &MavMessage)| {
        matches!(
            message,
            MavMessage::MISSION_COUNT(_)
                | MavMessage::MISSION_ITEM_INT(_)
                | MavMessage::MISSION_CLEAR_ALL(_)
                | MavMessage::PARAM_SET(_)
        )
    };
    record.sent_since(since).filter(changes).count()
}

/// A square around a place `north_m` of home; `half_m` is half its side.
fn square(half_m: f64, north_m: f64) -> Vec<[f64; 2]> {
    let east = HOME[0].to_radians().cos();
    let corners = [(1.0, 1.0), (1.0, -1.0), (-1.0, -1.0), (-1.0, 1.0)];
    let at = |(north, east_of): (f64, f64)| {
        [
            HOME[0] + (north * half_m + north_m) / 111_319.5,
            HOME[1] + east_of * half_m / (111_319.5 * east),
        ]
    };
    corners.into_iter().map(at).collect()
}

fn apply(field: &Field, kind: &str, spec: &Value) -> anyhow::Result<()> {
    let object = json!({"apiVersion": "skein.dev/v1alpha1", "kind": kind, "metadata": {"name": "north"}, "spec": spec});
    field.kubectl().apply(&object.to_string()).map(drop)
}

fn apply_fence(field: &Field, corners: &[[f64; 2]]) -> anyhow::Result<()> {
    let corner = |[latitude, longitude]: &[f64; 2]| json!({"latitudeDegrees": latitude, "longitudeDegrees": longitude});
    let polygon: Vec<Value> = corners.iter().map(corner).collect();
    let spec = json!({
        "vehicleSelector": {"matchLabels": {"site": "north"}},
        "include": [{"polygon": polygon}], "ceilingMeters": CEILING, "breach": "Return",
    });
    apply(field, "Geofence", &spec)
}

fn wait_in_force(field: &Field, kind: &str, yes: bool, seconds: u32) -> anyhow::Result<u64> {
    field.wait(&format!("{kind} in force: {yes}"), seconds, || {
        let object = field.read(&format!("{kind}s/north"))?;
        let status = &object["status"];
        ensure!(
            status["selected"] == 1 && (status["inForce"] == 1) == yes && is(&object, "InForce") == yes,
            "{status}"
        );
        Ok(now())
    })
}

/// Returns when the correction of somebody's change began, which may be too quick for an object to show it.
fn wait_corrected(field: &Field, kind: &str, since: u64) -> anyhow::Result<u64> {
    field.wait("a change of ours", 30, || {
        ensure!(changes_since(field, since) > 0, "none yet");
        Ok(())
    })?;
    let changed = now();
    std::thread::sleep(Duration::from_secs(2));
    wait_in_force(field, kind, true, 40)?;
    Ok(changed)
}

fn unsettled(field: &Field, kind: &str) -> anyhow::Result<String> {
    let object = field.read(&format!("{kind}s/north"))?;
    let one = &object["status"]["unsettled"][0];
    Ok(one["reason"].as_str().unwrap_or_default().to_owned())
}

fn stays_down(field: &Field, seconds: u32) -> anyhow::Result<()> {
    field.pass(seconds, Duration::from_secs(u64::from(seconds)));
    let sent = field.record(NODE).arm_commands_since(0);
    ensure!(
        sent == 0,
        "its rules are not in force, and it was sent {sent} arm commands"
    );
    let drone = field.objects().of(NODE).context("there is no Drone")?;
    ensure!(!is(&drone, "Flying"), "{}", condition(&drone, "Ready"));
    Ok(())
}

fn wait_armable(field: &Field) -> anyhow::Result<()> {
    field.wait("a vehicle that may arm", 90, || {
        let vehicles = field.read("vehicles")?;
        let vehicle = &vehicles["items"][0];
        ensure!(is(vehicle, "Armable"), "{}", vehicle["status"]);
        Ok(())
    })
}

fn is_aboard(field: &Field, corners: &[[f64; 2]]) -> anyhow::Result<()> {
    let aboard = field.vehicle(NODE).pilot.fence()?;
    let near = |[latitude, longitude]: &[f64; 2], other: &[f64; 2]| {
        (latitude - other[0]).abs() < 2e-7 && (longitude - other[1]).abs() < 2e-7
    };
    let same = aboard.len() == corners.len()
        && corners
            .iter()
            .all(|corner| aboard.iter().any(|other| near(corner, other)));
    ensure!(same, "on the autopilot is {aboard:?}, not {corners:?}");
    Ok(())
}

/// Armed only after the last change of ours, and after the read-back that followed it.
fn armed_last(field: &Field, since: u64) -> anyhow::Result<()> {
    let record = field.record(NODE);
    let armed = record.first_sent(since, MavCmd::MAV_CMD_COMPONENT_ARM_DISARM);
    let armed = armed.context("it was not armed")?;
    let of_rules = |message: &MavMessage| {
        matches!(
            message,
            MavMessage::MISSION_ITEM_INT(_) | MavMessage::PARAM_SET(_) | MavMessage::MISSION_REQUEST_INT(_)
        )
    };
    let last = record
        .sent_since(since)
        .filter(|(_, message)| of_rules(message))
        .map(|(at, _)| at)
        .max();
    ensure!(
        last.is_some_and(|last| last < armed),
        "it was armed at {armed}, and its rules were sent until {last:?}"
    );
    Ok(())
}

fn power_cycle(field: &mut Field) -> anyhow::Result<()> {
    let vehicle = field.vehicle_mut(NODE)?;
    // PX4 answers only the first ground station after its boot, while that beats: this one has to go.
    vehicle.pilot.beats(false);
    vehicle.autopilot.power_off();
    std::thread::sleep(Duration::from_secs(2));
    vehicle.autopilot.power_on()?;
    vehicle.pilot = Pilot::at(&vehicle.autopilot)?;
    vehicle.pilot.beats(true);
    Ok(())
}

fn begin(field: &Field) -> anyhow::Result<()> {
    field.vehicle(NODE).pilot.beats(true);
    field.kubectl().run(["label", "node", NODE, "site=north"])?;
    wait_armable(field)
}

const SWITCH: MavCmd = MavCmd::MAV_CMD_DO_FENCE_ENABLE;

fn switch(field: &Field, on: bool) -> anyhow::Result<()> {
    let how = f32::from(u8::from(on));
    field
        .vehicle(NODE)
        .pilot
        .command(SWITCH, [how, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
}

/// In the air somebody switches ArduPilot's fence off, with all of it there, and on again: only SYS_STATUS shows it.
fn is_named_switched_off(field: &Field, figures: &mut Figures) -> anyhow::Result<()> {
    let since = now();
    switch(field, false)?;
    let named = wait_in_force(field, "geofence", false, 20)?;
    figures.took("switched off in the air, named after", since, named);
    let why = field.read("geofences/north")?["status"]["unsettled"].to_string();
    ensure!(why.contains("switched off"), "{why}");
    std::thread::sleep(Duration::from_secs(3));
    let ours = field.record(NODE).first_sent(since, SWITCH);
    ensure!(ours.is_none(), "in the air it was switched by us");
    switch(field, true)?;
    wait_in_force(field, "geofence", true, 20).map(drop)
}

fn is_switched_on_again(field: &Field, figures: &mut Figures) -> anyhow::Result<()> {
    let since = now();
    switch(field, false)?;
    let ours = field.wait("a fence that is switched off to be switched on", 20, || {
        field.record(NODE).first_sent(since, SWITCH).context("not yet")
    })?;
    figures.took("switched off on the ground, on again after", since, ours);
    let on = |message: &MavMessage| {
        let fence = MavSysStatusSensor::MAV_SYS_STATUS_GEOFENCE;
        matches!(message, MavMessage::SYS_STATUS(m) if m.onboard_control_sensors_enabled.contains(fence))
    };
    field.wait("SYS_STATUS to say so", 10, || {
        field.record(NODE).first_reported(ours, on).context("not yet")
    })?;
    wait_in_force(field, "geofence", true, 20).map(drop)
}

fn fence(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    begin(field)?;
    let before = messages(field);
    // Home is not inside: neither stack can be given it.
    apply_fence(field, &square(60.0, 1000.0))?;
    field.fly_with(1, HEIGHT, &json!({"preflight": "Refuse"}))?;
    wait_in_force(field, "geofence", false, 20)?;
    stays_down(field, 15)?;
    let ours = square(60.0, 0.0);
    let since = now();
    apply_fence(field, &ours)?;
    let in_force = wait_in_force(field, "geofence", true, 40)?;
    figures.took("in force", since, in_force);
    figures.note(format!("{} messages", messages(field) - before));
    field.wait_in_air(&[NODE], HEIGHT)?;
    armed_last(field, since)?;
    is_aboard(field, &ours)?;

    if field.stack == Stack::ArduPilot {
        is_named_switched_off(field, figures)?;
    }

    let since = now();
    let foreign = square(40.0, 0.0);
    field.vehicle(NODE).pilot.upload_fence(&foreign)?;
    let named = wait_in_force(field, "geofence", false, 10)?;
    figures.took_at_most("in the air named", since, named, 8.0)?;
    ensure!(
        unsettled(field, "geofence")? == "Drifted",
        "{}",
        unsettled(field, "geofence")?
    );
    std::thread::sleep(Duration::from_secs(5));
    let sent = changes_since(field, since);
    ensure!(sent == 0, "in the air it was sent {sent} changes");

    breach(field, figures)?;
    field.wait_down(NODE)?;
    let down = now();
    let corrected = wait_in_force(field, "geofence", true, 60)?;
    figures.took("corrected after the landing", down, corrected);
    is_aboard(field, &ours)?;
    ensure!(field.record(NODE).arms()? == 1, "it armed again");

    let since = now();
    let foreign = square(50.0, 0.0);
    field.vehicle(NODE).pilot.upload_fence(&foreign)?;
    let corrected = wait_corrected(field, "geofence", since)?;
    figures.took("on the ground changed back after", since, corrected);
    is_aboard(field, &ours)?;

    if field.stack == Stack::ArduPilot {
        is_switched_on_again(field, figures)?;
    }

    power_cycle(field)?;
    let booted = now();
    field.wait("the fence to be read again", 60, || {
        let record = field.record(NODE);
        let read = record
            .sent_since(booted)
            .any(|(_, m)| matches!(m, MavMessage::MISSION_REQUEST_LIST(_)));
        ensure!(read, "it was not read");
        Ok(())
    })?;
    let again = wait_in_force(field, "geofence", true, 60)?;
    figures.took("in force after a reboot", booted, again);

    let since = now();
    field.kubectl().run(["delete", "geofence", "north"])?;
    field.wait("what was there before", 40, || is_aboard(field, &foreign))?;
    figures.took("given back", since, now());
    Ok(())
}

fn frozen(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    begin(field)?;
    let corners: Vec<_> = (0..60)
        .map(|k| {
            let angle = std::f64::consts::TAU * f64::from(k) / 60.0;
            let east = HOME[0].to_radians().cos();
            [
                HOME[0] + 80.0 * angle.cos() / 111_319.5,
                HOME[1] + 80.0 * angle.sin() / (111_319.5 * east),
            ]
        })
        .collect();
    apply_fence(field, &corners)?;
    field.wait("the upload to be in its middle", 40, || {
        let record = field.record(NODE);
        let items = record
            .sent_since(0)
            .filter(|(_, m)| matches!(m, MavMessage::MISSION_ITEM_INT(_)))
            .count();
        ensure!(items >= 8, "{items} items");
        Ok(())
    })?;
    field.agent(NODE)?.pause()?;
    let stopped = now();
    let sent = field
        .record(NODE)
        .sent_since(0)
        .filter(|(_, m)| matches!(m, MavMessage::MISSION_ITEM_INT(_)))
        .count();
    ensure!(sent < corners.len(), "the upload was over");
    let pilot = &field.vehicle(NODE).pilot;
    let armed = field.wait("the pilot's takeoff", 40, || {
        if field.stack == Stack::ArduPilot {
            pilot.mode(4, [4, 3])?;
        }
        pilot.command(
            MavCmd::MAV_CMD_COMPONENT_ARM_DISARM,
            [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        )?;
        let takeoff = match field.stack {
            Stack::ArduPilot => [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 5.0],
            Stack::Px4 => [f32::NAN; 7],
        };
        pilot.command(MavCmd::MAV_CMD_NAV_TAKEOFF, takeoff)?;
        field
            .record(NODE)
            .first_reported(stopped, is_armed)
            .context("it is not armed")
    })?;
    field.agent(NODE)?.signal(testkit::process::Signal::SIGCONT)?;
    figures.took("stopped for", stopped, now());
    std::thread::sleep(Duration::from_secs(8));
    let changes = changes_since(field, armed);
    ensure!(changes == 0, "after it was armed it was sent {changes} changes");
    figures.note(format!("{sent} of {} items before, 0 changes after", corners.len()));
    field.vehicle(NODE).pilot.mode(LAND.0, LAND.1)?;
    field.wait_down(NODE)?;
    let down = now();
    let in_force = wait_in_force(field, "geofence", true, 60)?;
    figures.took("in force after the landing", down, in_force);
    is_aboard(field, &corners)
}

/// Above the ceiling its autopilot returns by itself; Skein reports it and sends nothing.
fn breach(field: &Field, figures: &mut Figures) -> anyhow::Result<()> {
    let since = now();
    let vehicle = field.vehicle(NODE);
    match field.stack {
        // STABILIZE, with the throttle stick up; LOITER stops below the ceiling.
        Stack::ArduPilot => {
            vehicle.pilot.sticks(Some([1500, 1500, 1650, 1500]));
            std::thread::sleep(Duration::from_secs(1));
            vehicle.pilot.mode(0, [3, 0])?;
        }
        // It has no sticks: the ceiling is put below it.
        Stack::Px4 => drop(vehicle.autopilot.shell(&["param", "set", "GF_MAX_VER_DIST", "6"])?),
    }
    let returns = [RETURN.number(field.stack), LAND.number(field.stack)];
    wait_mode(field, &returns, 60)?;
    vehicle.pilot.sticks(None);
    figures.took("the autopilot returns", since, now());
    figures.note(format!("at {:.1} m", field.record(NODE).height().unwrap_or_default()));
    let message = wait_reason(field, since, &["fence"])?;
    figures.note(message);
    let sent = field.record(NODE).orders_since(since);
    ensure!(sent.is_empty(), "in the breach it was sent {sent:?}");
    Ok(())
}

fn on_a_mission(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    const LIMIT: f64 = 40.0;
    begin(field)?;
    let ours = square(120.0, 0.0);
    apply_fence(field, &ours)?;
    wait_in_force(field, "geofence", true, 40)?;
    let mut waypoints = [place(0.0, 20.0, HEIGHT), place(0.0, 100.0, HEIGHT)];
    waypoints[0]["speedMetersPerSecond"] = json!(3.0);
    let spec = json!({"failsafe": {"preflight": "Refuse"}, "route": {"waypoints": waypoints}});
    missions::apply(field, "field", &spec)?;
    missions::wait_on_plan(field, NODE, 150)?;
    missions::wait_near(field, NODE, [0.0, 20.0], 5.0, 0)?;

    let since = now();
    let vehicle = field.vehicle(NODE);
    match field.stack {
        Stack::ArduPilot => vehicle.pilot.upload_fence(&square(LIMIT, 0.0))?,
        // PX4 holds at once for a fence that its mission breaks, but flies against its own limit of the distance.
        Stack::Px4 => drop(
            vehicle
                .autopilot
                .shell(&["param", "set", "GF_MAX_HOR_DIST", &LIMIT.to_string()])?,
        ),
    }
    let named = wait_in_force(field, "geofence", false, 10)?;
    figures.took_at_most("named", since, named, 8.0)?;
    wait_mode(field, &[RETURN.number(field.stack), LAND.number(field.stack)], 60)?;
    let farthest = |field: &Field| {
        let track = track(field, NODE, since);
        track.iter().map(|(_, p)| p[0].hypot(p[1])).fold(0.0, f64::max)
    };
    figures.note(format!("the autopilot returns at {:.1} m", farthest(field)));
    let words = wait_reason(field, since, &["fence"])?;
    figures.note(words);
    field.wait_down(NODE)?;
    let down = now();
    figures.took("down", since, down);
    let reached = farthest(field);
    ensure!(
        (LIMIT - 5.0..LIMIT + 15.0).contains(&reached),
        "it flew to {reached:.1} m"
    );
    let sent = field.record(NODE).orders_since(since);
    ensure!(sent.is_empty(), "in the breach it was sent {sent:?}");
    let corrected = wait_in_force(field, "geofence", true, 60)?;
    figures.took("corrected after the landing", down, corrected);
    is_aboard(field, &ours)?;
    field.pass(10, Duration::from_secs(5));
    let sent = field.record(NODE).orders_since(since);
    ensure!(sent.is_empty(), "it landed by itself, and was sent {sent:?}");
    field.skein(&["resume", "--vehicle", NODE])?;
    let object = missions::wait_for(field, "field", "Complete", 240)?;
    ensure!(object["status"]["done"] == "100%", "{}", object["status"]);
    figures.took("complete after the landing", down, now());
    let places = [[0.0, 20.0], [0.0, 100.0]];
    let all = track(field, NODE, 0);
    let passed = places.map(|at| missions::nearest(&all, at));
    ensure!(
        passed.iter().all(|meters| *meters < 5.0),
        "it passed its places at {passed:.1?} m"
    );
    field.wait_down(NODE)
}

const fn values(stack: Stack) -> [(&'static str, f64, f64); 2] {
    match stack {
        Stack::ArduPilot => [("LOIT_BRK_DELAY", 1.5, 0.7), ("BATT_LOW_TIMER", 12.0, 14.0)],
        Stack::Px4 => [("RTL_RETURN_ALT", 45.0, 52.0), ("RTL_DESCEND_ALT", 21.0, 23.0)],
    }
}

fn parameters(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    let [(first, wanted, foreign), (second, wanted_second, foreign_second)] = values(field.stack);
    begin(field)?;
    let original = field.vehicle(NODE).pilot.read(first)?;
    let profile = |name: &str| {
        let of = json!({first: wanted.to_string(), name: wanted_second.to_string()});
        json!({
            "vehicleSelector": {"matchLabels": {"site": "north"}}, "enforce": "Apply",
            "ardupilot": of, "px4": of,
        })
    };
    let before = messages(field);
    apply(field, "ParameterProfile", &profile("NO_SUCH_NAME"))?;
    field.fly_with(1, HEIGHT, &json!({"preflight": "Refuse"}))?;
    wait_in_force(field, "parameterprofile", false, 20)?;
    stays_down(field, 15)?;
    let since = now();
    apply(field, "ParameterProfile", &profile(second))?;
    let in_force = wait_in_force(field, "parameterprofile", true, 60)?;
    figures.took("in force", since, in_force);
    figures.note(format!("{} messages", messages(field) - before));
    field.wait_in_air(&[NODE], HEIGHT)?;
    armed_last(field, since)?;
    let is_value = |field: &Field, name: &str, value: f64| -> anyhow::Result<()> {
        let read = field.vehicle(NODE).pilot.read(name)?;
        ensure!(
            (read - value).abs() < 1e-3,
            "{name} is {read}, not {value}; it was {original}"
        );
        Ok(())
    };
    is_value(field, first, wanted)?;

    let since = now();
    set(field, first, foreign)?;
    let named = wait_in_force(field, "parameterprofile", false, 10)?;
    figures.took_at_most("in the air named", since, named, 8.0)?;
    std::thread::sleep(Duration::from_secs(5));
    let sent = changes_since(field, since);
    ensure!(sent == 0, "in the air it was sent {sent} changes");
    is_value(field, first, foreign)?;
    field.skein(&["ground", SWARM])?;
    field.wait_down(NODE)?;
    let down = now();
    let corrected = wait_in_force(field, "parameterprofile", true, 60)?;
    figures.took("corrected after the landing", down, corrected);
    is_value(field, first, wanted)?;

    let since = now();
    set(field, second, foreign_second)?;
    let corrected = wait_corrected(field, "parameterprofile", since)?;
    figures.took("on the ground changed back after", since, corrected);
    is_value(field, second, wanted_second)?;

    power_cycle(field)?;
    let booted = now();
    field.wait("the values to be read again", 60, || {
        let record = field.record(NODE);
        let read = record
            .sent_since(booted)
            .any(|(_, m)| matches!(m, MavMessage::PARAM_REQUEST_READ(_)));
        ensure!(read, "they were not read");
        Ok(())
    })?;
    let again = wait_in_force(field, "parameterprofile", true, 60)?;
    figures.took("in force after a reboot", booted, again);
    is_value(field, first, wanted)?;

    let since = now();
    field.kubectl().run(["delete", "parameterprofile", "north"])?;
    field.wait("what was there before", 40, || {
        is_value(field, first, foreign)?;
        is_value(field, second, foreign_second)
    })?;
    figures.took("given back", since, now());
    Ok(())
}

fn set(field: &Field, name: &str, value: f64) -> anyhow::Result<()> {
    let pilot = &field.vehicle(NODE).pilot;
    pilot.parameter(name, value as f32)
}
