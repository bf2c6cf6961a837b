//! A ground station through coordinator and agent, beside one at the vehicle.

use std::time::Duration;

use anyhow::{Context, ensure};

use testkit::autopilots::Stack;

use crate::field::{Field, NODES, SWARM, Setup};
use crate::figures::Figures;
use crate::parameters::download;
use crate::scenario::Scenario;
use skein_tests::wire::now;

pub const ALL: &[Scenario] = &[
    Scenario::new(
        "connect",
        "all parameters of a flying vehicle come through `skein connect` as they come at the vehicle, and it flies on",
        connect,
    ),
    Scenario::new(
        "connect-peers",
        "pymavlink, MAVSDK and MAVProxy fly along with an ArduCopter and a PX4 through `skein connect`; MAVProxy takes over one of them",
        peers,
    )
    .with(|_| Setup {
        vehicles: 2,
        apart: 12.0,
        mixed: true,
        ..Setup::default()
    })
    .on(&[Stack::ArduPilot])
    .real_time(),
];

const NODE: &str = NODES[0];
const HEIGHT: f64 = 20.0;
const PEERS_HEIGHT: f64 = 10.0;
/// Some thousand parameters at half of 230,400 baud, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(240);

fn connect(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    let ports = testkit::ports::free_tcp_ports(2)?;
    field.more_agent_arguments([format!("--gcs-listen=tcp:127.0.0.1:{}", ports[0])]);
    field.kill_agent(NODE);
    field.start_agent(NODE)?;
    field.take_off(HEIGHT)?;
    let drone = field.objects().of(NODE).context("there is no Drone")?;
    let drone = drone["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let listen = format!("--listen=tcp:127.0.0.1:{}", ports[1]);
    let skein = field.start_skein(&["connect", &drone, &listen])?;
    skein.wait_for_line(Duration::from_secs(30), |line| {
        line.contains("what a ground station sends reaches it")
    })?;
    let since = now();
    let direct = download(ports[0], PATIENCE).context("at the vehicle")?;
    let through = download(ports[1], PATIENCE).with_context(|| skein.tail())?;
    figures.note(format!(
        "{} parameters at the vehicle in {:.1} s ({} asked for again), through connect in {:.1} s ({})",
        direct.values.len(),
        direct.took.as_secs_f64(),
        direct.again,
        through.took.as_secs_f64(),
        through.again
    ));
    ensure!(
        direct.values.keys().eq(through.values.keys()),
        "{} parameters at the vehicle and {} through connect, with other names",
        direct.values.len(),
        through.values.len()
    );
    let bits =
        |values: &std::collections::BTreeMap<String, f32>| values.values().map(|v| v.to_bits()).collect::<Vec<_>>();
    // Statistics and learned values go on in flight.
    let differ = bits(&direct.values)
        .iter()
        .zip(bits(&through.values))
        .filter(|(a, b)| **a != *b)
        .count();
    figures.note(format!("{differ} with another value by then"));
    ensure!(
        differ * 100 <= direct.values.len(),
        "{differ} of {} values differ",
        direct.values.len()
    );
    ensure!(field.record(NODE).said().in_air(), "it does not fly any more");
    let orders = field.record(NODE).orders_since(since);
    ensure!(orders.is_empty(), "it was ordered {orders:?}");
    field.wait_ready(NODE)?;
    skein.stop(Duration::from_secs(10))?;
    Ok(())
}

fn peers(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    field.fly(2, PEERS_HEIGHT)?;
    field.wait_in_air(&NODES[..2], PEERS_HEIGHT)?;
    for node in &NODES[..2] {
        field.wait_ready(node)?;
    }
    let tcp = testkit::ports::free_tcp_port()?;
    let udp = [testkit::ports::free_udp_port()?, testkit::ports::free_udp_port()?];
    let listen = format!("tcp:127.0.0.1:{tcp},udp:127.0.0.1:{},udp:127.0.0.1:{}", udp[0], udp[1]);
    let skein = field.start_skein(&[
        "connect",
        "-l",
        &format!("skein.dev/swarm={SWARM}"),
        "--listen",
        &listen,
    ])?;
    let mut args: Vec<_> = [tcp, udp[0], udp[1]].map(|port| port.to_string()).into();
    for node in &NODES[..2] {
        let line = skein.wait_for_line(Duration::from_secs(30), |line| {
            line.contains(&format!("vehicle of node {node} is system"))
        })?;
        let number = line
            .split("is system ")
            .nth(1)
            .and_then(|rest| rest.split([' ', '(']).next());
        args.push(number.with_context(|| line.clone())?.to_owned());
    }
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    let since = now();
    let said = testkit::peer::run("connect_fleet.py", &args, &[], PATIENCE * 2).with_context(|| skein.tail())?;
    for line in said.lines().filter(|line| line.contains("parameters of vehicle")) {
        figures.note(line.trim_start_matches("pymavlink: "));
    }
    field.wait("the takeover to be reported", 30, || {
        let drone = field.objects().of(NODES[1]).context("there is no Drone")?;
        ensure!(drone["status"]["phase"] == "Interrupted", "{}", drone["status"]);
        Ok(())
    })?;
    field.wait_ready(NODE)?;
    let orders = field.record(NODE).orders_since(since);
    ensure!(orders.is_empty(), "the one that was not steered was ordered {orders:?}");
    skein.stop(Duration::from_secs(10))?;
    Ok(())
}
