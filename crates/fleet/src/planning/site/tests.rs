//! One site: what agents report and what is granted then.

mod accuracy;
mod adopted;
mod layers;
mod owned;
mod parked;
mod plan_returns;
mod plans;
mod returns;
mod rooms;
mod unordered;
mod unseen;
mod way_down;

use super::*;
use model::accuracy::Accuracy;
use model::assignment::{Held, HeldDetails};
use model::geo::shifted;
use model::ids::DroneUid;
use model::report::RouteState;
use model::reported_flight::SoFar;
use model::route_order::OrderNumber;
use model::station::{Altitude, Limits, Manner, Place};
use model::traffic::{Aircraft, Altitude as Reported};
use model::vehicle::Position;
use std::time::Duration;

const CENTER: Wgs84 = Wgs84 {
    latitude_deg: 47.397_742,
    longitude_deg: 8.545_594,
};
const SEA: f64 = 488.0;

struct Vehicle {
    node: NodeName,
    home: f64,
    at: (f64, f64),
    up: f64,
    desire: Desire,
    roams: bool,
    state: RouteState,
    activity: Activity,
    heard: bool,
    receives: Vec<Aircraft>,
    returns_at: Option<f64>,
    accuracy: Accuracy,
    turns_within: Option<f64>,
    detours: Option<bool>,
    /// Altitude error of its receiver, at home as in flight.
    datum: f64,
}

fn node(name: &str) -> NodeName {
    NodeName::parse(name).unwrap()
}

fn station(east: f64, north: f64, up: f64) -> Station {
    let place = Place {
        at: shifted(CENTER, east, north),
        altitude: Altitude::AboveHome(AltitudeAboveHome(up)),
        manner: Manner::default(),
    };
    Station::new(place, &Limits::default()).unwrap()
}

/// `home`: meters east of the center.
fn vehicle(name: &str, home: f64, desire: Desire) -> Vehicle {
    Vehicle {
        node: node(name),
        home,
        at: (home, 0.0),
        up: 0.0,
        desire,
        roams: matches!(desire, Desire::At(_) | Desire::Plan | Desire::Home),
        state: RouteState::default(),
        activity: Activity::Idle,
        heard: true,
        receives: Vec::new(),
        returns_at: Some(15.0),
        accuracy: Accuracy::of_meters(0.9, 1.78),
        turns_within: Some(2.0),
        detours: Some(false),
        datum: 0.0,
    }
}

impl Vehicle {
    fn report(&self, made: Moment) -> Report {
        let flies = self.up > 0.5;
        Report {
            made,
            link_alive: true,
            truth: match flies {
                true => FlightTruth::Airborne(Airborne::InAir),
                false => FlightTruth::Disarmed,
            },
            position: Some(Position {
                at: shifted(CENTER, self.at.0, self.at.1),
                amsl: AltitudeAmsl(SEA + self.datum + self.up),
                above_home: AltitudeAboveHome(self.up),
            }),
            position_at: Some(made),
            accuracy: self.accuracy,
            held: Some(Held {
                uid: DroneUid(self.node.to_string()),
                term: Term(3),
                generation: 1,
                grounded: self.desire == Desire::Nothing,
                settled: !flies,
                details: None,
            }),
            activity: self.activity,
            traffic: self
                .receives
                .iter()
                .map(|aircraft| Aircraft {
                    seen: made,
                    ..*aircraft
                })
                .collect(),
            route: self.state.clone(),
            return_height: self.returns_at.map(AltitudeAboveHome),
            waypoint_radius: self.turns_within.map(model::units::Meters),
            detours: self.detours,
            home: Some(Waypoint {
                at: shifted(CENTER, self.home, 0.0),
                amsl: AltitudeAmsl(SEA + self.datum),
            }),
            ..Report::of_nothing(self.node.clone())
        }
    }

    fn step(&mut self, site: &Site) {
        if let Some(route) = site.route(&self.node).filter(|route| route.number > self.state.last) {
            self.state = RouteState {
                last: route.number,
                order: Some(route.clone()),
                next: Some(1),
                stalled: None,
                lent: None,
            };
            return;
        }
        let Some((route, next)) = self.state.order.clone().zip(self.state.next) else {
            return;
        };
        if let Some(place) = route.places.get(next) {
            let frame = Frame::at(CENTER).unwrap();
            let local = frame.local(place.at, place.amsl).unwrap();
            (self.at, self.up) = ((local.east, local.north), local.up - SEA - self.datum);
            self.state.next = Some(next + 1);
            self.activity = match next + 1 < route.places.len() {
                true => Activity::Moving,
                false => Activity::Holding,
            };
        }
    }
}

fn at(second: u64) -> Moment {
    Moment::at(Duration::from_secs(1000 + second))
}

fn update(site: &mut Site, vehicles: &[Vehicle], second: u64) {
    let reports: Vec<Report> = vehicles.iter().map(|vehicle| vehicle.report(at(second))).collect();
    take_in(site, vehicles, &reports, second);
}

/// The agent of node `b` was not ordered to fly yet.
fn update_while_b_waits(site: &mut Site, vehicles: &[Vehicle], second: u64) {
    let mut reports: Vec<Report> = vehicles.iter().map(|vehicle| vehicle.report(at(second))).collect();
    let own = reports.iter_mut().filter(|report| report.node == node("b"));
    for held in own.filter_map(|report| report.held.as_mut()) {
        held.grounded = true;
    }
    take_in(site, vehicles, &reports, second);
}

fn take_in(site: &mut Site, vehicles: &[Vehicle], reports: &[Report], second: u64) {
    let now = at(second);
    let expected = vehicles.iter().zip(reports).map(|(vehicle, report)| {
        let expected = Expected {
            report: vehicle.heard.then_some((report, now)),
            may_fly: true,
            roams: vehicle.roams,
            desire: vehicle.desire,
        };
        (vehicle.node.clone(), expected)
    });
    site.update(&expected.collect(), now);
}

/// Runs until none has anything to fly, at most 100 s; returns the least distance between any two in the air.
fn run(site: &mut Site, vehicles: &mut [Vehicle], from: u64) -> (u64, f64) {
    let mut least = f64::INFINITY;
    for second in from..from + 100 {
        update(site, vehicles, second);
        for vehicle in vehicles.iter_mut().filter(|vehicle| vehicle.heard) {
            vehicle.step(site);
        }
        for (i, one) in vehicles.iter().enumerate() {
            for other in vehicles[..i].iter().filter(|other| other.up > 0.5 && one.up > 0.5) {
                let ground = (one.at.0 - other.at.0).hypot(one.at.1 - other.at.1);
                least = least.min(ground.hypot(one.up - other.up));
            }
        }
        let waits = |vehicle: &Vehicle| vehicle.heard && site.off_station(&vehicle.node, at(second)).is_some();
        let stationed = vehicles
            .iter()
            .filter(|vehicle| matches!(vehicle.desire, Desire::At(_)));
        if second > from + 5 && !stationed.into_iter().any(waits) {
            return (second, least);
        }
    }
    (from + 100, least)
}

