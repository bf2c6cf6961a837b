//! Flights without faults.

use std::time::Duration;

use anyhow::{Context, ensure};
use mavlink::dialects::ardupilotmega::{MavCmd, MavMessage, MavSysStatusSensor};
use serde_json::json;

use crate::field::{Field, NODES, SWARM, Setup};
use crate::figures::Figures;
use crate::objects::condition;
use crate::record::{is_armed, is_disarmed};
use crate::scenario::Scenario;
use skein_tests::wire::now;

pub const ALL: &[Scenario] = &[
    Scenario::new(
        "cold-boot",
        "Swarm applied while the autopilot boots: one arm, at its altitude, Ready",
        cold_boot,
    )
    .short(),
    Scenario::new("scale", "1, 3, 1 vehicles; the one that stays is sent nothing", scale)
        .with(|_| Setup {
            vehicles: 3,
            ..Setup::default()
        })
        .no_faster_than(2),
    Scenario::new("height", "a changed altitude is flown to by one command each", height),
    Scenario::new(
        "ground-release",
        "a ground order lands within a second, latches, and ends with its release",
        ground_release,
    )
    .short(),
    Scenario::new("twenty", "20 flights in a row, one arm each", twenty),
];

const NODE: &str = NODES[0];

/// Altitude of the first takeoffs above home, meters.
const START: f64 = 10.0;

fn checks_passed(message: &MavMessage) -> Option<bool> {
    let MavMessage::SYS_STATUS(status) = message else {
        return None;
    };
    let health = status.onboard_control_sensors_health;
    Some(health.contains(MavSysStatusSensor::MAV_SYS_STATUS_PREARM_CHECK))
}

fn cold_boot(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    let since = now();
    field.take_off(START)?;
    let ready = now();
    let record = field.record(NODE);
    let sent = record
        .first_sent(0, MavCmd::MAV_CMD_COMPONENT_ARM_DISARM)
        .context("it was never sent an arm command")?;
    // Checks are those of a mode: what passes in the mode after boot may fail in the one that a flight begins in.
    let failed = record
        .reported_since(0)
        .rfind(|(at, message)| *at <= sent && checks_passed(message) == Some(false))
        .map_or(0, |(at, _)| at);
    let armable = record
        .first_reported(failed, |message| checks_passed(message) == Some(true))
        .context("it never said that it may arm")?;
    let armed = record.first_reported(0, is_armed).context("it never armed")?;
    let bound = field.objects().of_since(NODE, since);
    let bound = bound.first().context("it never was bound")?.0;
    figures.took("bound after", since, bound);
    figures.took("armable after", since, armable);
    figures.took_at_most("arm command after both", armable.max(bound), sent, 5.0)?;
    figures.took("armed to Ready", armed, ready);
    figures.note(format!("at {:.1} m", record.height().unwrap_or_default()));
    ensure!(sent >= armable, "it was sent an arm command before its checks passed");
    let (accepted, sent) = (record.arms()?, record.arm_commands_since(0));
    ensure!(accepted == 1 && sent == 1, "{sent} arm commands, {accepted} accepted");
    drop(record);
    for (_, drone) in field.objects().of_since(NODE, since) {
        let stalled = condition(&drone, "Stalled");
        ensure!(stalled["status"] != "True", "Stalled while it boots: {stalled}");
    }
    Ok(())
}

fn scale(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    field.fly(1, START)?;
    let first = field.wait_count_in_air(1, START)?[0];
    let (since, grown) = (now(), now());
    field
        .kubectl()
        .run(["scale", &format!("swarm/{SWARM}"), "--replicas=3"])?;
    field.wait_count_in_air(3, START)?;
    figures.took("1 to 3", grown, now());
    let shrunk = now();
    field
        .kubectl()
        .run(["scale", &format!("swarm/{SWARM}"), "--replicas=1"])?;
    let left = field.wait_count_in_air(1, START)?;
    figures.took("3 to 1", shrunk, now());
    for node in field.nodes() {
        let record = field.record(node);
        let arms = record.arms()?;
        ensure!(arms == 1, "{node} armed {arms} times");
        if left == [node] {
            let from = if node == first { since } else { shrunk };
            let sent = record.orders_since(from);
            ensure!(sent.is_empty(), "{node}, which stays, was sent {sent:?}");
            ensure!(
                record.flew_without_a_break_since(from),
                "{node}, which stays, came down"
            );
        } else {
            let sent = record.orders_since(shrunk);
            ensure!(sent == ["NAV_LAND"], "{node} was sent {sent:?}");
        }
    }
    Ok(())
}

fn height(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    field.take_off(START)?;
    for meters in [25.0, 12.0] {
        let since = now();
        let patch = json!({"spec": {"template": {"spec": {"takeoffAltitudeMeters": meters}}}}).to_string();
        field
            .kubectl()
            .run(["patch", "swarm", SWARM, "--type=merge", "-p", &patch])?;
        field.wait_in_air(&[NODE], meters)?;
        figures.took(&format!("to {meters} m"), since, now());
        field.wait_ready(NODE)?;
        let record = field.record(NODE);
        let sent = record.orders_since(since);
        ensure!(sent == ["DO_REPOSITION"], "it was sent {sent:?}");
        ensure!(record.flew_without_a_break_since(since), "it came down");
    }
    Ok(())
}

fn ground_release(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    field.take_off(START)?;
    let since = now();
    field.skein(&["ground", SWARM])?;
    let sent = field.wait("a command to land", 5, || {
        field
            .record(NODE)
            .first_sent(since, MavCmd::MAV_CMD_NAV_LAND)
            .context("none yet")
    })?;
    figures.took_at_most("land command after", since, sent, 1.0)?;
    field.wait_down(NODE)?;
    figures.took("down after", since, now());
    let down = now();
    field.pass(15, Duration::from_secs(5));
    let sent = field.record(NODE).orders_since(down);
    ensure!(sent.is_empty(), "grounded, it was sent {sent:?}");
    let released = now();
    field.skein(&["release", SWARM])?;
    field.wait_in_air(&[NODE], START)?;
    figures.took("up again after", released, now());
    let record = field.record(NODE);
    let arms = record.arms()?;
    ensure!(arms == 2, "it armed {arms} times");
    Ok(())
}

fn twenty(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    const FLIGHTS: usize = 20;
    field.fly(0, START)?;
    let mut longest = 0.0_f64;
    for flight in 1..=FLIGHTS {
        let since = now();
        field
            .kubectl()
            .run(["scale", &format!("swarm/{SWARM}"), "--replicas=1"])?;
        field
            .wait_in_air(&[NODE], START)
            .with_context(|| format!("flight {flight}"))?;
        field
            .kubectl()
            .run(["scale", &format!("swarm/{SWARM}"), "--replicas=0"])?;
        field.wait_down(NODE).with_context(|| format!("flight {flight}"))?;
        field.wait("the Drone to be gone", 10, || {
            let left = field.kubectl().run(["get", "drones", "-o", "name"])?;
            ensure!(left.is_empty(), "{left}");
            Ok(())
        })?;
        longest = longest.max((now() - since) as f64 / 1e6);
        let record = field.record(NODE);
        let (arms, sent) = (record.arms()?, record.arm_commands_since(0));
        ensure!(
            arms == flight,
            "after {flight} flights it has armed {arms} times ({sent} commands)"
        );
        ensure!(
            record.first_reported(since, is_disarmed).is_some(),
            "flight {flight}: it never said that it is disarmed"
        );
    }
    figures.note(format!("{FLIGHTS} flights, the longest {longest:.0} s"));
    Ok(())
}
