//! Place of a control plane that nodes can reach.

use std::net::Ipv4Addr;
use std::path::PathBuf;

#[derive(Debug, Clone)]
pub struct Place {
    pub namespace: PathBuf,
    pub address: Ipv4Addr,
    /// Users besides the default ones: name, and groups separated by commas.
    pub users: Vec<(String, String)>,
}
