//! The statements of a vehicle that a replay compares: answers, its state, its plans, its parameters and its texts.

use std::fmt;

use sitl::wire::{Fields, Frame};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fact {
    /// COMMAND_ACK (77): MAV_CMD and MAV_RESULT.
    Ack { command: u16, result: u8 },
    /// HEARTBEAT (0): the safety-armed bit of `base_mode`.
    Armed(bool),
    /// HEARTBEAT (0): `custom_mode`.
    Mode(u32),
    /// HEARTBEAT (0): MAV_STATE.
    Status(u8),
    /// EXTENDED_SYS_STATE (245): MAV_LANDED_STATE.
    Landed(u8),
    /// SYS_STATUS (1): the prearm bit of `onboard_control_sensors_health`.
    Ready(bool),
    /// BATTERY_STATUS (147): MAV_BATTERY_CHARGE_STATE.
    Charge(u8),
    /// MISSION_CURRENT (42).
    Mission {
        seq: u16,
        total: u16,
        /// MISSION_STATE.
        state: u8,
    },
    /// MISSION_ITEM_REACHED (46).
    Reached(u16),
    /// An answer of the mission protocol: MISSION_REQUEST (40 or 51), MISSION_COUNT (44), MISSION_ACK (47).
    Plan {
        message: u32,
        /// MAV_MISSION_TYPE.
        kind: u8,
        /// Item, count or MAV_MISSION_RESULT.
        number: u16,
    },
    /// MISSION_ITEM_INT (73), read back.
    Item {
        /// MAV_MISSION_TYPE.
        kind: u8,
        seq: u16,
        /// MAV_CMD.
        command: u16,
        /// MAV_FRAME.
        frame: u8,
        /// Latitude × 10⁷, longitude × 10⁷, and altitude in millimeters.
        place: [i32; 3],
    },
    /// PARAM_VALUE (22).
    Param {
        /// `param_id`, padded with zeros.
        name: [u8; 16],
        /// The bits of `param_value`.
        bits: u32,
        /// MAV_PARAM_TYPE.
        kind: u8,
    },
    /// PARAM_ERROR (345), without its index: PX4 sends any number there (recorded).
    ParamError {
        /// `param_id`, padded with zeros.
        name: [u8; 16],
        /// MAV_PARAM_ERROR.
        error: u8,
    },
    /// STATUSTEXT (253), one chunk.
    Text {
        /// MAV_SEVERITY.
        severity: u8,
        /// Padded with zeros.
        text: [u8; 50],
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statement {
    pub at_s: f64,
    pub fact: Fact,
}

const ARMED_BIT: u8 = 128;
const PREARM_BIT: u32 = 0x1000_0000;

pub fn facts(frame: &Frame) -> Vec<Fact> {
    let p = Fields(&frame.payload);
    let plan = |kind: usize, number: u16| Fact::Plan {
        message: frame.id,
        kind: p.u8(kind),
        number,
    };
    match frame.id {
        0 => vec![
            Fact::Status(p.u8(7)),
            Fact::Armed(p.u8(6) & ARMED_BIT != 0),
            Fact::Mode(p.u32(0)),
        ],
        1 => vec![Fact::Ready(p.u32(8) & PREARM_BIT != 0)],
        22 => vec![Fact::Param {
            name: std::array::from_fn(|place| p.u8(8 + place)),
            bits: p.u32(0),
            kind: p.u8(24),
        }],
        40 | 51 | 44 => vec![plan(4, p.u16(0))],
        42 => vec![Fact::Mission {
            seq: p.u16(0),
            total: p.u16(2),
            state: p.u8(4),
        }],
        46 => vec![Fact::Reached(p.u16(0))],
        47 => vec![plan(3, u16::from(p.u8(2)))],
        73 => vec![Fact::Item {
            kind: p.u8(37),
            seq: p.u16(28),
            command: p.u16(30),
            frame: p.u8(34),
            place: [p.i32(16), p.i32(20), (p.f32(24) * 1000.0).round() as i32],
        }],
        // PX4 answers its own orders too, such as one to the gripper at boot (recorded).
        77 if (p.u8(8), p.u8(9)) == (0, frame.component) => Vec::new(),
        77 => vec![Fact::Ack {
            command: p.u16(0),
            result: p.u8(2),
        }],
        147 => vec![Fact::Charge(p.u8(40))],
        245 => vec![Fact::Landed(p.u8(1))],
        253 => vec![Fact::Text {
            severity: p.u8(0),
            text: std::array::from_fn(|place| p.u8(1 + place)),
        }],
        345 => vec![Fact::ParamError {
            name: std::array::from_fn(|place| p.u8(4 + place)),
            error: p.u8(20),
        }],
        _ => Vec::new(),
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ack { command, result } => write!(f, "ack of {command}: {result}"),
            Self::Armed(armed) => write!(f, "{}", if *armed { "armed" } else { "disarmed" }),
            Self::Mode(mode) => write!(f, "mode {mode}"),
            Self::Status(status) => write!(f, "state {status}"),
            Self::Landed(landed) => write!(f, "landed_state {landed}"),
            Self::Ready(ready) => write!(f, "{}", if *ready { "ready to arm" } else { "not ready to arm" }),
            Self::Charge(charge) => write!(f, "charge_state {charge}"),
            Self::Mission { seq, total, state } => write!(f, "mission at {seq} of {total}, state {state}"),
            Self::Reached(seq) => write!(f, "item {seq} reached"),
            Self::Plan { message, kind, number } => {
                let what = match message {
                    44 => "MISSION_COUNT",
                    47 => "MISSION_ACK",
                    51 => "MISSION_REQUEST_INT",
                    _ => "MISSION_REQUEST",
                };
                write!(f, "{what} {number} of kind {kind}")
            }
            Self::Item {
                kind,
                seq,
                command,
                frame,
                place,
            } => write!(f, "item {seq} of kind {kind}: {command} in frame {frame} at {place:?}"),
            Self::Param { name, bits, kind } => {
                let name = until_zero(name);
                let value = f32::from_bits(*bits);
                // PX4 keeps the bits of an integer: as a float that is almost zero.
                if value.is_subnormal() {
                    write!(f, "{name} = integer {}, type {kind}", *bits as i32)
                } else {
                    write!(f, "{name} = {value}, type {kind}")
                }
            }
            Self::ParamError { name, error } => write!(f, "PARAM_ERROR {error} for {:?}", until_zero(name)),
            Self::Text { severity, text } => write!(f, "text {:?}, severity {severity}", until_zero(text)),
        }
    }
}

fn until_zero(bytes: &[u8]) -> String {
    let text: Vec<u8> = bytes.iter().copied().take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(id: u32, payload: Vec<u8>) -> Vec<String> {
        let frame = Frame {
            system: 1,
            component: 1,
            id,
            payload,
            raw: Vec::new(),
        };
        facts(&frame).iter().map(Fact::to_string).collect()
    }

    #[test]
    fn a_parameter_that_is_missing_is_a_statement_with_its_name() {
        let mut payload = vec![0xFF, 0xFF, 255, 190];
        payload.extend(b"RTL_ALT\0\0\0\0\0\0\0\0\0");
        payload.push(1);
        assert_eq!(texts(345, payload), ["PARAM_ERROR 1 for \"RTL_ALT\""]);
    }

    #[test]
    fn an_answer_to_an_order_of_its_own_is_no_statement() {
        let ack = |to: [u8; 2]| texts(77, [&[211, 0, 0, 0, 0, 0, 0, 0][..], &to].concat());
        assert!(ack([0, 1]).is_empty());
        assert_eq!(ack([255, 190]), ["ack of 211: 0"]);
        assert_eq!(ack([0, 0]), ["ack of 211: 0"], "to everyone");
    }
}
