//! Skein on real nodes, installed as its manifests say, with a simulated vehicle on the serial port of each drone node.
//!
//! Owns: the nodes' names and labels, the vehicles, the images, the installation. Must not: fly; whoever asked for it does.
//!
//! `ground` carries the coordinator, `drone-1`, `drone-2`, … an agent each.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;

use super::{Builder, Device, RealCluster, Source, Spec, Traces, images};
use crate::control_plane::workspace_root;
use crate::launch::workspace_binary;
use crate::{ControlPlane, Launch, Process, Scratch, wait_for};

/// The namespace of the programs.
pub const SYSTEM: &str = "skein-system";

/// Names a folder of image archives to load instead of images of the programs that were just built.
pub const IMAGES: &str = "SKEIN_TEST_IMAGES";

/// How long Pods may take to start on a machine that is busy with something else.
const PATIENCE: Duration = Duration::from_secs(180);

/// Where the agent's manifest looks for the autopilot.
const PORT: &str = "ttyACM0";

/// How it is to be.
#[derive(Debug, Clone)]
pub struct Wish {
    /// How many drone nodes.
    pub drones: u8,
    /// How much faster than in life the vehicles' time runs.
    pub speedup: f32,
}

/// A running one. Dropping it ends everything: vehicles in the air are simulated.
#[derive(Debug)]
pub struct Installed {
    cluster: RealCluster,
    _simulator: Process,
    scratch: Scratch,
    drones: Vec<String>,
}

impl Installed {
    /// Starts nodes and vehicles, applies the manifests in `deploy/`, and returns when all Pods are ready.
    pub fn start(wish: &Wish) -> anyhow::Result<Self> {
        let scratch = Scratch::new("skein-installed-")?;
        let drones: Vec<String> = (1..=wish.drones).map(|number| format!("drone-{number}")).collect();
        let simulator = vehicles(&drones, wish.speedup, scratch.path())?;
        let images = images_of(&scratch)?;
        let mut builder = RealCluster::builder().manifests(["crds"]).images(images);
        builder = builder.node(Spec {
            name: "ground".to_owned(),
            ..Spec::default()
        });
        for name in &drones {
            builder = with_drone(builder, name, scratch.path());
        }
        let installed = Self {
            cluster: builder.start()?,
            _simulator: simulator,
            scratch,
            drones,
        };
        let manifests = workspace_root().join("deploy");
        let manifests = manifests.to_string_lossy();
        installed.kubectl(&["apply", "--server-side", "-k", &manifests])?;
        installed.wait_running().map_err(|error| installed.explain(error))?;
        Ok(installed)
    }

    /// The cluster that it runs on.
    pub fn cluster(&mut self) -> &mut RealCluster {
        &mut self.cluster
    }

    /// Its control plane.
    pub fn plane(&self) -> &ControlPlane {
        self.cluster.plane()
    }

    /// What the cluster leaves on the machine while it runs.
    pub fn traces(&self) -> Traces {
        self.cluster.traces()
    }

    /// The names of the drone nodes.
    pub fn drones(&self) -> Vec<&str> {
        self.drones.iter().map(String::as_str).collect()
    }

    /// The simulator's log of all that crossed the wire of a vehicle.
    pub fn wire_log(&self, drone: &str) -> PathBuf {
        self.scratch.path().join("wire").join(format!("{drone}.tlog"))
    }

    /// The administrator's kubeconfig file.
    pub fn kubeconfig(&self) -> &Path {
        self.cluster.plane().kubeconfig()
    }

    /// Runs `kubectl` as the administrator; what it printed. Errors: it failed.
    pub fn kubectl(&self, args: &[&str]) -> anyhow::Result<String> {
        self.cluster.plane().kubectl().run(args)
    }

    /// Waits until the coordinator and the agent of every drone node are ready.
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
            let path = "jsonpath={.status.desiredNumberScheduled} {.status.numberReady}";
            let seen = self.kubectl(&["get", "daemonset", "skein-agent", "-n", SYSTEM, "-o", path])?;
            let all = format!("{0} {0}", self.drones.len());
            anyhow::ensure!(seen == all, "wanted and ready: {seen}");
            Ok(())
        })
    }

    /// The agent's Pod on a node.
    pub fn agent_pod(&self, node: &str) -> anyhow::Result<String> {
        let field = format!("--field-selector=spec.nodeName={node}");
        let label = "-l=app.kubernetes.io/name=skein-agent";
        let pods = self.kubectl(&["get", "pods", "-n", SYSTEM, &field, label, "-o", "name"])?;
        pods.lines()
            .next()
            .map(str::to_owned)
            .with_context(|| format!("no agent on {node}"))
    }

    /// `error`, with what kubectl and the programs' logs tell.
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

fn vehicles(names: &[String], speedup: f32, scratch: &Path) -> anyhow::Result<Process> {
    let folder = |name: &str| -> anyhow::Result<PathBuf> {
        let folder = scratch.join(name);
        std::fs::create_dir_all(&folder)?;
        Ok(folder)
    };
    let simulator = Launch::workspace("skein-sitl")?
        .args(["--count", &names.len().to_string(), "--names", &names.join(",")])
        .args(["--speedup", &speedup.to_string(), "--autopilot", "mixed"])
        .args(["--link", &format!("pty:{}", folder("ports")?.display())])
        .arg("--wire-log")
        .arg(folder("wire")?)
        .logs_in(folder("logs")?)
        .start()?;
    for name in names {
        simulator.wait_for_line(PATIENCE, |line| line.contains(&format!("\"{name}\"")))?;
    }
    Ok(simulator)
}

/// Those in the folder that [`IMAGES`] names, or of the programs beside the running one.
fn images_of(scratch: &Scratch) -> anyhow::Result<Vec<PathBuf>> {
    if let Some(folder) = std::env::var_os(IMAGES).filter(|value| !value.is_empty()) {
        let folder = PathBuf::from(folder);
        let entries = std::fs::read_dir(&folder).with_context(|| format!("{IMAGES}={}", folder.display()))?;
        let paths: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
        let tars: Vec<PathBuf> = paths
            .into_iter()
            .filter(|path| path.extension().is_some_and(|e| e == "tar"))
            .collect();
        anyhow::ensure!(!tars.is_empty(), "{IMAGES}={}: no .tar file is there", folder.display());
        return Ok(tars);
    }
    let write = |name: &str| {
        let folder = scratch.folder(&format!("image-{name}"))?;
        images::write(
            &format!("{name}:{}", env!("CARGO_PKG_VERSION")),
            &workspace_binary(name)?,
            &folder,
        )
    };
    ["skein-coordinator", "skein-agent"].into_iter().map(write).collect()
}
