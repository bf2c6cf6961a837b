//! A swarm flies: the whole path on a real API server and on the embedded one, over pseudo-terminals. A vehicle's own
//! messages on the wire show whether it flies, never our status.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "test helpers outside of #[test] functions"
)]

use anyhow::{Context, ensure};
use mavlink::dialects::ardupilotmega::MavCmd;
use nix::sys::signal::Signal;
use serde_json::Value;
use skein_tests::stage::{PATIENCE, Stage, condition, swarm};
use skein_tests::wire;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use testkit::{Scratch, ServedBy, wait_for};

macro_rules! on_both {
    ($($name:ident),+ $(,)?) => {
        mod on_kubernetes {
            $(#[test]
            fn $name() -> anyhow::Result<()> {
                super::$name(testkit::ServedBy::Kubernetes)
            })+
        }

        mod on_embedded {
            $(#[test]
            fn $name() -> anyhow::Result<()> {
                super::$name(testkit::ServedBy::Embedded)
            })+
        }
    };
}

on_both! {
    a_swarm_flies_scales_survives_its_coordinator_and_agents_and_lands,
    two_swarms_in_one_namespace_and_in_two_never_touch_each_others_drones_or_nodes,
    a_ground_order_lands_and_latches_until_released,
    a_vehicle_that_refuses_to_arm_says_why_in_its_autopilots_own_words,
    a_vehicle_that_must_have_an_operator_flies_once_one_is_sent_every_second,
    an_agent_whose_node_is_no_drone_node_is_told_so_and_flies_once_it_is_one,
    a_changed_altitude_is_flown_to_in_the_air_by_both_autopilots,
    a_node_by_its_full_name_of_120_characters_flies_and_keeps_its_log,
}

#[test]
fn a_vehicle_waits_for_an_aircraft_its_autopilot_hears_and_goes_elsewhere_meanwhile() -> anyhow::Result<()> {
    let nodes = ["ardupilot-1", "px4-1"];
    let faults = Scratch::new("skein-aircraft-")?;
    let script = faults.path().join("script");
    std::fs::write(&script, "at 1 aircraft 1000 0 15")?;
    let script = script.display().to_string();
    let mut stage = Stage::set(ServedBy::Embedded, &nodes, "mixed", &["--faults", &script])?;
    for (node, east) in nodes.iter().zip([0.0, 60.0]) {
        stage.add_node(node)?;
        // No vehicle's first place is over the ground where the other has yet to start from.
        stage
            .cluster
            .kubectl()
            .apply(&drone(node, north_and_east(40.0, east)))?;
    }
    let move_to = |stage: &Stage, north: f64| -> anyhow::Result<()> {
        for (node, east) in nodes.iter().zip([0.0, 60.0]) {
            stage
                .cluster
                .kubectl()
                .apply(&drone(node, north_and_east(north, east)))?;
        }
        Ok(())
    };
    let wait = |stage: &Stage| {
        stage
            .kubectl(&["wait", "drone", "--all", "--for=condition=Ready", "--timeout=90s"])
            .map_err(|error| stage.explain(error))
    };
    wait(&stage)?;
    let since = wire::now();
    move_to(&stage, 900.0)?;
    wait_for("both Drones to name the aircraft", PATIENCE, || {
        for drone in stage.drones("default")? {
            let ready = condition(&drone, "Ready");
            let answer = ready["message"].as_str().unwrap_or_default();
            ensure!(
                answer.contains("waits for the airspace of aircraft 4B1234"),
                "{}: {ready}",
                drone["metadata"]["name"]
            );
        }
        Ok(())
    })
    .map_err(|error| stage.explain(error))?;
    for node in nodes {
        assert_eq!(stage.wire(node).commands_since(since), [], "{node}");
    }
    move_to(&stage, -60.0)?;
    wait(&stage)?;
    for node in nodes {
        let answer = stage.wire(node).commands_since(since);
        assert!(!answer.is_empty(), "{node} was sent nothing");
        assert!(stage.wire(node).flew_without_a_break_since(since), "{node} came down");
    }
    Ok(())
}

/// Meters from where simulated vehicles stand, 15 m above home.
fn north_and_east(north: f64, east: f64) -> Value {
    let meters_per_degree = 111_319.5;
    let (latitude, longitude) = (47.397_742_f64, 8.545_594);
    serde_json::json!({
        "latitudeDegrees": latitude + north / meters_per_degree,
        "longitudeDegrees": longitude + east / (meters_per_degree * latitude.to_radians().cos()),
        "altitudeMeters": 15.0,
    })
}

