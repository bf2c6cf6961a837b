//! Where a control plane runs that nodes can reach.

use std::net::Ipv4Addr;
use std::path::PathBuf;

/// Where a control plane runs that nodes can reach.
#[derive(Debug, Clone)]
pub struct Place {
    /// A network namespace, as a file.
    pub namespace: PathBuf,
    pub address: Ipv4Addr,
    /// Users besides the default ones: name, and groups separated by commas.
    pub users: Vec<(String, String)>,
}
