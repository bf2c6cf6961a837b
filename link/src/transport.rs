//! Transports: serial, UDP and TCP, behind one face of "read some bytes" and "write these bytes".
//!
//! Owns: opening each kind ([`UrlOpener`]) and what is special about it. Must not: frame, retry, or log.
//!
//! * Serial: exclusive, flushed at the open and before the close, so that what a stuck line still holds does not come
//!   out later; a hang-up reads as end of file.
//! * UDP: one socket for the life of the process, because PX4 answers only the first address and port that it heard.
//! * TCP: no delay, and what the other end does not acknowledge within 2 s breaks the connection, so that the kernel
//!   never delivers an old command late.

use crate::counters::Counters;
use crate::url::{HostPort, LinkUrl};
use futures::future::BoxFuture;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf, ReadHalf, WriteHalf};
use tokio::net::{TcpStream, UdpSocket, lookup_host};
use tokio::time::Instant;
use tokio_serial::{ClearBuffer, SerialPort, SerialPortBuilderExt, SerialStream};

/// Unacknowledged TCP bytes break the connection after this long: the life of an arm command.
const TCP_UNACKNOWLEDGED: Duration = fleet::safety::ARM_LIFE;
/// A UDP listener stays with its autopilot until that has been silent for this long.
const PEER_SILENT: Duration = Duration::from_secs(5);

/// Why a link could not be opened, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The device file is not there.
    #[error("serial device {0} is missing; is the autopilot plugged in and powered?")]
    Missing(String),
    /// The device file may not be opened.
    #[error(
        "no permission to open serial device {0}; add the user to its group (often dialout), or give the container the device"
    )]
    Forbidden(String),
    /// Another program has it.
    #[error("serial device {0} is in use by another program; stop that program")]
    Busy(String),
    /// The device cannot be used as a serial line.
    #[error("cannot use {device} as a serial device: {why}")]
    Serial {
        /// The device.
        device: String,
        /// What the system says.
        why: String,
    },
    /// The host name is unknown.
    #[error("cannot find the address of {0}; check the host name")]
    Unresolved(String),
    /// The network part failed.
    #[error("cannot open {what}: {why}")]
    Network {
        /// What was tried.
        what: String,
        /// What the system says.
        why: io::Error,
    },
}

/// Any byte stream that can be a link.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// An open link.
pub struct Wire {
    pub(crate) reader: Reader,
    pub(crate) writer: Writer,
}

/// The reading half.
pub(crate) enum Reader {
    Stream(ReadHalf<Box<dyn Stream>>),
    Datagrams(Arc<Datagrams>),
}

/// The writing half.
pub(crate) enum Writer {
    Stream(WriteHalf<Box<dyn Stream>>),
    Datagrams(Arc<Datagrams>),
}

impl Wire {
    /// A link over any byte stream, such as one end of `tokio::io::duplex`.
    #[must_use]
    pub fn stream(stream: impl Stream + 'static) -> Self {
        let (reader, writer) = tokio::io::split(Box::new(stream) as Box<dyn Stream>);
        Self {
            reader: Reader::Stream(reader),
            writer: Writer::Stream(writer),
        }
    }

    fn datagrams(socket: &Arc<Datagrams>) -> Self {
        Self {
            reader: Reader::Datagrams(Arc::clone(socket)),
            writer: Writer::Datagrams(Arc::clone(socket)),
        }
    }
}

impl Reader {
    /// Reads some bytes. 0 means that the other end hung up. Safe to cancel.
    pub(crate) async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Stream(stream) => stream.read(buffer).await,
            Self::Datagrams(socket) => socket.read(buffer).await,
        }
    }

    /// Whether each read is a datagram of its own, in which no frame of the one before continues.
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

/// Opens a link, again and again.
pub trait Opener: Send + 'static {
    /// Opens it once. The caller sets the deadline.
    fn open(&mut self) -> BoxFuture<'_, Result<Wire, OpenError>>;
}

/// Opens what a [`LinkUrl`] names.
#[derive(Debug)]
pub struct UrlOpener {
    url: LinkUrl,
    counters: Arc<Counters>,
    socket: Option<Arc<Datagrams>>,
}

impl UrlOpener {
    pub(crate) const fn new(url: LinkUrl, counters: Arc<Counters>) -> Self {
        Self {
            url,
            counters,
            socket: None,
        }
    }

    async fn open_url(&mut self) -> Result<Wire, OpenError> {
        if let Some(socket) = &self.socket {
            return Ok(Wire::datagrams(socket));
        }
        let socket = match &self.url {
            LinkUrl::Serial { device, baud } => return serial(device, *baud),
            LinkUrl::Tcp { remote } => return tcp(remote).await,
            LinkUrl::UdpListen { local } => {
                let address = resolve(local).await?;
                (UdpSocket::bind(address).await.map_err(network(&self.url))?, None)
            }
            LinkUrl::Udp { remote } => {
                let address = resolve(remote).await?;
                (bind_steady(address).await.map_err(network(&self.url))?, Some(address))
            }
        };
        let socket = Arc::new(Datagrams {
            socket: socket.0,
            remote: socket.1,
            peer: Mutex::default(),
            counters: Arc::clone(&self.counters),
        });
        self.socket = Some(Arc::clone(&socket));
        Ok(Wire::datagrams(&socket))
    }
}

