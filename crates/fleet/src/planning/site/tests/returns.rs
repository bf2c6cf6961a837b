//! Returns of autopilots: what is in the way of one, and what is kept from coming there.

use super::*;
use model::report::HandsOff;

/// `a` holds at its station north of its home, and `b` at a station on the way home of `a`.
fn one_on_the_way_home_of_the_other(up: (f64, f64), returns_at: Option<f64>) -> (Site, [Vehicle; 2]) {
    let mut site = new();
    let mut vehicles = [
        vehicle("a", 0.0, Desire::At(station(0.0, 120.0, up.0))),
        vehicle("b", 40.0, Desire::At(station(0.0, 60.0, up.1))),
    ];
    vehicles[0].returns_at = returns_at;
    let (ended, _) = run(&mut site, &mut vehicles, 0);
    assert!(ended < 60, "both are on station");
    (site, vehicles)
}

/// The autopilot of `a` has begun to return at second 100.
fn returning(up: (f64, f64), returns_at: f64) -> (Site, Option<Action>) {
    let (mut site, mut vehicles) = one_on_the_way_home_of_the_other(up, Some(returns_at));
    vehicles[0].activity = Activity::HandsOff(HandsOff::AutopilotFailsafe);
    let mut reports: Vec<Report> = vehicles.iter().map(|vehicle| vehicle.report(at(100))).collect();
    reports[0].mode = Some("RTL".to_owned());
    take_in(&mut site, &vehicles, &reports, 100);
    let pair = (Owner::Vehicle(node("a")), node("b"));
    let did = site.endangered().get(&pair).map(|danger| danger.action);
    (site, did)
}

#[test]
fn a_vehicle_on_the_way_of_a_return_is_moved_with_the_first_report_of_it() {
    for up in [(12.0, 37.0), (12.0, 40.0), (38.0, 40.0)] {
        let (site, did) = returning(up, 40.0);
        assert_eq!(did, Some(Action::StepsAside), "{up:?}");
        let end = site.route(&node("b")).and_then(|route| route.places.last()).unwrap();
        assert!(end.amsl.0 - SEA >= 40.0 + 5.0, "{up:?}: {end:?}");
    }
    let (_, did) = returning((12.0, 60.0), 40.0);
    assert_eq!(did, None, "it passes 20 m below");
    let (_, did) = returning((30.0, 12.0), 15.0);
    assert_eq!(did, None, "and 18 m above");
}

#[test]
fn a_station_above_another_whose_autopilot_would_return_through_it_is_not_flown_to() {
    let stacked = |returns_at: Option<f64>| {
        let mut site = new();
        let mut vehicles = [
            vehicle("a", 0.0, Desire::At(station(0.0, 60.0, 12.0))),
            vehicle("b", 40.0, Desire::At(station(2.0, 60.0, 30.0))),
        ];
        vehicles[0].returns_at = returns_at;
        let (ended, _) = run(&mut site, &mut vehicles, 0);
        let off = |name: &str| site.off_station(&node(name), at(ended.min(99)));
        (off("a"), off("b"))
    };
    assert_eq!(stacked(Some(15.0)), (None, None), "it returns at 15 m, below the other");
    let (lower, upper) = stacked(Some(40.0));
    let Some(OffStation::Waits(why)) = upper else {
        panic!("{upper:?}")
    };
    assert_eq!(lower, None);
    assert!(
        why.contains("lies above the place of the vehicle of node a") && why.contains("RTL_ALT"),
        "{why}"
    );
}

#[test]
fn a_way_home_through_the_station_of_another_is_said_before_the_takeoff() {
    let (site, _) = one_on_the_way_home_of_the_other((20.0, 40.0), Some(40.0));
    let why = site.crossed_station(&node("a")).unwrap();
    assert!(
        why.starts_with(CROSSED_STATION) && why.contains("at 40 m above home"),
        "{why}"
    );
    assert!(why.contains("node b"), "{why}");
    assert_eq!(site.crossed_station(&node("b")), None);
    let (site, _) = one_on_the_way_home_of_the_other((20.0, 40.0), Some(60.0));
    assert_eq!(site.crossed_station(&node("a")), None);
}

