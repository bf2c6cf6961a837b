//! The requirements for real nodes on this machine.

use std::path::{Path, PathBuf};

use crate::prerequisites::on_path;

const PROGRAMS: [(&str, &str); 9] = [
    ("containerd", "containerd"),
    ("containerd-shim-runc-v2", "containerd"),
    ("ctr", "containerd"),
    ("runc", "runc"),
    ("ip", "iproute2"),
    ("iptables", "iptables"),
    ("nsenter", "util-linux"),
    ("unshare", "util-linux"),
    ("mount", "mount"),
];

/// Folders where distributions and the upstream archive install the CNI plugins.
const PLUGIN_FOLDERS: [&str; 3] = ["/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni"];

/// Why this machine cannot run real nodes, in one line that says what to do; `None` when it can.
pub fn why_not() -> Option<String> {
    if !cfg!(target_os = "linux") {
        return Some("nodes need Linux".to_owned());
    }
    if !nix::unistd::geteuid().is_root() {
        return Some("nodes need root, for they make namespaces and mounts: run as root, or with sudo".to_owned());
    }
    let mut packages: Vec<&str> = Vec::new();
    for (program, package) in PROGRAMS {
        if !on_path(program) && !packages.contains(&package) {
            packages.push(package);
        }
    }
    if cni_plugins().is_err() {
        packages.push("containernetworking-plugins");
    }
    if packages.is_empty() {
        return namespaces();
    }
    let packages = packages.join(" ");
    Some(format!(
        "not installed: {packages}. Get them: `apt-get install --no-install-recommends {packages}`"
    ))
}

pub fn cni_plugins() -> anyhow::Result<PathBuf> {
    let found = PLUGIN_FOLDERS
        .iter()
        .map(Path::new)
        .find(|folder| folder.join("bridge").is_file());
    found
        .map(Path::to_owned)
        .ok_or_else(|| anyhow::anyhow!("no CNI plugins in {}", PLUGIN_FOLDERS.join(", ")))
}

/// Root in a container often may not create namespaces or mounts.
fn namespaces() -> Option<String> {
    let mut command = std::process::Command::new("unshare");
    command.args(["--mount", "--net", "--pid", "--fork", "--mount-proc", "--"]);
    command.args(["ip", "link", "add", "br0", "type", "bridge"]);
    let why = match crate::run::output(command, None, std::time::Duration::from_secs(20)) {
        Ok(output) if output.status.success() => return None,
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => format!("{error:#}"),
    };
    Some(format!(
        "this root may not make namespaces and bridges ({why}): use a virtual machine, or a container with --privileged"
    ))
}
