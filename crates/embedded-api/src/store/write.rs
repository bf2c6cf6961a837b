//! What can be written, and which state of the object it requires.

use super::error::WriteError;
use super::object::{Key, Object};
use serde_json::Value;
use std::sync::Arc;

/// What must exist for a put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// No object.
    Absent,
    /// The object in this revision.
    Revision(u64),
}

/// One write.
#[derive(Clone, Debug)]
pub enum Write {
    /// Create or replace an object.
    Put {
        /// Its key.
        key: Key,
        /// What must exist now.
        expect: Expect,
        /// The object. Its `metadata.resourceVersion` is set by the store.
        value: Value,
    },
    /// Delete an object.
    Delete {
        /// Its key.
        key: Key,
        /// The revision that it must have now.
        expect: u64,
        /// Its last state, for watchers. Its `metadata.resourceVersion` becomes the revision of the deletion.
        value: Value,
    },
}

impl Write {
    /// The key that it writes.
    #[must_use]
    pub fn key(&self) -> &Key {
        match self {
            Self::Put { key, .. } | Self::Delete { key, .. } => key,
        }
    }

    /// Whether it may be applied to the state `now`.
    pub(super) fn admit(&self, now: Option<&Arc<Object>>) -> Result<(), WriteError> {
        let expect = match self {
            Self::Put { expect, .. } => *expect,
            Self::Delete { expect, .. } => Expect::Revision(*expect),
        };
        match (expect, now) {
            (Expect::Absent, None) => Ok(()),
            (Expect::Absent, Some(_)) => Err(WriteError::Exists),
            (Expect::Revision(meant), Some(object)) if object.revision == meant => Ok(()),
            (Expect::Revision(_), now) => Err(WriteError::Changed { now: now.cloned() }),
        }
    }

    /// Its parts: key, value, and whether it deletes the object.
    pub(super) fn into_parts(self) -> (Key, Value, bool) {
        match self {
            Self::Put { key, value, .. } => (key, value, false),
            Self::Delete { key, value, .. } => (key, value, true),
        }
    }
}

/// Sets `metadata.resourceVersion`. Errors: `Malformed` when there is no `metadata` to set it in.
pub(super) fn set_revision(value: &mut Value, revision: u64) -> Result<(), WriteError> {
    let metadata = value.get_mut("metadata").and_then(Value::as_object_mut);
    let Some(metadata) = metadata else {
        return Err(WriteError::Malformed("it has no metadata"));
    };
    metadata.insert("resourceVersion".to_owned(), revision.to_string().into());
    Ok(())
}
