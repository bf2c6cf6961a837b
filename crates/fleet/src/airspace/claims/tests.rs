//! How reports add to claims and end them.

mod lent;

use super::super::sightings::MAX_AIRCRAFT_PER_REPORTER;
use super::super::tests::{SHARP, at, holds, knowing, node, second, seen, vehicle};
use super::super::{Doing, Traffic};
use super::*;
use crate::safety::{NoLeg, may_fly};

const NONE: OrderNumber = OrderNumber {
    term: Term(0),
    count: 0,
};

fn over(place: Local, height: f64, to: Local) -> Route {
    Route::through([place, place.at_height(height), to.at_height(height), to]).unwrap()
}

fn grant(claims: &mut Claims, name: &str, route: &Route, now: f64) -> Result<OrderNumber, NoLeg> {
    may_fly(claims, &node(name), route.clone(), second(now)).map(|permit| permit.number())
}

fn blocked(by: &str) -> Result<OrderNumber, NoLeg> {
    Err(NoLeg::InTheWay([vehicle(by)].into()))
}

const A: Local = Local {
    east: 0.0,
    north: 0.0,
    up: 20.0,
};
const B: Local = Local {
    east: 60.0,
    north: 0.0,
    up: 20.0,
};
const C: Local = Local {
    east: 30.0,
    north: 50.0,
    up: 20.0,
};
const GROUND: Local = Local {
    east: 0.0,
    north: 0.0,
    up: 0.0,
};

fn two() -> Claims {
    let mut claims = knowing(&[("a", A.at_height(0.0)), ("c", C.at_height(0.0))]);
    holds(&mut claims, "a", 1.0, A);
    holds(&mut claims, "c", 1.0, C);
    claims
}

const ANYWHERE: super::super::Allows<'_> = &|_, _| Ok(());

#[test]
fn a_route_is_owned_from_the_grant_on_and_let_go_behind_the_vehicle() {
    let mut claims = two();
    let route = over(A, 50.0, B);
    let number = grant(&mut claims, "a", &route, 1.0).unwrap();
    assert_eq!(
        number,
        OrderNumber {
            term: Term(3),
            count: 1
        }
    );
    let across = Route::through([C, C.at_height(50.0), at(30.0, -50.0, 50.0)]).unwrap();
    assert_eq!(grant(&mut claims, "c", &across, 1.0), blocked("a"));
    let flying = |claims: &mut Claims, now: f64, place: Local| {
        let doing = Doing::Flying {
            route: over(A, 50.0, B),
        };
        seen(claims, "a", now, place, number, doing);
        holds(claims, "c", now, C);
    };
    flying(&mut claims, 2.0, at(20.0, 0.0, 50.0));
    assert_eq!(grant(&mut claims, "c", &across, 2.0), blocked("a"));
    flying(&mut claims, 3.0, at(45.0, 0.0, 50.0));
    assert!(grant(&mut claims, "c", &across, 3.0).is_ok());
}

#[test]
fn one_that_held_and_lands_owns_its_way_down_and_is_where_it_should_be() {
    let mut claims = two();
    for (now, up) in [(2.0, 20.0), (3.0, 12.0), (4.0, 3.0)] {
        let place = A.at_height(up);
        let way = Route::through([place, GROUND]).unwrap();
        seen(&mut claims, "a", now, place, NONE, Doing::Upright { way });
        holds(&mut claims, "c", now, C);
        assert_eq!(claims.unsteady(second(now)).count(), 0, "at {up} m");
    }
    // No vehicle may cross below it; all the rest is free.
    let through = Route::through([C, at(0.0, 50.0, 20.0), A, at(0.0, -50.0, 20.0)]).unwrap();
    assert!(grant(&mut claims, "c", &through, 4.0).is_ok());
    seen(
        &mut claims,
        "a",
        5.0,
        A.at_height(19.0),
        NONE,
        Doing::Upright {
            way: Route::through([A.at_height(19.0), GROUND]).unwrap(),
        },
    );
    assert!(claims.in_the_way(&node("c"), &through).contains(&vehicle("a")));
}

#[test]
fn a_silent_vehicle_whose_return_may_lead_elsewhere_than_home_owns_all_that_it_could_reach() {
    let silent = |detours| {
        let mut claims = two();
        claims.takes_detours(&node("a"), detours, second(1.0));
        holds(&mut claims, "c", 11.0, C);
        claims.advance(second(11.0));
        claims.in_the_way(&node("c"), &Route::hold(C))
    };
    assert_eq!(silent(false), BTreeSet::new(), "straight down to its home");
    assert_eq!(silent(true), [vehicle("a")].into());
}

