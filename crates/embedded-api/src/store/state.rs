//! All present objects, with indexes, and their history.

use super::history::{History, superseded};
use super::object::{Event, Key, Object};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Namespace and name: the key of an object among those of its kind.
pub(super) type Spot = (Arc<str>, Arc<str>);

/// The objects of one kind.
pub(super) type Objects = BTreeMap<Spot, Arc<Object>>;

/// One change that is on disk.
#[derive(Debug)]
pub(super) struct Change {
    /// The new state; of a deletion the last one.
    pub(super) object: Arc<Object>,
    /// Whether the object was deleted.
    pub(super) deleted: bool,
    /// When it was written.
    pub(super) written_ms: u64,
}

/// Sizes of the content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// The newest revision.
    pub revision: u64,
    /// The oldest revision from which a watch can start.
    pub floor: u64,
    /// Objects.
    pub objects: usize,
    /// Their JSON, in bytes.
    pub object_bytes: usize,
    /// Changes in the history.
    pub history_events: usize,
    /// The size of the states that they reference, in bytes, roughly.
    pub history_bytes: usize,
}

/// Everything that is read.
#[derive(Debug)]
pub(super) struct State {
    kinds: HashMap<Arc<str>, Objects>,
    owned: HashMap<Arc<str>, BTreeSet<Key>>,
    /// How many objects block each owner.
    blocked: HashMap<Arc<str>, usize>,
    history: History,
    revision: u64,
    object_bytes: usize,
    closed: bool,
}

impl State {
    /// No objects; changes up to `floor` will not be in the history.
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

    /// Applies the next change. Returns the revisions that it makes unneeded at once: none above the floor.
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

    /// The newest revision.
    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    /// The object at `key`.
    pub(super) fn get(&self, key: &Key) -> Option<&Arc<Object>> {
        let spot = (Arc::clone(&key.namespace), Arc::clone(&key.name));
        self.kinds.get(&key.resource)?.get(&spot)
    }

    /// All objects of a kind.
    pub(super) fn kind(&self, resource: &str) -> Option<&Objects> {
        self.kinds.get(resource)
    }

    /// The objects that name `uid` as an owner.
    pub(super) fn owned_by(&self, uid: &str) -> Vec<Arc<Object>> {
        let keys = self.owned.get(uid).into_iter().flatten();
        keys.filter_map(|key| self.get(key).cloned()).collect()
    }

    /// Whether an object exists that the owner `uid` would wait for.
    pub(super) fn is_blocked(&self, uid: &str) -> bool {
        self.blocked.contains_key(uid)
    }

    /// The history.
    pub(super) fn history(&self) -> &History {
        &self.history
    }

    /// The history, to remove changes.
    pub(super) fn history_mut(&mut self) -> &mut History {
        &mut self.history
    }

    /// Whether no further change will come.
    pub(super) fn closed(&self) -> bool {
        self.closed
    }

    /// No further change will come.
    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    /// Sizes of the content.
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
