//! `cargo xtask generate`: writes the generated files, or reports which differ from their sources.

use std::process::Command;

use anyhow::Context;
use testkit::control_plane::workspace_root;
use testkit::launch::workspace_binary;
use testkit::{Helm, manifests};

use crate::command;
use crate::venv::Venv;

/// Compares the reference pages with their sources, and writes them where `SKEIN_GENERATE` is set.
const GENERATED_PAGES: &str = "each_generated_page_is_what_its_source_says";

const SDK: Venv = Venv {
    folder: "sdk-venv",
    requirements: "sdk/python/requirements-ci.txt",
};

/// Writes the CRDs first, of which the chart has copies; the models of the SDK quote the reference pages.
pub fn run() -> anyhow::Result<()> {
    let mut crds = cargo_as_for_tests("run");
    crds.args(["--package", "skein-crds", "--bin", "crdgen"]);
    let status = crds.status().context("cannot start cargo")?;
    anyhow::ensure!(status.success(), "the CRDs could not be generated");
    for (path, text) in manifests::generated(&Helm::find_or_build()?)? {
        std::fs::write(workspace_root().join(&path), text).with_context(|| format!("cannot write {path}"))?;
    }
    let mut programs = cargo_as_for_tests("build");
    // The profile of the tests, so that nothing is compiled twice.
    programs.args(["--workspace", "--bins"]);
    command::succeed(programs, "the programs whose help is a page could not be built")?;
    let mut pages = cargo_as_for_tests("test");
    pages.args(["--workspace", "--test", "documents", GENERATED_PAGES]);
    pages.env("SKEIN_GENERATE", "1");
    command::succeed(pages, "the reference pages could not be written")?;
    let mut models = Command::new(SDK.set_up()?);
    models.arg(workspace_root().join("sdk/python/tools/generate.py"));
    command::succeed(models, "the models of the Python SDK could not be written")
}

/// The error: a file differs from what its source gives.
pub fn check() -> anyhow::Result<()> {
    let otherwise = "generated files differ from their sources: run `cargo xtask generate`";
    // The binary of the whole build: `cargo run` would build its dependencies again, with fewer features.
    let status = Command::new(workspace_binary("crdgen")?).arg("--check").status()?;
    anyhow::ensure!(status.success(), otherwise);
    for (path, wanted) in manifests::generated(&Helm::find_or_build()?)? {
        let there = std::fs::read_to_string(workspace_root().join(&path)).unwrap_or_default();
        anyhow::ensure!(there == wanted, "{path}: {otherwise}");
    }
    Ok(())
}

/// The cargo that runs this program, in the workspace's root.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(workspace_root());
    command
}

/// Cargo in the profile of the tests, so that nothing is compiled twice.
pub fn cargo_as_for_tests(subcommand: &str) -> Command {
    let mut command = cargo();
    command.args([subcommand, "--profile", "test", "--quiet"]);
    command
}
