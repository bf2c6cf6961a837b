//! The PX4 profile (1.17 multicopter), from recordings of the real one.
//!
//! Owns: its state, its clockwork and the verbs that change it (arm, disarm, enter a mode, say).
//! Must not: share decisions with the ArduPilot profile.

mod battery_watch;
mod commands;
mod events;
mod flight;
mod gcs_watch;
mod health;
mod modes;
mod own_commands;
mod params;
mod reports;
mod texts;

use mavlink::dialects::ardupilotmega::MavSeverity;

pub(super) use params::params;

use self::battery_watch::Charge;
use self::events::Events;
use self::flight::{Flight, Outcome};
use self::gcs_watch::{Change, GcsWatch};
use self::health::Health;
use self::modes::Mode;
use self::own_commands::OwnCommands;
use self::texts::Texts;
use super::core::Core;
use super::geo::{Neu, Wgs84};
use super::telemetry::id;
use super::vehicle::Pilot;
use crate::wire::Incoming;

/// Health is first reported at this time.
const FIRST_REPORT_S: f64 = 1.6;
/// After a kill in the air, landed_state becomes ON_GROUND this soon, still falling.
const KILLED_LOOKS_LANDED_S: f64 = 0.4;

/// A take-off that was asked for. Both `None`: here, to the default height.
#[derive(Clone, Copy, Debug, Default)]
struct Takeoff {
    at: Option<Neu>,
    amsl_m: Option<f64>,
}

/// A failsafe that holds before it acts.
#[derive(Clone, Copy, Debug)]
struct Failsafe {
    acts_s: f64,
    mode: Mode,
    /// The cause, as a number in event arguments.
    cause: u8,
}

/// See the module text.
pub(super) struct Px4 {
    mode: Mode,
    intended: Mode,
    armed_s: Option<f64>,
    flight: Flight,
    takeoff: Takeoff,
    landed_s: Option<f64>,
    killed_s: Option<f64>,
    flew: bool,
    home: Option<Wgs84>,
    home_set_us: u64,
    gcs: GcsWatch,
    reported: Option<Health>,
    events: Events,
    texts: Texts,
    own_commands: OwnCommands,
    charge: Charge,
    failsafe: Option<Failsafe>,
    failsafe_active: bool,
    refusal_said_s: f64,
    due: Vec<u32>,
}

impl Px4 {
    pub(super) fn new(core: &mut Core) -> Self {
        reports::start_streams(&mut core.streams);
        if core.config.never_ready {
            core.params.set("SYS_HAS_MAG", 2.0);
        }
        Self {
            mode: Mode::Hold,
            intended: Mode::Hold,
            armed_s: None,
            flight: Flight::Landed,
            takeoff: Takeoff::default(),
            landed_s: None,
            killed_s: None,
            flew: false,
            home: None,
            home_set_us: 0,
            gcs: GcsWatch::default(),
            reported: None,
            events: Events::new(),
            texts: Texts::new(),
            own_commands: OwnCommands::default(),
            charge: Charge::Ok,
            failsafe: None,
            failsafe_active: false,
            refusal_said_s: f64::NEG_INFINITY,
            due: Vec::new(),
        }
    }

    fn health(&self, core: &Core) -> Health {
        Health {
            position: core.uptime_s >= health::POSITION_S,
            compass_missing: core.params.get("SYS_HAS_MAG") > 1.0,
            battery_critical: matches!(self.charge, Charge::Critical | Charge::Emergency),
            ground_station: self.gcs.connected(),
            ground_station_needed: core.params.get("NAV_DLL_ACT") > 0.0,
            mode: self.mode,
        }
    }

    fn landed_number(&self, core: &Core) -> u8 {
        match self.killed_s {
            Some(at) if core.uptime_s - at >= KILLED_LOOKS_LANDED_S => 1,
            _ => self.flight.landed_state(),
        }
    }

    fn event(&mut self, core: &mut Core, kind: events::Kind, arguments: &[u8]) {
        let message = self.events.raise(kind, arguments, core.boot_ms());
        core.send(message);
    }

    fn critical(&mut self, core: &Core, text: &str) {
        self.texts
            .say(MavSeverity::MAV_SEVERITY_CRITICAL, text.to_owned(), core.uptime_s);
    }

    fn info(&mut self, core: &Core, text: &str) {
        self.texts
            .say(MavSeverity::MAV_SEVERITY_INFO, text.to_owned(), core.uptime_s);
    }