#[test]
fn a_returning_vehicle_whose_return_may_lead_elsewhere_than_home_owns_more_than_the_straight_way() {
    let returning = |detours| {
        let mut claims = two();
        claims.takes_detours(&node("a"), detours, second(1.0));
        seen(&mut claims, "a", 2.0, at(0.0, -30.0, 20.0), NONE, Doing::Returning);
        seen(&mut claims, "a", 3.0, at(0.0, -30.0, 20.0), NONE, Doing::Returning);
        let beside = Route::hold(at(40.0, -30.0, 20.0));
        claims.in_the_way(&node("c"), &beside).contains(&vehicle("a"))
    };
    assert_eq!([false, true].map(returning), [false, true]);
}

#[test]
fn a_route_to_the_ground_is_owned_to_its_end_until_the_vehicle_lands_elsewhere() {
    let mut claims = two();
    let above = [A, A.at_height(50.0), B.at_height(50.0)];
    let route = Route::through(above.into_iter().chain([B.at_height(0.0)])).unwrap();
    let number = grant(&mut claims, "a", &route, 1.0).unwrap();
    // Its agent is not sent the last leg: it is ordered to land there.
    let route = Route::through(above).unwrap();
    seen(
        &mut claims,
        "a",
        2.0,
        at(20.0, 0.0, 50.0),
        number,
        Doing::Flying { route },
    );
    holds(&mut claims, "c", 2.0, C);
    let below = Route::through([C, B]).unwrap();
    assert_eq!(grant(&mut claims, "c", &below, 2.0), blocked("a"));
    let here = at(20.0, 0.0, 40.0);
    let way = Route::through([here, here.at_height(0.0)]).unwrap();
    seen(&mut claims, "a", 3.0, here, number, Doing::Upright { way });
    holds(&mut claims, "c", 3.0, C);
    assert_eq!(claims.unsteady(second(3.0)).count(), 0);
    assert!(grant(&mut claims, "c", &below, 3.0).is_ok());
}

#[test]
fn an_order_that_has_not_arrived_keeps_its_route_whatever_the_vehicle_does() {
    for doing in [Doing::Holding { at: A }, Doing::Other] {
        let mut claims = two();
        grant(&mut claims, "a", &over(A, 50.0, B), 1.0).unwrap();
        seen(&mut claims, "a", 2.0, A, NONE, doing);
        holds(&mut claims, "c", 2.0, C);
        let to_b = over(C, 60.0, B);
        assert_eq!(
            grant(&mut claims, "c", &to_b, 2.0),
            blocked("a"),
            "the order may arrive yet"
        );
    }
    let mut claims = two();
    let number = grant(&mut claims, "a", &over(A, 50.0, B), 1.0).unwrap();
    seen(&mut claims, "a", 2.0, A, number, Doing::Holding { at: A });
    holds(&mut claims, "c", 2.0, C);
    assert!(
        grant(&mut claims, "c", &over(C, 60.0, B), 2.0).is_ok(),
        "its agent took the order and does not fly it"
    );
}

#[test]
fn an_old_report_lets_nothing_go_and_takes_nothing_back() {
    let mut claims = two();
    let route = over(A, 50.0, B);
    let number = grant(&mut claims, "a", &route, 1.0).unwrap();
    let claimed = claims.volume(&vehicle("a")).cloned();
    seen(&mut claims, "a", 0.9, B, number, Doing::Holding { at: B });
    assert_eq!(claims.volume(&vehicle("a")).cloned(), claimed);
    seen(&mut claims, "a", 5.0, B, number, Doing::Holding { at: B });
    let held = claims.volume(&vehicle("a")).cloned();
    assert_ne!(held, claimed);
    seen(
        &mut claims,
        "a",
        4.0,
        at(30.0, 0.0, 50.0),
        number,
        Doing::Flying { route },
    );
    assert_eq!(claims.volume(&vehicle("a")).cloned(), held);
}

