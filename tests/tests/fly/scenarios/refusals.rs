//! Autopilots that refuse to arm: their own words give the reason, and when it is fixed the vehicle flies without a
//! command.

use std::time::Duration;

use anyhow::{Context, ensure};
use mavlink::dialects::ardupilotmega::MavCmd;
use serde_json::json;
use testkit::autopilots::Stack;

use crate::field::{Field, NODES, SWARM, Setup};
use crate::figures::Figures;
use crate::objects::condition;
use crate::scenario::Scenario;
use skein_tests::wire::now;

pub const ALL: &[Scenario] = &[
    Scenario::new(
        "refused-arming",
        "ten kinds of refusal, each shown in the autopilot's words and flown once it is cured",
        refused,
    ),
    Scenario::new(
        "refused-text",
        "arming refused while the checks pass: the text after the refusal is the reason (C8)",
        refused_text,
    )
    .on(&[Stack::ArduPilot]),
    Scenario::new(
        "unknown-battery",
        "an autopilot without a battery monitor: no takeoff under preflight Refuse, said so; a takeoff under Warn (B7)",
        unknown_battery,
    )
    .with(|_| Setup {
        ardupilot: vec![("BATT_MONITOR", 0.0), ("FS_GCS_ENABLE", 1.0), ("BATT_FS_LOW_ACT", 2.0)],
        px4: vec![("NAV_DLL_ACT", 2.0), ("COM_LOW_BAT_ACT", 3.0), ("BAT1_SOURCE", -1.0)],
        ..Setup::default()
    })
    .real_time(),
    Scenario::new(
        "component-metadata",
        "PX4's own descriptions of its events are read and used (C11)",
        metadata,
    )
    .on(&[Stack::Px4]),
];

const NODE: &str = NODES[0];
const START: f64 = 6.0;

