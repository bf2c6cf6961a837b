//! `Swarm`: so many Drones of one kind, kept in the air.

use crate::drone::{DroneSpec, default_altitude, is_false, is_zero};
use crate::formation::{Formation, SlotStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// What the Swarm asks for. All of it can be left out: `spec: {}` is one Drone with the defaults.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[kube(
    group = "skein.dev",
    version = "v1alpha1",
    kind = "Swarm",
    plural = "swarms",
    shortname = "sw",
    category = "skein",
    namespaced,
    status = "SwarmStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "A Swarm keeps a number of Drones in the air. Scale it with `kubectl scale`; deleting it lands all its vehicles, and the object is gone once all its Drones are.",
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.selector"
    ),
    printcolumn(
        name = "Desired",
        type_ = "integer",
        json_path = ".spec.replicas",
        description = "Desired number of Drones: spec.replicas."
    ),
    printcolumn(
        name = "Drones",
        type_ = "integer",
        json_path = ".status.replicas",
        description = "Drones that exist, landing ones included."
    ),
    printcolumn(
        name = "Assigned",
        type_ = "integer",
        json_path = ".status.assignedDrones",
        description = "Drones that have a vehicle."
    ),
    printcolumn(
        name = "Flying",
        type_ = "integer",
        json_path = ".status.flyingDrones",
        description = "Drones whose autopilot reports that they fly."
    ),
    printcolumn(
        name = "Unknown",
        type_ = "integer",
        json_path = ".status.unknownDrones",
        description = "Drones that have a vehicle and of which it is not known whether they fly."
    ),
    printcolumn(
        name = "Covered",
        type_ = "integer",
        json_path = ".status.coveredSlots",
        description = "Slots of the formation at which a vehicle is on station."
    ),
    printcolumn(
        name = "Grounded",
        type_ = "boolean",
        json_path = ".spec.grounded",
        description = "Whether a ground order is in force."
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].message"#,
        priority = 1,
        description = "Why the Swarm is or is not ready."
    )
)]
#[kube(
    validation = Rule::new("self.metadata.name.size() <= 63")
        .message("the name of a Swarm must be at most 63 characters, as its Drones carry it in a label; choose a shorter name")
)]
#[kube(validation = Rule::new("self.spec.maxSurge > 0 || self.spec.maxUnavailable > 0")
    .message("maxSurge and maxUnavailable cannot both be 0, or no vehicle could ever be replaced; raise one of them")
    .field_path(".spec.maxSurge"))]
#[kube(validation = Rule::new("!has(oldSelf.spec.formation) || has(self.spec.formation)")
    .message("spec.formation can be changed and not removed, as its vehicles may be far from their homes; scale the Swarm to 0 and delete it")
    .reason(Reason::FieldValueForbidden)
    .field_path(".spec.formation"))]
#[serde(rename_all = "camelCase")]
pub struct SwarmSpec {
    /// How many Drones fly, 0 to 10000; 1 when left out. Change it with `kubectl scale`.
    #[serde(default = "default_replicas")]
    #[x_kube(validation = Rule::new("self >= 0 && self <= 10000").message("replicas must be from 0 to 10000; use several Swarms for more"))]
    pub replicas: i32,

    /// Labels that a node must carry, besides node-role.kubernetes.io/drone, for its vehicle to fly in this Swarm. Added
    /// to the template's own nodeSelector.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,

    /// Labels, annotations and spec of each Drone of the Swarm. Leave it out for the defaults.
    #[serde(default)]
    pub template: DroneTemplate,

    /// Places that the Swarm keeps covered, one for each replica. Its Drones take off, fly to them and hold there; change it, and they
    /// fly on. Leave it out to hold each above its home.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub formation: Option<Formation>,

    /// Set to true to land all vehicles of the Swarm and keep them on the ground; the Drones keep their vehicles. Set to
    /// false (or leave out) to let them fly. `skein ground` and `skein release` set it. False ends no ground order: only
    /// `skein release` does, see `kubectl get groundorders`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub grounded: bool,

