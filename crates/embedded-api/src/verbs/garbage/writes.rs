//! Writes of the garbage collector, each of exactly one object.

use crate::apply::{Writer, track};
use crate::refusal::Refusal;
use crate::store::Object;
use crate::verbs::core::{Core, Kind, rfc3339};
use crate::verbs::delete::remove;
use crate::verbs::guaranteed_update::guaranteed_update;
use crate::verbs::meta;
use crate::verbs::options::{DeleteOptions, Propagation};
use crate::verbs::request_scope::NewState;
use jiff::Timestamp;
use serde_json::Value;

const MANAGER: &str = "garbage-collector";

pub(super) async fn delete(core: &Core, kind: &Kind, object: &Object, by: Propagation) -> Result<(), Refusal> {
    let options = DeleteOptions {
        propagation: Some(by),
        uid: Some(object.facts.uid.to_string()),
        ..DeleteOptions::default()
    };
    unless_gone(remove(core, kind, &object.key, &options).await.map(drop))
}

pub(super) async fn edit(core: &Core, kind: &Kind, object: &Object, by: impl Fn(&mut Value)) -> Result<(), Refusal> {
    let now = rfc3339(Timestamp::now());
    let writer = Writer {
        resource: &kind.resource,
        manager: MANAGER,
        subresource: None,
        now: &now,
    };
    let next = |old: Option<&Value>| {
        let old = old.filter(|old| *meta::uid(old) == *object.facts.uid);
        let old = old.ok_or_else(|| kind.not_found(&object.key.name))?;
        let mut new = old.clone();
        by(&mut new);
        Ok(NewState::by_server(track::update(Some(old), new, &writer)))
    };
    unless_gone(guaranteed_update(core, kind, &object.key, false, next).await.map(drop))
}

/// An object that could not be changed is an error: an owner whose dependents still refer to it would delete them.
pub(super) fn unless_gone(done: Result<(), Refusal>) -> Result<(), Refusal> {
    match done {
        Err(refusal) if refusal.code == 404 => Ok(()),
        done => done,
    }
}
