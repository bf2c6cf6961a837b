//! How many connections may be open that have proven nothing yet: of one neighbor, and in all.
//!
//! Owns: the two counts together. Must not: read a clock, or know what a connection is.

use super::Limits;
use super::address::Neighbor;
use super::buckets::Buckets;
use super::connection_limits::{ConnectionLimits, ConnectionPermit};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Limits for connections that have proven nothing yet.
#[derive(Debug)]
pub struct StrangerLimits {
    arrivals: Buckets<Neighbor>,
    strangers: ConnectionLimits<Neighbor>,
}

impl StrangerLimits {
    /// None yet, within these limits.
    pub fn new(limits: &Limits) -> Self {
        Self {
            arrivals: Buckets::new(limits.burst, limits.every),
            strangers: ConnectionLimits::new(limits.strangers, limits.strangers_per_neighbor, limits.time),
        }
    }

    /// Admits a connection of `neighbor`, which has lost its permit when `cut` is cancelled.
    ///
    /// # Errors
    /// Why it is not admitted.
    pub fn admit(
        &self,
        neighbor: Neighbor,
        cut: CancellationToken,
        now: Instant,
    ) -> Result<ConnectionPermit<Neighbor>, &'static str> {
        if !self.arrivals.take(neighbor, now) {
            return Err("too many connections in a short time");
        }
        let permit = self.strangers.take(&neighbor, cut, now);
        permit.ok_or("too many others are being checked")
    }

    /// How many are admitted and have proven nothing yet.
    pub fn strangers(&self) -> usize {
        self.strangers.taken()
    }
}

#[cfg(test)]
mod tests;
