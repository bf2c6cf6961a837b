//! Where agents become Nodes: nodes whose objects may have to be made or marked.

use crate::cluster::wake_set::WakeSet;
use model::ids::NodeName;
use std::sync::Arc;

/// Whether agents become Nodes, and if so which nodes have to be reconciled. A copy is the same.
#[derive(Clone, Debug, Default)]
pub struct NodeObjects(Option<Arc<WakeSet<NodeName>>>);

impl NodeObjects {
    /// A Node object is kept for each agent, if `kept`.
    pub fn new(kept: bool) -> Self {
        Self(kept.then(Arc::default))
    }

    /// Whether a Node object is kept for each agent.
    pub const fn are_managed(&self) -> bool {
        self.0.is_some()
    }

    /// The nodes to be reconciled; `None` where Nodes belong to kubelets.
    pub fn wakes(&self) -> Option<Arc<WakeSet<NodeName>>> {
        self.0.clone()
    }

    /// The agent of `node` has connected or disconnected, or the link to its autopilot has come or gone.
    pub fn agent_changed(&self, node: &NodeName) {
        if let Some(wakes) = &self.0 {
            wakes.wake(node.clone());
        }
    }
}
