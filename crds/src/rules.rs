//! What the statuses of `Geofence` and `ParameterProfile` have in common.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// A vehicle on which rules are not in force.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct UnsettledVehicle {
    /// Name of the Vehicle.
    #[schemars(length(max = 253))]
    pub name: String,
    /// One word: why.
    #[schemars(length(max = 64))]
    pub reason: String,
    /// Why, and what to do, as a sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 1024))]
    pub message: String,
}
