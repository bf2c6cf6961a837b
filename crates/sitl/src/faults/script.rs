//! A script as data.
//!
//! Owns: which faults there are and when they begin. Must not: play them, read text.

use super::signing::Key;
use crate::model::Autopilot;
use crate::wire::Address;

/// Everything that is to go wrong in one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// From which all chance is drawn, for each vehicle its own.
    pub seed: u64,
    /// The faults, in no order.
    pub lines: Vec<Line>,
}

/// One fault.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The vehicle's name; `None` for all of them.
    pub vehicle: Option<String>,
    /// When it begins.
    pub when: When,
    /// What goes wrong.
    pub what: What,
}

/// When a fault begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum When {
    /// Simulated seconds after the vehicle was switched on first; reboots do not set them back.
    At(f64),
    /// When a command to the vehicle's autopilot arrives.
    On {
        /// MAV_CMD number; `None` for any.
        command: Option<u16>,
        /// Which arrival; resends count.
        turn: Turn,
        /// Simulated seconds after it; 0 for faults of the command itself.
        after_s: f64,
    },
}

/// Which arrival of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Only this one, counted from 1.
    Nth(u32),
    /// Each.
    Every,
}

/// What goes wrong.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// With the command that triggered it.
    Command(CommandFault),
    /// With the bytes on the wire, for so many seconds; `None` for ever.
    Bytes(Bytes, Option<f64>),
    /// With what is said and heard, for so many seconds; `None` for ever.
    Around(Around, Option<f64>),
    /// At once, with the vehicle itself.
    Sudden(Sudden),
}

/// With one command and its acks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CommandFault {
    /// The vehicle never gets it.
    LoseCommand,
    /// It is carried out, the ack does not come.
    LoseAck,
    /// The ack comes once more, so many times.
    DuplicateAck(u32),
    /// The ack comes so many seconds late.
    DelayAck(f64),
    /// It is not carried out; the ack says this MAV_RESULT.
    Deny(u8),
    /// It is carried out; the ack says this MAV_RESULT.
    Answer(u8),
    /// IN_PROGRESS at once and twice a second for so many seconds, then the ack.
    InProgress(f64),
    /// The ack names somebody else as the one who asked.
    AckTo(Address),
    /// The ack names nobody, as old firmware's does.
    AckUntargeted,
}

/// With the bytes in both directions. Percentages are of bytes, but for `Truncate`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bytes {
    /// So many are lost.
    Lose(f64),
    /// So many are changed.
    Noise(f64),
    /// Before so many a stray 0xFD or 0xFE is put in.
    Stray(f64),
    /// So many frames of the vehicle, in percent, end early.
    Truncate(f64),
}

/// With what is said, by whom, and what is heard.
#[derive(Clone, Debug, PartialEq)]
pub enum Around {
    /// The vehicle says nothing.
    Silence,
    /// The vehicle hears nothing.
    Deaf,
    /// The link hangs up: a pseudo-terminal is made anew, a TCP connection is closed.
    HangUp,
    /// What the vehicle says is held back, and then comes all at once.
    Backlog,
    /// Frames of MAVLink 1; what does not fit in them is not said.
    MavLink1,
    /// Signed frames.
    Signed {
        /// The shared key.
        key: Key,
        /// Frames to the vehicle that are not signed with it are not heard.
        only: bool,
    },
    /// So many frames a second with ids that no dialect knows.
    UnknownIds(f64),
    /// The vehicle also sends this message so many times a second; every byte of it is 1, but for the time since boot.
    Extra {
        /// Message id of the dialect.
        id: u32,
        /// Times a second.
        hertz: f64,
    },
    /// EXTENDED_SYS_STATE says this MAV_LANDED_STATE, whatever is so.
    LandedState(u8),
    /// Another autopilot with this system id is on the wire, armed and in the air.
    SecondAutopilot(u8),
    /// The vehicle's own gimbal is on the wire.
    Gimbal,
    /// A ground station (255/190) is on the wire; the vehicle hears it, too.
    GroundStation,
    /// The satellite receiver has no fix.
    NoGps,
}

/// With the vehicle itself, at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sudden {
    /// The board restarts, in the air too: then its motors stop, and it boots where it has fallen.
    Reboot,
    /// A motor stops.
    MotorFailure,
    /// The charge is this many percent.
    Battery(f64),
    /// A pilot changes the mode with his own transmitter.
    Mode(ModeNumber),
}

/// A flight mode as each autopilot numbers it in HEARTBEAT.custom_mode; an autopilot that lacks it is left alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModeNumber {
    /// PX4's.
    pub px4: Option<u32>,
    /// ArduCopter's.
    pub ardupilot: Option<u32>,
}

impl ModeNumber {
    /// The number for one of them.
    pub fn of(self, autopilot: Autopilot) -> Option<u32> {
        match autopilot {
            Autopilot::Px4 => self.px4,
            Autopilot::ArduPilot => self.ardupilot,
        }
    }
}

impl Script {
    /// The lines for one vehicle.
    pub fn lines_of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Line> {
        let is_for = move |line: &&Line| line.vehicle.as_deref().is_none_or(|vehicle| vehicle == name);
        self.lines.iter().filter(is_for)
    }
}
