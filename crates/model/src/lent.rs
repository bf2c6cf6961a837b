//! Airspace lent to somebody else's program, which flies a vehicle of ours there while it keeps its lease.
//!
//! Owns: [`Room`], that airspace; and [`Lent`], its state. Must not: say when the vehicle is taken back (`fleet::flight::lending`).

use crate::units::Meters;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Default lease of a program.
pub const USUAL_LEASE: Duration = Duration::from_secs(3);

/// An upright cylinder around the end of a route; its vehicle owns all of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Room {
    pub radius: Meters,
    /// Down from the end of the route.
    pub below: Meters,
    /// Up from the end of the route.
    pub above: Meters,
    /// Silence after which the program loses the vehicle.
    pub lease: Duration,
}

impl Room {
    /// Whether all numbers are finite and none is negative.
    pub fn is_sound(&self) -> bool {
        let enough = |meters: Meters| meters.0.is_finite() && meters.0 >= 0.0;
        enough(self.radius) && enough(self.below) && enough(self.above) && !self.lease.is_zero()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lent {
    Flies,
    TakenBack(WhyBack),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WhyBack {
    /// Silent for the whole lease, or no set-point for as long as the autopilot waits for one.
    LeaseSilent,
    /// It left its room, was about to, or does not know where it is.
    LeftVolume,
    /// It is ordered elsewhere or to the ground, its battery is low, or its room is another vehicle's.
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
