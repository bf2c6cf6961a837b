//! Validity of one wanted shape, and the depth of a place inside of it.

use ::geo::algorithm::Validation;
use ::geo::{Coord, LineString, Polygon};
use model::geo::{HIGHEST_LATITUDE, offset, position};
use model::rules::Outline;
use model::units::Wgs84;

const MAX_VERTICES: usize = 255;

const RADIUS_LIMITS_M: (f64, f64) = (5.0, 20_000.0);

/// Least distance of a circle from the 180th meridian, in radii: its polygon may be larger than the circle.
const MERIDIAN_DISTANCE_RADII: f64 = 1.1;

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BadShape {
    #[error("latitude {latitude_deg}, longitude {longitude_deg} is no position; give degrees, north and east positive")]
    Position { latitude_deg: f64, longitude_deg: f64 },
    #[error(
        "latitude {0} is too near to a pole; Skein draws fences between -{HIGHEST_LATITUDE} and {HIGHEST_LATITUDE} degrees"
    )]
    Polar(f64),
    /// Autopilots take latitude and longitude as a plane.
    #[error("it crosses the 180th meridian, over which autopilots draw no fence; let it end there")]
    Antimeridian,
    #[error(
        "a polygon has from 3 to {MAX_VERTICES} vertices, and this one has {0}; give it so many, the last not equal to the first"
    )]
    Vertices(usize),
    #[error(
        "its edges cross or touch one another, so it is unclear what is inside; give the vertices in their order around the area, each once"
    )]
    Crosses,
    #[error("the radius is {0} m; give one from {from} to {to} m", from = RADIUS_LIMITS_M.0, to = RADIUS_LIMITS_M.1)]
    Radius(f64),
}

/// 10⁻⁷ degrees: a centimeter.
pub fn on_grid(at: Wgs84) -> Wgs84 {
    let snap = |degrees: f64| (degrees * 1e7).round() / 1e7;
    Wgs84 {
        latitude_deg: snap(at.latitude_deg),
        longitude_deg: snap(at.longitude_deg),
    }
}

/// # Errors
/// [`BadShape`].
pub fn check(outline: &Outline) -> Result<(), BadShape> {
    match outline {
        Outline::Polygon(vertices) => polygon(vertices),
        Outline::Circle { center, radius } => {
            place(*center)?;
            // NaN is in no range.
            if !(RADIUS_LIMITS_M.0..=RADIUS_LIMITS_M.1).contains(&radius.0) {
                return Err(BadShape::Radius(radius.0));
            }
            let (east, _) = offset(
                *center,
                Wgs84 {
                    longitude_deg: 180.0_f64.copysign(center.longitude_deg),
                    ..*center
                },
            );
            if east.abs() <= radius.0 * MERIDIAN_DISTANCE_RADII {
                return Err(BadShape::Antimeridian);
            }
            Ok(())
        }
    }
}

fn place(at: Wgs84) -> Result<(), BadShape> {
    let Ok(at) = position(at) else {
        return Err(BadShape::Position {
            latitude_deg: at.latitude_deg,
            longitude_deg: at.longitude_deg,
        });
    };
    let polar = at.latitude_deg.abs() > HIGHEST_LATITUDE;
    if polar {
        Err(BadShape::Polar(at.latitude_deg))
    } else {
        Ok(())
    }
}

fn polygon(vertices: &[Wgs84]) -> Result<(), BadShape> {
    if !(3..=MAX_VERTICES).contains(&vertices.len()) {
        return Err(BadShape::Vertices(vertices.len()));
    }
    vertices.iter().try_for_each(|&at| place(at))?;
    let longitudes = || vertices.iter().map(|at| at.longitude_deg);
    let west = longitudes().fold(f64::INFINITY, f64::min);
    let east = longitudes().fold(f64::NEG_INFINITY, f64::max);
    if east - west > 180.0 {
        return Err(BadShape::Antimeridian);
    }
    // In the plane of the wire, in which whole numbers are exact.
    let grid = vertices.iter().map(|&at| {
        let at = on_grid(at);
        Coord {
            x: ((at.longitude_deg - west) * 1e7).round(),
            y: (at.latitude_deg * 1e7).round(),
        }
    });
    let ring: Vec<Coord> = grid.collect();
    let area = ::geo::Area::unsigned_area(&Polygon::new(LineString::from(ring.clone()), vec![]));
    let repeats = (0..ring.len()).any(|i| ring.get(i) == ring.get((i + 1) % ring.len()));
    if area <= 0.0 || repeats || !Polygon::new(LineString::from(ring), vec![]).is_valid() {
        return Err(BadShape::Crosses);
    }
    Ok(())
}

/// Meters; negative: outside.
pub fn depth(outline: &Outline, at: Wgs84) -> f64 {
    match outline {
        Outline::Circle { center, radius } => {
            // Halfway the plane is true for both.
            let middle = Wgs84 {
                latitude_deg: f64::midpoint(center.latitude_deg, at.latitude_deg),
                ..*center
            };
            let (from, to) = (offset(middle, *center), offset(middle, at));
            radius.0 - (to.0 - from.0).hypot(to.1 - from.1)
        }
        Outline::Polygon(vertices) => {
            let points: Vec<(f64, f64)> = vertices.iter().map(|&vertex| offset(at, vertex)).collect();
            depth_of_origin(&points)
        }
    }
}

/// From the straight line between the two others, meters.
pub(super) fn distance(place: Wgs84, from: Wgs84, to: Wgs84) -> f64 {
    to_line(offset(place, from), offset(place, to))
}

fn to_line((ax, ay): (f64, f64), (bx, by): (f64, f64)) -> f64 {
    let (dx, dy) = (bx - ax, by - ay);
    let along = if dx == 0.0 && dy == 0.0 {
        0.0
    } else {
        (-(ax * dx + ay * dy) / (dx * dx + dy * dy)).clamp(0.0, 1.0)
    };
    (ax + along * dx).hypot(ay + along * dy)
}

/// Whether the lines from `a` to `b` and from `c` to `d` cross or touch.
pub(super) fn cross(a: Wgs84, b: Wgs84, c: Wgs84, d: Wgs84) -> bool {
    let point = |at: Wgs84| {
        let (x, y) = offset(a, at);
        Coord { x, y }
    };
    let line = |one, other| ::geo::Line::new(point(one), point(other));
    ::geo::Intersects::intersects(&line(a, b), &line(c, d))
}

pub(super) fn depth_of_origin(ring: &[(f64, f64)]) -> f64 {
    let (mut inside, mut nearest) = (false, f64::INFINITY);
    let next = ring.iter().skip(1).chain(ring.first());
    for (&(ax, ay), &(bx, by)) in ring.iter().zip(next) {
        if (ay > 0.0) != (by > 0.0) && ax + (bx - ax) * (-ay / (by - ay)) > 0.0 {
            inside = !inside;
        }
        nearest = nearest.min(to_line((ax, ay), (bx, by)));
    }
    if inside { nearest } else { -nearest }
}
