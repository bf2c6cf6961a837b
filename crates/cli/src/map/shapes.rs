//! Areas of objects as GeoJSON.

use super::vehicles::fine;
use crds::{geofence, mission};
use model::geo;
use model::units::Wgs84;
use serde_json::{Value, json};
use std::f64::consts::TAU;

const CORNERS_PER_CIRCLE: u32 = 64;

pub fn survey(area: &mission::Area) -> Value {
    let outer = std::iter::once(&area.polygon);
    let rings: Vec<Value> = outer
        .chain(area.holes.iter().map(|hole| &hole.polygon))
        .map(|corners| {
            ring(
                corners
                    .iter()
                    .map(|corner| (corner.latitude_degrees, corner.longitude_degrees)),
            )
        })
        .collect();
    json!({"type": "Polygon", "coordinates": rings})
}

pub fn fence(area: &geofence::Area) -> Value {
    let ring = match (&area.polygon, &area.circle) {
        (Some(corners), _) => ring(
            corners
                .iter()
                .map(|corner| (corner.latitude_degrees, corner.longitude_degrees)),
        ),
        (None, Some(circle)) => {
            let center = Wgs84 {
                latitude_deg: circle.center.latitude_degrees,
                longitude_deg: circle.center.longitude_degrees,
            };
            ring((0..CORNERS_PER_CIRCLE).map(|number| {
                let (east, north) = (f64::from(number) / f64::from(CORNERS_PER_CIRCLE) * TAU).sin_cos();
                let corner = geo::shifted(center, east * circle.radius_meters, north * circle.radius_meters);
                (corner.latitude_deg, corner.longitude_deg)
            }))
        }
        (None, None) => json!([]),
    };
    json!({"type": "Polygon", "coordinates": [ring]})
}

fn ring(corners: impl Iterator<Item = (f64, f64)>) -> Value {
    let mut ring: Vec<[f64; 2]> = corners
        .map(|(latitude, longitude)| [fine(longitude), fine(latitude)])
        .collect();
    ring.extend(ring.first().copied());
    json!(ring)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_are_closed_and_a_circle_is_as_wide_as_it_should_be() {
        let corner = |latitude_degrees, longitude_degrees| mission::Corner {
            latitude_degrees,
            longitude_degrees,
        };
        let area = mission::Area {
            polygon: vec![corner(1.0, 2.0), corner(1.0, 3.0), corner(2.0, 2.0)],
            holes: vec![],
        };
        assert_eq!(
            survey(&area)["coordinates"],
            json!([[[2.0, 1.0], [3.0, 1.0], [2.0, 2.0], [2.0, 1.0]]])
        );
        let center = geofence::Point {
            latitude_degrees: 47.0,
            longitude_degrees: 8.0,
        };
        let circle = geofence::Area {
            polygon: None,
            circle: Some(geofence::Circle {
                center,
                radius_meters: 100.0,
            }),
        };
        let drawn = fence(&circle);
        let ring = drawn["coordinates"][0].as_array().unwrap();
        assert_eq!((ring.len(), &ring[0]), (65, &ring[64]));
        let middle = Wgs84 {
            latitude_deg: 47.0,
            longitude_deg: 8.0,
        };
        for corner in ring {
            let at = Wgs84 {
                latitude_deg: corner[1].as_f64().unwrap(),
                longitude_deg: corner[0].as_f64().unwrap(),
            };
            let (east, north) = geo::offset(middle, at);
            assert!((east.hypot(north) - 100.0).abs() < 0.1);
        }
    }
}
