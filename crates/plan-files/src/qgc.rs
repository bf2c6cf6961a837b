//! QGroundControl's `.plan`: JSON, as its developer guide has it (Plan File Format).
//!
//! Owns: which parts are read and what is refused. Must not: work out a survey or a corridor again: `Items` has what is flown.

use crate::{MOST_ITEMS, NotTaken, PlanFile, home};
use model::plan::item::{FRAME_GLOBAL, FRAME_GLOBAL_INT, Item};
use model::units::{AltitudeAmsl, Wgs84};
use serde::Deserialize;
use serde_json::{Value, json};

/// Why a text is no `.plan` that can be taken.
#[derive(Debug, thiserror::Error)]
pub enum BadPlan {
    /// Broken, or a field of another kind.
    #[error("the plan cannot be read; save it again with QGroundControl")]
    Json(#[from] serde_json::Error),
    /// JSON of some other program.
    #[error("the plan has fileType {0:?}, not \"Plan\"; give a .plan file of QGroundControl")]
    FileType(String),
    /// A format of the future, or of the past.
    #[error(
        "the {part} of the plan has version {got}, and {known} is known; save it with a version of QGroundControl that writes that"
    )]
    Version {
        /// Of what.
        part: &'static str,
        /// As it says.
        got: i64,
        /// As is read here.
        known: i64,
    },
    /// Nothing to fly.
    #[error("the plan has no mission items; add some")]
    Empty,
    /// More than any vehicle flies.
    #[error("the plan has more than {MOST_ITEMS} items; divide it")]
    TooMany,
    /// Not `SimpleItem`, and nothing that has been expanded to them.
    #[error(
        "item {number} of the plan is a {kind}, which has no expanded items; make it one of simple items, a survey or a corridor scan"
    )]
    Unexpanded {
        /// From 0, in the file.
        number: usize,
        /// As the file says.
        kind: String,
    },
    /// An item that is none.
    #[error("item {number} of the plan is no mission item: {why}; save it again with QGroundControl")]
    Item {
        /// From 0, in the file.
        number: usize,
        /// What is wrong with it.
        why: String,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Plan {
    #[serde(default)]
    file_type: String,
    #[serde(default)]
    version: i64,
    mission: Option<Mission>,
    #[serde(default)]
    geo_fence: Fence,
    #[serde(default)]
    rally_points: Rally,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Mission {
    #[serde(default)]
    version: i64,
    #[serde(default)]
    items: Vec<Value>,
    #[serde(default)]
    planned_home_position: Option<Vec<Option<f64>>>,
}

#[derive(Default, Deserialize)]
struct Fence {
    #[serde(default)]
    polygons: Vec<Value>,
    #[serde(default)]
    circles: Vec<Value>,
}

#[derive(Default, Deserialize)]
struct Rally {
    #[serde(default)]
    points: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SimpleItem {
    command: u16,
    frame: u8,
    params: Vec<Option<f64>>,
    #[serde(default = "yes")]
    auto_continue: bool,
}

fn yes() -> bool {
    true
}

/// Reads a `.plan`.
///
/// # Errors
/// [`BadPlan`].
pub fn read(text: &str) -> Result<PlanFile, BadPlan> {
    let plan: Plan = serde_json::from_str(text)?;
    if plan.file_type != "Plan" {
        return Err(BadPlan::FileType(plan.file_type));
    }
    let version = |part, got, known| {
        if got == known {
            Ok(())
        } else {
            Err(BadPlan::Version { part, got, known })
        }
    };
    version("file", plan.version, 1)?;
    let mission = plan.mission.ok_or(BadPlan::Empty)?;
    version("mission", mission.version, 2)?;
    let mut items = Vec::new();
    for (number, item) in mission.items.iter().enumerate() {
        expand(number, item, &mut items)?;
        if items.len() > MOST_ITEMS {
            return Err(BadPlan::TooMany);
        }
    }
    if items.is_empty() {
        return Err(BadPlan::Empty);
    }
    let home = match mission.planned_home_position.as_deref() {
        Some([Some(latitude_deg), Some(longitude_deg), altitude]) => Some((
            Wgs84 {
                latitude_deg: *latitude_deg,
                longitude_deg: *longitude_deg,
            },
            AltitudeAmsl(altitude.unwrap_or_default()),
        )),
        _ => None,
    };
    let (polygons, circles) = (plan.geo_fence.polygons.len(), plan.geo_fence.circles.len());
    let points = plan.rally_points.points.len();
    let fence = (polygons + circles > 0).then_some(NotTaken::Geofence { polygons, circles });
    let rally = (points > 0).then_some(NotTaken::RallyPoints(points));
    Ok(PlanFile {
        items,
        home,
        not_taken: fence.into_iter().chain(rally).collect(),
    })
}

fn expand(number: usize, item: &Value, items: &mut Vec<Item>) -> Result<(), BadPlan> {
    match item.get("type").and_then(Value::as_str) {
        Some("SimpleItem") => items.push(simple(number, item)?),
        Some("ComplexItem") => {
            let expanded = item
                .pointer("/TransectStyleComplexItem/Items")
                .and_then(Value::as_array);
            let kind = item
                .get("complexItemType")
                .and_then(Value::as_str)
                .unwrap_or("ComplexItem");
            let kind = || kind.to_owned();
            let expanded = expanded.ok_or_else(|| BadPlan::Unexpanded { number, kind: kind() })?;
            for item in expanded {
                items.push(simple(number, item)?);
            }
        }
        other => {
            let why = format!("its type is {:?}", other.unwrap_or("missing"));
            return Err(BadPlan::Item { number, why });
        }
    }
    Ok(())
}

fn simple(number: usize, item: &Value) -> Result<Item, BadPlan> {
    let wrong = |why: String| BadPlan::Item { number, why };
    let item = SimpleItem::deserialize(item).map_err(|error| wrong(error.to_string()))?;
    let count = item.params.len();
    let params =
        <[Option<f64>; 7]>::try_from(item.params).map_err(|_| wrong(format!("it has {count} params, not 7")))?;
    Ok(Item {
        command: item.command,
        frame: item.frame,
        params,
        goes_on: item.auto_continue,
    })
}

/// Writes a `.plan` of simple items, for a multicopter.
#[must_use]
pub fn write(file: &PlanFile) -> String {
    let (at, height) = home(file);
    let items: Vec<Value> = file
        .items
        .iter()
        .enumerate()
        .map(|(number, item)| written(number, item))
        .collect();
    let plan = json!({
        "fileType": "Plan",
        "geoFence": {"circles": [], "polygons": [], "version": 2},
        "groundStation": "QGroundControl",
        "mission": {
            "cruiseSpeed": 15,
            // MAV_AUTOPILOT_GENERIC: for whichever.
            "firmwareType": 0,
            "globalPlanAltitudeMode": 1,
            "hoverSpeed": 5,
            "items": items,
            "plannedHomePosition": [at.latitude_deg, at.longitude_deg, height.0],
            // MAV_TYPE_QUADROTOR.
            "vehicleType": 2,
            "version": 2,
        },
        "rallyPoints": {"points": [], "version": 2},
        "version": 1,
    });
    format!("{plan:#}\n")
}

fn written(number: usize, item: &Item) -> Value {
    let mut written = json!({
        "autoContinue": item.goes_on,
        "command": item.command,
        "doJumpId": number + 1,
        "frame": item.frame,
        "params": item.params,
        "type": "SimpleItem",
    });
    if let (Some(fields), Some(_)) = (written.as_object_mut(), item.place()) {
        // What QGroundControl shows; 1: above home, 2: above mean sea level.
        let above_sea = [FRAME_GLOBAL, FRAME_GLOBAL_INT].contains(&item.frame);
        fields.insert("AMSLAltAboveTerrain".to_owned(), Value::Null);
        fields.insert("Altitude".to_owned(), json!(item.params[6]));
        fields.insert("AltitudeMode".to_owned(), json!(if above_sea { 2 } else { 1 }));
    }
    written
}
