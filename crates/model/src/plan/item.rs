//! The items of the mission protocol (MISSION_ITEM_INT, message 73), as data.
//!
//! Numbers and names are those of MAV_CMD and MAV_FRAME (MAVLink common).

use super::route::{Action, Waypoint};
use crate::station::Altitude;
use crate::units::{AltitudeAboveHome, AltitudeAmsl, Heading, Meters, MetersPerSecond, Wgs84};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Goes to a place. 1: hold, s. 4: heading, degrees.
pub const NAV_WAYPOINT: u16 = 16;
/// Holds at a place for 1: s.
pub const NAV_LOITER_TIME: u16 = 19;
pub const NAV_RETURN_TO_LAUNCH: u16 = 20;
pub const NAV_LAND: u16 = 21;
pub const NAV_TAKEOFF: u16 = 22;
/// Goes to a place along a curve; ArduPilot only.
pub const NAV_SPLINE_WAYPOINT: u16 = 82;
/// Waits for 1: s, where 2 to 4 (a time of day) are -1.
pub const NAV_DELAY: u16 = 93;
/// 1: kind (0 air, 1 ground, 2 climb, 3 descent). 2: m/s. 3: throttle, -1 as it is.
pub const DO_CHANGE_SPEED: u16 = 178;
/// A photo every 1: m, 0 ends it. 3: 1 for one at once, also with 0 m.
pub const DO_SET_CAM_TRIGG_DIST: u16 = 206;
/// Photos. 2: every s. 3: how many, 0 without end.
pub const IMAGE_START_CAPTURE: u16 = 2000;

/// Commands above this and below [`NAV_LAST`] do not move.
const NAV_LAST: u16 = 95;

pub const FRAME_GLOBAL: u8 = 0;
pub const FRAME_MISSION: u8 = 2;
pub const FRAME_GLOBAL_RELATIVE_ALT: u8 = 3;
/// As [`FRAME_GLOBAL`], sent as whole numbers.
pub const FRAME_GLOBAL_INT: u8 = 5;
/// As [`FRAME_GLOBAL_RELATIVE_ALT`], sent as whole numbers.
pub const FRAME_GLOBAL_RELATIVE_ALT_INT: u8 = 6;
pub const FRAME_GLOBAL_TERRAIN_ALT: u8 = 10;
/// As [`FRAME_GLOBAL_TERRAIN_ALT`], sent as whole numbers.
pub const FRAME_GLOBAL_TERRAIN_ALT_INT: u8 = 11;

/// The first of a mission has the number 0; home is not counted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// MAV_CMD.
    pub command: u16,
    /// MAV_FRAME.
    pub frame: u8,
    /// 1 to 4 depend on the command; 5 to 7: latitude and longitude in degrees and altitude in meters, where the command has a position.
    /// `None` is NaN on the wire: as the autopilot decides.
    pub params: [Option<f64>; 7],
    /// MISSION_ITEM_INT.autocontinue.
    pub goes_on: bool,
}

impl Item {
    const fn new(command: u16, frame: u8, params: [Option<f64>; 7]) -> Self {
        Self {
            command,
            frame,
            params,
            goes_on: true,
        }
    }

    /// As ground stations write it: all seven values, above home.
    #[cfg(test)]
    pub(super) const fn written(command: u16, [a, b, c, d, e, f, g]: [f64; 7]) -> Self {
        let params = [Some(a), Some(b), Some(c), Some(d), Some(e), Some(f), Some(g)];
        Self::new(command, FRAME_GLOBAL_RELATIVE_ALT, params)
    }

