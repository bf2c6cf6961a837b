//! The frames on one wire in both directions, each with its time.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Cursor, Write};
use std::time::Duration;

use mavlink::MavlinkReader;
use mavlink::dialects::ardupilotmega::{
    GLOBAL_POSITION_INT_DATA, HEARTBEAT_DATA, MavCmd, MavMessage, MavModeFlag, MavResult, MavState,
};

use crate::relay::Way;
use skein_tests::wire::{Command, Said, now};

const AUTOPILOT: u8 = 1;

pub type Build = (String, String);

pub struct Heard {
    /// Unix microseconds.
    pub at: u64,
    pub autopilot: bool,
    pub message: MavMessage,
}

pub struct Record {
    heard: Vec<Heard>,
    /// Frames and bytes that passed, by direction and message id.
    counts: BTreeMap<(bool, u32), [u64; 2]>,
    unsigned: u64,
    log: File,
}

impl Record {
    pub fn new(log: File) -> Self {
        Self {
            heard: Vec::new(),
            counts: BTreeMap::new(),
            unsigned: 0,
            log,
        }
    }

    /// `passed`: the frame got through.
    pub fn take(&mut self, way: Way, passed: bool, frame: &[u8]) {
        let at = now();
        let to_agent = way == Way::ToAgent;
        if passed {
            // A full disk costs the log, not the run.
            let _ = self.log.write_all(&[&at.to_be_bytes()[..], frame].concat());
            let count = self.counts.entry((to_agent, message_id(frame))).or_default();
            count[0] += 1;
            count[1] += frame.len() as u64;
            let signed = frame[0] == 0xFD && frame[2] & 1 != 0;
            self.unsigned += u64::from(!to_agent && !signed);
        }
        let mut reader = MavlinkReader::with_capacity(512, Cursor::new(frame));
        let Ok((header, message)) = reader.read_any_message::<MavMessage>() else {
            return;
        };
        let autopilot = to_agent && header.component_id == AUTOPILOT;
        if to_agent != autopilot || (!to_agent && !passed) || is_noise(&message) {
            return;
        }
        self.heard.push(Heard { at, autopilot, message });
    }

    pub fn reported_since(&self, since: u64) -> impl DoubleEndedIterator<Item = (u64, &MavMessage)> {
        let said = self.heard.iter().filter(move |h| h.autopilot && h.at >= since);
        said.map(|heard| (heard.at, &heard.message))
    }

    pub fn sent_since(&self, since: u64) -> impl DoubleEndedIterator<Item = (u64, &MavMessage)> {
        let sent = self.heard.iter().filter(move |h| !h.autopilot && h.at >= since);
        sent.map(|heard| (heard.at, &heard.message))
    }

    /// Commands that move something, also SET_MODE (11) and set-points.
    #[allow(deprecated, reason = "a change of mode by the old message is one too")]
    pub fn commands_since(&self, since: u64) -> Vec<Command> {
        let command = |(at, message): (u64, &MavMessage)| match message {
            MavMessage::SET_MODE(_)
            | MavMessage::SET_POSITION_TARGET_GLOBAL_INT(_)
            | MavMessage::SET_POSITION_TARGET_LOCAL_NED(_)
            | MavMessage::SET_ATTITUDE_TARGET(_)
            | MavMessage::MANUAL_CONTROL(_)
            | MavMessage::RC_CHANNELS_OVERRIDE(_) => Some(Command {
                at,
                command: MavCmd::MAV_CMD_DO_SET_MODE,
                param1: f32::NAN,
                param2: f32::NAN,
                param7: f32::NAN,
            }),
            other => Command::of(at, other),
        };
        self.sent_since(since).filter_map(command).collect()
    }

    pub fn orders_since(&self, since: u64) -> Vec<String> {
        let name = |c: &Command| format!("{:?}", c.command).trim_start_matches("MAV_CMD_").to_owned();
        self.commands_since(since).iter().map(name).collect()
    }

