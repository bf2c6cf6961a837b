//! What the pilot hands to the shell to be written.
//!
//! Owns: [`Outgoing`], how writing went ([`Written`]), and our own heartbeat. Must not: write.

use crate::streams::Want;
use fleet::memory::StepKind;
use fleet::safety::{ArmExpired, ArmPermit};
use fleet::time::Moment;
use link::dialect::{HEARTBEAT_DATA, MavAutopilot, MavCmd, MavMessage, MavModeFlag, MavState, MavType};
use std::time::Duration;

/// What a command on its way is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A step of the vehicle.
    Step(StepKind),
    /// A message that we need.
    Stream(Want),
    /// Where the autopilot's descriptions of its events are.
    Descriptions,
}

/// A message to write now.
#[derive(Debug)]
pub struct Outgoing {
    /// Our system and component id.
    pub from: (u8, u8),
    /// The message.
    pub message: MavMessage,
    /// How long writing may take.
    pub within: Duration,
    /// For an arm command: to be spent at the moment of writing.
    pub permit: Option<ArmPermit>,
}

/// Why a message is not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAllowed {
    /// The arm permit has expired.
    #[error(transparent)]
    Expired(#[from] ArmExpired),
    /// It could arm the vehicle, and no permit came with it.
    #[error("a command that could arm the vehicle has no permit to arm, which is a fault of the agent; it was dropped")]
    ArmsWithoutPermit,
}

impl Outgoing {
    /// Invariants 2 and 14, at the moment of writing: an arm permit is spent, and what could arm the vehicle is not written
    /// without one.
    ///
    /// # Errors
    /// [`NotAllowed`]; the message must then be dropped.
    pub fn allow(&mut self, now: Moment) -> Result<(), NotAllowed> {
        match self.permit.take() {
            Some(permit) => Ok(permit.spend(now)?),
            None if could_arm(&self.message) => Err(NotAllowed::ArmsWithoutPermit),
            None => Ok(()),
        }
    }
}

/// Whether an autopilot may arm because of this message: MAV_CMD_COMPONENT_ARM_DISARM (400) that arms, MAV_CMD_MISSION_START
/// (300), on which PX4 arms, and a change of mode with MAV_MODE_FLAG_SAFETY_ARMED (128) set.
#[must_use]
pub fn could_arm(message: &MavMessage) -> bool {
    let (command, param1) = match message {
        MavMessage::COMMAND_LONG(m) => (m.command, m.param1),
        MavMessage::COMMAND_INT(m) => (m.command, m.param1),
        MavMessage::SET_MODE(_) => return true,
        _ => return false,
    };
    match command {
        // Anything but a plain 0: autopilots differ in what they make of other values.
        MavCmd::MAV_CMD_COMPONENT_ARM_DISARM => param1.abs() > 0.0 || param1.is_nan(),
        MavCmd::MAV_CMD_MISSION_START => true,
        // As a whole number; what is none could be anything.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        MavCmd::MAV_CMD_DO_SET_MODE => !param1.is_finite() || param1 < 0.0 || (param1 as u32) & ARMED_BIT != 0,
        _ => false,
    }
}

/// MAV_MODE_FLAG_SAFETY_ARMED.
const ARMED_BIT: u32 = 128;

/// How writing went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// It was written.
    Yes,
    /// Not a byte was written.
    No,
    /// Perhaps some of it was.
    Unsure,
}

/// Component id of a ground station: MAV_COMP_ID_MISSIONPLANNER, by convention that of all of them.
pub const GROUND_STATION_COMPONENT: u8 = 190;

/// Our HEARTBEAT (0): an onboard computer of the vehicle, never a ground station; that would hide the loss of a real one.
#[must_use]
pub fn our_heartbeat() -> MavMessage {
    heartbeat(MavType::MAV_TYPE_ONBOARD_CONTROLLER)
}

/// The HEARTBEAT (0) of a ground station, which the coordinator is while it is in contact.
#[must_use]
pub fn ground_station_heartbeat() -> MavMessage {
    heartbeat(MavType::MAV_TYPE_GCS)
}

fn heartbeat(mavtype: MavType) -> MavMessage {
    MavMessage::HEARTBEAT(HEARTBEAT_DATA {
        custom_mode: 0,
        mavtype,
        autopilot: MavAutopilot::MAV_AUTOPILOT_INVALID,
        base_mode: MavModeFlag::empty(),
        system_status: MavState::MAV_STATE_ACTIVE,
        mavlink_version: 3,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use link::dialect::{COMMAND_INT_DATA, COMMAND_LONG_DATA};
    use std::time::Duration;

    fn outgoing(message: MavMessage) -> Outgoing {
        Outgoing {
            from: (1, 191),
            message,
            within: Duration::ZERO,
            permit: None,
        }
    }

    fn both(command: MavCmd, param1: f32) -> [MavMessage; 2] {
        let long = COMMAND_LONG_DATA {
            command,
            param1,
            ..COMMAND_LONG_DATA::default()
        };
        let int = COMMAND_INT_DATA {
            command,
            param1,
            ..COMMAND_INT_DATA::default()
        };
        [MavMessage::COMMAND_LONG(long), MavMessage::COMMAND_INT(int)]
    }

    #[test]
    fn what_could_arm_the_vehicle_is_not_written_without_a_permit() {
        for (command, param1) in [
            (MavCmd::MAV_CMD_COMPONENT_ARM_DISARM, 1.0),
            (MavCmd::MAV_CMD_COMPONENT_ARM_DISARM, 2.0),
            (MavCmd::MAV_CMD_COMPONENT_ARM_DISARM, f32::NAN),
            (MavCmd::MAV_CMD_MISSION_START, 0.0),
            (MavCmd::MAV_CMD_DO_SET_MODE, 129.0),
            (MavCmd::MAV_CMD_DO_SET_MODE, 209.0),
        ] {
            for message in both(command, param1) {
                let answer = outgoing(message).allow(Moment::default());
                assert_eq!(answer, Err(NotAllowed::ArmsWithoutPermit), "{command:?} {param1}");
            }
        }
    }

    #[test]
    fn what_cannot_arm_needs_no_permit() {
        for (command, param1) in [
            (MavCmd::MAV_CMD_DO_SET_MODE, 1.0),
            (MavCmd::MAV_CMD_NAV_LAND, 0.0),
            (MavCmd::MAV_CMD_NAV_TAKEOFF, 0.0),
            (MavCmd::MAV_CMD_RUN_PREARM_CHECKS, 0.0),
        ] {
            for message in both(command, param1) {
                assert_eq!(outgoing(message).allow(Moment::default()), Ok(()), "{command:?}");
            }
        }
        assert_eq!(outgoing(our_heartbeat()).allow(Moment::default()), Ok(()));
    }
}
