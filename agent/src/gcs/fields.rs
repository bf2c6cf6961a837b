//! The few fields of a frame that routing and logging use, read from the bytes as they are.
//!
//! MAVLink 2 cuts zeros off the end of a payload, so what lies behind the end is 0.

use link::heartbeat::is_autopilot;
use link::raw::RawFrame;

/// MAV_TYPE_GCS.
const TYPE_GCS: u8 = 6;
/// MAV_MODE_FLAG_SAFETY_ARMED.
const ARMED: u8 = 0x80;

pub const HEARTBEAT: u32 = 0;
/// MISSION_ACK.
pub const MISSION_ACK: u32 = 47;
/// COMMAND_INT.
pub const COMMAND_INT: u32 = 75;
/// COMMAND_LONG.
pub const COMMAND_LONG: u32 = 76;
/// FILE_TRANSFER_PROTOCOL.
pub const FILE_TRANSFER: u32 = 110;

/// What a HEARTBEAT (0) says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beat {
    /// The sender is a ground control station.
    pub gcs: bool,
    pub autopilot: bool,
    /// The sender says that it is armed.
    pub armed: bool,
}

/// The heartbeat in a frame, if it is one.
pub fn beat(frame: &RawFrame) -> Option<Beat> {
    let gcs = byte(frame, 4) == TYPE_GCS;
    (frame.message_id == HEARTBEAT).then(|| Beat {
        gcs,
        autopilot: is_autopilot(byte(frame, 5), byte(frame, 4)),
        armed: byte(frame, 6) & ARMED != 0,
    })
}

/// The command (MAV_CMD) in a COMMAND_LONG or COMMAND_INT.
pub fn command(frame: &RawFrame) -> Option<u16> {
    matches!(frame.message_id, COMMAND_LONG | COMMAND_INT)
        .then(|| u16::from_le_bytes([byte(frame, 28), byte(frame, 29)]))
}

/// The verdict (MAV_MISSION_RESULT) in a MISSION_ACK.
pub fn mission_result(frame: &RawFrame) -> Option<u8> {
    (frame.message_id == MISSION_ACK).then(|| byte(frame, 2))
}

/// The operation in a FILE_TRANSFER_PROTOCOL.
pub fn file_operation(frame: &RawFrame) -> Option<u8> {
    (frame.message_id == FILE_TRANSFER).then(|| byte(frame, 6))
}

/// The little-endian number in two bytes of the payload.
pub(super) fn number(frame: &RawFrame, at: usize) -> u16 {
    u16::from_le_bytes([byte(frame, at), byte(frame, at + 1)])
}

/// The little-endian number in four bytes of the payload.
pub(super) fn unsigned(frame: &RawFrame, at: usize) -> u32 {
    u32::from_le_bytes(four(frame, at))
}

/// The same, with a sign.
pub(super) fn integer(frame: &RawFrame, at: usize) -> i32 {
    i32::from_le_bytes(four(frame, at))
}

/// The little-endian float in four bytes of the payload.
pub(super) fn float(frame: &RawFrame, at: usize) -> f32 {
    f32::from_le_bytes(four(frame, at))
}

fn four(frame: &RawFrame, at: usize) -> [u8; 4] {
    [0, 1, 2, 3].map(|next| byte(frame, at + next))
}

/// A byte of the payload.
pub(super) fn byte(frame: &RawFrame, at: usize) -> u8 {
    frame.payload().get(at).copied().unwrap_or(0)
}
