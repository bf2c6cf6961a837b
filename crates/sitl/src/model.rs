//! The simulated vehicle: a pure state machine over simulated time.
//!
//! Owns: physics, battery, parameters, telemetry schedule, and the two autopilot profiles.
//! Must not: read a clock, open a port, spawn a task. Time comes in through `Vehicle::step`, messages through
//! `Vehicle::on_message`; what the vehicle says comes back from both.

pub mod airframe;
mod ardupilot;
mod battery;
mod config;
mod core;
mod ftp;
mod geo;
mod outdated;
mod params;
mod plan;
mod px4;
mod streams;
mod telemetry;
mod vehicle;

pub use config::{Autopilot, Port, VehicleConfig};
pub use geo::Wgs84;
pub use vehicle::{Fault, Truth, Vehicle};
