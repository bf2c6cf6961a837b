//! Attacks below the calls: plain text, recorded bytes, endless messages and headers, and slow clients.

use crate::place::Place;
use proto::v1;
use proto::v1::from_agent::Message;
use skein_tests::session::{Stream, from, report};
use skein_tests::tokens;
use skein_tests::way::Way;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tonic::Code;

/// RFC 9113, 3.4: the first bytes of a client in HTTP/2, and those of the coordinator.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

async fn until_closed(stream: &mut (impl AsyncReadExt + Unpin), within: Duration) -> Vec<u8> {
    let mut all = Vec::new();
    let read = tokio::time::timeout(within, stream.read_to_end(&mut all)).await;
    assert!(read.is_ok(), "it is still open after {within:?}");
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_text_on_the_tls_port_is_told_what_it_is_and_answered_nothing() {
    let place = Place::new();
    let bystander = place.bystander().await;
    let mut stream = place.way.tcp().await.unwrap();
    stream.write_all(PREFACE).await.unwrap();
    assert!(until_closed(&mut stream, Duration::from_secs(5)).await.is_empty());
    place.until_logged(&["connection refused", "plain text", "https://"]);
    bystander.stays_unharmed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_recorded_bytes_of_an_old_stream_are_worth_nothing() {
    let place = Place::new();
    let bystander = place.bystander().await;
    // A man in the middle records what the agent sends.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let middle = listener.local_addr().unwrap();
    let server = place.way.address;
    let recorder = tokio::spawn(async move {
        let (agent, _) = listener.accept().await.unwrap();
        let coordinator = TcpStream::connect(server).await.unwrap();
        let (mut from_agent, mut to_agent) = agent.into_split();
        let (mut from_coordinator, mut to_coordinator) = coordinator.into_split();
        let back = tokio::spawn(async move { tokio::io::copy(&mut from_coordinator, &mut to_agent).await });
        let mut recorded = Vec::new();
        let mut part = [0; 4096];
        while let Ok(count @ 1..) = from_agent.read(&mut part).await {
            recorded.extend_from_slice(&part[..count]);
            to_coordinator.write_all(&part[..count]).await.unwrap();
        }
        back.abort();
        recorded
    });
    let way = Way {
        address: middle,
        ..place.way.clone()
    };
    let mut stream = Stream::open(&way, &tokens::of_agent(place.plane, "a"), "a")
        .await
        .unwrap();
    stream.until_ordered().await.unwrap();
    drop(stream);
    let recorded = recorder.await.unwrap();
    assert!(recorded.len() > 500);
    let opened = || place.coordinator.stderr().matches("agent connected").count();
    let before = opened();

    let mut replay = place.way.tcp().await.unwrap();
    replay.write_all(&recorded).await.unwrap();
    until_closed(&mut replay, Duration::from_secs(10)).await;
    place.until_logged(&["connection refused", "TLS handshake failed"]);
    assert_eq!(opened(), before, "no session came of it");
    bystander.stays_unharmed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_or_a_header_that_is_too_large_ends_its_own_stream_only() {
    let place = Place::new();
    let bystander = place.bystander().await;
    let token = tokens::of_agent(place.plane, "a");
    let stream = Stream::open(&place.way, &token, "a").await.unwrap();
    let huge = v1::Report {
        mode: Some("x".repeat(1024 * 1024)),
        ..v1::Report::default()
    };
    stream.to.send(from(Message::Report(huge))).await.unwrap();
    let status = stream.ending().await;
    assert_eq!(status.code(), Code::OutOfRange, "{status}");
    place.until_logged(&["agent disconnected", "node=a", "too large"]);

    let status = Stream::open(&place.way, &"x".repeat(15 * 1024), "a")
        .await
        .err()
        .unwrap();
    assert_eq!(status.code(), Code::Unauthenticated, "{status}");
    let mut client = place.way.fleet("").await.unwrap();
    let mut request = tonic::Request::new(v1::ListRequest::default());
    request
        .metadata_mut()
        .insert("x-filler", "x".repeat(64 * 1024).parse().unwrap());
    assert!(client.list(request).await.is_err());
    bystander.stays_unharmed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_that_take_their_time_are_cut_off() {
    let place = Place::new();
    let bystander = place.bystander().await;
    let start = Instant::now();
    let mut silent = place.way.tcp().await.unwrap();
    let mut begun = place.way.tcp().await.unwrap();
    begun.write_all(&[22, 3, 1, 2, 0, 1]).await.unwrap();
    let mut shaken = place.way.tls(None).await.unwrap();
    let mut greeted = place.way.tls(None).await.unwrap();
    greeted.write_all(PREFACE).await.unwrap();
    // An empty SETTINGS frame (RFC 9113, 6.5).
    greeted.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]).await.unwrap();
    let limit = Duration::from_secs(15);
    tokio::join!(
        until_closed(&mut silent, limit),
        until_closed(&mut begun, limit),
        until_closed(&mut shaken, limit),
        until_closed(&mut greeted, limit),
    );
    assert!(start.elapsed() > Duration::from_secs(4), "{:?}", start.elapsed());
    place.until_logged(&["connection refused", "TLS handshake took too long"]);
    place.until_logged(&["connection refused", "no good credentials within 10 s"]);
    bystander.stays_unharmed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_reports_without_pause_is_read_no_faster_than_others_report() {
    let place = Place::new();
    let bystander = place.bystander().await;
    let mut flood = Stream::open(&place.way, &tokens::of_agent(place.plane, "a"), "a")
        .await
        .unwrap();
    flood.until_ordered().await.unwrap();
    let (begun, mut sent) = (Instant::now(), 1_u64);
    while begun.elapsed() < Duration::from_secs(4) {
        // Reports that differ each time have to be processed.
        let Message::Report(mut changed) = report(sent).message.unwrap() else {
            panic!("it is no report")
        };
        changed.mode = Some(format!("mode {sent}"));
        tokio::select! {
            taken = flood.to.send(from(Message::Report(changed))) => {
                assert!(taken.is_ok(), "its stream has ended");
                sent += 1;
            }
            () = tokio::time::sleep(Duration::from_millis(200)) => {}
        }
    }
    // Received data waits unread in the windows of HTTP/2.
    assert!(sent < 6000, "{sent} reports were taken in four seconds");
    bystander.stays_unharmed().await;
}
