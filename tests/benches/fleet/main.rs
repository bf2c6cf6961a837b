//! Benchmark (`cargo xtask bench fleet`): one coordinator and a large fleet that reports once a second, as many agents
//! as fit with a connection each, then 25,000 with several streams to a connection. The agents report orders, not the
//! coordinator.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a benchmark prints, and fails by panicking"
)]

use crds::{Drone, Swarm};
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use serde_json::json;
use skein_tests::figures::{milliseconds, percentile};
use skein_tests::large_fleet::agents;
use skein_tests::large_fleet::herd::Herd;
use skein_tests::large_fleet::place::{Coordinator, Place, Security};
use skein_tests::machine;
use std::time::{Duration, Instant, SystemTime};
use testkit::ServedBy;

struct Size {
    /// Agents with a connection each: both ends need a descriptor, and a process has 20,000 of them at most.
    own: usize,
    shared: usize,
    steps: usize,
    flying: i32,
    watch: Duration,
}

const FULL: Size = Size {
    own: 19_000,
    shared: 25_000,
    steps: 200,
    flying: 5_000,
    watch: Duration::from_secs(60),
};

const SHORT: Size = Size {
    own: 500,
    shared: 500,
    steps: 20,
    flying: 100,
    watch: Duration::from_secs(5),
};

/// The coordinator writes what is not urgent within some seconds.
const QUIET: Duration = Duration::from_secs(6);

const STREAMS: usize = 25;

fn main() -> anyhow::Result<()> {
    if let Some(ended) = agents::asked() {
        return ended;
    }
    let args: Vec<String> = std::env::args().collect();
    // `cargo bench` and `cargo test --benches` pass flags of their own; only the former measures.
    if !args.iter().any(|arg| arg == "--bench") {
        return Ok(());
    }
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let size = if args.iter().any(|arg| arg == "--short") {
        SHORT
    } else {
        FULL
    };
    let served_by = if args.iter().any(|arg| arg == "--kubernetes") {
        ServedBy::Kubernetes
    } else {
        ServedBy::Embedded
    };
    println!(
        "One coordinator on the {} API; agents, coordinator and API share {} cores\n",
        if served_by == ServedBy::Embedded {
            "embedded"
        } else {
            "real"
        },
        std::thread::available_parallelism()?,
    );
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(async {
        let (own, how) = match served_by {
            ServedBy::Kubernetes => (
                Security::Tokens,
                "a connection each, by TLS with tokens as in a cluster",
            ),
            ServedBy::Embedded => (Security::Plain, "a connection each, in plain text"),
        };
        measure(how, Place::start(served_by, size.own, own).await?, size.own, 1, &size).await?;
        let place = Place::start(served_by, size.shared, Security::Plain).await?;
        let how = "25 streams to a connection, in plain text";
        measure(how, place, size.shared, STREAMS, &size).await
    })
}

async fn measure(title: &str, mut place: Place, count: usize, streams: usize, size: &Size) -> anyhow::Result<()> {
    println!("## {count} agents, {title}\n");
    let coordinator = place.coordinator("127.0.0.1:0")?;
    let pid = coordinator.process.pid();
    let (empty, _) = machine::memory_mib(pid)?;
    let credentials = place.credentials(count).await?;
    let began = Instant::now();
    let herd = Herd::start(&coordinator.address, count, streams, credentials.as_deref())?;
    herd.all_since(SystemTime::UNIX_EPOCH, Duration::from_secs(300))?;
    println!(
        "connected, all with their order: {:.1} s (they start within 10 s)",
        began.elapsed().as_secs_f64()
    );
    idle(&coordinator, count, empty, size.watch)?;

    swarm(&place).await?;
    let mut times = Vec::new();
    for replicas in 1..=size.steps {
        let at = SystemTime::now();
        scale(&place, i32::try_from(replicas)?).await?;
        let heard = herd.flies_since(at, replicas, Duration::from_secs(60))?;
        times.push(heard.duration_since(at).unwrap_or_default());
    }
    let row = [1, 50, 99, 100].map(|percent| milliseconds(percentile(&times, percent)));
    println!(
        "scale by one → assignment on the wire, {} times: minimum {}, p50 {}, p99 {}, maximum {} ms",
        size.steps, row[0], row[1], row[2], row[3]
    );

    let writes = coordinator.writes()?;
    let (began, before) = (Instant::now(), i32::try_from(size.steps)?);
    scale(&place, size.flying).await?;
    herd.flying(usize::try_from(size.flying)?, Duration::from_secs(900))?;
    println!(
        "scale from {before} to {}, all assigned: {:.1} s",
        size.flying,
        began.elapsed().as_secs_f64()
    );
    let drones: Api<Drone> = Api::all(place.client.clone());
    settled(&coordinator, &drones, usize::try_from(size.flying)?).await?;
    let wrote = (coordinator.writes()? - writes) / f64::from(size.flying - before);
    println!("writes to the API for each of these, up to holding: {wrote:.1}");

    let writes = coordinator.writes()?;
    let cpu = machine::cpu_seconds(pid)?;
    let lands = herd.lands();
    std::thread::sleep(size.watch);
    println!(
        "{} of them flying for {} s: {:.2} of a core, {} writes beside the renewals of the Lease, {:.0} MiB",
        size.flying,
        size.watch.as_secs(),
        (machine::cpu_seconds(pid)? - cpu) / size.watch.as_secs_f64(),
        coordinator.writes()? - writes,
        machine::memory_mib(pid)?.0,
    );

    let Coordinator { process, address, .. } = coordinator;
    process.stop(Duration::from_secs(60))?;
    let at = SystemTime::now();
    let coordinator = place.coordinator(&address)?;
    let led = at.elapsed().unwrap_or_default();
    let back = herd.all_since(at, Duration::from_secs(300))?;
    println!(
        "coordinator ended and started again: it leads after {:.1} s, all agents have their orders after {:.1} s; ordered to land: {}",
        led.as_secs_f64(),
        back.duration_since(at).unwrap_or_default().as_secs_f64(),
        herd.lands() - lands,
    );
    println!(
        "memory at its peak then: {:.0} MiB\n",
        machine::memory_mib(coordinator.process.pid())?.1
    );
    anyhow::ensure!(herd.lands() == lands, "a vehicle was ordered to land");
    Ok(())
}

