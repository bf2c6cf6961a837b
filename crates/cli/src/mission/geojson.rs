//! What would be flown, as GeoJSON (RFC 7946).
//!
//! | `properties.kind` | geometry | is |
//! |---|---|---|
//! | `area` | Polygon | the area of a survey, with its holes |
//! | `start` | Point | where a vehicle takes off |
//! | `share` | LineString | all that one vehicle flies, from start to start |
//! | `work` | MultiLineString | the part of it that is work |
//!
//! Positions are longitude, latitude, and height in meters from the reference that `properties.altitude` names.

use fleet::planning::mission::{Flier, Leg, Plan, Point, Work};
use model::station::Altitude;
use serde_json::{Value, json};

pub(super) fn of(work: &Work, plan: &Plan, fliers: &[Flier]) -> Value {
    let mut features = Vec::new();
    if let Some(area) = work.area() {
        let ring = |ring: &[(f64, f64)]| -> Value {
            ring.iter()
                .map(|(longitude, latitude)| json!([longitude, latitude]))
                .collect()
        };
        let rings: Vec<Value> = area.rings().iter().map(|corners| ring(corners)).collect();
        features.push(feature(
            json!({"kind": "area", "squareMeters": area.square_meters()}),
            "Polygon",
            &json!(rings),
        ));
    }
    for (number, flier) in fliers.iter().enumerate() {
        let at = json!([flier.start.longitude_deg, flier.start.latitude_deg]);
        features.push(feature(json!({"kind": "start", "vehicle": number + 1}), "Point", &at));
    }
    for share in &plan.shares {
        let vehicle = share.flier + 1;
        let altitude = share.path.first().map_or("", |point| match point.altitude {
            Altitude::AboveHome(_) => "above home",
            Altitude::Amsl(_) => "above mean sea level",
        });
        let path: Vec<Value> = share.path.iter().map(|point| position(work, point)).collect();
        let about = json!({
            "kind": "share",
            "vehicle": vehicle,
            "seconds": share.time.as_secs(),
            "meters": share.meters().round(),
            "workMeters": share.work_meters().round(),
            "altitude": altitude,
        });
        features.push(feature(about, "LineString", &json!(path)));
        let about = json!({"kind": "work", "vehicle": vehicle, "altitude": altitude});
        features.push(feature(about, "MultiLineString", &json!(lines(work, &share.path))));
    }
    json!({"type": "FeatureCollection", "features": features})
}

/// The parts of a path that are work.
fn lines(work: &Work, path: &[Point]) -> Vec<Vec<Value>> {
    let mut lines: Vec<Vec<Value>> = Vec::new();
    let mut goes_on = false;
    for pair in path.windows(2) {
        let [before, point] = pair else { continue };
        if point.leg == Leg::Work {
            match lines.last_mut() {
                Some(line) if goes_on => line.push(position(work, point)),
                _ => lines.push(vec![position(work, before), position(work, point)]),
            }
        }
        goes_on = point.leg == Leg::Work;
    }
    lines
}

fn position(work: &Work, point: &Point) -> Value {
    let at = work.position(point.at);
    let height = match point.altitude {
        Altitude::AboveHome(height) => height.0,
        Altitude::Amsl(height) => height.0,
    };
    json!([at.longitude_deg, at.latitude_deg, height])
}

fn feature(properties: Value, kind: &str, coordinates: &Value) -> Value {
    json!({
        "type": "Feature",
        "properties": properties,
        "geometry": {"type": kind, "coordinates": coordinates},
    })
}
