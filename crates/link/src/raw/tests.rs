//! One frame, read on its own.

use super::*;
use crate::framing::tests::{beat, foreign, frame_of, hex};
use mavlink::dialects::ardupilotmega::{COMMAND_LONG_DATA, MavMessage};
use proptest::prelude::*;

#[test]
fn a_frame_has_sender_message_and_target() {
    let command = COMMAND_LONG_DATA {
        target_system: 3,
        target_component: 1,
        ..COMMAND_LONG_DATA::default()
    };
    let bytes = frame_of((255, 190), 42, &MavMessage::COMMAND_LONG(command));
    let frame = RawFrame::parse(&bytes).unwrap();
    assert_eq!((frame.system.0, frame.component.0, frame.message_id), (255, 190, 76));
    assert_eq!((frame.target, frame.sequence()), (Some(Address::new(3, 1)), 42));
    assert_eq!(
        (frame.version, frame.signed, frame.from),
        (Version::V2, false, Direction::Guest)
    );
    assert_eq!(frame.bytes, bytes);
    assert_eq!(frame.payload(), &bytes[10..bytes.len() - 2]);
}

#[test]
fn a_signed_frame_and_a_mavlink_1_frame_are_distinguished() {
    // Both by pymavlink: a signed HEARTBEAT, and a MAVLink 1 PARAM_REQUEST_LIST to (1, 0).
    let signed = hex("fd0901000001010000000400000002035104039c560300000080841ed9bcc17be7be");
    let frame = RawFrame::parse(&signed).unwrap();
    assert_eq!((frame.signed, frame.payload().len(), frame.target), (true, 9, None));
    let v1 = hex("fe0205ffbe15010002de");
    let frame = RawFrame::parse(&v1).unwrap();
    assert_eq!(
        (frame.version, frame.sequence(), frame.target),
        (Version::V1, 5, Some(Address::new(1, 0)))
    );
    assert_eq!((frame.system.0, frame.component.0, frame.message_id), (255, 190, 21));
}

#[test]
fn what_is_not_exactly_one_good_frame_is_refused_with_the_reason() {
    let good = beat(1);
    assert_eq!(RawFrame::parse(&[]), Err(NotAFrame::NoStart));
    assert_eq!(RawFrame::parse(&good[1..]), Err(NotAFrame::NoStart));
    let lengths = |got| NotAFrame::Length { got, expected: 21 };
    assert_eq!(RawFrame::parse(&good[..20]), Err(lengths(20)));
    assert_eq!(RawFrame::parse(&good[..4]), Err(lengths(4)));
    assert_eq!(RawFrame::parse(&[&good[..], &[0]].concat()), Err(lengths(22)));
    let mut damaged = good.clone();
    damaged[12] ^= 1;
    assert_eq!(RawFrame::parse(&damaged), Err(NotAFrame::Checksum));
    let mut other_flags = good;
    other_flags[2] = 2;
    assert_eq!(RawFrame::parse(&other_flags), Err(NotAFrame::NoStart));
}

#[test]
fn an_unknown_message_passes_when_some_extra_byte_makes_its_checksum_right() {
    let passes = |extra| RawFrame::parse(&foreign(0x00AB_CDEF, extra, b"x")).is_ok();
    assert!((0..=255).all(passes));
    let fitting = (0..=u16::MAX).filter(|crc| {
        let mut bytes = foreign(0x00AB_CDEF, 0, b"x");
        let end = bytes.len() - 2;
        bytes[end..].copy_from_slice(&crc.to_le_bytes());
        RawFrame::parse(&bytes).is_ok()
    });
    assert_eq!(fitting.count(), 256, "of 65536 checksums");
}

proptest! {
    #[test]
    fn any_bytes_are_a_frame_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..300), start in 0xFC..=0xFF_u8) {
        let mut bytes = bytes;
        if let Some(first) = bytes.first_mut() {
            *first = start;
        }
        if let Ok(frame) = RawFrame::parse(&bytes) {
            prop_assert_eq!(&frame.bytes[..], &bytes[..]);
        }
    }
}
