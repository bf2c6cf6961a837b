//! PX4's OFFBOARD: set-points that must not stop.

use super::failsafe::Action;
use super::flight::{Flight, Steer};
use super::modes::Mode;
use super::{Px4, events};
use crate::model::core::Core;
use crate::model::geo::Neu;
use crate::wire::{GotoTarget, LocalTarget};

/// Time from spun-up motors to "takeoff detected" in a climb to a set-point (recorded).
const LIFTS_S: f64 = 0.6;
const HIGHER_M: f64 = 0.5;
/// Sink rate in a pilot's modes without a pilot (recorded).
const SINKS_M_S: f64 = 0.71;
const NO_PLACE: u16 = 0b111;
const NO_VELOCITY: u16 = 0b11_1000;
const NO_ACCELERATION: u16 = 0b1_1100_0000;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Offboard {
    last: Option<(f64, Steer)>,
}

impl Offboard {
    pub(super) fn is_fresh(self, core: &Core) -> bool {
        let holds_s = f64::from(core.params.get("COM_OF_LOSS_T"));
        self.last.is_some_and(|(at_s, _)| core.uptime_s - at_s <= holds_s)
    }
}

impl Px4 {
    /// Accepts the local frame; in the body frame velocities only.
    pub(super) fn steer(&mut self, core: &Core, target: &LocalTarget) {
        const LOCAL: u8 = 1;
        const BODY: u8 = 8;
        let is_place = target.place_m.iter().all(|part| part.is_finite());
        let has_place = target.type_mask & NO_PLACE != NO_PLACE && target.frame == LOCAL && is_place;
        if !matches!(target.frame, LOCAL | BODY) {
            let text = format!(
                "SET_POSITION_TARGET_LOCAL_NED coordinate frame {} unsupported\t",
                target.frame
            );
            return self.critical(core, &text);
        }
        let [north, east, down] = target.place_m.map(f64::from);
        let place = has_place.then_some(Neu { north, east, up: -down });
        self.take_setpoint(core, "LOCAL_NED", place, target.type_mask, target.velocity_m_s);
    }

    /// Accepts the integer frames only.
    pub(super) fn steer_globally(&mut self, core: &Core, target: &GotoTarget) {
        const ABOVE_SEA: u8 = 5;
        const ABOVE_HOME: u8 = 6;
        const ABOVE_TERRAIN: u8 = 11;
        let ground_m = match target.frame {
            ABOVE_SEA => core.config.home.amsl_m,
            ABOVE_HOME => -self.home.local(core).up,
            ABOVE_TERRAIN => 0.0,
            other => {
                let text = format!("SET_POSITION_TARGET_GLOBAL_INT invalid coordinate frame {other}\t");
                return self.critical(core, &text);
            }
        };
        let place = (target.type_mask & NO_PLACE != NO_PLACE).then(|| Neu {
            up: f64::from(target.alt_m) - ground_m,
            ..core.local_e7(target.lat_e7, target.lon_e7)
        });
        self.take_setpoint(core, "GLOBAL_INT", place, target.type_mask, target.velocity_m_s);
    }

    fn take_setpoint(&mut self, core: &Core, form: &str, place: Option<Neu>, mask: u16, velocity: [f32; 3]) {
        // An axis without a number is under no control of the set-point.
        let [north, east, down] = velocity.map(|part| if part.is_finite() { f64::from(part) } else { 0.0 });
        let steer = match place {
            Some(place) => Steer::To(place),
            None if mask & NO_VELOCITY != NO_VELOCITY => Steer::At(Neu { north, east, up: -down }),
            None if mask & NO_ACCELERATION != NO_ACCELERATION => Steer::At(Neu::default()),
            None => return self.critical(core, &format!("SET_POSITION_TARGET_{form} invalid\t")),
        };
        self.offboard.last = Some((core.uptime_s, steer));
    }

    pub(super) fn offboard_step(&mut self, core: &mut Core) {
        let Some(armed_s) = self.armed_s.filter(|_| self.mode == Mode::Offboard) else {
            return;
        };
        if !self.offboard.is_fresh(core) {
            return self.act_on_lost_setpoints(core);
        }
        let Some((_, steer)) = self.offboard.last else { return };
        let here = core.airframe.position;
        let rises = match steer {
            Steer::To(place) => place.up > here.up + HIGHER_M,
            Steer::At(velocity) => velocity.up > 0.0,
        };
        match self.flight {
            Flight::Landed if !rises => {}
            Flight::Landed => {
                let spun_up_s = armed_s + f64::from(core.params.get("COM_SPOOLUP_TIME"));
                if core.uptime_s >= spun_up_s + LIFTS_S {
                    self.flight = Flight::steered(steer);
                    self.lift_off(core);
                }
            }
            Flight::Steered { touched_s, .. } => self.flight = Flight::Steered { steer, touched_s },
            Flight::Tumbling | Flight::Falling => {}
            _ => self.flight = Flight::steered(steer),
        }
    }

    /// COM_OBL_RC_ACT: another mode at once, with or without a pilot.
    fn act_on_lost_setpoints(&mut self, core: &mut Core) {
        let mode = match core.params.get("COM_OBL_RC_ACT") as u32 {
            0 => Mode::Position,
            1 => Mode::Altitude,
            2 => Mode::Stabilized,
            3 => return self.act(core, Action::Return, events::CAUSE_GENERIC),
            4 => return self.act(core, Action::Land, events::CAUSE_GENERIC),
            6 => return self.act(core, Action::Terminate, events::CAUSE_GENERIC),
            7 => return self.act(core, Action::Disarm, events::CAUSE_GENERIC),
            _ => return self.act(core, Action::Hold, events::CAUSE_GENERIC),
        };
        self.act(core, Action::Hold, events::CAUSE_GENERIC);
        self.change_actual(core, mode);
        if self.flying() {
            self.flight = Flight::steered(Steer::At(Neu {
                up: -SINKS_M_S,
                ..Neu::default()
            }));
        }
    }
}
