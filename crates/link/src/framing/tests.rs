//! The framer finds frames in any bytes, and leaves the rest.

use super::*;
use crate::decode::{Unread, decode};
use crate::raw::{LONGEST, SIGNED};
use mavlink::dialects::ardupilotmega::{HEARTBEAT_DATA, MavMessage};
use mavlink::{MAVLinkV1MessageRaw, MAVLinkV2MessageRaw, MavHeader, calculate_crc};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

const UNKNOWN: u32 = 0x00AB_CDEF;

pub fn frame_of((system, component): (u8, u8), sequence: u8, message: &MavMessage) -> Vec<u8> {
    let mut raw = MAVLinkV2MessageRaw::new();
    raw.serialize_message(header(system, component, sequence), message);
    raw.raw_bytes().to_vec()
}

pub fn hex(digits: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(byte).collect()
}

pub fn beat(sequence: u8) -> Vec<u8> {
    frame_of((7, 1), sequence, &MavMessage::HEARTBEAT(HEARTBEAT_DATA::default()))
}

pub fn foreign(id: u32, crc_extra: u8, payload: &[u8]) -> Vec<u8> {
    let [a, b, c, _] = id.to_le_bytes();
    let mut bytes = vec![
        MAV_STX_V2,
        u8::try_from(payload.len()).unwrap(),
        0,
        0,
        200,
        7,
        1,
        a,
        b,
        c,
    ];
    bytes.extend_from_slice(payload);
    let crc = calculate_crc(&bytes[1..], crc_extra).to_le_bytes();
    bytes.extend_from_slice(&crc);
    bytes
}

fn beat_v1(sequence: u8) -> Vec<u8> {
    let mut raw = MAVLinkV1MessageRaw::new();
    raw.serialize_message(
        header(7, 1, sequence),
        &MavMessage::HEARTBEAT(HEARTBEAT_DATA::default()),
    );
    raw.raw_bytes().to_vec()
}

fn header(system: u8, component: u8, sequence: u8) -> MavHeader {
    MavHeader {
        system_id: u32::from(system),
        component_id: component,
        sequence,
    }
}

fn signed(mut frame: Vec<u8>, crc_extra: u8) -> Vec<u8> {
    frame[2] = SIGNED;
    let end = frame.len() - 2;
    let crc = calculate_crc(&frame[1..end], crc_extra).to_le_bytes();
    frame[end..].copy_from_slice(&crc);
    frame.extend_from_slice(&[MAV_STX_V2, 9, 0, MAV_STX, 9, 0, 0, 1, 2, 3, 4, 5, 6]);
    frame
}

fn frames(framer: &mut Framer) -> Vec<Vec<u8>> {
    std::iter::from_fn(|| framer.next_frame())
        .map(|f| f.bytes.to_vec())
        .collect()
}

fn cut(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut framer = Framer::default();
    framer.push(bytes);
    frames(&mut framer)
}

#[test]
fn frames_come_out_whole_and_byte_for_byte_whatever_the_chunks() {
    let whole = [
        beat(0),
        beat_v1(1),
        signed(beat(2), 50),
        foreign(UNKNOWN, 77, b"what nobody here knows"),
        signed(foreign(UNKNOWN, 77, b""), 77),
        beat(3),
    ];
    let mut bytes = b"Init ArduCopter\n".to_vec();
    bytes.extend(whole.concat());
    for size in 1..bytes.len() {
        let mut framer = Framer::default();
        let mut received = Vec::new();
        for chunk in bytes.chunks(size) {
            framer.push(chunk);
            received.extend(frames(&mut framer));
        }
        assert_eq!(received, whole, "chunks of {size}");
        assert_eq!((framer.take_skipped(), framer.take_bad_checksums()), (16, 0));
        assert!(!framer.unfinished());
    }
}

