//! Benchmark (`cargo xtask bench tenants`): how soon nine namespaces are served, alone and beside one whose Missions take
//! long to plan; and whether the leader renews its Lease meanwhile, on all CPUs and on one.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a benchmark prints, and fails by panicking"
)]

mod load;
mod renewals;
mod tenant;

use anyhow::ensure;
use futures::future::try_join_all;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, PostParams};
use load::Load;
use renewals::Renewals;
use serde_json::json;
use skein_tests::figures::{milliseconds, percentile};
use skein_tests::hostile::HOSTILE_MISSIONS;
use skein_tests::large_fleet::place::{Place, Security};
use std::time::Duration;
use tenant::{ACTIONS, Tenant};
use testkit::ServedBy;

struct Size {
    tenants: u32,
    rounds: u32,
    hostile: u32,
}

const FULL: Size = Size {
    tenants: 9,
    rounds: 10,
    hostile: HOSTILE_MISSIONS,
};

const SHORT: Size = Size {
    tenants: 2,
    rounds: 1,
    hostile: 3,
};

const PLACES: [(&str, ServedBy, Option<&str>); 4] = [
    ("kube-apiserver, coordinator on all CPUs", ServedBy::Kubernetes, None),
    ("kube-apiserver, on one CPU", ServedBy::Kubernetes, Some("0")),
    ("embedded, on all CPUs", ServedBy::Embedded, None),
    ("embedded, on one CPU", ServedBy::Embedded, Some("0")),
];

/// What one part of a run has shown.
#[derive(Default)]
struct Served {
    times: [Vec<Duration>; ACTIONS.len()],
    longest_gap: Duration,
    transitions: u64,
    planned: usize,
}

fn main() -> anyhow::Result<()> {
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
    println!(
        "{} ordinary namespaces, {} rounds each, in ms; agents, coordinator and API share {} cores; beside it a namespace with {} Missions \
         that are being planned or wait for it\n",
        size.tenants,
        size.rounds,
        std::thread::available_parallelism()?,
        size.hostile,
    );
    println!("| | alone: p50 | maximum | beside the hostile one: p50 | maximum |\n| --- | --- | --- | --- | --- |");
    let runtime = tokio::runtime::Runtime::new()?;
    for (name, served_by, cpus) in PLACES {
        let [alone, beside] = runtime.block_on(Box::pin(measure(served_by, cpus, &size)))?;
        print(name, &alone, &beside);
        eprintln!(
            "{name}: {} Missions of the hostile namespace were planned",
            beside.planned
        );
        ensure!(
            alone.transitions + beside.transitions == 0,
            "the Lease changed hands, or its term was raised"
        );
    }
    Ok(())
}

fn print(place: &str, alone: &Served, beside: &Served) {
    for (number, action) in ACTIONS.iter().enumerate() {
        let figures = [alone, beside].map(|served| {
            let [p50, most] = [50, 100].map(|percent| milliseconds(percentile(&served.times[number], percent)));
            format!("{p50} | {most}")
        });
        println!("| {place}: {action} | {} |", figures.join(" | "));
    }
    let [alone, beside] = [alone, beside].map(|served| (milliseconds(served.longest_gap), served.transitions));
    println!(
        "| {place}: from one renewal of the Lease to the next; `leaseTransitions` raised | {} times | {} | {} times | {} |",
        alone.1, alone.0, beside.1, beside.0
    );
}

async fn measure(served_by: ServedBy, cpus: Option<&str>, size: &Size) -> anyhow::Result<[Served; 2]> {
    let mut place = Place::start(served_by, 0, Security::Plain).await?;
    let coordinator = place.coordinator_on("127.0.0.1:0", cpus)?;
    namespace(&place, load::NAMESPACE).await?;
    let mut tenants = Vec::new();
    for number in 1..=size.tenants {
        let tenant = Tenant::start(&place, &coordinator.address, number).await?;
        namespace(&place, tenant.namespace()).await?;
        tenant.fly_guard().await?;
        tenants.push(tenant);
    }
    let alone = serve(&place, &mut tenants, size.rounds, None).await?;
    let mut load = Box::pin(Load::begin(&place.client, size.hostile)).await?;
    let beside = serve(&place, &mut tenants, size.rounds, Some(&mut load)).await?;
    coordinator.process.ensure_running()?;
    Ok([alone, beside])
}

async fn namespace(place: &Place, name: &str) -> anyhow::Result<()> {
    let object: Namespace =
        serde_json::from_value(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}))?;
    Api::all(place.client.clone())
        .create(&PostParams::default(), &object)
        .await?;
    Ok(())
}

async fn serve(
    place: &Place,
    tenants: &mut [Tenant],
    rounds: u32,
    mut load: Option<&mut Load>,
) -> anyhow::Result<Served> {
    let mut renewals = Renewals::new(place.client.clone());
    let planned_before = load.as_ref().map_or(0, |load| load.planned());
    let all = tenants.iter_mut().map(|tenant| tenant.rounds(rounds));
    let busy = async {
        match &mut load {
            Some(load) => load.go_on().await,
            None => std::future::pending().await,
        }
    };
    let all = tokio::select! {
        all = Box::pin(try_join_all(all)) => all?,
        error = Box::pin(renewals.follow()) => return Err(error.context("following the Lease")),
        error = Box::pin(busy) => return Err(error.context("in the hostile namespace")),
    };
    let mut served = Served {
        longest_gap: renewals.longest_gap(),
        transitions: renewals.transitions(),
        planned: load.map_or(0, |load| load.planned()) - planned_before,
        ..Served::default()
    };
    for times in all.into_iter().flatten() {
        for (all, time) in served.times.iter_mut().zip(times) {
            all.push(time);
        }
    }
    Ok(served)
}
