//! Simulated vehicles that speak MAVLink as ArduCopter and PX4 do, on pseudo-terminals, UDP and TCP.
//!
//! Owns: the vehicle model (`model`, pure and driven with explicit time), its wire format (`wire`), scripted faults
//! (`faults`), all three together (`wired`), and the process around them (`shell`). Must not: share protocol logic with
//! the crates that talk to vehicles, or know Kubernetes or gRPC.

pub mod cli;
pub mod faults;
pub mod model;
pub mod shell;
pub mod wire;
pub mod wired;
