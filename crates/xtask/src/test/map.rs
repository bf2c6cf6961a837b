//! Needs of the test of the map's page: Chromium, and the library that drives it, pinned in tests/map.

use std::path::PathBuf;
use std::process::Command;

use testkit::prerequisites;

use crate::generate::{cargo, cargo_as_for_tests};
use crate::node_packages::NodePackages;
use crate::{command, say};

const PACKAGES: NodePackages = NodePackages {
    folder: "map-node",
    lists: "tests/map",
};

/// Names of the browser: Debian's, then those of other systems.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

pub fn environment() -> [(&'static str, PathBuf); 2] {
    [
        ("SKEIN_TEST_MAP_NODE", PACKAGES.place()),
        ("SKEIN_TEST_CHROMIUM", browser().unwrap_or_default()),
    ]
}

fn browser() -> Option<PathBuf> {
    let named = std::env::var_os("SKEIN_TEST_CHROMIUM").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let there = |name: &&str| {
        let mut files = std::env::split_paths(&path).map(|folder| folder.join(name));
        files.find(|file| file.is_file())
    };
    named.or_else(|| BROWSERS.iter().find_map(there))
}

pub fn set_up() -> anyhow::Result<()> {
    PACKAGES.set_up()?;
    if browser().is_none() {
        let root = nix::unistd::geteuid().is_root() && prerequisites::answer("apt-get", &["--version"]).is_some();
        anyhow::ensure!(
            root,
            "Chromium is missing, which shows the page of the map in a test: install your distribution's package `chromium`, or name \
             one with SKEIN_TEST_CHROMIUM"
        );
        say::note("installing Debian's package chromium");
        let mut apt = Command::new("apt-get");
        apt.args(["install", "--yes", "--quiet", "--no-install-recommends", "chromium"])
            .env("DEBIAN_FRONTEND", "noninteractive");
        command::succeed(
            apt,
            "Chromium could not be installed; see above (`apt-get update` may help)",
        )?;
        anyhow::ensure!(browser().is_some(), "Chromium was installed and does not start");
    }
    Ok(())
}

/// Runs the test alone, with a program that has the page.
pub fn run() -> anyhow::Result<()> {
    let mut build = cargo_as_for_tests("build");
    build
        .args(["--package", "skein-cli", "--package", "skein-sitl"])
        .env("SKEIN_MAP_PAGE", "require");
    command::succeed(build, "skein does not build with the page of its map; see above")?;
    let mut test = cargo();
    test.args(["test", "--package", "skein-tests", "--test", "map", "--", "--nocapture"])
        .env("SKEIN_MAP_PAGE", "require")
        .envs(environment());
    command::succeed(test, "the map fails; see above")
}
