//! Several sites: which vehicle keeps clear of which.

use super::super::{Action, Desire};
use super::*;
use model::assignment::Held;
use model::geo::shifted;
use model::ids::DroneUid;
use model::report::{Activity, HandsOff, RouteState};
use model::route_order::Waypoint;
use model::station::{Altitude, Limits, Manner, Place};
use model::units::AltitudeAmsl;
use model::vehicle::{Airborne, Position};
use std::time::Duration;

const SEA: f64 = 488.0;

/// 4.4 km apart, on either side of the border between two rows of centers.
const SOUTH: Wgs84 = Wgs84 {
    latitude_deg: 47.455,
    longitude_deg: 8.55,
};
const NORTH: Wgs84 = Wgs84 {
    latitude_deg: 47.495,
    longitude_deg: 8.55,
};

/// Its agent follows orders, one leg at a time.
#[derive(Clone)]
struct Vehicle {
    node: NodeName,
    home: Wgs84,
    at: Wgs84,
    up: f64,
    desire: Desire,
    state: RouteState,
    ordered: bool,
    /// In a pilot's hands.
    taken: bool,
}

fn node(name: &str) -> NodeName {
    NodeName::parse(name).unwrap()
}

fn vehicle(name: &str, home: Wgs84, desire: Desire) -> Vehicle {
    Vehicle {
        node: node(name),
        home,
        at: home,
        up: 0.0,
        desire,
        state: RouteState::default(),
        ordered: matches!(desire, Desire::At(_)),
        taken: false,
    }
}

fn station(at: Wgs84, up: f64) -> Desire {
    let place = Place {
        at,
        altitude: Altitude::AboveHome(AltitudeAboveHome(up)),
        manner: Manner::default(),
    };
    Desire::At(Station::new(place, &Limits::default()).unwrap())
}

fn above(up: f64) -> Desire {
    Desire::AboveHome(AltitudeAboveHome(up))
}

fn at(second: u64) -> Moment {
    Moment::at(Duration::from_secs(1000 + second))
}

impl Vehicle {
    fn report(&self, second: u64) -> Report {
        let flies = self.up > 0.5;
        let holds = self
            .state
            .order
            .as_ref()
            .is_some_and(|order| self.state.next >= Some(order.places.len()));
        Report {
            made: at(second),
            link_alive: true,
            truth: match flies {
                true => FlightTruth::Airborne(Airborne::InAir),
                false => FlightTruth::Disarmed,
            },
            position: Some(Position {
                at: self.at,
                amsl: AltitudeAmsl(SEA + self.up),
                above_home: AltitudeAboveHome(self.up),
            }),
            position_at: Some(at(second)),
            held: Some(Held {
                uid: DroneUid(self.node.to_string()),
                term: Term(3),
                generation: 1,
                grounded: !self.ordered,
                settled: !flies,
                details: None,
            }),
            activity: match (flies, holds) {
                _ if self.taken => Activity::HandsOff(HandsOff::OtherMode),
                (false, _) => Activity::Idle,
                (true, true) => Activity::Holding,
                (true, false) => Activity::Moving,
            },
            route: self.state.clone(),
            return_height: Some(AltitudeAboveHome(15.0)),
            detours: Some(false),
            home: Some(Waypoint {
                at: self.home,
                amsl: AltitudeAmsl(SEA),
            }),
            ..Report::of_nothing(self.node.clone())
        }
    }

    fn step(&mut self, sites: &Sites) {
        if let Some(route) = sites.route(&self.node).filter(|route| route.number > self.state.last) {
            self.state = RouteState {
                last: route.number,
                order: Some(route.clone()),
                next: Some(1),
                stalled: None,
                lent: None,
            };
        } else if let Some((order, next)) = self.state.order.clone().zip(self.state.next)
            && let Some(place) = order.places.get(next)
        {
            (self.at, self.up) = (place.at, place.amsl.0 - SEA);
            self.state.next = Some(next + 1);
        }
    }
}

fn new() -> Sites {
    Sites::new(Term(3), Rules::default(), Tolerance::default())
}

fn update(sites: &mut Sites, vehicles: &[Vehicle], second: u64) {
    let reports: Vec<Report> = vehicles.iter().map(|vehicle| vehicle.report(second)).collect();
    let expected = vehicles.iter().zip(&reports).map(|(vehicle, report)| {
        let expected = Expected {
            report: Some((report, at(second))),
            may_fly: true,
            roams: matches!(vehicle.desire, Desire::At(_)),
            desire: vehicle.desire,
        };
        (vehicle.node.clone(), expected)
    });
    sites.update(&expected.collect(), at(second));
}

