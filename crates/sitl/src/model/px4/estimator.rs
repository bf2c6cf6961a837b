//! PX4's position estimate: some seconds after boot, and not long without satellites.

use crate::model::core::Core;

const ATTITUDE_S: f64 = 2.1;
/// Heading and altitude; satellites are used from here on at the earliest.
const ALIGNED_S: f64 = 2.9;
/// A fix is checked a little longer than EKF2_REQ_GPS_H requires.
const CHECK_S: f64 = 0.2;
const PROBATION_S: f64 = 1.2;
/// Life of a position without satellites (recorded).
const DEAD_RECKONING_S: f64 = 5.3;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Receiver {
    Fix { since_s: f64 },
    NoFix { since_s: f64, had_position: bool },
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Estimator(Receiver);

impl Default for Estimator {
    fn default() -> Self {
        Self(Receiver::Fix { since_s: 0.0 })
    }
}

impl Estimator {
    pub(super) fn set_fix(&mut self, core: &Core, fix: bool) {
        if fix == self.has_fix() {
            return;
        }
        let (since_s, had_position) = (core.uptime_s, self.has_position(core));
        self.0 = match fix {
            true => Receiver::Fix { since_s },
            false => Receiver::NoFix { since_s, had_position },
        };
    }

    pub(super) fn has_fix(self) -> bool {
        matches!(self.0, Receiver::Fix { .. })
    }

    pub(super) fn has_attitude(self, core: &Core) -> bool {
        core.uptime_s >= ATTITUDE_S
    }

    pub(super) fn has_position(self, core: &Core) -> bool {
        match self.0 {
            Receiver::Fix { .. } => core.uptime_s >= self.used_from_s(core) + PROBATION_S,
            Receiver::NoFix { since_s, had_position } => had_position && core.uptime_s < since_s + DEAD_RECKONING_S,
        }
    }

    /// ESTIMATOR_STATUS.flags.
    pub(super) fn flags(self, core: &Core, on_ground: bool) -> u16 {
        const ATTITUDE_AND_HEIGHT: u16 = 229;
        const UNSATISFYING_FIX: u16 = 1024;
        const ALL: u16 = 1023;
        const ASSUMES_STANDSTILL: u16 = 128;
        match self.0 {
            _ if core.uptime_s < ATTITUDE_S => 164,
            Receiver::NoFix { .. } if !self.has_position(core) => ATTITUDE_AND_HEIGHT | UNSATISFYING_FIX,
            Receiver::Fix { since_s } if core.uptime_s < since_s + checked_for(core) => {
                ATTITUDE_AND_HEIGHT | UNSATISFYING_FIX
            }
            Receiver::Fix { .. } if core.uptime_s < self.used_from_s(core) => ATTITUDE_AND_HEIGHT,
            _ if on_ground => ALL,
            _ => ALL & !ASSUMES_STANDSTILL,
        }
    }

    fn used_from_s(self, core: &Core) -> f64 {
        match self.0 {
            Receiver::Fix { since_s } => ALIGNED_S.max(since_s + checked_for(core)),
            Receiver::NoFix { .. } => f64::INFINITY,
        }
    }
}

fn checked_for(core: &Core) -> f64 {
    f64::from(core.params.get("EKF2_REQ_GPS_H")) + CHECK_S
}
