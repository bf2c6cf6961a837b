//! Files in which ground stations keep missions: QGroundControl's `.plan`, and `QGC WPL 110`, which Mission Planner and MAVProxy write.
//!
//! Owns: the two formats, as text; what of a file is not taken ([`NotTaken`]).
//! Must not: read or write a file, or know what an item does; `model::plan::item` does.
//!
//! The items of a file are taken unchanged: of QGroundControl's surveys and corridors the items that it has expanded them to, not the
//! shapes that it made them of.

pub mod qgc;
pub mod wpl;

use model::plan::item::Item;
use model::units::{AltitudeAmsl, Wgs84};

/// A file is no longer than this, bytes.
pub const LONGEST: usize = 4 * 1024 * 1024;

/// A file has at most so many items.
pub const MOST_ITEMS: usize = 10_000;

/// A mission as a file has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanFile {
    /// Its items; home is none of them.
    pub items: Vec<Item>,
    /// Where the vehicle was assumed to start, which may be anywhere.
    pub home: Option<(Wgs84, AltitudeAmsl)>,
    /// What else is in the file.
    pub not_taken: Vec<NotTaken>,
}

/// A part of a file that is no part of a mission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotTaken {
    /// A geofence.
    Geofence {
        /// Its polygons.
        polygons: usize,
        /// Its circles.
        circles: usize,
    },
    /// Rally points.
    RallyPoints(usize),
}

impl std::fmt::Display for NotTaken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
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

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// QGroundControl's `.plan`.
    Plan,
    /// `QGC WPL 110`.
    Wpl,
}

/// Why a text is no mission.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// Too long.
    #[error("the file has {0} bytes, more than {LONGEST}; give a mission file")]
    TooLong(usize),
    /// Neither.
    #[error(
        "the file is neither a QGroundControl plan (JSON with \"fileType\": \"Plan\") nor begins with \"QGC WPL 110\"; save the mission in one of these formats"
    )]
    NoFormat,
    /// A broken `.plan`.
    #[error(transparent)]
    Plan(#[from] qgc::BadPlan),
    /// A broken `QGC WPL 110`.
    #[error(transparent)]
    Wpl(#[from] wpl::BadWpl),
}

/// Reads a mission in either format.
///
/// # Errors
/// [`Unreadable`], what is wrong with it.
pub fn read(text: &str) -> Result<PlanFile, Unreadable> {
    if text.len() > LONGEST {
        return Err(Unreadable::TooLong(text.len()));
    }
    // Programs on Windows put it before a text.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim_start().starts_with('{') {
        Ok(qgc::read(text)?)
    } else if text.starts_with("QGC WPL") {
        Ok(wpl::read(text)?)
    } else {
        Err(Unreadable::NoFormat)
    }
}

/// Writes a mission.
#[must_use]
pub fn write(file: &PlanFile, format: Format) -> String {
    match format {
        Format::Plan => qgc::write(file),
        Format::Wpl => wpl::write(file),
    }
}

/// Where the vehicle is taken to start: where the file says, else the first place of the mission, at sea level.
fn home(file: &PlanFile) -> (Wgs84, AltitudeAmsl) {
    let first = file.items.iter().find_map(|item| item.place()?.ok());
    let nowhere = Wgs84 {
        latitude_deg: 0.0,
        longitude_deg: 0.0,
    };
    file.home
        .unwrap_or((first.map_or(nowhere, |(at, _)| at), AltitudeAmsl(0.0)))
}

#[cfg(test)]
mod tests;
