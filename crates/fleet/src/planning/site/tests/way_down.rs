//! Vehicles near the reserve of their batteries that have no way home.

use super::*;

/// `near_reserve`: of the first.
fn update_at_reserve(site: &mut Site, vehicles: &[Vehicle], near_reserve: bool, second: u64) {
    let mut reports: Vec<Report> = vehicles.iter().map(|vehicle| vehicle.report(at(second))).collect();
    reports[0].near_reserve = near_reserve;
    take_in(site, vehicles, &reports, second);
}

/// It holds 20 m over a place 80 m north of its home, on which another is parked.
fn holds_away_from_its_occupied_home() -> [Vehicle; 2] {
    let mut vehicles = [vehicle("a", 0.0, Desire::Home), vehicle("parked", 0.0, Desire::Nothing)];
    (vehicles[0].at, vehicles[0].up, vehicles[0].activity) = ((0.0, 80.0), 20.0, Activity::Holding);
    vehicles
}

/// Whether `a` owns the place 4 m above the ground there.
fn is_claimed(site: &Site, (east, north): (f64, f64)) -> bool {
    let up = SEA + 4.0;
    let low = Route::hold(Local { east, north, up });
    let owners = site.claims.in_the_way(&node("parked"), &low);
    owners.contains(&Owner::Vehicle(node("a")))
}

#[test]
fn the_ground_below_one_that_waits_for_its_way_home_near_its_reserve_is_its_own() {
    for near_reserve in [false, true] {
        let mut site = new();
        let vehicles = holds_away_from_its_occupied_home();
        for second in 0..3 {
            update_at_reserve(&mut site, &vehicles, near_reserve, second);
        }
        assert_eq!(site.route(&node("a")), None, "another stands at its home");
        assert_eq!(is_claimed(&site, (0.0, 80.0)), near_reserve);
    }
}

#[test]
fn one_that_waits_over_another_near_its_reserve_is_moved_to_clear_ground() {
    for near_reserve in [false, true] {
        let mut site = new();
        let [a, parked] = holds_away_from_its_occupied_home();
        let mut below = vehicle("below", 0.0, Desire::Nothing);
        below.at = (0.0, 80.0);
        let mut vehicles = [a, parked, below];
        for second in 0..10 {
            update_at_reserve(&mut site, &vehicles, near_reserve, second);
            vehicles[0].step(&site);
        }
        let (east, north) = vehicles[0].at;
        let moved = east.hypot(north - 80.0);
        assert_eq!(moved > 5.0, near_reserve, "{moved}");
        assert!((vehicles[0].up - 20.0).abs() < 0.1, "it stays up: its agent lands it");
        assert_eq!(is_claimed(&site, vehicles[0].at), near_reserve);
    }
}

/// Its home is on a hill, and it waits beside that over a valley.
#[test]
fn one_that_waits_over_another_far_below_its_home_is_moved_to_clear_ground() {
    let mut site = new();
    let [mut a, mut parked] = holds_away_from_its_occupied_home();
    (a.datum, parked.datum) = (40.0, 40.0);
    let mut below = vehicle("below", 400.0, Desire::At(station(0.0, 80.0, 15.0)));
    (below.at, below.up, below.activity) = ((0.0, 80.0), 15.0, Activity::Holding);
    let mut vehicles = [a, parked, below];
    for second in 0..10 {
        update_at_reserve(&mut site, &vehicles, true, second);
        vehicles[0].step(&site);
    }
    let (east, north) = vehicles[0].at;
    assert!(east.hypot(north - 80.0) > 5.0, "{:?}", vehicles[0].at);
    assert!(is_claimed(&site, vehicles[0].at), "down into the valley");
}

#[test]
fn one_that_comes_near_its_reserve_on_the_way_to_its_station_turns_back() {
    turns_back(|site, _| site);
}

#[test]
fn one_near_its_reserve_turns_back_on_a_route_of_the_leader_before() {
    turns_back(|_, _| Site::new(Term(4), Rules::default(), CENTER).unwrap());
}

/// As one whose session broke while nobody had its claim.
#[test]
fn one_near_its_reserve_turns_back_though_nobody_asked_for_it_for_a_moment() {
    turns_back(|mut site, second| {
        take_in(&mut site, &[], &[], second);
        site
    });
}

