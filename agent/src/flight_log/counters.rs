//! What the flight log wrote and lost, in numbers, for summaries and metrics.
//!
//! Owns: [`Counters`] and their [`Snapshot`]. Must not: log.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// Counters of the flight log. All only grow.
        #[derive(Debug, Default)]
        pub struct Counters {
            $($name: AtomicU64,)*
        }

        /// The counters at one moment.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Snapshot {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl Counters {
            $(pub(super) fn $name(&self, by: u64) {
                self.$name.fetch_add(by, Ordering::Relaxed);
            })*

            /// The counters now.
            #[must_use]
            pub fn snapshot(&self) -> Snapshot {
                Snapshot { $($name: self.$name.load(Ordering::Relaxed)),* }
            }
        }
    };
}
counters!(
    /// Frames written.
    written,
    /// Frames not written: the disk was full, broken or too slow, or the agent was busy.
    lost,
    /// SETUP_SIGNING frames, which are not written.
    left_out,
    /// Files begun.
    files,
    /// Old files removed.
    removed,
    /// Times that the disk failed us.
    disk_errors,
);
