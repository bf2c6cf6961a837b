//! Checks one object and does what [`super::verdict`] decides, by [`super::writes`] alone.

use super::namespace;
use super::verdict::{Dependent, Owner, Waiting, of_dependent, of_owner};
use super::writes::{delete, edit, unless_gone};
use crate::refusal::Refusal;
use crate::store::{Key, Object};
use crate::verbs::admission::is_namespace;
use crate::verbs::core::{Core, Kind, parsed};
use crate::verbs::delete::remove;
use crate::verbs::meta::{self, FOREGROUND, ORPHAN};
use crate::verbs::namespaces::STORAGE;
use crate::verbs::options::{DeleteOptions, Propagation};
use futures::{StreamExt, stream};
use serde_json::Value;
use std::sync::Arc;

const TOGETHER: usize = 64;

const ATTEMPTS: usize = 8;

/// Checks the object again if its state is not the decided one. Errors: a failure that may heal.
pub(super) async fn reconcile(core: &Arc<Core>, key: &Key) -> Result<(), Refusal> {
    let mut done = once(core, key).await;
    for _ in 1..ATTEMPTS {
        match done {
            Err(refusal) if refusal.code == 409 => done = once(core, key).await,
            done => return done,
        }
    }
    done
}

async fn once(core: &Arc<Core>, key: &Key) -> Result<(), Refusal> {
    let (Some(object), Some(kind)) = (core.store.get(key), core.storing(&key.resource)) else {
        return Ok(());
    };
    let facts = &object.facts;
    let namespace = || core.store.get(&Key::new(STORAGE, "", &key.namespace));
    if !facts.deleting && !key.namespace.is_empty() && namespace().is_none_or(|place| place.facts.deleting) {
        // It was created while its namespace was being deleted, or the namespace is being deleted now.
        return delete(core, kind, &object, Propagation::Background).await;
    }
    if facts.owners.is_empty() && !facts.deleting {
        return Ok(());
    }
    let value = parsed(&object)?;
    if !facts.deleting {
        return as_dependent(core, kind, &object, &value).await;
    }
    if is_namespace(&kind.resource) {
        namespace::reconcile(core, kind, &object, &value).await?;
    }
    as_owner(core, kind, &object, &value).await
}

async fn as_dependent(core: &Arc<Core>, kind: &Kind, object: &Object, value: &Value) -> Result<(), Refusal> {
    let owners: Vec<(meta::Owner, Owner)> = meta::owners(value)
        .into_iter()
        .map(|owner| {
            let state = state(core, object, &owner);
            (owner, state)
        })
        .collect();
    let states: Vec<Owner> = owners.iter().map(|(_, state)| *state).collect();
    let own = core.store.owned_by(&object.facts.uid);
    match of_dependent(&states, &meta::finalizers(value), !own.is_empty()) {
        Dependent::Stays => Ok(()),
        Dependent::Goes(propagation) => {
            if propagation == Propagation::Foreground && own.iter().any(|each| each.facts.waits) {
                // Its dependents may wait for it in turn: an object that is owned by its own dependent blocks nothing.
                edit(core, kind, object, meta::block_no_owner).await?;
            }
            let options = DeleteOptions {
                propagation: Some(propagation),
                uid: Some(object.facts.uid.to_string()),
                // Another state may have other owners.
                resource_version: Some(object.revision.to_string()),
                ..DeleteOptions::default()
            };
            unless_gone(remove(core, kind, &object.key, &options).await.map(drop))
        }
        Dependent::Forgets => {
            let gone = owners.iter().filter(|(_, state)| *state != Owner::There);
            let gone: Vec<&str> = gone.map(|(owner, _)| owner.uid.as_str()).collect();
            edit(core, kind, object, |value| {
                meta::remove_owners(value, |uid| gone.contains(&uid))
            })
            .await
        }
    }
}

fn state(core: &Core, dependent: &Object, owner: &meta::Owner) -> Owner {
    let Some((kind, key)) = place(core, dependent, owner) else {
        return Owner::There;
    };
    let Some(found) = core.store.get(&key).filter(|found| *found.facts.uid == *owner.uid) else {
        return Owner::Gone;
    };
    match !is_namespace(&kind.resource) && found.facts.waits {
        true => Owner::Waits,
        false => Owner::There,
    }
}

/// `None` when its kind is not served, or is namespaced and the dependent is not.
fn place<'a>(core: &'a Core, dependent: &Object, owner: &meta::Owner) -> Option<(&'a Arc<Kind>, Key)> {
    let kind = core.named(&owner.api_version, &owner.kind)?;
    let namespace = match (kind.resource.namespaced, &*dependent.key.namespace) {
        (true, "") => return None,
        (true, namespace) => Some(namespace),
        (false, _) => None,
    };
    let key = kind.key(namespace, &owner.name);
    Some((kind, key))
}

pub(super) fn owners(core: &Core, object: &Object) -> Vec<Key> {
    let Ok(value) = parsed(object) else {
        return Vec::new();
    };
    let owners = meta::owners(&value);
    let places = owners.iter().filter_map(|owner| place(core, object, owner));
    places.map(|(_, key)| key).collect()
}

async fn as_owner(core: &Arc<Core>, kind: &Kind, object: &Object, value: &Value) -> Result<(), Refusal> {
    let uid = &object.facts.uid;
    match of_owner(&meta::finalizers(value), core.store.is_blocked(uid)) {
        Waiting::No | Waiting::ForDependents { over: false } => Ok(()),
        Waiting::ForDependents { over: true } => edit(core, kind, object, |value| without(value, FOREGROUND)).await,
        Waiting::ToBeForgotten => {
            let forgetting = stream::iter(core.store.owned_by(uid)).map(|dependent| async move {
                match core.storing(&dependent.key.resource) {
                    Some(kind) => {
                        edit(core, kind, &dependent, |value| {
                            meta::remove_owners(value, |owner| *owner == **uid)
                        })
                        .await
                    }
                    None => Ok(()),
                }
            });
            let mut forgotten = forgetting.buffer_unordered(TOGETHER);
            while let Some(done) = forgotten.next().await {
                done?;
            }
            edit(core, kind, object, |value| without(value, ORPHAN)).await
        }
    }
}

fn without(value: &mut Value, finalizer: &str) {
    let left: Vec<String> = meta::finalizers(value)
        .into_iter()
        .filter(|name| *name != finalizer)
        .map(str::to_owned)
        .collect();
    meta::set_finalizers(value, &left);
}

#[cfg(test)]
mod tests;
