//! Guests on real sockets, and a scripted autopilot on a line in memory.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on ends here")]

mod guests;
mod line;

use agent::gcs::hub::{Out, write_out};
use agent::gcs::routes::GuestId;
use agent::gcs::{Config, Place};
use guests::{Guest, receives_nothing_of};
use line::{DEADLINE, ack, gcs_beat, line, signed, unknown, v1, v2, vehicle_beat};
use link::dialect::{
    COMMAND_ACK_DATA, COMMAND_LONG_DATA, MavCmd, MavMessage, MavResult, PARAM_REQUEST_LIST_DATA, PARAM_SET_DATA,
};
use link::raw::RawFrame;
use model::units::Address;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::time::{Instant, interval, sleep};

const VEHICLE: (u8, u8) = (7, 1);
const US: Address = Address::new(7, 191);
const QGC: (u8, u8) = (255, 190);
const PROXY: (u8, u8) = (255, 230);

fn places() -> Config {
    Config {
        places: vec![
            Place::Udp("127.0.0.1:0".parse().unwrap()),
            Place::Tcp("127.0.0.1:0".parse().unwrap()),
        ],
        bytes_per_second: 65_536,
        ..Config::default()
    }
}

fn arm() -> MavMessage {
    MavMessage::COMMAND_LONG(COMMAND_LONG_DATA {
        command: MavCmd::MAV_CMD_COMPONENT_ARM_DISARM,
        param1: 1.0,
        target_system: VEHICLE.0,
        target_component: VEHICLE.1,
        ..COMMAND_LONG_DATA::default()
    })
}

fn list_parameters() -> MavMessage {
    MavMessage::PARAM_REQUEST_LIST(PARAM_REQUEST_LIST_DATA {
        target_system: VEHICLE.0,
        target_component: VEHICLE.1,
    })
}

#[tokio::test]
async fn every_kind_of_frame_passes_byte_for_byte_both_ways() {
    let mut line = line(8192).await;
    let gcs = agent::gcs::start(places(), line.handle.clone(), None);
    let mut by_udp = Guest::udp(&gcs).await;
    let mut by_tcp = Guest::tcp(&gcs).await;
    by_udp.says(&v2(QGC, 0, &gcs_beat())).await;
    by_tcp.says(&v2(PROXY, 0, &gcs_beat())).await;
    by_udp.receives("the other guest", &v2(PROXY, 0, &gcs_beat())).await;
    by_tcp.receives("the other guest", &v2(QGC, 0, &gcs_beat())).await;

    // MAVLink 1 first: once a sender has spoken MAVLink 2, the start byte of MAVLink 1 is noise.
    let told = [
        v1(VEHICLE, 1, &vehicle_beat(false)),
        v2(VEHICLE, 2, &vehicle_beat(true)),
        signed(VEHICLE, 3, &vehicle_beat(true)),
        unknown(VEHICLE, 4),
        v2(VEHICLE, 5, &vehicle_beat(true)),
    ];
    for frame in &told {
        line.says(frame).await;
    }
    for frame in &told {
        by_udp.receives("the vehicle", frame).await;
        by_tcp.receives("the vehicle", frame).await;
    }

    let asked = [
        v2(QGC, 1, &arm()),
        signed(QGC, 2, &arm()),
        unknown(QGC, 3),
        v2(QGC, 4, &list_parameters()),
    ];
    for frame in &asked {
        by_udp.says(frame).await;
        line.receives("a datagram", frame).await;
    }
    let old = v1((255, 1), 5, &list_parameters());
    let mut old_fashioned = Guest::tcp(&gcs).await;
    old_fashioned.says(&old).await;
    line.receives("MAVLink 1 by TCP", &old).await;
    gcs.close().await;
}

#[tokio::test]
async fn no_web_page_commands_the_vehicle_through_a_browser() {
    let mut line = line(8192).await;
    let gcs = agent::gcs::start(places(), line.handle.clone(), None);
    for begin in [
        &b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"[..],
        b"GET /",
        b"\x16\x03\x01\x02\x00",
    ] {
        let mut page = Guest::tcp(&gcs).await;
        page.says(&[begin, &v2(QGC, 1, &arm())].concat()).await;
        page.is_hung_up_on().await;
    }
    let mut station = Guest::tcp(&gcs).await;
    station.says(&v2(QGC, 2, &gcs_beat())).await;
    line.receives("a ground station", &v2(QGC, 2, &gcs_beat())).await;
    assert!(!line.has_received(&v2(QGC, 1, &arm())));
    gcs.close().await;
}

