//! Creating an object.

use super::body::{self, Document};
use super::core::{Core, Kind, rfc3339};
use super::object_encoder::ObjectEncoder;
use super::options::WriteOptions;
use super::request_scope::{Identity, Owners, Received, RequestScope};
use super::validator::SentAs;
use super::write::NotWritten;
use super::{admission, answer, events_ttl, meta, namespaces};
use crate::documents::accept::Requested;
use crate::kinds;
use crate::refusal::Refusal;
use crate::request::{Answer, ApiRequest};
use crate::store::Key;
use http::StatusCode;
use jiff::Timestamp;
use std::sync::Arc;
use uuid::Uuid;

const ATTEMPTS: usize = 8;

/// Errors: 400, 422 for malformed objects, 404, 403 for missing or terminating namespaces, 409 for a name in use.
pub(super) async fn create(
    core: &Arc<Core>,
    kind: &Arc<Kind>,
    namespace: Option<&str>,
    request: &ApiRequest,
) -> Result<Answer, Refusal> {
    let encoder = ObjectEncoder::of(core, kind, request, Requested::Object)?;
    let options = WriteOptions::read(request, "CreateOptions", false)?;
    let document = body::object(&kind.resource, &request.content_type, &request.body)?;
    let now = rfc3339(Timestamp::now());
    let scope = RequestScope {
        kind,
        subresource: None,
        options: &options,
        now: &now,
    };
    let Document { value, duplicates } = document;
    let read = scope.read(value, duplicates, SentAs::Whole)?;
    let warnings = read.warnings.clone();
    let made = make(core, &scope, namespace, read, &encoder).await;
    made.map_err(|refusal| refusal.warned(&warnings))
}

async fn make(
    core: &Core,
    scope: &RequestScope<'_>,
    namespace: Option<&str>,
    mut read: Received,
    encoder: &ObjectEncoder,
) -> Result<Answer, Refusal> {
    let kind = scope.kind;
    admission::match_path(&kind.resource, &mut read.value, namespace, None)?;
    namespaces::check_namespace(core, kind, namespace, meta::name(&read.value))?;
    let revision = meta::resource_version(&read.value).to_owned();
    meta::metadata_mut(&mut read.value).remove("resourceVersion");
    let generates = meta::name(&read.value).is_empty();
    for _ in 0..ATTEMPTS {
        let uid = Uuid::new_v4().to_string();
        let identity = Identity {
            uid: &uid,
            random: rand::random(),
        };
        let state = scope.prepare_for_create(read.clone(), namespace, identity, Owners::Record)?;
        if !matches!(&*revision, "" | "0") {
            let message = "resourceVersion should not be set on objects to be created";
            return Err(Refusal::new(500, "", message));
        }
        let (value, warnings) = state.into_parts();
        let key = kind.key(namespace, meta::name(&value));
        let stored = kinds::to_stored(&kind.resource, value);
        match core.create(key.clone(), stored, scope.options.dry_run).await {
            Ok(written) => {
                events_ttl::made(core, kind);
                let answer = encoder.written(StatusCode::CREATED, written)?;
                return Ok(answer::warned(answer, &warnings));
            }
            Err(NotWritten::Conflict) if generates => {}
            Err(NotWritten::Conflict) => return Err(taken(core, kind, &key).warned(&warnings)),
            Err(NotWritten::Refused(refusal)) => return Err(refusal.warned(&warnings)),
        }
    }
    Err(Refusal::already_exists(
        &kind.resource.group,
        &kind.resource.plural,
        meta::name(&read.value),
    ))
}

fn taken(core: &Core, kind: &Kind, key: &Key) -> Refusal {
    let mut refusal = Refusal::already_exists(&kind.resource.group, &kind.resource.plural, &key.name);
    if core.store.get(key).is_some_and(|there| there.facts.deleting) {
        refusal.message = format!("object is being deleted: {}", refusal.message);
    }
    refusal
}
