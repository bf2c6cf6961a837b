//! All present objects, with indexes, and their history.

use super::history::{History, superseded};
use super::object::{Event, Key, Object};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

pub(super) type Spot = (Arc<str>, Arc<str>);

pub(super) type Objects = BTreeMap<Spot, Arc<Object>>;

#[derive(Debug)]
pub(super) struct Change {
    pub(super) object: Arc<Object>,
    pub(super) deleted: bool,
    pub(super) written_ms: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    pub revision: u64,
    pub floor: u64,
    pub objects: usize,
    pub object_bytes: usize,
    pub history_events: usize,
    pub history_bytes: usize,
}

#[derive(Debug)]
pub(super) struct State {
    kinds: HashMap<Arc<str>, Objects>,
    owned: HashMap<Arc<str>, BTreeSet<Key>>,
    blocked: HashMap<Arc<str>, usize>,
    history: History,
    revision: u64,
    object_bytes: usize,
    closed: bool,
}

impl State {
    pub(super) fn new(floor: u64) -> Self {
        Self {
            kinds: HashMap::new(),
            owned: HashMap::new(),
            blocked: HashMap::new(),
            history: History::new(floor),
            revision: floor,
            object_bytes: 0,
            closed: false,
        }
    }

    /// Returns revisions that become unneeded at once: none above the floor.
    pub(super) fn apply(&mut self, change: Change) -> Vec<u64> {
        let Change {
            object,
            deleted,
            written_ms,
        } = change;
        let key = &object.key;
        let spot = (Arc::clone(&key.namespace), Arc::clone(&key.name));
        let kind = self.kinds.entry(Arc::clone(&key.resource)).or_default();
        let previous = if deleted {
            kind.remove(&spot)
        } else {
            kind.insert(spot, Arc::clone(&object))
        };
        if let Some(previous) = &previous {
            self.object_bytes -= previous.json.len();
            self.disown(previous);
        }
        if !deleted {
            self.object_bytes += object.json.len();
            for owner in &object.facts.owners {
                let owned = self.owned.entry(Arc::clone(owner)).or_default();
                owned.insert(object.key.clone());
            }
            for owner in &object.facts.blocks {
                *self.blocked.entry(Arc::clone(owner)).or_default() += 1;
            }
        }
        // When the log is loaded, records older than the floor come after it.
        self.revision = self.revision.max(object.revision);
        let event = Event {
            revision: object.revision,
            object,
            previous,
            deleted,
        };
        if event.revision <= self.history.floor() {
            return superseded(&event).collect();
        }
        self.history.push(Arc::new(event), written_ms);
        Vec::new()
    }

    fn disown(&mut self, object: &Object) {
        for owner in &object.facts.owners {
            if let Some(owned) = self.owned.get_mut(owner) {
                owned.remove(&object.key);
                if owned.is_empty() {
                    self.owned.remove(owner);
                }
            }
        }
        for owner in &object.facts.blocks {
            if let Some(count) = self.blocked.get_mut(owner) {
                *count -= 1;
                if *count == 0 {
                    self.blocked.remove(owner);
                }
            }
        }
    }

    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    pub(super) fn get(&self, key: &Key) -> Option<&Arc<Object>> {
        let spot = (Arc::clone(&key.namespace), Arc::clone(&key.name));
        self.kinds.get(&key.resource)?.get(&spot)
    }

    pub(super) fn kind(&self, resource: &str) -> Option<&Objects> {
        self.kinds.get(resource)
    }

    pub(super) fn owned_by(&self, uid: &str) -> Vec<Arc<Object>> {
        let keys = self.owned.get(uid).into_iter().flatten();
        keys.filter_map(|key| self.get(key).cloned()).collect()
    }

    pub(super) fn is_blocked(&self, uid: &str) -> bool {
        self.blocked.contains_key(uid)
    }

    pub(super) fn history(&self) -> &History {
        &self.history
    }

    pub(super) fn history_mut(&mut self) -> &mut History {
        &mut self.history
    }

    pub(super) fn closed(&self) -> bool {
        self.closed
    }

    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    pub(super) fn stats(&self) -> Stats {
        Stats {
            revision: self.revision,
            floor: self.history.floor(),
            objects: self.kinds.values().map(BTreeMap::len).sum(),
            object_bytes: self.object_bytes,
            history_events: self.history.len(),
            history_bytes: self.history.bytes(),
        }
    }
}
