//! `Drone`: a request that one vehicle flies, and what is known of that vehicle.

mod convert;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use model::lent::Room;
use model::units::Meters;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// What the Drone asks for. All of it can be left out: `spec: {}` is one vehicle, from any free drone node, holding
/// 10 meters above its home.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[kube(
    group = "skein.dev",
    version = "v1alpha1",
    kind = "Drone",
    plural = "drones",
    shortname = "dr",
    category = "skein",
    namespaced,
    status = "DroneStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "A Drone asks for one vehicle in the air. The coordinator binds it to one free drone node, whose vehicle arms, takes off and holds. Deleting the Drone lands the vehicle; the object is gone once its autopilot reports it landed and disarmed.",
    printcolumn(
        name = "Phase",
        type_ = "string",
        json_path = ".status.phase",
        description = "What the Drone is doing: see status.phase."
    ),
    printcolumn(
        name = "Flying",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Flying")].status"#,
        description = "Whether the vehicle flies, as its own autopilot reports."
    ),
    printcolumn(
        name = "Node",
        type_ = "string",
        json_path = ".spec.nodeName",
        description = "Drone node it is bound to."
    ),
    printcolumn(
        name = "Autopilot",
        type_ = "string",
        json_path = ".status.vehicle.autopilot",
        description = "Autopilot stack of the vehicle."
    ),
    printcolumn(
        name = "Mode",
        type_ = "string",
        json_path = ".status.mode",
        description = "Flight mode, as the autopilot names it."
    ),
    printcolumn(
        name = "Battery",
        type_ = "integer",
        json_path = ".status.battery.remainingPercent",
        description = "Remaining battery, percent, as of Battery Age."
    ),
    printcolumn(
        name = "Battery Age",
        type_ = "date",
        json_path = ".status.battery.observedTime",
        description = "Time since the autopilot reported that battery."
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].message"#,
        priority = 1,
        description = "Why it is in this phase."
    ),
    selectable = ".spec.nodeName"
)]
#[kube(validation = Rule::new("!has(oldSelf.spec.nodeName) || (has(self.spec.nodeName) && self.spec.nodeName == oldSelf.spec.nodeName)")
    .message("spec.nodeName is set once by the coordinator and never changes; delete the Drone and create another to use another vehicle")
    .reason(Reason::FieldValueForbidden)
    .field_path(".spec.nodeName"))]
#[kube(validation = Rule::new("!has(oldSelf.spec.station) || has(self.spec.station)")
    .message("spec.station can be changed and not removed, as the vehicle may be far from its home; delete the Drone to bring it home")
    .reason(Reason::FieldValueForbidden)
    .field_path(".spec.station"))]
#[kube(validation = Rule::new("!has(self.spec.control) || self.spec.control != 'External' || (has(self.spec.station) && has(self.spec.external))")
    .message("control: External needs spec.station, around which a program flies, and spec.external, which says how far; add both, or leave control out")
    .field_path(".spec.control"))]
#[kube(validation = Rule::new("!has(self.spec.external) || (has(self.spec.control) && self.spec.control == 'External')")
    .message("spec.external counts only with control: External; add that, or remove spec.external")
    .field_path(".spec.external"))]
#[serde(rename_all = "camelCase")]
pub struct DroneSpec {
    /// Name of the drone node whose vehicle serves this Drone. Leave it out: the coordinator sets it once, when it has
    /// found a free vehicle. It never changes afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(validation = Rule::new("!format.dns1123Subdomain().validate(self).hasValue()").message("nodeName must be the name of a node; leave it out, or choose one of `kubectl get nodes -l node-role.kubernetes.io/drone`"))]
    pub node_name: Option<String>,

    /// Labels that a node must carry, besides node-role.kubernetes.io/drone, for its vehicle to serve this Drone. Leave
    /// it out to take any free drone node.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,

    /// Altitude at which the vehicle holds, in meters above its home position (MAVLink: relative altitude). 1 to 120, 10
    /// when left out.
    #[serde(default = "default_altitude")]
    #[x_kube(validation = Rule::new("self >= 1.0 && self <= 120.0").message("takeoffAltitudeMeters must be from 1 to 120 meters above home; choose an altitude in that range"))]
    pub takeoff_altitude_meters: f64,

