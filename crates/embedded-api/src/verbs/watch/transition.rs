//! Event that a watcher gets for a change, by whether it selected the object before and selects it now.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventType {
    Added,
    Modified,
    Deleted,
    /// Sent as if it were deleted.
    Left,
}

impl EventType {
    pub(super) fn type_(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted | Self::Left => "DELETED",
        }
    }
}

pub(super) fn event_type(matched_before: bool, matches_now: bool, deleted: bool) -> Option<EventType> {
    match (matched_before, matches_now, deleted) {
        (true, _, true) => Some(EventType::Deleted),
        (false, _, true) | (false, false, false) => None,
        (false, true, false) => Some(EventType::Added),
        (true, true, false) => Some(EventType::Modified),
        (true, false, false) => Some(EventType::Left),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_event_type_depends_on_what_the_watcher_selects() {
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
                event_type(before, now, deleted).map(EventType::type_),
                expected,
                "{before} {now} {deleted}"
            );
        }
    }
}