fn new() -> Site {
    Site::new(Term(3), Rules::default(), CENTER).unwrap()
}

#[test]
fn two_vehicles_fly_to_their_stations_swap_them_and_never_come_near() {
    let mut site = new();
    let (left, right) = (station(-40.0, 60.0, 20.0), station(40.0, 60.0, 20.0));
    let mut vehicles = [
        vehicle("a", -15.0, Desire::At(right)),
        vehicle("b", 15.0, Desire::At(left)),
    ];
    let (ended, least) = run(&mut site, &mut vehicles, 0);
    assert!(ended < 60, "they arrive");
    assert!(least > 5.0, "{least}");
    assert!((vehicles[0].at.0 - 40.0).abs() < 0.1 && (vehicles[0].up - 20.0).abs() < 0.1);
    (vehicles[0].desire, vehicles[1].desire) = (Desire::At(left), Desire::At(right));
    let (again, least) = run(&mut site, &mut vehicles, ended + 1);
    assert!(again < ended + 100 && least > 5.0, "{again} {least}");
    assert!((vehicles[0].at.0 + 40.0).abs() < 0.1);
}

fn fence(name: &str) -> Wanted {
    Wanted {
        name: name.to_owned(),
        include: Vec::new(),
        exclude: Vec::new(),
        ceiling: None,
        floor: None,
        breach: crate::planning::geofence::Breach::Return,
        windows: Vec::new(),
        origin: crate::planning::geofence::Origin::default(),
    }
}

#[test]
fn no_route_leads_through_an_exclusion_or_a_ceiling_and_the_vehicle_says_why() {
    let fences = |wanted: &Wanted| BTreeMap::from([(node("a"), vec![Arc::new(wanted.clone())])]);
    let waits = |site: &Site, second| match site.off_station(&node("a"), at(second)) {
        Some(OffStation::Waits(why)) => why,
        other => panic!("{other:?}"),
    };
    let mut block = fence("block");
    block.exclude = vec![model::rules::Outline::Circle {
        center: shifted(CENTER, 0.0, 30.0),
        radius: model::units::Meters(10.0),
    }];
    let mut low = fence("low");
    low.ceiling = Some(AltitudeAboveHome(24.0));
    for (wanted, words) in [
        (&block, "crosses spec.exclude[0] of Geofence block"),
        (&low, "the ceiling of Geofence low is 24 m"),
    ] {
        let mut site = new();
        let mut vehicles = [
            vehicle("a", 0.0, Desire::At(station(0.0, 60.0, 20.0))),
            vehicle("b", 40.0, Desire::At(station(40.0, 60.0, 20.0))),
        ];
        site.keep_within(Some(fences(wanted)));
        for second in 0..5 {
            update(&mut site, &vehicles, second);
        }
        assert_eq!(site.route(&node("a")), None);
        let why = waits(&site, 4);
        assert!(
            why.starts_with("has no route: the way there") && why.contains(words),
            "{why}"
        );
        assert!(site.route(&node("b")).is_some(), "it keeps no other");
        site.keep_within(Some(BTreeMap::new()));
        let (ended, _) = run(&mut site, &mut vehicles, 5);
        assert!(ended < 65, "it goes once the fence is gone");
        // A fence that came while it was in the air does not keep it from its home.
        site.keep_within(Some(fences(wanted)));
        vehicles[0].desire = Desire::Home;
        for second in ended..ended + 20 {
            update(&mut site, &vehicles, second);
            vehicles[0].step(&site);
        }
        assert!(vehicles[0].at.1.abs() < 0.1, "{:?}", vehicles[0].at);
    }
}

#[test]
fn while_an_autopilot_is_unread_its_vehicle_flies_home_and_nowhere_else() {
    let mut site = new();
    let mut vehicles = [vehicle("a", 0.0, Desire::At(station(0.0, 60.0, 20.0)))];
    let (ended, _) = run(&mut site, &mut vehicles, 0);
    site.keep_within(Some(BTreeMap::from([(node("a"), vec![Arc::new(Wanted::unknown())])])));
    vehicles[0].desire = Desire::At(station(0.0, 30.0, 20.0));
    let before = site.route(&node("a")).cloned();
    for second in ended..ended + 5 {
        update(&mut site, &vehicles, second);
    }
    assert_eq!(site.route(&node("a")).cloned(), before);
    match site.off_station(&node("a"), at(ended + 5)) {
        Some(OffStation::Waits(why)) => assert!(why.contains("is not known"), "{why}"),
        other => panic!("{other:?}"),
    }
    vehicles[0].desire = Desire::Home;
    for second in ended + 5..ended + 40 {
        update(&mut site, &vehicles, second);
        vehicles[0].step(&site);
    }
    assert!(vehicles[0].at.1.abs() < 0.1, "{:?}", vehicles[0].at);
}

#[test]
fn one_that_holds_above_its_home_in_the_lowest_layer_is_crossed_above() {
    let mut site = new();
    for height in [8.0, 12.0, 16.0, 20.0] {
        let mut vehicles = [
            vehicle("a", -30.0, Desire::At(station(30.0, 0.0, 4.5))),
            vehicle("b", 0.0, Desire::AboveHome(AltitudeAboveHome(height))),
        ];
        (vehicles[1].up, vehicles[1].activity) = (height, Activity::Holding);
        let (ended, least) = run(&mut site, &mut vehicles, 0);
        assert!(ended < 60 && least > 5.0, "{height} m: {ended} s, {least} m");
        site = new();
    }
}

#[test]
fn a_vehicle_whose_autopilot_ignores_its_route_stops_when_wanted_elsewhere_and_goes() {
    use model::answer::Stalled;
    let (beyond, within) = (station(0.0, 300.0, 20.0), station(0.0, -40.0, 20.0));
    let mut site = new();
    let mut vehicles = [vehicle("a", 0.0, Desire::At(station(0.0, 40.0, 20.0)))];
    let (ended, _) = run(&mut site, &mut vehicles, 0);
    vehicles[0].desire = Desire::At(beyond);
    update(&mut site, &vehicles, ended + 1);
    vehicles[0].step(&site);
    vehicles[0].step(&site);
    let stuck = vehicles[0].at;
    vehicles[0].state.stalled = Some(Stalled::default());
    let order = |site: &Site| site.route(&node("a")).unwrap().clone();
    let given = order(&site);
    for second in 2..20 {
        update(&mut site, &vehicles, ended + second);
    }
    assert_eq!(order(&site), given, "it is asked again and again");
    vehicles[0].desire = Desire::At(within);
    update(&mut site, &vehicles, ended + 20);
    let stop = order(&site);
    assert!(stop.number > given.number);
    let frame = Frame::at(CENTER).unwrap();
    let end = stop.end().map(|end| frame.local(end.at, end.amsl).unwrap()).unwrap();
    assert!((end.north - stuck.1).hypot(end.east - stuck.0) < 5.0, "{end:?}");
    let (again, _) = run(&mut site, &mut vehicles, ended + 21);
    assert!(again < ended + 100);
    assert!((vehicles[0].at.1 + 40.0).abs() < 0.1, "{:?}", vehicles[0].at);
}

