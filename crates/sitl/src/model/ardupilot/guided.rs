//! Takeoff, targets and pauses in GUIDED.

use super::flight::Flight;
use super::{ArduPilot, modes};
use crate::model::core::{Core, result};
use crate::model::geo::{Neu, Wgs84};
use crate::wire::{Command, CommandForm, GotoTarget, LocalTarget};

/// MAV_FRAME of altitude above home, and its `_INT` twin.
const RELATIVE: u8 = 3;
const RELATIVE_INT: u8 = 6;
/// MAV_FRAME in meters: from the place of boot, and from the vehicle, along the compass and along the heading.
const LOCAL: u8 = 1;
const LOCAL_OFFSET: u8 = 7;
const BODY: u8 = 8;
const BODY_OFFSET: u8 = 9;
/// A takeoff that the stick ends at once: from the command to lift-off, and to the landing.
const HOPS_AFTER_S: f64 = 1.9;
const HOPS_FOR_S: f64 = 1.9;
/// Gentle stop of a climb (recorded: 3.5 m from 2.5 m/s).
const PAUSE_BRAKES_M_S2: f64 = 0.9;
/// Bits of POSITION_TARGET_TYPEMASK.
const NO_PLACE: u16 = 0b111;
const NO_VELOCITY: u16 = 0b11_1000;
/// The real one stops at a velocity beyond this, and at NaN.
const FASTEST_M_S: f32 = 1000.0;

impl ArduPilot {
    pub(super) fn take_off(&mut self, core: &Core, command: &Command) -> u8 {
        if let CommandForm::Int { frame, .. } = command.form
            && frame != RELATIVE
        {
            return result::DENIED;
        }
        let to_up_m = f64::from(command.z());
        let on_ground = matches!(self.flight, Flight::Landed | Flight::Spooling { .. });
        let higher = to_up_m > core.airframe.position.up;
        match (self.armed_s, self.mode) {
            (Some(armed_s), modes::GUIDED) if on_ground && higher => {
                self.auto_armed = true;
                let flight = match self.flight {
                    Flight::Spooling { begins_s, .. } => Flight::Spooling { begins_s, to_up_m },
                    _ => Flight::take_off(core.uptime_s, armed_s, to_up_m),
                };
                self.guide(flight);
                result::ACCEPTED
            }
            (Some(_), modes::GUIDED_NO_GPS) if on_ground && higher => result::ACCEPTED,
            // With the throttle stick at the bottom it lands again at once.
            (Some(_), mode) if on_ground && higher && modes::takes_off_by_stick(mode) => {
                self.flight = Flight::Hopping {
                    from_s: core.uptime_s + HOPS_AFTER_S,
                    until_s: core.uptime_s + HOPS_AFTER_S + HOPS_FOR_S,
                };
                result::ACCEPTED
            }
            _ => result::FAILED,
        }
    }

    /// DO_CHANGE_SPEED in modes that follow a path: airspeed (0), ground (1), climb (2) or descent (3); MAV_RESULT.
    pub(super) fn change_speed(&mut self, kind: f32, meters_a_second: f32) -> u8 {
        if meters_a_second <= 0.0 || !(0.0..4.0).contains(&kind) {
            return result::DENIED;
        }
        if !modes::takes_speeds(self.mode) {
            return result::FAILED;
        }
        let ordered = Some(f64::from(meters_a_second));
        match kind as u32 {
            2 => self.speeds.up = ordered,
            3 => self.speeds.down = ordered,
            _ => self.speeds.over_ground = ordered,
        }
        result::ACCEPTED
    }

    /// DO_SET_HOME, here or at a given place; MAV_RESULT.
    pub(super) fn choose_home(&mut self, core: &mut Core, command: &Command) -> u8 {
        let place = match command.form {
            _ if command.params[0] == 1.0 => None,
            CommandForm::Long { xyz: [x, y, z], .. } => Some((f64::from(x), f64::from(y), f64::from(z))),
            CommandForm::Int { x, y, z, .. } => Some((f64::from(x) / 1e7, f64::from(y) / 1e7, f64::from(z))),
        };
        let home = match place.filter(|place| *place != (0.0, 0.0, 0.0)) {
            None if !self.position.is_known(core) => return result::FAILED,
            None => core.place(),
            Some((lat_deg, lon_deg, amsl_m)) => Wgs84 {
                lat_deg,
                lon_deg,
                amsl_m,
            },
        };
        self.set_home(core, home);
        result::ACCEPTED
    }

