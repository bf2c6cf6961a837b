//! Links over real pseudo-terminals, UDP and TCP on the loopback interface.

use link::dialect::{HEARTBEAT_DATA, MavMessage};
use link::{Events, Link, LinkEvent, LinkHandle, SendError};
use mavlink::{MAVLinkV2MessageRaw, MavHeader};
use model::units::Address;
use nix::pty::openpty;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UdpSocket};
use tokio::time::{Instant, sleep, timeout};

const DEADLINE: Duration = Duration::from_secs(20);

fn beat(sequence: u8) -> Vec<u8> {
    let header = MavHeader {
        system_id: 1,
        component_id: 1,
        sequence,
    };
    let mut raw = MAVLinkV2MessageRaw::new();
    raw.serialize_message(header, &MavMessage::HEARTBEAT(HEARTBEAT_DATA::default()));
    raw.raw_bytes().to_vec()
}

async fn until(events: &mut Events, wanted: impl Fn(&LinkEvent) -> bool) -> LinkEvent {
    let search = async {
        loop {
            let event = events.recv().await.expect("the link lives");
            if wanted(&event) {
                return event;
            }
        }
    };
    timeout(DEADLINE, search).await.expect("the event in time")
}

const fn up(event: &LinkEvent) -> bool {
    matches!(event, LinkEvent::Up)
}

fn down(reason: &'static str) -> impl Fn(&LinkEvent) -> bool {
    move |e| matches!(e, LinkEvent::Down(why) if why.contains(reason))
}

fn frame(sequence: u8) -> impl Fn(&LinkEvent) -> bool {
    move |e| matches!(e, LinkEvent::Frame(f) if f.header.sequence == sequence)
}