/// A pilot flies it 30 m up toward the center, at 8 m/s from 70 m east at second 9.
fn comes_in(pilot: &mut Vehicle, second: u64) {
    let east = 70.0 - 8.0 * f64::from(u32::try_from(second.saturating_sub(9)).unwrap());
    (pilot.at, pilot.up) = ((east, 0.0), 30.0);
    pilot.activity = Activity::HandsOff(model::report::HandsOff::OtherMode);
}

#[test]
fn a_vehicle_that_climbs_to_its_station_stops_below_one_that_comes_into_its_way_and_climbs_on() {
    let mut site = new();
    let mut vehicles = [
        vehicle("a", 0.0, Desire::At(station(0.0, 80.0, 40.0))),
        vehicle("pilot", 200.0, Desire::Nothing),
    ];
    for second in 8..10 {
        comes_in(&mut vehicles[1], 9);
        update(&mut site, &vehicles, second);
        vehicles[0].step(&site);
    }
    let given = vehicles[0].state.order.clone().unwrap();
    // The helper has flown the first leg.
    vehicles[0].state.next = Some(1);
    for (second, up) in [(10, 2.0), (11, 4.0), (12, 6.0)] {
        comes_in(&mut vehicles[1], second);
        (vehicles[0].up, vehicles[0].activity) = (up, Activity::TakingOff);
        update(&mut site, &vehicles, second);
    }
    let pair = (Owner::Vehicle(node("pilot")), node("a"));
    let did = site.endangered().get(&pair).map(|danger| danger.action);
    assert_eq!(did, Some(Action::Stops));
    let stop = site.route(&node("a")).cloned().unwrap();
    assert!(stop.number > given.number);
    let top = stop.end().unwrap().amsl.0 - SEA;
    assert!(top > 6.0 && top < 21.0, "{top} m");
    let told = site.off_station(&node("a"), at(12));
    assert!(matches!(told, Some(OffStation::KeepsClear(_))), "{told:?}");
    for second in 13..20 {
        vehicles[0].step(&site);
        comes_in(&mut vehicles[1], 17);
        update(&mut site, &vehicles, second);
        assert!(vehicles[0].up < 21.0, "second {second}: {} m", vehicles[0].up);
    }
    assert_eq!(vehicles[0].activity, Activity::Holding);
    (vehicles[1].at, vehicles[1].up, vehicles[1].activity) = ((200.0, 0.0), 0.0, Activity::Idle);
    let (ended, _) = run(&mut site, &mut vehicles, 30);
    assert!(ended < 100, "it goes on");
    assert!((vehicles[0].up - 40.0).abs() < 0.1);
}

#[test]
fn a_vehicle_without_a_station_is_not_stopped_in_its_climb_and_its_event_says_so() {
    let mut site = new();
    let mut vehicles = [
        vehicle("a", 0.0, Desire::AboveHome(AltitudeAboveHome(40.0))),
        vehicle("pilot", 200.0, Desire::Nothing),
    ];
    for second in 9..13 {
        comes_in(&mut vehicles[1], second);
        if second > 9 {
            vehicles[0].up += 2.0;
            vehicles[0].activity = Activity::TakingOff;
        }
        update(&mut site, &vehicles, second);
    }
    let pair = (Owner::Vehicle(node("pilot")), node("a"));
    let did = site.endangered().get(&pair).map(|danger| danger.action);
    assert_eq!(did, Some(Action::Stays));
    assert_eq!(site.route(&node("a")), None);
}

fn helicopter() -> Aircraft {
    Aircraft {
        icao: 0x4b_1234,
        at: shifted(CENTER, -40.0, 250.0),
        altitude: None,
        velocity: Some([0.0, 0.0]),
        climb: Some(0.0),
        may_be_uncrewed: false,
        seen: at(0),
    }
}

#[test]
fn a_route_that_was_taken_back_before_it_arrived_is_void_until_its_agent_says_so() {
    let mut site = new();
    let mut vehicles = [vehicle("a", -15.0, Desire::At(station(-40.0, 60.0, 20.0)))];
    let name = vehicles[0].node.clone();
    update(&mut site, &vehicles, 0);
    let lost = site.route(&name).unwrap().number;
    vehicles[0].receives = vec![helicopter()];
    for second in 1..6 {
        vehicles[0].heard = second != 3;
        vehicles[0].up = if second == 4 { 1.0 } else { 0.0 };
        update(&mut site, &vehicles, second);
        let known = (site.route(&name), site.last_granted(&name));
        assert_eq!(known, (None, Some(lost)), "it may still arrive, second {second}");
    }
    // The order that voids it has arrived.
    vehicles[0].state.last = lost;
    update(&mut site, &vehicles, 6);
    assert_eq!((site.route(&name), site.last_granted(&name)), (None, None));
    vehicles[0].receives.clear();
    let granted = (7..100).any(|second| {
        update(&mut site, &vehicles, second);
        site.route(&name).is_some_and(|route| route.number > lost)
    });
    assert!(granted, "it waits for ever: {:?}", site.off_station(&name, at(100)));
}

#[test]
fn a_route_that_an_aircraft_crossed_is_taken_back_from_a_vehicle_on_the_ground() {
    let mut site = new();
    let mut vehicles = [vehicle("a", -15.0, Desire::At(station(-40.0, 60.0, 20.0)))];
    let name = vehicles[0].node.clone();
    update(&mut site, &vehicles, 0);
    vehicles[0].step(&site);
    let route = vehicles[0].state.order.clone().unwrap();
    update(&mut site, &vehicles, 1);
    assert_eq!(site.route(&name), Some(&route), "nothing is in the way");
    vehicles[0].receives = vec![helicopter()];
    let mut in_the_air = (site.clone(), vehicle("a", -15.0, vehicles[0].desire));
    for second in 2..5 {
        update(&mut site, &vehicles, second);
        let known = (site.route(&name), site.last_granted(&name));
        assert_eq!(known, (None, Some(route.number)), "until its agent has let go of it");
    }
    vehicles[0].state.order = None;
    update(&mut site, &vehicles, 5);
    assert_eq!((site.route(&name), site.last_granted(&name)), (None, None));
    let why = site.off_station(&name, at(5));
    assert!(
        matches!(&why, Some(OffStation::Waits(why)) if why.contains("aircraft 4B1234")),
        "{why:?}"
    );
    vehicles[0].receives.clear();
    update(&mut site, &vehicles, 70);
    assert!(
        site.route(&name).is_some_and(|again| again.number > route.number),
        "it has gone"
    );

    let (site, up) = (&mut in_the_air.0, &mut in_the_air.1);
    (up.up, up.activity, up.state) = (3.0, Activity::TakingOff, vehicles[0].state.clone());
    (up.state.order, up.receives) = (Some(route), vec![helicopter()]);
    update(site, std::slice::from_ref(up), 2);
    assert!(site.route(&name).is_some(), "one in the air keeps a route");
}