    fn arm(&mut self, core: &mut Core) {
        self.armed_s = Some(core.uptime_s);
        self.landed_s = None;
        self.killed_s = None;
        self.flew = false;
        self.home = Some(core.place());
        self.home_set_us = core.boot_us();
        self.event(core, events::ARMED_BY, &[events::BY_COMMAND]);
        self.info(core, "Armed by external command\t");
        if self.mode == Mode::Takeoff {
            self.begin_takeoff(core);
        }
    }

    fn disarm(&mut self, core: &mut Core, by: u8) {
        let in_air = !core.airframe.on_ground();
        self.armed_s = None;
        self.landed_s = None;
        self.failsafe = None;
        self.failsafe_active = false;
        self.flight = if in_air { Flight::Falling } else { Flight::Landed };
        self.killed_s = in_air.then_some(core.uptime_s);
        self.event(core, events::DISARMED_BY, &[by]);
        let reason = match by {
            events::BY_LANDING => "landing",
            events::BY_PREFLIGHT_TIMEOUT => "auto preflight disarming",
            _ => "external command",
        };
        self.info(core, &format!("Disarmed by {reason}\t"));
        if self.flew && !in_air {
            self.change_mode(core, Mode::Hold);
        }
    }

    fn change_mode(&mut self, core: &mut Core, mode: Mode) {
        self.intended = mode;
        if self.mode != mode {
            self.mode = mode;
            core.streams.hurry(id::CURRENT_MODE, core.uptime_s);
        }
    }

    /// Enters a mode that may be entered.
    fn enter(&mut self, core: &mut Core, mode: Mode) {
        self.failsafe = None;
        self.failsafe_active = false;
        let flying = self.armed_s.is_some() && !self.flight.landed();
        if mode == Mode::Return && flying {
            return self.go_home(core);
        }
        let before = self.mode;
        self.change_mode(core, mode);
        if flying && (before != mode || mode == Mode::Hold) {
            self.flight = match mode {
                Mode::Land | Mode::PrecisionLand if matches!(self.flight, Flight::Landing { .. }) => self.flight,
                Mode::Land | Mode::PrecisionLand => Flight::Landing { touched_s: None },
                _ if matches!(self.flight, Flight::Landing { touched_s: Some(_) }) => self.flight,
                _ if matches!(self.flight, Flight::Holding { .. }) && before == mode => self.flight,
                _ => Flight::Holding {
                    at: core.airframe.position,
                },
            };
        } else if !flying {
            self.flight = Flight::Landed;
        }
    }

    fn hold_at(&mut self, at: Neu) {
        self.flight = Flight::Holding { at };
    }

    fn enter_takeoff(&mut self, core: &mut Core) {
        self.failsafe = None;
        self.failsafe_active = false;
        self.change_mode(core, Mode::Takeoff);
        if self.armed_s.is_some() {
            self.begin_takeoff(core);
        }
    }

    fn begin_takeoff(&mut self, core: &mut Core) {
        let Some(armed_s) = self.armed_s else { return };
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
        let to = Neu {
            up,
            ..self.takeoff.at.unwrap_or(here)
        };
        self.landed_s = None;
        let on_ground = self.flight.landed();
        if up <= here.up {
            self.event(core, events::ALREADY_HIGHER, &[]);
            self.critical(core, "Already higher than takeoff altitude\t");
            if !on_ground {
                self.flight = Flight::Rising { to: here };
            }
        } else if on_ground {
            self.flight = match (
                self.flight,
                Flight::take_off(&core.airframe, &core.params, to, armed_s, core.uptime_s),
            ) {
                (Flight::Spooling { detected_s, .. }, Some(Flight::Spooling { to, .. })) => {
                    Flight::Spooling { detected_s, to }
                }
                (_, Some(flight)) => flight,
                (_, None) => Flight::Landed,
            };
        } else {
            self.flight = Flight::Rising { to };
        }
    }

    fn land(&mut self, core: &mut Core) {
        let flying = self.armed_s.is_some() && !self.flight.landed();
        self.event(core, events::LANDING_HERE, &[]);
        self.info(core, "Landing at current position\t");
        let was_landing = self.mode == Mode::Land;
        self.enter(core, Mode::Land);
        if flying && !was_landing {
            self.own_commands.neutral_gimbal(core);
        }
    }

