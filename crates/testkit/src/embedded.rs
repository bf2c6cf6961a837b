//! The embedded API as a process: `skein-api` in a folder that is removed afterwards.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use serde::Deserialize;

use crate::control_plane::{Binaries, nodes, workspace_root};
use crate::{Kubectl, Launch, Process, Scratch, manifests};

const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Deserialize)]
struct Ready {
    server: String,
    kubeconfig: PathBuf,
}

// Fields are dropped in this order: the process first, then its files.
#[derive(Debug)]
pub struct Embedded {
    process: Process,
    admin: Kubectl,
    server: String,
    scratch: Scratch,
}

impl Embedded {
    /// Starts with an empty data folder and the CRDs in `crds/`. Errors have the end of its log.
    pub fn start() -> anyhow::Result<Self> {
        Self::start_with(Binaries::find_or_build()?.path("kubectl"))
    }

    pub fn start_with(kubectl: PathBuf) -> anyhow::Result<Self> {
        let scratch = Scratch::new("skein-api-")?;
        let (process, ready) = launch(scratch.path())?;
        let admin = Kubectl::new(kubectl, ready.kubeconfig, scratch.path().join("kubectl.cache"));
        Ok(Self {
            process,
            admin,
            server: ready.server,
            scratch,
        })
    }

    /// Acts as the owner of the data folder, the only user.
    pub fn kubectl(&self) -> &Kubectl {
        &self.admin
    }

    pub fn create_node(&self, name: &str, labels: &[(&str, &str)]) -> anyhow::Result<()> {
        nodes::create(&self.admin, &[name], labels)
    }

    pub fn kubeconfig(&self) -> &Path {
        self.admin.kubeconfig()
    }

    pub fn server(&self) -> &str {
        &self.server
    }

    /// For SIGSTOP and SIGCONT.
    pub fn process(&self) -> &Process {
        &self.process
    }

    pub fn scratch(&self) -> &Scratch {
        &self.scratch
    }
}

fn launch(folder: &Path) -> anyhow::Result<(Process, Ready)> {
    let file = |path: String| [PathBuf::from("--crds"), workspace_root().join(path)];
    let crds = manifests::crds()?.into_iter().flat_map(file);
    let process = Launch::workspace("skein-api")?
        .arg("--data-dir")
        .arg(folder.join("data"))
        .arg("--kubeconfig")
        .arg(folder.join("kubeconfig"))
        .args(crds)
        .logs_in(folder.join("logs"))
        .start()?;
    let line = process.wait_for_line(PATIENCE, |line| {
        line.starts_with("{\"") && line.contains("\"kubeconfig\"")
    })?;
    let ready = serde_json::from_str(&line).with_context(|| format!("skein-api said {line}"))?;
    Ok((process, ready))
}