    pub fn said(&self) -> Said {
        let mut said = Said::default();
        let last_of = |wanted: fn(&MavMessage) -> bool| self.reported_since(0).rev().find(|(_, m)| wanted(m));
        let beat = last_of(|m| matches!(m, MavMessage::HEARTBEAT(_)));
        let state = last_of(|m| matches!(m, MavMessage::EXTENDED_SYS_STATE(_)));
        for (_, message) in [beat, state].into_iter().flatten() {
            said.take_in(true, message);
        }
        said
    }

    /// On a machine that is too busy, the simulation of an autopilot stands still.
    pub fn longest_silence(&self) -> Duration {
        let mut times = self.reported_since(0).map(|(at, _)| at);
        let Some(mut last) = times.next() else {
            return Duration::ZERO;
        };
        let silences = times.map(|at| at.saturating_sub(std::mem::replace(&mut last, at)));
        Duration::from_micros(silences.max().unwrap_or(0))
    }

    pub fn build(&self) -> Option<Build> {
        let reported = self.reported_since(0).rev().find_map(|(_, message)| match message {
            MavMessage::AUTOPILOT_VERSION(version) => Some(version),
            _ => None,
        })?;
        let [major, minor, patch, kind] = reported.flight_sw_version.to_be_bytes();
        let kind = match kind {
            0..64 => "-dev",
            64..128 => "-alpha",
            128..192 => "-beta",
            192..255 => "-rc",
            255 => "",
        };
        // ArduPilot writes the beginning of the commit as text, PX4 as a number, the lowest byte first.
        let bytes = reported.flight_custom_version;
        let commit = if bytes.iter().all(u8::is_ascii_hexdigit) {
            String::from_utf8_lossy(&bytes).into_owned()
        } else {
            bytes.iter().rev().map(|byte| format!("{byte:02x}")).collect()
        };
        Some((format!("{major}.{minor}.{patch}{kind}"), commit))
    }

    pub fn beat(&self) -> Option<&HEARTBEAT_DATA> {
        self.reported_since(0).rev().find_map(|(_, message)| match message {
            MavMessage::HEARTBEAT(beat) => Some(beat),
            _ => None,
        })
    }

    pub fn mode(&self) -> Option<u32> {
        self.beat().map(|beat| beat.custom_mode)
    }

    pub fn in_failsafe(&self) -> bool {
        let bad = [MavState::MAV_STATE_CRITICAL, MavState::MAV_STATE_EMERGENCY];
        self.beat().is_some_and(|beat| bad.contains(&beat.system_status))
    }

    pub fn position(&self) -> Option<&GLOBAL_POSITION_INT_DATA> {
        self.reported_since(0).rev().find_map(|(_, message)| match message {
            MavMessage::GLOBAL_POSITION_INT(position) => Some(position),
            _ => None,
        })
    }

    /// Meters above home, by its last report.
    pub fn height(&self) -> Option<f64> {
        self.position()
            .map(|position| f64::from(position.relative_alt) / 1000.0)
    }

    /// Meters above home.
    pub fn heights_since(&self, since: u64) -> impl Iterator<Item = (u64, f64)> {
        self.reported_since(since).filter_map(|(at, message)| match message {
            MavMessage::GLOBAL_POSITION_INT(p) => Some((at, f64::from(p.relative_alt) / 1000.0)),
            _ => None,
        })
    }

    /// Percent.
    pub fn charge(&self) -> Option<i8> {
        self.reported_since(0).rev().find_map(|(_, message)| match message {
            MavMessage::BATTERY_STATUS(battery) => Some(battery.battery_remaining),
            MavMessage::SYS_STATUS(status) => Some(status.battery_remaining),
            _ => None,
        })
    }

    pub fn amperes(&self) -> Option<f64> {
        self.reported_since(0).rev().find_map(|(_, message)| match message {
            MavMessage::SYS_STATUS(status) if status.current_battery > 0 => {
                Some(f64::from(status.current_battery) / 100.0)
            }
            _ => None,
        })
    }

    pub fn texts_since(&self, since: u64) -> Vec<String> {
        let text = |(_, message): (u64, &MavMessage)| match message {
            MavMessage::STATUSTEXT(text) => text.text.to_str().ok().map(|text| text.trim().to_owned()),
            _ => None,
        };
        self.reported_since(since).filter_map(text).collect()
    }

