//! PX4's answers to messages that are not commands: heartbeats, parameters, plans, files, events.

use mavlink::dialects::ardupilotmega as apm;
use mavlink::dialects::ardupilotmega::MavMessage;

use super::Px4;
use crate::model::config::Firmware;
use crate::model::core::{Core, cmd};
use crate::model::outdated;
use crate::model::telemetry::{self, ParamEncoding};
use crate::wire::{Address, Request};

/// MAV_TYPE_GCS.
const GROUND_STATION: u8 = 6;
/// MAV_TYPE_ONBOARD_CONTROLLER.
const COMPANION: u8 = 18;
/// MAV_TYPE_ODID.
const REMOTE_ID: u8 = 34;

/// Answered with a number over all its parameters.
const HASH: &str = "_HASH_CHECK";

/// A u32 by its bits (the real number differs; peers only compare it).
fn hash(core: &Core) -> MavMessage {
    let values = (0..core.params.len()).filter_map(|at| core.params.at(at));
    let bytes = values.flat_map(|param| param.name.bytes().chain(param.value.to_bits().to_le_bytes()));
    let hash = bytes.fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    MavMessage::PARAM_VALUE(apm::PARAM_VALUE_DATA {
        param_value: f32::from_bits(hash),
        param_count: core.params.len() as u16,
        param_index: u16::MAX,
        param_id: HASH.into(),
        param_type: apm::MavParamType::MAV_PARAM_TYPE_UINT32,
    })
}

impl Px4 {
    pub(super) fn request(&mut self, core: &mut Core, from: Address, request: &Request) {
        match request {
            Request::Heartbeat { kind: GROUND_STATION } => self.gcs.heartbeat(core),
            Request::Heartbeat { kind: COMPANION } if from.system == core.config.system_id => {
                self.companion.heartbeat(core);
            }
            Request::Heartbeat { kind: REMOTE_ID } if from.system == core.config.system_id => {
                self.remote_id.heartbeat(core);
            }
            // It ignores messages from its own address.
            Request::Command(_) if (from.system, from.component) == (core.config.system_id, 1) => {}
            Request::Command(command) if core.is_for_us(command.to) || is_for_everyone(core, command.to) => {
                self.command(core, from, command);
            }
            Request::SetMode {
                system,
                base_mode,
                custom_mode,
            } if *system == core.config.system_id && base_mode & 1 != 0 => {
                let [_, _, main, sub] = custom_mode.to_le_bytes();
                let verdict = self.request_mode(core, main, sub);
                self.acks.push(from, cmd::DO_SET_MODE, verdict);
            }
            Request::ParamRead { to, name, .. } if core.is_for_us(*to) && name == HASH => core.send(hash(core)),
            Request::ParamRead { to, index, name } if core.is_for_us(*to) => {
                let index = usize::try_from(*index).ok().or_else(|| core.params.index_of(name));
                match index {
                    Some(index) => send_param(core, index),
                    None if core.config.firmware.names_missing_parameters() => {
                        core.send(telemetry::param_missing(from, -1, name));
                    }
                    None => {}
                }
            }
            Request::ParamList { to } if core.is_for_us(*to) => {
                for index in 0..core.params.len() {
                    send_param(core, index);
                }
            }
            Request::ParamSet { to, name, .. } if core.is_for_us(*to) && core.names_as_missing(name) => {
                core.send(telemetry::param_missing(from, -1, name));
            }
            Request::ParamSet { to, name, value, kind } if core.is_for_us(*to) => {
                let value = ParamEncoding::ByteWise.decode(*value, *kind);
                // No answer to another type than its own (recorded).
                let known = core.params.index_of(name).and_then(|at| core.params.at(at));
                let fits = known.is_some_and(|param| param.kind.number() == *kind);
                if fits && let Some(index) = core.params.set(name, value) {
                    send_param(core, index);
                    self.params_to_send.push(index);
                }
            }
            Request::Plan(message) if core.is_for_us(message.to) => self.receive_plan(core, from, message),
            Request::Steer(target) if core.is_for_us(target.to) => self.steer(core, target),
            Request::Goto(target) if core.is_for_us(target.to) => self.steer_globally(core, target),
            Request::Sticks { system, axes } if *system == core.config.system_id => self.take_sticks(core, *axes),
            Request::Ftp { to, packet } if core.is_for_us(*to) => {
                if let Some(answer) = self.files.receive(from, packet) {
                    core.send(answer);
                }
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
}

/// 1.18 acts on commands to system 0, too (recorded).
fn is_for_everyone(core: &Core, to: Address) -> bool {
    core.config.firmware == Firmware::Px4V118 && to.system == 0 && matches!(to.component, 0 | 1)
}

pub(super) fn send_param(core: &mut Core, index: usize) {
    if let Some(param) = core.params.at(index).cloned() {
        let count = core.params.len();
        core.send(telemetry::param_value(
            &param,
            ParamEncoding::ByteWise,
            index as u16,
            count,
        ));
    }
}
