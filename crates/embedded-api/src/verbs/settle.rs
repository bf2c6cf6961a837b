//! Changing an object from its present state to another one, with retries when other writers change it meanwhile.
//!
//! Owns: reading, writing and retrying. Must not: know the other state.

use super::core::{Core, Kind, parsed};
use super::deletion::is_over;
use super::door::Draft;
use super::keep::{Kept, NotKept};
use crate::kinds;
use crate::refusal::Refusal;
use crate::store::{Key, Object};
use serde_json::Value;
use std::sync::Arc;

/// How often a change is tried when other writers change the object first.
const ATTEMPTS: usize = 32;

/// An object after a change.
#[derive(Debug)]
pub(super) struct Settled {
    /// The object.
    pub(super) kept: Kept,
    /// Whether it is new.
    pub(super) created: bool,
    /// Warnings for the client.
    pub(super) warnings: Vec<String>,
}

/// Changes the object at `key`, or creates it. `next` returns the new state for the present one; it is called
/// again when the object has changed in the meantime.
///
/// # Errors
/// The refusals of `next`, and 409 when the writer requires a revision that is no longer the newest.
pub(super) async fn settle(
    core: &Core,
    kind: &Kind,
    key: &Key,
    dry: bool,
    mut next: impl FnMut(Option<&Value>) -> Result<Draft, Refusal>,
) -> Result<Settled, Refusal> {
    for _ in 0..ATTEMPTS {
        let old = core.store.get(key);
        let shown = old
            .as_deref()
            .map(|object| core.shown(&kind.resource, object))
            .transpose()?;
        let draft = next(shown.as_ref())?;
        let value = kinds::to_stored(&kind.resource, draft.value);
        let kept = match &old {
            None => core.make(key.clone(), value, dry).await,
            Some(old) => {
                let before = match shown {
                    Some(shown) if core.registry.stored_as_shown(&kind.resource) => shown,
                    _ => parsed(old)?,
                };
                change(core, kind, old, before, value, dry).await
            }
        };
        match kept {
            Ok(kept) => {
                return Ok(Settled {
                    kept,
                    created: old.is_none(),
                    warnings: draft.warnings,
                });
            }
            Err(NotKept::Changed) if draft.insists => return Err(kind.modified(&key.name).warned(&draft.warnings)),
            Err(NotKept::Changed) => {}
            Err(NotKept::Refused(refusal)) => return Err(refusal.warned(&draft.warnings)),
        }
    }
    Err(kind.modified(&key.name))
}

/// Writes a new state: nothing if it is the old one, a removal if the object waited only for this.
async fn change(
    core: &Core,
    kind: &Kind,
    old: &Arc<Object>,
    before: Value,
    value: Value,
    dry: bool,
) -> Result<Kept, NotKept> {
    if is_over(&kind.resource, &value) {
        // Watchers get the last stored state; the writer gets the one that it requested.
        core.remove(old, before, dry).await?;
        return Ok(Kept::Only(value));
    }
    if value == before {
        return Ok(Kept::Stored(Arc::clone(old)));
    }
    core.replace(old, value, dry).await
}
