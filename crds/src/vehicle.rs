//! `Vehicle`: the inventory, one airframe for each object.

use crate::drone::BatteryStatus;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

/// Which airframe it is. It never changes.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[kube(
    group = "skein.dev",
    version = "v1alpha1",
    kind = "Vehicle",
    plural = "vehicles",
    shortname = "vh",
    category = "skein",
    status = "VehicleStatus",
    derive = "PartialEq",
    doc = "A Vehicle is one aircraft from whose autopilot the agent of a node has received messages: which it is, whether a Drone could use it, and why not. The coordinator writes it. Deleting one forgets its flights, and nothing else; while its agent receives from its autopilot, it is written again. One that was not observed for 90 days is deleted.",
    printcolumn(
        name = "Node",
        type_ = "string",
        json_path = ".spec.nodeName",
        description = "Drone node whose agent observes it."
    ),
    printcolumn(
        name = "Autopilot",
        type_ = "string",
        json_path = ".status.autopilot",
        description = "Autopilot stack."
    ),
    printcolumn(
        name = "Firmware",
        type_ = "string",
        json_path = ".status.firmware",
        description = "Its version."
    ),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].status"#,
        description = "Whether its agent is connected and receives from its autopilot."
    ),
    printcolumn(
        name = "Free",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Free")].status"#,
        description = "Whether a Drone can be bound to it."
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Free")].reason"#,
        description = "Why, or why not."
    ),
    printcolumn(
        name = "Battery",
        type_ = "integer",
        json_path = ".status.battery.remainingPercent",
        description = "Remaining battery, percent, in steps of 25."
    ),
    printcolumn(
        name = "Flights",
        type_ = "integer",
        json_path = ".status.flights",
        description = "Flights that have ended."
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "Drone",
        type_ = "string",
        json_path = ".status.drone",
        priority = 1,
        description = "The Drone that it serves."
    ),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Free")].message"#,
        priority = 1,
        description = "Why a Drone can or cannot be bound to it, as a sentence."
    )
)]
#[kube(validation = Rule::new("self.spec == oldSelf.spec")
    .message("a Vehicle is one airframe for good; delete the object if there is no such airframe any more")
    .reason(Reason::FieldValueForbidden)
    .field_path(".spec"))]
#[serde(rename_all = "camelCase")]
pub struct VehicleSpec {
    /// Name of the node whose agent observes it.
    #[schemars(length(min = 1, max = 253))]
    pub node_name: String,

    /// The number of the autopilot's hardware: AUTOPILOT_VERSION.uid2 as 36 hexadecimal digits, else .uid as 16; absent for hardware
    /// that has none. Another number on the same wire is another Vehicle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 16, max = 36))]
    pub hardware_uid: Option<String>,
}

/// What is known of it, by its autopilot's and its agent's own account.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct VehicleStatus {
    /// Autopilot stack: ArduPilot or PX4.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub autopilot: String,

    /// Firmware version; absent until the autopilot reported it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,

    /// The kind of its autopilot's board; absent where the autopilot does not know, as a simulated one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub board: Option<Board>,

    /// MAVLink system id, 1 to 255.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_id: Option<i32>,

    /// Where it took off last, or will: its home position (MAVLink: HOME_POSITION).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub home: Option<Home>,

    /// Battery, in steps of 25 percent: `skein status` has it live.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub battery: Option<BatteryStatus>,

    /// Batteries that do not drive the motors, which count for nothing, in steps of 25 percent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["id".into()]))]
    pub other_batteries: Vec<OtherBattery>,

    /// How worn its battery is, of several that which is worn most; absent where no battery reports it (MAVLink: BATTERY_INFO).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub battery_wear: Option<BatteryWear>,

    /// The Drone that it serves, as NAMESPACE/NAME.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drone: Option<String>,

    /// In the air since then, as far as reports show; absent on the ground.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub airborne_since: Option<Time>,

    /// Flights that have ended, also those that a pilot or a ground station flew.
    #[serde(default)]
    pub flights: i64,

    /// How long those took, in seconds.
    #[serde(default)]
    pub flight_seconds: i64,

    /// The rules of Geofences and ParameterProfiles for it; absent while none selects it and none of ours are left on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<VehicleRules>,

    /// Its Remote ID; absent while no Operator selects it and no transmitter of its own was heard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote_id: Option<VehicleRemoteId>,

    /// Ready: its agent is connected and receives from its autopilot. Free: a Drone can be bound to it. Armable: the autopilot's arming checks
    /// pass. RulesInForce, where rules select it: all of them are in force. RemoteId, where an Operator selects it or a transmitter was
    /// heard: its operator is sent to its autopilot, and its transmitter is good to arm.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}

