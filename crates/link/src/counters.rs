//! Counters that many tasks add to and every task reads, for summaries and metrics instead of a log line per noisy
//! byte. Each lost byte and frame counts under some name: bytes are those of whole frames, of `skipped`, and of
//! unfinished frames.

/// Type of counters that only grow, and its snapshot; each counter is a method that adds, and `snapshot` reads all.
#[macro_export]
macro_rules! counters {
    ($(#[$about:meta])* $counters:ident, $snapshot:ident: $($(#[$doc:meta])* $name:ident,)*) => {
        $(#[$about])*
        #[derive(Debug, Default)]
        pub struct $counters {
            $($name: ::std::sync::atomic::AtomicU64,)*
        }

        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $snapshot {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl ::std::fmt::Display for $snapshot {
            /// Form in a log line: `frames 12, lost 1`, those that counted something.
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
    Counters, CounterSnapshot:
    bytes,
    frames,
    /// Whole frames of a message unknown to the dialect; taps get them, the event queue does not.
    unknown,
    /// Whole frames of the dialect with an unreadable message (unknown enum value); taps get them, the queue does not.
    unreadable,
    skipped,
    /// Frames of the dialect with a wrong checksum; noise that resembles one counts too.
    bad_checksums,
    /// Frames lost on the way, by gaps in sequence numbers ([`crate::LinkHandle::senders`]); a restart counts as some.
    lost,
    stale,
    unsigned,
    bad_signatures,
    /// Frames with a right but old signature: repeated, or recorded earlier.
    replayed,
    dropped,
    tap_lost,
    strangers,
    opens,
    open_failures,
    /// Host names that resolved to another address.
    moved,
    sent,
    send_failures,
    guests_sent,
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
