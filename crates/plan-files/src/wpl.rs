//! `QGC WPL 110`: a line for each item, 12 numbers with tabs between them (MAVLink guide, Plain-Text File Format).
//! ```text
//! QGC WPL 110
//! seq  current  frame  command  param1  param2  param3  param4  latitude  longitude  altitude  autocontinue
//! ```
//! The format has no NaN: values left to the autopilot are written as 0.

use crate::fence::{FenceFile, FenceShape};
use crate::{MOST_ITEMS, NotTaken, Origin, Place, Plan, PlanFile, home, text};
use model::plan::item::{FRAME_GLOBAL, Item, NAV_TAKEOFF, NAV_WAYPOINT};
use model::rules::{Outline, Side};
use model::units::{AltitudeAmsl, Meters, Wgs84};
use std::fmt::Write as _;

const HEADER: &str = "QGC WPL 110";

const LONGEST_HEADER: usize = 40;

const COLUMNS: usize = 12;

/// MAV_CMD of fences and rally points.
const FENCE_RETURN: u16 = 5000;
const POLYGON_INSIDE: u16 = 5001;
const POLYGON_OUTSIDE: u16 = 5002;
const CIRCLE_INSIDE: u16 = 5003;
const CIRCLE_OUTSIDE: u16 = 5004;
/// ArduPilot's, wherever home is.
const CIRCLE_OF_HOME: u16 = 5005;
const RALLY: u16 = 5100;

#[derive(Debug, PartialEq, thiserror::Error)]
pub enum BadWpl {
    #[error("the file begins with {0:?}, and \"QGC WPL 110\" is read; save it in that version")]
    Header(String),
    #[error("line {line} has {count} values, not 12; save the file again")]
    Count { line: usize, count: usize },
    #[error("line {line}: {field} is {text:?}, which is no number in its range; correct it")]
    Number {
        line: usize,
        field: &'static str,
        text: String,
    },
    #[error("line {line} has number {got}, which is not above {before} of the line before; put the lines in order")]
    Order { line: usize, got: usize, before: usize },
    #[error("lines {before} and {line} both have number {number}; number the lines on")]
    Same { line: usize, before: usize, number: usize },
    #[error(
        "a second list of items begins in line {line} (number 0 after {before}); put each list into a file of its own, or number the lines on"
    )]
    Second { line: usize, before: usize },
    /// Item 0 is not home, and would be lost.
    #[error(
        "line {line}: item 0 is home, a waypoint above sea level (command {NAV_WAYPOINT}, frame {FRAME_GLOBAL}), and this is command {command} \
         in frame {frame}; put home before it"
    )]
    Home { line: usize, command: u16, frame: u8 },
    #[error("line {line}: a polygon of the fence has {got} corners and says that it has {said}; save the fence again")]
    Polygon { line: usize, got: usize, said: f64 },
    /// Open, or 0, 0 as of a place that was never set: a fence there would be one off the coast of Africa.
    #[error("the {what} in line {line} has no {missing} (latitude and longitude are open or 0); draw it again")]
    FencePlace {
        line: usize,
        what: &'static str,
        missing: &'static str,
    },
    #[error(
        "line {line} is a fence around home, wherever that is (command {CIRCLE_OF_HOME}), and a Geofence has fixed places; draw a circle"
    )]
    AroundHome { line: usize },
    /// Home is above mean sea level, and would be flown to.
    #[error(
        "no line has number 0: is line {line} home? Number it 0 if it is, else put home (a waypoint with number 0 and frame {FRAME_GLOBAL}) before it"
    )]
    NoHome { line: usize },
    #[error("the file has no mission items after home; add some")]
    Empty,
    #[error("the file has more than {MOST_ITEMS} items; divide it")]
    TooMany,
}

