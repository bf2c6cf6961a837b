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
        /// Resends count.
        occurrence: Occurrence,
        /// Simulated seconds after it; 0 for faults of the command itself.
        after_s: f64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occurrence {
    /// Arrival counted from 1.
    Nth(u32),
    Every,
}

#[derive(Clone, Debug, PartialEq)]
pub enum What {
    Command(CommandFault),
    /// Seconds; `None`: until the end.
    Bytes(Bytes, Option<f64>),
    Around(Around, Option<f64>),
    Sudden(Sudden),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CommandFault {
    LoseCommand,
    LoseAck,
    DuplicateAck(u32),
    /// Seconds.
    DelayAck(f64),
    /// MAV_RESULT, without execution.
    Deny(u8),
    /// MAV_RESULT, after execution.
    Answer(u8),
    /// IN_PROGRESS at once and twice a second for this many seconds, then the ack.
    InProgress(f64),
    AckTo(Address),
    /// Leaves out the target, as old firmware does.
    AckUntargeted,
}

/// Damage in both directions, in percent of bytes; `Truncate`: of the vehicle's frames.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bytes {
    Lose(f64),
    Noise(f64),
    /// A stray 0xFD or 0xFE is inserted before a byte.
    Stray(f64),
    Truncate(f64),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Around {
    Silence,
    Deaf,
    /// A new pseudo-terminal is created, a TCP connection is closed.
    HangUp,
    /// Messages are held back, and then sent all at once.
    Backlog,
    /// Drops what does not fit in MAVLink 1.
    MavLink1,
    Signed {
        key: Key,
        /// Frames to the vehicle that are not signed with it are ignored.
        only: bool,
    },
    /// Frames a second with ids that are in no dialect.
    UnknownIds(f64),
    /// Also sends this message; every byte of it is 1, except the time since boot.
    Extra {
        id: u32,
        hertz: f64,
    },
    /// MAV_LANDED_STATE in EXTENDED_SYS_STATE, whatever the real state.
    LandedState(u8),
    /// System id; armed and in the air.
    SecondAutopilot(u8),
    Gimbal,
    /// 255/190; the vehicle receives its messages, too.
    GroundStation,
    /// A crewed aircraft reported by the vehicle's receiver, in meters from the vehicle's home.
    Aircraft(Neu),
    NoGps,
    Wind(Wind),
    /// Wander of the autopilot's estimate over ground, meters.
    Drift(f64),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sudden {
    /// Restarts the board; in the air the motors stop, and it boots where it fell.
    Reboot,
    MotorFailure,
    /// Percent.
    Battery(f64),
    Mode(ModeNumber),
}

/// HEARTBEAT.custom_mode; an autopilot that lacks the mode ignores it.
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
