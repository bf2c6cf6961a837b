//! The items of a plan on the wire: what is uploaded, what is read back, and when the two are the same.
//!
//! What autopilots change in an item they store is left out of the comparison: ArduCopter holds whole seconds and centimeters, ignores the
//! heading and the radius of a waypoint, and drops what a command does not use; PX4 turns headings into -180 to 180 degrees. Each may use another name
//! for the same frame.

use crate::rules::transfer::Carried;
use link::dialect::{MISSION_ITEM_INT_DATA, MavCmd, MavFrame, MavMissionType};
use model::plan::ACCEPTANCE_RADIUS;
use model::plan::flight::is_flown_to;
use model::plan::item::{self, Item};
use model::vehicle::Autopilot;

/// Heights, speeds and distances are the same when they differ by less.
const NUMBER: f32 = 0.02;
/// Spans of ArduCopter are whole seconds.
const SECONDS: f32 = 1.0;
/// Headings are the same when they differ by less, degrees.
const DEGREES: f32 = 0.5;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WireItem {
    pub command: MavCmd,
    pub frame: MavFrame,
    pub params: [f32; 4],
    /// Degrees × 10⁷, where the command has a place.
    pub latitude_e7: i32,
    pub longitude_e7: i32,
    /// Meters, in the frame.
    pub height_m: f32,
}

#[allow(deprecated, reason = "plans of ground stations have them")]
const COMMANDS: [(u16, MavCmd); 27] = [
    (16, MavCmd::MAV_CMD_NAV_WAYPOINT),
    (18, MavCmd::MAV_CMD_NAV_LOITER_TURNS),
    (19, MavCmd::MAV_CMD_NAV_LOITER_TIME),
    (20, MavCmd::MAV_CMD_NAV_RETURN_TO_LAUNCH),
    (21, MavCmd::MAV_CMD_NAV_LAND),
    (82, MavCmd::MAV_CMD_NAV_SPLINE_WAYPOINT),
    (93, MavCmd::MAV_CMD_NAV_DELAY),
    (112, MavCmd::MAV_CMD_CONDITION_DELAY),
    (114, MavCmd::MAV_CMD_CONDITION_DISTANCE),
    (115, MavCmd::MAV_CMD_CONDITION_YAW),
    (178, MavCmd::MAV_CMD_DO_CHANGE_SPEED),
    (181, MavCmd::MAV_CMD_DO_SET_RELAY),
    (183, MavCmd::MAV_CMD_DO_SET_SERVO),
    (189, MavCmd::MAV_CMD_DO_LAND_START),
    (195, MavCmd::MAV_CMD_DO_SET_ROI_LOCATION),
    (197, MavCmd::MAV_CMD_DO_SET_ROI_NONE),
    (201, MavCmd::MAV_CMD_DO_SET_ROI),
    (205, MavCmd::MAV_CMD_DO_MOUNT_CONTROL),
    (206, MavCmd::MAV_CMD_DO_SET_CAM_TRIGG_DIST),
    (211, MavCmd::MAV_CMD_DO_GRIPPER),
    (214, MavCmd::MAV_CMD_DO_SET_CAM_TRIGG_INTERVAL),
    (530, MavCmd::MAV_CMD_SET_CAMERA_MODE),
    (1000, MavCmd::MAV_CMD_DO_GIMBAL_MANAGER_PITCHYAW),
    (2000, MavCmd::MAV_CMD_IMAGE_START_CAPTURE),
    (2001, MavCmd::MAV_CMD_IMAGE_STOP_CAPTURE),
    (2500, MavCmd::MAV_CMD_VIDEO_START_CAPTURE),
    (2501, MavCmd::MAV_CMD_VIDEO_STOP_CAPTURE),
];

impl Carried for WireItem {
    const KIND: MavMissionType = MavMissionType::MAV_MISSION_TYPE_MISSION;

    fn read(m: &MISSION_ITEM_INT_DATA) -> Option<Self> {
        Some(Self {
            command: m.command,
            frame: m.frame,
            params: [m.param1, m.param2, m.param3, m.param4],
            latitude_e7: m.x,
            longitude_e7: m.y,
            height_m: m.z,
        })
    }

    fn message(&self, seq: u16) -> MISSION_ITEM_INT_DATA {
        let [param1, param2, param3, param4] = self.params;
        MISSION_ITEM_INT_DATA {
            param1,
            param2,
            param3,
            param4,
            x: self.latitude_e7,
            y: self.longitude_e7,
            z: self.height_m,
            seq,
            command: self.command,
            frame: self.frame,
            autocontinue: 1,
            mission_type: Self::KIND,
            ..MISSION_ITEM_INT_DATA::default()
        }
    }
}

