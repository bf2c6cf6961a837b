//! Nodes whose objects may have to be made or marked, where agents become Nodes.

use crate::cluster::wake_set::WakeSet;
use model::ids::NodeName;
use std::sync::Arc;

/// Cheap to clone; clones share state. `None` where Nodes belong to kubelets.
#[derive(Clone, Debug, Default)]
pub struct NodeObjects(Option<Arc<WakeSet<NodeName>>>);

impl NodeObjects {
    pub fn new(kept: bool) -> Self {
        Self(kept.then(Arc::default))
    }

    pub const fn are_managed(&self) -> bool {
        self.0.is_some()
    }

    /// `None` where Nodes belong to kubelets.
    pub fn wakes(&self) -> Option<Arc<WakeSet<NodeName>>> {
        self.0.clone()
    }

    /// The agent of `node`, or the link to its autopilot, has connected or disconnected.
    pub fn agent_changed(&self, node: &NodeName) {
        if let Some(wakes) = &self.0 {
            wakes.wake(node.clone());
        }
    }
}
