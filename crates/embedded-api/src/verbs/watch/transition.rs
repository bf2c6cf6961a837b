//! The event that a watcher gets for a change, by whether it selected the object before and selects it now.
//!
//! Owns: that table. Must not: know objects.

/// The event for a watcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// A new object.
    Added,
    /// A changed object.
    Modified,
    /// A deleted object.
    Deleted,
    /// The watcher no longer selects it: sent as if it were deleted.
    Left,
}

impl Told {
    /// The type of the event.
    pub(super) fn type_(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted | Self::Left => "DELETED",
        }
    }
}

/// The event, if any.
pub(super) fn told(seen_before: bool, seen_now: bool, deleted: bool) -> Option<Told> {
    match (seen_before, seen_now, deleted) {
        (true, _, true) => Some(Told::Deleted),
        (false, _, true) | (false, false, false) => None,
        (false, true, false) => Some(Told::Added),
        (true, true, false) => Some(Told::Modified),
        (true, false, false) => Some(Told::Left),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watcher_is_told_what_it_means_to_it() {
        let table = [
            ((false, true, false), Some("ADDED")),
            ((true, true, false), Some("MODIFIED")),
            ((true, false, false), Some("DELETED")),
            ((true, true, true), Some("DELETED")),
            ((true, false, true), Some("DELETED")),
            ((false, false, false), None),
            ((false, true, true), None),
        ];
        for ((before, now, deleted), expected) in table {
            assert_eq!(
                told(before, now, deleted).map(Told::type_),
                expected,
                "{before} {now} {deleted}"
            );
        }
    }
}
