//! Random edits of Swarms, Geofences and ParameterProfiles, as patches of their specs, and the patches that undo them.

use super::failsafe;
use crate::vehicle::Spot;
use crate::world::gate::corner;
use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::{Value, json};
use std::ops::Range;

/// A field around all that is flown, meters east and north: from and to.
const AROUND: ([f64; 2], [f64; 2]) = ([-150.0, 190.0], [-190.0, 190.0]);
/// The northern edge of a smaller field, which a part of the work may lie beyond.
const EDGE: Range<f64> = 70.0..115.0;
/// Ceilings, meters above home: some work is higher.
const CEILING: Range<f64> = 45.0..115.0;
/// All vehicles fly above these floors.
const FLOOR: Range<f64> = 1.0..2.0;
const ASIDE: Spot = Spot {
    east: 150.0,
    north: 150.0,
    up: 0.0,
};
/// The clock of the coordinators stands still between these times.
const PAST: &str = "1969-12-31T00:00:00Z";
const FUTURE: &str = "2199-01-01T00:00:00Z";
/// Meters.
const SPACING: Range<f64> = 12.0..25.0;
/// Altitude of an anchor, meters.
const HEIGHT: Range<f64> = 14.0..45.0;
const SLOTS: u32 = 2;

const HERE: [&str; 5] = ["mission", "post", "swarm", "none", "lent"];

#[derive(Clone, Debug, PartialEq)]
pub struct Edit {
    pub spec: Value,
    /// Undoes it after a while; `Null`: it stays.
    pub back: Value,
}

pub type Draw = fn(&mut StdRng) -> Edit;

pub const OF_KINDS: [(&str, &[Draw]); 3] = [
    ("Swarm", &[of_swarm]),
    ("Geofence", &[of_field, of_hole]),
    ("ParameterProfile", &[of_applied, of_reported]),
];

fn stays(spec: Value) -> Edit {
    Edit {
        spec,
        back: Value::Null,
    }
}

fn for_a_while(spec: Value, back: Value) -> Edit {
    Edit { spec, back }
}

fn rounded(rng: &mut StdRng, range: Range<f64>) -> f64 {
    (rng.random_range(range) * 10.0).round() / 10.0
}

fn text(rng: &mut StdRng, range: Range<f64>) -> String {
    rounded(rng, range).to_string()
}

pub fn of_all_here() -> Value {
    json!({"matchLabels": null, "matchExpressions": [among(&HERE)]})
}

pub fn all_here() -> Value {
    json!({"matchExpressions": [among(&HERE)]})
}

fn among(kinds: &[&str]) -> Value {
    json!({"key": "kind", "operator": "In", "values": kinds})
}

/// A rectangle around all that is flown up to this edge in the north, meters.
pub fn field_to(north: f64) -> Value {
    let (east, south) = (AROUND.0, AROUND.1[0]);
    let corners = [
        corner(east[0], south),
        corner(east[1], south),
        corner(east[1], north),
        corner(east[0], north),
    ];
    json!([{"polygon": corners}])
}

pub fn field() -> Value {
    field_to(AROUND.1[1])
}

fn selector(rng: &mut StdRng) -> Edit {
    let spec = match rng.random_range(0..3) {
        0 => json!({"matchLabels": {"kind": "mission"}, "matchExpressions": null}),
        1 => json!({"matchLabels": {"kind": "post"}, "matchExpressions": null}),
        _ => json!({"matchExpressions": [among(&["mission", "swarm"])]}),
    };
    let back = json!({"matchLabels": {"kind": null}, "matchExpressions": [among(&HERE)]});
    for_a_while(json!({"vehicleSelector": spec}), json!({"vehicleSelector": back}))
}

pub fn of_field(rng: &mut StdRng) -> Edit {
    match rng.random_range(0..9) {
        0 => selector(rng),
        1 | 2 => for_a_while(
            json!({"include": field_to(rng.random_range(EDGE))}),
            json!({"include": field()}),
        ),
        3 => for_a_while(
            json!({"ceilingMeters": rounded(rng, CEILING)}),
            json!({"ceilingMeters": null}),
        ),
        // PX4 has none: the status says that, and its previous fence stays.
        4 => for_a_while(
            json!({"floorMeters": rounded(rng, FLOOR), "breach": "Warn"}),
            json!({"floorMeters": null, "breach": "Return"}),
        ),
        5 => stays(json!({"breach": (["Warn", "Hold", "Return"][rng.random_range(0..3)])})),
        6 => for_a_while(json!({"windows": [{"until": PAST}]}), json!({"windows": null})),
        7 => stays(json!({"windows": [{"from": PAST, "until": FUTURE}]})),
        _ => {
            let (latitude, longitude) = ASIDE.degrees();
            let center = json!({"latitudeDegrees": latitude, "longitudeDegrees": longitude});
            let circle = json!({"circle": {"center": center, "radiusMeters": rounded(rng, 5.0..20.0)}});
            for_a_while(json!({"exclude": [circle]}), json!({"exclude": null}))
        }
    }
}

pub fn of_hole(rng: &mut StdRng) -> Edit {
    match rng.random_range(0..2) {
        0 => selector(rng),
        _ => stays(json!({"breach": (["Warn", "Hold", "Return"][rng.random_range(0..3)])})),
    }
}