impl BadWpl {
    /// Quotes no word or number of the file.
    #[must_use]
    pub fn without_content(&self) -> String {
        match self {
            Self::Header(_) => "the first line is not \"QGC WPL 110\"; save the file in that version".to_owned(),
            Self::Number { line, field, .. } => format!("line {line}: {field} is no number in its range; correct it"),
            Self::Order { line, .. } => {
                format!("line {line} has a number that is not above that of the line before; put the lines in order")
            }
            Self::Same { line, before, .. } => {
                format!("lines {before} and {line} have the same number; number the lines on")
            }
            Self::Second { line, .. } => format!(
                "a second list of items begins in line {line}; put each list into a file of its own, or number the lines on"
            ),
            Self::Home { line, .. } => format!(
                "line {line}: item 0 is home, a waypoint above sea level (command {NAV_WAYPOINT}, frame {FRAME_GLOBAL}), and this is \
                 another item; put home before it"
            ),
            Self::Polygon { line, .. } => {
                format!("line {line}: a polygon of the fence has fewer corners than it says; save the fence again")
            }
            Self::Count { .. }
            | Self::FencePlace { .. }
            | Self::AroundHome { .. }
            | Self::NoHome { .. }
            | Self::Empty
            | Self::TooMany => self.to_string(),
        }
    }
}

#[must_use]
pub fn is_one(text: &str) -> bool {
    let first = text
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty() && !line.starts_with('#'));
    first.is_some_and(|line| words(line).starts_with("QGC WP"))
}

fn words(line: &str) -> String {
    line.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .to_ascii_uppercase()
}

/// Accepts any line ends, blanks, semicolons or commas between the values, and gaps in the numbers.
pub fn read(text: &str) -> Result<Plan, BadWpl> {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    // MAVProxy writes comments.
    let mut lines = lines.filter(|(_, text)| !text.is_empty() && !text.starts_with('#'));
    let header = lines.next().map_or("", |(_, line)| line);
    // A spreadsheet fills the row up.
    if words(header.trim_end_matches([';', ','])) != HEADER {
        return Err(BadWpl::Header(header.chars().take(LONGEST_HEADER).collect()));
    }
    let mut plan = Plan::default();
    let mut fence = Vec::new();
    let (mut before, mut line_before): (Option<usize>, usize) = (None, 0);
    let mut gaps = Vec::new();
    for (line, text) in lines {
        let (number, item) = item(line, text)?;
        match before {
            Some(before) if number == 0 => return Err(BadWpl::Second { line, before }),
            Some(before) if number == before => {
                return Err(BadWpl::Same {
                    line,
                    before: line_before,
                    number,
                });
            }
            Some(before) if number < before => {
                return Err(BadWpl::Order {
                    line,
                    got: number,
                    before,
                });
            }
            Some(before) if number > before + 1 => gaps.push(line),
            _ => {}
        }
        if before.is_none() && number > 0 && item.command == NAV_WAYPOINT && item.frame == FRAME_GLOBAL {
            return Err(BadWpl::NoHome { line });
        }
        if item.command == CIRCLE_OF_HOME {
            return Err(BadWpl::AroundHome { line });
        }
        (before, line_before) = (Some(number), line);
        let is_fence = (FENCE_RETURN..=CIRCLE_OUTSIDE).contains(&item.command);
        if is_fence {
            fence.push((line, item));
        } else if item.command == RALLY {
            plan.rally += 1;
        } else if number == 0 && !is_first_takeoff(&item) {
            // Old files of ArduPilot have command 0 there; scripts write home as 0 m above itself.
            let above_itself = item.command == NAV_WAYPOINT && item.params.last() == Some(&Some(0.0));
            if ![NAV_WAYPOINT, 0].contains(&item.command) || (item.frame != FRAME_GLOBAL && !above_itself) {
                let (command, frame) = (item.command, item.frame);
                return Err(BadWpl::Home { line, command, frame });
            }
            plan.file.home = home_of(&item);
        } else {
            plan.file.items.push(item);
            plan.items.push(Origin {
                place: Place::Line { line, number },
                shown_altitude: None,
                shows_other_reference: false,
            });
        }
        if plan.file.items.len() > MOST_ITEMS {
            return Err(BadWpl::TooMany);
        }
    }
    plan.fence = shapes(&fence)?;
    if (!plan.fence.shapes.is_empty() || plan.rally > 0) && only_home_again(&plan.file) {
        let lines: Vec<String> = plan.items.iter().filter_map(line_of).collect();
        plan.notes.push(format!(
            "home stands again in line {}, as ground stations write it before a fence; it is no mission",
            lines.join(", ")
        ));
        plan.file.items.clear();
        plan.items.clear();
    }
    if let Some(line) = gaps.first() {
        let count = gaps.len();
        plan.notes.push(format!(
            "the numbers of the items have gaps ({count}, the first before line {line}); the items are taken in the order of the lines"
        ));
    }
    let is_polygon = |shape: &&FenceShape| matches!(shape.outline, Outline::Polygon(_));
    let polygons = plan.fence.shapes.iter().filter(is_polygon).count();
    let circles = plan.fence.shapes.len() - polygons;
    let fenced = (polygons + circles > 0).then_some(NotTaken::Geofence { polygons, circles });
    let rally = (plan.rally > 0).then_some(NotTaken::RallyPoints(plan.rally));
    plan.file.not_taken = fenced.into_iter().chain(rally).collect();
    let is_empty = plan.file.items.is_empty() && plan.file.not_taken.is_empty();
    if is_empty { Err(BadWpl::Empty) } else { Ok(plan) }
}

