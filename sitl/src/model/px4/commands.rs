//! How PX4 answers commands and other requests.
//!
//! Owns: verdicts, acks that come twice or not at all. Must not: move the airframe.

use mavlink::dialects::ardupilotmega as apm;
use mavlink::dialects::ardupilotmega::MavMessage;

use super::modes::{Asked, Mode};
use super::{Px4, Takeoff, events, reports};
use crate::model::core::{Core, FORCE, cmd, result};
use crate::model::outdated;
use crate::model::telemetry::{self, ParamEncoding, id};
use crate::wire::{Address, Command, CommandForm, Request};

/// MAV_TYPE_GCS.
const GROUND_STATION: u8 = 6;
/// Texts about refused modes come at most this often.
const REFUSAL_TEXT_S: f64 = 0.9;
/// The bits of a double NaN's upper half; PX4 refuses them as a coordinate, but not those of a float NaN.
const REFUSED_COORDINATE: i32 = 0x7FF8_0000;

impl Px4 {
    pub(super) fn request(&mut self, core: &mut Core, from: Address, request: &Request) {
        match request {
            Request::Heartbeat { kind: GROUND_STATION } => self.gcs.heartbeat(core),
            Request::Command(command) if core.is_for_us(command.to) => self.command(core, from, command),
            Request::SetMode {
                system,
                base_mode,
                custom_mode,
            } if *system == core.config.system_id && base_mode & 1 != 0 => {
                let [_, _, main, sub] = custom_mode.to_le_bytes();
                let verdict = self.ask_mode(core, main, sub);
                core.ack(from, cmd::DO_SET_MODE, verdict);
            }
            Request::ParamRead { to, index, name } if core.is_for_us(*to) => {
                let index = usize::try_from(*index).ok().or_else(|| core.params.index_of(name));
                if let Some(index) = index {
                    send_param(core, index, 1);
                }
            }
            Request::ParamList { to } if core.is_for_us(*to) => {
                for index in 0..core.params.len() {
                    send_param(core, index, 1);
                }
            }
            Request::ParamSet { to, name, value, kind } if core.is_for_us(*to) => {
                let value = ParamEncoding::ByteWise.decode(*value, *kind);
                if let Some(index) = core.params.set(name, value) {
                    send_param(core, index, 2);
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
            Request::Events { first, last } => {
                for message in self.events.replay(*first, *last, (from.system, from.component)) {
                    core.send(message);
                }
            }
            Request::TimesyncAsk { ts1 } => core.send(MavMessage::TIMESYNC(apm::TIMESYNC_DATA {
                tc1: core.boot_us() as i64 * 1000,
                ts1: *ts1,
                ..apm::TIMESYNC_DATA::DEFAULT
            })),
            Request::PingAsk { time_usec, seq } => core.send(outdated::ping_answer(from, *time_usec, *seq)),
            _ => {}
        }
    }

    fn command(&mut self, core: &mut Core, from: Address, command: &Command) {
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
            cmd::NAV_RETURN_TO_LAUNCH => {
                self.go_home(core);
                result::ACCEPTED
            }
            cmd::DO_SET_MODE => {
                // The link acknowledges at once, whatever comes of it.
                core.ack(from, command.id, result::ACCEPTED);
                self.ask_mode(core, p2 as u8, p3 as u8)
            }
            cmd::DO_REPOSITION => self.reposition(core, command),
            cmd::MISSION_START => {
                self.event(core, events::NO_MISSION_TO_START, &[]);
                self.critical(core, "Mission start denied! No valid mission\t");
                result::DENIED
            }
            cmd::PREFLIGHT_CALIBRATION if self.armed_s.is_some() => result::TEMPORARILY_REJECTED,
            cmd::PREFLIGHT_CALIBRATION => result::ACCEPTED,
            cmd::PREFLIGHT_REBOOT => {
                if self.armed_s.is_some() || !matches!(p1 as u32, 1 | 3) {
                    result::DENIED
                } else {
                    core.reboot_at_s = Some(core.uptime_s + 0.2);
                    result::ACCEPTED
                }
            }
            cmd::RUN_PREARM_CHECKS => {
                core.ack(from, command.id, result::ACCEPTED);
                return self.report_health(core);
            }
            cmd::REQUEST_MESSAGE => self.request_message(core, p1 as u32),
            cmd::REQUEST_CAPABILITIES if p1 as u32 == 1 => self.request_message(core, id::AUTOPILOT_VERSION),
            cmd::REQUEST_PROTOCOL_VERSION => self.request_message(core, id::PROTOCOL_VERSION),
            cmd::GET_HOME_POSITION => self.request_message(core, id::HOME_POSITION),
            cmd::GET_MESSAGE_INTERVAL => {
                core.send(telemetry::message_interval(
                    p1 as u32,
                    core.streams.interval_us(p1 as u32).unwrap_or(0),
                ));
                result::ACCEPTED
            }
            cmd::SET_MESSAGE_INTERVAL => set_interval(core, p1 as u32, p2),
            _ => result::UNSUPPORTED,
        };
        core.ack(from, command.id, verdict);
    }

    /// `None`: no ack at all, as PX4 does for parameters other than 0 and 1.
    fn arm_disarm(&mut self, core: &mut Core, p1: f32, p2: f32) -> Option<u8> {
        match p1.round() as i64 {
            1 if self.armed_s.is_some() => Some(result::ACCEPTED),
            1 if !self.health(core).can_arm() => {
                self.event(core, events::ARM_DENIED, &[]);
                self.critical(core, "Arming denied: Resolve system health failures first\t");
                Some(result::TEMPORARILY_REJECTED)
            }
            1 => {
                self.arm(core);
                Some(result::ACCEPTED)
            }
            0 if self.armed_s.is_none() => Some(result::ACCEPTED),
            0 if p2 == FORCE || self.flight.landed() => {
                self.disarm(core, events::BY_COMMAND);
                Some(result::ACCEPTED)
            }
            0 => {
                self.event(core, events::DISARM_DENIED, &[]);
                self.critical(core, "Disarming denied: not landed\t");
                Some(result::TEMPORARILY_REJECTED)
            }
            _ => {
                self.event(core, events::BAD_ARM_PARAMETER, &p1.to_le_bytes());
                self.critical(core, &format!("Unsupported ARM_DISARM param: {p1:.3}\t"));
                None
            }
        }
    }

    /// Altitude is above mean sea level whatever the frame says; not-a-number means the default height.
    fn take_off(&mut self, core: &mut Core, command: &Command) -> u8 {
        let z = command.z();
        let at = match command.form {
            CommandForm::Long { xyz: [x, y, _], .. } => {
                if x == i32::MAX as f32 || y == i32::MAX as f32 {
                    return result::DENIED;
                }
                (x.is_finite() && y.is_finite()).then(|| core.local_deg(f64::from(x), f64::from(y)))
            }
            CommandForm::Int { x, y, .. } => {
                if x == REFUSED_COORDINATE || y == REFUSED_COORDINATE {
                    return result::DENIED;
                }
                (x != i32::MAX && y != i32::MAX).then(|| core.local_e7(x, y))
            }
        };
        self.takeoff = Takeoff {
            at,
            amsl_m: z.is_finite().then(|| f64::from(z)),
        };
        self.enter_takeoff(core);
        result::ACCEPTED
    }

    fn reposition(&mut self, core: &mut Core, command: &Command) -> u8 {
        let mut target = core.airframe.position;
        let point = match command.form {
            CommandForm::Long { xyz: [x, y, _], .. } => {
                (x.is_finite() && y.is_finite()).then(|| core.local_deg(f64::from(x), f64::from(y)))
            }
            CommandForm::Int { x, y, .. } => (x != i32::MAX && y != i32::MAX).then(|| core.local_e7(x, y)),
        };
        if let Some(point) = point {
            (target.north, target.east) = (point.north, point.east);
        }
        let z = command.z();
        if z.is_finite() {
            target.up = f64::from(z) - core.config.home.amsl_m;
        }
        if command.params[1] as u32 & 1 != 0 {
            self.enter(core, Mode::Hold);
        }
        if self.armed_s.is_some() && !self.flight.landed() && self.mode == Mode::Hold {
            self.hold_at(target);
        }
        result::ACCEPTED
    }

    fn ask_mode(&mut self, core: &mut Core, main: u8, sub: u8) -> u8 {
        match Mode::from_numbers(main, sub) {
            Asked::Ignored => result::ACCEPTED,
            Asked::BadSubMode => {
                self.event(core, events::BAD_AUTO_MODE, &[]);
                self.critical(core, "Unsupported auto mode\t");
                result::TEMPORARILY_REJECTED
            }
            Asked::Mode(mode) if self.armed_s.is_some() && !mode.flyable() => {
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
            Asked::Mode(mode) => {
                match mode {
                    Mode::Takeoff => {
                        self.takeoff = Takeoff::default();
                        self.enter_takeoff(core);
                    }
                    mode => self.enter(core, mode),
                }
                result::ACCEPTED
            }
        }
    }

    fn request_message(&mut self, core: &mut Core, message: u32) -> u8 {
        let composed = self.compose(core, message);
        let known = composed.is_some() || reports::known(message);
        if let Some(message) = composed {
            core.send(message);
        }
        if known { result::ACCEPTED } else { result::DENIED }
    }
}

fn set_interval(core: &mut Core, message: u32, interval_us: f32) -> u8 {
    if !reports::known(message) {
        return result::FAILED;
    }
    match (interval_us, reports::default_interval_s(message)) {
        (us, _) if us < 0.0 => core.streams.stop(message),
        (us, Some(default_s)) if us < 1.0 => core.streams.every(message, default_s, core.uptime_s),
        (us, None) if us < 1.0 => core.streams.stop(message),
        (us, _) => core.streams.every(message, f64::from(us) / 1e6, core.uptime_s),
    }
    result::ACCEPTED
}

fn send_param(core: &mut Core, index: usize, times: usize) {
    let Some(param) = core.params.at(index).cloned() else {
        return;
    };
    for _ in 0..times {
        core.send(telemetry::param_value(
            &param,
            ParamEncoding::ByteWise,
            index as u16,
            core.params.len(),
        ));
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
