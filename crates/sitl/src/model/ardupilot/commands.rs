//! How ArduCopter answers commands.

use mavlink::dialects::ardupilotmega::MavSeverity;

use super::boot::ORIGIN_S;
use super::transmitter::OWN_CLOCKS;
use super::{ArduPilot, modes, other_commands, reports};
use crate::model::core::{Core, cmd, result};
use crate::model::telemetry::{self, id};
use crate::wire::{Address, Command, CommandForm};

const DO_PAUSE_CONTINUE: u16 = 193;
const DO_FENCE_ENABLE: u16 = 207;
const DO_SET_MISSION_CURRENT: u16 = 224;

impl ArduPilot {
    pub(super) fn command(&mut self, core: &mut Core, from: Address, command: &Command) {
        let [p1, p2, ..] = command.params;
        let verdict = match command.id {
            cmd::ARM_DISARM => return self.arm_disarm(core, from, p1, p2),
            cmd::NAV_TAKEOFF => self.take_off(core, command),
            cmd::NAV_LOITER_UNLIMITED => return self.mode_by_command(core, from, command.id, modes::LOITER),
            cmd::NAV_LAND | cmd::NAV_VTOL_LAND => return self.mode_by_command(core, from, command.id, modes::LAND),
            cmd::NAV_RETURN_TO_LAUNCH => return self.mode_by_command(core, from, command.id, modes::RTL),
            cmd::DO_SET_MODE => return self.do_set_mode(core, from, p1, p2),
            cmd::CONDITION_YAW => self.condition_yaw(core, command),
            cmd::DO_CHANGE_SPEED => self.change_speed(p1, p2),
            cmd::DO_SET_HOME => self.choose_home(core, command),
            cmd::DO_REPOSITION => self.reposition(core, command),
            cmd::MISSION_START => return self.start_mission(core, from, p1, p2),
            DO_SET_MISSION_CURRENT => {
                let verdict = self.current_by_command(p1, p2);
                core.ack(from, command.id, verdict);
                if verdict == result::ACCEPTED {
                    self.go_to_current_item(core);
                }
                return;
            }
            DO_PAUSE_CONTINUE => self.pause_or_continue(core, p1),
            DO_FENCE_ENABLE => {
                if self.fence.switch(core, p1, p2 as u32) {
                    result::ACCEPTED
                } else {
                    result::FAILED
                }
            }
            cmd::PREFLIGHT_CALIBRATION if self.armed_s.is_some() => {
                core.ack(from, command.id, result::FAILED);
                self.text(core, MavSeverity::MAV_SEVERITY_NOTICE, "Disarm to allow calibration");
                return;
            }
            cmd::PREFLIGHT_CALIBRATION if asks_nothing(command) => result::UNSUPPORTED,
            cmd::PREFLIGHT_CALIBRATION => result::ACCEPTED,
            cmd::PREFLIGHT_REBOOT => self.reboot(core, p1),
            cmd::RUN_PREARM_CHECKS => return self.run_checks(core, from),
            cmd::REQUEST_MESSAGE => return self.request_message(core, from, command.id, p1 as u32),
            cmd::REQUEST_CAPABILITIES if p1 as u32 == 1 => {
                return self.request_message(core, from, command.id, id::AUTOPILOT_VERSION);
            }
            cmd::GET_HOME_POSITION => return self.request_message(core, from, command.id, id::HOME_POSITION),
            cmd::GET_MESSAGE_INTERVAL => get_interval(core, p1 as u32),
            cmd::SET_MESSAGE_INTERVAL => self.set_interval(core, p1 as u32, p2),
            cmd::REQUEST_CAPABILITIES => result::FAILED,
            other => other_commands::verdict(other, command.form),
        };
        core.ack(from, command.id, verdict);
        if verdict == result::ACCEPTED {
            self.announce_mode(core);
        }
    }

    fn reboot(&self, core: &mut Core, p1: f32) -> u8 {
        if self.armed_s.is_some() {
            return result::FAILED;
        }
        if !matches!(p1 as u32, 1 | 3) {
            return result::UNSUPPORTED;
        }
        core.reboot_at_s = Some(core.uptime_s + 0.2);
        result::ACCEPTED
    }

    fn request_message(&mut self, core: &mut Core, from: Address, command: u16, message: u32) {
        let known = reports::known(message);
        let composed = self.compose(core, message).filter(|_| known);
        let verdict = if known { result::ACCEPTED } else { result::FAILED };
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
            -1.0 => core.streams.stop(message),
            us if us < 0.0 => return result::DENIED,
            us if us < 1.0 && message == id::HEARTBEAT => core.streams.every(message, 1.0, core.uptime_s + 1.0),
            us if us < 1.0 => core.streams.stop(message),
            us if us <= 1000.0 => return result::DENIED,
            us => {
                let interval_s = f64::from(us) / 1e6;
                // Streams of the same interval are sent together.
                core.streams.in_step(message, interval_s, core.uptime_s, OWN_CLOCKS);
            }
        }
        result::ACCEPTED
    }

    /// Turns to a heading, or by an angle, right (1) or left (-1), until it gets another target.
    fn condition_yaw(&self, core: &mut Core, command: &Command) -> u8 {
        let [degrees, _, side, relative] = command.params;
        if !(0.0..=360.0).contains(&degrees) || (relative != 0.0 && relative != 1.0) {
            return result::FAILED;
        }
        if self.mode == modes::GUIDED {
            let from = core.airframe.heading_deg;
            let by = f64::from(if side < 0.0 { -degrees } else { degrees });
            core.airframe
                .turn_to(if relative == 1.0 { from + by } else { f64::from(degrees) });
        }
        result::ACCEPTED
    }
}

fn asks_nothing(command: &Command) -> bool {
    let rest = match command.form {
        CommandForm::Long { xyz, .. } => xyz == [0.0; 3],
        CommandForm::Int { x, y, z, .. } => (x, y, z) == (0, 0, 0.0),
    };
    rest && command.params == [0.0; 4]
}

fn get_interval(core: &mut Core, message: u32) -> u8 {
    let known = reports::known(message);
    let interval = core.streams.interval_us(message).unwrap_or(if known { -1 } else { 0 });
    core.send(telemetry::message_interval(message, interval));
    if known { result::ACCEPTED } else { result::FAILED }
}
