//! The custom resources of Skein: `Swarm`, `Drone`, `GroundOrder` and `Vehicle` (group `skein.dev`, version `v1alpha1`).
//!
//! Owns: the Rust types, their schema with CEL rules, and the YAML generated from them (`crdgen`).
//! Must not: know gRPC or MAVLink, or decide anything; `fleet` does.

pub mod drone;
pub mod formation;
pub mod ground_order;
pub mod labels;
pub mod mission;
pub mod swarm;
pub mod vehicle;
pub mod yaml;

pub use drone::{Drone, DroneSpec, DroneStatus};
pub use ground_order::{GroundOrder, GroundOrderSpec, GroundOrderStatus};
pub use mission::{Mission, MissionSpec};
pub use swarm::{Swarm, SwarmSpec, SwarmStatus};
pub use vehicle::{Vehicle, VehicleSpec, VehicleStatus};