fn drone(node: &str, station: Value) -> String {
    serde_json::json!({
        "apiVersion": "skein.dev/v1alpha1", "kind": "Drone", "metadata": {"name": node},
        "spec": {"nodeName": node, "station": station},
    })
    .to_string()
}

const NODES: [&str; 5] = ["node-1", "node-2", "node-3", "node-4", "node-5"];

fn bound(drones: &[Value]) -> BTreeMap<String, String> {
    let pair = |d: &Value| {
        Some((
            d["metadata"]["name"].as_str()?.to_owned(),
            d["spec"]["nodeName"].as_str()?.to_owned(),
        ))
    };
    drones.iter().filter_map(pair).collect()
}

/// Fails if a Drone goes while its vehicle is not landed and disarmed.
fn wait_until_gone(stage: &Stage, namespace: &str, count: usize) -> anyhow::Result<()> {
    let before = bound(&stage.drones(namespace)?);
    let result = wait_for(format!("{count} Drones left"), PATIENCE, || {
        let left = stage.drones(namespace)?;
        let still = bound(&left);
        for (drone, node) in before.iter().filter(|(drone, _)| !still.contains_key(*drone)) {
            let said = stage.wire(node).said();
            assert!(said.down(), "Drone {drone} is gone while {node} is {said:?}");
        }
        ensure!(left.len() == count, "{} Drones: {:?}", left.len(), still);
        Ok(())
    });
    result.map_err(|error| stage.explain(error))
}

fn wait_ready(stage: &Stage, swarm: &str) -> anyhow::Result<()> {
    let timeout = format!("--timeout={}s", PATIENCE.as_secs());
    let waited = stage.kubectl(&["wait", "--for=condition=Ready", &format!("swarm/{swarm}"), &timeout]);
    waited.map(drop).map_err(|error| stage.explain(error))
}

fn a_swarm_flies_scales_survives_its_coordinator_and_agents_and_lands(api: ServedBy) -> anyhow::Result<()> {
    let mut stage = Stage::set(api, &NODES, "mixed", &[])?;
    for node in &NODES[..4] {
        stage.add_node(node)?;
    }

    stage.cluster.kubectl().apply(&swarm("default", "alpha", 3, &[]))?;
    stage.wait_in_air(&NODES, 3)?;
    wait_ready(&stage, "alpha")?;

    // Five are desired and there are four nodes: the fifth Drone's status says why it does not fly.
    stage.kubectl(&["scale", "swarm/alpha", "--replicas=5"])?;
    stage.wait_in_air(&NODES, 4)?;
    wait_for("a Drone that says why it is pending", PATIENCE, || {
        let drones = stage.drones("default")?;
        let pending: Vec<_> = drones.iter().filter(|d| d["spec"]["nodeName"].is_null()).collect();
        ensure!(pending.len() == 1, "{} Drones are pending", pending.len());
        let assigned = condition(pending[0], "Assigned");
        let answer = assigned["message"].as_str().unwrap_or_default();
        ensure!(pending[0]["status"]["phase"] == "Pending", "{}", pending[0]["status"]);
        ensure!(
            assigned["status"] == "False" && answer.contains("4 serve other Drones"),
            "{assigned}"
        );
        Ok(())
    })?;

    stage.add_node("node-5")?;
    stage.wait_in_air(&NODES, 5)?;
    wait_ready(&stage, "alpha")?;

    stage.kubectl(&["scale", "swarm/alpha", "--replicas=2"])?;
    wait_until_gone(&stage, "default", 2)?;
    let up = stage.wait_in_air(&NODES, 2)?;
    let nodes: BTreeSet<String> = bound(&stage.drones("default")?).into_values().collect();
    assert_eq!(nodes, up.iter().map(|n| (*n).to_owned()).collect());

    the_coordinator_dies_and_comes_back(&mut stage, &up)?;
    an_agent_dies_and_comes_back(&mut stage, up[0])?;
    an_agent_is_ended(&mut stage, up[1])?;
    stage.start_agent(up[1])?;
    stage.wait_in_air(&NODES, 2)?;

    let timeout = format!("--timeout={}s", PATIENCE.as_secs());
    stage.kubectl(&["delete", "swarm/alpha", "--wait=false"])?;
    wait_until_gone(&stage, "default", 0)?;
    stage.kubectl(&["wait", "--for=delete", "swarm/alpha", &timeout])?;
    for node in NODES {
        let said = stage.wire(node).said();
        assert!(said.down(), "{node} is {said:?}");
        let flights = if node == up[1] { 2 } else { 1 };
        assert_eq!(stage.wire(node).arms(), flights, "{node} armed as often as it flew");
    }
    Ok(())
}