#[test]
fn nobody_is_sent_to_where_an_aircraft_may_be_that_one_of_them_hears() {
    let mut site = new();
    let mut vehicles = [
        vehicle("a", -15.0, Desire::At(station(-40.0, 60.0, 20.0))),
        vehicle("b", 15.0, Desire::Nothing),
    ];
    let helicopter = helicopter();
    vehicles[1].receives = vec![helicopter];
    update(&mut site, &vehicles, 0);
    assert!(site.route(&vehicles[0].node).is_none());
    let why = site.off_station(&vehicles[0].node, at(0));
    assert!(
        matches!(&why, Some(OffStation::Waits(why)) if why.contains("aircraft 4B1234")),
        "{why:?}"
    );
    let ways = [
        (
            "high above",
            Aircraft {
                altitude: Some(Reported::Pressure(AltitudeAmsl(SEA + 600.0))),
                ..helicopter
            },
            true,
        ),
        (
            "not so high",
            Aircraft {
                altitude: Some(Reported::Pressure(AltitudeAmsl(SEA + 400.0))),
                ..helicopter
            },
            false,
        ),
        (
            "far away",
            Aircraft {
                at: shifted(CENTER, -40.0, 2000.0),
                ..helicopter
            },
            true,
        ),
        (
            "on its way here",
            Aircraft {
                at: shifted(CENTER, -40.0, 1000.0),
                velocity: Some([0.0, -80.0]),
                ..helicopter
            },
            false,
        ),
        (
            "it is not known where to",
            Aircraft {
                at: shifted(CENTER, -40.0, 1000.0),
                velocity: None,
                ..helicopter
            },
            false,
        ),
    ];
    for ((what, aircraft, free), second) in ways.into_iter().zip(1..) {
        let mut site = site.clone();
        vehicles[1].receives = vec![aircraft];
        update(&mut site, &vehicles, second);
        assert_eq!(site.route(&vehicles[0].node).is_some(), free, "{what}");
    }
    vehicles[1].receives.clear();
    update(&mut site, &vehicles, 60);
    assert!(site.route(&vehicles[0].node).is_none(), "it may be anywhere near");
    update(&mut site, &vehicles, 61);
    assert!(site.route(&vehicles[0].node).is_some(), "after a minute it has gone");
}

#[test]
fn the_transponder_of_a_vehicle_of_ours_is_no_aircraft_of_others() {
    let mut site = new();
    let mut vehicles = [vehicle("a", -15.0, Desire::At(station(-40.0, 60.0, 20.0)))];
    let own = Aircraft {
        icao: 1,
        at: shifted(CENTER, -12.0, 3.0),
        altitude: Some(Reported::Pressure(AltitudeAmsl(SEA + 60.0))),
        velocity: None,
        climb: None,
        may_be_uncrewed: true,
        seen: at(0),
    };
    for (crewed, free) in [(false, true), (true, false)] {
        let mut site = site.clone();
        vehicles[0].receives = vec![Aircraft {
            may_be_uncrewed: !crewed,
            ..own
        }];
        update(&mut site, &vehicles, 1);
        assert_eq!(site.route(&vehicles[0].node).is_some(), free, "crewed: {crewed}");
    }
    vehicles[0].receives = vec![Aircraft {
        at: shifted(CENTER, 60.0, 0.0),
        ..own
    }];
    update(&mut site, &vehicles, 1);
    assert!(site.route(&vehicles[0].node).is_none(), "75 m beside it is another");
}

#[test]
fn one_that_reports_itself_beside_an_aircraft_of_no_type_hides_it_from_itself_only() {
    let mut vehicles = [
        vehicle("a", -15.0, Desire::At(station(-40.0, 60.0, 20.0))),
        vehicle("liar", 120.0, Desire::At(station(120.0, 60.0, 20.0))),
        vehicle("hears", -200.0, Desire::Nothing),
    ];
    let aircraft = Aircraft {
        icao: 7,
        at: shifted(CENTER, 110.0, 0.0),
        may_be_uncrewed: true,
        ..helicopter()
    };
    vehicles[2].receives = vec![aircraft];
    let granted = |declared: Transponders, vehicles: &[Vehicle]| {
        let mut site = new();
        site.declare_transponders(declared);
        update(&mut site, vehicles, 0);
        ["a", "liar"].map(|name| site.route(&node(name)).is_some())
    };
    assert_eq!(granted(Transponders::new(), &vehicles), [false, true]);
    let of_liar = |icao: u32| Transponders::from([(icao, [node("liar")].into())]);
    assert_eq!(granted(of_liar(8), &vehicles), [false, true], "of another address");
    assert_eq!(granted(of_liar(7), &vehicles), [true, true], "a person has declared it");
    vehicles[2].receives[0].at = shifted(CENTER, -150.0, 0.0);
    assert!(!granted(of_liar(7), &vehicles)[0], "it is not where its carrier is");
}

#[test]
fn vehicles_of_a_formation_are_not_stopped_by_the_transponder_of_one_of_them() {
    let mut site = new();
    let mut vehicles = [
        vehicle("a", -7.5, Desire::At(station(-7.5, 60.0, 20.0))),
        vehicle("b", 7.5, Desire::At(station(7.5, 60.0, 20.0))),
    ];
    let (ended, _) = run(&mut site, &mut vehicles, 0);
    let carried = Aircraft {
        icao: 7,
        at: shifted(CENTER, -7.5, 60.0),
        may_be_uncrewed: true,
        ..helicopter()
    };
    vehicles[0].receives = vec![carried];
    vehicles[1].receives = vec![carried];
    vehicles[1].desire = Desire::At(station(7.5, 30.0, 20.0));
    let before = site.last_granted(&node("b"));
    for second in 1..4 {
        update(&mut site, &vehicles, ended + second);
    }
    assert!(site.endangered().is_empty(), "{:?}", site.endangered());
    assert!(site.last_granted(&node("b")) > before, "it is granted a way");
}

#[test]
fn the_height_above_home_counts_from_the_home_that_its_route_did() {
    let station = station(40.0, 0.0, 20.0);
    let mut vehicle = vehicle("a", 0.0, Desire::At(station));
    (vehicle.at, vehicle.up) = ((40.0, 0.0), 20.0);
    let mut report = vehicle.report(at(0));
    let position = report.position.as_mut().unwrap();
    position.above_home = AltitudeAboveHome(18.3);
    assert!(
        report.off(&station, Some(AltitudeAmsl(SEA))).unwrap().above.0.abs() < 1e-9,
        "the autopilot has moved its own"
    );
    assert!((report.off(&station, None).unwrap().above.0 + 1.7).abs() < 1e-9);
}

