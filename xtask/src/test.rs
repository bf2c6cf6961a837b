//! `cargo xtask test`: everything that must pass before a change goes in, in the order in which it fails fastest.
//!
//! Owns: the steps and their order. Must not: skip one in silence.

mod clients;
pub mod peers;
mod tools;
pub mod venv;

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use anyhow::Context;
use clap::ValueEnum;
use tests::control_plane::Binaries;
use tests::nodes::why_not;

use crate::generate::{self, cargo};
use crate::say;

/// The whole run, unless a developer asks for some of it.
#[derive(clap::Args)]
pub struct Args {
    /// Runs these steps only, in their usual order.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "STEP")]
    only: Vec<Step>,
    /// Arguments for `cargo test` after `--`, such as `-- --package tests --test control_plane`.
    #[arg(last = true, value_name = "CARGO TEST ARGUMENTS")]
    cargo_test: Vec<String>,
}

/// One step.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Step {
    /// What the machine must have.
    Tools,
    /// Formatting.
    Fmt,
    /// Python peers (pymavlink, MAVSDK) in target/peers-venv.
    Peers,
    /// Kubernetes clients for Python and JavaScript in target/clients-venv and target/clients-node.
    Clients,
    /// The Kubernetes control plane in the per-user cache; the programs of real nodes too, where nodes can run.
    Cluster,
    /// Clippy with warnings denied.
    Clippy,
    /// Generated files are as their sources say.
    Generated,
    /// All programs.
    Build,
    /// All tests.
    Tests,
}

impl Step {
    fn title(self) -> &'static str {
        match self {
            Self::Tools => "tools of this machine",
            Self::Fmt => "formatting",
            Self::Peers => "Python peers",
            Self::Clients => "Kubernetes clients",
            Self::Cluster => "Kubernetes control plane",
            Self::Clippy => "clippy, warnings denied",
            Self::Generated => "generated files",
            Self::Build => "programs",
            Self::Tests => "tests",
        }
    }

    fn run(self, args: &Args) -> anyhow::Result<()> {
        match self {
            Self::Tools => tools::check(),
            Self::Fmt => {
                let mut command = cargo();
                command.args(["fmt", "--all", "--check"]);
                check(command, "formatting differs: run `cargo fmt`")
            }
            Self::Peers => peers::VENV
                .set_up()
                .map(|python| say::note(&format!("{}", python.display()))),
            Self::Clients => clients::set_up(),
            Self::Cluster => {
                say::note(&format!("{}", Binaries::find_or_build()?.folder().display()));
                if why_not().is_none() {
                    say::note(&format!("{}", Binaries::find_or_build_for_nodes()?.folder().display()));
                }
                Ok(())
            }
            Self::Clippy => {
                let mut command = cargo();
                command.args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]);
                check(command, "clippy has remarks; see above")
            }
            Self::Generated => generate::check(),
            Self::Build => {
                let mut command = cargo();
                command.args(["build", "--workspace", "--bins"]);
                check(command, "the programs do not build; see above")
            }
            Self::Tests => {
                let mut command = cargo();
                command.arg("test");
                // One red test hides no other.
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
                command
                    .args(&args.cargo_test)
                    .env("SKEIN_TEST_PYTHON", peers::VENV.python())
                    .env("SKEIN_TEST_CLIENTS_PYTHON", clients::VENV.python())
                    .env("SKEIN_TEST_CLIENTS_NODE", clients::node_folder());
                check(command, "tests failed; see above")
            }
        }
    }
}

/// Runs the steps and stops at the first that fails.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let chosen = |step: &Step| args.only.is_empty() || args.only.contains(step);
    let steps: Vec<Step> = Step::value_variants().iter().copied().filter(chosen).collect();
    let start = Instant::now();
    for (index, step) in steps.iter().enumerate() {
        let title = format!("[{}/{}] {}", index + 1, steps.len(), step.title());
        say::heading(&title);
        let begun = Instant::now();
        step.run(args).with_context(|| step.title().to_owned())?;
        say::note(&format!("done in {}", say::duration(begun.elapsed())));
    }
    say::heading(&format!("passed in {}", say::duration(start.elapsed())));
    if let Some(why) = why_not().filter(|_| steps.contains(&Step::Tests)) {
        say::note(&format!("skipped: the tests on real nodes (tests/nodes.rs). {why}"));
    }
    Ok(())
}

fn check(mut command: Command, otherwise: &str) -> anyhow::Result<()> {
    let program = PathBuf::from(command.get_program());
    let status = command
        .status()
        .with_context(|| format!("cannot start {}", program.display()))?;
    anyhow::ensure!(status.success(), "{otherwise}");
    Ok(())
}
