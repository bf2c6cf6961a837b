//! Fence of a file, and the plain lists in which Mission Planner and MAVProxy keep fences and rally points.

use crate::text::number;
use crate::{NotTaken, Plan};
use model::rules::{Outline, Side};
use model::units::Wgs84;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct FenceFile {
    pub shapes: Vec<FenceShape>,
    pub has_return_point: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct FenceShape {
    pub side: Side,
    pub outline: Outline,
}

impl FenceShape {
    #[must_use]
    pub const fn inside(outline: Outline) -> Self {
        Self {
            side: Side::Inside,
            outline,
        }
    }
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BadList {
    #[error("line {line} is {text:?}, not a latitude and a longitude; correct it")]
    Line { line: usize, text: String },
    /// It does not end where it begins.
    #[error(
        "the list of places is no closed fence: after the first line, the place to return to, come the corners, and the last repeats the first of them; save the fence again"
    )]
    Open,
    #[error(
        "a corner of the fence has no place (latitude and longitude are no numbers, or both 0); save the fence again"
    )]
    NoPlace,
}

fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

#[must_use]
pub fn is_list(text: &str) -> bool {
    let mut all = lines(text).peekable();
    all.peek().is_some() && lines(text).take(5).all(|(_, line)| numbers(line).is_some())
}

/// Two numbers with blanks between them, or a comma beside decimal points.
fn numbers(line: &str) -> Option<[f64; 2]> {
    let has_both = line.contains('.') && line.contains(',');
    let parts = line.split(|c: char| c.is_whitespace() || (has_both && c == ','));
    let values: Option<Vec<f64>> = parts.filter(|part| !part.is_empty()).map(number).collect();
    values?.try_into().ok()
}

#[must_use]
pub fn is_rally(text: &str) -> bool {
    lines(text)
        .next()
        .is_some_and(|(_, line)| line.split_whitespace().next() == Some("RALLY"))
}

#[must_use]
pub fn read_rally(text: &str) -> Plan {
    let rally = lines(text).filter(|(_, line)| line.starts_with("RALLY")).count();
    let mut plan = Plan {
        rally,
        ..Plan::default()
    };
    plan.file.not_taken.push(NotTaken::RallyPoints(rally));
    plan
}

pub fn read_list(text: &str) -> Result<Plan, BadList> {
    let mut places = Vec::new();
    for (line, text) in lines(text) {
        let Some([latitude_deg, longitude_deg]) = numbers(text) else {
            return Err(BadList::Line {
                line,
                text: text.to_owned(),
            });
        };
        places.push(Wgs84 {
            latitude_deg,
            longitude_deg,
        });
    }
    let last = places.last().copied();
    let (corners, has_return_point) = if places.get(1).copied() == last && places.len() > 4 {
        (places.get(1..places.len() - 1), true)
    } else if places.first().copied() == last && places.len() > 3 {
        (places.get(..places.len() - 1), false)
    } else {
        return Err(BadList::Open);
    };
    let corners = corners.unwrap_or_default().to_vec();
    let is_open = |at: &Wgs84| {
        let Wgs84 {
            latitude_deg,
            longitude_deg,
        } = *at;
        !(latitude_deg.is_finite() && longitude_deg.is_finite()) || (latitude_deg == 0.0 && longitude_deg == 0.0)
    };
    if corners.iter().any(is_open) {
        return Err(BadList::NoPlace);
    }
    let mut plan = Plan {
        fence: FenceFile {
            shapes: vec![FenceShape::inside(Outline::Polygon(corners))],
            has_return_point,
        },
        ..Plan::default()
    };
    plan.file.not_taken.push(NotTaken::Geofence {
        polygons: 1,
        circles: 0,
    });
    Ok(plan)
}
