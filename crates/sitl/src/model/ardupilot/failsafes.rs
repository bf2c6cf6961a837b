//! ArduCopter's failsafes: battery, ground station, position, fence.

use mavlink::dialects::ardupilotmega::MavSeverity;

use super::battery_watch::{self, Charge};
use super::checks::BatteryTrouble;
use super::fence_watch;
use super::flight::{FAILSAFE_PAUSE_S, Flight};
use super::{ArduPilot, gcs_watch, modes, position_watch};
use crate::model::core::Core;
use crate::model::geo::Neu;

/// Bits of FS_OPTIONS.
const GCS_LOST_IN_AUTO_GOES_ON: u32 = 1 << 1;
const LANDING_GOES_ON: u32 = 1 << 3;
const PILOT_MODE_GOES_ON: u32 = 1 << 4;
/// A deeper breach ends in a landing.
const FENCE_GIVES_UP_M: f64 = 100.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    GoOn,
    Land,
    Return,
    Brake,
}

impl Action {
    /// FS_GCS_ENABLE.
    fn of_gcs(number: f32) -> Self {
        match number as u32 {
            0 => Self::GoOn,
            5 => Self::Land,
            7 => Self::Brake,
            // The flown path is not stored: a smart return is a return.
            _ => Self::Return,
        }
    }

    /// BATT_FS_LOW_ACT and BATT_FS_CRT_ACT.
    fn of_battery(number: f32) -> Self {
        match number as u32 {
            1 => Self::Land,
            2 | 3 | 4 | 6 => Self::Return,
            7 => Self::Brake,
            _ => Self::GoOn,
        }
    }

    /// FENCE_ACTION.
    fn of_fence(number: f32) -> Self {
        match number as u32 {
            0 => Self::GoOn,
            2 => Self::Land,
            4 => Self::Brake,
            _ => Self::Return,
        }
    }
}

impl ArduPilot {
    pub(super) fn failsafe_step(&mut self, core: &mut Core) {
        self.battery_step(core);
        self.gcs_step(core);
        self.position_step(core);
        self.fence_step(core);
    }

    /// HEARTBEAT is CRITICAL.
    pub(super) fn any_failsafe(&self) -> bool {
        self.watch.charge != Charge::Ok || self.gcs.lost() || self.position.failed()
    }

    pub(super) fn battery_trouble(&self, core: &Core) -> BatteryTrouble {
        let failed = self.watch.charge != Charge::Ok;
        let low = f64::from(core.params.get("BATT_LOW_VOLT"));
        BatteryTrouble {
            failed,
            low_now: failed && battery_watch::volts(core) < low,
        }
    }

    fn battery_step(&mut self, core: &mut Core) {
        let Some(charge) = self.watch.step(core) else { return };
        let (level, action) = match charge {
            Charge::Critical => ("critical", core.params.get("BATT_FS_CRT_ACT")),
            _ => ("low", core.params.get("BATT_FS_LOW_ACT")),
        };
        let text = format!(
            "Battery 1 is {level} {:.2}V used {} mAh",
            battery_watch::volts(core),
            core.battery.consumed_mah()
        );
        self.text(core, MavSeverity::MAV_SEVERITY_WARNING, &text);
        let action = Action::of_battery(action);
        if self.disarms_in_failsafe(core) {
            self.announce_failsafe(core, "Battery", Some("Disarming"));
        } else if action != Action::GoOn && self.continue_landing(core) {
            self.announce_failsafe(core, "Battery", Some("Continuing Landing"));
        } else {
            self.announce_failsafe(core, "Battery", None);
            self.act(core, action);
        }
    }

    fn gcs_step(&mut self, core: &mut Core) {
        match self.gcs.step(core) {
            None => {}
            Some(gcs_watch::Change::Back) => {
                self.text(core, MavSeverity::MAV_SEVERITY_WARNING, "GCS Failsafe Cleared");
            }
            Some(gcs_watch::Change::Lost) => self.act_on_lost_gcs(core),
        }
    }

    fn act_on_lost_gcs(&mut self, core: &mut Core) {
        let options = core.params.get("FS_OPTIONS") as u32;
        if self.armed_s.is_none() {
            self.announce_failsafe(core, "GCS", None);
        } else if self.disarms_in_failsafe(core) {
            self.announce_failsafe(core, "GCS", Some("Disarming"));
        } else if self.continue_landing(core) {
            self.announce_failsafe(core, "GCS", Some("Continuing Landing"));
        } else if self.mode == modes::AUTO && options & GCS_LOST_IN_AUTO_GOES_ON != 0 {
            self.announce_failsafe(core, "GCS", Some("Continuing Auto Mode"));
        } else if modes::follows_sticks(self.mode) && options & PILOT_MODE_GOES_ON != 0 {
            self.announce_failsafe(core, "GCS", Some("Continuing Pilot Control"));
        } else {
            self.announce_failsafe(core, "GCS", None);
            self.act(core, Action::of_gcs(core.params.get("FS_GCS_ENABLE")));
        }
    }

