//! Contested airspace: a vehicle that leaves its own, and places that cannot be had.

use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::stations::{apart, drone, place, position, track, wait_on_station};
use crate::field::{Field, NODES, Setup};
use crate::figures::Figures;
use crate::modes::RETURN;
use crate::objects::{condition, is};
use crate::scenario::Scenario;
use skein_tests::wire::now;

pub const ALL: &[Scenario] = &[
    Scenario::new(
        "stray",
        "a vehicle returns at the altitude of another that holds on its way: that one climbs out of the way and comes back, and both Drones say so",
        stray,
    )
    .with(|_| Setup {
        vehicles: 2,
        apart: 20.0,
        // No higher than where it holds, and no lower near to home.
        px4: vec![("RTL_RETURN_ALT", 20.0), ("RTL_CONE_ANG", 0.0)],
        ..Setup::default()
    })
    .real_time(),
    Scenario::new(
        "contested",
        "two Swarms that want one place, slots that are too near or too few, a place above ground that is used: each is said, no vehicle moves",
        contested,
    )
    .with(|_| Setup {
        vehicles: 3,
        apart: 20.0,
        ..Setup::default()
    })
    .no_faster_than(2),
];

fn stray(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    let (far, on_the_way) = ([0.0, 150.0, 20.0], [0.0, 40.0, 20.0]);
    let began = now();
    for (name, node, [east, north, up]) in [("one", NODES[0], far), ("two", NODES[1], on_the_way)] {
        drone(field, name, node, &place(east, north, up))?;
    }
    wait_on_station(field, NODES[0], far)?;
    wait_on_station(field, NODES[1], on_the_way)?;
    let warned = field.kubectl().json(["get", "drone", "one"])?["status"]["preflightWarnings"].to_string();
    ensure!(
        warned.contains("would bring it together with the vehicle of node"),
        "that their ways home cross is not named: {warned}"
    );

    let since = now();
    field.vehicle(NODES[0]).pilot.mode(RETURN.0, RETURN.1)?;
    field.wait("the other to keep clear", 60, || {
        let drone = field.objects().of(NODES[1]).context("there is no Drone")?;
        let ready = condition(&drone, "Ready");
        let message = ready["message"].as_str().unwrap_or_default();
        ensure!(
            ready["reason"] == "KeepsClear" && message.contains("climbs out of the way"),
            "{ready}"
        );
        ensure!(message.contains(NODES[0]), "{ready}");
        Ok(())
    })?;
    field.wait_down(NODES[0])?;
    figures.took("the stray home and down", since, now());
    let sent = field.record(NODES[0]).orders_since(since);
    ensure!(sent.is_empty(), "on its return it was sent {sent:?}");
    wait_on_station(field, NODES[1], on_the_way)?;
    figures.took("the other on its station again", since, now());
    let events = field.kubectl().json(["get", "events"])?;
    for name in ["one", "two"] {
        let all = events["items"].as_array().into_iter().flatten();
        let of = |event: &&Value| event["reason"] == "AirspaceConflict" && event["involvedObject"]["name"] == name;
        let said = all.filter(of).count();
        ensure!(said > 0, "no Event on the Drone {name}: {events}");
    }
    let counted = field.metric("skein_airspace_conflicts_total{action=\"steps_aside\"}")?;
    ensure!(counted >= 1.0, "it is counted {counted} times");
    let least = apart(&track(field, NODES[0], began), &track(field, NODES[1], began))?;
    figures.note(format!("never nearer than {least:.1} m"));
    Ok(())
}

fn swarm(field: &Field, name: &str, replicas: usize, formation: &Value) -> anyhow::Result<()> {
    let swarm = json!({
        "apiVersion": "skein.dev/v1alpha1", "kind": "Swarm", "metadata": {"name": name},
        "spec": {"replicas": replicas, "formation": formation},
    });
    field.kubectl().apply(&swarm.to_string()).map(drop)
}

fn line(at: Value, spacing: f64) -> Value {
    json!({"shape": "Line", "anchor": at, "spacingMeters": spacing})
}

