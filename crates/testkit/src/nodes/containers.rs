//! containerd on one node, with runc and a bridge for Pods.

use std::path::Path;
use std::time::Duration;

use super::{Machine, prerequisites, switch};
use crate::Process;

/// The container that keeps a Pod's network open; see tests/cluster/pause.
pub const PAUSE: &str = "skein.dev/pause:1";

const PATIENCE: Duration = Duration::from_secs(60);

pub fn start(machine: &Machine, number: u8) -> anyhow::Result<Process> {
    let network = machine.root().join("cni");
    std::fs::create_dir_all(&network)?;
    std::fs::write(network.join("10-pods.conflist"), bridge(number))?;
    let config = machine.root().join("containerd.toml");
    std::fs::write(&config, configuration(&network)?)?;
    let process = machine.launch("containerd").arg("--config").arg(&config).start()?;
    process.wait_until("containerd to answer", PATIENCE, || {
        machine.run(&["ctr", "version"], Duration::from_secs(5))
    })?;
    Ok(process)
}

/// Takes a tar file as `docker save` and OCI tools write it.
pub fn load(machine: &Machine, tar: &Path) -> anyhow::Result<()> {
    let tar = tar.to_string_lossy();
    machine
        .run(&["ctr", "--namespace=k8s.io", "images", "import", &tar], PATIENCE)
        .map(drop)
}

fn configuration(network: &Path) -> anyhow::Result<String> {
    let plugins = prerequisites::cni_plugins()?;
    Ok(format!(
        r#"version = 2
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.devmapper"]

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE}"
  # Without the right to lower it (CAP_SYS_RESOURCE), runc otherwise ends while it starts a container.
  restrict_oom_score_adj = true

[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "{}"
  conf_dir = "{}"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
"#,
        plugins.display(),
        network.display(),
    ))
}

fn bridge(number: u8) -> String {
    serde_json::json!({
        "cniVersion": "0.4.0",
        "name": "pods",
        "plugins": [
            {
                "type": "bridge", "bridge": "cni0", "isGateway": true, "hairpinMode": true,
                "ipam": {
                    "type": "host-local",
                    "ranges": [[{"subnet": switch::pods(number)}]],
                    "routes": [{"dst": "0.0.0.0/0"}],
                },
            },
            {"type": "portmap", "capabilities": {"portMappings": true}},
        ],
    })
    .to_string()
}
