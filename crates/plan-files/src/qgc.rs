//! QGroundControl's files: `.plan` (developer guide, Plan File Format), `.mission` before it, fences and rally points.

use crate::check::COPTERS;
use crate::fence::{FenceFile, FenceShape};
use crate::{MOST_ITEMS, NotTaken, Origin, Place, Plan, PlanFile, home};
use model::plan::item::{
    FRAME_GLOBAL, FRAME_GLOBAL_INT, FRAME_GLOBAL_RELATIVE_ALT, FRAME_GLOBAL_RELATIVE_ALT_INT, Item,
};
use model::rules::{Outline, Side};
use model::units::{AltitudeAmsl, Meters, Wgs84};
use serde_json::{Value, json};

#[derive(Debug, thiserror::Error)]
pub enum BadPlan {
    #[error("the plan cannot be read; save it again with QGroundControl")]
    Json(#[from] serde_json::Error),
    #[error("the plan has fileType {0:?}, not \"Plan\"; give a .plan file of QGroundControl")]
    FileType(String),
    #[error(
        "the {part} of the plan has version {got}, and {known} is known; save it with a version of QGroundControl that writes that"
    )]
    Version { part: &'static str, got: i64, known: i64 },
    #[error("the {part} of the plan has no version that is a number; save it again with QGroundControl")]
    NoVersion { part: &'static str },
    #[error("the plan's {what} is not as QGroundControl writes it; save it again with QGroundControl")]
    Kind { what: &'static str },
    /// What it forbids is not known.
    #[error(
        "the plan's geofence has {0:?}, which Skein does not know; draw it as polygons and circles, and save it with a current QGroundControl"
    )]
    FencePart(String),
    #[error("the plan has no mission items; add some")]
    Empty,
    #[error("the plan has more than {MOST_ITEMS} items; divide it")]
    TooMany,
    /// A pattern whose places are not in the file.
    #[error("item {number} of the plan is a {kind}, which has no expanded items: {why}")]
    Unexpanded {
        number: usize,
        kind: String,
        why: &'static str,
    },
    #[error("item {number} of the plan is no mission item: {why}; save it again with QGroundControl")]
    Item { number: usize, why: String },
    #[error("{what} {number} of the plan's geofence cannot be read: {why}; draw it again in QGroundControl")]
    Fence {
        what: &'static str,
        number: usize,
        why: &'static str,
    },
}

impl BadPlan {
    #[must_use]
    pub fn without_content(&self) -> String {
        match self {
            Self::Json(broken) => format!(
                "the plan cannot be read from line {}, column {} on; save it again with QGroundControl",
                broken.line(),
                broken.column()
            ),
            Self::FileType(_) => "the plan's fileType is not \"Plan\"; give a .plan file of QGroundControl".to_owned(),
            Self::Version { part, known, .. } => format!(
                "the {part} of the plan has another version than {known}, which is known; save it with a version of QGroundControl that \
                 writes that"
            ),
            Self::Unexpanded { number, why, .. } => {
                format!("item {number} of the plan is a pattern that has no expanded items: {why}")
            }
            Self::Item { number, .. } => {
                format!("item {number} of the plan is no mission item; save it again with QGroundControl")
            }
            Self::FencePart(_) => "the plan's geofence has a part that Skein does not know; draw it as polygons and circles, and save it with a \
                                   current QGroundControl"
                .to_owned(),
            Self::NoVersion { .. } | Self::Kind { .. } | Self::Empty | Self::TooMany | Self::Fence { .. } => {
                self.to_string()
            }
        }
    }
}

const SCAN: &str = "QGroundControl does not save the places that it flies; upload the plan to a vehicle, download it again, and save that";
/// Surveys before 2018 are saved as a grid.
const EARLY: &str =
    "an early QGroundControl has saved it without them; open the plan with a current QGroundControl and save it again";
const LANDING: &str = "it is the landing of a plane; remove it, as Skein brings its vehicles home";
const PLANE: &str =
    "it is the landing of a plane or a VTOL plane, and Skein flies multicopters; plan the mission for a multicopter";
const OTHER: &str = "make it one of simple items, a survey or a corridor scan";

