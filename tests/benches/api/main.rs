//! Benchmark (`cargo xtask bench api`): the embedded API beside a real kube-apiserver with etcd, alternately in one
//! run.

#![allow(
    clippy::print_stdout,
    clippy::panic,
    reason = "a benchmark prints, and fails by panicking"
)]

mod side;
mod work;

use anyhow::Context;
use side::Side;
use skein_tests::figures::{Figure, Table};

const SAMPLES: usize = 500;

const DRONES: usize = 25_000;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    // `cargo bench` and `cargo test --benches` pass flags of their own; only the former measures.
    if !std::env::args().any(|arg| arg == "--bench") {
        return Ok(());
    }
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let drones = match std::env::var("SKEIN_BENCH_DRONES") {
        Ok(number) => number.parse().context("SKEIN_BENCH_DRONES is not a number")?,
        Err(_) => DRONES,
    };
    let sides = [Side::kubernetes().await?, Side::embedded().await?];
    let mut table = Table::new(["kube-apiserver + etcd", "embedded"]);
    table.note(&format!(
        "{drones} Drones; client, servers and store share {} cores; etcd with fsync, as the embedded store",
        std::thread::available_parallelism().map_or(0, usize::from)
    ));

    table.row("memory, empty", both(&sides, async |side| side.resident()).await?);
    table.row(
        "create, one after the other",
        both(&sides, async |side| work::create_each(side, "few", SAMPLES).await).await?,
    );
    table.row(
        "create all, 16 at a time",
        both(&sides, async |side| work::create_many(side, "many", drones).await).await?,
    );
    table.row(
        "update (status, server-side apply), one after the other",
        both(&sides, async |side| work::status_each(side, "few", SAMPLES).await).await?,
    );
    table.row(
        "update all (status, server-side apply), 16 at a time",
        both(&sides, async |side| work::status_many(side, "many", drones).await).await?,
    );
    table.row(
        "get one",
        both(&sides, async |side| work::get_each(side, "many", SAMPLES).await).await?,
    );
    table.row(
        "list all, in one answer",
        both(&sides, async |side| work::list(side, "many", None).await).await?,
    );
    table.row(
        "list all, in pages of 500",
        both(&sides, async |side| work::list(side, "many", Some(500)).await).await?,
    );
    table.row(
        "watch: from sending a write to its event, one watcher",
        both(&sides, async |side| work::watch_latency(side, "few", 1, SAMPLES).await).await?,
    );
    table.row(
        "watch: the same, the last of 100 watchers",
        both(&sides, async |side| work::watch_latency(side, "few", 100, 100).await).await?,
    );
    table.row(
        "memory, with all Drones",
        both(&sides, async |side| side.resident()).await?,
    );
    println!("{table}");
    Ok(())
}

async fn both(
    sides: &[Side; 2],
    mut step: impl AsyncFnMut(&Side) -> anyhow::Result<Figure>,
) -> anyhow::Result<[Figure; 2]> {
    let first = step(&sides[0]).await.context("on kube-apiserver")?;
    let second = step(&sides[1]).await.context("on the embedded API")?;
    Ok([first, second])
}
