//! Signing, against frames that pymavlink signed and by its rules.

use super::*;
use crate::framing::tests::{frame_of, hex};
use mavlink::dialects::ardupilotmega::{HEARTBEAT_DATA, MavMessage, RADIO_STATUS_DATA};

/// SHA-256 of "skein test vector".
const KEY: &str = "332b637387b9c6815b396412c14047335ea6e9d3d80886b6bd155fca06ce9889";
const FIRST: Stamp = Stamp(33_554_432_000_000);
/// Signed by pymavlink with this key as system 1, component 1, link id 3, one stamp after the other.
const HEARTBEAT: &str = "fd0901000001010000000400000002035104039c560300000080841ed9bcc17be7be";
const COMMAND_LONG: &str = "fd2001000101014c00000000803f0000000000000000000000000000000000000000000000009001010102270301000080841ef77fd1d3faa3";
const STATUSTEXT: &str = "fd070100020101fd0000067369676e65640e310302000080841efe4c63a860e7";
const RADIO: &str = "fd0901000301016d00000600070001020304052f650303000080841e3c0b4e0640fc";

fn key() -> Key {
    Key::new(hex(KEY).try_into().unwrap())
}

fn signer(now: Stamp) -> Signer {
    Signer::new(key(), 3, Stamps::after_restart(None, now))
}

fn raw(digits: &str) -> RawFrame {
    RawFrame::parse(&hex(digits)).unwrap()
}

fn at(seconds: u64) -> Stamp {
    Stamp(FIRST.0 + seconds * Stamp::SECOND)
}

fn signed_at(stamp: Stamp, link_id: u8, component: u8) -> RawFrame {
    let plain = frame_of((1, component), 0, &MavMessage::HEARTBEAT(HEARTBEAT_DATA::default()));
    let mut other = Signer::new(key(), link_id, Stamps::after_restart(None, Stamp(0)));
    RawFrame::parse(&other.sign(&plain, stamp)).unwrap()
}

#[test]
fn what_pymavlink_signed_is_accepted() {
    let mut signer = signer(FIRST);
    for frame in [HEARTBEAT, COMMAND_LONG, STATUSTEXT, RADIO] {
        assert_eq!(signer.check(&raw(frame), FIRST), Verdict::Accepted, "{frame}");
    }
    assert_eq!(signer.last().0, FIRST.0 + 3, "its stamps count for ours");
}

#[test]
fn we_sign_byte_for_byte_as_pymavlink_does() {
    for (stamp, expected) in [HEARTBEAT, COMMAND_LONG, STATUSTEXT, RADIO].into_iter().enumerate() {
        let mut plain = hex(expected);
        plain.truncate(plain.len() - SIGNATURE);
        plain[2] = 0;
        let end = plain.len() - 2;
        let extra = layout_of(raw(expected).message_id).unwrap().crc_extra;
        let crc = calculate_crc(&plain[1..end], extra).to_le_bytes();
        plain[end..].copy_from_slice(&crc);
        assert!(RawFrame::parse(&plain).is_ok());
        let stamp = Stamp(FIRST.0 + stamp as u64);
        assert_eq!(signer(Stamp(0)).sign(&plain, stamp), hex(expected));
    }
}

#[test]
fn a_frame_changed_in_any_bit_or_signed_with_another_key_is_refused() {
    let good = hex(HEARTBEAT);
    let mut signer = signer(FIRST);
    // The checksum would catch most of these; an attacker corrects it.
    for bit in 0..good.len() * 8 {
        let mut bytes = good.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let frame = RawFrame {
            bytes: bytes.into(),
            ..raw(HEARTBEAT)
        };
        assert_eq!(signer.check(&frame, FIRST), Verdict::Bad, "bit {bit}");
    }
    let mut stranger = Signer::new(Key::new([9; 32]), 3, Stamps::after_restart(None, FIRST));
    let plain = frame_of((1, 1), 0, &MavMessage::HEARTBEAT(HEARTBEAT_DATA::default()));
    let forged = RawFrame::parse(&stranger.sign(&plain, at(3600))).unwrap();
    assert_eq!(signer.check(&forged, FIRST), Verdict::Bad);
    assert_eq!((signer.last(), signer.streams.len()), (FIRST, 0));
    assert_eq!(signer.check(&raw(HEARTBEAT), FIRST), Verdict::Accepted);
}

#[test]
fn only_the_radios_own_message_may_be_unsigned() {
    let mut signer = signer(FIRST);
    let unsigned = |message| RawFrame::parse(&frame_of((1, 1), 0, &message)).unwrap();
    let heartbeat = unsigned(MavMessage::HEARTBEAT(HEARTBEAT_DATA::default()));
    assert_eq!(signer.check(&heartbeat, FIRST), Verdict::Unsigned);
    let radio = unsigned(MavMessage::RADIO_STATUS(RADIO_STATUS_DATA::default()));
    assert_eq!(signer.check(&radio, FIRST), Verdict::Accepted);
    let mut forged = hex(RADIO);
    *forged.last_mut().unwrap() ^= 1;
    assert_eq!(signer.check(&RawFrame::parse(&forged).unwrap(), FIRST), Verdict::Bad);
}