#[test]
fn one_that_turns_back_comes_home_above_the_station_that_it_left_last() {
    let mut site = new();
    let mut vehicles = [vehicle("a", 0.0, Desire::At(station(0.0, 300.0, 60.0)))];
    let (ended, _) = run(&mut site, &mut vehicles, 0);
    vehicles[0].desire = Desire::At(station(0.0, 30.0, 10.0));
    for second in ended + 1..ended + 3 {
        update(&mut site, &vehicles, second);
        vehicles[0].step(&site);
    }
    assert!(
        vehicles[0].at.1 > 299.0 && vehicles[0].up > 65.0,
        "it is about to cross"
    );
    vehicles[0].desire = Desire::Home;
    // It climbed at once, and is seen to be slow again.
    update(&mut site, &vehicles, ended + 3);
    for second in ended + 4..ended + 34 {
        update_at_reserve(&mut site, &vehicles, true, second);
        vehicles[0].step(&site);
        assert!(vehicles[0].up >= 60.0, "{:?} {}", vehicles[0].at, vehicles[0].up);
    }
    assert!(vehicles[0].at.1 < 3.0, "it is over its home: {:?}", vehicles[0].at);
}

#[test]
fn one_stopped_on_its_first_way_out_comes_home_above_the_station_that_it_flew_to() {
    let mut site = new();
    let mut vehicles = [vehicle("a", 0.0, Desire::At(station(0.0, 300.0, 60.0)))];
    let climbed = (0..20).find(|second| {
        update(&mut site, &vehicles, *second);
        vehicles[0].step(&site);
        vehicles[0].up > 65.0
    });
    let second = climbed.unwrap();
    assert!(vehicles[0].at.1 < 1.0, "it is about to cross");
    vehicles[0].at = (0.0, 200.0);
    vehicles[0].desire = Desire::Home;
    // It is seen to be slow again.
    update(&mut site, &vehicles, second + 1);
    update(&mut site, &vehicles, second + 2);
    for second in second + 3..second + 33 {
        update_at_reserve(&mut site, &vehicles, true, second);
        vehicles[0].step(&site);
        assert!(vehicles[0].up >= 60.0, "{:?} {}", vehicles[0].at, vehicles[0].up);
    }
    assert!(vehicles[0].at.1 < 3.0, "it is over its home: {:?}", vehicles[0].at);
}

#[test]
fn one_that_is_to_cross_below_another_stops_when_that_is_ordered_to_land_where_it_is() {
    for activity in [Activity::Landing, Activity::Failsafe] {
        let mut site = new();
        let mut vehicles = [
            vehicle("a", 0.0, Desire::At(station(0.0, 80.0, 30.0))),
            vehicle("b", 40.0, Desire::At(station(40.0, 80.0, 15.0))),
        ];
        (vehicles[0].at, vehicles[0].up, vehicles[0].activity) = ((0.0, 80.0), 30.0, Activity::Holding);
        (vehicles[1].at, vehicles[1].up, vehicles[1].activity) = ((40.0, 80.0), 15.0, Activity::Holding);
        update(&mut site, &vehicles, 0);
        update(&mut site, &vehicles, 1);
        vehicles[1].desire = Desire::At(station(-40.0, 80.0, 15.0));
        update(&mut site, &vehicles, 2);
        vehicles[1].step(&site);
        vehicles[1].activity = Activity::Moving;
        update(&mut site, &vehicles, 3);
        let sent = site.route(&node("b")).unwrap().clone();
        assert_eq!(sent.places.len(), 2, "straight below the other");
        vehicles[1].at = (35.0, 80.0);
        (vehicles[0].desire, vehicles[0].activity) = (Desire::Nothing, activity);
        let mut reports: Vec<Report> = vehicles.iter().map(|vehicle| vehicle.report(at(4))).collect();
        reports[0].mode = Some("LAND".to_owned());
        take_in(&mut site, &vehicles, &reports, 4);
        let pair = (Owner::Vehicle(node("a")), node("b"));
        let did = site.endangered().get(&pair).map(|danger| danger.action);
        assert_eq!(did, Some(Action::Stops), "{activity:?}");
        assert!(site.route(&node("b")).unwrap().number > sent.number, "{activity:?}");
    }
}

