//! `ParameterProfile`: the values that autopilot parameters of the selected vehicles are to have.

mod settings;

use crate::rules::UnsettledVehicle;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub use settings::{SettingAction, Settings};

/// Which values.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[kube(
    group = "skein.dev",
    version = "v1alpha1",
    kind = "ParameterProfile",
    plural = "parameterprofiles",
    shortname = "pp",
    category = "skein",
    status = "ParameterProfileStatus",
    derive = "PartialEq",
    doc = "A ParameterProfile says which values autopilot parameters of vehicles are to have. They are set on the ground, on a few vehicles at a time, and count only when they were read back. Calibrations, ids and statistics cannot be set this way.",
    printcolumn(
        name = "Enforce",
        type_ = "string",
        json_path = ".spec.enforce",
        description = "Apply: other values are set. Report: they are only reported."
    ),
    printcolumn(
        name = "Precedence",
        type_ = "integer",
        json_path = ".spec.precedence",
        description = "Of several that name a parameter the highest wins."
    ),
    printcolumn(
        name = "Vehicles",
        type_ = "integer",
        json_path = ".status.selected",
        description = "Vehicles that it selects."
    ),
    printcolumn(
        name = "In Force",
        type_ = "integer",
        json_path = ".status.inForce",
        description = "Vehicles that have all its values: read back from the autopilot."
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="InForce")].reason"#,
        description = "Whether all have them."
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="InForce")].message"#,
        priority = 1,
        description = "Which vehicle does not have them, and why."
    )
)]
#[kube(validation = Rule::new("has(self.spec.ardupilot) || has(self.spec.px4) || has(self.spec.settings)")
    .message("a ParameterProfile without values does nothing; give values under settings, ardupilot or px4")
    .field_path(".spec"))]
#[serde(rename_all = "camelCase")]
pub struct ParameterProfileSpec {
    /// Which vehicles it holds for: labels of the Vehicle, and those of its Node where the Vehicle has none of that key. An empty
    /// selector selects all.
    pub vehicle_selector: LabelSelector,

    /// Of several profiles that name a parameter, the one with the higher number wins. -1000 to 1000, 0 when left out. Two with the same
    /// number that want different values are a conflict, and neither is set.
    #[serde(default)]
    #[x_kube(validation = Rule::new("self >= -1000 && self <= 1000").message("precedence must be from -1000 to 1000; choose a number in that range"))]
    pub precedence: i32,

    /// What is done about other values: Report (the default: they are reported) or Apply (they are set, on the ground and disarmed).
    #[serde(default)]
    pub enforce: Enforce,

    /// Whether an autopilot may be rebooted for a value that counts only then: Never (the default) or WhenIdle.
    #[serde(default)]
    pub reboot: Reboot,

    /// On how many vehicles at a time values are changed. 1 to 1000, 1 when left out. One that refuses a value stops all that would
    /// follow; one whose autopilot has no parameter of a name does not.
    #[serde(default = "one")]
    #[x_kube(validation = Rule::new("self >= 1 && self <= 1000").message("maxUnavailable must be from 1 to 1000 vehicles; choose a number in that range"))]
    pub max_unavailable: i32,

    /// Values by meaning, each in the unit of its name: the agent sets each under the name and in the unit that its autopilot has for it,
    /// whichever stack and version that is. What has no setting here is set by its name, below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<Settings>,

    /// Values for ArduPilot, by name: a number such as "1500", or an expression such as "{{ 1500 + 500*slot }}" with the variables slot
    /// (of the Drone that the vehicle serves), number (the label skein.dev/number) and systemId.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[x_kube(validation = Rule::new("size(self) <= 128").message("a ParameterProfile has at most 128 values for one autopilot; divide it into several"))]
    pub ardupilot: BTreeMap<String, String>,

    /// Values for PX4, by name, written in the same way.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[x_kube(validation = Rule::new("size(self) <= 128").message("a ParameterProfile has at most 128 values for one autopilot; divide it into several"))]
    pub px4: BTreeMap<String, String>,
}

fn one() -> i32 {
    1
}

/// What is done about other values.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Enforce {
    /// They are set.
    Apply,
    /// They are reported.
    #[default]
    Report,
}

/// Whether autopilots may be rebooted.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reboot {
    /// They may not.
    #[default]
    Never,
    /// On the ground, disarmed, and not about to fly.
    WhenIdle,
}

/// How many vehicles have the values, written by the coordinator.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ParameterProfileStatus {
    /// The generation of the spec that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// Vehicles that it selects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selected: Option<i32>,

    /// Vehicles that have all its values: read back from the autopilot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_force: Option<i32>,

    /// Vehicles that it selects and that do not have all its values, the first 32 by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub unsettled: Vec<UnsettledVehicle>,

    /// Compiled: its values can be given to every selected autopilot. InForce: all selected vehicles have them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}
