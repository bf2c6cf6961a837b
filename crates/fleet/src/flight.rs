//! Decisions for one vehicle, by its agent alone.
//!
//! Owns: convergence and its inputs. Must not: know of another vehicle, or be used by coordinator or command line
//! (`tests/tests/house_rules/wings.rs` checks it).

pub mod battery;
pub mod battery_doubt;
pub mod converge;
pub mod following;
pub mod lending;
pub mod memory;
pub mod nearness;
pub mod preflight;
pub mod stand_down;
pub mod trace;

#[cfg(test)]
mod takeover_tests;
#[cfg(test)]
mod unseen_tests;
