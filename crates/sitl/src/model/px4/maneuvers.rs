//! PX4's maneuvers: take off, hold, go to a point, land, return.

use super::flight::{Flight, TOO_FAR_M};
use super::modes::Mode;
use super::{Px4, events};
use crate::model::core::Core;
use crate::model::geo::Neu;
use crate::model::telemetry::id;

/// Altitude of a target that makes a vehicle on the ground lift off, and the delay (recorded).
const LIFTS_FROM_M: f64 = 0.5;
const LIFTS_AFTER_S: f64 = 1.2;

/// NAV_MC_ALT_RAD.
const HEIGHT_RADIUS_M: f64 = 0.8;

/// Target; both `None`: here, to the default altitude.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Takeoff {
    pub(super) at: Option<Neu>,
    pub(super) amsl_m: Option<f64>,
}

impl Px4 {
    pub(super) fn change_mode(&mut self, core: &mut Core, mode: Mode) {
        self.intended = mode;
        if !mode.is_descending() {
            self.after_disarming = mode;
        }
        self.change_actual(core, mode);
    }

    pub(super) fn change_actual(&mut self, core: &mut Core, mode: Mode) {
        if self.mode != mode {
            self.mode = mode;
            core.streams.hurry(id::CURRENT_MODE, core.uptime_s);
        }
    }

    pub(super) fn enter(&mut self, core: &mut Core, mode: Mode) {
        self.user_takes_over(core);
        match mode {
            Mode::Return if self.flying() => return self.go_home(core),
            Mode::Mission if self.armed_s.is_some() => {
                self.change_mode(core, mode);
                return self.begin_mission(core);
            }
            _ => {}
        }
        let before = self.mode;
        self.change_mode(core, mode);
        if !self.flying() {
            self.flight = Flight::Landed;
        } else if before != mode || mode == Mode::Hold {
            self.flight = match mode {
                Mode::Land if matches!(self.flight, Flight::Landing { .. }) => self.flight,
                Mode::Land => Flight::Landing { touched_s: None },
                _ if matches!(self.flight, Flight::Landing { touched_s: Some(_) } | Flight::Tumbling) => self.flight,
                Mode::PrecisionLand => Flight::search(core.uptime_s),
                _ if matches!(self.flight, Flight::Holding { .. }) && before == mode => self.flight,
                _ => Flight::stop(&core.airframe),
            };
        }
    }

    pub(super) fn enter_takeoff(&mut self, core: &mut Core) {
        self.user_takes_over(core);
        self.change_mode(core, Mode::Takeoff);
        if self.armed_s.is_some() {
            self.begin_takeoff(core);
        }
    }

    pub(super) fn begin_takeoff(&mut self, core: &mut Core) {
        let here = core.airframe.position;
        let up = match self.takeoff.amsl_m {
            Some(amsl_m) => amsl_m - core.config.home.amsl_m,
            None => {
                let height = core.params.get("MIS_TAKEOFF_ALT");
                self.event(core, events::DEFAULT_TAKEOFF_HEIGHT, &height.to_le_bytes());
                self.info(core, &format!("Using default takeoff altitude: {height:.1} m\t"));
                here.up + f64::from(height)
            }
        };
        if up <= here.up {
            self.event(core, events::ALREADY_HIGHER, &[]);
            self.critical(core, "Already higher than takeoff altitude\t");
            self.landed_s = None;
        }
        if up <= here.up + HEIGHT_RADIUS_M && self.flying() && self.flight != Flight::Tumbling {
            self.flight = Flight::stop(&core.airframe);
            return self.change_mode(core, Mode::Hold);
        }
        if up <= here.up {
            return;
        }
        let to = Neu {
            up,
            ..self.takeoff.at.unwrap_or(here)
        };
        self.climb(core, to);
    }

    pub(super) fn climb(&mut self, core: &Core, to: Neu) {
        let Some(armed_s) = self.armed_s else { return };
        self.landed_s = None;
        if !self.flight.landed() {
            if self.flight != Flight::Tumbling {
                self.flight = Flight::Rising {
                    from: core.airframe.position,
                    to,
                };
            }
            return;
        }
        let begun = Flight::take_off(&core.airframe, &core.params, to, armed_s, core.uptime_s);
        self.flight = match (self.flight, begun) {
            (_, Some(_)) if self.motor_fails => Flight::Landed,
            // Requested again while the motors spin up: only the target is new.
            (Flight::Spooling { detected_s, .. }, Some(Flight::Spooling { to, .. })) => {
                Flight::Spooling { detected_s, to }
            }
            (_, Some(flight)) => flight,
            (_, None) => Flight::Landed,
        };
    }

    pub(super) fn land(&mut self, core: &mut Core) {
        let (flying, was_landing) = (self.flying(), self.mode == Mode::Land);
        self.event(core, events::LANDING_HERE, &[]);
        self.info(core, "Landing at current position\t");
        self.enter(core, Mode::Land);
        if flying && !was_landing {
            self.own_commands.neutral_gimbal(core);
        }
    }

    pub(super) fn go_home(&mut self, core: &mut Core) {
        self.user_takes_over(core);
        self.event(core, events::RETURNING, &[]);
        self.info(core, "Returning to launch\t");
        self.change_mode(core, Mode::Return);
        if self.flying() {
            self.own_commands.neutral_gimbal(core);
            self.return_from_here(core);
        }
    }

    pub(super) fn return_from_here(&mut self, core: &mut Core) {
        let home = self.home.local(core);
        let up_m = Flight::return_height(&core.airframe, &core.params, home);
        let amsl = (up_m + core.config.home.amsl_m).round() as i32;
        let above = (up_m - home.up).round() as i32;
        let mut arguments = amsl.to_le_bytes().to_vec();
        arguments.extend(above.to_le_bytes());
        self.event(core, events::RETURN_HEIGHT, &arguments);
        self.info(
            core,
            &format!("RTL: start return at {amsl} m ({above} m above destination)\t"),
        );
        self.flight = Flight::ReturnClimb { up_m };
    }

    /// DO_CHANGE_SPEED over ground to positions; 0 or less restores the parameters' speed.
    pub(super) fn change_speed(&mut self, meters_a_second: f32) {
        self.cruise_m_s = (meters_a_second > 0.0).then_some(f64::from(meters_a_second));
    }

    pub(super) fn lift_step(&mut self, core: &mut Core) {
        let Some((at_s, to)) = self.lifts else { return };
        if self.armed_s.is_none() || self.mode != Mode::Hold || self.flight != Flight::Landed {
            self.lifts = None;
        } else if core.uptime_s >= at_s {
            self.lifts = None;
            self.flight = Flight::Holding { at: to };
            self.lift_off(core);
        }
    }

    /// Outside the fence it reports that and stays where it is.
    pub(super) fn go_to(&mut self, core: &Core, to: Neu) {
        if core.airframe.position.ground_distance(to) > TOO_FAR_M {
            return;
        }
        if !self.fence_allows(core, to) {
            return self.critical(core, "Reposition is outside geofence\t");
        }
        if self.flying() && self.mode == Mode::Hold && self.flight != Flight::Tumbling {
            self.flight = Flight::Holding { at: to };
        } else if self.armed_s.is_some() && to.up > core.airframe.position.up + LIFTS_FROM_M {
            self.lifts = Some((core.uptime_s + LIFTS_AFTER_S, to));
        }
    }
}
