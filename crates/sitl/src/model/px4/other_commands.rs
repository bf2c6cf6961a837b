//! Commands without effect on what is modelled: PX4's answers with all parameters zero.

use crate::model::core::result;

/// `None`: no answer, because the module that would answer does not run.
pub(super) fn verdict(command: u16, armed: bool) -> Option<u8> {
    Some(match command {
        // Its own, and those of cameras, gimbals, actuators, logs and airframes that this vehicle lacks.
        0
        | 1
        | 2
        | 35
        | 84
        | 93
        | 203..=206
        | 214
        | 220
        | 242
        | 243
        | 260
        | 311
        | 500
        | 521
        | 530..=532
        | 1000
        | 1001
        | 2003
        | 3000
        | 30001
        | 30002
        | 42600 => {
            return None;
        }
        // Regions of interest, speeds, places to land.
        80 | 179 | 187 | 191 | 195..=197 | 201 | 525 | 528 => result::ACCEPTED,
        189 => result::CANCELLED,
        212 => result::IN_PROGRESS,
        262 => result::FAILED,
        245 if armed => result::TEMPORARILY_REJECTED,
        245 => result::ACCEPTED,
        310 if armed => result::DENIED,
        310 => return None,
        _ => result::UNSUPPORTED,
    })
}
