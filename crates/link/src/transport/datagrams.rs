//! UDP: one socket for the life of the process, because PX4 answers only the first address and port that it heard.
//! A client's host name is resolved again while nothing is received. A listener's peer is the first that was believed,
//! until nothing of it has been believed for a while; before, the last sender, so that noise from elsewhere keeps
//! nobody out.

use super::{OpenError, network, resolve};
use crate::counters::Counters;
use crate::url::HostPort;
use futures::future::BoxFuture;
use std::future::pending;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::{UdpSocket, lookup_host};
use tokio::time::{Instant, sleep_until};
use tracing::{debug, info, warn};

/// Time without belief after which a UDP listener leaves its autopilot.
const PEER_SILENT: Duration = Duration::from_secs(5);
const LOOK_UP_EVERY: Duration = Duration::from_secs(5);
/// Other senders that are named in the log; each once.
const NAMED: usize = 8;

type LookUp = Box<dyn Fn(HostPort) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync>;

pub(crate) struct Datagrams {
    socket: UdpSocket,
    other: Mutex<Other>,
    /// Senders of which it was said that nothing of them is taken.
    named: Mutex<Vec<SocketAddr>>,
    /// Name to resolve again; `None` for a listener and for a numeric address.
    name: Option<HostPort>,
    look_up: LookUp,
    counters: Arc<Counters>,
}

#[derive(Debug)]
enum Other {
    Named { address: SocketAddr, look_up_at: Instant },
    Heard(Option<Peer>),
}

#[derive(Clone, Copy, Debug)]
struct Peer {
    address: SocketAddr,
    accepted: Option<Instant>,
}

impl Datagrams {
    pub async fn listen(local: &HostPort, counters: Arc<Counters>) -> Result<Self, OpenError> {
        let failed = network(format!("udp-listen:{local}"));
        let socket = UdpSocket::bind(resolve(local).await?).await.map_err(failed)?;
        Ok(Self::new(socket, Other::Heard(None), None, counters))
    }

    pub async fn connect(remote: &HostPort, counters: Arc<Counters>) -> Result<Self, OpenError> {
        let failed = network(format!("udp:{remote}"));
        let address = resolve(remote).await?;
        let socket = bind_steady(address).await.map_err(failed)?;
        let other = Other::Named {
            address,
            look_up_at: Instant::now() + LOOK_UP_EVERY,
        };
        let name = remote.host.parse::<IpAddr>().is_err().then(|| remote.clone());
        Ok(Self::new(socket, other, name, counters))
    }

    fn new(socket: UdpSocket, other: Other, name: Option<HostPort>, counters: Arc<Counters>) -> Self {
        let look_up: LookUp =
            Box::new(|name| Box::pin(async move { Ok(lookup_host((name.host.as_str(), name.port)).await?.collect()) }));
        Self {
            socket,
            other: Mutex::new(other),
            named: Mutex::default(),
            name,
            look_up,
            counters,
        }
    }

    /// Safe to cancel.
    pub async fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let look_up = self.name.as_ref().zip(self.look_up_at());
            let (len, from) = tokio::select! {
                biased;
                read = self.socket.recv_from(buffer) => read?,
                address = self.find_again(look_up) => {
                    self.looked_up(address);
                    continue;
                }
            };
            if len > 0 && self.is_ours(from) {
                return Ok(len);
            }
            self.counters.strangers(1);
            if len > 0 && self.is_to_be_named(from) {
                warn!(%from, "another sender than the autopilot of this link; give each vehicle a link with a port of its own");
            }
        }
    }

    fn is_to_be_named(&self, from: SocketAddr) -> bool {
        let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        let new = named.len() < NAMED && !named.contains(&from);
        if new {
            named.push(from);
        }
        new
    }

    async fn find_again(&self, look_up: Option<(&HostPort, Instant)>) -> Option<SocketAddr> {
        let Some((name, at)) = look_up else {
            return pending().await;
        };
        sleep_until(at).await;
        let family = self.socket.local_addr().is_ok_and(|local| local.is_ipv4());
        match (self.look_up)(name.clone()).await {
            Ok(found) => found.into_iter().find(|address| address.is_ipv4() == family),
            Err(error) => {
                debug!(host = %name, %error, "the host name is not known at present");
                None
            }
        }
    }

    fn other(&self) -> MutexGuard<'_, Other> {
        self.other.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look_up_at(&self) -> Option<Instant> {
        match *self.other() {
            Other::Named { look_up_at, .. } => Some(look_up_at),
            Other::Heard(_) => None,
        }
    }

    fn looked_up(&self, found: Option<SocketAddr>) {
        if let Other::Named { address, look_up_at } = &mut *self.other() {
            *look_up_at = Instant::now() + LOOK_UP_EVERY;
            if let Some(found) = found.filter(|found| found != address) {
                info!(from = %address, to = %found, "the autopilot's host has another address now");
                *address = found;
                self.counters.moved(1);
            }
        }
    }

    fn is_ours(&self, from: SocketAddr) -> bool {
        let now = Instant::now();
        match &mut *self.other() {
            Other::Named { address, look_up_at } => {
                let ours = address.ip() == from.ip();
                if ours {
                    *look_up_at = now + LOOK_UP_EVERY;
                }
                ours
            }
            Other::Heard(Some(peer)) if peer.address == from => true,
            Other::Heard(Some(Peer { accepted: Some(at), .. })) if now.duration_since(*at) < PEER_SILENT => false,
            Other::Heard(peer) => {
                *peer = Some(Peer {
                    address: from,
                    accepted: None,
                });
                true
            }
        }
    }

    /// The sender of the last datagram is the other end: a frame in it is believed.
    pub fn accepted(&self) {
        if let Other::Heard(Some(peer)) = &mut *self.other() {
            peer.accepted = Some(Instant::now());
        }
    }

    pub async fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let to = match *self.other() {
            Other::Named { address, .. } => Some(address),
            Other::Heard(peer) => peer.map(|peer| peer.address),
        };
        let to = to.ok_or(io::ErrorKind::NotConnected)?;
        match self.socket.send_to(bytes, to).await {
            // No program listens there at present; like a datagram lost on the way.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
            result => result.map(|_| ()),
        }
    }
}

