//! Vehicles with large position errors, or each with another datum.

use super::*;

/// `a` and `b` hold side by side at the least distance that is granted, 20 m up.
fn side_by_side() -> (Site, [Vehicle; 2]) {
    let mut site = new();
    let apart = Rules::default().pitch().horizontal.0 + 0.2;
    let mut vehicles = [
        vehicle("a", 0.0, Desire::At(station(0.0, 60.0, 20.0))),
        vehicle("b", 40.0, Desire::At(station(apart, 60.0, 20.0))),
    ];
    let (ended, _) = run(&mut site, &mut vehicles, 0);
    assert!(ended < 60, "both are on station");
    (site, vehicles)
}

fn waits(site: &Site, name: &str, second: u64) -> String {
    match site.off_station(&node(name), at(second)) {
        Some(OffStation::Waits(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn good_receivers_fly_side_by_side_at_the_distance_of_the_rules() {
    side_by_side();
}

#[test]
fn a_place_that_becomes_known_badly_in_the_air_is_kept_clear_of_and_is_not_frozen() {
    let (mut site, mut vehicles) = side_by_side();
    vehicles[0].accuracy = Accuracy::of_meters(2.2, 1.78);
    update(&mut site, &vehicles, 101);
    assert!(site.endangered().is_empty(), "what wind and control need is left");
    vehicles[0].accuracy = Accuracy::of_meters(4.0, 1.78);
    vehicles[0].up += 0.3;
    update(&mut site, &vehicles, 102);
    let pair = (Owner::Vehicle(node("a")), node("b"));
    let did = site.endangered().get(&pair).map(|danger| danger.action);
    assert_eq!(did, Some(Action::StepsAside));
    let end = site.route(&node("b")).and_then(|route| route.places.last()).unwrap();
    assert!(end.amsl.0 - SEA >= 20.0 + 8.0, "{end:?}");
    vehicles[0].desire = Desire::Home;
    for second in 103..160 {
        update(&mut site, &vehicles, second);
        vehicles.iter_mut().for_each(|vehicle| vehicle.step(&site));
    }
    assert!(vehicles[0].at.1.abs() < 0.1, "{:?}", vehicles[0].at);
    assert!((vehicles[1].up - 20.0).abs() < 0.1, "{} m", vehicles[1].up);
}

#[test]
fn stations_that_are_too_near_for_what_is_known_wait_and_say_how_well_it_is() {
    let mut site = new();
    let apart = Rules::default().pitch().horizontal.0 + 0.2;
    let mut vehicles = [
        vehicle("a", 0.0, Desire::At(station(0.0, 60.0, 20.0))),
        vehicle("b", 40.0, Desire::At(station(apart, 60.0, 20.0))),
    ];
    vehicles[0].accuracy = Accuracy::of_meters(3.0, 1.78);
    for second in 0..60 {
        update(&mut site, &vehicles, second);
        vehicles.iter_mut().for_each(|vehicle| vehicle.step(&site));
    }
    assert!(vehicles[0].up > 19.0, "the first is there");
    let why = waits(&site, "b", 59);
    assert!(
        why.starts_with(
            "waits for the airspace of the vehicle of node a; the place of the vehicle of node a is known to 3.0 m"
        ),
        "{why}"
    );
}

#[test]
fn a_vehicle_that_does_not_know_its_place_does_not_take_off_and_says_so() {
    for desire in [
        Desire::At(station(0.0, 60.0, 20.0)),
        Desire::AboveHome(AltitudeAboveHome(10.0)),
    ] {
        let mut site = new();
        let mut vehicles = [
            vehicle("a", 0.0, desire),
            vehicle("b", 40.0, Desire::At(station(40.0, 60.0, 20.0))),
        ];
        vehicles[0].accuracy = Accuracy::of_meters(8.2, 3.0);
        for second in 0..30 {
            update_while_a_waits(&mut site, &vehicles, second);
            vehicles[1].step(&site);
        }
        assert!(
            site.route(&node("a")).is_none() && !site.may_take_off(&node("a")),
            "{desire:?}"
        );
        let why = site.plan_waits(&node("a")).unwrap();
        assert!(
            why.contains("knows its place to 8.5 m over ground and 3.0 m in altitude"),
            "{why}"
        );
        assert!(vehicles[1].up > 19.0, "it keeps no other");
        vehicles[0].accuracy = Accuracy::of_meters(0.9, 1.78);
        for second in 30..45 {
            update_while_a_waits(&mut site, &vehicles, second);
        }
        assert!(
            site.route(&node("a")).is_some() || site.may_take_off(&node("a")),
            "{desire:?}"
        );
    }
}

/// The agent of node `a` was not ordered to fly yet.
fn update_while_a_waits(site: &mut Site, vehicles: &[Vehicle], second: u64) {
    let mut reports: Vec<Report> = vehicles.iter().map(|vehicle| vehicle.report(at(second))).collect();
    if let Some(held) = reports[0].held.as_mut() {
        held.grounded = true;
    }
    take_in(site, vehicles, &reports, second);
}

/// `b` holds over the station of `a` as high above its own home as is granted, and its receiver reports 6 m too much. Returns their true
/// distance if both are there.
fn stacked(higher: f64, datum: f64) -> Option<f64> {
    let mut site = new();
    let mut vehicles = [
        vehicle("a", 0.0, Desire::At(station(0.0, 60.0, 12.0))),
        vehicle("b", 20.0, Desire::At(station(0.0, 60.0, 12.0 + higher))),
    ];
    for vehicle in &mut vehicles {
        vehicle.returns_at = Some(2.0);
    }
    vehicles[1].datum = datum;
    let (ended, _) = run(&mut site, &mut vehicles, 0);
    (ended < 100).then(|| vehicles[1].up - vehicles[0].up)
}

#[test]
fn layers_of_the_least_spacing_are_flown_where_homes_agree() {
    let pitch = Rules::default().pitch().vertical.0 + 0.1;
    assert_eq!(stacked(pitch, 0.0).map(f64::round), Some(9.0));
}

#[test]
fn two_receivers_that_differ_are_kept_as_far_apart_in_truth_as_the_separation_is() {
    for datum in [3.0, 6.0, 8.0] {
        // By their own altitudes above the sea they would be far enough apart at this altitude above home.
        let mut higher = Rules::default().pitch().vertical.0 - datum;
        while higher < 20.0 {
            if let Some(apart) = stacked(higher, datum) {
                assert!(apart >= 5.0, "{datum} m: {higher:.1} m higher, {apart:.1} m apart");
            }
            higher += 1.0;
        }
        assert!(stacked(19.0, datum).is_some(), "{datum} m: there is room");
    }
}
