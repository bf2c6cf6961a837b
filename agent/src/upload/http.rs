//! HTTP for the object store: a connection for each request, paced, and last in line for everybody else on the way.
//!
//! The line stays free for reports and orders: a few KiB at a time, as fast as was set; little waits in the system's send buffer; packets
//! carry the mark of lower effort (CS1), which routers that know it serve last. What moves no byte for half a minute is given up, and so is
//! an answer that is too long: the memory is that of the program that flies.

use object_store::ClientOptions;
use object_store::client::{HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse};
use object_store::client::{HttpResponseBody, HttpService};

use async_trait::async_trait;
use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, HOST, HeaderValue};
use http::uri::PathAndQuery;
use http::{Method, Uri, Version};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use socket2::SockRef;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep, sleep_until, timeout};
use tokio_rustls::TlsConnector;
use tokio_util::task::AbortOnDropHandle;

const CONNECT_WITHIN: Duration = Duration::from_secs(10);
/// A request or an answer of which nothing moves for so long is given up; a store may work on the end of an upload for a while.
const STALLED_AFTER: Duration = Duration::from_secs(30);
/// Bytes of an answer's body. Stores send a few lines of XML; only an object that is read back is longer.
const ANSWER_AT_MOST: u64 = 1024 * 1024;
const CHUNK: usize = 8 * 1024;
/// Bytes that may wait in the system, and be in front of a report.
const SEND_BUFFER: usize = 64 * 1024;
/// DSCP CS1, lower effort.
const LOWER_EFFORT: u32 = 8 << 2;

#[derive(Clone, Debug)]
pub(super) struct Line {
    /// `None`: plain text.
    pub(super) tls: Option<Arc<ClientConfig>>,
    pub(super) pace: Pace,
}

/// For all requests together.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    bytes_per_second: u32,
    free_at: Arc<Mutex<Option<Instant>>>,
}

impl Pace {
    pub(super) fn of(bytes_per_second: u32) -> Self {
        Self {
            bytes_per_second: bytes_per_second.max(1),
            free_at: Arc::default(),
        }
    }

    /// Returns when so many bytes may go.
    fn take(&self, bytes: usize, now: Instant) -> Instant {
        let mut free_at = self.free_at.lock().unwrap_or_else(PoisonError::into_inner);
        let at = free_at.map_or(now, |at| at.max(now));
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        *free_at = Some(at + Duration::from_secs(1).mul_f64(f64::from(bytes) / f64::from(self.bytes_per_second)));
        at
    }
}

impl HttpConnector for Line {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

#[derive(Debug, thiserror::Error)]
pub(super) enum NoExchange {
    #[error("no answer to the connection")]
    Silent,
    #[error("the store has not moved a byte for {} s", STALLED_AFTER.as_secs())]
    Stalled,
    #[error("the answer is longer than one of a store may be; check SKEIN_UPLOAD_ENDPOINT")]
    TooLong,
    #[error("the address has no host")]
    NoHost,
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Http(#[from] hyper::Error),
}

impl From<NoExchange> for HttpError {
    fn from(why: NoExchange) -> Self {
        Self::new(HttpErrorKind::Unknown, why)
    }
}

#[async_trait]
impl HttpService for Line {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        Ok(self.exchange(request).await?)
    }
}

impl Line {
    async fn exchange(&self, request: HttpRequest) -> Result<HttpResponse, NoExchange> {
        let (mut parts, body) = request.into_parts();
        let authority = parts.uri.authority().cloned().ok_or(NoExchange::NoHost)?;
        let secure = self.tls.as_ref().filter(|_| parts.uri.scheme_str() != Some("http"));
        let port = authority.port_u16().unwrap_or(if secure.is_some() { 443 } else { 80 });
        let host = authority
            .host()
            .trim_start_matches('[')
            .trim_end_matches(']')
            .to_owned();
        let tcp = timeout(CONNECT_WITHIN, TcpStream::connect((host.as_str(), port))).await;
        let tcp = tcp.map_err(|_| NoExchange::Silent)??;
        stand_back(&tcp);

        let host_header = HeaderValue::from_str(authority.as_str()).map_err(|_| NoExchange::NoHost)?;
        parts.headers.entry(HOST).or_insert(host_header);
        parts.headers.insert(CONNECTION, HeaderValue::from_static("close"));
        let path = parts.uri.path_and_query().cloned();
        parts.uri = Uri::from(path.unwrap_or_else(|| PathAndQuery::from_static("/")));
        parts.version = Version::HTTP_11;
        let moved = Arc::new(AtomicU64::new(0));
        let request = http::Request::from_parts(parts, Paced::of(body, self.pace.clone(), Arc::clone(&moved)));
        let response = match secure {
            None => send(tcp, request, &moved).await?,
            Some(tls) => {
                let name = ServerName::try_from(host).map_err(|_| NoExchange::NoHost)?;
                let connecting = TlsConnector::from(Arc::clone(tls)).connect(name, tcp);
                let connected = timeout(CONNECT_WITHIN, connecting).await;
                send(connected.map_err(|_| NoExchange::Silent)??, request, &moved).await?
            }
        };
        let (parts, body) = response.into_parts();
        Ok(HttpResponse::from_parts(parts, HttpResponseBody::new(body)))
    }
}

/// Lets everything else go first, as far as the system offers it.
fn stand_back(tcp: &TcpStream) {
    let socket = SockRef::from(tcp);
    let _ = socket.set_send_buffer_size(SEND_BUFFER);
    let _ = match tcp.peer_addr() {
        Ok(peer) if peer.is_ipv6() => socket.set_tclass_v6(LOWER_EFFORT),
        _ => socket.set_tos_v4(LOWER_EFFORT),
    };
}

async fn send<T>(
    stream: T,
    request: http::Request<Paced<object_store::client::HttpRequestBody>>,
    moved: &AtomicU64,
) -> Result<http::Response<Patient>, NoExchange>
where
    T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let handshake = timeout(CONNECT_WITHIN, http1::handshake(TokioIo::new(stream))).await;
    let (mut sender, connection) = handshake.map_err(|_| NoExchange::Silent)??;
    // Dropping the request or the answer ends it at once: nothing more is sent then.
    let connection = AbortOnDropHandle::new(tokio::spawn(connection));
    let reads = request.method() == Method::GET;
    let mut answer = std::pin::pin!(sender.send_request(request));
    loop {
        let before = moved.load(Ordering::Relaxed);
        tokio::select! {
            answer = &mut answer => {
                let (parts, body) = answer?.into_parts();
                let most = longest(reads, &parts);
                return Ok(http::Response::from_parts(parts, Patient::of(body, most, connection)));
            }
            () = sleep(STALLED_AFTER) => {
                if moved.load(Ordering::Relaxed) == before {
                    return Err(NoExchange::Stalled);
                }
            }
        }
    }
}

