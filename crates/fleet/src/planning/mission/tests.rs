//! What planning promises, for thousands of random areas, and what it refuses.

mod areas;
mod cuts;
mod effort;
mod items;
mod refused;
mod shares;
mod ways;
mod written;

use super::*;
use ::geo::Coord;
use model::geo::shifted;
use model::plan::{Action, BadRoute, Route, Waypoint};
use model::station::Altitude;
use model::units::{AltitudeAboveHome, Heading, Meters, MetersPerSecond, Wgs84};
use proptest::prelude::*;

const HERE: Wgs84 = Wgs84 {
    latitude_deg: 47.397_742,
    longitude_deg: 8.545_594,
};

fn at(east: f64, north: f64) -> Wgs84 {
    shifted(HERE, east, north)
}

fn corners(ring: &[(f64, f64)]) -> Vec<Wgs84> {
    ring.iter().map(|(east, north)| at(*east, *north)).collect()
}

fn area(outer: &[(f64, f64)], holes: &[&[(f64, f64)]]) -> Area {
    let holes: Vec<Vec<Wgs84>> = holes.iter().map(|hole| corners(hole)).collect();
    Area::new(&corners(outer), &holes).unwrap()
}

fn survey(area: Area, spacing: f64, pattern: Pattern) -> Survey {
    Survey {
        area,
        pattern,
        spacing: Spacing::Fixed(Meters(spacing)),
        altitude: Altitude::AboveHome(AltitudeAboveHome(30.0)),
        speed: MetersPerSecond(8.0),
        trigger: Some(Meters(5.0)),
    }
}

const LINES: Pattern = Pattern::Lines { heading: None };

/// A star of `radii` around a center: not convex, and never crossing itself.
fn star(center: (f64, f64), radii: &[f64]) -> Vec<(f64, f64)> {
    let count = radii.len() as f64;
    let corner = |(index, radius): (usize, &f64)| {
        let angle = index as f64 / count * std::f64::consts::TAU;
        (center.0 + radius * angle.cos(), center.1 + radius * angle.sin())
    };
    radii.iter().enumerate().map(corner).collect()
}

prop_compose! {
    /// Up to some 600 m across, not convex, with up to three holes that do not touch.
    fn fields()(
        outer in prop::collection::vec(100.0..300.0_f64, 3..14),
        holes in prop::collection::vec(prop::collection::vec(4.0..20.0_f64, 3..8), 0..4),
    ) -> Area {
        let least = outer.iter().copied().fold(f64::INFINITY, f64::min);
        let inner = least * (std::f64::consts::PI / outer.len() as f64).cos();
        let placed: Vec<Vec<Wgs84>> = holes
            .iter()
            .enumerate()
            .map(|(index, radii)| {
                let angle = index as f64 * 2.1;
                let away = inner * 0.55;
                let scale = (inner * 0.4 / 20.0).min(2.0);
                let radii: Vec<f64> = radii.iter().map(|radius| radius * scale).collect();
                corners(&star((away * angle.cos(), away * angle.sin()), &radii))
            })
            .collect();
        let outer = corners(&star((0.0, 0.0), &outer));
        Area::new(&outer, &placed).or_else(|_| Area::new(&outer, &[])).unwrap()
    }
}

fn patterns() -> impl Strategy<Value = Pattern> {
    prop_oneof![
        2 => Just(LINES),
        3 => (0.0..360.0_f64).prop_map(|heading| Pattern::Lines { heading: Some(Heading(heading)) }),
        1 => (0.0..360.0_f64).prop_map(|heading| Pattern::ExpandingSquare { center: None, heading: Heading(heading) }),
    ]
}

/// Distance to work on `path`, computed without the tested code.
fn from_work(place: Coord<f64>, path: &[Point]) -> f64 {
    let mut least = f64::INFINITY;
    for pair in path.windows(2) {
        if pair[1].leg == Leg::Work {
            let line = ::geo::Line::new(pair[0].at, pair[1].at);
            least = least.min(::geo::Distance::distance(
                &::geo::Euclidean,
                &::geo::Point::from(place),
                &line,
            ));
        }
    }
    least
}

/// Meters of `path` that are more than a centimeter inside of a hole.
fn in_holes(area: &Area, path: &[Point]) -> f64 {
    use ::geo::{Distance as _, Euclidean, Intersects as _, Point as Place};
    let holes = area
        .polygon()
        .interiors()
        .iter()
        .map(|ring| ::geo::Polygon::new(ring.clone(), Vec::new()));
    let holes: Vec<::geo::Polygon<f64>> = holes.collect();
    let mut inside = 0.0;
    for pair in path.windows(2) {
        let (a, b) = (pair[0].at, pair[1].at);
        let length = (b.x - a.x).hypot(b.y - a.y);
        let steps = length.ceil().max(1.0);
        for step in 0..=steps as u32 {
            let place = Place::from(a + (b - a) * (f64::from(step) / steps));
            let is_inside = |hole: &&::geo::Polygon<f64>| {
                hole.intersects(&place) && Euclidean.distance(&place, hole.exterior()) > 0.01
            };
            inside += if holes.iter().any(|hole| is_inside(&hole)) {
                length / steps
            } else {
                0.0
            };
        }
    }
    inside
}

fn places(area: &Area) -> Vec<Coord<f64>> {
    use ::geo::{BoundingRect as _, CoordsIter as _, Intersects as _};
    let bounds = area.polygon().bounding_rect().unwrap();
    let grid = (0..25).flat_map(|x| (0..25).map(move |y| (f64::from(x) / 24.0, f64::from(y) / 24.0)));
    let grid = grid.map(|(x, y)| Coord {
        x: bounds.min().x + x * bounds.width(),
        y: bounds.min().y + y * bounds.height(),
    });
    let inside = grid.filter(|place| area.polygon().intersects(place));
    inside.chain(area.polygon().coords_iter()).collect()
}
