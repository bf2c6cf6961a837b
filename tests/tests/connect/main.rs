//! `skein connect`: ground stations reach flying vehicles through coordinator and agents, with a person's rights.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "test helpers outside of #[test] functions"
)]

mod station;

use anyhow::{Context, ensure};
use mavlink::dialects::ardupilotmega::{
    COMMAND_LONG_DATA, MavCmd, MavMessage, MavParamType, PARAM_REQUEST_LIST_DATA, PARAM_SET_DATA,
};
use model::guest::LATE;
use serde_json::Value;
use skein_tests::stage::{PATIENCE, Stage, swarm};
use skein_tests::wire;
use station::Station;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use testkit::{Launch, Process, ServedBy, wait_for};

/// A right is checked every four seconds, for at most four.
const CUT_OFF_WITHIN: Duration = Duration::from_secs(10);
const NAMESPACE: &str = "field";

/// More than queues and windows on the way hold.
const MORE_THAN_WAITS: usize = 192 * 1024;

const PARAMETERS: u64 = 40;

const HEARTBEAT: u32 = 0;
const PARAM_VALUE: u32 = 22;
const GLOBAL_POSITION_INT: u32 = 33;
const COMMAND_ACK: u32 = 77;

struct Flight {
    stage: Stage,
}

impl Flight {
    fn begin(served_by: ServedBy, nodes: &[&str], autopilot: &str, more: &[&str]) -> anyhow::Result<Self> {
        let mut stage = Stage::set(served_by, nodes, autopilot, more)?;
        for node in nodes {
            let granted = format!("use.skein.dev/{NAMESPACE}");
            stage.add_node_with(node, &[(granted.as_str(), "")])?;
        }
        stage.cluster.kubectl().run(["create", "namespace", NAMESPACE])?;
        let replicas = u32::try_from(nodes.len())?;
        stage
            .cluster
            .kubectl()
            .apply(&swarm(NAMESPACE, "alpha", replicas, &[]))?;
        stage.wait_in_air(nodes, nodes.len())?;
        Ok(Self { stage })
    }

    fn drone(&self, node: &str) -> anyhow::Result<String> {
        let drones = self.stage.drones(NAMESPACE)?;
        let of_node = drones.iter().find(|drone| drone["spec"]["nodeName"] == node);
        let name = of_node.and_then(|drone| drone["metadata"]["name"].as_str());
        Ok(name.with_context(|| format!("{node} serves no Drone"))?.to_owned())
    }

    fn connect(&self, kubeconfig: Option<&Path>, args: &[&str]) -> anyhow::Result<Process> {
        let mut launch = Launch::workspace("skein")?.args(["--server", &self.stage.server()]);
        if let Some(kubeconfig) = kubeconfig {
            launch = launch.arg("--kubeconfig").arg(kubeconfig);
        }
        launch.args(["connect", "-n", NAMESPACE]).args(args).start()
    }

