//! PX4's monitoring: links, receiver, battery, position, fence and health.

use mavlink::dialects::ardupilotmega::MavSeverity;

use super::battery_watch::{Charge, charge};
use super::failsafe::Action;
use super::gcs_watch::Change;
use super::health::Health;
use super::modes::Mode;
use super::{Px4, events, reports};
use crate::model::core::Core;
use crate::model::geo::Neu;

const FIRST_REPORT_S: f64 = 2.08;
const SATELLITES_FOR_A_FIX: f32 = 4.0;

impl Px4 {
    pub(super) fn health(&self, core: &Core) -> Health {
        Health {
            attitude: self.estimator.has_attitude(core),
            position: self.estimator.has_position(core),
            // A missing compass does not matter any more once the motors run.
            compass_missing: self.armed_s.is_none() && core.params.get("SYS_HAS_MAG") > 1.0,
            motor_failed: self.motor_fails,
            charge: self.charge,
            ground_station: self.gcs.connected(),
            mission_needed: core.params.get("COM_ARM_MIS_REQ") > 0.0,
            ground_station_needed: core.params.get("NAV_DLL_ACT") > 0.0,
            outside_fence: !self.in_fence,
            remote_id_missing: core.params.get("COM_ARM_ODID") >= 1.0 && !self.remote_id.connected(),
            remote_id_needed: core.params.get("COM_ARM_ODID") >= 2.0,
            mission: self.mission.is_valid(),
            offboard: self.offboard.is_fresh(core),
            mode: if self.armed_s.is_some() { Mode::Hold } else { self.mode },
        }
    }

    pub(super) fn report_health(&mut self, core: &mut Core) {
        let health = self.health(core);
        self.reported = Some(health);
        for (kind, arguments) in health.report() {
            self.event(core, kind, &arguments);
        }
        for (severity, text) in health.texts() {
            self.send_text(core, severity, text);
        }
    }

    pub(super) fn health_step(&mut self, core: &mut Core) {
        if core.uptime_s < FIRST_REPORT_S {
            return;
        }
        let health = self.health(core);
        if !self.reported.is_some_and(|reported| reported.reports_as(health)) {
            self.report_health(core);
        }
        if !self.home.is_set() && core.uptime_s >= reports::HOME_S {
            self.home.set_here(core);
            core.send(crate::model::telemetry::global_origin(core.config.home, core.boot_us()));
        }
    }

    pub(super) fn links_step(&mut self, core: &mut Core) {
        match self.companion.step(core) {
            None => {}
            Some(Change::Lost) => {
                self.event(core, events::COMPANION_LOST, &[]);
                self.critical(core, "Connection to mission computer lost\t");
            }
            Some(Change::Regained) => {
                self.event(core, events::COMPANION_REGAINED, &[]);
                self.info(core, "Onboard controller regained\t");
            }
        }
        if self.remote_id.step(core) == Some(Change::Lost) {
            self.act_on_lost_remote_id(core);
        }
        match self.gcs.step(core) {
            None => {}
            Some(Change::Regained) => {
                self.event(core, events::GCS_REGAINED, &[]);
                self.info(core, "GCS connection regained\t");
            }
            Some(Change::Lost) => {
                self.event(core, events::GCS_LOST, &[]);
                self.act_on_lost_gcs(core);
            }
        }
    }

    /// NAV_DLL_ACT, unless COM_DLL_EXCEPT exempts the mode or the mode descends anyway.
    fn act_on_lost_gcs(&mut self, core: &mut Core) {
        let action = match core.params.get("NAV_DLL_ACT") as u32 {
            1 => Action::Hold,
            2 => Action::Return,
            3 => Action::Land,
            5 => Action::Terminate,
            6 => Action::Disarm,
            _ => return,
        };
        let excepted_bit = match self.intended {
            Mode::Mission => 1,
            Mode::Hold | Mode::Takeoff => 2,
            Mode::Offboard => 4,
            _ => 0,
        };
        let excepted = core.params.get("COM_DLL_EXCEPT") as u32 & excepted_bit != 0;
        let is_descending = match self.mode {
            Mode::Land | Mode::PrecisionLand | Mode::Descend => true,
            Mode::Return => action <= Action::Return,
            _ => false,
        };
        if !excepted && !is_descending {
            self.fail_safe(core, action, events::CAUSE_GCS_LOSS);
        }
    }

