//! Arming and disarming of PX4.

use super::flight::Flight;
use super::modes::Mode;
use super::{Px4, events};
use crate::model::core::{Core, FORCE, result};

impl Px4 {
    /// `None`: no ack, for parameters other than 0 and 1.
    pub(super) fn arm_disarm(&mut self, core: &mut Core, p1: f32, p2: f32) -> Option<u8> {
        match p1.round() as i64 {
            1 => Some(self.request_arm(core, events::BY_COMMAND)),
            0 if self.armed_s.is_none() => Some(result::ACCEPTED),
            0 if p2 == FORCE || self.flight.landed() => {
                self.disarm(core, events::BY_COMMAND);
                Some(result::ACCEPTED)
            }
            0 => {
                self.event(core, events::DISARM_DENIED, &[]);
                self.critical(core, "Disarming denied: not landed\t");
                Some(result::TEMPORARILY_REJECTED)
            }
            _ => {
                self.event(core, events::BAD_ARM_PARAMETER, &p1.to_le_bytes());
                self.critical(core, &format!("Unsupported ARM_DISARM param: {p1:.3}\t"));
                None
            }
        }
    }

    /// Force changes nothing: the checks apply to every external command.
    pub(super) fn request_arm(&mut self, core: &mut Core, by: u8) -> u8 {
        if self.armed_s.is_some() {
            return result::ACCEPTED;
        }
        if !self.health(core).can_arm() {
            self.event(core, events::ARM_DENIED, &[]);
            self.critical(core, "Arming denied: Resolve system health failures first\t");
            return result::TEMPORARILY_REJECTED;
        }
        self.arm(core, by);
        result::ACCEPTED
    }

    fn arm(&mut self, core: &mut Core, by: u8) {
        self.armed_s = Some(core.uptime_s);
        self.landed_s = None;
        self.killed_s = None;
        self.flew = false;
        self.home.set_here(core);
        self.event(core, events::ARMED_BY, &[by]);
        let reason = match by {
            events::BY_MISSION_START => "mission start",
            _ => "external command",
        };
        self.info(core, &format!("Armed by {reason}\t"));
        match self.mode {
            Mode::Takeoff => self.begin_takeoff(core),
            Mode::Mission => self.begin_mission(core),
            _ => {}
        }
    }

    pub(super) fn disarm(&mut self, core: &mut Core, by: u8) {
        let in_air = !core.airframe.on_ground();
        self.armed_s = None;
        self.landed_s = None;
        self.failsafe = None;
        self.home.rest();
        self.flight = if in_air { Flight::Falling } else { Flight::Landed };
        self.killed_s = in_air.then_some(core.uptime_s);
        if in_air {
            // Home is set to a point in the air for a moment.
            self.home.set_here(core);
        }
        self.event(core, events::DISARMED_BY, &[by]);
        let reason = match by {
            events::BY_LANDING => "landing",
            events::BY_PREFLIGHT_TIMEOUT => "auto preflight disarming",
            events::BY_FAILSAFE => "failsafe",
            _ => "external command",
        };
        self.info(core, &format!("Disarmed by {reason}\t"));
        if !in_air {
            // A mission that was flown is over.
            let after = match self.after_disarming {
                Mode::Mission if self.flew => Mode::Hold,
                other => other,
            };
            self.change_mode(core, after);
        }
    }

    pub(super) fn disarm_when_done(&mut self, core: &mut Core) {
        let Some(armed_s) = self.armed_s else {
            return;
        };
        let param = |name: &str| f64::from(core.params.get(name));
        // It waits for a peer's takeoff.
        let idle_limit_s = param("COM_DISARM_PRFLT") * core.config.seconds_per_peer_second + param("COM_SPOOLUP_TIME");
        let landed_limit_s = param("COM_DISARM_LAND");
        if self.landed_s.is_some_and(|at| core.uptime_s - at >= landed_limit_s) {
            self.disarm(core, events::BY_LANDING);
        } else if self.flight == Flight::Landed && !self.flew && core.uptime_s - armed_s >= idle_limit_s {
            self.disarm(core, events::BY_PREFLIGHT_TIMEOUT);
        }
    }
}
