//! The answer to a guest's command that is not passed on: a COMMAND_ACK (77) as from the autopilot.
//!
//! Programs take one from the autopilot alone, and wait for it; it goes to that guest alone. ACCEPTED names only the mode that the autopilot has
//! just reported.

use super::own_frame::own_frame;
use super::routes::Address;
use link::dialect::{COMMAND_ACK_DATA, MavMessage, MavResult};
use link::raw::RawFrame;
use mavlink::{MavlinkVersion, MessageData};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    Accepted,
    /// It may pass later.
    TemporarilyRejected,
    /// It never passes.
    Denied,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    pub by: Address,
    /// MAV_CMD.
    pub command: u16,
    pub given: Given,
}

impl Answer {
    /// `None` for a command that the dialect does not know.
    pub fn frame(self, to: Address) -> Option<RawFrame> {
        let answered = COMMAND_ACK_DATA::deser(MavlinkVersion::V2, &self.command.to_le_bytes()).ok()?;
        let result = match self.given {
            Given::Accepted => MavResult::MAV_RESULT_ACCEPTED,
            Given::TemporarilyRejected => MavResult::MAV_RESULT_TEMPORARILY_REJECTED,
            Given::Denied => MavResult::MAV_RESULT_DENIED,
        };
        let message = MavMessage::COMMAND_ACK(COMMAND_ACK_DATA {
            result,
            target_system: to.system.0,
            target_component: to.component.0,
            ..answered
        });
        own_frame(self.by, 0, &message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gcs::fields;

    #[test]
    fn an_answer_is_the_autopilots_to_the_guest_about_its_command() {
        let (vehicle, program) = (Address::new(7, 1), Address::new(245, 190));
        for (command, given, result) in [
            (176, Given::Accepted, 0),
            (176, Given::TemporarilyRejected, 1),
            (400, Given::Denied, 2),
        ] {
            let answer = Answer {
                by: vehicle,
                command,
                given,
            };
            let frame = answer.frame(program).unwrap();
            assert_eq!(
                (frame.sender(), frame.message_id, frame.target),
                (vehicle, 77, Some(program))
            );
            assert_eq!((fields::number(&frame, 0), fields::byte(&frame, 2)), (command, result));
        }
        let unknown = Answer {
            by: vehicle,
            command: u16::MAX,
            given: Given::Denied,
        };
        assert_eq!(unknown.frame(program), None);
    }
}