#[test]
fn a_way_home_at_an_altitude_that_is_not_known_leads_through_each_station_from_the_hold_up() {
    for up in [20.0, 60.0, 90.0] {
        let (mut site, vehicles) = one_on_the_way_home_of_the_other((20.0, up), None);
        update(&mut site, &vehicles, 100);
        let why = site.crossed_station(&node("a")).unwrap();
        assert!(why.starts_with(CROSSED_STATION) && why.contains("node b"), "{why}");
        assert!(why.contains("not known"), "{why}");
        let together = site.shared_return(&node("b")).unwrap();
        assert!(together.starts_with(SHARED_RETURN), "{together}");
    }
    let (mut site, vehicles) = one_on_the_way_home_of_the_other((30.0, 12.0), None);
    update(&mut site, &vehicles, 100);
    assert_eq!(site.crossed_station(&node("a")), None, "none returns below its hold");
}

#[test]
fn an_altitude_that_is_not_read_yet_warns_nobody_and_takes_no_warning_back() {
    let (mut site, mut vehicles) = one_on_the_way_home_of_the_other((20.0, 20.0), Some(40.0));
    let mut told = |returns_at: Option<f64>, second: u64| {
        vehicles[0].returns_at = returns_at;
        update(&mut site, &vehicles, second);
        let crossed = site.crossed_station(&node("a")).is_some();
        assert_eq!(site.shared_return(&node("b")).is_some(), crossed, "second {second}");
        crossed
    };
    assert!(!told(Some(40.0), 100));
    assert!(!told(None, 101) && !told(None, 120), "its agent has started again");
    assert!(told(None, 121), "it cannot be read");
    assert!(told(Some(20.0), 122));
    assert!(told(None, 123), "it was told");
    assert!(!told(Some(40.0), 124));
}

#[test]
fn nobody_comes_to_hold_below_one_that_waits_over_its_home_to_land() {
    let mut site = new();
    let mut vehicles = [
        vehicle("a", 0.0, Desire::At(station(0.0, 120.0, 20.0))),
        vehicle("b", 40.0, Desire::Nothing),
    ];
    let (ended, _) = run(&mut site, &mut vehicles, 0);
    (vehicles[1].desire, vehicles[1].roams) = (Desire::At(station(0.0, 0.0, 20.0)), true);
    let (ended, _) = run(&mut site, &mut vehicles, ended + 1);
    assert!((vehicles[1].up - 20.0).abs() < 0.1, "b is over the home of a");
    vehicles[0].desire = Desire::Home;
    for second in ended + 1..ended + 60 {
        update(&mut site, &vehicles, second);
        for vehicle in &mut vehicles {
            vehicle.step(&site);
        }
    }
    let [a, b] = &vehicles;
    assert!(a.at.1.abs() < 0.1 && a.up > 20.0, "{:?} {}", a.at, a.up);
    let beside = (a.at.0 - b.at.0).hypot(a.at.1 - b.at.1) > 9.0;
    assert!(
        beside || b.up > a.up,
        "{:?} at {} m, below one at {} m",
        b.at,
        b.up,
        a.up
    );
}

#[test]
fn with_a_strict_preflight_nobody_flies_to_a_station_while_a_return_would_cross_one() {
    let waits = |strict: &[&str], returns_at: Option<f64>| {
        let mut site = new();
        site.keep_returns_clear(strict.iter().map(|name| node(name)).collect());
        let mut vehicles = [
            vehicle("a", 0.0, Desire::At(station(0.0, 120.0, 20.0))),
            vehicle("b", 40.0, Desire::At(station(0.0, 60.0, 20.0))),
        ];
        vehicles[0].returns_at = returns_at;
        let (ended, _) = run(&mut site, &mut vehicles, 0);
        ["a", "b"].map(|name| match site.off_station(&node(name), at(ended.min(99))) {
            Some(OffStation::Waits(why)) => Some(why),
            _ => None,
        })
    };
    assert_eq!(waits(&[], Some(15.0)), [None, None]);
    assert_eq!(
        waits(&["a", "b"], Some(40.0)),
        [None, None],
        "it returns above the other"
    );
    let [a, b] = waits(&["a"], Some(15.0));
    let why = a.unwrap();
    assert!(
        why.contains("preflight: Refuse") && why.contains("the station of the vehicle of node b"),
        "{why}"
    );
    assert_eq!(b, None);
    let [a, b] = waits(&["b"], Some(15.0));
    assert_eq!(a, None);
    assert!(b.unwrap().contains("of node a would return through its station"));
    let [a, b] = waits(&["a"], None);
    let why = a.unwrap();
    assert!(why.contains("preflight: Refuse") && why.contains("not known"), "{why}");
    assert_eq!(b, None);
}

