//! Telling the log who was refused, and why, without letting anybody fill the disk.
//!
//! Owns: how many lines a neighbour, and all of them together, get. Must not: refuse.

use super::address::Neighbour;
use super::buckets::Buckets;
use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// Lines per neighbour at once, and one more after each [`EVERY`].
const BURST: u32 = 10;
const EVERY: Duration = Duration::from_secs(10);

/// Lines for all together at once, and one more after each [`EVERY_OF_ALL`].
const BURST_OF_ALL: u32 = 100;
const EVERY_OF_ALL: Duration = Duration::from_millis(500);

/// What is told.
#[derive(Debug)]
pub struct Told {
    neighbours: Buckets<(Neighbour, &'static str)>,
    all: Buckets<()>,
    untold: AtomicU64,
}

impl Default for Told {
    fn default() -> Self {
        Self {
            neighbours: Buckets::new(BURST, EVERY),
            all: Buckets::new(BURST_OF_ALL, EVERY_OF_ALL),
            untold: AtomicU64::new(0),
        }
    }
}

impl Told {
    /// Tells that `remote` was refused `what`, unless too much was told already; what was not told is counted in the next line.
    pub fn refusal(&self, remote: SocketAddr, what: &'static str, why: &dyn Display) {
        let now = Instant::now();
        let key = (Neighbour::of(remote.ip()), what);
        if self.neighbours.take(key, now) && self.all.take((), now) {
            let untold = self.untold.swap(0, Ordering::Relaxed);
            if untold == 0 {
                tracing::warn!(peer = %remote, %why, "{what}");
            } else {
                tracing::warn!(peer = %remote, %why, others_not_told = untold, "{what}");
            }
        } else {
            self.untold.fetch_add(1, Ordering::Relaxed);
        }
    }
}