/// SIGKILL in mid-flight: nothing lands, nothing is sent, and the new coordinator knows everything again.
fn the_coordinator_dies_and_comes_back(stage: &mut Stage, up: &[&str]) -> anyhow::Result<()> {
    let before = wire::now();
    stage.kill_coordinator();
    stage.start_coordinator()?;
    wait_for("the new coordinator to have reports of both", PATIENCE, || {
        flying_in_status(stage, up)
    })?;
    for node in up {
        assert_eq!(stage.wire(node).commands_since(before), [], "{node}");
        assert!(stage.wire(node).flew_without_a_break_since(before), "{node}");
    }
    Ok(())
}

/// SIGKILL in mid-flight: the vehicle flies on, and the new agent takes over without a command.
fn an_agent_dies_and_comes_back(stage: &mut Stage, node: &str) -> anyhow::Result<()> {
    let before = wire::now();
    stage.take_agent(node)?.kill();
    wait_for("its Drone to be unknown", PATIENCE, || {
        let drones = stage.drones("default")?;
        let drone = drones.iter().find(|d| d["spec"]["nodeName"] == node);
        let flying = drone.map(|d| condition(d, "Flying")["status"].clone());
        ensure!(flying == Some("Unknown".into()), "Flying is {flying:?}");
        Ok(())
    })?;
    stage.start_agent(node)?;
    wait_for("the new agent to report it flying", PATIENCE, || {
        flying_in_status(stage, &[node])
    })?;
    wait_ready(stage, "alpha")?;
    assert_eq!(stage.wire(node).commands_since(before), []);
    assert!(stage.wire(node).flew_without_a_break_since(before));
    Ok(())
}

/// SIGTERM: the vehicle lands, and the agent ends after that.
fn an_agent_is_ended(stage: &mut Stage, node: &str) -> anyhow::Result<()> {
    let agent = stage.take_agent(node)?;
    agent.signal(Signal::SIGTERM)?;
    let status = agent.wait_for_exit(PATIENCE)?;
    let said = stage.wire(node).said();
    ensure!(
        status.success() && said.down(),
        "{status:?}, {said:?}\n{}",
        agent.tail()
    );
    Ok(())
}

fn flying_in_status(stage: &Stage, nodes: &[&str]) -> anyhow::Result<()> {
    let status = stage.status()?;
    for node in nodes {
        let vehicle = status["vehicles"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|v| v["node"] == *node);
        ensure!(vehicle.is_some_and(|v| v["flying"] == true), "{node}: {vehicle:?}");
    }
    Ok(())
}

fn two_swarms_in_one_namespace_and_in_two_never_touch_each_others_drones_or_nodes(api: ServedBy) -> anyhow::Result<()> {
    let mut stage = Stage::set(api, &NODES, "px4", &[])?;
    stage.kubectl(&["create", "namespace", "other"])?;
    for node in &NODES {
        stage.add_node(node)?;
    }
    stage.cluster.kubectl().apply(&swarm("default", "alpha", 2, &[]))?;
    stage.cluster.kubectl().apply(&swarm("default", "beta", 1, &[]))?;
    stage.cluster.kubectl().apply(&swarm("other", "alpha", 2, &[]))?;
    stage.wait_in_air(&NODES, 5)?;

    let of = |namespace: &str, swarm: &str| -> anyhow::Result<BTreeMap<String, String>> {
        let of_it = format!("namespaces/{namespace}/drones?labelSelector=skein.dev/swarm%3D{swarm}");
        let list = stage.read(&of_it)?;
        Ok(bound(list["items"].as_array().unwrap()))
    };
    let (beta, others) = (of("default", "beta")?, of("other", "alpha")?);
    let mine = of("default", "alpha")?;
    let all: BTreeSet<_> = mine.values().chain(beta.values()).chain(others.values()).collect();
    assert_eq!(
        (mine.len(), beta.len(), others.len(), all.len()),
        (2, 1, 2, 5),
        "each Drone has a node of its own"
    );

    let before = wire::now();
    stage.kubectl(&["delete", "swarm/alpha", "--timeout=90s"])?;
    assert_eq!(
        (of("default", "beta")?, of("other", "alpha")?),
        (beta.clone(), others.clone())
    );
    for node in beta.values().chain(others.values()) {
        assert_eq!(stage.wire(node).commands_since(before), [], "{node}");
        assert!(stage.wire(node).flew_without_a_break_since(before), "{node}");
    }
    for node in mine.values() {
        assert!(stage.wire(node).said().down(), "{node}");
    }
    stage.kubectl(&["scale", "swarm/beta", "--replicas=3"])?;
    stage.wait_in_air(&NODES, 5)?;
    Ok(())
}

