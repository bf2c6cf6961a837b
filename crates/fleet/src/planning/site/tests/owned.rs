//! What is shown of owned airspace.

use super::*;
use model::owned_airspace::{Owned, Piece};
use model::report::HandsOff;

fn pieces(site: &Site, name: &str) -> Vec<Piece> {
    match site.owned(&node(name)) {
        Some(Owned::Within(pieces, 0)) => pieces,
        other => panic!("{other:?}"),
    }
}

/// `at`: meters east and north of the center; `amsl`: meters above the sea.
fn has(pieces: &[Piece], at: (f64, f64), amsl: f64) -> bool {
    pieces.iter().any(|piece| {
        let near = |from: &Wgs84| {
            let (east, north) = model::geo::offset(*from, shifted(CENTER, at.0, at.1));
            east.hypot(north) <= piece.radius.0
        };
        piece.floor.0 <= amsl && amsl <= piece.ceiling.0 && piece.core.iter().any(near)
    })
}

#[test]
fn it_is_where_a_vehicle_stands_and_all_of_its_way_as_soon_as_it_has_one() {
    let mut site = new();
    assert_eq!(site.owned(&node("a")), None, "nothing is known of it");
    let mut vehicles = [
        vehicle("a", 0.0, Desire::At(station(0.0, 60.0, 20.0))),
        vehicle("b", 40.0, Desire::Nothing),
    ];
    vehicles[1].heard = false;
    update(&mut site, &vehicles, 0);
    let column = pieces(&site, "a");
    assert!(has(&column, (0.0, 0.0), SEA) && column.iter().all(|piece| piece.core.len() <= 3));
    assert_eq!(site.owned(&node("b")), Some(Owned::Everywhere), "it was never heard");
    vehicles[1].heard = true;
    update(&mut site, &vehicles, 1);
    update(&mut site, &vehicles, 2);
    assert!(pieces(&site, "b").iter().all(|piece| piece.on_ground));
    let way = pieces(&site, "a");
    let station = (0.0, 60.0);
    assert!(has(&way, station, SEA + 20.0) && has(&way, (0.0, 0.0), SEA), "{way:?}");
    assert!(!has(&way, station, SEA + 60.0) && !has(&way, (0.0, -60.0), SEA + 20.0));
    let (ended, _) = run(&mut site, &mut vehicles, 3);
    update(&mut site, &vehicles, ended + 1);
    let held = pieces(&site, "a");
    assert!(
        has(&held, station, SEA + 20.0) && !has(&held, (0.0, 0.0), SEA),
        "{held:?}"
    );
    site.rest();
    assert_eq!(site.owned(&node("a")), None, "nothing looks after it any more");
}

#[test]
fn one_that_lands_by_a_failsafe_or_by_itself_owns_the_way_down() {
    for activity in [
        Activity::LowBattery,
        Activity::Failsafe,
        Activity::HandsOff(HandsOff::AutopilotFailsafe),
    ] {
        let mut site = new();
        let mut vehicles = [
            vehicle("a", 0.0, Desire::AboveHome(AltitudeAboveHome(60.0))),
            vehicle("b", 60.0, Desire::At(station(0.0, 0.0, 12.0))),
        ];
        (vehicles[0].up, vehicles[0].activity) = (59.0, activity);
        for second in 0..3 {
            vehicles[0].up -= 1.5;
            let mut reports: Vec<Report> = vehicles.iter().map(|vehicle| vehicle.report(at(second))).collect();
            reports[0].mode = Some("LAND".to_owned());
            take_in(&mut site, &vehicles, &reports, second);
        }
        let owned = pieces(&site, "a");
        assert!(has(&owned, (0.0, 0.0), SEA + 5.0), "{activity:?}: {owned:?}");
        assert!(
            site.route(&node("b")).is_none(),
            "{activity:?}: sent below one that lands"
        );
        let is_ours = activity != Activity::HandsOff(HandsOff::AutopilotFailsafe);
        let drifts = has(&owned, (25.0, 0.0), SEA + 55.0);
        assert_eq!(drifts, !is_ours, "{activity:?}: {owned:?}");
    }
}

#[test]
fn one_that_is_given_a_station_while_it_climbs_owns_the_rest_of_its_climb() {
    let mut site = new();
    let mut vehicles = [vehicle("a", 0.0, Desire::AboveHome(AltitudeAboveHome(50.0)))];
    for second in 0..6_u32 {
        if second == 3 {
            vehicles[0].desire = Desire::At(station(40.0, 0.0, 50.0));
            vehicles[0].roams = true;
        }
        (vehicles[0].up, vehicles[0].activity) = (2.0 + 3.0 * f64::from(second), Activity::TakingOff);
        let mut report = vehicles[0].report(at(second.into()));
        let held = report.held.as_mut().unwrap();
        held.details = Some(HeldDetails {
            routed: second > 3,
            rules: None,
            plan: None,
            altitude: Some(AltitudeAboveHome(50.0)),
        });
        take_in(&mut site, &vehicles, &[report], second.into());
        let owned = pieces(&site, "a");
        assert!(has(&owned, (0.0, 0.0), SEA + 48.0), "{second} s: {owned:?}");
        assert!(
            site.route(&node("a")).is_none(),
            "it would begin below where it climbs to"
        );
    }
}

#[test]
fn one_that_is_called_back_while_it_climbs_owns_the_rest_until_it_has_the_order() {
    for has_order in [false, true] {
        let mut site = new();
        let mut vehicles = [vehicle("a", 0.0, Desire::AboveHome(AltitudeAboveHome(50.0)))];
        (vehicles[0].up, vehicles[0].activity) = (10.0, Activity::TakingOff);
        for second in 0..2 {
            let mut report = vehicles[0].report(at(second));
            let held = report.held.as_mut().unwrap();
            held.grounded = has_order && second == 1;
            held.details = Some(HeldDetails {
                altitude: Some(AltitudeAboveHome(50.0)),
                ..HeldDetails::default()
            });
            take_in(&mut site, &vehicles, &[report], second);
            vehicles[0].desire = Desire::Nothing;
        }
        let owned = pieces(&site, "a");
        assert_eq!(has(&owned, (0.0, 0.0), SEA + 48.0), !has_order, "{owned:?}");
    }
}

#[test]
fn nobody_comes_to_hold_below_one_that_holds_above_its_home() {
    let mut site = new();
    let mut vehicles = [
        vehicle("a", 0.0, Desire::AboveHome(AltitudeAboveHome(60.0))),
        vehicle("b", 60.0, Desire::At(station(0.0, 0.0, 12.0))),
    ];
    (vehicles[0].up, vehicles[0].activity) = (60.0, Activity::Holding);
    for second in 0..5 {
        update(&mut site, &vehicles, second);
    }
    assert!(site.route(&node("b")).is_none(), "its landing would end on the other");
    vehicles[0].desire = Desire::Nothing;
    update(&mut site, &vehicles, 5);
    assert!(
        site.route(&node("b")).is_none(),
        "it is ordered to land, and did not begin yet"
    );
    vehicles[1].desire = Desire::At(station(20.0, 0.0, 12.0));
    update(&mut site, &vehicles, 6);
    assert!(site.route(&node("b")).is_some(), "beside it there is room");
}
