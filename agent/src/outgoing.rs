//! What the pilot hands to the shell to be written.

use crate::recipe::could_arm;
use crate::streams::Request;
use fleet::flight::memory::StepKind;
use fleet::safety::{ArmExpired, ArmPermit};
use link::dialect::{HEARTBEAT_DATA, MavAutopilot, MavMessage, MavModeFlag, MavState, MavType};
use model::time::Moment;
use model::units::{Address, ComponentId};
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Step(StepKind),
    Stream(Request),
    Descriptions,
    Reboot,
}

#[derive(Debug)]
pub struct Outgoing {
    pub from: Address,
    pub message: MavMessage,
    pub within: Duration,
    /// For an arm command: to be spent at the moment of writing.
    pub permit: Option<ArmPermit>,
    /// It is written only once what is remembered is on the disk; an arm command always is.
    pub once_remembered: bool,
    /// It changes what may be changed only on the ground: until when it may be written, and only while
    /// [`crate::pilot::Pilot::may_change_rules`] says so.
    pub on_ground_until: Option<Moment>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAllowed {
    #[error(transparent)]
    Expired(#[from] ArmExpired),
    #[error("a command that could arm the vehicle has no permit to arm, which is a fault of the agent; it was dropped")]
    ArmsWithoutPermit,
    #[error("a change that is made only on the ground was held up; it is decided again")]
    HeldUp,
}

impl Outgoing {
    /// Whether what is remembered goes to the disk before it. Not for what a Remote ID transmitter is told: that is due every second, and no disk
    /// may hold it up.
    pub const fn follows_memory(&self) -> bool {
        !matches!(
            self.message,
            MavMessage::OPEN_DRONE_ID_SYSTEM(_)
                | MavMessage::OPEN_DRONE_ID_OPERATOR_ID(_)
                | MavMessage::OPEN_DRONE_ID_SELF_ID(_)
                | MavMessage::OPEN_DRONE_ID_BASIC_ID(_)
        )
    }

    /// Whether it is not written before that: the disk is waited for.
    pub const fn waits_for_disk(&self) -> bool {
        self.permit.is_some() || self.once_remembered
    }

    /// Invariants 2, 12 and 14, at the moment of writing: an arm permit is spent, what could arm the vehicle is not written without one,
    /// and what is changed on the ground only was decided just now.
    ///
    /// # Errors
    /// [`NotAllowed`]; the message must then be dropped.
    pub fn allow(&mut self, now: Moment) -> Result<(), NotAllowed> {
        if self.on_ground_until.is_some_and(|until| now > until) {
            return Err(NotAllowed::HeldUp);
        }
        match self.permit.take() {
            Some(permit) => Ok(permit.spend(now)?),
            None if could_arm(&self.message) => Err(NotAllowed::ArmsWithoutPermit),
            None => Ok(()),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    Yes,
    /// Not a byte was written.
    No,
    Unsure,
}

/// Component id of a ground station: MAV_COMP_ID_MISSIONPLANNER, by convention that of all of them.
pub const GROUND_STATION_COMPONENT: ComponentId = ComponentId(190);

/// Our HEARTBEAT (0): an onboard computer of the vehicle, never a ground station; that would hide the loss of a real one.
pub fn our_heartbeat() -> MavMessage {
    heartbeat(MavType::MAV_TYPE_ONBOARD_CONTROLLER)
}

/// The coordinator is the ground station while it is in contact.
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
    use link::dialect::{COMMAND_LONG_DATA, MavCmd};

    fn allowed(command: MavCmd) -> Result<(), NotAllowed> {
        let data = COMMAND_LONG_DATA {
            command,
            ..COMMAND_LONG_DATA::default()
        };
        let mut outgoing = Outgoing {
            from: Address::new(1, 191),
            message: MavMessage::COMMAND_LONG(data),
            within: Duration::ZERO,
            permit: None,
            once_remembered: false,
            on_ground_until: None,
        };
        outgoing.allow(Moment::default())
    }

    #[test]
    fn only_what_a_transmitter_is_told_waits_for_no_disk() {
        let follows = |message| {
            let outgoing = Outgoing {
                from: Address::new(1, 191),
                message,
                within: Duration::ZERO,
                permit: None,
                once_remembered: false,
                on_ground_until: None,
            };
            outgoing.follows_memory()
        };
        assert!(!follows(MavMessage::OPEN_DRONE_ID_SYSTEM(Default::default())));
        assert!(!follows(MavMessage::OPEN_DRONE_ID_OPERATOR_ID(Default::default())));
        assert!(follows(MavMessage::COMMAND_LONG(Default::default())));
        assert!(follows(our_heartbeat()));
    }

    #[test]
    fn what_the_next_life_of_the_agent_must_know_of_waits_for_the_disk() {
        let outgoing = |once_remembered| Outgoing {
            from: Address::new(1, 191),
            message: our_heartbeat(),
            within: Duration::ZERO,
            permit: None,
            once_remembered,
            on_ground_until: None,
        };
        assert!(outgoing(true).waits_for_disk() && !outgoing(false).waits_for_disk());
    }

    #[test]
    fn what_could_arm_the_vehicle_is_not_written_without_a_permit() {
        let answer = allowed(MavCmd::MAV_CMD_MISSION_START);
        assert_eq!(answer, Err(NotAllowed::ArmsWithoutPermit));
        assert_eq!(allowed(MavCmd::MAV_CMD_NAV_LAND), Ok(()));
    }

    #[test]
    fn a_change_on_the_ground_that_was_held_up_is_not_written() {
        let at = |ms| Moment::at(Duration::from_millis(ms));
        let mut change = Outgoing {
            from: Address::new(1, 191),
            message: our_heartbeat(),
            within: Duration::ZERO,
            permit: None,
            once_remembered: true,
            on_ground_until: Some(at(1500)),
        };
        assert_eq!(change.allow(at(1500)), Ok(()));
        assert_eq!(change.allow(at(1501)), Err(NotAllowed::HeldUp));
    }
}