#[test]
fn only_one_that_was_heard_lately_and_holds_where_the_route_begins_is_given_one() {
    let mut claims = two();
    let no = |why: NotFit| Err(NoLeg::NotFit(why));
    let far = at(0.0, 0.0, 50.0);
    assert_eq!(grant(&mut claims, "nobody", &Route::hold(A), 1.0), no(NotFit::Unknown));
    assert_eq!(
        grant(
            &mut claims,
            "a",
            &Route::through([B, far.shifted(60.0, 0.0)]).unwrap(),
            1.0
        ),
        no(NotFit::StartsElsewhere)
    );
    assert_eq!(grant(&mut claims, "a", &over(A, 50.0, B), 6.1), no(NotFit::Silent));
    seen(&mut claims, "a", 7.0, A, NONE, Doing::Other);
    assert_eq!(grant(&mut claims, "a", &over(A, 50.0, B), 7.0), no(NotFit::NotOurs));
    seen(
        &mut claims,
        "a",
        8.0,
        A.shifted(9.0, 0.0),
        NONE,
        Doing::Holding { at: A },
    );
    assert_eq!(grant(&mut claims, "a", &over(A, 50.0, B), 8.0), no(NotFit::Astray));
    holds(&mut claims, "a", 9.0, A);
    assert!(grant(&mut claims, "a", &over(A, 50.0, B), 9.0).is_ok());
    assert_eq!(grant(&mut claims, "a", &over(A, 50.0, B), 9.0), no(NotFit::UnderWay));
}

#[test]
fn a_new_leader_grants_nothing_before_each_known_vehicle_was_heard() {
    let mut claims = knowing(&[("a", A), ("c", C)]);
    holds(&mut claims, "a", 1.0, A);
    assert_eq!(grant(&mut claims, "a", &over(A, 50.0, B), 1.0), blocked("c"));
    // It flies a route of the former leader, and owns the rest of that.
    let earlier = OrderNumber {
        term: Term(2),
        count: 9,
    };
    let there = Route::through([C, C.at_height(50.0), B.at_height(50.0), B]).unwrap();
    seen(
        &mut claims,
        "c",
        1.5,
        C.at_height(30.0),
        earlier,
        Doing::Flying { route: there },
    );
    assert_eq!(grant(&mut claims, "a", &over(A, 50.0, B), 1.5), blocked("c"));
    let clear = Route::through([A, at(-40.0, 0.0, 20.0)]).unwrap();
    let number = grant(&mut claims, "a", &clear, 1.5).unwrap();
    assert!(number > earlier);
}

#[test]
fn what_was_known_of_a_vehicle_stands_for_it_until_it_is_heard() {
    let mut claims = knowing(&[("a", A)]);
    let rules = *claims.rules();
    let known = Known {
        home: GROUND.shifted(60.0, 0.0),
        return_height: ReturnHeight::Read(40.0),
        last: Some(Route::hold(B).volume(rules.margin(SHARP))),
    };
    claims.expect(node("c"), known, second(0.0));
    holds(&mut claims, "a", 1.0, A);
    assert_eq!(grant(&mut claims, "a", &over(A, 50.0, B), 1.0), blocked("c"));
    assert!(grant(&mut claims, "a", &over(A, 50.0, C), 1.0).is_ok());
}

#[test]
fn one_that_is_silent_keeps_its_place_and_what_its_failsafes_may_do() {
    let mut claims = knowing(&[("a", GROUND.shifted(-80.0, 0.0)), ("c", C)]);
    holds(&mut claims, "a", 1.0, A);
    holds(&mut claims, "c", 6.5, C);
    claims.advance(second(6.5));
    let way = |to: Local| claims.in_the_way(&node("c"), &Route::hold(to));
    let (by_a, none) = (BTreeSet::from([vehicle("a")]), BTreeSet::new());
    assert_eq!(way(A), by_a);
    assert_eq!(way(A.at_height(3.0)), by_a, "it may land where it is");
    assert_eq!(way(A.at_height(-30.0)), by_a, "the ground may be lower there");
    assert_eq!(way(A.at_height(-110.0)), none, "and falls no steeper than that");
    assert_eq!(way(at(-40.0, 0.0, 40.0)), by_a, "it may return at 40 m");
    assert_eq!(way(at(-40.0, 0.0, 25.0)), by_a, "or lower, near home");
    assert_eq!(way(at(-40.0, 0.0, 7.0)), none, "and never lower than it is");
    assert_eq!(way(at(-40.0, 0.0, 53.0)), none);
    assert_eq!(way(at(-80.0, 0.0, 10.0)), by_a, "and land at home");
    assert_eq!(way(at(40.0, 0.0, 40.0)), none);
    // Heard again, it owns its place alone.
    holds(&mut claims, "a", 7.0, A);
    assert_eq!(claims.in_the_way(&node("c"), &Route::hold(at(-40.0, 0.0, 40.0))), none);
}

