//! From MAVLink messages of our autopilot to the facts of [`Vehicle`], the same for ArduPilot and PX4.
//!
//! Owns: [`Normalizer`]: what each message means, and which values cannot be true (noise gets through a 16-bit checksum
//! now and then). Must not: send, decide, or believe any component but the latched autopilot; the caller sees to that.

mod accuracy;
pub mod aircraft;
mod alarms;
mod batteries;
mod boot_clock;
mod classes;
mod home_accounts;
mod home_in_flight;
pub mod modes;
mod px4_events;
mod reasons;
pub(crate) mod text;

use crate::metadata::Table;
use home_accounts::{AGREES_WITHIN_M, HomeAccounts};
use home_in_flight::HomeInFlight;
use link::dialect::{
    AUTOPILOT_VERSION_DATA, GLOBAL_POSITION_INT_DATA, HEARTBEAT_DATA, MavLandedState, MavMessage, MavModeFlag,
    MavState, MavSysStatusSensor, SYS_STATUS_DATA,
};
use mavlink::Message;
use model::inventory::Board;
use model::monitored_battery::MotorBatteries;
use model::route_order::Waypoint;
use model::time::{Moment, Sighting};
use model::units::{AltitudeAboveHome, AltitudeAmsl, Heading, Volts, Wgs84};
use model::vehicle::{
    Autopilot, Battery, Charge, FlightTruth, HardwareUid, Heartbeat, LandedState, Position, SystemState, Vehicle,
};
use px4_events::EventMeaning;
use std::sync::Arc;
use std::time::Duration;

/// A longer silence says nothing of the rate at which the link carries landed_state.
const LANDED_GAP_AT_MOST: Duration = Duration::from_secs(10);

/// An autopilot has run its arming checks by itself this long after a change of mode. ArduPilot does so once a second.
const CHECKS_RUN_WITHIN: Duration = Duration::from_secs(3);

#[derive(Clone, Debug, Default)]
pub struct Normalizer {
    texts: text::TextJoiner,
    events: px4_events::Events,
    reasons: reasons::Reasons,
    alarms: alarms::Alarms,
    clocks: boot_clock::BootClocks,
    batteries: batteries::Batteries,
    home_heard: Option<AltitudeAmsl>,
    home_accounts: HomeAccounts,
    home_in_flight: HomeInFlight,
    checks: Checks,
}

/// Mode of the arming checks that SYS_STATUS reports: it reports those that ran last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Checks {
    #[default]
    Present,
    /// Perhaps of the one before, which was left at that moment.
    Before(Moment),
    /// The same; and the autopilot was ordered to run those of the present one.
    Asked(Moment),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// All that was known was forgotten before this message was taken.
    pub rebooted: bool,
    pub texts: Vec<String>,
}

impl Normalizer {
    pub fn of(motors: MotorBatteries) -> Self {
        Self {
            batteries: batteries::Batteries::of(motors),
            ..Self::default()
        }
    }

    /// Takes off from `home`, as an agent before observed.
    pub fn flying_from(mut self, home: Option<Waypoint>) -> Self {
        self.home_in_flight = home.map_or_else(HomeInFlight::default, HomeInFlight::of);
        self
    }

    pub fn home_before_flight(&self) -> Option<Waypoint> {
        self.home_in_flight.before()
    }

