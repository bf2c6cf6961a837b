//! PX4's answers to commands.

use super::flight::Flight;
use super::maneuvers::Takeoff;
use super::modes::{Mode, RequestedMode};
use super::{Px4, events, link_rates, other_commands, reports};
use crate::model::config::Firmware;
use crate::model::core::{Core, cmd, result};
use crate::model::geo::Neu;
use crate::model::pilot::{Fault, Pilot};
use crate::model::telemetry::{self, id};
use crate::wire::{Address, Command, CommandForm};

const REFUSAL_TEXT_S: f64 = 0.9;
/// Upper half of a double NaN, which PX4 refuses as a coordinate; a float NaN it takes.
const REFUSED_COORDINATE: i32 = 0x7FF8_0000;
/// MAV_FRAME_GLOBAL and MAV_FRAME_GLOBAL_INT.
const GLOBAL_FRAMES: [u8; 2] = [0, 5];
/// FAILURE_UNIT.
const GPS_UNIT: u32 = 4;
const BATTERY_UNIT: u32 = 100;
const MOTOR_UNIT: u32 = 101;

impl Px4 {
    pub(super) fn command(&mut self, core: &mut Core, from: Address, command: &Command) {
        let [p1, p2, p3, _] = command.params;
        let verdict = match command.id {
            cmd::ARM_DISARM => match self.arm_disarm(core, p1, p2) {
                Some(verdict) => verdict,
                None => return,
            },
            cmd::NAV_TAKEOFF => self.take_off(core, command),
            cmd::NAV_LAND => {
                self.land(core);
                result::ACCEPTED
            }
            cmd::NAV_RETURN_TO_LAUNCH if self.flying() && !self.may_fly(core, Mode::Return) => {
                self.refuse_mode(core, Mode::Return)
            }
            cmd::NAV_RETURN_TO_LAUNCH => {
                self.go_home(core);
                result::ACCEPTED
            }
            cmd::DO_SET_MODE => {
                if core.config.firmware.accepts_modes_unjudged() {
                    self.acks.push(from, command.id, result::ACCEPTED);
                }
                self.request_mode(core, p2 as u8, p3 as u8)
            }
            cmd::NAV_PRECISION_LAND => {
                self.enter(core, Mode::PrecisionLand);
                result::ACCEPTED
            }
            cmd::DO_ORBIT => {
                self.enter(core, Mode::Orbit);
                result::ACCEPTED
            }
            cmd::DO_CHANGE_SPEED => {
                self.change_speed(p2);
                result::ACCEPTED
            }
            cmd::DO_CHANGE_ALTITUDE if self.flying() && !self.may_fly(core, Mode::Hold) => {
                self.refuse_mode(core, Mode::Hold)
            }
            cmd::DO_CHANGE_ALTITUDE => {
                self.change_altitude(core, p1);
                result::ACCEPTED
            }
            cmd::DO_REPOSITION => self.reposition(core, command),
            cmd::DO_FLIGHTTERMINATION if self.armed_s.is_none() || p1 < 0.5 => result::DENIED,
            cmd::DO_FLIGHTTERMINATION => {
                self.terminate(core);
                result::ACCEPTED
            }
            cmd::MISSION_START => self.start_mission(core),
            cmd::PREFLIGHT_CALIBRATION if self.armed_s.is_some() => result::TEMPORARILY_REJECTED,
            cmd::PREFLIGHT_CALIBRATION => result::ACCEPTED,
            cmd::PREFLIGHT_REBOOT => {
                if p1 == 0.0 {
                    result::ACCEPTED
                } else if self.armed_s.is_some() || !core.config.can_reboot || !matches!(p1 as u32, 1 | 3) {
                    result::DENIED
                } else {
                    core.reboot_at_s = Some(core.uptime_s + 0.2);
                    result::ACCEPTED
                }
            }
            cmd::RUN_PREARM_CHECKS => {
                self.report_health(core);
                result::ACCEPTED
            }
            cmd::INJECT_FAILURE if core.params.get("SYS_FAILURE_EN") < 1.0 => {
                if !self.injects_failures {
                    return;
                }
                result::DENIED
            }
            cmd::INJECT_FAILURE => {
                self.injects_failures = true;
                match self.inject(core, p1 as u32, p2 as u32) {
                    Some(verdict) => verdict,
                    None => return,
                }
            }
            cmd::REQUEST_MESSAGE => self.request_message(core, p1 as u32),
            // Removed in 1.18, for REQUEST_MESSAGE.
            cmd::REQUEST_CAPABILITIES | cmd::REQUEST_PROTOCOL_VERSION | cmd::GET_HOME_POSITION
                if core.config.firmware == Firmware::Px4V118 =>
            {
                result::UNSUPPORTED
            }
            cmd::REQUEST_CAPABILITIES => self.request_message(core, id::AUTOPILOT_VERSION),
            cmd::REQUEST_PROTOCOL_VERSION => self.request_message(core, id::PROTOCOL_VERSION),
            cmd::GET_HOME_POSITION => self.request_message(core, id::HOME_POSITION),
            cmd::GET_MESSAGE_INTERVAL => {
                core.send(telemetry::message_interval(
                    p1 as u32,
                    core.streams.interval_us(p1 as u32).unwrap_or(0),
                ));
                result::ACCEPTED
            }
            cmd::SET_MESSAGE_INTERVAL => {
                let verdict = set_interval(core, p1 as u32, p2);
                self.slower = link_rates::slower(core);
                verdict
            }
            other => match other_commands::verdict(other, self.armed_s.is_some()) {
                Some(verdict) => verdict,
                None => return,
            },
        };
        self.acks.push(from, command.id, verdict);
    }

