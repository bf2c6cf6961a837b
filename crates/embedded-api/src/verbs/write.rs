//! Writing an object to the store, and the error when that fails.

use super::core::Core;
use crate::refusal::Refusal;
use crate::store::{Expect, Key, Object, Write, WriteError, depth};
use serde_json::Value;
use std::io;
use std::sync::Arc;

pub(super) const LARGEST: usize = 1_572_864;

#[derive(Clone, Debug)]
pub(super) enum Written {
    Stored(Arc<Object>),
    /// Stored form of a dry run, or the last state of a deleted object.
    Unstored(Value),
}

#[derive(Debug)]
pub(super) enum NotWritten {
    Conflict,
    Refused(Refusal),
}

impl From<Refusal> for NotWritten {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl Core {
    /// Errors: [`NotWritten::Conflict`] if the object exists.
    pub(super) async fn create(&self, key: Key, value: Value, dry: bool) -> Result<Written, NotWritten> {
        fits(&value)?;
        if self.store.get(&key).is_some() {
            return Err(NotWritten::Conflict);
        }
        if dry {
            return Ok(Written::Unstored(value));
        }
        let write = Write::Put {
            key,
            expect: Expect::Absent,
            value,
        };
        self.store.write(write).await.map(Written::Stored).map_err(failed)
    }

    pub(super) async fn replace(&self, old: &Arc<Object>, value: Value, dry: bool) -> Result<Written, NotWritten> {
        fits(&value)?;
        if dry {
            return Ok(Written::Unstored(value));
        }
        let write = Write::Put {
            key: old.key.clone(),
            expect: Expect::Revision(old.revision),
            value,
        };
        self.store.write(write).await.map(Written::Stored).map_err(failed)
    }

    pub(super) async fn remove(&self, old: &Arc<Object>, value: Value, dry: bool) -> Result<Written, NotWritten> {
        if !dry {
            let write = Write::Delete {
                key: old.key.clone(),
                expect: old.revision,
                value: value.clone(),
            };
            self.store.write(write).await.map_err(failed)?;
        }
        Ok(Written::Unstored(value))
    }
}

fn failed(error: WriteError) -> NotWritten {
    NotWritten::Refused(match error {
        WriteError::Exists | WriteError::Changed { .. } => return NotWritten::Conflict,
        WriteError::Malformed(_) => Refusal::bad_request(error.to_string()),
        WriteError::NotStored(_) => Refusal::internal(error.to_string()),
        WriteError::Closed => Refusal::new(503, "ServiceUnavailable", "the server is ending"),
    })
}

fn fits(value: &Value) -> Result<(), Refusal> {
    if !depth::is_within_limit(value) {
        let most = depth::DEEPEST;
        return Err(Refusal::bad_request(format!(
            "the object is nested more than {most} levels deep"
        )));
    }
    let mut counter = Counter(0);
    // Counting cannot fail, and neither can serialising what was JSON.
    let _ = serde_json::to_writer(&mut counter, value);
    if counter.0 <= LARGEST {
        return Ok(());
    }
    let message = format!("Request entity too large: limit is {LARGEST}");
    Err(Refusal::new(413, "RequestEntityTooLarge", message))
}

struct Counter(usize);

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
