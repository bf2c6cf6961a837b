//! Stores whose answers name any length, or have no end: an upload fails, and the program that it is a part of goes on.

use super::*;
use crate::upload::Config;
use crate::upload::http::Pace;
use crate::upload::store::open;
use object_store::aws::AmazonS3;
use std::net::Ipv4Addr;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

const TOO_MANY: u64 = 1_000_000_000_000_000;
static PIECE: [u8; 64 * 1024] = [b' '; 64 * 1024];
const PIECES_AT_MOST: usize = 16;

fn begun(id: &str) -> String {
    format!("<InitiateMultipartUploadResult><UploadId>{id}</UploadId></InitiateMultipartUploadResult>")
}

/// Status and headers of an answer, and what comes after them so many times. Then the connection is closed.
#[derive(Clone)]
struct Answer {
    head: String,
    piece: Vec<u8>,
    times: usize,
}

impl Answer {
    fn new(head: &str, piece: &[u8], times: usize) -> Self {
        Self {
            head: head.to_owned(),
            piece: piece.to_owned(),
            times,
        }
    }

    fn short(head: &str) -> Self {
        Self::new(head, &[], 0)
    }
}

async fn serve(stream: TcpStream, answer: &(impl Fn(&str) -> Answer + Sync)) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    let (mut request, mut length) = (String::new(), 0_usize);
    stream.read_line(&mut request).await?;
    loop {
        let mut header = String::new();
        stream.read_line(&mut header).await?;
        match header.split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse().unwrap();
            }
            Some(_) => {}
            None => break,
        }
    }
    stream.read_exact(&mut vec![0_u8; length]).await?;
    let answer = answer(&request);
    let head = format!("HTTP/1.1 {}\r\nConnection: close\r\n\r\n", answer.head);
    stream.write_all(head.as_bytes()).await?;
    for _ in 0..answer.times {
        stream.write_all(&answer.piece).await?;
        stream.flush().await?;
    }
    Ok(())
}

async fn store_of(answer: impl Fn(&str) -> Answer + Send + Sync + 'static) -> AmazonS3 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // Most answers are not read to their end.
            let _ = serve(stream, &answer).await;
        }
    });
    let credentials = tempfile::tempdir().unwrap();
    for name in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"] {
        fs::write(credentials.path().join(name), "pine").unwrap();
    }
    let config = Config {
        endpoint,
        bucket: "logs".to_owned(),
        region: "us-east-1".to_owned(),
        prefix: String::new(),
        credentials: Some(credentials.path().to_owned()),
        authorities: None,
        virtual_host: false,
        bytes_per_second: 1 << 26,
    };
    open(&config, &Pace::of(config.bytes_per_second)).unwrap()
}

async fn send_to(store: &AmazonS3, folder: &std::path::Path, log: &WholeLog) -> Result<SentLog, NotSent> {
    let node = node();
    let mut ledger = Ledger::open(folder, &node).unwrap();
    let sender = Sender {
        store,
        node: &node,
        prefix: "",
    };
    sender.send(&mut ledger, log).await
}

#[tokio::test]
async fn an_answer_of_any_length_is_an_error_and_the_agent_lives() {
    for (bytes, long_for, status) in [
        (7, "PUT ", "500 Internal Server Error"),
        (2 * PART + 7, "?uploads", "200 OK"),
        (2 * PART + 7, "?uploadId=", "200 OK"),
    ] {
        let named = format!("{status}\r\nContent-Length: {TOO_MANY}");
        for (head, times, too_long) in [
            // More than one read takes, and then nothing more.
            (named.as_str(), 2, false),
            (status, PIECES_AT_MOST, false),
            (status, PIECES_AT_MOST + 1, true),
            (status, usize::MAX, true),
        ] {
            let long = Answer::new(head, &PIECE, times);
            let store = store_of(move |request: &str| {
                if request.contains(long_for) {
                    long.clone()
                } else if request.starts_with("HEAD ") {
                    Answer::short("404 Not Found")
                } else if request.contains("?uploads") {
                    Answer::new("200 OK", begun("1").as_bytes(), 1)
                } else {
                    Answer::short("200 OK\r\nETag: \"x\"")
                }
            })
            .await;
            let folder = tempfile::tempdir().unwrap();
            let log = log(folder.path(), bytes);
            let why = send_to(&store, folder.path(), &log).await.unwrap_err().to_string();
            assert_eq!(why.contains("longer"), too_long, "{long_for}, {times} pieces: {why}");
        }
    }
}

#[tokio::test]
async fn an_object_is_read_back_only_if_it_is_as_long_as_the_log() {
    let folder = tempfile::tempdir().unwrap();
    // Longer than other answers may be.
    let log = log(folder.path(), 2 << 20);
    let object = fs::read(&log.path).unwrap();
    let named = |length: u64| format!("200 OK\r\nETag: \"x\"\r\nContent-Length: {length}");
    for (length, times, equal) in [(log.bytes, 1, true), (TOO_MANY, usize::MAX, false)] {
        let head = Answer::short(&named(log.bytes));
        let get = Answer::new(&named(length), &object, times);
        let store = store_of(move |request: &str| match request.split(' ').next() {
            Some("HEAD") => head.clone(),
            Some("GET") => get.clone(),
            _ => Answer::short("200 OK\r\nETag: \"x\""),
        })
        .await;
        let sent = send_to(&store, folder.path(), &log).await;
        assert_eq!(sent.is_ok(), equal, "{sent:?}");
    }
}

#[tokio::test]
async fn an_id_of_an_upload_that_no_address_holds_is_an_error_and_is_not_kept() {
    let store = store_of(|request: &str| {
        if request.starts_with("HEAD ") {
            Answer::short("404 Not Found")
        } else {
            Answer::new("200 OK", begun(&"1".repeat(70_000)).as_bytes(), 1)
        }
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let log = log(folder.path(), PART + 1);
    let why = send_to(&store, folder.path(), &log).await.unwrap_err().to_string();
    assert!(why.contains("70000 bytes"), "{why}");
    let ledger = Ledger::open(folder.path(), &node()).unwrap();
    assert_eq!(ledger.now.under_way, None);
}