    /// Altitude is above mean sea level in every frame; NaN means the default.
    fn take_off(&mut self, core: &mut Core, command: &Command) -> u8 {
        if let Some(refusal) = refused(core, command) {
            return refusal;
        }
        let z = command.z();
        let at = match command.form {
            CommandForm::Long { xyz: [x, y, _], .. } => {
                if x == i32::MAX as f32 || y == i32::MAX as f32 {
                    return result::DENIED;
                }
                point(core, command)
            }
            CommandForm::Int { x, y, .. } => {
                if x == REFUSED_COORDINATE || y == REFUSED_COORDINATE {
                    return result::DENIED;
                }
                point(core, command)
            }
        };
        if self.flying() && !self.may_fly(core, Mode::Takeoff) {
            return self.refuse_mode(core, Mode::Takeoff);
        }
        self.takeoff = Takeoff {
            at,
            amsl_m: z.is_finite().then(|| f64::from(z)),
        };
        self.enter_takeoff(core);
        result::ACCEPTED
    }

    /// Altitude is above mean sea level in every frame.
    fn reposition(&mut self, core: &mut Core, command: &Command) -> u8 {
        if let Some(refusal) = refused(core, command) {
            return refusal;
        }
        let mut target = core.airframe.position;
        if let Some(point) = point(core, command) {
            (target.north, target.east) = (point.north, point.east);
        }
        let z = command.z();
        if z.is_finite() {
            target.up = f64::from(z) - core.config.home.amsl_m;
        }
        // Without the bit to change the mode the commander does not accept it, but in Hold the vehicle flies there.
        let verdict = if command.params[1] as u32 & 1 != 0 {
            if self.flying() && !self.may_fly(core, Mode::Hold) {
                return self.refuse_mode(core, Mode::Hold);
            }
            self.enter(core, Mode::Hold);
            result::ACCEPTED
        } else {
            result::UNSUPPORTED
        };
        self.go_to(core, target);
        if self.flight == (Flight::Holding { at: target }) {
            match command.params[3] {
                // Radians.
                yaw if yaw.is_finite() => core.airframe.turn_to(f64::from(yaw).to_degrees()),
                _ => core.airframe.look_to(target),
            }
        }
        verdict
    }

    /// Altitude is above mean sea level, whatever the frame says.
    fn change_altitude(&mut self, core: &mut Core, amsl_m: f32) {
        self.enter(core, Mode::Hold);
        let mut target = core.airframe.position;
        if amsl_m.is_finite() {
            target.up = f64::from(amsl_m) - core.config.home.amsl_m;
        }
        self.go_to(core, target);
    }

    pub(super) fn request_mode(&mut self, core: &mut Core, main: u8, sub: u8) -> u8 {
        let requested = Mode::from_numbers(main, sub);
        if matches!(requested, RequestedMode::Mode(Mode::Mission)) {
            self.judge_left_mission(core);
        }
        match requested {
            RequestedMode::Ignored if core.config.firmware.accepts_modes_unjudged() => result::ACCEPTED,
            RequestedMode::Ignored => {
                self.event(core, events::BAD_MAIN_MODE, &[]);
                self.critical(core, "Unsupported main mode\t");
                result::TEMPORARILY_REJECTED
            }
            RequestedMode::BadSubMode => {
                self.event(core, events::BAD_AUTO_MODE, &[]);
                self.critical(core, "Unsupported auto mode\t");
                result::TEMPORARILY_REJECTED
            }
            RequestedMode::Mode(mode) if self.mode == Mode::Termination => self.refuse_mode(core, mode),
            RequestedMode::Mode(mode) if self.armed_s.is_some() && !self.may_fly(core, mode) => {
                self.refuse_mode(core, mode)
            }
            // The takeoff that was begun goes on.
            RequestedMode::Mode(Mode::Takeoff) if self.mode == Mode::Takeoff => result::ACCEPTED,
            RequestedMode::Mode(Mode::Takeoff) => {
                self.takeoff = Takeoff::default();
                self.enter_takeoff(core);
                result::ACCEPTED
            }
            RequestedMode::Mode(mode) => {
                self.enter(core, mode);
                result::ACCEPTED
            }
        }
    }

