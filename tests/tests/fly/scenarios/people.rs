//! Pilots who take over, fly a vehicle themselves, or stop its motors.

use std::time::Duration;

use anyhow::{Context, ensure};
use mavlink::dialects::ardupilotmega::{MavCmd, MavMessage};
use serde_json::json;
use testkit::autopilots::Stack;

use crate::field::{Field, NODES, SWARM, Setup};
use crate::figures::Figures;
use crate::modes::{HOLD, LAND, PILOTS, STICKS};
use crate::objects::{condition, is};
use crate::record::{is_armed, is_disarmed};
use crate::scenario::Scenario;
use skein_tests::wire::now;

pub const ALL: &[Scenario] = &[
    Scenario::new(
        "takeover",
        "a pilot takes over and hands back: nothing is sent, not for a changed altitude either, until `skein resume`",
        takeover,
    )
    .real_time(),
    // A stick takes no ArduCopter out of GUIDED.
    Scenario::new(
        "sticks",
        "a pilot moves a stick in the air: the autopilot gives it to the sticks, and nothing is sent until `skein resume`",
        sticks,
    )
    .with(|_| Setup {
        // Joysticks only. A busy machine may be late with one.
        px4: vec![("COM_RC_IN_MODE", 1.0), ("COM_RC_LOSS_T", 3.0)],
        ..Setup::default()
    })
    .on(&[Stack::Px4])
    .real_time(),
    Scenario::new(
        "pilot-lands",
        "a pilot lands it: it stays down until `skein resume`, a ground order and its release",
        pilot_lands,
    ),
    Scenario::new(
        "settle",
        "a free vehicle that a person has flown and landed does not take off at once (B5)",
        settle,
    ),
    Scenario::new(
        "ground-latch",
        "after `ground --all` neither a new, a replaced nor a made-again Swarm flies (B4)",
        ground_latch,
    ),
    Scenario::new(
        "kill",
        "`skein kill`: one forced disarm, and no flight afterwards",
        kill,
    ),
];

const NODE: &str = NODES[0];
const START: f64 = 20.0;

fn drone_name(field: &Field) -> anyhow::Result<String> {
    let drone = field.objects().of(NODE).context("there is no Drone")?;
    Ok(drone["metadata"]["name"].as_str().unwrap_or_default().to_owned())
}

fn takeover(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    field.take_off(START)?;
    let since = now();
    field.vehicle(NODE).pilot.mode(PILOTS.0, PILOTS.1)?;
    let_go(field, figures, since)?;
    given_back(field, figures, since)
}

fn let_go(field: &Field, figures: &mut Figures, since: u64) -> anyhow::Result<()> {
    field.wait("the Drone to be Interrupted", 0, || {
        let drone = field.objects().of(NODE).context("there is none")?;
        ensure!(
            drone["status"]["phase"] == "Interrupted" && !is(&drone, "Ready"),
            "{}",
            drone["status"]
        );
        Ok(())
    })?;
    figures.took_at_most("Interrupted after", since, now(), 5.0)
}

/// Nothing is sent from `since` to the resume, not for a changed altitude either, to which it then flies.
fn given_back(field: &Field, figures: &mut Figures, since: u64) -> anyhow::Result<()> {
    let patch = json!({"spec": {"template": {"spec": {"takeoffAltitudeMeters": 25.0}}}}).to_string();
    field
        .kubectl()
        .run(["patch", "swarm", SWARM, "--type=merge", "-p", &patch])?;
    std::thread::sleep(Duration::from_secs(4));
    // The pilot hands it back in the mode in which Skein holds; that alone is not a resume.
    field.vehicle(NODE).pilot.mode(HOLD.0, HOLD.1)?;
    std::thread::sleep(Duration::from_secs(3));
    let sent = field.record(NODE).orders_since(since);
    ensure!(sent.is_empty(), "in the pilot's hands it was sent {sent:?}");
    let resumed = now();
    field.skein(&["resume", &drone_name(field)?])?;
    field.wait_in_air(&[NODE], 25.0)?;
    let first = field
        .record(NODE)
        .commands_since(resumed)
        .first()
        .context("it was sent nothing")?
        .at;
    figures.took_at_most("taken up again after", resumed, first, 2.0)?;
    let mode = field.record(NODE).mode();
    ensure!(mode == Some(HOLD.number(field.stack)), "it is in mode {mode:?}");
    ensure!(field.record(NODE).arms()? == 1, "it armed again");
    field.wait_ready(NODE)
}

