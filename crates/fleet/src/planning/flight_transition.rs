//! Transitions for the count of flights, from a vehicle's own account.

use model::vehicle::FlightTruth;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FlightTransition {
    Takeoff,
    Landing,
    Lost,
}

/// Between two consecutive reports; `flew`: what was last known before the new one.
///
/// A vehicle that is lost in flight and heard again in the air made no takeoff; heard again on the ground, it has landed.
pub fn transition(flew: Option<bool>, before: FlightTruth, after: FlightTruth) -> Option<FlightTransition> {
    match (flew, after.flying()) {
        (Some(true), None) => before.flying().is_some().then_some(FlightTransition::Lost),
        (Some(true), Some(false)) => Some(FlightTransition::Landing),
        (Some(false), Some(true)) => Some(FlightTransition::Takeoff),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use FlightTruth::{Airborne, ArmedOnGround, Disarmed, Unknown};
    use model::vehicle::{Airborne as How, WhyUnknown};

    const LOST: FlightTruth = Unknown(WhyUnknown::LinkLost);

    fn transitions(accounts: &[FlightTruth]) -> Vec<FlightTransition> {
        let mut flew = None;
        let mut before = LOST;
        let mut transitions = Vec::new();
        for &after in accounts {
            transitions.extend(transition(flew, before, after));
            flew = after.flying().or(flew);
            before = after;
        }
        transitions
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
        assert_eq!(
            transitions(&flight),
            [FlightTransition::Takeoff, FlightTransition::Landing]
        );
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
        assert_eq!(
            transitions(&flight),
            [FlightTransition::Takeoff, FlightTransition::Lost]
        );
        assert_eq!(
            transitions(&[Airborne(How::InAir), LOST, Disarmed]),
            [FlightTransition::Lost, FlightTransition::Landing]
        );
    }

    #[test]
    fn the_first_report_is_no_transition() {
        assert_eq!(transitions(&[Airborne(How::InAir)]), []);
        assert_eq!(transitions(&[LOST, Disarmed, LOST, Disarmed]), []);
    }
}
