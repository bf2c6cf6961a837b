//! Which airspace a vehicle owns, for people to see.

use super::Site;
use crate::airspace::{Owner, Volume};
use model::geo::Local;
use model::ids::NodeName;
use model::owned_airspace::{MOST_PIECES, Owned, Piece};
use model::units::{AltitudeAmsl, Meters};

impl Site {
    /// `None` for a vehicle that is not known here, and while no vehicle has a station.
    pub fn owned(&self, node: &NodeName) -> Option<Owned> {
        if self.takeoffs.asleep {
            return None;
        }
        let tubes = match self.claims.volume(&Owner::Vehicle(node.clone()))? {
            Volume::Tubes(tubes) if tubes.iter().all(|tube| tube.is_finite()) => tubes,
            Volume::Tubes(_) | Volume::Everywhere => return Some(Owned::Everywhere),
        };
        let pieces = tubes.iter().take(MOST_PIECES).map(|tube| {
            let place = |&[east, north]: &[f64; 2]| self.frame.position(Local { east, north, up: 0.0 }).0;
            let (floor, ceiling) = tube.heights();
            Piece {
                core: tube.core().iter().map(place).collect(),
                radius: Meters(tube.radius()),
                floor: AltitudeAmsl(floor),
                ceiling: AltitudeAmsl(ceiling),
                on_ground: tube.is_on_the_ground(),
            }
        });
        Some(Owned::Within(pieces.collect(), tubes.len().saturating_sub(MOST_PIECES)))
    }
}