#[test]
fn a_new_leader_finds_out_who_flies_where_before_it_grants_anything() {
    let mut site = new();
    let (left, right) = (station(-40.0, 60.0, 20.0), station(40.0, 60.0, 20.0));
    let mut vehicles = [
        vehicle("a", -15.0, Desire::At(left)),
        vehicle("b", 15.0, Desire::At(right)),
    ];
    for second in 0..3 {
        update(&mut site, &vehicles, second);
        for vehicle in &mut vehicles {
            vehicle.step(&site);
        }
    }
    assert_eq!(vehicles[0].activity, Activity::Moving);
    let mut next = Site::new(Term(4), Rules::default(), CENTER).unwrap();
    vehicles[1].heard = false;
    vehicles[0].desire = Desire::At(right);
    update(&mut next, &vehicles, 5);
    assert!(
        next.route(&vehicles[0].node).is_none(),
        "it flies the route of the leader before"
    );
    for _ in 0..3 {
        vehicles[0].step(&next);
    }
    update(&mut next, &vehicles, 6);
    assert!(next.route(&vehicles[0].node).is_none(), "the other could be anywhere");
    let why = next.off_station(&vehicles[0].node, at(6));
    assert!(
        matches!(&why, Some(OffStation::Waits(why)) if why.contains("node b")),
        "{why:?}"
    );
    vehicles[1].heard = true;
    vehicles[1].desire = Desire::At(left);
    let (ended, least) = run(&mut next, &mut vehicles, 7);
    assert!(ended < 107 && least > 5.0, "{ended} {least}");
    assert!((vehicles[0].at.0 - 40.0).abs() < 0.1);
    assert!(
        vehicles[0].state.last
            > OrderNumber {
                term: Term(4),
                count: 0
            }
    );
}

#[test]
fn one_that_holds_above_its_home_is_flown_around_and_one_whose_place_is_taken_waits() {
    let mut site = new();
    let mut above = vehicle("home", 0.0, Desire::AboveHome(AltitudeAboveHome(10.0)));
    (above.up, above.activity) = (10.0, Activity::Holding);
    let inside = station(2.0, 0.0, 12.0);
    let mut vehicles = [above, vehicle("b", 30.0, Desire::At(inside))];
    let (ended, least) = run(&mut site, &mut vehicles, 0);
    assert_eq!(ended, 100, "it does not arrive");
    assert!(least > 5.0);
    let why = site.off_station(&vehicles[1].node, at(99));
    assert!(
        matches!(&why, Some(OffStation::Waits(why)) if why.contains("node home")),
        "{why:?}"
    );
    vehicles[1].desire = Desire::At(station(-30.0, 0.0, 10.0));
    let (ended, least) = run(&mut site, &mut vehicles, 200);
    assert!(ended < 300 && least > 5.0, "{ended} {least}");
}

#[test]
fn one_that_leaves_its_route_has_to_be_granted_another_from_where_it_is() {
    let mut site = new();
    let mut vehicles = [vehicle("a", 0.0, Desire::At(station(0.0, 80.0, 20.0)))];
    for second in 0..4 {
        update(&mut site, &vehicles, second);
        vehicles[0].step(&site);
    }
    let first = site.route(&vehicles[0].node).unwrap().number;
    vehicles[0].state.order = None;
    vehicles[0].state.next = None;
    (vehicles[0].at, vehicles[0].activity) = ((25.0, 40.0), Activity::HandsOff(model::report::HandsOff::OtherMode));
    update(&mut site, &vehicles, 5);
    assert!(site.route(&vehicles[0].node).is_none());
    assert!(matches!(
        site.off_station(&vehicles[0].node, at(5)),
        Some(OffStation::Waits(_))
    ));
    vehicles[0].activity = Activity::Holding;
    update(&mut site, &vehicles, 6);
    let second = site.route(&vehicles[0].node).unwrap();
    assert!(second.number > first);
    let here = vehicles[0].report(at(6)).position.unwrap();
    let here = Waypoint {
        at: here.at,
        amsl: here.amsl,
    };
    assert!(second.places[0].distance(&here) < 0.1);
}

#[test]
fn one_that_is_to_leave_goes_home_and_is_there_when_it_is_above_it() {
    let mut site = new();
    let mut vehicles = [vehicle("a", 0.0, Desire::At(station(0.0, 80.0, 20.0)))];
    run(&mut site, &mut vehicles, 0);
    assert!(!site.is_home(&vehicles[0].node, &vehicles[0].report(at(50))));
    vehicles[0].desire = Desire::Home;
    for second in 51..70 {
        update(&mut site, &vehicles, second);
        vehicles[0].step(&site);
    }
    assert!(vehicles[0].at.1.abs() < 0.1, "{:?}", vehicles[0].at);
    assert!(site.is_home(&vehicles[0].node, &vehicles[0].report(at(70))));
    let up = vehicles[0].up;
    assert!(
        up > 5.0,
        "it is ordered to land from there, and does not fly into the ground: {up}"
    );
}

#[test]
fn a_vehicle_bound_for_home_first_climbs_out_of_the_way_of_another_below_it() {
    let mut site = new();
    let mut vehicles = [
        vehicle("a", 0.0, Desire::At(station(50.0, 0.0, 22.0))),
        vehicle("b", 50.0, Desire::Nothing),
    ];
    run(&mut site, &mut vehicles, 0);
    assert!(vehicles[0].up > 21.0, "it holds over the home of the other");
    vehicles[0].desire = Desire::Home;
    vehicles[1].desire = Desire::At(station(100.0, 0.0, 5.0));
    let (_, least) = run(&mut site, &mut vehicles, 100);
    run(&mut site, &mut vehicles, 200);
    assert!(
        least > 5.0 && (vehicles[1].at.0 - 100.0).abs() < 0.1,
        "{:?}",
        vehicles[1].at
    );
    assert!(site.is_home(&vehicles[0].node, &vehicles[0].report(at(300))));
}

#[test]
fn one_beside_whom_a_vehicle_is_put_down_climbs_away_before_it_flies_on() {
    let mut site = new();
    let mut vehicles = [
        vehicle("a", 0.0, Desire::At(station(50.0, 0.0, 6.0))),
        vehicle("b", 90.0, Desire::Nothing),
    ];
    run(&mut site, &mut vehicles, 0);
    (vehicles[1].home, vehicles[1].at) = (54.0, (54.0, 0.0));
    vehicles[0].desire = Desire::At(station(0.0, 60.0, 10.0));
    let (ended, _) = run(&mut site, &mut vehicles, 100);
    assert!(ended < 200 && vehicles[0].at.0.abs() < 0.1, "{:?}", vehicles[0].at);
}

#[test]
fn a_station_that_leaves_no_altitude_to_cross_in_is_too_high_and_keeps_nobody_down() {
    let mut site = new();
    let high = station(0.0, 80.0, 115.0);
    let vehicles = [
        vehicle("a", 0.0, Desire::At(high)),
        vehicle("b", 40.0, Desire::At(station(40.0, 80.0, 20.0))),
    ];
    update(&mut site, &vehicles, 0);
    let why = site.off_station(&vehicles[0].node, at(0));
    assert!(
        matches!(&why, Some(OffStation::Waits(why)) if why.contains("lower the station")),
        "{why:?}"
    );
    assert_eq!(site.off_station(&vehicles[1].node, at(0)), Some(OffStation::Moving));
}

