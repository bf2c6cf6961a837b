//! Skein on real nodes, installed with its Helm chart, with a simulated vehicle on the serial port of each drone node.
//! `ground` runs the coordinator, `drone-1`, `drone-2`, … an agent each.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;

use super::{Builder, Device, RealCluster, Source, Spec, Traces, images};
use crate::launch::workspace_binary;
use crate::{ControlPlane, Helm, Launch, Process, Scratch, manifests, run, wait_for};

pub const SYSTEM: &str = manifests::NAMESPACE;

/// Names a folder of image archives, as `cargo xtask image` writes them, to load instead of images of the built
/// programs.
pub const IMAGES: &str = "SKEIN_TEST_IMAGES";

const PATIENCE: Duration = Duration::from_secs(180);

/// The autopilot's port in the agent's manifest.
const PORT: &str = "ttyACM0";

#[derive(Debug, Clone)]
pub struct ClusterSetup {
    pub drones: u8,
    /// Pace of the vehicles' clock over real time.
    pub speedup: f32,
    pub vehicles: Vec<String>,
    /// Image archives, instead of images of the programs just built.
    pub images: Option<PathBuf>,
    /// Values for the chart, each `path=value`.
    pub values: Vec<String>,
}

impl Default for ClusterSetup {
    fn default() -> Self {
        Self {
            drones: 2,
            speedup: 1.0,
            vehicles: Vec::new(),
            images: std::env::var_os(IMAGES)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from),
            values: Vec::new(),
        }
    }
}

/// Dropping it ends everything: vehicles in the air are simulated.
#[derive(Debug)]
pub struct Installed {
    cluster: RealCluster,
    helm: Helm,
    _simulator: Process,
    scratch: Scratch,
    drones: Vec<String>,
}

impl Installed {
    pub fn start(setup: &ClusterSetup) -> anyhow::Result<Self> {
        let helm = Helm::find_or_build()?;
        let scratch = Scratch::new("skein-installed-")?;
        let drones: Vec<String> = (1..=setup.drones).map(|number| format!("drone-{number}")).collect();
        let simulator = vehicles(&drones, setup, scratch.path())?;
        let images = match &setup.images {
            Some(folder) => archives(folder)?,
            None => just_built(&scratch)?,
        };
        let mut builder = RealCluster::builder().images(images);
        builder = builder.node(Spec {
            name: "ground".to_owned(),
            ..Spec::default()
        });
        for name in &drones {
            builder = with_drone(builder, name, scratch.path());
        }
        let installed = Self {
            cluster: builder.start()?,
            helm,
            _simulator: simulator,
            scratch,
            drones,
        };
        let values: Vec<&str> = setup.values.iter().map(String::as_str).collect();
        installed.install(&values).map_err(|error| installed.explain(error))?;
        installed.wait_running().map_err(|error| installed.explain(error))?;
        Ok(installed)
    }

    /// Installs or upgrades with these values, each `path=value`, and waits as Helm does, except for agents, whose Pods
    /// are replaced when they are deleted.
    pub fn install(&self, values: &[&str]) -> anyhow::Result<()> {
        let (chart, timeout) = (manifests::chart(), format!("--timeout={}s", PATIENCE.as_secs()));
        let mut command = self.helm.command(["upgrade", "--install", "skein"]);
        command
            .arg(chart)
            .args(["--namespace", SYSTEM, "--create-namespace", "--wait=legacy", &timeout])
            .args(values.iter().flat_map(|value| ["--set", *value]))
            .env("KUBECONFIG", self.kubeconfig());
        let output = run::output(command, None, PATIENCE + Duration::from_secs(30))?;
        let words = String::from_utf8_lossy(&output.stderr);
        anyhow::ensure!(output.status.success(), "helm upgrade --install: {}", words.trim());
        Ok(())
    }

    pub fn cluster(&mut self) -> &mut RealCluster {
        &mut self.cluster
    }

    pub fn plane(&self) -> &ControlPlane {
        self.cluster.plane()
    }

    pub fn traces(&self) -> Traces {
        self.cluster.traces()
    }

    pub fn drones(&self) -> Vec<&str> {
        self.drones.iter().map(String::as_str).collect()
    }

    /// The simulator's log of everything on the wire of a vehicle.
    pub fn wire_log(&self, drone: &str) -> PathBuf {
        self.scratch.path().join("wire").join(format!("{drone}.tlog"))
    }

    pub fn kubeconfig(&self) -> &Path {
        self.cluster.plane().kubeconfig()
    }

    pub fn kubectl(&self, args: &[&str]) -> anyhow::Result<String> {
        self.cluster.plane().kubectl().run(args)
    }

    pub fn wait_running(&self) -> anyhow::Result<()> {
        let timeout = format!("--timeout={}s", PATIENCE.as_secs());
        let rollout = [
            "rollout",
            "status",
            "deployment/skein-coordinator",
            "-n",
            SYSTEM,
            &timeout,
        ];
        self.kubectl(&rollout)?;
        wait_for("an agent that is ready on each drone node", PATIENCE, || {
            let path = format!("/apis/apps/v1/namespaces/{SYSTEM}/daemonsets/skein-agent");
            let daemon_set = self.plane().kubectl().read(&path)?;
            let (status, all) = (&daemon_set["status"], self.drones.len());
            let is_all = status["desiredNumberScheduled"] == all && status["numberReady"] == all;
            anyhow::ensure!(is_all, "{status}");
            Ok(())
        })
    }

