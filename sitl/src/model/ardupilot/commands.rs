//! How ArduCopter answers commands and other requests.
//!
//! Owns: verdicts, their order relative to texts and messages. Must not: move the airframe.

use mavlink::dialects::ardupilotmega as apm;
use mavlink::dialects::ardupilotmega::{MavMessage, MavSeverity};

use super::boot::{INITIALISED_S, ORIGIN_S};
use super::flight::Flight;
use super::{ArduPilot, checks, modes, reports};
use crate::model::core::{Core, FORCE, cmd, result};
use crate::model::outdated;
use crate::model::telemetry::{self, ParamEncoding, id};
use crate::wire::{Address, Command, CommandForm, GotoTarget, Request};

/// MAV_FRAME numbers of altitude above home; the second is the `_INT` twin.
const RELATIVE: u8 = 3;
const RELATIVE_INT: u8 = 6;
/// The other force code ArduPilot takes for arming.
const FORCE_ARM: f32 = 2989.0;

impl ArduPilot {
    pub(super) fn request(&mut self, core: &mut Core, from: Address, request: &Request) {
        match request {
            Request::Heartbeat { .. } => self.gcs.heartbeat(core, from.system),
            Request::Command(command) if core.is_for_us(command.to) || self.to_everyone(command.to) => {
                self.command(core, from, command);
            }
            Request::SetMode {
                system,
                base_mode,
                custom_mode,
            } if *system == core.config.system_id && base_mode & 1 != 0 => {
                self.ask_mode(core, *custom_mode);
            }
            Request::ParamRead { to, index, name } if core.is_for_us(*to) => {
                let index = usize::try_from(*index).ok().or_else(|| core.params.index_of(name));
                if let Some((index, param)) = index.and_then(|i| core.params.at(i).map(|p| (i, p.clone()))) {
                    core.send(telemetry::param_value(
                        &param,
                        ParamEncoding::AsFloat,
                        index as u16,
                        core.params.len(),
                    ));
                }
            }
            Request::ParamList { to } if core.is_for_us(*to) => {
                for index in 0..core.params.len() {
                    if let Some(param) = core.params.at(index).cloned() {
                        core.send(telemetry::param_value(
                            &param,
                            ParamEncoding::AsFloat,
                            index as u16,
                            core.params.len(),
                        ));
                    }
                }
            }
            Request::ParamSet { to, name, value, kind } if core.is_for_us(*to) => {
                let value = ParamEncoding::AsFloat.decode(*value, *kind);
                if let Some(param) = core.params.set(name, value).and_then(|i| core.params.at(i).cloned()) {
                    core.send(telemetry::param_value(
                        &param,
                        ParamEncoding::AsFloat,
                        u16::MAX,
                        core.params.len(),
                    ));
                }
            }
            Request::MissionList { to, mission_type } if core.is_for_us(*to) => {
                core.send(MavMessage::MISSION_COUNT(apm::MISSION_COUNT_DATA {
                    target_system: from.system,
                    target_component: from.component,
                    mission_type: mission_kind(*mission_type),
                    ..apm::MISSION_COUNT_DATA::DEFAULT
                }));
            }
            Request::MissionClear { to, mission_type } if core.is_for_us(*to) => {
                core.send(MavMessage::MISSION_ACK(apm::MISSION_ACK_DATA {
                    target_system: from.system,
                    target_component: from.component,
                    mission_type: mission_kind(*mission_type),
                    ..apm::MISSION_ACK_DATA::DEFAULT
                }));
            }
            Request::Goto(target) if core.is_for_us(target.to) => self.goto(core, target),
            Request::DataStream {
                to,
                stream,
                rate_hz,
                start,
            } if core.is_for_us(*to) => {
                data_stream(core, *stream, if *start { *rate_hz } else { 0 });
            }
            Request::TimesyncAsk { ts1 } => core.send(MavMessage::TIMESYNC(apm::TIMESYNC_DATA {
                tc1: core.boot_us() as i64 * 1000,
                ts1: *ts1,
                target_system: from.system,
                target_component: from.component,
            })),
            Request::PingAsk { time_usec, seq } => core.send(outdated::ping_answer(from, *time_usec, *seq)),
            _ => {}
        }
    }

