//! The `auto` link on pseudo-terminals in a folder in the place of `/dev`.

mod support;

use link::dialect::{HEARTBEAT_DATA, MavAutopilot, MavMessage, MavType};
use link::signing::key::Key;
use link::signing::stamps::{Stamp, Stamps};
use link::signing::{Signer, Signing};
use link::{Link, LinkEvent, LinkUrl, Options};
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::{down, frame, heartbeat, until, up};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_serial::{SerialPort, SerialStream};

/// The other end of a port; hangs up when dropped.
struct Device {
    speaker: JoinHandle<()>,
    written_to: Arc<AtomicBool>,
}

impl Drop for Device {
    fn drop(&mut self) {
        self.speaker.abort();
    }
}

/// `speak` gives, 20 times a second, what to send at the baud rate that is set.
fn plug(dev: &Path, name: &str, speak: impl Fn(u32, u64) -> Vec<u8> + Send + Sync + 'static) -> Device {
    // Without echo: what comes back was written by the link.
    let (master, slave) = SerialStream::pair().expect("a pseudo-terminal");
    let path = dev.join(name);
    let fresh = dev.join("fresh");
    let slave_name = slave.name().expect("a terminal has a name");
    symlink(slave_name, &fresh).expect("the folder is ours");
    std::fs::rename(&fresh, &path).expect("the folder is ours");
    drop(slave);
    let written_to = Arc::new(AtomicBool::new(false));
    let noted = Arc::clone(&written_to);
    let speaker = tokio::spawn(async move { talk(master, &speak, &noted).await });
    Device { speaker, written_to }
}

async fn talk(mut master: SerialStream, speak: &(impl Fn(u32, u64) -> Vec<u8> + Send + Sync), written_to: &AtomicBool) {
    for tick in 0.. {
        // Errors: no program has it open, and none reads.
        let baud = master.baud_rate().unwrap_or(0);
        let _ = master.try_write(&speak(baud, tick));
        let mut buffer = [0; 256];
        if matches!(master.try_read(&mut buffer), Ok(n) if n > 0) {
            written_to.store(true, Ordering::Relaxed);
        }
        sleep(Duration::from_millis(50)).await;
    }
}

fn autopilot(system: u8, baud: u32) -> impl Fn(u32, u64) -> Vec<u8> + Send + Sync + 'static {
    let beat = frame((system, 1), 0, &heartbeat(MavAutopilot::MAV_AUTOPILOT_ARDUPILOTMEGA));
    move |set, tick| match (set == baud, tick % 10) {
        (true, 0) => beat.clone(),
        (true, _) => Vec::new(),
        (false, _) => vec![0xFE; 100],
    }
}

fn open(dev: &Path, url: &str) -> (Link, link::LinkHandle, link::Events) {
    let options = Options {
        devices: dev.to_owned(),
        ..Options::default()
    };
    Link::open_with(url.parse::<LinkUrl>().expect("a link"), options)
}

