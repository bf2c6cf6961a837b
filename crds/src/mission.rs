//! `Mission`: work in the air that completes, as a person writes it down, and its progress in few numbers. Must not:
//! hold items, which follow from the spec ([`convert`]) and from who flies which part.

pub mod convert;

use crate::drone::{AltitudeReference, DroneSpec, Failsafe, is_false, is_zero};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the Mission asks for: a route, a survey or a plan of a ground station, and how it is shared among vehicles.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[kube(
    group = "skein.dev",
    version = "v1alpha1",
    kind = "Mission",
    plural = "missions",
    shortname = "ms",
    category = "skein",
    namespaced,
    status = "MissionStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "A Mission is work in the air that completes: a route or a survey, flown by one vehicle or shared among several. Deleting it brings its vehicles home, and the object is gone once all its Drones are.",
    printcolumn(
        name = "Done",
        type_ = "string",
        json_path = ".status.done",
        description = "How much of the work has been flown, this time."
    ),
    printcolumn(
        name = "Vehicles",
        type_ = "integer",
        json_path = ".status.vehicles",
        description = "Vehicles that have a part of the work."
    ),
    printcolumn(
        name = "ETA",
        type_ = "string",
        json_path = ".status.estimatedCompletionTime",
        description = "When all is flown, as of the last write of the status: in calm air, and if all goes well."
    ),
    printcolumn(
        name = "Completed",
        type_ = "integer",
        json_path = ".status.completed",
        description = "How often all of the work has been flown."
    ),
    printcolumn(
        name = "Failures",
        type_ = "integer",
        json_path = ".status.failures",
        priority = 1,
        description = "How often a vehicle failed to fly its part."
    ),
    printcolumn(
        name = "Beside",
        type_ = "integer",
        json_path = ".status.passedBeside",
        priority = 1,
        description = "How many places a vehicle passed farther away than it was to."
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Progressing")].message"#,
        priority = 1,
        description = "What it does, or why it does not go on."
    )
)]
#[kube(
    validation = Rule::new("self.metadata.name.size() <= 63")
        .message("the name of a Mission must be at most 63 characters, as its Drones carry it in a label; choose a shorter name")
)]
#[kube(validation = Rule::new("[has(self.spec.route), has(self.spec.survey), has(self.spec.planFrom)].filter(given, given).size() == 1")
    .message("a Mission needs exactly one of spec.route, spec.survey and spec.planFrom; give one of them"))]
#[kube(validation = Rule::new("self.spec.repeat != 'Forever' || self.spec.completions == 1")
    .message("a Mission with repeat Forever never completes; leave out spec.completions, or set repeat to Once")
    .field_path(".spec.completions"))]
#[serde(rename_all = "camelCase")]
pub struct MissionSpec {
    /// Places that are flown one after the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<Route>,

    /// An area that is flown over so that all of it is covered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub survey: Option<Survey>,

    /// A mission that a ground station has written, whose items are flown unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_from: Option<PlanFrom>,

    /// How many vehicles share the work at once, 1 to 100; 1 when left out.
    #[serde(default = "one")]
    #[x_kube(validation = Rule::new("self >= 1 && self <= 100").message("parallelism must be from 1 to 100; choose a number in that range"))]
    pub parallelism: i32,

    /// How often the whole work is flown, 1 to 1000; 1 when left out.
    #[serde(default = "one")]
    #[x_kube(validation = Rule::new("self >= 1 && self <= 1000").message("completions must be from 1 to 1000; choose a number in that range"))]
    pub completions: i32,

    /// Once (the default: the Mission completes) or Forever (a patrol: it begins again each time).
    #[serde(default)]
    pub repeat: Repeat,

    /// Where a vehicle gives over to another. Leave it out for the defaults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handover: Option<Handover>,