#[test]
fn one_that_is_not_ready_to_take_off_keeps_nobody_on_the_ground_by_its_station() {
    let goes = |ready: bool| {
        let mut site = new();
        site.keep_returns_clear([node("a")].into());
        let vehicles = [
            vehicle("a", 0.0, Desire::At(station(0.0, 120.0, 20.0))),
            vehicle("b", 40.0, Desire::At(station(0.0, 60.0, 20.0))),
        ];
        for second in 0..5 {
            let mut reports: Vec<Report> = vehicles.iter().map(|vehicle| vehicle.report(at(second))).collect();
            reports[1].ready = Some(ready);
            take_in(&mut site, &vehicles, &reports, second);
        }
        site.route(&node("a")).is_some()
    };
    assert!(!goes(true), "it would return through the station of b");
    assert!(goes(false), "b never comes there");
}

/// `a` holds at its station 40 m above the home of `b`, which has none.
fn station_above_a_home(returns_at: Option<f64>) -> [Vehicle; 2] {
    let mut vehicles = [
        vehicle("a", 0.0, Desire::At(station(50.0, 0.0, 40.0))),
        vehicle("b", 50.0, Desire::AboveHome(AltitudeAboveHome(10.0))),
    ];
    (vehicles[0].at, vehicles[0].up, vehicles[0].activity) = ((50.0, 0.0), 40.0, Activity::Holding);
    vehicles[1].returns_at = returns_at;
    vehicles
}

#[test]
fn a_vehicle_without_a_station_does_not_take_off_below_one_through_which_it_would_return() {
    for (returns_at, may) in [(Some(60.0), false), (None, false), (Some(30.0), true)] {
        for has_order in [false, true] {
            let mut site = new();
            let mut vehicles = station_above_a_home(returns_at);
            for second in 0..2 {
                match has_order {
                    true => update(&mut site, &vehicles, second),
                    false => update_while_b_waits(&mut site, &vehicles, second),
                }
            }
            let case = format!("{returns_at:?}, has its order: {has_order}");
            assert_eq!(site.may_take_off(&node("b")), may, "{case}");
            let why = site.plan_waits(&node("b")).unwrap_or_default();
            assert_eq!(
                why.contains("lies below the place of the vehicle of node a") && why.contains("RTL_ALT"),
                !may,
                "{case}: {why}"
            );
            let warned = site.crossed_station(&node("b"));
            assert_eq!(warned.is_some_and(|text| text.contains("node a")), !may, "{case}");
            (vehicles[0].at, vehicles[0].desire) = ((0.0, 60.0), Desire::At(station(0.0, 60.0, 40.0)));
            update(&mut site, &vehicles, 2);
            assert!(site.may_take_off(&node("b")), "{case}: it has gone");
            assert_eq!(site.crossed_station(&node("b")), None, "{case}");
        }
    }
}

#[test]
fn a_vehicle_without_a_station_changes_no_altitude_below_one_through_which_it_would_return() {
    for (returns_at, may) in [(60.0, false), (30.0, true)] {
        let mut site = new();
        let mut vehicles = station_above_a_home(Some(returns_at));
        (vehicles[1].up, vehicles[1].activity) = (10.0, Activity::Holding);
        let asked = AltitudeAboveHome(20.0);
        for second in 0..2 {
            site.changes([(node("b"), asked)].into());
            update(&mut site, &vehicles, second);
        }
        assert_eq!(site.may_change_to(&node("b"), asked), may, "{returns_at} m");
    }
}

#[test]
fn nobody_flies_to_a_station_above_one_that_was_granted_its_takeoff_and_would_return_through_it() {
    for (returns_at, goes) in [(60.0, false), (30.0, true)] {
        let mut site = new();
        let mut vehicles = station_above_a_home(Some(returns_at));
        (vehicles[0].at, vehicles[0].up, vehicles[0].activity) = ((0.0, 0.0), 0.0, Activity::Idle);
        for second in 0..3 {
            update_while_b_waits(&mut site, &vehicles, second);
            assert!(site.may_take_off(&node("b")), "{returns_at} m, second {second}");
        }
        assert_eq!(site.route(&node("a")).is_some(), goes, "{returns_at} m");
    }
}
