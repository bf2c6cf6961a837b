//! Acts and received messages of a vehicle, from the simulator's side of the wire.

use mavlink::MavlinkReader;
use mavlink::dialects::ardupilotmega::{MavCmd, MavLandedState, MavMessage, MavModeFlag, MavResult};
use std::io::Cursor;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

const AUTOPILOT: u8 = 1;

pub struct Wire(pub PathBuf);

#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// Unix microseconds.
    pub at: u64,
    pub command: MavCmd,
    pub param1: f32,
    pub param2: f32,
    /// `z` of a COMMAND_INT.
    pub param7: f32,
}

impl Command {
    #[allow(deprecated, reason = "older firmware knows no other way, and newer still knows it")]
    pub fn of(at: u64, message: &MavMessage) -> Option<Self> {
        let asking = [
            MavCmd::MAV_CMD_GET_MESSAGE_INTERVAL,
            MavCmd::MAV_CMD_SET_MESSAGE_INTERVAL,
            MavCmd::MAV_CMD_REQUEST_MESSAGE,
            MavCmd::MAV_CMD_RUN_PREARM_CHECKS,
        ];
        let (command, param1, param2, param7) = match message {
            MavMessage::COMMAND_LONG(c) => (c.command, c.param1, c.param2, c.param7),
            MavMessage::COMMAND_INT(c) => (c.command, c.param1, c.param2, c.z),
            _ => return None,
        };
        (!asking.contains(&command)).then_some(Self {
            at,
            command,
            param1,
            param2,
            param7,
        })
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Said {
    pub armed: Option<bool>,
    pub landed: Option<MavLandedState>,
}

impl Said {
    /// Altitude reached, by its own messages.
    pub fn in_air(self) -> bool {
        self.armed == Some(true) && self.landed == Some(MavLandedState::MAV_LANDED_STATE_IN_AIR)
    }

    pub fn down(self) -> bool {
        self.armed == Some(false) && self.landed == Some(MavLandedState::MAV_LANDED_STATE_ON_GROUND)
    }

    /// Unarmed by all its reports, or landed again. Unasked, an ArduPilot does not report whether it is landed.
    pub fn not_flying(self) -> bool {
        self.armed != Some(true)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Degrees.
    pub at: (f64, f64),
    /// Degrees from north.
    pub heading: Option<f64>,
}

pub fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| u64::try_from(d.as_micros()).unwrap_or(u64::MAX))
}

impl Wire {
    fn messages(&self) -> Vec<(u64, bool, MavMessage)> {
        let Ok(log) = std::fs::read(&self.0) else {
            return Vec::new();
        };
        let (mut rest, mut found) = (log.as_slice(), Vec::new());
        while rest.len() > 10 {
            let at = u64::from_be_bytes(rest[..8].try_into().unwrap());
            let frame = &rest[8..];
            let length = match frame[0] {
                0xFD => 12 + usize::from(frame[1]) + if frame.len() > 2 && frame[2] & 1 != 0 { 13 } else { 0 },
                0xFE => 8 + usize::from(frame[1]),
                other => panic!("{}: a frame begins with {other:#x}", self.0.display()),
            };
            // The last frame may be half written.
            let Some(frame) = frame.get(..length) else { break };
            let mut reader = MavlinkReader::with_capacity(512, Cursor::new(frame));
            if let Ok((header, message)) = reader.read_any_message::<MavMessage>() {
                found.push((at, header.component_id == AUTOPILOT, message));
            }
            rest = &rest[8 + length..];
        }
        found
    }

    pub fn said(&self) -> Said {
        let mut said = Said::default();
        for (_, autopilot, message) in self.messages() {
            said.take_in(autopilot, &message);
        }
        said
    }

    /// Last report above home, meters.
    pub fn height(&self) -> Option<f64> {
        self.heights().last().copied()
    }

    /// All reports above home, meters.
    pub fn heights(&self) -> Vec<f64> {
        let height = |(_, autopilot, message)| match message {
            MavMessage::GLOBAL_POSITION_INT(position) if autopilot => Some(f64::from(position.relative_alt) / 1000.0),
            _ => None,
        };
        self.messages().into_iter().filter_map(height).collect()
    }

    pub fn places(&self) -> Vec<Place> {
        let place = |(_, autopilot, message)| match message {
            MavMessage::GLOBAL_POSITION_INT(at) if autopilot => Some(Place {
                at: (f64::from(at.lat) / 1e7, f64::from(at.lon) / 1e7),
                heading: (at.hdg != u16::MAX).then(|| f64::from(at.hdg) / 100.0),
            }),
            _ => None,
        };
        self.messages().into_iter().filter_map(place).collect()
    }

    /// Creation times, milliseconds since boot.
    pub fn positions_sent(&self) -> Vec<u32> {
        let made = |(_, autopilot, message)| match message {
            MavMessage::GLOBAL_POSITION_INT(at) if autopilot => Some(at.time_boot_ms),
            _ => None,
        };
        self.messages().into_iter().filter_map(made).collect()
    }

    /// Flew since `since`, or was landed and disarmed all the time, by each of its messages on flight.
    pub fn flew_without_a_break_since(&self, since: u64) -> bool {
        let mut said = Said::default();
        self.messages().iter().all(|(at, autopilot, message)| {
            said.take_in(*autopilot, message);
            *at < since || said.in_air()
        })
    }

    pub fn commands_since(&self, since: u64) -> Vec<Command> {
        let sent = self
            .messages()
            .into_iter()
            .filter(|(at, autopilot, _)| !autopilot && *at >= since);
        sent.filter_map(|(at, _, message)| Command::of(at, &message)).collect()
    }

    /// The seconds since 2019 of each place of its operator, in the order sent.
    pub fn operator_sent(&self) -> Vec<u32> {
        let sent = |(_, autopilot, message): (u64, bool, MavMessage)| match message {
            MavMessage::OPEN_DRONE_ID_SYSTEM(system) if !autopilot => Some(system.timestamp),
            _ => None,
        };
        self.messages().into_iter().filter_map(sent).collect()
    }

    /// Accepted commands to arm. Panics on an order to disarm, which nothing in Skein may send.
    pub fn arms(&self) -> usize {
        let arming = MavCmd::MAV_CMD_COMPONENT_ARM_DISARM;
        for command in self.commands_since(0).iter().filter(|c| c.command == arming) {
            let plain_arm = command.param1 == 1.0 && command.param2 == 0.0;
            assert!(plain_arm, "{}: {command:?}", self.0.display());
        }
        let accepted = |message: &MavMessage| {
            matches!(message, MavMessage::COMMAND_ACK(ack)
                if ack.command == arming && ack.result == MavResult::MAV_RESULT_ACCEPTED)
        };
        let messages = self.messages();
        messages
            .iter()
            .filter(|(_, autopilot, message)| *autopilot && accepted(message))
            .count()
    }
}

impl Said {
    pub fn take_in(&mut self, autopilot: bool, message: &MavMessage) {
        match message {
            MavMessage::HEARTBEAT(beat) if autopilot => {
                self.armed = Some(beat.base_mode.contains(MavModeFlag::MAV_MODE_FLAG_SAFETY_ARMED));
            }
            MavMessage::EXTENDED_SYS_STATE(state) if autopilot => self.landed = Some(state.landed_state),
            _ => {}
        }
    }
}
