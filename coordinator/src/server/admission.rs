//! Admission: connections are accepted, shake hands, and have to prove something soon.
//!
//! Owns: how many connections there are, whose they are, and how long they may take. Must not: check credentials
//! ([`crate::server::auth`]).
//!
//! ```text
//! accept ─► a stranger's permit ─► TLS handshake (5 s) ─► first call with good credentials (10 s) ─► a permit under its name
//!               │ too many: the oldest of the neighbor that has the most is cut, or the newcomer has to come again
//! ```
//!
//! How many are too many depends on how late this process is ([`lateness`]): it lets in no more than it can be done with in time.
//!
//! Connections that have proven something are never cut for the sake of those that have not. A neighbor may be a whole fleet
//! behind one gateway, and all of it comes at once when a coordinator has been started again.

pub mod address;
pub mod buckets;
pub mod connection;
pub mod connection_limits;
pub mod lateness;
pub mod refusal_log;
pub mod stranger_limits;
pub mod ticket;

pub use connection::Connection;
pub use refusal_log::RefusalLog;
pub use ticket::Ticket;

use address::Neighbor;
use connection_limits::{ConnectionLimits, ConnectionPermit};
use lateness::Lateness;
use rustls::pki_types::UnixTime;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use stranger_limits::StrangerLimits;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections that have not proven anything.
    pub strangers: usize,
    /// The same, of one neighbor.
    pub strangers_per_neighbor: usize,
    /// How long a stranger keeps its permit, unless a neighbor that has fewer needs it.
    pub time: Duration,
    /// Connections in all that have proven something.
    pub named: usize,
    /// The same, of one name: one agent, one person.
    pub per_name: usize,
    /// New connections of one neighbor at once, and one more after each `every`.
    pub burst: u32,
    pub every: Duration,
    pub handshake: Duration,
    /// From the handshake to the first call with good credentials.
    pub proof: Duration,
}

/// Above the largest fleet that one coordinator is made for: permits for as many as come in a second and take some seconds each, by a
/// radio; all of one neighbor are through within a minute.
pub const LIMITS: Limits = Limits {
    strangers: 4096,
    strangers_per_neighbor: 2048,
    time: Duration::from_secs(5),
    named: 60_000,
    per_name: 16,
    burst: 400,
    every: Duration::from_millis(2),
    handshake: Duration::from_secs(5),
    proof: Duration::from_secs(10),
};

/// After an error of `accept`: most often too many open files, which others must close first.
const ACCEPT_ERROR_PAUSE: Duration = Duration::from_millis(100);

/// Connections on their way from the handshake to the gRPC server.
const MAX_WAITING_CONNECTIONS: usize = 64;

#[derive(Clone, Debug)]
pub struct Admission(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    limits: Limits,
    /// `None`: plain text.
    tls: Option<trust::Server>,
    stranger_limits: StrangerLimits,
    lateness: Lateness,
    named: Arc<ConnectionLimits<String>>,
    refusal_log: Arc<RefusalLog>,
    tasks: TaskTracker,
}

impl Admission {
    pub fn new(tls: Option<trust::Server>, limits: Limits, refusal_log: Arc<RefusalLog>) -> Self {
        Self(Arc::new(Inner {
            limits,
            tls,
            stranger_limits: StrangerLimits::new(&limits),
            lateness: Lateness::none(),
            named: Arc::new(ConnectionLimits::new(limits.named, limits.per_name, Duration::ZERO)),
            refusal_log,
            tasks: TaskTracker::new(),
        }))
    }

    /// Connections of `listener` that have shaken hands, until `ending`.
    pub fn open(&self, listener: TcpListener, ending: CancellationToken) -> ReceiverStream<io::Result<Connection>> {
        let (sender, receiver) = mpsc::channel(MAX_WAITING_CONNECTIONS);
        if self.0.tls.is_some() {
            let (admission, ending) = (self.clone(), ending.clone());
            self.0
                .tasks
                .spawn(async move { ending.run_until_cancelled(admission.0.lateness.measure()).await });
        }
        let admission = self.clone();
        self.0.tasks.spawn(async move {
            let accepting = async {
                loop {
                    match listener.accept().await {
                        Ok((stream, remote)) => admission.welcome(stream, remote, &sender, &ending),
                        Err(error) => {
                            tracing::warn!(%error, "connection not accepted");
                            sleep(ACCEPT_ERROR_PAUSE).await;
                        }
                    }
                }
            };
            ending.run_until_cancelled(accepting).await;
        });
        ReceiverStream::new(receiver)
    }