    fn events(&self, reason: &str) -> anyhow::Result<Vec<String>> {
        let field = format!("reason={reason}");
        let list = self
            .stage
            .cluster
            .kubectl()
            .json(["get", "events", "-n", NAMESPACE, "--field-selector", &field])?;
        let text = |event: &Value| Some(event["message"].as_str()?.to_owned());
        Ok(list["items"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(text)
            .collect())
    }
}

fn connected(port: u16) -> anyhow::Result<Station> {
    let mut station = wait_for("skein connect to listen", PATIENCE, || Station::at(port))?;
    let until = Instant::now() + PATIENCE;
    while station.count(HEARTBEAT) == 0 || station.count(GLOBAL_POSITION_INT) == 0 {
        ensure!(
            Instant::now() < until,
            "the vehicle is not heard: {:?}",
            station.seen.keys()
        );
        station.listen(Duration::from_millis(100))?;
    }
    Ok(station)
}

/// Forced, as a ground station stops motors.
fn disarm() -> MavMessage {
    MavMessage::COMMAND_LONG(COMMAND_LONG_DATA {
        command: MavCmd::MAV_CMD_COMPONENT_ARM_DISARM,
        target_system: 1,
        target_component: 1,
        param2: 21196.0,
        ..COMMAND_LONG_DATA::default()
    })
}

#[test]
fn pymavlink_mavproxy_and_mavsdk_command_the_right_one_of_two_with_one_system_id() -> anyhow::Result<()> {
    let nodes = ["alpha", "bravo"];
    let flight = Flight::begin(ServedBy::Embedded, &nodes, "mixed", &["--same-system-id"])?;
    let tcp = testkit::ports::free_tcp_port()?;
    let udp = [testkit::ports::free_udp_port()?, testkit::ports::free_udp_port()?];
    let (to, listen) = (
        format!("--to=udp:127.0.0.1:{},udp:127.0.0.1:{}", udp[0], udp[1]),
        format!("--listen=tcp:127.0.0.1:{tcp}"),
    );
    let connect = flight.connect(None, &["-l", "skein.dev/swarm=alpha", &to, &listen])?;
    let mut numbers = Vec::new();
    for node in nodes {
        let line = connect.wait_for_line(PATIENCE, |line| {
            line.contains(&format!("vehicle of node {node} is system"))
        })?;
        ensure!(line.contains("what a ground station sends reaches it"), "{line}");
        let number = line
            .split("is system ")
            .nth(1)
            .and_then(|rest| rest.split([' ', '(']).next());
        numbers.push(number.context(line.clone())?.to_owned());
    }
    ensure!(numbers[0] != numbers[1], "{numbers:?}");
    let since = wire::now();
    let ports = [tcp, udp[0], udp[1]].map(|port| port.to_string());
    let args: Vec<_> = ports.iter().chain(&numbers).map(String::as_str).collect();
    let said = testkit::peer::run("connect_fleet.py", &args, &[], PATIENCE * 3).with_context(|| connect.tail())?;
    println!("{said}");
    let bravo = flight.drone("bravo")?;
    wait_for("the takeover to be reported", PATIENCE, || {
        let status = flight.stage.status()?;
        let taken_over = |name: &str| {
            let vehicles = status["vehicles"].as_array()?;
            let vehicle = vehicles.iter().find(|vehicle| vehicle["drone"] == name)?;
            Some(vehicle["activity"].as_str()?.starts_with("HandsOff"))
        };
        ensure!(taken_over(&bravo) == Some(true), "{status:#}");
        Ok(())
    })?;
    ensure!(
        flight.stage.wire("alpha").flew_without_a_break_since(since),
        "alpha flew no more"
    );
    let steered = |command: &wire::Command| command.command == MavCmd::MAV_CMD_DO_SET_MODE;
    ensure!(
        !flight.stage.wire("alpha").commands_since(since).iter().any(steered),
        "alpha was steered"
    );
    let events = wait_for("an Event about each", PATIENCE, || {
        let events = flight.events("GroundStationConnected")?;
        ensure!(events.len() == 2, "{events:?}");
        Ok(events)
    })?;
    ensure!(
        events
            .iter()
            .all(|text| text.contains("anybody") && text.contains("may command the vehicle")),
        "{events:?}"
    );
    connect.stop(PATIENCE)?;
    Ok(())
}

fn person(stage: &Stage, name: &str, roles: &[&str]) -> anyhow::Result<PathBuf> {
    let kubectl = stage.cluster.kubectl();
    kubectl.run(["create", "serviceaccount", name, "-n", "default"])?;
    let to = format!("--serviceaccount=default:{name}");
    let of_system = ["-n", "skein-system", "--role=skein-connect", &to];
    kubectl.run(
        [
            &["create", "rolebinding", &format!("{name}-skein-connect")][..],
            &of_system,
        ]
        .concat(),
    )?;
    for role in roles {
        let binding = format!("{name}-{role}");
        kubectl.run([
            "create",
            "clusterrolebinding",
            &binding,
            &format!("--clusterrole={role}"),
            &to,
        ])?;
    }
    stage.cluster.service_account_kubeconfig("default", name)
}

#[test]
fn who_loses_the_right_is_cut_off_and_another_flies_on_and_a_viewer_changes_nothing() -> anyhow::Result<()> {
    let flight = Flight::begin(ServedBy::Kubernetes, &["alpha"], "px4", &[])?;
    let roles = testkit::control_plane::workspace_root()
        .join("deploy/roles.yaml")
        .display()
        .to_string();
    flight.stage.cluster.kubectl().run(["apply", "-f", &roles])?;
    let drone = flight.drone("alpha")?;
    let ports = testkit::ports::free_tcp_ports(3)?;
    let at = |index: usize| format!("--listen=tcp:127.0.0.1:{}", ports[index]);

    let carol = person(&flight.stage, "carol", &["skein-person", "skein-admin"])?;
    let vera = person(&flight.stage, "vera", &["skein-person", "skein-viewer"])?;
    let bob = person(&flight.stage, "bob", &["skein-person"])?;
    let refused = flight.connect(Some(&bob), &[&drone, &at(2)])?;
    refused.wait_for_line(PATIENCE, |line| line.contains("bob may not connect drones.skein.dev"))?;
    ensure!(!refused.wait_for_exit(PATIENCE)?.success());

    let commanding = flight.connect(Some(&carol), &[&drone, &at(0)])?;
    commanding.wait_for_line(PATIENCE, |line| line.contains("what a ground station sends reaches it"))?;
    let watching = flight.connect(Some(&vera), &[&drone, &at(1)])?;
    watching.wait_for_line(PATIENCE, |line| {
        line.contains("READ-ONLY") && line.contains("lack the verb `connect`")
    })?;

    let (mut pilot, mut viewer) = (connected(ports[0])?, connected(ports[1])?);
    let since = wire::now();
    viewer.say(&disarm())?;
    viewer.say(&MavMessage::PARAM_SET(PARAM_SET_DATA {
        param_value: 50.0,
        target_system: 1,
        target_component: 1,
        param_id: "MIS_TAKEOFF_ALT".into(),
        param_type: MavParamType::MAV_PARAM_TYPE_REAL32,
    }))?;
    viewer.say(&list_parameters())?;
    viewer.listen(Duration::from_secs(5))?;
    ensure!(
        flight.stage.wire("alpha").commands_since(since).is_empty(),
        "it was commanded"
    );
    ensure!(
        viewer.count(PARAM_VALUE) == 0 && viewer.count(COMMAND_ACK) == 0,
        "it has answered"
    );
    pilot.say(&list_parameters())?;
    let until = Instant::now() + PATIENCE;
    while pilot.count(PARAM_VALUE) < PARAMETERS {
        ensure!(Instant::now() < until, "{} parameters", pilot.count(PARAM_VALUE));
        pilot.listen(Duration::from_millis(100))?;
    }

    let revoked = Instant::now();
    flight
        .stage
        .cluster
        .kubectl()
        .run(["delete", "clusterrolebinding", "carol-skein-admin"])?;
    let ended = commanding.wait_for_line(PATIENCE, |line| line.contains("carol may not connect drones.skein.dev"));
    ended.with_context(|| commanding.tail())?;
    let took = revoked.elapsed();
    println!("cut off {:.1} s after the right had ended", took.as_secs_f64());
    ensure!(took < CUT_OFF_WITHIN, "cut off after {took:?}");
    ensure!(!commanding.wait_for_exit(PATIENCE)?.success());
    let since = wire::now();
    ensure!(
        pilot
            .say(&disarm())
            .and_then(|()| pilot.listen(Duration::from_secs(5)))
            .is_err()
    );
    let (heard, until) = (viewer.count(HEARTBEAT), Instant::now() + PATIENCE);
    while viewer.count(HEARTBEAT) == heard {
        ensure!(Instant::now() < until, "the other receives nothing any more");
        viewer.listen(Duration::from_millis(500))?;
    }
    ensure!(flight.stage.wire("alpha").said().in_air() && flight.stage.wire("alpha").commands_since(since).is_empty());
    Ok(())
}

fn list_parameters() -> MavMessage {
    MavMessage::PARAM_REQUEST_LIST(PARAM_REQUEST_LIST_DATA {
        target_system: 1,
        target_component: 1,
    })
}

#[test]
fn a_command_that_was_held_up_on_the_way_reaches_no_vehicle() -> anyhow::Result<()> {
    let flight = Flight::begin(ServedBy::Embedded, &["alpha"], "px4", &[])?;
    let drone = flight.drone("alpha")?;
    let port = testkit::ports::free_tcp_port()?;
    let connect = flight.connect(None, &[&drone, &format!("--listen=tcp:127.0.0.1:{port}")])?;
    connect.wait_for_line(PATIENCE, |line| line.contains("what a ground station sends reaches it"))?;
    let mut station = connected(port)?;
    let disarms = |since| {
        let commands = flight.stage.wire("alpha").commands_since(since);
        let disarm = |command: &&wire::Command| command.command == MavCmd::MAV_CMD_COMPONENT_ARM_DISARM;
        commands.iter().filter(disarm).count()
    };
    let since = wire::now();
    flight.stage.agent("alpha")?.pause()?;
    for _ in 0..3 {
        station.say(&disarm())?;
    }
    station.listen(LATE + Duration::from_secs(1))?;
    flight.stage.agent("alpha")?.signal(testkit::process::Signal::SIGCONT)?;
    let until = Instant::now() + PATIENCE;
    while station.count(PARAM_VALUE) < PARAMETERS {
        ensure!(
            Instant::now() < until,
            "{} parameters: {}",
            station.count(PARAM_VALUE),
            connect.tail()
        );
        if station
            .say(&list_parameters())
            .and_then(|()| station.listen(Duration::from_secs(1)))
            .is_err()
        {
            station = connected(port)?;
        }
    }
    assert_eq!(
        disarms(since),
        0,
        "the vehicle was ordered to stop its motors: {}",
        connect.tail()
    );
    ensure!(flight.stage.wire("alpha").flew_without_a_break_since(since));
    Ok(())
}

#[test]
fn ground_stations_that_do_not_read_harm_neither_another_one_nor_an_order() -> anyhow::Result<()> {
    let flight = Flight::begin(ServedBy::Embedded, &["alpha"], "px4", &[])?;
    let drone = flight.drone("alpha")?;
    let ports = testkit::ports::free_tcp_ports(2)?;
    let at = |index: usize| format!("--listen=tcp:127.0.0.1:{}", ports[index]);
    let good = flight.connect(None, &[&drone, &at(0)])?;
    let stopped = flight.connect(None, &[&drone, &at(1)])?;
    for connect in [&good, &stopped] {
        connect.wait_for_line(PATIENCE, |line| line.contains("is system"))?;
    }
    let mut station = connected(ports[0])?;
    // A deaf client beside it, and a whole `skein connect` that does not read.
    let _deaf = Station::at(ports[0])?;
    stopped.pause()?;
    let until = Instant::now() + PATIENCE * 2;
    let (begun, first) = (station.bytes, station.positions.len());
    while station.bytes - begun < MORE_THAN_WAITS {
        ensure!(Instant::now() < until, "{} bytes came", station.bytes - begun);
        station.say(&list_parameters())?;
        station.listen(Duration::from_millis(500))?;
    }
    let received = &station.positions[first..];
    let (from, to) = (
        received.first().context("it received nothing")?,
        received.last().context("it received nothing")?,
    );
    let sent = flight.stage.wire("alpha").positions_sent();
    let sent: Vec<u32> = sent.into_iter().filter(|at| (from..=to).contains(&at)).collect();
    ensure!(
        sent == received,
        "{} positions were sent and {} were received",
        sent.len(),
        received.len()
    );
    println!("all {} positions were received", received.len());
    let (ordered, since) = (Instant::now(), wire::now());
    flight.stage.skein(&["ground", "--all"])?;
    wait_for("the vehicle to go down", PATIENCE, || {
        let landing = |command: &wire::Command| {
            command.command == MavCmd::MAV_CMD_NAV_LAND || command.command == MavCmd::MAV_CMD_DO_SET_MODE
        };
        ensure!(flight.stage.wire("alpha").commands_since(since).iter().any(landing));
        Ok(())
    })?;
    println!(
        "the order was on the wire after {:.2} s",
        ordered.elapsed().as_secs_f64()
    );
    ensure!(
        ordered.elapsed() < Duration::from_secs(5),
        "the order took {:?}",
        ordered.elapsed()
    );
    flight.stage.wait_in_air(&["alpha"], 0)?;
    stopped.signal(testkit::process::Signal::SIGCONT)?;
    stopped.wait_until("the stopped one to come again", PATIENCE, || {
        let output = stopped.stdout();
        ensure!(
            output.contains("trying again") && output.matches("is system").count() == 2,
            "{output}"
        );
        Ok(())
    })?;
    station.listen(Duration::from_secs(1))?;
    Ok(())
}