/// With a changed report, beside a vehicle that is to fly to its station.
fn beside(change: impl Fn(&mut Report)) -> Option<OffStation> {
    let mut site = new();
    let vehicles = [
        vehicle("a", 0.0, Desire::At(station(0.0, 80.0, 20.0))),
        vehicle("b", 60.0, Desire::Nothing),
    ];
    let now = at(0);
    let (one, mut other) = (vehicles[0].report(now), vehicles[1].report(now));
    change(&mut other);
    let expected = |report, desire: Desire| Expected {
        report: Some((report, now)),
        may_fly: true,
        roams: matches!(desire, Desire::At(_)),
        desire,
    };
    let both = BTreeMap::from([
        (node("a"), expected(&one, vehicles[0].desire)),
        (node("b"), expected(&other, Desire::Nothing)),
    ]);
    site.update(&both, now);
    site.off_station(&node("a"), now)
}

#[test]
fn a_vehicle_without_a_position_or_far_away_obstructs_only_if_it_flies() {
    assert_eq!(beside(|_| {}), Some(OffStation::Moving));
    assert_eq!(beside(|report| report.position = None), Some(OffStation::Moving));
    let far = |report: &mut Report| {
        if let Some(position) = &mut report.position {
            position.at = shifted(CENTER, 0.0, 90_000.0);
        }
    };
    assert_eq!(beside(far), Some(OffStation::Moving));
    let flies = FlightTruth::Airborne(Airborne::InAir);
    for home in [true, false] {
        let in_the_way = beside(|report| {
            report.truth = flies;
            if home {
                report.position = None;
            } else {
                report.home = None;
            }
        });
        assert!(matches!(in_the_way, Some(OffStation::Waits(_))), "{in_the_way:?}");
    }
}

#[test]
fn one_that_is_not_expected_any_more_is_forgotten_unless_it_was_last_in_the_air() {
    for (up, forgotten) in [(0.0, true), (20.0, false)] {
        let mut site = new();
        let mut left = vehicle("b", 0.0, Desire::Nothing);
        (left.up, left.activity) = (up, Activity::Holding);
        let mut vehicles = vec![vehicle("a", 40.0, Desire::At(station(0.0, 0.0, 20.0))), left];
        vehicles[0].heard = false;
        update(&mut site, &vehicles, 0);
        vehicles.pop();
        vehicles[0].heard = true;
        let (ended, _) = run(&mut site, &mut vehicles, 1);
        assert_eq!(ended < 60, forgotten, "{up}: {ended}");
    }
}

#[test]
fn a_home_that_wanders_moves_nobody_and_a_station_that_is_moved_a_little_does() {
    let mut site = new();
    let mut vehicles = [vehicle("a", 0.0, Desire::At(station(0.0, 80.0, 20.0)))];
    let (ended, _) = run(&mut site, &mut vehicles, 0);
    let first = vehicles[0].state.last;
    let wander = |site: &mut Site, vehicles: &[Vehicle], up: f64, second: u64| {
        let mut report = vehicles[0].report(at(second));
        report.home.as_mut().unwrap().amsl.0 += up;
        take_in(site, vehicles, &[report], second);
    };
    // The real PX4 sets home again at arming, by up to two meters.
    for (second, up) in (ended + 2..).zip([0.6, 1.7, -1.7, 0.0, 1.9]) {
        wander(&mut site, &vehicles, up, second);
        assert_eq!(site.route(&node("a")).unwrap().number, first, "{up}");
        assert_eq!(site.off_station(&node("a"), at(second)), None, "{up}");
    }
    let mut other = site.clone();
    vehicles[0].desire = Desire::At(station(0.0, 80.0, 20.6));
    wander(&mut other, &vehicles, 1.5, ended + 7);
    let end = other.route(&node("a")).unwrap().places.last().unwrap().amsl;
    assert!((end.0 - (SEA + 22.1)).abs() < 1e-6, "{end:?}");
    vehicles[0].desire = Desire::At(station(0.0, 80.0, 20.0));
    wander(&mut site, &vehicles, 4.0, ended + 7);
    assert!(
        site.route(&node("a")).unwrap().number > first,
        "another home is no wander"
    );
}

#[test]
fn a_low_station_is_never_measured_from_a_home_below_the_one_that_is_reported() {
    let mut site = new();
    let mut vehicles = [vehicle("a", 0.0, Desire::At(station(0.0, 80.0, 2.0)))];
    let (ended, _) = run(&mut site, &mut vehicles, 0);
    assert!(ended < 60, "it arrives");
    let from = |up: f64| site.station_home(&node("a"), AltitudeAmsl(SEA + up), &station(0.0, 80.0, 2.0));
    assert_eq!(from(0.9), AltitudeAmsl(SEA));
    assert_eq!(from(1.5), AltitudeAmsl(SEA + 1.5));
}

#[test]
fn a_vehicle_without_a_station_rises_once_nobody_is_above_and_is_then_flown_around() {
    let mut site = new();
    let mut vehicles = [
        vehicle("a", 0.0, Desire::At(station(50.0, 0.0, 20.0))),
        vehicle("b", 50.0, Desire::Nothing),
    ];
    run(&mut site, &mut vehicles, 0);
    assert!(vehicles[0].up > 19.0);
    vehicles[1].desire = Desire::AboveHome(AltitudeAboveHome(20.0));
    vehicles[1].state = RouteState::default();
    update_while_b_waits(&mut site, &vehicles, 100);
    assert!(!site.may_take_off(&vehicles[1].node), "one holds there");
    assert!(!site.may_take_off(&node("new")), "what is above it is not known yet");
    vehicles[0].desire = Desire::At(station(0.0, 60.0, 20.0));
    for second in 101..130 {
        update_while_b_waits(&mut site, &vehicles, second);
        vehicles[0].step(&site);
    }
    assert!(vehicles[0].at.1 > 59.0 && site.may_take_off(&vehicles[1].node));
    vehicles[0].desire = Desire::At(station(50.0, 0.0, 20.0));
    for second in 130..160 {
        update_while_b_waits(&mut site, &vehicles, second);
        vehicles[0].step(&site);
    }
    assert!(vehicles[0].at.1 > 59.0, "it may take off soon: {:?}", vehicles[0].at);
    site.rest();
    assert!(site.may_take_off(&vehicles[1].node));
}

#[test]
fn one_above_its_home_changes_its_height_only_once_the_way_is_clear_and_then_has_it() {
    let mut site = new();
    let mut below = vehicle("b", 50.0, Desire::AboveHome(AltitudeAboveHome(10.0)));
    (below.up, below.activity) = (10.0, Activity::Holding);
    let (above, aside) = (station(50.0, 0.0, 30.0), station(0.0, 60.0, 20.0));
    let mut vehicles = [vehicle("a", 0.0, Desire::At(above)), below];
    let (_, least) = run(&mut site, &mut vehicles, 0);
    assert!(vehicles[0].up > 29.0 && least > 5.0);
    let asked = AltitudeAboveHome(30.0);
    let may = |site: &Site| site.may_change_to(&node("b"), asked);
    site.changes([(node("b"), asked)].into());
    update(&mut site, &vehicles, 110);
    assert!(!may(&site), "one holds there");
    vehicles[0].desire = Desire::At(aside);
    let (ended, _) = run(&mut site, &mut vehicles, 111);
    assert!(may(&site) && !site.may_change_to(&node("b"), AltitudeAboveHome(31.0)));
    site.changes(BTreeMap::new());
    vehicles[0].desire = Desire::At(above);
    for second in ended + 1..ended + 20 {
        update(&mut site, &vehicles, second);
        vehicles[0].step(&site);
    }
    assert!(vehicles[0].at.1 > 59.0, "{:?}", vehicles[0].at);
    run(&mut site, &mut vehicles, ended + 20);
    assert!(vehicles[0].up > 29.0 && !may(&site), "{:?}", vehicles[0].at);
}

