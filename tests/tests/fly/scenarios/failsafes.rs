//! Acts of the autopilot itself for the safety of the vehicle, which Skein must detect, report and not disturb.

use std::time::Duration;

use anyhow::{Context, ensure};
use mavlink::dialects::ardupilotmega::MavCmd;
use serde_json::{Value, json};
use testkit::autopilots::Stack;

use crate::field::{Field, NODES, SWARM, Setup};
use crate::figures::Figures;
use crate::modes::{HOLD, LAND, RETURN};
use crate::objects::{condition, is};
use crate::scenario::Scenario;
use skein_tests::wire::now;

pub const ALL: &[Scenario] = &[
    Scenario::new(
        "gcs-loss",
        "the ground station is lost: the autopilot's return is not overridden (B1), its reason shown (C10)",
        gcs_loss,
    )
    .with(|_| Setup {
        ardupilot: vec![("FS_GCS_ENABLE", 1.0), ("FS_GCS_TIMEOUT", 5.0)],
        px4: vec![("NAV_DLL_ACT", 2.0)],
        ..Setup::default()
    })
    .real_time(),
    Scenario::new(
        "emergency-battery",
        "PX4 is about to land for its battery: nothing is sent into it (B1, C10)",
        emergency_battery,
    )
    .on(&[Stack::Px4]),
    Scenario::new(
        "fence-acts",
        "the fence acts: nothing is sent into it (B1), its reason shown (C10)",
        fence,
    )
    .with(|_| Setup {
        ardupilot: vec![
            ("FENCE_ENABLE", 1.0),
            ("FENCE_TYPE", 1.0),
            ("FENCE_ALT_MAX", 100.0),
            ("FENCE_ACTION", 1.0),
        ],
        px4: vec![("GF_ACTION", 3.0)],
        ..Setup::default()
    }),
    Scenario::new(
        "battery-reserve",
        "a draining battery over home: landed at the reserve, not seconds later (B7)",
        reserve,
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
        "rotation",
        "a battery at rotateAtPercent: another is at its altitude before the first is sent to land",
        rotation,
    )
    .with(|_| Setup {
        vehicles: 2,
        ardupilot: vec![
            ("SIM_BATT_CAP_AH", 0.9),
            ("BATT_CAPACITY", 900.0),
            ("BATT_FS_LOW_ACT", 0.0),
        ],
        px4: vec![
            ("SIM_BAT_DRAIN", 150.0),
            ("SIM_BAT_MIN_PCT", 0.0),
            ("COM_LOW_BAT_ACT", 0.0),
        ],
        ..Setup::default()
    })
    .real_time(),
    Scenario::new(
        "rc-loss",
        "the remote control is lost: the autopilot's return is not overridden (B1), its reason shown (C10)",
        rc_loss,
    )
    .on(&[Stack::ArduPilot]),
    Scenario::new(
        "gps-loss",
        "GPS is lost: what the autopilot does is left to it, and Skein sends nothing",
        gps_loss,
    ),
    Scenario::new(
        "motors-cut",
        "it falls or sinks: Ready is False within 2 s (B3)",
        motors_cut,
    )
    .real_time(),
    Scenario::new(
        "one-motor-out",
        "one of four motors fails in the hold: Ready is False within 2 s, and nothing arms it afterwards",
        one_motor_out,
    )
    .real_time(),
    Scenario::new(
        "gcs-failover",
        "a coordinator fails over under --gcs-heartbeat: no vehicle returns; agent gone: it does (B2)",
        failover,
    )
    .with(|_| Setup {
        ardupilot: vec![("FS_GCS_ENABLE", 1.0), ("FS_GCS_TIMEOUT", 5.0)],
        px4: vec![("NAV_DLL_ACT", 2.0)],
        agent: vec!["--gcs-heartbeat".to_owned()],
        ..Setup::default()
    })
    .real_time(),
];

const NODE: &str = NODES[0];

