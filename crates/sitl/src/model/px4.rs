//! The PX4 profile (1.17 multicopter), from recordings of the real one.
//! Owns: its state, its schedule and its messages. Must not: share decisions with the ArduPilot profile.

mod ack_queue;
mod arming;
mod battery_watch;
mod commands;
mod estimator;
mod events;
mod failsafe;
mod flight;
mod gcs_watch;
mod health;
mod home;
mod link_rates;
mod maneuvers;
mod metadata;
mod mission;
mod modes;
mod offboard;
mod other_commands;
mod own_commands;
mod params;
mod plan_rules;
mod plans;
mod reports;
mod requests;
mod sticks;
mod texts;
mod watches;

use mavlink::dialects::ardupilotmega::MavSeverity;

pub(super) use params::params;

use self::ack_queue::AckQueue;
use self::battery_watch::Charge;
use self::estimator::Estimator;
use self::events::Events;
use self::failsafe::Failsafe;
use self::flight::{Flight, Outcome};
use self::gcs_watch::{CompanionWatch, GcsWatch, RemoteIdWatch};
use self::health::Health;
use self::home::Home;
use self::maneuvers::Takeoff;
use self::mission::Mission;
use self::modes::Mode;
use self::offboard::Offboard;
use self::own_commands::OwnCommands;
use self::sticks::Sticks;
use self::texts::Texts;
use super::core::Core;
use super::ftp::FileServer;
use super::geo::{Neu, Wgs84};
use super::pilot::{Fault, Pilot};
use super::plan::{Fence, Plans};
use crate::wire::{Incoming, PlanItem};

const LINK_UP_S: f64 = 0.5;
/// Receivers see it at 1.5 s, as the process starts 0.4 s before its clock.
const FIRST_HEARTBEAT_S: f64 = 1.17;
/// Still falling after a kill in the air, it reports ON_GROUND this soon.
const KILLED_REPORTS_LANDED_S: f64 = 0.4;

pub(super) struct Px4 {
    mode: Mode,
    intended: Mode,
    /// Last chosen mode in which it can be armed.
    after_disarming: Mode,
    armed_s: Option<f64>,
    flight: Flight,
    /// Speed by DO_CHANGE_SPEED; `None`: as the parameter says.
    cruise_m_s: Option<f64>,
    takeoff: Takeoff,
    landed_s: Option<f64>,
    killed_s: Option<f64>,
    flew: bool,
    home: Home,
    estimator: Estimator,
    gps_fails: bool,
    /// Allowed at some time since boot (SYS_FAILURE_EN): then a component answers.
    injects_failures: bool,
    motor_fails: bool,
    gcs: GcsWatch,
    companion: CompanionWatch,
    remote_id: RemoteIdWatch,
    reported: Option<Health>,
    events: Events,
    texts: Texts,
    acks: AckQueue,
    own_commands: OwnCommands,
    charge: Charge,
    failsafe: Option<Failsafe>,
    had_position: bool,
    plans: Plans,
    mission: Mission,
    offboard: Offboard,
    sticks: Sticks,
    lifts: Option<(f64, Neu)>,
    fence: Fence,
    /// When the navigator reads the uploaded fence, and the id of the last one it judged.
    fence_due_s: Option<f64>,
    fence_judged: u32,
    in_fence: bool,
    files: FileServer,
    params_to_send: Vec<usize>,
    refusal_said_s: f64,
    slower: f64,
    due: Vec<u32>,
}

impl Px4 {
    pub(super) fn new(core: &mut Core) -> Self {
        link_rates::start(core, LINK_UP_S, FIRST_HEARTBEAT_S);
        if core.config.never_ready {
            core.params.set("SYS_HAS_MAG", 2.0);
        }
        let stored = |name: &str| core.config.parameters.iter().any(|(known, _)| known == name);
        if !stored("SIM_BAT_DRAIN") {
            let lasts_s = battery_watch::seconds_of_a_full_pack(core.config.battery_percent_per_minute);
            core.params.set("SIM_BAT_DRAIN", lasts_s);
        }
        Self {
            mode: Mode::Hold,
            intended: Mode::Hold,
            after_disarming: Mode::Hold,
            armed_s: None,
            flight: Flight::Landed,
            cruise_m_s: None,
            takeoff: Takeoff::default(),
            landed_s: None,
            killed_s: None,
            flew: false,
            home: Home::default(),
            estimator: Estimator::default(),
            gps_fails: false,
            injects_failures: core.params.get("SYS_FAILURE_EN") >= 1.0,
            motor_fails: false,
            gcs: GcsWatch::default(),
            companion: CompanionWatch::default(),
            remote_id: RemoteIdWatch::default(),
            reported: None,
            events: Events::new(),
            texts: Texts::new(),
            acks: AckQueue::default(),
            own_commands: OwnCommands::default(),
            charge: battery_watch::charge(core),
            failsafe: None,
            had_position: false,
            plans: Plans::new(&plan_rules::RULES),
            mission: Mission::default(),
            offboard: Offboard::default(),
            sticks: Sticks::default(),
            lifts: None,
            fence: Fence::default(),
            fence_due_s: None,
            fence_judged: 0,
            in_fence: true,
            files: metadata::server(),
            params_to_send: Vec::new(),
            refusal_said_s: f64::NEG_INFINITY,
            slower: link_rates::slower(core),
            due: Vec::new(),
        }
    }

    fn flying(&self) -> bool {
        self.armed_s.is_some() && !self.flight.landed()
    }

