//! Possible writes, and the state of the object that each requires.

use super::error::WriteError;
use super::object::{Key, Object};
use serde_json::Value;
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    Absent,
    Revision(u64),
}

#[derive(Clone, Debug)]
pub enum Write {
    Put {
        key: Key,
        expect: Expect,
        value: Value,
    },
    Delete {
        key: Key,
        expect: u64,
        /// Last state, for watchers; its `metadata.resourceVersion` becomes the revision of the deletion.
        value: Value,
    },
}

impl Write {
    #[must_use]
    pub fn key(&self) -> &Key {
        match self {
            Self::Put { key, .. } | Self::Delete { key, .. } => key,
        }
    }

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

    pub(super) fn into_parts(self) -> (Key, Value, bool) {
        match self {
            Self::Put { key, value, .. } => (key, value, false),
            Self::Delete { key, value, .. } => (key, value, true),
        }
    }
}

/// Errors: `Malformed` without `metadata`.
pub(super) fn set_revision(value: &mut Value, revision: u64) -> Result<(), WriteError> {
    let metadata = value.get_mut("metadata").and_then(Value::as_object_mut);
    let Some(metadata) = metadata else {
        return Err(WriteError::Malformed("it has no metadata"));
    };
    metadata.insert("resourceVersion".to_owned(), revision.to_string().into());
    Ok(())
}