#[test]
fn a_false_start_byte_holds_a_quiet_link_no_longer_than_the_silence() {
    // They claim to be a long HEARTBEAT.
    for noise in [&[0xFE, 0xFF][..], &[0xFD, 0xFF, 0, 0, 0, 9, 9, 0, 0, 0][..]] {
        let mut framer = Framer::default();
        framer.push(noise);
        framer.push(&beat(9));
        assert!(framer.next_frame().is_none(), "hidden in what seems to be a long frame");
        assert_eq!(framer.next_after_silence().unwrap().bytes, beat(9));
        assert!(!framer.unfinished());
        assert_eq!(framer.take_skipped(), noise.len() as u64);
    }
}

#[test]
fn a_frame_that_is_only_slow_is_not_lost_to_the_silence() {
    for frame in [beat(3), beat_v1(3)] {
        let mut framer = Framer::default();
        framer.push(&frame[..frame.len() - 5]);
        assert!(framer.next_after_silence().is_none());
        framer.push(&frame[frame.len() - 5..]);
        assert_eq!(frames(&mut framer), [frame]);
    }
}

#[test]
fn mavlink_1_is_received_beside_mavlink_2_and_its_start_byte_holds_nothing_up() {
    assert_eq!(
        cut(&[beat_v1(0), beat(1), beat_v1(2)].concat()),
        [beat_v1(0), beat(1), beat_v1(2)]
    );
    let mut framer = Framer::default();
    framer.push(&beat(1));
    assert_eq!(frames(&mut framer).len(), 1);
    // A HEARTBEAT of 255 bytes, by its start.
    framer.push(&[MAV_STX, 255, 0, 7, 1, 0]);
    framer.push(&beat(2));
    assert_eq!(frames(&mut framer), [beat(2)]);
}

#[test]
fn a_message_that_cannot_be_read_is_still_a_whole_frame() {
    let mut odd = beat(0);
    odd[14] = 0xEE; // HEARTBEAT.type: no such vehicle
    let end = odd.len() - 2;
    let crc = calculate_crc(&odd[1..end], 50).to_le_bytes();
    odd[end..].copy_from_slice(&crc);
    let mut framer = Framer::default();
    framer.push(&odd);
    framer.push(&beat(5));
    let frame = framer.next_frame().unwrap();
    assert_eq!((&frame.bytes[..], decode(&frame)), (&odd[..], Err(Unread::Payload)));
    let next = framer.next_frame().unwrap();
    assert!(matches!(decode(&next), Ok((header, MavMessage::HEARTBEAT(_))) if header.sequence == 5));
}

#[test]
fn an_unknown_message_of_a_known_sender_is_a_frame() {
    for extra in [0, 77, 255] {
        let unknown = foreign(UNKNOWN, extra, &[1, 2, 3]);
        assert_eq!(cut(&[beat(0), unknown.clone(), beat(1)].concat()).len(), 3);
        let mut framer = Framer::default();
        framer.push(&[beat(0), unknown.clone()].concat());
        framer.next_frame().unwrap();
        let frame = framer.next_frame().unwrap();
        assert_eq!(
            (&frame.bytes[..], frame.target, frame.message_id),
            (&unknown[..], None, UNKNOWN)
        );
        assert_eq!(decode(&frame), Err(Unread::Unknown));
    }
}

#[test]
fn an_unknown_message_is_no_frame_from_a_stranger_nor_before_noise_nor_when_damaged() {
    let unknown = foreign(UNKNOWN, 77, &[1, 2, 3]);
    assert_eq!(
        cut(&[unknown.clone(), beat(0)].concat()),
        [beat(0)],
        "nobody has spoken yet"
    );
    let mut stranger = unknown.clone();
    stranger[5] = 8;
    assert_eq!(cut(&[beat(0), stranger, beat(1)].concat()), [beat(0), beat(1)]);
    assert_eq!(
        cut(&[beat(0), unknown.clone(), vec![0x55], beat(1)].concat()),
        [beat(0), beat(1)]
    );
    // Every bit under the checksum: with 256 possible extra bytes about one damage of 256 passes.
    let mut passed = 0;
    for bit in 0..(unknown.len() - 10) * 8 {
        let mut damaged = unknown.clone();
        damaged[10 + bit / 8] ^= 1 << (bit % 8);
        passed += cut(&[beat(0), damaged, beat(1)].concat()).len() - 2;
    }
    assert!(passed <= 2, "{passed} damaged frames passed");
}

