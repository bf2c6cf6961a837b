//! Shortest ways and lines equal those of a slower computation, which examines every edge.

use super::*;
use ::geo::{BooleanOps as _, Buffer as _, Intersects as _, Line, LineString, MultiPolygon, Polygon};
use boundary::Boundary;
use pathfinding::directed::dijkstra::dijkstra;

/// Shrinking of holes for the slow computation, as lines along their edges are allowed, meters.
const SMALLER: f64 = 0.02;

/// Its ways may be shorter by this therefore, meters.
const SLACK: f64 = 0.1;

/// Over all lines between ends and corners that cross no hole.
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

#[test]
fn a_line_into_a_hole_ends_at_its_edge_also_where_it_passes_a_corner_closely() {
    // The second corner is 8 mm beside the line, whose way into the hole there is 6 mm deep.
    let hole: &[(f64, f64)] = &[(30.0, 30.0), (50.0, 50.008), (70.0, 55.0), (70.0, 30.0)];
    let field = area(&[(0.0, 0.0), (100.0, 0.0), (100.0, 100.0), (0.0, 100.0)], &[hole]);
    let place = |east, north| field.place(at(east, north)).unwrap();
    let (from, to) = (place(10.0, 50.0), place(90.0, 50.0));
    let holes = Boundary::of_holes(&field);
    let rings: Vec<Polygon<f64>> = field
        .polygon()
        .interiors()
        .iter()
        .map(|ring| Polygon::new(ring.clone(), Vec::new()))
        .collect();
    let allowed = holes.allowed(from, to);
    assert_eq!(allowed.len(), 2, "{allowed:?}");
    for end in allowed.iter().flat_map(|(begin, end)| [*begin, *end]) {
        let place = ::geo::Point::from(from + (to - from) * end);
        let edge = ::geo::Distance::distance(&::geo::Euclidean, &place, rings[0].exterior());
        assert!(!rings[0].intersects(&place) || edge < 1e-4, "{edge} m inside");
    }
}

#[test]
fn a_way_leads_out_of_the_side_of_a_hole_though_it_begins_a_little_inside() {
    let hole: &[(f64, f64)] = &[(40.0, 10.0), (40.0, 40.0), (70.0, 25.0)];
    let field = area(&[(0.0, 0.0), (100.0, 0.0), (100.0, 50.0), (0.0, 50.0)], &[hole]);
    let ways = way::Ways::around_holes(&field);
    let place = |east, north| field.place(at(east, north)).unwrap();
    for inside in [0.0, 0.003, 0.006, 0.009] {
        for north in [12.0, 20.0, 25.0, 30.0, 38.0] {
            let (from, to) = (place(40.0 + inside, north), place(90.0, 25.0));
            let exact = slow_length(&field, place(40.0, north), to).unwrap();
            let length = ways.length(from, to);
            assert!(
                length.is_some_and(|length| (length - exact).abs() < SLACK),
                "{inside} m inside: {length:?} m, not {exact} m"
            );
            let all = way::from::WaysFrom::new(&ways, from).length(to);
            assert!(
                all.is_some_and(|length| (length - exact).abs() < SLACK),
                "{inside} m inside: {all:?} m, not {exact} m"
            );
        }
    }
}

#[test]
fn a_way_along_a_row_of_corners_turns_at_the_first_and_the_last_only() {
    let walls: Vec<Vec<(f64, f64)>> = (0..30)
        .map(|number| 20.0 + 2.0 * f64::from(number))
        .map(|east| vec![(east, 1.0), (east + 1.0, 1.0), (east + 1.0, 40.0), (east, 40.0)])
        .collect();
    let walls: Vec<&[(f64, f64)]> = walls.iter().map(Vec::as_slice).collect();
    let field = area(&[(0.0, 0.0), (100.0, 0.0), (100.0, 100.0), (0.0, 100.0)], &walls);
    let place = |east, north| field.place(at(east, north)).unwrap();
    let (from, to) = (place(10.0, 38.0), place(90.0, 38.0));
    let ways = way::Ways::around_holes(&field);
    assert_eq!(ways.shortest(from, to).unwrap().len(), 4);
    let (length, exact) = (ways.length(from, to).unwrap(), slow_length(&field, from, to).unwrap());
    assert!((length - exact).abs() < SLACK, "{length} m, not {exact} m");
}