#[tokio::test]
async fn an_answer_reaches_the_guest_that_asked_and_neither_another_nor_the_agent() {
    let mut line = line(8192).await;
    let gcs = agent::gcs::start(places(), line.handle.clone(), None);
    let mut qgc = Guest::udp(&gcs).await;
    let mut proxy = Guest::tcp(&gcs).await;
    line.says(&v2(VEHICLE, 0, &vehicle_beat(true))).await;
    qgc.says(&v2(QGC, 0, &gcs_beat())).await;
    proxy.says(&v2(PROXY, 0, &gcs_beat())).await;
    qgc.receives("the other guest", &v2(PROXY, 0, &gcs_beat())).await;

    qgc.says(&v2(QGC, 1, &arm())).await;
    line.receives("the command", &v2(QGC, 1, &arm())).await;
    let to_qgc = v2(VEHICLE, 1, &ack(MavCmd::MAV_CMD_COMPONENT_ARM_DISARM, QGC));
    let to_us = v2(
        VEHICLE,
        2,
        &ack(MavCmd::MAV_CMD_NAV_LAND, (US.system.0, US.component.0)),
    );
    let to_all = v2(VEHICLE, 3, &ack(MavCmd::MAV_CMD_NAV_LAND, (0, 0)));
    for frame in [&to_qgc, &to_us, &to_all] {
        line.says(frame).await;
    }
    qgc.receives("its answer", &to_qgc).await;
    qgc.receives("an answer to nobody in particular", &to_all).await;
    proxy.receives("the same", &to_all).await;
    receives_nothing_of(&qgc, &to_us);
    receives_nothing_of(&proxy, &to_us);
    receives_nothing_of(&proxy, &to_qgc);
    gcs.close().await;
}

#[tokio::test]
async fn only_the_station_in_charge_beats_at_the_autopilot() {
    let mut line = line(8192).await;
    let gcs = agent::gcs::start(places(), line.handle.clone(), None);
    let mut first = Guest::tcp(&gcs).await;
    let mut second = Guest::udp(&gcs).await;
    line.says(&v2(VEHICLE, 0, &vehicle_beat(true))).await;
    first
        .receives("the vehicle", &v2(VEHICLE, 0, &vehicle_beat(true)))
        .await;
    first.says(&v2(QGC, 1, &gcs_beat())).await;
    line.receives("the heartbeat of the first", &v2(QGC, 1, &gcs_beat()))
        .await;
    second.says(&v2(QGC, 2, &gcs_beat())).await;
    first.receives("the second", &v2(QGC, 2, &gcs_beat())).await;
    // The second guest looks like the lost one to the autopilot, and must not beat for it.
    drop(first);
    guests::until("the first has gone", || gcs.counters().left == 1).await;
    second.says(&v2(QGC, 3, &gcs_beat())).await;
    second.says(&v2(QGC, 4, &arm())).await;
    line.receives("a command of the second", &v2(QGC, 4, &arm())).await;
    assert!(!line.has_received(&v2(QGC, 2, &gcs_beat())) && !line.has_received(&v2(QGC, 3, &gcs_beat())));
    assert_eq!(gcs.counters().held_heartbeats, 2);
    gcs.close().await;
}

#[tokio::test]
async fn in_read_only_mode_a_guest_is_notified_and_nothing_else_happens() {
    let mut line = line(8192).await;
    let mut config = places();
    config.policy.read_only = true;
    let gcs = agent::gcs::start(config, line.handle.clone(), None);
    let mut guest = Guest::udp(&gcs).await;
    line.says(&v2(VEHICLE, 0, &vehicle_beat(true))).await;
    guest.says(&v2(QGC, 0, &gcs_beat())).await;
    guest.says(&v2(QGC, 1, &arm())).await;
    guest.receives("the notice", b"Skein: read-only").await;
    let set = MavMessage::PARAM_SET(PARAM_SET_DATA {
        target_system: VEHICLE.0,
        target_component: VEHICLE.1,
        ..PARAM_SET_DATA::default()
    });
    guest.says(&v2(QGC, 2, &set)).await;
    guest.says(&v2(QGC, 3, &list_parameters())).await;
    line.receives("the question", &v2(QGC, 3, &list_parameters())).await;
    assert!(!line.has_received(&v2(QGC, 1, &arm())) && !line.has_received(&v2(QGC, 2, &set)));
    assert_eq!(gcs.counters().read_only, 2);
    gcs.close().await;
}

