//! Vehicles with plans of their own: the whole way is theirs before they take off, or they wait.

use super::super::plan_way::climbs_first;
use super::*;
use model::geo::Local;
use model::plan::{PlanDigest, PlanReport};
use model::units::{ComponentId, SystemId};
use model::vehicle::{Autopilot, Identity};

pub(super) fn digest(text: &str) -> PlanDigest {
    PlanDigest(text.to_owned())
}

/// From the ground at `home` up to 20 m, `north` meters and back.
pub(super) fn corridor(name: &str, home: f64, north: f64) -> (NodeName, Corridor) {
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
    let corridor = Corridor {
        digest: digest(name),
        places,
        next: Some(2),
        barred: None,
    };
    (node(name), corridor)
}

pub(super) fn fly(
    site: &mut Site,
    vehicles: &[Vehicle],
    plans: &BTreeMap<NodeName, Corridor>,
    flying: &[&str],
    second: u64,
) {
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
fn two_with_ways_apart_may_fly_at_once_and_two_whose_ways_meet_in_turn() {
    let plans = [corridor("a", 0.0, 100.0), corridor("b", 30.0, 100.0)].into();
    let mut vehicles = [vehicle("a", 0.0, Desire::Plan), vehicle("b", 30.0, Desire::Plan)];
    let mut apart = new();
    fly(&mut apart, &vehicles, &plans, &[], 1);
    assert!(apart.may_fly_plan(&node("a"), &digest("a")) && apart.may_fly_plan(&node("b"), &digest("b")));

    let (b, mut over) = corridor("b", 30.0, 100.0);
    over.places[2].at = shifted(CENTER, -30.0, 0.0);
    let plans = [corridor("a", 0.0, 100.0), (b.clone(), over.clone())].into();
    let mut meet = new();
    fly(&mut meet, &vehicles, &plans, &[], 1);
    assert!(meet.may_fly_plan(&node("a"), &digest("a")));
    assert!(!meet.may_fly_plan(&node("b"), &digest("b")));
    let why = meet.plan_waits(&node("b")).map(str::to_owned);
    assert_eq!(why.as_deref(), Some("waits for the airspace of the vehicle of node a"));

    // It has its order and its motors do not turn yet: that is not revoked.
    fly(&mut meet, &vehicles, &plans, &["a"], 20);
    fly(&mut meet, &vehicles, &plans, &["a"], 21);
    assert!(meet.may_begin_plan(&node("a"), &digest("a")) && !meet.may_fly_plan(&node("b"), &digest("b")));

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
fn a_vehicle_that_cuts_its_corners_wide_owns_its_way_so_much_wider_and_its_pad_no_wider() {
    let plans: BTreeMap<NodeName, Corridor> = [corridor("a", 0.0, 100.0), corridor("b", 12.0, 100.0)].into();
    let mut vehicles = [vehicle("a", 0.0, Desire::Plan), vehicle("b", 12.0, Desire::Plan)];
    let may_fly = |vehicles: &[Vehicle]| {
        let mut site = new();
        fly(&mut site, vehicles, &plans, &[], 1);
        let both = ["a", "b"].map(|name| site.may_fly_plan(&node(name), &digest(name)));
        (both, site.plan_waits(&node("b")).map(str::to_owned))
    };
    for usual in [Some(2.0), Some(0.5), Some(2.000_001)] {
        vehicles[0].turns_within = usual;
        assert_eq!(may_fly(&vehicles), ([true, true], None), "{usual:?}");
    }
    vehicles[0].turns_within = Some(5.0);
    let (both, why) = may_fly(&vehicles);
    assert_eq!(both, [true, false]);
    let why = why.unwrap();
    assert!(why.contains("the autopilot of node a turns 5.0 m before"), "{why}");
    assert!(
        why.ends_with("set its WP_RADIUS_M to 2 or less (WPNAV_RADIUS, until ArduCopter 4.6: 200)"),
        "{why}"
    );
    (vehicles[0].turns_within, vehicles[1].turns_within) = (Some(2.0), Some(500.0));
    assert_eq!(may_fly(&vehicles).0, [true, false], "on its pad it turns nowhere");
}

#[test]
fn a_vehicle_does_not_begin_its_plan_before_it_is_known_how_wide_it_turns_and_says_so() {
    let plans: BTreeMap<NodeName, Corridor> = [corridor("a", 0.0, 100.0), corridor("b", 12.0, 100.0)].into();
    let mut vehicles = [vehicle("a", 0.0, Desire::Plan), vehicle("b", 12.0, Desire::Plan)];
    vehicles[0].turns_within = None;
    let mut site = new();
    let may_fly = |site: &Site| ["a", "b"].map(|name| site.may_fly_plan(&node(name), &digest(name)));
    fly(&mut site, &vehicles, &plans, &[], 1);
    assert_eq!(may_fly(&site), [false, true], "it keeps no other");
    let why = site.plan_waits(&node("a")).unwrap();
    assert!(
        why.starts_with("does not take off: how far its autopilot turns"),
        "{why}"
    );
    vehicles[0].turns_within = Some(2.0);
    fly(&mut site, &vehicles, &plans, &[], 2);
    assert_eq!(may_fly(&site), [true, true]);
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
        Some(
            "does not fly less than 17 m above the vehicle of node b, which is on the ground; raise the altitude of the work there, or move that \
             vehicle"
        )
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
    vehicles[0].desire = Desire::Home;
    fly(&mut site, &vehicles, &plans, &["a"], 11);
    assert!(site.claims.under_way(&node("a")) && site.route(&node("a")).is_none());
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
fn a_vehicle_ordered_onto_its_plan_waits_on_the_ground_for_an_aircraft_on_the_way() {
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
    let mut vehicles = [
        vehicle("a", 0.0, Desire::Plan),
        vehicle("b", 40.0, Desire::At(station(0.0, 60.0, 45.0))),
    ];
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
fn a_vehicle_that_flew_a_plan_keeps_others_down_until_landed_whatever_its_orders() {
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

/// Flies out on its way of 200 m to the north, and is taken by a pilot to `to`, who gives it back there.
pub(super) fn given_back_by_a_pilot(to: (f64, f64)) -> (Site, BTreeMap<NodeName, Corridor>, [Vehicle; 2]) {
    let plans: BTreeMap<NodeName, Corridor> = [corridor("a", 0.0, 200.0)].into();
    let mut vehicles = [vehicle("a", 0.0, Desire::Plan), vehicle("b", -40.0, Desire::Nothing)];
    let mut site = new();
    fly(&mut site, &vehicles, &plans, &[], 1);
    (vehicles[0].up, vehicles[0].at) = (20.0, (0.0, 50.0));
    fly(&mut site, &vehicles, &plans, &["a"], 10);
    vehicles[0].activity = Activity::HandsOff(model::report::HandsOff::OtherMode);
    vehicles[0].at = to;
    fly(&mut site, &vehicles, &plans, &[], 20);
    assert!(!names_plan(&site, &vehicles[0], &plans), "a pilot flies it");
    vehicles[0].activity = Activity::Holding;
    (site, plans, vehicles)
}

/// For the vehicle of `a`, which holds.
pub(super) fn names_plan(site: &Site, vehicle: &Vehicle, plans: &BTreeMap<NodeName, Corridor>) -> bool {
    let mut report = vehicle.report(at(0));
    report.plan.held = plans.get(&vehicle.node).map(|corridor| corridor.digest.clone());
    site.may_fly_on(&vehicle.node, &digest("a"), &report)
}

#[test]
fn a_vehicle_that_a_pilot_gave_back_goes_on_only_along_a_leg_that_is_clear() {
    let (mut site, plans, mut vehicles) = given_back_by_a_pilot((60.0, 50.0));
    // The straight leg to the end of its way leads past one that holds beside that way.
    (vehicles[1].at, vehicles[1].up) = ((30.0, 125.0), 20.0);
    fly(&mut site, &vehicles, &plans, &[], 22);
    fly(&mut site, &vehicles, &plans, &[], 23);
    assert!(!names_plan(&site, &vehicles[0], &plans));
    let why = site.plan_waits(&node("a"));
    assert_eq!(why, Some("waits for the airspace of the vehicle of node b"));
    (vehicles[1].at, vehicles[1].up) = ((-40.0, 0.0), 0.0);
    fly(&mut site, &vehicles, &plans, &[], 30);
    assert!(names_plan(&site, &vehicles[0], &plans), "the leg is clear and its own");
    let beside = Route::hold(
        site.frame
            .local(shifted(CENTER, 30.0, 125.0), AltitudeAmsl(SEA + 20.0))
            .unwrap(),
    );
    assert_eq!(
        site.claims.in_the_way(&node("b"), &beside),
        [Owner::Vehicle(node("a"))].into()
    );
    vehicles[0].at = (30.0, 125.0);
    fly(&mut site, &vehicles, &plans, &["a"], 35);
    assert!(
        site.claims.unsteady(at(35)).next().is_none(),
        "it keeps to what was granted"
    );
}

/// Flown with a real ArduCopter that still moved when it was given back: its order left the plan out by a report newer than the grant, and
/// nobody ordered it again.
#[test]
fn a_vehicle_that_owns_the_leg_to_its_plan_is_ordered_until_its_order_names_it() {
    let (mut site, plans, mut vehicles) = given_back_by_a_pilot((60.0, 50.0));
    fly(&mut site, &vehicles, &plans, &[], 22);
    let due = |site: &Site, vehicle: &Vehicle, named: Option<&str>| {
        let mut report = vehicle.report(at(0));
        report.plan.held = Some(digest("a"));
        report.held.as_mut().unwrap().details = Some(model::assignment::HeldDetails {
            plan: named.map(digest),
            ..Default::default()
        });
        site.plan_order_is_due(&vehicle.node, &report)
    };
    assert!(due(&site, &vehicles[0], None) && !due(&site, &vehicles[0], Some("a")));
    // It still moves, and is off the leg that it was granted: an order made now leaves the plan out.
    vehicles[0].at = (52.0, 44.0);
    assert!(due(&site, &vehicles[0], Some("a")) && !due(&site, &vehicles[0], None));
    for second in 23..26 {
        fly(&mut site, &vehicles, &plans, &[], second);
    }
    assert!(due(&site, &vehicles[0], None), "it owns the leg from where it is now");
    assert!(!due(&site, &vehicles[1], None), "that has no plan");
}

#[test]
fn a_vehicle_whose_way_to_its_plan_crosses_a_hole_or_geofence_says_so_and_stays() {
    let (mut site, mut plans, vehicles) = given_back_by_a_pilot((60.0, 50.0));
    plans.get_mut(&node("a")).unwrap().barred = Some("a hole lies between".to_owned());
    fly(&mut site, &vehicles, &plans, &[], 22);
    fly(&mut site, &vehicles, &plans, &[], 23);
    assert!(!names_plan(&site, &vehicles[0], &plans));
    let why = "cannot go on with its plan from where it is: a hole lies between";
    assert_eq!(site.plan_barred(&node("a")), Some(why));

    let (mut site, plans, vehicles) = given_back_by_a_pilot((60.0, 50.0));
    let mut fence = fence("wires");
    fence.exclude = vec![model::rules::Outline::Circle {
        center: shifted(CENTER, 30.0, 125.0),
        radius: model::units::Meters(10.0),
    }];
    site.keep_within(Some([(node("a"), vec![Arc::new(fence)])].into()));
    fly(&mut site, &vehicles, &plans, &[], 22);
    fly(&mut site, &vehicles, &plans, &[], 23);
    assert!(!names_plan(&site, &vehicles[0], &plans));
    let why = site.plan_barred(&node("a")).unwrap();
    assert!(why.contains("Geofence wires"), "{why}");
}

#[test]
fn a_vehicle_on_its_plan_stops_for_one_that_a_pilot_flies_in_and_goes_on_when_clear() {
    let plans: BTreeMap<NodeName, Corridor> = [corridor("a", 0.0, 200.0)].into();
    let mut vehicles = [
        vehicle("a", 0.0, Desire::Plan),
        vehicle("pilot", 100.0, Desire::Nothing),
    ];
    let mut site = new();
    fly(&mut site, &vehicles, &plans, &[], 1);
    for (second, north) in [(10, 40.0), (11, 45.0), (12, 50.0)] {
        (vehicles[0].up, vehicles[0].at, vehicles[0].activity) = (20.0, (0.0, north), Activity::Moving);
        fly(&mut site, &vehicles, &plans, &["a"], second);
    }
    assert!(flies_plan(&site, &vehicles[0]));
    vehicles[1].activity = Activity::HandsOff(model::report::HandsOff::OtherMode);
    (vehicles[1].at, vehicles[1].up) = ((2.0, 80.0), 20.0);
    vehicles[0].at = (0.0, 55.0);
    fly(&mut site, &vehicles, &plans, &["a"], 13);
    assert!(!flies_plan(&site, &vehicles[0]), "it is to hold");
    let pair = (Owner::Vehicle(node("pilot")), node("a"));
    assert_eq!(
        site.endangered().get(&pair).map(|danger| danger.action),
        Some(Action::Stops)
    );
    vehicles[0].at = (0.0, 62.0);
    vehicles[0].activity = Activity::Holding;
    for second in 14..20 {
        fly(&mut site, &vehicles, &plans, &[], second);
        assert!(!names_plan(&site, &vehicles[0], &plans), "second {second}");
    }
    vehicles[1].activity = Activity::Idle;
    (vehicles[1].at, vehicles[1].up) = ((100.0, 0.0), 0.0);
    for second in 20..40 {
        fly(&mut site, &vehicles, &plans, &[], second);
    }
    assert!(names_plan(&site, &vehicles[0], &plans), "all is clear again");
}

#[test]
fn a_vehicle_that_climbs_to_its_plan_stops_below_one_that_comes_into_its_way_and_goes_on() {
    let (a, mut high) = corridor("a", 0.0, 200.0);
    for place in &mut high.places[1..4] {
        place.amsl.0 += 20.0;
    }
    let plans: BTreeMap<NodeName, Corridor> = [(a, high)].into();
    let mut vehicles = [
        vehicle("a", 0.0, Desire::Plan),
        vehicle("pilot", 200.0, Desire::Nothing),
    ];
    let mut site = new();
    for second in 8..10 {
        comes_in(&mut vehicles[1], 9);
        fly(&mut site, &vehicles, &plans, &[], second);
    }
    assert!(site.may_fly_plan(&node("a"), &digest("a")), "it is far enough away");
    for (second, up) in [(10, 2.0), (11, 4.0), (12, 6.0)] {
        comes_in(&mut vehicles[1], second);
        (vehicles[0].up, vehicles[0].activity) = (up, Activity::TakingOff);
        fly(&mut site, &vehicles, &plans, &[], second);
    }
    let pair = (Owner::Vehicle(node("pilot")), node("a"));
    let did = site.endangered().get(&pair).map(|danger| danger.action);
    assert_eq!(did, Some(Action::Stops));
    assert!(!names_plan(&site, &vehicles[0], &plans));
    let stop = site.route(&node("a")).cloned().unwrap();
    let top = stop.end().unwrap().amsl.0 - SEA;
    assert!(top > 6.0 && top < 21.0, "{top} m");
    for second in 13..20 {
        vehicles[0].step(&site);
        comes_in(&mut vehicles[1], 17);
        fly(&mut site, &vehicles, &plans, &[], second);
        assert!(!names_plan(&site, &vehicles[0], &plans), "second {second}");
        assert!(vehicles[0].up < 21.0, "second {second}: {} m", vehicles[0].up);
    }
    assert!(
        site.claims.unsteady(at(19)).all(|(name, _)| *name != node("a")),
        "it keeps to its stop"
    );
    (vehicles[1].at, vehicles[1].up, vehicles[1].activity) = ((200.0, 0.0), 0.0, Activity::Idle);
    for second in 20..40 {
        fly(&mut site, &vehicles, &plans, &[], second);
    }
    assert!(names_plan(&site, &vehicles[0], &plans), "all is clear again");
}

#[test]
fn a_px4_climbs_at_its_place_before_it_flies_to_a_higher_place_of_its_plan() {
    let report = |autopilot| Report {
        identity: Some(Identity {
            autopilot,
            system: SystemId(1),
            component: ComponentId(1),
            firmware: None,
            hardware: None,
        }),
        ..Report::of_nothing(node("a"))
    };
    let low = Local {
        east: 0.0,
        north: 0.0,
        up: 8.0,
    };
    let high = low.shifted(150.0, 0.0).at_height(40.0);
    let top = Some(low.at_height(40.0));
    assert_eq!(climbs_first(&report(Autopilot::Px4), low, high), top);
    assert_eq!(climbs_first(&report(Autopilot::Px4), high, low), None, "a lower one");
    assert_eq!(climbs_first(&report(Autopilot::ArduPilot), low, high), None);
}

/// For the vehicle of `a`, which flies its plan.
fn flies_plan(site: &Site, vehicle: &Vehicle) -> bool {
    let mut report = vehicle.report(at(0));
    (report.plan.held, report.plan.flying) = (Some(digest("a")), true);
    site.may_fly_on(&vehicle.node, &digest("a"), &report)
}

#[test]
fn a_vehicle_beside_the_start_of_its_plan_owns_its_column_and_the_way_there() {
    let plans: BTreeMap<NodeName, Corridor> = [corridor("a", 0.0, 200.0)].into();
    let mut vehicles = [vehicle("a", 8.0, Desire::Plan), vehicle("b", 14.0, Desire::Nothing)];
    let mut site = new();
    (vehicles[1].at, vehicles[1].up, vehicles[1].activity) = ((14.0, 0.0), 18.0, Activity::Holding);
    fly(&mut site, &vehicles, &plans, &[], 1);
    assert!(
        !site.may_fly_plan(&node("a"), &digest("a")),
        "it would climb within 6 m of the other"
    );
    (vehicles[1].at, vehicles[1].up) = ((60.0, 0.0), 18.0);
    fly(&mut site, &vehicles, &plans, &[], 2);
    assert!(site.may_fly_plan(&node("a"), &digest("a")));
    let above = site
        .frame
        .local(shifted(CENTER, 8.0, 0.0), AltitudeAmsl(SEA + 18.0))
        .unwrap();
    let owners = site.claims.in_the_way(&node("b"), &Route::hold(above));
    assert_eq!(owners, [Owner::Vehicle(node("a"))].into());
}

/// For a home that lies so much higher.
fn raised(corridor: &(NodeName, Corridor), by: f64) -> BTreeMap<NodeName, Corridor> {
    let mut higher = corridor.clone();
    for place in &mut higher.1.places {
        place.amsl.0 += by;
    }
    [higher].into()
}

#[test]
fn a_way_that_moves_with_home_is_asked_for_again_of_all_before_the_takeoff() {
    let way = corridor("a", 0.0, 200.0);
    let mut vehicles = [
        vehicle("a", 0.0, Desire::Plan),
        vehicle("b", 60.0, Desire::At(station(0.0, 100.0, 31.0))),
    ];
    (vehicles[1].at, vehicles[1].up, vehicles[1].activity) = ((0.0, 100.0), 31.0, Activity::Holding);
    let mut site = new();
    fly(&mut site, &vehicles, &raised(&way, 0.0), &[], 1);
    assert!(site.may_fly_plan(&node("a"), &digest("a")), "b holds 11 m above");
    fly(&mut site, &vehicles, &raised(&way, 0.6), &[], 2);
    assert!(site.may_fly_plan(&node("a"), &digest("a")), "homes wander");
    fly(&mut site, &vehicles, &raised(&way, 4.0), &[], 3);
    assert!(!site.may_fly_plan(&node("a"), &digest("a")), "it would pass 7 m below");
    let why = site.plan_waits(&node("a"));
    assert_eq!(why, Some("waits for the airspace of the vehicle of node b"));
}

#[test]
fn a_vehicle_whose_altitude_has_fallen_on_its_pad_asks_for_its_plan_from_there() {
    let plans = [corridor("a", 0.0, 100.0)].into();
    // From a lower home, b holds 11 m below the first altitude of a.
    let mut vehicles = [
        vehicle("a", 0.0, Desire::Plan),
        vehicle("b", 500.0, Desire::At(station(0.0, 0.0, 29.0))),
    ];
    (vehicles[1].at, vehicles[1].up, vehicles[1].activity) = ((0.0, 0.0), 29.0, Activity::Holding);
    vehicles[1].datum = -40.0;
    let mut site = new();
    fly(&mut site, &vehicles, &plans, &[], 1);
    assert!(site.may_fly_plan(&node("a"), &digest("a")), "b is clear of its way");
    vehicles[0].datum = -30.0;
    fly(&mut site, &vehicles, &plans, &[], 2);
    assert!(!site.may_fly_plan(&node("a"), &digest("a")), "it would climb through b");
    let why = site.plan_waits(&node("a"));
    assert_eq!(why, Some("waits for the airspace of the vehicle of node b"));
}

#[test]
fn a_vehicle_on_its_plan_stops_when_its_home_moves_and_the_rest_is_not_clear() {
    let way = corridor("a", 0.0, 200.0);
    let mut vehicles = [vehicle("a", 0.0, Desire::Plan), vehicle("b", 60.0, Desire::Nothing)];
    let mut site = new();
    fly(&mut site, &vehicles, &raised(&way, 0.0), &[], 1);
    (vehicles[0].up, vehicles[0].at, vehicles[0].activity) = (20.0, (0.0, 50.0), Activity::Moving);
    (vehicles[1].at, vehicles[1].up, vehicles[1].activity) = ((0.0, 150.0), 32.0, Activity::Holding);
    fly(&mut site, &vehicles, &raised(&way, 0.0), &["a"], 10);
    fly(&mut site, &vehicles, &raised(&way, 0.0), &["a"], 11);
    assert!(flies_plan(&site, &vehicles[0]));
    fly(&mut site, &vehicles, &raised(&way, 10.0), &["a"], 12);
    assert!(
        !flies_plan(&site, &vehicles[0]),
        "its autopilot would fly on 10 m higher"
    );
}

#[test]
fn a_vehicle_on_its_plan_stops_when_it_turns_wider_and_the_rest_is_not_clear_so_wide() {
    let plans: BTreeMap<NodeName, Corridor> = [corridor("a", 0.0, 200.0)].into();
    for (beside, flies) in [(60.0, true), (12.0, false)] {
        let mut vehicles = [vehicle("a", 0.0, Desire::Plan), vehicle("b", 60.0, Desire::Nothing)];
        let mut site = new();
        fly(&mut site, &vehicles, &plans, &[], 1);
        (vehicles[0].up, vehicles[0].at, vehicles[0].activity) = (20.0, (0.0, 50.0), Activity::Moving);
        (vehicles[1].at, vehicles[1].up, vehicles[1].activity) = ((beside, 150.0), 20.0, Activity::Holding);
        fly(&mut site, &vehicles, &plans, &["a"], 10);
        fly(&mut site, &vehicles, &plans, &["a"], 11);
        assert!(flies_plan(&site, &vehicles[0]));
        vehicles[0].turns_within = Some(5.0);
        fly(&mut site, &vehicles, &plans, &["a"], 12);
        assert_eq!(flies_plan(&site, &vehicles[0]), flies, "{beside} m");
        let why = site.plan_waits(&node("a")).unwrap_or_default();
        assert_eq!(why.contains("turns 5.0 m before"), !flies, "{why}");
        if flies {
            vehicles[0].turns_within = Some(2.0);
            fly(&mut site, &vehicles, &plans, &["a"], 13);
            vehicles[1].at = (12.0, 150.0);
            fly(&mut site, &vehicles, &plans, &["a"], 40);
            assert!(flies_plan(&site, &vehicles[0]));
            vehicles[0].turns_within = Some(5.0);
            fly(&mut site, &vehicles, &plans, &["a"], 41);
            assert!(!flies_plan(&site, &vehicles[0]), "it had let go of that");
        }
    }
}

#[test]
fn a_holding_vehicle_is_named_another_plan_only_once_all_of_it_is_clear_from_there() {
    let (mut site, _, mut vehicles) = given_back_by_a_pilot((0.0, 60.0));
    // Another leader has made another plan of its part: 30 m higher, where another holds.
    let (a, mut other) = corridor("a", 0.0, 200.0);
    other.digest = digest("other");
    for place in &mut other.places[1..4] {
        place.amsl.0 += 30.0;
    }
    let plans: BTreeMap<NodeName, Corridor> = [(a, other)].into();
    (vehicles[1].at, vehicles[1].up, vehicles[1].activity) = ((0.0, 150.0), 50.0, Activity::Holding);
    fly(&mut site, &vehicles, &plans, &[], 22);
    fly(&mut site, &vehicles, &plans, &[], 23);
    let named = |site: &Site| {
        let mut report = vehicles[0].report(at(0));
        report.plan.held = Some(digest("a"));
        let other = site.may_fly_on(&node("a"), &digest("other"), &report);
        (site.may_fly_on(&node("a"), &digest("a"), &report), other)
    };
    assert_eq!(named(&site), (false, false));
    assert_eq!(
        site.plan_waits(&node("a")),
        Some("waits for the airspace of the vehicle of node b")
    );
}

#[test]
fn a_new_leader_lets_a_vehicle_fly_on_with_the_written_plan_and_no_other() {
    let plans: BTreeMap<NodeName, Corridor> = [corridor("a", 0.0, 200.0)].into();
    let mut vehicles = [vehicle("a", 0.0, Desire::Plan)];
    let mut site = new();
    (vehicles[0].up, vehicles[0].at, vehicles[0].activity) = (20.0, (0.0, 50.0), Activity::Moving);
    fly(&mut site, &vehicles, &plans, &["a"], 1);
    assert!(flies_plan(&site, &vehicles[0]));
    assert!(site.claims.under_way(&node("a")));
    let mut other = plans.clone();
    other.get_mut(&node("a")).unwrap().digest = digest("other");
    let mut site = new();
    let reports = |vehicle: &Vehicle, second: u64| {
        let mut report = vehicle.report(at(second));
        (report.plan.held, report.plan.flying) = (Some(digest("a")), true);
        report
    };
    site.plans(&other);
    take_in(&mut site, &vehicles, &[reports(&vehicles[0], 1)], 1);
    assert!(!site.may_fly_on(&node("a"), &digest("other"), &reports(&vehicles[0], 1)));
    assert_eq!(
        site.claims.unsteady(at(1)).map(|(_, why)| why).collect::<Vec<_>>(),
        [crate::airspace::Unsteady::NotOurs],
        "what was not granted is no claim"
    );
}

/// The leader before had granted a leg back to the plan, which is written nowhere.
#[test]
fn a_new_leader_stops_a_vehicle_beside_its_plan_and_lets_it_go_on_once_clear() {
    let plans: BTreeMap<NodeName, Corridor> = [corridor("a", 0.0, 200.0)].into();
    let mut vehicles = [vehicle("a", 0.0, Desire::Plan)];
    let mut site = new();
    (vehicles[0].up, vehicles[0].at, vehicles[0].activity) = (20.0, (60.0, 50.0), Activity::Moving);
    fly(&mut site, &vehicles, &plans, &["a"], 1);
    assert!(!flies_plan(&site, &vehicles[0]), "it is 60 m beside");
    vehicles[0].activity = Activity::Holding;
    for second in 2..5 {
        fly(&mut site, &vehicles, &plans, &[], second);
    }
    let mut report = vehicles[0].report(at(5));
    report.plan.held = Some(digest("a"));
    assert!(
        site.may_fly_on(&node("a"), &digest("a"), &report),
        "nobody is in its way"
    );
}

#[test]
fn a_new_leader_lets_a_vehicle_climb_on_that_takes_off_beside_its_home() {
    let plans: BTreeMap<NodeName, Corridor> = [corridor("a", 0.0, 200.0)].into();
    let mut vehicles = [vehicle("a", 0.0, Desire::Plan)];
    let mut site = new();
    (vehicles[0].up, vehicles[0].at, vehicles[0].activity) = (9.0, (7.0, 0.0), Activity::TakingOff);
    fly(&mut site, &vehicles, &plans, &["a"], 1);
    assert!(flies_plan(&site, &vehicles[0]));
}