    fn welcome(
        &self,
        stream: TcpStream,
        remote: SocketAddr,
        sender: &mpsc::Sender<io::Result<Connection>>,
        ending: &CancellationToken,
    ) {
        let cut = CancellationToken::new();
        let admit = || {
            let (neighbor, now) = (Neighbor::of(remote.ip()), Instant::now());
            let lateness = self.0.lateness.at(now);
            self.0.stranger_limits.admit(neighbor, lateness, cut.clone(), now)
        };
        let permit = match self.0.tls.is_some().then(admit).transpose() {
            Ok(permit) => permit,
            Err(why) => {
                self.0.refusal_log.refusal(remote, "connection refused", &why);
                return;
            }
        };
        let (admission, sender, ending) = (self.clone(), sender.clone(), ending.clone());
        self.0.tasks.spawn(async move {
            let brought = admission.bring_in(stream, remote, permit, &sender, &cut);
            if let Some(Err(Refused(why))) = ending.run_until_cancelled(brought).await {
                admission.0.refusal_log.refusal(remote, "connection refused", &why);
            }
        });
    }

    /// Passes one connection on, and cuts it when it proves nothing in time.
    async fn bring_in(
        &self,
        stream: TcpStream,
        remote: SocketAddr,
        permit: Option<ConnectionPermit<Neighbor>>,
        sender: &mpsc::Sender<io::Result<Connection>>,
        cut: &CancellationToken,
    ) -> Result<(), Refused> {
        // Orders are small, and a vehicle waits for them. It fails only for a connection that is gone.
        stream.set_nodelay(true)?;
        let gone = CancellationToken::new();
        let named = Arc::clone(&self.0.named);
        let (connection, ticket) = match &self.0.tls {
            None => {
                let ticket = Ticket::new(remote, None, permit, named, cut.clone());
                let gone = gone.clone().drop_guard();
                (Connection::plain(stream, ticket.clone(), cut.clone(), gone), ticket)
            }
            Some(server) => {
                let handshake = timeout(self.0.limits.handshake, shake(server, stream));
                let Some(shaken) = cut.run_until_cancelled(handshake).await else {
                    return Err(Refused("it took too long while others were waiting".to_owned()));
                };
                let late = |_| Refused("its TLS handshake took too long".to_owned());
                let Some(stream) = shaken.map_err(late)?? else {
                    return Ok(());
                };
                let caller = caller(server, &stream)?;
                let ticket = Ticket::new(remote, caller, permit, named, cut.clone());
                let gone = gone.clone().drop_guard();
                (Connection::tls(stream, ticket.clone(), cut.clone(), gone), ticket)
            }
        };
        let proven = ticket.proven();
        let encrypted = self.0.tls.is_some();
        drop(ticket);
        // Nobody takes it when the server is ending.
        if sender.send(Ok(connection)).await.is_err() || !encrypted {
            return Ok(());
        }
        tokio::select! {
            () = proven.cancelled() => Ok(()),
            () = gone.cancelled() => Ok(()),
            () = cut.cancelled() => Err(Refused("it showed no good credentials, and others were waiting".to_owned())),
            () = sleep(self.0.limits.proof) => {
                cut.cancel();
                let span = self.0.limits.proof.as_secs();
                Err(Refused(format!("it showed no good credentials within {span} s")))
            }
        }
    }
}

#[derive(Debug)]
struct Refused(String);

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Self(error.to_string())
    }
}

/// The stream after the handshake; `None` when the other end closed before it sent anything, as a load balancer's probe does.
async fn shake(server: &trust::Server, stream: TcpStream) -> Result<Option<TlsStream<TcpStream>>, Refused> {
    let mut first = [0];
    // A TLS record that opens a handshake begins with 22 (RFC 8446, 5.1).
    match (stream.peek(&mut first).await?, first) {
        (0, _) => return Ok(None),
        (_, [22]) => {}
        _ => {
            return Err(Refused(
                "it speaks plain text; this port speaks TLS: use https://".to_owned(),
            ));
        }
    }
    let accepted = TlsAcceptor::from(server.config()).accept(stream).await;
    accepted
        .map(Some)
        .map_err(|error| Refused(format!("its TLS handshake failed: {error}")))
}

fn caller(server: &trust::Server, stream: &TlsStream<TcpStream>) -> Result<Option<trust::Caller>, Refused> {
    let (_, session) = stream.get_ref();
    let shown = session.peer_certificates();
    let caller = shown.map(|shown| server.caller(shown, UnixTime::now()));
    caller.transpose().map_err(|error| Refused(error.to_string()))
}

#[cfg(test)]
mod tests;