    /// Place at which the vehicle holds. It flies there once the airspace on its way is free, and comes home to land when the Drone is
    /// deleted or its node is drained. Leave it out to hold above home, at takeoffAltitudeMeters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub station: Option<Station>,

    /// Who flies the vehicle once it holds its station: Skein (the default: it stays there) or External: a program of yours may, through
    /// `skein connect --control`, within the volume of spec.external. Skein takes it back when the program is silent or would leave that.
    #[serde(default, skip_serializing_if = "is_skein")]
    pub control: Control,

    /// How far around its station a program may fly the vehicle. Nobody else is granted any of that. Needed with control: External.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external: Option<External>,

    /// Set to true to land this Drone's vehicle and keep it on the ground; set to false (or leave out) to let it fly.
    /// `skein ground` sets it. False ends no ground order: only `skein release` does.
    #[serde(default, skip_serializing_if = "is_false")]
    pub grounded: bool,

    /// What the vehicle does by itself when something goes wrong. Leave it out for the defaults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failsafe: Option<Failsafe>,

    /// After somebody else has taken over in flight (a pilot, a ground station), Skein sends nothing until a person resumes
    /// it: set this to the number in status.takeovers, or run `skein resume`.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[x_kube(validation = Rule::new("self >= 0").message("resumeAfterTakeovers must be 0 or more; set it to the number in status.takeovers"))]
    pub resume_after_takeovers: i32,
}

impl Default for DroneSpec {
    fn default() -> Self {
        Self {
            node_name: None,
            node_selector: BTreeMap::new(),
            takeoff_altitude_meters: default_altitude(),
            station: None,
            control: Control::default(),
            external: None,
            grounded: false,
            failsafe: None,
            resume_after_takeovers: 0,
        }
    }
}

/// Who flies a vehicle once it holds its station.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Control {
    /// Skein: it stays there.
    #[default]
    Skein,
    /// A program of somebody else, within a volume around the station.
    External,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_skein(control: &Control) -> bool {
    *control == Control::Skein
}

/// The volume around a station in which a program may fly the vehicle, an upright cylinder, and its lease.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct External {
    /// How far the volume reaches over ground, in meters, 10 to 500.
    #[x_kube(validation = Rule::new("self >= 10.0 && self <= 500.0").message("external.radiusMeters must be from 10 to 500 meters; choose a distance in that range"))]
    pub radius_meters: f64,

    /// How far it reaches down from the station, in meters, 5 to 100. Its lowest part must be 3 meters or more above the vehicle's home.
    #[x_kube(validation = Rule::new("self >= 5.0 && self <= 100.0").message("external.belowMeters must be from 5 to 100 meters; choose a distance in that range"))]
    pub below_meters: f64,

    /// How far it reaches up from the station, in meters, 5 to 100. Its highest part must be no more than 120 meters above the vehicle's home.
    #[x_kube(validation = Rule::new("self >= 5.0 && self <= 100.0").message("external.aboveMeters must be from 5 to 100 meters; choose a distance in that range"))]
    pub above_meters: f64,

    /// How long the program may be silent before Skein takes the vehicle back, in seconds, 1 to 30; 3 when left out. Each set-point and each
    /// HEARTBEAT renews the lease.
    #[serde(default = "default_lease_seconds")]
    #[x_kube(validation = Rule::new("self >= 1 && self <= 30").message("external.leaseSeconds must be from 1 to 30 seconds; choose a time in that range"))]
    pub lease_seconds: i32,
}

fn default_lease_seconds() -> i32 {
    3
}

