//! Counters that many tasks add to and every task reads, and those of one link: for summaries and metrics instead of a log line
//! per noisy byte.
//!
//! Every byte and every frame that is lost is counted under one name at least: bytes that came are those of whole
//! frames, those in `skipped`, and those that still wait for the rest of their frame.

/// A type of counters that only grow, and its snapshot: `counters!(/// What they are. Counters, Snapshot: /// What it counts.
/// first, /// … second,)`. Each counter is a method that adds; `snapshot` reads all.
#[macro_export]
macro_rules! counters {
    ($(#[$about:meta])* $counters:ident, $snapshot:ident: $($(#[$doc:meta])* $name:ident,)*) => {
        $(#[$about])*
        #[derive(Debug, Default)]
        pub struct $counters {
            $($name: ::std::sync::atomic::AtomicU64,)*
        }

        /// The counters at one moment.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $snapshot {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl ::std::fmt::Display for $snapshot {
            /// As a person reads it in a log line: `frames 12, lost 1`, those that counted something.
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                let all = [$((::std::stringify!($name), self.$name)),*];
                let nonzero = all.iter().filter(|(_, count)| *count > 0);
                let nonzero: ::std::vec::Vec<_> = nonzero.map(|(name, count)| ::std::format!("{name} {count}")).collect();
                f.write_str(if nonzero.is_empty() { "none" } else { "" })?;
                f.write_str(&nonzero.join(", "))
            }
        }

        impl $counters {
            $(pub(crate) fn $name(&self, by: u64) {
                self.$name.fetch_add(by, ::std::sync::atomic::Ordering::Relaxed);
            })*

            #[must_use]
            pub fn snapshot(&self) -> $snapshot {
                $snapshot { $($name: self.$name.load(::std::sync::atomic::Ordering::Relaxed)),* }
            }
        }
    };
}

counters!(
    /// Counters of one link. All only grow.
    Counters, CounterSnapshot:
    /// Bytes read.
    bytes,
    /// Whole frames whose message could be read.
    frames,
    /// Whole frames of a message that the dialect does not know. Taps get them, the event queue does not.
    unknown,
    /// Whole frames of the dialect whose message could not be read (such as an unknown enum value). Taps get them, the
    /// event queue does not.
    unreadable,
    /// Bytes that belonged to no frame: noise, text, broken frames.
    skipped,
    /// Frames of the dialect with a wrong checksum; noise that happens to resemble one counts too.
    bad_checksums,
    /// Frames that got lost on the way, by the gaps in their senders' sequence numbers. A restart of a sender can count
    /// as some. [`crate::LinkHandle::senders`] has them for each sender.
    lost,
    /// Frames dropped because they had waited in a buffer from before the link was opened.
    stale,
    /// Frames without a signature while one is required.
    unsigned,
    /// Frames whose signature is wrong.
    bad_signatures,
    /// Frames whose signature is right but old: repeated, or recorded earlier.
    replayed,
    /// Frames dropped because they were not taken from the event queue in time.
    dropped,
    /// Frames that taps lost because they were not emptied in time, all taps together.
    tap_lost,
    /// Datagrams from another address than the autopilot's.
    strangers,
    /// Times that the link was opened.
    opens,
    /// Times that opening it failed.
    open_failures,
    /// Times that a host name was resolved again and gave another address.
    moved,
    /// Frames of ours written.
    sent,
    /// Frames of ours not written.
    send_failures,
    /// Guests' frames written.
    guests_sent,
    /// Guests' frames not written.
    guests_send_failures,
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_line_has_what_was_counted_and_no_structure() {
        let mut counted = CounterSnapshot::default();
        assert_eq!(counted.to_string(), "none");
        (counted.frames, counted.lost) = (12, 1);
        assert_eq!(counted.to_string(), "frames 12, lost 1");
    }
}
