//! How many connections may be open that have proven nothing yet: of one neighbor, and in all.
//!
//! Owns: the two counts together. Must not: read a clock, or know what a connection is.

use super::Limits;
use super::address::Neighbor;
use super::buckets::Buckets;
use super::connection_limits::{ConnectionLimits, ConnectionPermit};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Tasks that wait so long for a processor are no reason to keep anybody out.
const CALM: Duration = Duration::from_millis(250);

/// Strangers that are let in however late this process is.
const FEWEST: usize = 64;

/// Of `most`, how many are let in by a process that is so late: the later, the fewer. All of them share its processor, and a handshake that takes
/// too long was work for nothing, which both ends begin again.
fn room(most: usize, lateness: Duration) -> usize {
    let times = lateness.as_millis().checked_div(CALM.as_millis()).unwrap_or_default();
    let times = usize::try_from(times).unwrap_or(usize::MAX).max(1);
    (most / times).max(FEWEST.min(most))
}

/// Limits for connections that have proven nothing yet.
#[derive(Debug)]
pub struct StrangerLimits {
    arrivals: Buckets<Neighbor>,
    strangers: ConnectionLimits<Neighbor>,
    most: usize,
}

impl StrangerLimits {
    /// None yet, within these limits.
    pub fn new(limits: &Limits) -> Self {
        Self {
            arrivals: Buckets::new(limits.burst, limits.every),
            strangers: ConnectionLimits::new(limits.strangers, limits.strangers_per_neighbor, limits.time),
            most: limits.strangers,
        }
    }

    /// Admits a connection of `neighbor`, which has lost its permit when `cut` is cancelled, to a process whose tasks run so late.
    ///
    /// # Errors
    /// Why it is not admitted.
    pub fn admit(
        &self,
        neighbor: Neighbor,
        lateness: Duration,
        cut: CancellationToken,
        now: Instant,
    ) -> Result<ConnectionPermit<Neighbor>, &'static str> {
        if !self.arrivals.take(neighbor, now) {
            return Err("too many connections in a short time");
        }
        let permit = self.strangers.take_of(room(self.most, lateness), &neighbor, cut, now);
        permit.ok_or("too many others are being checked")
    }

    /// How many are admitted and have proven nothing yet.
    pub fn strangers(&self) -> usize {
        self.strangers.taken()
    }
}

#[cfg(test)]
mod tests;
