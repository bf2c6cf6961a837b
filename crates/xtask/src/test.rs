//! `cargo xtask test`: everything that must pass before a change is merged.
//!
//! Owns: the steps, and which of them run in parallel. Must not: skip one in silence.
//!
//! ```text
//! tools ─┬─ Python and JavaScript packages, control plane ────────┐
//!        └─ formatting, one build with clippy, generated files ─┬─┴─ tests that need those
//!                                                               ├─── all other tests
//!                                                               └─── documentation, in the time that tests leave
//! ```

mod clients;
pub mod compile;
pub mod map;
mod needs;
pub mod peers;
mod python;
mod run;
mod tools;

use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Instant;

use anyhow::Context;
use clap::ValueEnum;
use compile::TestProgram;
use testkit::control_plane::{Binaries, workspace_root};
use testkit::nodes::why_not;

use crate::generate::{self, cargo};
use crate::{command, dependencies, release, say};

#[derive(clap::Args)]
pub struct Args {
    /// Runs these steps only.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "STEP")]
    only: Vec<Step>,
    /// Leaves out the test programs that need a control plane, vehicles in real time or more than some seconds.
    #[arg(long, conflicts_with = "only")]
    quick: bool,
    /// Runs only test programs (`crate/program`) of which the name contains one of these.
    #[arg(long, value_name = "PART")]
    program: Vec<String>,
    /// Arguments for `cargo test` after `--`, such as `-- --package skein-tests --test control_plane`: the tests are
    /// then run by cargo, one program after the other.
    #[arg(last = true, value_name = "CARGO TEST ARGUMENTS")]
    cargo_test: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Step {
    /// The tools that the machine needs.
    Tools,
    /// Formatting.
    Fmt,
    /// Python peers (pymavlink, MAVSDK) in target/peers-venv.
    Peers,
    /// Kubernetes clients for Python and JavaScript and MCP servers in target/clients-venv and target/clients-node, an
    /// object store in target/object-store.
    Clients,
    /// The page of `skein map` in a real Chromium: the browser (Debian's package) and what drives it in
    /// target/map-node, and, with `--only map`, that test alone.
    Map,
    /// The Kubernetes control plane in the per-user cache; the programs of real nodes too, where nodes can run.
    Cluster,
    /// Programs, tests and benches, compiled once, by clippy with warnings denied.
    Build,
    /// Generated files match their sources.
    Generated,
    /// The chart as a release packs it, linted and rendered by Helm.
    Chart,
    /// Documentation of the code, with warnings denied.
    Docs,
    /// Licences, duplicates and sources of the dependencies, by cargo-deny.
    Dependencies,
    /// The site of the documents, with each link, and llms.txt.
    Site,
    /// All tests, in parallel.
    Tests,
    /// The SDK for Python: models, types, style, and its tests with simulated fleets.
    Python,
}

impl Args {
    fn wants(&self, step: Step) -> bool {
        let quick = !self.quick || matches!(step, Step::Tools | Step::Fmt | Step::Build | Step::Tests);
        quick && (self.only.is_empty() || self.only.contains(&step))
    }
}

/// The first failure ends the run, but tests that can still run do.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let start = Instant::now();
    if args.wants(Step::Tools) {
        step("tools of this machine", tools::check)?;
    }
    let set_up = set_up_beside(args);
    if args.wants(Step::Fmt) {
        step("formatting", formatting)?;
    }
    let programs = if !args.cargo_test.is_empty() {
        Vec::new()
    } else if args.wants(Step::Build) || args.wants(Step::Tests) {
        step("programs and tests, with clippy", compile::run)?
    } else {
        Vec::new()
    };
    if args.only.contains(&Step::Map) && !args.wants(Step::Tests) {
        anyhow::ensure!(set_up.recv().unwrap_or(false), "not all could be set up; see above");
        step("map", map::run)?;
        say::heading(&format!("passed in {}", say::duration(start.elapsed())));
        return Ok(());
    }
    if args.wants(Step::Generated) {
        step("generated files", generate::check)?;
    }
    if args.wants(Step::Chart) {
        step("packed chart", release::chart::check)?;
    }
    let docs = args.wants(Step::Docs).then(documentation_beside);
    let tested = if args.wants(Step::Tests) {
        step("tests", || tests(args, &programs, (&set_up, docs.as_ref())))
    } else {
        set_up
            .recv()
            .unwrap_or(false)
            .then_some(())
            .context("not all could be set up; see above")
    };
    if tested.is_ok() && args.wants(Step::Python) {
        step("SDK for Python", python::sdk)?;
    }
    let documented = docs.is_none_or(|docs| docs.join().unwrap_or(false));
    tested?;
    anyhow::ensure!(documented, "the documentation of the code; see above");
    if args.wants(Step::Dependencies) {
        step("dependencies", dependencies::check)?;
    }
    say::heading(&format!("passed in {}", say::duration(start.elapsed())));
    if let Some(why) = why_not().filter(|_| args.wants(Step::Tests)) {
        say::note(&format!("skipped: the tests on real nodes (tests/nodes.rs). {why}"));
    }
    Ok(())
}