    /// ArduPilot also acts on commands to system 0.
    fn to_everyone(&self, to: Address) -> bool {
        to.system == 0 && matches!(to.component, 0 | 1)
    }

    fn command(&mut self, core: &mut Core, from: Address, command: &Command) {
        let [p1, p2, ..] = command.params;
        let verdict = match command.id {
            cmd::ARM_DISARM => return self.arm_disarm(core, from, p1, p2),
            cmd::NAV_TAKEOFF => self.take_off(core, command),
            cmd::NAV_LAND => self.set_mode(core, modes::LAND),
            cmd::NAV_RETURN_TO_LAUNCH => self.set_mode(core, modes::RTL),
            cmd::DO_SET_MODE => return self.do_set_mode(core, from, p1, p2),
            cmd::DO_REPOSITION => self.reposition(core, command),
            cmd::MISSION_START => {
                core.ack(from, command.id, result::FAILED);
                self.text(
                    core,
                    MavSeverity::MAV_SEVERITY_WARNING,
                    "Mode change to AUTO failed: init failed",
                );
                return;
            }
            cmd::PREFLIGHT_CALIBRATION if self.armed_s.is_some() => {
                core.ack(from, command.id, result::FAILED);
                self.text(core, MavSeverity::MAV_SEVERITY_NOTICE, "Disarm to allow calibration");
                return;
            }
            cmd::PREFLIGHT_CALIBRATION => result::ACCEPTED,
            cmd::PREFLIGHT_REBOOT => self.reboot(core, p1),
            cmd::RUN_PREARM_CHECKS => return self.run_checks(core, from),
            cmd::REQUEST_MESSAGE => return self.request_message(core, from, command.id, p1 as u32),
            cmd::REQUEST_CAPABILITIES if p1 as u32 == 1 => {
                return self.request_message(core, from, command.id, id::AUTOPILOT_VERSION);
            }
            cmd::REQUEST_PROTOCOL_VERSION => return self.request_message(core, from, command.id, id::PROTOCOL_VERSION),
            cmd::GET_HOME_POSITION => return self.request_message(core, from, command.id, id::HOME_POSITION),
            cmd::GET_MESSAGE_INTERVAL => {
                let message = p1 as u32;
                let interval =
                    core.streams
                        .interval_us(message)
                        .unwrap_or(if reports::known(message) { -1 } else { 0 });
                core.send(telemetry::message_interval(message, interval));
                if reports::known(message) {
                    result::ACCEPTED
                } else {
                    result::FAILED
                }
            }
            cmd::SET_MESSAGE_INTERVAL => self.set_interval(core, p1 as u32, p2),
            _ => result::UNSUPPORTED,
        };
        core.ack(from, command.id, verdict);
        if verdict == result::ACCEPTED {
            self.announce_mode(core);
        }
    }