    /// By how much each further vehicle flies higher than the one below it, in meters, 0 to 100; 0 when left out. Parts of the work meet where
    /// they were cut, so vehicles at one altitude fly one after the other; with 10 or more they fly at once (15 on PX4).
    #[serde(default, skip_serializing_if = "is_nothing")]
    #[x_kube(validation = Rule::new("self >= 0.0 && self <= 100.0").message("altitudeStepMeters must be from 0 to 100 meters; choose a distance in that range"))]
    pub altitude_step_meters: f64,

    /// Labels that a node must carry, besides node-role.kubernetes.io/drone, for its vehicle to fly in this Mission.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,

    /// What a vehicle does by itself when something goes wrong. Leave it out for the defaults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failsafe: Option<Failsafe>,

    /// How often a vehicle may fail to fly its part before the Mission fails, 0 to 100; 6 when left out.
    #[serde(default = "default_backoff_limit")]
    #[x_kube(validation = Rule::new("self >= 0 && self <= 100").message("backoffLimit must be from 0 to 100; choose a number in that range"))]
    pub backoff_limit: i32,

    /// After how many seconds from its start the Mission fails and its vehicles come home, 60 to 2592000. Leave it out for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("self >= 60 && self <= 2592000").message("activeDeadlineSeconds must be from 60 to 2592000 seconds; leave it out for no limit"))]
    pub active_deadline_seconds: Option<i32>,

    /// Set to true to bring its vehicles home; what they have flown counts when it is set to false again.
    #[serde(default, skip_serializing_if = "is_false")]
    pub suspend: bool,

    /// How many seconds after its end the object is deleted, 0 to 31536000. Leave it out to keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("self >= 0 && self <= 31536000").message("ttlSecondsAfterFinished must be from 0 to 31536000 seconds; leave it out to keep the object"))]
    pub ttl_seconds_after_finished: Option<i32>,

    /// Which Mission of a namespace gets a vehicle first, -1000 to 1000; the higher one. It orders nothing between namespaces. 0 when left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[x_kube(validation = Rule::new("self >= -1000 && self <= 1000").message("priority must be from -1000 to 1000; choose a number in that range"))]
    pub priority: i32,
}

impl Default for MissionSpec {
    fn default() -> Self {
        Self {
            route: None,
            survey: None,
            plan_from: None,
            parallelism: one(),
            completions: one(),
            repeat: Repeat::default(),
            handover: None,
            altitude_step_meters: 0.0,
            node_selector: BTreeMap::new(),
            failsafe: None,
            backoff_limit: default_backoff_limit(),
            active_deadline_seconds: None,
            suspend: false,
            ttl_seconds_after_finished: None,
            priority: 0,
        }
    }
}

impl MissionSpec {
    /// `takeoff_altitude_meters`: above home.
    pub fn drone_spec(&self, takeoff_altitude_meters: f64) -> DroneSpec {
        DroneSpec {
            node_selector: self.node_selector.clone(),
            takeoff_altitude_meters,
            failsafe: self.failsafe.clone(),
            ..DroneSpec::default()
        }
    }
}

/// How far a Mission has come, written by the coordinator.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct MissionStatus {
    /// How often all of the work has been flown.
    #[serde(default)]
    pub completed: i32,

    /// How much of the work has been flown this time, such as 40%: written at each quarter, and when a vehicle begins or ends its part. For
    /// live figures see the positions of the Drones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<String>,

    /// Vehicles that have a part of the work.
    #[serde(default)]
    pub vehicles: i32,

    /// How often a vehicle failed to fly its part.
    #[serde(default)]
    pub failures: i32,

    /// How many places a vehicle passed farther away than it was to.
    #[serde(default)]
    pub passed_beside: i32,

    /// How far away the worst of them was passed, in meters.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub passed_beside_by_meters: f64,

    /// When all is flown, as of the last write of this status: in calm air, and if all goes well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated_completion_time: Option<Time>,

    /// When the first Drone was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Time>,

    /// When it completed or failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_time: Option<Time>,

    /// Names the work that positions below are positions of. The work of a Mission that has begun cannot change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub work: Option<String>,

    /// What has been flown of it this time, by vehicles that have no part any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 2000))]
    pub flown: Vec<TrackRange>,

    /// Who flies what of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 200))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["drone".into()]))]
    pub parts: Vec<PartStatus>,

    /// Vehicles whose autopilots have refused a plan of this Mission. Each is left alone for 10 s, then 20 s, and so on up to 6 minutes, and
    /// after that is taken where no other will do. One that flies its part is not listed any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["node".into()]))]
    pub refused: Vec<RefusedStatus>,

    /// Of a Mission that has failed: what was not flown, the first 20 ranges.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20))]
    pub not_flown: Vec<NotFlown>,

    /// metadata.generation that this status was computed from. Older than metadata.generation: the change is not
    /// observed yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// Progressing, with what it does; and, once it is so, Complete, Failed or Suspended, with reason and message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}