    fn go_home(&mut self, core: &mut Core) {
        let flying = self.armed_s.is_some() && !self.flight.landed();
        self.failsafe = None;
        self.failsafe_active = false;
        self.event(core, events::RETURNING, &[]);
        self.info(core, "Returning to launch\t");
        self.change_mode(core, Mode::Return);
        if flying {
            self.own_commands.neutral_gimbal(core);
            self.return_from_here(core);
        }
    }

    fn return_from_here(&mut self, core: &mut Core) {
        let home = self.home_local(core);
        let up_m = Flight::return_height(&core.airframe, &core.params, home);
        let (amsl, above) = (
            (up_m + core.config.home.amsl_m).round() as i32,
            (up_m - home.up).round() as i32,
        );
        let mut arguments = amsl.to_le_bytes().to_vec();
        arguments.extend(above.to_le_bytes());
        self.event(core, events::RETURN_HEIGHT, &arguments);
        self.info(
            core,
            &format!("RTL: start return at {amsl} m ({above} m above destination)\t"),
        );
        self.flight = Flight::ReturnClimb { up_m };
    }

    fn home_local(&self, core: &Core) -> Neu {
        self.home.map_or(Neu::default(), |home| core.config.home.to_local(home))
    }

    fn report_health(&mut self, core: &mut Core) {
        let health = self.health(core);
        self.reported = Some(health);
        for (kind, arguments) in health.report() {
            self.event(core, kind, &arguments);
        }
        for text in health.texts() {
            self.critical(core, text);
        }
    }

    fn health_step(&mut self, core: &mut Core) {
        if core.uptime_s < FIRST_REPORT_S {
            return;
        }
        let health = self.health(core);
        if !self.reported.is_some_and(|reported| reported.reports_as(health)) {
            self.report_health(core);
        }
        if self.home.is_none() && core.uptime_s >= reports::HOME_S {
            self.home = Some(core.place());
            self.home_set_us = core.boot_us();
            core.send(super::telemetry::global_origin(core.config.home, core.boot_us()));
        }
    }

    fn battery_step(&mut self, core: &mut Core) {
        let charge = battery_watch::charge(core);
        if charge == self.charge {
            return;
        }
        let worse = charge > self.charge;
        self.charge = charge;
        if !worse {
            return;
        }
        let action = core.params.get("COM_LOW_BAT_ACT") as u32;
        let flying = self.armed_s.is_some() && !self.flight.landed();
        match charge {
            Charge::Ok => {}
            Charge::Low => {
                self.event(core, events::LOW_BATTERY, &[]);
                self.critical(core, "Low battery\t");
            }
            Charge::Critical => {
                self.critical(core, "Critical battery\t");
                if flying && matches!(action, 2 | 3) {
                    let mode = if action == 3 { Mode::Return } else { Mode::Land };
                    self.hold_before(core, mode, events::CAUSE_CRITICAL_BATTERY);
                }
            }
            Charge::Emergency => {
                self.texts.say(
                    MavSeverity::MAV_SEVERITY_EMERGENCY,
                    "Emergency battery level\t".into(),
                    core.uptime_s,
                );
                if flying && matches!(action, 2 | 3) {
                    let acts_s = self.failsafe.map_or(core.uptime_s, |failsafe| failsafe.acts_s);
                    self.failsafe = Some(Failsafe {
                        acts_s,
                        mode: Mode::Land,
                        cause: events::CAUSE_EMERGENCY_BATTERY,
                    });
                    self.failsafe_active = true;
                }
            }
        }
    }

    /// Changes the mode without changing the one the user wants.
    fn change_actual(&mut self, core: &mut Core, mode: Mode) {
        let intended = self.intended;
        self.change_mode(core, mode);
        self.intended = intended;
    }

    /// The first part of a failsafe: hold for a while, so that somebody may choose otherwise.
    fn hold_before(&mut self, core: &mut Core, mode: Mode, cause: u8) {
        let wait_s = core.params.get("COM_FAIL_ACT_T");
        let mut arguments = self.intended.custom_mode().to_le_bytes().to_vec();
        arguments.extend([failsafe_action(mode), wait_s as u8, 0, cause]);
        self.event(core, events::FAILSAFE_HOLD, &arguments);
        self.critical(core, "Failsafe activated: entering Hold for 5 seconds\t");
        self.change_actual(core, Mode::Hold);
        self.flight = Flight::Holding {
            at: core.airframe.position,
        };
        self.failsafe = Some(Failsafe {
            acts_s: core.uptime_s + f64::from(wait_s),
            mode,
            cause,
        });
        self.failsafe_active = true;
    }

