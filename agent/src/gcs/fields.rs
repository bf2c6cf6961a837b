//! Fields of a frame that routing and logging use. MAVLink 2 cuts zeros off the end of a payload: what lies behind the end is 0.

use link::heartbeat::is_autopilot;
use link::raw::RawFrame;

const TYPE_GCS: u8 = 6;
const ARMED: u8 = 0x80;

pub const HEARTBEAT: u32 = 0;
pub const MISSION_ACK: u32 = 47;
pub const COMMAND_INT: u32 = 75;
pub const COMMAND_LONG: u32 = 76;
pub const FILE_TRANSFER: u32 = 110;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beat {
    pub gcs: bool,
    pub autopilot: bool,
    pub armed: bool,
}

pub fn beat(frame: &RawFrame) -> Option<Beat> {
    let gcs = byte(frame, 4) == TYPE_GCS;
    (frame.message_id == HEARTBEAT).then(|| Beat {
        gcs,
        autopilot: is_autopilot(byte(frame, 5), byte(frame, 4)),
        armed: byte(frame, 6) & ARMED != 0,
    })
}

/// MAV_CMD of a COMMAND_LONG or COMMAND_INT.
pub fn command(frame: &RawFrame) -> Option<u16> {
    matches!(frame.message_id, COMMAND_LONG | COMMAND_INT)
        .then(|| u16::from_le_bytes([byte(frame, 28), byte(frame, 29)]))
}

/// MAV_MISSION_RESULT of a MISSION_ACK.
pub fn mission_result(frame: &RawFrame) -> Option<u8> {
    (frame.message_id == MISSION_ACK).then(|| byte(frame, 2))
}

/// Opcode of a FILE_TRANSFER_PROTOCOL.
pub fn file_operation(frame: &RawFrame) -> Option<u8> {
    (frame.message_id == FILE_TRANSFER).then(|| byte(frame, 6))
}

pub(super) fn number(frame: &RawFrame, at: usize) -> u16 {
    u16::from_le_bytes([byte(frame, at), byte(frame, at + 1)])
}

pub(super) fn unsigned(frame: &RawFrame, at: usize) -> u32 {
    u32::from_le_bytes(four(frame, at))
}

pub(super) fn integer(frame: &RawFrame, at: usize) -> i32 {
    i32::from_le_bytes(four(frame, at))
}

pub(super) fn float(frame: &RawFrame, at: usize) -> f32 {
    f32::from_le_bytes(four(frame, at))
}

fn four(frame: &RawFrame, at: usize) -> [u8; 4] {
    [0, 1, 2, 3].map(|next| byte(frame, at + next))
}

pub(super) fn byte(frame: &RawFrame, at: usize) -> u8 {
    frame.payload().get(at).copied().unwrap_or(0)
}
