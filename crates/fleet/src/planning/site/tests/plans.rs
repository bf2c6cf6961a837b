//! Vehicles that fly plans of their own: the whole way is theirs before they take off, or they wait.

use super::*;
use model::plan::PlanReport;

fn digest(text: &str) -> PlanDigest {
    PlanDigest(text.to_owned())
}

/// From the ground at `home` up to 20 m, `north` meters and back.
fn corridor(name: &str, home: f64, north: f64) -> (NodeName, Corridor) {
    let place = |north: f64, up: f64| Waypoint {
        at: shifted(CENTER, home, north),
        amsl: AltitudeAmsl(SEA + up),
    };
    let places = vec![
        place(0.0, 0.0),
        place(0.0, 20.0),
        place(north, 20.0),
        place(0.0, 20.0),
        place(0.0, 0.0),
    ];
    let digest = digest(name);
    (node(name), Corridor { digest, places })
}

/// As the others are updated, with agents that hold the plans of these.
fn fly(site: &mut Site, vehicles: &[Vehicle], plans: &BTreeMap<NodeName, Corridor>, flying: &[&str], second: u64) {
    let now = at(second);
    let report = |vehicle: &Vehicle| {
        let mut report = vehicle.report(now);
        let flies = flying.contains(&vehicle.node.as_str());
        if let Some(held) = &mut report.held {
            held.grounded = !flies && vehicle.up < 0.5;
        }
        report.plan = PlanReport {
            held: plans.get(&vehicle.node).map(|corridor| corridor.digest.clone()),
            flying: flies && vehicle.up > 0.5,
            ..PlanReport::default()
        };
        report
    };
    let reports: Vec<Report> = vehicles.iter().map(report).collect();
    let expected = vehicles.iter().zip(&reports).map(|(vehicle, report)| {
        let expected = Expected {
            report: vehicle.heard.then_some((report, now)),
            may_fly: true,
            roams: vehicle.roams,
            desire: vehicle.desire,
        };
        (vehicle.node.clone(), expected)
    });
    let expected = expected.collect();
    site.plans(plans);
    site.update(&expected, now);
}

#[test]
fn two_whose_ways_are_apart_may_fly_at_once_and_two_whose_ways_meet_one_after_the_other() {
    let plans = [corridor("a", 0.0, 100.0), corridor("b", 30.0, 100.0)].into();
    let mut vehicles = [vehicle("a", 0.0, Desire::Plan), vehicle("b", 30.0, Desire::Plan)];
    let mut apart = new();
    fly(&mut apart, &vehicles, &plans, &[], 1);
    assert!(apart.may_fly_plan(&node("a"), &digest("a")) && apart.may_fly_plan(&node("b"), &digest("b")));

    // The way of b leads over the home of a.
    let (b, mut over) = corridor("b", 30.0, 100.0);
    over.places[2].at = shifted(CENTER, -30.0, 0.0);
    let plans = [corridor("a", 0.0, 100.0), (b.clone(), over.clone())].into();
    let mut meet = new();
    fly(&mut meet, &vehicles, &plans, &[], 1);
    assert!(meet.may_fly_plan(&node("a"), &digest("a")));
    assert!(!meet.may_fly_plan(&node("b"), &digest("b")));
    let why = meet.plan_waits(&node("b")).map(str::to_owned);
    assert_eq!(why.as_deref(), Some("waits for the airspace of the vehicle of node a"));

    // It has its order and does not turn yet: that is not taken back.
    fly(&mut meet, &vehicles, &plans, &["a"], 20);
    fly(&mut meet, &vehicles, &plans, &["a"], 21);
    assert!(meet.may_begin_plan(&node("a"), &digest("a")) && !meet.may_fly_plan(&node("b"), &digest("b")));

    // It flies its way out, and still owns the way back.
    (vehicles[0].up, vehicles[0].at) = (20.0, (0.0, 100.0));
    fly(&mut meet, &vehicles, &plans, &["a"], 40);
    assert!(!meet.may_fly_plan(&node("b"), &digest("b")));
    assert!(meet.claims.under_way(&node("a")));

    // It has landed: the column over it is no higher than 10 m, and b passes above.
    (vehicles[0].up, vehicles[0].at, vehicles[0].desire) = (0.0, (0.0, 0.0), Desire::Nothing);
    let plans = [(b, over)].into();
    fly(&mut meet, &vehicles, &plans, &[], 80);
    fly(&mut meet, &vehicles, &plans, &[], 81);
    assert!(meet.may_fly_plan(&node("b"), &digest("b")));
}