pub fn of_applied(rng: &mut StdRng) -> Edit {
    let setting = |name: &str, value: String| stays(json!({"settings": {name: value}}));
    match rng.random_range(0..13) {
        0 => selector(rng),
        1 => stays(json!({"precedence": rng.random_range(-5..=5)})),
        2 => for_a_while(json!({"enforce": "Report"}), json!({"enforce": "Apply"})),
        3 => stays(json!({"reboot": (["Never", "WhenIdle"][rng.random_range(0..2)])})),
        4 => stays(json!({"maxUnavailable": rng.random_range(1..=5)})),
        5 => setting("returnAltitudeMeters", text(rng, 15.0..45.0)),
        6 => setting("waypointRadiusMeters", text(rng, 1.0..2.0)),
        7 => setting("waypointSpeedMetersPerSecond", text(rng, 4.0..8.0)),
        8 => setting("climbSpeedMetersPerSecond", text(rng, 1.5..3.0)),
        9 => setting("descentSpeedMetersPerSecond", text(rng, 1.0..1.5)),
        10 => setting("landingSpeedMetersPerSecond", text(rng, 0.5..0.8)),
        11 => stays(json!({"ardupilot": {"RTL_LOIT_TIME": rng.random_range(1000..6000).to_string()}})),
        _ => stays(json!({"px4": {"RTL_DESCEND_ALT": rng.random_range(8..30).to_string()}})),
    }
}

/// The profile is only reported: applied, it would have autopilots return by themselves.
pub fn of_reported(rng: &mut StdRng) -> Edit {
    let action = ["Return", "Land"][rng.random_range(0..2)];
    match rng.random_range(0..4) {
        0 => stays(json!({"settings": {"groundStationLossSeconds": rng.random_range(5..60).to_string()}})),
        1 => stays(json!({"settings": {"onGroundStationLoss": action}})),
        2 => stays(json!({"settings": {"onLowBattery": action}})),
        _ => stays(json!({"settings": {"onRemoteControlLoss": action}})),
    }
}

pub fn of_swarm(rng: &mut StdRng) -> Edit {
    let spare = json!({"nodeSelector": {"spare": "yes"}});
    let none = json!({"nodeSelector": {"spare": null}});
    match rng.random_range(0..16) {
        0 => stays(json!({"replicas": rng.random_range(0..=SLOTS)})),
        1 => for_a_while(spare, none),
        2 => for_a_while(
            json!({"template": {"spec": spare}}),
            json!({"template": {"spec": none}}),
        ),
        3 => {
            let note = rng.random_range(0..100).to_string();
            stays(json!({"template": {"metadata": {"labels": {"trial": note}, "annotations": {"trial": note}}}}))
        }
        4 => stays(json!({"template": {"spec": {"takeoffAltitudeMeters": rounded(rng, 5.0..30.0)}}})),
        5 => stays(json!({"template": {"spec": {"failsafe": failsafe(rng)}}})),
        6..=9 => stays(json!({"formation": formation(rng)})),
        10 => for_a_while(json!({"grounded": true}), json!({"grounded": false})),
        11 => stays(json!({"maxSurge": rng.random_range(0..=1), "maxUnavailable": rng.random_range(1..=2)})),
        12 => stays(json!({"onCordon": (["Continue", "Land"][rng.random_range(0..2)])})),
        13 => stays(json!({"replaceLostAfterSeconds": rng.random_range(60..600)})),
        14 => stays(json!({"rotateAtPercent": rng.random_range(25..60)})),
        _ => stays(json!({"takeoffIntervalSeconds": rng.random_range(0..20)})),
    }
}

/// Any shape; unused fields are null, as it may have been another.
pub fn formation(rng: &mut StdRng) -> Value {
    let middle = Spot {
        east: rounded(rng, -30.0..80.0),
        north: rounded(rng, -90.0..70.0),
        up: rounded(rng, HEIGHT),
    };
    let spacing = rounded(rng, SPACING);
    let mut formation = json!({
        "shape": "Line", "points": null, "columns": null, "halfAngleDegrees": null,
        "anchor": place(middle),
        "headingDegrees": f64::from(rng.random_range(0..360)),
        "spacingMeters": spacing,
        "altitudeStepMeters": rounded(rng, -5.0..5.0),
        "toleranceMeters": rounded(rng, 2.0..15.0),
    });
    let shape = match rng.random_range(0..6) {
        0 => {
            let beside = Spot {
                east: middle.east + spacing,
                ..middle
            };
            formation["points"] = json!([place(middle), place(beside)]);
            "Points"
        }
        1 => "Line",
        2 => "Column",
        3 => {
            formation["columns"] = json!(rng.random_range(1..=2));
            "Grid"
        }
        4 => "Circle",
        _ => {
            formation["halfAngleDegrees"] = json!(f64::from(rng.random_range(35..80)));
            "Vee"
        }
    };
    formation["shape"] = json!(shape);
    formation
}

pub fn formation_at(places: &[Spot]) -> Value {
    let points: Vec<Value> = places.iter().map(|spot| place(*spot)).collect();
    json!({"shape": "Points", "points": points, "columns": null, "halfAngleDegrees": null, "toleranceMeters": null})
}

fn place(spot: Spot) -> Value {
    let mut place = corner(spot.east, spot.north);
    place["altitudeMeters"] = json!(spot.up);
    place
}