#[test]
fn a_repeated_or_older_frame_is_refused_within_its_own_stream_only() {
    let mut signer = signer(FIRST);
    assert_eq!(signer.check(&signed_at(at(5), 0, 1), at(5)), Verdict::Accepted);
    assert_eq!(signer.check(&signed_at(at(5), 0, 1), at(5)), Verdict::Replayed);
    assert_eq!(signer.check(&signed_at(at(4), 0, 1), at(5)), Verdict::Replayed);
    assert_eq!(
        signer.check(&signed_at(at(4), 1, 1), at(5)),
        Verdict::Accepted,
        "another link id"
    );
    assert_eq!(
        signer.check(&signed_at(at(4), 0, 2), at(5)),
        Verdict::Accepted,
        "another component"
    );
    assert_eq!(signer.check(&signed_at(at(6), 0, 1), at(5)), Verdict::Accepted);
}

#[test]
fn a_new_stream_may_be_a_minute_behind_and_no_more() {
    let minute = 60 * Stamp::SECOND;
    let mut signer = signer(FIRST);
    let now = at(120);
    assert_eq!(
        signer.check(&signed_at(Stamp(now.0 - minute - 1), 0, 1), now),
        Verdict::Replayed
    );
    assert!(signer.streams.is_empty());
    assert_eq!(
        signer.check(&signed_at(Stamp(now.0 - minute), 0, 1), now),
        Verdict::Accepted
    );
    // Our own stamps count like the clock: somebody who set our clock back gains nothing.
    signer.stamps.see(at(1000));
    assert_eq!(signer.check(&signed_at(at(900), 0, 2), FIRST), Verdict::Replayed);
}

#[test]
fn a_clock_that_is_behind_follows_the_stamps_that_are_accepted() {
    let mut signer = signer(Stamp(0));
    assert_eq!(signer.check(&signed_at(at(50), 0, 1), Stamp(0)), Verdict::Accepted);
    let plain = frame_of((1, 191), 0, &MavMessage::HEARTBEAT(HEARTBEAT_DATA::default()));
    signer.sign(&plain, Stamp(0));
    assert_eq!(signer.last().0, at(50).0 + 1);
}

#[test]
fn the_number_of_streams_is_bounded() {
    let mut signer = signer(FIRST);
    let accepted = (0..=255).filter(|&link| signer.check(&signed_at(at(1), link, 1), FIRST) == Verdict::Accepted);
    assert_eq!(accepted.count(), STREAMS);
}

#[test]
fn a_stream_that_has_ended_makes_room_and_is_not_accepted_again() {
    let mut signer = signer(FIRST);
    for link in 0..u8::try_from(STREAMS).unwrap() {
        let stamp = Stamp(at(1).0 + u64::from(link));
        assert_eq!(signer.check(&signed_at(stamp, link, 1), FIRST), Verdict::Accepted);
    }
    assert_eq!(
        signer.check(&signed_at(at(61), 200, 1), at(61)),
        Verdict::Replayed,
        "all may go on"
    );
    assert_eq!(
        signer.check(&signed_at(at(62), 200, 1), at(62)),
        Verdict::Accepted,
        "one has ended"
    );
    let first = Stamp(at(1).0 + 1);
    assert_eq!(signer.check(&signed_at(first, 0, 1), at(62)), Verdict::Replayed);
}

#[test]
fn a_link_that_is_loaded_again_never_uses_a_stamp_twice() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let (key, stamp) = (folder.path().join("key"), folder.path().join("stamp"));
    std::fs::write(&key, hex(KEY)).unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o400)).unwrap();
    let load = || Signing::load(&key, 1, stamp.clone()).unwrap().signer.last();
    let first = load();
    let second = load();
    assert!(second.0 >= first.0 + 60 * Stamp::SECOND);
    // Nothing can be written any more, and the vehicle may be in the air.
    let obstacle = folder.path().join("stamp.new");
    std::fs::create_dir(&obstacle).unwrap();
    assert!(load().0 >= second.0 + 60 * Stamp::SECOND);
    let never_flown = Signing::load(&key, 1, folder.path().join("other/stamp"));
    assert!(matches!(never_flown, Err(SigningError::Stamp(_))), "{never_flown:?}");
    std::fs::remove_dir(&obstacle).unwrap();
    std::fs::write(&stamp, "?").unwrap();
    let error = Signing::load(&key, 1, stamp.clone()).unwrap_err();
    assert!(error.to_string().contains("clock is right"), "{error}");
    std::fs::remove_file(&key).unwrap();
    assert!(matches!(
        Signing::load(&key, 1, stamp.clone()),
        Err(SigningError::Key(_))
    ));
}
