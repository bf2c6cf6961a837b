//! Returns of autopilots from the ways of plans: through whose stations they lead.

use super::plans::{corridor, digest, fly, given_back_by_a_pilot, names_plan};
use super::*;

type Plans = BTreeMap<NodeName, Corridor>;

/// `a` has a plan that leads 100 m north, 20 m high; `b` is at its station, on the ground or in the air there.
fn beside_a_station(at: (f64, f64, f64), is_there: bool) -> (Plans, [Vehicle; 2]) {
    let (east, north, up) = at;
    let mut vehicles = [
        vehicle("a", 0.0, Desire::Plan),
        vehicle("b", 200.0, Desire::At(station(east, north, up))),
    ];
    if is_there {
        (vehicles[1].at, vehicles[1].up, vehicles[1].activity) = ((east, north), up, Activity::Holding);
    }
    ([corridor("a", 0.0, 100.0)].into(), vehicles)
}

/// The plan leads on, 60 m to the east, and back the same way.
fn around_a_corner(plans: &mut Plans) {
    let places = &mut plans.get_mut(&node("a")).unwrap().places;
    let corner = places[2];
    let end = Waypoint {
        at: shifted(CENTER, 60.0, 100.0),
        amsl: corner.amsl,
    };
    places.insert(3, corner);
    places.insert(3, end);
}

fn may_fly(site: &Site) -> bool {
    site.may_fly_plan(&node("a"), &digest("a"))
}