/// From one position to another. The whole number of a position counts the points of the way, which begins at 0; the rest is the share of
/// the way to the next.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct TrackRange {
    /// Where it begins.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
}

/// What one Drone flies.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct PartStatus {
    /// The Drone.
    #[schemars(length(max = 253))]
    pub drone: String,

    /// Its part of the work.
    #[schemars(length(max = 2000))]
    pub ranges: Vec<TrackRange>,

    /// What of that it had flown when this was written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 2000))]
    pub flown: Vec<TrackRange>,

    /// Where it took off, or is to.
    pub start: Corner,

    /// How many altitudeStepMeters higher it flies than the work lies.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub layer: i32,

    /// Who takes over from it before it leaves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relief: Option<ReliefStatus>,

    /// True when it is a part of a later time that all is flown: it is begun before this time is over.
    #[serde(default, skip_serializing_if = "is_false")]
    pub ahead: bool,

    /// Of one that is ahead: 1 when it is a part of the next time, 2 of the time after that. 0 counts as 1.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rounds_ahead: i32,

    /// The plan that was made of it. It stays as given, whatever the spec says later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanStatus>,

    /// How many of its places the vehicle passed beside by this plan.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub passed_beside: i32,

    /// How far away it passed the worst of them, in meters.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub passed_beside_by_meters: f64,
}

/// The plan of a part, as it was given to its Drone.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct PlanStatus {
    /// Names its items: 32 hexadecimal digits.
    #[schemars(length(max = 64))]
    pub digest: String,

    /// How much higher it is flown than the work lies, meters.
    pub raised_meters: f64,
}

/// A vehicle whose autopilot has refused a plan.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct RefusedStatus {
    /// The node of the vehicle.
    #[schemars(length(max = 253))]
    pub node: String,

    /// How often in a row.
    pub times: i32,

    /// Why, the last time, in the words of its autopilot.
    #[schemars(length(max = 1024))]
    pub message: String,
}

/// Who takes over from another, and where.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ReliefStatus {
    /// The Drone that takes over.
    #[schemars(length(max = 253))]
    pub drone: String,
    /// The position up to which the one that leaves flies in any case.
    pub from: f64,

    /// True when it has joined while all of the work was assigned to other Drones: it counts as one more that flies at once.
    #[serde(default, skip_serializing_if = "is_false")]
    pub beside: bool,
}

/// A part of the work that was not flown.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct NotFlown {
    /// Which positions.
    pub range: TrackRange,
    /// Where it begins.
    pub begins: Corner,
    /// Where it ends.
    pub ends: Corner,
}

fn one() -> i32 {
    1
}

fn default_backoff_limit() -> i32 {
    6
}

/// Whether a Mission completes.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Repeat {
    /// It completes.
    #[default]
    Once,
    /// It begins again each time.
    Forever,
}

/// Where and how a vehicle gives over to another.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Handover {
    /// Waypoint (the default): a tired vehicle flies on to the next waypoint.
    #[serde(default)]
    pub at: HandoverAt,

    /// How many seconds of its work the next vehicle flies once more, 0 to 600; 0 when left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[x_kube(validation = Rule::new("self >= 0 && self <= 600").message("handover.overlapSeconds must be from 0 to 600 seconds; choose a time in that range"))]
    pub overlap_seconds: i32,
}

