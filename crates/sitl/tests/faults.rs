//! Each scripted fault happens, and only then, and only that.
//!
//! Owns: a test for each fault, named after it. Must not: open a link; the tests of the process do.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on ends here")]

#[path = "faults/around.rs"]
mod around;
#[path = "faults/commands.rs"]
mod commands;
#[path = "faults/rig.rs"]
mod rig;
#[path = "faults/vehicle.rs"]
mod vehicle;