fn only_home_again(file: &PlanFile) -> bool {
    let Some((home, _)) = file.home else { return false };
    let is_home = |item: &Item| {
        let near = |one: f64, other: f64| (one - other).abs() < 0.000_001;
        item.command == NAV_WAYPOINT
            && item.frame == FRAME_GLOBAL
            && place(item).is_some_and(|at| {
                near(at.latitude_deg, home.latitude_deg) && near(at.longitude_deg, home.longitude_deg)
            })
    };
    !file.items.is_empty() && file.items.iter().all(is_home)
}

fn line_of(origin: &Origin) -> Option<String> {
    match origin.place {
        Place::Line { line, .. } => Some(line.to_string()),
        Place::Unknown | Place::JumpId(_) => None,
    }
}

/// Files for PX4 begin with the takeoff: home is never one.
const fn is_first_takeoff(item: &Item) -> bool {
    item.command == NAV_TAKEOFF && item.frame != FRAME_GLOBAL
}

/// A vertex's first parameter counts those of its polygon, a circle's is its radius.
fn shapes(items: &[(usize, Item)]) -> Result<FenceFile, BadWpl> {
    let mut file = FenceFile::default();
    let mut left = items;
    while let Some((begin, rest)) = left.split_first() {
        let (line, first) = begin;
        let side = if [POLYGON_INSIDE, CIRCLE_INSIDE].contains(&first.command) {
            Side::Inside
        } else {
            Side::Outside
        };
        let count = first.params.first().copied().flatten().unwrap_or_default();
        left = rest;
        let outline = match first.command {
            FENCE_RETURN => {
                file.has_return_point = true;
                continue;
            }
            POLYGON_INSIDE | POLYGON_OUTSIDE => {
                let belongs = |(_, item): &(usize, Item)| {
                    item.command == first.command && item.params.first() == first.params.first()
                };
                let most = format!("{count}").parse().unwrap_or(0);
                let corners = std::iter::once(begin).chain(rest.iter().take_while(|one| belongs(one)));
                let corners: Vec<Wgs84> = corners
                    .take(most)
                    .map(|(line, item)| fenced(*line, "corner", "place", item))
                    .collect::<Result<_, _>>()?;
                if corners.len() != most || most < 3 {
                    return Err(BadWpl::Polygon {
                        line: *line,
                        got: corners.len(),
                        said: count,
                    });
                }
                left = rest.get(most - 1..).unwrap_or_default();
                Outline::Polygon(corners)
            }
            _ => Outline::Circle {
                center: fenced(*line, "circle", "center", first)?,
                radius: Meters(count),
            },
        };
        file.shapes.push(FenceShape { side, outline });
    }
    Ok(file)
}

fn fenced(line: usize, what: &'static str, missing: &'static str, item: &Item) -> Result<Wgs84, BadWpl> {
    place(item).ok_or(BadWpl::FencePlace { line, what, missing })
}

