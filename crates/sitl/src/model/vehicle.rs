//! One vehicle: the shared core and its profile, driven with explicit time.

use std::time::Duration;

use super::ardupilot::ArduPilot;
use super::config::{Autopilot, OtherBattery, VehicleConfig};
use super::core::Core;
use super::geo::{Neu, Wgs84};
use super::pilot::{Fault, Pilot};
use super::px4::Px4;
use super::weather::{Weather, Wind};
use crate::wire::{Incoming, Outgoing, PlanItem};

const STEP_S: f64 = 0.02;

/// Independent of messages; for tests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Truth {
    pub uptime: Duration,
    pub armed: bool,
    pub custom_mode: u32,
    pub landed_state: u8,
    /// Altitude above the ground.
    pub height_m: f64,
    /// The autopilot's estimate may be off.
    pub place: Wgs84,
    pub heading_deg: f64,
    pub battery_percent: f64,
}

pub struct Vehicle {
    core: Core,
    pilot: Box<dyn Pilot>,
    left_over_s: f64,
    reboots: u32,
    /// Powerless in the air: the board boots once the vehicle is on the ground.
    dark: bool,
    weather: Weather,
}

impl Vehicle {
    pub fn new(mut config: VehicleConfig) -> Self {
        let weather = Weather::of(config.system_id, config.gps.wander_m);
        // The autopilot lives by the altitudes of its receiver.
        config.home.amsl_m += config.gps.altitude_offset_m;
        let (core, pilot) = boot(config);
        Self {
            weather,
            core,
            pilot,
            left_over_s: 0.0,
            reboots: 0,
            dark: false,
        }
    }

    pub fn step(&mut self, dt: Duration) -> Vec<Outgoing> {
        self.left_over_s += dt.as_secs_f64();
        while self.left_over_s + 1e-9 >= STEP_S {
            self.left_over_s -= STEP_S;
            if !self.core.airframe.on_ground() {
                self.weather.pass(STEP_S);
            }
            let (pushed, shaken) = self.weather.wind();
            self.core.airframe.blown(pushed, shaken);
            if self.dark {
                self.core.airframe.fall(STEP_S);
                self.dark = !self.core.airframe.on_ground();
                continue;
            }
            self.core.uptime_s += STEP_S;
            self.pilot.tick(&mut self.core, STEP_S);
            if self.core.reboot_at_s.is_some_and(|at| self.core.uptime_s >= at) {
                self.reboot();
            }
        }
        self.core.take_outbox()
    }

    pub fn on_message(&mut self, incoming: &Incoming) -> Vec<Outgoing> {
        if self.dark {
            return Vec::new();
        }
        self.pilot.receive(&mut self.core, incoming);
        self.core.received_from_peer = true;
        self.core.take_outbox()
    }

    /// Writes as on the vehicle's console; ignores an unknown name.
    pub fn write_parameter(&mut self, name: &str, value: f32) {
        if let Some(place) = self.core.params.set(name, value) {
            self.pilot.parameter_written(place);
        }
    }

    /// Refuses writes over the link, as `@READONLY` in ArduPilot's defaults does. ArduPilot only.
    pub fn make_read_only(&mut self, name: &str) {
        self.core.params.make_read_only(name);
    }

    pub fn parameter(&self, name: &str) -> Option<f32> {
        let param = self.core.params.at(self.core.params.index_of(name)?)?;
        Some(param.value)
    }

    /// `None` while a part of the stored fence is not in force, or is not judged yet.
    pub fn fence(&self) -> Option<Vec<PlanItem>> {
        self.pilot.fence()
    }

    pub fn suffer(&mut self, fault: Fault) {
        self.pilot.suffer(&mut self.core, fault);
    }

    /// A freed link returns the messages that waited.
    pub fn set_link_blocked(&mut self, blocked: bool) -> Vec<Outgoing> {
        self.pilot.block(&mut self.core, blocked);
        self.core.take_outbox()
    }

    pub fn power_cycle(&mut self) {
        self.reboot();
    }

    /// Stops the motors in the air: the vehicle falls, and boots where it fell.
    pub fn brown_out(&mut self) {
        self.reboot();
        self.dark = !self.core.airframe.on_ground();
    }

