//! Frames of MAVLink 2 as MAVLink 1.

use mavlink::dialects::ardupilotmega::MavMessage;
use mavlink::{MavlinkVersion, Message, calculate_crc};

/// Drops extension fields and trailing zeros; `None` for an unknown id or one above 255.
pub(super) fn as_mavlink1(frame: &[u8]) -> Option<Vec<u8>> {
    let (head, rest) = frame.split_at_checked(10)?;
    let [0xFD, length, _, _, sequence, system, component, id, 0, 0] = *head else {
        return None;
    };
    let given = rest.get(..usize::from(length))?;
    let mut payload = [0u8; 255];
    let length = MavMessage::default_message_from_id(u32::from(id))?.ser(MavlinkVersion::V1, &mut payload);
    let mut payload = vec![0u8; length];
    for (byte, given) in payload.iter_mut().zip(given) {
        *byte = *given;
    }
    let mut shorter = vec![0xFE, length as u8, sequence, system, component, id];
    shorter.extend(payload);
    let crc = calculate_crc(&shorter[1..], MavMessage::extra_crc(u32::from(id)));
    shorter.extend(crc.to_le_bytes());
    Some(shorter)
}
