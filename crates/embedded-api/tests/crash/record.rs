//! Changes made, against the events of watches.

use crate::change::State;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Applied {
    State(State),
    /// Answers do not contain the revision of a deletion.
    Gone {
        uid: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) revision: u64,
    pub(crate) state: State,
    pub(crate) deleted: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Record {
    states: BTreeMap<u64, State>,
    gone: BTreeSet<String>,
}

impl Record {
    pub(crate) fn len(&self) -> usize {
        self.states.len() + self.gone.len()
    }

    pub(crate) fn extend(&mut self, applied: Vec<Applied>) {
        for one in applied {
            let new = match one {
                Applied::State(state) => self.states.insert(state.revision, state).is_none(),
                Applied::Gone { uid } => self.gone.insert(uid),
            };
            assert!(new, "a revision or a uid was given twice");
        }
    }

    pub(crate) fn check(&self, events: &[Event]) -> Result<(), String> {
        let mut last = 0;
        let mut gone = BTreeSet::new();
        for event in events {
            if event.revision <= last {
                return Err(format!("{event:?} after revision {last}"));
            }
            last = event.revision;
            let known = match event.deleted {
                true => self.gone.contains(&event.state.uid) && gone.insert(&event.state.uid),
                false => self.states.get(&event.revision) == Some(&event.state),
            };
            if !known {
                let state = self.states.get(&event.revision);
                return Err(format!("{event:?}, where there was {state:?}"));
            }
        }
        // Each event is a change of its own: if their number is equal, they are all.
        match events.len() == self.len() {
            true => Ok(()),
            false => Err(format!("{} events of {} changes", events.len(), self.len())),
        }
    }
}

mod tests {
    use super::*;
    use crate::change::Facts;

    fn state(revision: u64, uid: &str) -> State {
        let uid = uid.to_owned();
        State {
            uid,
            revision,
            facts: Facts::default(),
        }
    }

    fn event(revision: u64, uid: &str, deleted: bool) -> Event {
        Event {
            revision,
            state: state(revision, uid),
            deleted,
        }
    }

    #[test]
    fn a_lost_a_doubled_a_swapped_and_an_invented_event_are_noticed() {
        let mut record = Record::default();
        record.extend(vec![
            Applied::State(state(5, "a")),
            Applied::State(state(7, "b")),
            Applied::Gone { uid: "a".to_owned() },
        ]);
        let good = [event(5, "a", false), event(7, "b", false), event(9, "a", true)];
        assert_eq!(record.check(&good), Ok(()));
        let [first, second, third] = good;
        let (first, second, third) = (&first, &second, &third);
        let invented = event(8, "c", false);
        let again = event(10, "a", true);
        let wrong: [&[&Event]; 6] = [
            &[first, second],
            &[first, third],
            &[first, second, second, third],
            &[second, first, third],
            &[first, second, &invented, third],
            &[first, second, third, &again],
        ];
        for events in wrong {
            let events: Vec<Event> = events.iter().map(|&event| event.clone()).collect();
            assert!(record.check(&events).is_err(), "{events:?}");
        }
    }
}