/// Same local port after a restart (PX4 answers only the first that it heard); any free one if that is taken.
async fn bind_steady(remote: SocketAddr) -> io::Result<UdpSocket> {
    let any = match remote.ip() {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    let hash = remote
        .to_string()
        .bytes()
        .fold(0x811c_9dc5_u32, |h, b| (h ^ u32::from(b)).wrapping_mul(0x0100_0193));
    // Below the ephemeral ports (32768 upwards), so that no program gets it by chance.
    let port = 20_000 + u16::try_from(hash % 12_000).unwrap_or(0);
    match UdpSocket::bind((any, port)).await {
        Ok(socket) => Ok(socket),
        Err(_) => UdpSocket::bind((any, 0)).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[tokio::test(start_paused = true)]
    async fn a_host_that_is_silent_is_looked_up_again_and_followed() {
        let (old, new) = (bound().await, bound().await);
        let (old_address, new_address) = (old.local_addr().unwrap(), new.local_addr().unwrap());
        let counters = Arc::new(Counters::default());
        let other = Other::Named {
            address: old_address,
            look_up_at: Instant::now() + LOOK_UP_EVERY,
        };
        let name = HostPort {
            host: "autopilot.example".to_owned(),
            port: old_address.port(),
        };
        let mut datagrams = Datagrams::new(bound().await, other, Some(name), Arc::clone(&counters));
        let lookups = Arc::new(AtomicUsize::new(0));
        let times = Arc::clone(&lookups);
        datagrams.look_up = Box::new(move |_| {
            let answer = match times.fetch_add(1, Ordering::Relaxed) {
                0 => Err(io::ErrorKind::NotFound.into()),
                1 => Ok(vec![old_address]),
                _ => Ok(vec!["[::1]:9".parse().unwrap(), new_address]),
            };
            Box::pin(std::future::ready(answer))
        });
        let mut buffer = [0; 16];
        let began = Instant::now();
        let read = datagrams.read(&mut buffer);
        assert!(tokio::time::timeout(Duration::from_secs(16), read).await.is_err());
        assert_eq!(lookups.load(Ordering::Relaxed), 3, "every 5 s");
        assert_eq!(counters.snapshot().moved, 1);
        assert!(began.elapsed() < Duration::from_secs(17));
        datagrams.write(b"hello").await.unwrap();
        assert_eq!(new.recv(&mut buffer).await.unwrap(), 5);
    }

    #[tokio::test(start_paused = true)]
    async fn a_number_is_never_looked_up() {
        let far = bound().await;
        let name = HostPort {
            host: "127.0.0.1".to_owned(),
            port: far.local_addr().unwrap().port(),
        };
        let mut datagrams = Datagrams::connect(&name, Arc::default()).await.unwrap();
        datagrams.look_up = Box::new(|_| panic!("looked up"));
        let mut buffer = [0; 16];
        let read = datagrams.read(&mut buffer);
        assert!(tokio::time::timeout(Duration::from_secs(60), read).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_second_vehicle_at_one_port_is_not_heard_and_named_once() {
        let local = HostPort {
            host: "127.0.0.1".to_owned(),
            port: 0,
        };
        let counters = Arc::new(Counters::default());
        let datagrams = Datagrams::listen(&local, Arc::clone(&counters)).await.unwrap();
        let (first, second) = (bound().await, bound().await);
        let to = datagrams.socket.local_addr().unwrap();
        let mut buffer = [0; 16];
        first.send_to(b"beat", to).await.unwrap();
        assert_eq!(datagrams.read(&mut buffer).await.unwrap(), 4);
        datagrams.accepted();
        for _ in 0..3 {
            second.send_to(b"other", to).await.unwrap();
        }
        first.send_to(b"beat", to).await.unwrap();
        assert_eq!(datagrams.read(&mut buffer).await.unwrap(), 4);
        assert_eq!(counters.snapshot().strangers, 3);
        let second = second.local_addr().unwrap();
        assert_eq!(*datagrams.named.lock().unwrap(), [second]);
        assert!(!datagrams.is_to_be_named(second), "once");
        for port in 1..=100 {
            datagrams.is_to_be_named(([127, 0, 0, 1], port).into());
        }
        assert_eq!(datagrams.named.lock().unwrap().len(), NAMED);
    }

    async fn bound() -> UdpSocket {
        UdpSocket::bind("127.0.0.1:0").await.unwrap()
    }
}