#[test]
fn a_damaged_frame_costs_no_more_than_itself() {
    for at in 1..beat(1).len() {
        for damage in [0x01, 0x80, 0xFF] {
            let mut damaged = beat(1);
            damaged[at] ^= damage;
            let mut framer = Framer::default();
            framer.push(&[beat(0), damaged, beat(2), beat(3)].concat());
            let mut received = frames(&mut framer);
            received.extend(std::iter::from_fn(|| framer.next_after_silence()).map(|f| f.bytes.to_vec()));
            assert_eq!(received, [beat(0), beat(2), beat(3)], "byte {at} by {damage:#x}");
        }
    }
}

#[test]
fn a_frame_with_a_flag_that_is_not_understood_is_none() {
    for flags in 2..=255_u8 {
        let mut odd = beat(0);
        odd[2] = flags;
        let end = odd.len() - 2;
        let crc = calculate_crc(&odd[1..end], 50).to_le_bytes();
        odd[end..].copy_from_slice(&crc);
        let mut framer = Framer::default();
        framer.push(&[odd, beat(1)].concat());
        let received: Vec<_> = std::iter::from_fn(|| framer.next_after_silence()).collect();
        assert!(received.len() == 1 && received[0].bytes == beat(1), "flags {flags:#x}");
    }
}

#[test]
fn a_datagram_ends_its_frames() {
    let mut framer = Framer::default();
    framer.push(&beat(0)[..10]);
    assert!(framer.next_frame().is_none());
    framer.forget_unfinished();
    framer.push(&beat(1));
    assert_eq!(frames(&mut framer), [beat(1)]);
    assert_eq!(framer.take_skipped(), 10);
}

#[test]
fn the_senders_that_are_remembered_are_bounded() {
    let mut framer = Framer::default();
    for system in 0..=255 {
        framer.push(&frame_of(
            (system, 1),
            0,
            &MavMessage::HEARTBEAT(HEARTBEAT_DATA::default()),
        ));
        assert!(framer.next_frame().is_some());
    }
    assert_eq!(framer.senders.len(), SENDERS);
}

#[test]
fn no_good_frame_is_lost_in_garbage() {
    let noise = proptest::collection::vec(
        prop_oneof![40 => any::<u8>(), 1 => Just(MAV_STX), 1 => Just(MAV_STX_V2)],
        0..60,
    );
    let parts = proptest::collection::vec((noise, any::<bool>(), any::<bool>()), 1..12);
    // The same cases every time: a random false start has a good checksum once in 65536 times.
    let mut runner = TestRunner::deterministic();
    let lost = runner.run(&(parts, 1..300_usize), |(parts, size)| {
        let (mut bytes, mut good) = (Vec::new(), Vec::new());
        for (n, (noise, v1, signs)) in parts.into_iter().enumerate() {
            let n = u8::try_from(n).unwrap();
            let frame = match (v1, signs) {
                (true, _) => beat_v1(n),
                (false, true) => signed(beat(n), 50),
                (false, false) => beat(n),
            };
            bytes.extend(noise);
            bytes.extend_from_slice(&frame);
            good.push(frame);
        }
        let mut framer = Framer::default();
        let mut received = Vec::new();
        for chunk in bytes.chunks(size) {
            framer.push(chunk);
            received.extend(frames(&mut framer));
            prop_assert!(framer.waiting() <= LONGEST);
        }
        received.extend(std::iter::from_fn(|| framer.next_after_silence()).map(|f| f.bytes.to_vec()));
        prop_assert_eq!(received, good);
        Ok(())
    });
    lost.unwrap();
}