    /// Moves a disarmed vehicle on the ground to `place`, and sets home there, as PX4 does by itself.
    pub fn carry(&mut self, place: Wgs84) {
        if self.pilot.armed() || self.dark || !self.core.airframe.on_ground() {
            return;
        }
        self.core.airframe.position = self.estimate_at(place);
        self.core.airframe.rest();
        self.pilot.set_home_here(&mut self.core);
    }

    /// `drift_m`: error of the autopilot's estimate over ground.
    pub fn set_weather(&mut self, wind: Wind, drift_m: f64) {
        self.weather.set(wind, drift_m);
    }

    pub fn set_battery(&mut self, percent: f64) {
        self.core.battery.use_up(100.0, percent);
    }

    /// Batteries beside that of the motors; a missing one falls silent.
    pub fn set_other_batteries(&mut self, batteries: Vec<OtherBattery>) {
        self.core.config.other_batteries = batteries;
    }

    /// Acts like MAV_CMD_DO_SET_HOME, wherever the vehicle is.
    pub fn move_home(&mut self, place: Wgs84) {
        self.pilot.move_home(&mut self.core, place);
    }

    /// Input of a pilot's transmitter, not a message on the link: the vehicle's messages come with the next step.
    pub fn receive_pilot(&mut self, incoming: &Incoming) {
        if !self.dark {
            self.pilot.receive(&mut self.core, incoming);
        }
    }

    pub fn fly_by_stick(&mut self, place: Wgs84) {
        if self.dark || !self.pilot.armed() || self.core.airframe.on_ground() {
            return;
        }
        let to = self.estimate_at(place);
        self.pilot.fly_by_stick(&mut self.core, to);
    }

    /// Reboots by command; a change means that its link went down.
    pub fn reboots(&self) -> u32 {
        self.reboots
    }

    pub fn has_position(&self) -> bool {
        self.pilot.has_position(&self.core)
    }

    /// See [`VehicleConfig::seconds_per_peer_second`].
    pub fn set_seconds_per_peer_second(&mut self, seconds: f64) {
        self.core.config.seconds_per_peer_second = seconds;
    }

    pub fn truth(&self) -> Truth {
        Truth {
            uptime: Duration::from_secs_f64(self.core.uptime_s),
            armed: self.pilot.armed(),
            custom_mode: self.pilot.custom_mode(),
            landed_state: self.pilot.landed_state(&self.core),
            height_m: self.core.airframe.position.up,
            place: self.place(),
            heading_deg: self.core.airframe.heading_deg,
            battery_percent: self.core.battery.percent(),
        }
    }

    fn estimate_at(&self, place: Wgs84) -> Neu {
        let (to, off) = (self.core.config.home.to_local(place), self.weather.off());
        Neu {
            north: to.north - off.north,
            east: to.east - off.east,
            up: to.up + self.core.config.gps.altitude_offset_m,
        }
    }

    fn place(&self) -> Wgs84 {
        let (estimate, off) = (self.core.airframe.position, self.weather.off());
        self.core.config.home.offset(Neu {
            north: estimate.north + off.north,
            east: estimate.east + off.east,
            up: estimate.up - self.core.config.gps.altitude_offset_m,
        })
    }

    fn reboot(&mut self) {
        let (mut core, pilot) = boot(self.core.config.clone());
        core.params = self.core.params.clone();
        core.battery = self.core.battery;
        core.airframe = self.core.airframe;
        for message in self.core.take_outbox() {
            core.send_raw(message);
        }
        (self.core, self.pilot) = (core, pilot);
        self.reboots += 1;
    }
}

fn boot(config: VehicleConfig) -> (Core, Box<dyn Pilot>) {
    match config.autopilot {
        Autopilot::ArduPilot => {
            let params = super::ardupilot::params(config.firmware).without(&config.missing_parameters);
            let mut core = Core::new(config, params);
            core.load_stored_parameters();
            let pilot = ArduPilot::new(&mut core);
            (core, Box::new(pilot))
        }
        Autopilot::Px4 => {
            let params = super::px4::params(config.firmware).without(&config.missing_parameters);
            let mut core = Core::new(config, params);
            core.load_stored_parameters();
            let pilot = Px4::new(&mut core);
            (core, Box::new(pilot))
        }
    }
}