    fn may_fly(&self, core: &Core, mode: Mode) -> bool {
        if mode == Mode::Offboard {
            return self.offboard.is_fresh(core);
        }
        mode.flyable(self.mission.is_valid(), self.estimator.has_position(core))
    }

    /// Every second refusal in a row has no text.
    fn refuse_mode(&mut self, core: &mut Core, mode: Mode) -> u8 {
        if core.uptime_s - self.refusal_said_s >= REFUSAL_TEXT_S {
            self.refusal_said_s = core.uptime_s;
            let mut arguments = mode.custom_mode().to_le_bytes().to_vec();
            arguments.push(mode.event_number());
            self.event(core, events::MODE_NOT_AVAILABLE, &arguments);
            self.critical(
                core,
                &format!("Switching to {} is currently not available\t", mode.name()),
            );
        }
        result::TEMPORARILY_REJECTED
    }

    /// `None`: no answer, as no module handles that unit.
    fn inject(&mut self, core: &mut Core, unit: u32, kind: u32) -> Option<u8> {
        match (unit, kind) {
            (GPS_UNIT, 0) => self.suffer(core, Fault::GpsBack),
            (GPS_UNIT, 1) => self.suffer(core, Fault::GpsLost),
            (BATTERY_UNIT, 1) => core.battery.use_up(100.0, 0.0),
            (MOTOR_UNIT, 0) => self.motor_fails = false,
            (MOTOR_UNIT, 1) => self.suffer(core, Fault::MotorStops),
            _ => return None,
        }
        Some(result::ACCEPTED)
    }

    fn request_message(&mut self, core: &mut Core, message: u32) -> u8 {
        // Its target is published only in flight.
        let has_target = message == POSITION_TARGET_GLOBAL_INT && self.flying();
        if !reports::known(message) && !has_target {
            // CURRENT_EVENT_SEQUENCE (411) is among them: what sends it by itself is no stream.
            return result::DENIED;
        }
        if let Some(message) = self.compose(core, message) {
            core.send(message);
        }
        result::ACCEPTED
    }
}

const POSITION_TARGET_GLOBAL_INT: u32 = 87;

fn refused(core: &Core, command: &Command) -> Option<u8> {
    if !core.config.strict_positions {
        return None;
    }
    let frame = match command.form {
        CommandForm::Long { .. } => return Some(result::COMMAND_INT_ONLY),
        CommandForm::Int { frame, .. } => frame,
    };
    if !GLOBAL_FRAMES.contains(&frame) {
        return Some(result::UNSUPPORTED_MAV_FRAME);
    }
    // Parameters 1 and 2 of a takeoff, pitch and an unused one, have no effect on a multicopter.
    let junk = |value: f32| value.is_finite() && value != 0.0;
    let unused = command.id == cmd::NAV_TAKEOFF && command.params[..2].iter().any(|value| junk(*value));
    unused.then_some(result::DENIED)
}

fn point(core: &Core, command: &Command) -> Option<Neu> {
    match command.form {
        CommandForm::Long { xyz: [x, y, _], .. } => {
            (x.is_finite() && y.is_finite()).then(|| core.local_deg(f64::from(x), f64::from(y)))
        }
        CommandForm::Int { x, y, .. } => (x != i32::MAX && y != i32::MAX).then(|| core.local_e7(x, y)),
    }
}

fn set_interval(core: &mut Core, message: u32, interval_us: f32) -> u8 {
    if !reports::is_streamed(message) {
        return result::FAILED;
    }
    match (interval_us, link_rates::default_interval_s(core, message)) {
        (us, _) if us < 0.0 => core.streams.stop(message),
        (us, Some(default_s)) if us < 1.0 => core.streams.retime(message, default_s),
        (us, None) if us < 1.0 => core.streams.stop(message),
        (us, _) => core.streams.retime(message, f64::from(us) / 1e6),
    }
    result::ACCEPTED
}