#[test]
fn one_that_is_silent_on_its_way_may_turn_home_from_any_point_of_it() {
    let mut claims = knowing(&[("a", at(30.0, -60.0, 0.0)), ("c", C)]);
    holds(&mut claims, "a", 1.0, A);
    holds(&mut claims, "c", 1.0, C);
    grant(&mut claims, "a", &over(A, 50.0, B), 1.0).unwrap();
    claims.advance(second(7.0));
    let between = Route::hold(at(30.0, -30.0, 45.0));
    assert_eq!(
        claims.in_the_way(&node("c"), &between),
        [vehicle("a")].into(),
        "inside of the triangle"
    );
    assert!(
        claims
            .in_the_way(&node("c"), &Route::hold(at(-20.0, -40.0, 45.0)))
            .is_empty()
    );
}

#[test]
fn one_that_somebody_else_flies_may_be_farther_away_each_second() {
    let mut claims = two();
    seen(&mut claims, "a", 1.5, A, NONE, Doing::Other);
    let far = Route::hold(A.shifted(-100.0, 0.0));
    assert!(claims.in_the_way(&node("c"), &far).is_empty());
    claims.advance(second(5.0));
    assert_eq!(claims.in_the_way(&node("c"), &far), [vehicle("a")].into());
}

#[test]
fn on_the_ground_a_vehicle_has_the_column_over_its_home() {
    let mut claims = knowing(&[("a", GROUND), ("c", C)]);
    seen(&mut claims, "a", 1.0, GROUND, NONE, Doing::Grounded);
    holds(&mut claims, "c", 1.0, C);
    let way = |up: f64, east: f64| {
        claims
            .in_the_way(&node("c"), &Route::hold(at(east, 0.0, up)))
            .is_empty()
    };
    assert!(
        !way(10.0, 0.0) && !way(16.9, 0.0) && way(17.1, 0.0),
        "10 m, its margin and the separation"
    );
    assert!(!way(5.0, 3.6) && way(5.0, 3.8), "0.2 m beside a pad, and both margins");
}

#[test]
fn a_vehicle_on_the_ground_owns_the_column_at_the_altitude_that_it_reports_now() {
    let mut claims = knowing(&[("a", GROUND), ("c", C)]);
    let stands = |claims: &mut Claims, now: f64, up: f64| {
        seen(claims, "a", now, at(0.4, 0.0, up), NONE, Doing::Grounded);
        holds(claims, "c", now, C);
        claims.place(&node("a"))
    };
    seen(&mut claims, "a", 1.0, GROUND, NONE, Doing::Grounded);
    for (now, up) in [(2.0, -1.9), (3.0, 1.9)] {
        assert_eq!(
            stands(&mut claims, now, up),
            Some((GROUND, true)),
            "its estimate wavers"
        );
    }
    for (now, up) in [(4.0, -35.0), (5.0, 30.0)] {
        assert_eq!(stands(&mut claims, now, up), Some((GROUND.at_height(up), true)));
        let above = Route::hold(GROUND.at_height(up + 15.0));
        assert_eq!(claims.in_the_way(&node("c"), &above), [vehicle("a")].into());
        assert_eq!(claims.home(&node("a")), Some(GROUND.at_height(up)));
    }
    assert!(claims.in_the_way(&node("c"), &Route::hold(GROUND)).is_empty());
}

#[test]
fn foreign_traffic_is_in_the_way_where_it_is_going() {
    let mut claims = two();
    let traffic = Traffic {
        icao: 0x4b_1234,
        at: at(-500.0, 0.0, 50.0),
        velocity: Some([50.0, 0.0]),
        climb: Some(0.0),
        accuracy: SHARP,
        heard: second(1.0),
    };
    claims.hear_traffic(&node("c"), traffic, second(1.0));
    let foreign = Owner::Traffic(0x4b_1234);
    let route = over(A, 50.0, B);
    assert_eq!(
        grant(&mut claims, "a", &route, 1.0),
        Err(NoLeg::InTheWay([foreign.clone()].into()))
    );
    claims.hear_traffic(
        &node("c"),
        Traffic {
            heard: second(0.5),
            at: at(-5e3, 0.0, 50.0),
            ..traffic
        },
        second(1.0),
    );
    assert!(
        claims.in_the_way(&node("a"), &route).contains(&foreign),
        "an older sighting changes nothing"
    );
    claims.advance(second(62.0));
    assert!(claims.in_the_way(&node("a"), &route).is_empty(), "it is forgotten");
}