impl WireItem {
    /// `None`: a command or frame that no plan has.
    #[allow(deprecated, reason = "autopilots know the ..._INT frames by these numbers")]
    pub fn of(item: &Item) -> Option<Self> {
        let (_, command) = COMMANDS.iter().find(|(number, _)| *number == item.command)?;
        let frame = match item.frame {
            item::FRAME_GLOBAL => MavFrame::MAV_FRAME_GLOBAL,
            item::FRAME_MISSION => MavFrame::MAV_FRAME_MISSION,
            item::FRAME_GLOBAL_RELATIVE_ALT => MavFrame::MAV_FRAME_GLOBAL_RELATIVE_ALT,
            item::FRAME_GLOBAL_INT => MavFrame::MAV_FRAME_GLOBAL_INT,
            item::FRAME_GLOBAL_RELATIVE_ALT_INT => MavFrame::MAV_FRAME_GLOBAL_RELATIVE_ALT_INT,
            _ => return None,
        };
        let [a, b, c, d, x, y, z] = item.params;
        let has_place = has_place(item.command);
        let whole = |param: Option<f64>| match (param, has_place) {
            (None, _) => 0,
            (Some(degrees), true) => round(degrees * 1e7),
            (Some(number), false) => round(number),
        };
        Some(Self {
            command: *command,
            frame,
            params: [a, b, c, d].map(|param| param.map_or(f32::NAN, narrow)),
            latitude_e7: whole(x),
            longitude_e7: whole(y),
            // Where there is no height, PX4 wants none, and ArduPilot reads none.
            height_m: z.map_or(0.0, narrow),
        })
    }

    /// As an `autopilot` takes it: ArduPilot refuses what is left open, but for the heading of a waypoint or a landing, and means that by 0. PX4
    /// is told the radius of a waypoint that gives none, as its own default may be wider than the ways that are kept clear of others. A hold
    /// (NAV_LOITER_TIME) has no such radius there: its time begins within `NAV_ACC_RAD`, 10 m from 1.18 on, and it may be over before the vehicle
    /// is at its place. A waypoint with a hold is the same for a multicopter and has one.
    pub fn taken_by(mut self, autopilot: Option<Autopilot>) -> Self {
        if autopilot == Some(Autopilot::Px4) {
            if self.command == MavCmd::MAV_CMD_NAV_LOITER_TIME {
                self.command = MavCmd::MAV_CMD_NAV_WAYPOINT;
                self.params = [zero(self.params[0]), 0.0, 0.0, f32::NAN];
            }
            let [_, radius, ..] = &mut self.params;
            if self.command == MavCmd::MAV_CMD_NAV_WAYPOINT && zero(*radius) <= 0.0 {
                *radius = narrow(ACCEPTANCE_RADIUS.0);
            }
        }
        if autopilot != Some(Autopilot::ArduPilot) {
            return self;
        }
        let heading = matches!(self.command, MavCmd::MAV_CMD_NAV_WAYPOINT | MavCmd::MAV_CMD_NAV_LAND);
        let closed = if heading { 3 } else { 4 };
        self.params
            .iter_mut()
            .take(closed)
            .for_each(|param| *param = zero(*param));
        self
    }

    /// Item 0 of ArduPilot, which it takes for home and sets by itself.
    pub const fn home() -> Self {
        Self {
            command: MavCmd::MAV_CMD_NAV_WAYPOINT,
            frame: MavFrame::MAV_FRAME_GLOBAL,
            params: [0.0; 4],
            latitude_e7: 0,
            longitude_e7: 0,
            height_m: 0.0,
        }
    }

    pub fn is_like(&self, read: &Self, autopilot: Autopilot) -> bool {
        if self.command != read.command {
            return false;
        }
        let close = |a: f32, b: f32, by: f32| (a.is_nan() && b.is_nan()) || (a - b).abs() < by;
        // What is not given reads back as such, or as zero.
        let number = |index: usize, by: f32| {
            let pair = (self.params.get(index), read.params.get(index));
            matches!(pair, (Some(a), Some(b)) if close(zero(*a), zero(*b), by))
        };
        let place = || {
            let near = |a: i32, b: i32| a.abs_diff(b) <= 1;
            near(self.latitude_e7, read.latitude_e7)
                && near(self.longitude_e7, read.longitude_e7)
                && close(self.height_m, read.height_m, NUMBER)
                && is_relative(self.frame) == is_relative(read.frame)
        };
        match self.command {
            MavCmd::MAV_CMD_NAV_WAYPOINT => {
                // ArduCopter stores neither.
                let radius = autopilot == Autopilot::ArduPilot || number(1, NUMBER);
                let heading = autopilot == Autopilot::ArduPilot || same_heading(self.params[3], read.params[3]);
                number(0, SECONDS) && radius && heading && place()
            }
            MavCmd::MAV_CMD_NAV_LOITER_TIME | MavCmd::MAV_CMD_NAV_LOITER_TURNS => number(0, SECONDS) && place(),
            MavCmd::MAV_CMD_NAV_SPLINE_WAYPOINT => number(0, SECONDS) && place(),
            MavCmd::MAV_CMD_NAV_LAND | MavCmd::MAV_CMD_DO_SET_ROI_LOCATION => place(),
            MavCmd::MAV_CMD_NAV_DELAY | MavCmd::MAV_CMD_CONDITION_DELAY => number(0, SECONDS),
            MavCmd::MAV_CMD_DO_CHANGE_SPEED => number(0, NUMBER) && number(1, NUMBER),
            MavCmd::MAV_CMD_DO_SET_CAM_TRIGG_DIST
            | MavCmd::MAV_CMD_CONDITION_DISTANCE
            | MavCmd::MAV_CMD_DO_SET_RELAY
            | MavCmd::MAV_CMD_DO_SET_SERVO => number(0, NUMBER),
            // What else is in them is stored in different ways.
            _ => true,
        }
    }
}