fn off_station(site: &Site, second: u64) -> String {
    match site.off_station(&node("b"), at(second)) {
        Some(OffStation::Waits(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_plan_below_a_station_through_which_its_vehicle_would_return_is_not_flown() {
    for (returns_at, may) in [
        (Some(60.0), false),
        (None, false),
        (Some(30.0), true),
        (Some(15.0), true),
    ] {
        let (plans, mut vehicles) = beside_a_station((0.0, 50.0, 40.0), true);
        vehicles[0].returns_at = returns_at;
        let mut site = new();
        for second in [1, 2, 30] {
            fly(&mut site, &vehicles, &plans, &[], second);
        }
        assert_eq!(may_fly(&site), may, "{returns_at:?}");
        let why = site.plan_waits(&node("a")).unwrap_or_default();
        assert_eq!(
            why.contains("the way of its plan lies below the place of the vehicle of node b")
                && why.contains("RTL_ALT"),
            !may,
            "{returns_at:?}: {why}"
        );
        let warned = site.crossed_station(&node("a")).unwrap_or_default();
        assert_eq!(
            warned.contains("the station of the vehicle of node b"),
            !may,
            "{warned}"
        );
        (vehicles[1].at, vehicles[1].desire) = ((100.0, 50.0), Desire::At(station(100.0, 50.0, 40.0)));
        fly(&mut site, &vehicles, &plans, &[], 31);
        assert!(may_fly(&site), "{returns_at:?}: it has gone");
        assert_eq!(site.crossed_station(&node("a")), None, "{returns_at:?}");
    }
}

#[test]
fn a_station_above_a_plan_that_is_flown_is_not_flown_to_before_that_has_ended() {
    for (returns_at, goes) in [(60.0, false), (30.0, true)] {
        let (plans, mut vehicles) = beside_a_station((0.0, 30.0, 40.0), false);
        vehicles[0].returns_at = Some(returns_at);
        let mut site = new();
        fly(&mut site, &vehicles, &plans, &[], 1);
        assert!(may_fly(&site), "{returns_at} m");
        assert_eq!(site.route(&node("b")).is_some(), goes, "{returns_at} m");
        for (second, north) in [(10, 20.0), (15, 60.0), (20, 95.0)] {
            (vehicles[0].up, vehicles[0].at, vehicles[0].activity) = (20.0, (0.0, north), Activity::Moving);
            fly(&mut site, &vehicles, &plans, &["a"], second);
            assert_eq!(
                site.route(&node("b")).is_some(),
                goes,
                "{returns_at} m, second {second}"
            );
        }
        if !goes {
            let why = off_station(&site, 20);
            assert!(
                why.contains("lies above the way of the plan of the vehicle of node a"),
                "{why}"
            );
        }
        (vehicles[0].up, vehicles[0].at, vehicles[0].activity) = (0.0, (0.0, 0.0), Activity::Idle);
        vehicles[0].desire = Desire::Nothing;
        for second in [40, 41] {
            fly(&mut site, &vehicles, &Plans::new(), &[], second);
        }
        assert!(site.route(&node("b")).is_some(), "{returns_at} m: it has landed");
    }
}

#[test]
fn a_return_from_a_plan_level_through_a_station_is_said_and_refused_by_a_strict_preflight() {
    for (returns_at, crosses) in [(60.0, true), (40.0, false), (80.0, false)] {
        for strict in [false, true] {
            // 20 m and more beside the way.
            let (mut plans, mut vehicles) = beside_a_station((20.0, 70.0, 60.0), true);
            around_a_corner(&mut plans);
            vehicles[0].returns_at = Some(returns_at);
            let mut site = new();
            site.keep_returns_clear(strict.then(|| node("a")).into_iter().collect());
            fly(&mut site, &vehicles, &plans, &[], 1);
            let case = format!("{returns_at} m, strict: {strict}");
            let warned = site.crossed_station(&node("a"));
            assert_eq!(warned.is_some(), crosses, "{case}: {warned:?}");
            assert_eq!(may_fly(&site), !(strict && crosses), "{case}");
            if strict && crosses {
                let why = site.plan_waits(&node("a")).unwrap();
                assert!(
                    why.contains("preflight: Refuse") && why.contains("the station of the vehicle of node b"),
                    "{case}: {why}"
                );
            }
        }
    }
}

#[test]
fn a_return_from_a_station_straight_up_through_a_plan_is_said_and_refused_by_a_strict_preflight() {
    for (returns_at, crosses) in [(40.0, true), (10.0, false)] {
        for strict in [false, true] {
            let (plans, mut vehicles) = beside_a_station((0.0, 50.0, 8.0), true);
            vehicles[1].returns_at = Some(returns_at);
            let mut site = new();
            site.keep_returns_clear(strict.then(|| node("a")).into_iter().collect());
            fly(&mut site, &vehicles, &plans, &[], 1);
            let case = format!("{returns_at} m, strict: {strict}");
            let warned = site.crossed_station(&node("b")).unwrap_or_default();
            let named = warned.contains("through the way of the plan of the vehicle of node a");
            assert_eq!(named, crosses, "{case}: {warned}");
            assert_eq!(may_fly(&site), !(strict && crosses), "{case}");
            let why = site.plan_waits(&node("a")).unwrap_or_default();
            assert_eq!(
                why.contains("of node b would return through the way of its plan"),
                strict && crosses,
                "{case}: {why}"
            );
        }
    }
}

#[test]
fn a_vehicle_that_holds_does_not_go_on_with_its_plan_below_a_station_through_which_it_would_return() {
    for (returns_at, goes_on) in [(60.0, false), (15.0, true)] {
        let (mut site, plans, mut vehicles) = given_back_by_a_pilot((60.0, 50.0));
        vehicles[0].returns_at = Some(returns_at);
        vehicles[1].desire = Desire::At(station(0.0, 190.0, 40.0));
        (vehicles[1].at, vehicles[1].up, vehicles[1].activity) = ((0.0, 190.0), 40.0, Activity::Holding);
        for second in [22, 23] {
            fly(&mut site, &vehicles, &plans, &[], second);
        }
        assert_eq!(names_plan(&site, &vehicles[0], &plans), goes_on, "{returns_at} m");
        let why = site.plan_waits(&node("a")).unwrap_or_default();
        assert_eq!(
            why.contains("the rest of its way lies below the place of the vehicle of node b"),
            !goes_on,
            "{returns_at} m: {why}"
        );
    }
}

#[test]
fn a_plan_of_hundreds_of_legs_is_compared_with_each_station() {
    let line = |i: u32| Waypoint {
        at: shifted(CENTER, f64::from(i / 2), f64::from(i.div_ceil(2) % 2) * 300.0),
        amsl: AltitudeAmsl(SEA + 20.0),
    };
    for (east, may) in [(150.0, false), (305.0, false), (320.0, true)] {
        let (mut plans, mut vehicles) = beside_a_station((east, 150.0, 40.0), true);
        vehicles[0].returns_at = Some(60.0);
        let places = &mut plans.get_mut(&node("a")).unwrap().places;
        let down = places.split_off(3);
        places.extend((0..600).map(line));
        places.extend(down);
        let mut site = new();
        for second in 1..4 {
            fly(&mut site, &vehicles, &plans, &[], second);
        }
        assert_eq!(may_fly(&site), may, "{east} m east");
        assert_eq!(site.crossed_station(&node("a")).is_none(), may, "{east} m east");
    }
}