#[test]
fn one_that_is_forgotten_owns_nothing() {
    let mut claims = knowing(&[("a", A), ("c", C)]);
    holds(&mut claims, "a", 1.0, A);
    claims.forget(&node("c"));
    assert!(grant(&mut claims, "a", &over(A, 50.0, C), 1.0).is_ok());
    assert_eq!(claims.volume(&vehicle("c")), None);
}

#[test]
fn a_vehicle_in_danger_stops_on_its_route_and_leaves_upright_to_where_it_is_clear() {
    use super::super::{Avoidance, Danger};
    use crate::safety::may_stop;
    let mut claims = two();
    let way = over(A, 50.0, B);
    let number = grant(&mut claims, "a", &way, 1.0).unwrap();
    let fly = |claims: &mut Claims, t: f64, east: f64| {
        let doing = Doing::Flying { route: way.clone() };
        seen(claims, "a", t, at(east, 0.0, 50.0), number, doing);
    };
    fly(&mut claims, 1.5, 0.0);
    fly(&mut claims, 2.5, 5.0);
    let danger = |avoidance| Danger {
        from: vehicle("c"),
        vehicle: node("a"),
        avoidance,
    };
    let there = at(60.0, 0.0, 46.0);
    seen(&mut claims, "c", 1.7, there, NONE, Doing::Other);
    seen(&mut claims, "c", 2.7, there, NONE, Doing::Other);
    assert_eq!(
        claims.dangers(&|_| 150.0, ANYWHERE, second(2.7)),
        [danger(Avoidance::Stop)]
    );
    let permit = may_stop(&mut claims, &node("a"), second(2.7)).unwrap();
    assert_eq!(permit.route().start(), at(5.0, 0.0, 50.0));
    let end = permit.route().end();
    assert!((10.0..30.0).contains(&end.east) && end.up == 50.0, "{end:?}");
    assert!(permit.number() > number);
    let rest = claims.volume(&vehicle("a")).cloned();
    fly(&mut claims, 3.0, 6.0);
    assert!(claims.under_way(&node("a")) && claims.volume(&vehicle("a")) != rest.as_ref());
    assert!(claims.unsteady(second(3.0)).all(|(name, _)| *name != node("a")));
    assert!(
        !claims.in_the_way(&node("c"), &Route::hold(B)).is_empty(),
        "until its agent has taken the order it may fly on"
    );
    assert!(
        may_stop(&mut claims, &node("a"), second(3.0)).is_err(),
        "it was ordered to"
    );
    seen(
        &mut claims,
        "a",
        3.5,
        at(9.0, 0.0, 50.0),
        permit.number(),
        Doing::Flying {
            route: permit.route().clone(),
        },
    );
    assert!(
        claims.in_the_way(&node("c"), &Route::hold(B)).is_empty(),
        "it flies no farther than that"
    );
    seen(&mut claims, "a", 5.5, end, permit.number(), Doing::Holding { at: end });
    seen(
        &mut claims,
        "c",
        4.5,
        at(end.east + 12.0, 0.0, 46.0),
        NONE,
        Doing::Other,
    );
    seen(&mut claims, "c", 5.5, at(end.east + 9.0, 0.0, 46.0), NONE, Doing::Other);
    let found = claims.dangers(&|_| 150.0, ANYWHERE, second(5.5));
    let Some(Danger {
        avoidance: Avoidance::StepAside(up),
        ..
    }) = found.first()
    else {
        panic!("{found:?}");
    };
    assert!(up.end().over_ground(end) < 0.01, "{up:?}");
    assert!(
        (51.0 + 5.0..60.0).contains(&up.end().up),
        "out of the way, and no higher: {up:?}"
    );
    assert_eq!(
        claims.dangers(&|_| 51.0, ANYWHERE, second(5.5)),
        [danger(Avoidance::Stay)],
        "there is no height left"
    );
    assert_eq!(
        claims.dangers(
            &|_| 150.0,
            &|_, route| (route.end().up < 56.0).then_some(()).ok_or_else(String::new),
            second(5.5)
        ),
        [danger(Avoidance::Stay)],
        "where it would be clear it is not allowed to be"
    );
    assert!(grant(&mut claims, "a", up, 5.5).is_ok(), "it leads away");
    let mut claims = two();
    holds(&mut claims, "a", 1.5, end);
    seen(&mut claims, "c", 1.5, at(end.east + 9.0, 0.0, 46.0), NONE, Doing::Other);
    let down = Route::through([end, end.at_height(5.0)]).unwrap();
    assert_eq!(grant(&mut claims, "a", &down, 1.5), blocked("c"), "it would pass it");
}

