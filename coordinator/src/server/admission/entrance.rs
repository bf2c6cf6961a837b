//! Who of those that come may try to prove something: not too many at once of one neighbour, and not too many in all.
//!
//! Owns: the two counts together. Must not: read a clock, or know what a connection is.

use super::Limits;
use super::address::Neighbour;
use super::buckets::Buckets;
use super::seats::{Seat, Seats};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The entrance.
#[derive(Debug)]
pub struct Entrance {
    arrivals: Buckets<Neighbour>,
    strangers: Seats<Neighbour>,
}

impl Entrance {
    /// An entrance with these limits.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self {
            arrivals: Buckets::new(limits.burst, limits.every),
            strangers: Seats::new(limits.strangers, limits.strangers_per_neighbour, limits.time),
        }
    }

    /// Lets one of `neighbour` in, who loses its place when `cut` is cancelled.
    ///
    /// # Errors
    /// Why it is not let in.
    pub fn admit(
        &self,
        neighbour: Neighbour,
        cut: CancellationToken,
        now: Instant,
    ) -> Result<Seat<Neighbour>, &'static str> {
        if !self.arrivals.take(neighbour, now) {
            return Err("too many connections in a short time");
        }
        let seat = self.strangers.take(&neighbour, cut, now);
        seat.ok_or("too many others are being looked at")
    }

    /// How many are inside and have proven nothing yet.
    #[must_use]
    pub fn strangers(&self) -> usize {
        self.strangers.taken()
    }
}

#[cfg(test)]
mod tests;