/// The most bytes that the body of `answer` may have. An object that is read has as many as its answer names: the caller compares them with
/// what it expects, and takes them piece by piece.
fn longest(reads: bool, answer: &http::response::Parts) -> u64 {
    let length = answer.headers.get(CONTENT_LENGTH);
    let named = length.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    match named {
        Some(named) if reads && answer.status.is_success() => named,
        _ => ANSWER_AT_MOST,
    }
}

struct Paced<B> {
    body: B,
    pace: Pace,
    moved: Arc<AtomicU64>,
    waiting: Bytes,
    until: Option<Pin<Box<Sleep>>>,
}

impl<B> Paced<B> {
    const fn of(body: B, pace: Pace, moved: Arc<AtomicU64>) -> Self {
        Self {
            body,
            pace,
            moved,
            waiting: Bytes::new(),
            until: None,
        }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Paced<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let this = &mut *self;
        while this.waiting.is_empty() {
            match ready!(Pin::new(&mut this.body).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => this.waiting = data,
                    Err(other) => return Poll::Ready(Some(Ok(other))),
                },
                end => return Poll::Ready(end),
            }
        }
        let length = this.waiting.len().min(CHUNK);
        let pace = &this.pace;
        let until = this
            .until
            .get_or_insert_with(|| Box::pin(sleep_until(pace.take(length, Instant::now()))));
        ready!(until.as_mut().poll(cx));
        this.until = None;
        this.moved.fetch_add(1, Ordering::Relaxed);
        Poll::Ready(Some(Ok(Frame::data(this.waiting.split_to(length)))))
    }

    fn is_end_stream(&self) -> bool {
        self.waiting.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let waiting = u64::try_from(self.waiting.len()).unwrap_or(0);
        match self.body.size_hint().exact() {
            Some(rest) => SizeHint::with_exact(rest + waiting),
            None => self.body.size_hint(),
        }
    }
}

struct Patient {
    body: Incoming,
    left: u64,
    until: Pin<Box<Sleep>>,
    _connection: AbortOnDropHandle<hyper::Result<()>>,
}

impl Patient {
    fn of(body: Incoming, most: u64, connection: AbortOnDropHandle<hyper::Result<()>>) -> Self {
        Self {
            body,
            left: most,
            until: Box::pin(sleep(STALLED_AFTER)),
            _connection: connection,
        }
    }

    fn take(&mut self, frame: hyper::Result<Frame<Bytes>>) -> Result<Frame<Bytes>, NoExchange> {
        let frame = frame?;
        let length = frame.data_ref().map_or(0, Bytes::len);
        let length = u64::try_from(length).unwrap_or(u64::MAX);
        self.left = self.left.checked_sub(length).ok_or(NoExchange::TooLong)?;
        Ok(frame)
    }
}

impl Body for Patient {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            let until = Instant::now() + STALLED_AFTER;
            self.until.as_mut().reset(until);
            return Poll::Ready(frame.map(|frame| self.take(frame).map_err(HttpError::from)));
        }
        ready!(self.until.as_mut().poll(cx));
        Poll::Ready(Some(Err(NoExchange::Stalled.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    /// None: what collects the body reserves as much memory as is named here, and the store may name any number.
    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_taken_no_faster_than_was_set() {
        let pace = Pace::of(1000);
        let begin = Instant::now();
        assert_eq!(pace.take(500, begin), begin);
        assert_eq!(
            pace.clone().take(250, begin),
            begin + Duration::from_millis(500),
            "all requests share it"
        );
        assert_eq!(pace.take(250, begin), begin + Duration::from_millis(750));
        let later = begin + Duration::from_secs(60);
        assert_eq!(pace.take(1, later), later, "what was not used is not made up for");
    }
}