/// Where a vehicle gives over.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HandoverAt {
    /// At the next waypoint.
    #[default]
    Waypoint,
}

/// A mission file in a ConfigMap.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct PlanFrom {
    /// The file: a .plan of QGroundControl, or QGC WPL 110.
    pub config_map_key_ref: ConfigMapKey,
}

/// A key of a ConfigMap in the namespace of the Mission.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct ConfigMapKey {
    /// The ConfigMap.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// The key in its data.
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
}

/// Places that are flown one after the other.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Route {
    /// The places, 1 to 1000.
    #[schemars(length(min = 1, max = 1000))]
    pub waypoints: Vec<Waypoint>,
}

/// A place of a route.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("(has(self.altitudeReference) && self.altitudeReference == 'AboveMeanSeaLevel') || (self.altitudeMeters >= 1.0 && self.altitudeMeters <= 120.0)")
    .message("altitudeMeters above home must be from 1 to 120; choose an altitude in that range, or set altitudeReference"))]
pub struct Waypoint {
    /// Degrees, WGS 84, north positive.
    #[x_kube(validation = Rule::new("self >= -90.0 && self <= 90.0").message("latitudeDegrees must be from -90 to 90; give degrees, north positive"))]
    pub latitude_degrees: f64,

    /// Degrees, WGS 84, east positive.
    #[x_kube(validation = Rule::new("self >= -180.0 && self <= 180.0").message("longitudeDegrees must be from -180 to 180; give degrees, east positive"))]
    pub longitude_degrees: f64,

    /// Altitude in meters, measured from what altitudeReference names. Above home: 1 to 120.
    pub altitude_meters: f64,

    /// What altitudeMeters is measured from: AboveHome (the default) or AboveMeanSeaLevel.
    #[serde(default, skip_serializing_if = "is_above_home")]
    pub altitude_reference: AltitudeReference,

    /// How fast it is flown to over ground, in meters per second, above 0 and up to 20. When left out: as to the place before, and to the
    /// first as the autopilot decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("self > 0.0 && self <= 20.0").message("speedMetersPerSecond must be above 0 and up to 20; give meters per second"))]
    pub speed_meters_per_second: Option<f64>,

    /// How many seconds the vehicle holds there, 0 to 3600; 0 when left out.
    #[serde(default, skip_serializing_if = "is_nothing")]
    #[x_kube(validation = Rule::new("self >= 0.0 && self <= 3600.0").message("holdSeconds must be from 0 to 3600 seconds; choose a time in that range"))]
    pub hold_seconds: f64,

    /// Where the nose points there, in degrees clockwise from true north, from 0 up to 360. When left out, the autopilot decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("self >= 0.0 && self < 360.0").message("headingDegrees must be from 0 up to 360; give degrees clockwise from north"))]
    pub heading_degrees: Option<f64>,

    /// What is done there, in this order, at most 20.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20))]
    pub actions: Vec<Action>,
}

/// What is done at a place.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.distanceMeters) == (self.type == 'PhotoEvery')")
    .message("an action of type PhotoEvery needs distanceMeters, and no other has it; give or remove it"))]
pub struct Action {
    /// Photo (one photo), PhotoEvery (a photo now and each time that distanceMeters are flown) or EndPhotos (end that).
    #[serde(rename = "type")]
    pub kind: ActionType,

    /// From one photo to the next, in meters, above 0 and up to 1000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("self > 0.0 && self <= 1000.0").message("distanceMeters must be above 0 and up to 1000; give meters"))]
    pub distance_meters: Option<f64>,
}

/// The kind of an action.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ActionType {
    /// One photo.
    #[default]
    Photo,
    /// A photo now and each time that a distance is flown.
    PhotoEvery,
    /// No more of these.
    EndPhotos,
}

/// An area that is flown over so that all of it is covered.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.lineSpacingMeters) != has(self.camera)")
    .message("a survey needs exactly one of lineSpacingMeters and camera; give one of them"))]