/// The reach of an aircraft grows until it is heard again: a vehicle may be within it at once. Flown with a real ArduCopter, which flew on
/// to an aircraft that hovered over its place.
#[test]
fn one_that_is_near_an_aircraft_already_stops_only_if_its_route_leads_nearer() {
    use super::super::{Avoidance, Danger};
    let far = at(600.0, 0.0, 20.0);
    let flying_to = |over_ground: f64| {
        let mut claims = knowing(&[("a", A.at_height(0.0))]);
        holds(&mut claims, "a", 1.0, A);
        let route = over(A, 50.0, far);
        let number = grant(&mut claims, "a", &route, 1.0).unwrap();
        for (time, east) in [(29.0, 290.0), (30.0, 300.0)] {
            let doing = Doing::Flying { route: route.clone() };
            seen(&mut claims, "a", time, at(east, 0.0, 50.0), number, doing);
        }
        let aircraft = Traffic {
            icao: 0x4b_1234,
            at: at(300.0 + over_ground, 0.0, 50.0),
            velocity: Some([0.0; 2]),
            climb: Some(0.0),
            accuracy: SHARP,
            heard: second(30.0),
        };
        claims.hear_traffic(&node("a"), aircraft, second(30.0));
        claims.dangers(&|_| 1000.0, ANYWHERE, second(30.0))
    };
    let danger = |avoidance| Danger {
        from: Owner::Traffic(0x4b_1234),
        vehicle: node("a"),
        avoidance,
    };
    assert_eq!(flying_to(200.0), [danger(Avoidance::Stop)], "clear of it");
    assert_eq!(
        flying_to(100.0),
        [danger(Avoidance::Stop)],
        "not clear, but farther off"
    );
    assert_eq!(flying_to(-60.0), [danger(Avoidance::Stay)], "it flies away");
    assert_eq!(flying_to(400.0), []);
}

#[test]
fn away_from_an_aircraft_is_away_from_where_any_of_its_reporters_has_it() {
    let aircraft = |up: f64| Traffic {
        icao: 0x4b_1234,
        at: at(20.0, 0.0, up),
        velocity: Some([0.0; 2]),
        climb: Some(0.0),
        accuracy: SHARP,
        heard: second(1.0),
    };
    // Up from above it and down from below it lead away.
    for (from, to, first, other) in [(50.0, 400.0, 44.0, 56.0), (500.0, 100.0, 506.0, 494.0)] {
        let granted = |reports: &[(&str, f64)]| {
            let mut claims = knowing(&[("a", GROUND)]);
            holds(&mut claims, "a", 1.0, A.at_height(from));
            for (reporter, up) in reports {
                claims.hear_traffic(&node(reporter), aircraft(*up), second(1.0));
            }
            let route = Route::through([A.at_height(from), A.at_height(to)]).unwrap();
            grant(&mut claims, "a", &route, 1.0)
        };
        assert!(granted(&[("x", first)]).is_ok(), "from {from} m to {to} m");
        let both = granted(&[("x", first), ("y", other)]);
        assert_eq!(both, Err(NoLeg::InTheWay([Owner::Traffic(0x4b_1234)].into())));
    }
}

