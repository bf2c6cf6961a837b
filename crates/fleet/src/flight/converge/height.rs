//! Another altitude for a vehicle that holds: the desired altitude changed in flight.

use super::{Situation, Step};
use model::units::AltitudeAboveHome;
use model::vehicle::{Mode, TRUTH_STALE_AFTER};
use model::whereabouts::DRIFTS;

/// Smallest difference of two desired altitudes.
const ALTITUDE_EPSILON_M: f64 = 0.05;

/// The step to a newly desired altitude. Altitudes drift by a meter or two, so the last order counts, not the position; only an agent
/// without one, as after a restart, uses the position.
pub(super) fn another_height(s: &Situation<'_>, desired: AltitudeAboveHome) -> Option<Step> {
    let place = s.vehicle.position.as_ref()?.fresh(s.now, TRUTH_STALE_AFTER)?;
    let off = |height: AltitudeAboveHome, by: f64| (height.0 - desired.0).abs() > by;
    // Home as before the flight: somebody may have moved it since.
    let above_home = s.vehicle.home.map(|home| AltitudeAboveHome(place.amsl.0 - home.0));
    let elsewhere = match s.memory.height() {
        Some(height) => off(height, ALTITUDE_EPSILON_M),
        None => off(above_home.unwrap_or(place.above_home), DRIFTS),
    };
    // A leader confirms it now, and the vehicle is in our mode.
    let may = s.led() && s.vehicle.mode(s.now) == Some(Mode::Station);
    (elsewhere && may).then_some(Step::ChangeHeight {
        altitude: desired,
        at: place.at,
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{World, world};
    use crate::flight::converge::{Step, called_off};
    use crate::flight::memory::{Outcome, StepKind};
    use model::assignment::Desired;
    use model::report::Activity;
    use model::time::Sighting;
    use model::units::{AltitudeAboveHome, AltitudeAmsl, Wgs84};
    use model::vehicle::{LandedState, Mode, Position};
    use std::time::Duration;

    const HERE: Wgs84 = Wgs84 {
        latitude_deg: 47.4,
        longitude_deg: 8.5,
    };

    /// Above home, meters.
    fn holding(height: f64, desired: f64, agreed: Option<f64>) -> World {
        let desired = Desired::Flying {
            altitude: AltitudeAboveHome(desired),
        };
        let mut w = world(desired).flying(Mode::Station);
        if let Some(agreed) = agreed {
            w.memory.asks_for(AltitudeAboveHome(agreed));
            w.memory.ended(StepKind::TakeOff, &Outcome::Accepted, w.now, 0.0);
        }
        let position = Position {
            at: HERE,
            amsl: AltitudeAmsl(488.0 + height),
            above_home: AltitudeAboveHome(height),
        };
        w.vehicle.position = Some(Sighting::new(position, w.now));
        w
    }

    fn step(w: &World) -> Step {
        let verdict = w.decide();
        assert_eq!(verdict.activity, Activity::Holding);
        verdict.step
    }

    fn to(altitude: f64) -> Step {
        Step::ChangeHeight {
            altitude: AltitudeAboveHome(altitude),
            at: HERE,
        }
    }

    #[test]
    fn a_changed_height_is_followed_in_the_air_once_and_where_the_vehicle_is() {
        assert_eq!(step(&holding(10.2, 10.0, Some(10.0))), Step::Nothing);
        let mut w = holding(10.2, 25.0, Some(10.0));
        assert_eq!(step(&w), to(25.0));
        w.memory.asks_for(AltitudeAboveHome(25.0));
        w.memory.ended(StepKind::ChangeHeight, &Outcome::Accepted, w.now, 0.0);
        w.now = w.now.plus(Duration::from_secs(2));
        assert_eq!(step(&w), Step::Nothing, "it was agreed, and takes its time");
    }

    #[test]
    fn an_altitude_that_drifts_is_left_alone_and_a_refused_one_is_asked_for_later() {
        assert_eq!(step(&holding(13.5, 10.0, Some(10.0))), Step::Nothing);
        let mut w = holding(10.0, 25.0, Some(10.0));
        w.memory.asks_for(AltitudeAboveHome(25.0));
        let refused = Outcome::Refused {
            result: "DENIED".into(),
        };
        w.memory.ended(StepKind::ChangeHeight, &refused, w.now, 0.0);
        assert_eq!(step(&w), Step::Nothing);
        w.memory.ended(StepKind::ChangeHeight, &refused, w.now, 0.0);
        assert!(!w.memory.due(StepKind::ChangeHeight, w.now));
    }

    #[test]
    fn an_agent_that_was_started_anew_goes_by_where_the_vehicle_is() {
        assert_eq!(step(&holding(12.0, 10.0, None)), Step::Nothing, "so far it drifts");
        assert_eq!(step(&holding(10.0, 25.0, None)), to(25.0));
        let mut moved = holding(10.0, 10.0, None);
        moved.vehicle.home = Some(AltitudeAmsl(488.0));
        if let Some(position) = &mut moved.vehicle.position {
            position.value.above_home = AltitudeAboveHome(60.0);
        }
        assert_eq!(step(&moved), Step::Nothing, "home was set lower, and it did not move");
    }

    #[test]
    fn nobody_is_moved_by_one_who_does_not_lead_or_without_a_fresh_position() {
        let mut unconfirmed = holding(10.0, 25.0, Some(10.0));
        unconfirmed.confirmed = false;
        assert_eq!(step(&unconfirmed), Step::Nothing);
        let mut old = holding(10.0, 25.0, Some(10.0));
        old.fence.highest_term = model::ids::Term(4);
        assert_eq!(step(&old), Step::Nothing);
        let mut unheard = holding(10.0, 25.0, Some(10.0));
        unheard.vehicle.position = None;
        assert_eq!(step(&unheard), Step::Nothing);
    }

    #[test]
    fn nobody_is_moved_while_it_climbs_or_lands_or_is_in_other_hands() {
        for (landed, mode) in [
            (LandedState::TakingOff, Mode::Station),
            (LandedState::InAir, Mode::Takeoff),
            (LandedState::InAir, Mode::Foreign),
            (LandedState::Landing, Mode::Land),
            (LandedState::Landing, Mode::Station),
            (LandedState::InAir, Mode::Return),
        ] {
            let w = holding(10.0, 25.0, Some(10.0)).vehicle(true, Some(landed), mode, true);
            assert_eq!(w.kind(), None, "{landed:?} {mode:?}");
        }
        for mode in [Mode::Foreign, Mode::Land, Mode::Return] {
            let w = holding(10.0, 25.0, Some(10.0)).flying(mode);
            assert!(called_off(StepKind::ChangeHeight, &w.situation()), "{mode:?}");
        }
        let w = holding(10.0, 25.0, Some(10.0));
        assert!(!called_off(StepKind::ChangeHeight, &w.situation()));
    }
}