impl Opener for UrlOpener {
    fn open(&mut self) -> BoxFuture<'_, Result<Wire, OpenError>> {
        Box::pin(self.open_url())
    }
}

fn network(url: &LinkUrl) -> impl Fn(io::Error) -> OpenError {
    let what = url.to_string();
    move |why| OpenError::Network {
        what: what.clone(),
        why,
    }
}

async fn resolve(at: &HostPort) -> Result<SocketAddr, OpenError> {
    let found = lookup_host((at.host.as_str(), at.port)).await;
    found
        .ok()
        .and_then(|mut all| all.next())
        .ok_or_else(|| OpenError::Unresolved(at.to_string()))
}

fn serial(device: &Path, baud: u32) -> Result<Wire, OpenError> {
    let name = device.display().to_string();
    let opened = tokio_serial::new(name.clone(), baud).open_native_async();
    let port = opened.map_err(|error| {
        use tokio_serial::ErrorKind::{Io, NoDevice};
        match error.kind {
            Io(io::ErrorKind::NotFound) => OpenError::Missing(name.clone()),
            Io(io::ErrorKind::PermissionDenied) => OpenError::Forbidden(name.clone()),
            NoDevice if device.exists() => OpenError::Busy(name.clone()),
            NoDevice => OpenError::Missing(name.clone()),
            _ if error.description.contains("lock") => OpenError::Busy(name.clone()),
            _ => OpenError::Serial {
                device: name.clone(),
                why: error.description,
            },
        }
    })?;
    // What was said before is not for us. Not every device can flush; the backlog filter does the rest.
    let _ = port.clear(ClearBuffer::All);
    Ok(Wire::stream(Flushed(port)))
}

/// A serial line that throws away what it has not sent yet when it is closed. The system would go on sending it, and
/// hold up the closing for up to 30 s.
struct Flushed(SerialStream);

impl Drop for Flushed {
    fn drop(&mut self) {
        let _ = self.0.clear(ClearBuffer::All);
    }
}

impl AsyncRead for Flushed {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Flushed {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

async fn tcp(remote: &HostPort) -> Result<Wire, OpenError> {
    let failed = |why| OpenError::Network {
        what: format!("tcp:{remote}"),
        why,
    };
    let address = resolve(remote).await?;
    let stream = TcpStream::connect(address).await.map_err(failed)?;
    stream.set_nodelay(true).map_err(failed)?;
    #[cfg(target_os = "linux")]
    socket2::SockRef::from(&stream)
        .set_tcp_user_timeout(Some(TCP_UNACKNOWLEDGED))
        .map_err(failed)?;
    Ok(Wire::stream(stream))
}

/// A local port that is the same after a restart (PX4 answers only the first port that it heard), derived from the
/// autopilot's address; any free one if that is taken.
async fn bind_steady(remote: SocketAddr) -> io::Result<UdpSocket> {
    let any = match remote.ip() {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    let hash = remote
        .to_string()
        .bytes()
        .fold(0x811c_9dc5_u32, |h, b| (h ^ u32::from(b)).wrapping_mul(0x0100_0193));
    // Below the range of ephemeral ports (32768 upwards), so that nobody gets it by chance.
    let port = 20_000 + u16::try_from(hash % 12_000).unwrap_or(0);
    match UdpSocket::bind((any, port)).await {
        Ok(socket) => Ok(socket),
        Err(_) => UdpSocket::bind((any, 0)).await,
    }
}

/// A UDP socket that speaks with one autopilot.
#[derive(Debug)]
pub(crate) struct Datagrams {
    socket: UdpSocket,
    /// Where to send; `None` for a listener, which answers its peer.
    remote: Option<SocketAddr>,
    peer: Mutex<Option<(SocketAddr, Instant)>>,
    counters: Arc<Counters>,
}

impl Datagrams {
    async fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let (len, from) = self.socket.recv_from(buffer).await?;
            if len > 0 && self.is_ours(from) {
                return Ok(len);
            }
            self.counters.strangers(1);
        }
    }

    fn is_ours(&self, from: SocketAddr) -> bool {
        if let Some(remote) = self.remote {
            return remote.ip() == from.ip();
        }
        let mut peer = self.peer.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        match *peer {
            Some((known, heard)) if known != from && now.duration_since(heard) < PEER_SILENT => false,
            _ => {
                *peer = Some((from, now));
                true
            }
        }
    }

    async fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let peer = self
            .peer
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .map(|(address, _)| address);
        let to = self.remote.or(peer).ok_or(io::ErrorKind::NotConnected)?;
        match self.socket.send_to(bytes, to).await {
            // Nobody listens there at present; like a datagram lost on the way.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
            result => result.map(|_| ()),
        }
    }
}