pub(super) fn wait_reason(field: &Field, since: u64, words: &[&str]) -> anyhow::Result<String> {
    field.wait("the autopilot's reason on the Drone", 0, || {
        let drone = field.objects().of(NODE).context("there is none")?;
        let ready = condition(&drone, "Ready");
        let message = ready["message"].as_str().unwrap_or_default().to_owned();
        let named = words.iter().any(|word| message.to_lowercase().contains(word));
        ensure!(
            ready["status"] != "True" && named,
            "Ready is {ready}; since then it said {:?}",
            field.record(NODE).texts_since(since)
        );
        Ok(message)
    })
}

fn set_height(field: &Field, meters: f64) -> anyhow::Result<()> {
    let patch = json!({"spec": {"template": {"spec": {"takeoffAltitudeMeters": meters}}}}).to_string();
    field
        .kubectl()
        .run(["patch", "swarm", SWARM, "--type=merge", "-p", &patch])
        .map(drop)
}

pub(super) fn wait_mode(field: &Field, modes: &[u32], seconds: u32) -> anyhow::Result<u32> {
    field.wait(&format!("mode {modes:?}"), seconds, || {
        let mode = field.record(NODE).mode().context("no heartbeat")?;
        ensure!(
            modes.contains(&mode),
            "it is in mode {mode}, failsafe {}",
            field.record(NODE).in_failsafe()
        );
        Ok(mode)
    })
}

/// From the first sign of a failsafe to its end nothing may be sent, whatever is requested meanwhile.
fn left_alone(field: &Field, figures: &mut Figures, since: u64, modes: &[u32]) -> anyhow::Result<()> {
    let begun = field.wait("the failsafe", 40, || {
        let record = field.record(NODE);
        let acts = record.in_failsafe() || record.mode().is_some_and(|mode| modes.contains(&mode));
        ensure!(acts, "mode {:?}", record.mode());
        Ok(now())
    })?;
    figures.took("failsafe after", since, begun);
    // Within the five seconds that PX4 waits before it acts.
    set_height(field, 14.0)?;
    wait_mode(field, modes, 15).map_err(|error| {
        let sent = field.record(NODE).orders_since(begun);
        error.context(format!("the failsafe was not executed; it was sent {sent:?}"))
    })?;
    std::thread::sleep(Duration::from_secs(5));
    let sent = field.record(NODE).orders_since(begun);
    ensure!(sent.is_empty(), "in its failsafe it was sent {sent:?}");
    Ok(())
}

fn gcs_loss(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    field.vehicle(NODE).pilot.beats(true);
    field.take_off(20.0)?;
    let since = now();
    field.vehicle(NODE).pilot.beats(false);
    left_alone(field, figures, since, &[RETURN.number(field.stack)])?;
    wait_reason(field, since, &["gcs", "ground station", "ground control"])?;
    field.vehicle(NODE).pilot.beats(true);
    field.wait_down(NODE)?;
    let sent = field.record(NODE).orders_since(since);
    ensure!(sent.is_empty(), "until it was down it was sent {sent:?}");
    Ok(())
}

fn emergency_battery(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    field.take_off(20.0)?;
    let since = now();
    field
        .vehicle(NODE)
        .autopilot
        .shell(&["param", "set", "SIM_BAT_MIN_PCT", "4"])?;
    field
        .vehicle(NODE)
        .autopilot
        .shell(&["param", "set", "SIM_BAT_DRAIN", "1"])?;
    left_alone(
        field,
        figures,
        since,
        &[LAND.number(field.stack), RETURN.number(field.stack)],
    )?;
    wait_reason(field, since, &["battery"])?;
    field.wait_down(NODE)
}

fn fence(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    field.vehicle(NODE).pilot.beats(true);
    field.take_off(20.0)?;
    let since = now();
    // The fence is lowered below it: either autopilot refuses an altitude above the fence.
    let vehicle = field.vehicle(NODE);
    match field.stack {
        Stack::ArduPilot => vehicle.pilot.parameter("FENCE_ALT_MAX", 12.0)?,
        Stack::Px4 => vehicle
            .autopilot
            .shell(&["param", "set", "GF_MAX_VER_DIST", "12"])
            .map(drop)?,
    }
    let stack = field.stack;
    field.wait("the fence to act", 60, || {
        let record = field.record(NODE);
        let acts = record.in_failsafe() || record.mode() == Some(RETURN.number(stack));
        ensure!(
            acts,
            "at {:?} m, texts {:?}",
            record.height(),
            record.texts_since(since)
        );
        Ok(())
    })?;
    figures.note(format!(
        "acted at {:.1} m",
        field.record(NODE).height().unwrap_or_default()
    ));
    left_alone(field, figures, now(), &[RETURN.number(stack), LAND.number(stack)])?;
    wait_reason(field, since, &["fence"]).map(drop)
}