fn step<T>(title: &str, run: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    say::heading(title);
    let begun = Instant::now();
    let done = run().with_context(|| title.to_owned())?;
    say::note(&format!("{title}: done in {}", say::duration(begun.elapsed())));
    Ok(done)
}

fn formatting() -> anyhow::Result<()> {
    let mut command = cargo();
    command.args(["fmt", "--all", "--check"]);
    command::succeed(command, "formatting differs: run `cargo fmt`")
}

/// Writes the documentation at a lower priority than the tests; the result: it has no warnings.
fn documentation_beside() -> JoinHandle<bool> {
    std::thread::spawn(|| {
        let mut command = std::process::Command::new("nice");
        command
            .args(["-n", "19"])
            .arg(cargo().get_program())
            .args(["doc", "--workspace", "--no-deps", "--quiet", "--profile", "test"])
            .current_dir(workspace_root())
            .env("RUSTDOCFLAGS", "-D warnings");
        said(
            "documentation of the code",
            command::succeed(command, "it has warnings; see above"),
        )
    })
}

/// Sets up packages and control plane on separate threads; the channel receives whether all of it succeeded.
fn set_up_beside(args: &Args) -> Receiver<bool> {
    let (done, results) = channel();
    let steps = [
        Step::Peers,
        Step::Clients,
        Step::Map,
        Step::Cluster,
        Step::Dependencies,
        Step::Site,
    ];
    let [peers, clients, map, cluster, dependencies, site] = steps.map(|step| args.wants(step));
    std::thread::spawn(move || {
        let packages = std::thread::spawn(move || {
            let peers = !peers || said("Python peers", peers::VENV.set_up().map(drop));
            let clients = !clients || said("Kubernetes clients and object store", clients::set_up());
            let map = !map || said("Chromium and what drives it", map::set_up());
            let dependencies = !dependencies || said("cargo-deny", dependencies::set_up());
            let site = !site || said("site of the documents", python::site());
            peers && clients && map && dependencies && site
        });
        let cluster = !cluster || said("Kubernetes control plane", control_plane());
        let _ = done.send(packages.join().unwrap_or(false) && cluster);
    });
    results
}

fn control_plane() -> anyhow::Result<()> {
    Binaries::find_or_build()?;
    if why_not().is_none() {
        Binaries::find_or_build_for_nodes()?;
    }
    Ok(())
}

fn said(title: &str, done: anyhow::Result<()>) -> bool {
    match done {
        Ok(()) => say::note(&format!("{title}: there")),
        Err(ref error) => say::error(&format!("{title}: {error:#}")),
    }
    done.is_ok()
}

fn tests(
    args: &Args,
    programs: &[TestProgram],
    (set_up, docs): (&Receiver<bool>, Option<&JoinHandle<bool>>),
) -> anyhow::Result<()> {
    let mut env = vec![
        ("SKEIN_TEST_PYTHON", peers::VENV.python()),
        ("SKEIN_TEST_CLIENTS_PYTHON", clients::VENV.python()),
        ("SKEIN_TEST_CLIENTS_NODE", clients::NODE.place()),
        ("SKEIN_TEST_OBJECT_STORE", clients::OBJECT_STORE.place()),
    ];
    env.extend(map::environment());
    if args.cargo_test.is_empty() {
        env.extend(compile::as_clippy()?);
        let named = |name: &str| args.program.is_empty() || args.program.iter().any(|part| name.contains(part));
        let chosen = |program: &TestProgram| {
            let name = format!("{}/{}", program.package, program.target);
            named(&name) && (!args.quick || needs::is_quick(program))
        };
        return run::run(
            programs,
            chosen,
            &env,
            &workspace_root().join("target/test-logs"),
            (set_up, docs),
        );
    }
    anyhow::ensure!(set_up.recv().unwrap_or(false), "not all could be set up; see above");
    let mut command = cargo();
    command.arg("test");
    // One failed test must not hide others.
    if !args.cargo_test.iter().any(|arg| arg == "--no-fail-fast") {
        command.arg("--no-fail-fast");
    }
    if !args
        .cargo_test
        .iter()
        .any(|arg| arg == "-p" || arg.starts_with("--package"))
    {
        command.arg("--workspace");
    }
    command.args(&args.cargo_test).envs(env);
    command::succeed(command, "tests failed; see above")
}