    /// Name of the MAV_CMD, where this crate has one.
    pub const fn name(&self) -> &'static str {
        match self.command {
            NAV_WAYPOINT => "NAV_WAYPOINT",
            17 => "NAV_LOITER_UNLIM",
            18 => "NAV_LOITER_TURNS",
            NAV_LOITER_TIME => "NAV_LOITER_TIME",
            NAV_RETURN_TO_LAUNCH => "NAV_RETURN_TO_LAUNCH",
            NAV_LAND => "NAV_LAND",
            NAV_TAKEOFF => "NAV_TAKEOFF",
            NAV_SPLINE_WAYPOINT => "NAV_SPLINE_WAYPOINT",
            NAV_DELAY => "NAV_DELAY",
            112 => "CONDITION_DELAY",
            114 => "CONDITION_DISTANCE",
            115 => "CONDITION_YAW",
            177 => "DO_JUMP",
            DO_CHANGE_SPEED => "DO_CHANGE_SPEED",
            181 => "DO_SET_RELAY",
            183 => "DO_SET_SERVO",
            189 => "DO_LAND_START",
            195 => "DO_SET_ROI_LOCATION",
            197 => "DO_SET_ROI_NONE",
            201 => "DO_SET_ROI",
            205 => "DO_MOUNT_CONTROL",
            DO_SET_CAM_TRIGG_DIST => "DO_SET_CAM_TRIGG_DIST",
            211 => "DO_GRIPPER",
            214 => "DO_SET_CAM_TRIGG_INTERVAL",
            530 => "SET_CAMERA_MODE",
            1000 => "DO_GIMBAL_MANAGER_PITCHYAW",
            IMAGE_START_CAPTURE => "IMAGE_START_CAPTURE",
            2001 => "IMAGE_STOP_CAPTURE",
            2500 => "VIDEO_START_CAPTURE",
            2501 => "VIDEO_STOP_CAPTURE",
            42600 => "DO_WINCH",
            _ => "no command that Skein knows",
        }
    }

    /// Whether it moves or switches something on board that is no camera: a servo, a relay, a gripper.
    pub const fn moves_actuator(&self) -> bool {
        matches!(self.command, 181 | 183 | 211 | 42600)
    }

    fn param(&self, number: usize) -> f64 {
        self.params
            .get(number.saturating_sub(1))
            .copied()
            .flatten()
            .unwrap_or_default()
    }

    pub const fn moves(&self) -> bool {
        self.command < NAV_LAST
    }

    /// Where it flies to; `None` for an action at the present position.
    pub fn place(&self) -> Option<Result<(Wgs84, Altitude), Unroutable>> {
        let to_place = self.moves() && ![NAV_RETURN_TO_LAUNCH, NAV_DELAY].contains(&self.command);
        if !to_place || self.frame == FRAME_MISSION {
            return None;
        }
        let at = Wgs84 {
            latitude_deg: self.param(5),
            longitude_deg: self.param(6),
        };
        let height = self.param(7);
        Some(match self.frame {
            FRAME_GLOBAL | FRAME_GLOBAL_INT => Ok((at, Altitude::Amsl(AltitudeAmsl(height)))),
            FRAME_GLOBAL_RELATIVE_ALT | FRAME_GLOBAL_RELATIVE_ALT_INT => {
                Ok((at, Altitude::AboveHome(AltitudeAboveHome(height))))
            }
            FRAME_GLOBAL_TERRAIN_ALT | FRAME_GLOBAL_TERRAIN_ALT_INT => Err(Unroutable::Terrain),
            other => Err(Unroutable::Frame(other)),
        })
    }
}

/// The items that fly `waypoints` on a multicopter, without takeoff and landing.
pub fn of_waypoints(waypoints: &[Waypoint]) -> Vec<Item> {
    waypoints.iter().flat_map(of_waypoint).collect()
}