fn wait_covered(field: &Field, name: &str) -> anyhow::Result<()> {
    let swarm = format!("swarm/{name}");
    field.wait(&format!("{swarm} to be covered"), 150, || {
        let wait = ["wait", "--for=condition=Covered", &swarm, "--timeout=1s"];
        field.kubectl().run(wait).map(drop)
    })
}

fn wait_uncovered(field: &Field, name: &str, reason: &str, words: &str) -> anyhow::Result<()> {
    field.wait(&format!("{name} to say \"{words}\""), 40, || {
        let swarm = field.read(&format!("namespaces/default/swarms/{name}"))?;
        let covered = condition(&swarm, "Covered");
        ensure!(covered["status"] == "False" && covered["reason"] == reason, "{covered}");
        let slots = &swarm["status"]["slots"];
        let said = format!("{} {slots}", covered["message"]);
        ensure!(said.contains(words), "{said}");
        if reason == "BadFormation" {
            let ready = condition(&swarm, "Ready");
            ensure!(ready["status"] == "False" && ready["reason"] == reason, "{ready}");
        } else {
            ensure!(slots[0]["since"].is_string(), "since when it is uncovered: {slots}");
        }
        Ok(())
    })
}

fn node_of(field: &Field, swarm: &str) -> anyhow::Result<&'static str> {
    let selector = format!("skein.dev/swarm={swarm}");
    let drones = field.kubectl().json(["get", "drones", "-l", &selector])?;
    let drones = drones["items"].as_array().context("no list")?;
    ensure!(drones.len() == 1, "of {swarm} there are {drones:?}");
    let node = NODES.into_iter().find(|node| drones[0]["spec"]["nodeName"] == *node);
    node.context("it has no node")
}

fn contested(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    let (disputed, beside) = ([10.0, 50.0, 20.0], [10.0, 80.0, 20.0]);
    let at = |[east, north, up]: [f64; 3]| place(east, north, up);
    let began = now();
    swarm(field, "first", 1, &line(at(disputed), 20.0))?;
    wait_covered(field, "first")?;
    let first = node_of(field, "first")?;
    wait_on_station(field, first, disputed)?;

    let holds = now();
    swarm(field, "second", 1, &line(at(disputed), 20.0))?;
    let waits = format!("waits for the airspace of the vehicle of node {first}");
    wait_uncovered(field, "second", "NotAllCovered", &waits)?;
    let second = node_of(field, "second")?;
    swarm(field, "second", 2, &line(at(disputed), 5.0))?;
    wait_uncovered(field, "second", "BadFormation", "slots 0 and 1 are 5.0 m apart")?;
    let points = json!({"shape": "Points", "points": [at(disputed)]});
    swarm(field, "second", 2, &points)?;
    wait_uncovered(field, "second", "BadFormation", "2 replicas but 1 points")?;
    // On the ground it owns the column above it, and it serves no Drone.
    let idle = (0..3).find(|number| ![first, second].contains(&NODES[*number]));
    let idle = idle.context("no vehicle is idle")?;
    let above = 20.0 * f64::from(u8::try_from(idle)?);
    swarm(field, "first", 1, &line(place(above, 0.0, 6.0), 20.0))?;
    let waits = format!("waits for the airspace of the vehicle of node {}", NODES[idle]);
    wait_uncovered(field, "first", "NotAllCovered", &waits)?;
    field.pass(10, Duration::from_secs(5));
    for node in [first, second, NODES[idle]] {
        let sent = field.record(node).orders_since(holds);
        ensure!(sent.is_empty(), "{node} was sent {sent:?}");
    }
    let drone = field.objects().of(first).context("there is no Drone")?;
    ensure!(!is(&drone, "Ready"), "{}", condition(&drone, "Ready"));

    let since = now();
    swarm(field, "first", 1, &line(at(beside), 20.0))?;
    swarm(field, "second", 1, &line(at(disputed), 20.0))?;
    for (name, node, at) in [("first", first, beside), ("second", second, disputed)] {
        wait_covered(field, name)?;
        wait_on_station(field, node, at)?;
    }
    figures.took("both at places of their own", since, now());
    let least = apart(&track(field, first, began), &track(field, second, began))?;
    figures.note(format!("never nearer than {least:.1} m"));
    ensure!(
        position(field, first)?[1] > 70.0,
        "the first is not where it was asked to be"
    );
    Ok(())
}
