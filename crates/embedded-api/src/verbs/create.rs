//! Creating an object.
//!
//! Owns: its name, its identity, the refusal of names in use. Must not: change existing objects.

use super::accept::Came;
use super::body::{self, Document};
use super::core::{Core, Kind, written};
use super::door::{Door, Draft, Identity, Owners};
use super::face::Face;
use super::keep::NotKept;
use super::options::WriteOptions;
use super::{admission, answer, events_ttl, meta, namespaces};
use crate::documents::accept::Asked;
use crate::kinds;
use crate::refusal::Refusal;
use crate::request::{Answer, ApiRequest};
use crate::store::Key;
use http::StatusCode;
use jiff::Timestamp;
use std::sync::Arc;
use uuid::Uuid;

/// How many generated names are tried.
const ATTEMPTS: usize = 8;

/// Creates the object in the body and answers with it.
///
/// # Errors
/// 400 and 422 for objects that are not well formed, 404 and 403 for namespaces that are missing or terminating, 409 for a
/// name that is in use.
pub(super) async fn create(
    core: &Arc<Core>,
    kind: &Arc<Kind>,
    namespace: Option<&str>,
    request: &ApiRequest,
) -> Result<Answer, Refusal> {
    let face = Face::of(core, kind, request, Asked::Object)?;
    let options = WriteOptions::read(request, "CreateOptions", false)?;
    let document = body::object(&kind.resource, &request.content_type, &request.body)?;
    let now = written(Timestamp::now());
    let door = Door {
        kind,
        subresource: None,
        options: &options,
        now: &now,
    };
    let Document { value, duplicates } = document;
    let read = door.read(value, duplicates, Came::Whole)?;
    let warnings = read.warnings.clone();
    let made = make(core, &door, namespace, read, &face).await;
    made.map_err(|refusal| refusal.warned(&warnings))
}

async fn make(
    core: &Core,
    door: &Door<'_>,
    namespace: Option<&str>,
    mut read: Draft,
    face: &Face,
) -> Result<Answer, Refusal> {
    let kind = door.kind;
    admission::match_path(&kind.resource, &mut read.value, namespace, None)?;
    namespaces::room(core, kind, namespace, namespaces::called(&read.value))?;
    let revision = meta::resource_version(&read.value).to_owned();
    meta::metadata_mut(&mut read.value).remove("resourceVersion");
    let generates = meta::name(&read.value).is_empty();
    for _ in 0..ATTEMPTS {
        let uid = Uuid::new_v4().to_string();
        let identity = Identity {
            uid: &uid,
            random: rand::random(),
        };
        let draft = door.born(read.clone(), namespace, identity, Owners::Record)?;
        if !matches!(&*revision, "" | "0") {
            let told = "resourceVersion should not be set on objects to be created";
            return Err(Refusal::new(500, "", told));
        }
        let key = kind.key(namespace, meta::name(&draft.value));
        let stored = kinds::to_stored(&kind.resource, draft.value);
        match core.make(key.clone(), stored, door.options.dry_run).await {
            Ok(kept) => {
                events_ttl::made(core, kind);
                let answer = face.kept(StatusCode::CREATED, kept)?;
                return Ok(answer::warned(answer, &draft.warnings));
            }
            Err(NotKept::Changed) if generates => {}
            Err(NotKept::Changed) => return Err(taken(core, kind, &key).warned(&draft.warnings)),
            Err(NotKept::Refused(refusal)) => return Err(refusal.warned(&draft.warnings)),
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
