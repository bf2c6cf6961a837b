//! `cargo xtask bench`: figures, measured beside a peer in one run. They take minutes and are no tests.
//!
//! Owns: which benchmarks there are, and building them for speed. Must not: measure; the programs in `tests/benches` do.

use anyhow::Context;
use clap::ValueEnum;

use crate::generate::cargo;
use crate::say;

/// What is measured.
#[derive(clap::Args)]
pub struct Args {
    /// The benchmark.
    #[arg(value_enum)]
    what: What,
}

/// The benchmarks.
#[derive(Clone, Copy, ValueEnum)]
enum What {
    /// Create, update, list, watch and memory with 25,000 Drones: the embedded API beside kube-apiserver with etcd.
    Api,
    /// From a Swarm that is applied to the first arm command on the wire, on both.
    Arm,
}

/// Builds for speed and measures.
pub fn run(args: &Args) -> anyhow::Result<()> {
    say::heading("building for speed");
    let built = cargo()
        .args(["build", "--release", "--workspace", "--bins"])
        .status()
        .context("cannot start cargo")?;
    anyhow::ensure!(built.success(), "the programs do not build; see above");
    let name = match args.what {
        What::Api => "api",
        What::Arm => "arm",
    };
    say::heading("measuring; leave the machine alone");
    let measured = cargo()
        .args(["bench", "--package", "tests", "--bench", name])
        .status()
        .context("cannot start cargo")?;
    anyhow::ensure!(measured.success(), "the benchmark failed; see above");
    Ok(())
}
