//! `spec.formation` of a Swarm: the places of many vehicles, in numbered slots.

use crate::drone::Station;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Places for the vehicles of a Swarm, in numbered slots. Give points, or a shape around an anchor.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("self.shape != 'Points' || (has(self.points) && size(self.points) > 0)")
    .message("formation.shape Points needs formation.points; list the place of each slot"))]
#[x_kube(validation = Rule::new("self.shape == 'Points' || (has(self.anchor) && has(self.spacingMeters))")
    .message("formation.shape needs formation.anchor and formation.spacingMeters; give both, or choose shape Points"))]
#[x_kube(validation = Rule::new("self.shape != 'Grid' || has(self.columns)")
    .message("formation.shape Grid needs formation.columns; give the number of slots to a row"))]
pub struct Formation {
    /// Points (the places of points), or a shape around the anchor: Line (abreast), Column (one behind the other), Grid (rows of
    /// columns), Circle (evenly around it) or Vee (two arms that open backward).
    pub shape: FormationShape,

    /// The place of each slot, 1 to 1000 of them, for shape Points. There may be more than replicas.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1000))]
    pub points: Vec<Station>,

    /// Where the shape is: slot 0 of Line, Column and Vee, the middle of the front row of Grid, the center of Circle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<Station>,

    /// Which way the shape faces, in degrees clockwise from north, from 0 up to 360; 0 when left out.
    #[serde(default, skip_serializing_if = "is_nothing")]
    #[x_kube(validation = Rule::new("self >= 0.0 && self < 360.0").message("formation.headingDegrees must be from 0 up to 360; give degrees clockwise from north"))]
    pub heading_degrees: f64,

    /// From one slot to the next, in meters over ground, up to 10000. The coordinator says how far apart slots must be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("self > 0.0 && self <= 10000.0").message("formation.spacingMeters must be above 0 and up to 10000; give meters"))]
    pub spacing_meters: Option<f64>,

    /// How much higher each next place, row or slot is, in meters, -100 to 100; 0 when left out.
    #[serde(default, skip_serializing_if = "is_nothing")]
    #[x_kube(validation = Rule::new("self >= -100.0 && self <= 100.0").message("formation.altitudeStepMeters must be from -100 to 100; give meters"))]
    pub altitude_step_meters: f64,

    /// Slots to a row, 1 to 1000, for shape Grid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("self >= 1 && self <= 1000").message("formation.columns must be from 1 to 1000; give the number of slots to a row"))]
    pub columns: Option<i32>,

    /// From the line of flight to each arm, in degrees, 1 to 89, for shape Vee; 45 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("self >= 1.0 && self <= 89.0").message("formation.halfAngleDegrees must be from 1 to 89; give degrees"))]
    pub half_angle_degrees: Option<f64>,

    /// A vehicle covers its slot when it is no farther from the place than this, in meters over ground and in altitude, 1 to 1000. When
    /// left out: 2 over ground, 1.5 in altitude. Give as much as the work allows: a vehicle that relieves another holds beside it
    /// first, and covers the slot from there if that is near enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("self >= 1.0 && self <= 1000.0").message("formation.toleranceMeters must be from 1 to 1000; give meters"))]
    pub tolerance_meters: Option<f64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_nothing(value: &f64) -> bool {
    *value == 0.0
}

/// The shape of a formation.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FormationShape {
    /// Each place by itself.
    #[default]
    Points,
    /// Abreast.
    Line,
    /// One behind the other.
    Column,
    /// Rows.
    Grid,
    /// Evenly around the anchor.
    Circle,
    /// Two arms that open backward.
    Vee,
}

/// One slot of a formation, as the coordinator knows it.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct SlotStatus {
    /// Its number, from 0.
    pub slot: i32,

    /// Whether a vehicle of the Swarm is on station there.
    pub covered: bool,

    /// Since when it is covered or not covered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<k8s_openapi::apimachinery::pkg::apis::meta::v1::Time>,

    /// The Drone that was given the slot; while another relieves it, the one that covers it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drone: Option<String>,

    /// How far its vehicle is from the place over ground, in meters, as of the last write of this status; absent while that is not
    /// known. For live figures use `skein watch`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off_meters: Option<f64>,

    /// Why it is not covered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}
