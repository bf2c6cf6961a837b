//! `cargo xtask bench`: figures, measured beside a peer in one run. They take minutes and are not tests.

use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::Context;
use clap::ValueEnum;
use testkit::control_plane::workspace_root;

use crate::generate::cargo;
use crate::say;
use crate::test::{map, peers};
use crate::venv::Venv;

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

#[derive(Clone, Copy, ValueEnum)]
enum What {
    /// Create, update, list, watch and memory with 25,000 Drones: the embedded API beside kube-apiserver with etcd.
    Api,
    /// From a Swarm that is applied to the first arm command on the wire, on both.
    Arm,
    /// What the agent needs to read an autopilot at PX4's ONBOARD rate, beside MAVProxy; and how many simulated
    /// vehicles one process flies in real time.
    Link,
    /// One coordinator and a large fleet that reports once a second: memory, CPU, the time from `scale` to the
    /// assignment on the wire, writes, and the return of all agents to a new coordinator.
    Fleet,
    /// The page of `skein map` in a real Chromium, with 5,000 vehicles that move: frames, what a frame and a second of
    /// the feed cost, and what the program that serves it needs.
    Map,
    /// How surveys of 200 fields are flown, beside the shortest ways that OR-Tools finds with Shapely: length,
    /// coverage, time.
    Survey,
    /// Nine namespaces beside one whose Missions take long to plan, on both APIs, with the coordinator on all CPUs and on
    /// one: the time to suspend, delete, ground and edit, and the renewals of the Lease.
    Tenants,
}

const SURVEYS: Venv = Venv {
    folder: "surveys-venv",
    requirements: "tests/surveys/requirements.txt",
};

pub fn run(args: &Args) -> anyhow::Result<()> {
    if matches!(args.what, What::Survey) {
        return survey(args.short);
    }
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
        What::Survey => "survey",
        What::Tenants => "tenants",
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

fn survey(short: bool) -> anyhow::Result<()> {
    let python = SURVEYS.set_up()?;
    let (fields, seconds) = if short { ("8", "0.5") } else { ("200", "2") };
    say::heading("planning");
    let mut planning = cargo();
    planning.args([
        "bench",
        "--package",
        "skein-fleet",
        "--bench",
        "fields",
        "--",
        "--fields",
        fields,
    ]);
    let planned = planning
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    anyhow::ensure!(planned.status.success(), "the benchmark failed; see above");
    say::heading("finding the shortest ways");
    let script = workspace_root().join("tests/surveys/shortest.py");
    let mut finding = Command::new(python);
    finding
        .arg("-B")
        .arg(script)
        .args(["--seconds", seconds])
        .stdin(Stdio::piped());
    let mut finding = finding.spawn().context("cannot start Python")?;
    let mut input = finding.stdin.take().context("Python has no input")?;
    input.write_all(&planned.stdout)?;
    drop(input);
    anyhow::ensure!(finding.wait()?.success(), "no ways were found; see above");
    Ok(())
}
