//! Guests by UDP: those that speak to our socket, or one that is known and is spoken to first.

use super::guest::{Guest, GuestAdmission, Pace};
use link::framing::Framer;
use link::raw::LONGEST;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::sync::Notify;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};
use tracing::debug;

/// Ground stations send a heartbeat each second.
const SILENT: Duration = Duration::from_secs(10);
/// Frames that wait together go together, within what every network carries in one piece.
const DATAGRAM: usize = 1200;
/// Pause after an error, so that a broken socket does not keep us busy.
const AGAIN: Duration = Duration::from_millis(100);

/// Cost of a datagram that is thrown away, bytes: 4096 of them in a second, and then the socket rests.
const THROWN_AWAY: usize = 64;

struct Present {
    guest: Guest,
    last_heard: Instant,
    unheard_until: Instant,
}

struct Table {
    socket: UdpSocket,
    admission: GuestAdmission,
    wake: Arc<Notify>,
    guests: BTreeMap<SocketAddr, Present>,
    /// The one guest to which we speak first; nobody else is admitted.
    known: Option<SocketAddr>,
    buffer: Vec<u8>,
    thrown_away: Pace,
}

/// `known` alone, or all that speak to the socket.
pub async fn serve(socket: UdpSocket, known: Option<SocketAddr>, admission: GuestAdmission) -> Infallible {
    let mut table = Table::new(socket, known, admission);
    if let Some(address) = known {
        table.admit(address).await;
    }
    // Sending never waits later on; here the socket is made ready for it.
    let _ = table.socket.writable().await;
    let mut heard = vec![0; 65_536];
    let mut quiet_until = Instant::now();
    let mut sweep = interval(Duration::from_secs(1));
    sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let quiet = Instant::now() < quiet_until;
        tokio::select! {
            () = table.wake.notified() => table.send(),
            got = table.socket.recv_from(&mut heard), if !quiet => match got {
                Ok((n, from)) => {
                    let wait = table.receive(from, heard.get(..n).unwrap_or_default()).await;
                    quiet_until = Instant::now() + wait;
                }
                // Linux reports here errors on the way to some guest; that one falls silent, or comes back.
                Err(error) => {
                    debug!(%error, "nothing was received");
                    quiet_until = Instant::now() + AGAIN;
                }
            },
            () = sleep_until(quiet_until), if quiet => {}
            _ = sweep.tick() => table.drop_silent_guests().await,
        }
    }
}

impl Table {
    fn new(socket: UdpSocket, known: Option<SocketAddr>, admission: GuestAdmission) -> Self {
        Self {
            socket,
            admission,
            wake: Arc::default(),
            guests: BTreeMap::new(),
            known,
            buffer: Vec::with_capacity(DATAGRAM),
            thrown_away: Pace::new(Instant::now()),
        }
    }

    async fn admit(&mut self, address: SocketAddr) {
        let name = format!("udp:{address}");
        if let Some(guest) = self.admission.admit(name, Arc::clone(&self.wake)).await {
            let last_heard = Instant::now();
            let present = Present {
                guest,
                last_heard,
                unheard_until: last_heard,
            };
            self.guests.insert(address, present);
        }
    }

    /// Returns how long the socket must rest.
    async fn receive(&mut self, from: SocketAddr, bytes: &[u8]) -> Duration {
        let now = Instant::now();
        let may_enter = self.known.is_none_or(|known| known == from);
        // A sender of no MAVLink gets none.
        if may_enter && !self.guests.contains_key(&from) && speaks_mavlink(bytes) {
            self.admit(from).await;
        }
        match self.guests.get_mut(&from) {
            Some(present) if now >= present.unheard_until => {
                present.last_heard = now;
                present.unheard_until = now + present.guest.receive_datagram(bytes).await;
                Duration::ZERO
            }
            unheard => {
                if let Some(present) = unheard {
                    present.last_heard = now;
                    self.admission.counters().skipped(bytes.len() as u64);
                }
                self.thrown_away.spend(THROWN_AWAY, now)
            }
        }
    }

    fn send(&mut self) {
        for (address, present) in &self.guests {
            loop {
                let frames = present.guest.queue.fill(&mut self.buffer, DATAGRAM);
                if frames == 0 {
                    break;
                }
                if self.socket.try_send_to(&self.buffer, *address).is_err() {
                    self.admission.counters().lost_by_guests(frames);
                }
            }
        }
    }

    async fn drop_silent_guests(&mut self) {
        let now = Instant::now();
        if let Some(known) = self.known {
            // There was no room for it at first.
            if !self.guests.contains_key(&known) && self.admission.has_room() {
                self.admit(known).await;
            }
            return;
        }
        let gone = |present: &mut Present| now.duration_since(present.last_heard) >= SILENT;
        for (_, present) in self.guests.extract_if(.., |_, present| gone(present)) {
            present.guest.leave("it has fallen silent").await;
        }
    }
}

/// Reads no further than one frame reaches: everybody may send here, any amount.
fn speaks_mavlink(datagram: &[u8]) -> bool {
    let mut framer = Framer::default();
    framer.push(datagram.get(..LONGEST).unwrap_or(datagram));
    framer.next_frame().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gcs::tests::{frame, ping};
    use model::units::Address;
    use tokio::sync::mpsc;

    async fn table(hub: mpsc::Sender<crate::gcs::guest::FromGuest>) -> Table {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        Table::new(socket, None, GuestAdmission::new(hub, Arc::default()))
    }

    #[tokio::test(start_paused = true)]
    async fn a_guest_that_says_too_much_is_not_heard_for_a_while_and_the_others_are() {
        let (hub, mut told) = mpsc::channel(64);
        tokio::spawn(async move { while told.recv().await.is_some() {} });
        let mut table = table(hub).await;
        let (loud, quiet) = (([127, 0, 0, 1], 1).into(), ([127, 0, 0, 1], 2).into());
        let ping = frame(Address::new(255, 190), &ping()).bytes;
        let heard = |table: &Table| table.admission.counters().snapshot().heard;
        for who in [loud, quiet] {
            assert_eq!(table.receive(who, &ping).await, Duration::ZERO);
        }
        for _ in 0..10 {
            assert_eq!(
                table.receive(loud, &ping.repeat(1000)).await,
                Duration::ZERO,
                "nobody waits for it"
            );
        }
        let before = heard(&table);
        assert!(before < 5000, "{before}");
        table.receive(quiet, &ping).await;
        assert_eq!(heard(&table), before + 1);
        table.receive(loud, &ping).await;
        assert_eq!(heard(&table), before + 1, "not now");
        tokio::time::advance(SILENT).await;
        table.receive(loud, &ping).await;
        assert_eq!(heard(&table), before + 2);
    }

    #[tokio::test(start_paused = true)]
    async fn who_floods_the_place_with_what_is_not_taken_is_read_more_slowly() {
        let (hub, _told) = mpsc::channel(64);
        let mut table = table(hub).await;
        let mut waited = Duration::ZERO;
        for port in 0..20_000 {
            waited += table.receive(([127, 0, 0, 1], port).into(), &[0xFE; 4096]).await;
            tokio::time::advance(Duration::from_micros(1)).await;
        }
        assert!(waited > Duration::from_secs(1), "{waited:?}");
        assert!(table.guests.is_empty());
    }
}