fn has_place(command: u16) -> bool {
    is_flown_to(command) || [195, 201].contains(&command)
}

#[allow(deprecated, reason = "autopilots answer with the ..._INT frames")]
const fn is_relative(frame: MavFrame) -> bool {
    matches!(
        frame,
        MavFrame::MAV_FRAME_GLOBAL_RELATIVE_ALT | MavFrame::MAV_FRAME_GLOBAL_RELATIVE_ALT_INT
    )
}

const fn zero(value: f32) -> f32 {
    if value.is_nan() { 0.0 } else { value }
}

fn same_heading(a: f32, b: f32) -> bool {
    if a.is_nan() || b.is_nan() {
        return a.is_nan() == b.is_nan();
    }
    let apart = (a - b).rem_euclid(360.0);
    apart.min(360.0 - apart) < DEGREES
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "what an item holds fits, and more saturates"
)]
fn round(number: f64) -> i32 {
    number.round() as i32
}

#[allow(clippy::cast_possible_truncation, reason = "an item holds no more")]
const fn narrow(number: f64) -> f32 {
    number as f32
}

/// Whether what was read back from an `autopilot` is what was to be uploaded; item 0 of ArduPilot is its own. What is `flown` may have been
/// uploaded by an older agent, which gave no acceptance radius and left a hold as it was.
pub fn alike(wanted: &[WireItem], read: &[WireItem], autopilot: Autopilot, flown: bool) -> bool {
    let own = usize::from(autopilot == Autopilot::ArduPilot);
    let is_older = |a: &WireItem, b: &WireItem| flown && a.is_like(&b.taken_by(Some(autopilot)), autopilot);
    let mut pairs = wanted.iter().zip(read).skip(own);
    wanted.len() == read.len() && pairs.all(|(a, b)| a.is_like(b, autopilot) || is_older(a, b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waypoint(hold: f64, heading: Option<f64>) -> WireItem {
        let params = [
            Some(hold),
            Some(0.0),
            Some(0.0),
            heading,
            Some(47.0),
            Some(-8.5),
            Some(30.0),
        ];
        WireItem::of(&Item {
            command: item::NAV_WAYPOINT,
            frame: item::FRAME_GLOBAL_RELATIVE_ALT,
            params,
            goes_on: true,
        })
        .unwrap()
    }

    #[test]
    fn what_is_left_open_is_closed_where_an_arducopter_would_refuse_it() {
        let open = |command| {
            let wire = WireItem::of(&Item {
                command,
                frame: item::FRAME_GLOBAL_RELATIVE_ALT,
                params: [None, Some(2.0), None, None, Some(47.0), Some(8.0), Some(30.0)],
                goes_on: true,
            });
            wire.unwrap()
        };
        let is_open = |wire: WireItem| wire.params.map(f32::is_nan);
        let on = |command, autopilot| is_open(open(command).taken_by(Some(autopilot)));
        assert_eq!(on(item::NAV_LOITER_TIME, Autopilot::ArduPilot), [false; 4]);
        assert_eq!(
            on(item::NAV_WAYPOINT, Autopilot::ArduPilot),
            [false, false, false, true]
        );
        assert_eq!(on(item::NAV_LOITER_TIME, Autopilot::Px4), [false, false, false, true]);
    }

    #[test]
    fn a_waypoint_without_a_radius_says_to_px4_the_one_that_is_planned_for() {
        let radius = |given: Option<f64>, autopilot| {
            let params = [Some(0.0), given, None, None, Some(47.0), Some(8.0), Some(30.0)];
            let wire = WireItem::of(&Item {
                command: item::NAV_WAYPOINT,
                frame: item::FRAME_GLOBAL_RELATIVE_ALT,
                params,
                goes_on: true,
            });
            wire.unwrap().taken_by(Some(autopilot)).params[1]
        };
        for none in [None, Some(0.0), Some(-1.0)] {
            assert_eq!(radius(none, Autopilot::Px4), 2.0, "{none:?}");
        }
        assert_eq!(radius(Some(0.5), Autopilot::Px4), 0.5);
        assert_eq!(radius(None, Autopilot::ArduPilot), 0.0);
        let ours = waypoint(0.0, Some(0.0)).taken_by(Some(Autopilot::Px4));
        let wide = WireItem {
            params: [0.0, 0.0, 0.0, 0.0],
            ..ours
        };
        assert!(!ours.is_like(&wide, Autopilot::Px4), "it would go by its own default");
        assert!(ours.is_like(&wide, Autopilot::ArduPilot), "it does not store one");
    }

    #[test]
    fn a_hold_is_to_px4_a_waypoint_with_a_radius_and_as_an_older_agent_wrote_it_the_same() {
        let hold = WireItem {
            command: MavCmd::MAV_CMD_NAV_LOITER_TIME,
            params: [4.0, 1.0, 20.0, 1.0],
            ..waypoint(0.0, None)
        };
        let ours = hold.taken_by(Some(Autopilot::Px4));
        assert!(alike(
            &[ours],
            &[waypoint(4.0, None).taken_by(Some(Autopilot::Px4))],
            Autopilot::Px4,
            false
        ));
        let older = |flown| alike(&[ours], &[hold], Autopilot::Px4, flown);
        assert_eq!((older(false), older(true)), (false, true));
        assert_eq!(hold.taken_by(Some(Autopilot::ArduPilot)), hold);
    }

    #[test]
    #[allow(deprecated, reason = "as PX4 answers")]
    fn what_an_autopilot_rounds_or_renames_is_the_same_and_what_it_changes_is_not() {
        let ours = waypoint(2.6, Some(350.0));
        assert_eq!((ours.latitude_e7, ours.longitude_e7), (470_000_000, -85_000_000));
        let px4 = WireItem {
            frame: MavFrame::MAV_FRAME_GLOBAL_RELATIVE_ALT_INT,
            params: [2.6, 0.0, 0.0, -10.0],
            ..ours
        };
        let arducopter = WireItem {
            params: [2.0, 0.0, 0.0, 0.0],
            height_m: 30.01,
            ..ours
        };
        let like =
            |read: WireItem, autopilot| alike(&[WireItem::home(), ours], &[WireItem::home(), read], autopilot, false);
        assert!(like(px4, Autopilot::Px4) && like(arducopter, Autopilot::ArduPilot));
        assert!(!like(arducopter, Autopilot::Px4), "the heading is gone");
        for other in [
            WireItem {
                latitude_e7: ours.latitude_e7 + 2,
                ..ours
            },
            WireItem { height_m: 30.1, ..ours },
            WireItem {
                frame: MavFrame::MAV_FRAME_GLOBAL,
                ..ours
            },
            waypoint(4.0, Some(350.0)),
        ] {
            assert!(
                !like(other, Autopilot::Px4) && !like(other, Autopilot::ArduPilot),
                "{other:?}"
            );
        }
        assert!(!alike(&[ours], &[ours, ours], Autopilot::Px4, false));
        let older = WireItem {
            params: [2.6, 0.0, 0.0, -10.0],
            ..ours
        };
        let wide = WireItem {
            params: [2.6, 2.0, 0.0, -10.0],
            ..ours
        };
        assert!(
            !alike(&[wide], &[older], Autopilot::Px4, false),
            "it was not written as it should be"
        );
        assert!(
            alike(&[wide], &[older], Autopilot::Px4, true),
            "an agent that gave no radius has written what flies"
        );
        let undirected = waypoint(0.0, None);
        assert!(undirected.is_like(&undirected, Autopilot::Px4));
        assert!(!undirected.is_like(&waypoint(0.0, Some(0.0)), Autopilot::Px4));
    }

    #[test]
    fn every_command_that_a_plan_may_have_is_known_on_the_wire() {
        let known = |command: u16| {
            let item = Item {
                command,
                frame: item::FRAME_GLOBAL_RELATIVE_ALT,
                params: [
                    Some(1.0),
                    Some(1.0),
                    Some(1.0),
                    Some(1.0),
                    Some(47.0),
                    Some(8.5),
                    Some(30.0),
                ],
                goes_on: true,
            };
            let plan = model::plan::FlightPlan::new(model::ids::Term(1), vec![item]);
            (
                plan.is_ok(),
                WireItem::of(&item).is_some_and(|wire| wire.command as u32 == u32::from(command)),
            )
        };
        let wrong: Vec<u16> = (0..43_000)
            .filter(|number| known(*number).0 != known(*number).1)
            .collect();
        assert_eq!(wrong, Vec::<u16>::new());
    }
}
