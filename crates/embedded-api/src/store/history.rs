//! Recent changes in order, for watches, and the oldest revision at which one can start.

use super::object::{Event, Object};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

const EVENT_BYTES: usize = 192;

/// Rough memory of a state besides its JSON.
const OBJECT_BYTES: usize = 512;

/// A change is kept while it is younger than `age` or among the newest `events`, unless all together exceed `bytes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub age: Duration,
    pub events: usize,
    pub bytes: usize,
}

impl Default for Limits {
    /// Five minutes is the default of a cluster.
    fn default() -> Self {
        Self {
            age: Duration::from_secs(300),
            events: 1000,
            bytes: 16 << 20,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct History {
    order: VecDeque<Entry>,
    lines: HashMap<Arc<str>, Line>,
    floor: u64,
    bytes: usize,
}

#[derive(Debug)]
struct Entry {
    resource: Arc<str>,
    written_ms: u64,
}

#[derive(Debug, Default)]
struct Line {
    events: VecDeque<Arc<Event>>,
    lost: u64,
}

impl History {
    pub(super) fn new(floor: u64) -> Self {
        Self {
            floor,
            ..Self::default()
        }
    }

    pub(super) fn floor(&self) -> u64 {
        self.floor
    }

    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn push(&mut self, event: Arc<Event>, written_ms: u64) {
        let resource = Arc::clone(&event.object.key.resource);
        self.bytes += cost(&event);
        self.order.push_back(Entry {
            resource: Arc::clone(&resource),
            written_ms,
        });
        self.lines.entry(resource).or_default().events.push_back(event);
    }

    /// Drops up to `most` changes; returns revisions that no client can request any more.
    pub(super) fn trim(&mut self, limits: &Limits, now_ms: u64, most: usize) -> Vec<u64> {
        let age_ms = u64::try_from(limits.age.as_millis()).unwrap_or(u64::MAX);
        let mut unneeded = Vec::new();
        for _ in 0..most {
            let Some(oldest) = self.order.front() else { break };
            let old = now_ms.saturating_sub(oldest.written_ms) >= age_ms && self.order.len() > limits.events;
            if !old && self.bytes <= limits.bytes {
                break;
            }
            if let Some(event) = self.pop() {
                unneeded.extend(superseded(&event));
            }
        }
        unneeded
    }

    fn pop(&mut self) -> Option<Arc<Event>> {
        let entry = self.order.pop_front()?;
        let line = self.lines.get_mut(&entry.resource)?;
        let event = line.events.pop_front()?;
        line.lost = event.revision;
        self.floor = event.revision;
        self.bytes -= cost(&event);
        Some(event)
    }

    /// Oldest first; `None` when some are no longer kept.
    pub(super) fn after(&self, resource: &str, since: u64, most: usize) -> Option<Vec<Arc<Event>>> {
        let Some(line) = self.lines.get(resource) else {
            return Some(Vec::new());
        };
        if since < line.lost {
            return None;
        }
        let start = line.events.partition_point(|event| event.revision <= since);
        Some(line.events.range(start..).take(most).cloned().collect())
    }
}

/// Revisions whose records are unneeded without `event`: the state that it replaced, and a deletion itself.
pub(super) fn superseded(event: &Event) -> impl Iterator<Item = u64> {
    let previous = event.previous.as_ref().map(|object| object.revision);
    previous.into_iter().chain(event.deleted.then_some(event.revision))
}

fn cost(event: &Event) -> usize {
    let state = |object: &Arc<Object>| OBJECT_BYTES + object.json.len();
    let own = if event.deleted { state(&event.object) } else { 0 };
    EVENT_BYTES + own + event.previous.as_ref().map_or(0, state)
}

#[cfg(test)]
mod tests {
    use super::super::tests::build::object;
    use super::*;

    const MINUTE: u64 = 60_000;

    fn event(resource: &str, revision: u64, previous: Option<u64>) -> Arc<Event> {
        Arc::new(Event {
            revision,
            object: object(resource, "x", revision),
            previous: previous.map(|revision| object(resource, "x", revision)),
            deleted: false,
        })
    }

    fn history(events: impl IntoIterator<Item = (&'static str, u64, u64)>) -> History {
        let mut history = History::new(0);
        for (resource, revision, written_ms) in events {
            history.push(event(resource, revision, revision.checked_sub(1)), written_ms);
        }
        history
    }

    fn revisions(events: Option<Vec<Arc<Event>>>) -> Option<Vec<u64>> {
        events.map(|events| events.iter().map(|event| event.revision).collect())
    }

    #[test]
    fn a_change_is_kept_while_it_is_young() {
        let mut history = history([("drones", 1, 0), ("drones", 2, 3 * MINUTE), ("drones", 3, 8 * MINUTE)]);
        let limits = Limits {
            events: 0,
            ..Limits::default()
        };
        assert_eq!(history.trim(&limits, 7 * MINUTE, 100), [0]);
        assert_eq!((history.floor(), history.len()), (1, 2));
    }

    #[test]
    fn the_newest_changes_are_kept_however_old() {
        let mut history = history([("drones", 1, 0), ("drones", 2, 0), ("drones", 3, 0)]);
        let limits = Limits {
            events: 2,
            ..Limits::default()
        };
        history.trim(&limits, 1000 * MINUTE, 100);
        assert_eq!((history.floor(), history.len()), (1, 2));
    }

    #[test]
    fn young_changes_go_when_all_together_are_too_big() {
        let mut history = history((1..100).map(|revision| ("drones", revision, 0)));
        let limits = Limits {
            bytes: history.bytes() / 2,
            ..Limits::default()
        };
        history.trim(&limits, 0, 1000);
        assert!(history.bytes() <= limits.bytes);
        assert!((45..=55).contains(&history.len()), "{}", history.len());
    }

    #[test]
    fn a_clock_that_was_set_back_forgets_nothing() {
        let mut history = history([("drones", 1, 900 * MINUTE), ("drones", 2, 900 * MINUTE)]);
        let limits = Limits {
            events: 0,
            ..Limits::default()
        };
        assert_eq!(history.trim(&limits, MINUTE, 100), [0; 0]);
    }

    #[test]
    fn forgetting_goes_in_steps() {
        let mut history = history((1..100).map(|revision| ("drones", revision, 0)));
        let limits = Limits {
            events: 0,
            ..Limits::default()
        };
        history.trim(&limits, 100 * MINUTE, 10);
        assert_eq!(history.len(), 89);
    }

    #[test]
    fn a_quiet_kind_loses_nothing_when_another_is_busy() {
        let mut history = history([("swarms", 1, 0), ("drones", 2, 0), ("drones", 3, 0)]);
        let limits = Limits {
            events: 1,
            ..Limits::default()
        };
        history.trim(&limits, 100 * MINUTE, 100);
        assert_eq!(revisions(history.after("swarms", 1, 100)), Some(vec![]));
        assert_eq!(revisions(history.after("swarms", 0, 100)), None);
        assert_eq!(revisions(history.after("drones", 1, 100)), None);
        assert_eq!(revisions(history.after("drones", 2, 100)), Some(vec![3]));
    }

    #[test]
    fn forgetting_everything_costs_nothing_any_more() {
        let mut history = history((1..100).map(|revision| ("drones", revision, 0)));
        let limits = Limits {
            age: Duration::ZERO,
            events: 0,
            bytes: 0,
        };
        history.trim(&limits, 1, 1000);
        assert_eq!((history.bytes(), history.len(), history.floor()), (0, 0, 99));
    }
}
