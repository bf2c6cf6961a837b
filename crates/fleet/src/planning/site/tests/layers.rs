//! At which altitudes vehicles cross where homes and stations are not level.

use super::*;

fn holding(name: &str, north: f64, up: f64) -> Vehicle {
    Vehicle {
        at: (0.0, north),
        up,
        activity: Activity::Holding,
        ..vehicle(name, 0.0, Desire::Home)
    }
}

/// Lets all fly for half a minute; returns how far above its home each was at least.
fn fly(site: &mut Site, vehicles: &mut [Vehicle]) -> Vec<f64> {
    fly_from(site, vehicles, 0)
}

fn fly_from(site: &mut Site, vehicles: &mut [Vehicle], from: u64) -> Vec<f64> {
    let mut lowest = vec![f64::INFINITY; vehicles.len()];
    for second in from..from + 30 {
        update(site, vehicles, second);
        for (vehicle, lowest) in vehicles.iter_mut().zip(&mut lowest) {
            vehicle.step(site);
            *lowest = lowest.min(vehicle.up);
        }
    }
    lowest
}

#[test]
fn one_comes_home_no_lower_than_its_own_pad_while_another_has_a_lower_home() {
    let mut hill = holding("hill", 300.0, 20.0);
    hill.datum = 40.0;
    let valley = vehicle("valley", 1000.0, Desire::At(station(1000.0, 60.0, 10.0)));
    let mut vehicles = [hill, valley];
    let lowest = fly(&mut new(), &mut vehicles);
    assert!(lowest[0] >= 9.0, "{lowest:?}");
    assert!(vehicles[0].at.1.abs() < 0.1, "{:?}", vehicles[0].at);
}

#[test]
fn one_comes_home_no_lower_than_the_station_that_it_leaves() {
    let mut site = new();
    let mut vehicles = [vehicle("a", 0.0, Desire::At(station(0.0, 300.0, 40.0)))];
    run(&mut site, &mut vehicles, 0);
    vehicles[0].desire = Desire::Home;
    for second in 100..130 {
        update(&mut site, &vehicles, second);
        vehicles[0].step(&site);
    }
    assert!(vehicles[0].at.1.abs() < 0.1, "{:?}", vehicles[0].at);
    let route = site.route(&node("a")).unwrap();
    let level = route.places[1..].iter().map(|place| place.amsl.0 - SEA);
    assert!(level.fold(f64::INFINITY, f64::min) >= 40.0, "{route:?}");
}

/// More come home at once than there are layers, and their ways cross.
#[test]
fn one_waits_for_those_that_pass_above_and_crosses_no_lower_than_where_it_held() {
    let one = |number: u8| {
        let east = 15.0 * f64::from(number);
        Vehicle {
            home: east,
            at: (60.0 - east, 300.0),
            ..holding(&format!("v-{number}"), 300.0, 40.0)
        }
    };
    let mut vehicles: Vec<Vehicle> = (0..5).map(one).collect();
    let lowest = fly(&mut new(), &mut vehicles);
    assert!(lowest.iter().all(|up| *up >= 40.0), "{lowest:?}");
    let home = |vehicle: &Vehicle| vehicle.at.1.abs() < 0.1;
    assert!(vehicles.iter().all(home), "all come home");
}

#[test]
fn one_comes_home_no_lower_than_where_it_is_whatever_station_it_had_before() {
    let mut site = new();
    let mut vehicles = [vehicle("a", 0.0, Desire::At(station(0.0, 60.0, 10.0)))];
    let (ended, _) = run(&mut site, &mut vehicles, 0);
    let last = vehicles[0].state.last;
    // It has landed, and flown for a Mission since.
    let landed = vehicle("a", 0.0, Desire::Nothing);
    vehicles[0] = Vehicle {
        state: RouteState {
            last,
            ..RouteState::default()
        },
        ..landed
    };
    for second in ended + 1..ended + 4 {
        update(&mut site, &vehicles, second);
    }
    vehicles[0] = Vehicle {
        state: vehicles[0].state.clone(),
        ..holding("a", 300.0, 60.0)
    };
    let lowest = fly_from(&mut site, &mut vehicles, ended + 4);
    assert!(lowest[0] >= 60.0, "{lowest:?}");
    assert!(vehicles[0].at.1.abs() < 0.1, "{:?}", vehicles[0].at);
}

/// Two layers just fit above 102 m. At 1988 m above the sea their sum was rounded up beyond the ceiling.
#[test]
fn one_that_held_high_comes_home_high_on_a_high_field() {
    for datum in [0.0, 1500.0] {
        let mut high = holding("a", 300.0, 110.0);
        high.datum = datum;
        let mut vehicles = [high];
        let lowest = fly(&mut new(), &mut vehicles);
        assert!(lowest[0] >= 100.0, "{datum}: {lowest:?}");
        assert!(vehicles[0].at.1.abs() < 0.1, "{datum}: {:?}", vehicles[0].at);
    }
}

