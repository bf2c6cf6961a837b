//! What a vehicle says that a replay compares: answers to commands, and its state when it changes.
//!
//! Owns: reading these from frames, the same way for a recording and for the simulator. Must not: judge them.

use crate::wire::Frame;

/// One statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fact {
    /// COMMAND_ACK (77): MAV_CMD and MAV_RESULT.
    Ack {
        /// Which command.
        command: u16,
        /// The verdict.
        result: u8,
    },
    /// HEARTBEAT (0): the safety-armed bit of `base_mode`.
    Armed(bool),
    /// HEARTBEAT (0): `custom_mode`.
    Mode(u32),
    /// HEARTBEAT (0): MAV_STATE.
    Status(u8),
    /// EXTENDED_SYS_STATE (245): MAV_LANDED_STATE.
    Landed(u8),
}

/// A statement and when it was made, in seconds since the recording began.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Heard {
    /// Seconds.
    pub at_s: f64,
    /// What.
    pub fact: Fact,
}

const HEARTBEAT: u32 = 0;
const COMMAND_ACK: u32 = 77;
const EXTENDED_SYS_STATE: u32 = 245;
const ARMED_BIT: u8 = 128;

/// What `frame` states, if anything that is compared.
#[must_use]
pub fn facts(frame: &Frame) -> Vec<Fact> {
    // MAVLink 2 leaves trailing zeros out.
    let byte = |index: usize| frame.payload.get(index).copied().unwrap_or(0);
    match frame.id {
        HEARTBEAT => vec![
            Fact::Status(byte(7)),
            Fact::Armed(byte(6) & ARMED_BIT != 0),
            Fact::Mode(u32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)])),
        ],
        COMMAND_ACK => vec![Fact::Ack {
            command: u16::from_le_bytes([byte(0), byte(1)]),
            result: byte(2),
        }],
        EXTENDED_SYS_STATE => vec![Fact::Landed(byte(1))],
        _ => Vec::new(),
    }
}

/// Keeps every answer, and of each kind of state only the changes.
#[derive(Debug, Default)]
pub struct Changes {
    last: [Option<Fact>; 4],
    kept: Vec<Heard>,
}

impl Changes {
    /// Takes what `frame` states.
    pub fn hear(&mut self, at_s: f64, frame: &Frame) {
        for fact in facts(frame) {
            let place = match fact {
                Fact::Ack { .. } => None,
                Fact::Armed(_) => Some(0),
                Fact::Mode(_) => Some(1),
                Fact::Status(_) => Some(2),
                Fact::Landed(_) => Some(3),
            };
            if let Some(last) = place.and_then(|place: usize| self.last.get_mut(place)) {
                if *last == Some(fact) {
                    continue;
                }
                *last = Some(fact);
            }
            self.kept.push(Heard { at_s, fact });
        }
    }

    /// All of it, in order.
    pub fn done(self) -> Vec<Heard> {
        self.kept
    }
}