pub fn read(text: &str) -> Result<Plan, BadPlan> {
    let json: Value = serde_json::from_str(text)?;
    let kind = json.get("fileType").and_then(Value::as_str);
    let mut plan = Plan::default();
    match kind {
        Some("Plan") => {
            known("file", json.get("version"), &[1])?;
            if let Some(mission) = json.get("mission").filter(|mission| !mission.is_null()) {
                known("mission", mission.get("version"), &[2, 1])?;
                read_mission(mission, &mut plan)?;
            } else if json.get("geoFence").is_none() && json.get("rallyPoints").is_none() {
                return Err(BadPlan::Empty);
            }
            if let Some(found) = json.get("geoFence").filter(|fence| !fence.is_null()) {
                read_fence(found, &mut plan)?;
            }
            plan.rally = json.get("rallyPoints").map_or(0, rally);
        }
        Some("Mission") => read_mission(&json, &mut plan)?,
        Some("GeoFence") => read_fence(&json, &mut plan)?,
        Some("RallyPoints") => plan.rally = rally(&json),
        // A `.mission` of 2016 and before names no type.
        None if json.get("items").is_some() && json.get("plannedHomePosition").is_some() => {
            read_mission(&json, &mut plan)?;
        }
        other => return Err(BadPlan::FileType(other.unwrap_or_default().to_owned())),
    }
    let count = |polygon: bool| {
        let is_polygon = |shape: &&FenceShape| matches!(shape.outline, Outline::Polygon(_)) == polygon;
        plan.fence.shapes.iter().filter(is_polygon).count()
    };
    let (polygons, circles) = (count(true), count(false));
    let fence = (polygons + circles > 0).then_some(NotTaken::Geofence { polygons, circles });
    let rally = (plan.rally > 0).then_some(NotTaken::RallyPoints(plan.rally));
    plan.file.not_taken = fence.into_iter().chain(rally).collect();
    Ok(plan)
}

/// The fence and the rally points of a `.plan`, without its mission, whatever that holds.
pub fn read_without_mission(text: &str) -> Result<Plan, BadPlan> {
    let mut json: Value = serde_json::from_str(text)?;
    if let Some(mission) = json.get_mut("mission") {
        *mission = json!({"items": [], "version": 2});
    }
    read(&json.to_string())
}

fn known(part: &'static str, version: Option<&Value>, known: &[i64]) -> Result<(), BadPlan> {
    let got = version.and_then(Value::as_i64).ok_or(BadPlan::NoVersion { part })?;
    match known.first() {
        Some(&newest) if !known.contains(&got) => Err(BadPlan::Version {
            part,
            got,
            known: newest,
        }),
        _ => Ok(()),
    }
}

fn read_mission(mission: &Value, plan: &mut Plan) -> Result<(), BadPlan> {
    plan.vehicle_type = mission.get("vehicleType").and_then(Value::as_i64);
    let items = list(mission, "items", "list of items")?;
    if let Some(pattern) = mission
        .get("complexItems")
        .and_then(Value::as_array)
        .and_then(|all| all.first())
    {
        let kind = pattern.get("complexItemType").or_else(|| pattern.get("type"));
        return Err(BadPlan::Unexpanded {
            number: items.len(),
            kind: kind.and_then(Value::as_str).unwrap_or("survey").to_owned(),
            why: EARLY,
        });
    }
    let modes = Modes::of(mission);
    for (number, item) in items.iter().enumerate() {
        expand(number, item, modes, plan)?;
        if plan.file.items.len() > MOST_ITEMS {
            return Err(BadPlan::TooMany);
        }
    }
    plan.file.home = mission.get("plannedHomePosition").and_then(planned_home);
    Ok(())
}

/// Home as a list of three numbers, or as an item in version 1; 0, 0 is unknown.
fn planned_home(home: &Value) -> Option<(Wgs84, AltitudeAmsl)> {
    let list = home.get("coordinate").unwrap_or(home);
    let at = place(list)?;
    let altitude = list.get(2).and_then(Value::as_f64).unwrap_or_default();
    (at.latitude_deg != 0.0 || at.longitude_deg != 0.0).then_some((at, AltitudeAmsl(altitude)))
}

