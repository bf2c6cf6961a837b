//! Whether the simulated autopilots do as the real ones did: recordings replayed ([`replay`]), and random scripts run
//! on both ([`differ`]).
//!
//! Must not: share anything with the crates that talk to vehicles, or be part of a program that users run.

pub mod differ;
pub mod replay;
