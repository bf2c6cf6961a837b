//! Builders for the tests of this folder, and the rules themselves.

use super::*;
use model::geo::Local;
use model::ids::{NodeName, Term};
use model::route_order::OrderNumber;
use model::time::Moment;

pub(crate) const SHARP: Margin = Margin {
    horizontal: Meters(0.0),
    vertical: Meters(0.0),
};

pub(crate) fn at(east: f64, north: f64, up: f64) -> Local {
    Local { east, north, up }
}

pub(crate) fn second(seconds: f64) -> Moment {
    Moment::at(Duration::from_secs_f64(seconds))
}

pub(crate) fn node(name: &str) -> NodeName {
    NodeName::parse(name).unwrap()
}

pub(crate) fn vehicle(name: &str) -> Owner {
    Owner::Vehicle(node(name))
}

/// The third leadership, which knows these vehicles and their homes, to which they return straight, and has heard none.
pub(crate) fn knowing(vehicles: &[(&str, Local)]) -> Claims {
    let mut claims = Claims::new(Term(3), Rules::default());
    for (name, home) in vehicles {
        let known = Known {
            home: *home,
            return_height: ReturnHeight::Read(40.0),
            last: None,
        };
        claims.expect(node(name), known, second(0.0));
        claims.takes_detours(&node(name), false, second(0.0));
    }
    claims
}

pub(crate) fn seen(claims: &mut Claims, name: &str, now: f64, at: Local, order: OrderNumber, doing: Doing) {
    let observation = Observation {
        heard: second(now),
        at,
        accuracy: SHARP,
        order,
        doing,
    };
    claims.observe(&node(name), observation, second(now));
}

pub(crate) fn holds(claims: &mut Claims, name: &str, now: f64, at: Local) {
    seen(claims, name, now, at, OrderNumber::default(), Doing::Holding { at });
}

#[test]
fn rules_that_mean_nothing_are_found() {
    let sound = Rules::default();
    assert!(sound.are_sound());
    let bad = [
        Rules {
            pads: Meters(0.0),
            ..sound
        },
        Rules {
            column: Meters(f64::NAN),
            ..sound
        },
        Rules {
            fastest: MetersPerSecond(f64::INFINITY),
            ..sound
        },
        Rules {
            off_by: Margin {
                vertical: Meters(-1.0),
                ..sound.off_by
            },
            ..sound
        },
        Rules {
            separation: Separation {
                horizontal: Meters(f64::NAN),
                ..sound.separation
            },
            ..sound
        },
    ];
    assert!(bad.iter().all(|rules| !rules.are_sound()));
}

#[test]
fn two_that_hold_a_pitch_apart_are_clear_of_each_other_and_no_nearer() {
    let rules = Rules::default();
    let (pitch, own) = (rules.pitch(), rules.margin(rules.accuracy));
    let hold = |place| Route::hold(place).volume(own);
    let here = hold(at(0.0, 0.0, 20.0));
    assert!(here.clear_of(&hold(at(pitch.horizontal.0, 0.0, 20.0)), &rules));
    assert!(here.clear_of(&hold(at(0.0, 0.0, 20.0 + pitch.vertical.0)), &rules));
    assert!(!here.clear_of(
        &hold(at(pitch.horizontal.0 - 0.1, 0.0, 20.0 + pitch.vertical.0 - 0.1)),
        &rules
    ));
}

#[test]
fn an_accuracy_that_is_no_number_makes_a_volume_that_is_clear_of_nothing() {
    let rules = Rules::default();
    let unknown = Margin {
        horizontal: Meters(f64::NAN),
        vertical: Meters(1.0),
    };
    let mut claims = knowing(&[("a", at(0.0, 0.0, 0.0)), ("b", at(900.0, 0.0, 0.0))]);
    holds(&mut claims, "b", 1.0, at(900.0, 0.0, 20.0));
    let observation = Observation {
        heard: second(1.0),
        at: at(0.0, 0.0, 20.0),
        accuracy: unknown,
        order: OrderNumber::default(),
        doing: Doing::Other,
    };
    claims.observe(&node("a"), observation, second(1.0));
    assert!(rules.margin(unknown).horizontal.0.is_nan());
    assert_eq!(claims.near(&vehicle("b")), [vehicle("a")].into());
}