    pub fn receive(&mut self, vehicle: &mut Vehicle, message: &MavMessage, now: Moment) -> Effects {
        let mut heard = Effects::default();
        // PX4 repeats old events on request of others; their time proves nothing.
        let tells_time = !matches!(message, MavMessage::EVENT(_));
        let boot_ms = link::backlog::boot_ms(message).filter(|_| tells_time);
        if boot_ms.is_some_and(|ms| self.clocks.went_back(message.message_id(), ms)) {
            heard.rebooted = true;
            let identity = vehicle.identity.take().map(|id| model::vehicle::Identity {
                firmware: None,
                hardware: None,
                ..id
            });
            *vehicle = Vehicle {
                identity,
                ..Vehicle::default()
            };
            *self = Self {
                clocks: std::mem::take(&mut self.clocks),
                batteries: self.batteries.forgotten(),
                ..Self::default()
            };
        }
        match message {
            MavMessage::HEARTBEAT(m) => self.heartbeat(vehicle, m, now),
            MavMessage::EXTENDED_SYS_STATE(m) => {
                if let Some(last) = &vehicle.landed {
                    let gap = now.since(last.at).min(LANDED_GAP_AT_MOST);
                    vehicle.landed_every = (vehicle.landed_every * 3 + gap) / 4;
                }
                vehicle.landed = Some(Sighting::new(landed_state(m.landed_state), now));
            }
            MavMessage::SYS_STATUS(m) => self.sys_status(vehicle, m, now),
            MavMessage::BATTERY_STATUS(m) => {
                if let Some(battery) = self.batteries.receive(m, is_armed(vehicle), now) {
                    vehicle.battery = Some(Sighting::new(battery, now));
                }
                vehicle.several_batteries |= self.batteries.are_several();
                vehicle.batteries = self.batteries.each();
            }
            MavMessage::GLOBAL_POSITION_INT(m) => {
                vehicle.running_for = Some(Duration::from_millis(m.time_boot_ms.into()));
                if let Some(home) = global_position(vehicle, m, now) {
                    self.home_accounts.count(home);
                    self.home_accounts.place(vehicle, now);
                    self.home(vehicle, home, now);
                }
            }
            MavMessage::HOME_POSITION(m) => {
                let at = Wgs84 {
                    latitude_deg: f64::from(m.latitude) / 1e7,
                    longitude_deg: f64::from(m.longitude) / 1e7,
                };
                let amsl = AltitudeAmsl(f64::from(m.altitude) / 1000.0);
                self.home_accounts.state(model::geo::position(at).ok(), amsl);
                self.home_accounts.place(vehicle, now);
                if vehicle.home_disagrees_m.is_none() {
                    self.home(vehicle, amsl, now);
                }
            }
            MavMessage::GPS_RAW_INT(m) => {
                vehicle.receiver_accuracy = Some(Sighting::new(accuracy::of_receiver(m), now));
            }
            MavMessage::ESTIMATOR_STATUS(m) => {
                vehicle.filter_accuracy = Some(Sighting::new(accuracy::of_px4_filter(m), now));
            }
            MavMessage::EKF_STATUS_REPORT(m) => {
                vehicle.filter_accuracy = Some(Sighting::new(accuracy::of_ardupilot_filter(m), now));
            }
            MavMessage::AUTOPILOT_VERSION(m) => {
                let read = HardwareUid::of(m.uid, m.uid2);
                let known = vehicle.identity.as_ref().and_then(|identity| identity.hardware);
                // No airframe is exchanged without a silence or a reboot, which forgets the number.
                let of_another = read.zip(known).is_some_and(|(read, known)| read.contradicts(known));
                if !of_another {
                    if let Some(identity) = &mut vehicle.identity {
                        identity.firmware = Some(firmware(m));
                        identity.hardware = read.or(known);
                    }
                    vehicle.inventory.board = Board::of(m.board_version, m.vendor_id, m.product_id);
                }
            }
            MavMessage::BATTERY_INFO(m) => vehicle.inventory.wear = self.batteries.wear(m),
            MavMessage::STATUSTEXT(m) => {
                heard.texts = self.texts.receive(m, now);
            }
            _ => {}
        }
        heard.texts.extend(self.texts.overdue(now));
        for meaning in self.events.receive(message, now) {
            match meaning {
                EventMeaning::ChecksBegin => self.reasons.expect_again(),
                EventMeaning::Blocks { code, text } => {
                    self.alarms.explains(vehicle, &text, now);
                    self.reasons.reason(&mut vehicle.reasons, &text, Some(code), now);
                }
                EventMeaning::Denied(reason) => self.reasons.reason(&mut vehicle.reasons, &reason, None, now),
                EventMeaning::Line(text) => heard.texts.push(text),
                EventMeaning::Failsafe(text) => {
                    self.alarms.begins(vehicle, &text, now);
                    heard.texts.push(text);
                }
            }
        }
        for text in &heard.texts {
            self.reasons.text(&mut vehicle.reasons, text, now);
            self.alarms.text(vehicle, text, now);
        }
        heard
    }