fn reserve(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    const RESERVE: i8 = 50;
    field.fly_with(1, 10.0, &json!({"reservePercent": RESERVE, "onLowBattery": "Return"}))?;
    field.wait("the flight", 120, || {
        ensure!(field.record(NODE).said().in_air(), "{:?}", field.record(NODE).said());
        Ok(())
    })?;
    let since = now();
    let sent = field.wait("a command to come home", 180, || {
        let record = field.record(NODE);
        let commands = record.commands_since(since);
        let first = commands.first();
        first.with_context(|| format!("none at {:?} %", record.charge()))?;
        Ok(first.map_or(0, |command| command.at))
    })?;
    let charge = field.record(NODE).charge().unwrap_or_default();
    figures.note(format!("sent home at {charge} %, reserve {RESERVE} %"));
    figures.took("after takeoff", since, sent);
    ensure!(
        charge >= RESERVE - 2,
        "sent home at {charge} %, the reserve is {RESERVE} %"
    );
    let orders = field.record(NODE).orders_since(since);
    ensure!(orders[0] == "NAV_LAND", "it was sent {orders:?}");
    field.wait_down(NODE)
}

fn rotation(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    const START: f64 = 10.0;
    let swarm = json!({
        "apiVersion": "skein.dev/v1alpha1", "kind": "Swarm", "metadata": {"name": SWARM},
        "spec": {"replicas": 1, "rotateAtPercent": 75, "template": {"spec": {
            "takeoffAltitudeMeters": START, "failsafe": {"reservePercent": 30},
        }}},
    });
    field.kubectl().apply(&swarm.to_string())?;
    let first = field.wait_count_in_air(1, START)?[0];
    let others = field.nodes();
    let second = others
        .iter()
        .find(|node| **node != first)
        .context("there is one vehicle only")?;
    let since = now();
    let relieved = field.wait("the relief", 120, || {
        let record = field.record(second);
        let height = record.height().unwrap_or_default();
        let up = record.said().in_air() && (height - START).abs() < 1.5;
        ensure!(
            up,
            "the second is at {height:.1} m, the first at {:?} %",
            field.record(first).charge()
        );
        Ok(now())
    })?;
    figures.took("relieved after", since, relieved);
    let landing = field.wait("the land command of the first", 30, || {
        field
            .record(first)
            .first_sent(since, MavCmd::MAV_CMD_NAV_LAND)
            .context("not yet")
    })?;
    figures.took("both up for", relieved, landing);
    figures.note(format!("at {} %", field.record(first).charge().unwrap_or_default()));
    ensure!(
        landing + 100_000 >= relieved,
        "the first was sent to land before the second was at its altitude"
    );
    field.wait_down(first)?;
    ensure!(
        field.record(second).flew_without_a_break_since(relieved),
        "the second came down"
    );
    Ok(())
}

fn rc_loss(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    field.take_off(20.0)?;
    let since = now();
    field.vehicle(NODE).pilot.parameter("SIM_RC_FAIL", 1.0)?;
    left_alone(
        field,
        figures,
        since,
        &[RETURN.number(field.stack), LAND.number(field.stack)],
    )?;
    wait_reason(field, since, &["radio", "rc "])?;
    field.wait_down(NODE)
}

fn gps(field: &Field, on: bool) -> anyhow::Result<()> {
    let vehicle = field.vehicle(NODE);
    match field.stack {
        Stack::ArduPilot => vehicle.pilot.parameter("SIM_GPS1_ENABLE", if on { 1.0 } else { 0.0 }),
        Stack::Px4 => vehicle
            .autopilot
            .shell(&["sensor_gps_sim", if on { "start" } else { "stop" }])
            .map(drop),
    }
}

