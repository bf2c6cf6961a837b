//! Deleting objects.

use super::body::{self, Format};
use super::core::{Core, Kind, parsed, rfc3339};
use super::deletion::{DeletionEffect, admit, effect};
use super::object_encoder::ObjectEncoder;
use super::options::{DeleteOptions, ListOptions};
use super::selector::Selector;
use super::write::{NotWritten, Written};
use super::{answer, list};
use crate::documents::accept::{Representation, Requested};
use crate::refusal::Refusal;
use crate::request::{Answer, ApiRequest};
use crate::store::{Key, Object};
use futures::{StreamExt, stream};
use http::StatusCode;
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use std::sync::Arc;

const ATTEMPTS: usize = 32;
const TOGETHER: usize = 64;

#[derive(Debug)]
pub(super) enum Deleted {
    Gone(String),
    Waits(Written),
}

/// Errors: 404 for a missing object, 409 for another one than was meant, 403 for one that may not be deleted.
pub(super) async fn remove(core: &Core, kind: &Kind, key: &Key, options: &DeleteOptions) -> Result<Deleted, Refusal> {
    for _ in 0..ATTEMPTS {
        let object = core.store.get(key).ok_or_else(|| kind.not_found(&key.name))?;
        match once(core, kind, &object, options).await {
            Ok(deleted) => return Ok(deleted),
            Err(NotWritten::Conflict) => {}
            Err(NotWritten::Refused(refusal)) => return Err(refusal),
        }
    }
    Err(kind.modified(&key.name))
}

async fn once(core: &Core, kind: &Kind, object: &Arc<Object>, options: &DeleteOptions) -> Result<Deleted, NotWritten> {
    let value = parsed(object)?;
    admit(&kind.resource, &value, options)?;
    match effect(&kind.resource, &value, options.propagation, &rfc3339(Timestamp::now())) {
        DeletionEffect::Gone => {
            core.remove(object, value, options.dry_run).await?;
            Ok(Deleted::Gone(object.facts.uid.to_string()))
        }
        DeletionEffect::Waits(value) => core.replace(object, value, options.dry_run).await.map(Deleted::Waits),
        DeletionEffect::Waiting => Ok(Deleted::Waits(Written::Stored(Arc::clone(object)))),
    }
}

/// Errors: as [`remove`], and 400 or 422 for bad options.
pub(super) async fn delete(
    core: &Arc<Core>,
    kind: &Arc<Kind>,
    namespace: Option<&str>,
    name: &str,
    request: &ApiRequest,
) -> Result<Answer, Refusal> {
    let encoder = ObjectEncoder::of(core, kind, request, Requested::Object)?;
    let options = options(request)?;
    match remove(core, kind, &kind.key(namespace, name), &options).await? {
        Deleted::Gone(uid) => Ok(gone(&encoder, kind, name, &uid)),
        Deleted::Waits(written) => encoder.written(StatusCode::OK, written),
    }
}

/// Answers with the previous states. Errors: as [`remove`], and 400 for bad selectors.
pub(super) async fn delete_collection(
    core: &Arc<Core>,
    kind: &Arc<Kind>,
    namespace: Option<&str>,
    request: &ApiRequest,
) -> Result<Answer, Refusal> {
    let encoder = ObjectEncoder::of(core, kind, request, Requested::List)?;
    let options = options(request)?;
    let listing = ListOptions::read(request, false)?;
    let selector = Selector::of(&listing, &kind.resource)?;
    let (listed, meta) = list::found(core, kind, namespace, &listing, &selector)?;
    let keys: Vec<Key> = listed.iter().map(|object| object.key.clone()).collect();
    let options = &options;
    let removals = stream::iter(keys).map(|key| async move { remove(core, kind, &key, options).await });
    let mut done = removals.buffer_unordered(TOGETHER);
    while let Some(outcome) = done.next().await {
        match outcome {
            Ok(_) => {}
            Err(refusal) if refusal.code == 404 => {}
            Err(refusal) => return Err(refusal),
        }
    }
    encoder.list(&listed, &meta)
}

fn options(request: &ApiRequest) -> Result<DeleteOptions, Refusal> {
    if request.body.trim_ascii().is_empty() {
        return DeleteOptions::read(request, None);
    }
    let format = Format::of(&request.content_type)?;
    let bad = |why: String| Refusal::bad_request(format!("couldn't get version/kind; json parse error: {why}"));
    let document = body::read(format, &request.body).map_err(bad)?;
    DeleteOptions::read(request, Some(&document.value))
}

fn gone(encoder: &ObjectEncoder, kind: &Kind, name: &str, uid: &str) -> Answer {
    let resource = &kind.resource;
    let parts = [
        ("name", name),
        ("group", &resource.group),
        ("kind", &resource.plural),
        ("uid", uid),
    ];
    let details = parts.into_iter().filter(|(_, value)| !value.is_empty());
    let details: Map<String, Value> = details.map(|(key, value)| (key.to_owned(), value.into())).collect();
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details,
    });
    let as_ = Representation {
        format: encoder.as_.format,
        ..Representation::JSON
    };
    answer::document(StatusCode::OK, as_, status.to_string().into())
}