#[test]
fn those_that_land_side_by_side_or_beside_others_that_hold_endanger_nobody() {
    for lands in [Desire::Nothing, Desire::At(station(9.5, 80.0, 20.0))] {
        let mut site = new();
        let mut vehicles = [vehicle("a", 200.0, Desire::Nothing), vehicle("b", 230.0, lands)];
        // The wind has brought them half a meter nearer than they were granted.
        for second in 0..4_u32 {
            let sunk = 3.0 * f64::from(second);
            (vehicles[0].at, vehicles[0].up, vehicles[0].activity) = ((0.0, 80.0), 20.0 - sunk, Activity::Landing);
            (vehicles[1].at, vehicles[1].up, vehicles[1].activity) = ((9.5, 80.0), 20.0, Activity::Holding);
            if lands == Desire::Nothing {
                (vehicles[1].up, vehicles[1].activity) = (20.0 - 2.0 * sunk, Activity::Landing);
            }
            update(&mut site, &vehicles, second.into());
            assert!(site.endangered().is_empty(), "second {second}: {:?}", site.endangered());
        }
    }
}

/// Their homes are 7 m apart. A landing from farther away is nobody's choice.
#[test]
fn one_that_the_wind_brings_off_its_home_as_it_lands_endangers_nobody_above_the_next() {
    for (east, endangers) in [(2.8, false), (0.0, false), (14.0, true)] {
        let mut site = new();
        let above = Desire::AboveHome(AltitudeAboveHome(8.0));
        let mut vehicles = [vehicle("a", 0.0, Desire::Nothing), vehicle("b", 7.0, above)];
        (vehicles[0].at, vehicles[0].up, vehicles[0].activity) = ((east, 0.0), 20.0, Activity::Landing);
        (vehicles[1].up, vehicles[1].activity) = (8.0, Activity::Holding);
        for second in 0..3 {
            update(&mut site, &vehicles, second);
            vehicles[0].up -= 1.0;
        }
        let endangered = site.endangered();
        assert_eq!(!endangered.is_empty(), endangers, "{east} m: {endangered:?}");
    }
}

/// It comes near its reserve on the way to its station, where the site is another by then.
fn turns_back(then: impl FnOnce(Site, u64) -> Site) {
    let mut site = new();
    let mut vehicles = [vehicle("a", 0.0, Desire::At(station(0.0, 200.0, 20.0)))];
    let climbs = (0..20).find(|second| {
        update(&mut site, &vehicles, *second);
        vehicles[0].step(&site);
        vehicles[0].up > 15.0
    });
    let second = climbs.unwrap() + 1;
    assert!(vehicles[0].at.1 < 1.0, "it is about to cross");
    let mut site = then(site, second);
    vehicles[0].desire = Desire::Home;
    update(&mut site, &vehicles, second);
    for second in second + 1..second + 20 {
        update_at_reserve(&mut site, &vehicles, true, second);
        vehicles[0].step(&site);
        assert!(vehicles[0].at.1 < 100.0, "it flies on: {:?}", vehicles[0].at);
    }
    assert!(vehicles[0].at.1 < 3.0, "it is over its home: {:?}", vehicles[0].at);
}

/// The way home of one that the leader before sent on it is no way out: it is flown to the end.
#[test]
fn one_near_its_reserve_flies_on_home_on_a_route_of_the_leader_before() {
    let mut site = new();
    let mut vehicles = [vehicle("a", 0.0, Desire::At(station(0.0, 200.0, 20.0)))];
    let (ended, _) = run(&mut site, &mut vehicles, 0);
    vehicles[0].desire = Desire::Home;
    update(&mut site, &vehicles, ended + 1);
    vehicles[0].step(&site);
    let sent = vehicles[0].state.last;
    let mut site = Site::new(Term(4), Rules::default(), CENTER).unwrap();
    for second in ended + 2..ended + 20 {
        update_at_reserve(&mut site, &vehicles, true, second);
        vehicles[0].step(&site);
    }
    assert_eq!(vehicles[0].state.last, sent, "it was not stopped");
    assert!(vehicles[0].at.1 < 3.0, "it is over its home: {:?}", vehicles[0].at);
}

