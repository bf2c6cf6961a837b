//! Shapes of Geofences, on the plane of the runs, without what `fleet` computes.

use crate::vehicle::Spot;
use serde_json::Value;

#[derive(Clone, Debug, PartialEq)]
pub enum Outline {
    /// Center, and radius in meters.
    Circle(Spot, f64),
    Polygon(Vec<Spot>),
}

fn place(point: &Value) -> Option<Spot> {
    let (latitude, longitude) = (point["latitudeDegrees"].as_f64()?, point["longitudeDegrees"].as_f64()?);
    Some(Spot::at_degrees(latitude, longitude))
}

impl Outline {
    pub fn of(area: &Value) -> Option<Self> {
        let circle = &area["circle"];
        match area["polygon"].as_array() {
            Some(corners) => corners
                .iter()
                .map(place)
                .collect::<Option<Vec<Spot>>>()
                .map(Self::Polygon),
            None => Some(Self::Circle(
                place(&circle["center"])?,
                circle["radiusMeters"].as_f64()?,
            )),
        }
    }

    /// Meters over ground from the edge; negative: outside.
    pub fn depth(&self, at: Spot) -> f64 {
        match self {
            Self::Circle(center, radius) => radius - center.over_ground(at),
            Self::Polygon(corners) => {
                let next = corners.iter().cycle().skip(1);
                let edges: Vec<(Spot, Spot)> = corners.iter().copied().zip(next.copied()).collect();
                let crossed = edges
                    .iter()
                    .filter(|(one, other)| lies_west_of(at, *one, *other))
                    .count();
                let edge = edges.iter().map(|(one, other)| from_edge(at, *one, *other));
                let edge = edge.fold(f64::INFINITY, f64::min);
                if crossed % 2 == 1 { edge } else { -edge }
            }
        }
    }
}

/// Whether a line to the east from the place crosses the edge.
fn lies_west_of(at: Spot, one: Spot, other: Spot) -> bool {
    let spans = (one.north > at.north) != (other.north > at.north);
    spans && at.east < one.east + (at.north - one.north) / (other.north - one.north) * (other.east - one.east)
}

/// Meters over ground.
fn from_edge(at: Spot, one: Spot, other: Spot) -> f64 {
    let (east, north) = (other.east - one.east, other.north - one.north);
    let squared = east * east + north * north;
    let along = match squared > 0.0 {
        true => ((at.east - one.east) * east + (at.north - one.north) * north) / squared,
        false => 0.0,
    };
    let along = along.clamp(0.0, 1.0);
    at.over_ground(Spot {
        east: one.east + along * east,
        north: one.north + along * north,
        up: 0.0,
    })
}

pub fn depths_are_right() {
    let ground = |east: f64, north: f64| Spot { east, north, up: 0.0 };
    let square = Outline::Polygon(vec![
        ground(-10.0, -10.0),
        ground(10.0, -10.0),
        ground(10.0, 10.0),
        ground(-10.0, 10.0),
    ]);
    let circle = Outline::Circle(ground(0.0, 0.0), 10.0);
    for (outline, at, depth) in [
        (&square, ground(0.0, 0.0), 10.0),
        (&square, ground(7.0, 0.0), 3.0),
        (&square, ground(0.0, -14.0), -4.0),
        (&square, ground(13.0, 14.0), -5.0),
        (&circle, ground(6.0, 0.0), 4.0),
        (&circle, ground(0.0, 12.0), -2.0),
    ] {
        let is = outline.depth(at);
        assert!((is - depth).abs() < 1e-9, "{at:?} in {outline:?}: {is}, not {depth}");
    }
    let far = ground(40.0, -25.0);
    let (latitude_degrees, longitude_degrees) = far.degrees();
    let back = Spot::at_degrees(latitude_degrees, longitude_degrees);
    assert!(back.over_ground(far) < 0.01, "{back:?} is not {far:?}");
}
