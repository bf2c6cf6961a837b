//! Label, annotation and finalizer keys that Skein sets or reads.

/// Label on Drones: the name of the Swarm that made them.
pub const SWARM: &str = "skein.dev/swarm";

/// Label on Drones: the name of the Mission that made them.
pub const MISSION: &str = "skein.dev/mission";

/// Label on Drones of a Swarm with a formation: the number of the slot that the Drone was given.
pub const SLOT: &str = "skein.dev/slot";

/// Label on Vehicles or Nodes that people set: the vehicle's number, a whole number that values of a ParameterProfile may use.
pub const NUMBER: &str = "skein.dev/number";

/// Label on Vehicles or Nodes that people set: the id of the aircraft that Remote ID broadcasts, 1 to 20 characters.
pub const UAS_ID: &str = "skein.dev/uas-id";

/// Label on Vehicles that people set: the ICAO address of the transponder that the vehicle carries, 6 hexadecimal digits.
pub const TRANSPONDER: &str = "skein.dev/transponder";

/// Label on Namespaces that people set: with the value [`ALLOWED`], files of Missions in it may move servos, relays and grippers.
pub const ACTUATORS: &str = "skein.dev/actuators";

/// See [`ACTUATORS`].
pub const ALLOWED: &str = "allowed";

/// Finalizer on a Drone: held until its vehicle is reported landed and disarmed (invariant 4).
pub const LANDED_FINALIZER: &str = "skein.dev/landed";

/// Finalizer on a Swarm: held until all its Drones are gone.
pub const DRONES_FINALIZER: &str = "skein.dev/drones";

/// Annotation on a deleted Drone, for operators only: its own `metadata.uid` releases the finalizer without a reported
/// landing.
pub const FORCE_RELEASE: &str = "skein.dev/force-release";

/// Annotation on a Drone whose vehicle stands down: its Swarm deletes it, which is no person's word about the vehicle. For Skein only.
pub const RECALLED: &str = "skein.dev/recalled";

/// Annotation on a Swarm or Drone: number of its last recorded ground order, and "released" after that.
/// For Skein only.
pub const GROUND_ORDER: &str = "skein.dev/ground-order";

/// Annotation on a Drone: numbers of released ground orders that its agent may still keep and no other annotation records.
/// For Skein only.
pub const RELEASED_GROUND_ORDERS: &str = "skein.dev/released-ground-orders";

/// Finalizer on a GroundOrder: held until a person who may release it has done so, so that deleting the object releases nothing.
pub const RELEASED_FINALIZER: &str = "skein.dev/released";

/// Annotation on the coordinator's Lease: the API server's store went back in time. Nothing takes off until a person has removed it.
pub const WENT_BACK: &str = "skein.dev/store-went-back";

/// Annotation on the coordinator's Lease: the epoch of its terms. A person raises it where agents refuse all terms of this one.
pub const TERM_EPOCH: &str = "skein.dev/term-epoch";

/// Annotation on the coordinator's Lease: the term that it was raised to on the report of agents. For Skein only.
pub const RAISED_TO: &str = "skein.dev/raised-to";

/// Annotation on a Node: time (RFC 3339) of a person's declaration that its vehicle is not in the air. It ends what the
/// vehicle owns once its agent is disconnected and no Drone names the node. Valid for 10 min; never set by Skein.
pub const VEHICLE_IS_DOWN: &str = "skein.dev/vehicle-is-down";

/// Label key on nodes that carry a vehicle; the value does not matter.
pub const DRONE_NODE: &str = "node-role.kubernetes.io/drone";

/// Standard label naming the tool that manages an object.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";

/// Field manager and `managed-by` value of the coordinator.
pub const COORDINATOR: &str = "skein-coordinator";
