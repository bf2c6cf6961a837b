//! A share of a mission as one vehicle flies it by itself, and what it is made of.
//!
//! Owns: the way of a person's waypoints ([`Route`]), the items of the mission protocol ([`item`]), and the items that one vehicle is sent,
//! with what is reported of them ([`flight`]). Must not: cut work into shares (`fleet::planning::mission`), or fly.

pub mod flight;
pub mod item;
pub mod route;

pub use flight::{BadPlan, FlightPlan, PlanDigest, PlanReport, PlanState, Reached};
pub use route::{Action, BadRoute, Route, Waypoint};

use crate::units::Meters;

/// Distance from a waypoint at which it counts as reached. The airspace and the photos of a Mission are planned for it, and it is the widest that
/// an item may have. PX4 is told so in each waypoint (its own NAV_ACC_RAD is 10 m from 1.18 on); ArduCopter does not look at an item's radius, and
/// its WP_RADIUS_M (WPNAV_RADIUS until 4.6) is read before the flight.
pub const ACCEPTANCE_RADIUS: Meters = Meters(2.0);
