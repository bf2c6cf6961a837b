//! The custom resources of Skein: `Swarm` and `Drone` (group `skein.dev`, version `v1alpha1`).
//!
//! Owns: the Rust types, their schema with CEL rules, and the YAML generated from them (`crdgen`).
//! Must not: know gRPC or MAVLink, or decide anything; `fleet` does.

pub mod drone;
pub mod labels;
pub mod swarm;
pub mod yaml;

pub use drone::{Drone, DroneSpec, DroneStatus};
pub use swarm::{Swarm, SwarmSpec, SwarmStatus};
