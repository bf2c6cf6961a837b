//! Vehicles in the air without our order: somebody flies them, and nothing is known of where to.

use super::*;

/// The agent of node `hand` holds no order.
fn update_by_hand(site: &mut Site, vehicles: &[Vehicle], second: u64) {
    let mut reports: Vec<Report> = vehicles.iter().map(|vehicle| vehicle.report(at(second))).collect();
    for report in reports.iter_mut().filter(|report| report.node == node("hand")) {
        report.held = None;
    }
    take_in(site, vehicles, &reports, second);
}

#[test]
fn a_vehicle_without_a_drone_that_is_flown_by_hand_is_made_way_for() {
    let mut site = new();
    let mut vehicles = [
        vehicle("a", 0.0, Desire::At(station(0.0, 80.0, 20.0))),
        vehicle("hand", 60.0, Desire::Nothing),
    ];
    let (second, _) = run(&mut site, &mut vehicles, 0);
    let mut least = f64::INFINITY;
    for (step, second) in (0..15).zip(second + 1..) {
        (vehicles[1].at, vehicles[1].up) = ((60.0 - 4.0 * f64::from(step), 80.0), 20.0);
        update_by_hand(&mut site, &vehicles, second);
        vehicles[0].step(&site);
        let [a, hand] = &vehicles;
        least = least.min((a.at.0 - hand.at.0).hypot(a.up - hand.up));
    }
    let pair = (Owner::Vehicle(node("hand")), node("a"));
    let did = site.endangered().get(&pair).map(|danger| danger.action);
    assert_eq!(did, Some(Action::StepsAside));
    assert!(least > 5.0, "{least}");
}

#[test]
fn nobody_takes_off_below_a_vehicle_without_a_drone_or_below_a_pilots() {
    for other in [Desire::Nothing, Desire::AboveHome(AltitudeAboveHome(20.0))] {
        let mut site = new();
        let mut vehicles = [
            vehicle("a", 200.0, Desire::At(station(200.0, 80.0, 20.0))),
            vehicle("b", 0.0, Desire::AboveHome(AltitudeAboveHome(20.0))),
            vehicle("hand", 40.0, other),
        ];
        (vehicles[2].at, vehicles[2].up) = ((1.0, 0.0), 15.0);
        vehicles[2].activity = match other {
            Desire::Nothing => Activity::Idle,
            _ => Activity::HandsOff(model::report::HandsOff::OtherMode),
        };
        let update = |site: &mut Site, vehicles: &[Vehicle], second| {
            let mut reports: Vec<Report> = vehicles.iter().map(|vehicle| vehicle.report(at(second))).collect();
            if let Some(held) = &mut reports[1].held {
                held.grounded = true;
            }
            if other == Desire::Nothing {
                reports[2].held = None;
            }
            take_in(site, vehicles, &reports, second);
        };
        update(&mut site, &vehicles, 0);
        update(&mut site, &vehicles, 1);
        assert!(!site.may_take_off(&node("b")), "{other:?}");
        (vehicles[2].at, vehicles[2].up) = ((40.0, 0.0), 0.0);
        vehicles[2].activity = Activity::Idle;
        update(&mut site, &vehicles, 2);
        update(&mut site, &vehicles, 3);
        assert!(site.may_take_off(&node("b")), "{other:?}: it is down at its home");
    }
}

/// It waits for its receiver, or to be armed, with its order or before that.
#[test]
fn one_that_may_take_off_waits_again_while_a_pilot_is_above_it() {
    for ordered in [false, true] {
        let mut site = new();
        let mut vehicles = [
            vehicle("a", 200.0, Desire::At(station(200.0, 80.0, 20.0))),
            vehicle("b", 0.0, Desire::AboveHome(AltitudeAboveHome(20.0))),
            vehicle("hand", 60.0, Desire::Nothing),
        ];
        let update = |site: &mut Site, vehicles: &[Vehicle], second: u64| {
            let mut reports: Vec<Report> = vehicles.iter().map(|vehicle| vehicle.report(at(second))).collect();
            if let Some(held) = &mut reports[1].held {
                held.grounded = !ordered;
            }
            reports[2].held = None;
            take_in(site, vehicles, &reports, second);
        };
        update(&mut site, &vehicles, 0);
        update(&mut site, &vehicles, 1);
        assert!(site.may_take_off(&node("b")), "ordered: {ordered}");
        (vehicles[2].at, vehicles[2].up) = ((1.0, 0.0), 15.0);
        let column = Route::hold(NOWHERE.at_height(SEA + 18.0));
        let owners = |site: &Site| site.claims.in_the_way(&node("a"), &column);
        for second in [2, 3, 40] {
            update(&mut site, &vehicles, second);
            assert!(!site.may_take_off(&node("b")), "ordered: {ordered}, second {second}");
            let owns = owners(&site).contains(&Owner::Vehicle(node("b")));
            assert_eq!(
                owns,
                ordered || second < 40,
                "an order may be under way, second {second}"
            );
        }
        (vehicles[2].at, vehicles[2].up) = ((60.0, 0.0), 0.0);
        update(&mut site, &vehicles, 41);
        assert!(site.may_take_off(&node("b")), "ordered: {ordered}: it is down");
    }
}

