//! Changing an object by a patch, including server-side apply.
//!
//! Owns: reading the patch, and what it may not change. Must not: merge; that is [`crate::patch`] and [`crate::apply`].

use super::accept::Came;
use super::body::{self, Format};
use super::core::{Core, Kind, written};
use super::door::{Door, Draft, Identity, Owners};
use super::face::Face;
use super::options::WriteOptions;
use super::settle::settle;
use super::update::Place;
use super::{admission, answer, meta, namespaces};
use crate::apply::merge;
use crate::documents::accept::Asked;
use crate::patch::{self as patches, PatchType};
use crate::refusal::Refusal;
use crate::request::{Answer, ApiRequest};
use crate::schema::checker::repeated;
use http::StatusCode;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::sync::Arc;
use uuid::Uuid;

/// Patches the object and answers with it. An apply creates a missing object.
///
/// # Errors
/// 404 when there is no object, 409 on conflicts, 415 for unknown patches, 422 when the patch or its result is not
/// well formed.
pub(super) async fn patch(
    core: &Arc<Core>,
    kind: &Arc<Kind>,
    place: Place<'_>,
    request: &ApiRequest,
) -> Result<Answer, Refusal> {
    let type_ = PatchType::of(&request.content_type, &kind.resource)?;
    let face = Face::of(core, kind, request, Asked::Object)?;
    let options = WriteOptions::read(request, "PatchOptions", type_ == PatchType::Apply)?;
    let now = written(Timestamp::now());
    let door = Door {
        kind,
        subresource: place.subresource,
        options: &options,
        now: &now,
    };
    let key = kind.key(place.namespace, place.name);
    let settled = if type_ == PatchType::Apply {
        let applied = applied(place, request)?;
        let uid = Uuid::new_v4().to_string();
        let next = |old: Option<&Value>| match old {
            None if place.subresource.is_some() => Err(kind.not_found(place.name)),
            None => {
                namespaces::room(core, kind, place.namespace, place.name)?;
                let identity = Identity { uid: &uid, random: 0 };
                born_by_apply(&door, &applied, place, identity)
            }
            Some(old) => next_by_apply(&door, old, &applied),
        };
        settle(core, kind, &key, options.dry_run, next).await?
    } else {
        let next = |old: Option<&Value>| {
            let old = old.ok_or_else(|| kind.not_found(place.name))?;
            patched(&door, old, type_, place, request)
        };
        settle(core, kind, &key, options.dry_run, next).await?
    };
    let code = match settled.created {
        true => StatusCode::CREATED,
        false => StatusCode::OK,
    };
    Ok(answer::warned(face.kept(code, settled.kept)?, &settled.warnings))
}

/// The state that results from a patch.
fn patched(
    door: &Door<'_>,
    old: &Value,
    type_: PatchType,
    place: Place<'_>,
    request: &ApiRequest,
) -> Result<Draft, Refusal> {
    let resource = &door.kind.resource;
    let patched = patches::apply(type_, resource, old.clone(), &request.body)?;
    let faults = repeated(&request.body).into_iter().chain(patched.unknown).collect();
    let mut read = door.read(patched.object, faults, Came::Patched)?;
    let warnings = read.warnings.clone();
    let next = || {
        admission::match_path(resource, &mut read.value, place.namespace, Some(place.name))?;
        let named = meta::resource_version(&read.value);
        let insists = named != meta::resource_version(old) && door.insists(old, named)?;
        let draft = door.next(old, read, Owners::Record)?;
        Ok(Draft { insists, ..draft })
    };
    next().map_err(|refusal: Refusal| refusal.warned(&warnings))
}

/// The applied configuration: JSON or YAML. A name or namespace in it must be that of the path.
fn applied(place: Place<'_>, request: &ApiRequest) -> Result<Value, Refusal> {
    let bad = |why: String| Refusal::bad_request(format!("error decoding YAML: {why}"));
    // Programs send JSON, which is also YAML, but faster to read as JSON.
    let read = body::read(Format::Json, &request.body).or_else(|_| body::read(Format::Yaml, &request.body));
    let value = match read.map_err(bad)?.value {
        Value::Null => json!({}),
        value => value,
    };
    let named = meta::name(&value);
    if !named.is_empty() && named != place.name {
        let told = format!(
            "the name of the object ({named}) does not match the name on the URL ({})",
            place.name
        );
        return Err(Refusal::bad_request(told));
    }
    let within = meta::namespace(&value);
    if !within.is_empty() && Some(within) != place.namespace {
        let told = "the namespace of the provided object does not match the namespace sent on the request";
        return Err(Refusal::bad_request(told));
    }
    Ok(value)
}

fn born_by_apply(door: &Door<'_>, applied: &Value, place: Place<'_>, identity: Identity<'_>) -> Result<Draft, Refusal> {
    let mut merged = merge::apply(None, applied, &door.writer(), door.options.force)?;
    meta::metadata_mut(&mut merged).remove("resourceVersion");
    let mut read = door.read(merged, Vec::new(), Came::Patched)?;
    admission::match_path(&door.kind.resource, &mut read.value, place.namespace, Some(place.name))?;
    door.born(read, place.namespace, identity, Owners::Recorded)
}

fn next_by_apply(door: &Door<'_>, old: &Value, applied: &Value) -> Result<Draft, Refusal> {
    let named = meta::resource_version(applied);
    let insists = !named.is_empty() && door.insists(old, named)?;
    let merged = merge::apply(Some(old), applied, &door.writer(), door.options.force)?;
    let draft = door.next(old, door.read(merged, Vec::new(), Came::Patched)?, Owners::Recorded)?;
    Ok(Draft { insists, ..draft })
}
