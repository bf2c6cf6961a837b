//! Airspace in which a program of somebody else flies a vehicle of ours, for as long as it says that it is there.
//!
//! Owns: [`Room`], that airspace; and [`Lent`], what has become of it. Must not: say when the vehicle is taken back
//! (`fleet::flight::lending` does).

use crate::units::Meters;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The lease of a program that names none.
pub const USUAL_LEASE: Duration = Duration::from_secs(3);

/// An upright cylinder around the place where a route ends: airspace that its vehicle owns, anywhere in it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Room {
    /// How far it reaches over ground.
    pub radius: Meters,
    /// How far it reaches down from that place.
    pub below: Meters,
    /// How far it reaches up from that place.
    pub above: Meters,
    /// A program that was silent for so long has lost the vehicle.
    pub lease: Duration,
}

impl Room {
    /// Whether each number of it is one, and none is negative.
    pub fn is_sound(&self) -> bool {
        let enough = |meters: Meters| meters.0.is_finite() && meters.0 >= 0.0;
        enough(self.radius) && enough(self.below) && enough(self.above) && !self.lease.is_zero()
    }
}

/// What has become of a vehicle that was lent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lent {
    /// A program flies it.
    Flies,
    /// Its agent took it back.
    TakenBack(WhyBack),
}

/// Why a vehicle was taken back from a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WhyBack {
    /// Nothing came from the program for as long as its lease lasts, or no set-point for as long as the autopilot waits for one.
    LeaseSilent,
    /// It would have left its room, or has, or does not know where it is.
    LeftVolume,
    /// It is ordered elsewhere or to the ground, its battery is low, or its room is another's.
    Recalled,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_of_a_number_that_means_nothing_is_none() {
        let room = Room {
            radius: Meters(30.0),
            below: Meters(10.0),
            above: Meters(20.0),
            lease: USUAL_LEASE,
        };
        assert!(room.is_sound());
        let bad = [
            Room {
                radius: Meters(f64::NAN),
                ..room
            },
            Room {
                below: Meters(-1.0),
                ..room
            },
            Room {
                lease: Duration::ZERO,
                ..room
            },
        ];
        assert!(bad.iter().all(|room| !room.is_sound()));
    }
}