/// Parameter, bad value, good value, and words of the autopilot's text, any of them.
type Break = (&'static str, f32, f32, &'static [&'static str]);

const ARDUPILOT: &[Break] = &[
    ("SIM_GPS1_ENABLE", 0.0, 1.0, &["gps", "position"]),
    ("BATT_ARM_VOLT", 20.0, 0.0, &["volt"]),
    ("SIM_BARO_DISABLE", 1.0, 0.0, &["baro"]),
    ("FS_THR_VALUE", 800.0, 975.0, &["fs_thr_value"]),
    ("ACRO_BAL_ROLL", 10.0, 1.0, &["acro_bal"]),
    // (Not MOT_PWM_MIN: its value goes to the motors of a disarmed vehicle, too, and it flies.)
    ("ARMING_MIS_ITEMS", 1.0, 0.0, &["mission"]),
    ("SIM_RC_FAIL", 1.0, 0.0, &["rc", "radio", "throttle"]),
    ("SIM_MAG1_FAIL", 1.0, 0.0, &["compass", "mag"]),
    ("GPS1_TYPE", 0.0, 1.0, &["gps", "position"]),
    ("MOT_SPIN_ARM", 0.5, 0.1, &["mot_spin"]),
];

const PX4: &[Break] = &[
    ("SYS_HAS_MAG", 3.0, 1.0, &["compass"]),
    ("NAV_DLL_ACT", 2.0, 0.0, &["ground control", "ground station", "gcs"]),
    ("COM_ARM_ODID", 2.0, 0.0, &["drone id", "opendroneid"]),
    ("COM_PARACHUTE", 2.0, 0.0, &["parachute"]),
    ("COM_ARM_MIS_REQ", 1.0, 0.0, &["mission"]),
    ("SYS_HAS_NUM_OF", 1.0, 0.0, &["flow"]),
    ("COM_CPU_MAX", 0.1, 95.0, &["cpu"]),
    ("COM_RAM_MAX", 0.1, 95.0, &["ram"]),
    ("COM_ARM_BAT_MIN", 1.5, 0.1, &["battery"]),
    (GPS, 0.0, 1.0, &["position", "gps"]),
];

const GPS: &str = "sensor_gps_sim";

fn set(field: &Field, name: &str, value: f32) -> anyhow::Result<()> {
    let vehicle = field.vehicle(NODE);
    match field.stack {
        Stack::ArduPilot => vehicle.pilot.parameter(name, value),
        Stack::Px4 if name == GPS => {
            let verb = if value == 0.0 { "stop" } else { "start" };
            vehicle.autopilot.shell(&[GPS, verb]).map(drop)
        }
        Stack::Px4 => vehicle
            .autopilot
            .shell(&["param", "set", name, &value.to_string()])
            .map(drop),
    }
}

fn refused(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    let kinds = match field.stack {
        Stack::ArduPilot => ARDUPILOT,
        Stack::Px4 => PX4,
    };
    field.take_off(START)?;
    let mut cured = 0;
    for &(name, broken, whole, words) in kinds {
        field.skein(&["ground", SWARM])?;
        field.wait_down(NODE)?;
        set(field, name, broken)?;
        field.pass(6, Duration::from_secs(4));
        let since = now();
        field.skein(&["release", SWARM])?;
        field.wait(&format!("{name} to be shown"), 40, || {
            let drone = field.objects().of(NODE).context("there is none")?;
            let armable = condition(&drone, "Armable");
            let message = armable["message"].as_str().unwrap_or_default().to_lowercase();
            ensure!(
                armable["status"] == "False" && words.iter().any(|word| message.contains(word)),
                "{armable}"
            );
            Ok(())
        })?;
        let sent = field.record(NODE).arm_commands_since(since);
        ensure!(sent <= 3, "{name}: {sent} arm commands while it refuses");
        set(field, name, whole)?;
        field
            .wait_in_air(&[NODE], START)
            .with_context(|| format!("after {name} was cured"))?;
        cured += 1;
    }
    figures.note(format!("{cured} kinds shown and cured"));
    Ok(())
}

fn refused_text(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    // A raised throttle stick is checked only when arming.
    field.wait("a vehicle that may arm", 60, || {
        let status: serde_json::Value = serde_json::from_str(&field.skein(&["status", "-o", "json"])?)?;
        let vehicles = status["vehicles"].as_array();
        let mine = vehicles
            .into_iter()
            .flatten()
            .find(|v| v["node"] == NODE)
            .context("not heard yet")?;
        ensure!(mine["ready"] == true, "{mine}");
        Ok(())
    })?;
    field.vehicle(NODE).pilot.sticks(Some([1500, 1500, 1700, 1500]));
    std::thread::sleep(Duration::from_secs(2));
    let since = now();
    field.fly(1, START)?;
    let refused = field.wait("a refused arm command", 20, || {
        field
            .record(NODE)
            .first_sent(since, MavCmd::MAV_CMD_COMPONENT_ARM_DISARM)
            .context("none was sent")
    })?;
    let sent = field.wait("the text on the Drone", 10, || {
        let drone = field.objects().of(NODE).context("there is none")?;
        let all = drone["status"].to_string();
        ensure!(
            all.contains("(RC3)"),
            "{}; it said {:?}",
            drone["status"],
            field.record(NODE).texts_since(since)
        );
        Ok(now())
    })?;
    figures.took("shown after the refusal", refused, sent);
    let events = field.kubectl().run(["get", "events", "-A"])?;
    ensure!(events.contains("(RC3)"), "no Event has the text: {events}");
    field.vehicle(NODE).pilot.sticks(Some([1500, 1500, 1000, 1500]));
    field.wait_in_air(&[NODE], START)
}

fn unknown_battery(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    field.vehicle(NODE).pilot.beats(true);
    field.fly_with(1, START, &json!({"preflight": "Refuse"}))?;
    let shown = |field: &Field| {
        let drone = field.objects().of(NODE).context("there is none")?;
        let armable = condition(&drone, "Armable");
        let message = armable["message"].as_str().unwrap_or_default().to_owned();
        ensure!(
            armable["status"] == "False" && message.contains("what is left in its battery"),
            "{armable}"
        );
        Ok(message)
    };
    field.wait("the battery to be the reason", 90, || shown(field))?;
    field.pass(60, Duration::from_secs(20));
    let message = shown(field)?;
    let record = field.record(NODE);
    ensure!(
        record.charge().unwrap_or(-1) < 0,
        "its battery is at {:?} %",
        record.charge()
    );
    // The flight mode is set on the ground.
    let sent: Vec<_> = (record.orders_since(0).into_iter())
        .filter(|command| command != "DO_SET_MODE")
        .collect();
    ensure!(sent.is_empty(), "with an unknown battery it was sent {sent:?}");
    drop(record);
    figures.note(message);
    field.fly_with(1, START, &json!({"preflight": "Warn"}))?;
    field.wait_in_air(&[NODE], START)
}

fn metadata(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    const FILE_TRANSFER: u32 = 110;
    // Metadata are read on the ground only.
    let line = field.wait("the agent to have read the metadata", 30, || {
        let log = field.agent(NODE)?.stderr();
        let found = log
            .lines()
            .find(|line| line.contains("descriptions of its events are known"));
        let refused = || {
            log.lines()
                .filter(|line| line.contains("no descriptions of"))
                .collect::<Vec<_>>()
                .join("\n")
        };
        found.map(str::to_owned).with_context(refused)
    })?;
    let requests = field.record(NODE).passed_to_autopilot(FILE_TRANSFER);
    figures.note(format!("{requests} requests"));
    ensure!(requests > 10, "{requests} requests; {line}");
    field.take_off(START)
}
