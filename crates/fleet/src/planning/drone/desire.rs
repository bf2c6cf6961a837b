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

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Asked {
    AboveHome,
    /// `None`: the requested place is no valid station.
    Station(Option<Station>),
    /// Also while it is not known which.
    Plan,
    /// Its Mission has no plan for it, or has left it behind: it holds where it is.
    NoPlan,
}

/// What `drone` desires. A silent vehicle that may be airborne is assumed to continue: others keep clear of its way until it is known to
/// have left it.
pub fn desire(drone: &Facts, asked: Asked, report: Option<&Report>) -> Desire {
    let airborne = match report.map(|report| report.truth) {
        Some(FlightTruth::Airborne(_)) => true,
        Some(FlightTruth::Disarmed | FlightTruth::ArmedOnGround) => false,
        Some(FlightTruth::Unknown(_)) => drone.flown,
        None => may_be_in_air(drone.reported_flight.so_far),
    };
    let waits = matches!(drone.lift, Lift::Stay(why) if !matches!(why, NoLift::Airspace | NoLift::FencesUnknown));
    let lands = drone.deleting || drone.lift == Lift::Land;
    let ordered = drone.ground == Ground::Ordered;
    if (ordered && report.is_some()) || (!airborne && (ordered || lands || waits || drone.over)) {
        return Desire::Nothing;
    }
    match asked {
        Asked::AboveHome if lands => Desire::Nothing,
        Asked::AboveHome => Desire::AboveHome(drone.altitude),
        Asked::Station(_) | Asked::Plan | Asked::NoPlan if lands => Desire::Home,
        Asked::Station(_) | Asked::NoPlan if airborne && comes_home(drone, report) => Desire::Home,
        // One near its reserve that has a plan is called back by its Mission.
        Asked::Plan | Asked::NoPlan => Desire::Plan,
        Asked::Station(station) => station.map_or(Desire::Nothing, Desire::At),
    }
}

/// Whether a vehicle with a station, or of a Mission without a plan for it, comes home along a route for its battery; one above its home its
/// agent lands at the reserve.
pub fn comes_home(drone: &Facts, report: Option<&Report>) -> bool {
    let returns = drone.failsafe.on_low_battery == OnLowBattery::Return;
    returns && report.is_some_and(|report| report.near_reserve)
}

/// Without a connected agent. A status that does not say so proves nothing: the leader before may have ordered a flight that it could not
/// write down.
pub const fn may_be_in_air(so_far: SoFar) -> bool {
    match so_far {
        SoFar::Fresh | SoFar::Flown => true,
        SoFar::Over | SoFar::Killed => false,
    }
}

/// Whether a Drone that could fly has to wait for a route. One whose flight is over stays down by itself; see [`Facts::over`].
pub fn waits_for_route(uid: &DroneUid, movement: Option<&Movement>, report: Option<&Report>) -> bool {
    let routeless = movement.is_some_and(|movement| movement.route.is_none());
    // A vehicle that lands is not ordered to fly again before it has a route.
    routeless && (counts_as_down(uid, report) || !holds_flight(uid, report))
}

/// Whether the vehicle of the Drone `uid` counts as on the ground, and waits for airspace: not known to be in the air, and no order to fly
/// that its agent may be acting on. Only an order to a vehicle that is known to be down is taken back.
pub fn counts_as_down(uid: &DroneUid, report: Option<&Report>) -> bool {
    match report.map(|report| report.truth) {
        Some(FlightTruth::Airborne(_)) => false,
        Some(FlightTruth::ArmedOnGround | FlightTruth::Unknown(_)) => !holds_flight(uid, report),
        Some(FlightTruth::Disarmed) | None => true,
    }
}

pub fn holds_flight(uid: &DroneUid, report: Option<&Report>) -> bool {
    let held = report.and_then(|report| report.held.as_ref());
    held.is_some_and(|held| held.uid == *uid && !held.grounded)
}

/// The altitude of the order to fly that the agent holds for `uid`, if other than `asked`; `None` also for agents of older versions.
pub fn held_height(uid: &DroneUid, report: Option<&Report>, asked: AltitudeAboveHome) -> Option<AltitudeAboveHome> {
    let held = report?.held.as_ref().filter(|held| held.uid == *uid)?;
    held.height().filter(|height| *height != asked)
}

/// Whether a Drone's vehicle may take off, if `lift` is all that its node and its Swarm say, and `waits` for airspace. With its flight
/// `over` it gets no order: that would make its agent forget it.
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
    fn a_vehicle_that_its_mission_left_behind_in_flight_desires_its_home_near_the_reserve() {
        let mut drone = drone();
        let report = |truth, near_reserve| Report {
            truth,
            near_reserve,
            ..Report::of_nothing(NodeName::parse("n").unwrap())
        };
        let up = |near_reserve| report(FlightTruth::Airborne(Airborne::InAir), near_reserve);
        drone.failsafe.on_low_battery = OnLowBattery::Return;
        let desires = |drone: &Facts, asked, report: &Report| desire(drone, asked, Some(report));
        assert_eq!(desires(&drone, Asked::NoPlan, &up(false)), Desire::Plan);
        assert_eq!(desires(&drone, Asked::NoPlan, &up(true)), Desire::Home);
        assert_eq!(
            desires(&drone, Asked::Plan, &up(true)),
            Desire::Plan,
            "what it flies may not be known yet"
        );
        let down = report(FlightTruth::Disarmed, true);
        assert_eq!(
            desires(&drone, Asked::NoPlan, &down),
            Desire::Plan,
            "it is on the ground"
        );
        drone.failsafe.on_low_battery = OnLowBattery::Continue;
        assert_eq!(desires(&drone, Asked::NoPlan, &up(true)), Desire::Plan);
        drone.deleting = true;
        assert_eq!(desires(&drone, Asked::NoPlan, &up(false)), Desire::Home);
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
