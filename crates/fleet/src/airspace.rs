//! Which vehicle owns which airspace: the basis of invariant 11.
//!
//! Owns: [`Volume`], where a vehicle may be; [`Route`], the straight legs that it is to fly; and [`Claims`], which vehicle owns what, as
//! far as reports show it. Must not: grant anything ([`crate::safety::may_fly`] does), choose where to fly ([`crate::planning::movement`]),
//! or read a clock.
//!
//! All rules:
//!
//! 1. A vehicle owns where it may be: on the ground the column over its home, in the air its place or the rest of its route, widened by how
//!    far it may be off ([`Rules::off_by`]) and by the error of its position.
//! 2. A route is claimed as a whole, from the vehicle to where it will hold, or not at all. So a moving vehicle owns its way to the end and
//!    waits for no other: no two can wait for each other in the air.
//! 3. A claim ends only behind the vehicle, by a report newer than the grant, or when its agent has taken that order or a later one and
//!    does not fly the route: a late order is refused by its number.
//! 4. Unknown means everywhere it could be. A silent vehicle keeps its claim plus what its failsafes may do: land where it is, or return at
//!    its return altitude and land; where a return may lead elsewhere than straight home, also the space that comes next. A vehicle that
//!    Skein does not fly, or outside its claim, owns a space around its last position that grows at its top speed, also while its reports
//!    do not say where it is; so does foreign traffic, and a vehicle in a program's airspace from soon after its last report, as only its
//!    agent keeps it in there. A vehicle that was never heard owns what its caller last knew of it, or everything; so does one with a plan
//!    whose path its caller does not know.

mod beyond;
mod claim;
mod claims;
mod danger;
mod ground;
mod index;
mod plan_returns;
mod route;
mod sightings;
mod volume;

pub use beyond::{ReturnHeight, Traffic};
pub(crate) use claim::Neighbor;
pub use claim::{Doing, Known, NotFit, Observation, Unsteady};
pub use claims::{Claims, Owner};
pub use danger::{Avoidance, Danger, crossed_stations, shared_returns};
pub use ground::ground_below;
pub(crate) use plan_returns::PlanReturns;
pub use route::{Around, BadRoute, Route};
pub(crate) use sightings::Sightings;
pub use volume::{Tube, Volume};

use model::geo::SCALE_ERROR;
use model::ids::NodeName;
use model::units::{Meters, MetersPerSecond};
use std::time::Duration;

/// Whether all of a route keeps to a vehicle's Geofences; otherwise why not, as text.
pub type Allows<'a> = &'a dyn Fn(&NodeName, &Route) -> Result<(), String>;

/// The highest return that an autopilot takes, meters above home (ArduCopter's range of RTL_ALT); anything higher is no such altitude.
pub const HIGHEST_RETURN_M: f64 = 3000.0;

/// Two vehicles are separate when they are this far apart over ground, or in altitude.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Separation {
    pub horizontal: Meters,
    pub vertical: Meters,
}

/// Largest error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Margin {
    pub horizontal: Meters,
    pub vertical: Meters,
}

/// The operator's settings for one site.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    pub separation: Separation,
    /// From a vehicle on the ground to any other, over ground, besides position errors. Smaller than `separation`: people chose the pads,
    /// and a vehicle that could not land on its own pad because of a neighbor would be no safer.
    pub pads: Meters,
    /// How high the column over home is that a vehicle on the ground owns.
    pub column: Meters,
    /// How far a vehicle strays from its place or leg by its own estimate: wind, corners, control.
    pub off_by: Margin,
    /// Smallest position error to assume, whatever a vehicle reports. A worse report widens its claim ([`crate::planning::site`]).
    pub accuracy: Margin,
    /// Top speed over ground of a vehicle of ours that Skein does not fly.
    pub fastest: MetersPerSecond,
    /// Its top climb and sink rate.
    pub climbs: MetersPerSecond,
    pub silent_after: Duration,
    pub traffic_kept: Duration,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            separation: Separation {
                horizontal: Meters(5.0),
                vertical: Meters(5.0),
            },
            pads: Meters(0.2),
            column: Meters(10.0),
            off_by: Margin {
                horizontal: Meters(1.5),
                vertical: Meters(1.0),
            },
            accuracy: Margin {
                horizontal: Meters(1.0),
                vertical: Meters(1.0),
            },
            fastest: MetersPerSecond(20.0),
            climbs: MetersPerSecond(6.0),
            silent_after: Duration::from_secs(5),
            traffic_kept: Duration::from_secs(60),
        }
    }
}

/// Added to each needed distance: more than rounding takes away.
const ROUNDING_M: f64 = 0.01;

impl Rules {
    pub fn are_sound(&self) -> bool {
        let margins = [self.off_by, self.accuracy];
        let positive = [self.separation.horizontal, self.separation.vertical, self.pads];
        let enough = |meters: Meters| meters.0 >= 0.0 && meters.0.is_finite();
        margins.iter().all(|m| enough(m.horizontal) && enough(m.vertical))
            && positive.iter().all(|&meters| enough(meters) && meters.0 > 0.0)
            && enough(self.column)
            && [self.fastest, self.climbs]
                .iter()
                .all(|speed| speed.0 >= 0.0 && speed.0.is_finite())
    }

    /// How far a vehicle with this accuracy may be from where it should be.
    pub(crate) fn margin(&self, accuracy: Margin) -> Margin {
        // NaN stays NaN, and makes a volume that is clear of nothing.
        let worse = |least: Meters, got: Meters| if got.0 <= least.0 { least.0 } else { got.0 };
        Margin {
            horizontal: Meters(self.off_by.horizontal.0 + worse(self.accuracy.horizontal, accuracy.horizontal)),
            vertical: Meters(self.off_by.vertical.0 + worse(self.accuracy.vertical, accuracy.vertical)),
        }
    }

    /// Least distance of two places for takeoff and landing over ground, meters.
    pub fn pads_apart(&self) -> f64 {
        let own = self.margin(self.accuracy).horizontal.0;
        self.pads.0 + own + (own - self.off_by.horizontal.0)
    }

    /// Needed distance of two tubes over ground, meters, with the frame's error of scale.
    fn apart(&self, ground: bool) -> f64 {
        let least = if ground { self.pads } else { self.separation.horizontal };
        least.0 * (1.0 + SCALE_ERROR)
    }

    /// Distances at which two vehicles of ordinary accuracy can hold side by side.
    pub fn pitch(&self) -> Margin {
        let own = self.margin(self.accuracy);
        Margin {
            horizontal: Meters(self.apart(false) + 2.0 * own.horizontal.0 + ROUNDING_M),
            vertical: Meters(self.separation.vertical.0 + 2.0 * own.vertical.0 + ROUNDING_M),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
