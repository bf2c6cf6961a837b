//! One object in the store: its key, its bytes, and the facts that are read most.

use bytes::Bytes;
use serde_json::Value;
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    pub resource: Arc<str>,
    /// Empty for a cluster-scoped object.
    pub namespace: Arc<str>,
    pub name: Arc<str>,
}

impl Key {
    #[must_use]
    pub fn new(resource: &str, namespace: &str, name: &str) -> Self {
        Self {
            resource: resource.into(),
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub struct Object {
    pub key: Key,
    /// `metadata.resourceVersion` in `json`.
    pub revision: u64,
    pub json: Bytes,
    pub facts: Facts,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    pub uid: Arc<str>,
    pub labels: Box<[(Arc<str>, Arc<str>)]>,
    /// Values for field selectors, by path: `spec.nodeName`.
    pub fields: Box<[(Arc<str>, Arc<str>)]>,
    /// Uids.
    pub owners: Box<[Arc<str>]>,
    /// Uids of owners whose foreground deletion waits for it.
    pub blocks: Box<[Arc<str>]>,
    pub deleting: bool,
    pub finalizers: bool,
    /// Being deleted, and waiting for its dependents.
    pub waits: bool,
}

impl Facts {
    #[must_use]
    pub fn label(&self, key: &str) -> Option<&str> {
        value_of(&self.labels, key)
    }

    #[must_use]
    pub fn field(&self, path: &str) -> Option<&str> {
        value_of(&self.fields, path)
    }
}

fn value_of<'a>(pairs: &'a [(Arc<str>, Arc<str>)], key: &str) -> Option<&'a str> {
    let found = pairs.iter().find(|(name, _)| &**name == key);
    found.map(|(_, value)| &**value)
}

pub type FactsFn = Arc<dyn Fn(&Key, &Value) -> Facts + Send + Sync>;

#[derive(Debug, PartialEq, Eq)]
pub struct Event {
    pub revision: u64,
    /// New state; a deleted object's last one, with the revision of its deletion.
    pub object: Arc<Object>,
    /// `None` for a new object.
    pub previous: Option<Arc<Object>>,
    pub deleted: bool,
}
