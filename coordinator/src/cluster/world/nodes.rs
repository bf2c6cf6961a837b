//! The facts of a Node object that matter for choosing a vehicle.

use crds::labels;
use fleet::planning::binding::taint_matters;
use fleet::planning::node_use::{NodeUse, drains};
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use model::ids::NodeName;
use model::time::Moment;
use std::collections::BTreeMap;
use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeFacts {
    pub name: NodeName,
    pub labels: BTreeMap<String, String>,
    pub ready: bool,
    /// `spec.unschedulable`.
    pub cordoned: bool,
    /// Has a taint that Drones do not tolerate, or is being deleted.
    pub tainted: bool,
    pub usable: NodeUse,
    /// When a person declared its vehicle to be out of the air, by the wall clock.
    pub declared_down: Option<Moment>,
}

/// A wall-clock time since 1970; an earlier one becomes 1970.
pub fn of_the_wall(at: Timestamp) -> Moment {
    Moment::at(Duration::from_millis(
        u64::try_from(at.as_millisecond()).unwrap_or_default(),
    ))
}

impl NodeFacts {
    /// `None` if an agent could not have its name.
    pub fn of(node: &Node) -> Option<Self> {
        let spec = node.spec.as_ref();
        let conditions = node
            .status
            .as_ref()
            .and_then(|s| s.conditions.as_deref())
            .unwrap_or_default();
        let taints = spec.and_then(|s| s.taints.as_deref()).unwrap_or_default();
        let cordoned = spec.and_then(|s| s.unschedulable).unwrap_or_default();
        Some(Self {
            name: NodeName::parse(&node.name_any()).ok()?,
            labels: node.labels().clone(),
            ready: conditions.iter().any(|c| c.type_ == "Ready" && c.status == "True"),
            cordoned,
            usable: NodeUse::of(cordoned, taints.iter().any(|t| drains(&t.key, &t.effect))),
            declared_down: node
                .annotations()
                .get(labels::VEHICLE_IS_DOWN)
                .and_then(|at| at.parse().ok())
                .map(of_the_wall),
            tainted: node.metadata.deletion_timestamp.is_some()
                || taints.iter().any(|t| taint_matters(&t.key, &t.effect)),
        })
    }
}
