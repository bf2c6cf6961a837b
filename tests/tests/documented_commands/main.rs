//! The commands of README, tutorials, concepts, how-to guides and deployment, run unchanged, except for names that a
//! reader has to fill in: on a ground station with simulated vehicles, and on a cluster.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "test helpers outside of #[test] functions"
)]

mod cluster;

use std::collections::BTreeSet;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::json;
use skein_tests::field::{Field, PATIENCE};
use testkit::control_plane::workspace_root;
use testkit::launch::workspace_binary;
use testkit::{Kubectl, Scratch, wait_for};

const VEHICLES: [&str; 3] = ["alpha", "bravo", "charlie"];

/// Pages whose commands need a Swarm `alpha`, and nothing in the air.
const ON_THE_GROUND: [&str; 8] = [
    "docs/concepts/drone.md",
    "docs/concepts/ground-orders.md",
    "docs/how-to/choose-the-coordinator.md",
    "docs/how-to/enroll-an-agent.md",
    "docs/how-to/see-the-fleet-in-a-terminal.md",
    "docs/how-to/set-up-autopilot-failsafes.md",
    "docs/how-to/sign-mavlink.md",
    "docs/tutorial/bench.md",
];

/// Pages whose commands are for vehicles that fly, with their Swarm. The last one leaves vehicles granted to others.
const IN_FLIGHT: [(&str, &str); 8] = [
    ("docs/how-to/ground-the-fleet.md", "alpha"),
    ("docs/how-to/take-a-vehicle-out-of-service.md", "alpha"),
    ("docs/how-to/change-a-swarm.md", "alpha"),
    ("docs/tutorial/laptop.md", "demo"),
    ("docs/how-to/rotate-batteries.md", "alpha"),
    ("README.md", "alpha"),
    ("docs/concepts/formation.md", FORMATION),
    ("docs/how-to/grant-vehicles.md", "alpha"),
];

const FORMATION: &str = "relays";

/// Pages whose commands nothing here runs, and why.
const ELSEWHERE: [(&str, &str); 18] = [
    (
        "docs/concepts/command.md",
        "a pilot has to take over first, as in coordinator.rs",
    ),
    ("docs/concepts/mission.md", "crates/cli/tests/mission.rs runs them"),
    (
        "docs/concepts/station.md",
        "a vehicle has to be lost in the air first, as in airspace_grants/tests.rs",
    ),
    (
        "docs/how-to/connect-a-ground-station.md",
        "it has `skein up` and `skein connect` alone, as in connect.rs",
    ),
    (
        "docs/how-to/fly-with-own-code.md",
        "sdk/python/tests/test_own_code.py flies so with MAVSDK, tests/fly/scenarios/external.rs with real autopilots",
    ),
    (
        "docs/how-to/import-files.md",
        "it names files of others; crates/cli/tests/import.rs imports one of each kind",
    ),
    (
        "docs/how-to/make-a-release.md",
        "crates/xtask/src/release/tests.rs runs what needs no build",
    ),
    (
        "docs/how-to/read-flight-logs.md",
        "it names logs of flights by their numbers; logs.rs lists and copies some",
    ),
    (
        "docs/how-to/trace-takeoffs.md",
        "it has `skein-agent` alone; traces.rs runs both programs with a collector",
    ),
    (
        "docs/how-to/resume-after-a-takeover.md",
        "a pilot has to take over first, as in coordinator.rs",
    ),
    ("docs/how-to/run-a-ground-station.md", "it has `skein up` alone"),
    (
        "docs/how-to/see-the-fleet-on-a-map.md",
        "it has `skein map` alone, as in map.rs",
    ),
    (
        "docs/how-to/upload-flight-logs.md",
        "it has `skein-agent` alone, as in upload.rs, which uploads to a store",
    ),
    (
        "docs/how-to/use-an-mcp-server.md",
        "it takes servers of others; clients.rs runs its commands and both servers",
    ),
    (
        "docs/how-to/use-gitops.md",
        "it takes a controller of others, and tools of a person's choice; gitops.rs does what it says",
    ),
    ("docs/operations/README.md", "no Pod runs here that has a log"),
    ("docs/tutorial/python.md", "sdk/python/tests/test_tutorial.py runs them"),
    (
        "tests/README.md",
        "it has `cargo xtask fly` alone, which takes real autopilots",
    ),
];

