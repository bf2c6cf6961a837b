//! Identities of Drones, nodes and leaderships.

use serde::{Deserialize, Serialize};
use std::fmt;

/// `metadata.uid` of a Drone: unique over all time, so a re-created object of the same name is another Drone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DroneUid(pub String);

impl fmt::Display for DroneUid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// For people and logs; decisions use [`DroneUid`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DroneName {
    pub namespace: String,
    pub name: String,
}

impl fmt::Display for DroneName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// `metadata.name` of a Kubernetes node, which is also the agent's `NODE`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NodeName(String);

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "{0:?} is not a node name: use lower-case letters, digits, '-' and '.', at most 253, beginning and ending with a letter or digit"
)]
pub struct BadNodeName(pub String);

impl NodeName {
    /// Parses an RFC 1123 subdomain, as Kubernetes demands.
    ///
    /// # Errors
    /// [`BadNodeName`] for a name that Kubernetes would refuse.
    pub fn parse(name: &str) -> Result<Self, BadNodeName> {
        let edge = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        let label = |part: &str| {
            let b = part.as_bytes();
            !b.is_empty() && edge(b[0]) && edge(b[b.len() - 1]) && b.iter().all(|&c| edge(c) || c == b'-')
        };
        if name.len() <= 253 && name.split('.').all(label) {
            Ok(Self(name.to_owned()))
        } else {
            Err(BadNodeName(name.to_owned()))
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The number of a coordinator's leadership, higher for each; agents refuse lower ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Term(pub u64);

/// Above this, the terms of one epoch end.
const LAST_COUNT: u64 = i32::MAX as u64 - 1;

const LAST_EPOCH: u64 = u16::MAX as u64;

impl Term {
    /// Any term of a later epoch is higher: a person begins a new epoch to leave terms that are too high (`fleet::planning::deposition`).
    pub const fn of(epoch: u32, count: u32) -> Self {
        Self(((epoch as u64) << 32) | count as u64)
    }

    pub const fn epoch(self) -> u32 {
        (self.0 >> 32) as u32
    }

    pub const fn count(self) -> u32 {
        (self.0 & 0xffff_ffff) as u32
    }

    /// Whether a coordinator can lead it and leave another above it.
    pub const fn can_be(self) -> bool {
        (self.0 & 0xffff_ffff) < LAST_COUNT && (self.0 >> 32) <= LAST_EPOCH
    }

    /// The term after this; in the next epoch when this one is used up.
    pub const fn next(self) -> Self {
        let next = Self(self.0 + 1);
        if next.can_be() {
            next
        } else {
            Self::of(self.epoch() + 1, 1)
        }
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_names_are_those_that_kubernetes_takes() {
        for good in ["alpha", "node-1", "pi.field.example", "4x4"] {
            assert!(NodeName::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "Alpha", "-a", "a-", "a..b", "a b", "a/b", &"x".repeat(254)] {
            assert_eq!(NodeName::parse(bad), Err(BadNodeName(bad.to_owned())));
        }
    }
}