#[test]
fn one_above_its_home_does_not_land_on_another_that_was_put_there() {
    for (near_reserve, pad, is_home) in [(false, 0.3, false), (true, 0.3, false), (false, 5.0, true)] {
        let mut site = new();
        let mut vehicles = [vehicle("a", 0.0, Desire::Home), vehicle("parked", pad, Desire::Nothing)];
        (vehicles[0].up, vehicles[0].activity) = (20.0, Activity::Holding);
        for second in 0..10 {
            update_at_reserve(&mut site, &vehicles, near_reserve, second);
            if second == 2 {
                let report = vehicles[0].report(at(2));
                assert_eq!(site.is_home(&node("a"), &report), is_home, "{pad} m away");
            }
            vehicles[0].step(&site);
        }
        let (east, north) = vehicles[0].at;
        assert_eq!(east.hypot(north) > 5.0, near_reserve, "{:?}", vehicles[0].at);
        if !near_reserve {
            let why = site.off_station(&node("a"), at(9));
            let named = matches!(&why, Some(OffStation::Waits(why)) if why.contains("node parked"));
            assert_eq!(named, !is_home, "{why:?}");
        }
    }
}

#[test]
fn one_above_its_home_does_not_land_through_another_that_flies_below_it() {
    // East of the home of the first, at which height, and how far from its own home; whether the first may land.
    for (east, up, away, lands) in [
        (1.0, 15.0, 60.0, false),
        (6.0, 15.0, 60.0, false),
        (12.0, 15.0, 60.0, true),
        (1.0, 45.0, 60.0, true),
        (6.0, 15.0, 0.0, true),
    ] {
        let mut site = new();
        let other = Desire::At(station(east, 0.0, up));
        let mut vehicles = [vehicle("a", 0.0, Desire::Home), vehicle("b", east + away, other)];
        (vehicles[0].up, vehicles[0].activity) = (30.0, Activity::Holding);
        (vehicles[1].at, vehicles[1].up, vehicles[1].activity) = ((east, 0.0), up, Activity::Holding);
        for second in 0..3 {
            update(&mut site, &vehicles, second);
            let report = vehicles[0].report(at(second));
            assert_eq!(site.is_home(&node("a"), &report), lands, "{east} {up} {away}");
        }
        let why = site.off_station(&node("a"), at(2));
        let named = matches!(&why, Some(OffStation::Waits(why)) if why.contains("node b"));
        assert_eq!(named, !lands, "{why:?}");
        (vehicles[1].at, vehicles[1].desire) = ((60.0, 60.0), Desire::At(station(60.0, 60.0, up)));
        for second in 3..6 {
            update(&mut site, &vehicles, second);
        }
        assert!(site.is_home(&node("a"), &vehicles[0].report(at(5))), "it has gone");
    }
}

/// One that a pilot flies there, one that may be there since a new leader has not heard it, and one whose altitude is known badly.
#[test]
fn one_above_its_home_lands_through_nobody_who_may_be_below_it() {
    let pilot = Activity::HandsOff(model::report::HandsOff::OtherMode);
    for (activity, heard, vertical) in [
        (pilot, true, 1.78),
        (Activity::Holding, false, 1.78),
        (Activity::Holding, true, 8.5),
    ] {
        let mut site = new();
        let mut vehicles = [
            vehicle("a", 0.0, Desire::Home),
            vehicle("b", 61.0, Desire::At(station(1.0, 0.0, 15.0))),
        ];
        (vehicles[0].up, vehicles[0].activity) = (30.0, Activity::Holding);
        (vehicles[1].at, vehicles[1].up, vehicles[1].activity) = ((1.0, 0.0), 15.0, activity);
        (vehicles[1].heard, vehicles[1].accuracy) = (heard, Accuracy::of_meters(0.9, vertical));
        let is_home = |site: &Site, a: &Vehicle, second| site.is_home(&a.node, &a.report(at(second)));
        for second in 0..3 {
            update(&mut site, &vehicles, second);
            assert!(!is_home(&site, &vehicles[0], second), "{activity:?} {heard} {vertical}");
        }
        let why = site.off_station(&node("a"), at(2));
        let named = matches!(&why, Some(OffStation::Waits(why)) if why.contains("node b"));
        assert!(named, "{activity:?} {heard} {vertical}: {why:?}");
        let landed = vehicle("b", 61.0, Desire::Nothing);
        vehicles[1] = landed;
        update(&mut site, &vehicles, 3);
        assert!(is_home(&site, &vehicles[0], 3), "{activity:?} {heard} {vertical}");
    }
}

