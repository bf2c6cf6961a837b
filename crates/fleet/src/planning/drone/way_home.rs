//! Whether a vehicle that is to land has a way home before it.

use model::report::{Activity, Report};
use model::route_order::OrderNumber;
use model::vehicle::{Airborne, FlightTruth};

/// The way between a vehicle with a station and the ground below its home.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WayHome {
    /// On the ground or above its home, already landing, or never left its home along a route.
    #[default]
    Over,
    Ahead,
    /// It could be anywhere, and gets no order to land there.
    Unknown,
}

impl WayHome {
    /// From the last `report` on the open session; `is_home`: that is of a vehicle above its home.
    pub fn of(report: Option<&Report>, is_home: bool) -> Self {
        let Some(report) = report else { return Self::Unknown };
        let moved = report.route.last > OrderNumber::default();
        match report.truth {
            FlightTruth::Disarmed | FlightTruth::ArmedOnGround => Self::Over,
            FlightTruth::Airborne(_) | FlightTruth::Unknown(_) if is_home => Self::Over,
            FlightTruth::Airborne(Airborne::Landing) => Self::Over,
            FlightTruth::Airborne(_) if report.activity == Activity::Landing => Self::Over,
            FlightTruth::Airborne(_) if report.home.is_some() => Self::Ahead,
            FlightTruth::Airborne(_) | FlightTruth::Unknown(_) if moved => Self::Unknown,
            FlightTruth::Airborne(_) | FlightTruth::Unknown(_) => Self::Over,
        }
    }

    /// For a vehicle that flew a plan, or may have: it can be anywhere, whatever routes it was granted.
    pub fn of_one_that_strays(report: Option<&Report>, is_home: bool) -> Self {
        let strays = match report.map(|report| (report.truth, report.activity)) {
            Some((FlightTruth::Airborne(up), activity)) => up != Airborne::Landing && activity != Activity::Landing,
            Some((FlightTruth::Unknown(_), _)) => true,
            Some((FlightTruth::Disarmed | FlightTruth::ArmedOnGround, _)) | None => false,
        };
        match Self::of(report, is_home) {
            Self::Over if strays && !is_home => Self::Unknown,
            way => way,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::ids::{NodeName, Term};
    use model::report::RouteState;
    use model::route_order::Waypoint;
    use model::units::{AltitudeAmsl, Wgs84};
    use model::vehicle::WhyUnknown;

    fn way(truth: FlightTruth, home: bool, moved: bool, is_home: bool) -> WayHome {
        let home = home.then_some(Waypoint {
            at: Wgs84 {
                latitude_deg: 47.0,
                longitude_deg: 8.0,
            },
            amsl: AltitudeAmsl(488.0),
        });
        let last = OrderNumber {
            term: Term(u64::from(moved)),
            count: u64::from(moved),
        };
        let report = Report {
            truth,
            home,
            route: RouteState {
                last,
                ..RouteState::default()
            },
            ..Report::of_nothing(NodeName::parse("n").unwrap())
        };
        WayHome::of(Some(&report), is_home)
    }

    #[test]
    fn one_that_lands_is_not_ordered_to_fly_again() {
        let landing = FlightTruth::Airborne(Airborne::Landing);
        assert_eq!(way(landing, true, true, false), WayHome::Over);
        let ordered = Report {
            truth: FlightTruth::Airborne(Airborne::InAir),
            activity: Activity::Landing,
            ..Report::of_nothing(NodeName::parse("n").unwrap())
        };
        assert_eq!(WayHome::of(Some(&ordered), false), WayHome::Over);
    }

    #[test]
    fn a_vehicle_that_flew_routes_is_known_or_unknown_but_never_assumed_to_be_home() {
        let (air, lost) = (
            FlightTruth::Airborne(Airborne::InAir),
            FlightTruth::Unknown(WhyUnknown::LinkLost),
        );
        assert_eq!(
            WayHome::of(None, false),
            WayHome::Unknown,
            "its agent has just connected"
        );
        assert_eq!(way(air, true, true, false), WayHome::Ahead);
        assert_eq!(way(air, true, true, true), WayHome::Over);
        assert_eq!(
            way(air, false, true, false),
            WayHome::Unknown,
            "its agent was just started"
        );
        assert_eq!(way(lost, true, true, false), WayHome::Unknown);
        assert_eq!(way(FlightTruth::Disarmed, false, true, false), WayHome::Over);
        for truth in [air, lost] {
            assert_eq!(way(truth, false, false, false), WayHome::Over, "it climbed above home");
        }
    }
}