#[test]
fn nobody_flies_a_plan_while_somebody_may_be_anywhere() {
    let plans = [corridor("a", 0.0, 100.0)].into();
    let mut vehicles = [vehicle("a", 0.0, Desire::Plan), vehicle("z", 500.0, Desire::Nothing)];
    vehicles[1].heard = false;
    let mut site = new();
    fly(&mut site, &vehicles, &plans, &[], 1);
    assert!(!site.may_fly_plan(&node("a"), &digest("a")));
    vehicles[1].heard = true;
    fly(&mut site, &vehicles, &plans, &[], 2);
    assert!(site.may_fly_plan(&node("a"), &digest("a")));
}

#[test]
fn a_way_that_was_given_is_not_given_for_another_plan_before_that_is_clear_too() {
    let plans = [corridor("a", 0.0, 100.0)].into();
    let vehicles = [vehicle("a", 0.0, Desire::Plan), vehicle("b", 40.0, Desire::Nothing)];
    let mut site = new();
    fly(&mut site, &vehicles, &plans, &[], 1);
    assert!(site.may_fly_plan(&node("a"), &digest("a")));
    let (a, mut other) = corridor("a", 0.0, 100.0);
    other.digest = digest("other");
    other.places[2].at = shifted(CENTER, 40.0, 0.0);
    other.places[2].amsl = AltitudeAmsl(SEA + 4.0);
    let plans = [(a, other)].into();
    fly(&mut site, &vehicles, &plans, &[], 2);
    assert!(!site.may_fly_plan(&node("a"), &digest("other")));
    assert!(site.plan_waits(&node("a")).unwrap().contains("half a minute"));
    fly(&mut site, &vehicles, &plans, &[], 40);
    assert_eq!(
        site.plan_waits(&node("a")),
        Some("waits for the airspace of the vehicle of node b")
    );
}

#[test]
fn one_that_is_called_back_owns_its_place_and_flies_home_along_a_route() {
    let plans: BTreeMap<NodeName, Corridor> = [corridor("a", 0.0, 100.0)].into();
    let mut vehicles = [vehicle("a", 0.0, Desire::Plan)];
    let mut site = new();
    fly(&mut site, &vehicles, &plans, &[], 1);
    (vehicles[0].up, vehicles[0].at) = (20.0, (0.0, 60.0));
    fly(&mut site, &vehicles, &plans, &["a"], 10);
    assert!(site.claims.under_way(&node("a")));
    // Its agent has not let go of the plan yet: it goes on owning its way.
    vehicles[0].desire = Desire::Home;
    fly(&mut site, &vehicles, &plans, &["a"], 11);
    assert!(site.claims.under_way(&node("a")) && site.route(&node("a")).is_none());
    // And without the plan, it is not known where it goes.
    let none = BTreeMap::new();
    fly(&mut site, &vehicles, &none, &["a"], 12);
    assert_eq!(site.claims.place(&node("a")), None);
    vehicles[0].activity = Activity::Holding;
    for second in 13..30 {
        fly(&mut site, &vehicles, &none, &[], second);
        vehicles[0].step(&site);
    }
    assert!(vehicles[0].at.1.abs() < 1.0, "{:?}", vehicles[0].at);
    let report = vehicles[0].report(at(30));
    assert!(site.is_home(&node("a"), &report));
}

#[test]
fn one_that_waits_to_fly_its_plan_waits_on_while_an_aircraft_is_on_the_way() {
    let plans = [corridor("a", 0.0, 100.0)].into();
    let mut vehicles = [vehicle("a", 0.0, Desire::Plan)];
    let mut site = new();
    let owned = |site: &Site| site.claims.volume(&Owner::Vehicle(node("a"))).cloned();
    fly(&mut site, &vehicles, &plans, &[], 1);
    assert!(site.may_fly_plan(&node("a"), &digest("a")));
    let way = owned(&site);
    vehicles[0].receives = vec![helicopter()];
    for (second, keeps) in [(2, true), (3, true), (40, false)] {
        fly(&mut site, &vehicles, &plans, &[], second);
        assert!(!site.may_fly_plan(&node("a"), &digest("a")), "second {second}");
        let why = site.plan_waits(&node("a"));
        assert_eq!(
            why,
            Some("waits for the airspace of aircraft 4B1234"),
            "second {second}"
        );
        assert_eq!(owned(&site) == way, keeps, "an order may be under way, second {second}");
    }
    vehicles[0].receives.clear();
    fly(&mut site, &vehicles, &plans, &[], 110);
    assert!(site.may_fly_plan(&node("a"), &digest("a")), "it has gone");
    assert_eq!((site.plan_waits(&node("a")), owned(&site)), (None, way));
}