fn a_ground_order_lands_and_latches_until_released(api: ServedBy) -> anyhow::Result<()> {
    let nodes = ["node-1", "node-2"];
    let mut stage = Stage::set(api, &nodes, "mixed", &[])?;
    for node in &nodes {
        stage.add_node(node)?;
    }
    stage.cluster.kubectl().apply(&swarm("default", "alpha", 2, &[]))?;
    stage.wait_in_air(&nodes, 2)?;

    stage.skein(&["ground", "alpha"])?;
    wait_for("both down", PATIENCE, || {
        let up: Vec<_> = nodes.iter().filter(|n| !stage.wire(n).said().down()).collect();
        ensure!(up.is_empty(), "not down: {up:?}");
        Ok(())
    })
    .map_err(|e| stage.explain(e))?;
    let down = wire::now();
    assert_eq!(
        stage.kubectl(&["get", "swarm", "alpha", "-o", "jsonpath={.spec.grounded}"])?,
        "true"
    );

    // The ground order outlives the coordinator and the agents: nothing takes off.
    stage.kill_coordinator();
    for node in &nodes {
        stage.take_agent(node)?.kill();
        stage.start_agent(node)?;
    }
    stage.start_coordinator()?;
    let heard = wait_for("both to be heard again, grounded", PATIENCE, || {
        let drones = stage.drones("default")?;
        for drone in &drones {
            ensure!(drone["status"]["phase"] == "Grounded", "{}", drone["status"]);
            ensure!(condition(drone, "Connected")["status"] == "True", "{}", drone["status"]);
        }
        ensure!(drones.len() == 2, "{} Drones", drones.len());
        Ok(())
    });
    heard.map_err(|e| stage.explain(e))?;
    let two_more_reports = Duration::from_secs(2);
    let until = std::time::Instant::now() + two_more_reports;
    while std::time::Instant::now() < until {
        for node in &nodes {
            assert_eq!(stage.wire(node).commands_since(down), [], "{node}");
        }
        std::thread::sleep(Duration::from_millis(100));
    }

    stage.skein(&["release", "alpha"])?;
    stage.wait_in_air(&nodes, 2)?;
    Ok(())
}

fn a_vehicle_that_refuses_to_arm_says_why_in_its_autopilots_own_words(api: ServedBy) -> anyhow::Result<()> {
    let nodes = ["ardupilot-1", "px4-1"];
    let refusing = ["--never-ready", "ardupilot-1", "--never-ready", "px4-1"];
    let mut stage = Stage::set(api, &nodes, "mixed", &refusing)?;
    for node in &nodes {
        stage.add_node(node)?;
    }
    stage.cluster.kubectl().apply(&swarm("default", "alpha", 2, &[]))?;
    wait_for("both to say why", PATIENCE, || {
        let drones = stage.drones("default")?;
        ensure!(bound(&drones).len() == 2, "{:?} are bound", bound(&drones));
        for drone in &drones {
            let armable = condition(drone, "Armable");
            let answer = armable["message"].as_str().unwrap_or_default().to_lowercase();
            ensure!(
                armable["status"] == "False" && answer.contains("compass"),
                "{}: {armable}",
                drone["spec"]["nodeName"]
            );
        }
        Ok(())
    })
    .map_err(|e| stage.explain(e))?;
    for node in nodes {
        assert!(stage.wire(node).said().not_flying(), "{node}");
    }
    stage.kubectl(&["delete", "swarm/alpha", "--timeout=60s"])?;
    Ok(())
}