    fn gcs_step(&mut self, core: &mut Core) {
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

    fn act_on_lost_gcs(&mut self, core: &mut Core) {
        let mode = match core.params.get("NAV_DLL_ACT") as u32 {
            1 => Mode::Hold,
            2 => Mode::Return,
            3 => Mode::Land,
            _ => return,
        };
        let flying = self.armed_s.is_some() && !self.flight.landed();
        let comes_down = matches!(self.mode, Mode::Land | Mode::PrecisionLand | Mode::Return);
        if flying && !comes_down && self.failsafe.is_none() {
            self.hold_before(core, mode, events::CAUSE_GCS_LOSS);
        }
    }

    fn failsafe_step(&mut self, core: &mut Core) {
        let Some(failsafe) = self.failsafe.filter(|failsafe| core.uptime_s >= failsafe.acts_s) else {
            return;
        };
        self.failsafe = None;
        if failsafe.mode == Mode::Hold {
            return;
        }
        let mut arguments = self.intended.custom_mode().to_le_bytes().to_vec();
        arguments.extend([failsafe_action(failsafe.mode), failsafe.cause]);
        self.event(core, events::FAILSAFE, &arguments);
        self.critical(core, "Failsafe activated\t");
        self.own_commands.neutral_gimbal(core);
        self.change_actual(core, failsafe.mode);
        match failsafe.mode {
            Mode::Return => self.return_from_here(core),
            _ => self.flight = Flight::Landing { touched_s: None },
        }
    }

    fn flight_step(&mut self, core: &mut Core, dt_s: f64) {
        let home = self.home_local(core);
        match self
            .flight
            .step(&mut core.airframe, &core.params, home, core.uptime_s, dt_s)
        {
            Outcome::Nothing => {}
            Outcome::TakeoffDetected => {
                self.flew = true;
                self.event(core, events::TAKEOFF_DETECTED, &[]);
                self.info(core, "Takeoff detected\t");
            }
            Outcome::HeightReached => self.change_mode(core, Mode::Hold),
            Outcome::ReturnLands => {
                self.event(core, events::RETURN_LANDING, &[]);
                self.info(core, "RTL: land at destination\t");
            }
            Outcome::LandingDetected => {
                self.landed_s = Some(core.uptime_s);
                if self.mode == Mode::Return {
                    self.own_commands.return_ends(core);
                }
                self.event(core, events::LANDING_DETECTED, &[]);
                self.info(core, "Landing detected\t");
            }
        }
        let Some(armed_s) = self.armed_s else { return };
        core.battery.drain(dt_s);
        let param = |name: &str| f64::from(core.params.get(name));
        let idle_limit_s = param("COM_DISARM_PRFLT") + param("COM_SPOOLUP_TIME");
        if self
            .landed_s
            .is_some_and(|at| core.uptime_s - at >= param("COM_DISARM_LAND"))
        {
            self.disarm(core, events::BY_LANDING);
        } else if self.flight == Flight::Landed && !self.flew && core.uptime_s - armed_s >= idle_limit_s {
            self.disarm(core, events::BY_PREFLIGHT_TIMEOUT);
        }
    }

    fn stream_step(&mut self, core: &mut Core) {
        let mut due = std::mem::take(&mut self.due);
        core.streams.take_due(core.uptime_s, &mut due);
        for message in due.drain(..) {
            if let Some(message) = self.compose(core, message) {
                core.send(message);
            }
        }
        self.due = due;
        for message in self.texts.step(self.gcs.present(core), core.uptime_s) {
            core.send(message);
        }
        self.own_commands.step(core);
    }
}

/// The action's number in event arguments.
fn failsafe_action(mode: Mode) -> u8 {
    match mode {
        Mode::Return => 6,
        Mode::Land => 7,
        _ => 5,
    }
}

impl Pilot for Px4 {
    fn tick(&mut self, core: &mut Core, dt_s: f64) {
        self.gcs_step(core);
        self.health_step(core);
        self.battery_step(core);
        self.failsafe_step(core);
        self.flight_step(core, dt_s);
        self.stream_step(core);
    }

    fn receive(&mut self, core: &mut Core, incoming: &Incoming) {
        self.request(core, incoming.from, &incoming.request);
    }

    fn armed(&self) -> bool {
        self.armed_s.is_some()
    }

    fn custom_mode(&self) -> u32 {
        self.mode.custom_mode()
    }

    fn landed_state(&self, core: &Core) -> u8 {
        self.landed_number(core)
    }
}
