//! The airspace that a vehicle owns, as people see it.

use crate::units::{AltitudeAmsl, Meters, Wgs84};

/// Most pieces shown for a vehicle: the corridor of a long Mission has a leg for each line.
pub const MOST_PIECES: usize = 256;

#[derive(Clone, Debug, PartialEq)]
pub enum Owned {
    /// Not known, so no other vehicle has any airspace.
    Everywhere,
    /// These pieces, and the number of those that are not shown.
    Within(Vec<Piece>, usize),
}

/// All within a radius over ground of a place, a line or a triangle, between two altitudes.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// One place, two ends of a line, or three corners of a triangle.
    pub core: Vec<Wgs84>,
    pub radius: Meters,
    pub floor: AltitudeAmsl,
    pub ceiling: AltitudeAmsl,
    pub on_ground: bool,
}
