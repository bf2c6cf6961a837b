//! Facts of one connection: where it comes from, the certificate shown, and whether it has proven anything.

use super::address::Neighbor;
use super::connection_limits::{ConnectionLimits, ConnectionPermit};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use trust::Caller;

/// Calls refused for their credentials after which a connection is cut.
const MAX_REFUSALS: u32 = 8;

/// Cheap to clone; clones share state.
#[derive(Clone, Debug)]
pub struct Ticket(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    remote: SocketAddr,
    caller: Option<Caller>,
    permit: Mutex<HeldPermit>,
    named: Arc<ConnectionLimits<String>>,
    refusals: AtomicU32,
    judging: tokio::sync::Mutex<()>,
    proven: CancellationToken,
    cut: CancellationToken,
}

#[derive(Debug)]
enum HeldPermit {
    Stranger {
        _permit: Option<ConnectionPermit<Neighbor>>,
    },
    Named {
        _permit: ConnectionPermit<String>,
    },
}

impl Ticket {
    /// A connection that has proven nothing yet, with a permit of a stranger.
    pub(super) fn new(
        remote: SocketAddr,
        caller: Option<Caller>,
        permit: Option<ConnectionPermit<Neighbor>>,
        named: Arc<ConnectionLimits<String>>,
        cut: CancellationToken,
    ) -> Self {
        Self(Arc::new(Inner {
            remote,
            caller,
            permit: Mutex::new(HeldPermit::Stranger { _permit: permit }),
            named,
            refusals: AtomicU32::new(0),
            judging: tokio::sync::Mutex::default(),
            proven: CancellationToken::new(),
            cut,
        }))
    }

    /// Without a connection.
    #[cfg(test)]
    pub(crate) fn of(remote: &str, caller: Option<Caller>) -> Self {
        let remote = remote.parse().expect("the test names an address");
        Self::new(
            remote,
            caller,
            None,
            Arc::new(ConnectionLimits::new(100, 16, std::time::Duration::ZERO)),
            CancellationToken::new(),
        )
    }

    pub fn remote(&self) -> SocketAddr {
        self.0.remote
    }

    /// The holder of the certificate that was shown and verified.
    pub fn caller(&self) -> Option<&Caller> {
        self.0.caller.as_ref()
    }

    /// A call on it has proven to be that of `name`. The connections of a name are limited; beyond that the oldest is cut.
    pub fn prove(&self, name: &str) {
        if self.0.proven.is_cancelled() {
            return;
        }
        let permit = self.0.named.take(&name.to_owned(), self.0.cut.clone(), Instant::now());
        let Some(permit) = permit else {
            self.0.cut.cancel();
            return;
        };
        *self.0.permit.lock().unwrap_or_else(PoisonError::into_inner) = HeldPermit::Named { _permit: permit };
        self.0.proven.cancel();
    }

    /// A turn to check a call that cannot be checked at once; dropped, the next call has its turn.
    pub async fn judge_next(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.0.judging.lock().await
    }

    /// A call was refused for its credentials; after some the connection is cut.
    pub fn refused(&self) {
        if self.0.refusals.fetch_add(1, Ordering::Relaxed) + 1 >= MAX_REFUSALS {
            self.0.cut.cancel();
        }
    }

    pub(super) fn proven(&self) -> CancellationToken {
        self.0.proven.clone()
    }
}