#[test]
fn one_that_was_ordered_to_fly_its_plan_waits_while_an_aircraft_is_on_the_way_until_it_is_off_the_ground() {
    let plans = [corridor("a", 0.0, 100.0)].into();
    let mut vehicles = [vehicle("a", 0.0, Desire::Plan)];
    let mut site = new();
    fly(&mut site, &vehicles, &plans, &[], 1);
    vehicles[0].receives = vec![helicopter()];
    fly(&mut site, &vehicles, &plans, &["a"], 2);
    assert!(site.claims.under_way(&node("a")));
    assert!(
        !site.may_begin_plan(&node("a"), &digest("a")),
        "its motors do not turn yet"
    );
    let why = site.plan_waits(&node("a"));
    assert_eq!(why, Some("waits for the airspace of aircraft 4B1234"));
    vehicles[0].up = 1.0;
    fly(&mut site, &vehicles, &plans, &["a"], 3);
    assert!(site.may_begin_plan(&node("a"), &digest("a")), "it flies");
    assert_eq!(site.plan_waits(&node("a")), None);
}

#[test]
fn a_way_into_which_a_vehicle_strayed_is_not_given_back_while_that_holds_in_it() {
    let plans = [corridor("a", 0.0, 100.0)].into();
    let mut vehicles = [
        vehicle("a", 0.0, Desire::Plan),
        vehicle("pilot", 100.0, Desire::Nothing),
    ];
    let mut site = new();
    fly(&mut site, &vehicles, &plans, &[], 1);
    assert!(site.may_fly_plan(&node("a"), &digest("a")));
    (vehicles[1].at, vehicles[1].up) = ((3.0, 60.0), 20.0);
    for (second, activity) in [
        (2, Activity::HandsOff(model::report::HandsOff::OtherMode)),
        (3, Activity::Holding),
    ] {
        vehicles[1].activity = activity;
        fly(&mut site, &vehicles, &plans, &[], second);
        assert!(!site.may_fly_plan(&node("a"), &digest("a")), "{activity:?}");
        let why = site.plan_waits(&node("a"));
        assert_eq!(why, Some("waits for the airspace of the vehicle of node pilot"));
    }
    (vehicles[1].at, vehicles[1].up) = ((100.0, 0.0), 0.0);
    fly(&mut site, &vehicles, &plans, &[], 30);
    assert!(site.may_fly_plan(&node("a"), &digest("a")), "it is on the ground");
}

#[test]
fn one_that_waits_to_fly_its_plan_waits_on_while_another_lands_through_the_way() {
    let plans = [corridor("a", 0.0, 100.0)].into();
    let mut vehicles = [vehicle("a", 0.0, Desire::Plan), vehicle("b", 0.0, Desire::Nothing)];
    (vehicles[1].at, vehicles[1].up, vehicles[1].activity) = ((0.0, 60.0), 45.0, Activity::Holding);
    let mut site = new();
    fly(&mut site, &vehicles, &plans, &[], 1);
    assert!(site.may_fly_plan(&node("a"), &digest("a")), "it holds above the way");
    (vehicles[1].up, vehicles[1].activity) = (43.0, Activity::Landing);
    fly(&mut site, &vehicles, &plans, &[], 2);
    assert!(!site.may_fly_plan(&node("a"), &digest("a")));
    let why = site.plan_waits(&node("a"));
    assert_eq!(why, Some("waits for the airspace of the vehicle of node b"));
    (vehicles[1].up, vehicles[1].activity) = (0.0, Activity::Idle);
    fly(&mut site, &vehicles, &plans, &[], 30);
    assert!(site.may_fly_plan(&node("a"), &digest("a")), "the way leads over it");
}

#[test]
fn one_that_flew_a_plan_keeps_others_down_until_it_has_landed_whatever_it_was_ordered_since() {
    let (a, mut over) = corridor("a", 0.0, 100.0);
    over.places[2].at = shifted(CENTER, 30.0, 0.0);
    let plans = [(a, over)].into();
    let above = Desire::AboveHome(AltitudeAboveHome(20.0));
    let mut vehicles = [vehicle("a", 0.0, Desire::Plan), vehicle("b", 34.0, above)];
    let mut site = new();
    fly(&mut site, &vehicles, &plans, &[], 1);
    assert!(site.may_fly_plan(&node("a"), &digest("a")) && !site.may_take_off(&node("b")));
    (vehicles[0].at, vehicles[0].up) = ((30.0, 0.0), 20.0);
    fly(&mut site, &vehicles, &plans, &["a"], 10);
    // A person orders it down: its agent has not let go of the plan yet.
    vehicles[0].desire = Desire::Nothing;
    fly(&mut site, &vehicles, &plans, &["a"], 11);
    assert!(!site.may_take_off(&node("b")), "it is on its way still");
    (vehicles[0].up, vehicles[0].activity) = (15.0, Activity::Landing);
    fly(&mut site, &vehicles, &plans, &[], 12);
    assert!(!site.may_take_off(&node("b")), "it sinks through there");
    (vehicles[0].up, vehicles[0].activity) = (0.0, Activity::Idle);
    fly(&mut site, &vehicles, &plans, &[], 20);
    assert!(site.may_take_off(&node("b")), "it is on the ground");
}
