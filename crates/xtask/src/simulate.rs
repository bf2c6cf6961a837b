//! `cargo xtask simulate`: coordinators, agents and the network between them, under thousands of seeds.
//!
//! Owns: starting the long run. Must not: judge; `tests/tests/network` does, and prints how to run a failing seed alone.

use anyhow::Context;

use crate::generate::cargo;
use crate::say;

/// The seeds to run.
#[derive(clap::Args)]
pub struct Args {
    /// The number of seeds.
    #[arg(default_value_t = 2000, value_name = "SEEDS")]
    seeds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 0, value_name = "SEED")]
    from: u64,
}

/// Runs them all; an error when one fails.
pub fn run(args: &Args) -> anyhow::Result<()> {
    say::heading(&format!("{} seeds from {} on", args.seeds, args.from));
    let mut command = cargo();
    // Thousands of seeds justify an optimized build; the seeds of every test run have the debug build's checks.
    command.args([
        "test",
        "--release",
        "--package",
        "skein-tests",
        "--test",
        "network",
        "--",
        "no_disorder",
    ]);
    command.env("SKEIN_SEEDS", args.seeds.to_string());
    command.env("SKEIN_FROM", args.from.to_string());
    let status = command.status().context("cannot start cargo")?;
    anyhow::ensure!(
        status.success(),
        "a seed fails; the command that runs it alone is above"
    );
    Ok(())
}
