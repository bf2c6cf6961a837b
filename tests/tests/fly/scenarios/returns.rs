//! Returns of autopilots through places where others hold.

use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::json;

use super::formations::{nearest, wait_flying};
use super::gate::{pair, swarm};
use super::stations::{drone, place, position, wait_on_station};
use crate::field::{Field, NODES, SWARM, Setup};
use crate::figures::Figures;
use crate::modes::RETURN;
use crate::objects::{condition, is};
use crate::scenario::Scenario;
use skein_tests::wire::now;

pub const ALL: &[Scenario] = &[
    Scenario::new(
        "returns-above",
        "a station straight above another whose return climbs through it is not flown to; one beside it is, and the return is clear",
        above,
    )
    .with(|_| Setup {
        ardupilot: vec![("RTL_ALT", 4000.0), ("RTL_ALT_M", 40.0)],
        px4: vec![("RTL_RETURN_ALT", 40.0), ("RTL_CONE_ANG", 0.0), ("RTL_DESCEND_ALT", 40.0)],
        ..pair(20.0)
    })
    .no_faster_than(2),
    Scenario::new(
        "returns-level",
        "a vehicle at 12 m that returns at 100 m, and another that holds at 100 m on its way home: told before, and never level with it",
        level,
    )
    .with(|_| Setup {
        ardupilot: vec![("RTL_ALT", 10_000.0), ("RTL_ALT_M", 100.0)],
        px4: vec![("RTL_RETURN_ALT", 100.0), ("RTL_CONE_ANG", 0.0)],
        ..pair(20.0)
    })
    .no_faster_than(2),
    Scenario::new(
        "returns-reserve",
        "a battery comes near its reserve, another holds in the straight way home: it comes home around that by its route, and lands",
        for_its_reserve,
    )
    .with(|_| Setup {
        ardupilot: vec![
            ("SIM_BATT_CAP_AH", 4.0),
            ("BATT_CAPACITY", 4000.0),
            ("BATT_FS_LOW_ACT", 0.0),
        ],
        px4: vec![
            ("SIM_BAT_DRAIN", 600.0),
            ("SIM_BAT_MIN_PCT", 0.0),
            ("COM_LOW_BAT_ACT", 0.0),
        ],
        ..pair(20.0)
    })
    .real_time(),
    Scenario::new(
        "returns-formation",
        "twenty returns by a ground station, one vehicle after the other, above a formation of six as its warnings advise",
        through_formation,
    )
    .with(|_| Setup {
        vehicles: 6,
        apart: 12.0,
        ardupilot: vec![("RTL_ALT", 4000.0), ("RTL_ALT_M", 40.0)],
        px4: vec![("RTL_RETURN_ALT", 40.0), ("RTL_CONE_ANG", 0.0), ("RTL_DESCEND_ALT", 40.0)],
        ..Setup::default()
    })
    .no_faster_than(2),
];

fn above(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    let began = now();
    let (low, high, beside) = ([10.0, 50.0, 12.0], [10.0, 50.0, 25.0], [24.0, 50.0, 25.0]);
    drone(field, "one", NODES[0], &place(low[0], low[1], low[2]))?;
    wait_on_station(field, NODES[0], low)?;
    drone(field, "two", NODES[1], &place(high[0], high[1], high[2]))?;
    let said = field.wait("why the station above is not flown to", 90, || {
        let drone = field.objects().of(NODES[1]).context("there is no Drone")?;
        let ready = condition(&drone, "Ready").clone();
        let message = ready["message"].as_str().unwrap_or_default().to_owned();
        ensure!(message.contains("return"), "{ready}");
        Ok(message)
    })?;
    figures.note(format!("said: {said}"));
    field.pass(20, Duration::from_secs(8));
    let at = position(field, NODES[1])?;
    ensure!(
        (at[0] - high[0]).hypot(at[1] - high[1]) > 5.0,
        "it is above the other, at {at:?}"
    );
    let station = place(beside[0], beside[1], beside[2]);
    let patch = json!({"spec": {"station": station}}).to_string();
    field
        .kubectl()
        .run(["patch", "drone", "two", "--type=merge", "-p", &patch])?;
    wait_on_station(field, NODES[1], beside)?;
    let since = now();
    field.vehicle(NODES[0]).pilot.mode(RETURN.0, RETURN.1)?;
    field.wait_down(NODES[0])?;
    figures.took("home past it", since, now());
    wait_on_station(field, NODES[1], beside)?;
    nearest(field, figures, began)
}

