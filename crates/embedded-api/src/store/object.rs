//! One object in the store: its key, its bytes, and the facts that are read most.

use bytes::Bytes;
use serde_json::Value;
use std::sync::Arc;

/// The key of an object. Ordered by resource, namespace, name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Name under which objects of its kind are stored: [`crate::resource::Resource::storage`].
    pub resource: Arc<str>,
    /// Namespace; empty for a cluster-scoped object.
    pub namespace: Arc<str>,
    /// Name.
    pub name: Arc<str>,
}

impl Key {
    /// A key from these three.
    #[must_use]
    pub fn new(resource: &str, namespace: &str, name: &str) -> Self {
        Self {
            resource: resource.into(),
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

/// One state of one object.
#[derive(Debug, PartialEq, Eq)]
pub struct Object {
    /// Its key.
    pub key: Key,
    /// The revision of this state; `metadata.resourceVersion` in `json`.
    pub revision: u64,
    /// The object, serialized.
    pub json: Bytes,
    /// What can be read without parsing `json`.
    pub facts: Facts,
}

/// What lists, watches and the garbage collector read of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// `metadata.uid`.
    pub uid: Arc<str>,
    /// Labels, by key.
    pub labels: Box<[(Arc<str>, Arc<str>)]>,
    /// Values for field selectors, by path: `spec.nodeName`.
    pub fields: Box<[(Arc<str>, Arc<str>)]>,
    /// Uids of its owners.
    pub owners: Box<[Arc<str>]>,
    /// Uids of those of its owners whose foreground deletion waits for it.
    pub blocks: Box<[Arc<str>]>,
    /// Whether it has a `metadata.deletionTimestamp`.
    pub deleting: bool,
    /// Whether it has finalizers.
    pub finalizers: bool,
    /// Whether it is being deleted and waits for its dependents first.
    pub waits: bool,
}

impl Facts {
    /// The label of that key.
    #[must_use]
    pub fn label(&self, key: &str) -> Option<&str> {
        value_of(&self.labels, key)
    }

    /// The selectable value at that path.
    #[must_use]
    pub fn field(&self, path: &str) -> Option<&str> {
        value_of(&self.fields, path)
    }
}

fn value_of<'a>(pairs: &'a [(Arc<str>, Arc<str>)], key: &str) -> Option<&'a str> {
    let found = pairs.iter().find(|(name, _)| &**name == key);
    found.map(|(_, value)| &**value)
}

/// Reads the facts of an object.
pub type FactsFn = Arc<dyn Fn(&Key, &Value) -> Facts + Send + Sync>;

/// One change of one object.
#[derive(Debug, PartialEq, Eq)]
pub struct Event {
    /// The revision of the change.
    pub revision: u64,
    /// The state it led to; of a deleted object the last one, with the revision of its deletion.
    pub object: Arc<Object>,
    /// The state before, unless there was no object.
    pub previous: Option<Arc<Object>>,
    /// Whether the object was deleted.
    pub deleted: bool,
}
