//! Which airspace a vehicle owns, for people to see.
//!
//! Owns: [`Owned`] and its places on the Earth. Must not: be what anything is decided by; that is [`crate::airspace`].

use super::Site;
use crate::airspace::{Owner, Volume};
use crate::geo::Local;
use crate::ids::NodeName;
use crate::units::{AltitudeAmsl, Meters, Wgs84};

/// No vehicle is shown with more pieces: the corridor of a long Mission has a leg for each line.
pub const MOST_PIECES: usize = 256;

/// The airspace of one vehicle.
#[derive(Clone, Debug, PartialEq)]
pub enum Owned {
    /// Nothing is known of it, so no other vehicle has any.
    Everywhere,
    /// It may be in these, and in so many more that are not shown.
    Within(Vec<Piece>, usize),
}

/// All that is within a radius, over ground, of a place, a line or a triangle, between two heights.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// One place, the two ends of a line, or the three corners of a triangle.
    pub core: Vec<Wgs84>,
    /// How far it reaches beyond.
    pub radius: Meters,
    /// Its lowest height.
    pub floor: AltitudeAmsl,
    /// Its highest.
    pub ceiling: AltitudeAmsl,
    /// Whether its vehicle is on the ground in it.
    pub on_ground: bool,
}

impl Site {
    /// The airspace that the vehicle of `node` owns; `None` for one that is not known here, and while no vehicle has a station.
    #[must_use]
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
