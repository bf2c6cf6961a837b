//! A ground station through coordinator and agent, beside one at the vehicle.
//!
//! Owns: what comes through, and how fast. Must not: take over.

use std::time::Duration;

use anyhow::{Context, ensure};

use crate::field::{Field, NODES};
use crate::figures::Figures;
use crate::parameters::download;
use crate::scenario::Scenario;
use crate::wire::now;

pub const ALL: &[Scenario] = &[Scenario::new(
    "connect",
    "all parameters of a flying vehicle come through `skein connect` as they come at the vehicle, and it flies on",
    connect,
)];

const NODE: &str = NODES[0];
const HEIGHT: f64 = 20.0;
/// Some thousand parameters at half of 230,400 baud, on a machine that is busy.
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
