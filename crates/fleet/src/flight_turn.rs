//! What a change of a vehicle's own account means for the count of flights.
//!
//! Owns: [`turn`], a pure function. Must not: keep anything.

use crate::vehicle::FlightTruth;

/// A turn in the life of a flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Turn {
    /// It left the ground.
    Takeoff,
    /// It is on the ground again.
    Landing,
    /// It was in the air, and nobody knows any more.
    Lost,
}

/// The turn between two reports that follow one another; `flew` is what was last known before the new one.
///
/// A vehicle that is lost in flight and heard again in the air has made no takeoff; heard again on the ground, it has landed.
#[must_use]
pub fn turn(flew: Option<bool>, before: FlightTruth, after: FlightTruth) -> Option<Turn> {
    match (flew, after.flying()) {
        (Some(true), None) => before.flying().is_some().then_some(Turn::Lost),
        (Some(true), Some(false)) => Some(Turn::Landing),
        (Some(false), Some(true)) => Some(Turn::Takeoff),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vehicle::{Airborne as How, WhyUnknown};
    use FlightTruth::{Airborne, ArmedOnGround, Disarmed, Unknown};

    const LOST: FlightTruth = Unknown(WhyUnknown::LinkLost);

    /// The turns of a vehicle that gives these accounts one after another.
    fn turns(accounts: &[FlightTruth]) -> Vec<Turn> {
        let mut flew = None;
        let mut before = LOST;
        let mut turns = Vec::new();
        for &after in accounts {
            turns.extend(turn(flew, before, after));
            flew = after.flying().or(flew);
            before = after;
        }
        turns
    }

    #[test]
    fn a_flight_is_one_takeoff_and_one_landing() {
        let flight = [
            Disarmed,
            ArmedOnGround,
            Airborne(How::TakingOff),
            Airborne(How::InAir),
            Airborne(How::Landing),
            ArmedOnGround,
            Disarmed,
        ];
        assert_eq!(turns(&flight), [Turn::Takeoff, Turn::Landing]);
    }

    #[test]
    fn a_vehicle_lost_in_flight_is_counted_once_and_takes_off_no_second_time() {
        let flight = [
            Disarmed,
            Airborne(How::InAir),
            LOST,
            Unknown(WhyUnknown::LandedStateUnknown),
            Airborne(How::InAir),
        ];
        assert_eq!(turns(&flight), [Turn::Takeoff, Turn::Lost]);
        assert_eq!(
            turns(&[Airborne(How::InAir), LOST, Disarmed]),
            [Turn::Lost, Turn::Landing]
        );
    }

    #[test]
    fn what_is_heard_first_is_no_turn() {
        assert_eq!(turns(&[Airborne(How::InAir)]), []);
        assert_eq!(turns(&[LOST, Disarmed, LOST, Disarmed]), []);
    }
}
