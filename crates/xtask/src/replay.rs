//! `cargo xtask replay`: recordings of real autopilots against the simulator.

use std::path::PathBuf;

use anyhow::Context;

use crate::generate::cargo_as_for_tests;

#[derive(clap::Args)]
pub struct Args {
    /// Folders with NAME.tlog and NAME.jsonl files.
    #[arg(required = true, value_name = "FOLDER")]
    folders: Vec<PathBuf>,
}

/// The error: the simulator differs.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let mut command = cargo_as_for_tests("run");
    command.args(["--package", "skein-conformance", "--bin", "skein-replay", "--"]);
    for folder in &args.folders {
        // Cargo runs in the workspace's root.
        command.arg(std::path::absolute(folder)?);
    }
    let status = command.status().context("cannot start cargo")?;
    anyhow::ensure!(status.success(), "the simulator differs from the recordings; see above");
    Ok(())
}
