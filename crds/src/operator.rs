//! `Operator`: who operates the vehicles that it selects, as their Remote ID has to say.

use crate::rules::UnsettledVehicle;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who operates the selected vehicles.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "skein.dev",
    version = "v1alpha1",
    kind = "Operator",
    plural = "operators",
    shortname = "op",
    category = "skein",
    status = "OperatorStatus",
    derive = "PartialEq",
    doc = "An Operator says who operates vehicles and from where. The agents of the vehicles that it selects send it to their autopilots every second, as Remote ID requires. Two that select one vehicle are both refused for it.",
    printcolumn(
        name = "Id",
        type_ = "string",
        json_path = ".spec.id",
        description = "The operator's registration."
    ),
    printcolumn(
        name = "Location",
        type_ = "string",
        json_path = ".spec.location.source",
        description = "Where the operator is."
    ),
    printcolumn(
        name = "Vehicles",
        type_ = "integer",
        json_path = ".status.selected",
        description = "Vehicles that it selects."
    ),
    printcolumn(
        name = "Sent",
        type_ = "integer",
        json_path = ".status.sent",
        description = "Vehicles to whose autopilots it is sent now."
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Sent")].reason"#,
        description = "Whether all of them are."
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Sent")].message"#,
        priority = 1,
        description = "Which vehicle is not, and why."
    )
)]
#[serde(rename_all = "camelCase")]
pub struct OperatorSpec {
    /// Which vehicles it is for: labels of the Vehicle, and those of its Node where the Vehicle has none of that key. An empty
    /// selector selects all.
    pub vehicle_selector: LabelSelector,

    /// The operator's registration with the aviation authority, as it is to be broadcast: 1 to 20 printable characters of ASCII. In the
    /// European Union without the hyphen and the three secret characters at its end.
    #[x_kube(validation = Rule::new("self.matches('^[ -~]{1,20}$')").message("id must be 1 to 20 printable ASCII characters; write the registration as it is to be broadcast"))]
    #[schemars(length(max = 64))]
    pub id: String,

    /// What kind of id that is. Remote ID knows one: CAA, a registration with an aviation authority.
    #[serde(default)]
    pub id_type: IdType,

    /// What the flights are for, in words for everybody who receives them (MAVLink: SELF_ID): up to 23 printable characters of ASCII.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("self.matches('^[ -~]{1,23}$')").message("description must be 1 to 23 printable ASCII characters; shorten it, or leave it out"))]
    #[schemars(length(max = 64))]
    pub description: Option<String>,

    /// Where the operator is.
    #[serde(default)]
    pub location: OperatorLocation,

    /// Where the flights are classified by the rules of the European Union; left out elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eu: Option<EuropeanClassification>,

    /// What label `skein.dev/uas-id` of a Vehicle or its Node is: SerialNumber (the default, ANSI/CTA-2063-A) or Registration. A vehicle
    /// without the label is sent no id of its own: its transmitter or its autopilot has to know it.
    #[serde(default)]
    pub uas_id_type: UasIdType,
}

/// What kind of id an operator has.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IdType {
    /// A registration with an aviation authority.
    #[default]
    #[serde(rename = "CAA")]
    Caa,
}

/// What kind of id an aircraft has.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UasIdType {
    /// Its maker's serial number.
    #[default]
    SerialNumber,
    /// Its registration with an aviation authority.
    Registration,
}

/// Where an operator is.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[x_kube(validation = Rule::new("self.source != 'Fixed' || (has(self.latitudeDegrees) && has(self.longitudeDegrees))").message("location.source Fixed needs a place; give latitudeDegrees and longitudeDegrees"))]
#[x_kube(validation = Rule::new("self.source != 'Takeoff' || !(has(self.latitudeDegrees) || has(self.longitudeDegrees) || has(self.altitudeMeters))").message("location.source Takeoff is the home position of each vehicle; leave the coordinates out, or use Fixed"))]
#[x_kube(validation = Rule::new("!has(self.latitudeDegrees) || !has(self.longitudeDegrees) || self.latitudeDegrees != 0.0 || self.longitudeDegrees != 0.0").message("autopilots take latitude 0 and longitude 0 for no place; give the operator's own"))]
#[serde(rename_all = "camelCase")]
pub struct OperatorLocation {
    /// Takeoff (the default): where each vehicle takes off, its home position. Fixed: the coordinates below.
    #[serde(default)]
    pub source: LocationSource,

    /// Degrees, WGS 84, north positive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -90, max = 90))]
    pub latitude_degrees: Option<f64>,

    /// Degrees, WGS 84, east positive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -180, max = 180))]
    pub longitude_degrees: Option<f64>,

    /// Meters above the WGS 84 ellipsoid, not above sea level; left out: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("self > -1000.0 && self <= 31767.0").message("altitudeMeters must be above -1000 and at most 31767; -1000 means that it is not known: leave it out"))]
    pub altitude_meters: Option<f64>,
}

/// From where the operator's location is.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LocationSource {
    /// Where each vehicle takes off.
    #[default]
    Takeoff,
    /// A place that does not move.
    Fixed,
}

/// The classification of the European Union (Regulation 2019/947).
#[derive(KubeSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[x_kube(validation = Rule::new("!has(self.class) || self.category == 'Open'").message("eu.class belongs to category Open; leave it out, or set category to Open"))]
#[serde(rename_all = "camelCase")]
pub struct EuropeanClassification {
    /// The category of the flights: Open, Specific or Certified.
    pub category: EuropeanCategory,

    /// The class of the aircraft, 0 to 6 for C0 to C6; only in category Open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 6))]
    pub class: Option<i32>,
}

/// A category of the European Union.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EuropeanCategory {
    /// Open.
    #[default]
    Open,
    /// Specific.
    Specific,
    /// Certified.
    Certified,
}

/// To how many vehicles it is sent, written by the coordinator.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct OperatorStatus {
    /// The generation of the spec that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// Vehicles that it selects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selected: Option<i32>,

    /// Vehicles whose agents send it to their autopilots every second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<i32>,

    /// Vehicles that it selects and to whose autopilots it is not sent, or whose transmitters are not good to arm, the first 32 by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub unsettled: Vec<UnsettledVehicle>,

    /// Accepted: no other Operator selects a vehicle of its own. Sent: it is sent to the autopilots of all selected vehicles every second.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}
