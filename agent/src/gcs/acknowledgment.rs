//! The answer to a program's request for a mode that is not passed on: a COMMAND_ACK (77) as from the autopilot.
//!
//! Programs take one from the autopilot alone; it goes to the program alone. ACCEPTED names only the mode that the autopilot has just reported.

use super::own_frame::own_frame;
use super::routes::Address;
use link::dialect::{COMMAND_ACK_DATA, MavCmd, MavMessage, MavResult};
use link::raw::RawFrame;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    pub by: Address,
    /// ACCEPTED; else TEMPORARILY_REJECTED.
    pub accepted: bool,
}

impl Answer {
    pub fn frame(self, to: Address) -> Option<RawFrame> {
        let result = if self.accepted {
            MavResult::MAV_RESULT_ACCEPTED
        } else {
            MavResult::MAV_RESULT_TEMPORARILY_REJECTED
        };
        let message = MavMessage::COMMAND_ACK(COMMAND_ACK_DATA {
            command: MavCmd::MAV_CMD_DO_SET_MODE,
            result,
            target_system: to.system.0,
            target_component: to.component.0,
            ..COMMAND_ACK_DATA::default()
        });
        own_frame(self.by, 0, &message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gcs::fields;

    #[test]
    fn an_answer_is_the_autopilots_to_the_program_about_its_mode() {
        let (vehicle, program) = (Address::new(7, 1), Address::new(245, 190));
        for (accepted, result) in [(true, 0), (false, 1)] {
            let answer = Answer { by: vehicle, accepted };
            let frame = answer.frame(program).unwrap();
            assert_eq!(
                (frame.sender(), frame.message_id, frame.target),
                (vehicle, 77, Some(program))
            );
            assert_eq!((fields::number(&frame, 0), fields::byte(&frame, 2)), (176, result));
        }
    }
}
