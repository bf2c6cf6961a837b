//! `GroundOrder`: a person has ordered vehicles to the ground, and they stay there until the order is released.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was ordered. It is never changed.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[kube(
    group = "skein.dev",
    version = "v1alpha1",
    kind = "GroundOrder",
    plural = "groundorders",
    shortname = "gro",
    category = "skein",
    status = "GroundOrderStatus",
    derive = "PartialEq",
    doc = "A GroundOrder keeps on the ground the vehicles of everything that it covers, including what is created or edited later. `skein ground` creates one, and only `skein release` ends it; deleting the object does not.",
    printcolumn(
        name = "Scope",
        type_ = "string",
        json_path = ".spec.scope",
        description = "What it covers."
    ),
    printcolumn(
        name = "Namespace",
        type_ = "string",
        json_path = ".spec.namespace",
        description = "Where that is."
    ),
    printcolumn(
        name = "Target",
        type_ = "string",
        json_path = ".spec.target",
        description = "The name or the selector."
    ),
    printcolumn(
        name = "By",
        type_ = "string",
        json_path = ".spec.orderedBy",
        description = "Who gave it."
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".spec.orderedAt")
)]
#[kube(validation = Rule::new("self.spec == oldSelf.spec")
    .message("a ground order is never changed; end it with `skein release` and give another")
    .field_path(".spec"))]
#[serde(rename_all = "camelCase")]
pub struct GroundOrderSpec {
    /// What it covers: All, Selector, Swarm, Drone or Node.
    pub scope: Scope,

    /// Namespace of the Swarm or Drone, or the only one in which the selector selects.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 253))]
    pub namespace: String,

    /// Name of the Swarm, Drone or node, or the label selector. Empty for All.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 4096))]
    pub target: String,

    /// Who gave it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 512))]
    pub ordered_by: String,

    /// When it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ordered_at: Option<Time>,

    /// Its number, which agents keep on their disk until the order is recorded here.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 20))]
    pub id: String,

    /// What a selector selected when it was given, as Swarm/NAMESPACE/NAME or Drone/NAMESPACE/NAME. It stays covered if its labels
    /// change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 2000), inner(length(max = 520)))]
    pub objects: Vec<String>,

    /// Nodes whose vehicles served what it was given for. They serve no other Drone until it is released.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10000), inner(length(max = 253)))]
    pub nodes: Vec<String>,
}

/// What a ground order covers.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Every Drone of every namespace.
    All,
    /// Swarms and Drones by their labels.
    Selector,
    /// One Swarm.
    Swarm,
    /// One Drone.
    Drone,
    /// The vehicle of one node.
    Node,
}

/// What was released of it, written by the coordinator.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct GroundOrderStatus {
    /// What was released of it: uids of Swarms and Drones, and names of nodes. The rest stays covered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10000), inner(length(max = 253)))]
    pub exceptions: Vec<String>,
}
