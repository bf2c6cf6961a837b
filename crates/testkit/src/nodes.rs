//! Real nodes: kubelet, containerd, runc and kube-proxy beside the test control plane, on this machine.
//!
//! Must not: change the machine's own network, control groups or mounts; leave anything behind.
//!
//! ```text
//!   this machine          switch (10.77.0.1)                 node (10.77.0.11…), one machine each
//!   kubectl ── loopback ─▶ etcd, API server, … ◀── bridge ──▶ kubelet, containerd, kube-proxy, Pods (10.88.N.0/24)
//!   skein-sitl ─────────────── pseudo-terminals ────────────▶ /dev/ttyACM0
//! ```
//!
//! Each node has namespaces of its own for mounts, processes and network, so everything in it ends with it.
//! NetworkPolicies are accepted and not enforced, and Pods cannot reach anything outside the cluster.

mod cgroups;
mod containers;
mod dns;
pub mod images;
pub mod installed;
mod machine;
mod node;
mod prerequisites;
mod switch;
mod traces;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;

pub use cgroups::Cgroups;
pub use installed::{ClusterSetup, Installed};
pub use machine::{Device, Machine, Source};
pub use node::{Node, Spec};
pub use prerequisites::why_not;
pub use switch::{HUB, Switch};
pub use traces::Traces;

use crate::control_plane::{Binaries, Place};
use crate::{ControlPlane, Process, Scratch, wait_for};

const PATIENCE: Duration = Duration::from_secs(180);

// Fields are dropped in this order.
#[derive(Debug)]
pub struct RealCluster {
    nodes: Vec<Node>,
    cgroups: Cgroups,
    dns: Process,
    plane: ControlPlane,
    _switch: Switch,
    scratch: Scratch,
}

#[derive(Debug, Default)]
pub struct Builder {
    nodes: Vec<Spec>,
    images: Vec<PathBuf>,
    manifests: Vec<PathBuf>,
}

impl Builder {
    pub fn node(mut self, spec: Spec) -> Self {
        self.nodes.push(spec);
        self
    }

    /// Tar files of images to load on every node; without a registry, Pods that need another image wait for it.
    pub fn images(mut self, tars: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        self.images.extend(tars.into_iter().map(Into::into));
        self
    }

    /// Applied before the controllers start.
    pub fn manifests(mut self, paths: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        self.manifests.extend(paths.into_iter().map(Into::into));
        self
    }

    /// Returns when every node is Ready and has its labels. Errors: this machine cannot run nodes (see [`why_not`]);
    /// something does not start.
    pub fn start(self) -> anyhow::Result<RealCluster> {
        if let Some(why) = why_not() {
            anyhow::bail!("no real nodes here: {why}");
        }
        let binaries = Binaries::find_or_build_for_nodes()?;
        let scratch = Scratch::new("skein-nodes-")?;
        let logs = scratch.folder("logs")?;
        let switch = Switch::start(&logs)?;
        let names: Vec<&str> = self.nodes.iter().map(|spec| spec.name.as_str()).collect();
        let users = names
            .iter()
            .map(|name| (format!("system:node:{name}"), "system:nodes".to_owned()));
        let others = [("system:kube-proxy", ""), (dns::USER, "system:masters")];
        let others = others.map(|(user, groups)| (user.to_owned(), groups.to_owned()));
        let place = Place {
            namespace: switch.namespace().to_owned(),
            address: HUB,
            users: users.chain(others).collect(),
        };
        let plane = ControlPlane::builder()
            .node_lifecycle(true)
            .manifests(&self.manifests)
            .place(place)
            .start()?;
        let mut images = vec![images::write(
            containers::PAUSE,
            &binaries.path("pause"),
            &scratch.folder("pause")?,
        )?];
        images.extend(self.images.iter().cloned());
        let dns = dns::start(&switch, &plane, &binaries, scratch.path())?;
        let group = scratch.path().file_name().context("a scratch folder has a name")?;
        let cgroups = Cgroups::make(&group.to_string_lossy(), &names)?;
        let around = node::Surroundings {
            plane: &plane,
            switch: &switch,
            binaries: &binaries,
            images: &images,
            root: scratch.path(),
            logs: &logs,
        };
        let nodes = std::thread::scope(|threads| {
            let started: Vec<_> = (1..)
                .zip(&self.nodes)
                .map(|(number, spec)| {
                    let (around, cgroup) = (&around, cgroups.path(&spec.name));
                    threads.spawn(move || Node::start(spec, number, &cgroup, around))
                })
                .collect();
            let join = |thread: std::thread::ScopedJoinHandle<'_, anyhow::Result<Node>>| {
                thread.join().map_err(|_| anyhow::anyhow!("a node's start panicked"))?
            };
            started.into_iter().map(join).collect::<anyhow::Result<Vec<_>>>()
        })?;
        let cluster = RealCluster {
            nodes,
            cgroups,
            dns,
            plane,
            _switch: switch,
            scratch,
        };
        for spec in &self.nodes {
            cluster.wait_ready(&spec.name)?;
            cluster.label(spec)?;
        }
        Ok(cluster)
    }
}

impl RealCluster {
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub fn plane(&self) -> &ControlPlane {
        &self.plane
    }

    pub fn node(&mut self, name: &str) -> anyhow::Result<&mut Node> {
        let found = self.nodes.iter_mut().find(|node| node.name() == name);
        found.with_context(|| format!("there is no node {name}"))
    }

    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    pub fn traces(&self) -> Traces {
        let folders = [self.scratch.path(), self.plane.scratch().path()];
        Traces::new(folders.map(Into::into).to_vec(), self.cgroups.folders().to_vec())
    }

    /// Errors have the end of the log of a process that has died.
    pub fn ensure_running(&self) -> anyhow::Result<()> {
        self.plane.ensure_running()?;
        self.dns.ensure_running()?;
        self.nodes.iter().try_for_each(Node::ensure_running)
    }

    pub fn wait_ready(&self, name: &str) -> anyhow::Result<()> {
        let result = wait_for(format!("node {name} to be ready"), PATIENCE, || {
            self.nodes.iter().try_for_each(Node::ensure_running)?;
            let path = r#"jsonpath={.status.conditions[?(@.type=="Ready")]}"#;
            let ready = self.plane.kubectl().run(["get", "node", name, "-o", path])?;
            anyhow::ensure!(ready.contains(r#""status":"True""#), "{ready}");
            Ok(())
        });
        result.map_err(|error| {
            let tails: Vec<_> = self.nodes.iter().map(Node::tails).collect();
            error.context(tails.join("\n"))
        })
    }

    fn label(&self, spec: &Spec) -> anyhow::Result<()> {
        let labels: Vec<String> = spec
            .labels
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        if !labels.is_empty() {
            let args = ["label", "node", &spec.name].map(str::to_owned);
            self.plane.kubectl().run(args.into_iter().chain(labels))?;
        }
        Ok(())
    }
}
