//! Parameter files of Mission Planner (`NAME,VALUE`), MAVProxy (`NAME VALUE`) and QGroundControl (five columns). Must
//! not: set anything, or convert a value to another unit.

mod renamed;

use crate::check;
use crate::text::number;
use model::denied_parameters as denied;
use model::vehicle::Autopilot;
use std::collections::BTreeMap;

pub const MOST_VALUES: usize = model::rules::MOST_PARAMETERS;

/// MAVLink's limit.
const LONGEST_NAME: usize = 16;

const TOO_LONG: &str = "its name has more than 16 characters, and no autopilot can be asked for it";

const NO_NUMBER: &str = "its value is no number (nan)";

const OF_OTHERS: &str =
    "it is of another part than the autopilot, such as a camera (Component-Id), and a profile is for the autopilot";

/// MAV_COMP_ID_AUTOPILOT1.
const AUTOPILOT: u32 = 1;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParameterFile {
    pub values: BTreeMap<String, (f64, usize)>,
    pub autopilot: Option<Autopilot>,
    pub vehicle: Option<String>,
    /// QGroundControl's five columns, which are the same for both autopilots.
    pub has_columns: bool,
    pub too_long: Vec<String>,
    /// Of a camera or another part of the vehicle.
    pub of_others: Vec<String>,
    pub not_numbers: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BadParameters {
    #[error("line {line} is {text:?}, not the name and the value of a parameter; correct or remove it")]
    Line { line: usize, text: String },
    /// `NAME,1,5`, or `NAME 1 5`.
    #[error(
        "line {line} is {text:?}, which has two values, or one with a decimal comma; write one value for each name, with a decimal point"
    )]
    TwoValues { line: usize, text: String },
    #[error("line {line}: {name} is {second}, and {first} in line {before}; remove one of them")]
    Twice {
        line: usize,
        name: String,
        first: f64,
        second: f64,
        before: usize,
    },
    #[error("line {line} includes another file ({text}); import that file too, and remove the line")]
    Include { line: usize, text: String },
    #[error(
        "the file does not say for which autopilot its parameters are; give --autopilot ardupilot or --autopilot px4"
    )]
    Autopilot,
    #[error("the parameters are those of {what} ({name}), and Skein flies multicopters; give a file of a multicopter")]
    Vehicle { what: &'static str, name: String },
    #[error("none of the {count} parameters may be set by a ParameterProfile: {why}; give a file with others")]
    None { count: usize, why: String },
    #[error(
        "the file has {0} parameters that may be set, and a vehicle can be given {MOST_VALUES}; keep those that all vehicles should have in common, or take some of them with --only PREFIX"
    )]
    TooMany(usize),
}

#[must_use]
pub fn is_one(text: &str) -> bool {
    let mut lines = lines(text).take(20).peekable();
    lines.peek().is_some()
        && lines.all(|(_, line)| line.starts_with("@include") || pair(line).is_some_and(|(name, _)| is_name(name)))
}

/// Without remarks, and without the names of columns in the first row of a table.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(index, line)| {
        let line = line.split('#').next().unwrap_or_default().trim();
        let kept = match line.split_once(';') {
            Some(_) if by_semicolon(line).is_some() => line,
            Some((kept, _)) => kept.trim(),
            None => line,
        };
        (index + 1, kept)
    });
    let mut is_first = true;
    lines.filter(move |(_, line)| {
        let is_first = !line.is_empty() && std::mem::replace(&mut is_first, false);
        !(line.is_empty() || is_first && names_columns(line))
    })
}

fn names_columns(line: &str) -> bool {
    let mut columns = line
        .split([',', ';', '\t'])
        .map(|column| unquoted(column).to_ascii_lowercase());
    let is_name = |column: String| ["name", "param", "parameter", "command"].contains(&column.as_str());
    columns.next().is_some_and(is_name) && columns.next().is_some_and(|column| column == "value")
}

/// Spreadsheets put values in quotes.
fn unquoted(text: &str) -> &str {
    text.trim().trim_matches('"')
}

/// `NAME;1500`, as spreadsheets write it where the comma is decimal; in other files a remark follows a semicolon.
fn by_semicolon(line: &str) -> Option<(&str, f64)> {
    let mut columns = line.split(';').map(unquoted);
    let name = columns.next().filter(|name| is_name(name))?;
    Some((name, number(columns.next()?)?))
}

