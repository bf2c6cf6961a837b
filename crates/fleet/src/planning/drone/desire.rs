//! What Drones ask of the airspace.

use crate::planning::drone::{Facts, Ground, Movement};
use crate::planning::node_use::{Lift, NoLift};
use crate::planning::site::Desire;
use model::assignment::OnLowBattery;
use model::ids::DroneUid;
use model::report::Report;
use model::reported_flight::SoFar;
use model::station::Station;
use model::units::AltitudeAboveHome;
use model::vehicle::FlightTruth;

/// Where the Drone is asked to hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Asked {
    AboveHome,
    /// At this station; `None`: what is asked for is no place for one.
    Station(Option<Station>),
    /// Not to hold: it flies a plan.
    Plan,
}

/// What `drone` desires, which is `asked` to hold there and whose vehicle has made this `report`. One that may be in the air, but is not
/// heard, or does not know, is taken to go on: others keep clear of its way until it is known to have left it.
pub fn desire(drone: &Facts, asked: Asked, report: Option<&Report>) -> Desire {
    let airborne = match report.map(|report| report.truth) {
        Some(FlightTruth::Airborne(_)) => true,
        Some(FlightTruth::Disarmed | FlightTruth::ArmedOnGround) => false,
        Some(FlightTruth::Unknown(_)) => drone.flown,
        None => may_be_in_air(drone.reported_flight.so_far),
    };
    let waits = matches!(drone.lift, Lift::Stay(why) if why != NoLift::Airspace);
    let lands = drone.deleting || drone.lift == Lift::Land;
    let ordered = drone.ground == Ground::Ordered;
    if (ordered && report.is_some()) || (!airborne && (ordered || lands || waits || drone.over)) {
        return Desire::Nothing;
    }
    match asked {
        Asked::AboveHome if lands => Desire::Nothing,
        Asked::AboveHome => Desire::AboveHome(drone.altitude),
        Asked::Station(_) | Asked::Plan if lands => Desire::Home,
        Asked::Plan => Desire::Plan,
        Asked::Station(_) if airborne && comes_home(drone, report) => Desire::Home,
        Asked::Station(station) => station.map_or(Desire::Nothing, Desire::At),
    }
}

/// Whether the vehicle of `drone`, which has a station, comes home along a route for its battery: above home its agent lands it at the reserve.
pub fn comes_home(drone: &Facts, report: Option<&Report>) -> bool {
    let returns = drone.failsafe.on_low_battery == OnLowBattery::Return;
    returns && report.is_some_and(|report| report.near_reserve)
}

/// Whether the vehicle of a Drone may be in the air while its agent is not connected. That its status does not say so shows nothing: the
/// leader before may have ordered it to fly, and not have been able to write that down.
pub const fn may_be_in_air(so_far: SoFar) -> bool {
    match so_far {
        SoFar::Fresh | SoFar::Flown => true,
        SoFar::Over | SoFar::Killed => false,
    }
}

/// Whether the Drone `uid`, which could fly, has to wait for a route. One whose flight is over stays down by itself; see
/// [`Facts::over`].
pub fn waits_for_route(uid: &DroneUid, movement: Option<&Movement>, report: Option<&Report>) -> bool {
    let routeless = movement.is_some_and(|movement| movement.route.is_none());
    // One that lands is not ordered to fly again before it has a route.
    routeless && (counts_as_down(uid, report) || !holds_flight(uid, report))
}

/// Whether the vehicle of the Drone `uid` counts as on the ground, so that it waits for airspace: it is not known to be in the air, and its
/// agent is not known to hold an order to fly that it may be acting on. Such an order is taken back only from one that is known to be down.
pub fn counts_as_down(uid: &DroneUid, report: Option<&Report>) -> bool {
    match report.map(|report| report.truth) {
        Some(FlightTruth::Airborne(_)) => false,
        Some(FlightTruth::ArmedOnGround | FlightTruth::Unknown(_)) => !holds_flight(uid, report),
        Some(FlightTruth::Disarmed) | None => true,
    }
}

/// Whether the agent that made this `report` holds an order to fly for the Drone `uid`.
pub fn holds_flight(uid: &DroneUid, report: Option<&Report>) -> bool {
    let held = report.and_then(|report| report.held.as_ref());
    held.is_some_and(|held| held.uid == *uid && !held.grounded)
}

/// The height at which the agent that made this `report` holds an order to fly for the Drone `uid`, if that is another than is `asked` for now;
/// `None` also when it does not say, being of an older version.
pub fn held_height(uid: &DroneUid, report: Option<&Report>, asked: AltitudeAboveHome) -> Option<AltitudeAboveHome> {
    let held = report?.held.as_ref().filter(|held| held.uid == *uid)?;
    held.height().filter(|height| *height != asked)
}

