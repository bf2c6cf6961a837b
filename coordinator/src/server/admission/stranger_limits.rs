//! Limits of open connections that have proven nothing yet: of one neighbor, and in all.
//!
//! Must not: read a clock, or know what a connection is.

use super::Limits;
use super::address::Neighbor;
use super::buckets::Buckets;
use super::connection_limits::{ConnectionLimits, ConnectionPermit};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// A shorter wait of tasks for a processor keeps nobody out.
const TOLERATED_LATENESS: Duration = Duration::from_millis(250);

/// Strangers that are let in however late this process is.
const MIN_STRANGERS: usize = 64;

/// Strangers of `most` at this lateness: all share one processor, and a handshake that takes too long is wasted work, begun again.
fn room(most: usize, lateness: Duration) -> usize {
    let times = lateness
        .as_millis()
        .checked_div(TOLERATED_LATENESS.as_millis())
        .unwrap_or_default();
    let times = usize::try_from(times).unwrap_or(usize::MAX).max(1);
    (most / times).max(MIN_STRANGERS.min(most))
}

#[derive(Debug)]
pub struct StrangerLimits {
    arrivals: Buckets<Neighbor>,
    strangers: ConnectionLimits<Neighbor>,
    most: usize,
}

impl StrangerLimits {
    pub fn new(limits: &Limits) -> Self {
        Self {
            arrivals: Buckets::new(limits.burst, limits.every),
            strangers: ConnectionLimits::new(limits.strangers, limits.strangers_per_neighbor, limits.time),
            most: limits.strangers,
        }
    }

    /// Admits a connection of `neighbor`, which has lost its permit when `cut` is cancelled, to a process with this `lateness`.
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

    /// Connections that are admitted and have proven nothing yet.
    pub fn strangers(&self) -> usize {
        self.strangers.taken()
    }
}

#[cfg(test)]
mod tests;