/// Beginnings of commands that are not run, and why.
const LEFT_OUT: [(&str, &str); 11] = [
    ("skein watch", "runs until a person ends it"),
    ("skein top", "runs until a person ends it"),
    (
        "skein up",
        "runs until a person ends it; the ground station here is one",
    ),
    ("kubectl get drones -w", "runs until a person ends it"),
    ("cargo ", "takes a build; other tests run what is built"),
    ("sudo ", "changes this machine"),
    ("docker ", "takes a container engine and the images"),
    ("skopeo ", "takes a registry and the images"),
    ("kubectl -n skein-system logs", "no Pod runs here that has a log"),
    (
        "kubectl -n field wait --for=condition=Ready",
        "the cluster here has no vehicle",
    ),
    ("kubectl delete -k deploy", "waits for kubelets that end Pods"),
];

const WITHIN: Duration = Duration::from_secs(310);

#[test]
fn each_command_does_what_its_page_says() -> anyhow::Result<()> {
    let mut field = Field::with(&VEHICLES, "mixed")?;
    field.start_up(&VEHICLES)?;
    for vehicle in VEHICLES {
        field.wait_readiness(vehicle, "True", "AgentConnected")?;
    }
    let reader = Reader::new(field.kubectl())?;
    apply_swarm(&field, "alpha", true)?;
    for page in ON_THE_GROUND {
        reader.follow_on_a_station(&field, page)?;
        // Grounded again, before the next page can make it take off.
        apply_swarm(&field, "alpha", true)?;
    }
    for (page, swarm) in IN_FLIGHT {
        field.kubectl().run(["delete", "swarms,drones", "--all"])?;
        field.wait_in_air(&[])?;
        if swarm == FORMATION {
            let file = workspace_root().join("examples/formation.yaml");
            field.kubectl().run(["apply", "-f", &file.display().to_string()])?;
        } else {
            apply_swarm(&field, swarm, false)?;
        }
        field.wait_ready(swarm)?;
        reader.follow_on_a_station(&field, page)?;
    }
    field.end_up().map(drop)
}

fn apply_swarm(field: &Field, name: &str, grounded: bool) -> anyhow::Result<()> {
    let swarm = json!({
        "apiVersion": "skein.dev/v1alpha1", "kind": "Swarm",
        "metadata": {"name": name, "namespace": "default", "labels": {"site": "north"}},
        "spec": {"replicas": 2, "grounded": grounded},
    });
    field.kubectl().apply(&swarm.to_string()).map(drop)
}

#[test]
fn each_page_with_commands_is_run_or_says_why_not() {
    let mut known: BTreeSet<&str> = ON_THE_GROUND.into();
    known.extend(IN_FLIGHT.map(|(page, _)| page));
    known.extend(ELSEWHERE.map(|(page, _)| page));
    known.extend(cluster::PAGES);
    let mut with_commands = BTreeSet::new();
    let mut lines = Vec::new();
    for page in pages(workspace_root()) {
        let text = std::fs::read_to_string(workspace_root().join(&page)).unwrap();
        let all = all_commands(&text);
        if !all.is_empty() {
            with_commands.insert(page);
        }
        lines.extend(all);
    }
    let with_commands: BTreeSet<&str> = with_commands.iter().map(String::as_str).collect();
    assert_eq!(
        with_commands, known,
        "give each page with a block `sh` a place in a list of this file"
    );
    for (start, why) in LEFT_OUT {
        assert!(
            lines.iter().any(|line| line.starts_with(start)),
            "no page has `{start}` any more, which {why}"
        );
    }
}

