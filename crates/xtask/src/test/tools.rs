//! Tools that the machine needs for the tests, and how to get missing ones.

use testkit::control_plane::{Binaries, workspace_root};
use testkit::prerequisites::{self, Missing};

use super::clients;
use crate::generate::cargo;
use crate::{say, venv};

const PYTHON: &str = "it runs the tests against pymavlink, MAVSDK and the Kubernetes client for Python";

/// GiB of a build from nothing, with all that the tests set up.
const ROOM: u64 = 16;

pub fn check() -> anyhow::Result<()> {
    if let Some(text) = little_room() {
        say::note(&text);
    }
    let found = [
        cargo_tool("fmt", "rustfmt"),
        cargo_tool("clippy", "clippy"),
        c_compiler(),
        Binaries::check_tools(),
        venv::check_tools(PYTHON),
        clients::check_tools(),
        prerequisites::setpriv().map(|()| None),
    ];
    let mut missing = Vec::new();
    for result in found {
        match result {
            Ok(Some(text)) => say::note(&text),
            Ok(None) => {}
            Err(tool) => missing.push(tool.to_string()),
        }
    }
    anyhow::ensure!(missing.is_empty(), "{}", missing.join("\n       "));
    Ok(())
}

/// A full disk makes tests fail that passed before, and seldom in plain words.
fn little_room() -> Option<String> {
    let root = workspace_root();
    let disk = nix::sys::statvfs::statvfs(root).ok()?;
    let free = (disk.blocks_available() * disk.fragment_size()) >> 30;
    let little = free < ROOM && !root.join("target/debug").exists();
    little.then(|| format!("{free} GiB are free on this disk; a build from nothing with all tests takes {ROOM}"))
}

fn cargo_tool(subcommand: &str, component: &str) -> Result<Option<String>, Missing> {
    let program = cargo().get_program().to_owned();
    let get = format!("`rustup component add {component}`, or your distribution's package");
    prerequisites::answer(&program, &[subcommand, "--version"])
        .map(Some)
        .ok_or_else(|| Missing::tool(component, "it checks the Rust code", &get))
}

fn c_compiler() -> Result<Option<String>, Missing> {
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let first_line = |text: String| text.lines().next().map(str::to_owned);
    prerequisites::answer(&compiler, &["--version"])
        .map(first_line)
        .ok_or_else(|| {
            let get = "your distribution's package `gcc` or `build-essential`, or Xcode's command line tools";
            Missing::tool("a C compiler", "parts of the TLS library are written in C", get)
        })
}
