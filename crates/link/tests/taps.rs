//! Taps and guests over in-memory lines.

mod support;

use link::raw::{Direction, RawFrame};
use link::{Events, Link, LinkHandle, SendError, Tap};
use model::units::Address;
use std::sync::Arc;
use std::time::Duration;
use support::{DEADLINE, Lines, beat, frame, frame_v1, heartbeat, next, unknown, up};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

const WITHIN: Duration = Duration::from_millis(500);

struct Bench {
    lines: mpsc::Sender<DuplexStream>,
    link: Link,
    handle: LinkHandle,
    events: Events,
    far: DuplexStream,
}

async fn bench(capacity: usize) -> Bench {
    let (lines, opener) = mpsc::channel(1);
    let (link, handle, mut events) = Link::over(Lines(opener), "test");
    assert!(!handle.is_up());
    let (far, near) = duplex(capacity);
    lines.send(near).await.expect("the link lives");
    assert!(up(&next(&mut events).await));
    sleep(Duration::from_millis(300)).await;
    Bench {
        lines,
        link,
        handle,
        events,
        far,
    }
}

async fn tapped(tap: &mut Tap) -> Arc<RawFrame> {
    let frame = timeout(DEADLINE, tap.recv()).await;
    frame.expect("a frame in time").expect("the link lives")
}

fn px4() -> link::dialect::MavMessage {
    heartbeat(link::dialect::MavAutopilot::MAV_AUTOPILOT_PX4)
}

#[tokio::test(start_paused = true)]
async fn a_tap_sees_every_frame_byte_for_byte_in_both_directions() {
    let mut bench = bench(4096).await;
    let mut tap = bench.handle.tap(100);
    let arrived = [
        beat(0),
        unknown(1),
        frame_v1((1, 1), 2, &px4()),
        frame((1, 154), 0, &px4()),
    ];
    bench.far.write_all(b"noise").await.unwrap();
    bench.far.write_all(&arrived.concat()).await.unwrap();
    for bytes in &arrived {
        let frame = tapped(&mut tap).await;
        assert_eq!((&frame.bytes[..], frame.from), (&bytes[..], Direction::Autopilot));
    }
    bench.handle.send(Address::new(1, 191), &px4(), WITHIN).await.unwrap();
    let guest = RawFrame::parse(&unknown(77)).unwrap();
    bench.handle.send_raw(&guest, WITHIN).await.unwrap();
    let ours = tapped(&mut tap).await;
    assert_eq!((ours.from, ours.sender()), (Direction::Us, Address::new(1, 191)));
    let theirs = tapped(&mut tap).await;
    assert_eq!((theirs.from, &theirs.bytes), (Direction::Guest, &guest.bytes));
    bench.handle.note(Address::new(1, 191), &px4());
    let noted = tapped(&mut tap).await;
    assert_eq!(
        (noted.from, noted.bytes[4]),
        (Direction::Us, ours.bytes[4] + 1),
        "a remark"
    );
    bench.handle.send_raw(&guest, WITHIN).await.unwrap();
    tapped(&mut tap).await;
    let mut written = vec![0; ours.bytes.len() + 2 * theirs.bytes.len()];
    bench.far.read_exact(&mut written).await.unwrap();
    assert_eq!(
        written,
        [&ours.bytes[..], &theirs.bytes, &theirs.bytes].concat(),
        "what the other end got, without the remark"
    );

    let counters = bench.handle.counters();
    assert_eq!((counters.frames, counters.unknown, counters.skipped), (3, 1, 5));
    assert_eq!((counters.sent, counters.guests_sent, counters.lost), (1, 2, 0));
    let all: usize = arrived.iter().map(Vec::len).sum();
    assert_eq!(counters.bytes, all as u64 + 5);
    let senders: Vec<_> = bench.handle.senders().iter().map(|s| (s.sender, s.frames)).collect();
    assert_eq!(senders, [(Address::new(1, 1), 3), (Address::new(1, 154), 1)]);
}

