//! The decisions of Skein: what should happen next.
//!
//! Owns: every decision of the agent ([`flight`]) and of the coordinator ([`planning`]), as pure functions on plain data of `model`, and
//! what both wings share: [`safety`], which states the safety invariants once, [`airspace`] and [`flight_record`].
//! Must not: know tokio, kube, tonic or mavlink, do input or output, or read a clock: time is a [`model::time::Moment`] parameter.

pub mod airspace;
pub mod flight;
pub mod flight_record;
pub mod planning;
pub mod safety;