    /// How many Drones there may be beyond replicas while others are replaced, 0 to 100; 1 when left out. Never more than
    /// replicas and maxSurge together are in the air.
    #[serde(default = "one")]
    #[x_kube(validation = Rule::new("self >= 0 && self <= 100").message("maxSurge must be from 0 to 100; choose a number in that range"))]
    pub max_surge: i32,

    /// How many of the replicas may be missing, for any reason, when a vehicle is ordered to land for a drained or cordoned
    /// node and no other vehicle is free, 0 to 10000; 1 when left out. A Swarm that already lacks more lands none for that:
    /// raise this number, or ground the Drone.
    #[serde(default = "one")]
    #[x_kube(validation = Rule::new("self >= 0 && self <= 10000").message("maxUnavailable must be from 0 to 10000; choose a number in that range"))]
    pub max_unavailable: i32,

    /// What a cordon does to vehicles in the air: Continue (the default: they go on) or Land (they land in an orderly way,
    /// replaced first where that is possible, within maxUnavailable). With both values a cordon keeps a vehicle on the ground
    /// that is there, and the taint skein.dev/ground:NoExecute lands a vehicle in the air.
    #[serde(default)]
    pub on_cordon: OnCordon,

    /// After how many seconds in which the state of a vehicle is unknown another flies in its place, 60 to 86400. Leave it out to never do
    /// so. The lost one stays bound to its Drone; when its state is known again, the Swarm has one too many and lands one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("self >= 60 && self <= 86400").message("replaceLostAfterSeconds must be from 60 to 86400 seconds; leave it out to never replace a lost vehicle"))]
    pub replace_lost_after_seconds: Option<i32>,

    /// Remaining battery, in percent, at or below which a flying vehicle is replaced: another takes off, then it lands. 5 to
    /// 95; 10 above failsafe.reservePercent when left out. Where no other vehicle is free it flies on until its reserve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("self >= 5 && self <= 95").message("rotateAtPercent must be from 5 to 95 percent; leave it out for 10 above the reserve"))]
    pub rotate_at_percent: Option<i32>,

    /// Seconds from one takeoff of the Swarm to the next, so that neighbors do not take off together, 0 to 600; 0 when left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[x_kube(validation = Rule::new("self >= 0 && self <= 600").message("takeoffIntervalSeconds must be from 0 to 600 seconds; choose a time in that range"))]
    pub takeoff_interval_seconds: i32,
}

fn default_replicas() -> i32 {
    1
}

fn one() -> i32 {
    1
}

/// What a cordon does to vehicles in the air.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnCordon {
    /// They go on.
    #[default]
    Continue,
    /// They land in an orderly way.
    Land,
}

/// Labels, annotations and spec of each Drone of a Swarm.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub struct DroneTemplate {
    /// Labels and annotations that each Drone gets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TemplateMetadata>,

    /// Spec that each Drone gets. Leave it out for the defaults.
    #[serde(default)]
    pub spec: DroneTemplateSpec,
}

/// Labels and annotations of a Swarm's Drones.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct TemplateMetadata {
    /// Labels for each Drone. The coordinator always sets skein.dev/swarm itself.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,

    /// Annotations for each Drone.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// The part of a Drone's spec that a Swarm decides.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct DroneTemplateSpec {
    /// Labels that a node must carry, besides node-role.kubernetes.io/drone, for its vehicle to serve a Drone of this Swarm.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,

    /// Altitude at which each vehicle holds, in meters above its home position (MAVLink: relative altitude). 1 to 120, 10
    /// when left out.
    #[serde(default = "default_altitude")]
    #[x_kube(validation = Rule::new("self >= 1.0 && self <= 120.0").message("takeoffAltitudeMeters must be from 1 to 120 meters above home; choose an altitude in that range"))]
    pub takeoff_altitude_meters: f64,

    /// What each vehicle does by itself when something goes wrong. Leave it out for the defaults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failsafe: Option<crate::drone::Failsafe>,
}

impl Default for DroneTemplateSpec {
    fn default() -> Self {
        Self {
            node_selector: BTreeMap::new(),
            takeoff_altitude_meters: default_altitude(),
            failsafe: None,
        }
    }
}

