//! The commands of README, tutorials, concepts and how-to guides, run unchanged, on a ground station with simulated vehicles.
//!
//! Owns: which pages are run, and the state before. Must not: change a command except for names that a reader has to fill in.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    dead_code,
    reason = "test helpers outside of #[test] functions; field and wire have more than is used here"
)]

#[path = "up/field.rs"]
mod field;
#[path = "e2e/wire.rs"]
mod wire;

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use field::{Field, PATIENCE};
use serde_json::json;
use testkit::control_plane::workspace_root;
use testkit::launch::workspace_binary;
use testkit::{Scratch, wait_for};

const VEHICLES: [&str; 3] = ["alpha", "bravo", "charlie"];

/// Pages whose commands need a Swarm `alpha`, and nothing in the air.
const ON_THE_GROUND: [&str; 7] = [
    "docs/concepts/drone.md",
    "docs/concepts/ground-orders.md",
    "docs/how-to/choose-the-coordinator.md",
    "docs/how-to/enroll-an-agent.md",
    "docs/how-to/set-up-autopilot-failsafes.md",
    "docs/how-to/sign-mavlink.md",
    "docs/tutorial/bench.md",
];

/// Pages whose commands are for vehicles that fly, and the Swarm that they name. The last one leaves vehicles granted to others.
const IN_FLIGHT: [(&str, &str); 7] = [
    ("docs/how-to/ground-the-fleet.md", "alpha"),
    ("docs/how-to/take-a-vehicle-out-of-service.md", "alpha"),
    ("docs/how-to/change-a-swarm.md", "alpha"),
    ("docs/tutorial/laptop.md", "demo"),
    ("docs/how-to/rotate-batteries.md", "alpha"),
    ("README.md", "alpha"),
    ("docs/how-to/grant-vehicles.md", "alpha"),
];

/// Commands that run until a person ends them, and those of other tests.
const LEFT_OUT: [&str; 5] = ["skein watch", "skein up", "kubectl get drones -w", "cargo ", "sudo "];

/// The deadline of one command; some wait for vehicles.
const WITHIN: Duration = Duration::from_secs(310);

#[test]
fn each_command_does_what_its_page_says() -> anyhow::Result<()> {
    let mut field = Field::with(&VEHICLES, "mixed")?;
    field.start_up(&VEHICLES)?;
    for vehicle in VEHICLES {
        field.wait_readiness(vehicle, "True", "AgentConnected")?;
    }
    let reader = Reader::new(&field)?;
    apply_swarm(&field, "alpha", true)?;
    for page in ON_THE_GROUND {
        reader.follow(&field, page)?;
        // What a page has released is grounded again before the next page can make it take off.
        apply_swarm(&field, "alpha", true)?;
    }
    for (page, swarm) in IN_FLIGHT {
        field.kubectl().run(["delete", "swarms,drones", "--all"])?;
        field.wait_in_air(&[])?;
        apply_swarm(&field, swarm, false)?;
        field.wait_ready(swarm)?;
        reader.follow(&field, page)?;
    }
    field.end_up().map(drop)
}

/// A Swarm of two, with the label that the pages select by.
fn apply_swarm(field: &Field, name: &str, grounded: bool) -> anyhow::Result<()> {
    let swarm = json!({
        "apiVersion": "skein.dev/v1alpha1", "kind": "Swarm",
        "metadata": {"name": name, "namespace": "default", "labels": {"site": "north"}},
        "spec": {"replicas": 2, "grounded": grounded},
    });
    field.kubectl().apply(&swarm.to_string()).map(drop)
}

/// A person with a shell, a home and the programs on the PATH.
struct Reader {
    scratch: Scratch,
}

impl Reader {
    fn new(field: &Field) -> anyhow::Result<Self> {
        let scratch = Scratch::new("skein-reader-")?;
        let reader = Self { scratch };
        let programs = reader.scratch.folder("programs")?;
        std::fs::create_dir_all(reader.own_programs())?;
        symlink(field.kubectl().binary(), programs.join("kubectl"))?;
        // With a kubeconfig, too, it would have to ask which of the two is meant.
        let skein = workspace_binary("skein")?;
        let script = format!("#!/bin/sh\nunset KUBECONFIG\nexec '{}' \"$@\"\n", skein.display());
        let file = programs.join("skein");
        std::fs::write(&file, script)?;
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755))?;
        // The same program, as it is called in a clone.
        let built = reader.home().join("target/debug");
        std::fs::create_dir_all(&built)?;
        symlink(&file, built.join("skein"))?;
        symlink(workspace_root().join("examples"), reader.home().join("examples"))?;
        Ok(reader)
    }

    fn home(&self) -> PathBuf {
        self.scratch.path().join("home")
    }

    fn own_programs(&self) -> PathBuf {
        self.home().join(".local/bin")
    }

    /// Runs the commands of a page, one after the other.
    fn follow(&self, field: &Field, page: &str) -> anyhow::Result<()> {
        let text = std::fs::read_to_string(workspace_root().join(page))?;
        let mut run = 0;
        for line in commands(&text) {
            let line = line.replace("NAME", &a_drone(field)?);
            let output = testkit::run::output(self.shell(field, &line), None, WITHIN)?;
            let said = String::from_utf8_lossy(&output.stderr);
            ensure!(output.status.success(), "{page}: `{line}` failed: {said}");
            run += 1;
        }
        ensure!(run > 0, "{page} has no command");
        Ok(())
    }

    fn shell(&self, field: &Field, line: &str) -> Command {
        let path = [self.scratch.path().join("programs"), self.own_programs()];
        let path = path.map(|folder| folder.display().to_string()).join(":");
        let mut shell = Command::new("/bin/sh");
        shell
            .args(["-euc", line])
            .current_dir(self.home())
            .env("PATH", format!("{path}:/usr/local/bin:/usr/bin:/bin"))
            .env("HOME", self.home())
            .env("KUBECONFIG", field.kubectl().kubeconfig())
            .env("KUBERC", "off")
            .env("SKEIN_STATION", field.data());
        shell
    }
}

/// The name of a Drone, for a reader who has to fill one in.
fn a_drone(field: &Field) -> anyhow::Result<String> {
    wait_for("a Drone", PATIENCE, || {
        let drones = field.drones()?;
        let [name, ..] = drones.first().context("there is none")?;
        Ok(name.clone())
    })
}

/// The lines of a page's shell blocks, without those that are left out.
fn commands(text: &str) -> Vec<String> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in text.lines() {
        match line.trim() {
            "```sh" => inside = true,
            "```" => inside = false,
            "" => {}
            command if inside && !command.starts_with('#') && !LEFT_OUT.iter().any(|it| command.starts_with(it)) => {
                found.push(command.to_owned());
            }
            _ => {}
        }
    }
    found
}