fn sticks(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    let pilot = &field.vehicle(NODE).pilot;
    pilot.joystick(0);
    field.take_off(START)?;
    field.pass(5, Duration::from_secs(5));
    let mode = field.record(NODE).mode();
    ensure!(
        mode == Some(HOLD.number(field.stack)),
        "with its sticks in the middle it is in mode {mode:?}"
    );
    let moved = now();
    pilot.joystick(1000);
    std::thread::sleep(Duration::from_secs(1));
    pilot.joystick(0);
    let modes = STICKS.map(|mode| mode.number(field.stack));
    let by_sticks =
        |message: &MavMessage| matches!(message, MavMessage::HEARTBEAT(beat) if modes.contains(&beat.custom_mode));
    let given = field.wait("the autopilot to give it to the sticks", 5, || {
        let record = field.record(NODE);
        let given = record.first_reported(moved, by_sticks);
        given.with_context(|| format!("it is in mode {:?}", record.mode()))
    })?;
    figures.took_at_most("given to the sticks after", moved, given, 5.0)?;
    let_go(field, figures, given)?;
    given_back(field, figures, moved)?;
    field.skein(&["ground", SWARM])?;
    field.wait_down(NODE)
}

fn pilot_lands(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    field.take_off(START / 2.0)?;
    let since = now();
    field.vehicle(NODE).pilot.mode(LAND.0, LAND.1)?;
    field.wait_down(NODE)?;
    field.pass(30, Duration::from_secs(10));
    let sent = field.record(NODE).orders_since(since);
    ensure!(sent.is_empty(), "it was sent {sent:?}");
    // As the Drone's status says: it is resumed, then grounded and released.
    field.skein(&["resume", &drone_name(field)?])?;
    std::thread::sleep(Duration::from_secs(5));
    let sent = field.record(NODE).orders_since(since);
    ensure!(sent.is_empty(), "resumed, but not released, it was sent {sent:?}");
    field.skein(&["ground", SWARM])?;
    std::thread::sleep(Duration::from_secs(3));
    let released = now();
    field.skein(&["release", SWARM])?;
    field.wait_in_air(&[NODE], START / 2.0)?;
    figures.took("up again after the release", released, now());
    Ok(())
}

/// Seconds from the end of another person's flight to ours, at least.
const SETTLED: f64 = 10.0;