    pub fn agent_pod(&self, node: &str) -> anyhow::Result<String> {
        let field = format!("--field-selector=spec.nodeName={node}");
        let label = "-l=app.kubernetes.io/name=skein-agent";
        let pods = self.kubectl(&["get", "pods", "-n", SYSTEM, &field, label, "-o", "name"])?;
        pods.lines()
            .next()
            .map(str::to_owned)
            .with_context(|| format!("no agent on {node}"))
    }

    /// Adds the output of kubectl and the programs' logs.
    pub fn explain(&self, error: anyhow::Error) -> anyhow::Error {
        let questions: [&[&str]; 5] = [
            &["get", "pods", "-A", "-o", "wide"],
            &["get", "events", "-n", SYSTEM, "--sort-by=.lastTimestamp"],
            &["get", "swarms,drones", "-A", "-o", "wide"],
            &[
                "logs",
                "-n",
                SYSTEM,
                "-l",
                "app.kubernetes.io/name=skein-coordinator",
                "--tail=30",
                "--prefix",
            ],
            &[
                "logs",
                "-n",
                SYSTEM,
                "-l",
                "app.kubernetes.io/name=skein-agent",
                "--tail=30",
                "--prefix",
            ],
        ];
        let answer = |args: &[&str]| self.kubectl(args).unwrap_or_else(|why| format!("{why:#}"));
        error.context(questions.map(answer).join("\n"))
    }
}

fn with_drone(builder: Builder, name: &str, scratch: &Path) -> Builder {
    builder.node(Spec {
        name: name.to_owned(),
        labels: vec![("node-role.kubernetes.io/drone".to_owned(), String::new())],
        devices: vec![Device {
            name: PORT.to_owned(),
            source: Source::Terminal(scratch.join("ports").join(name)),
        }],
    })
}

fn vehicles(names: &[String], setup: &ClusterSetup, scratch: &Path) -> anyhow::Result<Process> {
    let folder = |name: &str| -> anyhow::Result<PathBuf> {
        let folder = scratch.join(name);
        std::fs::create_dir_all(&folder)?;
        Ok(folder)
    };
    let simulator = Launch::workspace("skein-sitl")?
        .args(["--count", &names.len().to_string(), "--names", &names.join(",")])
        .args(["--speedup", &setup.speedup.to_string(), "--autopilot", "mixed"])
        .args(["--link", &format!("pty:{}", folder("ports")?.display())])
        .args(&setup.vehicles)
        .arg("--wire-log")
        .arg(folder("wire")?)
        .logs_in(folder("logs")?)
        .start()?;
    for name in names {
        simulator.wait_for_line(PATIENCE, |line| line.contains(&format!("\"{name}\"")))?;
    }
    Ok(simulator)
}

/// All image archives in a folder, except those whose name ends with another architecture.
fn archives(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let shown = folder.display();
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read the images in {shown}"))?;
    let paths: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    let archives: Vec<PathBuf> = paths.into_iter().filter(|path| is_archive_for_here(path)).collect();
    anyhow::ensure!(
        !archives.is_empty(),
        "no image archives in {shown}: `cargo xtask image` writes them"
    );
    Ok(archives)
}

fn is_archive_for_here(path: &Path) -> bool {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let elsewhere = ["amd64", "arm64"]
        .iter()
        .any(|a| *a != images::ARCHITECTURE && stem.ends_with(a));
    path.extension().is_some_and(|extension| extension == "tar") && !elsewhere
}

fn just_built(scratch: &Scratch) -> anyhow::Result<Vec<PathBuf>> {
    let write = |name: &str| {
        let folder = scratch.folder(&format!("image-{name}"))?;
        let tag = format!("{name}:{}", env!("CARGO_PKG_VERSION"));
        images::write(&tag, &workspace_binary(name)?, &folder)
    };
    ["skein-coordinator", "skein-agent"].into_iter().map(write).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_folder_with_images_for_two_processors_those_for_this_one_are_loaded() {
        let folder = Scratch::new("skein-archives-").unwrap();
        for name in [
            "agent-0.1.0-amd64.tar",
            "agent-0.1.0-arm64.tar",
            "agent-0.1.0-arm64.spdx.json",
        ] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let own = folder.path().join(format!("agent-0.1.0-{}.tar", images::ARCHITECTURE));
        assert_eq!(archives(folder.path()).unwrap(), [own]);
    }

    #[test]
    fn a_folder_without_archives_is_named_with_the_command_that_writes_them() {
        let folder = Scratch::new("skein-archives-").unwrap();
        let error = archives(folder.path()).unwrap_err().to_string();
        assert!(error.contains("cargo xtask image"), "{error}");
    }
}
