//! Airspace of a program: how long it is claimed, what is claimed besides while its agent is not heard, and the ways home from it.

use super::super::super::crossed_stations;
use super::*;

const AROUND: Around = Around {
    radius: 30.0,
    below: 8.0,
    above: 8.0,
};

/// `a` was granted airspace around its place at second 1.
fn lent() -> (Claims, OrderNumber, Route) {
    let mut claims = two();
    let room = Route::hold(A).with_room(Some(AROUND));
    let number = grant(&mut claims, "a", &room, 1.0).unwrap();
    (claims, number, room)
}

#[test]
fn reports_with_a_gap_between_them_do_not_show_that_one_has_stopped() {
    let (mut claims, number, route) = lent();
    seen(&mut claims, "a", 2.0, A, number, Doing::Flying { route });
    let mut fit = |now: f64, north: f64| {
        let place = at(0.0, north, 20.0);
        seen(&mut claims, "a", now, place, number, Doing::Holding { at: place });
        claims.fit(&node("a"), second(now)).map(|(place, _)| place.north)
    };
    assert_eq!(
        fit(8.5, 60.0),
        Err(NotFit::UnderWay),
        "its agent took it back meanwhile"
    );
    assert_eq!(fit(15.5, 60.0), Err(NotFit::UnderWay), "a second gap shows no more");
    assert_eq!(fit(16.5, 64.0), Err(NotFit::UnderWay), "4 m/s");
    assert_eq!(fit(17.5, 64.5), Ok(64.5));
}

#[test]
fn one_that_is_back_where_it_was_when_it_was_taken_back_may_still_fly() {
    let (mut claims, number, route) = lent();
    seen(&mut claims, "a", 2.0, A, number, Doing::Flying { route });
    let mut holds_there = |now: f64| {
        seen(&mut claims, "a", now, A, number, Doing::Holding { at: A });
        claims.fit(&node("a"), second(now))
    };
    assert_eq!(holds_there(5.0), Err(NotFit::UnderWay));
    assert_eq!(holds_there(6.0), Ok((A, false)));
}

#[test]
fn out_of_its_volume_it_may_fly_while_its_agent_is_not_heard() {
    let (mut claims, number, route) = lent();
    let heard = |claims: &mut Claims, now: f64, north: f64| {
        let doing = Doing::Flying { route: route.clone() };
        seen(claims, "a", now, at(0.0, north, 20.0), number, doing);
    };
    heard(&mut claims, 2.0, 10.0);
    heard(&mut claims, 3.0, 15.0);
    let beyond = Route::hold(at(0.0, 45.0, 20.0));
    let owns = |claims: &mut Claims, now: f64| {
        claims.advance(second(now));
        claims.in_the_way(&node("c"), &beyond).contains(&vehicle("a"))
    };
    assert!(!owns(&mut claims, 4.9), "its agent is there, and stops it inside");
    assert!(
        owns(&mut claims, 5.1),
        "its agent may have ended, and the volume ends 3 s from there"
    );
    assert!(owns(&mut claims, 9.0), "as one that is silent");
    heard(&mut claims, 10.0, 20.0);
    assert!(!owns(&mut claims, 10.0), "its agent is there");
}

#[test]
fn a_return_from_a_volume_is_as_wide_as_that_and_narrows_to_its_home() {
    let home = at(0.0, -100.0, 0.0);
    let claims = knowing(&[("a", home), ("b", home), ("c", home)]);
    let crossed = |around: Option<Around>, other: Local| {
        let holds = [
            (node("a"), Route::hold(A).with_room(around)),
            (node("b"), Route::hold(other)),
        ];
        crossed_stations(&claims, &holds).contains_key(&node("a"))
    };
    for beside in [at(30.0, -10.0, 40.0), at(-30.0, 10.0, 36.0), at(22.0, -40.0, 40.0)] {
        assert!(crossed(Some(AROUND), beside), "{beside:?}");
        assert!(!crossed(None, beside), "{beside:?}");
    }
    for clear in [at(25.0, -80.0, 40.0), at(0.0, 45.0, 40.0), at(0.0, 0.0, 50.0)] {
        assert!(!crossed(Some(AROUND), clear), "{clear:?}");
    }
}
