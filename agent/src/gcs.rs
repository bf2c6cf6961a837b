//! Ground stations connect to the agent and reach the autopilot through it, while the agent flies: QGroundControl,
//! MAVProxy, MAVSDK and the like, by UDP and TCP. We call them guests.
//!
//! Owns: meeting them ([`flags`], [`udp`], [`tcp`], [`remote`], [`guest`]), where frames go ([`routes`], [`askers`], [`switch`]), whose heartbeats the
//! autopilot receives ([`charge`]), what onlookers may ask ([`read_only`], [`notice`]), what programs may send ([`program`], [`lease`], [`mode_requests`], [`local_origin`], [`acknowledgment`]), and what is written and sent when
//! ([`outbox`], [`guest_queue`], [`hub`]).
//! Must not: change a byte of a frame, hold up the line or the agent, or answer in the autopilot's name, but
//! for a program's request for a mode.
//!
//! A guest's command is the guest's. The autopilot's answer goes to it alone, and the agent takes what the vehicle then
//! does for somebody else's doing: it keeps its hands off. Signed frames pass with the guest's signature; the agent
//! signs nothing for it.

pub mod acknowledgment;
pub mod askers;
pub mod autopilots;
pub mod charge;
pub mod counters;
pub mod fields;
pub mod flags;
pub mod guest;
pub mod guest_queue;
pub mod hub;
pub mod lease;
pub mod local_origin;
pub mod mode_requests;
pub mod notice;
pub mod outbox;
mod own_frame;
pub mod program;
pub mod read_only;
pub mod remote;
pub mod routes;
pub mod switch;
pub mod tcp;
pub mod udp;

pub use counters::Snapshot;
pub use flags::{BadGcs, Config, GcsFlags, Place};

use crate::coordinator::Coordinator;
use counters::Counters;
use guest::GuestAdmission;
use hub::{Hub, HubWork, Out, write_out};
use lease::Lease;
use link::LinkHandle;
use model::guest::GuestCall;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use switch::Policy;
use tokio::net::{TcpListener, UdpSocket, lookup_host};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tracing::{Instrument, debug, info, warn};

/// Most frames of the line that wait for the hub: nearly two seconds of the busiest autopilot.
const TAPPED: usize = 1024;
/// Most frames of guests that wait for the hub; then guests are read more slowly.
const FROM_GUESTS: usize = 64;
/// Before a place that could not be opened is tried again.
const OPEN_AGAIN: Duration = Duration::from_secs(5);
const LOOKUP_WITHIN: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct Gcs {
    tasks: JoinSet<()>,
    counters: Arc<Counters>,
    opened: Opened,
}

type Opened = Arc<Mutex<Vec<(Place, SocketAddr)>>>;

/// Those whom the coordinator announces, and the coordinator.
#[derive(Debug)]
pub struct FromCoordinator {
    pub calls: mpsc::Receiver<GuestCall>,
    pub coordinator: Coordinator,
    pub lease: Lease,
}

/// Needs a tokio runtime. A place that cannot be opened is tried again and again: flying does not wait for it.
pub fn start(config: Config, link: LinkHandle, remote: Option<FromCoordinator>) -> Gcs {
    let mut gcs = Gcs {
        tasks: JoinSet::new(),
        counters: Arc::default(),
        opened: Opened::default(),
    };
    if config.remote {
        let read_only = config.policy.read_only;
        let places: Vec<String> = config.places.iter().map(ToString::to_string).collect();
        warn!(
            read_only,
            places = places.join(", "),
            "ground stations on other computers are let in; everybody who reaches these places can speak to the autopilot"
        );
    }
    let counters = Arc::clone(&gcs.counters);
    let (policy, bytes_per_second) = (config.policy, config.bytes_per_second);
    let lease = remote.as_ref().map(|remote| remote.lease.clone()).unwrap_or_default();
    let hub = move || {
        open_hub(
            (policy, lease.clone()),
            bytes_per_second,
            link.clone(),
            Arc::clone(&counters),
        )
    };
    // Without a place the hub waits for the first guest through the coordinator.
    let admission = (!config.places.is_empty()).then(|| {
        let (admission, work) = hub();
        gcs.tasks.spawn(work.in_current_span());
        admission
    });
    for place in config.places {
        if let Some(admission) = admission.clone() {
            let meet = keep_open(place, admission, Arc::clone(&gcs.opened));
            gcs.tasks.spawn(meet.in_current_span());
        }
    }
    if let Some(FromCoordinator { calls, coordinator, .. }) = remote {
        let open = move || match admission {
            Some(admission) => (admission, None),
            None => {
                let (admission, work) = hub();
                (admission, Some(work))
            }
        };
        let serve = async move {
            remote::serve(calls, coordinator, policy.read_only, open).await;
        };
        gcs.tasks.spawn(serve.in_current_span());
    }
    gcs
}

