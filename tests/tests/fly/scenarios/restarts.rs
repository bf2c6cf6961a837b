//! Programs and autopilots that end without warning and come back, in each phase of a flight.

use std::time::Duration;

use anyhow::{Context, ensure};
use mavlink::dialects::ardupilotmega::MavCmd;
use testkit::autopilots::Stack;

use crate::field::{Field, NODES, SWARM, Setup};
use crate::figures::Figures;
use crate::modes::{LAND, RETURN};
use crate::objects::{condition, is};
use crate::record::is_armed;
use crate::scenario::Scenario;
use skein_tests::wire::now;

pub const ALL: &[Scenario] = &[
    Scenario::new(
        "coordinator-killed",
        "SIGKILL of the coordinator in climb, hold and landing changes nothing in the air",
        |field, figures| killed(field, figures, &Program::Coordinator),
    ),
    Scenario::new(
        "agent-killed",
        "SIGKILL of the agent in climb, hold and landing: taken up again without a command too many",
        |field, figures| killed(field, figures, &Program::Agent),
    ),
    Scenario::new(
        "killed-at-liftoff",
        "SIGKILL of the agent at the takeoff command, back after the autopilot has landed it: it is not armed again",
        killed_at_liftoff,
    )
    .with(|_| Setup {
        ardupilot: vec![("FS_GCS_ENABLE", 1.0), ("FS_GCS_TIMEOUT", 5.0)],
        px4: vec![("NAV_DLL_ACT", 2.0)],
        agent: vec!["--gcs-heartbeat".to_owned()],
        ..Setup::default()
    })
    .real_time(),
    Scenario::new(
        "reboot-ground",
        "power cut on the ground: the next flight is a plain one",
        reboot_ground,
    ),
    Scenario::new(
        "reboot-air",
        "power cut in the air: what lies on the ground afterwards does not take off by itself",
        reboot_air,
    ),
    Scenario::new(
        "another-airframe",
        "another airframe on the wire by the same system id is sent nothing; the first flies on once it is back",
        another_airframe,
    )
    // The start script of PX4's simulation gives each instance its own system id.
    .on(&[Stack::ArduPilot]),
];

const NODE: &str = NODES[0];

/// Altitude of a climb, meters, in which every program can be killed.
const HIGH: f64 = 20.0;

enum Program {
    Coordinator,
    Agent,
}

impl Program {
    fn restart(&self, field: &mut Field) -> anyhow::Result<()> {
        match self {
            Self::Coordinator => field.kill_coordinator(),
            Self::Agent => field.kill_agent(NODE),
        }
        std::thread::sleep(Duration::from_secs(2));
        match self {
            Self::Coordinator => field.start_coordinator(),
            Self::Agent => field.start_agent(NODE),
        }
    }
}

fn killed(field: &mut Field, figures: &mut Figures, program: &Program) -> anyhow::Result<()> {
    field.fly(1, HIGH)?;
    field.wait("the climb", 90, || {
        let height = field.record(NODE).height().unwrap_or_default();
        ensure!(height > 3.0, "it is at {height:.1} m");
        Ok(())
    })?;
    let since = now();
    program.restart(field)?;
    field.wait_in_air(&[NODE], HIGH)?;
    field.wait_ready(NODE)?;
    let sent = field.record(NODE).orders_since(since);
    figures.note(format!("climb: commands {}", sent.len()));
    ensure!(
        sent.iter().all(|order| order == "NAV_TAKEOFF"),
        "in the climb it was sent {sent:?}"
    );

    let since = now();
    program.restart(field)?;
    knows_again(field, since)?;
    figures.took("hold: known again after", since, now());
    let record = field.record(NODE);
    let sent = record.orders_since(since);
    ensure!(
        sent.is_empty() && record.flew_without_a_break_since(since),
        "in the hold it was sent {sent:?}"
    );
    drop(record);

    let since = now();
    field.kubectl().run(["delete", "swarm", SWARM, "--wait=false"])?;
    field.wait("a command to land", 5, || {
        field
            .record(NODE)
            .first_sent(since, MavCmd::MAV_CMD_NAV_LAND)
            .context("none yet")
    })?;
    program.restart(field)?;
    field.wait_down(NODE)?;
    field.wait("the Swarm to be gone", 30, || {
        let left = field.kubectl().run(["get", "swarms,drones", "-o", "name"])?;
        ensure!(left.is_empty(), "{left}");
        Ok(())
    })?;
    let record = field.record(NODE);
    let (sent, arms) = (record.orders_since(since), record.arms()?);
    figures.note(format!("landing: commands {}", sent.len()));
    ensure!(
        sent.iter().all(|order| order == "NAV_LAND"),
        "in the landing it was sent {sent:?}"
    );
    ensure!(arms == 1, "it armed {arms} times");
    Ok(())
}

fn knows_again(field: &Field, since: u64) -> anyhow::Result<()> {
    field.wait("Skein to know of the flight again", 30, || {
        let status: serde_json::Value = serde_json::from_str(&field.skein(&["status", "-o", "json"])?)?;
        let vehicles = status["vehicles"].as_array();
        let mine = vehicles
            .into_iter()
            .flatten()
            .find(|v| v["node"] == NODE)
            .context("not heard yet")?;
        ensure!(mine["flying"] == true && now() > since, "{mine}");
        Ok(())
    })?;
    field.wait_ready(NODE)
}