fn pair(line: &str) -> Option<(&str, f64)> {
    let columns: Vec<&str> = line.split_whitespace().collect();
    if let [.., name, value, _] = columns.as_slice()
        && has_columns(&columns)
    {
        return Some((name, number(value)?));
    }
    if let Some(pair) = by_semicolon(line) {
        return Some(pair);
    }
    let (name, rest) = line.split_once(|c: char| c == ',' || c == '=' || c.is_whitespace())?;
    let rest = rest.trim_start_matches(|c: char| c == '=' || c.is_whitespace());
    // `NAME , 1500`.
    let is_apart = line
        .strip_prefix(name)
        .is_some_and(|rest| rest.starts_with(char::is_whitespace));
    let rest = rest.strip_prefix(',').filter(|_| is_apart).unwrap_or(rest).trim_start();
    // A comma after a blank belongs to a number, and a remark may follow a value.
    let value = unquoted(rest.split_whitespace().next()?);
    let hexadecimal = |text: &str| {
        let digits = text.strip_prefix("0x").or(text.strip_prefix("0X"))?;
        u32::from_str_radix(digits, 16).ok().map(f64::from)
    };
    let value = number(value)
        .or_else(|| hexadecimal(value))
        .or_else(|| number(unquoted(value.split(',').next()?)))?;
    Some((unquoted(name), value))
}

fn has_columns(columns: &[&str]) -> bool {
    let whole = |column: &str| column.parse::<u32>().is_ok();
    matches!(columns, [system, component, _, _, kind] if whole(system) && whole(component) && whole(kind))
}

/// Component-Id of QGroundControl's five columns.
fn component(line: &str) -> Option<u32> {
    let columns: Vec<&str> = line.split_whitespace().collect();
    let component = columns.get(1).filter(|_| has_columns(&columns))?;
    component.parse().ok()
}

/// Component-Id whose parameters are those of the autopilot: early PX4 had another than 1.
fn of_autopilot(text: &str) -> Option<u32> {
    let mut components = lines(text).filter_map(|(_, line)| component(line)).peekable();
    let first = components.peek().copied()?;
    Some(if components.any(|component| component == AUTOPILOT) {
        AUTOPILOT
    } else {
        first
    })
}

/// As `param diff` of MAVProxy shows a default and a value.
fn has_two_values(line: &str) -> bool {
    let by_comma: Vec<&str> = line.split(',').map(str::trim).collect();
    let by_blank: Vec<&str> = line.split_whitespace().collect();
    let by_semicolon: Vec<&str> = line.split(';').map(str::trim).collect();
    [by_comma, by_blank, by_semicolon]
        .iter()
        .any(|columns| match columns.as_slice() {
            [name, one, other, ..] => is_name(name) && number(one).is_some() && number(other).is_some(),
            _ => false,
        })
}

fn is_name(name: &str) -> bool {
    let rest = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    name.starts_with(|c: char| c.is_ascii_uppercase()) && name.len() <= 40 && name.chars().all(rest)
}

pub fn read(text: &str) -> Result<ParameterFile, BadParameters> {
    let mut file = ParameterFile::default();
    for remark in text.lines().filter_map(|line| line.trim().strip_prefix('#')) {
        if let Some((key, value)) = remark.split_once(':') {
            match key.trim() {
                "Stack" if value.contains("PX4") => file.autopilot = Some(Autopilot::Px4),
                "Stack" if value.contains("ArduPilot") => file.autopilot = Some(Autopilot::ArduPilot),
                "Vehicle" => file.vehicle = Some(value.trim().to_owned()),
                _ => {}
            }
        }
    }
    let autopilot = of_autopilot(text);
    let whole_lines: Vec<&str> = text.lines().collect();
    for (line, text) in lines(text) {
        let whole = whole_lines.get(line - 1).copied().unwrap_or(text).trim();
        let wrong = || BadParameters::Line {
            line,
            text: whole.chars().take(60).collect(),
        };
        if text.starts_with("@include") {
            let text = text.to_owned();
            return Err(BadParameters::Include { line, text });
        }
        // Marks of default files, such as @READONLY.
        let text = text.split(" @").next().unwrap_or(text).trim();
        file.has_columns |= has_columns(&text.split_whitespace().collect::<Vec<_>>());
        let (name, value) = pair(text).filter(|(name, _)| is_name(name)).ok_or_else(wrong)?;
        if value.is_nan() {
            file.not_numbers.push(name.to_owned());
            continue;
        }
        if value.is_infinite() {
            return Err(wrong());
        }
        if has_two_values(text) {
            let text = whole.chars().take(60).collect();
            return Err(BadParameters::TwoValues { line, text });
        }
        if component(text).is_some_and(|component| Some(component) != autopilot) {
            file.of_others.push(name.to_owned());
            continue;
        }
        if name.len() > LONGEST_NAME {
            file.too_long.push(name.to_owned());
            continue;
        }
        if let Some((first, before)) = file.values.insert(name.to_owned(), (value, line))
            && (first - value).abs() > f64::EPSILON
        {
            return Err(BadParameters::Twice {
                line,
                name: name.to_owned(),
                first,
                second: value,
                before,
            });
        }
    }
    Ok(file)
}

