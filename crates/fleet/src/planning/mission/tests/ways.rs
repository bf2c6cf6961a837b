//! Shortest ways and lines are those that a slower reckoning finds, which examines every edge.

use super::*;
use ::geo::{BooleanOps as _, Buffer as _, Intersects as _, Line, LineString, MultiPolygon, Polygon};
use boundary::Boundary;
use pathfinding::directed::dijkstra::dijkstra;

/// Holes are so much smaller for the slower reckoning, as lines along their edges are ways, meters.
const SMALLER: f64 = 0.02;

/// Its ways may be so much shorter therefore, meters.
const SLACK: f64 = 0.1;

/// By each line between two of the ends and corners that crosses no hole.
fn slow_length(area: &Area, from: Coord<f64>, to: Coord<f64>) -> Option<f64> {
    let rings = area.polygon().interiors();
    let holes = rings
        .iter()
        .map(|ring| Polygon::new(LineString::new(ring.0.iter().rev().copied().collect()), Vec::new()));
    let smaller: Vec<MultiPolygon<f64>> = holes.map(|hole| hole.buffer(-SMALLER)).collect();
    let corners = rings.iter().flat_map(|ring| ring.0.iter().skip(1).copied());
    let places: Vec<Coord<f64>> = [from, to].into_iter().chain(corners).collect();
    let is_free = |a: Coord<f64>, b: Coord<f64>| !smaller.iter().any(|hole| hole.intersects(&Line::new(a, b)));
    let far = |a: Coord<f64>, b: Coord<f64>| ((a.x - b.x).hypot(a.y - b.y) * 1e6) as u64;
    let mut free = vec![vec![false; places.len()]; places.len()];
    for one in 0..places.len() {
        for other in 0..one {
            free[one][other] = is_free(places[one], places[other]);
            free[other][one] = free[one][other];
        }
    }
    let next = |at: &usize| {
        let at = *at;
        let seen: Vec<(usize, u64)> = (0..places.len())
            .filter(|to| free[at][*to])
            .map(|to| (to, far(places[at], places[to])))
            .collect();
        seen
    };
    dijkstra(&0, next, |at| *at == 1).map(|(_, length)| length as f64 / 1e6)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_shortest_way_is_as_long_as_a_slower_reckoning_says(
        area in fields(), ends in prop::collection::vec(((-300.0..300.0_f64), (-300.0..300.0_f64)), 2),
    ) {
        let ways = way::Ways::around_holes(&area);
        let [from, to] = [ends[0], ends[1]].map(|(x, y)| Coord { x, y });
        prop_assume!(ways.allows(from) && ways.allows(to));
        let length = ways.length(from, to).unwrap();
        let slow = slow_length(&area, from, to).unwrap();
        prop_assert!((length - slow).abs() < SLACK, "{length} m, not {slow} m");
        let passed = ways.shortest(from, to).unwrap();
        let path: Vec<Point> = passed.iter().map(|at| point(*at)).collect();
        prop_assert!(in_holes(&area, &path) == 0.0);
    }

    #[test]
    fn all_ways_from_one_place_are_as_long_as_each_alone(
        area in fields(), from in ((-300.0..300.0_f64), (-300.0..300.0_f64)),
    ) {
        let ways = way::Ways::around_holes(&area);
        let from = Coord { x: from.0, y: from.1 };
        prop_assume!(ways.allows(from));
        let all = way::from::WaysFrom::new(&ways, from);
        for to in places(&area).into_iter().filter(|to| ways.allows(*to)) {
            let (one, other) = (all.length(to).unwrap(), ways.length(from, to).unwrap());
            prop_assert!((one - other).abs() < 0.02, "{one} m, not {other} m to {to:?}");
        }
    }

    #[test]
    fn a_line_reaches_from_end_to_end_of_the_area_in_its_strip(
        area in fields(), spacing in 8.0..60.0_f64, heading in 0.0..360.0_f64,
    ) {
        let outline = Boundary::of_area(&area);
        let none = Boundary::of_holes(&Area::new(&corners(&star((0.0, 0.0), &[1000.0; 4])), &[]).unwrap());
        for strip in rows::strips(&area, spacing, Some(Heading(heading))) {
            let runs = strip.runs(&outline, &none);
            let flown: Vec<(f64, f64)> = runs.iter().map(|run| (strip.far_along(run.path[0]), strip.far_along(run.path[1]))).collect();
            let ring = [(0.0, -1.0), (1.0, -1.0), (1.0, 1.0), (0.0, 1.0)].map(|(u, v)| strip.at(u * strip.length, v * strip.half));
            let parts = area.polygon().intersection(&Polygon::new(LineString::new(ring.to_vec()), Vec::new()));
            for part in &parts {
                let along = part.exterior().coords().map(|corner| strip.far_along(*corner));
                let (from, to) = along.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), u| (a.min(u), b.max(u)));
                let is_flown = flown.iter().any(|(begin, end)| *begin <= from + 0.011 && *end >= to - 0.011);
                prop_assert!(is_flown || to - from < 0.03, "from {from} to {to} m of strip {}: {flown:?}", strip.number);
            }
            let begins = |u: f64| {
                let corners = parts.iter().flat_map(|part| part.exterior().coords());
                corners.map(|corner| (strip.far_along(*corner) - u).abs()).fold(f64::INFINITY, f64::min)
            };
            prop_assert!(flown.iter().all(|(from, to)| begins(*from) < 0.011 && begins(*to) < 0.011), "{flown:?}");
        }
    }
}

fn point(at: Coord<f64>) -> Point {
    Point {
        at,
        altitude: Altitude::AboveHome(AltitudeAboveHome(30.0)),
        leg: Leg::Transit,
        speed: None,
        trigger: None,
        hold: std::time::Duration::ZERO,
        heading: None,
        photos: 0,
    }
}
