//! A client that requests much data and reads none of it.

use crate::world::{SOON, World, connect};
use bytes::Bytes;
use embedded_api::request::{Answer, ApiRequest, Body};
use embedded_api::serve::{self, Handler, Limits, Options};
use http::StatusCode;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;
use tokio::time::timeout;

const MUCH: usize = 64 << 20;

#[derive(Clone)]
struct Generous {
    dropped: mpsc::Sender<()>,
}

struct Much {
    bytes: Vec<u8>,
    dropped: mpsc::Sender<()>,
}

impl Drop for Much {
    fn drop(&mut self) {
        let _ = self.dropped.try_send(());
    }
}

impl AsRef<[u8]> for Much {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Handler for Generous {
    async fn handle(&self, _: ApiRequest) -> Answer {
        let much = Much {
            bytes: vec![b' '; MUCH],
            dropped: self.dropped.clone(),
        };
        Answer {
            code: StatusCode::OK,
            content_type: "application/json".to_owned(),
            headers: Vec::new(),
            body: Body::Whole(Bytes::from_owner(much)),
        }
    }
}

#[tokio::test]
async fn an_answer_that_nobody_takes_is_dropped_in_the_end() {
    let world = World::new();
    let (dropped, mut answers) = mpsc::channel(1);
    let options = Options {
        limits: Limits {
            stalled: Duration::from_millis(300),
            ..Limits::default()
        },
        ..Options::default()
    };
    let serving = serve::start(Generous { dropped }, &world.folder, options)
        .await
        .unwrap();
    let mut stream = connect(&serving, b"http/1.1").await;
    let token = world.token();
    let request = format!("GET /api HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    assert_eq!(timeout(SOON, answers.recv()).await.unwrap(), Some(()));
    drop(stream);
}
