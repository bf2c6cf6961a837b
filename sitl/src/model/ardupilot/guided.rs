//! Take-off and targets in GUIDED.
//!
//! Owns: which are taken, and their frames. Must not: move the airframe.

use super::flight::Flight;
use super::{ArduPilot, modes};
use crate::model::core::{Core, result};
use crate::model::geo::Neu;
use crate::wire::{Command, CommandForm, GotoTarget};

/// MAV_FRAME numbers of altitude above home; the second is the `_INT` twin.
const RELATIVE: u8 = 3;
const RELATIVE_INT: u8 = 6;

impl ArduPilot {
    /// NAV_TAKEOFF; MAV_RESULT.
    pub(super) fn take_off(&mut self, core: &Core, command: &Command) -> u8 {
        if let CommandForm::Int { frame, .. } = command.form
            && frame != RELATIVE
        {
            return result::DENIED;
        }
        let to_up_m = f64::from(command.z());
        let on_ground = matches!(self.flight, Flight::Landed | Flight::Spooling { .. });
        let possible = self.mode == modes::GUIDED && on_ground && to_up_m > core.airframe.position.up;
        match (self.armed_s, possible) {
            (Some(armed_s), true) => {
                self.auto_armed = true;
                self.flight = match self.flight {
                    Flight::Spooling { begins_s, .. } => Flight::Spooling { begins_s, to_up_m },
                    _ => Flight::take_off(core.uptime_s, armed_s, to_up_m),
                };
                result::ACCEPTED
            }
            _ => result::FAILED,
        }
    }

    /// DO_REPOSITION; MAV_RESULT.
    pub(super) fn reposition(&mut self, core: &mut Core, command: &Command) -> u8 {
        let CommandForm::Int { frame, x, y, z } = command.form else {
            return result::UNSUPPORTED;
        };
        if self.armed_s.is_none() || self.landed(core) {
            return result::FAILED;
        }
        let Some(up) = height_above_boot(core, frame, f64::from(z)) else {
            return result::UNSUPPORTED_MAV_FRAME;
        };
        if x == i32::MAX || y == i32::MAX || (x == 0 && y == 0) {
            return result::DENIED;
        }
        if self.mode != modes::GUIDED {
            if command.params[1] as u32 & 1 == 0 {
                return result::DENIED;
            }
            if self.set_mode(core, modes::GUIDED).is_err() {
                return result::FAILED;
            }
        }
        let target = Neu {
            up,
            ..core.local_e7(x, y)
        };
        if !self.fence.allows(core, self.home, target) {
            return result::FAILED;
        }
        self.flight = Flight::Guided { target };
        result::ACCEPTED
    }

    /// SET_POSITION_TARGET_GLOBAL_INT: what cannot be flown to is ignored without a word.
    pub(super) fn goto(&mut self, core: &Core, target: &GotoTarget) {
        let flying = self.armed_s.is_some() && !self.landed(core);
        if !flying || self.mode != modes::GUIDED || target.type_mask & 0b111 != 0 {
            return;
        }
        let Some(up) = height_above_boot(core, target.frame, f64::from(target.alt_m)) else {
            return;
        };
        let point = Neu {
            up,
            ..core.local_e7(target.lat_e7, target.lon_e7)
        };
        if self.fence.allows(core, self.home, point) {
            self.flight = Flight::Guided { target: point };
        }
    }
}

/// Height above the place of boot of an altitude in `frame`; `None` for a frame without meaning here.
pub(super) fn height_above_boot(core: &Core, frame: u8, altitude_m: f64) -> Option<f64> {
    match frame {
        0 | 5 => Some(altitude_m - core.config.home.amsl_m),
        RELATIVE | RELATIVE_INT | 10 | 11 => Some(altitude_m),
        _ => None,
    }
}