#[test]
fn one_that_passes_far_off_endangers_nobody() {
    let mut claims = two();
    holds(&mut claims, "a", 1.0, A);
    seen(&mut claims, "c", 1.0, at(A.east + 30.0, 0.0, 20.0), NONE, Doing::Other);
    seen(&mut claims, "c", 2.0, at(A.east + 30.0, 4.0, 20.0), NONE, Doing::Other);
    assert_eq!(claims.dangers(&|_| 150.0, ANYWHERE, second(2.0)), []);
    seen(&mut claims, "c", 3.0, at(A.east + 26.0, 4.0, 20.0), NONE, Doing::Other);
    assert_eq!(
        claims.dangers(&|_| 150.0, ANYWHERE, second(3.0)).len(),
        1,
        "it comes straight here"
    );
}

#[test]
fn one_that_the_wind_moves_a_little_endangers_nobody_beside_it() {
    let mut claims = two();
    holds(&mut claims, "a", 1.0, A);
    let hold = A.shifted(12.0, 0.0);
    seen(&mut claims, "c", 1.5, hold, NONE, Doing::Holding { at: hold });
    seen(&mut claims, "c", 1.9, hold, NONE, Doing::Holding { at: hold });
    claims.advance(second(1.0));
    let blown = |claims: &mut Claims, t: f64, by: f64| {
        holds(claims, "a", t, A);
        seen(
            claims,
            "c",
            t,
            hold.shifted(-by, 0.0),
            NONE,
            Doing::Holding { at: hold },
        );
        claims.dangers(&|_| 150.0, ANYWHERE, second(t)).len()
    };
    assert_eq!(blown(&mut claims, 2.9, 2.6), 1, "at 2.6 m/s it would be there");
    assert_eq!(blown(&mut claims, 3.9, 2.8), 0, "there it stays");
    assert_eq!(blown(&mut claims, 4.9, 3.6), 1, "and this is too near");
}

#[test]
fn returns_at_one_height_that_cross_are_named() {
    use super::super::shared_returns;
    let claims = knowing(&[("a", GROUND), ("b", at(60.0, 0.0, 0.0)), ("c", at(500.0, 0.0, 0.0))]);
    let holds = [
        (node("a"), Route::hold(B)),
        (node("b"), Route::hold(A)),
        (node("c"), Route::hold(at(520.0, 0.0, 20.0))),
    ];
    let found = shared_returns(&claims, &holds);
    let of = |name: &str| found.get(&node(name)).cloned().unwrap_or_default();
    assert_eq!(
        (of("a"), of("b"), of("c")),
        ([node("b")].into(), [node("a")].into(), [].into())
    );
}

#[test]
fn a_return_at_an_altitude_that_is_not_known_is_level_at_each_from_the_hold_up() {
    use super::super::{crossed_stations, shared_returns};
    let mut claims = knowing(&[("a", GROUND), ("b", at(60.0, -60.0, 0.0))]);
    claims.has_home(&node("a"), GROUND, ReturnHeight::UpTo(3000.0));
    let meets = |up: f64| {
        let holds = [
            (node("a"), Route::hold(at(120.0, 0.0, 20.0))),
            (node("b"), Route::hold(at(60.0, 0.0, up))),
        ];
        let has_both = shared_returns(&claims, &holds).len() == 2;
        (has_both, crossed_stations(&claims, &holds).contains_key(&node("a")))
    };
    for up in [20.0, 60.0, 120.0, 300.0, 2990.0] {
        assert_eq!(meets(up), (true, true), "{up} m");
    }
    assert_eq!(meets(8.0), (true, false), "b returns at 40 m");
    assert_eq!(meets(3020.0), (false, false));
}

#[test]
fn a_route_that_no_leader_has_granted_is_no_claim_to_it() {
    let mut claims = two();
    let way = over(A, 50.0, at(400.0, 0.0, 0.0));
    let number = OrderNumber {
        term: Term(9),
        count: 1,
    };
    let doing = || Doing::Flying { route: way.clone() };
    seen(&mut claims, "a", 1.5, A.at_height(20.0), number, doing());
    let reasons: Vec<_> = claims.unsteady(second(1.5)).map(|(_, why)| why).collect();
    assert_eq!(reasons, [Unsteady::NotOurs]);
    let far = Route::hold(at(350.0, 0.0, 50.0));
    assert!(
        claims.in_the_way(&node("c"), &far).is_empty(),
        "it keeps nobody from there"
    );
}

