//! The wing of the vehicle: what is decided beside it, by its agent alone.
//!
//! Owns: convergence and what it is decided by. Must not: know of another vehicle, or be used by coordinator or command line
//! (`tests/tests/house_rules/wings.rs` sees to it).

pub mod battery;
pub mod battery_doubt;
pub mod converge;
pub mod following;
pub mod lending;
pub mod memory;
pub mod preflight;
pub mod stand_down;
pub mod trace;

#[cfg(test)]
mod takeover_tests;
