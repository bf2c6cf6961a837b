//! Frames that a program may send which flies a vehicle by its own code: those that move the vehicle within its airspace, and questions.
//!
//! Nothing else passes, known here or not: no arming and no disarming, no takeoff, no landing, no mission,
//! parameter, fence, rally point or home, no file, and no stick.
//!
//! | message | what it is to Skein |
//! |---|---|
//! | SET_POSITION_TARGET_LOCAL_NED (84), SET_POSITION_TARGET_GLOBAL_INT (86) | a set-point |
//! | COMMAND_LONG or _INT with DO_SET_MODE (176) to GUIDED of ArduPilot, or OFFBOARD or AUTO.LOITER of PX4 | a mode in which it flies by set-points, or holds |
//! | HEARTBEAT (0) | a sign of life; it is not passed on, since the autopilot's failsafe is another's to feed |
//! | what [`super::read_only`] lets pass | it only asks |

use super::fields::{self, COMMAND_INT, COMMAND_LONG};
use super::read_only::only_asks;
use link::dialect::MavAutopilot;
use link::raw::RawFrame;

const SET_POSITION_TARGET_LOCAL_NED: u32 = 84;
const SET_POSITION_TARGET_GLOBAL_INT: u32 = 86;
const DO_SET_MODE: u16 = 176;

/// HEARTBEAT.autopilot of each stack.
const ARDUPILOT: u8 = MavAutopilot::MAV_AUTOPILOT_ARDUPILOTMEGA as u8;
const PX4: u8 = MavAutopilot::MAV_AUTOPILOT_PX4 as u8;

/// MAV_MODE_FLAG_CUSTOM_MODE_ENABLED.
const CUSTOM: u8 = 1;

/// Subject of a program's frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Says {
    SetPoint,
    /// The mode in which it flies by set-points, or holds.
    Mode,
    Beat,
    Asks,
    /// Not allowed to a program.
    Other,
}

/// Reads what `frame` says to an autopilot of this kind (HEARTBEAT.autopilot); before one was heard, no mode is known.
pub fn says(frame: &RawFrame, autopilot: Option<u8>) -> Says {
    match frame.message_id {
        SET_POSITION_TARGET_LOCAL_NED | SET_POSITION_TARGET_GLOBAL_INT => Says::SetPoint,
        fields::HEARTBEAT => Says::Beat,
        COMMAND_LONG | COMMAND_INT if fields::command(frame) == Some(DO_SET_MODE) => {
            if is_own_mode(frame, autopilot) {
                Says::Mode
            } else {
                Says::Other
            }
        }
        _ if only_asks(frame) => Says::Asks,
        _ => Says::Other,
    }
}

fn is_own_mode(frame: &RawFrame, autopilot: Option<u8>) -> bool {
    let (Some(base), Some(main)) = (whole(frame, 0), whole(frame, 4)) else {
        return false;
    };
    // ArduPilot has none, and some programs say so by NaN.
    let sub = whole(frame, 8);
    let known = match autopilot {
        Some(ARDUPILOT) => main == 4,
        Some(PX4) => main == 6 || (main, sub) == (4, Some(3)),
        _ => false,
    };
    known && base & CUSTOM != 0
}

/// The small whole number that is written there as a float.
fn whole(frame: &RawFrame, at: usize) -> Option<u8> {
    let bytes = [0, 1, 2, 3].map(|next| fields::byte(frame, at + next));
    let number = f32::from_le_bytes(bytes);
    (0..=u8::MAX).find(|whole| (f32::from(*whole) - number).abs() < f32::EPSILON)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gcs::tests::{frame, heartbeat};
    use link::dialect::{
        COMMAND_INT_DATA, COMMAND_LONG_DATA, MANUAL_CONTROL_DATA, MISSION_COUNT_DATA, MavCmd, MavMessage, MavType,
        PARAM_REQUEST_LIST_DATA, PARAM_SET_DATA, RC_CHANNELS_OVERRIDE_DATA, SET_POSITION_TARGET_GLOBAL_INT_DATA,
        SET_POSITION_TARGET_LOCAL_NED_DATA,
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

    #[test]
    fn set_points_and_the_modes_for_them_pass_and_the_modes_of_others_do_not() {
        let local = MavMessage::SET_POSITION_TARGET_LOCAL_NED(SET_POSITION_TARGET_LOCAL_NED_DATA::default());
        let global = MavMessage::SET_POSITION_TARGET_GLOBAL_INT(SET_POSITION_TARGET_GLOBAL_INT_DATA::default());
        for autopilot in [ARDUPILOT, PX4] {
            assert_eq!(of(&local, autopilot), Says::SetPoint);
            assert_eq!(of(&global, autopilot), Says::SetPoint);
        }
        let cases = [
            (ARDUPILOT, mode(1.0, 4.0, 0.0), Says::Mode),
            (ARDUPILOT, mode(129.0, 4.0, f32::NAN), Says::Mode),
            (ARDUPILOT, mode(0.0, 4.0, 0.0), Says::Other),
            // RTL, which is what 6 is to the other stack.
            (ARDUPILOT, mode(1.0, 6.0, 0.0), Says::Other),
            (ARDUPILOT, mode(1.0, 5.0, 0.0), Says::Other),
            (PX4, mode(1.0, 6.0, 0.0), Says::Mode),
            (PX4, mode(1.0, 4.0, 3.0), Says::Mode),
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
