//! Changing an object from its present state to another one, with retries when other writers change it meanwhile.

use super::core::{Core, Kind, parsed};
use super::deletion::is_finished;
use super::request_scope::NewState;
use super::write::{NotWritten, Written};
use crate::kinds;
use crate::refusal::Refusal;
use crate::store::{Key, Object};
use serde_json::Value;
use std::sync::Arc;

const ATTEMPTS: usize = 32;

#[derive(Debug)]
pub(super) struct Updated {
    pub(super) written: Written,
    pub(super) created: bool,
    pub(super) warnings: Vec<String>,
}

/// `next` computes the new state, and again after a change meanwhile. Errors: those of `next`, and 409 for a required
/// old revision.
pub(super) async fn guaranteed_update(
    core: &Core,
    kind: &Kind,
    key: &Key,
    dry: bool,
    mut next: impl FnMut(Option<&Value>) -> Result<NewState, Refusal>,
) -> Result<Updated, Refusal> {
    for _ in 0..ATTEMPTS {
        let old = core.store.get(key);
        let shown = old
            .as_deref()
            .map(|object| core.shown(&kind.resource, object))
            .transpose()?;
        let state = next(shown.as_ref())?;
        let requires_revision = state.requires_revision();
        let (value, warnings) = state.into_parts();
        let value = kinds::to_stored(&kind.resource, value);
        let written = match &old {
            None => core.create(key.clone(), value, dry).await,
            Some(old) => {
                let before = match shown {
                    Some(shown) if core.registry.stored_as_shown(&kind.resource) => shown,
                    _ => parsed(old)?,
                };
                change(core, kind, old, before, value, dry).await
            }
        };
        match written {
            Ok(written) => {
                return Ok(Updated {
                    written,
                    created: old.is_none(),
                    warnings,
                });
            }
            Err(NotWritten::Conflict) if requires_revision => {
                return Err(kind.modified(&key.name).warned(&warnings));
            }
            Err(NotWritten::Conflict) => {}
            Err(NotWritten::Refused(refusal)) => return Err(refusal.warned(&warnings)),
        }
    }
    Err(kind.modified(&key.name))
}

/// Skips an equal state; removes an object that waited only for this.
async fn change(
    core: &Core,
    kind: &Kind,
    old: &Arc<Object>,
    before: Value,
    value: Value,
    dry: bool,
) -> Result<Written, NotWritten> {
    if is_finished(&kind.resource, &value) {
        // Watchers get the last stored state; the writer gets the one that it requested.
        core.remove(old, before, dry).await?;
        return Ok(Written::Unstored(value));
    }
    if value == before {
        return Ok(Written::Stored(Arc::clone(old)));
    }
    core.replace(old, value, dry).await
}
