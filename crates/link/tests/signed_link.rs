//! A link with a key, over an in-memory line.

mod support;

use link::dialect::{MavAutopilot, MavMessage, RADIO_STATUS_DATA};
use link::raw::RawFrame;
use link::signing::key::Key;
use link::signing::stamps::{Stamp, Stamps};
use link::signing::{Signer, Signing, Verdict};
use link::{Link, LinkEvent};
use model::units::Address;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use support::{Lines, beat, frame, heartbeat, next, up};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::sync::mpsc;
use tokio::time::sleep;

const KEY: [u8; 32] = [0x5A; 32];
const WITHIN: Duration = Duration::from_millis(500);

fn signing(folder: &Path) -> (Signing, PathBuf) {
    let (key, stamp) = (folder.join("key"), folder.join("stamp"));
    fs::write(&key, KEY).expect("the folder is ours");
    fs::set_permissions(&key, Permissions::from_mode(0o600)).expect("the file is ours");
    let signing = Signing::load(&key, 7, stamp.clone()).expect("a good key");
    (signing, stamp)
}

fn autopilot(key: [u8; 32]) -> Signer {
    Signer::new(Key::new(key), 0, Stamps::after_restart(None, Stamp::now()))
}

#[tokio::test(start_paused = true)]
async fn a_link_with_a_key_accepts_only_what_is_signed_with_it_and_signs_what_it_sends() {
    let folder = tempfile::tempdir().unwrap();
    let (lines, opener) = mpsc::channel(1);
    let (_link, handle, mut events) = Link::over_with(Lines(opener), "test", Some(signing(folder.path()).0));
    let (mut far, near) = duplex(4096);
    lines.send(near).await.unwrap();
    assert!(up(&next(&mut events).await));
    sleep(Duration::from_millis(300)).await;
    let (mut autopilot, mut stranger) = (autopilot(KEY), autopilot([9; 32]));
    let mut tap = handle.tap(100);

    let radio = frame((51, 68), 0, &MavMessage::RADIO_STATUS(RADIO_STATUS_DATA::default()));
    let good = autopilot.sign(&beat(2), Stamp::now());
    let bytes = [
        &beat(0)[..],
        &stranger.sign(&beat(1), Stamp::now()),
        &good,
        &good,
        &radio,
        &autopilot.sign(&beat(3), Stamp::now()),
    ];
    far.write_all(&bytes.concat()).await.unwrap();
    for sequence in [2, 0, 3] {
        let event = next(&mut events).await;
        assert!(
            matches!(&event, LinkEvent::Frame(f) if f.header.sequence == sequence),
            "{event:?}"
        );
        assert_eq!(tap.recv().await.unwrap().sequence(), sequence);
    }
    assert!(events.try_recv().is_none());
    let counters = handle.counters();
    assert_eq!(
        (counters.unsigned, counters.bad_signatures, counters.replayed),
        (1, 1, 1)
    );
    assert_eq!(
        (counters.frames, counters.lost),
        (3, 0),
        "what is not believed is not counted as heard"
    );

    let message = heartbeat(MavAutopilot::MAV_AUTOPILOT_INVALID);
    for _ in 0..2 {
        handle.send(Address::new(1, 191), &message, WITHIN).await.unwrap();
        let mut bytes = [0; 21 + 13];
        far.read_exact(&mut bytes).await.unwrap();
        let frame = RawFrame::parse(&bytes).unwrap();
        assert_eq!((frame.signed, bytes[21]), (true, 7));
        assert_eq!(autopilot.check(&frame, Stamp::now()), Verdict::Accepted);
    }
    // A guest has its own key or none.
    let guest = RawFrame::parse(&beat(9)).unwrap();
    handle.send_raw(&guest, WITHIN).await.unwrap();
    let mut bytes = [0; 21];
    far.read_exact(&mut bytes).await.unwrap();
    assert_eq!(bytes[..], guest.bytes);
}

#[tokio::test]
async fn the_time_stamp_is_on_the_disk_within_a_minute() {
    let folder = tempfile::tempdir().unwrap();
    let (signing, stamp) = signing(folder.path());
    let at_start = fs::read_to_string(&stamp).unwrap();
    let (lines, opener) = mpsc::channel(1);
    tokio::time::pause();
    let (_link, handle, mut events) = Link::over_with(Lines(opener), "test", Some(signing));
    let (_far, near) = duplex(4096);
    lines.send(near).await.unwrap();
    assert!(up(&next(&mut events).await));
    let message = heartbeat(MavAutopilot::MAV_AUTOPILOT_INVALID);
    handle.send(Address::new(1, 191), &message, WITHIN).await.unwrap();
    sleep(Duration::from_secs(31)).await;
    tokio::time::resume();
    let began = std::time::Instant::now();
    while fs::read_to_string(&stamp).unwrap() == at_start {
        assert!(began.elapsed() < support::DEADLINE, "never written");
        sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn frames_are_signed_and_numbered_in_the_order_in_which_they_are_written() {
    const SENDERS: usize = 4;
    const EACH: usize = 1000;
    let folder = tempfile::tempdir().unwrap();
    let (lines, opener) = mpsc::channel(1);
    let (_link, handle, mut events) = Link::over_with(Lines(opener), "test", Some(signing(folder.path()).0));
    let (mut far, near) = duplex(1 << 20);
    lines.send(near).await.unwrap();
    assert!(up(&next(&mut events).await));
    let message = heartbeat(MavAutopilot::MAV_AUTOPILOT_INVALID);
    let send_many = |handle: link::LinkHandle, message: MavMessage| async move {
        for _ in 0..EACH {
            handle
                .send(Address::new(1, 191), &message, support::DEADLINE)
                .await
                .unwrap();
        }
    };
    let senders: Vec<_> = (0..SENDERS)
        .map(|_| tokio::spawn(send_many(handle.clone(), message.clone())))
        .collect();
    for sender in senders {
        sender.await.unwrap();
    }
    // An autopilot refuses a frame whose stamp is not above the one before it: a command would be lost.
    let mut before = None;
    for number in 0..SENDERS * EACH {
        let mut bytes = [0; 21 + 13];
        far.read_exact(&mut bytes).await.unwrap();
        let [stamp @ .., _, _] = bytes[22..30].first_chunk::<8>().unwrap();
        let stamp = stamp.iter().rev().fold(0_u64, |all, byte| all << 8 | u64::from(*byte));
        assert!(before.is_none_or(|before| stamp > before), "frame {number} is late");
        assert_eq!(usize::from(bytes[4]), number % 256, "frame {number}");
        before = Some(stamp);
    }
}

#[tokio::test(start_paused = true)]
async fn a_link_without_a_key_says_which_frames_are_signed() {
    let (lines, opener) = mpsc::channel(1);
    let (_link, _handle, mut events) = Link::over_with(Lines(opener), "test", None);
    let (mut far, near) = duplex(4096);
    lines.send(near).await.unwrap();
    assert!(up(&next(&mut events).await));
    sleep(Duration::from_millis(300)).await;
    let signed = autopilot(KEY).sign(&beat(1), Stamp::now());
    far.write_all(&[&beat(0)[..], &signed].concat()).await.unwrap();
    for is_signed in [false, true] {
        let event = next(&mut events).await;
        assert!(
            matches!(&event, LinkEvent::Frame(f) if f.unchecked_signature == is_signed),
            "{event:?}"
        );
    }
}
