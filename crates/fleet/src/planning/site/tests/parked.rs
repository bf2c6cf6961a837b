//! What vehicles on the ground, switched off, or declared to be down keep others from.

use super::*;
use model::vehicle::WhyUnknown;

#[test]
fn a_lost_vehicle_declared_down_owns_nothing_once_its_agent_is_off() {
    for declared in [false, true] {
        let mut site = new();
        let mut lost = vehicle("b", 0.0, Desire::Nothing);
        (lost.up, lost.activity) = (20.0, Activity::Holding);
        let mut vehicles = vec![vehicle("a", 40.0, Desire::At(station(0.0, 0.0, 20.0))), lost];
        update(&mut site, &vehicles, 0);
        if declared {
            site.declare_down(&node("b"));
        }
        update(&mut site, &vehicles, 1);
        assert!(site.route(&node("a")).is_none(), "its agent still reports it there");
        vehicles.pop();
        let (ended, _) = run(&mut site, &mut vehicles, 2);
        assert_eq!(ended < 60, declared, "{ended}");
    }
}

#[test]
fn a_vehicle_seen_flying_after_it_was_declared_down_is_kept_when_its_stream_breaks() {
    let mut site = new();
    let mut lost = vehicle("b", 0.0, Desire::Nothing);
    (lost.up, lost.activity) = (20.0, Activity::Landing);
    let mut vehicles = vec![vehicle("a", 40.0, Desire::At(station(0.0, 0.0, 20.0))), lost];
    update(&mut site, &vehicles, 0);
    site.declare_down(&node("b"));
    for second in 1..10 {
        update(&mut site, &vehicles, second);
    }
    vehicles.pop();
    update(&mut site, &vehicles, 10);
    update(&mut site, &vehicles, 11);
    assert!(site.route(&node("a")).is_none(), "it was in the air a second ago");
}

#[test]
fn nothing_new_is_granted_in_the_air_while_geofences_are_not_known_but_the_way_home() {
    let mut site = new();
    let mut vehicles = [vehicle("a", 0.0, Desire::At(station(0.0, 60.0, 20.0)))];
    let (ended, _) = run(&mut site, &mut vehicles, 0);
    site.keep_within(None);
    vehicles[0].desire = Desire::At(station(0.0, 90.0, 20.0));
    update(&mut site, &vehicles, ended + 1);
    let Some(OffStation::Waits(why)) = site.off_station(&node("a"), at(ended + 1)) else {
        panic!("it flies on");
    };
    assert!(why.contains(FENCES_UNKNOWN), "{why}");
    vehicles[0].desire = Desire::Home;
    run(&mut site, &mut vehicles, ended + 2);
    assert!(vehicles[0].at.1.abs() < 1.0, "{:?}", vehicles[0].at);
}

#[test]
fn a_connected_agent_whose_autopilot_is_off_and_never_flew_keeps_nobody_down() {
    for (so_far, ordered, goes) in [
        (SoFar::Fresh, false, true),
        (SoFar::Flown, false, false),
        (SoFar::Fresh, true, false),
    ] {
        let mut site = new();
        let mut vehicles = [
            vehicle("a", 0.0, Desire::At(station(0.0, 60.0, 20.0))),
            vehicle("off", 30.0, Desire::Nothing),
        ];
        for second in 0..3 {
            let mut reports: Vec<Report> = vehicles.iter().map(|vehicle| vehicle.report(at(second))).collect();
            (reports[1].truth, reports[1].so_far) = (FlightTruth::Unknown(WhyUnknown::NeverHeard), so_far);
            (reports[1].position, reports[1].home) = (None, None);
            reports[1].held.as_mut().unwrap().grounded = !ordered;
            take_in(&mut site, &vehicles, &reports, second);
            vehicles[0].step(&site);
        }
        assert_eq!(site.route(&node("a")).is_some(), goes, "{so_far:?} {ordered}");
    }
}