/// `None` where it is open, in part or whole, or at 0, 0.
fn place(item: &Item) -> Option<Wgs84> {
    let [.., latitude, longitude, _] = item.params;
    let at = Wgs84 {
        latitude_deg: latitude?,
        longitude_deg: longitude?,
    };
    (at.latitude_deg != 0.0 || at.longitude_deg != 0.0).then_some(at)
}

fn columns(text: &str) -> Vec<&str> {
    let blanks: Vec<&str> = text.split_whitespace().collect();
    if blanks.len() == COLUMNS && !blanks.iter().any(|value| value.ends_with([';', ','])) {
        return blanks;
    }
    let by = |mark: char| text.split(mark).map(str::trim).collect::<Vec<&str>>();
    [';', ',']
        .map(by)
        .into_iter()
        .find(|values| values.len() == COLUMNS)
        .unwrap_or(blanks)
}

fn item(line: usize, text: &str) -> Result<(usize, Item), BadWpl> {
    // A spreadsheet puts some values in quotes.
    let text = text.replace('"', "");
    let values = columns(&text);
    let count = values.len();
    let [number, _current, frame, command, params @ .., goes_on] = values.as_slice() else {
        return Err(BadWpl::Count { line, count });
    };
    if count != COLUMNS {
        return Err(BadWpl::Count { line, count });
    }
    let wrong = |field, text: &str| BadWpl::Number {
        line,
        field,
        text: text.to_owned(),
    };
    const NAMES: [&str; 7] = [
        "param1",
        "param2",
        "param3",
        "param4",
        "latitude",
        "longitude",
        "altitude",
    ];
    let mut read = [None; 7];
    // Beside decimal points a comma stands between thousands, or is a slip.
    let has_points = params.iter().any(|text| text.contains('.'));
    for ((text, name), place) in params.iter().zip(NAMES).zip(&mut read) {
        let number = text::number(text).filter(|_| !(has_points && text.contains(',')));
        let number = number.ok_or_else(|| wrong(name, text))?;
        if number.is_infinite() {
            return Err(wrong(name, text));
        }
        *place = (!number.is_nan()).then_some(number);
    }
    // Some programs write all columns with decimals.
    let whole = |text: &str| {
        let (number, decimals) = text.split_once(['.', ',']).unwrap_or((text, ""));
        let is_whole = decimals.chars().all(|digit| digit == '0');
        let kept = if is_whole { number } else { text };
        kept.to_owned()
    };
    let item = Item {
        command: whole(command).parse().map_err(|_| wrong("command", command))?,
        frame: whole(frame).parse().map_err(|_| wrong("frame", frame))?,
        params: read,
        goes_on: match whole(goes_on).as_str() {
            "1" => true,
            "0" => false,
            other => return Err(wrong("autocontinue", other)),
        },
    };
    Ok((whole(number).parse().map_err(|_| wrong("number", number))?, item))
}

/// `None` at 0, 0, written by programs that do not know it.
fn home_of(item: &Item) -> Option<(Wgs84, AltitudeAmsl)> {
    let [.., altitude] = item.params;
    Some((place(item)?, AltitudeAmsl(altitude.unwrap_or_default())))
}

#[must_use]
pub fn write(file: &PlanFile) -> String {
    let zero = Some(0.0);
    // The format has no other way to leave home open.
    let unknown = [zero; 3];
    let [latitude, longitude, altitude] = home(file).map_or(unknown, |(at, altitude)| {
        [at.latitude_deg, at.longitude_deg, altitude.0].map(Some)
    });
    let home = Item {
        command: NAV_WAYPOINT,
        frame: FRAME_GLOBAL,
        params: [zero, zero, zero, zero, latitude, longitude, altitude],
        goes_on: true,
    };
    let mut text = format!("{HEADER}\n");
    for (number, item) in std::iter::once(&home).chain(&file.items).enumerate() {
        let current = u8::from(number == 0);
        let _ = write!(text, "{number}\t{current}\t{}\t{}", item.frame, item.command);
        for param in item.params {
            let _ = write!(text, "\t{}", param.unwrap_or_default());
        }
        let _ = writeln!(text, "\t{}", u8::from(item.goes_on));
    }
    text
}
