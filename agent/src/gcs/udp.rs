//! Guests by UDP: those that speak to our socket, or one that is known and is spoken to first.
//!
//! Owns: the guests of one socket. Must not: answer anybody else than the guests.

use super::guest::{Door, Guest};
use link::framing::Framer;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::sync::Notify;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};
use tracing::debug;

/// A guest that was silent for this long has gone. Ground stations send a heartbeat each second.
const SILENT: Duration = Duration::from_secs(10);
/// Frames that wait together go together, within what every network carries in one piece.
const DATAGRAM: usize = 1200;
/// After an error of the socket, so that a broken one does not keep us busy.
const AGAIN: Duration = Duration::from_millis(100);

struct Present {
    guest: Guest,
    last_heard: Instant,
}

struct Table {
    socket: UdpSocket,
    door: Door,
    news: Arc<Notify>,
    guests: BTreeMap<SocketAddr, Present>,
    /// The one guest that we speak to first; it is always there, and nobody else is.
    known: Option<SocketAddr>,
    buffer: Vec<u8>,
}

/// Serves guests for ever: `known` alone, or whoever speaks to the socket.
pub async fn serve(socket: UdpSocket, known: Option<SocketAddr>, door: Door) -> Infallible {
    let mut table = Table {
        socket,
        door,
        news: Arc::default(),
        guests: BTreeMap::new(),
        known,
        buffer: Vec::with_capacity(DATAGRAM),
    };
    if let Some(address) = known {
        table.enter(address).await;
    }
    // Sending never waits later on; here the socket is made ready for it.
    let _ = table.socket.writable().await;
    let mut heard = vec![0; 65_536];
    let mut quiet_until = Instant::now();
    let mut look = interval(Duration::from_secs(1));
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let quiet = Instant::now() < quiet_until;
        tokio::select! {
            () = table.news.notified() => table.send(),
            got = table.socket.recv_from(&mut heard), if !quiet => match got {
                Ok((n, from)) => {
                    let wait = table.hear(from, heard.get(..n).unwrap_or_default()).await;
                    quiet_until = Instant::now() + wait;
                }
                // Linux tells here of errors on the way to some guest; that one falls silent, or comes back.
                Err(error) => {
                    debug!(%error, "nothing was received");
                    quiet_until = Instant::now() + AGAIN;
                }
            },
            () = sleep_until(quiet_until), if quiet => {}
            _ = look.tick() => table.look_who_has_gone().await,
        }
    }
}

impl Table {
    async fn enter(&mut self, address: SocketAddr) {
        let name = format!("udp:{address}");
        if let Some(guest) = self.door.enter(name, Arc::clone(&self.news)).await {
            let last_heard = Instant::now();
            self.guests.insert(address, Present { guest, last_heard });
        }
    }

    async fn hear(&mut self, from: SocketAddr, bytes: &[u8]) -> Duration {
        if self.known.is_some_and(|known| known != from) {
            return Duration::ZERO;
        }
        // Whoever speaks no MAVLink gets none.
        if !self.guests.contains_key(&from) && speaks_mavlink(bytes) {
            self.enter(from).await;
        }
        match self.guests.get_mut(&from) {
            Some(present) => {
                present.last_heard = Instant::now();
                present.guest.hear_datagram(bytes).await
            }
            None => Duration::ZERO,
        }
    }

    fn send(&mut self) {
        for (address, present) in &self.guests {
            while present.guest.queue.fill(&mut self.buffer, DATAGRAM) {
                let sent = self.socket.try_send_to(&self.buffer, *address);
                if matches!(&sent, Err(error) if error.kind() == io::ErrorKind::WouldBlock) {
                    self.door.counters().lost_by_guests(1);
                }
            }
        }
    }

    async fn look_who_has_gone(&mut self) {
        let now = Instant::now();
        if let Some(known) = self.known {
            // There was no room for it at first.
            if !self.guests.contains_key(&known) && self.door.has_room() {
                self.enter(known).await;
            }
            return;
        }
        let gone = |present: &mut Present| now.duration_since(present.last_heard) >= SILENT;
        for (_, present) in self.guests.extract_if(.., |_, present| gone(present)) {
            present.guest.leave("it has fallen silent").await;
        }
    }
}

fn speaks_mavlink(datagram: &[u8]) -> bool {
    let mut framer = Framer::default();
    framer.push(datagram);
    framer.next_frame().is_some()
}