    /// Reasons that come next replace those that are known.
    pub const fn asked_for_checks(&mut self) {
        self.reasons.expect_again();
        if let Checks::Before(since) = self.checks {
            self.checks = Checks::Asked(since);
        }
    }

    /// It has run them, unless its mode has changed since.
    pub const fn checks_ran(&mut self) {
        if let Checks::Asked(_) = self.checks {
            self.checks = Checks::Present;
        }
    }

    pub fn events_described(&mut self, table: Arc<Table>) {
        self.events.described(table);
    }

    /// First and last number to ask for, once.
    pub fn events_missed(&mut self, now: Moment) -> Option<(u16, u16)> {
        self.events.missed(now)
    }

    /// Home is taken while on the ground; in flight only if nothing is known, because it wanders by meters. A height that
    /// comes alone may be noise, and a takeoff goes by it: it counts only with one before it that says the same.
    fn home(&mut self, vehicle: &mut Vehicle, amsl: AltitudeAmsl, now: Moment) {
        let on_ground = matches!(vehicle.truth(now), FlightTruth::Disarmed | FlightTruth::ArmedOnGround);
        let agreed = self
            .home_heard
            .is_some_and(|before| (before.0 - amsl.0).abs() <= AGREES_WITHIN_M);
        self.home_heard = Some(amsl);
        if agreed && (-1000.0..=10_000.0).contains(&amsl.0) && (on_ground || vehicle.home.is_none()) {
            (vehicle.home, vehicle.home_heard) = (Some(amsl), Some(now));
        }
        if agreed {
            vehicle.home_shift = self.home_in_flight.observe(vehicle, amsl, now);
        }
    }

    fn heartbeat(&mut self, vehicle: &mut Vehicle, m: &HEARTBEAT_DATA, now: Moment) {
        let Some(autopilot) = vehicle.identity.as_ref().map(|id| id.autopilot) else {
            return;
        };
        let armed = m.base_mode.contains(MavModeFlag::MAV_MODE_FLAG_SAFETY_ARMED);
        let mode = modes::mode(autopilot, m.custom_mode);
        if armed && !vehicle.heartbeat.as_ref().is_some_and(|h| h.value.armed) {
            vehicle.reasons.clear();
        }
        if vehicle.heartbeat.as_ref().is_none_or(|h| h.value.mode != mode) {
            // What the checks said before, in another mode or in an unknown one, says nothing about this one.
            vehicle.ready = None;
            if vehicle.heartbeat.is_some() {
                self.checks = Checks::Before(now);
            }
        }
        vehicle.heartbeat = Some(Sighting::new(Heartbeat { armed, mode }, now));
        let state = match m.system_status {
            MavState::MAV_STATE_CRITICAL => SystemState::Critical,
            MavState::MAV_STATE_EMERGENCY => SystemState::Emergency,
            MavState::MAV_STATE_FLIGHT_TERMINATION => SystemState::Terminated,
            MavState::MAV_STATE_BOOT => SystemState::Starting,
            MavState::MAV_STATE_UNINIT if autopilot == Autopilot::Px4 => SystemState::Starting,
            _ => SystemState::Normal,
        };
        vehicle.state = Some(Sighting::new(state, now));
        if !armed {
            vehicle.alarm = None;
        }
    }

    fn sys_status(&self, vehicle: &mut Vehicle, m: &SYS_STATUS_DATA, now: Moment) {
        self.arming_checks(vehicle, m, now);
        let voltage = match m.voltage_battery {
            0 | u16::MAX => None,
            millivolts => Some(Volts::of_millivolts(millivolts.into())),
        };
        let remaining = batteries::remaining(m.battery_remaining, voltage);
        if voltage.is_some() || remaining.is_some() {
            let battery = Battery {
                remaining,
                voltage,
                charge: Charge::Unknown,
            };
            if let Some(battery) = self.batteries.or_primary(battery, is_armed(vehicle), now) {
                vehicle.battery = Some(Sighting::new(battery, now));
            }
        }
    }

