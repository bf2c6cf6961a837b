//! The Lease of a claim.

use crate::cluster::key::Key;
use k8s_openapi::api::coordination::v1::Lease;
use kube::ResourceExt;

/// Label on claims, for the watch.
pub const LABEL: &str = "skein.dev/claim";

/// Annotation: the node, whose name may be too long for the Lease's own name.
pub const NODE: &str = "skein.dev/node";

pub const DRONE_NAMESPACE: &str = "skein.dev/drone-namespace";

pub const DRONE_NAME: &str = "skein.dev/drone-name";

const MAX_NAME_LENGTH: usize = 253;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// `metadata.uid` of the Drone that holds it.
    pub uid: String,
    pub holder: Key,
    pub version: Option<String>,
}

impl Claim {
    pub(super) fn number(&self) -> Option<u64> {
        self.version.as_deref()?.parse().ok()
    }
}

/// Node names that agree in their first 248 characters share a claim: a node may seem taken, but never gets two.
pub fn name(node: &str) -> String {
    let mut name = format!("node-{node}");
    name.truncate(MAX_NAME_LENGTH);
    name.trim_end_matches(['-', '.']).to_owned()
}

/// `None` for a Lease that is no claim.
pub fn parse(lease: &Lease) -> Option<(String, Claim)> {
    let notes = lease.annotations();
    let holder = Key::new(notes.get(DRONE_NAMESPACE)?, notes.get(DRONE_NAME)?);
    let uid = lease.spec.as_ref()?.holder_identity.clone()?;
    Some((
        notes.get(NODE)?.clone(),
        Claim {
            uid,
            holder,
            version: lease.metadata.resource_version.clone(),
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_claim_is_one_that_kubernetes_takes() {
        assert_eq!(name("pi-1.field"), "node-pi-1.field");
        assert!(name(&"x".repeat(253)).len() <= MAX_NAME_LENGTH);
    }
}
