//! Commands without effect on what is modelled: ArduCopter's answers with all parameters zero.

use crate::model::core::result;
use crate::wire::CommandForm;

/// MAV_FRAME of latitude and longitude, with altitudes above sea level, home and terrain, and their `_INT` twins.
const PLACES: [u8; 6] = [0, 3, 5, 6, 10, 11];

pub(super) fn verdict(command: u16, form: CommandForm) -> u8 {
    match command {
        // A place in a frame that is not over the Earth.
        195 | 201 if matches!(form, CommandForm::Int { frame, .. } if !PLACES.contains(&frame)) => result::DENIED,
        // Relays, regions of interest, digital cameras, fences by parachute, generators, sensors, banner, wind.
        181 | 182 | 195 | 197 | 198 | 201 | 202 | 203 | 206 | 208 | 216 | 500 | 2001 | 32000 | 42428 | 43004 => {
            result::ACCEPTED
        }
        // Servos, termination, landing sequences, mounts, grippers, switches, gimbals, cameras, transponder.
        84 | 183 | 184 | 185 | 188 | 189 | 204 | 205 | 211 | 218 | 601 | 1000 | 1001 | 2000 | 2500 | 2501 | 10001
        | 42429 | 42600 => result::FAILED,
        // Following, camera zoom and focus, EKF sources, engines.
        32 | 532 | 534 | 42007 | 42700 => result::DENIED,
        43003 if matches!(form, CommandForm::Int { .. }) => result::DENIED,
        _ => result::UNSUPPORTED,
    }
}
