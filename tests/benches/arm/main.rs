//! Benchmark (`cargo xtask bench arm`): from applying a Swarm to the first arm command in the simulator's wire log,
//! with vehicle and agent ready: `skein up` beside a coordinator on a real kube-apiserver, alternately.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a benchmark prints, and fails by panicking"
)]

mod side;

use side::Side;
use skein_tests::figures::{milliseconds, percentile};
use std::time::Duration;

const SAMPLES: usize = 30;

fn main() -> anyhow::Result<()> {
    // `cargo bench` and `cargo test --benches` pass flags of their own; only the former measures.
    if !std::env::args().any(|arg| arg == "--bench") {
        return Ok(());
    }
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let names: Vec<String> = (1..=SAMPLES).map(|number| format!("vehicle-{number:02}")).collect();
    println!("Swarm applied → first arm command on the wire, {SAMPLES} samples each, ms\n");
    println!("| | minimum | p50 | p99 | maximum |\n| --- | --- | --- | --- | --- |");
    let mut ratios = Vec::new();
    for autopilot in ["px4", "ardupilot"] {
        ratios.push((autopilot, measure(autopilot, &names)?));
    }
    for (autopilot, ratio) in ratios {
        println!("\nratio of the medians, {autopilot}, embedded / kube-apiserver: {ratio:.2}");
    }
    Ok(())
}

fn measure(autopilot: &str, names: &[String]) -> anyhow::Result<f64> {
    let sides = [Side::kubernetes(names, autopilot)?, Side::embedded(names, autopilot)?];
    for side in &sides {
        side.wait_until_ready(SAMPLES)?;
    }
    let mut times: [Vec<Duration>; 2] = Default::default();
    for sample in 0..SAMPLES {
        for (side, times) in sides.iter().zip(&mut times) {
            let took = side.apply_and_wait_for_arm(sample)?;
            eprintln!("{}: {} ms", side.name(), milliseconds(took));
            times.push(took);
        }
    }
    for (side, times) in sides.iter().zip(&times) {
        let row = [1, 50, 99, 100].map(|percent| milliseconds(percentile(times, percent)));
        println!("| {autopilot}, {} | {} |", side.name(), row.join(" | "));
    }
    let [first, second] = times.each_ref().map(|times| percentile(times, 50).as_secs_f64());
    Ok(second / first)
}
