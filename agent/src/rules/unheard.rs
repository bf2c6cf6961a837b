//! Whether an event of the autopilot may have been lost on the link since a moment.
//!
//! PX4 numbers its events and reports the last number in CURRENT_EVENT_SEQUENCE (411) every three seconds (recorded). So that
//! nothing was said is known only once such a number has come and all events up to it.

use link::dialect::{CURRENT_EVENT_SEQUENCE_DATA, MavEventCurrentSequenceFlags, MavMessage};
use model::time::Moment;

/// Events behind a gap; PX4 repeats no more.
const MOST: usize = 32;

#[derive(Clone, Debug, Default)]
pub struct EventCount {
    /// The last event that is known to exist, and when that was reported.
    latest: Option<(u16, Moment)>,
    /// The next one that has not come, of those that matter.
    next: Option<u16>,
    beyond: Vec<u16>,
}

impl EventCount {
    pub fn begin(&mut self) {
        self.next = self.latest.map(|(latest, _)| latest.wrapping_add(1));
        self.beyond.clear();
    }

    pub fn receive(&mut self, message: &MavMessage, now: Moment) {
        match message {
            MavMessage::EVENT(m) => self.event(m.sequence, now),
            MavMessage::CURRENT_EVENT_SEQUENCE(m) => self.current(m, now),
            _ => {}
        }
    }

    fn event(&mut self, sequence: u16, now: Moment) {
        self.exists(sequence, now);
        let next = *self.next.get_or_insert(sequence);
        if sequence != next && is_ahead(next, sequence) && self.beyond.len() < MOST && !self.beyond.contains(&sequence)
        {
            self.beyond.push(sequence);
        }
        if sequence == next {
            let mut next = next.wrapping_add(1);
            while let Some(place) = self.beyond.iter().position(|beyond| *beyond == next) {
                self.beyond.swap_remove(place);
                next = next.wrapping_add(1);
            }
            self.next = Some(next);
        }
    }

    fn current(&mut self, m: &CURRENT_EVENT_SEQUENCE_DATA, now: Moment) {
        let reset = MavEventCurrentSequenceFlags::MAV_EVENT_CURRENT_SEQUENCE_FLAGS_RESET;
        if m.flags.contains(reset) {
            self.latest = None;
            self.next = None;
            self.beyond.clear();
        }
        self.exists(m.sequence, now);
        self.next.get_or_insert(m.sequence.wrapping_add(1));
    }

    fn exists(&mut self, sequence: u16, now: Moment) {
        let latest = match self.latest {
            Some((latest, _)) if !is_ahead(latest, sequence) => latest,
            _ => sequence,
        };
        self.latest = Some((latest, now));
    }

    pub const fn is_known(&self) -> bool {
        self.latest.is_some()
    }

    /// Whether all events are known that there were until `moment`.
    pub fn complete_at(&self, moment: Moment) -> bool {
        let (Some((latest, at)), Some(next)) = (self.latest, self.next) else {
            return false;
        };
        at >= moment && next == latest.wrapping_add(1)
    }
}

const fn is_ahead(a: u16, b: u16) -> bool {
    let far = b.wrapping_sub(a);
    far != 0 && far < 0x8000
}

#[cfg(test)]
mod tests {
    use super::*;
    use link::dialect::EVENT_DATA;
    use std::time::Duration;

    fn at(s: u64) -> Moment {
        Moment::at(Duration::from_secs(s))
    }

    fn event(sequence: u16) -> MavMessage {
        MavMessage::EVENT(EVENT_DATA {
            sequence,
            ..EVENT_DATA::default()
        })
    }

    fn current(sequence: u16) -> MavMessage {
        MavMessage::CURRENT_EVENT_SEQUENCE(CURRENT_EVENT_SEQUENCE_DATA {
            sequence,
            flags: MavEventCurrentSequenceFlags::empty(),
        })
    }

    #[test]
    fn silence_is_known_once_the_autopilot_has_reported_its_count() {
        let mut count = EventCount::default();
        assert!(!count.complete_at(at(0)), "nothing was ever reported");
        count.receive(&current(65_535), at(1));
        count.begin();
        assert!(!count.complete_at(at(2)), "that was before");
        count.receive(&current(65_535), at(4));
        assert!(count.complete_at(at(2)));
        count.receive(&current(0), at(7));
        assert!(!count.complete_at(at(2)), "one is missing");
        count.receive(&event(1), at(8));
        assert!(!count.complete_at(at(2)), "still");
        count.receive(&event(0), at(9));
        assert!(count.complete_at(at(9)), "it was repeated");
    }
}