/// Prefixes that one of the two stacks has.
const OF_PX4: [&str; 22] = [
    "BAT1_",
    "BAT_",
    "CA_",
    "CAL_",
    "CBRK_",
    "COM_",
    "EKF2_",
    "FW_",
    "GF_",
    "IMU_",
    "LNDMC_",
    "MAN_",
    "MC_",
    "MIS_",
    "MPC_",
    "NAV_",
    "PWM_",
    "RTL_RETURN",
    "SDLOG_",
    "SENS_",
    "SYS_",
    "VT_",
];
const OF_ARDUPILOT: [&str; 30] = [
    "ACRO_",
    "AHRS_",
    "ANGLE_MAX",
    "ARMING_",
    "ATC_",
    "AUTO_OPTIONS",
    "BATT_",
    "BRD_",
    "COMPASS_",
    "EK2_",
    "EK3_",
    "FENCE_",
    "FLTMODE",
    "FRAME_",
    "FS_",
    "INS_",
    "LAND_S",
    "LOG_",
    "MOT_",
    "PILOT_",
    "PSC_",
    "RC1_",
    "RTL_ALT",
    "SCHED_",
    "SERIAL",
    "SERVO",
    "SR0_",
    "SYSID_",
    "TERRAIN_",
    "WP",
];

/// Prefixes that only vehicles other than copters have, and what these are.
const OTHERS: [(Autopilot, &str, &str); 51] = [
    (Autopilot::ArduPilot, "TECS_", "a plane"),
    (Autopilot::ArduPilot, "Q_", "a plane"),
    (Autopilot::ArduPilot, "RLL2SRV_", "a plane"),
    (Autopilot::ArduPilot, "PTCH2SRV_", "a plane"),
    (Autopilot::ArduPilot, "RLL_RATE_", "a plane"),
    (Autopilot::ArduPilot, "PTCH_RATE_", "a plane"),
    (Autopilot::ArduPilot, "YAW2SRV_", "a plane"),
    (Autopilot::ArduPilot, "LIM_PITCH_", "a plane"),
    (Autopilot::ArduPilot, "LIM_ROLL_CD", "a plane"),
    (Autopilot::ArduPilot, "PTCH_LIM_", "a plane"),
    (Autopilot::ArduPilot, "LEVEL_ROLL_LIMIT", "a plane"),
    (Autopilot::ArduPilot, "FBWB_", "a plane"),
    (Autopilot::ArduPilot, "FS_LONG_", "a plane"),
    (Autopilot::ArduPilot, "FS_SHORT_", "a plane"),
    (Autopilot::ArduPilot, "LAND_FLARE_", "a plane"),
    (Autopilot::ArduPilot, "LAND_PITCH_", "a plane"),
    (Autopilot::ArduPilot, "GLIDE_SLOPE_", "a plane"),
    (Autopilot::ArduPilot, "FLAP_", "a plane"),
    (Autopilot::ArduPilot, "STALL_PREVENTION", "a plane"),
    (Autopilot::ArduPilot, "WP_LOITER_RAD", "a plane"),
    (Autopilot::ArduPilot, "WP_MAX_RADIUS", "a plane"),
    (Autopilot::ArduPilot, "RTL_AUTOLAND", "a plane"),
    (Autopilot::ArduPilot, "RTL_RADIUS", "a plane"),
    (Autopilot::ArduPilot, "PTCH_TRIM_DEG", "a plane"),
    (Autopilot::ArduPilot, "MAN_EXPO_", "a plane"),
    (Autopilot::ArduPilot, "STICK_MIXING", "a plane"),
    (Autopilot::ArduPilot, "ROLL_LIMIT_DEG", "a plane"),
    (Autopilot::ArduPilot, "NAVL1_", "a plane"),
    (Autopilot::ArduPilot, "AIRSPEED_CRUISE", "a plane"),
    (Autopilot::ArduPilot, "AIRSPEED_M", "a plane"),
    (Autopilot::ArduPilot, "ARSPD_FBW_", "a plane"),
    (Autopilot::ArduPilot, "TRIM_ARSPD_CM", "a plane"),
    (Autopilot::ArduPilot, "KFF_", "a plane"),
    (Autopilot::ArduPilot, "CRUISE_", "a rover"),
    (Autopilot::ArduPilot, "ATC_STR_", "a rover"),
    (Autopilot::ArduPilot, "ATC_SPEED_", "a rover"),
    (Autopilot::ArduPilot, "ATC_BRAKE", "a rover"),
    (Autopilot::ArduPilot, "ATC_BAL_", "a rover"),
    (Autopilot::ArduPilot, "ATC_SAIL_", "a boat"),
    (Autopilot::ArduPilot, "SAIL_ENABLE", "a boat"),
    (Autopilot::ArduPilot, "TURN_RADIUS", "a rover"),
    (Autopilot::ArduPilot, "MODE1", "a rover"),
    (Autopilot::ArduPilot, "MODE_CH", "a rover"),
    (Autopilot::ArduPilot, "WP_PIVOT_", "a rover"),
    (Autopilot::ArduPilot, "MOT_SLEWRATE", "a rover"),
    (Autopilot::ArduPilot, "JS_GAIN_", "a submarine"),
    (Autopilot::ArduPilot, "BTN0_", "a submarine"),
    (Autopilot::ArduPilot, "FS_LEAK_ENABLE", "a submarine"),
    (Autopilot::ArduPilot, "SURFACE_DEPTH", "a submarine"),
    (Autopilot::Px4, "FW_", "a plane"),
    (Autopilot::Px4, "VT_", "a VTOL plane"),
];

