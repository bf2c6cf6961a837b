//! The airspace that a vehicle owns, as people see it.

use crate::units::{AltitudeAmsl, Meters, Wgs84};

/// No vehicle is shown with more pieces: the corridor of a long Mission has a leg for each line.
pub const MOST_PIECES: usize = 256;

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
    pub radius: Meters,
    pub floor: AltitudeAmsl,
    pub ceiling: AltitudeAmsl,
    /// Whether its vehicle is on the ground in it.
    pub on_ground: bool,
}
