//! Faults between the coordinator and the API server.

use bytes::Bytes;
use futures::Stream;
use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::body::{Frame, Incoming};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

pub type AnyError = Box<dyn std::error::Error + Send + Sync>;
pub type Body = http_body_util::combinators::UnsyncBoxBody<Bytes, AnyError>;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    No,
    Away,
    /// Connections stay open without data; one that hangs stays so after the fault.
    Silent,
    Slow(Duration),
    /// Status, and retry delay in seconds.
    Refuses(u16, Option<u32>),
    /// Watches get the error that their resourceVersion is too old, in the stream, as from API servers.
    GoneEvent,
    /// The same error as the status of the answer, as from proxies and older servers.
    GoneStatus,
    /// The same error for watches, and for lists at their second page, with one object to a page.
    GonePages,
    WatchesEnd(Duration),
    WatchesStall,
    Breaks,
    CutsShort,
    /// Watches get no bookmarks, and end after this time.
    NoBookmarks(Duration),
}

pub fn is_watch(request: &Request<Incoming>) -> bool {
    request.uri().query().is_some_and(|query| query.contains("watch=true"))
}

impl Fault {
    /// The answer in place of the API server's. `None`: forward the request.
    pub async fn answers(self, request: &mut Request<Incoming>) -> Option<Response<Body>> {
        match self {
            Self::Silent => std::future::pending().await,
            Self::Slow(by) => {
                sleep(by).await;
                None
            }
            Self::Refuses(code, after) => Some(status(code, "made to refuse", after)),
            Self::GoneEvent | Self::GonePages if is_watch(request) => {
                let event = serde_json::json!({"type": "ERROR", "object": gone()});
                Some(Response::new(full(format!("{event}\n"))))
            }
            Self::GoneStatus if is_watch(request) => Some(status(410, "too old resource version", None)),
            Self::GonePages => {
                let query = request.uri().query().unwrap_or_default().to_owned();
                if query.contains("continue=") {
                    return Some(status(410, "the provided continue parameter is too old", None));
                }
                let paged = request.uri().to_string().replace("limit=500", "limit=1");
                *request.uri_mut() = paged.parse().ok()?;
                None
            }
            _ => None,
        }
    }
}

fn gone() -> serde_json::Value {
    serde_json::json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 410,
        "reason": "Expired", "message": "too old resource version"})
}

fn status(code: u16, message: &str, after: Option<u32>) -> Response<Body> {
    let reason = if code == 410 { "Expired" } else { "Made" };
    let text = serde_json::json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "code": code, "reason": reason, "message": message});
    let mut response = Response::new(full(text.to_string()));
    *response.status_mut() = StatusCode::from_u16(code).unwrap();
    if let Some(after) = after {
        response.headers_mut().insert(header::RETRY_AFTER, after.into());
    }
    response
}

fn full(text: String) -> Body {
    Full::new(Bytes::from(text))
        .map_err(|never| match never {})
        .boxed_unsync()
}

struct Way {
    body: Incoming,
    watch: bool,
    began: Instant,
    faults: watch::Receiver<Fault>,
    rest: Vec<u8>,
    end: Option<Result<(), AnyError>>,
}

pub fn through(
    body: Incoming,
    watch: bool,
    faults: watch::Receiver<Fault>,
) -> impl Stream<Item = Result<Frame<Bytes>, AnyError>> {
    let way = Way {
        body,
        watch,
        began: Instant::now(),
        faults,
        rest: vec![],
        end: None,
    };
    futures::stream::unfold(way, |mut way| async move {
        way.next().await.map(|item| (item.map(Frame::data), way))
    })
}

impl Way {
    async fn next(&mut self) -> Option<Result<Bytes, AnyError>> {
        loop {
            match self.end.take() {
                Some(Ok(())) => return None,
                Some(Err(error)) => {
                    self.end = Some(Ok(()));
                    return Some(Err(error));
                }
                None => {}
            }
            let fault = *self.faults.borrow_and_update();
            let closes = match fault {
                Fault::Silent => std::future::pending().await,
                Fault::WatchesStall if self.watch => std::future::pending().await,
                Fault::Away => {
                    self.end = Some(Err("cut off".into()));
                    continue;
                }
                Fault::WatchesEnd(after) | Fault::NoBookmarks(after) if self.watch => Some(self.began + after),
                _ => None,
            };
            let close = async {
                match closes {
                    Some(at) => sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            let frame = tokio::select! {
                biased;
                _ = self.faults.changed() => continue,
                () = close => return None,
                frame = self.body.frame() => frame?,
            };
            let data = match frame.map(Frame::into_data) {
                Ok(Ok(data)) => data,
                Ok(Err(_trailers)) => continue,
                Err(error) => return Some(Err(error.into())),
            };
            match fault {
                Fault::Breaks => {
                    self.end = Some(Err("broken off".into()));
                    return Some(Ok(data.slice(..data.len() / 2)));
                }
                Fault::CutsShort => {
                    self.end = Some(Ok(()));
                    return Some(Ok(data.slice(..data.len() / 2)));
                }
                _ => {}
            }
            let data = if self.watch { self.lines(&data, fault) } else { data };
            if !data.is_empty() {
                return Some(Ok(data));
            }
        }
    }

    fn lines(&mut self, data: &[u8], fault: Fault) -> Bytes {
        self.rest.extend_from_slice(data);
        let whole = self.rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let lines: Vec<u8> = self.rest.drain(..whole).collect();
        let withheld =
            |line: &&[u8]| matches!(fault, Fault::NoBookmarks(_)) && line.starts_with(br#"{"type":"BOOKMARK""#);
        let passed: Vec<&[u8]> = lines
            .split_inclusive(|byte| *byte == b'\n')
            .filter(|line| !withheld(line))
            .collect();
        Bytes::from(passed.concat())
    }
}