/// By vehicle; `ordered`: altitudes of the agents' orders to fly.
fn ask(site: &mut Site, vehicles: &[Vehicle], ordered: &[(&str, f64)], height: f64, second: u64) -> Vec<bool> {
    let height = AltitudeAboveHome(height);
    let mut reports: Vec<Report> = vehicles.iter().map(|vehicle| vehicle.report(at(second))).collect();
    for (name, altitude) in ordered {
        let own = reports.iter_mut().filter(|report| report.node == node(name));
        for held in own.filter_map(|report| report.held.as_mut()) {
            held.details = Some(HeldDetails {
                altitude: Some(AltitudeAboveHome(*altitude)),
                ..HeldDetails::default()
            });
        }
    }
    site.changes(ordered.iter().map(|(name, _)| (node(name), height)).collect());
    take_in(site, vehicles, &reports, second);
    ordered
        .iter()
        .map(|(name, _)| site.may_change_to(&node(name), height))
        .collect()
}

#[test]
fn one_that_is_not_at_its_height_or_is_far_away_may_change_it_too() {
    let above_home = |height| Desire::AboveHome(AltitudeAboveHome(height));
    let mut vehicles = [
        vehicle("a", 0.0, Desire::At(station(50.0, 0.0, 30.0))),
        vehicle("b", 50.0, above_home(100.0)),
        vehicle("c", 30_000.0, above_home(10.0)),
    ];
    let mut site = new();
    run(&mut site, &mut vehicles[..1], 0);
    let ordered = [("b", 100.0), ("c", 10.0)];
    vehicles[1].up = 60.0;
    vehicles[2].up = 10.0;
    assert_eq!(
        ask(&mut site, &vehicles, &ordered, 50.0, 110),
        [true, true],
        "it does not climb on"
    );
    assert_eq!(
        ask(&mut site, &vehicles, &ordered, 15.0, 111),
        [false, true],
        "one holds between"
    );
    assert_eq!(ask(&mut site, &vehicles, &ordered, 80.0, 112), [true, true]);
    vehicles[1].activity = Activity::TakingOff;
    assert_eq!(
        ask(&mut site, &vehicles, &ordered, 90.0, 113),
        [false, true],
        "it climbs to 100 m first"
    );
    assert_eq!(
        ask(&mut site, &vehicles, &ordered, 80.0, 114),
        [true, true],
        "that it was given"
    );
}

#[test]
fn a_vehicle_on_the_ground_may_be_ordered_lower_and_keeps_the_rest_for_a_while() {
    let mut site = new();
    let mut vehicles = [
        vehicle("a", 0.0, Desire::At(station(50.0, 0.0, 30.0))),
        vehicle("b", 50.0, Desire::AboveHome(AltitudeAboveHome(15.0))),
    ];
    run(&mut site, &mut vehicles[..1], 0);
    let ordered = [("b", 15.0)];
    assert_eq!(ask(&mut site, &vehicles, &ordered, 40.0, 110), [false]);
    assert_eq!(ask(&mut site, &vehicles, &ordered, 5.0, 111), [true]);
    let top = Local {
        east: 50.0,
        ..NOWHERE.at_height(SEA + 15.0)
    };
    let way = Route::through([top]).unwrap();
    assert!(
        site.claims
            .in_the_way(&node("a"), &way)
            .contains(&Owner::Vehicle(node("b")))
    );
}

#[test]
fn one_that_flies_home_owns_the_way_down_to_its_home_all_the_time() {
    let mut site = new();
    let (stationed, other) = (
        Desire::At(station(60.0, 0.0, 20.0)),
        vehicle("b", 200.0, Desire::Nothing),
    );
    let mut vehicles = [vehicle("a", 0.0, stationed), other];
    run(&mut site, &mut vehicles, 0);
    vehicles[0].desire = Desire::Home;
    let column = Route::through([5.0, 10.0].map(|up| NOWHERE.at_height(SEA + up))).unwrap();
    let mut moved = 0;
    for second in 110..130 {
        update(&mut site, &vehicles, second);
        vehicles[0].step(&site);
        if vehicles[0].activity == Activity::Moving {
            moved += 1;
            assert!(!site.claims.in_the_way(&node("b"), &column).is_empty(), "{second}");
        }
    }
    assert!(moved > 0);
}

#[test]
fn nobody_takes_off_past_one_with_a_station_that_may_fly_and_was_never_heard() {
    let waits = vehicle("b", 50.0, Desire::AboveHome(AltitudeAboveHome(20.0)));
    let mut report = waits.report(at(0));
    if let Some(held) = &mut report.held {
        held.grounded = true;
    }
    for may_fly in [true, false] {
        let silent = Expected {
            report: None,
            may_fly,
            desire: Desire::At(station(0.0, 60.0, 20.0)),
            roams: true,
        };
        let heard = Expected {
            report: Some((&report, at(0))),
            may_fly: true,
            desire: waits.desire,
            roams: false,
        };
        let mut site = new();
        site.update(&BTreeMap::from([(node("a"), silent), (node("b"), heard)]), at(0));
        assert_eq!(site.may_take_off(&node("b")), !may_fly);
    }
}

#[test]
fn one_on_station_climbs_out_of_a_pilots_way_and_comes_back_and_both_are_named() {
    climbs_out_of_the_way_of_one(0.0);
}

#[test]
fn one_on_station_stays_where_the_only_clear_way_out_is_above_its_ceiling() {
    for (ceiling, action) in [(28.0, Action::Stays), (100.0, Action::StepsAside)] {
        let mut site = new();
        let mut low = fence("low");
        low.ceiling = Some(AltitudeAboveHome(ceiling));
        let mut vehicles = [
            vehicle("a", 0.0, Desire::At(station(0.0, 80.0, 20.0))),
            vehicle("pilot", 40.0, Desire::At(station(60.0, 80.0, 20.0))),
        ];
        let (second, _) = run(&mut site, &mut vehicles, 0);
        site.keep_within(Some(BTreeMap::from([(node("a"), vec![Arc::new(low)])])));
        vehicles[1].state.order = None;
        vehicles[1].activity = Activity::HandsOff(model::report::HandsOff::OtherMode);
        for (step, second) in (0..15).zip(second + 1..) {
            vehicles[1].at.0 = 60.0 - 4.0 * f64::from(step);
            update(&mut site, &vehicles, second);
            vehicles[0].step(&site);
        }
        let pair = (Owner::Vehicle(node("pilot")), node("a"));
        let danger = site.endangered().get(&pair).map(|danger| danger.action);
        assert_eq!(danger, Some(action), "ceiling {ceiling} m");
        assert!(vehicles[0].up < ceiling - 2.0, "{}", vehicles[0].up);
    }
}