    fn position_step(&mut self, core: &mut Core) {
        match self.position.step(core, self.armed_s.is_some()) {
            None => {}
            Some(position_watch::Change::Back) => {
                self.text(core, MavSeverity::MAV_SEVERITY_CRITICAL, "EKF Failsafe Cleared");
            }
            Some(position_watch::Change::Lost) => {
                self.text(core, MavSeverity::MAV_SEVERITY_CRITICAL, "EKF variance");
                if self.armed_s.is_some() && modes::needs_position(self.mode) && !self.landed(core) {
                    self.act(core, Action::Land);
                }
            }
        }
    }

    fn fence_step(&mut self, core: &mut Core) {
        if self.armed_s.is_none() {
            return;
        }
        match self.fence.step(core, self.home) {
            None => {}
            Some(fence_watch::Change::Clear) => {
                self.text(core, MavSeverity::MAV_SEVERITY_NOTICE, "Fence breach cleared");
            }
            Some(fence_watch::Change::Breached(names)) => {
                self.text(
                    core,
                    MavSeverity::MAV_SEVERITY_NOTICE,
                    &format!("{names} fence breached"),
                );
                let action = Action::of_fence(core.params.get("FENCE_ACTION"));
                let home = self.home.map_or(Neu::default(), |home| core.config.home.to_local(home));
                let far = core.airframe.position.ground_distance(home) - f64::from(core.params.get("FENCE_RADIUS"))
                    > FENCE_GIVES_UP_M;
                match action {
                    Action::GoOn => {}
                    _ if self.landed(core) => self.disarm(core),
                    _ if far => self.act(core, Action::Land),
                    action => self.act(core, action),
                }
            }
        }
    }

    /// Stops motors on the ground; in AUTO only if the mission has not begun.
    fn disarms_in_failsafe(&mut self, core: &mut Core) -> bool {
        let on_ground = self.landed(core) && !(self.mode == modes::AUTO && self.auto_armed);
        if on_ground && self.armed_s.is_some() {
            self.disarm(core);
        }
        on_ground
    }

    /// FS_OPTIONS may let a landing continue; a return becomes a landing.
    fn continue_landing(&mut self, core: &mut Core) -> bool {
        let landing = matches!(self.flight, Flight::Landing { .. });
        let goes_on = landing && core.params.get("FS_OPTIONS") as u32 & LANDING_GOES_ON != 0;
        if goes_on {
            self.mode = modes::LAND;
            core.streams.hurry(super::id::HEARTBEAT, core.uptime_s);
        }
        goes_on
    }

    fn announce_failsafe(&mut self, core: &mut Core, what: &str, taken: Option<&str>) {
        let text = match taken {
            Some(taken) => format!("{what} Failsafe - {taken}"),
            None => format!("{what} Failsafe"),
        };
        self.text(core, MavSeverity::MAV_SEVERITY_WARNING, &text);
    }

    fn act(&mut self, core: &mut Core, action: Action) {
        let wanted = match action {
            Action::GoOn => return,
            Action::Land => modes::LAND,
            Action::Return => modes::RTL,
            Action::Brake => modes::BRAKE,
        };
        if wanted == modes::LAND || self.set_mode(core, wanted).is_err() {
            self.land_with_pause(core);
        }
        self.announced_mode = self.mode;
        core.streams.hurry(super::id::HEARTBEAT, core.uptime_s);
    }

    fn land_with_pause(&mut self, core: &mut Core) {
        if self.mode != modes::LAND && self.set_mode(core, modes::LAND).is_ok() {
            self.flight = Flight::land(core.uptime_s + FAILSAFE_PAUSE_S);
        }
    }

    /// A crash in the air, whatever is tried; its messages were not recorded.
    pub(super) fn lose_motor(&mut self, core: &mut Core) {
        if self.armed_s.is_none() || self.landed(core) {
            return;
        }
        let text = "Potential Thrust Loss (1)";
        self.text(core, MavSeverity::MAV_SEVERITY_EMERGENCY, text);
        self.flight = Flight::Crashing { down_s: None };
        self.held = None;
    }
}
