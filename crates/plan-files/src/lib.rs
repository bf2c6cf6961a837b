//! Files that people have: missions, fences and rally points of ground stations, parameter files, areas of maps.
//!
//! Owns: the formats, recognized by content ([`recognize`]); the mission in a file, as items ([`PlanFile`]) and as a
//! route ([`route`]), with what is left out; its contradictions ([`check`]). Must not: read or write a file, or know
//! Kubernetes objects. Items are taken unchanged: QGroundControl's surveys as the items into which it expanded them.

pub mod archive;
pub mod area;
pub mod check;
pub mod fence;
pub mod mav_cmd;
pub mod parameters;
pub mod qgc;
pub mod recognize;
pub mod route;
pub mod text;
pub mod wpl;

use model::plan::item::Item;
use model::units::{AltitudeAmsl, Wgs84};
use std::fmt;

pub const LONGEST: usize = 4 * 1024 * 1024;

pub const MOST_ITEMS: usize = 10_000;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanFile {
    /// Items without home.
    pub items: Vec<Item>,
    /// Where the vehicle was assumed to start, which may be anywhere.
    pub home: Option<(Wgs84, AltitudeAmsl)>,
    pub not_taken: Vec<NotTaken>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotTaken {
    Geofence { polygons: usize, circles: usize },
    RallyPoints(usize),
}

impl fmt::Display for NotTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Geofence { polygons, circles } => {
                write!(
                    f,
                    "the geofence is not taken (polygons: {polygons}, circles: {circles})"
                )
            }
            Self::RallyPoints(count) => write!(f, "rally points are not taken ({count})"),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    pub file: PlanFile,
    pub items: Vec<Origin>,
    pub vehicle_type: Option<i64>,
    pub fence: fence::FenceFile,
    pub rally: usize,
    pub notes: Vec<String>,
}

impl Plan {
    #[must_use]
    pub fn item(&self, number: usize) -> ItemName {
        ItemName {
            number,
            command: self.file.items.get(number).map_or(0, |item| item.command),
            place: self.items.get(number).map_or(Place::Unknown, |origin| origin.place),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Origin {
    pub place: Place,
    /// Meters, as QGroundControl shows it.
    pub shown_altitude: Option<f64>,
    /// Whether QGroundControl shows the altitude above another reference than the frame's.
    pub shows_other_reference: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    #[default]
    Unknown,
    /// Number as the file has it, of which home mostly is 0.
    Line { line: usize, number: usize },
    /// Number shown by QGroundControl.
    JumpId(i64),
}

/// Number from 0 (home is not counted), MAV_CMD, and place in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemName {
    pub number: usize,
    pub command: u16,
    pub place: Place,
}

impl fmt::Display for ItemName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "item {} ({}", self.number, mav_cmd::words(self.command))?;
        match self.place {
            Place::Unknown => f.write_str(")"),
            Place::Line { line, number } if number == self.number => write!(f, ", line {line})"),
            Place::Line { line, number } => write!(f, ", line {line}, number {number} in the file)"),
            Place::JumpId(id) => write!(f, ", number {id} in QGroundControl)"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Plan,
    Wpl,
}

#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    #[error("the file has {0} bytes, more than {LONGEST}; give a mission file")]
    TooLong(usize),
    #[error(
        "the file is neither a QGroundControl plan (JSON with \"fileType\": \"Plan\") nor begins with \"QGC WPL 110\"; save the mission in one of these formats"
    )]
    NoFormat,
    #[error("the file has {0}, and no mission items; use `skein import`")]
    NoMission(&'static str),
    #[error(transparent)]
    Plan(#[from] qgc::BadPlan),
    #[error(transparent)]
    Wpl(#[from] wpl::BadWpl),
    #[error(transparent)]
    Contradiction(#[from] check::Problem),
}

impl Unreadable {
    /// Quotes no word or number of the file: for those who may not read it.
    #[must_use]
    pub fn without_content(&self) -> String {
        match self {
            Self::TooLong(_) | Self::NoFormat | Self::NoMission(_) => self.to_string(),
            Self::Plan(plan) => plan.without_content(),
            Self::Wpl(wpl) => wpl.without_content(),
            Self::Contradiction(problem) => problem.without_content(),
        }
    }
}

pub fn read(text: &str) -> Result<PlanFile, Unreadable> {
    Ok(read_plan(text)?.file)
}

/// Refuses contradictions and open waypoints.
pub fn read_plan(text: &str) -> Result<Plan, Unreadable> {
    let plan = parse(text)?;
    if plan.file.items.is_empty() {
        let what = if !plan.fence.shapes.is_empty() {
            "a geofence"
        } else if plan.rally > 0 {
            "rally points"
        } else if looks_like_json(text) {
            return Err(qgc::BadPlan::Empty.into());
        } else {
            return Err(wpl::BadWpl::Empty.into());
        };
        return Err(Unreadable::NoMission(what));
    }
    let mut problems = check::contradictions(&plan);
    problems.extend(check::open_waypoints(&plan));
    match problems.into_iter().next() {
        Some(problem) => Err(problem.into()),
        None => Ok(plan),
    }
}

/// Reads either format, unchecked.
pub fn parse(text: &str) -> Result<Plan, Unreadable> {
    if text.len() > LONGEST {
        return Err(Unreadable::TooLong(text.len()));
    }
    // Byte order mark of programs on Windows.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if looks_like_json(text) {
        Ok(qgc::read(text)?)
    } else if wpl::is_one(text) {
        Ok(wpl::read(text)?)
    } else {
        Err(Unreadable::NoFormat)
    }
}

fn looks_like_json(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_start().starts_with('{')
}

#[must_use]
pub fn write(file: &PlanFile, format: Format) -> String {
    match format {
        Format::Plan => qgc::write(file),
        Format::Wpl => wpl::write(file),
    }
}

/// The file's home, else the first place of the mission, at sea level. `None` where all places are open.
fn home(file: &PlanFile) -> Option<(Wgs84, AltitudeAmsl)> {
    let mut given = file.items.iter().filter(|item| check::is_placed(item));
    let first = given.find_map(|item| item.place()?.ok());
    file.home.or_else(|| Some((first?.0, AltitudeAmsl(0.0))))
}

#[must_use]
pub fn at(place: Wgs84) -> String {
    format!("{:.6}, {:.6}", place.latitude_deg, place.longitude_deg)
}

/// What to do about a latitude and a longitude that are no position.
fn position_advice(latitude: f64, longitude: f64, otherwise: &'static str) -> &'static str {
    let exchanged = Wgs84 {
        latitude_deg: longitude,
        longitude_deg: latitude,
    };
    if model::geo::position(exchanged).is_ok() {
        "latitude and longitude seem exchanged; exchange them"
    } else {
        otherwise
    }
}

#[must_use]
pub fn meters(meters: f64) -> String {
    if meters >= 10_000.0 {
        format!("{:.0} km", meters / 1000.0)
    } else if meters >= 1000.0 {
        format!("{:.1} km", meters / 1000.0)
    } else if meters >= 10.0 {
        format!("{meters:.0} m")
    } else {
        format!("{meters:.2} m")
    }
}

#[cfg(test)]
mod tests;