fn run(sites: &mut Sites, vehicles: &mut [Vehicle], from: u64) -> u64 {
    for second in from..from + 30 {
        update(sites, vehicles, second);
        for vehicle in vehicles.iter_mut() {
            vehicle.step(sites);
        }
    }
    from + 30
}

fn off(vehicle: &Vehicle, place: Wgs84) -> f64 {
    let (east, north) = offset(place, vehicle.at);
    east.hypot(north)
}

#[test]
fn vehicles_of_two_fields_far_apart_fly_and_those_below_stay_down_in_both() {
    let far = shifted(SOUTH, 180_000.0, 0.0);
    let mut sites = new();
    let mut vehicles = Vec::new();
    for (name, field) in [("one", SOUTH), ("two", far)] {
        let place = shifted(field, 60.0, 0.0);
        vehicles.push(vehicle(&format!("{name}-high"), field, station(place, 20.0)));
        vehicles.push(vehicle(&format!("{name}-low"), place, Desire::Nothing));
    }
    let ended = run(&mut sites, &mut vehicles, 0);
    for pair in vehicles.chunks_mut(2) {
        assert!(off(&pair[0], pair[1].home) < 1.0 && pair[0].up > 19.0);
        pair[1].desire = above(20.0);
    }
    update(&mut sites, &vehicles, ended);
    for name in ["one-low", "two-low"] {
        assert!(!sites.may_take_off(&node(name)), "{name}: another holds above it");
        assert!(
            sites
                .owned(&node(name))
                .is_some_and(|owned| owned != Owned::Within(Vec::new(), 0))
        );
    }
}

#[test]
fn an_agent_that_reports_to_be_elsewhere_moves_the_airspace_of_nobody_else() {
    for elsewhere in [0.0, 15_000.0, 25_000.0, 400_000.0] {
        let mut sites = new();
        let place = shifted(SOUTH, 60.0, 0.0);
        let lies = shifted(SOUTH, elsewhere, 0.0);
        let mut vehicles = [
            vehicle(
                "a-liar",
                shifted(lies, 0.0, 500.0),
                station(shifted(lies, 0.0, 540.0), 20.0),
            ),
            vehicle("high", SOUTH, station(place, 20.0)),
            vehicle("low", place, Desire::Nothing),
        ];
        let ended = run(&mut sites, &mut vehicles, 0);
        assert!(vehicles[1].up > 19.0 && off(&vehicles[1], place) < 1.0, "{elsewhere}");
        vehicles[2].desire = above(20.0);
        update(&mut sites, &vehicles, ended);
        assert!(!sites.may_take_off(&node("low")), "{elsewhere}");
        let carried = shifted(SOUTH, -40_000.0, 0.0);
        (vehicles[0].home, vehicles[0].at, vehicles[0].up) = (carried, carried, 0.0);
        (vehicles[0].state, vehicles[0].desire) = (RouteState::default(), Desire::Nothing);
        let before = sites.of[&node("high")];
        update(&mut sites, &vehicles, ended + 1);
        assert_eq!(sites.of[&node("high")], before);
        assert!(!sites.may_take_off(&node("low")), "{elsewhere}");
    }
}

#[test]
fn each_leader_finds_the_same_sites_in_whatever_order_agents_report() {
    let homes = [SOUTH, NORTH, shifted(SOUTH, 100_000.0, 0.0)];
    let names = ["a", "b", "c"];
    let of = |order: [usize; 3]| {
        let mut sites = new();
        let vehicles = order.map(|i| vehicle(names[i], homes[i], Desire::Nothing));
        for heard in 1..=3 {
            update(&mut sites, &vehicles[..heard], heard as u64);
        }
        sites.of
    };
    let first = of([0, 1, 2]);
    assert_ne!(first[&node("a")], first[&node("c")]);
    for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        assert_eq!(of(order), first, "{order:?}");
    }
}

#[test]
fn a_field_on_the_border_of_two_cells_is_one_site() {
    let border = Wgs84 {
        latitude_deg: 47.475,
        ..SOUTH
    };
    let mut sites = new();
    let vehicles = [-40.0, 40.0].map(|north| {
        let name = if north < 0.0 { "below" } else { "above" };
        vehicle(name, shifted(border, 0.0, north), Desire::Nothing)
    });
    assert_ne!(Cell::of(vehicles[0].home), Cell::of(vehicles[1].home));
    update(&mut sites, &vehicles, 0);
    assert_eq!(sites.of[&node("below")], sites.of[&node("above")]);
}