    fn arm_disarm(&mut self, core: &mut Core, from: Address, p1: f32, p2: f32) {
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
        let mut reasons: Vec<String> = self.failing(core).into_iter().map(String::from).collect();
        if core.uptime_s >= INITIALISED_S {
            if force {
                reasons.clear();
            }
            if !modes::armable(self.mode) && self.mode != modes::AUTO {
                reasons = vec![format!("{} mode not armable", modes::name(self.mode).unwrap_or("?"))];
            }
        }
        if reasons.is_empty() {
            core.ack(from, cmd::ARM_DISARM, result::ACCEPTED);
            return self.start_motors(core);
        }
        let booting = core.uptime_s < INITIALISED_S;
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

    fn take_off(&mut self, core: &Core, command: &Command) -> u8 {
        if let CommandForm::Int { frame, .. } = command.form
            && frame != RELATIVE
        {
            return result::DENIED;
        }
        let to_up_m = f64::from(command.z());
        let on_ground = matches!(self.flight, Flight::Landed | Flight::Spooling { .. });
        let possible = self.mode == modes::GUIDED && on_ground && to_up_m > core.airframe.position.up;
        match (self.armed_s, possible) {
            (Some(armed_s), true) => {
                self.flight = match self.flight {
                    Flight::Spooling { begins_s, .. } => Flight::Spooling { begins_s, to_up_m },
                    _ => Flight::take_off(core.uptime_s, armed_s, to_up_m),
                };
                result::ACCEPTED
            }
            _ => result::FAILED,
        }
    }

    fn do_set_mode(&mut self, core: &mut Core, from: Address, p1: f32, p2: f32) {
        if p1 as u32 & 1 == 0 {
            return core.ack(from, cmd::DO_SET_MODE, result::DENIED);
        }
        let mode = p2 as u32;
        if modes::name(mode).is_none() {
            self.text(core, MavSeverity::MAV_SEVERITY_WARNING, &format!("No such mode {mode}"));
            return core.ack(from, cmd::DO_SET_MODE, result::FAILED);
        }
        let verdict = self.set_mode(core, mode);
        core.ack(from, cmd::DO_SET_MODE, verdict);
        self.announce_mode(core);
        if verdict != result::ACCEPTED {
            let text = format!(
                "Mode change to {} failed: init failed",
                modes::name(mode).unwrap_or("?")
            );
            self.text(core, MavSeverity::MAV_SEVERITY_WARNING, &text);
        }
    }

    /// SET_MODE is not acknowledged.
    fn ask_mode(&mut self, core: &mut Core, mode: u32) {
        if modes::name(mode).is_none() {
            self.text(core, MavSeverity::MAV_SEVERITY_WARNING, &format!("No such mode {mode}"));
            return;
        }
        if self.set_mode(core, mode) == result::ACCEPTED {
            self.announce_mode(core);
        } else {
            let text = format!(
                "Mode change to {} failed: init failed",
                modes::name(mode).unwrap_or("?")
            );
            self.text(core, MavSeverity::MAV_SEVERITY_WARNING, &text);
        }
    }

    fn reposition(&mut self, core: &mut Core, command: &Command) -> u8 {
        let CommandForm::Int { frame, x, y, z } = command.form else {
            return result::UNSUPPORTED;
        };
        if self.armed_s.is_none() || self.landed(core) {
            return result::FAILED;
        }
        let Some(up) = self.height_above_boot(core, frame, f64::from(z)) else {
            return result::UNSUPPORTED_MAV_FRAME;
        };
        if x == i32::MAX || y == i32::MAX || (x == 0 && y == 0) {
            return result::DENIED;
        }
        if self.mode != modes::GUIDED {
            if command.params[1] as u32 & 1 == 0 {
                return result::DENIED;
            }
            if self.set_mode(core, modes::GUIDED) != result::ACCEPTED {
                return result::FAILED;
            }
        }
        let mut target = core.local_e7(x, y);
        target.up = up;
        self.flight = Flight::Guided { target };
        result::ACCEPTED
    }

    fn goto(&mut self, core: &Core, target: &GotoTarget) {
        let flying = self.armed_s.is_some() && !self.landed(core);
        if !flying || self.mode != modes::GUIDED || target.type_mask & 0b111 != 0 {
            return;
        }
        if let Some(up) = self.height_above_boot(core, target.frame, f64::from(target.alt_m)) {
            let mut point = core.local_e7(target.lat_e7, target.lon_e7);
            point.up = up;
            self.flight = Flight::Guided { target: point };
        }
    }

    /// Height above the place of boot of an altitude in `frame`; `None` for a frame without meaning here.
    fn height_above_boot(&self, core: &Core, frame: u8, altitude_m: f64) -> Option<f64> {
        match frame {
            0 | 5 => Some(altitude_m - core.config.home.amsl_m),
            RELATIVE | RELATIVE_INT | 10 | 11 => Some(altitude_m),
            _ => None,
        }
    }

    fn reboot(&mut self, core: &mut Core, p1: f32) -> u8 {
        if self.armed_s.is_some() {
            return result::FAILED;
        }
        if !matches!(p1 as u32, 1 | 3) {
            return result::UNSUPPORTED;
        }
        core.reboot_at_s = Some(core.uptime_s + 0.2);
        result::ACCEPTED
    }

    fn run_checks(&mut self, core: &mut Core, from: Address) {
        if self.armed_s.is_some() {
            return core.ack(from, cmd::RUN_PREARM_CHECKS, result::TEMPORARILY_REJECTED);
        }
        core.ack(from, cmd::RUN_PREARM_CHECKS, result::ACCEPTED);
        self.say_prearm_reasons(core);
    }

    fn request_message(&mut self, core: &mut Core, from: Address, command: u16, message: u32) {
        let composed = self.compose(core, message);
        let verdict = if composed.is_some() || reports::known(message) {
            result::ACCEPTED
        } else {
            result::FAILED
        };
        let unset = message == id::HOME_POSITION && core.uptime_s < ORIGIN_S;
        core.ack(from, command, if unset { result::FAILED } else { verdict });
        if let Some(message) = composed {
            core.send(message);
        }
    }

    fn set_interval(&mut self, core: &mut Core, message: u32, interval_us: f32) -> u8 {
        if !reports::known(message) {
            self.text(
                core,
                MavSeverity::MAV_SEVERITY_INFO,
                &format!("No ap_message for mavlink id ({message})"),
            );
            return result::DENIED;
        }
        match interval_us {
            us if us < 0.0 => core.streams.stop(message),
            us if us < 1.0 && message == id::HEARTBEAT => core.streams.every(message, 1.0, core.uptime_s),
            us if us < 1.0 => core.streams.stop(message),
            us if us < 1000.0 => return result::DENIED,
            us => core.streams.every(message, f64::from(us) / 1e6, core.uptime_s.max(2.5)),
        }
        result::ACCEPTED
    }

    pub(super) fn failing(&self, core: &Core) -> Vec<&'static str> {
        let mut reasons = checks::failing(
            core.uptime_s,
            self.mode,
            core.config.never_ready,
            self.battery_trouble(core),
        );
        if self.gcs.lost() {
            reasons.push("GCS failsafe on");
        }
        reasons
    }

