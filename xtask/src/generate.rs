//! `cargo xtask generate`: writes the generated files anew.
//!
//! Owns: which generators there are. Must not: generate anything itself.

use std::process::Command;

use anyhow::Context;
use tests::control_plane::workspace_root;

/// Runs every generator.
pub fn run() -> anyhow::Result<()> {
    let status = generator().status().context("cannot start cargo")?;
    anyhow::ensure!(status.success(), "the CRDs could not be generated");
    Ok(())
}

/// The command that writes the CRDs; with `--check` it compares instead.
pub fn generator() -> Command {
    let mut command = cargo();
    command.args(["run", "--quiet", "--package", "crds", "--bin", "crdgen", "--"]);
    command
}

/// The cargo that runs us, in the workspace's root.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(workspace_root());
    command
}
