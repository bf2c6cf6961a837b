//! What is known of one connection: where it comes from, the certificate shown, and whether it has proven anything.
//!
//! Owns: the place among the strangers, and later among those of one name. Must not: judge credentials.

use super::address::Neighbour;
use super::seats::{Seat, Seats};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use trust::Caller;

/// After so many calls that were refused for their credentials a connection is cut.
const MOST_REFUSALS: u32 = 8;

/// One connection, as the calls on it see it. A copy is the same connection.
#[derive(Clone, Debug)]
pub struct Ticket(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    remote: SocketAddr,
    caller: Option<Caller>,
    seat: Mutex<Seated>,
    named: Arc<Seats<String>>,
    refusals: AtomicU32,
    turn: tokio::sync::Mutex<()>,
    proven: CancellationToken,
    cut: CancellationToken,
}

#[derive(Debug)]
enum Seated {
    Stranger { _seat: Option<Seat<Neighbour>> },
    Named { _seat: Seat<String> },
}

impl Ticket {
    /// A connection of somebody unknown, which has a place among the strangers.
    pub(super) fn new(
        remote: SocketAddr,
        caller: Option<Caller>,
        seat: Option<Seat<Neighbour>>,
        named: Arc<Seats<String>>,
        cut: CancellationToken,
    ) -> Self {
        Self(Arc::new(Inner {
            remote,
            caller,
            seat: Mutex::new(Seated::Stranger { _seat: seat }),
            named,
            refusals: AtomicU32::new(0),
            turn: tokio::sync::Mutex::default(),
            proven: CancellationToken::new(),
            cut,
        }))
    }

    /// A connection that is none, for tests.
    #[cfg(test)]
    pub(crate) fn of(remote: &str, caller: Option<Caller>) -> Self {
        let remote = remote.parse().expect("the test names an address");
        Self::new(
            remote,
            caller,
            None,
            Arc::new(Seats::new(100, 16, std::time::Duration::ZERO)),
            CancellationToken::new(),
        )
    }

    /// Where it comes from.
    #[must_use]
    pub fn remote(&self) -> SocketAddr {
        self.0.remote
    }

    /// Whoever showed a certificate that was verified.
    #[must_use]
    pub fn caller(&self) -> Option<&Caller> {
        self.0.caller.as_ref()
    }

    /// A call on it has proven to be that of `name`: it is a stranger no more. Each name has so many connections; of more, the
    /// oldest is cut.
    pub fn prove(&self, name: &str) {
        if self.0.proven.is_cancelled() {
            return;
        }
        let seat = self.0.named.take(&name.to_owned(), self.0.cut.clone(), Instant::now());
        let Some(seat) = seat else {
            self.0.cut.cancel();
            return;
        };
        *self.0.seat.lock().unwrap_or_else(PoisonError::into_inner) = Seated::Named { _seat: seat };
        self.0.proven.cancel();
    }

    /// The turn of one call among those on it that cannot be judged at once; the next has it when this is dropped.
    pub async fn turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.0.turn.lock().await
    }

    /// A call on it was refused for its credentials; after some the connection is cut.
    pub fn refused(&self) {
        if self.0.refusals.fetch_add(1, Ordering::Relaxed) + 1 >= MOST_REFUSALS {
            self.0.cut.cancel();
        }
    }

    /// Done once it has proven something.
    pub(super) fn proven(&self) -> CancellationToken {
        self.0.proven.clone()
    }
}
