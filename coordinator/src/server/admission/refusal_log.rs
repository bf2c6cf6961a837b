//! Log lines on refused connections and calls, limited so that nobody can fill the disk with them.

use super::address::Neighbor;
use super::buckets::Buckets;
use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// Lines per neighbor at once, and one more after each [`NEIGHBOR_LINE_INTERVAL`].
const NEIGHBOR_BURST_LINES: u32 = 10;
const NEIGHBOR_LINE_INTERVAL: Duration = Duration::from_secs(10);

/// Lines for all together at once, and one more after each [`TOTAL_LINE_INTERVAL`].
const TOTAL_BURST_LINES: u32 = 100;
const TOTAL_LINE_INTERVAL: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub struct RefusalLog {
    neighbors: Buckets<(Neighbor, &'static str)>,
    all: Buckets<()>,
    omitted: AtomicU64,
}

impl Default for RefusalLog {
    fn default() -> Self {
        Self {
            neighbors: Buckets::new(NEIGHBOR_BURST_LINES, NEIGHBOR_LINE_INTERVAL),
            all: Buckets::new(TOTAL_BURST_LINES, TOTAL_LINE_INTERVAL),
            omitted: AtomicU64::new(0),
        }
    }
}

impl RefusalLog {
    /// Logs that `remote` was refused `what`, unless too many lines were written; omitted lines are counted in the next one.
    pub fn refusal(&self, remote: SocketAddr, what: &'static str, why: &dyn Display) {
        let now = Instant::now();
        let key = (Neighbor::of(remote.ip()), what);
        if self.neighbors.take(key, now) && self.all.take((), now) {
            let omitted = self.omitted.swap(0, Ordering::Relaxed);
            if omitted == 0 {
                tracing::warn!(peer = %remote, %why, "{what}");
            } else {
                tracing::warn!(peer = %remote, %why, others_omitted = omitted, "{what}");
            }
        } else {
            self.omitted.fetch_add(1, Ordering::Relaxed);
        }
    }
}
