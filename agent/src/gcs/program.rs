//! Frames that a program may send which flies a vehicle by its own code: those that move the vehicle within its airspace, and questions.
//!
//! Nothing else passes, known here or not: no arming and no disarming, no takeoff, no landing, no mission,
//! parameter, fence, rally point or home, no file, and no stick.
//!
//! | message | what it is to Skein |
//! |---|---|
//! | SET_POSITION_TARGET_LOCAL_NED (84), SET_POSITION_TARGET_GLOBAL_INT (86) with a velocity, a place or both, and no acceleration | a set-point |
//! | COMMAND_LONG or _INT with DO_SET_MODE (176) to GUIDED of ArduPilot, or OFFBOARD or AUTO.LOITER of PX4 | a mode in which it flies by set-points, or holds |
//! | HEARTBEAT (0) | a sign of life; it is not passed on, since the autopilot's failsafe is another's to feed |
//! | what [`super::read_only`] lets pass | it only asks |
//!
//! No acceleration passes: how soon the vehicle is taken back goes by how fast it may get, which none bounds. Nothing passes that is not
//! finite: what an autopilot makes of it is undocumented. A place passes where it can be told to be inside of the volume ([`Aim`]): none that
//! counts from the vehicle's own place or heading.

use super::fields::{self, COMMAND_INT, COMMAND_LONG};
use super::mode_requests::{AUTO_LOITER, GUIDED, OFFBOARD};
use super::read_only::only_asks;
use link::dialect::MavAutopilot;
use link::raw::RawFrame;
use model::units::Wgs84;

const SET_POSITION_TARGET_LOCAL_NED: u32 = 84;
const SET_POSITION_TARGET_GLOBAL_INT: u32 = 86;
pub const DO_SET_MODE: u16 = 176;

const ARDUPILOT: u8 = MavAutopilot::MAV_AUTOPILOT_ARDUPILOTMEGA as u8;
const PX4: u8 = MavAutopilot::MAV_AUTOPILOT_PX4 as u8;

/// MAV_MODE_FLAG_CUSTOM_MODE_ENABLED.
const CUSTOM: u8 = 1;

/// POSITION_TARGET_TYPEMASK: set bits are ignored.
const EAST_AND_NORTH: u16 = 0b11;
const UP: u16 = 0b100;
const VELOCITY_OVER_GROUND: u16 = 0b1_1000;
const VELOCITY_UP: u16 = 0b10_0000;
const ACCELERATION: u16 = 0b1_1100_0000;

