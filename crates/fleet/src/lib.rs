//! The decisions of Skein: what should happen next.
//!
//! Owns: every decision of the agent ([`flight`]) and of the coordinator ([`planning`]), as pure functions on plain data of `model`, and what
//! both wings ask: [`safety`], [`airspace`] and [`flight_record`].
//! Must not: know tokio, kube, tonic or mavlink, do any input or output, or read a clock. Time comes in as a
//! [`model::time::Moment`] parameter.
//!
//! The safety invariants are stated once, in [`safety`].

pub mod airspace;
pub mod flight;
pub mod flight_record;
pub mod planning;
pub mod safety;