#[test]
fn a_vehicle_comes_home_over_one_that_is_parked_below_its_way() {
    for up in [15.0, 18.0, 22.0] {
        let mut site = new();
        let mut vehicles = [vehicle("a", 0.0, Desire::Home), vehicle("parked", 0.0, Desire::Nothing)];
        (vehicles[0].at, vehicles[0].up, vehicles[0].activity) = ((0.0, 80.0), up, Activity::Holding);
        (vehicles[1].home, vehicles[1].at) = (0.0, (0.0, 40.0));
        run(&mut site, &mut vehicles, 0);
        assert!(vehicles[0].at.1.abs() < 1.0, "{up}: {:?}", vehicles[0].at);
    }
}

#[test]
fn of_two_with_homes_too_near_to_land_at_neither_takes_off_and_both_say_so() {
    let waits = |apart: f64| {
        let mut site = new();
        let vehicles = [
            vehicle("a", 0.0, Desire::At(station(0.0, 60.0, 20.0))),
            vehicle("b", apart, Desire::At(station(40.0, 60.0, 20.0))),
        ];
        update(&mut site, &vehicles, 0);
        update(&mut site, &vehicles, 1);
        [node("a"), node("b")].map(|node| match site.off_station(&node, at(1)) {
            Some(OffStation::Waits(why)) => why,
            other => format!("{other:?}"),
        })
    };
    for why in waits(1.0) {
        assert!(
            why.contains("has its place 1.0 m away") && why.contains("put them 4 m apart"),
            "{why}"
        );
    }
    assert!(waits(4.0).iter().all(|why| !why.contains("away")), "{:?}", waits(4.0));
}

#[test]
fn homes_too_near_to_land_at_are_found_wherever_on_the_field_they_are() {
    for east in [-7.5, -3.7, -1.5, 0.0, 3.6, 3.75, 500.2] {
        for (apart, takes_off) in [(3.0, false), (4.5, true)] {
            let mut site = new();
            let vehicles = [
                vehicle("a", east, Desire::At(station(east, 60.0, 20.0))),
                vehicle("b", east + apart, Desire::At(station(east + 40.0, 60.0, 20.0))),
            ];
            update(&mut site, &vehicles, 0);
            update(&mut site, &vehicles, 1);
            let goes = ["a", "b"].map(|name| site.route(&node(name)).is_some());
            assert_eq!(goes.contains(&true), takes_off, "{east} {apart}: {goes:?}");
        }
    }
}

#[test]
fn a_takeoff_order_of_the_former_leader_is_taken_back_while_another_holds_above() {
    let mut site = new();
    let mut vehicles = [
        vehicle("a", 0.0, Desire::At(station(50.0, 0.0, 20.0))),
        vehicle("b", 50.0, Desire::Nothing),
    ];
    run(&mut site, &mut vehicles, 0);
    vehicles[1].desire = Desire::AboveHome(AltitudeAboveHome(20.0));
    vehicles[1].state = RouteState::default();
    update(&mut site, &vehicles, 100);
    assert!(!site.may_take_off(&node("b")), "its agent holds an order to fly");
    vehicles[0].desire = Desire::At(station(0.0, 60.0, 20.0));
    for second in 101..130 {
        update_while_b_waits(&mut site, &vehicles, second);
        vehicles[0].step(&site);
    }
    assert!(vehicles[0].at.1 > 59.0 && site.may_take_off(&node("b")));
    update(&mut site, &vehicles, 130);
    assert!(site.may_take_off(&node("b")), "the order of this leader stands");
}

/// Its agent has its route, and it waits to be ready.
fn one_with_a_route() -> (Site, [Vehicle; 1], OrderNumber) {
    let mut site = new();
    let mut vehicles = [vehicle("a", 0.0, Desire::At(station(0.0, 60.0, 15.0)))];
    update(&mut site, &vehicles, 0);
    vehicles[0].step(&site);
    let number = vehicles[0].state.last;
    (site, vehicles, number)
}

#[test]
fn one_on_the_ground_does_not_set_out_to_a_station_that_is_not_asked_for_any_more() {
    let (mut site, mut vehicles, number) = one_with_a_route();
    vehicles[0].desire = Desire::At(station(12.0, 60.0, 15.2));
    update(&mut site, &vehicles, 1);
    assert_eq!(
        site.route(&node("a")).map(|route| route.number),
        Some(number),
        "it leads there, or nearly"
    );
    vehicles[0].desire = Desire::At(station(0.0, 60.0, 40.0));
    update(&mut site, &vehicles, 2);
    assert_eq!(
        (site.route(&node("a")), site.last_granted(&node("a"))),
        (None, Some(number))
    );
    // Its agent has let go of it.
    (vehicles[0].state.order, vehicles[0].state.next) = (None, None);
    update(&mut site, &vehicles, 3);
    let route = site.route(&node("a")).unwrap();
    let end = route.end().unwrap().amsl.0 - SEA;
    assert!(route.number > number && (end - 40.0).abs() < 1e-6, "{route:?}");
}