/// The transmitter counts what it was sent for 3 s of its own time, so it runs at only twice real time.
fn a_vehicle_that_must_have_an_operator_flies_once_one_is_sent_every_second(api: ServedBy) -> anyhow::Result<()> {
    let enforced = ["DID_ENABLE=1", "DID_OPTIONS=1", "DID_CANDRIVER=1"];
    let mut more = vec!["--speedup", "2"];
    more.extend(enforced.iter().flat_map(|param| ["--param", *param]));
    let mut stage = Stage::set(api, &["ardupilot-1"], "ardupilot", &more)?;
    stage.add_node("ardupilot-1")?;
    stage.cluster.kubectl().apply(&swarm("default", "alpha", 1, &[]))?;
    wait_for("it to say that nobody operates it", PATIENCE, || {
        let drones = stage.drones("default")?;
        let armable = drones
            .first()
            .map(|drone| condition(drone, "Armable").clone())
            .unwrap_or_default();
        let words = armable["message"].as_str().unwrap_or_default();
        ensure!(words.contains("no Operator selects the vehicle"), "{armable}");
        Ok(())
    })
    .map_err(|e| stage.explain(e))?;
    assert!(stage.wire("ardupilot-1").operator_sent().is_empty());
    stage.kubectl(&["label", "node", "ardupilot-1", "skein.dev/uas-id=1596F12345678"])?;
    stage.cluster.kubectl().apply(
        &serde_json::json!({
            "apiVersion": "skein.dev/v1alpha1", "kind": "Operator", "metadata": {"name": "north"},
            "spec": {"vehicleSelector": {}, "id": "CHE87astrdge12k8", "location": {"source": "Takeoff"}},
        })
        .to_string(),
    )?;
    stage.wait_in_air(&["ardupilot-1"], 1)?;
    let sent = stage.wire("ardupilot-1").operator_sent();
    // That they are enough is said by the transmitter: it lets the vehicle arm.
    ensure!(
        sent.len() > 3 && sent.windows(2).all(|two| (1..=2).contains(&(two[1] - two[0]))),
        "not one of each second: {sent:?}"
    );
    wait_for("its Vehicle to show its operator", PATIENCE, || {
        let vehicles = stage.read("vehicles")?;
        let shown = &vehicles["items"][0]["status"]["remoteId"];
        ensure!(shown["operator"] == "north" && shown["ready"].is_null(), "{vehicles}");
        Ok(())
    })
    .map_err(|e| stage.explain(e))?;
    stage.kubectl(&["wait", "--for=condition=Sent", "operator/north", "--timeout=60s"])?;
    stage.kubectl(&["delete", "swarm/alpha", "--timeout=90s"])?;
    stage.kubectl(&["delete", "operator/north"])?;
    Ok(())
}

fn an_agent_whose_node_is_no_drone_node_is_told_so_and_flies_once_it_is_one(api: ServedBy) -> anyhow::Result<()> {
    let mut stage = Stage::set(api, &["node-1"], "px4", &[])?;
    assert!(stage.probe("node-1").is_err(), "no agent, not ready");
    if stage.is_secured() {
        // Its token names its node, so the node exists; it lacks the label.
        stage.cluster.create_node("node-1", &[])?;
    }
    stage.start_agent("node-1")?;
    wait_for("its probe to say that it receives from its autopilot", PATIENCE, || {
        stage.probe("node-1")
    })?;
    stage.cluster.kubectl().apply(&swarm("default", "alpha", 1, &[]))?;
    let agent = stage.agent("node-1")?;
    let answer = agent.wait_for_line(PATIENCE, |line| line.contains("there is no drone node node-1"))?;
    assert!(
        answer.contains("NODE") && answer.contains("kubectl label node"),
        "it says what to do: {answer}"
    );
    assert!(stage.wire("node-1").said().not_flying());
    let wait_inventory = |wanted: &str| {
        wait_for(
            format!("its vehicle to be in the inventory: {wanted}"),
            PATIENCE,
            || {
                let reason = r#"jsonpath={.items[*].status.conditions[?(@.type=="Free")].reason}"#;
                let seen = stage.kubectl(&["get", "vehicles", "-o", reason])?;
                ensure!(seen == wanted, "{seen}");
                Ok(())
            },
        )
    };
    wait_inventory("NoDroneNode")?;

    stage.cluster.create_node("node-1", &[])?;
    stage.kubectl(&["label", "node", "node-1", "node-role.kubernetes.io/drone="])?;
    stage.wait_in_air(&["node-1"], 1)?;
    wait_inventory("ServesDrone")
}

