//! `Geofence`: where the vehicles that it selects may be, in force on their autopilots.

use crate::rules::UnsettledVehicle;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where the selected vehicles may be.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "skein.dev",
    version = "v1alpha1",
    kind = "Geofence",
    plural = "geofences",
    shortname = "gf",
    category = "skein",
    status = "GeofenceStatus",
    derive = "PartialEq",
    doc = "A Geofence says where vehicles may be: inside all its inclusions, outside all its exclusions, below its ceiling and above its floor. It is stored on their autopilots, read back, and in force only then. Several that select one vehicle all hold for it.",
    printcolumn(
        name = "Breach",
        type_ = "string",
        json_path = ".spec.breach",
        description = "What an autopilot does when its vehicle leaves the fence."
    ),
    printcolumn(
        name = "Ceiling",
        type_ = "number",
        json_path = ".spec.ceilingMeters",
        description = "Meters above home."
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
        description = "Vehicles on which it is in force: read back from the autopilot."
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="InForce")].reason"#,
        description = "Whether it is in force on all."
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="InForce")].message"#,
        priority = 1,
        description = "On which vehicle it is not in force, and why."
    )
)]
#[kube(validation = Rule::new("has(self.spec.include) || has(self.spec.exclude) || has(self.spec.ceilingMeters) || has(self.spec.floorMeters)")
    .message("a Geofence without shape, ceiling and floor fences nothing; give include, exclude, ceilingMeters or floorMeters")
    .field_path(".spec"))]
#[kube(validation = Rule::new("!has(self.spec.ceilingMeters) || !has(self.spec.floorMeters) || self.spec.floorMeters < self.spec.ceilingMeters")
    .message("floorMeters is not below ceilingMeters; lower the floor or raise the ceiling")
    .field_path(".spec.floorMeters"))]
#[serde(rename_all = "camelCase")]
pub struct GeofenceSpec {
    /// Which vehicles it holds for: labels of the Vehicle, and those of its Node where the Vehicle has none of that key. An empty
    /// selector selects all.
    pub vehicle_selector: LabelSelector,

    /// The vehicle has to be inside all of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub include: Vec<Area>,

    /// The vehicle has to be outside all of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub exclude: Vec<Area>,

    /// The vehicle has to be below this, in meters above its home position. 10 to 3000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("self >= 10.0 && self <= 3000.0").message("ceilingMeters must be from 10 to 3000 meters above home; choose an altitude in that range"))]
    pub ceiling_meters: Option<f64>,

    /// The vehicle has to be above this once it has climbed above it, in meters above its home position. 1 to 1000. PX4 keeps no floor:
    /// with one, no PX4 vehicle can be selected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("self >= 1.0 && self <= 1000.0").message("floorMeters must be from 1 to 1000 meters above home; choose an altitude in that range"))]
    pub floor_meters: Option<f64>,

    /// What the autopilot does when its vehicle leaves the fence: Warn, Hold, Return (the default) or Land. Of several Geofences that
    /// select one vehicle the last in this order counts.
    #[serde(default)]
    pub breach: Breach,

    /// When it holds. Always when left out. The autopilot takes it over on the ground only: begin before the flight.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub windows: Vec<Window>,
}

/// A polygon or a circle.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[x_kube(validation = Rule::new("has(self.polygon) != has(self.circle)").message("each area is a polygon or a circle; give one of the two"))]
#[serde(rename_all = "camelCase")]
pub struct Area {
    /// Its corners, in their order around it, the last not equal to the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 3, max = 255))]
    pub polygon: Option<Vec<Point>>,

    /// A circle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub circle: Option<Circle>,
}

/// A place on the ground.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Point {
    /// Degrees, WGS 84, north positive.
    #[schemars(range(min = -90, max = 90))]
    pub latitude_degrees: f64,
    /// Degrees, WGS 84, east positive.
    #[schemars(range(min = -180, max = 180))]
    pub longitude_degrees: f64,
}

/// A circle on the ground.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Circle {
    /// Its center.
    pub center: Point,
    /// Its radius in meters, 5 to 20,000.
    #[schemars(range(min = 5, max = 20000))]
    pub radius_meters: f64,
}

/// What an autopilot does when its vehicle leaves the fence.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Breach {
    /// It warns, and flies on.
    Warn,
    /// It holds its place.
    Hold,
    /// It returns to home and lands.
    #[default]
    Return,
    /// It lands where it is.
    Land,
}

/// A span of time.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[x_kube(validation = Rule::new("has(self.from) || has(self.until)").message("a window without from and until says nothing; give one of them, or no window"))]
#[x_kube(validation = Rule::new("(!has(self.from) || string(self.from) < '9999') && (!has(self.until) || string(self.until) < '9999')").message("from and until must be before the year 9999; leave until out for a window that does not end"))]
#[serde(rename_all = "camelCase")]
pub struct Window {
    /// Its start; without it, the window has begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Time>,
    /// Its end; without it, the window does not end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
}

/// On how many vehicles it is in force, written by the coordinator.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct GeofenceStatus {
    /// The generation of the spec that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// Vehicles that it selects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selected: Option<i32>,

    /// Vehicles on which it is in force: read back from the autopilot, and not discarded by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_force: Option<i32>,

    /// Vehicles that it selects and on which it is not in force, the first 32 by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub unsettled: Vec<UnsettledVehicle>,

    /// Compiled: every selected autopilot can be given it. InForce: it is in force on all selected vehicles.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}
