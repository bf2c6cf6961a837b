//! The custom resources of Skein (group `skein.dev`, version `v1alpha1`).
//!
//! Owns: the Rust types, their schema with CEL rules, and the YAML generated from them (`crdgen`). Must not: know gRPC
//! or MAVLink, or decide anything; `fleet` does.

#![allow(
    clippy::duplicated_attributes,
    reason = "printer columns of one type; the lint takes them for repeats"
)]

pub mod drone;
pub mod formation;
pub mod geofence;
pub mod ground_order;
pub mod kinds;
pub mod labels;
pub mod mission;
pub mod operator;
pub mod parameter_profile;
pub mod rules;
pub mod swarm;
pub mod vehicle;
pub mod yaml;

pub use drone::{Drone, DroneSpec, DroneStatus};
pub use geofence::{Geofence, GeofenceSpec, GeofenceStatus};
pub use ground_order::{GroundOrder, GroundOrderSpec, GroundOrderStatus};
pub use mission::{Mission, MissionSpec, MissionStatus};
pub use operator::{Operator, OperatorSpec, OperatorStatus};
pub use parameter_profile::{ParameterProfile, ParameterProfileSpec, ParameterProfileStatus};
pub use swarm::{Swarm, SwarmSpec, SwarmStatus};
pub use vehicle::{Vehicle, VehicleSpec, VehicleStatus};