#[test]
fn between_two_walls_nearly_all_corners_of_other_walls_are_hidden() {
    let walls: Vec<Vec<(f64, f64)>> = (0..30)
        .map(|number| 20.0 + 2.0 * f64::from(number))
        .map(|east| vec![(east, 1.0), (east + 1.0, 1.0), (east + 1.0, 40.0), (east, 40.0)])
        .collect();
    let walls: Vec<&[(f64, f64)]> = walls.iter().map(Vec::as_slice).collect();
    let field = area(&[(0.0, 0.0), (100.0, 0.0), (100.0, 100.0), (0.0, 100.0)], &walls);
    let ways = way::Ways::around_holes(&field);
    let horizon = ways.horizon(field.place(at(41.5, 20.0)).unwrap()).unwrap();
    let corners = field
        .polygon()
        .interiors()
        .iter()
        .flat_map(|ring| ring.0.iter().skip(1));
    let left = corners.filter(|corner| !horizon.hides(**corner)).count();
    assert!((4..=12).contains(&left), "{left}");
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
    fn a_way_leads_from_each_place_so_near_to_a_corner_that_it_counts_as_outside(
        area in fields(), by in ((-0.0035..0.0035_f64), (-0.0035..0.0035_f64)), to in ((-300.0..300.0_f64), (-300.0..300.0_f64)),
    ) {
        let ways = way::Ways::around_holes(&area);
        let to = Coord { x: to.0, y: to.1 };
        prop_assume!(ways.allows(to));
        let rings = area.polygon().interiors().iter();
        for corner in rings.flat_map(|ring| ring.0.iter().skip(1)) {
            let from = *corner + Coord { x: by.0, y: by.1 };
            prop_assert!(ways.allows(from));
            let (there, back) = (ways.length(from, to), ways.length(to, from));
            let exact = slow_length(&area, *corner, to).unwrap();
            for length in [there, back] {
                prop_assert!(length.is_some_and(|length| (length - exact).abs() < SLACK), "{length:?} m, not {exact} m");
            }
            let all = way::from::WaysFrom::new(&ways, from).length(to);
            prop_assert!(all.is_some_and(|length| (length - exact).abs() < SLACK), "{all:?} m, not {exact} m");
        }
    }

    #[test]
    fn a_place_is_outside_exactly_if_an_even_number_of_all_edges_lies_east_of_it(
        radii in prop::collection::vec(20.0..300.0_f64, 8..300), places in prop::collection::vec((-310.0..310.0_f64, -310.0..310.0_f64), 50),
    ) {
        let area = area(&star((0.0, 0.0), &radii), &[]);
        let outline = Boundary::of_area(&area);
        let edges: Vec<Line<f64>> = area.polygon().exterior().lines().collect();
        let beside = edges.iter().zip(&places).map(|(edge, (x, _))| Coord { x: *x, y: edge.start.y });
        for place in places.iter().map(|(x, y)| Coord { x: *x, y: *y }).chain(beside) {
            let east = edges.iter().filter(|edge| {
                let (start, end) = (edge.start - place, edge.end - place);
                (start.y > 0.0) != (end.y > 0.0) && start.x + (end.x - start.x) * (start.y / (start.y - end.y)) > 0.0
            });
            prop_assert_eq!(outline.is_forbidden(place), east.count() % 2 == 0, "{:?}", place);
        }
    }

    #[test]
    fn what_is_hidden_for_certain_lies_behind_a_hole(
        area in fields(), from in ((-300.0..300.0_f64), (-300.0..300.0_f64)),
    ) {
        let ways = way::Ways::around_holes(&area);
        let holes = area.polygon().interiors().iter().map(|ring| Polygon::new(ring.clone(), Vec::new()));
        let holes: Vec<Polygon<f64>> = holes.collect();
        let starts = area.polygon().interiors().iter().flat_map(|ring| ring.0.iter().copied());
        for from in starts.chain([Coord { x: from.0, y: from.1 }]).filter(|from| ways.allows(*from)) {
            let horizon = ways.horizon(from).unwrap();
            for to in places(&area).into_iter().filter(|to| horizon.hides(*to)) {
                let line = Line::new(from, to);
                prop_assert!(holes.iter().any(|hole| hole.intersects(&line)), "{to:?} from {from:?}");
            }
        }
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

pub(super) fn point(at: Coord<f64>) -> Point {
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
