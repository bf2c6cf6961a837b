//! Requests on a connection, and what ends it.

use crate::world::{SOON, World, body, client, connect, raw, rest};
use bytes::Bytes;
use embedded_api::serve::Limits;
use futures::StreamExt;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, WatchEvent, WatchParams};
use serde_json::json;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

#[tokio::test]
async fn a_body_over_three_mebibytes_is_413() {
    let world = World::new();
    let serving = world.serve().await;
    let token = world.token();
    let head = format!("POST /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n");
    let response = raw(&serving, &format!("{head}Content-Length: 3145729\r\n\r\n")).await;
    assert!(response.starts_with("HTTP/1.1 413 "), "{response}");
    assert_eq!(body(&response)["message"], "Request entity too large: limit is 3145728");
    assert_eq!(world.requests(), 0);
}

#[tokio::test]
async fn http_2_carries_many_requests_and_watches_on_one_connection() {
    let mut world = World::new();
    let serving = world.serve().await;
    let stream = connect(&serving, b"h2").await;
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(b"h2".as_slice()));
    let (mut sender, connection) = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
        .await
        .unwrap();
    let connection = tokio::spawn(connection);
    let request = |path: &str| {
        let request = http::Request::get(format!("https://localhost{path}"));
        let request = request.header("authorization", format!("Bearer {}", world.token()));
        request.body(Full::<Bytes>::default()).unwrap()
    };
    let mut watching = sender
        .send_request(request("/api/v1/namespaces?watch=true"))
        .await
        .unwrap();
    assert_eq!(watching.version(), http::Version::HTTP_2);
    let event = timeout(SOON, watching.frame()).await.unwrap().unwrap().unwrap();
    assert!(event.into_data().unwrap().ends_with(b"\n"));
    for _ in 0..100 {
        let response = timeout(SOON, sender.send_request(request("/api")))
            .await
            .unwrap()
            .unwrap();
        assert_eq!(response.status(), 200);
    }
    let other = world.watches.recv().await.unwrap();
    drop(watching);
    timeout(SOON, other.closed()).await.unwrap();
    drop(sender);
    timeout(SOON, connection).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn a_watcher_that_disconnects_ends_its_watch_though_nothing_happens_in_it() {
    let mut world = World::new();
    let serving = world.serve().await;
    let mut stream = connect(&serving, b"http/1.1").await;
    let token = world.token();
    let request = format!("GET /api?watch=true HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let sender = timeout(SOON, world.watches.recv()).await.unwrap().unwrap();
    let mut some = [0; 64];
    stream.read_exact(&mut some).await.unwrap();
    assert!(!sender.is_closed());
    drop(stream);
    timeout(SOON, sender.closed()).await.unwrap();
}

#[tokio::test]
async fn a_watch_without_events_outlives_the_deadlines() {
    let mut world = World::new();
    let short = Duration::from_millis(200);
    let limits = Limits {
        credential: short,
        idle: short,
        body: short,
        answer: short,
        ..Limits::default()
    };
    let serving = world.limited(limits).await;
    let namespaces = Api::<Namespace>::all(client(&serving.kubeconfig).await);
    let mut events = Box::pin(namespaces.watch(&WatchParams::default(), "0").await.unwrap());
    assert!(matches!(events.next().await, Some(Ok(WatchEvent::Added(_)))));
    let sender = world.watches.recv().await.unwrap();
    // Longer than each of them: what must not happen has had enough time.
    assert!(timeout(short * 5, sender.closed()).await.is_err());
    let event =
        json!({"type": "DELETED", "object": {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}});
    sender.send(format!("{event}\n").into()).await.unwrap();
    let event = timeout(SOON, events.next()).await.unwrap();
    assert!(matches!(event, Some(Ok(WatchEvent::Deleted(_)))), "{event:?}");
}

#[tokio::test]
async fn idle_connections_that_have_shown_nothing_do_not_delay_the_owner() {
    let world = World::new();
    let limits = Limits {
        connections: 16,
        // A test that waits for these has waited too long.
        handshake: Duration::from_secs(600),
        credential: Duration::from_secs(600),
        ..Limits::default()
    };
    let serving = world.limited(limits).await;
    let namespaces = Api::<Namespace>::all(client(&serving.kubeconfig).await);
    timeout(SOON, namespaces.get("a")).await.unwrap().unwrap();
    let mut crowd = Vec::new();
    for _ in 0..100 {
        crowd.push(TcpStream::connect(serving.address).await.unwrap());
    }
    // An earlier connection is kept, and a new one finds a place.
    timeout(SOON, namespaces.get("a")).await.unwrap().unwrap();
    let another = Api::<Namespace>::all(client(&serving.kubeconfig).await);
    timeout(SOON, another.get("a")).await.unwrap().unwrap();
}

#[tokio::test]
async fn connections_that_do_not_show_the_credential_in_time_are_ended() {
    let world = World::new();
    let limits = Limits {
        handshake: Duration::from_millis(300),
        credential: Duration::from_millis(300),
        connections: 4,
        ..Limits::default()
    };
    let serving = world.limited(limits).await;
    // No handshake, nothing after it, half a header, refused requests without end, an HTTP/2 preface and no more.
    let mut silent = TcpStream::connect(serving.address).await.unwrap();
    assert!(matches!(
        timeout(SOON, silent.read(&mut [0; 8])).await,
        Ok(Ok(0) | Err(_))
    ));
    let mut quiet = connect(&serving, b"http/1.1").await;
    assert_eq!(rest(&mut quiet).await, "");
    let mut slow = connect(&serving, b"http/1.1").await;
    slow.write_all(b"GET /api HTTP/1.1\r\nHost: ").await.unwrap();
    assert_eq!(rest(&mut slow).await, "");
    let mut stubborn = connect(&serving, b"http/1.1").await;
    let ended = async { while stubborn.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.is_ok() {} };
    timeout(SOON, async {
        let mut all = Vec::new();
        let mut stream = connect(&serving, b"http/1.1").await;
        stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        let _ = stream.read_to_end(&mut all).await;
        assert!(String::from_utf8(all).unwrap().starts_with("HTTP/1.1 401 "));
        ended.await;
    })
    .await
    .unwrap();
    let mut preface = connect(&serving, b"h2").await;
    preface
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
        .await
        .unwrap();
    let mut said = Vec::new();
    let _ = timeout(SOON, preface.read_to_end(&mut said)).await.unwrap();
    assert_eq!(world.requests(), 0);
    let mut crowd = Vec::new();
    for _ in 0..12 {
        crowd.push(TcpStream::connect(serving.address).await.unwrap());
    }
    let namespaces = Api::<Namespace>::all(client(&serving.kubeconfig).await);
    timeout(SOON, namespaces.get("a")).await.unwrap().unwrap();
}