#[x_kube(validation = Rule::new("!has(self.camera) || !has(self.photoDistanceMeters)")
    .message("a survey with a camera has its photos by camera.frontOverlapPercent; leave out photoDistanceMeters"))]
#[x_kube(validation = Rule::new("!has(self.camera) || !has(self.altitudeReference) || self.altitudeReference == 'AboveHome'")
    .message("a survey with a camera needs its altitude above home; give lineSpacingMeters, or leave out altitudeReference"))]
#[x_kube(validation = Rule::new("!has(self.center) || self.pattern == 'ExpandingSquare'")
    .message("only pattern ExpandingSquare has a center; leave it out, or choose that pattern"))]
#[x_kube(validation = Rule::new("(has(self.altitudeReference) && self.altitudeReference == 'AboveMeanSeaLevel') || (self.altitudeMeters >= 1.0 && self.altitudeMeters <= 120.0)")
    .message("altitudeMeters above home must be from 1 to 120; choose an altitude in that range, or set altitudeReference"))]
pub struct Survey {
    /// What is covered.
    pub area: Area,

    /// Lines (the default: parallel lines, there and back) or ExpandingSquare (around center, farther and farther out).
    #[serde(default)]
    pub pattern: SurveyPattern,

    /// From one line to the next, in meters, 1 to 1000. Give this or camera.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("self >= 1.0 && self <= 1000.0").message("survey.lineSpacingMeters must be from 1 to 1000; give meters"))]
    pub line_spacing_meters: Option<f64>,

    /// The camera, which sets how far lines and photos are apart. Give this or lineSpacingMeters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub camera: Option<Camera>,

    /// A photo each time that so many meters of a line are flown, 0.1 to 1000. Leave it out for no photos.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("self >= 0.1 && self <= 1000.0").message("survey.photoDistanceMeters must be from 0.1 to 1000; give meters"))]
    pub photo_distance_meters: Option<f64>,

    /// Where lines run, in degrees clockwise from true north, from 0 up to 360; for ExpandingSquare its first leg. When left out: so that
    /// there are the fewest lines; for ExpandingSquare north.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("self >= 0.0 && self < 360.0").message("survey.headingDegrees must be from 0 up to 360; give degrees clockwise from north"))]
    pub heading_degrees: Option<f64>,

    /// Where an ExpandingSquare begins; in the middle of the area when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub center: Option<Corner>,

    /// Altitude in meters, measured from what altitudeReference names. Above home: 1 to 120.
    pub altitude_meters: f64,

    /// What altitudeMeters is measured from: AboveHome (the default) or AboveMeanSeaLevel.
    #[serde(default, skip_serializing_if = "is_above_home")]
    pub altitude_reference: AltitudeReference,

    /// How fast lines are flown over ground, in meters per second, above 0 and up to 20; 5 when left out.
    #[serde(default = "default_speed")]
    #[x_kube(validation = Rule::new("self > 0.0 && self <= 20.0").message("survey.speedMetersPerSecond must be above 0 and up to 20; give meters per second"))]
    pub speed_meters_per_second: f64,
}

/// A polygon with holes.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Area {
    /// Its corners in the order of a walk around it, 3 to 500.
    #[schemars(length(min = 3, max = 500))]
    pub polygon: Vec<Corner>,

    /// Parts of it that are neither covered nor crossed, at most 50.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 50))]
    pub holes: Vec<Hole>,
}

/// A part of an area that is neither covered nor crossed.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Hole {
    /// Its corners in the order of a walk around it, 3 to 500.
    #[schemars(length(min = 3, max = 500))]
    pub polygon: Vec<Corner>,
}

/// A place on the ground.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Corner {
    /// Degrees, WGS 84, north positive.
    #[x_kube(validation = Rule::new("self >= -90.0 && self <= 90.0").message("latitudeDegrees must be from -90 to 90; give degrees, north positive"))]
    pub latitude_degrees: f64,

    /// Degrees, WGS 84, east positive.
    #[x_kube(validation = Rule::new("self >= -180.0 && self <= 180.0").message("longitudeDegrees must be from -180 to 180; give degrees, east positive"))]
    pub longitude_degrees: f64,
}