/// A vehicle is lost as it leaves its home, on a route of the leader before, and a person takes its station from its Drone.
#[test]
fn one_that_was_lost_on_its_way_out_is_away_whatever_its_drone_asks_for() {
    let mut site = new();
    let mut vehicles = [vehicle("a", 0.0, Desire::At(station(0.0, 200.0, 20.0)))];
    let climbs = (0..20).find(|second| {
        update(&mut site, &vehicles, *second);
        vehicles[0].step(&site);
        vehicles[0].up > 15.0
    });
    let second = climbs.unwrap() + 1;
    assert!(vehicles[0].at.1 < 1.0, "it is about to cross");
    let mut site = Site::new(Term(4), Rules::default(), CENTER).unwrap();
    update(&mut site, &vehicles, second);
    vehicles[0].heard = false;
    (vehicles[0].desire, vehicles[0].roams) = (Desire::AboveHome(AltitudeAboveHome(20.0)), false);
    for second in second + 1..second + 30 {
        update(&mut site, &vehicles, second);
        assert!(site.has_one_away(), "second {second}");
    }
    vehicles[0].heard = true;
    (vehicles[0].up, vehicles[0].activity) = (20.0, Activity::Holding);
    (vehicles[0].state.order, vehicles[0].state.next) = (None, None);
    update(&mut site, &vehicles, second + 30);
    assert!(
        !site.has_one_away(),
        "it has dropped its route, and holds above its home"
    );
}

#[test]
fn nobody_takes_off_below_one_observed_away_from_its_home_whatever_its_drone_asks_for() {
    let above_home = Desire::AboveHome(AltitudeAboveHome(15.0));
    for (home, desire, activity, may) in [
        (0.0, above_home, Activity::Holding, false),
        (0.0, Desire::Nothing, Activity::Holding, false),
        (0.0, Desire::Nothing, Activity::Landing, false),
        // People have chosen a home so near, and it is there.
        (45.0, above_home, Activity::Holding, true),
    ] {
        let mut site = new();
        let mut vehicles = [
            vehicle("s", 300.0, Desire::At(station(300.0, 80.0, 20.0))),
            vehicle("b", 50.0, Desire::AboveHome(AltitudeAboveHome(20.0))),
            vehicle("m", home, desire),
        ];
        let there = if may { home } else { 50.0 };
        (vehicles[2].at, vehicles[2].up, vehicles[2].activity) = ((there, 0.0), 15.0, activity);
        // It once flew for a Mission, or to a station, and is marked so no more.
        vehicles[2].roams = false;
        let update = |site: &mut Site, vehicles: &[Vehicle], second| {
            let mut reports: Vec<Report> = vehicles.iter().map(|vehicle| vehicle.report(at(second))).collect();
            for (report, grounded) in reports.iter_mut().zip([false, true, false]) {
                if let Some(held) = &mut report.held {
                    held.grounded = grounded;
                }
            }
            take_in(site, vehicles, &reports, second);
        };
        update(&mut site, &vehicles, 0);
        update(&mut site, &vehicles, 1);
        assert_eq!(site.may_take_off(&node("b")), may, "{desire:?} {activity:?}");
        (vehicles[2].at, vehicles[2].up) = ((home, 0.0), 0.0);
        vehicles[2].activity = Activity::Idle;
        update(&mut site, &vehicles, 2);
        update(&mut site, &vehicles, 3);
        assert!(site.may_take_off(&node("b")), "it is down at its home");
    }
}

/// It lands there as soon as its Drone is deleted.
#[test]
fn nobody_comes_to_hold_below_one_without_a_station_wherever_it_is() {
    for away in [50.0, 0.0] {
        let mut site = new();
        let mut vehicles = [
            vehicle("b", 100.0, Desire::At(station(50.0, 0.0, 10.0))),
            vehicle("m", 50.0 - away, Desire::AboveHome(AltitudeAboveHome(30.0))),
        ];
        (vehicles[1].at, vehicles[1].up, vehicles[1].activity) = ((50.0, 0.0), 30.0, Activity::Holding);
        update(&mut site, &vehicles, 0);
        update(&mut site, &vehicles, 1);
        let why = site.off_station(&node("b"), at(1));
        let named = matches!(&why, Some(OffStation::Waits(why)) if why.contains("node m"));
        assert!(named && site.route(&node("b")).is_none(), "{away}: {why:?}");
    }
}

#[test]
fn nobody_takes_off_while_geofences_are_not_known() {
    let mut site = new();
    site.keep_within(None);
    let vehicles = [
        vehicle("a", 60.0, Desire::At(station(60.0, 80.0, 20.0))),
        vehicle("b", 0.0, Desire::AboveHome(AltitudeAboveHome(20.0))),
    ];
    for second in 0..3 {
        update_while_b_waits(&mut site, &vehicles, second);
    }
    assert!(!site.may_take_off(&node("b")));
    site.keep_within(Some(BTreeMap::new()));
    update_while_b_waits(&mut site, &vehicles, 3);
    assert!(site.may_take_off(&node("b")));
}
