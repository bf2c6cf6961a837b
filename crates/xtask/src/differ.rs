//! `cargo xtask differ`: random scripts on real autopilots and on the simulated ones.

use std::path::PathBuf;

use anyhow::Context;
use clap::ValueEnum;
use testkit::autopilots::{Firmware, Stack};
use testkit::differ::{Plan, run as run_plan};

use crate::generate::cargo_as_for_tests;
use crate::say;

#[derive(clap::Args)]
pub struct Args {
    /// Only this autopilot; both without it.
    #[arg(long, value_enum)]
    autopilot: Option<Which>,
    /// How many scripts for each.
    #[arg(long, default_value_t = 20)]
    scripts: u64,
    /// The seed of the first; the others follow.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How much faster than real time; without it 10 for ArduPilot and 5 for PX4.
    #[arg(long)]
    speedup: Option<u32>,
    /// How often a script that differs is run again to shorten it; 0: never.
    #[arg(long, default_value_t = 40)]
    tries: usize,
    /// Which version the simulated autopilot plays: copter-4.6, copter-4.8, px4-1.16 or px4-1.18; by its folder without
    /// it.
    #[arg(long, value_name = "VERSION", requires = "autopilot")]
    firmware: Option<String>,
    /// Saves what the autopilots did in this folder, for `skein-differ --judge`.
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Which {
    #[value(name = "ardupilot")]
    ArduPilot,
    Px4,
}

/// The error: there is a difference.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let mut build = cargo_as_for_tests("build");
    build.args(["--package", "skein-conformance", "--bin", "skein-differ"]);
    anyhow::ensure!(
        build.status().context("cannot start cargo")?.success(),
        "skein-differ does not build"
    );
    let program = testkit::launch::workspace_binary("skein-differ")?;
    let stacks = match args.autopilot {
        None => Stack::ALL.to_vec(),
        Some(Which::ArduPilot) => vec![Stack::ArduPilot],
        Some(Which::Px4) => vec![Stack::Px4],
    };
    let mut differ = 0;
    for stack in stacks {
        let firmware = match Firmware::find(stack) {
            Ok(firmware) => firmware,
            Err(missing) => {
                say::line(&format!("{stack}: skipped: {missing}"));
                continue;
            }
        };
        let plan = Plan {
            scripts: args.scripts,
            seed: args.seed,
            speedup: args.speedup.unwrap_or(match stack {
                Stack::ArduPilot => 10,
                Stack::Px4 => 5,
            }),
            tries: args.tries,
            firmware: args
                .firmware
                .clone()
                .or_else(|| firmware.simulated_version().map(str::to_owned)),
            keep: args.keep.as_ref().map(|folder| folder.join(stack.name())),
        };
        let count = run_plan(&firmware, &program, &plan, &mut |line| {
            say::line(&format!("{stack}: {line}"))
        })?;
        say::line(&format!("{stack}: {count}"));
        differ += count.differ;
    }
    anyhow::ensure!(
        differ == 0,
        "the simulator differs from the real autopilot in {differ} scripts; see above"
    );
    Ok(())
}
