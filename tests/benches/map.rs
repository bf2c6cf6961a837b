//! Benchmark (`cargo xtask bench map`): the page of `skein map` in a real Chromium, with vehicles that all move and
//! report once a second; the page counts the frames.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a benchmark prints, and fails by panicking"
)]

use anyhow::Context;
use crds::Swarm;
use kube::api::{Api, PostParams};
use serde_json::json;
use skein_tests::browser::Page;
use skein_tests::large_fleet::agents;
use skein_tests::large_fleet::herd::Herd;
use skein_tests::large_fleet::place::{Place, Security};
use skein_tests::machine;
use std::time::{Duration, SystemTime};
use testkit::{Launch, ServedBy};

const PATIENCE: Duration = Duration::from_secs(600);

const STREAMS: usize = 25;

fn main() -> anyhow::Result<()> {
    if let Some(ended) = agents::asked() {
        return ended;
    }
    // `cargo bench` and `cargo test --benches` pass flags of their own; only the former measures.
    if !std::env::args().any(|arg| arg == "--bench") {
        return Ok(());
    }
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let short = std::env::args().any(|arg| arg == "--short");
    let (counts, seconds): (&[usize], u64) = if short { (&[100], 5) } else { (&[200, 1_000, 5_000], 20) };
    let runtime = tokio::runtime::Runtime::new()?;
    println!(
        "| vehicles, all of them in the picture | frames/s | CPU time of a frame on the page's thread | of a second of the feed | its share in all | feed | \
         `skein map` | coordinator |\n|---|---|---|---|---|---|---|---|"
    );
    for count in counts {
        println!("{}", runtime.block_on(measure(*count, seconds))?);
    }
    Ok(())
}

async fn measure(count: usize, seconds: u64) -> anyhow::Result<String> {
    let mut place = Place::start(ServedBy::Embedded, count, Security::Plain).await?;
    let coordinator = place.coordinator("127.0.0.1:0")?;
    let herd = Herd::start(&coordinator.address, count, STREAMS, None)?;
    herd.all_since(SystemTime::UNIX_EPOCH, PATIENCE)?;
    let swarm: Swarm = serde_json::from_value(json!({
        "apiVersion": "skein.dev/v1alpha1", "kind": "Swarm", "metadata": {"name": "alpha"}, "spec": {"replicas": count},
    }))?;
    let swarms: Api<Swarm> = Api::namespaced(place.client.clone(), "default");
    swarms.create(&PostParams::default(), &swarm).await?;
    herd.flying(count, PATIENCE)?;

    let map = Launch::workspace("skein")?
        .args(["map", "--no-browser", "--server"])
        .arg(format!("http://{}", coordinator.address))
        .start()?;
    let line = map.wait_for_line(PATIENCE, |line| line.contains("/#token="))?;
    let mut page = Page::start(line.split_whitespace().last().context("no address")?)?;
    page.step(&json!({"step": "open"}))?;
    let cpu = || {
        anyhow::Ok([
            machine::cpu_seconds(map.pid())?,
            machine::cpu_seconds(coordinator.process.pid())?,
        ])
    };
    page.step(&json!({"step": "settle", "vehicles": count}))?;
    let before = cpu()?;
    let spent = page.step(&json!({"step": "measure", "seconds": seconds}))?;
    let after = cpu()?;
    let of = |name: &str| spent[name].as_f64().with_context(|| format!("no {name} in {spent}"));
    let span = of("seconds")?;
    let share = |which: usize| (after[which] - before[which]) / span;
    let (frames, moved) = (of("frames")?, of("moved")?);
    anyhow::ensure!(moved >= count as f64, "only {moved} vehicles moved in the picture");
    Ok(format!(
        "| {count} | {:.1} | {:.1} ms | {:.0} ms | {:.0} % | {:.0} kB/s | {:.2} of a core, {:.0} MiB | {:.2} of a core |",
        frames / span,
        of("drawing")?,
        (of("script")? - of("drawing")? * frames) / span,
        of("busy")? / span / 10.0,
        of("bytes")? / span / 1000.0,
        share(0),
        machine::memory_mib(map.pid())?.0,
        share(1),
    ))
}
