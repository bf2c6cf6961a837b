//! Which vehicle owns which airspace: the ground on which invariant 11 is decided.
//!
//! Owns: [`Volume`], where a vehicle may be; [`Route`], the straight legs that it is to fly; and [`Claims`], which vehicle owns what, as
//! far as reports show it. Must not: grant anything ([`crate::safety::may_fly`] does), choose where to fly ([`crate::planning::movement`]), or read a clock.
//!
//! The rules, all of them:
//!
//! 1. A vehicle owns where it may be: on the ground the column over its home, in the air its place or all that is left of its
//!    route, each widened by how far it may be off ([`Rules::off_by`]) and by how badly its position is known.
//! 2. A route is claimed as a whole, from where the vehicle is to where it will hold, or not at all. So a vehicle that moves owns its way to
//!    the end, waits for no other, and needs no coordinator to get there: no two can wait for each other in the air.
//! 3. A claim is let go only behind the vehicle, by a report that is newer than the grant, or when its agent says that it has taken
//!    that order, or a later one, and does not fly the route (any more): an order that is late is refused by its number.
//! 4. Not known is everywhere that it could be. A vehicle that is silent keeps its claim, and what its failsafes may do is added:
//!    land where it is, or return home at its return height and land. One that Skein does not fly, or that is outside its claim, owns a
//!    space around its last position that grows as fast as it can fly, also while its reports do not say where it is; so does foreign
//!    traffic, and so does one in the airspace of a program from soon after its last report on: only its agent keeps it in there. A known
//!    vehicle that was never heard owns what its caller last knew of it, or everything; and so does one that flies, or is ordered to fly, a plan of which
//!    its caller does not know where it leads.

mod beyond;
mod claim;
mod claims;
mod danger;
mod index;
mod route;
mod sightings;
mod volume;

pub use beyond::Traffic;
pub use claim::{Doing, Known, NotFit, Observation, Unsteady};
pub use claims::{Claims, Owner};
pub use danger::{Avoidance, Danger, crossed_stations, shared_returns};
pub use route::{Around, BadRoute, Route};
pub(crate) use sightings::Sightings;
pub use volume::{Tube, Volume};

use model::geo::SCALE_ERROR;
use model::ids::NodeName;
use model::units::{Meters, MetersPerSecond};
use std::time::Duration;

/// Whether a vehicle may be on all of a route, as far as its Geofences go; otherwise why not, in words.
pub type Allows<'a> = &'a dyn Fn(&NodeName, &Route) -> Result<(), String>;

/// The least distance between two vehicles: they are separate when they are this far apart over ground, or in height.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Separation {
    pub horizontal: Meters,
    pub vertical: Meters,
}

/// How far off something may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Margin {
    pub horizontal: Meters,
    pub vertical: Meters,
}

/// What the operator has set for one site.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    /// Between two vehicles in the air.
    pub separation: Separation,
    /// Between a vehicle on the ground and any other, over ground, besides what each may be off: pads may be nearer to each other than
    /// vehicles in the air. People chose them; one that could not land on its own for a neighbor on the ground would be no safer.
    pub pads: Meters,
    /// How high the column is that a vehicle on the ground owns.
    pub column: Meters,
    /// How far a vehicle strays from its place or its leg by its own reckoning: wind, corners, control.
    pub off_by: Margin,
    /// How far its reckoning may be off the truth at least, whatever it reports. A worse account widens its claim
    /// ([`crate::planning::site`]).
    pub accuracy: Margin,
    /// A vehicle of ours that Skein does not fly moves no faster than this over ground.
    pub fastest: MetersPerSecond,
    /// Nor does it climb or sink faster than this.
    pub climbs: MetersPerSecond,
    /// A report counts for so long; then its vehicle is silent.
    pub silent_after: Duration,
    /// Foreign traffic that was not heard for this long is gone.
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

/// Added to each needed distance, meters: more than rounding can take from it.
const ROUNDING: f64 = 0.01;

impl Rules {
    /// Whether each number is one that means something.
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
        // What is no number stays none, and makes a volume that is clear of nothing.
        let worse = |least: Meters, got: Meters| if got.0 <= least.0 { least.0 } else { got.0 };
        Margin {
            horizontal: Meters(self.off_by.horizontal.0 + worse(self.accuracy.horizontal, accuracy.horizontal)),
            vertical: Meters(self.off_by.vertical.0 + worse(self.accuracy.vertical, accuracy.vertical)),
        }
    }

    /// What two tubes must be apart over ground, meters. The frame's error of scale is counted in.
    fn apart(&self, ground: bool) -> f64 {
        let least = if ground { self.pads } else { self.separation.horizontal };
        least.0 * (1.0 + SCALE_ERROR)
    }

    /// So far from one another two vehicles of ordinary accuracy can hold side by side, over ground and in height.
    pub fn pitch(&self) -> Margin {
        let own = self.margin(self.accuracy);
        Margin {
            horizontal: Meters(self.apart(false) + 2.0 * own.horizontal.0 + ROUNDING),
            vertical: Meters(self.separation.vertical.0 + 2.0 * own.vertical.0 + ROUNDING),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