/// What is in force on a vehicle.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct VehicleRules {
    /// The Geofences that select it and hold now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub geofences: Vec<String>,
    /// The ParameterProfiles that select it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub parameter_profiles: Vec<String>,
    /// Digest of what it is to have: equal digest, equal rules. 32 hexadecimal digits are of the fence, then 32 of the parameters; zeros: none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub digest: String,
    /// How far its fence is: None, Working, InForce, WaitsForGround, Refused or Drifted.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub fence: String,
    /// Parameters that it is to have.
    #[serde(default)]
    pub parameters: i32,
    /// How many of them were read back.
    #[serde(default)]
    pub parameters_in_force: i32,
    /// Digest of what was sent to its agent last: with former values while it waits for its turn.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sent: String,
    /// The values of ParameterProfiles in what was sent last, for the next coordinator.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 128))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub values: Vec<SentValue>,
    /// Whether values are being changed on it, so that it counts against spec.maxUnavailable of its ParameterProfiles.
    #[serde(default, skip_serializing_if = "is_false")]
    pub changing: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// A value of a parameter that was sent to an agent.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct SentValue {
    /// The parameter.
    #[schemars(length(max = 16))]
    pub name: String,
    /// The value, written so that it reads as the same.
    #[schemars(length(max = 400))]
    pub value: String,
    /// Whether it is set, or only reported.
    #[serde(default)]
    pub apply: bool,
    /// Whether the autopilot may be rebooted for it.
    #[serde(default)]
    pub reboot: bool,
    /// Whether its agent sets it under the name and in the unit that its autopilot has for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub any_name: bool,
}

/// The Remote ID of a vehicle.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct VehicleRemoteId {
    /// The Operator that selects it; absent when none does, or several do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator: Option<String>,
    /// Whether its operator is sent to its autopilot and its transmitter is good to arm; absent where no transmitter was heard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<bool>,
    /// Why, or why not, as a sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 1024))]
    pub reason: String,
}

/// The kind of an autopilot's board, as the autopilot reports it (MAVLink: AUTOPILOT_VERSION).
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Board {
    /// The number that ArduPilot and PX4 give to this kind of board.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<i32>,
    /// USB vendor and product, as 26ac:0011.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 9))]
    pub usb: Option<String>,
}

/// A battery that does not drive the motors.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct OtherBattery {
    /// Its number, from 0 (MAVLink: BATTERY_STATUS.id; ArduPilot's BATT2 is 1).
    pub id: i32,
    /// Avionics or Payload, as its autopilot says, or Other, by the ids that the agent was given (--motor-batteries).
    #[schemars(length(max = 16))]
    pub drives: String,
    /// Remaining energy in percent, 0 to 100; absent when not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remaining_percent: Option<i32>,
}

/// How worn a battery is, as it reports itself.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct BatteryWear {
    /// Charge cycles; absent when not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycles: Option<i32>,
    /// What it still holds of what it held when it was new, percent; absent when not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health_percent: Option<i32>,
}

/// A home position.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Home {
    /// Degrees, WGS 84, north positive.
    pub latitude_degrees: f64,
    /// Degrees, WGS 84, east positive.
    pub longitude_degrees: f64,
    /// Meters above mean sea level.
    pub altitude_meters: f64,
}