/// The autopilot of one that holds beside may return below it.
#[test]
fn one_above_its_home_does_not_land_through_the_way_home_of_one_that_is_silent() {
    let mut site = new();
    let mut vehicles = [
        vehicle("a", 0.0, Desire::Home),
        vehicle("b", -40.0, Desire::At(station(40.0, 0.0, 20.0))),
    ];
    (vehicles[0].up, vehicles[0].activity) = (30.0, Activity::Holding);
    (vehicles[1].at, vehicles[1].up, vehicles[1].activity) = ((40.0, 0.0), 20.0, Activity::Holding);
    let is_home = |site: &Site, a: &Vehicle, second| site.is_home(&a.node, &a.report(at(second)));
    for second in 0..2 {
        update(&mut site, &vehicles, second);
    }
    assert!(is_home(&site, &vehicles[0], 1), "it is heard, and holds far away");
    vehicles[1].heard = false;
    for second in 2..10 {
        update(&mut site, &vehicles, second);
    }
    assert!(!is_home(&site, &vehicles[0], 9), "it may return below");
    vehicles[1].heard = true;
    update(&mut site, &vehicles, 10);
    assert!(is_home(&site, &vehicles[0], 10), "it is heard where it was");
}

/// Its neighbor holds at its station above its own home, 5 m away, and the wind brings it below the other.
#[test]
fn one_above_its_home_does_not_land_on_a_neighbor_that_is_blown_below_it() {
    for heard in [true, false] {
        let mut site = new();
        let mut vehicles = [
            vehicle("a", 0.0, Desire::Nothing),
            vehicle("b", 5.0, Desire::At(station(5.0, 0.0, 15.0))),
        ];
        let (ended, _) = run(&mut site, &mut vehicles, 0);
        assert!((vehicles[1].up - 15.0).abs() < 0.1, "it is there: {}", vehicles[1].up);
        vehicles[0].desire = Desire::Home;
        (vehicles[0].up, vehicles[0].activity) = (30.0, Activity::Holding);
        let is_home = |site: &Site, a: &Vehicle, second| site.is_home(&a.node, &a.report(at(second)));
        for second in ended + 1..ended + 4 {
            update(&mut site, &vehicles, second);
        }
        assert!(is_home(&site, &vehicles[0], ended + 3), "people chose their homes");
        vehicles[1].at = (1.0, 0.0);
        for second in ended + 4..ended + 7 {
            update(&mut site, &vehicles, second);
        }
        assert!(!is_home(&site, &vehicles[0], ended + 6), "it is below");
        vehicles[1].heard = heard;
        for second in ended + 7..ended + 15 {
            update(&mut site, &vehicles, second);
        }
        assert!(!is_home(&site, &vehicles[0], ended + 14), "heard: {heard}");
        vehicles[1].at = (5.0, 0.0);
        for second in ended + 15..ended + 18 {
            update(&mut site, &vehicles, second);
        }
        assert_eq!(
            is_home(&site, &vehicles[0], ended + 17),
            heard,
            "it is back, if it is heard"
        );
    }
}

#[test]
fn one_beside_another_above_its_home_lands_away_from_it() {
    let mut site = new();
    let other = Desire::At(station(7.0, 0.0, 30.0));
    let mut vehicles = [vehicle("a", 0.0, Desire::Home), vehicle("b", 60.0, other)];
    (vehicles[0].up, vehicles[0].activity) = (30.0, Activity::Holding);
    (vehicles[1].at, vehicles[1].up, vehicles[1].activity) = ((7.0, 0.0), 30.0, Activity::Holding);
    update(&mut site, &vehicles, 0);
    assert!(site.is_home(&node("a"), &vehicles[0].report(at(0))));
}

#[test]
fn a_landing_for_the_battery_onto_another_is_a_danger_to_it_and_said() {
    let mut site = new();
    let mut vehicles = [
        vehicle("a", 0.0, Desire::Home),
        vehicle("b", 40.0, Desire::At(station(0.0, 80.0, 8.0))),
    ];
    (vehicles[0].at, vehicles[0].up, vehicles[0].activity) = ((0.0, 80.0), 20.0, Activity::LowBattery);
    (vehicles[1].at, vehicles[1].up, vehicles[1].activity) = ((0.0, 80.0), 8.0, Activity::Holding);
    for second in 0..3 {
        let mut reports: Vec<Report> = vehicles.iter().map(|vehicle| vehicle.report(at(second))).collect();
        (reports[0].near_reserve, reports[0].mode) = (true, Some("LAND".to_owned()));
        take_in(&mut site, &vehicles, &reports, second);
    }
    let pair = (Owner::Vehicle(node("a")), node("b"));
    assert!(site.endangered().contains_key(&pair), "{:?}", site.endangered());
}