    fn landed_number(&self, core: &Core) -> u8 {
        match self.killed_s {
            Some(at) if core.uptime_s - at >= KILLED_REPORTS_LANDED_S => 1,
            // A descent without a position, or one that another mode ends, counts as landing only on the ground.
            _ if matches!(self.mode, Mode::Descend | Mode::Hold) && matches!(self.flight, Flight::Landing { .. }) => 2,
            _ => self.flight.landed_state(),
        }
    }

    fn event(&mut self, core: &mut Core, kind: events::Kind, arguments: &[u8]) {
        let message = self.events.raise(kind, arguments, core.boot_ms());
        core.send(message);
    }

    fn send_text(&mut self, core: &Core, severity: MavSeverity, text: &str) {
        self.texts.send_text(severity, text.to_owned(), core.uptime_s);
    }

    fn critical(&mut self, core: &Core, text: &str) {
        self.send_text(core, MavSeverity::MAV_SEVERITY_CRITICAL, text);
    }

    fn info(&mut self, core: &Core, text: &str) {
        self.send_text(core, MavSeverity::MAV_SEVERITY_INFO, text);
    }

    fn flight_step(&mut self, core: &mut Core, dt_s: f64) {
        self.home.tick(core.uptime_s);
        let home = self.home.local(core);
        let stepped = self.flight.step(
            &mut core.airframe,
            (&core.params, self.cruise_m_s),
            home,
            core.uptime_s,
            dt_s,
        );
        match stepped {
            Outcome::Nothing => {}
            Outcome::TakeoffDetected => self.lift_off(core),
            // A mission detects by itself that the item is done.
            Outcome::HeightReached if self.mode == Mode::Mission => {}
            Outcome::HeightReached => self.change_mode(core, Mode::Hold),
            Outcome::ReturnLands => {
                self.event(core, events::RETURN_LANDING, &[]);
                self.info(core, "RTL: land at destination\t");
            }
            Outcome::LandingDetected => self.landed(core),
        }
        self.disarm_when_done(core);
    }

    fn lift_off(&mut self, core: &mut Core) {
        self.flew = true;
        self.home.lift_off(core.uptime_s);
        self.event(core, events::TAKEOFF_DETECTED, &[]);
        self.info(core, "Takeoff detected\t");
    }

    fn landed(&mut self, core: &mut Core) {
        if self.armed_s.is_none() {
            // It fell with its motors stopped.
            return self.home.set_here(core);
        }
        self.landed_s = Some(core.uptime_s);
        if self.mode == Mode::Return {
            self.own_commands.return_ends(core);
        }
        self.event(core, events::LANDING_DETECTED, &[]);
        self.info(core, "Landing detected\t");
    }

    fn stream_step(&mut self, core: &mut Core) {
        let mut due = std::mem::take(&mut self.due);
        core.streams
            .take_due_slowed(core.uptime_s, &mut due, self.slower, link_rates::APART);
        for message in due.drain(..) {
            if let Some(message) = self.compose(core, message) {
                core.send(message);
            }
        }
        self.due = due;
        for index in self.params_to_send.drain(..) {
            requests::send_param(core, index);
        }
        for message in self.texts.step(self.gcs.present(core), core.uptime_s) {
            core.send(message);
        }
        for message in self.files.step() {
            core.send(message);
        }
        self.own_commands.step(core);
    }
}

impl Pilot for Px4 {
    fn set_home_here(&mut self, core: &mut Core) {
        if self.home.is_set() {
            self.home.set_here(core);
        }
    }

    fn move_home(&mut self, core: &mut Core, place: Wgs84) {
        self.home.move_to(place, core.boot_us());
    }

    fn tick(&mut self, core: &mut Core, dt_s: f64) {
        self.acks.send(core);
        self.links_step(core);
        battery_watch::step(core, self.armed_s.is_some(), dt_s);
        self.receiver_step(core);
        self.battery_step(core);
        self.health_step(core);
        self.position_step(core);
        self.fence_step(core);
        self.offboard_step(core);
        self.lift_step(core);
        self.failsafe_step(core);
        self.mission_step(core);
        self.flight_step(core, dt_s);
        self.plan_step(core);
        self.stream_step(core);
    }

    fn receive(&mut self, core: &mut Core, incoming: &Incoming) {
        if core.uptime_s >= LINK_UP_S {
            self.request(core, incoming.from, &incoming.request);
        }
    }

    fn armed(&self) -> bool {
        self.armed_s.is_some()
    }

    fn custom_mode(&self) -> u32 {
        self.mode.custom_mode()
    }

    fn has_position(&self, core: &Core) -> bool {
        self.estimator.has_position(core)
    }

    fn landed_state(&self, core: &Core) -> u8 {
        self.landed_number(core)
    }

    fn fence(&self) -> Option<Vec<PlanItem>> {
        self.judged_fence()
    }

    fn fly_by_stick(&mut self, core: &mut Core, to: Neu) {
        if !self.flying() || self.flight == Flight::Tumbling {
            return;
        }
        // The stick moves faster than any threshold; a negative one lets none take over (PX4 1.18).
        if core.params.get("MAN_OVERRIDE_SPD") < 0.0 && !self.mode.follows_sticks() {
            return;
        }
        self.enter(core, Mode::Position);
        self.flight = Flight::Holding { at: to };
    }

    fn parameter_written(&mut self, place: usize) {
        self.params_to_send.push(place);
    }

    fn suffer(&mut self, core: &mut Core, fault: Fault) {
        match fault {
            Fault::GpsLost => self.gps_fails = true,
            Fault::GpsBack => self.gps_fails = false,
            Fault::MotorStops => self.lose_motor(core),
        }
    }
}
