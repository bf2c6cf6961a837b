//! Far more connections than the coordinator needs.

use crate::place::Place;
use futures::StreamExt;
use skein_tests::session::Stream;
use skein_tests::tokens;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const CROWD: usize = 10_000;

/// Connections of an agent until the attack ends: a fast machine refuses 10,000 connections in a second.
const VISITS: usize = 5;

const AT_A_TIME: usize = 400;

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_connections_without_credentials_keep_no_agent_out() {
    let place = Place::new();
    let bystander = place.bystander().await;
    let crowd = place.way.from([127, 0, 0, 2]);
    // Alternating, so that neither connects more often than an agent may.
    let mut agents = ["a", "b"]
        .map(|node| (node, tokens::of_agent(place.plane, node)))
        .into_iter()
        .cycle();
    let came = Arc::new(AtomicUsize::new(0));
    let seen = came.clone();
    let attack = tokio::spawn(async move {
        let mut open = std::collections::VecDeque::new();
        let mut connections = 0;
        while connections < CROWD || seen.load(Ordering::SeqCst) < VISITS {
            connections += 1;
            if open.len() >= AT_A_TIME {
                open.pop_front();
            }
            match connections % 3 {
                0 => {
                    let shaken = tokio::time::timeout(Duration::from_secs(2), crowd.tls(None)).await;
                    if let Ok(Ok(stream)) = shaken {
                        open.push_back(Some(stream.into_inner().0));
                    }
                }
                1 => open.push_back(crowd.tcp().await.ok()),
                _ => drop(crowd.tcp().await),
            }
        }
        (connections, open)
    });
    let mut slowest = Duration::ZERO;
    while !attack.is_finished() {
        let (node, token) = agents.next().unwrap();
        let start = Instant::now();
        let mut agent = Stream::open(&place.way, &token, node).await.unwrap();
        agent.until_ordered().await.unwrap();
        slowest = slowest.max(start.elapsed());
        came.fetch_add(1, Ordering::SeqCst);
        drop(agent);
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    // A busy machine may have refused none so far; the silent ones that are still open are refused in the end.
    let (connections, _open) = attack.await.unwrap();
    let came = came.load(Ordering::SeqCst);
    assert!(
        connections >= CROWD && came >= VISITS,
        "{connections} connections, {came} visits"
    );
    assert!(slowest < Duration::from_secs(5), "an agent had to wait for {slowest:?}");
    place.until_logged(&["connection refused", "peer=127.0.0.2"]);
    let logged = place.coordinator.stderr().matches("connection refused").count();
    assert!(logged < 1000, "{logged} lines in the log");
    bystander.stays_unharmed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_guesses_tokens_is_soon_heard_no_more_and_others_are() {
    let place = Place::new();
    let bystander = place.bystander().await;
    let crowd = place.way.from([127, 0, 0, 3]);
    // Many at once: one after the other, they may take longer than the next is allowed.
    let guesses = futures::stream::iter(0..4000).map(async |number| {
        match Stream::open(&crowd, &format!("guess{number}"), "a").await {
            Err(status) => status.code() == tonic::Code::ResourceExhausted,
            Ok(_) => panic!("a guess was right"),
        }
    });
    let mut guesses = std::pin::pin!(guesses.buffer_unordered(50));
    loop {
        let refused = guesses.next().await.expect("none of so many was refused");
        if refused {
            break;
        }
    }
    let mut agent = Stream::open(&place.way, &tokens::of_agent(place.plane, "a"), "a")
        .await
        .unwrap();
    agent.until_ordered().await.unwrap();
    bystander.stays_unharmed().await;
}