fn pages(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !name.starts_with('.') && !["target", "node_modules"].contains(&name.as_str()) {
            found.extend(pages(&path));
        } else if name.ends_with(".md") {
            found.push(path.strip_prefix(workspace_root()).unwrap().display().to_string());
        }
    }
    found
}

struct Reader {
    scratch: Scratch,
    kubeconfig: PathBuf,
}

impl Reader {
    fn new(kubectl: &Kubectl) -> anyhow::Result<Self> {
        let reader = Self {
            scratch: Scratch::new("skein-reader-")?,
            kubeconfig: kubectl.kubeconfig().to_owned(),
        };
        reader.scratch.folder("programs")?;
        std::fs::create_dir_all(reader.own_programs())?;
        reader.has("kubectl", kubectl.binary())?;
        for folder in ["deploy", "examples"] {
            symlink(workspace_root().join(folder), reader.home().join(folder))?;
        }
        Ok(reader)
    }

    fn has(&self, name: &str, program: &Path) -> anyhow::Result<()> {
        Ok(symlink(program, self.scratch.path().join("programs").join(name))?)
    }

    fn home(&self) -> PathBuf {
        self.scratch.path().join("home")
    }

    fn own_programs(&self) -> PathBuf {
        self.home().join(".local/bin")
    }

    fn follow_on_a_station(&self, field: &Field, page: &str) -> anyhow::Result<()> {
        let skein = self.scratch.path().join("programs/skein");
        if !skein.exists() {
            // With a kubeconfig, too, it would have to ask which of the two is meant.
            let program = workspace_binary("skein")?;
            let script = format!("#!/bin/sh\nunset KUBECONFIG\nexec '{}' \"$@\"\n", program.display());
            std::fs::write(&skein, script)?;
            std::fs::set_permissions(&skein, std::fs::Permissions::from_mode(0o755))?;
            // The same program, as it is called in a clone.
            let built = self.home().join("target/debug");
            std::fs::create_dir_all(&built)?;
            symlink(&skein, built.join("skein"))?;
        }
        for line in commands(page)? {
            let line = line.replace("NAME", &a_drone(field)?);
            let mut shell = self.shell(&line);
            shell.env("SKEIN_STATION", field.data());
            run(page, &line, shell)?;
        }
        Ok(())
    }

    fn shell(&self, line: &str) -> Command {
        let path = [self.scratch.path().join("programs"), self.own_programs()];
        let path = path.map(|folder| folder.display().to_string()).join(":");
        let mut shell = Command::new("/bin/sh");
        shell
            .args(["-euc", line])
            .current_dir(self.home())
            .env("PATH", format!("{path}:/usr/local/bin:/usr/bin:/bin"))
            .env("HOME", self.home())
            .env("KUBECONFIG", &self.kubeconfig)
            .env("KUBERC", "off");
        shell
    }
}

fn run(page: &str, line: &str, shell: Command) -> anyhow::Result<()> {
    let output = testkit::run::output(shell, None, WITHIN)?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{page}: `{line}` failed: {said}");
    Ok(())
}

fn a_drone(field: &Field) -> anyhow::Result<String> {
    wait_for("a Drone", PATIENCE, || {
        let drones = field.drones()?;
        let [name, ..] = drones.first().context("there is none")?;
        Ok(name.clone())
    })
}

fn commands(page: &str) -> anyhow::Result<Vec<String>> {
    let text = std::fs::read_to_string(workspace_root().join(page))?;
    let mut found = all_commands(&text);
    found.retain(|command| !LEFT_OUT.iter().any(|(start, _)| command.starts_with(start)));
    ensure!(!found.is_empty(), "{page} has no command");
    Ok(found)
}

fn all_commands(text: &str) -> Vec<String> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in text.lines() {
        match line.trim() {
            "```sh" => inside = true,
            "```" => inside = false,
            command if inside && !command.is_empty() && !command.starts_with('#') => found.push(command.to_owned()),
            _ => {}
        }
    }
    found
}