#[test]
fn the_ways_out_that_are_tried_are_counted_by_vehicles_and_not_by_aircraft() {
    let mut claims = two();
    for icao in 1..200 {
        let below = Traffic {
            icao,
            at: at(15.0, 25.0, 15.0),
            velocity: Some([0.0; 2]),
            climb: Some(0.0),
            accuracy: SHARP,
            heard: second(1.0),
        };
        claims.hear_traffic(&node("liar"), below, second(1.0));
    }
    let tried = std::cell::Cell::new(0);
    let count: super::super::Allows<'_> = &|_, _| {
        tried.set(tried.get() + 1);
        Ok(())
    };
    let dangers = claims.dangers(&|_| 1000.0, count, second(1.0));
    assert!(dangers.len() > 2, "{dangers:?}");
    assert!(dangers.len() <= 2 * MAX_AIRCRAFT_PER_REPORTER, "{}", dangers.len());
    assert!(tried.get() <= 2 * 24, "{} ways were tried", tried.get());
}

#[test]
fn no_report_of_one_vehicle_takes_away_an_aircraft_that_another_receives() {
    let mut claims = two();
    let helicopter = Traffic {
        icao: 0x4b_1234,
        at: at(0.0, 40.0, 50.0),
        velocity: Some([0.0; 2]),
        climb: Some(0.0),
        accuracy: SHARP,
        heard: second(1.0),
    };
    claims.hear_traffic(&node("c"), helicopter, second(1.0));
    let elsewhere = Traffic {
        at: at(9000.0, 9000.0, 50.0),
        heard: second(2.0),
        ..helicopter
    };
    claims.hear_traffic(&node("liar"), elsewhere, second(2.0));
    let there = Route::hold(helicopter.at);
    let owners = claims.in_the_way(&node("a"), &there);
    assert_eq!(owners, [Owner::Traffic(0x4b_1234)].into());
    claims.hear_traffic(
        &node("c"),
        Traffic {
            heard: second(3.0),
            ..elsewhere
        },
        second(3.0),
    );
    assert!(
        claims.in_the_way(&node("a"), &there).is_empty(),
        "the one that received it says that it has left"
    );
}

#[test]
fn airspace_of_a_program_is_owned_wherever_it_is_in_it_and_until_it_has_stopped() {
    use super::super::Around;
    let mut claims = two();
    let around = Around {
        radius: 25.0,
        below: 8.0,
        above: 8.0,
    };
    let room = Route::hold(A).with_room(Some(around));
    let number = grant(&mut claims, "a", &room, 1.0).unwrap();
    let through = Route::through([C, at(24.0, 0.0, 20.0)]).unwrap();
    let flies = |claims: &mut Claims, now: f64, place: Local, doing: Doing| {
        seen(claims, "a", now, place, number, doing);
        holds(claims, "c", now, C);
        (
            claims.unsteady(second(now)).count(),
            claims.in_the_way(&node("c"), &through).contains(&vehicle("a")),
        )
    };
    let in_room = || Doing::Flying { route: room.clone() };
    assert_eq!(flies(&mut claims, 2.0, at(-20.0, 0.0, 25.0), in_room()), (0, true));
    assert_eq!(flies(&mut claims, 3.0, at(0.0, 20.0, 14.0), in_room()), (0, true));
    let outside = flies(&mut claims, 4.0, at(0.0, 31.0, 20.0), in_room());
    assert_eq!(outside, (1, true), "it has left, and may be anywhere near");
    // It brakes from 3 m/s, and stops.
    let here = at(0.0, 20.0, 20.0);
    assert_eq!(flies(&mut claims, 9.0, here, in_room()), (0, true));
    let on = at(0.0, 17.0, 20.0);
    assert_eq!(flies(&mut claims, 10.0, on, Doing::Holding { at: on }), (0, true));
    assert_eq!(claims.fit(&node("a"), second(10.0)), Err(NotFit::UnderWay));
    assert_eq!(flies(&mut claims, 11.0, on, Doing::Holding { at: on }), (0, false));
    assert!(claims.fit(&node("a"), second(11.0)).is_ok());
    // Lost, its failsafes may begin anywhere in what it had.
    let number = grant(&mut claims, "a", &Route::hold(on).with_room(Some(around)), 11.0).unwrap();
    assert!(
        number
            > OrderNumber {
                term: Term(3),
                count: 1
            }
    );
    claims.advance(second(30.0));
    let above = Route::through([C.at_height(40.0), at(0.0, 41.0, 40.0)]).unwrap();
    assert!(claims.in_the_way(&node("c"), &above).contains(&vehicle("a")));
}