fn gps_loss(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    field.take_off(15.0)?;
    let since = now();
    gps(field, false)?;
    let unready = field.wait("the Drone to be no longer Ready", 30, || {
        let drone = field.objects().of(NODE).context("there is none")?;
        ensure!(!is(&drone, "Ready"), "{}", condition(&drone, "Ready"));
        Ok(now())
    })?;
    figures.took("not Ready after", since, unready);
    field.wait_down(NODE)?;
    let sent = field.record(NODE).orders_since(since);
    ensure!(sent.is_empty(), "without GPS it was sent {sent:?}");
    let down = now();
    gps(field, true)?;
    field.pass(40, Duration::from_secs(10));
    let sent = field.record(NODE).orders_since(down);
    ensure!(sent.is_empty(), "it landed by itself and was sent {sent:?}");
    Ok(())
}

/// The motors of this mask continue without thrust.
fn arducopter_motors_fail(field: &Field, mask: f32) -> anyhow::Result<()> {
    let pilot = &field.vehicle(NODE).pilot;
    pilot.parameter("SIM_ENGINE_MUL", 0.0)?;
    pilot.parameter("SIM_ENGINE_FAIL", mask)
}

fn motors_cut(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    field.take_off(30.0)?;
    let since = now();
    match field.stack {
        Stack::ArduPilot => arducopter_motors_fail(field, 15.0)?,
        Stack::Px4 => field
            .vehicle(NODE)
            .autopilot
            .shell(&["pwm_out_sim", "stop"])
            .map(drop)?,
    }
    falls(field, figures, since)
}

fn one_motor_out(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    field.take_off(30.0)?;
    let since = now();
    match field.stack {
        Stack::ArduPilot => arducopter_motors_fail(field, 1.0)?,
        // `failure motor off` does nothing to PX4's simulated motors, but a rotor without thrust is used no more.
        Stack::Px4 => field
            .vehicle(NODE)
            .autopilot
            .shell(&["param", "set", "CA_ROTOR0_CT", "0"])
            .map(drop)?,
    }
    falls(field, figures, since)?;
    field.pass(60, Duration::from_secs(30));
    let record = field.record(NODE);
    figures.note(format!("then {:?}", record.said()));
    let arms = record.arm_commands_since(since);
    ensure!(arms == 0, "after its fall it was sent {arms} arm commands");
    ensure!(record.arms()? == 1, "it armed again");
    Ok(())
}

fn falls(field: &Field, figures: &mut Figures, since: u64) -> anyhow::Result<()> {
    let low = field.wait("it to be 3 m lower", 30, || {
        let record = field.record(NODE);
        let found = record
            .heights_since(since)
            .find(|(_, height)| *height < 27.0)
            .map(|(at, _)| at);
        found.with_context(|| format!("it is at {:?} m", record.height()))
    })?;
    let unready = field.wait("the Drone to be no longer Ready", 10, || {
        let states = field.objects().of_since(NODE, since);
        let found = states.iter().find(|(_, drone)| !is(drone, "Ready"));
        let (at, drone) = found.context("it is Ready")?;
        Ok((*at, condition(drone, "Ready").clone()))
    })?;
    let (at, ready): (u64, Value) = unready;
    figures.note(format!("reason {}", ready["reason"].as_str().unwrap_or_default()));
    figures.took_at_most("not Ready after it was 3 m low", low, at, 2.0)
}

fn failover(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    field.take_off(20.0)?;
    let (since, hold) = (now(), HOLD.number(field.stack));
    field.kill_coordinator();
    field.start_coordinator()?;
    // Taking over the Lease takes ten seconds; after that the autopilot's own time would be over.
    std::thread::sleep(Duration::from_secs(30));
    let record = field.record(NODE);
    let (sent, mode) = (record.orders_since(since), record.mode());
    ensure!(
        mode == Some(hold),
        "in the fail-over it went to mode {mode:?}; texts {:?}",
        record.texts_since(since)
    );
    ensure!(
        sent.is_empty() && record.flew_without_a_break_since(since),
        "in the fail-over it was sent {sent:?}"
    );
    drop(record);
    field.wait_ready(NODE)?;
    let since = now();
    field.kill_agent(NODE);
    wait_mode(field, &[RETURN.number(field.stack)], 60)?;
    figures.took_at_most("agent gone: returns after", since, now(), 40.0)
}
