//! What others may know of who operates the vehicle of each node.

use crds::vehicle::VehicleRemoteId;
use model::ids::NodeName;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// What the Vehicles show of Remote ID. One for a leadership.
#[derive(Debug, Default)]
pub struct NodeOperators(Mutex<HashMap<NodeName, Shown>>);

impl NodeOperators {
    /// What the Vehicle of `node` shows of it.
    pub fn shown(&self, node: &NodeName) -> Option<Shown> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(node).cloned()
    }

    /// Takes in what all Vehicles show of it.
    pub fn update(&self, all: HashMap<NodeName, Shown>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = all;
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    pub status: VehicleRemoteId,
    pub reason: &'static str,
}