fn killed_at_liftoff(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    field.fly(1, HIGH / 2.0)?;
    let ordered = field.wait("a takeoff command", 120, || {
        let record = field.record(NODE);
        record.first_sent(0, MavCmd::MAV_CMD_NAV_TAKEOFF).context("none yet")
    })?;
    field.kill_agent(NODE);
    figures.took("killed after", ordered, now());
    let was_seen_to_fly = field.record(NODE).said().in_air();
    figures.note(if was_seen_to_fly { "in the air" } else { "on the ground" });
    let up = field.wait("the vehicle to fly by itself", 60, || {
        let height = field.record(NODE).height().unwrap_or_default();
        ensure!(height > 2.0, "it is at {height:.1} m");
        Ok(now())
    })?;
    let descends = [RETURN, LAND].map(|mode| mode.number(field.stack));
    let acts = field.wait("the autopilot's failsafe", 30, || {
        let mode = field.record(NODE).mode().context("no heartbeat")?;
        ensure!(descends.contains(&mode), "it is in mode {mode}");
        Ok(now())
    });
    if let Ok(acts) = acts {
        figures.took("failsafe after", up, acts);
    } else {
        figures.note("landed by a ground station");
        field.vehicle(NODE).pilot.mode(LAND.0, LAND.1)?;
    }
    field.wait_down(NODE)?;
    let back = now();
    field.start_agent(NODE)?;
    field.wait("the Drone to say that a person acts next", 30, || {
        let drone = field.objects().of(NODE).context("there is none")?;
        let ready = condition(&drone, "Ready");
        ensure!(
            ready["reason"] == "FlightOver" && is(&drone, "Stalled"),
            "{}",
            drone["status"]
        );
        Ok(())
    })?;
    figures.took("said after", back, now());
    field.pass(60, Duration::from_secs(60));
    let record = field.record(NODE);
    let again = record.arm_commands_since(ordered);
    ensure!(
        again == 0,
        "after the flight that nobody saw it was sent {again} arm commands"
    );
    let arms = record.arms()?;
    ensure!(arms == 1, "it armed {arms} times");
    Ok(())
}

fn reboot_ground(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    field.take_off(HIGH / 2.0)?;
    field.skein(&["ground", SWARM])?;
    field.wait_down(NODE)?;
    field.vehicle_mut(NODE)?.autopilot.power_off();
    std::thread::sleep(Duration::from_secs(2));
    let since = now();
    field.vehicle_mut(NODE)?.autopilot.power_on()?;
    field.skein(&["release", SWARM])?;
    field.wait_in_air(&[NODE], HIGH / 2.0)?;
    figures.took("in the air after the reboot", since, now());
    let record = field.record(NODE);
    let arms = record.arms()?;
    ensure!(arms == 2, "it armed {arms} times");
    Ok(())
}

fn reboot_air(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    field.take_off(HIGH / 2.0)?;
    let since = now();
    field.vehicle_mut(NODE)?.autopilot.power_off();
    field.wait("the Drone to be no longer Ready", 0, || {
        let drone = field.objects().of(NODE).context("there is none")?;
        ensure!(!is(&drone, "Ready"), "{}", condition(&drone, "Ready"));
        Ok(())
    })?;
    figures.took_at_most("not Ready after", since, now(), 5.0)?;
    let booted = now();
    field.vehicle_mut(NODE)?.autopilot.power_on()?;
    // ArduCopter needs 42 s until it can arm.
    field.pass(75, Duration::from_secs(15));
    let record = field.record(NODE);
    ensure!(
        record.first_reported(booted, is_armed).is_none(),
        "it armed after it fell"
    );
    let sent = record.orders_since(booted);
    ensure!(sent.is_empty(), "on the ground it was sent {sent:?}");
    Ok(())
}

fn another_airframe(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    field.take_off(HIGH / 2.0)?;
    field.skein(&["ground", SWARM])?;
    field.wait_down(NODE)?;
    field.vehicle_mut(NODE)?.autopilot.power_off();
    // As long as it takes to change a plug.
    field.wait("the agent to miss its autopilot", 0, || {
        let drone = field.objects().of(NODE).context("there is none")?;
        ensure!(!is(&drone, "Connected"), "{}", condition(&drone, "Connected"));
        Ok(())
    })?;
    let first = &mut field.vehicle_mut(NODE)?.autopilot;
    let another = first.another()?;
    let first = std::mem::replace(first, another);
    let since = now();
    field.skein(&["release", SWARM])?;
    field.wait("the Drone to name the other airframe", 60, || {
        let drone = field.objects().of(NODE).context("there is none")?;
        let ready = condition(&drone, "Ready");
        ensure!(ready["reason"] == "AnotherAirframe", "{ready}");
        ensure!(is(&drone, "Stalled"), "it needs a person");
        Ok(())
    })?;
    figures.took("named after", since, now());
    field.pass(75, Duration::from_secs(15));
    {
        let record = field.record(NODE);
        let sent = record.orders_since(since);
        ensure!(sent.is_empty(), "the other airframe was sent {sent:?}");
        ensure!(
            record.first_reported(since, is_armed).is_none(),
            "the other airframe armed"
        );
    }
    let since = now();
    let vehicle = field.vehicle_mut(NODE)?;
    vehicle.autopilot.power_off();
    vehicle.autopilot = first;
    vehicle.autopilot.power_on()?;
    field.wait_in_air(&[NODE], HIGH / 2.0)?;
    figures.took("in the air with the first", since, now());
    Ok(())
}