/// The work is to be done for as long as guests may come.
fn open_hub(
    (policy, lease): (Policy, Lease),
    bytes_per_second: u32,
    link: LinkHandle,
    counters: Arc<Counters>,
) -> (GuestAdmission, HubWork) {
    let out = Arc::new(Out::new(bytes_per_second).leasing(lease.clone()));
    let (to_hub, from_guests) = mpsc::channel(FROM_GUESTS);
    let admission = GuestAdmission::new(to_hub, Arc::clone(&counters));
    let hub = Hub::new(policy, lease, Arc::clone(&out), Arc::clone(&counters));
    let tap = link.tap(TAPPED);
    let work = async move {
        tokio::select! {
            () = hub.run(tap, from_guests) => {}
            () = write_out(out, link, counters) => {}
        }
    };
    (admission, Box::pin(work))
}

impl Gcs {
    pub fn counters(&self) -> Snapshot {
        self.counters.snapshot()
    }

    /// Open places, with our own address at each.
    pub fn addresses(&self) -> Vec<(Place, SocketAddr)> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub async fn close(mut self) {
        self.tasks.shutdown().await;
    }
}

async fn keep_open(place: Place, admission: GuestAdmission, opened: Opened) {
    let mut logged = String::new();
    loop {
        let Err(error) = meet(&place, &admission, &opened).await;
        let why = error.to_string();
        if why == logged {
            debug!(%place, why, "still cannot meet ground stations");
        } else {
            warn!(%place, why, "cannot meet ground stations here; retrying for ever");
            logged = why;
        }
        sleep(OPEN_AGAIN).await;
    }
}

async fn meet(place: &Place, admission: &GuestAdmission, opened: &Opened) -> io::Result<Infallible> {
    let open = |address: SocketAddr| {
        info!(%place, %address, "ground stations may connect");
        let mut opened = opened.lock().unwrap_or_else(PoisonError::into_inner);
        opened.retain(|(there, _)| there != place);
        opened.push((place.clone(), address));
    };
    match place {
        Place::Tcp(address) => {
            let listener = TcpListener::bind(address).await?;
            open(listener.local_addr()?);
            Ok(tcp::serve(listener, admission.clone()).await)
        }
        Place::Udp(address) => {
            let socket = UdpSocket::bind(address).await?;
            open(socket.local_addr()?);
            Ok(udp::serve(socket, None, admission.clone()).await)
        }
        Place::UdpTo(text) => {
            let mut found = timeout(LOOKUP_WITHIN, lookup_host(text))
                .await
                .map_err(|_| io::Error::new(io::ErrorKind::TimedOut, "the name server does not answer"))??;
            let known = found
                .next()
                .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the name has no address"))?;
            let socket = UdpSocket::bind(any_like(known.ip())).await?;
            open(socket.local_addr()?);
            Ok(udp::serve(socket, Some(known), admission.clone()).await)
        }
    }
}

/// A local address with which `there` can be reached, and no more than that if it is on this computer.
pub fn any_like(there: IpAddr) -> SocketAddr {
    let ip: IpAddr = match there {
        IpAddr::V4(ip) if ip.is_loopback() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_loopback() => Ipv6Addr::LOCALHOST.into(),
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    (ip, 0).into()
}

#[cfg(test)]
pub(crate) mod tests;
