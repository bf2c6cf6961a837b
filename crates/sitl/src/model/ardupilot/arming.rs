//! Arming, disarming, and the preflight checks that run beside them.

use mavlink::dialects::ardupilotmega::MavSeverity;

use super::boot::INITIALIZED_S;
use super::flight::Flight;
use super::{ArduPilot, checks, modes};
use crate::model::core::{Core, FORCE, cmd, result};
use crate::model::geo::Wgs84;
use crate::model::plan::PlanKind;
use crate::model::telemetry::id;
use crate::wire::Address;

/// ArduPilot's other code for forced arming.
const FORCE_ARM: f32 = 2989.0;
const CHECK_PHASE_S: f64 = 0.45;
const GCS_LOST: &str = "GCS failsafe on";
/// Checks between reports of reasons; the first is check 29, 30 s after the boot.
const CHECKS_PER_TEXT: u32 = 30;
pub(super) const FIRST_TEXT: u32 = 29;

impl ArduPilot {
    pub(super) fn arm_disarm(&mut self, core: &mut Core, from: Address, p1: f32, p2: f32) {
        if p1 == 1.0 {
            return self.arm(core, from, p2 == FORCE || p2 == FORCE_ARM);
        }
        if p1 != 0.0 {
            return core.ack(from, cmd::ARM_DISARM, result::UNSUPPORTED);
        }
        if self.armed_s.is_some() && p2 != FORCE && !self.landed(core) {
            return core.ack(from, cmd::ARM_DISARM, result::FAILED);
        }
        core.ack(from, cmd::ARM_DISARM, result::ACCEPTED);
        if self.armed_s.is_some() {
            self.disarm(core);
        }
    }

    fn arm(&mut self, core: &mut Core, from: Address, force: bool) {
        if self.armed_s.is_some() {
            return core.ack(from, cmd::ARM_DISARM, result::ACCEPTED);
        }
        let booting = core.uptime_s < INITIALIZED_S;
        let mut reasons = self.failing(core);
        if force && !booting {
            reasons.clear();
        }
        // The mode is checked only if nothing else fails, and not by force; for AUTO the fault is an empty mission.
        if reasons.is_empty() && !force && !self.mode_armable(core) {
            reasons.push(format!("{} mode not armable", modes::name(self.mode).unwrap_or("?")));
        }
        if reasons.is_empty() {
            core.ack(from, cmd::ARM_DISARM, result::ACCEPTED);
            return self.start_motors(core);
        }
        if !booting {
            core.ack(from, cmd::ARM_DISARM, result::FAILED);
        }
        for reason in reasons {
            self.text(core, MavSeverity::MAV_SEVERITY_CRITICAL, &format!("Arm: {reason}"));
        }
        if booting {
            core.ack(from, cmd::ARM_DISARM, result::FAILED);
        }
    }

    fn mode_armable(&self, core: &Core) -> bool {
        const ARM_IN_AUTO: u32 = 1;
        match self.mode {
            modes::AUTO => core.params.get("AUTO_OPTIONS") as u32 & ARM_IN_AUTO != 0,
            mode => modes::armable(mode),
        }
    }

    fn start_motors(&mut self, core: &mut Core) {
        self.armed_s = Some(core.uptime_s);
        self.idle_since_s = core.uptime_s;
        let here = Wgs84 {
            amsl_m: core.config.home.amsl_m + 0.08,
            ..core.place()
        };
        if self.home != Some(here) {
            self.set_home(core, here);
        }
        self.text(core, MavSeverity::MAV_SEVERITY_INFO, "Arming motors");
    }

    pub(super) fn disarm(&mut self, core: &mut Core) {
        self.armed_s = None;
        self.auto_armed = false;
        self.flight = if core.airframe.on_ground() {
            Flight::Landed
        } else {
            Flight::Falling
        };
        // A pause outlasts it, so that the next takeoff does not lift off either.
        self.held = self.held.map(|_| self.flight);
        self.text(core, MavSeverity::MAV_SEVERITY_INFO, "Disarming motors");
    }

    pub(super) fn set_home(&mut self, core: &mut Core, home: Wgs84) {
        self.home = Some(home);
        self.home_set_us = core.boot_us();
        for message in [id::GPS_GLOBAL_ORIGIN, id::HOME_POSITION] {
            self.send(core, message);
        }
    }

    pub(super) fn run_checks(&mut self, core: &mut Core, from: Address) {
        if self.armed_s.is_some() {
            return core.ack(from, cmd::RUN_PREARM_CHECKS, result::TEMPORARILY_REJECTED);
        }
        core.ack(from, cmd::RUN_PREARM_CHECKS, result::ACCEPTED);
        let reasons = self.check(core);
        self.send_prearm(core, &reasons);
    }

    /// SYS_STATUS reports the last run until then, even of another mode.
    fn check(&mut self, core: &Core) -> Vec<String> {
        let reasons = self.failing(core);
        let ok = reasons.is_empty();
        self.prearm_got_worse |= self.prearm_ok && !ok;
        self.prearm_ok = ok;
        reasons
    }

    pub(super) fn check_step(&mut self, core: &mut Core) {
        let due = INITIALIZED_S.floor() + CHECK_PHASE_S + f64::from(self.checks_run);
        if core.uptime_s < due {
            return;
        }
        self.checks_run += 1;
        let due_for_text = self.checks_run >= self.next_prearm_text;
        if due_for_text {
            self.next_prearm_text = self.checks_run + CHECKS_PER_TEXT;
        }
        if self.armed_s.is_some() {
            return;
        }
        // A failure is reported with the next check, if it still fails.
        let got_worse = std::mem::take(&mut self.prearm_got_worse);
        let mut reasons = self.check(core);
        if !reasons.is_empty() && (got_worse || due_for_text) {
            self.next_prearm_text = self.checks_run + CHECKS_PER_TEXT;
            // A lost ground station is reported only on request: no recording has an unrequested report.
            reasons.retain(|reason| *reason != GCS_LOST);
            self.send_prearm(core, &reasons);
        }
    }

    fn send_prearm(&mut self, core: &mut Core, reasons: &[String]) {
        for reason in reasons {
            self.text(core, MavSeverity::MAV_SEVERITY_CRITICAL, &format!("PreArm: {reason}"));
        }
    }

    /// Reasons without the prefix "Arm: " or "PreArm: ".
    fn failing(&self, core: &Core) -> Vec<String> {
        let mut reasons = checks::failing(&checks::CheckInputs {
            uptime_s: core.uptime_s,
            mode: self.mode,
            never_ready: core.config.never_ready,
            position: self.position.is_known(core),
            has_mission: self.plans.items(PlanKind::Mission).len() > 1,
            fence_needs_position: self.fence.needs_position(),
            battery: self.battery_trouble(core),
        });
        if self.gcs.lost() {
            reasons.push(GCS_LOST);
        }
        let mut reasons: Vec<String> = reasons.into_iter().map(String::from).collect();
        let broken = self.fence.broken_here(core, self.home);
        reasons.extend(broken.map(|names| format!("Vehicle breaching {names} fence")));
        if core.uptime_s >= INITIALIZED_S {
            reasons.extend(self.remote_id.failing(core));
        }
        reasons
    }
}