fn frame_from(system: u32) -> impl Fn(&LinkEvent) -> bool {
    move |e| matches!(e, LinkEvent::Frame(f) if f.header.system_id == system)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_autopilot_is_found_at_its_baud_rate_without_a_byte_being_written() {
    let dev = tempfile::tempdir().unwrap();
    let silent = plug(dev.path(), "ttyUSB0", |_, _| Vec::new());
    let station = frame((255, 190), 0, &heartbeat(MavAutopilot::MAV_AUTOPILOT_INVALID));
    let other = plug(dev.path(), "ttyACM0", move |_, tick| {
        if tick % 10 == 0 { station.clone() } else { Vec::new() }
    });
    let modem = plug(dev.path(), "ttyACM1", |_, _| b"\r\n+CREG: 0,1\r\nOK\r\n".repeat(8));
    let in_use = plug(dev.path(), "ttyACM2", autopilot(66, 115_200));
    let holder_url = format!("serial:{}:115200", dev.path().join("ttyACM2").display());
    let (_holder, _, mut holder_events) = Link::open(holder_url.parse().unwrap());
    until(&mut holder_events, up).await;
    let (link, handle, mut events) = open(dev.path(), "auto");
    let expected = [
        "no autopilot",
        "ttyACM0: MAVLink, but no autopilot",
        "ttyACM1: bytes, but no MAVLink",
        "ttyACM2: in use",
        "ttyUSB0: silent",
    ];
    // One that was not heard in a round, as its writer was late, is silent in that round's words.
    let told = |e: &LinkEvent| matches!(e, LinkEvent::Down(why) if expected.iter().all(|part| why.contains(part)));
    until(&mut events, told).await;
    let ours = plug(dev.path(), "ttyAMA0", autopilot(3, 57_600));
    until(&mut events, up).await;
    until(&mut events, frame_from(3)).await;
    for device in [&silent, &other, &modem, &in_use, &ours] {
        assert!(!device.written_to.load(Ordering::Relaxed));
    }
    assert!(handle.is_up());
    link.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_station_that_names_an_autopilot_and_a_radio_that_names_none_are_no_autopilot() {
    let dev = tempfile::tempdir().unwrap();
    let station = MavMessage::HEARTBEAT(HEARTBEAT_DATA {
        mavtype: MavType::MAV_TYPE_GCS,
        autopilot: MavAutopilot::MAV_AUTOPILOT_ARDUPILOTMEGA,
        ..HEARTBEAT_DATA::default()
    });
    let station = frame((255, 190), 0, &station);
    let radio = MavMessage::HEARTBEAT(HEARTBEAT_DATA {
        mavtype: MavType::MAV_TYPE_GENERIC,
        autopilot: MavAutopilot::MAV_AUTOPILOT_GENERIC,
        ..HEARTBEAT_DATA::default()
    });
    let radio = frame((51, 68), 0, &radio);
    let _station = plug(dev.path(), "ttyACM0", move |_, tick| {
        if tick % 10 == 0 { station.clone() } else { Vec::new() }
    });
    let _radio = plug(dev.path(), "ttyACM1", move |_, tick| {
        if tick % 10 == 0 { radio.clone() } else { Vec::new() }
    });
    let _ours = plug(dev.path(), "ttyUSB0", autopilot(3, 57_600));
    let (link, _, mut events) = open(dev.path(), "auto:57600");
    let frame = until(&mut events, |e| matches!(e, LinkEvent::Frame(_))).await;
    assert!(frame_from(3)(&frame), "{frame:?}");
    link.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_autopilot_without_our_key_does_not_keep_the_link_from_the_one_that_has_it() {
    let dev = tempfile::tempdir().unwrap();
    let key = dev.path().join("key");
    std::fs::write(&key, [7; 32]).unwrap();
    std::fs::set_permissions(&key, Permissions::from_mode(0o400)).unwrap();
    let signing = Signing::load(&key, 1, dev.path().join("stamp")).unwrap();
    let options = Options {
        signing: Some(signing),
        devices: dev.path().to_owned(),
    };
    let _other = plug(dev.path(), "ttyUSB0", autopilot(66, 57_600));
    let signer = Signer::new(Key::new([7; 32]), 0, Stamps::after_restart(None, Stamp::now()));
    let signer = Mutex::new(signer);
    let beat = frame((3, 1), 0, &heartbeat(MavAutopilot::MAV_AUTOPILOT_PX4));
    let _ours = plug(dev.path(), "ttyUSB1", move |_, tick| match tick % 10 {
        0 => signer.lock().unwrap().sign(&beat, Stamp::now()).to_vec(),
        _ => Vec::new(),
    });
    let (link, _, mut events) = Link::open_with("auto:57600".parse().unwrap(), options);
    let found = timeout(support::DEADLINE, until(&mut events, frame_from(3))).await;
    assert!(found.is_ok(), "never found");
    link.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_an_unplugging_the_same_port_is_taken_though_another_autopilot_is_there() {
    let dev = tempfile::tempdir().unwrap();
    let first = plug(dev.path(), "ttyUSB5", autopilot(5, 57_600));
    let (link, handle, mut events) = open(dev.path(), "auto:57600");
    until(&mut events, frame_from(5)).await;
    let _second = plug(dev.path(), "ttyUSB0", autopilot(6, 57_600));
    drop(first);
    std::fs::remove_file(dev.path().join("ttyUSB5")).unwrap();
    until(&mut events, |e| matches!(e, LinkEvent::Down(_))).await;
    until(&mut events, down("ttyUSB5: gone")).await;
    let _again = plug(dev.path(), "ttyUSB5", autopilot(5, 57_600));
    until(&mut events, up).await;
    let frame = until(&mut events, |e| matches!(e, LinkEvent::Frame(_))).await;
    assert!(frame_from(5)(&frame), "{frame:?}");
    assert_eq!(handle.counters().opens, 2);
    link.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_autopilot_whose_baud_rate_was_changed_is_found_at_the_new_one() {
    let dev = tempfile::tempdir().unwrap();
    let changed = Arc::new(AtomicBool::new(false));
    let (before, after) = (autopilot(5, 115_200), autopilot(5, 57_600));
    let now = Arc::clone(&changed);
    let _device = plug(dev.path(), "ttyAMA0", move |set, tick| {
        if now.load(Ordering::Relaxed) {
            after(set, tick)
        } else {
            before(set, tick)
        }
    });
    let (link, _, mut events) = open(dev.path(), "auto");
    until(&mut events, frame_from(5)).await;
    changed.store(true, Ordering::Relaxed);
    until(&mut events, down("no frame for 10 s")).await;
    until(&mut events, up).await;
    until(&mut events, frame_from(5)).await;
    link.close().await;
}
