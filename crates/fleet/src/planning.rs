//! Decisions for many vehicles, by coordinator and command line.
//!
//! Owns: which vehicle serves which Drone, where it flies, and what follows from reports. Must not: be used by an agent
//! (`tests/tests/house_rules/wings.rs` checks it).

pub mod awaited;
pub mod binding;
pub mod declared_down;
pub mod deposition;
pub mod drone;
#[cfg(test)]
mod ellipsoid;
pub mod flight_transition;
pub mod formation;
pub mod freshness;
pub mod geofence;
pub mod ground_order;
pub mod lateness;
pub mod leadership;
pub mod mission;
pub mod movement;
pub mod names;
pub mod node_use;
pub mod pads;
pub mod parameters;
pub mod population;
pub mod reception;
pub mod selector;
pub mod site;
pub mod swarm;
pub mod trace;
pub mod upgrade;
