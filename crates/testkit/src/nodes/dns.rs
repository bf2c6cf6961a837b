//! The cluster's DNS: CoreDNS as a process beside the API server, configured in every Pod.

use std::path::Path;

use super::{HUB, Switch};
use crate::control_plane::Binaries;
use crate::{ControlPlane, Process};

/// Domain of Services, the same as in nearly every cluster.
pub const DOMAIN: &str = "cluster.local";

pub const USER: &str = "coredns";

/// Starts CoreDNS, which answers after it has listed the Services once.
pub fn start(switch: &Switch, plane: &ControlPlane, binaries: &Binaries, root: &Path) -> anyhow::Result<Process> {
    let file = root.join("Corefile");
    let kubeconfig = plane.user_kubeconfig(USER);
    let text = format!(
        ".:53 {{\n  errors\n  kubernetes {DOMAIN} {{\n    kubeconfig {}\n  }}\n}}\n",
        kubeconfig.display()
    );
    std::fs::write(&file, text)?;
    switch
        .launch(binaries.path("coredns"))
        .arg("-conf")
        .arg(&file)
        .logs_in(root.join("logs"))
        .start()
}

pub fn kubelet_part() -> serde_json::Value {
    serde_json::json!({"clusterDNS": [HUB.to_string()], "clusterDomain": DOMAIN})
}