    /// Only 1.18 has COM_ARM_ODID above 2.
    fn act_on_lost_remote_id(&mut self, core: &mut Core) {
        let action = match core.params.get("COM_ARM_ODID") as u32 {
            3 => Action::Return,
            4 => Action::Land,
            5 => Action::Terminate,
            _ => return,
        };
        self.fail_safe(core, action, events::CAUSE_GENERIC);
    }

    pub(super) fn receiver_step(&mut self, core: &mut Core) {
        let fix = !self.gps_fails && core.params.get("SIM_GPS_USED") >= SATELLITES_FOR_A_FIX;
        self.estimator.set_fix(core, fix);
    }

    /// Descends without a position; returns to the user's mode with one.
    pub(super) fn position_step(&mut self, core: &mut Core) {
        let has = self.estimator.has_position(core);
        if has == self.had_position {
            return;
        }
        self.had_position = has;
        if has {
            self.end_failsafe(core, Action::Descend);
        } else if self.mode.needs_position() {
            self.fail_safe(core, Action::Descend, events::CAUSE_GENERIC);
        }
    }

    pub(super) fn battery_step(&mut self, core: &mut Core) {
        let charge = charge(core);
        let worse = charge > self.charge;
        if charge == self.charge {
            return;
        }
        self.charge = charge;
        // The report has the check first, then the failsafe of its action.
        self.health_step(core);
        if !worse || self.armed_s.is_none() {
            return;
        }
        let action = core.params.get("COM_LOW_BAT_ACT") as u32;
        match charge {
            Charge::Ok => {}
            Charge::Low => self.event(core, events::LOW_BATTERY, &[]),
            Charge::Critical => match action {
                2 => self.fail_safe(core, Action::Land, events::CAUSE_CRITICAL_BATTERY),
                3 => self.fail_safe(core, Action::Return, events::CAUSE_CRITICAL_BATTERY),
                _ => {}
            },
            Charge::Emergency => {
                self.event(core, events::NO_SHUTDOWN, &[]);
                self.critical(core, "System does not support shutdown\t");
                if matches!(action, 2 | 3) {
                    self.fail_safe(core, Action::Land, events::CAUSE_EMERGENCY_BATTERY);
                }
            }
        }
    }

    pub(super) fn fence_allows(&self, core: &Core, at: Neu) -> bool {
        let home = self.home.local(core);
        let within = |name: &str, meters: f64| {
            let limit = f64::from(core.params.get(name));
            limit <= 0.0 || meters <= limit
        };
        self.fence.allows(at)
            && within("GF_MAX_HOR_DIST", home.ground_distance(at))
            && within("GF_MAX_VER_DIST", at.up - home.up)
    }

    pub(super) fn fence_step(&mut self, core: &mut Core) {
        let inside = !self.flying() || self.fence_allows(core, core.airframe.position);
        if inside == self.in_fence {
            return;
        }
        self.in_fence = inside;
        let action = core.params.get("GF_ACTION") as u32;
        if inside || action == 0 {
            return;
        }
        self.send_text(
            core,
            MavSeverity::MAV_SEVERITY_CRITICAL,
            "Geofence: approaching or outside geofence",
        );
        let action = match action {
            2 => Action::Hold,
            3 => Action::Return,
            4 => Action::Terminate,
            5 => Action::Land,
            _ => return,
        };
        self.fail_safe(core, action, events::CAUSE_GENERIC);
    }
}
