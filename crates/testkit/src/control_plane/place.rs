//! Where a control plane runs that is to be reached by nodes.
//!
//! Owns: what has to be known of the place. Must not: make it (see [`crate::nodes`]).

use std::net::Ipv4Addr;
use std::path::PathBuf;

/// Where a control plane runs that is to be reached by nodes.
#[derive(Debug, Clone)]
pub struct Place {
    /// A network namespace, as a file.
    pub namespace: PathBuf,
    /// An address in there.
    pub address: Ipv4Addr,
    /// Users besides the usual ones: name, and groups separated by commas.
    pub users: Vec<(String, String)>,
}
