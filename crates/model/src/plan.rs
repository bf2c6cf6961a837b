//! A share of a mission as one vehicle flies it by itself, and what it is made of.
//!
//! Owns: the way of a person's waypoints ([`Route`]), the items of the mission protocol ([`item`]), and the items that one vehicle is sent,
//! with what is reported of them ([`flight`]). Must not: cut work into shares (`fleet::planning::mission`), or fly.

pub mod flight;
pub mod item;
pub mod route;

pub use flight::{BadPlan, FlightPlan, PlanDigest, PlanReport, PlanState, Reached};
pub use route::{Action, BadRoute, Route, Waypoint};