#[test]
fn a_route_of_the_leader_before_to_another_station_is_void_too() {
    for (up, is_void) in [(15.0, false), (40.0, true)] {
        let (_, mut vehicles, number) = one_with_a_route();
        let mut site = Site::new(Term(4), Rules::default(), CENTER).unwrap();
        update(&mut site, &vehicles, 1);
        assert_eq!(site.last_granted(&node("a")), None);
        vehicles[0].desire = Desire::At(station(0.0, 60.0, up));
        update(&mut site, &vehicles, 2);
        assert_eq!(site.last_granted(&node("a")), is_void.then_some(number), "{up}");
    }
}

#[test]
fn one_on_the_ground_does_not_set_out_along_a_way_that_a_geofence_forbids_since() {
    let mut low = fence("low");
    low.ceiling = Some(AltitudeAboveHome(16.0));
    let mut block = fence("block");
    block.exclude = vec![model::rules::Outline::Circle {
        center: shifted(CENTER, 0.0, 30.0),
        radius: model::units::Meters(10.0),
    }];
    let mut high = fence("high");
    high.ceiling = Some(AltitudeAboveHome(60.0));
    for (wanted, stays) in [(low, false), (block, false), (high, true)] {
        let (mut site, vehicles, number) = one_with_a_route();
        let name = wanted.name.clone();
        site.keep_within(Some(BTreeMap::from([(node("a"), vec![Arc::new(wanted)])])));
        update(&mut site, &vehicles, 1);
        assert_eq!(site.route(&node("a")).is_some(), stays, "{name}");
        assert_eq!(site.last_granted(&node("a")), Some(number), "{name}");
    }
}

#[test]
fn a_route_is_taken_back_from_one_on_the_ground_while_another_is_not_heard_at_all() {
    for heard in [true, false] {
        let mut site = new();
        let mut vehicles = vec![vehicle("a", -15.0, Desire::At(station(-40.0, 60.0, 20.0)))];
        update(&mut site, &vehicles, 0);
        vehicles[0].step(&site);
        update(&mut site, &vehicles, 1);
        assert!(
            site.route(&node("a")).is_some(),
            "its agent has it, and it has not set out"
        );
        let mut other = vehicle("z", 300.0, Desire::Nothing);
        other.heard = heard;
        vehicles.push(other);
        update(&mut site, &vehicles, 2);
        assert_eq!(site.route(&node("a")).is_some(), heard);
        if !heard {
            vehicles[0].state.order = None;
        }
        vehicles[1].heard = true;
        for second in 3..6 {
            update(&mut site, &vehicles, second);
        }
        assert!(site.route(&node("a")).is_some());
    }
}

/// A person takes its station from its Drone before it is ready, and no other Drone has one: all would take off unasked, also into its way.
#[test]
fn one_that_has_not_let_go_of_its_route_counts_as_away_whatever_its_drone_asks_for() {
    for has_it in [false, true] {
        let mut site = new();
        let mut vehicles = [vehicle("a", 0.0, Desire::At(station(0.0, 60.0, 20.0)))];
        update(&mut site, &vehicles, 0);
        update(&mut site, &vehicles, 1);
        let number = site.route(&node("a")).unwrap().number;
        if has_it {
            vehicles[0].step(&site);
        }
        (vehicles[0].heard, vehicles[0].roams) = (has_it, false);
        vehicles[0].desire = Desire::AboveHome(AltitudeAboveHome(20.0));
        update(&mut site, &vehicles, 2);
        assert!(site.has_one_away(), "it has it: {has_it}");
        vehicles[0].heard = true;
        vehicles[0].state = RouteState {
            last: number,
            ..RouteState::default()
        };
        update(&mut site, &vehicles, 3);
        assert!(!site.has_one_away(), "it has it: {has_it}");
    }
}