fn level(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    let began = now();
    let (far, on_the_way) = ([0.0, 140.0, 12.0], [0.0, 60.0, 100.0]);
    drone(field, "one", NODES[0], &place(far[0], far[1], far[2]))?;
    wait_on_station(field, NODES[0], far)?;
    drone(
        field,
        "two",
        NODES[1],
        &place(on_the_way[0], on_the_way[1], on_the_way[2]),
    )?;
    let waits = field.wait("the second on its station, or why it is not let up", 120, || {
        let drone = field.objects().of(NODES[1]).context("there is no Drone")?;
        let ready = condition(&drone, "Ready").clone();
        let message = ready["message"].as_str().unwrap_or_default().to_owned();
        ensure!(is(&drone, "Ready") || message.contains(NODES[0]), "{ready}");
        Ok(message)
    })?;
    let warned = field.kubectl().json(["get", "drones"])?;
    let warned: Vec<String> = warned["items"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|drone| drone["status"]["preflightWarnings"].to_string())
        .collect();
    figures.note(format!("waits: {waits}"));
    ensure!(
        warned.iter().any(|text| text.contains("bring it together")) || waits.contains("airspace"),
        "that their ways home cross is not said: {warned:?}"
    );
    let since = now();
    field.vehicle(NODES[0]).pilot.mode(RETURN.0, RETURN.1)?;
    // PX4 sinks for more than a minute from so high.
    field.wait_down_within(240, NODES[0])?;
    figures.took("home past it", since, now());
    nearest(field, figures, began)
}

fn for_its_reserve(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    const RESERVE: i8 = 80;
    let began = now();
    let (far, between) = ([0.0, 100.0, 20.0], [0.0, 50.0, 20.0]);
    drone(field, "two", NODES[1], &place(between[0], between[1], between[2]))?;
    wait_on_station(field, NODES[1], between)?;
    drone(field, "one", NODES[0], &place(far[0], far[1], far[2]))?;
    let failsafe = json!({"spec": {"failsafe": {"reservePercent": RESERVE, "onLowBattery": "Return"}}}).to_string();
    field
        .kubectl()
        .run(["patch", "drone", "one", "--type=merge", "-p", &failsafe])?;
    wait_on_station(field, NODES[0], far)?;
    let there = now();
    field.wait("why it comes home", 180, || {
        let drone = field.objects().of(NODES[0]).context("there is no Drone")?;
        let ready = condition(&drone, "Ready");
        let message = ready["message"].as_str().unwrap_or_default();
        ensure!(message.contains("near its reserve"), "{ready}");
        Ok(())
    })?;
    let told = now();
    let charge = field.record(NODES[0]).charge().context("no charge")?;
    figures.note(format!("told at {charge} %"));
    field.wait_down(NODES[0])?;
    figures.took("down after it was told", told, now());
    let sent = field.record(NODES[0]).orders_since(there);
    ensure!(
        !sent.iter().any(|order| order.contains("RETURN_TO_LAUNCH")),
        "it was sent {sent:?}"
    );
    let at = position(field, NODES[0])?;
    figures.note(format!("landed {:.1} m from its home", at[0].hypot(at[1])));
    wait_on_station(field, NODES[1], between)?;
    nearest(field, figures, began)
}

fn through_formation(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    const RETURNS: usize = 20;
    const UP: f64 = 20.0;
    let began = now();
    let grid = json!({"shape": "Grid", "columns": 2, "anchor": place(30.0, 90.0, UP), "spacingMeters": 12.0});
    swarm(field, &json!({"replicas": 6, "formation": grid}))?;
    let covered = |field: &Field, what: &str| {
        field.wait(what, 300, || {
            let swarm = field.read(&format!("namespaces/default/swarms/{SWARM}"))?;
            ensure!(is(&swarm, "Covered"), "{}", condition(&swarm, "Covered"));
            Ok(())
        })
    };
    covered(field, "six in their places")?;
    figures.took("six in their places", began, now());
    for turn in 0..RETURNS {
        let node = NODES[turn % 6];
        let since = now();
        field.vehicle(node).pilot.mode(RETURN.0, RETURN.1)?;
        field.wait_down(node)?;
        let sent = field.record(node).orders_since(since);
        ensure!(sent.is_empty(), "on its return {node} was sent {sent:?}");
        fly_again(field, node)?;
        covered(field, &format!("all back after return {}", turn + 1))?;
        super::formations::nearest(field, &mut Figures::default(), since)
            .with_context(|| format!("return {} of {node}", turn + 1))?;
    }
    figures.took(&format!("{RETURNS} returns"), began, now());
    field.kubectl().run(["delete", "swarm", SWARM, "--wait=false"])?;
    wait_flying(field, 0)?;
    nearest(field, figures, began)
}

fn fly_again(field: &Field, node: &str) -> anyhow::Result<()> {
    super::formations::resume(field, node)?;
    let drone = || field.objects().of(node).context("there is no Drone");
    let name = drone()?["metadata"]["name"]
        .as_str()
        .context("it has no name")?
        .to_owned();
    field.skein(&["ground", "--drone", &name])?;
    field.wait("the ground order to reach it", 30, || {
        let drone = drone()?;
        let phase = &drone["status"]["phase"];
        ensure!(phase == "Grounded", "{phase}");
        Ok(())
    })?;
    field.skein(&["release", "--drone", &name]).map(drop)
}