fn of_waypoint(waypoint: &Waypoint) -> Vec<Item> {
    let zero = Some(0.0);
    // Speed and the like are set before the way to the next place.
    let speed = waypoint.speed.map(|speed| {
        let params = [Some(1.0), Some(speed.0), Some(-1.0), zero, zero, zero, zero];
        Item::new(DO_CHANGE_SPEED, FRAME_MISSION, params)
    });
    let (frame, height) = match waypoint.altitude {
        Altitude::AboveHome(height) => (FRAME_GLOBAL_RELATIVE_ALT, height.0),
        Altitude::Amsl(height) => (FRAME_GLOBAL, height.0),
    };
    let place = Item::new(
        NAV_WAYPOINT,
        frame,
        [
            Some(waypoint.hold.as_secs_f64()),
            zero,
            zero,
            waypoint.heading.map(|heading| heading.0),
            Some(waypoint.at.latitude_deg),
            Some(waypoint.at.longitude_deg),
            Some(height),
        ],
    );
    let actions = waypoint.actions.iter().map(|action| match *action {
        Action::Photo => {
            // 0 leaves the sequence number to the camera; ArduPilot rejects NaN here.
            let params = [zero, zero, Some(1.0), zero, None, None, None];
            Item::new(IMAGE_START_CAPTURE, FRAME_MISSION, params)
        }
        Action::TriggerEvery(Meters(distance)) => {
            let params = [Some(distance), zero, Some(1.0), zero, zero, zero, zero];
            Item::new(DO_SET_CAM_TRIGG_DIST, FRAME_MISSION, params)
        }
        Action::StopTrigger => Item::new(DO_SET_CAM_TRIGG_DIST, FRAME_MISSION, [zero; 7]),
    });
    speed.into_iter().chain(std::iter::once(place)).chain(actions).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum Unroutable {
    #[error("command {command} ({name}) has no counterpart in a route")]
    Command { command: u16, name: &'static str },
    /// The command has a counterpart, but not with these numbers.
    #[error("{name} has no counterpart in a route with parameter {parameter} = {value}")]
    Parameter {
        name: &'static str,
        /// From 1.
        parameter: usize,
        value: f64,
    },
    #[error("{0} before the first waypoint has no counterpart in a route")]
    BeforeFirst(&'static str),
    #[error("a landing that is not the last item has no counterpart in a route")]
    LandsBefore,
    #[error("a height above terrain has no counterpart in a route, as Skein knows no terrain")]
    Terrain,
    #[error("frame {0} has no counterpart in a route")]
    Frame(u8),
    #[error("a waypoint at which the vehicle waits for a person has no counterpart in a route")]
    Waits,
}

#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("item {number} cannot be part of a route")]
pub struct UnroutableItem {
    /// From 0.
    pub number: usize,
    pub source: Unroutable,
}

/// Items that a Mission does not need: Skein takes off and brings home by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Omitted {
    pub takeoffs: usize,
    pub landings: usize,
}

/// The waypoints of `items`, without takeoff and landing.
///
/// # Errors
/// [`UnroutableItem`], the first without a counterpart in a route.
pub fn to_waypoints(items: &[Item]) -> Result<(Vec<Waypoint>, Omitted), UnroutableItem> {
    let mut waypoints: Vec<Waypoint> = Vec::new();
    let mut omitted = Omitted::default();
    let mut speed = None;
    for (number, item) in items.iter().enumerate() {
        read(item, &mut waypoints, &mut speed, &mut omitted).map_err(|source| UnroutableItem { number, source })?;
    }
    Ok((waypoints, omitted))
}

fn read(
    item: &Item,
    waypoints: &mut Vec<Waypoint>,
    speed: &mut Option<MetersPerSecond>,
    omitted: &mut Omitted,
) -> Result<(), Unroutable> {
    let name = item.name();
    let unlike = |parameter: usize| Unroutable::Parameter {
        name,
        parameter,
        value: item.param(parameter),
    };
    if !item.goes_on {
        return Err(Unroutable::Waits);
    }
    if omitted.landings > 0 {
        return Err(Unroutable::LandsBefore);
    }
    match item.command {
        NAV_WAYPOINT | NAV_LOITER_TIME => {
            let Some(place) = item.place() else {
                return Err(Unroutable::Frame(item.frame));
            };
            let (at, altitude) = place?;
            let mut waypoint = Waypoint::passed(at, altitude);
            waypoint.hold = seconds(item.param(1)).ok_or_else(|| unlike(1))?;
            if item.command == NAV_WAYPOINT {
                // Most programs write zero for none, and ArduPilot ignores it.
                let heading = item.params[3].filter(|heading| *heading != 0.0);
                waypoint.heading = heading.map(|heading| Heading(heading.rem_euclid(360.0)));
            }
            waypoint.speed = speed.take();
            waypoints.push(waypoint);
        }
        NAV_TAKEOFF => omitted.takeoffs += 1,
        NAV_RETURN_TO_LAUNCH | NAV_LAND => omitted.landings += 1,
        NAV_DELAY => {
            let last = waypoints.last_mut().ok_or(Unroutable::BeforeFirst(name))?;
            if (2..=4).any(|parameter| item.param(parameter) > 0.0) {
                return Err(unlike(2));
            }
            last.hold += seconds(item.param(1)).ok_or_else(|| unlike(1))?;
        }
        DO_CHANGE_SPEED => {
            if ![0.0, 1.0].contains(&item.param(1)) {
                return Err(unlike(1));
            }
            if item.param(2).is_nan() || item.param(2) <= 0.0 {
                return Err(unlike(2));
            }
            *speed = Some(MetersPerSecond(item.param(2)));
        }
        DO_SET_CAM_TRIGG_DIST => {
            let (distance, at_once) = (item.param(1), item.param(3) > 0.0);
            if distance.is_nan() || distance < 0.0 {
                return Err(unlike(1));
            }
            let series = has_series(waypoints);
            let last = match waypoints.last_mut() {
                Some(last) => last,
                // An end without a beginning has no effect.
                None if distance <= 0.0 && !at_once => return Ok(()),
                None => return Err(Unroutable::BeforeFirst(name)),
            };
            // The first photo of a series is at once, too.
            if distance > 0.0 {
                last.actions.push(Action::TriggerEvery(Meters(distance)));
            } else {
                last.actions.extend(at_once.then_some(Action::Photo));
                last.actions.extend((!at_once || series).then_some(Action::StopTrigger));
            }
        }
        IMAGE_START_CAPTURE => {
            #[expect(clippy::float_cmp, reason = "a whole number in a field for others")]
            if item.param(3) != 1.0 {
                return Err(unlike(3));
            }
            let last = waypoints.last_mut().ok_or(Unroutable::BeforeFirst(name))?;
            last.actions.push(Action::Photo);
        }
        command => return Err(Unroutable::Command { command, name }),
    }
    Ok(())
}

/// Whether photos by distance go on after the last of `waypoints`.
fn has_series(waypoints: &[Waypoint]) -> bool {
    let actions = waypoints
        .iter()
        .rev()
        .flat_map(|waypoint| waypoint.actions.iter().rev());
    let mut set = actions.filter(|action| **action != Action::Photo);
    matches!(set.next(), Some(Action::TriggerEvery(_)))
}

fn seconds(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok()
}

/// Where `items` lead, without takeoffs and items without a place, to show a mission that is not flown.
///
/// # Errors
/// [`UnroutableItem`], the first whose place is not known.
pub fn places(items: &[Item]) -> Result<Vec<Waypoint>, UnroutableItem> {
    let mut waypoints = Vec::new();
    for (number, item) in items.iter().enumerate() {
        // Autopilots read 0, 0 as the present position.
        let is_given = matches!(item.params, [.., Some(x), Some(y), _] if x != 0.0 || y != 0.0);
        let place = item.place().filter(|_| is_given && item.command != NAV_TAKEOFF);
        let Some(place) = place else { continue };
        let (at, altitude) = place.map_err(|source| UnroutableItem { number, source })?;
        let mut waypoint = Waypoint::passed(at, altitude);
        if [NAV_WAYPOINT, NAV_LOITER_TIME].contains(&item.command) {
            waypoint.hold = seconds(item.param(1)).unwrap_or_default();
        }
        waypoints.push(waypoint);
    }
    Ok(waypoints)
}
