//! What a hostile namespace asks for: Missions that take as long to plan as any that the CRD allows.

use serde_json::{Value, json};

pub const HOSTILE_MISSIONS: u32 = 40;

/// With the square around it, these are the 500 corners that an area may have.
const TEETH: u32 = 124;

/// About as many lines as a survey of that area may have.
const SPACING_METERS: f64 = 28.0;

/// The spec of a Mission; those of different numbers are planned each for itself.
pub fn slow_to_plan(number: u32) -> Value {
    let spacing = SPACING_METERS + f64::from(number) * 0.001;
    json!({"survey": comb(TEETH, spacing), "parallelism": 100})
}

fn comb(teeth: u32, spacing: f64) -> Value {
    let corner = |east: f64, north: f64| json!({"latitudeDegrees": 47.1 + north / 111_000.0, "longitudeDegrees": 8.0 + east / 76_000.0});
    let square = [(0.0, 0.0), (1000.0, 0.0), (1000.0, 1000.0), (0.0, 1000.0)];
    let pitch = 800.0 / f64::from(teeth);
    let tooth = |number: u32| {
        let left = 100.0 + f64::from(number) * pitch;
        let right = left + 0.6 * pitch;
        [(right, 150.0), (right, 900.0), (left, 900.0), (left, 150.0)]
    };
    let mut hole = vec![(100.0, 100.0), (900.0 - 0.4 * pitch, 100.0)];
    hole.extend((0..teeth).rev().flat_map(tooth));
    hole.remove(2);
    hole.pop();
    let ring = |corners: &[(f64, f64)]| {
        corners
            .iter()
            .map(|(east, north)| corner(*east, *north))
            .collect::<Vec<_>>()
    };
    json!({
        "area": {"polygon": ring(&square), "holes": [{"polygon": ring(&hole)}]},
        "headingDegrees": 30, "lineSpacingMeters": spacing, "altitudeMeters": 30,
    })
}