/// Found with real PX4s, of which one returned 0.4 m higher: the other stayed, since up was towards it.
#[test]
fn one_on_station_climbs_out_of_the_way_of_one_that_seems_to_be_a_little_higher() {
    climbs_out_of_the_way_of_one(0.8);
}

#[test]
fn a_vehicle_on_station_climbs_past_a_higher_one_nearby_only_to_end_farther_from_it() {
    for (gap, action) in [(0.3, Action::StepsAside), (1.6, Action::Stays)] {
        assert_eq!(near_one_that_is_higher_by(gap), Some(action), "{gap} m");
    }
}

fn near_one_that_is_higher_by(gap: f64) -> Option<Action> {
    let mut site = new();
    let mut vehicles = [
        vehicle("a", 0.0, Desire::At(station(0.0, 80.0, 20.0))),
        vehicle("pilot", 40.0, Desire::At(station(20.0, 80.0, 20.0))),
    ];
    let (second, _) = run(&mut site, &mut vehicles, 0);
    vehicles[1].state.order = None;
    vehicles[1].activity = Activity::HandsOff(model::report::HandsOff::OtherMode);
    (vehicles[1].at.0, vehicles[1].up) = (8.0, 20.0 + gap);
    for step in 1..6 {
        update(&mut site, &vehicles, second + step);
    }
    let pair = (Owner::Vehicle(node("pilot")), node("a"));
    site.endangered().get(&pair).map(|danger| danger.action)
}

fn climbs_out_of_the_way_of_one(above: f64) {
    let mut site = new();
    let mut vehicles = [
        vehicle("a", 0.0, Desire::At(station(0.0, 80.0, 20.0))),
        vehicle("pilot", 40.0, Desire::At(station(60.0, 80.0, 20.0))),
    ];
    let (mut second, _) = run(&mut site, &mut vehicles, 0);
    assert!(site.endangered().is_empty());
    vehicles[1].state.order = None;
    vehicles[1].activity = Activity::HandsOff(model::report::HandsOff::OtherMode);
    vehicles[1].up += above;
    let pair = (Owner::Vehicle(node("pilot")), node("a"));
    let (mut least, mut told) = (f64::INFINITY, None);
    for step in 0..40 {
        second += 1;
        vehicles[1].at.0 = f64::max(60.0 - 4.0 * f64::from(step), 0.0);
        update(&mut site, &vehicles, second);
        vehicles[0].step(&site);
        let (one, other) = (&vehicles[0], &vehicles[1]);
        least = least.min((one.at.0 - other.at.0).hypot(one.up - other.up));
        if site
            .endangered()
            .get(&pair)
            .is_some_and(|danger| danger.action == Action::StepsAside)
        {
            told = site.off_station(&node("a"), at(second));
        }
    }
    assert!(least > 5.0, "{least}");
    let climbed = vehicles[0].up - 20.0;
    assert!(
        (5.0 + above..13.0).contains(&climbed),
        "{climbed} m: out of the way, and no higher than that takes"
    );
    assert!(
        matches!(&told, Some(OffStation::KeepsClear(what)) if what.contains("climbs out of the way; near is the vehicle of node pilot")),
        "{told:?}"
    );
    let waits = site.off_station(&node("a"), at(second));
    assert!(
        matches!(&waits, Some(OffStation::Waits(why)) if why.contains("node pilot")),
        "it is clear of it and cannot return: {waits:?}"
    );
    vehicles[1].at.0 = 100.0;
    for _ in 0..30 {
        second += 1;
        update(&mut site, &vehicles, second);
        vehicles[0].step(&site);
    }
    assert!((vehicles[0].up - 20.0).abs() < 0.1 && site.endangered().is_empty());
    assert_eq!(site.off_station(&node("a"), at(second)), None);
}

#[test]
fn ways_home_that_cross_at_one_height_are_named_and_those_apart_are_not() {
    let mut site = new();
    let mut vehicles = [
        vehicle("a", -15.0, Desire::At(station(40.0, 60.0, 20.0))),
        vehicle("b", 15.0, Desire::At(station(-40.0, 60.0, 20.0))),
    ];
    update(&mut site, &vehicles, 0);
    let named = site.shared_return(&node("a"));
    assert!(
        named
            .as_ref()
            .is_some_and(|text| text.contains("the vehicle of node b: their ways home cross")),
        "{named:?}"
    );
    assert!(
        named
            .as_ref()
            .is_some_and(|text| text.contains("(RTL_ALT_M, RTL_ALT, RTL_RETURN_ALT)")),
        "{named:?}"
    );
    vehicles[1].desire = Desire::At(station(60.0, 60.0, 20.0));
    vehicles[0].desire = Desire::At(station(-60.0, 60.0, 20.0));
    update(&mut site, &vehicles, 1);
    assert_eq!(site.shared_return(&node("a")), None);
}

#[test]
fn how_far_off_is_on_station_is_for_the_operator_to_set() {
    let swayed = |mut site: Site| {
        let mut vehicles = [vehicle("a", 0.0, Desire::At(station(0.0, 40.0, 20.0)))];
        let (until, _) = run(&mut site, &mut vehicles, 0);
        vehicles[0].at = (0.0, 42.3);
        for second in until..until + 8 {
            update(&mut site, &vehicles, second);
        }
        site.off_station(&node("a"), at(until + 8))
    };
    assert_eq!(swayed(new()), None);
    let narrow = Tolerance {
        horizontal: model::units::Meters(1.0),
        vertical: model::units::Meters(0.75),
    };
    assert_eq!(swayed(new().with_tolerance(narrow)), Some(OffStation::Settling));
}

#[test]
fn a_vehicle_without_a_station_waits_until_one_that_descends_has_landed() {
    let mut site = new();
    let mut vehicles = [
        vehicle("a", 0.0, Desire::At(station(50.0, 0.0, 20.0))),
        vehicle("b", 50.0, Desire::AboveHome(AltitudeAboveHome(20.0))),
    ];
    (vehicles[0].at, vehicles[0].up) = ((50.0, 0.0), 20.0);
    (vehicles[0].desire, vehicles[0].activity) = (Desire::Nothing, Activity::Landing);
    for (second, up) in [(0, 20.0), (1, 15.0), (2, 3.0)] {
        vehicles[0].up = up;
        update_while_b_waits(&mut site, &vehicles, second);
        assert!(!site.may_take_off(&node("b")), "it is {up} m above it");
    }
    vehicles[0].heard = false;
    update_while_b_waits(&mut site, &vehicles, 30);
    assert!(!site.may_take_off(&node("b")));
    (vehicles[0].heard, vehicles[0].up, vehicles[0].activity) = (true, 0.0, Activity::Idle);
    update_while_b_waits(&mut site, &vehicles, 31);
    assert!(site.may_take_off(&node("b")), "it is on the ground");
}
