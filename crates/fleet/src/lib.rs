//! The domain of Skein: what a fleet is, and what should happen next.
//!
//! Owns: units, identities, what a vehicle was heard to do, flight phases, assignments, and every decision of
//! the coordinator and the agent, as pure functions on plain data.
//! Must not: know tokio, kube, tonic or mavlink, do any input or output, or read a clock. Time comes in as a
//! [`time::Moment`] parameter.
//!
//! The safety invariants are stated once, in [`safety`].

pub mod activity;
pub mod airspace;
pub mod alarm;
pub mod answer;
pub mod assignment;
pub mod backoff;
pub mod battery_level;
pub mod denied_parameters;
pub mod failsafe;
pub mod flight;
pub mod flight_record;
pub mod geo;
pub mod ground;
pub mod guest;
pub mod ids;
pub mod inventory;
pub mod kill;
pub mod logs;
pub mod owned_airspace;
pub mod plan;
pub mod planning;
pub mod preflight_policy;
pub mod remote_id;
pub mod report;
pub mod reported_flight;
pub mod route_order;
pub mod rules;
pub mod safety;
pub mod station;
pub mod takeover;
pub mod time;
pub mod trace;
pub mod traffic;
pub mod units;
pub mod vehicle;
pub mod version;
pub mod whereabouts;
