//! Routes, and what is left of them.

use super::*;
use model::units::Meters;
use proptest::prelude::*;

const MARGIN: Margin = Margin {
    horizontal: Meters(2.5),
    vertical: Meters(2.0),
};

fn at(east: f64, north: f64, up: f64) -> Local {
    Local { east, north, up }
}

fn arch() -> Route {
    Route::through([
        at(0.0, 0.0, 10.0),
        at(0.0, 0.0, 50.0),
        at(100.0, 0.0, 50.0),
        at(100.0, 0.0, 20.0),
    ])
    .unwrap()
}

#[test]
fn a_route_is_of_level_and_upright_legs() {
    assert_eq!(Route::through([]), Err(BadRoute::Empty));
    assert_eq!(Route::through([at(0.0, f64::NAN, 0.0)]), Err(BadRoute::NotFinite(0)));
    let slanted = Route::through([at(0.0, 0.0, 0.0), at(0.0, 0.0, 5.0), at(9.0, 0.0, 6.0)]);
    assert_eq!(slanted, Err(BadRoute::Slanted(1)));
    let same = at(1.0, 2.0, 3.0);
    assert!(Route::through([same, same, same]).unwrap().is_hold());
}

#[test]
fn what_was_flown_is_let_go_and_a_corner_only_when_it_is_well_behind() {
    let left = |east, up| arch().from(at(east, 0.0, up), MARGIN).places().to_vec();
    assert_eq!(left(0.0, 10.0), arch().places());
    assert_eq!(left(1.0, 30.0)[0], at(0.0, 0.0, 30.0));
    assert_eq!(left(2.4, 50.0)[0], at(0.0, 0.0, 50.0), "it may still be at the corner");
    let across = [at(2.6, 0.0, 50.0), at(100.0, 0.0, 50.0), at(100.0, 0.0, 20.0)];
    assert_eq!(left(2.6, 50.0), across);
    assert_eq!(
        left(99.0, 48.5)[0],
        at(99.0, 0.0, 50.0),
        "it may still be on its way across"
    );
    assert_eq!(left(99.0, 47.9), [at(100.0, 0.0, 47.9), at(100.0, 0.0, 20.0)]);
}

#[test]
fn a_way_that_turns_back_on_itself_is_kept_from_the_first_time_on() {
    let there_and_back = Route::through([at(0.0, 0.0, 20.0), at(50.0, 0.0, 20.0), at(0.0, 1.0, 20.0)]).unwrap();
    let left = there_and_back.from(at(30.0, 0.0, 20.0), MARGIN);
    assert_eq!(left.places()[..2], [at(30.0, 0.0, 20.0), at(50.0, 0.0, 20.0)]);
}

/// From 20 up to 60 m, and back above the way there.
fn slanted() -> Route {
    Route::along([at(0.0, 0.0, 20.0), at(40.0, 0.0, 60.0), at(0.0, 0.0, 60.0)]).unwrap()
}

#[test]
fn a_vehicle_that_climbs_or_sinks_at_once_is_on_its_leg_and_has_not_flown_it() {
    for up in [20.0, 30.0, 60.0] {
        assert!(slanted().has(at(10.0, 0.0, up), MARGIN), "{up}");
        let left = slanted().from(at(10.0, 0.0, up), MARGIN);
        let whole = [at(10.0, 0.0, 20.0), at(40.0, 0.0, 60.0), at(0.0, 0.0, 60.0)];
        assert_eq!(left.places(), whole, "{up}");
        assert_eq!(
            left.from(at(10.0, 0.0, 20.0), MARGIN),
            left,
            "it may be lower than it was seen"
        );
    }
    assert!(!slanted().has(at(10.0, 0.0, 17.9), MARGIN));
    assert!(!slanted().has(at(10.0, 0.0, 62.1), MARGIN));
    let down = Route::along([at(0.0, 0.0, 60.0), at(40.0, 0.0, 20.0)]).unwrap();
    assert!(down.has(at(5.0, 0.0, 21.0), MARGIN));
    assert_eq!(down.from(at(5.0, 0.0, 21.0), MARGIN).places()[0], at(5.0, 0.0, 60.0));
}

#[test]
fn the_begin_of_a_leg_has_all_its_altitudes() {
    let begin = slanted().first(10.0);
    assert_eq!(begin.places(), [at(0.0, 0.0, 20.0), at(10.0, 0.0, 60.0)]);
}

#[test]
fn one_that_is_on_no_leg_lets_nothing_go() {
    assert_eq!(arch().from(at(50.0, 10.0, 50.0), MARGIN), arch());
    assert!(!arch().has(at(50.0, 10.0, 50.0), MARGIN) && arch().has(at(50.0, 2.0, 48.5), MARGIN));
}

proptest! {
    #[test]
    fn what_is_left_holds_where_the_vehicle_may_be_and_all_that_is_ahead(
        corners in prop::collection::vec((-60.0..60.0, -60.0..60.0, 5.0..60.0), 1..3),
        leg in 0usize..6, share in 0.0..1.0, off in prop::array::uniform3(-1.0..1.0),
        further in prop::collection::vec((0usize..6, 0.0..1.0), 1..5),
    ) {
        let mut places = vec![at(0.0, 0.0, 5.0)];
        for (east, north, up) in corners {
            let last = places[places.len() - 1];
            places.push(last.at_height(up));
            places.push(at(east, north, up));
        }
        let route = Route::through(places).unwrap();
        let on = |leg: usize, share: f64| {
            let legs = route.places().len().max(2) - 1;
            let (from, to) = (route.places()[leg % legs], *route.places().get(leg % legs + 1).unwrap_or(&route.start()));
            let mix = |a: f64, b: f64| a + share * (b - a);
            (leg % legs, at(mix(from.east, to.east), mix(from.north, to.north), mix(from.up, to.up)))
        };
        let (now, truly) = on(leg, share);
        let seen = truly.shifted(off[0], off[1]).at_height(truly.up + off[2]);
        let left = route.from(seen, MARGIN);
        prop_assert!(left.has(truly, MARGIN), "where it is");
        prop_assert_eq!(left.end(), route.end());
        for (leg, share) in further {
            let (later, ahead) = on(leg, share);
            if later > now {
                prop_assert!(left.has(ahead, MARGIN), "what it has still to fly");
            }
        }
        let again = left.from(seen, MARGIN);
        prop_assert!(again.has(truly, MARGIN), "nor is anything lost by the same report");
    }
}