#[test]
fn a_field_on_the_180th_meridian_is_one_site() {
    let [west, east] = [179.999_99, -179.999_99].map(|longitude_deg| Wgs84 { longitude_deg, ..SOUTH });
    let mut sites = new();
    let vehicles = [
        vehicle("west", west, station(shifted(west, -20.0, 60.0), 20.0)),
        vehicle("east", east, station(shifted(east, 20.0, 60.0), 20.0)),
    ];
    for second in 0..3 {
        update(&mut sites, &vehicles, second);
    }
    assert_eq!(sites.of[&node("west")], sites.of[&node("east")]);
    for name in ["west", "east"] {
        let why = sites.off_station(&node(name), at(2));
        let too_near = matches!(&why, Some(OffStation::Waits(why)) if why.contains("has its place 1.5 m away"));
        assert!(too_near, "{name}: {why:?}");
    }
}

#[test]
fn where_two_sites_overlap_no_vehicle_flies_into_what_one_of_the_other_owns() {
    let between = shifted(SOUTH, 0.0, 2_224.0);
    let mut sites = new();
    let mut vehicles = [
        vehicle("south", SOUTH, station(between, 20.0)),
        vehicle("north", NORTH, station(shifted(between, 1.0, 0.0), 20.0)),
    ];
    let ended = run(&mut sites, &mut vehicles, 0);
    assert_ne!(sites.of[&node("south")], sites.of[&node("north")]);
    let distances = vehicles.each_ref().map(|vehicle| off(vehicle, between));
    let there = distances.iter().filter(|distance| **distance < 5.0).count();
    assert_eq!(there, 1, "{distances:?}");
    let (own, other) = if distances[0] < 5.0 { (0, 1) } else { (1, 0) };
    vehicles[own].desire = station(shifted(between, 300.0, 0.0), 20.0);
    run(&mut sites, &mut vehicles, ended);
    assert!(off(&vehicles[other], between) < 5.0, "it goes once the place is free");
}

#[test]
fn a_vehicle_makes_way_for_one_of_another_site_that_a_pilot_flies_to_its_place() {
    let between = shifted(SOUTH, 0.0, 2_224.0);
    let beside = shifted(between, 60.0, 0.0);
    let mut sites = new();
    let mut vehicles = [
        vehicle("south", SOUTH, station(beside, 20.0)),
        vehicle("north", NORTH, station(between, 20.0)),
    ];
    let ended = run(&mut sites, &mut vehicles, 0);
    assert_ne!(sites.of[&node("south")], sites.of[&node("north")]);
    assert!(off(&vehicles[0], beside) < 1.0 && off(&vehicles[1], between) < 1.0);
    assert_eq!(sites.endangered(), BTreeMap::new());
    vehicles[0].taken = true;
    let mut least = f64::INFINITY;
    for second in ended..ended + 15 {
        vehicles[0].at = shifted(vehicles[0].at, -4.0, 0.0);
        update(&mut sites, &vehicles, second);
        vehicles[1].step(&sites);
        let [south, north] = &vehicles;
        least = least.min(off(south, north.at).hypot(south.up - north.up));
    }
    let pair = (Owner::Vehicle(node("south")), node("north"));
    let what = sites.endangered().get(&pair).map(|what| what.action);
    assert_eq!(what, Some(Action::StepsAside));
    assert!(least > 5.0, "{least}");
    assert!(off(&vehicles[0], between) < 5.0, "it has come to that place");
    let moved = sites.route(&node("south")).map(|route| route.number) > Some(vehicles[0].state.last);
    assert!(!moved, "its pilot flies it");
}

