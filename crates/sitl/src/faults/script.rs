//! A script as data.

use super::signing::Key;
use crate::model::{Autopilot, Neu, Wind};
use crate::wire::Address;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// Seed of all randomness, which differs for each vehicle.
    pub seed: u64,
    pub lines: Vec<Line>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// `None`: all vehicles.
    pub vehicle: Option<String>,
    pub when: When,
    pub what: What,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum When {
    /// Simulated seconds after the first power-on; reboots do not reset them.
    At(f64),
    On {
        /// MAV_CMD; `None` for any.
        command: Option<u16>,
        /// Which arrival; resends count.
        occurrence: Occurrence,
        /// Simulated seconds after it; 0 for faults of the command itself.
        after_s: f64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occurrence {
    /// Only this arrival, counted from 1.
    Nth(u32),
    Every,
}

#[derive(Clone, Debug, PartialEq)]
pub enum What {
    Command(CommandFault),
    /// Seconds; `None`: until the end.
    Bytes(Bytes, Option<f64>),
    /// Seconds; `None`: until the end.
    Around(Around, Option<f64>),
    Sudden(Sudden),
}

/// A fault of one command and its acks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CommandFault {
    /// The vehicle never gets it.
    LoseCommand,
    /// It is executed, the ack is lost.
    LoseAck,
    /// The ack is repeated this many times.
    DuplicateAck(u32),
    /// The ack is this many seconds late.
    DelayAck(f64),
    /// It is not executed; the ack has this MAV_RESULT.
    Deny(u8),
    /// It is executed; the ack has this MAV_RESULT.
    Answer(u8),
    /// IN_PROGRESS at once and twice a second for this many seconds, then the ack.
    InProgress(f64),
    /// The ack names another target than the sender of the command.
    AckTo(Address),
    /// The ack names no target, like that of old firmware.
    AckUntargeted,
}

/// Damage in both directions. Percentages are of bytes, except for `Truncate`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bytes {
    /// This percentage is lost.
    Lose(f64),
    /// This percentage is changed.
    Noise(f64),
    /// A stray 0xFD or 0xFE is inserted before this percentage.
    Stray(f64),
    /// This percentage of the vehicle's frames is truncated.
    Truncate(f64),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Around {
    Silence,
    Deaf,
    /// The link is closed: a new pseudo-terminal is created, a TCP connection is closed.
    HangUp,
    /// The vehicle's messages are held back, and then sent all at once.
    Backlog,
    /// Frames of MAVLink 1; what does not fit in them is not sent.
    MavLink1,
    Signed {
        key: Key,
        /// Frames to the vehicle that are not signed with it are ignored.
        only: bool,
    },
    /// This many frames a second with ids that are in no dialect.
    UnknownIds(f64),
    /// The vehicle also sends this message this many times a second; every byte of it is 1, except the time since boot.
    Extra {
        id: u32,
        hertz: f64,
    },
    /// EXTENDED_SYS_STATE has this MAV_LANDED_STATE, whatever the real state.
    LandedState(u8),
    /// Another autopilot with this system id is on the wire, armed and in the air.
    SecondAutopilot(u8),
    Gimbal,
    /// A ground station (255/190) is on the wire; the vehicle receives its messages, too.
    GroundStation,
    /// The vehicle's receiver reports a crewed aircraft that hovers here, in meters from the vehicle's home.
    Aircraft(Neu),
    NoGps,
    Wind(Wind),
    /// The autopilot's estimate of its place wanders by up to so many meters over ground.
    Drift(f64),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sudden {
    /// The board restarts, in the air too: then its motors stop, and it boots where it fell.
    Reboot,
    MotorFailure,
    /// The charge is this many percent.
    Battery(f64),
    Mode(ModeNumber),
}

/// Numbers in HEARTBEAT.custom_mode; an autopilot that lacks the mode ignores it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModeNumber {
    pub px4: Option<u32>,
    pub ardupilot: Option<u32>,
}

impl ModeNumber {
    pub fn of(self, autopilot: Autopilot) -> Option<u32> {
        match autopilot {
            Autopilot::Px4 => self.px4,
            Autopilot::ArduPilot => self.ardupilot,
        }
    }
}

impl Script {
    pub fn lines_of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Line> {
        let is_for = move |line: &&Line| line.vehicle.as_deref().is_none_or(|vehicle| vehicle == name);
        self.lines.iter().filter(is_for)
    }
}