    pub fn first_reported(&self, since: u64, wanted: impl Fn(&MavMessage) -> bool) -> Option<u64> {
        self.reported_since(since)
            .find(|(_, message)| wanted(message))
            .map(|(at, _)| at)
    }

    pub fn first_sent(&self, since: u64, wanted: MavCmd) -> Option<u64> {
        self.commands_since(since)
            .iter()
            .find(|c| c.command == wanted)
            .map(|c| c.at)
    }

    pub fn flew_without_a_break_since(&self, since: u64) -> bool {
        let mut said = Said::default();
        self.reported_since(0).all(|(at, message)| {
            said.take_in(true, message);
            at < since || said.in_air()
        })
    }

    /// Accepted arm commands. Errors: a command to disarm, or to arm by force, was sent, which nothing in Skein may do.
    pub fn arms(&self) -> anyhow::Result<usize> {
        let arming = MavCmd::MAV_CMD_COMPONENT_ARM_DISARM;
        for command in self.commands_since(0).iter().filter(|c| c.command == arming) {
            let plain = command.param1 == 1.0 && command.param2 == 0.0;
            anyhow::ensure!(plain, "it was sent {command:?}");
        }
        let accepted = |message: &MavMessage| {
            matches!(message, MavMessage::COMMAND_ACK(ack)
                if ack.command == arming && ack.result == MavResult::MAV_RESULT_ACCEPTED)
        };
        Ok(self.reported_since(0).filter(|(_, message)| accepted(message)).count())
    }

    pub fn arm_commands_since(&self, since: u64) -> usize {
        let arming = MavCmd::MAV_CMD_COMPONENT_ARM_DISARM;
        self.commands_since(since)
            .iter()
            .filter(|c| c.command == arming)
            .count()
    }

    /// Frames and bytes.
    pub fn passed_to_agent(&self) -> [u64; 2] {
        let to_agent = self.counts.iter().filter(|((to_agent, _), _)| *to_agent);
        to_agent.fold([0, 0], |[frames, bytes], (_, [f, b])| [frames + f, bytes + b])
    }

    pub fn unsigned(&self) -> u64 {
        self.unsigned
    }

    pub fn passed_to_autopilot(&self, message: u32) -> u64 {
        self.counts.get(&(false, message)).map_or(0, |count| count[0])
    }
}

pub fn is_armed(message: &MavMessage) -> bool {
    matches!(message, MavMessage::HEARTBEAT(beat) if beat.base_mode.contains(MavModeFlag::MAV_MODE_FLAG_SAFETY_ARMED))
}

pub fn is_disarmed(message: &MavMessage) -> bool {
    matches!(message, MavMessage::HEARTBEAT(_)) && !is_armed(message)
}

/// Streams that no verdict asks for; they would fill the memory.
fn is_noise(message: &MavMessage) -> bool {
    matches!(
        message,
        MavMessage::ATTITUDE(_)
            | MavMessage::ATTITUDE_QUATERNION(_)
            | MavMessage::ATTITUDE_TARGET(_)
            | MavMessage::HIGHRES_IMU(_)
            | MavMessage::SCALED_IMU(_)
            | MavMessage::RAW_IMU(_)
            | MavMessage::LOCAL_POSITION_NED(_)
            | MavMessage::ODOMETRY(_)
            | MavMessage::SERVO_OUTPUT_RAW(_)
            | MavMessage::POSITION_TARGET_LOCAL_NED(_)
            | MavMessage::ACTUATOR_OUTPUT_STATUS(_)
            | MavMessage::ALTITUDE(_)
            | MavMessage::VFR_HUD(_)
            | MavMessage::TIMESYNC(_)
    )
}

fn message_id(frame: &[u8]) -> u32 {
    match frame {
        [0xFD, _, _, _, _, _, _, low, middle, high, ..] => u32::from_le_bytes([*low, *middle, *high, 0]),
        [0xFE, _, _, _, _, id, ..] => u32::from(*id),
        _ => 0,
    }
}