    fn arming_checks(&self, vehicle: &mut Vehicle, m: &SYS_STATUS_DATA, now: Moment) {
        if let Checks::Before(since) | Checks::Asked(since) = self.checks
            && now.since(since) < CHECKS_RUN_WITHIN
        {
            return;
        }
        let ready = m
            .onboard_control_sensors_health
            .contains(MavSysStatusSensor::MAV_SYS_STATUS_PREARM_CHECK);
        let was = vehicle.ready.map(|r| r.value);
        if ready && was != Some(true) {
            vehicle.reasons.clear();
        }
        vehicle.ready = Some(Sighting::new(ready, now));
    }
}

const fn landed_state(state: MavLandedState) -> Option<LandedState> {
    match state {
        MavLandedState::MAV_LANDED_STATE_UNDEFINED => None,
        MavLandedState::MAV_LANDED_STATE_ON_GROUND => Some(LandedState::OnGround),
        MavLandedState::MAV_LANDED_STATE_IN_AIR => Some(LandedState::InAir),
        MavLandedState::MAV_LANDED_STATE_TAKEOFF => Some(LandedState::TakingOff),
        MavLandedState::MAV_LANDED_STATE_LANDING => Some(LandedState::Landing),
    }
}

fn is_armed(vehicle: &Vehicle) -> bool {
    vehicle.heartbeat.as_ref().is_some_and(|beat| beat.value.armed)
}

/// Takes a position that can be true; returns the altitude of home that follows from it.
fn global_position(vehicle: &mut Vehicle, m: &GLOBAL_POSITION_INT_DATA, now: Moment) -> Option<AltitudeAmsl> {
    let at = Wgs84 {
        latitude_deg: f64::from(m.lat) / 1e7,
        longitude_deg: f64::from(m.lon) / 1e7,
    };
    let amsl = AltitudeAmsl(f64::from(m.alt) / 1000.0);
    let above_home = AltitudeAboveHome(f64::from(m.relative_alt) / 1000.0);
    let plausible = at.latitude_deg.abs() <= 90.0
        && at.longitude_deg.abs() <= 180.0
        && (m.lat, m.lon) != (0, 0)
        && (-1000.0..=20_000.0).contains(&amsl.0)
        && above_home.0.abs() <= 10_000.0;
    if plausible {
        vehicle.position = Some(Sighting::new(Position { at, amsl, above_home }, now));
        // UINT16_MAX, as anything beyond a turn, is no heading.
        let heading = (m.hdg < 36_000).then(|| Heading(f64::from(m.hdg) / 100.0));
        vehicle.heading = heading.map(|heading| Sighting::new(heading, now));
        vehicle.sink_m_s = Some(Sighting::new(f64::from(m.vz) / 100.0, now));
        let over_ground = f64::from(m.vx).hypot(f64::from(m.vy)) / 100.0;
        vehicle.over_ground_m_s = Some(Sighting::new(over_ground, now));
    }
    plausible.then_some(AltitudeAmsl(amsl.0 - above_home.0))
}

/// From AUTOPILOT_VERSION.flight_sw_version: major, minor, patch, FIRMWARE_VERSION_TYPE.
fn firmware(m: &AUTOPILOT_VERSION_DATA) -> String {
    let [major, minor, patch, kind] = m.flight_sw_version.to_be_bytes();
    let kind = match kind {
        0..=63 => "-dev",
        64..=127 => "-alpha",
        128..=191 => "-beta",
        192..=254 => "-rc",
        255 => "",
    };
    format!("{major}.{minor}.{patch}{kind}")
}

pub const fn name(autopilot: Autopilot) -> &'static str {
    match autopilot {
        Autopilot::ArduPilot => "ArduPilot",
        Autopilot::Px4 => "PX4",
    }
}

#[cfg(test)]
mod tests;
