//! The simulated vehicle: a pure state machine over simulated time.
//!
//! Owns: physics, battery, parameters, telemetry schedule, and the two autopilot profiles. Must not: read a clock, open
//! a port, spawn a task. Time goes to `Vehicle::step`, messages to `Vehicle::on_message`; both return what it sends.

pub mod airframe;
mod ardupilot;
mod battery;
mod config;
mod core;
mod ftp;
mod geo;
mod outdated;
mod params;
mod pilot;
mod plan;
mod px4;
mod streams;
mod telemetry;
mod vehicle;
mod weather;

pub use config::{Autopilot, Firmware, GpsError, OtherBattery, Port, VehicleConfig};
pub use geo::{Neu, Wgs84};
pub use pilot::Fault;
pub use vehicle::{Truth, Vehicle};
pub use weather::Wind;