#[test]
fn one_that_stands_above_its_home_of_before_goes_up_first() {
    let mut site = new();
    let vehicles = [vehicle("a", 0.0, Desire::At(station(0.0, 60.0, 20.0)))];
    let mut report = vehicles[0].report(at(0));
    report.home = report.home.map(|home| Waypoint {
        amsl: AltitudeAmsl(SEA - 40.0),
        ..home
    });
    take_in(&mut site, &vehicles, &[report], 0);
    let route = site.route(&node("a")).unwrap();
    assert!(route.places[1].amsl.0 > SEA + 5.0, "{route:?}");
}

#[test]
fn a_home_far_off_lifts_no_other_out_of_its_geofence() {
    for (datum, up) in [(0.0, 12.0), (-3.0, 20.0)] {
        let mut low = fence("low");
        low.ceiling = Some(AltitudeAboveHome(31.5));
        let mut site = new();
        site.keep_within(Some(BTreeMap::from([(node("a"), vec![Arc::new(low)])])));
        let mut other = vehicle("other", 1000.0, Desire::At(station(1000.0, 60.0, up)));
        other.datum = datum;
        let mut vehicles = [vehicle("a", 0.0, Desire::At(station(0.0, 60.0, 20.0))), other];
        fly(&mut site, &mut vehicles);
        let why = site.off_station(&node("a"), at(30));
        assert!((vehicles[0].up - 20.0).abs() < 0.1, "{datum}: {why:?}");
    }
}

#[test]
fn a_home_reported_far_too_low_or_high_moves_no_other_vehicle() {
    for datum in [-SEA, 90.0, 3000.0, -1e12, -1e18, -1e300, 1e18] {
        let mut liar = vehicle("liar", 1000.0, Desire::At(station(1000.0, 60.0, 20.0)));
        liar.datum = datum;
        let free = vehicle("free", 40.0, Desire::At(station(40.0, 60.0, 20.0)));
        let mut vehicles = [holding("a", 80.0, 20.0), free, liar];
        let lowest = fly(&mut new(), &mut vehicles);
        assert!(lowest[0] >= 9.0, "{datum}: {lowest:?}");
        assert!(vehicles[0].at.1.abs() < 0.1, "{datum}: it did not come home");
        assert!((vehicles[1].up - 20.0).abs() < 0.1, "{datum}: another did not take off");
    }
}

#[test]
fn a_high_station_far_away_raises_no_way_of_one_that_must_stay_low() {
    let mut low = fence("low");
    low.ceiling = Some(AltitudeAboveHome(60.0));
    let mut site = new();
    site.keep_within(Some(BTreeMap::from([(node("a"), vec![Arc::new(low)])])));
    let mut vehicles = [
        vehicle("a", 0.0, Desire::At(station(0.0, 60.0, 20.0))),
        vehicle("far", 10_000.0, Desire::At(station(10_000.0, 60.0, 100.0))),
    ];
    fly(&mut site, &mut vehicles);
    assert!(
        (vehicles[0].up - 20.0).abs() < 0.1,
        "{:?}",
        site.off_station(&node("a"), at(30))
    );
    assert!(
        (vehicles[1].up - 100.0).abs() < 0.1,
        "{:?}",
        site.off_station(&node("far"), at(30))
    );
}

#[test]
fn vehicles_of_one_field_cross_in_the_same_layers_though_their_homes_are_not_level() {
    let mut site = new();
    let mut vehicles = [holding("a", 300.0, 15.0), holding("b", 280.0, 15.0)];
    vehicles[1].home = 15.0;
    vehicles[1].datum = 0.7;
    update(&mut site, &vehicles, 0);
    let crosses = |name: &str| site.route(&node(name)).unwrap().places[1].amsl.0;
    let apart = (crosses("a") - crosses("b")).abs() / Rules::default().pitch().vertical.0;
    assert!((apart - apart.round()).abs() < 1e-6, "{apart}");
}

/// Its station is taken away before it may fly there, and nobody else has one: it takes off to hold above its home, and is given it again.
#[test]
fn one_that_is_given_its_station_again_crosses_above_where_it_holds_by_then() {
    let mut site = new();
    let mut vehicles = [vehicle("a", 0.0, Desire::At(station(0.0, 300.0, 10.0)))];
    site.keep_within(None);
    update(&mut site, &vehicles, 0);
    update(&mut site, &vehicles, 1);
    assert_eq!(site.route(&node("a")), None, "its Geofences are not known");
    site.rest();
    site.keep_within(Some(BTreeMap::new()));
    (vehicles[0].up, vehicles[0].activity) = (60.0, Activity::Holding);
    update(&mut site, &vehicles, 60);
    update(&mut site, &vehicles, 61);
    let places = &site.route(&node("a")).unwrap().places;
    let crosses = places[places.len() - 2].amsl.0 - SEA;
    assert!(crosses >= 60.0, "{crosses}");
}
