//! Changing an object by a patch, including server-side apply.

use super::body::{self, Format};
use super::core::{Core, Kind, rfc3339};
use super::guaranteed_update::guaranteed_update;
use super::object_encoder::ObjectEncoder;
use super::options::WriteOptions;
use super::request_scope::{Identity, NewState, Owners, RequestScope};
use super::update::Place;
use super::validator::SentAs;
use super::{admission, answer, meta, namespaces};
use crate::apply::merge;
use crate::checker::repeated;
use crate::documents::accept::Requested;
use crate::patch::{self as patches, PatchType};
use crate::refusal::Refusal;
use crate::request::{Answer, ApiRequest};
use http::StatusCode;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::sync::Arc;
use uuid::Uuid;

/// Errors: 404 for a missing object, 409 on conflicts, 415 for unknown patches, 422 for a malformed patch or result.
pub(super) async fn patch(
    core: &Arc<Core>,
    kind: &Arc<Kind>,
    place: Place<'_>,
    request: &ApiRequest,
) -> Result<Answer, Refusal> {
    let type_ = PatchType::of(&request.content_type, &kind.resource)?;
    let encoder = ObjectEncoder::of(core, kind, request, Requested::Object)?;
    let options = WriteOptions::read(request, "PatchOptions", type_ == PatchType::Apply)?;
    let now = rfc3339(Timestamp::now());
    let scope = RequestScope {
        kind,
        subresource: place.subresource,
        options: &options,
        now: &now,
    };
    let key = kind.key(place.namespace, place.name);
    let updated = if type_ == PatchType::Apply {
        let applied = applied(place, request)?;
        let uid = Uuid::new_v4().to_string();
        let next = |old: Option<&Value>| match old {
            None if place.subresource.is_some() => Err(kind.not_found(place.name)),
            None => {
                namespaces::check_namespace(core, kind, place.namespace, place.name)?;
                let identity = Identity { uid: &uid, random: 0 };
                create_by_apply(&scope, &applied, place, identity)
            }
            Some(old) => update_by_apply(&scope, old, &applied),
        };
        guaranteed_update(core, kind, &key, options.dry_run, next).await?
    } else {
        let next = |old: Option<&Value>| {
            let old = old.ok_or_else(|| kind.not_found(place.name))?;
            patched(&scope, old, type_, place, request)
        };
        guaranteed_update(core, kind, &key, options.dry_run, next).await?
    };
    let code = match updated.created {
        true => StatusCode::CREATED,
        false => StatusCode::OK,
    };
    Ok(answer::warned(
        encoder.written(code, updated.written)?,
        &updated.warnings,
    ))
}

fn patched(
    scope: &RequestScope<'_>,
    old: &Value,
    type_: PatchType,
    place: Place<'_>,
    request: &ApiRequest,
) -> Result<NewState, Refusal> {
    let resource = &scope.kind.resource;
    let patched = patches::apply(type_, resource, old.clone(), &request.body)?;
    let faults = repeated(&request.body).into_iter().chain(patched.unknown).collect();
    let mut read = scope.read(patched.object, faults, SentAs::Patched)?;
    let warnings = read.warnings.clone();
    let next = || {
        admission::match_path(resource, &mut read.value, place.namespace, Some(place.name))?;
        let named = meta::resource_version(&read.value);
        let requires_revision = named != meta::resource_version(old) && scope.check_revision(old, named)?;
        let state = scope.prepare_for_update(old, read, Owners::Record)?;
        Ok(state.requiring(requires_revision))
    };
    next().map_err(|refusal: Refusal| refusal.warned(&warnings))
}

/// A name or namespace in it must be that of the path.
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
        let message = format!(
            "the name of the object ({named}) does not match the name on the URL ({})",
            place.name
        );
        return Err(Refusal::bad_request(message));
    }
    let within = meta::namespace(&value);
    if !within.is_empty() && Some(within) != place.namespace {
        let message = "the namespace of the provided object does not match the namespace sent on the request";
        return Err(Refusal::bad_request(message));
    }
    Ok(value)
}

fn create_by_apply(
    scope: &RequestScope<'_>,
    applied: &Value,
    place: Place<'_>,
    identity: Identity<'_>,
) -> Result<NewState, Refusal> {
    let mut merged = merge::apply(None, applied, &scope.writer(), scope.options.force)?;
    meta::metadata_mut(&mut merged).remove("resourceVersion");
    let mut read = scope.read(merged, Vec::new(), SentAs::Patched)?;
    admission::match_path(&scope.kind.resource, &mut read.value, place.namespace, Some(place.name))?;
    scope.prepare_for_create(read, place.namespace, identity, Owners::Recorded)
}

fn update_by_apply(scope: &RequestScope<'_>, old: &Value, applied: &Value) -> Result<NewState, Refusal> {
    let named = meta::resource_version(applied);
    let requires_revision = !named.is_empty() && scope.check_revision(old, named)?;
    let merged = merge::apply(Some(old), applied, &scope.writer(), scope.options.force)?;
    let state = scope.prepare_for_update(old, scope.read(merged, Vec::new(), SentAs::Patched)?, Owners::Recorded)?;
    Ok(state.requiring(requires_revision))
}