fn a_changed_altitude_is_flown_to_in_the_air_by_both_autopilots(api: ServedBy) -> anyhow::Result<()> {
    let nodes = ["node-1", "node-2"];
    let mut stage = Stage::set(api, &nodes, "mixed", &[])?;
    for node in nodes {
        stage.add_node(node)?;
    }
    stage.cluster.kubectl().apply(&swarm("default", "alpha", 2, &[]))?;
    stage.wait_in_air(&nodes, 2)?;
    wait_ready(&stage, "alpha")?;
    let since = wire::now();
    for meters in [25.0, 12.0] {
        let template = format!(r#"{{"spec": {{"template": {{"spec": {{"takeoffAltitudeMeters": {meters}}}}}}}}}"#);
        stage.kubectl(&["patch", "swarm/alpha", "--type=merge", "-p", &template])?;
        for node in nodes {
            let there = wait_for(format!("{node} at {meters} m"), PATIENCE, || {
                let height = stage.wire(node).height().unwrap_or_default();
                ensure!((height - meters).abs() < 1.0, "it is at {height} m");
                Ok(())
            });
            there.map_err(|error| stage.explain(error))?;
        }
    }
    for node in nodes {
        assert!(stage.wire(node).flew_without_a_break_since(since), "{node} came down");
        let mut sent: Vec<_> = stage
            .wire(node)
            .commands_since(since)
            .iter()
            .map(|c| (c.command, c.param7))
            .collect();
        // One whose acknowledgment is late is sent again.
        sent.dedup();
        let altitudes: Vec<_> = sent.iter().map(|(_, altitude)| altitude - sent[0].1).collect();
        assert!(
            sent.iter()
                .all(|(command, _)| *command == MavCmd::MAV_CMD_DO_REPOSITION)
                && altitudes.len() == 2
                && (altitudes[1] + 13.0).abs() < 0.01,
            "{node}: {sent:?}"
        );
    }
    Ok(())
}

/// A computer by its full name, which is longer than the value of a label.
fn a_node_by_its_full_name_of_120_characters_flies_and_keeps_its_log(api: ServedBy) -> anyhow::Result<()> {
    let node = format!("drone-7.{}.example.com.lab", ["field-station"; 7].join("."));
    let node = node.as_str();
    ensure!(node.len() >= 120, "it has {}", node.len());
    let logs = Scratch::new("skein-logs-")?;
    let settings = vec![("SKEIN_FLIGHT_LOG_DIR", logs.path().display().to_string())];
    let kept = |_: &testkit::Cluster, kubeconfig| Ok(kubeconfig);
    let mut stage = Stage::set_with(api, &[node], "px4", &[], (kept, settings))?;
    stage.add_node(node)?;
    stage.cluster.kubectl().apply(&swarm("default", "alpha", 1, &[]))?;
    stage.wait_in_air(&[node], 1)?;
    wait_ready(&stage, "alpha")?;
    let drones = stage.drones("default")?;
    let drone = drones.first().context("there is no Drone")?;
    ensure!(drone["spec"]["nodeName"] == node, "{drone}");
    // The Vehicle is written beside the flight, not before it.
    wait_for("its Vehicle", PATIENCE, || {
        let vehicles = stage.read("vehicles")?;
        ensure!(vehicles["items"][0]["spec"]["nodeName"] == node, "{vehicles}");
        Ok(())
    })?;
    let name = drone["metadata"]["name"].as_str().context("it has no name")?;
    wait_for("its flight log to be listed", PATIENCE, || {
        let listed = stage.skein(&["logs", name])?;
        ensure!(listed.contains(&format!("skein-{node}-")), "{listed}");
        Ok(())
    })?;
    stage.skein(&["ground", "alpha"])?;
    wait_for("it to be on the ground", PATIENCE, || {
        ensure!(stage.wire(node).said().not_flying(), "it flies");
        Ok(())
    })
    .map_err(|error| stage.explain(error))
}
