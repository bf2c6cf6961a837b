//! The network of the nodes: a bridge in a network namespace of its own.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::Machine;
use crate::network_namespace::enter;
use crate::{Launch, Process, run};

/// The control plane's address, and the route from each node to the others' Pods.
pub const HUB: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);

pub const PODS: &str = "10.88.0.0/16";

const BRIDGE: &str = "ip link set lo up
    ip link add br0 type bridge
    ip address add 10.77.0.1/24 dev br0
    ip link set br0 up
    echo 1 > /proc/sys/net/ipv4/ip_forward
    echo up
    exec sleep infinity";

const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub struct Switch {
    holder: Process,
    namespace: PathBuf,
}

/// `number` is 1 to 200.
pub fn address(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, 0, 10_u8.saturating_add(number))
}

pub fn pods(number: u8) -> String {
    format!("10.88.{number}.0/24")
}

impl Switch {
    pub fn start(logs: &Path) -> anyhow::Result<Self> {
        let holder = Launch::program("unshare")
            .named("switch")
            .args(["--net", "--", "sh", "-euc", BRIDGE])
            .logs_in(logs)
            .start()?;
        holder.wait_for_line(PATIENCE, |line| line == "up")?;
        let namespace = PathBuf::from(format!("/proc/{}/ns/net", holder.pid()));
        Ok(Self { holder, namespace })
    }

    pub fn namespace(&self) -> &Path {
        &self.namespace
    }

    /// Launches a program on its network, at address [`HUB`].
    pub fn launch(&self, program: impl AsRef<Path>) -> Launch {
        enter(&self.namespace, program.as_ref())
    }

    pub fn process(&self) -> &Process {
        &self.holder
    }

    /// Gives a machine its address, and the others the route to its Pods.
    pub fn plug_in(&self, machine: &Machine, number: u8) -> anyhow::Result<()> {
        let (port, address, hub) = (format!("port{number}"), address(number).to_string(), HUB.to_string());
        let within = format!("{address}/24");
        self.ip(&[
            "link",
            "add",
            &port,
            "type",
            "veth",
            "peer",
            "name",
            "eth0",
            "netns",
            machine.pid(),
        ])?;
        self.ip(&["link", "set", &port, "master", "br0", "up"])?;
        for command in [
            &["ip", "address", "add", &within, "dev", "eth0"][..],
            &["ip", "link", "set", "eth0", "up"],
            &["ip", "route", "add", "default", "via", &hub],
        ] {
            machine.run(command, PATIENCE)?;
        }
        self.ip(&["route", "add", &pods(number), "via", &address])
    }

    fn ip(&self, args: &[&str]) -> anyhow::Result<()> {
        let mut command = Command::new("nsenter");
        let namespace = format!("--net={}", self.namespace.display());
        command.args([&namespace, "--", "ip"]).args(args);
        let output = run::output(command, None, PATIENCE)?;
        let words = String::from_utf8_lossy(&output.stderr);
        anyhow::ensure!(output.status.success(), "ip {args:?}: {}", words.trim());
        Ok(())
    }
}