/// Byte offsets in both messages.
const PLACE: [usize; 3] = [4, 8, 12];
const VELOCITY: [usize; 3] = [16, 20, 24];
/// Velocities, yaw and yaw_rate: ignoring bit, offset.
const NUMBERS: [(u16, usize); 5] = [
    (1 << 3, VELOCITY[0]),
    (1 << 4, VELOCITY[1]),
    (1 << 5, VELOCITY[2]),
    (1 << 10, 40),
    (1 << 11, 44),
];
const TYPE_MASK: usize = 48;
const COORDINATE_FRAME: usize = 52;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Aim {
    pub over_ground: Option<OverGround>,
    pub up: Option<Up>,
    /// Over ground and upright, meters per second; 0 where it gives no velocity.
    pub speed: (f64, f64),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OverGround {
    At(Wgs84),
    /// From the origin of local coordinates, meters.
    FromOrigin {
        east: f64,
        north: f64,
    },
}

/// Meters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Up {
    Amsl(f64),
    AboveHome(f64),
    AboveOrigin(f64),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Says {
    SetPoint(Aim),
    /// As HEARTBEAT.custom_mode.
    Mode(u32),
    Beat,
    Asks,
    Other,
}

/// `autopilot` is HEARTBEAT.autopilot; before one was heard, no mode is known.
pub fn says(frame: &RawFrame, autopilot: Option<u8>) -> Says {
    match frame.message_id {
        SET_POSITION_TARGET_LOCAL_NED | SET_POSITION_TARGET_GLOBAL_INT => {
            aim(frame).map_or(Says::Other, Says::SetPoint)
        }
        fields::HEARTBEAT => Says::Beat,
        COMMAND_LONG | COMMAND_INT if fields::command(frame) == Some(DO_SET_MODE) => {
            own_mode(frame, autopilot).map_or(Says::Other, Says::Mode)
        }
        _ if only_asks(frame) => Says::Asks,
        _ => Says::Other,
    }
}

/// `None`: it cannot be told where, it gives an acceleration, or a number that is not finite.
fn aim(frame: &RawFrame) -> Option<Aim> {
    let ignored = fields::number(frame, TYPE_MASK);
    let uses = |what: u16| ignored & what != what;
    let gives_acceleration = ignored & ACCELERATION != ACCELERATION;
    let are_numbers = NUMBERS
        .iter()
        .all(|(bit, at)| !uses(*bit) || fields::float(frame, *at).is_finite());
    if gives_acceleration || !are_numbers || !uses(EAST_AND_NORTH | UP | VELOCITY_OVER_GROUND | VELOCITY_UP) {
        return None;
    }
    let meters = |at| f64::from(fields::float(frame, at));
    let [north, east, down] = VELOCITY.map(meters);
    let speed = (
        if uses(VELOCITY_OVER_GROUND) {
            north.hypot(east)
        } else {
            0.0
        },
        if uses(VELOCITY_UP) { down.abs() } else { 0.0 },
    );
    if !uses(EAST_AND_NORTH | UP) {
        return Some(Aim {
            speed,
            ..Aim::default()
        });
    }
    // One of the two alone is a line over ground.
    let is_over_ground = match ignored & EAST_AND_NORTH {
        0 => true,
        EAST_AND_NORTH => false,
        _ => return None,
    };
    let is_up = uses(UP);
    let [first, second, third] = PLACE;
    let degrees = |at| f64::from(fields::integer(frame, at)) / 1e7;
    // MAV_FRAME: LOCAL_NED; GLOBAL and GLOBAL_INT; GLOBAL_RELATIVE_ALT and GLOBAL_RELATIVE_ALT_INT.
    let (over_ground, up) = match (frame.message_id, fields::byte(frame, COORDINATE_FRAME)) {
        (SET_POSITION_TARGET_LOCAL_NED, 1) => (
            OverGround::FromOrigin {
                east: meters(second),
                north: meters(first),
            },
            Up::AboveOrigin(-meters(third)),
        ),
        (SET_POSITION_TARGET_GLOBAL_INT, in_frame @ (0 | 3 | 5 | 6)) => {
            let at = Wgs84 {
                latitude_deg: degrees(first),
                longitude_deg: degrees(second),
            };
            let up = match in_frame {
                0 | 5 => Up::Amsl(meters(third)),
                _ => Up::AboveHome(meters(third)),
            };
            (OverGround::At(at), up)
        }
        _ => return None,
    };
    Some(Aim {
        over_ground: is_over_ground.then_some(over_ground),
        up: is_up.then_some(up),
        speed,
    })
}

fn own_mode(frame: &RawFrame, autopilot: Option<u8>) -> Option<u32> {
    let (base, main) = (whole(frame, 0)?, whole(frame, 4)?);
    // ArduPilot has none, and some programs say so by NaN.
    let sub = whole(frame, 8);
    let mode = match (autopilot, main, sub) {
        (Some(ARDUPILOT), 4, _) => GUIDED,
        (Some(PX4), 6, _) => OFFBOARD,
        (Some(PX4), 4, Some(3)) => AUTO_LOITER,
        _ => return None,
    };
    (base & CUSTOM != 0).then_some(mode)
}

/// A small whole number that is written as a float.
fn whole(frame: &RawFrame, at: usize) -> Option<u8> {
    let number = fields::float(frame, at);
    (0..=u8::MAX).find(|whole| (f32::from(*whole) - number).abs() < f32::EPSILON)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gcs::tests::{frame, heartbeat};
    use link::dialect::{
        COMMAND_INT_DATA, COMMAND_LONG_DATA, MANUAL_CONTROL_DATA, MISSION_COUNT_DATA, MavCmd, MavFrame, MavMessage,
        MavType, PARAM_REQUEST_LIST_DATA, PARAM_SET_DATA, PositionTargetTypemask, RC_CHANNELS_OVERRIDE_DATA,
        SET_POSITION_TARGET_GLOBAL_INT_DATA, SET_POSITION_TARGET_LOCAL_NED_DATA,
    };
    use model::units::Address;

    fn of(message: &MavMessage, autopilot: u8) -> Says {
        says(&frame(Address::new(245, 190), message), Some(autopilot))
    }

    fn long(command: MavCmd, param1: f32, param2: f32, param3: f32) -> MavMessage {
        MavMessage::COMMAND_LONG(COMMAND_LONG_DATA {
            command,
            param1,
            param2,
            param3,
            target_system: 7,
            target_component: 1,
            ..COMMAND_LONG_DATA::default()
        })
    }

    fn mode(base: f32, main: f32, sub: f32) -> MavMessage {
        long(MavCmd::MAV_CMD_DO_SET_MODE, base, main, sub)
    }

    /// Ten meters north, 20 east and 5 up of the origin, what of it is not to be ignored.
    fn local(ignored: u16, coordinate_frame: MavFrame) -> Says {
        let message = MavMessage::SET_POSITION_TARGET_LOCAL_NED(SET_POSITION_TARGET_LOCAL_NED_DATA {
            x: 10.0,
            y: 20.0,
            z: -5.0,
            vx: 3.0,
            vy: -4.0,
            vz: 2.0,
            type_mask: PositionTargetTypemask::from_bits_truncate(ignored),
            coordinate_frame,
            ..SET_POSITION_TARGET_LOCAL_NED_DATA::default()
        });
        of(&message, PX4)
    }

    fn global(ignored: u16, coordinate_frame: MavFrame) -> Says {
        let message = MavMessage::SET_POSITION_TARGET_GLOBAL_INT(SET_POSITION_TARGET_GLOBAL_INT_DATA {
            lat_int: 473_000_000,
            lon_int: -85_000_000,
            alt: 25.0,
            type_mask: PositionTargetTypemask::from_bits_truncate(ignored),
            coordinate_frame,
            ..SET_POSITION_TARGET_GLOBAL_INT_DATA::default()
        });
        of(&message, PX4)
    }

    /// MAVSDK's and pymavlink's: velocity alone, place alone, and both.
    const VELOCITIES: u16 = 0x0DC7;
    const PLACES: u16 = 0x0DF8;
    const BOTH: u16 = 0x0DC0;

    #[test]
    #[allow(deprecated, reason = "programs still send what is old")]
    fn set_points_by_velocity_and_to_a_place_that_can_be_told_pass() {
        use MavFrame::{
            MAV_FRAME_BODY_NED, MAV_FRAME_GLOBAL, MAV_FRAME_GLOBAL_INT, MAV_FRAME_GLOBAL_RELATIVE_ALT,
            MAV_FRAME_GLOBAL_RELATIVE_ALT_INT, MAV_FRAME_LOCAL_NED,
        };
        for in_frame in [MAV_FRAME_LOCAL_NED, MAV_FRAME_BODY_NED] {
            let aim = Aim {
                speed: (5.0, 2.0),
                ..Aim::default()
            };
            assert_eq!(local(VELOCITIES, in_frame), Says::SetPoint(aim));
        }
        assert_eq!(global(VELOCITIES, MAV_FRAME_GLOBAL), Says::SetPoint(Aim::default()));
        let (over_ground, up) = (
            Some(OverGround::FromOrigin {
                east: 20.0,
                north: 10.0,
            }),
            Some(Up::AboveOrigin(5.0)),
        );
        for (ignored, speed) in [(PLACES, (0.0, 0.0)), (BOTH, (5.0, 2.0))] {
            let aim = Aim { over_ground, up, speed };
            assert_eq!(local(ignored, MAV_FRAME_LOCAL_NED), Says::SetPoint(aim));
        }
        // At an altitude, by velocities over ground.
        let level = Aim {
            over_ground: None,
            up,
            speed: (5.0, 2.0),
        };
        assert_eq!(local(VELOCITIES & !UP, MAV_FRAME_LOCAL_NED), Says::SetPoint(level));
        let at = Wgs84 {
            latitude_deg: 47.3,
            longitude_deg: -8.5,
        };
        for (in_frame, up) in [
            (MAV_FRAME_GLOBAL, Up::Amsl(25.0)),
            (MAV_FRAME_GLOBAL_INT, Up::Amsl(25.0)),
            (MAV_FRAME_GLOBAL_RELATIVE_ALT, Up::AboveHome(25.0)),
            (MAV_FRAME_GLOBAL_RELATIVE_ALT_INT, Up::AboveHome(25.0)),
        ] {
            let aim = Aim {
                over_ground: Some(OverGround::At(at)),
                up: Some(up),
                ..Aim::default()
            };
            assert_eq!(global(PLACES, in_frame), Says::SetPoint(aim));
        }
    }

    #[test]
    fn no_acceleration_passes_and_no_place_of_which_it_cannot_be_told_where_it_is() {
        use MavFrame::{
            MAV_FRAME_BODY_FRD, MAV_FRAME_GLOBAL_TERRAIN_ALT, MAV_FRAME_LOCAL_NED, MAV_FRAME_LOCAL_OFFSET_NED,
        };
        // Acceleration alone, with places and velocities, downward alone beside velocities, as a force, and everything.
        for ignored in [0x0C3F, 0x0C00, VELOCITIES & !0x0100, 0x0E3F, 0] {
            assert_eq!(local(ignored, MAV_FRAME_LOCAL_NED), Says::Other, "{ignored:#x}");
            assert_eq!(global(ignored, MavFrame::MAV_FRAME_GLOBAL), Says::Other, "{ignored:#x}");
        }
        // Nothing but a heading, and a line over ground.
        for ignored in [0x09FF, PLACES | 1, PLACES | 2] {
            assert_eq!(local(ignored, MAV_FRAME_LOCAL_NED), Says::Other, "{ignored:#x}");
        }
        for in_frame in [MAV_FRAME_LOCAL_OFFSET_NED, MAV_FRAME_BODY_FRD] {
            assert_eq!(local(PLACES, in_frame), Says::Other, "{in_frame:?}");
        }
        assert_eq!(global(PLACES, MAV_FRAME_GLOBAL_TERRAIN_ALT), Says::Other);
    }

    #[test]
    fn what_is_no_number_passes_only_where_it_is_ignored() {
        let given = |ignored: u16, wrong: f32| {
            let message = MavMessage::SET_POSITION_TARGET_LOCAL_NED(SET_POSITION_TARGET_LOCAL_NED_DATA {
                vx: 1.0,
                vz: wrong,
                yaw: wrong,
                yaw_rate: wrong,
                afx: wrong,
                type_mask: PositionTargetTypemask::from_bits_truncate(ignored),
                coordinate_frame: MavFrame::MAV_FRAME_LOCAL_NED,
                ..SET_POSITION_TARGET_LOCAL_NED_DATA::default()
            });
            of(&message, PX4)
        };
        // Velocity over ground alone; with the one upright, with yaw, and with its rate.
        let over_ground = VELOCITIES | VELOCITY_UP;
        for wrong in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            assert!(matches!(given(over_ground, wrong), Says::SetPoint(_)), "{wrong}");
            for used in [VELOCITY_UP, 1 << 10, 1 << 11] {
                assert_eq!(given(over_ground & !used, wrong), Says::Other, "{wrong} in {used:#x}");
            }
        }
    }

    #[test]
    fn the_modes_for_set_points_pass_and_the_modes_of_others_do_not() {
        let cases = [
            (ARDUPILOT, mode(1.0, 4.0, 0.0), Says::Mode(4)),
            (ARDUPILOT, mode(129.0, 4.0, f32::NAN), Says::Mode(4)),
            (ARDUPILOT, mode(0.0, 4.0, 0.0), Says::Other),
            // RTL, which is what 6 is to the other stack.
            (ARDUPILOT, mode(1.0, 6.0, 0.0), Says::Other),
            (ARDUPILOT, mode(1.0, 5.0, 0.0), Says::Other),
            (PX4, mode(1.0, 6.0, 0.0), Says::Mode(0x0006_0000)),
            (PX4, mode(1.0, 4.0, 3.0), Says::Mode(0x0304_0000)),
            (PX4, mode(1.0, 4.0, 4.0), Says::Other),
            (PX4, mode(1.0, 4.0, 0.0), Says::Other),
            (PX4, mode(1.0, f32::NAN, 0.0), Says::Other),
        ];
        for (autopilot, message, expected) in cases {
            assert_eq!(of(&message, autopilot), expected, "{autopilot} {message:?}");
        }
        let unknown = says(&frame(Address::new(245, 190), &mode(1.0, 4.0, 3.0)), None);
        assert_eq!(unknown, Says::Other);
    }

    #[test]
    fn nothing_that_arms_lands_or_changes_the_vehicle_passes() {
        let others = [
            long(MavCmd::MAV_CMD_COMPONENT_ARM_DISARM, 1.0, 0.0, 0.0),
            long(MavCmd::MAV_CMD_COMPONENT_ARM_DISARM, 0.0, 21196.0, 0.0),
            long(MavCmd::MAV_CMD_NAV_TAKEOFF, 0.0, 0.0, 0.0),
            long(MavCmd::MAV_CMD_NAV_LAND, 0.0, 0.0, 0.0),
            long(MavCmd::MAV_CMD_NAV_RETURN_TO_LAUNCH, 0.0, 0.0, 0.0),
            long(MavCmd::MAV_CMD_MISSION_START, 0.0, 0.0, 0.0),
            long(MavCmd::MAV_CMD_DO_SET_HOME, 1.0, 0.0, 0.0),
            long(MavCmd::MAV_CMD_DO_FLIGHTTERMINATION, 1.0, 0.0, 0.0),
            long(MavCmd::MAV_CMD_SET_MESSAGE_INTERVAL, 0.0, 0.0, 0.0),
            MavMessage::COMMAND_INT(COMMAND_INT_DATA {
                command: MavCmd::MAV_CMD_DO_REPOSITION,
                ..COMMAND_INT_DATA::default()
            }),
            MavMessage::PARAM_SET(PARAM_SET_DATA::default()),
            MavMessage::MISSION_COUNT(MISSION_COUNT_DATA::default()),
            MavMessage::MANUAL_CONTROL(MANUAL_CONTROL_DATA::default()),
            MavMessage::RC_CHANNELS_OVERRIDE(RC_CHANNELS_OVERRIDE_DATA::default()),
        ];
        for message in others {
            assert_eq!(of(&message, PX4), Says::Other, "{message:?}");
        }
        let asks = MavMessage::PARAM_REQUEST_LIST(PARAM_REQUEST_LIST_DATA::default());
        assert_eq!(of(&asks, PX4), Says::Asks);
        let beat = heartbeat(MavType::MAV_TYPE_GCS, MavAutopilot::MAV_AUTOPILOT_INVALID, false);
        assert_eq!(of(&beat, PX4), Says::Beat);
    }
}
