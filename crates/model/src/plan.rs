//! One vehicle's share of a mission, which it flies by itself.
//!
//! Owns: the route of a person's waypoints ([`Route`]), the items of the mission protocol ([`item`]), the items for one vehicle and the
//! reports about them ([`flight`]). Must not: cut work into shares (`fleet::planning::mission`), or fly.

pub mod flight;
pub mod item;
pub mod route;

pub use flight::{BadPlan, FlightPlan, PassedBeside, PlanDigest, PlanReport, PlanState, Reached};
pub use route::{Action, BadRoute, Route, Waypoint};

use crate::units::Meters;

/// Distance from a waypoint at which it counts as reached, and the widest that an item may have; airspace and photos of a Mission are
/// planned for it. PX4 gets it in each waypoint (its own NAV_ACC_RAD is 10 m from 1.18 on); ArduCopter ignores an item's radius, so its
/// WP_RADIUS_M (WPNAV_RADIUS until 4.6) is read before the flight.
pub const ACCEPTANCE_RADIUS: Meters = Meters(2.0);
