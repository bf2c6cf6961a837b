//! The command line of `skein enroll`.

use super::WhereArgs;
use clap::{ArgGroup, Args};
use model::ids::NodeName;
use std::path::PathBuf;

/// Arguments of `skein enroll`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("whom").required(true).args(["node", "operator"]))]
pub struct EnrollArgs {
    /// The node whose agent gets a certificate.
    #[arg(value_name = "NODE", value_parser = node)]
    pub node: Option<NodeName>,
    /// A person gets the certificate instead, who may then do all that an operator may do.
    #[arg(long, value_name = "NAME")]
    pub operator: Option<String>,
    /// Folder for the files; made if need be [default: ./NODE]
    #[arg(long, value_name = "DIR", conflicts_with = "revoke")]
    pub out: Option<PathBuf>,
    /// How many days the certificate is good for, 1 to 366 [default: 365 in a cluster; without end for a ground station, as
    /// clocks in the field may be wrong]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=366), conflicts_with = "revoke")]
    pub days: Option<u16>,
    /// Where the agent reaches the coordinator, for the command that is printed.
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "revoke")]
    pub coordinator: Option<String>,
    /// Makes no certificate: revokes all certificates of this node or person, within seconds.
    #[arg(long)]
    pub revoke: bool,
    /// The ground station on this machine that keeps its data in DIR [env: SKEIN_STATION]
    #[arg(long, value_name = "DIR")]
    pub station: Option<PathBuf>,
    /// The cluster of this kubeconfig [env: KUBECONFIG]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// A context of the kubeconfig.
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// Namespace of the coordinator [default: skein-system]
    #[arg(long, value_name = "NAMESPACE")]
    pub coordinator_namespace: Option<String>,
}

impl EnrollArgs {
    pub fn place(&self) -> WhereArgs {
        WhereArgs {
            station: self.station.clone(),
            kubeconfig: self.kubeconfig.clone(),
            context: self.context.clone(),
            coordinator_namespace: self.coordinator_namespace.clone(),
            ..WhereArgs::default()
        }
    }
}

fn node(text: &str) -> Result<NodeName, String> {
    NodeName::parse(text).map_err(|bad| bad.to_string())
}
