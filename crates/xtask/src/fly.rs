//! `cargo xtask fly`: Skein with real autopilots, ArduCopter and PX4.
//!
//! Owns: starting the scenarios, and the message when there is no autopilot. Must not: judge; `tests/tests/fly` does, by
//! the messages on the wire.

use std::process::ExitCode;

use anyhow::Context;
use clap::ValueEnum;
use testkit::autopilots::{Firmware, Stack};

use crate::generate::{cargo, cargo_as_for_tests};
use crate::say;
use crate::test::{compile, peers};

/// The exit status when a scenario was not flown because its autopilot is missing; 1 means that a scenario failed.
const NO_AUTOPILOT: u8 = 2;

/// What is flown.
#[derive(clap::Args)]
pub struct Args {
    /// Names of scenarios, or parts of names; all if there is none.
    #[arg(value_name = "SCENARIO")]
    scenarios: Vec<String>,
    /// With this autopilot only.
    #[arg(long, value_enum)]
    autopilot: Option<Autopilot>,
    /// How much faster than real time. A scenario with times on the real clock is flown no faster than it can be judged.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10))]
    speedup: u32,
    /// Lists the scenarios and what each shows.
    #[arg(long)]
    list: bool,
}

/// An autopilot, on the command line.
#[derive(Clone, Copy, ValueEnum)]
enum Autopilot {
    Ardupilot,
    Px4,
}

impl From<Autopilot> for Stack {
    fn from(autopilot: Autopilot) -> Self {
        match autopilot {
            Autopilot::Ardupilot => Self::ArduPilot,
            Autopilot::Px4 => Self::Px4,
        }
    }
}

/// Flies them and prints the table.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let wanted = args
        .autopilot
        .map_or(Stack::ALL.to_vec(), |autopilot| vec![autopilot.into()]);
    let missing: Vec<_> = wanted.iter().filter_map(|stack| Firmware::find(*stack).err()).collect();
    if !args.list && missing.len() == wanted.len() {
        for missing in missing {
            say::error(&missing.to_string());
        }
        return Ok(ExitCode::from(NO_AUTOPILOT));
    }
    if !args.list {
        say::heading("building");
        // As the tests build it: what they have compiled is not compiled again.
        let mut build = cargo_as_for_tests("build");
        build
            .args(["--workspace", "--bins", "--test", "fly"])
            .envs(compile::as_clippy()?);
        let built = build.status()?;
        anyhow::ensure!(built.success(), "the programs do not build; see above");
    }
    let mut command = cargo();
    command.args(["test", "--quiet", "--workspace", "--test", "fly", "--", "--fly"]);
    command.envs(compile::as_clippy()?);
    if !args.list {
        match peers::VENV.set_up() {
            Ok(python) => drop(command.env("SKEIN_TEST_PYTHON", python)),
            Err(error) => say::note(&format!("scenarios with other ground stations will fail: {error:#}")),
        }
    }
    for stack in wanted {
        command.args(["--autopilot", stack.name()]);
    }
    command
        .args(["--speedup", &args.speedup.to_string()])
        .args(args.list.then_some("--list"))
        .args(&args.scenarios);
    let status = command.status().context("cannot start cargo")?;
    Ok(match (status.success(), missing.is_empty()) {
        (false, _) => ExitCode::FAILURE,
        (true, false) if !args.list => ExitCode::from(NO_AUTOPILOT),
        (true, _) => ExitCode::SUCCESS,
    })
}
