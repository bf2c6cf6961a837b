//! A link over an in-memory line that loses, corrupts and delays bytes from a seeded generator.

mod support;

use futures::future::BoxFuture;
use link::dialect::{HEARTBEAT_DATA, MavMessage, SYSTEM_TIME_DATA};
use link::transport::{OpenError, Opener, Wire};
use link::{Link, LinkEvent, SendError};
use mavlink::{MAVLinkV2MessageRaw, MavHeader};
use model::units::Address;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::future::ready;
use std::time::Duration;
use support::{Lines, next};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

fn frame(sequence: u8, message: &MavMessage) -> Vec<u8> {
    let header = MavHeader {
        system_id: 1,
        component_id: 1,
        sequence,
    };
    let mut raw = MAVLinkV2MessageRaw::new();
    raw.serialize_message(header, message);
    raw.raw_bytes().to_vec()
}

fn beat(sequence: u8) -> Vec<u8> {
    frame(sequence, &MavMessage::HEARTBEAT(HEARTBEAT_DATA::default()))
}

async fn let_the_backlog_pass() {
    sleep(Duration::from_millis(300)).await;
}

#[tokio::test(start_paused = true)]
async fn every_frame_that_the_line_leaves_whole_arrives_in_order_and_the_link_goes_on() {
    for seed in 0..8 {
        let mut rng = StdRng::seed_from_u64(seed);
        let (lines, opener) = mpsc::channel(1);
        let (_link, handle, mut events) = Link::over(Lines(opener), "test");
        let (mut far, near) = duplex(4096);
        lines.send(near).await.unwrap();
        assert!(matches!(next(&mut events).await, LinkEvent::Up));
        let_the_backlog_pass().await;
        let mut whole = Vec::new();
        for n in 0..200_u8 {
            let mut bytes = beat(n);
            match rng.random_range(0..6) {
                0 => {
                    let at = rng.random_range(0..bytes.len());
                    bytes[at] ^= rng.random_range(1..=255);
                }
                1 => {
                    bytes.remove(rng.random_range(0..bytes.len()));
                }
                2 => {
                    far.write_all(&[0xFD, 0xFF, 0x00]).await.unwrap();
                    whole.push(n);
                }
                _ => whole.push(n),
            }
            let cut = rng.random_range(0..bytes.len());
            far.write_all(&bytes[..cut]).await.unwrap();
            sleep(Duration::from_millis(rng.random_range(0..20))).await;
            far.write_all(&bytes[cut..]).await.unwrap();
            sleep(Duration::from_millis(rng.random_range(0..400))).await;
        }
        let_the_backlog_pass().await;
        let mut received = Vec::new();
        while let Ok(Some(event)) = timeout(Duration::from_millis(1), events.recv()).await {
            match event {
                LinkEvent::Frame(f) => received.push(f.header.sequence),
                LinkEvent::Up => panic!("reopened without need"),
                LinkEvent::Down(why) => panic!("went down: {why}"),
            }
        }
        assert_eq!(received, whole, "seed {seed}");
        assert!(handle.counters().skipped > 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_line_that_hangs_up_is_opened_again_for_ever_and_what_waited_in_it_is_not_news() {
    let (lines, opener) = mpsc::channel(1);
    let (link, handle, mut events) = Link::over(Lines(opener), "test");
    for round in 0..20_u32 {
        let (mut far, near) = duplex(4096);
        // Two seconds of stale messages, sent before the link was open.
        for n in 0..5_u8 {
            let time = SYSTEM_TIME_DATA {
                time_boot_ms: 1000 + u32::from(n) * 500,
                ..SYSTEM_TIME_DATA::default()
            };
            far.write_all(&frame(100 + n, &MavMessage::SYSTEM_TIME(time)))
                .await
                .unwrap();
        }
        lines.send(near).await.unwrap();
        assert!(matches!(next(&mut events).await, LinkEvent::Up), "round {round}");
        let_the_backlog_pass().await;
        far.write_all(&beat(7)).await.unwrap();
        assert!(matches!(next(&mut events).await, LinkEvent::Frame(f) if f.header.sequence == 7));
        drop(far);
        assert!(matches!(next(&mut events).await, LinkEvent::Down(why) if why.contains("hung up")));
        assert!(handle.counters().opens > u64::from(round));
    }
    assert_eq!(handle.counters().stale, 100);
    link.close().await;
    assert!(events.recv().await.is_none());
}

struct Dead {
    opened: mpsc::UnboundedSender<Instant>,
    is_there: bool,
}

impl Opener for Dead {
    fn open(&mut self) -> BoxFuture<'_, Result<Wire, OpenError>> {
        let _ = self.opened.send(Instant::now());
        Box::pin(ready(if self.is_there {
            Ok(Wire::stream(duplex(64).0))
        } else {
            Err(OpenError::Missing("/dev/ttyACM0".to_owned()))
        }))
    }
}

#[tokio::test(start_paused = true)]
async fn a_board_that_is_dead_is_tried_seldom_and_never_given_up() {
    for is_there in [false, true] {
        let (opened, mut at) = mpsc::unbounded_channel();
        let (link, _, _events) = Link::over(Dead { opened, is_there }, "test");
        sleep(Duration::from_secs(120)).await;
        link.close().await;
        let mut times = Vec::new();
        while let Ok(time) = at.try_recv() {
            times.push(time);
        }
        let apart: Vec<Duration> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        // The first attempts come soon; then each comes 1.5 to 3 s after the one before, not in step with other links.
        let late = &apart[6..];
        assert!((40..=80).contains(&late.len()), "{apart:?}");
        assert!(
            late.iter().all(|apart| (1500..=3001).contains(&apart.as_millis())),
            "{late:?}"
        );
        assert!(apart.iter().all(|apart| apart.as_millis() >= 100), "{apart:?}");
        let (least, most) = (late.iter().min(), late.iter().max());
        assert!(least < most, "there is no jitter: {late:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_not_written_at_once_is_never_written() {
    let (lines, opener) = mpsc::channel(1);
    let (_link, handle, mut events) = Link::over(Lines(opener), "test");
    let message = MavMessage::HEARTBEAT(HEARTBEAT_DATA::default());
    let within = Duration::from_millis(100);
    assert!(matches!(
        handle.send(Address::new(1, 191), &message, within).await,
        Err(SendError::Down)
    ));
    // While the line is stuck (it takes 10 bytes, and nobody reads):
    let (mut far, near) = duplex(10);
    lines.send(near).await.unwrap();
    assert!(matches!(next(&mut events).await, LinkEvent::Up));
    let began = Instant::now();
    assert!(matches!(
        handle.send(Address::new(1, 191), &message, within).await,
        Err(SendError::Slow)
    ));
    assert!(began.elapsed() <= within + Duration::from_millis(5));
    // A stuck line is opened again; of the frames above at most a torn piece ever arrives.
    assert!(matches!(next(&mut events).await, LinkEvent::Down(_)));
    let mut old = Vec::new();
    far.read_to_end(&mut old).await.unwrap();
    assert!(old.len() <= 10, "{old:?}");
    let (mut far, near) = duplex(4096);
    lines.send(near).await.unwrap();
    assert!(matches!(next(&mut events).await, LinkEvent::Up));
    let mut byte = [0];
    assert!(
        timeout(Duration::from_secs(30), far.read(&mut byte)).await.is_err(),
        "nothing old comes out"
    );
}