/// SERVOn_FUNCTION that no copter has: ailerons, elevators, rudders, elevons, V-tails; steered wheels, throttles by
/// side.
const OUTPUTS: [(f64, &str); 10] = [
    (4.0, "a plane"),
    (19.0, "a plane"),
    (21.0, "a plane"),
    (77.0, "a plane"),
    (78.0, "a plane"),
    (79.0, "a plane"),
    (80.0, "a plane"),
    (26.0, "a rover"),
    (73.0, "a rover"),
    (74.0, "a rover"),
];

/// Parts of vehicle names as QGroundControl writes them, lower case; the first that fits counts.
const NAMED: [(&str, &str); 8] = [
    ("vtol", "a VTOL plane"),
    ("fixed wing", "a plane"),
    ("plane", "a plane"),
    ("rover", "a rover"),
    ("boat", "a boat"),
    ("vessel", "a boat"),
    ("sub", "a submarine"),
    ("airship", "an airship"),
];

/// Only VTOL planes have it; they have the parameters of copters, too.
const VTOL_TYPE: &str = "VT_TYPE";

/// MAV_TYPE in PX4: a build for all vehicles lists the parameters of copters on planes, too.
const VEHICLE_TYPE: &str = "MAV_TYPE";

impl ParameterFile {
    fn names_other(&self) -> Option<BadParameters> {
        let vehicle = self.vehicle.as_ref()?;
        let lower = vehicle.to_ascii_lowercase();
        let (_, what) = NAMED.iter().find(|(part, _)| lower.contains(part))?;
        Some(BadParameters::Vehicle {
            what,
            name: format!("Vehicle: {vehicle}"),
        })
    }

    fn has_other_output(&self) -> Option<BadParameters> {
        let mut functions = self
            .values
            .iter()
            .filter(|(name, _)| name.starts_with("SERVO") && name.ends_with("_FUNCTION"));
        functions.find_map(|(name, (value, _))| {
            let (_, what) = OUTPUTS.iter().find(|(function, _)| (function - value).abs() < 0.5)?;
            Some(BadParameters::Vehicle {
                what,
                name: format!("{name} {value}"),
            })
        })
    }

