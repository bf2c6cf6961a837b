//! The writes of one commit: checked one after the other, each against the state after the ones before it.

use super::depth;
use super::error::WriteError;
use super::names::Names;
use super::object::{FactsFn, Key, Object};
use super::record::Record;
use super::shared::Shared;
use super::state::Change;
use super::write::{Write, set_revision};
use bytes::Bytes;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::oneshot;

pub(super) type Answer = oneshot::Sender<Result<Arc<Object>, WriteError>>;

pub(super) struct BatchContext<'a> {
    pub(super) shared: &'a Shared,
    pub(super) facts: &'a FactsFn,
    pub(super) names: &'a mut Names,
    pub(super) given: &'a mut u64,
    /// Milliseconds since 1970.
    pub(super) now_ms: u64,
}

#[derive(Default)]
pub(super) struct Batch {
    pub(super) records: Vec<(u64, Vec<u8>)>,
    pub(super) bytes: usize,
    changes: Vec<(Change, Answer)>,
    refused: Vec<Refused>,
    ahead: HashMap<Key, Option<Arc<Object>>>,
}

struct Refused {
    answer: Answer,
    error: WriteError,
    /// Refused because of another write of this batch.
    by_batch: bool,
}

impl Batch {
    pub(super) fn add(&mut self, write: Write, answer: Answer, context: &mut BatchContext<'_>) {
        let ahead = self.ahead.get(write.key());
        let by_batch = ahead.is_some();
        let now = ahead
            .cloned()
            .unwrap_or_else(|| context.shared.read().get(write.key()).cloned());
        let prepared = write.admit(now.as_ref()).and_then(|()| prepare(write, now, context));
        match prepared {
            Ok((change, record)) => {
                let after = (!change.deleted).then(|| Arc::clone(&change.object));
                self.ahead.insert(change.object.key.clone(), after);
                self.bytes += record.len();
                self.records.push((change.object.revision, record));
                self.changes.push((change, answer));
            }
            Err(error) => self.refused.push(Refused {
                answer,
                error,
                by_batch,
            }),
        }
    }

    /// Call it once the batch is on disk.
    pub(super) fn committed(self, shared: &Shared) {
        let (changes, answers): (Vec<_>, Vec<_>) = self.changes.into_iter().unzip();
        let objects: Vec<_> = changes.iter().map(|change| Arc::clone(&change.object)).collect();
        shared.publish(changes);
        for (answer, object) in answers.into_iter().zip(objects) {
            send(answer, Ok(object));
        }
        for refused in self.refused {
            send(refused.answer, Err(refused.error));
        }
    }

    /// Every caller whose outcome depended on the disk gets its error.
    pub(super) fn failed(self, why: &str) {
        for (_, answer) in self.changes {
            send(answer, Err(WriteError::NotStored(why.to_owned())));
        }
        for refused in self.refused {
            let error = if refused.by_batch {
                WriteError::NotStored(why.to_owned())
            } else {
                refused.error
            };
            send(refused.answer, Err(error));
        }
    }
}

/// The caller may be gone: the write is valid nevertheless.
fn send(answer: Answer, outcome: Result<Arc<Object>, WriteError>) {
    let _ = answer.send(outcome);
}

fn prepare(
    write: Write,
    now: Option<Arc<Object>>,
    context: &mut BatchContext<'_>,
) -> Result<(Change, Vec<u8>), WriteError> {
    let (key, mut value, deleted) = write.into_parts();
    if !deleted && !depth::is_within_limit(&value) {
        return Err(WriteError::Malformed("it is nested more than 120 levels deep"));
    }
    let revision = *context.given + 1;
    set_revision(&mut value, revision)?;
    let json = serde_json::to_vec(&value).map_err(|_| WriteError::Malformed("it cannot be written as JSON"))?;
    let record = Record {
        key: now.map_or_else(|| context.names.key(key), |now| now.key.clone()),
        deleted,
        written_ms: context.now_ms,
        // Without spare capacity: it stays in memory.
        json: Bytes::from(json.into_boxed_slice()),
    };
    let encoded = record.encode(revision)?;
    *context.given = revision;
    let object = Object {
        facts: context.names.facts((context.facts)(&record.key, &value)),
        key: record.key,
        revision,
        json: record.json,
    };
    let change = Change {
        object: Arc::new(object),
        deleted,
        written_ms: context.now_ms,
    };
    Ok((change, encoded))
}
