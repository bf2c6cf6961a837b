//! Whether a mission is free of contradictions, and suits a multicopter of this site.

use crate::fence::FenceShape;
use crate::{ItemName, Plan, at, meters};
use fleet::planning::geofence::depth;
use model::geo::{HIGHEST_LATITUDE, REACH, offset};
use model::plan::item::{self, FRAME_GLOBAL, FRAME_GLOBAL_INT, Item};
use model::rules::Side;
use model::station::Altitude;
use model::units::Wgs84;
use std::mem::{Discriminant, discriminant};

/// Altitudes that differ by less are the same: QGroundControl shows two decimals.
const SAME_ALTITUDE_M: f64 = 0.05;

/// Above home, as a Mission flies.
pub const ALTITUDES_M: (f64, f64) = (1.0, 120.0);

/// MAV_TYPE of vehicles that Skein flies, and 0 (generic).
pub(crate) const COPTERS: [i64; 9] = [0, 2, 3, 4, 13, 14, 15, 29, 35];

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Problem {
    #[error(
        "the mission was planned for {what} (vehicleType {kind}), and Skein flies multicopters; plan it for a multicopter"
    )]
    Vehicle { kind: i64, what: &'static str },
    #[error(
        "{item} shows an altitude of {} m and flies at {} m (\"Altitude\" against params[6]); set its altitude again in QGroundControl and save the plan",
        short(*.shown), short(*.flown)
    )]
    Altitude { item: ItemName, shown: f64, flown: f64 },
    #[error(
        "{item} shows an altitude above another reference than it flies at (\"AltitudeMode\" against the frame); set its altitude again in QGroundControl and save the plan"
    )]
    Reference { item: ItemName },
    #[error(
        "{item} is flown at {} m above mean sea level, {} ({} m in this file); if these are altitudes above home, save the file with relative altitudes (frame 3), or import it with --above-home",
        short(*.altitude), below_words(*.below), short(*.home)
    )]
    BelowHome {
        item: ItemName,
        altitude: f64,
        home: f64,
        below: f64,
    },
    #[error(
        "home of the file is at {home}, {distance} from {item}: the file was made for another place, or its home was never set; set home where the vehicles take off",
        distance = meters(*.distance)
    )]
    HomeFar {
        item: ItemName,
        home: String,
        distance: f64,
    },
    /// Autopilots take 0, 0 or none for the place where the vehicle is.
    #[error("{item} has no place (latitude and longitude are open); give it a place, or remove it")]
    Open { item: ItemName },
    #[error("{item} has a latitude or a longitude, and not both; give it a place, or leave both open")]
    HalfOpen { item: ItemName },
    #[error("{item} has no altitude; give meters above home")]
    NoAltitude { item: ItemName },
    #[error("{item} is at latitude {latitude}, longitude {longitude}, which is no position; {}", crate::position_advice(*.latitude, *.longitude, "correct it"))]
    NoPosition {
        item: ItemName,
        latitude: f64,
        longitude: f64,
    },
    #[error(
        "{item} is at latitude {latitude}, and Skein flies between {HIGHEST_LATITUDE}° south and {HIGHEST_LATITUDE}° north; choose a place there"
    )]
    Polar { item: ItemName, latitude: f64 },
    #[error(
        "{item} is {distance} from the first place ({first}), and a site reaches {reach}; correct the place, or make a Mission of each site",
        distance = beyond_reach(*.distance), reach = meters(REACH)
    )]
    Far {
        item: ItemName,
        distance: f64,
        first: String,
    },
    #[error("{item} is flown at {altitude} m above home, and a Mission flies from {low} to {high} m above home; change its altitude", altitude = short(*.altitude), low = ALTITUDES_M.0, high = ALTITUDES_M.1)]
    Height { item: ItemName, altitude: f64 },
    #[error("{item} is for a VTOL plane, and Skein flies multicopters; plan it for a multicopter")]
    Vtol { item: ItemName },
    /// Item to change in the file, as without it the flight would be another.
    #[error("{item} cannot be flown by a Mission: {why}")]
    Unflyable { item: ItemName, why: &'static str },
    /// Item without a counterpart in a route; a person may leave it out.
    #[error("{item} cannot be part of a route: command {} {why}; remove it, or leave it out with --leave-out", item.command)]
    Unroutable { item: ItemName, why: &'static str },
    #[error("{item}: {why}")]
    Other { item: ItemName, why: String },
    #[error("{0}")]
    Mission(String),
}

/// Further items that are named beside the first of their kind.
const MAX_NAMED: usize = 4;

impl Problem {
    pub(crate) const fn item(&self) -> Option<ItemName> {
        match self {
            Self::Vehicle { .. } | Self::Mission(_) => None,
            Self::Altitude { item, .. }
            | Self::Reference { item }
            | Self::BelowHome { item, .. }
            | Self::HomeFar { item, .. }
            | Self::Open { item }
            | Self::HalfOpen { item }
            | Self::NoAltitude { item }
            | Self::NoPosition { item, .. }
            | Self::Polar { item, .. }
            | Self::Far { item, .. }
            | Self::Height { item, .. }
            | Self::Vtol { item }
            | Self::Unflyable { item, .. }
            | Self::Unroutable { item, .. }
            | Self::Other { item, .. } => Some(*item),
        }
    }

    /// Whether no change of single items mends it.
    const fn is_of_whole_file(&self) -> bool {
        matches!(
            self,
            Self::Vehicle { .. } | Self::Vtol { .. } | Self::HomeFar { .. } | Self::Mission(_)
        )
    }

    /// Equal for problems that differ only in their items and numbers.
    fn kind(&self) -> (Discriminant<Self>, &str) {
        let why = match self {
            Self::Unflyable { why, .. } | Self::Unroutable { why, .. } => *why,
            Self::Other { why, .. } | Self::Mission(why) => why.as_str(),
            _ => "",
        };
        (discriminant(self), why)
    }

    /// Names only numbers of items and commands.
    #[must_use]
    pub fn without_content(&self) -> String {
        match self {
            Self::Vehicle { .. } => {
                "the mission was planned for another kind of vehicle, and Skein flies multicopters; plan it for a \
                                     multicopter"
                    .to_owned()
            }
            Self::Altitude { item, .. } => format!(
                "{item} shows another altitude than it flies at (\"Altitude\" against params[6]); set its altitude again in QGroundControl \
                 and save the plan"
            ),
            Self::BelowHome { item, .. } => format!(
                "{item} is flown below the home of this file; if its altitudes are above home, save the file with relative altitudes (frame 3)"
            ),
            Self::HomeFar { item, .. } => {
                format!("home of the file is far from {item}; set home where the vehicles take off")
            }
            Self::NoPosition { item, .. } => format!("{item} is at no position on Earth; correct it"),
            Self::Polar { item, .. } => format!(
                "{item} is too near to a pole, and Skein flies between {HIGHEST_LATITUDE}° south and {HIGHEST_LATITUDE}° north; choose a \
                 place there"
            ),
            Self::Far { item, .. } => format!(
                "{item} is too far from the first place, and a site reaches {}; correct the place, or make a Mission of each site",
                meters(REACH)
            ),
            Self::Height { item, .. } => {
                let (low, high) = ALTITUDES_M;
                format!("{item} is flown below {low} m or above {high} m above home; change its altitude")
            }
            Self::Other { item, .. } => format!("{item} cannot be flown; look at it with `skein import`"),
            Self::Mission(_) => "the mission cannot be flown; look at it with `skein import`".to_owned(),
            Self::Reference { .. }
            | Self::Open { .. }
            | Self::HalfOpen { .. }
            | Self::NoAltitude { .. }
            | Self::Vtol { .. }
            | Self::Unflyable { .. }
            | Self::Unroutable { .. } => self.to_string(),
        }
    }
}

/// NAV_LOITER_UNLIM, which as the last item becomes a waypoint.
const LOITER_UNLIM: u16 = 17;

/// Whether a flight leads to the place of an item with this MAV_CMD, as it is or made a waypoint.
const fn is_flown_to(command: u16) -> bool {
    model::plan::flight::is_flown_to(command) || command == LOITER_UNLIM
}

/// Contradictions for which nothing should be armed.
#[must_use]
pub fn contradictions(plan: &Plan) -> Vec<Problem> {
    let (mut found, mut below) = (Vec::new(), Vec::new());
    if let Some(kind) = plan.vehicle_type.filter(|kind| !COPTERS.contains(kind)) {
        found.push(Problem::Vehicle {
            kind,
            what: vehicle(kind),
        });
    }
    for (number, item) in plan.file.items.iter().enumerate() {
        let shown = plan.items.get(number).and_then(|origin| origin.shown_altitude);
        let [.., flown] = item.params;
        if let (Some(shown), Some(flown)) = (shown, flown)
            && (is_flown_to(item.command) || item.command == item::NAV_TAKEOFF)
            && (shown - flown).abs() > SAME_ALTITUDE_M
        {
            let item = plan.item(number);
            found.push(Problem::Altitude { item, shown, flown });
        }
        let origin = plan.items.get(number).copied().unwrap_or_default();
        if origin.shows_other_reference && is_flown_to(item.command) {
            let item = plan.item(number);
            found.push(Problem::Reference { item });
        }
        if is_flown_to(item.command) && is_half_open(item) {
            let item = plan.item(number);
            found.push(Problem::HalfOpen { item });
        }
        below.extend(below_home(plan, number, item));
    }
    if !below.is_empty() {
        found.extend(home_far(plan));
    }
    found.extend(below);
    found
}

/// A line for each kind of problem, those of the whole file first.
#[must_use]
pub fn summary(problems: &[Problem]) -> Vec<String> {
    let mut kinds: Vec<Vec<&Problem>> = Vec::new();
    for problem in problems {
        let is_of = |kind: &[&Problem]| kind.first().is_some_and(|first| first.kind() == problem.kind());
        match kinds
            .iter()
            .position(|kind| is_of(kind))
            .and_then(|at| kinds.get_mut(at))
        {
            Some(kind) => kind.push(problem),
            None => kinds.push(vec![problem]),
        }
    }
    kinds.sort_by_key(|kind| kind.first().is_none_or(|first| !first.is_of_whole_file()));
    kinds.iter().filter_map(|kind| of_kind(kind)).collect()
}

fn of_kind(kind: &[&Problem]) -> Option<String> {
    let (first, more) = kind.split_first()?;
    if more.is_empty() {
        return Some(first.to_string());
    }
    let items = more.iter().filter_map(|problem| problem.item()).take(MAX_NAMED);
    let mut named: Vec<String> = items.map(|item| format!("{item}")).collect();
    if more.len() > named.len() {
        named.push(format!("and {} more", more.len() - named.len()));
    }
    Some(format!("{first} ({} items; also {})", kind.len(), named.join(", ")))
}

#[must_use]
pub fn home_far(plan: &Plan) -> Option<Problem> {
    let (home, _) = plan.file.home?;
    let is_first = |item: &Item| is_flown_to(item.command) && is_placed(item);
    let number = plan.file.items.iter().position(is_first)?;
    let (place, _) = plan.file.items.get(number)?.place()?.ok()?;
    let (east, north) = offset(home, place);
    let distance = east.hypot(north);
    (distance > REACH).then(|| Problem::HomeFar {
        item: plan.item(number),
        home: at(home),
        distance,
    })
}

/// Home at 0 m is written by programs that do not know it.
fn below_home(plan: &Plan, number: usize, item: &Item) -> Option<Problem> {
    let (_, home) = plan.file.home.filter(|(_, home)| home.0 != 0.0)?;
    let [.., Some(altitude)] = item.params else { return None };
    let above_sea = [FRAME_GLOBAL, FRAME_GLOBAL_INT].contains(&item.frame);
    let flown = is_flown_to(item.command) && item.command != item::NAV_LAND;
    (flown && above_sea && altitude < home.0 + ALTITUDES_M.0).then(|| Problem::BelowHome {
        item: plan.item(number),
        altitude,
        home: home.0,
        below: home.0 - altitude,
    })
}

/// Waypoints without a place: one autopilot uses its own position there, another latitude 0, longitude 0.
#[must_use]
pub fn open_waypoints(plan: &Plan) -> Vec<Problem> {
    let items = plan.file.items.iter().enumerate();
    let open = items.filter(|(_, item)| item.command == item::NAV_WAYPOINT && is_open(item));
    open.map(|(number, _)| Problem::Open {
        item: plan.item(number),
    })
    .collect()
}

/// Notes that without home's altitude nobody knows whether altitudes above mean sea level are above the ground.
#[must_use]
pub fn home_unknown(plan: &Plan) -> Option<String> {
    if plan.file.home.is_some_and(|(_, altitude)| altitude.0 != 0.0) {
        return None;
    }
    let above_sea = |item: &Item| {
        let flown = is_flown_to(item.command) && item.command != item::NAV_LAND;
        flown && !is_open(item) && [FRAME_GLOBAL, FRAME_GLOBAL_INT].contains(&item.frame)
    };
    let mut found = (0..).zip(&plan.file.items).filter(|(_, item)| above_sea(item));
    let (number, first) = found.next()?;
    let [.., Some(altitude)] = first.params else {
        return None;
    };
    Some(format!(
        "altitudes above mean sea level ({} is flown at {} m, and {} more), and the file does not say how high home is: compare them with \
         the ground there; if they are altitudes above home, import the file with --above-home",
        plan.item(number),
        short(altitude),
        found.count()
    ))
}

/// Notes the mark of a landing in a file that names no vehicle: mostly planes have it.
#[must_use]
pub fn maybe_of_plane(plan: &Plan) -> Option<String> {
    const DO_LAND_START: u16 = 189;
    let is_mark = |item: &Item| item.command == DO_LAND_START;
    let number = plan.file.items.iter().position(is_mark)?;
    plan.vehicle_type.is_none().then(|| {
        format!(
            "{} is mostly of missions for planes, and the file does not say for which vehicle it is: check that it suits a multicopter",
            plan.item(number)
        )
    })
}

/// Notes altitudes above mean sea level that are higher above the file's home than a Mission flies above its own.
#[must_use]
pub fn far_above_home(plan: &Plan) -> Option<String> {
    let (_, home) = plan.file.home.filter(|(_, home)| home.0 != 0.0)?;
    let height = |item: &Item| {
        let [.., altitude] = item.params;
        let flown = is_flown_to(item.command) && item.command != item::NAV_LAND && !is_open(item);
        let above_sea = [FRAME_GLOBAL, FRAME_GLOBAL_INT].contains(&item.frame);
        let height = altitude? - home.0;
        (flown && above_sea && height > ALTITUDES_M.1).then_some(height)
    };
    let items = plan.file.items.iter().enumerate();
    let mut found = items.filter_map(|(number, item)| Some((number, height(item)?)));
    let (number, height) = found.next()?;
    Some(format!(
        "altitudes above mean sea level are more than {} m above home of the file ({} m; {} is flown {height:.0} m above it, and {} more): \
         compare them with the ground there; they are flown only where the coordinator allows them (--station-amsl)",
        ALTITUDES_M.1,
        short(home.0),
        plan.item(number),
        found.count()
    ))
}

/// Names places of the mission at which the fence of its own file lets no vehicle be.
#[must_use]
pub fn outside_fence(plan: &Plan) -> Option<String> {
    let beyond = |place: Wgs84| {
        let of = |shape: &FenceShape| match shape.side {
            Side::Inside => -depth(&shape.outline, place),
            Side::Outside => depth(&shape.outline, place),
        };
        plan.fence.shapes.iter().map(of).fold(0.0, f64::max)
    };
    let mut found = Vec::new();
    for (number, item) in plan.file.items.iter().enumerate() {
        let is_place = is_flown_to(item.command) && item.command != item::NAV_LAND && !is_open(item);
        if is_place && let Some(Ok((place, _))) = item.place() {
            let by = beyond(place);
            if by > 0.0 {
                found.push(format!("{} by {}", plan.item(number), meters(by)));
            }
        }
    }
    let count = found.len();
    found.truncate(MAX_NAMED + 1);
    if count > found.len() {
        found.push(format!("and {} more", count - found.len()));
    }
    (count > 0).then(|| {
        format!(
            "NOTE: places of the mission that the fence of the same file forbids: {count} ({}); vehicles have to be inside of all \
             inclusions and outside of all exclusions, and no way there is flown: move the places, or draw the fence again",
            found.join(", ")
        )
    })
}

/// Whether autopilots substitute the vehicle's position for that of `item`.
#[must_use]
pub fn is_open(item: &Item) -> bool {
    let [.., latitude, longitude, _] = item.params;
    latitude.unwrap_or_default() == 0.0 && longitude.unwrap_or_default() == 0.0
}

/// Whether only one of latitude and longitude is given.
fn is_half_open(item: &Item) -> bool {
    let [.., latitude, longitude, _] = item.params;
    !is_open(item) && (latitude.is_none() || longitude.is_none())
}

/// Whether latitude and longitude are both given.
pub(crate) fn is_placed(item: &Item) -> bool {
    !is_open(item) && !is_half_open(item)
}

#[must_use]
pub fn places(plan: &Plan) -> Vec<Problem> {
    let mut found = Vec::new();
    let mut first: Option<Wgs84> = None;
    for (number, item) in plan.file.items.iter().enumerate() {
        if !is_flown_to(item.command) || !is_placed(item) {
            continue;
        }
        let name = plan.item(number);
        let Some(Ok((place, _))) = item.place() else { continue };
        let Wgs84 {
            latitude_deg: latitude,
            longitude_deg: longitude,
        } = place;
        if model::geo::position(place).is_err() {
            found.push(Problem::NoPosition {
                item: name,
                latitude,
                longitude,
            });
        } else if latitude.abs() > HIGHEST_LATITUDE {
            found.push(Problem::Polar { item: name, latitude });
        } else {
            let first = *first.get_or_insert(place);
            let (east, north) = offset(first, place);
            let distance = east.hypot(north);
            if distance > REACH {
                found.push(Problem::Far {
                    item: name,
                    distance,
                    first: at(first),
                });
            }
        }
    }
    found
}

#[must_use]
pub fn height(item: ItemName, altitude: Altitude) -> Option<Problem> {
    match altitude {
        Altitude::AboveHome(height) if !(ALTITUDES_M.0..=ALTITUDES_M.1).contains(&height.0) => Some(Problem::Height {
            item,
            altitude: height.0,
        }),
        Altitude::AboveHome(_) | Altitude::Amsl(_) => None,
    }
}

/// As many digits as tell it from [`REACH`].
pub(crate) fn beyond_reach(distance: f64) -> String {
    let whole = meters(distance);
    if whole != meters(REACH) {
        return whole;
    }
    let tenths = |meters: f64| format!("{:.1} km", meters / 1000.0);
    if tenths(distance) == tenths(REACH) {
        format!("{:.3} km", distance / 1000.0)
    } else {
        tenths(distance)
    }
}

/// Files show more digits than anybody has entered.
fn short(number: f64) -> String {
    format!("{}", (number * 100.0).round() / 100.0)
}

fn below_words(below: f64) -> String {
    if below >= 1.0 {
        format!("{below:.0} m below home")
    } else {
        "at the altitude of home".to_owned()
    }
}

pub(crate) fn vehicle(kind: i64) -> &'static str {
    match kind {
        1 => "a plane",
        7 => "an airship",
        8 => "a balloon",
        9 => "a rocket",
        10 => "a ground rover",
        11 => "a boat",
        12 => "a submarine",
        16 => "a flapping wing",
        17 => "a kite",
        19..=25 => "a VTOL plane",
        28 => "a parafoil",
        _ => "another vehicle",
    }
}