    fn has_other_type(&self) -> Option<BadParameters> {
        let (value, _) = self.values.get(VEHICLE_TYPE)?;
        let kind: i64 = format!("{value}").parse().ok()?;
        (!check::COPTERS.contains(&kind)).then(|| BadParameters::Vehicle {
            what: check::vehicle(kind),
            name: format!("{VEHICLE_TYPE} {kind}"),
        })
    }

    pub fn stack(&self) -> Result<Autopilot, BadParameters> {
        if let Some(autopilot) = self.autopilot {
            return Ok(autopilot);
        }
        let count = |beginnings: &[&str]| {
            let has = |name: &&String| beginnings.iter().any(|beginning| name.starts_with(beginning));
            self.values.keys().filter(has).count()
        };
        match (count(&OF_ARDUPILOT), count(&OF_PX4)) {
            (ardupilot, px4) if ardupilot > px4 => Ok(Autopilot::ArduPilot),
            (ardupilot, px4) if px4 > ardupilot => Ok(Autopilot::Px4),
            // Mission Planner and MAVProxy write ArduPilot's.
            (0, 0) if !self.has_columns => Ok(Autopilot::ArduPilot),
            _ => Err(BadParameters::Autopilot),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    pub autopilot: Autopilot,
    pub values: BTreeMap<String, String>,
    pub left_out: BTreeMap<&'static str, Vec<String>>,
    pub renamed: Vec<String>,
}

impl Profile {
    fn why(&self) -> String {
        let words = |(why, names): (&&str, &Vec<String>)| format!("{} ({}): {why}", names.join(", "), names.len());
        self.left_out.iter().map(words).collect::<Vec<_>>().join("; ")
    }
}

/// Values that a profile may have; with `only`, those whose names begin so.
pub fn profile(file: &ParameterFile, autopilot: Option<Autopilot>, only: &[String]) -> Result<Profile, BadParameters> {
    let autopilot = autopilot.map_or_else(|| file.stack(), Ok)?;
    let typed = match autopilot {
        Autopilot::Px4 => file.has_other_type(),
        Autopilot::ArduPilot => file.has_other_output(),
    };
    if let Some(other) = file.names_other().or(typed) {
        return Err(other);
    }
    let other = OTHERS.iter().find_map(|(of, beginning, what)| {
        let name = file
            .values
            .keys()
            .find(|name| *of == autopilot && name.starts_with(beginning))?;
        Some((*what, name.clone()))
    });
    // PX4 lists parameters of planes on copters of some builds, and then those of copters too.
    let is_copter = autopilot == Autopilot::Px4
        && file.values.keys().any(|name| name.starts_with("MC_"))
        && !file.values.contains_key(VTOL_TYPE);
    if let Some((what, name)) = other.filter(|_| !is_copter) {
        return Err(BadParameters::Vehicle { what, name });
    }
    let mut profile = Profile {
        autopilot,
        values: BTreeMap::new(),
        left_out: BTreeMap::new(),
        renamed: Vec::new(),
    };
    if !file.too_long.is_empty() {
        profile.left_out.insert(TOO_LONG, file.too_long.clone());
    }
    if !file.not_numbers.is_empty() {
        profile.left_out.insert(NO_NUMBER, file.not_numbers.clone());
    }
    if !file.of_others.is_empty() {
        profile.left_out.insert(OF_OTHERS, file.of_others.clone());
    }
    let chosen = |name: &str| only.is_empty() || only.iter().any(|prefix| name.starts_with(prefix.as_str()));
    let all: Vec<_> = file.values.iter().filter(|(name, _)| chosen(name)).collect();
    for (name, (value, _)) in &all {
        if let Some(why) = denied::name(autopilot, name).or_else(|| denied::value(autopilot, name, *value)) {
            profile.left_out.entry(why).or_default().push((*name).clone());
            continue;
        }
        profile.renamed.extend(renamed::words(autopilot, name));
        profile.values.insert((*name).clone(), written(*value));
    }
    match profile.values.len() {
        0 => Err(BadParameters::None {
            count: all.len(),
            why: profile.why(),
        }),
        count if count > MOST_VALUES => Err(BadParameters::TooMany(count)),
        _ => Ok(profile),
    }
}

/// Shortest text: autopilots hold single precision, and files show more digits than that.
fn written(value: f64) -> String {
    if value.fract() == 0.0 {
        return format!("{value}");
    }
    #[expect(clippy::cast_possible_truncation, reason = "autopilots hold single precision")]
    let single = value as f32;
    format!("{single}")
}