#[tokio::test(start_paused = true)]
async fn the_agent_gets_what_it_can_read_and_no_more() {
    let mut bench = bench(4096).await;
    bench
        .far
        .write_all(&[beat(0), unknown(1), beat(2)].concat())
        .await
        .unwrap();
    for sequence in [0, 2] {
        let event = next(&mut bench.events).await;
        assert!(matches!(event, link::LinkEvent::Frame(f) if f.header.sequence == sequence));
    }
    assert!(bench.events.try_recv().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_tap_that_nobody_empties_holds_nothing_up() {
    let mut bench = bench(4096).await;
    let (lazy, mut keen) = (bench.handle.tap(3), bench.handle.tap(1000));
    for n in 0..200_u8 {
        bench.far.write_all(&beat(n)).await.unwrap();
        assert_eq!(tapped(&mut keen).await.sequence(), n);
    }
    assert_eq!((lazy.lost(), keen.lost()), (197, 0));
    assert_eq!(bench.handle.counters().tap_lost, 197);
}

#[tokio::test(start_paused = true)]
async fn a_guests_frame_is_written_now_or_never() {
    let mut bench = bench(10).await;
    let mut tap = bench.handle.tap(10);
    let guest = RawFrame::parse(&beat(0)).unwrap();
    let result = bench.handle.send_raw(&guest, WITHIN).await;
    assert!(matches!(result, Err(SendError::Slow)), "{result:?}");
    assert!(support::down("does not take")(&next(&mut bench.events).await));
    assert!(!bench.handle.is_up());
    let result = bench.handle.send_raw(&guest, WITHIN).await;
    assert!(matches!(result, Err(SendError::Down)), "{result:?}");
    assert_eq!(bench.handle.counters().guests_send_failures, 2);
    assert!(tap.try_recv().is_none(), "what was not written is not in a tap");
    let (mut far, near) = duplex(4096);
    bench.lines.send(near).await.unwrap();
    assert!(up(&next(&mut bench.events).await));
    assert!(bench.handle.is_up());
    bench.handle.send_raw(&guest, WITHIN).await.unwrap();
    let mut written = [0; 21];
    far.read_exact(&mut written).await.unwrap();
    assert_eq!(written[..], guest.bytes);
}

#[tokio::test(start_paused = true)]
async fn what_is_not_wanted_any_more_once_the_line_is_free_is_not_written() {
    let mut bench = bench(10).await;
    let (handle, us) = (bench.handle.clone(), Address::new(1, 191));
    let first = tokio::spawn(async move { handle.send(us, &px4(), DEADLINE).await });
    sleep(Duration::from_millis(1)).await;
    let began = tokio::time::Instant::now();
    let handle = bench.handle.clone();
    let second = tokio::spawn(async move {
        let early = || began.elapsed() < Duration::from_millis(500);
        handle.send_if(us, &px4(), DEADLINE, early).await
    });
    sleep(Duration::from_secs(1)).await;
    let mut written = [0; 21];
    bench.far.read_exact(&mut written).await.unwrap();
    first.await.unwrap().unwrap();
    let result = second.await.unwrap();
    assert!(matches!(result, Err(SendError::CalledOff)), "{result:?}");
    assert!(bench.handle.is_up() && bench.events.try_recv().is_none());
    bench.handle.send_if(us, &px4(), WITHIN, || false).await.unwrap_err();
    assert_eq!(bench.handle.counters().send_failures, 0);
}

#[tokio::test(start_paused = true)]
async fn who_only_waits_for_another_writer_does_not_take_the_line_down() {
    let mut bench = bench(10).await;
    let handle = bench.handle.clone();
    let slow = tokio::spawn(async move { handle.send(Address::new(1, 191), &px4(), DEADLINE).await });
    sleep(Duration::from_millis(1)).await;
    let guest = RawFrame::parse(&beat(0)).unwrap();
    let result = bench.handle.send_raw(&guest, Duration::from_millis(10)).await;
    assert!(matches!(result, Err(SendError::Slow)), "{result:?}");
    sleep(Duration::from_secs(1)).await;
    assert!(bench.handle.is_up() && bench.events.try_recv().is_none());
    let mut written = [0; 21];
    bench.far.read_exact(&mut written).await.unwrap();
    slow.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_waited_in_the_line_before_it_was_opened_reaches_no_tap() {
    let (lines, opener) = mpsc::channel(1);
    let (_link, handle, mut events) = Link::over(Lines(opener), "test");
    let mut tap = handle.tap(10);
    let (mut far, near) = duplex(4096);
    far.write_all(&beat(1)).await.unwrap();
    lines.send(near).await.unwrap();
    assert!(up(&next(&mut events).await));
    sleep(Duration::from_millis(300)).await;
    far.write_all(&beat(2)).await.unwrap();
    assert_eq!(tapped(&mut tap).await.sequence(), 2);
    assert_eq!(handle.counters().stale, 1);
}

#[tokio::test(start_paused = true)]
async fn gaps_in_the_numbers_of_frames_are_counted_but_not_those_over_a_reopening() {
    let mut bench = bench(4096).await;
    let mut tap = bench.handle.tap(10);
    bench
        .far
        .write_all(&[beat(250), beat(252), beat(1)].concat())
        .await
        .unwrap();
    for _ in 0..3 {
        tapped(&mut tap).await;
    }
    assert_eq!(bench.handle.counters().lost, 1 + 4);
    drop(bench.far);
    assert!(support::down("hung up")(
        &support::until(&mut bench.events, |e| !matches!(e, link::LinkEvent::Frame(_))).await
    ));
    let (mut far, near) = duplex(4096);
    bench.lines.send(near).await.unwrap();
    assert!(up(&next(&mut bench.events).await));
    sleep(Duration::from_millis(300)).await;
    far.write_all(&beat(100)).await.unwrap();
    tapped(&mut tap).await;
    assert_eq!(bench.handle.counters().lost, 5);
}

#[tokio::test(start_paused = true)]
async fn a_closed_link_ends_its_taps() {
    let bench = bench(4096).await;
    let mut tap = bench.handle.tap(10);
    bench.link.close().await;
    assert!(timeout(DEADLINE, tap.recv()).await.expect("at once").is_none());
    assert!(!bench.handle.is_up());
}