impl Drone {
    /// Airspace for a program that flies the vehicle around its station; `None` for a Drone of a Swarm or Mission.
    pub fn external(&self) -> Option<Room> {
        let is_made = self
            .metadata
            .owner_references
            .as_ref()
            .is_some_and(|owners| !owners.is_empty());
        let asked = self.spec.external.as_ref().filter(|_| !is_made);
        let asked = asked.filter(|_| self.spec.control == Control::External && self.spec.station.is_some())?;
        let seconds = u64::try_from(asked.lease_seconds).unwrap_or_default();
        Some(Room {
            radius: Meters(asked.radius_meters),
            below: Meters(asked.below_meters),
            above: Meters(asked.above_meters),
            lease: Duration::from_secs(seconds),
        })
    }
}

/// A place in the sky.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Station {
    /// Degrees, WGS 84, north positive.
    #[x_kube(validation = Rule::new("self >= -90.0 && self <= 90.0").message("station.latitudeDegrees must be from -90 to 90; give degrees, north positive"))]
    pub latitude_degrees: f64,

    /// Degrees, WGS 84, east positive.
    #[x_kube(validation = Rule::new("self >= -180.0 && self <= 180.0").message("station.longitudeDegrees must be from -180 to 180; give degrees, east positive"))]
    pub longitude_degrees: f64,

    /// Altitude in meters, measured from what altitudeReference names. Above home: 1 to 120. Above mean sea level: within the limits
    /// that the coordinator is started with.
    pub altitude_meters: f64,

    /// What altitudeMeters is measured from: AboveHome (the home position of the vehicle that holds the station, the default) or
    /// AboveMeanSeaLevel.
    #[serde(default)]
    pub altitude_reference: AltitudeReference,

    /// Where the nose points while it holds there, in degrees clockwise from true north, from 0 up to 360. When left out, the autopilot
    /// decides; most point it along the way that they came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("self >= 0.0 && self < 360.0").message("station.headingDegrees must be from 0 up to 360; give degrees clockwise from north"))]
    pub heading_degrees: Option<f64>,

    /// How fast it flies there over ground, in meters per second, above 0 and up to 20. When left out, the autopilot decides; once
    /// given, a speed stays until the vehicle has landed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("self > 0.0 && self <= 20.0").message("station.speedMetersPerSecond must be above 0 and up to 20; give meters per second"))]
    pub speed_meters_per_second: Option<f64>,
}

/// What an altitude is measured from.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AltitudeReference {
    /// The home position of the vehicle.
    #[default]
    AboveHome,
    /// Mean sea level.
    AboveMeanSeaLevel,
}

/// The smallest valid altitude is 1 m, so the default of 10 m needs a name.
pub(crate) fn default_altitude() -> f64 {
    10.0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(crate) fn is_false(value: &bool) -> bool {
    !*value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(crate) fn is_zero(value: &i32) -> bool {
    *value == 0
}

/// What a vehicle does by itself when something goes wrong.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Failsafe {
    /// What the agent does after it has had no contact with the coordinator for coordinatorLossSeconds: Continue (go on
    /// as ordered, also with a Mission; the default), Hold (stop a Mission and hold), Return or Land.
    #[serde(default)]
    pub on_coordinator_loss: OnCoordinatorLoss,

    /// How long the agent goes without contact to the coordinator before it acts, in seconds. 5 to 3600, 60 when left out.
    #[serde(default = "default_loss_seconds")]
    #[x_kube(validation = Rule::new("self >= 5 && self <= 3600").message("failsafe.coordinatorLossSeconds must be from 5 to 3600 seconds; choose a time in that range"))]
    pub coordinator_loss_seconds: i32,

    /// What the agent does when the battery in flight has reached reservePercent: Return (the default: return to home and
    /// land), Land, or Continue (leave it to the autopilot's own battery failsafe).
    #[serde(default)]
    pub on_low_battery: OnLowBattery,

    /// Remaining battery at or below which it counts as low, in percent. 5 to 80, 20 when left out. No vehicle takes off
    /// with so little.
    #[serde(default = "default_reserve")]
    #[x_kube(validation = Rule::new("self >= 5 && self <= 80").message("failsafe.reservePercent must be from 5 to 80 percent; choose a reserve in that range"))]
    pub reserve_percent: i32,

    /// What the agent does when the autopilot's own failsafes (loss of the ground station, low battery) are switched off:
    /// Warn (the default: report it and fly), Refuse (do not arm) or Ignore (do not check).
    #[serde(default)]
    pub preflight: Preflight,
}

impl Default for Failsafe {
    fn default() -> Self {
        Self {
            on_coordinator_loss: OnCoordinatorLoss::default(),
            coordinator_loss_seconds: default_loss_seconds(),
            on_low_battery: OnLowBattery::default(),
            reserve_percent: default_reserve(),
            preflight: Preflight::default(),
        }
    }
}

fn default_reserve() -> i32 {
    20
}

/// What the agent does when the battery is low.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnLowBattery {
    /// Leave it to the autopilot's own battery failsafe.
    Continue,
    /// Return to home and land.
    #[default]
    Return,
    /// Land where it is.
    Land,
}