fn settle(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
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
    let pilot = &field.vehicle(NODE).pilot;
    field.wait("the pilot's takeoff", 30, || {
        if field.stack == Stack::ArduPilot {
            pilot.mode(HOLD.0, HOLD.1)?;
        }
        pilot.command(
            MavCmd::MAV_CMD_COMPONENT_ARM_DISARM,
            [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        )?;
        let nowhere = f32::NAN;
        let takeoff = match field.stack {
            Stack::ArduPilot => [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 5.0],
            Stack::Px4 => [nowhere; 7],
        };
        pilot.command(MavCmd::MAV_CMD_NAV_TAKEOFF, takeoff)?;
        std::thread::sleep(Duration::from_secs(2));
        let height = field.record(NODE).height().unwrap_or_default();
        ensure!(height > 1.0, "it is at {height:.1} m");
        Ok(())
    })?;
    field.fly(1, START / 2.0)?;
    field.wait("the pilot's flight to be over", 30, || {
        let height = field.record(NODE).height().unwrap_or_default();
        ensure!(height > 1.8, "it is at {height:.1} m");
        Ok(())
    })?;
    let sent = field.record(NODE).orders_since(0);
    ensure!(sent.is_empty(), "while the pilot flew it was sent {sent:?}");
    let landing = now();
    field.vehicle(NODE).pilot.mode(LAND.0, LAND.1)?;
    let ended = field.wait("the pilot's landing", 60, || {
        field
            .record(NODE)
            .first_reported(landing, is_disarmed)
            .context("it is armed")
    })?;
    std::thread::sleep(Duration::from_secs_f64(SETTLED));
    let sent = field.record(NODE).first_sent(0, MavCmd::MAV_CMD_COMPONENT_ARM_DISARM);
    match sent {
        Some(sent) => {
            let seconds = (sent as f64 - ended as f64) / 1e6;
            anyhow::bail!(
                "it was sent an arm command {seconds:.2} s after the pilot's flight ended, at least {SETTLED} s are to pass"
            );
        }
        None => figures.note(format!("not armed within {SETTLED} s")),
    }
    Ok(())
}

fn ground_latch(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    field.take_off(START / 2.0)?;
    field.skein(&["ground", "--all"])?;
    field.wait_down(NODE)?;
    let down = now();
    let stays_down = |what: &str| -> anyhow::Result<()> {
        std::thread::sleep(Duration::from_secs(12));
        let record = field.record(NODE);
        let risen = record.first_sent(down, MavCmd::MAV_CMD_COMPONENT_ARM_DISARM);
        ensure!(
            risen.is_none(),
            "{what}: it was sent an arm command {:.1} s after it was down",
            (risen.unwrap_or(down) - down) as f64 / 1e6
        );
        Ok(())
    };
    let swarm = |name: &str| {
        json!({
            "apiVersion": "skein.dev/v1alpha1", "kind": "Swarm", "metadata": {"name": name, "namespace": "default"},
            "spec": {"replicas": 1, "template": {"spec": {"takeoffAltitudeMeters": START / 2.0}}},
        })
        .to_string()
    };
    // A status that was written in between makes kubectl ask to try again, as a person then does.
    let replace = || field.kubectl().run_with(["replace", "-f", "-"], &swarm(SWARM));
    let conflicts = |error: &anyhow::Error| format!("{error:#}").contains("(Conflict)");
    replace().or_else(|error| if conflicts(&error) { replace() } else { Err(error) })?;
    stays_down("after `kubectl replace` of the Swarm")?;
    field.kubectl().run(["delete", "swarm", SWARM, "--timeout=60s"])?;
    field.kubectl().apply(&swarm(SWARM))?;
    stays_down("after the Swarm was deleted and applied")?;
    field.kubectl().run(["delete", "swarm", SWARM, "--timeout=60s"])?;
    field.kubectl().apply(&swarm("another"))?;
    stays_down("after another Swarm was applied")?;
    let released = now();
    field.skein(&["release", "--all"])?;
    field.wait_in_air(&[NODE], START / 2.0)?;
    figures.took("up after `release --all`", released, now());
    Ok(())
}

fn kill(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    field.take_off(START)?;
    let (since, name) = (now(), drone_name(field)?);
    let said = field.skein(&["kill", &name, "--confirm", &name, "--yes-stop-the-motors"])?;
    let record = field.record(NODE);
    let sent = record.commands_since(since);
    let forced = |c: &skein_tests::wire::Command| {
        c.command == MavCmd::MAV_CMD_COMPONENT_ARM_DISARM && c.param1 == 0.0 && c.param2 == 21196.0
    };
    ensure!(
        sent.len() == 1 && forced(&sent[0]),
        "it was sent {sent:?}; `skein kill` said {said}"
    );
    let stopped = record.first_reported(since, is_disarmed).context("it did not disarm")?;
    figures.took("disarmed after", since, stopped);
    drop(record);
    std::thread::sleep(Duration::from_secs(12));
    let record = field.record(NODE);
    ensure!(
        record.orders_since(since).len() == 1,
        "it was sent {:?}",
        record.orders_since(since)
    );
    ensure!(
        record.first_reported(stopped + 2_000_000, is_armed).is_none(),
        "it armed again"
    );
    drop(record);
    let drone = field.objects().of(NODE).context("there is no Drone")?;
    ensure!(!is(&drone, "Ready"), "{}", condition(&drone, "Ready"));
    Ok(())
}
