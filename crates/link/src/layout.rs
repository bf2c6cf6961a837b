//! Layout of each message, as far as a frame can be checked and routed without reading its payload: measured once from
//! the dialect's own code, by writing a message with two targets and finding the byte that differs.

use mavlink::dialects::ardupilotmega::MavMessage;
use mavlink::{MavlinkVersion, Message};
use model::units::Address;
use std::collections::HashMap;
use std::sync::OnceLock;

const PAYLOAD: usize = 255;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Enters the checksum after the payload.
    pub crc_extra: u8,
    /// Payload bytes in MAVLink 1, which cuts nothing off and knows no extension fields.
    pub v1_payload: usize,
    pub target_system: Option<usize>,
    target_component: Option<usize>,
}

impl Layout {
    /// Component 0 (all) if the message names only a system; bytes that MAVLink 2 cut off are 0.
    #[must_use]
    pub fn target(&self, payload: &[u8]) -> Option<Address> {
        let byte = |at: usize| payload.get(at).copied().unwrap_or(0);
        self.target_system
            .map(|system| Address::new(byte(system), self.target_component.map_or(0, byte)))
    }
}

#[must_use]
pub fn layout_of(id: u32) -> Option<&'static Layout> {
    static TABLE: OnceLock<HashMap<u32, Layout>> = OnceLock::new();
    let measured = || MavMessage::all_ids().iter().filter_map(|&id| Some((id, measure(id)?)));
    TABLE.get_or_init(|| measured().collect()).get(&id)
}

fn measure(id: u32) -> Option<Layout> {
    let message = MavMessage::default_message_from_id(id)?;
    Some(Layout {
        crc_extra: MavMessage::extra_crc(id),
        v1_payload: message.ser(MavlinkVersion::V1, &mut [0; PAYLOAD]),
        target_system: offset(&message, target_system_mut),
        target_component: offset(&message, MavMessage::target_component_id_mut),
    })
}

/// MANUAL_CONTROL (69) has another name for it than all others.
fn target_system_mut(message: &mut MavMessage) -> Option<&mut u8> {
    match message {
        MavMessage::MANUAL_CONTROL(sticks) => Some(&mut sticks.target),
        other => other.target_system_id_mut(),
    }
}

fn offset(message: &MavMessage, field: fn(&mut MavMessage) -> Option<&mut u8>) -> Option<usize> {
    const ONE: u8 = 0x5A;
    const OTHER: u8 = 0xA5;
    let with = |value| {
        let mut message = message.clone();
        *field(&mut message)? = value;
        Some(payload(&message))
    };
    let (one, other) = (with(ONE)?, with(OTHER)?);
    one.iter().zip(other).position(|(&a, b)| a == ONE && b == OTHER)
}

fn payload(message: &MavMessage) -> [u8; PAYLOAD] {
    let mut bytes = [0; PAYLOAD];
    message.ser(MavlinkVersion::V2, &mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_every_message_of_the_dialect_with_its_target_where_it_is_written() {
        for &id in MavMessage::all_ids() {
            let layout = layout_of(id).unwrap();
            let mut message = MavMessage::default_message_from_id(id).unwrap();
            let system = target_system_mut(&mut message).map(|s| *s = 77).is_some();
            let component = message.target_component_id_mut().map(|c| *c = 88).is_some();
            let expected = system.then_some(Address::new(77, if component { 88 } else { 0 }));
            assert_eq!(
                layout.target(&payload(&message)),
                expected,
                "{}",
                message.message_name()
            );
        }
        assert_eq!(layout_of(0x00FF_FFFF), None);
    }

    #[test]
    fn known_messages_have_the_numbers_of_the_standard() {
        // HEARTBEAT 50, COMMAND_LONG 152, COMMAND_ACK 143 with its targets in extension fields, SET_MODE 89.
        let heartbeat = layout_of(0).unwrap();
        assert_eq!((heartbeat.crc_extra, heartbeat.v1_payload), (50, 9));
        assert_eq!(heartbeat.target(&[1; 9]), None);
        let long = layout_of(76).unwrap();
        assert_eq!(
            (long.crc_extra, long.v1_payload, long.target_system),
            (152, 33, Some(30))
        );
        let ack = layout_of(77).unwrap();
        assert_eq!((ack.crc_extra, ack.v1_payload, ack.target_system), (143, 3, Some(8)));
        // Its target is behind four int16 and one uint16.
        let sticks = layout_of(69).unwrap();
        assert_eq!((sticks.crc_extra, sticks.target_system), (243, Some(10)));
        let mode = layout_of(11).unwrap();
        assert_eq!(
            (mode.crc_extra, mode.target(&[0, 0, 0, 0, 5, 1])),
            (89, Some(Address::new(5, 0)))
        );
    }

    #[test]
    fn what_mavlink_2_cut_off_a_payload_counts_as_zero() {
        let long = layout_of(76).unwrap();
        assert_eq!(long.target(&[1; 31]), Some(Address::new(1, 0)));
        assert_eq!(long.target(&[]), Some(Address::new(0, 0)));
    }
}
