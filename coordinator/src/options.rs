//! The flags of `skein-coordinator`.
//!
//! Owns: names, environment variables, defaults. The Kubernetes API is found as every tool finds it: KUBECONFIG, or the
//! ServiceAccount when running in a cluster.

use crate::logging::Format;
use clap::Parser;
use std::net::SocketAddr;
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

    /// Namespace for the coordinator's own objects: its term and the claims to nodes. Default: that of the pod, or
    /// skein-system outside a cluster. Swarms and Drones are served in all namespaces.
    #[arg(long, env = "SKEIN_NAMESPACE", value_name = "NAME")]
    pub namespace: Option<String>,

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

    /// Who this process is, for people who look at the Lease.
    #[must_use]
    pub fn identity(&self) -> String {
        let host = std::env::var("HOSTNAME")
            .ok()
            .or_else(|| std::fs::read_to_string("/etc/hostname").ok());
        let host = host.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
        format!(
            "{}-{}",
            host.unwrap_or_else(|| "coordinator".to_owned()),
            std::process::id()
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
