//! HTTPS on a socket: HTTP/2 or HTTP/1.1, as the client chooses.
//!
//!   accepted --handshake--> unproven --request with the token--> proven --stop--> last answers --> closed
//!                  \ late: cut        \ late: cut

use crate::serve::access::{self, Token};
use crate::serve::bodies::Bodies;
use crate::serve::convert::{self, AnswerBody};
use crate::serve::stalled::Stalled;
use crate::serve::unproven::{Proof, Unproven, UnprovenConnection};
use crate::serve::{Handler, Limits};
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use rustls::ServerConfig;
use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Pause after an error of `accept`: mostly too many open files, so others must close first.
const PAUSE: Duration = Duration::from_millis(100);
/// A client without an answer is considered gone.
const PING_EVERY: Duration = Duration::from_secs(30);
/// Bytes of one HTTP/2 request's headers, including a URL with a long label selector.
const HEADERS: u32 = 128 * 1024;
const STREAMS: u32 = 1000;

#[derive(Clone, Debug)]
pub(super) struct Server<H> {
    pub(super) handler: H,
    pub(super) token: Token,
    pub(super) tls: Arc<ServerConfig>,
    pub(super) limits: Limits,
    pub(super) bodies: Bodies,
    pub(super) unproven: Unproven,
    /// No new connections; finish the last answers.
    pub(super) stop: CancellationToken,
    pub(super) cut: CancellationToken,
    pub(super) tasks: TaskTracker,
}

pub(super) async fn run<H: Handler>(server: Server<H>, listener: TcpListener) {
    let free = Arc::new(Semaphore::new(server.limits.connections));
    let accepting = async {
        loop {
            let socket = accept(&listener).await;
            // A connection without the credential gives way to the next one, which may have it.
            if free.available_permits() == 0 {
                server.unproven.close_oldest();
            }
            // The semaphore is never closed.
            let Ok(place) = Arc::clone(&free).acquire_owned().await else {
                return;
            };
            let server = server.clone();
            let tasks = server.tasks.clone();
            tasks.spawn(async move {
                connection(server, socket).await;
                drop(place);
            });
        }
    };
    server.stop.run_until_cancelled(accepting).await;
}

async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((socket, _)) => return socket,
            Err(error) => {
                tracing::warn!(%error, "connection not accepted");
                sleep(PAUSE).await;
            }
        }
    }
}

async fn connection<H: Handler>(server: Server<H>, socket: TcpStream) {
    let cut = server.cut.clone();
    let unproven = server.unproven.enter();
    let must_close = unproven.must_close.clone();
    let talk = async {
        let shaken = timeout(server.limits.handshake, handshake(&server, socket));
        match server.stop.run_until_cancelled(shaken).await {
            Some(Ok(Ok(stream))) => serve(&server, stream, unproven).await,
            Some(Ok(Err(error))) => tracing::debug!(%error, "no TLS handshake"),
            Some(Err(_)) => tracing::debug!("TLS handshake takes too long"),
            None => {}
        }
    };
    tokio::select! {
        _ = cut.run_until_cancelled(talk) => {}
        () = must_close.cancelled() => tracing::debug!("connection without a credential gives way to another"),
    }
}

/// Stream below TLS, so that each byte that the client takes counts.
type Socket = Stalled<TcpStream>;

async fn handshake<H>(server: &Server<H>, socket: TcpStream) -> io::Result<TlsStream<Socket>> {
    // A watch event is small, and a client waits for it.
    socket.set_nodelay(true)?;
    let socket = Stalled::new(socket, server.limits.stalled);
    TlsAcceptor::from(Arc::clone(&server.tls)).accept(socket).await
}

async fn serve<H: Handler>(server: &Server<H>, stream: TlsStream<Socket>, unproven: UnprovenConnection) {
    let proven = Arc::new(Proof::of(unproven));
    let service = service_fn(|request| {
        let (server, proven) = (server.clone(), Arc::clone(&proven));
        async move { Ok::<_, Infallible>(answer(&server, request, &proven).await) }
    });
    let builder = protocol(&server.limits);
    let mut talk = pin!(builder.serve_connection(TokioIo::new(stream), service));
    let mut deadline = pin!(sleep(server.limits.credential));
    let (mut waiting, mut ending) = (true, false);
    loop {
        tokio::select! {
            ended = talk.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "connection ended");
                }
                return;
            }
            () = deadline.as_mut(), if waiting => {
                waiting = false;
                if !proven.is_given() {
                    tracing::debug!("connection without a credential ended");
                    return;
                }
            }
            () = server.stop.cancelled(), if !ending => {
                ending = true;
                talk.as_mut().graceful_shutdown();
            }
        }
    }
}

fn protocol(limits: &Limits) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.idle)
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS)
        .max_header_list_size(HEADERS)
        .keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PING_EVERY);
    builder
}

async fn answer<H: Handler>(server: &Server<H>, request: Request<Incoming>, proven: &Proof) -> Response<AnswerBody> {
    if !server.token.admits(request.headers()) {
        return convert::refuse(&access::unauthorized());
    }
    proven.give();
    convert::answer(&server.handler, request, &server.limits, &server.bodies, &server.stop).await
}
