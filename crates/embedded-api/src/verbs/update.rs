//! Replacing an object, or its status, by the client's version of it.

use super::body::{self, Document};
use super::core::{Core, Kind, rfc3339};
use super::guaranteed_update::guaranteed_update;
use super::object_encoder::ObjectEncoder;
use super::options::WriteOptions;
use super::request_scope::{Identity, Owners, RequestScope};
use super::validator::SentAs;
use super::{admission, answer, meta, namespaces};
use crate::documents::accept::Requested;
use crate::refusal::Refusal;
use crate::request::{Answer, ApiRequest};
use http::StatusCode;
use jiff::Timestamp;
use serde_json::Value;
use std::sync::Arc;
use uuid::Uuid;

#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) namespace: Option<&'a str>,
    pub(super) name: &'a str,
    pub(super) subresource: Option<&'a str>,
}

/// Errors: 400 and 422 for malformed objects, 404 for a missing one, 409 when it is another one or has changed.
pub(super) async fn update(
    core: &Arc<Core>,
    kind: &Arc<Kind>,
    place: Place<'_>,
    request: &ApiRequest,
) -> Result<Answer, Refusal> {
    let encoder = ObjectEncoder::of(core, kind, request, Requested::Object)?;
    let options = WriteOptions::read(request, "UpdateOptions", false)?;
    let document = body::object(&kind.resource, &request.content_type, &request.body)?;
    let Document { value, duplicates } = document;
    let now = rfc3339(Timestamp::now());
    let scope = RequestScope {
        kind,
        subresource: place.subresource,
        options: &options,
        now: &now,
    };
    let mut read = scope.read(value, duplicates, SentAs::Whole)?;
    let matched = admission::match_path(&kind.resource, &mut read.value, place.namespace, Some(place.name));
    matched.map_err(|refusal| refusal.warned(&read.warnings))?;
    let uid = Uuid::new_v4().to_string();
    let key = kind.key(place.namespace, place.name);
    let next = |old: Option<&Value>| match old {
        Some(old) => {
            check_uid(kind, old, &read.value)?;
            let requires_revision = scope.check_revision(old, meta::resource_version(&read.value))?;
            let state = scope.prepare_for_update(old, read.clone(), Owners::Record)?;
            Ok(state.requiring(requires_revision))
        }
        None if place.subresource.is_none() && allows_create_on_update(kind) => {
            namespaces::check_namespace(core, kind, place.namespace, place.name)?;
            let mut read = read.clone();
            meta::metadata_mut(&mut read.value).remove("resourceVersion");
            let identity = Identity { uid: &uid, random: 0 };
            scope.prepare_for_create(read, place.namespace, identity, Owners::Record)
        }
        None => Err(kind.not_found(place.name)),
    };
    let updated = guaranteed_update(core, kind, &key, options.dry_run, next).await;
    let updated = updated.map_err(|refusal| refusal.warned(&read.warnings))?;
    let code = match updated.created {
        true => StatusCode::CREATED,
        false => StatusCode::OK,
    };
    Ok(answer::warned(
        encoder.written(code, updated.written)?,
        &updated.warnings,
    ))
}

fn allows_create_on_update(kind: &Kind) -> bool {
    let resource = &kind.resource;
    !resource.custom && matches!(&*resource.plural, "leases" | "events")
}

/// The replacement may be for an earlier object of the same name.
fn check_uid(kind: &Kind, old: &Value, new: &Value) -> Result<(), Refusal> {
    let (meant, there) = (meta::uid(new), meta::uid(old));
    if meant.is_empty() || meant == there {
        return Ok(());
    }
    let resource = &kind.resource;
    let why = format!("its uid is {there}, not {meant}: it is another object of the same name");
    Err(Refusal::conflict(
        &resource.group,
        &resource.plural,
        meta::name(old),
        &why,
    ))
}
