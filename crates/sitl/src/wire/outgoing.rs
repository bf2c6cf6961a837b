//! Messages of a vehicle, and their encoding as MAVLink 2 frames.

use mavlink::dialects::ardupilotmega::MavMessage;
use mavlink::{MavlinkVersion, Message, calculate_crc};

use super::Address;
use super::plan::{self, PlanReply};

const COMMAND_LONG_ID: u32 = 76;
const COMMAND_ACK_ID: u32 = 77;

/// Plain numbers, so that an unknown command can be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandAck {
    pub command: u16,
    pub result: u8,
    pub target_system: u8,
    pub target_component: u8,
}

/// Sent by an autopilot itself (PX4 does so).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CommandLong {
    /// PX4 also sends 0.
    pub command: u16,
    pub params: [f32; 7],
    pub confirmation: u8,
    /// The component is always 0.
    pub target_system: u8,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Outgoing {
    Message(Box<MavMessage>),
    Ack(CommandAck),
    Command(CommandLong),
    /// The protocol's numbers may be outside the dialect's enums.
    Plan {
        to: Address,
        /// MAV_MISSION_TYPE.
        kind: u8,
        reply: PlanReply,
    },
}

impl From<MavMessage> for Outgoing {
    fn from(message: MavMessage) -> Self {
        Self::Message(Box::new(message))
    }
}

#[derive(Clone, Debug)]
pub struct Sender {
    system: u8,
    component: u8,
    sequence: u8,
}

impl Sender {
    pub fn new(system: u8, component: u8) -> Self {
        Self {
            system,
            component,
            sequence: 0,
        }
    }

    pub(crate) fn continuing(system: u8, component: u8, sequence: u8) -> Self {
        Self {
            system,
            component,
            sequence,
        }
    }

    /// Counts from 0 again, as after a power cycle.
    #[must_use]
    pub fn restarted(&self) -> Self {
        Self::new(self.system, self.component)
    }

    pub fn encode(&mut self, message: &Outgoing) -> Vec<u8> {
        let mut payload = [0u8; 255];
        let (id, len) = match message {
            Outgoing::Message(message) => (message.message_id(), message.ser(MavlinkVersion::V2, &mut payload)),
            Outgoing::Ack(ack) => (COMMAND_ACK_ID, write_ack(ack, &mut payload)),
            Outgoing::Command(command) => (COMMAND_LONG_ID, write_command(command, &mut payload)),
            Outgoing::Plan { to, kind, reply } => {
                let (id, bytes) = plan::encode(*to, *kind, reply);
                payload[..bytes.len()].copy_from_slice(&bytes);
                (id, bytes.len())
            }
        };
        self.frame(id, &payload[..len], MavMessage::extra_crc(id))
    }

    pub fn frame(&mut self, id: u32, payload: &[u8], extra_crc: u8) -> Vec<u8> {
        let sequence = self.sequence;
        self.sequence = sequence.wrapping_add(1);
        let payload = &payload[..trimmed(payload)];
        let [id0, id1, id2, _] = id.to_le_bytes();
        let mut frame = Vec::with_capacity(12 + payload.len());
        frame.extend([
            0xFD,
            payload.len() as u8,
            0,
            0,
            sequence,
            self.system,
            self.component,
            id0,
            id1,
            id2,
        ]);
        frame.extend(payload);
        let crc = calculate_crc(&frame[1..], extra_crc);
        frame.extend(crc.to_le_bytes());
        frame
    }
}

/// MAVLink 2 leaves trailing zero bytes out, but never the first byte.
fn trimmed(payload: &[u8]) -> usize {
    payload.iter().rposition(|&byte| byte != 0).map_or(1, |last| last + 1)
}

fn write_ack(ack: &CommandAck, payload: &mut [u8; 255]) -> usize {
    payload[..2].copy_from_slice(&ack.command.to_le_bytes());
    payload[2] = ack.result;
    payload[8] = ack.target_system;
    payload[9] = ack.target_component;
    10
}

fn write_command(command: &CommandLong, payload: &mut [u8; 255]) -> usize {
    for (slot, param) in payload.chunks_exact_mut(4).zip(command.params) {
        slot.copy_from_slice(&param.to_le_bytes());
    }
    payload[28..30].copy_from_slice(&command.command.to_le_bytes());
    payload[30] = command.target_system;
    payload[32] = command.confirmation;
    33
}

#[cfg(test)]
mod tests {
    use super::*;
    use mavlink::dialects::ardupilotmega as apm;

    #[test]
    fn a_frame_of_ours_equals_the_frame_of_the_mavlink_crate() {
        let message = MavMessage::EXTENDED_SYS_STATE(apm::EXTENDED_SYS_STATE_DATA {
            vtol_state: apm::MavVtolState::MAV_VTOL_STATE_MC,
            landed_state: apm::MavLandedState::MAV_LANDED_STATE_ON_GROUND,
        });
        let mut theirs = mavlink::MAVLinkV2MessageRaw::new();
        let header = mavlink::MavHeader {
            system_id: 3,
            component_id: 1,
            sequence: 0,
        };
        theirs.serialize_message(header, &message);
        assert_eq!(Sender::new(3, 1).encode(&message.into()), theirs.raw_bytes());
    }

    #[test]
    fn an_ack_for_a_command_outside_the_dialect_is_a_valid_frame() {
        let ack = CommandAck {
            command: 31999,
            result: 3,
            target_system: 255,
            target_component: 190,
        };
        let mut reader = crate::wire::FrameReader::default();
        reader.push(&Sender::new(1, 1).encode(&Outgoing::Ack(ack)));
        let frame = reader.next_frame().unwrap();
        assert_eq!((frame.id, &frame.payload[..3]), (77, &[0xFF, 0x7C, 3][..]));
    }
}
