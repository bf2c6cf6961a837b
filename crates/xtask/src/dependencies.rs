//! Checks of the dependencies by cargo-deny and deny.toml, and of the licenses of the page's npm packages by its
//! lockfile.

use std::path::PathBuf;

use testkit::control_plane::cache_root;

use crate::command;
use crate::generate::cargo;
use crate::image::page;
use crate::say;

const VERSION: &str = "0.20.2";

fn folder() -> anyhow::Result<PathBuf> {
    Ok(cache_root()?.join("cargo-deny").join(VERSION))
}

pub fn program() -> anyhow::Result<PathBuf> {
    Ok(folder()?.join("bin/cargo-deny"))
}

/// Compiles cargo-deny without optimization, as it runs for a second.
pub fn set_up() -> anyhow::Result<()> {
    let folder = folder()?;
    if program()?.is_file() {
        return Ok(());
    }
    say::note(&format!("making {} (cargo-deny {VERSION})", folder.display()));
    let mut command = cargo();
    command.args([
        "install",
        "--debug",
        "--locked",
        "--no-default-features",
        "--quiet",
        "--force",
    ]);
    command.arg("--root").arg(&folder).arg(format!("cargo-deny@{VERSION}"));
    command::succeed(command, "cargo-deny cannot be installed")
}

pub fn check() -> anyhow::Result<()> {
    page::check(testkit::control_plane::workspace_root())?;
    set_up()?;
    let mut command = std::process::Command::new(program()?);
    command.current_dir(testkit::control_plane::workspace_root());
    command.args([
        "--all-features",
        "check",
        "--hide-inclusion-graph",
        "licenses",
        "bans",
        "sources",
    ]);
    command::succeed(
        command,
        "a dependency is not allowed: change it, or deny.toml with the reason",
    )
}