/// What the agent does when the autopilot's own failsafes are switched off.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preflight {
    /// Do not check.
    Ignore,
    /// Report it and fly.
    #[default]
    Warn,
    /// Do not arm.
    Refuse,
}

fn default_loss_seconds() -> i32 {
    60
}

/// What the agent does when the coordinator is lost.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnCoordinatorLoss {
    /// Go on as assigned.
    #[default]
    Continue,
    /// Hold position.
    Hold,
    /// Return to home and land.
    Return,
    /// Land where it is.
    Land,
}

/// What is known of a Drone, written by the coordinator from the agent's reports only.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct DroneStatus {
    /// What the Drone is doing: Pending (no vehicle yet), Preparing (bound, not armed), Arming, TakingOff, Flying,
    /// Landing, Grounded (landed by order), Interrupted (somebody else is in command, see the Ready condition) or Unknown
    /// (the state of the vehicle is not known at present).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,

    /// Whether the vehicle flies, as its own autopilot reports: armed and not on the ground. Absent while unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flying: Option<bool>,

    /// Node whose vehicle serves this Drone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_name: Option<String>,

    /// The vehicle of the Drone; absent until something is received from its autopilot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vehicle: Option<VehicleIdentity>,

    /// Flight mode, as the autopilot names it, such as GUIDED or AUTO.LOITER.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,

    /// Battery, as of observedTime: the last write of this status, which a change by 25 percent causes too. Absent while the
    /// vehicle is not observed. For live figures use `skein watch`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub battery: Option<BatteryStatus>,

    /// Position, as of the last write of this status. For live figures use `skein watch`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<PositionStatus>,

    /// How often somebody else has taken over this Drone's vehicle in flight; absent when never. Skein commands the vehicle
    /// again once spec.resumeAfterTakeovers is at least this number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub takeovers: Option<i32>,

    /// How far the flight has come since the Drone was last ordered to the ground: Flown (the vehicle was in the air), Over (it
    /// landed without an order and stays on the ground) or Killed; absent before. An agent that has lost its disk uses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flight: Option<String>,

    /// Why the autopilot does not arm, one by one; absent while its arming checks pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arming_refusals: Vec<ArmingRefusal>,

    /// Faults that preflight found in the autopilot's own failsafes, and what is wrong with what its batteries report, each with what to do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preflight_warnings: Vec<String>,

    /// metadata.generation that this status was computed from. Older than metadata.generation: the change is not
    /// observed yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// Assigned (has a vehicle), Connected (its agent is connected and receives from its autopilot), Armable (arming checks pass; if not, the
    /// autopilot's own words), Flying, and Ready (flying as ordered), each with reason and message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}

/// One reason why the autopilot does not arm.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct ArmingRefusal {
    /// In the autopilot's own words.
    pub message: String,
    /// WillHeal (it goes away by itself), NeedsHuman (a person has to act) or Unclear.
    pub class: String,
    /// The autopilot's number for it: the id of PX4's EVENT; absent for a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i64>,
    /// When the autopilot first reported it since the vehicle was last ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
}

