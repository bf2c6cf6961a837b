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
    let mut lowest = vec![f64::INFINITY; vehicles.len()];
    for second in 0..30 {
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
