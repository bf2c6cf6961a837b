//! A planned Mission as GeoJSON (RFC 7946).
//!
//! | `properties.kind` | geometry | is |
//! |---|---|---|
//! | `area` | Polygon | the area of a survey, with its holes |
//! | `start` | Point | where a vehicle takes off |
//! | `share` | LineString | all that one vehicle flies, from start to start |
//! | `work` | MultiLineString | the part of it that is work |
//!
//! Positions are longitude, latitude, and altitude in meters from the reference that `properties.altitude` names.
//! Shapes across the 180th meridian are cut there (section 3.1.9) and become a MultiPolygon or MultiLineString.

use fleet::planning::mission::{Flier, Leg, Plan, Point, Work};
use model::station::Altitude;
use serde_json::{Value, json};

/// Longitude and latitude, degrees, and altitude in meters.
type Position = [f64; 3];

pub(super) fn of(work: &Work, plan: &Plan, fliers: &[Flier]) -> Value {
    let mut features = Vec::new();
    if let Some(area) = work.area() {
        let about = json!({"kind": "area", "squareMeters": area.square_meters()});
        let polygons = area.polygons();
        features.push(match polygons.as_slice() {
            [polygon] => feature(about, "Polygon", &json!(polygon)),
            parts => feature(about, "MultiPolygon", &json!(parts)),
        });
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
        let path: Vec<Position> = share.path.iter().map(|point| position(work, point)).collect();
        let about = json!({
            "kind": "share",
            "vehicle": vehicle,
            "seconds": share.time.as_secs(),
            "meters": share.meters().round(),
            "workMeters": share.work_meters().round(),
            "altitude": altitude,
        });
        features.push(match cut(path).as_slice() {
            [path] => feature(about, "LineString", &json!(path)),
            parts => feature(about, "MultiLineString", &json!(parts)),
        });
        let about = json!({"kind": "work", "vehicle": vehicle, "altitude": altitude});
        let lines: Vec<Vec<Position>> = lines(work, &share.path).into_iter().flat_map(cut).collect();
        features.push(feature(about, "MultiLineString", &json!(lines)));
    }
    json!({"type": "FeatureCollection", "features": features})
}

fn lines(work: &Work, path: &[Point]) -> Vec<Vec<Position>> {
    let mut lines: Vec<Vec<Position>> = Vec::new();
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

/// Splits a line at the 180th meridian; each leg goes the shorter way around the Earth.
fn cut(line: Vec<Position>) -> Vec<Vec<Position>> {
    let crosses = |from: &Position, to: &Position| (to[0] - from[0]).abs() > 180.0;
    if !line
        .windows(2)
        .any(|leg| matches!(leg, [from, to] if crosses(from, to)))
    {
        return vec![line];
    }
    let (mut parts, mut part): (Vec<Vec<Position>>, Vec<Position>) = (Vec::new(), Vec::new());
    for to in line {
        if let Some(from) = part.last().copied().filter(|from| crosses(from, &to)) {
            let edge = 180.0_f64.copysign(from[0]);
            let whole = to[0] + 2.0 * edge - from[0];
            let share = if whole == 0.0 { 0.0 } else { (edge - from[0]) / whole };
            let between = |from: f64, to: f64| from + (to - from) * share;
            let (latitude, height) = (between(from[1], to[1]), between(from[2], to[2]));
            // A single point is no line.
            if from[0].abs() < 180.0 || part.len() == 1 {
                part.push([edge, latitude, height]);
            }
            parts.push(std::mem::take(&mut part));
            if to[0].abs() < 180.0 {
                part.push([-edge, latitude, height]);
            }
        }
        part.push(to);
    }
    if part.len() > 1 {
        parts.push(part);
    }
    parts
}

fn position(work: &Work, point: &Point) -> Position {
    let at = work.position(point.at);
    let height = match point.altitude {
        Altitude::AboveHome(height) => height.0,
        Altitude::Amsl(height) => height.0,
    };
    [at.longitude_deg, at.latitude_deg, height]
}

fn feature(properties: Value, kind: &str, coordinates: &Value) -> Value {
    json!({
        "type": "Feature",
        "properties": properties,
        "geometry": {"type": kind, "coordinates": coordinates},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_at_the_180th_meridian_and_its_parts_meet_there() {
        let here = vec![[8.5, 47.4, 30.0], [8.6, 47.4, 30.0]];
        assert_eq!(cut(here.clone()), [here]);
        let parts = cut(vec![
            [179.5, -16.0, 20.0],
            [-179.5, -17.0, 40.0],
            [-179.0, -17.0, 40.0],
            [179.0, -17.0, 40.0],
        ]);
        assert_eq!(
            parts,
            [
                vec![[179.5, -16.0, 20.0], [180.0, -16.5, 30.0]],
                vec![
                    [-180.0, -16.5, 30.0],
                    [-179.5, -17.0, 40.0],
                    [-179.0, -17.0, 40.0],
                    [-180.0, -17.0, 40.0]
                ],
                vec![[180.0, -17.0, 40.0], [179.0, -17.0, 40.0]],
            ]
        );
        // A point on the meridian belongs to both sides, by either sign.
        let met = cut(vec![
            [-180.0, 1.0, 5.0],
            [179.0, 1.0, 5.0],
            [180.0, 1.0, 5.0],
            [-179.0, 1.0, 5.0],
        ]);
        for part in &met {
            assert!(
                part.len() > 1 && part.windows(2).all(|leg| (leg[1][0] - leg[0][0]).abs() <= 180.0),
                "{met:?}"
            );
        }
        assert_eq!(cut(Vec::new()), [Vec::<Position>::new()]);
    }
}