#[tokio::test]
#[allow(deprecated, reason = "ground stations still ask so")]
async fn in_read_only_mode_the_autopilot_itself_answers_a_guest_what_its_version_has_removed() {
    let mut line = line(8192).await;
    let mut config = places();
    config.policy.read_only = true;
    let gcs = agent::gcs::start(config, line.handle.clone(), None);
    let mut guest = Guest::udp(&gcs).await;
    line.says(&v2(VEHICLE, 0, &vehicle_beat(true))).await;
    for (sequence, command, result) in [
        (1, MavCmd::MAV_CMD_GET_HOME_POSITION, MavResult::MAV_RESULT_UNSUPPORTED),
        (
            2,
            MavCmd::MAV_CMD_REQUEST_PROTOCOL_VERSION,
            MavResult::MAV_RESULT_UNSUPPORTED,
        ),
        (
            3,
            MavCmd::MAV_CMD_REQUEST_AUTOPILOT_CAPABILITIES,
            MavResult::MAV_RESULT_UNSUPPORTED,
        ),
        (4, MavCmd::MAV_CMD_REQUEST_MESSAGE, MavResult::MAV_RESULT_ACCEPTED),
    ] {
        let asks = MavMessage::COMMAND_LONG(COMMAND_LONG_DATA {
            command,
            target_system: VEHICLE.0,
            target_component: VEHICLE.1,
            ..COMMAND_LONG_DATA::default()
        });
        let answers = MavMessage::COMMAND_ACK(COMMAND_ACK_DATA {
            command,
            result,
            target_system: QGC.0,
            target_component: QGC.1,
            ..COMMAND_ACK_DATA::default()
        });
        guest.says(&v2(QGC, sequence, &asks)).await;
        line.receives("the question", &v2(QGC, sequence, &asks)).await;
        line.says(&v2(VEHICLE, sequence, &answers)).await;
        guest.receives("its answer", &v2(VEHICLE, sequence, &answers)).await;
    }
    assert_eq!(gcs.counters().read_only, 0);
    gcs.close().await;
}

#[tokio::test]
async fn a_guest_that_reads_nothing_is_disconnected_and_nobody_waits_for_it() {
    let mut line = line(65_536).await;
    let gcs = agent::gcs::start(places(), line.handle.clone(), None);
    let stuck = Guest::tcp(&gcs).await;
    let mut reads = Guest::tcp(&gcs).await;
    let began = Instant::now();
    let mut passed_by = 0;
    let mut sequence = 0_u8;
    // More than the system's buffers take, so that the first cannot be written to.
    while gcs.counters().too_slow == 0 {
        assert!(began.elapsed() < DEADLINE * 3, "{:?}", gcs.counters());
        let mut burst = Vec::new();
        for _ in 0..200 {
            sequence = sequence.wrapping_add(1);
            burst.extend(v2(VEHICLE, sequence, &vehicle_beat(true)));
        }
        line.says(&burst).await;
        reads
            .receives("the newest", &v2(VEHICLE, sequence, &vehicle_beat(true)))
            .await;
        let counters = gcs.counters();
        passed_by += usize::from(counters.lost_by_guests > 0 && counters.too_slow == 0);
        reads.forgets();
    }
    assert!(passed_by > 1, "the guest that reads waited for the other");
    guests::until("it has gone", || gcs.counters().left == 1).await;
    drop(stuck);
    gcs.close().await;
}

#[tokio::test]
async fn a_guest_on_udp_that_falls_silent_is_forgotten() {
    let line = line(8192).await;
    let gcs = agent::gcs::start(places(), line.handle.clone(), None);
    let mut noise = Guest::silent(&gcs).await;
    noise.says(b"GET / HTTP/1.1").await;
    let mut guest = Guest::silent(&gcs).await;
    guest.says(&v2(QGC, 0, &gcs_beat())).await;
    guests::until("it is there", || gcs.counters().joined == 1).await;
    tokio::time::pause();
    let began = Instant::now();
    while gcs.counters().left == 0 {
        sleep(Duration::from_millis(500)).await;
        assert!(began.elapsed() < Duration::from_secs(15));
    }
    assert!(began.elapsed() > Duration::from_secs(8), "{:?}", began.elapsed());
    assert_eq!(gcs.counters().joined, 1, "who speaks no MAVLink is no guest");
    gcs.close().await;
}