/// Whether the vehicle of a Drone may take off when its node and its Swarm have no say in it but `lift`, and `waits` is whether it has to
/// wait for airspace. One whose flight is `over` is not ordered to: that would make its agent forget it.
pub const fn lift(lift: Lift, over: bool, waits: bool) -> Lift {
    match lift {
        Lift::Free if waits && !over => Lift::Stay(NoLift::Airspace),
        lift => lift,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planning::drone::status::tests::drone;
    use model::assignment::Held;
    use model::ids::{NodeName, Term};
    use model::vehicle::{Airborne, WhyUnknown};

    #[test]
    fn one_that_is_not_heard_may_fly_unless_its_flight_is_known_to_be_over() {
        assert!(
            may_be_in_air(SoFar::Fresh),
            "its leader ordered it to fly and was cut off from the API"
        );
        assert!(may_be_in_air(SoFar::Flown));
        assert!(!may_be_in_air(SoFar::Over) && !may_be_in_air(SoFar::Killed));
    }

    #[test]
    fn a_silent_vehicle_maybe_on_its_way_keeps_its_airspace_whatever_it_is_to_do_next() {
        let report = |truth| Report {
            truth,
            ..Report::of_nothing(NodeName::parse("n").unwrap())
        };
        let unknown = report(FlightTruth::Unknown(WhyUnknown::NeverHeard));
        let down = report(FlightTruth::Disarmed);
        let mut drone = drone();
        (drone.flown, drone.reported_flight.so_far) = (true, SoFar::Flown);
        let plan = |drone: &Facts, report| desire(drone, Asked::Plan, report);
        for why in [NoLift::Plan, NoLift::Cordoned, NoLift::Drained] {
            drone.lift = Lift::Stay(why);
            assert_eq!(plan(&drone, None), Desire::Plan, "another has its part");
            assert_eq!(plan(&drone, Some(&unknown)), Desire::Plan, "its agent has just started");
            assert_eq!(plan(&drone, Some(&down)), Desire::Nothing);
        }
        let landed = Facts {
            flown: false,
            ..drone.clone()
        };
        assert_eq!(plan(&landed, Some(&unknown)), Desire::Nothing);
        let deleted = Facts {
            deleting: true,
            ..drone.clone()
        };
        assert_eq!(plan(&deleted, None), Desire::Home);
        let ordered = Facts {
            ground: Ground::Ordered,
            ..drone.clone()
        };
        assert_eq!(plan(&ordered, None), Desire::Plan, "the order has not reached it");
        assert_eq!(plan(&ordered, Some(&unknown)), Desire::Nothing);
        drone.reported_flight.so_far = SoFar::Over;
        assert_eq!(plan(&drone, None), Desire::Nothing);
    }

    #[test]
    fn a_vehicle_with_a_station_desires_its_home_when_its_battery_nears_the_reserve() {
        let mut drone = drone();
        let place = model::station::Place {
            at: model::units::Wgs84 {
                latitude_deg: 47.4,
                longitude_deg: 8.5,
            },
            altitude: model::station::Altitude::AboveHome(AltitudeAboveHome(20.0)),
            manner: model::station::Manner::default(),
        };
        let station = Station::new(place, &model::station::Limits::default()).unwrap();
        let at = Asked::Station(Some(station));
        let report = |near_reserve| Report {
            truth: FlightTruth::Airborne(Airborne::InAir),
            near_reserve,
            ..Report::of_nothing(NodeName::parse("n").unwrap())
        };
        drone.failsafe.on_low_battery = OnLowBattery::Return;
        assert_eq!(desire(&drone, at, Some(&report(false))), Desire::At(station));
        assert_eq!(desire(&drone, at, Some(&report(true))), Desire::Home);
        let above = desire(&drone, Asked::AboveHome, Some(&report(true)));
        assert_eq!(above, Desire::AboveHome(drone.altitude), "it is at home");
        for policy in [OnLowBattery::Land, OnLowBattery::Continue] {
            drone.failsafe.on_low_battery = policy;
            assert_eq!(
                desire(&drone, at, Some(&report(true))),
                Desire::At(station),
                "{policy:?}"
            );
        }
    }

    #[test]
    fn one_that_is_not_known_to_fly_waits_unless_its_agent_holds_an_order_to_fly_for_it() {
        let (own, other) = (DroneUid("own".into()), DroneUid("other".into()));
        let waits = |truth, (uid, grounded): (&DroneUid, bool)| {
            let held = Held {
                uid: uid.clone(),
                term: Term(1),
                generation: 1,
                grounded,
                settled: false,
                details: None,
            };
            let report = Report {
                truth,
                held: Some(held),
                ..Report::of_nothing(NodeName::parse("n").unwrap())
            };
            counts_as_down(&own, Some(&report))
        };
        assert!(counts_as_down(&own, None), "nothing is known of it");
        for truth in [
            FlightTruth::Unknown(WhyUnknown::LinkLost),
            FlightTruth::Unknown(WhyUnknown::NeverHeard),
            FlightTruth::ArmedOnGround,
        ] {
            assert!(waits(truth, (&own, true)), "{truth:?}");
            assert!(waits(truth, (&other, false)), "{truth:?}");
            assert!(!waits(truth, (&own, false)), "it may have taken off: {truth:?}");
        }
        assert!(waits(FlightTruth::Disarmed, (&own, false)));
        let up = FlightTruth::Airborne(Airborne::InAir);
        assert!(!waits(up, (&own, true)) && !waits(up, (&other, true)) && !waits(up, (&own, false)));
    }

    #[test]
    fn one_whose_flight_is_over_asks_for_no_airspace_on_the_ground() {
        let report = |truth| Report {
            truth,
            ..Report::of_nothing(NodeName::parse("n").unwrap())
        };
        let mut drone = drone();
        let down = report(FlightTruth::Disarmed);
        let above = Desire::AboveHome(drone.altitude);
        assert_eq!(desire(&drone, Asked::AboveHome, Some(&down)), above);
        drone.over = true;
        assert_eq!(lift(Lift::Free, false, true), Lift::Stay(NoLift::Airspace));
        assert_eq!(
            lift(Lift::Free, true, true),
            Lift::Free,
            "its agent would forget that it is over"
        );
        assert_eq!(desire(&drone, Asked::AboveHome, Some(&down)), Desire::Nothing);
    }
}
