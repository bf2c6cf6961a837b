//! The flags of `skein-coordinator`.
//!
//! Owns: names, environment variables, defaults. The Kubernetes API is found as every tool finds it: KUBECONFIG, or the
//! ServiceAccount when running in a cluster.

use crate::logging::Format;
use clap::Parser;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

const NAMESPACE_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/// Watches Swarms and Drones and tells the agents on drone nodes what should fly. The Kubernetes API is found through
/// KUBECONFIG, or the ServiceAccount when running in a cluster.
#[derive(Clone, Debug, Parser)]
#[command(name = "skein-coordinator", version = fleet::version::version())]
pub struct Options {
    /// Address for agents and tools (gRPC). Port 0 takes any free port.
    #[arg(
        long,
        env = "SKEIN_LISTEN",
        default_value = "0.0.0.0:50051",
        value_name = "HOST:PORT"
    )]
    pub listen: SocketAddr,

    /// Write the bound address to this file once it is open.
    #[arg(long, value_name = "PATH")]
    pub listen_file: Option<PathBuf>,

    /// Address for Prometheus and for probes (HTTP: /metrics, /healthz, /readyz). Off by default; port 0 takes any free one.
    #[arg(long, env = "SKEIN_METRICS_LISTEN", value_name = "HOST:PORT")]
    pub metrics_listen: Option<SocketAddr>,

    /// Write that address to this file once it is open.
    #[arg(long, value_name = "PATH")]
    pub metrics_listen_file: Option<PathBuf>,

    /// Namespace for the coordinator's own objects: its term and the claims to nodes. Default: that of the pod, or
    /// skein-system outside a cluster. Swarms and Drones are served in all namespaces.
    #[arg(long, env = "SKEIN_NAMESPACE", value_name = "NAME")]
    pub namespace: Option<String>,

    /// Who this coordinator is, as holder of the Lease: the name of its Pod, from the downward API. Default: the host's name
    /// and a random number.
    #[arg(long, env = "POD_NAME", value_name = "NAME")]
    pub pod_name: Option<String>,

    /// Address of this coordinator's Pod, from the downward API. When given, the leader writes it into the EndpointSlice
    /// skein-coordinator, so that the Service of that name, which selects no Pods, leads to the leader.
    #[arg(long, env = "POD_IP", value_name = "IP")]
    pub pod_ip: Option<IpAddr>,

    /// There is no other coordinator: take the lead at once, whoever holds the Lease, and do not renew it.
    #[arg(long)]
    pub alone: bool,

    /// Format of the log on standard error.
    #[arg(long, env = "SKEIN_LOG_FORMAT", value_enum, default_value_t = Format::Text)]
    pub log: Format,
}

impl Options {
    /// The namespace of the coordinator's own objects.
    #[must_use]
    pub fn namespace(&self) -> String {
        let own = || {
            std::fs::read_to_string(NAMESPACE_FILE)
                .ok()
                .map(|text| text.trim().to_owned())
        };
        let given = self.namespace.clone().filter(|name| !name.is_empty());
        given.or_else(own).unwrap_or_else(|| "skein-system".to_owned())
    }

    /// Who this process is, as holder of the Lease. A Pod's name is had by one process at a time; elsewhere a random number
    /// sees to that.
    #[must_use]
    pub fn identity(&self) -> String {
        if let Some(name) = self.pod_name.clone().filter(|name| !name.is_empty()) {
            return name;
        }
        let host = std::env::var("HOSTNAME")
            .ok()
            .or_else(|| std::fs::read_to_string("/etc/hostname").ok());
        let host = host.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
        format!(
            "{}-{:08x}",
            host.unwrap_or_else(|| "coordinator".to_owned()),
            rand::random::<u32>()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_flags_hang_together() {
        Options::command().debug_assert();
    }
}
