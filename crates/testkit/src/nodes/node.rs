//! One real node: a machine with containerd, kubelet and kube-proxy.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use serde_json::json;

use super::{Device, Machine, Switch, containers, dns, switch};
use crate::control_plane::Binaries;
use crate::{ControlPlane, Process};

#[derive(Debug, Clone, Default)]
pub struct Spec {
    pub name: String,
    /// Labels besides those that kubelets set.
    pub labels: Vec<(String, String)>,
    pub devices: Vec<Device>,
}

#[derive(Debug)]
pub(super) struct Surroundings<'a> {
    pub plane: &'a ControlPlane,
    pub switch: &'a Switch,
    pub binaries: &'a Binaries,
    pub images: &'a [PathBuf],
    pub root: &'a Path,
    pub logs: &'a Path,
}

/// Dropping it ends it with all its containers, like a power loss.
#[derive(Debug)]
pub struct Node {
    kubelet: Option<Process>,
    _proxy: Process,
    _containerd: Process,
    machine: Machine,
    kubelet_program: PathBuf,
}

impl Node {
    /// Returns before it is Ready. `cgroup` is for its containers.
    pub(super) fn start(spec: &Spec, number: u8, cgroup: &str, around: &Surroundings<'_>) -> anyhow::Result<Self> {
        let root = around.root.join(&spec.name);
        let machine = Machine::start(&spec.name, &root, around.logs, &spec.devices)?;
        around.switch.plug_in(&machine, number)?;
        let containerd = containers::start(&machine, number)?;
        for image in around.images {
            containers::load(&machine, image).with_context(|| format!("image {}", image.display()))?;
        }
        let user = format!("system:node:{}", spec.name);
        std::fs::copy(around.plane.user_kubeconfig(&user), root.join("kubelet.kubeconfig"))?;
        std::fs::write(root.join("kubelet.json"), kubelet_configuration(cgroup))?;
        let proxy = machine
            .launch(around.binaries.path("kube-proxy"))
            .arg(path_flag(
                "kubeconfig",
                &around.plane.user_kubeconfig("system:kube-proxy"),
            ))
            .arg(format!("--hostname-override={}", spec.name))
            .arg(format!("--cluster-cidr={}", switch::PODS))
            .arg("--proxy-mode=iptables")
            // Limits of the machine, which the nodes share.
            .args(["--conntrack-max-per-core=0", "--conntrack-min=0"])
            .args([
                "--conntrack-tcp-timeout-established=0s",
                "--conntrack-tcp-timeout-close-wait=0s",
            ])
            .start()?;
        let mut node = Self {
            kubelet: None,
            _proxy: proxy,
            _containerd: containerd,
            machine,
            kubelet_program: around.binaries.path("kubelet"),
        };
        node.start_kubelet(&switch::address(number).to_string())?;
        Ok(node)
    }

    pub fn name(&self) -> &str {
        self.machine.name()
    }

    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Containers continue to run.
    pub fn kill_kubelet(&mut self) {
        if let Some(kubelet) = self.kubelet.take() {
            kubelet.kill();
        }
    }

    pub fn restart_kubelet(&mut self) -> anyhow::Result<()> {
        self.kill_kubelet();
        let address = self.machine.run(&["hostname", "-I"], Duration::from_secs(5))?;
        let address = address.split_whitespace().find(|word| word.starts_with("10.77."));
        let address = address.context("the node has no address")?.to_owned();
        self.start_kubelet(&address)
    }

    /// Errors have the end of the log of a process that has died.
    pub fn ensure_running(&self) -> anyhow::Result<()> {
        let processes = [self.machine.process(), &self._proxy, &self._containerd];
        processes
            .into_iter()
            .chain(&self.kubelet)
            .try_for_each(Process::ensure_running)
    }

    pub fn tails(&self) -> String {
        let processes = [&self._containerd].into_iter().chain(&self.kubelet);
        let tails: Vec<_> = processes.map(|p| format!("--- {}\n{}", p.name(), p.tail())).collect();
        tails.join("\n")
    }

    fn start_kubelet(&mut self, address: &str) -> anyhow::Result<()> {
        let root = self.machine.root();
        let kubelet = self
            .machine
            .launch(&self.kubelet_program)
            .arg(path_flag("kubeconfig", &root.join("kubelet.kubeconfig")))
            .arg(path_flag("config", &root.join("kubelet.json")))
            .arg(format!("--hostname-override={}", self.name()))
            .arg(format!("--node-ip={address}"))
            .start()?;
        self.kubelet = Some(kubelet);
        Ok(())
    }
}

fn path_flag(name: &str, path: &Path) -> String {
    format!("--{name}={}", path.display())
}

fn kubelet_configuration(cgroup: &str) -> String {
    let mut configuration = json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        // Works with both versions of control groups, and does not change the machine's own groups.
        "failCgroupV1": false,
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": cgroup,
        "cgroupsPerQOS": false,
        "enforceNodeAllocatable": [],
        "failSwapOn": false,
        "evictionHard": {"memory.available": "50Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
        // Only the nodes are on their network.
        "authentication": {"anonymous": {"enabled": true}, "webhook": {"enabled": false}},
        "authorization": {"mode": "AlwaysAllow"},
        "resolvConf": "",
    });
    for (key, value) in dns::kubelet_part().as_object().into_iter().flatten() {
        configuration[key] = value.clone();
    }
    configuration.to_string()
}
