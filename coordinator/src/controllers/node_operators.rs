//! Remote ID of each node's vehicle, for the other controllers.

use crds::vehicle::VehicleRemoteId;
use model::ids::NodeName;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// One for a leadership.
#[derive(Debug, Default)]
pub struct NodeOperators(Mutex<HashMap<NodeName, Shown>>);

impl NodeOperators {
    pub fn shown(&self, node: &NodeName) -> Option<Shown> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(node).cloned()
    }

    pub fn update(&self, all: HashMap<NodeName, Shown>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = all;
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    pub status: VehicleRemoteId,
    pub reason: &'static str,
}
