//! Counters of one link, for summaries and metrics instead of a log line per noisy byte.
//!
//! Owns: [`Counters`] and their [`CounterSnapshot`]. Must not: log.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of one link. All only grow.
#[derive(Debug, Default)]
pub struct Counters {
    bytes: AtomicU64,
    frames: AtomicU64,
    skipped: AtomicU64,
    unreadable: AtomicU64,
    stale: AtomicU64,
    dropped: AtomicU64,
    strangers: AtomicU64,
    opens: AtomicU64,
    open_failures: AtomicU64,
    sent: AtomicU64,
    send_failures: AtomicU64,
}

/// The counters at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CounterSnapshot {
    /// Bytes read.
    pub bytes: u64,
    /// Frames with a good checksum and a readable message.
    pub frames: u64,
    /// Bytes that belonged to no frame: noise, text, broken frames, messages of unknown id.
    pub skipped: u64,
    /// Frames with a good checksum whose message could not be read (such as an unknown enum value).
    pub unreadable: u64,
    /// Frames dropped because they had waited in a buffer from before the link was opened.
    pub stale: u64,
    /// Frames dropped because nobody took them from the event queue in time.
    pub dropped: u64,
    /// Datagrams of somebody other than the autopilot's address.
    pub strangers: u64,
    /// Times that the link was opened.
    pub opens: u64,
    /// Times that opening it failed.
    pub open_failures: u64,
    /// Frames written.
    pub sent: u64,
    /// Frames not written.
    pub send_failures: u64,
}

macro_rules! counters {
    ($($name:ident),*) => {
        impl Counters {
            $(pub(crate) fn $name(&self, by: u64) {
                self.$name.fetch_add(by, Ordering::Relaxed);
            })*

            /// The counters now.
            #[must_use]
            pub fn snapshot(&self) -> CounterSnapshot {
                CounterSnapshot { $($name: self.$name.load(Ordering::Relaxed)),* }
            }
        }
    };
}
counters!(
    bytes,
    frames,
    skipped,
    unreadable,
    stale,
    dropped,
    strangers,
    opens,
    open_failures,
    sent,
    send_failures
);