fn place(list: &Value) -> Option<Wgs84> {
    Some(Wgs84 {
        latitude_deg: list.get(0)?.as_f64()?,
        longitude_deg: list.get(1)?.as_f64()?,
    })
}

/// Place of a fence: 0, 0 was never set.
fn fenced(list: &Value) -> Option<Wgs84> {
    place(list).filter(|at| at.latitude_deg != 0.0 || at.longitude_deg != 0.0)
}

/// Meaning of `AltitudeMode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Modes {
    /// 1: above home, 2: above mean sea level, 3: above terrain, flown above mean sea level.
    Current,
    /// Until 2020: 1: above mean sea level, 2: above terrain, flown above mean sea level.
    Early,
}

impl Modes {
    fn of(mission: &Value) -> Self {
        if mission.get("globalPlanAltitudeMode").is_some() {
            Self::Current
        } else {
            Self::Early
        }
    }

    fn contradict(self, item: &Value, frame: u8) -> bool {
        let above_sea = [FRAME_GLOBAL, FRAME_GLOBAL_INT].contains(&frame);
        let above_home = [FRAME_GLOBAL_RELATIVE_ALT, FRAME_GLOBAL_RELATIVE_ALT_INT].contains(&frame);
        match item.get("AltitudeMode").and_then(Value::as_i64) {
            Some(1) => self == Self::Current && above_sea,
            Some(2) => above_home,
            _ => false,
        }
    }
}

fn expand(number: usize, item: &Value, modes: Modes, plan: &mut Plan) -> Result<(), BadPlan> {
    match item.get("type").and_then(Value::as_str) {
        Some("SimpleItem" | "missionItem") => push(number, item, modes, plan),
        Some("ComplexItem") => {
            let kind = item
                .get("complexItemType")
                .and_then(Value::as_str)
                .unwrap_or("ComplexItem");
            // Corridors of 2018 have the items beside their transects.
            let expanded = item
                .pointer("/TransectStyleComplexItem/Items")
                .or_else(|| item.get("Items"));
            let Some(expanded) = expanded.and_then(Value::as_array).filter(|items| !items.is_empty()) else {
                let is_copter = plan.vehicle_type.is_none_or(|kind| COPTERS.contains(&kind));
                let why = match kind {
                    "StructureScan" => SCAN,
                    "survey" | "CorridorScan" => EARLY,
                    "fwLandingPattern" | "vtolLandingPattern" if !is_copter => PLANE,
                    "fwLandingPattern" | "vtolLandingPattern" => LANDING,
                    _ => OTHER,
                };
                return Err(BadPlan::Unexpanded {
                    number,
                    kind: kind.to_owned(),
                    why,
                });
            };
            plan.notes.extend(unknown_version(number, kind, item));
            expanded.iter().try_for_each(|item| push(number, item, modes, plan))
        }
        other => {
            let why = format!("its type is {:?}", other.unwrap_or("missing"));
            Err(BadPlan::Item { number, why })
        }
    }
}

/// Newest versions of patterns, of QGroundControl 5.
const NEWEST: [(&str, i64); 2] = [("survey", 5), ("CorridorScan", 2)];

fn unknown_version(number: usize, kind: &str, item: &Value) -> Option<String> {
    let (_, newest) = NEWEST.iter().find(|(known, _)| *known == kind)?;
    let version = item.get("version").and_then(Value::as_i64)?;
    (version > *newest).then(|| {
        format!(
            "item {number} of the plan is a {kind} of version {version}, and {newest} is the newest that is known: its expanded items are \
             taken as they are; compare them with what QGroundControl shows"
        )
    })
}

fn push(number: usize, item: &Value, modes: Modes, plan: &mut Plan) -> Result<(), BadPlan> {
    let read = simple(item).map_err(|why| BadPlan::Item { number, why })?;
    let id = item.get("doJumpId").or_else(|| item.get("id")).and_then(Value::as_i64);
    plan.file.items.push(read);
    plan.items.push(Origin {
        place: id.map_or(Place::Unknown, Place::JumpId),
        shown_altitude: shown_altitude(item, modes),
        shows_other_reference: modes.contradict(item, read.frame),
    });
    Ok(())
}