    /// DO_REPOSITION; MAV_RESULT. Accepted without effect on the ground.
    pub(super) fn reposition(&mut self, core: &mut Core, command: &Command) -> u8 {
        let CommandForm::Int { frame, x, y, z } = command.form else {
            return result::UNSUPPORTED;
        };
        let nowhere = x == i32::MAX || y == i32::MAX || (x == 0 && y == 0);
        let guided = matches!(self.mode, modes::GUIDED | modes::AVOID_ADSB | modes::GUIDED_NO_GPS);
        let may_change_mode = command.params[1] as u32 & 1 != 0;
        // Altitude 0 above something means none was given.
        let height = f64::from(z);
        let given = !nowhere && (height != 0.0 || matches!(frame, 0 | 5));
        let up = height_above_boot(core, self.home, frame, height).filter(|_| given && (guided || may_change_mode));
        let Some(up) = up else {
            return result::DENIED;
        };
        if !guided && self.set_mode(core, modes::GUIDED).is_err() {
            return result::FAILED;
        }
        let target = Neu {
            up,
            ..core.local_e7(x, y)
        };
        if !self.fence.allows(core, self.home, target) {
            return result::FAILED;
        }
        if self.takes_setpoints(core) {
            core.airframe.look_to(target);
            self.guide(Flight::Guided { target });
        }
        result::ACCEPTED
    }

    /// Ignores an unreachable target without a text.
    pub(super) fn goto(&mut self, core: &Core, target: &GotoTarget) {
        let Some(up) = height_above_boot(core, self.home, target.frame, f64::from(target.alt_m)) else {
            return self.stop_guided(core);
        };
        let point = Neu {
            up,
            ..core.local_e7(target.lat_e7, target.lon_e7)
        };
        self.follow(core, target.type_mask, point, target.velocity_m_s);
    }

    /// The heading is north.
    pub(super) fn steer(&mut self, core: &Core, target: &LocalTarget) {
        let [north, east, down] = target.place_m.map(f64::from);
        let offset = Neu { north, east, up: -down };
        let point = match target.frame {
            LOCAL | BODY => offset,
            LOCAL_OFFSET | BODY_OFFSET => {
                let here = core.airframe.position;
                Neu {
                    north: here.north + north,
                    east: here.east + east,
                    up: here.up - down,
                }
            }
            _ => return self.stop_guided(core),
        };
        self.follow(core, target.type_mask, point, target.velocity_m_s);
    }

    /// Stops without position and velocity.
    fn follow(&mut self, core: &Core, mask: u16, point: Neu, velocity: [f32; 3]) {
        if !self.takes_setpoints(core) {
            return;
        }
        if mask & NO_PLACE != NO_PLACE {
            if self.fence.allows(core, self.home, point) {
                self.guide(Flight::Guided { target: point });
            }
        } else if mask & NO_VELOCITY != NO_VELOCITY && velocity.iter().all(|part| part.abs() <= FASTEST_M_S) {
            let [north, east, down] = velocity.map(f64::from);
            let wanted = Neu { north, east, up: -down };
            self.guide(Flight::Steered {
                wanted,
                allowed: wanted,
                until_s: core.uptime_s + f64::from(core.params.get("GUID_TIMEOUT")),
            });
        } else {
            self.stop_guided(core);
        }
    }

    fn takes_setpoints(&self, core: &Core) -> bool {
        self.armed_s.is_some() && !self.landed(core) && self.mode == modes::GUIDED
    }

    fn stop_guided(&mut self, core: &Core) {
        if self.takes_setpoints(core) {
            let flight = self.stop(core);
            self.guide(flight);
        }
    }

    fn guide(&mut self, flight: Flight) {
        match &mut self.held {
            Some(held) => *held = flight,
            None => self.flight = flight,
        }
    }

    /// Paused on the ground, it does not lift off.
    pub(super) fn pause_guided(&mut self, core: &Core) {
        if self.held.is_some() {
            return;
        }
        self.held = Some(self.flight);
        if self.landed(core) {
            self.flight = Flight::Landed;
            return;
        }
        self.stop_here(core);
        if let Flight::Guided { target } = &mut self.flight {
            let climb = core.airframe.velocity.up;
            target.up = (target.up + climb * climb.abs() / (2.0 * PAUSE_BRAKES_M_S2)).max(0.0);
        }
    }

    /// Motors spool up again before a takeoff.
    pub(super) fn continue_guided(&mut self, core: &Core) {
        self.flight = match (self.held.take(), self.armed_s) {
            (Some(Flight::Spooling { to_up_m, .. }), Some(armed_s)) => {
                Flight::take_off(core.uptime_s, armed_s, to_up_m)
            }
            (Some(held), Some(_)) => held,
            _ => self.flight,
        };
    }

    /// MAV_LANDED_STATE; a takeoff paused in the air remains one.
    pub(super) fn landed_state_number(&self, core: &Core) -> u8 {
        let landed = self.landed(core);
        match self.held {
            Some(held @ Flight::Climbing { .. }) if !landed => held.landed_state(false),
            _ => self.flight.landed_state(landed),
        }
    }
}

/// `None` for an unsupported frame. Altitudes above `home` follow it; the ground stays at the altitude of the place of
/// boot.
pub(super) fn height_above_boot(core: &Core, home: Option<Wgs84>, frame: u8, altitude_m: f64) -> Option<f64> {
    let boot_m = core.config.home.amsl_m;
    match frame {
        0 | 5 => Some(altitude_m - boot_m),
        RELATIVE | RELATIVE_INT => Some(altitude_m + home.map_or(0.0, |home| home.amsl_m - boot_m)),
        10 | 11 => Some(altitude_m),
        _ => None,
    }
}