#[test]
fn a_route_is_taken_back_from_one_on_the_ground_into_which_one_of_another_site_strays() {
    let goal = shifted(NORTH, 0.0, -100.0);
    let mut sites = new();
    let mut vehicles = [
        vehicle("south", SOUTH, Desire::Nothing),
        vehicle("north", NORTH, station(goal, 20.0)),
    ];
    (vehicles[0].at, vehicles[0].up, vehicles[0].taken) = (shifted(NORTH, 0.0, -400.0), 20.0, true);
    update(&mut sites, &vehicles, 0);
    update(&mut sites, &vehicles, 1);
    vehicles[1].step(&sites);
    let number = vehicles[1].state.last;
    update(&mut sites, &vehicles, 2);
    assert_ne!(sites.of[&node("south")], sites.of[&node("north")]);
    let route = sites.route(&node("north")).map(|route| route.number);
    assert_eq!(route, Some(number), "it is far from its way");
    vehicles[0].at = goal;
    update(&mut sites, &vehicles, 3);
    assert_eq!(sites.route(&node("north")), None);
    assert_eq!(sites.last_granted(&node("north")), Some(number));
}

#[test]
fn a_vehicle_carried_to_another_site_on_the_ground_flies_there_by_later_numbers() {
    let far = shifted(SOUTH, 180_000.0, 0.0);
    let mut sites = new();
    let mut vehicles = [
        vehicle("a", SOUTH, station(shifted(SOUTH, 0.0, 50.0), 20.0)),
        vehicle("b", far, Desire::Nothing),
    ];
    let ended = run(&mut sites, &mut vehicles, 0);
    let last = vehicles[0].state.last;
    let home = shifted(far, 60.0, 0.0);
    (vehicles[0].home, vehicles[0].at, vehicles[0].up) = (home, home, 0.0);
    vehicles[0].state = RouteState {
        last,
        ..RouteState::default()
    };
    let place = shifted(home, 0.0, 50.0);
    vehicles[0].desire = station(place, 20.0);
    run(&mut sites, &mut vehicles, ended);
    assert!(off(&vehicles[0], place) < 1.0 && vehicles[0].state.last > last);
}

#[test]
fn one_last_seen_away_is_away_until_it_is_seen_down_or_is_declared_to_be() {
    let one = |at: Wgs84, up: f64| Vehicle {
        at,
        up,
        ..vehicle("x", SOUTH, Desire::Nothing)
    };
    let (away, home) = (one(shifted(SOUTH, 0.0, 40.0), 15.0), one(SOUTH, 15.0));
    let mut unplaced = away.report(1);
    unplaced.position = None;
    let mut unknown = away.report(1);
    unknown.truth = FlightTruth::Unknown(model::vehicle::WhyUnknown::LinkLost);
    let changes = [
        (None, true),
        (Some(unplaced), true),
        (Some(unknown), true),
        (Some(home.report(1)), false),
        (Some(one(away.at, 0.0).report(1)), false),
    ];
    for (report, is_away) in changes {
        let mut sites = new();
        update(&mut sites, std::slice::from_ref(&home), 0);
        assert!(!sites.has_one_away());
        update(&mut sites, std::slice::from_ref(&away), 0);
        assert!(sites.has_one_away());
        let heard = report.as_ref().map(|report| Expected {
            report: Some((report, at(1))),
            may_fly: true,
            roams: false,
            desire: Desire::Nothing,
        });
        let all = heard.map(|heard| (node("x"), heard));
        sites.update(&all.into_iter().collect(), at(1));
        assert_eq!(sites.has_one_away(), is_away, "{report:?}");
        sites.declare_down(&node("x"));
        sites.update(&BTreeMap::new(), at(2));
        assert!(!sites.has_one_away(), "{report:?}");
    }
}

#[test]
fn a_vehicle_of_no_known_place_may_be_anywhere_and_one_beyond_70_degrees_is_free() {
    let mut sites = new();
    let low = vehicle("low", SOUTH, above(20.0));
    let polar = Wgs84 {
        latitude_deg: 71.0,
        ..SOUTH
    };
    let polar = vehicle("polar", polar, above(20.0));
    let silent = |may_fly| Expected {
        report: None,
        may_fly,
        roams: true,
        desire: station(NORTH, 20.0),
    };
    for may_fly in [true, false] {
        let reports = [low.report(0), polar.report(0)];
        let heard = |i: usize| Expected {
            report: Some((&reports[i], at(0))),
            may_fly: true,
            roams: false,
            desire: above(20.0),
        };
        let all = [
            (node("low"), heard(0)),
            (node("polar"), heard(1)),
            (node("silent"), silent(may_fly)),
        ];
        sites.update(&all.into_iter().collect(), at(0));
        assert_eq!(sites.may_take_off(&node("low")), !may_fly);
        assert!(sites.may_take_off(&node("polar")) && !sites.may_take_off(&node("new")));
        sites = new();
    }
}