/// Altitude that QGroundControl shows; one above terrain is flown above mean sea level.
fn shown_altitude(item: &Value, modes: Modes) -> Option<f64> {
    let above_sea = item.get("AMSLAltAboveTerrain").and_then(Value::as_f64);
    let shown = item.get("Altitude").and_then(Value::as_f64);
    match (item.get("AltitudeMode").and_then(Value::as_i64), modes) {
        (Some(3), _) => above_sea,
        (Some(2), Modes::Early) => above_sea.or(shown),
        _ => shown,
    }
}

fn simple(item: &Value) -> Result<Item, String> {
    let whole = |name: &str, most: u64| {
        let value = item.get(name).ok_or_else(|| format!("it has no {name}"))?;
        let number = value.as_u64().or_else(|| {
            let number = value
                .as_f64()
                .filter(|number| number.fract() == 0.0 && *number >= 0.0)?;
            format!("{number}").parse().ok()
        });
        number
            .filter(|number| *number <= most)
            .ok_or_else(|| format!("its {name} is {value}"))
    };
    let command = u16::try_from(whole("command", u64::from(u16::MAX))?).map_err(|error| error.to_string())?;
    let frame = u8::try_from(whole("frame", u64::from(u8::MAX))?).map_err(|error| error.to_string())?;
    Ok(Item {
        command,
        frame,
        params: params(item)?,
        goes_on: goes_on(item)?,
    })
}

/// Early versions write numbers, and leave it out where the mission goes on.
fn goes_on(item: &Value) -> Result<bool, String> {
    match item.get("autoContinue") {
        None | Some(Value::Null) => Ok(true),
        Some(Value::Bool(goes_on)) => Ok(*goes_on),
        Some(value) => match value.as_f64() {
            Some(1.0) => Ok(true),
            Some(0.0) => Ok(false),
            _ => Err(format!("its autoContinue is {value}")),
        },
    }
}

/// Seven numbers; or, as until 2018, four and a coordinate.
fn params(item: &Value) -> Result<[Option<f64>; 7], String> {
    let number = |value: &Value| match value {
        Value::Null => Ok(None),
        // NaN in some versions.
        Value::String(text) if text.eq_ignore_ascii_case("nan") => Ok(None),
        value => value.as_f64().map(Some).ok_or_else(|| format!("{value} is no number")),
    };
    let list = |name: &str| item.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut read: Vec<Option<f64>> = if item.get("param1").is_some() {
        let names = ["param1", "param2", "param3", "param4"];
        names
            .iter()
            .map(|name| item.get(*name).map_or(Ok(None), number))
            .collect::<Result<_, _>>()?
    } else {
        list("params").iter().map(number).collect::<Result<_, _>>()?
    };
    if read.len() == 4 && item.get("coordinate").is_some() {
        let coordinate = list("coordinate").iter().map(number);
        read.extend(coordinate.collect::<Result<Vec<_>, _>>()?);
    }
    let count = read.len();
    <[Option<f64>; 7]>::try_from(read).map_err(|_| format!("it has {count} params, not 7"))
}

/// Empty where it is missing or null.
fn list<'a>(of: &'a Value, name: &str, what: &'static str) -> Result<&'a [Value], BadPlan> {
    match of.get(name) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(list)) => Ok(list),
        Some(_) => Err(BadPlan::Kind { what }),
    }
}

const OF_FENCE: [&str; 8] = [
    "breachReturn",
    "circles",
    "fileType",
    "groundStation",
    "parameters",
    "polygon",
    "polygons",
    "version",
];