    /// Heartbeat at once after a change of mode.
    fn announce_mode(&mut self, core: &mut Core) {
        if self.announced_mode != self.mode {
            self.announced_mode = self.mode;
            if let Some(heartbeat) = self.compose(core, id::HEARTBEAT) {
                core.send(heartbeat);
            }
        }
    }
}

fn mission_kind(number: u8) -> apm::MavMissionType {
    match number {
        1 => apm::MavMissionType::MAV_MISSION_TYPE_FENCE,
        2 => apm::MavMissionType::MAV_MISSION_TYPE_RALLY,
        255 => apm::MavMissionType::MAV_MISSION_TYPE_ALL,
        _ => apm::MavMissionType::MAV_MISSION_TYPE_MISSION,
    }
}

/// The groups of REQUEST_DATA_STREAM, as far as this vehicle fills them.
fn data_stream(core: &mut Core, stream: u8, rate_hz: u16) {
    let groups: &[(u8, &[u32])] = &[
        (2, &[id::SYS_STATUS, id::GPS_RAW_INT, id::MISSION_CURRENT]),
        (6, &[id::GLOBAL_POSITION_INT, id::LOCAL_POSITION_NED]),
        (10, &[id::ATTITUDE]),
        (11, &[id::VFR_HUD]),
        (12, &[id::SYSTEM_TIME, id::BATTERY_STATUS, id::EKF_STATUS_REPORT]),
    ];
    for (_, messages) in groups.iter().filter(|(group, _)| stream == 0 || stream == *group) {
        for &message in *messages {
            match rate_hz {
                0 => core.streams.stop(message),
                rate => core
                    .streams
                    .every(message, 1.0 / f64::from(rate), core.uptime_s.max(2.5)),
            }
        }
    }
}
