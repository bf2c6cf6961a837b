//! `cargo xtask bench`: figures, measured beside a peer in one run. They take minutes and are not tests.

use anyhow::Context;
use clap::ValueEnum;

use crate::generate::cargo;
use crate::say;
use crate::test::{map, peers};

/// What is measured.
#[derive(clap::Args)]
pub struct Args {
    /// The benchmark.
    #[arg(value_enum)]
    what: What,
    /// Only as long as it takes to show that it works, for machines that test every change.
    #[arg(long)]
    short: bool,
    /// `fleet`: on a real kube-apiserver instead of the embedded API.
    #[arg(long)]
    kubernetes: bool,
}

/// The benchmarks.
#[derive(Clone, Copy, ValueEnum)]
enum What {
    /// Create, update, list, watch and memory with 25,000 Drones: the embedded API beside kube-apiserver with etcd.
    Api,
    /// From a Swarm that is applied to the first arm command on the wire, on both.
    Arm,
    /// What the agent needs to read an autopilot at PX4's ONBOARD rate, beside MAVProxy; and how many simulated vehicles one
    /// process flies in real time.
    Link,
    /// One coordinator and a large fleet that reports once a second: memory, CPU, the time from `scale` to the assignment on
    /// the wire, writes, and the return of all agents to a new coordinator.
    Fleet,
    /// The page of `skein map` in a real Chromium, with 5,000 vehicles that move: frames, what a frame and a second of the feed cost, and what
    /// the program that serves it needs.
    Map,
}

/// Builds for speed and measures.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let page = matches!(args.what, What::Map);
    if page {
        map::set_up()?;
    }
    say::heading("building for speed");
    let built = cargo()
        .envs(page.then_some(("SKEIN_MAP_PAGE", "require")))
        .args(["build", "--release", "--workspace", "--bins"])
        .status()
        .context("cannot start cargo")?;
    anyhow::ensure!(built.success(), "the programs do not build; see above");
    let name = match args.what {
        What::Api => "api",
        What::Arm => "arm",
        What::Link => "link",
        What::Fleet => "fleet",
        What::Map => "map",
    };
    let mut measuring = cargo();
    measuring.args(["bench", "--package", "skein-tests", "--bench", name]);
    measuring.arg("--");
    if args.short {
        measuring.arg("--short");
    }
    if args.kubernetes {
        measuring.arg("--kubernetes");
    }
    if matches!(args.what, What::Link) {
        measuring.env("SKEIN_TEST_PYTHON", peers::VENV.set_up()?);
    }
    if page {
        measuring.envs(map::environment()).env("SKEIN_MAP_PAGE", "require");
    }
    say::heading("measuring; leave the machine alone");
    let measured = measuring.status().context("cannot start cargo")?;
    anyhow::ensure!(measured.success(), "the benchmark failed; see above");
    Ok(())
}