fn read_fence(found: &Value, plan: &mut Plan) -> Result<(), BadPlan> {
    let fields = found.as_object().ok_or(BadPlan::Kind { what: "geofence" })?;
    let is_empty = |value: &Value| match value {
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => true,
    };
    // The first version may name none.
    if found.get("version").is_some_and(|version| !version.is_null()) {
        known("geofence", found.get("version"), &[2, 1])?;
    }
    if let Some((unknown, _)) = fields
        .iter()
        .find(|(name, value)| !OF_FENCE.contains(&name.as_str()) && !is_empty(value))
    {
        return Err(BadPlan::FencePart(unknown.clone()));
    }
    plan.fence = fence(found)?;
    let parameters = list(found, "parameters", "list of the fence's parameters")?;
    if !parameters.is_empty() {
        let name = |one: &Value| {
            one.get("name")
                .and_then(Value::as_str)
                .unwrap_or("one without a name")
                .to_owned()
        };
        let names: Vec<String> = parameters.iter().map(name).collect();
        plan.notes.push(format!(
            "left out: parameters of the autopilot's own fence ({}): set them with a ParameterProfile, or draw what they forbid as a Geofence",
            names.join(", ")
        ));
    }
    Ok(())
}

fn fence(fence: &Value) -> Result<FenceFile, BadPlan> {
    let mut file = FenceFile::default();
    // Version 1 has one polygon, inside which the vehicle stays.
    let only = list(fence, "polygon", "fence polygon")?;
    if !only.is_empty() {
        file.shapes
            .push(FenceShape::inside(Outline::Polygon(corners(only, 1)?)));
    }
    let polygons = list(fence, "polygons", "list of fence polygons")?;
    for (index, polygon) in polygons.iter().enumerate() {
        let points = polygon
            .get("polygon")
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice);
        file.shapes.push(FenceShape {
            side: side(polygon, "polygon", index + 1)?,
            outline: Outline::Polygon(corners(points, index + 1)?),
        });
    }
    let circles = list(fence, "circles", "list of fence circles")?;
    for (index, circle) in circles.iter().enumerate() {
        let wrong = |why| BadPlan::Fence {
            what: "circle",
            number: index + 1,
            why,
        };
        let inner = circle.get("circle").unwrap_or(circle);
        let center = inner
            .get("center")
            .and_then(fenced)
            .ok_or(wrong("it has no center (latitude and longitude are open or 0)"))?;
        let radius = inner
            .get("radius")
            .and_then(Value::as_f64)
            .ok_or(wrong("it has no radius"))?;
        file.shapes.push(FenceShape {
            side: side(circle, "circle", index + 1)?,
            outline: Outline::Circle {
                center,
                radius: Meters(radius),
            },
        });
    }
    file.has_return_point = fence
        .get("breachReturn")
        .is_some_and(|point| point.get(0).is_some_and(Value::is_number));
    Ok(file)
}

/// QGroundControl requires it, too: without it a place to stay out of would be one to stay in.
fn side(shape: &Value, what: &'static str, number: usize) -> Result<Side, BadPlan> {
    match shape.get("inclusion") {
        Some(Value::Bool(true)) => Ok(Side::Inside),
        Some(Value::Bool(false)) => Ok(Side::Outside),
        _ => Err(BadPlan::Fence {
            what,
            number,
            why: "its \"inclusion\" is neither true nor false",
        }),
    }
}

fn corners(points: &[Value], number: usize) -> Result<Vec<Wgs84>, BadPlan> {
    let wrong = BadPlan::Fence {
        what: "polygon",
        number,
        why: "a corner is no place (latitude or longitude is open, or both are 0)",
    };
    points.iter().map(fenced).collect::<Option<_>>().ok_or(wrong)
}

fn rally(rally: &Value) -> usize {
    rally.get("points").and_then(Value::as_array).map_or(0, Vec::len)
}

#[must_use]
pub fn write(file: &PlanFile) -> String {
    let home = home(file).map(|(at, altitude)| [at.latitude_deg, at.longitude_deg, altitude.0]);
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
            // MAV_AUTOPILOT_GENERIC.
            "firmwareType": 0,
            "globalPlanAltitudeMode": 1,
            "hoverSpeed": 5,
            "items": items,
            "plannedHomePosition": home,
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
        // Shown by QGroundControl; 1: above home, 2: above mean sea level.
        let above_sea = [FRAME_GLOBAL, FRAME_GLOBAL_INT].contains(&item.frame);
        fields.insert("AMSLAltAboveTerrain".to_owned(), Value::Null);
        fields.insert("Altitude".to_owned(), json!(item.params[6]));
        fields.insert("AltitudeMode".to_owned(), json!(if above_sea { 2 } else { 1 }));
    }
    written
}
