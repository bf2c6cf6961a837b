//! The ArduCopter profile (4.7-dev), from recordings of the real one.
//!
//! Owns: its state, its clockwork and the verbs that change it (arm, disarm, set mode, say).
//! Must not: share decisions with the PX4 profile.

mod battery_watch;
mod boot;
mod checks;
mod commands;
mod flight;
mod gcs_watch;
mod modes;
mod params;
mod reports;

use mavlink::dialects::ardupilotmega as apm;
use mavlink::dialects::ardupilotmega::{MavMessage, MavSeverity};

pub(super) use params::params;

use self::battery_watch::{BatteryWatch, Charge};
use self::checks::BatteryTrouble;
use self::flight::{Flight, Outcome};
use self::gcs_watch::{Change, GcsWatch};
use super::core::{Core, result};
use super::geo::{Neu, Wgs84};
use super::telemetry::{self, id};
use super::vehicle::Pilot;
use crate::wire::Incoming;

/// The preflight checks run once a second at this fraction of the second.
const CHECK_PHASE_S: f64 = 0.45;
/// After lift-off the compasses are aligned anew, this much later.
const YAW_ALIGNED_S: f64 = 2.16;
/// Reasons are repeated with every this many checks.
const CHECKS_PER_TEXT: u32 = 30;

/// See the module text.
pub(super) struct ArduPilot {
    mode: u32,
    announced_mode: u32,
    armed_s: Option<f64>,
    flight: Flight,
    /// Since when the vehicle is landed, for the disarm delay.
    idle_since_s: f64,
    home: Option<Wgs84>,
    origin: Option<Wgs84>,
    home_set_us: u64,
    prearm_ok: bool,
    checks_run: u32,
    texts_said: usize,
    initialised: bool,
    failsafe: bool,
    watch: BatteryWatch,
    gcs: GcsWatch,
    yaw_text_s: Option<f64>,
    text_id: u16,
    due: Vec<u32>,
}

impl ArduPilot {
    pub(super) fn new(core: &mut Core) -> Self {
        core.streams.every(id::HEARTBEAT, 1.0, boot::FIRST_HEARTBEAT_S);
        core.streams.every(id::TIMESYNC, 10.0, 10.0);
        Self {
            mode: modes::STABILIZE,
            announced_mode: modes::STABILIZE,
            armed_s: None,
            flight: Flight::Landed,
            idle_since_s: 0.0,
            home: None,
            origin: None,
            home_set_us: 0,
            prearm_ok: false,
            checks_run: 0,
            texts_said: 0,
            initialised: false,
            failsafe: false,
            watch: BatteryWatch::new(),
            gcs: GcsWatch::default(),
            yaw_text_s: None,
            text_id: 0,
            due: Vec::new(),
        }
    }

    fn landed(&self, core: &Core) -> bool {
        self.flight.landed(core.uptime_s)
    }