async fn send_until_taken(handle: &LinkHandle) {
    let message = MavMessage::HEARTBEAT(HEARTBEAT_DATA::default());
    let began = Instant::now();
    while handle
        .send(Address::new(1, 191), &message, Duration::from_secs(1))
        .await
        .is_err()
    {
        assert!(began.elapsed() < DEADLINE, "never taken");
        sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unplugged_serial_device_is_reopened_when_it_comes_back() {
    let folder = std::env::temp_dir().join(format!("skein-link-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("autopilot");
    let _ = std::fs::remove_file(&path);
    let url = format!("serial:{}:921600", path.display()).parse().unwrap();
    let (link, handle, mut events) = Link::open(url);
    until(&mut events, down("is missing; is the autopilot plugged in")).await;
    for round in 0..3_u8 {
        let pty = openpty(None, None).unwrap();
        let name = nix::unistd::ttyname(&pty.slave).unwrap();
        let _ = std::fs::remove_file(&path);
        symlink(&name, &path).unwrap();
        drop(pty.slave);
        until(&mut events, up).await;
        sleep(Duration::from_millis(300)).await;
        let mut autopilot = File::from(pty.master);
        autopilot.write_all(&beat(round)).unwrap();
        until(&mut events, frame(round)).await;
        send_until_taken(&handle).await;
        // Unplugged: the terminal hangs up and its name is gone.
        std::fs::remove_file(&path).unwrap();
        drop(autopilot);
        until(&mut events, |e| matches!(e, LinkEvent::Down(_))).await;
    }
    link.close().await;
    std::fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_serial_device_in_use_is_named_so_and_taken_when_free() {
    let pty = openpty(None, None).unwrap();
    let name = nix::unistd::ttyname(&pty.slave).unwrap();
    let url: link::LinkUrl = format!("serial:{}:57600", name.display()).parse().unwrap();
    let (first, _, mut first_events) = Link::open(url.clone());
    until(&mut first_events, up).await;
    let (second, _, mut second_events) = Link::open(url);
    until(&mut second_events, down("is in use by another program")).await;
    first.close().await;
    until(&mut second_events, up).await;
    second.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_serial_line_still_holds_when_it_is_closed_is_not_sent_later() {
    let pty = openpty(None, None).unwrap();
    let name = nix::unistd::ttyname(&pty.slave).unwrap();
    let url: link::LinkUrl = format!("serial:{}:57600", name.display()).parse().unwrap();
    let (link, handle, mut events) = Link::open(url);
    until(&mut events, up).await;
    // The other end reads nothing until after the link was closed; its own buffer takes 4 KiB.
    let message = MavMessage::HEARTBEAT(HEARTBEAT_DATA::default());
    let mut written = 0;
    while written < 12 * 1024 {
        handle.send(Address::new(1, 191), &message, DEADLINE).await.unwrap();
        written += beat(0).len();
    }
    link.close().await;
    nix::unistd::write(&pty.slave, b"end").unwrap();
    let mut received = Vec::new();
    while !received.ends_with(b"end") {
        let mut buffer = [0; 4096];
        let read = nix::unistd::read(&pty.master, &mut buffer).unwrap();
        received.extend(&buffer[..read]);
    }
    assert!(received.len() < written / 2, "{} of {written} bytes", received.len());
    // A remaining handle neither holds the device open nor writes to it.
    let late = handle
        .send(Address::new(1, 191), &message, Duration::from_secs(1))
        .await;
    assert!(matches!(late, Err(SendError::Down)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_udp_client_keeps_its_port_even_after_a_restart_and_hears_only_its_autopilot() {
    let autopilot = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let url: link::LinkUrl = format!("udp:{}", autopilot.local_addr().unwrap()).parse().unwrap();
    let mut ports = Vec::new();
    for round in 0..2_u8 {
        let (link, handle, mut events) = Link::open(url.clone());
        until(&mut events, up).await;
        send_until_taken(&handle).await;
        let mut buffer = [0; 300];
        let (_, from) = timeout(DEADLINE, autopilot.recv_from(&mut buffer))
            .await
            .unwrap()
            .unwrap();
        ports.push(from.port());
        sleep(Duration::from_millis(300)).await;
        // A torn datagram does not hold up the next one.
        autopilot.send_to(&beat(99)[..10], from).await.unwrap();
        autopilot.send_to(&beat(round), from).await.unwrap();
        until(&mut events, frame(round)).await;
        link.close().await;
    }
    assert_eq!(ports[0], ports[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_udp_listener_answers_its_autopilot_and_ignores_a_second_one() {
    let free = UdpSocket::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let (link, handle, mut events) = Link::open(format!("udp-listen:{free}").parse().unwrap());
    until(&mut events, up).await;
    let autopilot = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let stranger = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    autopilot.send_to(&beat(0), free).await.unwrap();
    sleep(Duration::from_millis(300)).await;
    stranger.send_to(&beat(66), free).await.unwrap();
    autopilot.send_to(&beat(1), free).await.unwrap();
    // The first may be from before the link was opened.
    let second = until(
        &mut events,
        |e| matches!(e, LinkEvent::Frame(f) if f.header.sequence != 0),
    );
    assert!(frame(1)(&second.await));
    send_until_taken(&handle).await;
    let mut buffer = [0; 300];
    let (len, _) = timeout(DEADLINE, autopilot.recv_from(&mut buffer))
        .await
        .unwrap()
        .unwrap();
    assert!(len > 12);
    assert_eq!(handle.counters().strangers, 1);
    link.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn noise_from_elsewhere_does_not_take_the_autopilots_place_at_a_udp_listener() {
    let free = UdpSocket::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let (link, handle, mut events) = Link::open(format!("udp-listen:{free}").parse().unwrap());
    until(&mut events, up).await;
    sleep(Duration::from_millis(300)).await;
    let autopilot = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let stranger = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    for sequence in 1..4 {
        stranger.send_to(b"is anybody there?", free).await.unwrap();
        autopilot.send_to(&beat(sequence), free).await.unwrap();
        until(&mut events, frame(sequence)).await;
    }
    stranger.send_to(b"answer me", free).await.unwrap();
    send_until_taken(&handle).await;
    let mut buffer = [0; 300];
    let datagram = timeout(DEADLINE, autopilot.recv_from(&mut buffer)).await;
    assert!(datagram.unwrap().unwrap().0 > 12);
    link.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_datagram_is_read_to_its_end_however_long_it_is() {
    let free = UdpSocket::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let (link, handle, mut events) = Link::open(format!("udp-listen:{free}").parse().unwrap());
    until(&mut events, up).await;
    sleep(Duration::from_millis(300)).await;
    let autopilot = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let many: Vec<u8> = (0..250).flat_map(beat).collect();
    autopilot.send_to(&many, free).await.unwrap();
    until(&mut events, frame(249)).await;
    let counters = handle.counters();
    assert_eq!((counters.frames, counters.bytes), (250, many.len() as u64));
    link.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tcp_link_comes_back_after_the_autopilot_was_away() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (link, handle, mut events) = Link::open(format!("tcp:{address}").parse().unwrap());
    let (mut autopilot, _) = timeout(DEADLINE, listener.accept()).await.unwrap().unwrap();
    until(&mut events, up).await;
    send_until_taken(&handle).await;
    let mut buffer = [0; 12];
    autopilot.read_exact(&mut buffer).await.unwrap();
    drop((autopilot, listener));
    until(&mut events, down("cannot open tcp:")).await;
    let listener = TcpListener::bind(address).await.unwrap();
    let (mut autopilot, _) = timeout(DEADLINE, listener.accept()).await.unwrap().unwrap();
    until(&mut events, up).await;
    sleep(Duration::from_millis(300)).await;
    autopilot.write_all(&beat(4)).await.unwrap();
    until(&mut events, frame(4)).await;
    link.close().await;
}
