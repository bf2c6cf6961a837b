//! `QGC WPL 110`: a line for each item, 12 numbers with tabs between them (MAVLink guide, Plain-Text File Format).
//!
//! ```text
//! QGC WPL 110
//! seq  current  frame  command  param1  param2  param3  param4  latitude  longitude  altitude  autocontinue
//! ```
//!
//! Owns: reading and writing it. Line 0 is home, not an item. Must not: know what an item does.
//!
//! The format knows no NaN: what an item leaves to the autopilot is written as 0.

use crate::{MOST_ITEMS, PlanFile, home};
use model::plan::item::{FRAME_GLOBAL, Item, NAV_WAYPOINT};
use model::units::{AltitudeAmsl, Wgs84};
use std::fmt::Write as _;

const HEADER: &str = "QGC WPL 110";

/// Why a text is no `QGC WPL 110`.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum BadWpl {
    /// Another version.
    #[error("the file begins with {0:?}, and \"QGC WPL 110\" is read; save it in that version")]
    Header(String),
    /// Not 12 numbers.
    #[error("line {line} has {count} values, not 12; save the file again")]
    Count {
        /// From 1.
        line: usize,
        /// How many.
        count: usize,
    },
    /// No number.
    #[error("line {line}: {field} is {text:?}, which is no number in its range; correct it")]
    Number {
        /// From 1.
        line: usize,
        /// Which of the 12.
        field: &'static str,
        /// As it says.
        text: String,
    },
    /// Not in order.
    #[error("line {line} has number {got}, where {expected} should be; number the items from 0, home")]
    Order {
        /// From 1.
        line: usize,
        /// As it says.
        got: usize,
        /// The next.
        expected: usize,
    },
    /// The first item is another one than home, and would be lost.
    #[error(
        "line {line}: item 0 is home, a waypoint above sea level (command {NAV_WAYPOINT}, frame {FRAME_GLOBAL}), and this is command {command} \
         in frame {frame}; put home before it"
    )]
    Home {
        /// From 1.
        line: usize,
        /// As it says.
        command: u16,
        /// As it says.
        frame: u8,
    },
    /// Nothing to fly.
    #[error("the file has no mission items after home; add some")]
    Empty,
    /// More than any vehicle flies.
    #[error("the file has more than {MOST_ITEMS} items; divide it")]
    TooMany,
}

/// Reads `QGC WPL 110`.
///
/// # Errors
/// [`BadWpl`].
pub fn read(text: &str) -> Result<PlanFile, BadWpl> {
    let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    let header = lines.next().map_or("", |(_, line)| line);
    if header != HEADER {
        return Err(BadWpl::Header(header.to_owned()));
    }
    let mut file = PlanFile::default();
    // MAVProxy writes comments.
    let lines = lines.filter(|(_, text)| !text.is_empty() && !text.starts_with('#'));
    for (expected, (line, text)) in lines.enumerate() {
        let (number, item) = item(line, text)?;
        if number != expected {
            return Err(BadWpl::Order {
                line,
                got: number,
                expected,
            });
        }
        if number == 0 {
            // Old files of ArduPilot have command 0 there.
            if ![NAV_WAYPOINT, 0].contains(&item.command) || item.frame != FRAME_GLOBAL {
                let (command, frame) = (item.command, item.frame);
                return Err(BadWpl::Home { line, command, frame });
            }
            file.home = home_of(&item);
        } else {
            file.items.push(item);
        }
        if file.items.len() > MOST_ITEMS {
            return Err(BadWpl::TooMany);
        }
    }
    if file.items.is_empty() {
        Err(BadWpl::Empty)
    } else {
        Ok(file)
    }
}

fn item(line: usize, text: &str) -> Result<(usize, Item), BadWpl> {
    let values: Vec<&str> = text.split_whitespace().collect();
    let count = values.len();
    let [number, _current, frame, command, params @ .., goes_on] = values.as_slice() else {
        return Err(BadWpl::Count { line, count });
    };
    if count != 12 {
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
    for ((text, name), place) in params.iter().zip(NAMES).zip(&mut read) {
        let number: f64 = text.parse().map_err(|_| wrong(name, text))?;
        if number.is_infinite() {
            return Err(wrong(name, text));
        }
        *place = (!number.is_nan()).then_some(number);
    }
    let item = Item {
        command: command.parse().map_err(|_| wrong("command", command))?,
        frame: frame.parse().map_err(|_| wrong("frame", frame))?,
        params: read,
        goes_on: match *goes_on {
            "1" => true,
            "0" => false,
            other => return Err(wrong("autocontinue", other)),
        },
    };
    Ok((number.parse().map_err(|_| wrong("number", number))?, item))
}

/// Where home is, unless it is at 0, 0, which is what programs write that do not know.
fn home_of(item: &Item) -> Option<(Wgs84, AltitudeAmsl)> {
    let [.., latitude, longitude, altitude] = item.params;
    let at = Wgs84 {
        latitude_deg: latitude?,
        longitude_deg: longitude?,
    };
    (at.latitude_deg != 0.0 || at.longitude_deg != 0.0).then_some((at, AltitudeAmsl(altitude.unwrap_or_default())))
}

/// Writes `QGC WPL 110`.
#[must_use]
pub fn write(file: &PlanFile) -> String {
    let (at, height) = home(file);
    let zero = Some(0.0);
    let home = Item {
        command: NAV_WAYPOINT,
        frame: FRAME_GLOBAL,
        params: [
            zero,
            zero,
            zero,
            zero,
            Some(at.latitude_deg),
            Some(at.longitude_deg),
            Some(height.0),
        ],
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
