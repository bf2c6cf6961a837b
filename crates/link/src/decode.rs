//! Decoding of a whole frame into the message that the agent reads.

use crate::layout::layout_of;
use crate::raw::{RawFrame, Version};
use mavlink::dialects::ardupilotmega::MavMessage;
use mavlink::{MavHeader, MavlinkVersion, Message};

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unread {
    #[error("the message is not of the dialect that is spoken here; it is only passed on")]
    Unknown,
    /// Enum value from a newer dialect, for example.
    #[error("a field of the message has a value that is not known here; it is only passed on")]
    Payload,
}

pub fn decode(frame: &RawFrame) -> Result<(MavHeader, MavMessage), Unread> {
    layout_of(frame.message_id).ok_or(Unread::Unknown)?;
    let version = match frame.version {
        Version::V1 => MavlinkVersion::V1,
        Version::V2 => MavlinkVersion::V2,
    };
    let header = MavHeader {
        system_id: u32::from(frame.system.0),
        component_id: frame.component.0,
        sequence: frame.sequence(),
    };
    match MavMessage::parse(version, frame.message_id, frame.payload()) {
        Ok(message) => Ok((header, message)),
        Err(_) => Err(Unread::Payload),
    }
}