/// Which vehicle it is.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct VehicleIdentity {
    /// Autopilot stack: ArduPilot or PX4.
    pub autopilot: String,
    /// MAVLink system id, 1 to 255.
    pub system_id: i32,
    /// Firmware version; absent until the autopilot reported it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,
    /// The number of the autopilot's hardware: AUTOPILOT_VERSION.uid2 as 36 hexadecimal digits, else .uid as 16; absent until the
    /// autopilot reported it, and for hardware that has none. A Drone stays with this airframe: another one on the same wire is not
    /// flown for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware_uid: Option<String>,
}

/// Battery of the vehicle.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct BatteryStatus {
    /// Remaining energy in percent, 0 to 100; absent when the autopilot does not know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remaining_percent: Option<i32>,
    /// When the autopilot reported it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_time: Option<Time>,
}

/// Position of the vehicle.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct PositionStatus {
    /// Degrees, WGS 84, north positive.
    pub latitude_degrees: f64,
    /// Degrees, WGS 84, east positive.
    pub longitude_degrees: f64,
    /// Meters above the home position.
    pub altitude_above_home_meters: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_left_out_has_the_same_defaults_in_rust_as_on_the_server() {
        assert_eq!(
            serde_json::from_value::<DroneSpec>(json!({})).unwrap(),
            DroneSpec::default()
        );
        assert_eq!(
            serde_json::from_value::<Failsafe>(json!({})).unwrap(),
            Failsafe::default()
        );
        assert_eq!(
            serde_json::to_value(Failsafe::default()).unwrap(),
            json!({
                "onCoordinatorLoss": "Continue", "coordinatorLossSeconds": 60,
                "onLowBattery": "Return", "reservePercent": 20, "preflight": "Warn"
            })
        );
    }

    #[test]
    fn the_defaults_of_the_failsafe_are_those_of_the_domain() {
        let (ours, domain) = (Failsafe::default(), model::assignment::Failsafe::default());
        assert_eq!(
            domain.on_coordinator_loss,
            model::assignment::OnCoordinatorLoss::Continue
        );
        assert_eq!(
            u64::try_from(ours.coordinator_loss_seconds).unwrap(),
            domain.after.as_secs()
        );
        assert_eq!(domain.on_low_battery, model::assignment::OnLowBattery::Return);
        assert_eq!(i32::from(domain.reserve.get()), ours.reserve_percent);
        assert_eq!(domain.preflight, model::assignment::Preflight::Warn);
    }

    #[test]
    fn only_a_drone_of_a_person_with_control_external_asks_for_room_for_a_program() {
        let drone = |change: &dyn Fn(&mut serde_json::Value)| {
            let mut object = json!({
                "apiVersion": "skein.dev/v1alpha1", "kind": "Drone", "metadata": {"name": "a"},
                "spec": {
                    "station": {"latitudeDegrees": 47.4, "longitudeDegrees": 8.5, "altitudeMeters": 30.0},
                    "control": "External",
                    "external": {"radiusMeters": 40.0, "belowMeters": 10.0, "aboveMeters": 20.0},
                },
            });
            change(&mut object);
            serde_json::from_value::<Drone>(object).unwrap()
        };
        let asked = Room {
            radius: Meters(40.0),
            below: Meters(10.0),
            above: Meters(20.0),
            lease: model::lent::USUAL_LEASE,
        };
        assert_eq!(drone(&|_| ()).external(), Some(asked));
        let longer = drone(&|object| object["spec"]["external"]["leaseSeconds"] = json!(9));
        assert_eq!(longer.external().unwrap().lease, Duration::from_secs(9));
        let owner = json!([{"apiVersion": "skein.dev/v1alpha1", "kind": "Swarm", "name": "s", "uid": "u"}]);
        for other in [
            drone(&|object| object["spec"]["control"] = json!("Skein")),
            drone(&|object| object["spec"]["station"] = json!(null)),
            drone(&|object| object["spec"]["external"] = json!(null)),
            drone(&|object| object["metadata"]["ownerReferences"] = owner.clone()),
        ] {
            assert_eq!(other.external(), None, "{:?}", other.spec);
        }
    }

    #[test]
    fn a_status_says_only_what_is_known() {
        assert_eq!(serde_json::to_value(DroneStatus::default()).unwrap(), json!({}));
    }
}