#[tokio::test]
async fn a_ground_station_that_waits_for_us_is_spoken_to_first() {
    let mut line = line(8192).await;
    let waits = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let config = Config {
        places: vec![Place::UdpTo(waits.local_addr().unwrap().to_string())],
        ..places()
    };
    let gcs = agent::gcs::start(config, line.handle.clone(), None);
    guests::until("it is known", || gcs.counters().joined == 1).await;
    line.says(&v2(VEHICLE, 0, &vehicle_beat(false))).await;
    let mut buffer = [0; 2048];
    let (n, us) = tokio::time::timeout(DEADLINE, waits.recv_from(&mut buffer))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(buffer[..n], v2(VEHICLE, 0, &vehicle_beat(false)));
    waits.send_to(&v2(QGC, 0, &arm()), us).await.unwrap();
    line.receives("its command", &v2(QGC, 0, &arm())).await;
    let stranger = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    stranger.send_to(&v2(PROXY, 0, &arm()), us).await.unwrap();
    waits.send_to(&v2(QGC, 1, &arm()), us).await.unwrap();
    line.receives("the next", &v2(QGC, 1, &arm())).await;
    assert_eq!(gcs.counters().joined, 1);
    assert!(!line.has_received(&v2(PROXY, 0, &arm())));
    gcs.close().await;
}

#[tokio::test]
async fn a_port_that_is_taken_keeps_neither_the_agent_nor_the_other_places_waiting() {
    let line = line(8192).await;
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut config = places();
    config.places.insert(0, Place::Tcp(taken.local_addr().unwrap()));
    let gcs = agent::gcs::start(config, line.handle.clone(), None);
    guests::until("the others are open", || gcs.addresses().len() == 2).await;
    gcs.close().await;
}

/// A serial line at 57600 baud.
const LINE_BYTES_PER_S: u64 = 5760;

#[tokio::test(start_paused = true)]
async fn a_flood_of_guests_delays_a_command_of_the_agent_by_less_than_a_tenth_of_a_second() {
    let mut line = line(4096).await;
    let out = Arc::new(Out::new(u32::try_from(LINE_BYTES_PER_S / 2).unwrap()));
    tokio::spawn(write_out(Arc::clone(&out), line.handle.clone(), Arc::default()));
    let flood = Arc::clone(&out);
    tokio::spawn(async move {
        let frame = Arc::new(RawFrame::parse(&v2(QGC, 0, &arm())).unwrap());
        loop {
            for guest in 0..8 {
                flood.push(GuestId(guest), Arc::clone(&frame), false);
            }
            sleep(Duration::from_millis(1)).await;
        }
    });
    let agent = line.handle.clone();
    let commands = tokio::spawn(async move {
        let mut sent = Vec::new();
        for n in 0..100_u64 {
            sleep(Duration::from_millis(150 + n % 37)).await;
            sent.push(Instant::now());
            agent
                .send(US, &list_parameters(), Duration::from_millis(500))
                .await
                .unwrap();
        }
        sent
    });
    let mut every = interval(Duration::from_millis(5));
    let per_tick = usize::try_from(LINE_BYTES_PER_S / 200).unwrap();
    let (mut heard, mut arrived, mut bytes) = (Vec::new(), Vec::new(), 0_u64);
    let ours = [0xFD, 2, 0, 0];
    while !commands.is_finished() {
        every.tick().await;
        let mut buffer = vec![0; per_tick];
        let read = tokio::time::timeout(Duration::from_millis(1), line.far.read(&mut buffer));
        let n = read.await.map_or(0, Result::unwrap);
        bytes += n as u64;
        heard.extend_from_slice(&buffer[..n]);
        while let Some(at) = heard
            .windows(14)
            .position(|w| w.starts_with(&ours) && w[5..7] == [US.system.0, US.component.0])
        {
            arrived.push(Instant::now());
            heard.drain(..at + 14);
        }
    }
    let sent = commands.await.unwrap();
    let delays: Vec<Duration> = sent
        .iter()
        .zip(&arrived)
        .map(|(sent, at)| at.duration_since(*sent))
        .collect();
    let longest = delays.iter().max().unwrap();
    assert!(arrived.len() >= 99, "{} of {} arrived", arrived.len(), sent.len());
    assert!(*longest <= Duration::from_millis(105), "{longest:?}");
    assert!(bytes > 40_000, "guests were heard too: {bytes} bytes");
}
