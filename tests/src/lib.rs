//! The base of several test programs of this package: processes, fake partners, and what they show of vehicles.
//!
//! Must not: have tests of its own, or what only one program uses.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on ends here")]

pub mod browser;
pub mod certificates;
pub mod cluster_field;
pub mod field;
pub mod figures;
pub mod hostile;
pub mod kubelet;
pub mod large_fleet;
pub mod machine;
pub mod minimal_coordinator;
pub mod scripted_agent;
pub mod session;
pub mod stage;
pub mod terminal;
pub mod tokens;
pub mod waiting;
pub mod way;
pub mod wire;

/// The namespace of coordinator and agents.
pub const SYSTEM: &str = "skein-system";