/// How the lines of a survey lie.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SurveyPattern {
    /// Parallel lines.
    #[default]
    Lines,
    /// Around a place, farther and farther out.
    ExpandingSquare,
}

/// A camera that looks straight down, the width of its image across the line of flight.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Camera {
    /// Width of its sensor, in millimeters, above 0 and up to 100.
    #[x_kube(validation = Rule::new("self > 0.0 && self <= 100.0").message("camera.sensorWidthMillimeters must be above 0 and up to 100; give millimeters"))]
    pub sensor_width_millimeters: f64,

    /// Height of its sensor, in millimeters, above 0 and up to 100.
    #[x_kube(validation = Rule::new("self > 0.0 && self <= 100.0").message("camera.sensorHeightMillimeters must be above 0 and up to 100; give millimeters"))]
    pub sensor_height_millimeters: f64,

    /// Focal length, in millimeters, above 0 and up to 1000.
    #[x_kube(validation = Rule::new("self > 0.0 && self <= 1000.0").message("camera.focalLengthMillimeters must be above 0 and up to 1000; give millimeters"))]
    pub focal_length_millimeters: f64,

    /// How much photos of neighboring lines overlap, in percent, 0 to 95; 70 when left out.
    #[serde(default = "default_overlap")]
    #[x_kube(validation = Rule::new("self >= 0 && self <= 95").message("camera.sideOverlapPercent must be from 0 to 95 percent; choose a share in that range"))]
    pub side_overlap_percent: i32,

    /// How much one photo overlaps with the next, in percent, 0 to 95; 70 when left out.
    #[serde(default = "default_overlap")]
    #[x_kube(validation = Rule::new("self >= 0 && self <= 95").message("camera.frontOverlapPercent must be from 0 to 95 percent; choose a share in that range"))]
    pub front_overlap_percent: i32,
}

fn default_overlap() -> i32 {
    70
}

fn default_speed() -> f64 {
    5.0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_nothing(value: &f64) -> bool {
    *value == 0.0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_above_home(reference: &AltitudeReference) -> bool {
    *reference == AltitudeReference::AboveHome
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::CustomResourceExt;
    use serde_json::{Value, json};

    fn schemas(path: &str, schema: &Value, found: &mut Vec<(String, Value)>) {
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{name}");
            schemas(&path, field, found);
            found.push((path, field.clone()));
        }
        if schema["items"].is_object() {
            let path = format!("{path}[]");
            schemas(&path, &schema["items"], found);
            found.push((path, schema["items"].clone()));
        }
    }

    #[test]
    fn fields_are_described_and_rules_say_what_to_do() {
        let crd = serde_json::to_value(Mission::crd()).unwrap();
        let root = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        let mut found = vec![("Mission".to_owned(), root.clone())];
        schemas("Mission", root, &mut found);
        assert!(found.len() > 50, "{}", found.len());
        let mut rules = 0;
        for (path, schema) in found {
            let text = schema["description"].as_str().unwrap_or_default();
            assert!(text.ends_with('.') || path == "Mission.metadata", "{path}: {text:?}");
            if schema["type"] == "array" {
                assert!(schema["maxItems"].is_u64(), "{path} has no bound");
            }
            for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
                rules += 1;
                let message = rule["message"].as_str().unwrap_or_default();
                assert!(message.contains("; "), "what is wrong; what to do: {message:?}");
            }
        }
        assert_eq!(rules, 47);
    }

    #[test]
    fn what_is_left_out_has_the_same_defaults_in_rust_as_on_the_server() {
        let spec: MissionSpec = serde_json::from_value(json!({})).unwrap();
        assert_eq!(spec, MissionSpec::default());
        let written = serde_json::to_value(&spec).unwrap();
        assert_eq!(
            written,
            json!({"parallelism": 1, "completions": 1, "repeat": "Once", "backoffLimit": 6})
        );
    }
}