    /// Texts go out only once something was heard on the link; earlier ones are lost.
    fn text(&mut self, core: &mut Core, severity: MavSeverity, text: &str) {
        if !core.heard_peer {
            return;
        }
        let chunks: Vec<&[u8]> = text.as_bytes().chunks(50).collect();
        let id = if chunks.len() > 1 {
            self.text_id += 1;
            self.text_id
        } else {
            0
        };
        for (number, chunk) in chunks.iter().enumerate() {
            core.send(telemetry::status_text(severity, chunk, id, number as u8));
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

    fn disarm(&mut self, core: &mut Core) {
        self.armed_s = None;
        self.flight = if core.airframe.on_ground() {
            Flight::Landed
        } else {
            Flight::Falling
        };
        self.text(core, MavSeverity::MAV_SEVERITY_INFO, "Disarming motors");
    }

    fn set_home(&mut self, core: &mut Core, home: Wgs84) {
        self.home = Some(home);
        self.home_set_us = core.boot_us();
        for message in [id::GPS_GLOBAL_ORIGIN, id::HOME_POSITION] {
            if let Some(message) = self.compose(core, message) {
                core.send(message);
            }
        }
    }

    /// Changes the mode if it can; MAV_RESULT.
    fn set_mode(&mut self, core: &Core, mode: u32) -> u8 {
        if mode == self.mode {
            return result::ACCEPTED;
        }
        let flying = self.armed_s.is_some() && !self.landed(core);
        if mode == modes::AUTO && self.armed_s.is_some() {
            return result::FAILED;
        }
        self.mode = mode;
        if flying {
            self.flight = match mode {
                modes::LAND => Flight::Landing { touched_s: None },
                modes::RTL => Flight::go_home(&core.airframe, &core.params),
                mode if modes::follows_sticks(mode) => Flight::Sinking { touched_s: None },
                _ => Flight::Guided {
                    target: core.airframe.position,
                },
            };
        } else if matches!(self.flight, Flight::Spooling { .. }) {
            self.flight = Flight::Landed;
        }
        result::ACCEPTED
    }

    fn battery_trouble(&self, core: &Core) -> BatteryTrouble {
        let failed = self.watch.charge != Charge::Ok;
        let low = f64::from(core.params.get("BATT_LOW_VOLT"));
        BatteryTrouble {
            failed,
            low_now: failed && battery_watch::volts(core) < low,
        }
    }

    fn say_prearm_reasons(&mut self, core: &mut Core) {
        for reason in self.failing(core) {
            self.text(core, MavSeverity::MAV_SEVERITY_CRITICAL, &format!("PreArm: {reason}"));
        }
    }

    fn boot_step(&mut self, core: &mut Core) {
        while let Some(&(at, severity, text)) = boot::TEXTS.get(self.texts_said).filter(|row| core.uptime_s >= row.0) {
            self.texts_said += 1;
            if text == "ArduPilot Ready" {
                self.finish_boot(core);
            }
            if at >= boot::ORIGIN_S && self.origin.is_none() {
                let origin = Wgs84 {
                    amsl_m: core.config.home.amsl_m + 0.1,
                    ..core.place()
                };
                self.origin = Some(origin);
                self.set_home(core, origin);
            }
            self.text(core, severity, text);
        }
    }

    /// The boot ends: a mode that was set meanwhile is forgotten.
    fn finish_boot(&mut self, core: &mut Core) {
        self.initialised = true;
        if self.mode != modes::STABILIZE {
            self.mode = modes::STABILIZE;
            self.announced_mode = modes::STABILIZE;
            if let Some(heartbeat) = self.compose(core, id::HEARTBEAT) {
                core.send(heartbeat);
            }
        }
    }

    fn check_step(&mut self, core: &mut Core) {
        let due = boot::INITIALISED_S.floor() + CHECK_PHASE_S + f64::from(self.checks_run);
        if core.uptime_s < due {
            return;
        }
        self.checks_run += 1;
        if self.armed_s.is_some() {
            return;
        }
        let ok = self.failing(core).is_empty();
        let got_worse = self.prearm_ok && !ok;
        self.prearm_ok = ok;
        let due_for_text = (self.checks_run + boot::INITIALISED_S as u32) % CHECKS_PER_TEXT == 1;
        if !ok && (got_worse || due_for_text) {
            self.say_prearm_reasons(core);
        }
    }

    fn battery_step(&mut self, core: &mut Core) {
        let Some(charge) = self.watch.step(core) else { return };
        let (word, action) = match charge {
            Charge::Critical => ("critical", core.params.get("BATT_FS_CRT_ACT")),
            _ => ("low", core.params.get("BATT_FS_LOW_ACT")),
        };
        let text = format!(
            "Battery 1 is {word} {:.2}V used {} mAh",
            battery_watch::volts(core),
            core.battery.consumed_mah()
        );
        self.text(core, MavSeverity::MAV_SEVERITY_WARNING, &text);
        let mode = match action as u32 {
            1 => modes::LAND,
            2 => modes::RTL,
            _ => return,
        };
        self.text(core, MavSeverity::MAV_SEVERITY_WARNING, "Battery Failsafe");
        self.failsafe = true;
        if self.armed_s.is_some() && !self.landed(core) {
            self.set_mode(core, mode);
            core.streams.hurry(id::HEARTBEAT, core.uptime_s);
        }
    }

    fn gcs_step(&mut self, core: &mut Core) {
        match self.gcs.step(core) {
            None => {}
            Some(Change::Back) => self.text(core, MavSeverity::MAV_SEVERITY_WARNING, "GCS Failsafe Cleared"),
            Some(Change::Lost) => {
                self.text(core, MavSeverity::MAV_SEVERITY_WARNING, "GCS Failsafe");
                self.act_on_lost_gcs(core);
            }
        }
    }

    fn act_on_lost_gcs(&mut self, core: &mut Core) {
        const CONTINUE_LANDING: u32 = 1 << 3;
        const CONTINUE_IN_PILOT_MODES: u32 = 1 << 4;
        if self.armed_s.is_none() {
            return;
        }
        if self.landed(core) {
            return self.disarm(core);
        }
        let options = core.params.get("FS_OPTIONS") as u32;
        let goes_on = (options & CONTINUE_LANDING != 0 && self.mode == modes::LAND)
            || (options & CONTINUE_IN_PILOT_MODES != 0 && modes::follows_sticks(self.mode));
        if goes_on {
            return;
        }
        let mode = match core.params.get("FS_GCS_ENABLE") as u32 {
            5 | 7 => modes::LAND,
            _ => modes::RTL,
        };
        self.set_mode(core, mode);
        self.announced_mode = mode;
        core.streams.hurry(id::HEARTBEAT, core.uptime_s);
    }

    fn flight_step(&mut self, core: &mut Core, dt_s: f64) {
        let home = self.home.map_or(Neu::default(), |home| core.config.home.to_local(home));
        let was_spooling = matches!(self.flight, Flight::Spooling { .. });
        let outcome = self
            .flight
            .step(&mut core.airframe, &core.params, home, core.uptime_s, dt_s);
        if was_spooling && matches!(self.flight, Flight::Climbing { .. }) {
            self.yaw_text_s = Some(core.uptime_s + YAW_ALIGNED_S);
        }
        if self.yaw_text_s.is_some_and(|at| core.uptime_s >= at) {
            self.yaw_text_s = None;
            for imu in [0, 1] {
                let text = format!("EKF3 IMU{imu} MAG0 in-flight yaw alignment complete");
                self.text(core, MavSeverity::MAV_SEVERITY_INFO, &text);
            }
        }
        match outcome {
            Outcome::Nothing => {}
            Outcome::HitGround(mm_s) => {
                let text = format!("SIM Hit ground at {:.6} m/s", f64::from(mm_s) / 1000.0);
                self.text(core, MavSeverity::MAV_SEVERITY_INFO, &text);
            }
            Outcome::LandedForGood => self.disarm(core),
        }
        if self.armed_s.is_none() {
            return;
        }
        core.battery.drain(dt_s);
        if !matches!(self.flight, Flight::Landed) {
            self.idle_since_s = core.uptime_s;
        } else if matches!(self.mode, modes::LAND | modes::RTL)
            || core.uptime_s - self.idle_since_s >= f64::from(core.params.get("DISARM_DELAY"))
        {
            self.disarm(core);
        }
    }

    fn stream_step(&mut self, core: &mut Core) {
        let mut due = std::mem::take(&mut self.due);
        core.streams.take_due(core.uptime_s, &mut due);
        for message in due.drain(..) {
            let composed = match message {
                id::TIMESYNC => Some(MavMessage::TIMESYNC(apm::TIMESYNC_DATA {
                    ts1: core.boot_us() as i64 * 1000,
                    ..apm::TIMESYNC_DATA::DEFAULT
                })),
                other => self.compose(core, other),
            };
            if let Some(message) = composed {
                core.send(message);
            }
        }
        self.due = due;
    }
}

impl Pilot for ArduPilot {
    fn tick(&mut self, core: &mut Core, dt_s: f64) {
        self.boot_step(core);
        self.check_step(core);
        self.battery_step(core);
        self.gcs_step(core);
        self.flight_step(core, dt_s);
        self.stream_step(core);
    }

    fn receive(&mut self, core: &mut Core, incoming: &Incoming) {
        core.heard_peer = true;
        self.request(core, incoming.from, &incoming.request);
    }

    fn armed(&self) -> bool {
        self.armed_s.is_some()
    }

    fn custom_mode(&self) -> u32 {
        self.mode
    }

    fn landed_state(&self, core: &Core) -> u8 {
        self.flight.landed_state(self.landed(core))
    }
}
