//! Transports: serial, UDP and TCP, behind one interface of "read some bytes" and "write these bytes". Must not: frame,
//! retry, or know URLs ([`crate::opener`] does).
//! TCP: no delay, and what the other end does not acknowledge within 2 s breaks the connection, so that the kernel
//! never delivers an old command late.

pub(crate) mod datagrams;
pub mod serial;
pub(crate) mod turns;

use crate::url::HostPort;
use datagrams::Datagrams;
use futures::future::BoxFuture;
use std::future::ready;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::net::{TcpStream, lookup_host};

/// The life of an arm command.
const TCP_UNACKNOWLEDGED: Duration = fleet::safety::ARM_LIFE;
pub(crate) const OPEN_DEADLINE: Duration = Duration::from_secs(5);

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("serial device {0} is missing; is the autopilot plugged in and powered?")]
    Missing(String),
    #[error(
        "serial device {device} is missing; there is now {others}: if the autopilot is there, name that, best by /dev/serial/by-id, or use auto"
    )]
    Elsewhere { device: String, others: String },
    #[error(
        "no permission to open serial device {0}; add the user to its group (often dialout), or give the container the device"
    )]
    Forbidden(String),
    #[error(
        "serial device {0} is in use by another program; stop that program (often ModemManager, or a ground station)"
    )]
    Busy(String),
    #[error("cannot use {device} as a serial device: {why}")]
    Serial { device: String, why: String },
    #[error("no serial device in {0}; is the autopilot plugged in, and given to the container?")]
    NoDevice(String),
    #[error("no autopilot on any serial device ({0}); is it powered, and does its port speak MAVLink?")]
    NoAutopilot(String),
    #[error("cannot find the address of {0}; check the host name")]
    Unresolved(String),
    #[error("cannot open {what}: {why}")]
    Network { what: String, why: io::Error },
}

pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

pub struct Wire {
    pub(crate) reader: Reader,
    pub(crate) writer: Writer,
}

pub(crate) enum Reader {
    Stream(ReadHalf<Box<dyn Stream>>),
    Datagrams(Arc<Datagrams>),
}

pub(crate) enum Writer {
    Stream(WriteHalf<Box<dyn Stream>>),
    Datagrams(Arc<Datagrams>),
}

impl Wire {
    /// Link over any byte stream, such as one end of `tokio::io::duplex`.
    #[must_use]
    pub fn stream(stream: impl Stream + 'static) -> Self {
        let (reader, writer) = tokio::io::split(Box::new(stream) as Box<dyn Stream>);
        Self {
            reader: Reader::Stream(reader),
            writer: Writer::Stream(writer),
        }
    }

    pub(crate) fn datagrams(socket: &Arc<Datagrams>) -> Self {
        Self {
            reader: Reader::Datagrams(Arc::clone(socket)),
            writer: Writer::Datagrams(Arc::clone(socket)),
        }
    }
}

impl Reader {
    /// 0 means that the other end hung up. Safe to cancel.
    pub(crate) async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Stream(stream) => stream.read(buffer).await,
            Self::Datagrams(socket) => socket.read(buffer).await,
        }
    }

    /// Takes whatever one read may bring: a datagram is cut off where its buffer ends.
    pub(crate) fn buffer(&self) -> Vec<u8> {
        let bytes = if self.is_datagrams() { 65_536 } else { 4096 };
        vec![0; bytes]
    }

    pub(crate) fn accepted(&self) {
        match self {
            Self::Stream(_) => {}
            Self::Datagrams(socket) => socket.accepted(),
        }
    }

    /// Whether each read is a datagram, in which no earlier frame continues.
    pub(crate) const fn is_datagrams(&self) -> bool {
        matches!(self, Self::Datagrams(_))
    }
}

impl Writer {
    pub(crate) async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Stream(stream) => stream.write_all(bytes).await,
            Self::Datagrams(socket) => socket.write(bytes).await,
        }
    }
}

pub trait Opener: Send + 'static {
    /// Waits until it may be opened, which does not count for the deadline.
    fn turn(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(ready(()))
    }

    /// The caller sets the deadline, [`Opener::open_deadline`].
    fn open(&mut self) -> BoxFuture<'_, Result<Wire, OpenError>>;

    fn open_deadline(&self) -> Duration {
        OPEN_DEADLINE
    }

    /// Time without a frame after which an open line counts as lost; `None` when only a hang-up does.
    fn silence_limit(&self) -> Option<Duration> {
        None
    }

    /// The line was lost again before anything received on it could be believed.
    fn nothing_accepted(&mut self) {}

    fn advice(&self) -> String {
        "check that the other end speaks MAVLink".to_owned()
    }
}

fn network(what: String) -> impl Fn(io::Error) -> OpenError {
    move |why| OpenError::Network {
        what: what.clone(),
        why,
    }
}

async fn resolve_all(at: &HostPort) -> Result<Vec<SocketAddr>, OpenError> {
    let found = lookup_host((at.host.as_str(), at.port)).await;
    let found: Vec<SocketAddr> = found.into_iter().flatten().collect();
    match found.is_empty() {
        true => Err(OpenError::Unresolved(at.to_string())),
        false => Ok(found),
    }
}

async fn resolve(at: &HostPort) -> Result<SocketAddr, OpenError> {
    let first = resolve_all(at).await?.first().copied();
    first.ok_or_else(|| OpenError::Unresolved(at.to_string()))
}

/// Connects to the first address of `remote` that accepts: `localhost` and most names have one of each family.
pub(crate) async fn tcp(remote: &HostPort) -> Result<Wire, OpenError> {
    tcp_at(remote, &resolve_all(remote).await?).await
}

async fn tcp_at(remote: &HostPort, addresses: &[SocketAddr]) -> Result<Wire, OpenError> {
    let failed = network(format!("tcp:{remote}"));
    let stream = TcpStream::connect(addresses).await.map_err(&failed)?;
    stream.set_nodelay(true).map_err(&failed)?;
    #[cfg(target_os = "linux")]
    socket2::SockRef::from(&stream)
        .set_tcp_user_timeout(Some(TCP_UNACKNOWLEDGED))
        .map_err(&failed)?;
    Ok(Wire::stream(stream))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn a_name_of_both_families_is_reached_by_the_one_that_answers() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let addresses = [(Ipv6Addr::LOCALHOST, port).into(), (Ipv4Addr::LOCALHOST, port).into()];
        let remote = HostPort {
            host: "localhost".to_owned(),
            port,
        };
        tcp_at(&remote, &addresses).await.unwrap();
        assert!(matches!(
            tcp_at(&remote, &addresses[..1]).await,
            Err(OpenError::Network { .. })
        ));
    }
}
