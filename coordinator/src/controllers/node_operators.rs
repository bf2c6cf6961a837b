//! What others may know of who operates the vehicle of each node.
//!
//! Owns: [`NodeOperators`]: what its Vehicle shows. Must not: choose an Operator, or count on anything that an agent did not report.

use crds::vehicle::VehicleRemoteId;
use model::ids::NodeName;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// What the Vehicles show of Remote ID. One for a leadership.
#[derive(Debug, Default)]
pub struct NodeOperators(Mutex<HashMap<NodeName, Shown>>);

impl NodeOperators {
    /// What the Vehicle of `node` shows of it.
    #[must_use]
    pub fn shown(&self, node: &NodeName) -> Option<Shown> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(node).cloned()
    }

    /// Takes in what all Vehicles show of it.
    pub fn update(&self, all: HashMap<NodeName, Shown>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = all;
    }
}

/// What a Vehicle shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// In its status.
    pub status: VehicleRemoteId,
    /// The reason of its condition.
    pub reason: &'static str,
}
