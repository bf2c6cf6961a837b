//! What the programs of Skein exchange: units, identities, observations of a vehicle, orders and reports.
//!
//! Owns: those types, their validity, and what follows from one alone. Must not: decide for a vehicle or a fleet (`fleet` does), know
//! tokio, kube, tonic or mavlink, do input or output, or read a clock: time is a [`time::Moment`] parameter.

pub mod accuracy;
pub mod activity;
pub mod alarm;
pub mod answer;
pub mod assignment;
pub mod backoff;
pub mod battery_level;
pub mod denied_parameters;
pub mod failsafe;
pub mod followed;
pub mod geo;
pub mod ground;
pub mod guest;
pub mod home_shift;
pub mod ids;
pub mod inventory;
pub mod kill;
pub mod lent;
pub mod logs;
pub mod monitored_battery;
pub mod owned_airspace;
pub mod parameter_meaning;
pub mod plan;
pub mod preflight_policy;
pub mod remote_id;
pub mod report;
pub mod reported_flight;
pub mod route_order;
pub mod rules;
pub mod stand_down;
pub mod station;
pub mod takeover;
pub mod time;
pub mod trace;
pub mod traffic;
pub mod units;
pub mod vehicle;
pub mod version;
pub mod whereabouts;