fn idle(coordinator: &Coordinator, count: usize, empty: f64, watch: Duration) -> anyhow::Result<()> {
    let pid = coordinator.process.pid();
    let (cpu, reports) = (
        machine::cpu_seconds(pid)?,
        coordinator.sum("skein_agent_reports_total")?,
    );
    std::thread::sleep(watch);
    let (now, peak) = machine::memory_mib(pid)?;
    #[allow(clippy::cast_precision_loss, reason = "a count of agents")]
    let each = (now - empty) * 1024.0 / count as f64;
    println!(
        "memory: {empty:.0} MiB with the nodes alone, {now:.0} MiB with all agents ({each:.1} KiB each), {peak:.0} MiB at its peak"
    );
    println!(
        "CPU: {:.2} of a core, at {:.0} reports/s",
        (machine::cpu_seconds(pid)? - cpu) / watch.as_secs_f64(),
        (coordinator.sum("skein_agent_reports_total")? - reports) / watch.as_secs_f64(),
    );
    Ok(())
}

async fn swarm(place: &Place) -> anyhow::Result<()> {
    let swarm: Swarm = serde_json::from_value(json!({
        "apiVersion": "skein.dev/v1alpha1", "kind": "Swarm", "metadata": {"name": "alpha"}, "spec": {"replicas": 0},
    }))?;
    let swarms: Api<Swarm> = Api::namespaced(place.client.clone(), "default");
    swarms.create(&PostParams::default(), &swarm).await?;
    Ok(())
}

async fn scale(place: &Place, replicas: i32) -> anyhow::Result<()> {
    let swarms: Api<Swarm> = Api::namespaced(place.client.clone(), "default");
    let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
    swarms.patch_scale("alpha", &PatchParams::default(), &patch).await?;
    Ok(())
}

async fn quiet(coordinator: &Coordinator) -> anyhow::Result<()> {
    let until = Instant::now() + Duration::from_secs(300);
    let mut before = coordinator.written()?;
    loop {
        tokio::time::sleep(QUIET).await;
        let written = coordinator.written()?;
        let grown = |(series, count): &(&String, &f64)| before.get(*series).copied().unwrap_or_default() < **count;
        let grown: Vec<_> = written.iter().filter(grown).collect();
        if grown.is_empty() {
            return Ok(());
        }
        anyhow::ensure!(
            Instant::now() < until,
            "the coordinator goes on writing although nothing changes; within {} s: {grown:?}, {} before",
            QUIET.as_secs(),
            before.values().sum::<f64>(),
        );
        before = written;
    }
}

async fn settled(coordinator: &Coordinator, drones: &Api<Drone>, wanted: usize) -> anyhow::Result<()> {
    let until = Instant::now() + Duration::from_secs(900);
    loop {
        let flying = coordinator.sum("skein_drones{phase=\"Flying\"}")?;
        #[allow(clippy::cast_precision_loss, reason = "a count of Drones")]
        if flying >= wanted as f64 {
            let list = drones.list(&ListParams::default().limit(1)).await?;
            anyhow::ensure!(
                !list.items.is_empty(),
                "the coordinator reports Drones that are not there"
            );
            return quiet(coordinator).await;
        }
        anyhow::ensure!(Instant::now() < until, "only {flying} of {wanted} hold");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}