impl Default for SwarmSpec {
    fn default() -> Self {
        Self {
            replicas: default_replicas(),
            node_selector: BTreeMap::new(),
            template: DroneTemplate::default(),
            formation: None,
            grounded: false,
            max_surge: one(),
            max_unavailable: one(),
            on_cordon: OnCordon::default(),
            replace_lost_after_seconds: None,
            rotate_at_percent: None,
            takeoff_interval_seconds: 0,
        }
    }
}

impl SwarmSpec {
    /// The Swarm's own nodeSelector wins over its template's. Borrowed where possible, as reconciles ask often.
    pub fn drone_node_selector(&self) -> Cow<'_, BTreeMap<String, String>> {
        let (template, own) = (&self.template.spec.node_selector, &self.node_selector);
        if template.is_empty() {
            return Cow::Borrowed(own);
        }
        let mut joined = Cow::Borrowed(template);
        if !own.is_empty() {
            joined.to_mut().extend(own.clone());
        }
        joined
    }

    /// With [`Self::drone_node_selector`].
    pub fn drone_spec(&self) -> DroneSpec {
        DroneSpec {
            node_name: None,
            node_selector: self.drone_node_selector().into_owned(),
            takeoff_altitude_meters: self.template.spec.takeoff_altitude_meters,
            station: None,
            control: crate::drone::Control::default(),
            external: None,
            grounded: false,
            failsafe: self.template.spec.failsafe.clone(),
            resume_after_takeovers: 0,
        }
    }
}

/// What is known of a Swarm, written by the coordinator.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct SwarmStatus {
    /// Drones of this Swarm that exist, those that are landing to be removed included.
    #[serde(default)]
    pub replicas: i32,

    /// Drones of this Swarm that have a vehicle.
    #[serde(default)]
    pub assigned_drones: i32,

    /// Drones of this Swarm whose own autopilot reports that they fly.
    #[serde(default)]
    pub flying_drones: i32,

    /// Drones of this Swarm that have a vehicle and of which it is not known whether they fly: nothing is received from
    /// the agent, or from the autopilot.
    #[serde(default)]
    pub unknown_drones: i32,

    /// Slots of the formation at which a vehicle is on station; absent without a formation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covered_slots: Option<i32>,

    /// The slots of the formation, at most the first 100 of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slots: Vec<SlotStatus>,

    /// Label selector of this Swarm's Drones, for `kubectl get drones -l` and autoscalers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,

    /// Names of this Swarm's Drones, sorted; at most the first 100 of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drone_names: Vec<String>,

    /// metadata.generation that this status was computed from. Older than metadata.generation: the change is not
    /// observed yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// Ready (as many fly as desired) and, with a formation, Covered (a vehicle is on station at each slot), with reason and message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn spec(value: serde_json::Value) -> SwarmSpec {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn an_empty_spec_is_one_drone_at_ten_meters() {
        let spec = spec(json!({}));
        assert_eq!(spec, SwarmSpec::default());
        assert_eq!((spec.replicas, spec.drone_spec()), (1, DroneSpec::default()));
        assert!((spec.drone_spec().takeoff_altitude_meters - 10.0).abs() < f64::EPSILON);
    }

    #[test]
    fn a_swarm_of_none_stays_a_swarm_of_none() {
        let spec = spec(json!({"replicas": 0}));
        assert_eq!(serde_json::to_value(&spec).unwrap()["replicas"], 0);
    }

    #[test]
    fn a_new_drone_gets_both_selectors_and_the_swarm_has_the_last_word() {
        let spec = spec(json!({
            "nodeSelector": {"field": "north", "camera": "yes"},
            "template": {"spec": {"nodeSelector": {"field": "south", "size": "large"}, "takeoffAltitudeMeters": 25.0}},
        }));
        let drone = spec.drone_spec();
        assert_eq!(
            serde_json::to_value(drone).unwrap(),
            json!({"nodeSelector": {"camera": "yes", "field": "north", "size": "large"}, "takeoffAltitudeMeters": 25.0})
        );
    }

    #[test]
    fn a_new_drone_has_no_node_and_is_not_grounded_by_itself() {
        let drone = spec(json!({"grounded": true})).drone_spec();
        assert_eq!((drone.node_name, drone.grounded), (None, false));
    }
}
