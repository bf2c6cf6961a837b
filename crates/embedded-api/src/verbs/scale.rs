//! The scale of an object: the present and the desired number.

use super::answer;
use super::body::{self, Format};
use super::core::{Core, Kind, parsed, rfc3339};
use super::guaranteed_update::guaranteed_update;
use super::meta::{self, map_mut, text};
use super::options::{Validation, WriteOptions};
use super::request_scope::{NewState, Owners, RequestScope};
use super::update::Place;
use super::validator::{SentAs, patch_fault};
use super::write::Written;
use crate::documents::accept::{Representation, Requested, choose};
use crate::patch::{self as patches, PatchType};
use crate::refusal::Refusal;
use crate::request::{Answer, ApiRequest};
use crate::resource::{Scale, at};
use http::{Method, StatusCode};
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use std::sync::Arc;

const VERSION: &str = "autoscaling/v1";
const KIND: &str = "Scale";
/// Marks, in a patch, a number that the object lacks.
const UNSET: i32 = i32::MIN;

/// Errors: 404 when there is no object, 409 when it has changed, 422 for numbers that its kind does not allow.
pub(super) async fn scale(
    core: &Arc<Core>,
    kind: &Arc<Kind>,
    place: Place<'_>,
    request: &ApiRequest,
) -> Result<Answer, Refusal> {
    let Some(scale) = &kind.resource.scale else {
        return Err(kind.not_found(place.name));
    };
    let as_ = choose(&request.accept, Requested::Document)?;
    let key = kind.key(place.namespace, place.name);
    let (value, warnings) = match request.method {
        Method::PUT | Method::PATCH => {
            let (options, change) = change(kind, request)?;
            let now = rfc3339(Timestamp::now());
            let scope = RequestScope {
                kind,
                subresource: Some("scale"),
                options: &options,
                now: &now,
            };
            let next = |old: Option<&Value>| {
                let old = old.ok_or_else(|| kind.not_found(place.name))?;
                next(&scope, scale, old, &change, place)
            };
            let updated = guaranteed_update(core, kind, &key, options.dry_run, next).await?;
            let value = match updated.written {
                Written::Stored(object) => parsed(&object)?,
                Written::Unstored(value) => value,
            };
            (value, updated.warnings)
        }
        _ => {
            let object = core.store.get(&key).ok_or_else(|| kind.not_found(place.name))?;
            (parsed(&object)?, Vec::new())
        }
    };
    Ok(answer::warned(shown(scale, &value, as_)?, &warnings))
}

fn shown(scale: &Scale, object: &Value, as_: Representation) -> Result<Answer, Refusal> {
    let Some(desired) = at(object, &scale.spec_replicas) else {
        let message = format!("the spec replicas field {:?} does not exist", scale.spec_replicas);
        return Err(Refusal {
            details: json!({"causes": [{"message": message}]}),
            ..Refusal::internal(format!("Internal error occurred: {message}"))
        });
    };
    let document = document(scale, object, desired);
    Ok(answer::document(StatusCode::OK, as_, document.to_string().into()))
}

enum Change {
    Put(Value),
    Patch(PatchType),
}

struct ScaleRequest<'a> {
    change: Change,
    request: &'a ApiRequest,
}

fn change<'a>(kind: &Kind, request: &'a ApiRequest) -> Result<(WriteOptions, ScaleRequest<'a>), Refusal> {
    let scale_request = |change| ScaleRequest { change, request };
    if request.method == Method::PATCH {
        let type_ = PatchType::of(&request.content_type, &kind.resource)?;
        let options = WriteOptions::read(request, "PatchOptions", type_ == PatchType::Apply)?;
        return Ok((options, scale_request(Change::Patch(type_))));
    }
    let options = WriteOptions::read(request, "UpdateOptions", false)?;
    let bad = |why: String| {
        Refusal::bad_request(format!(
            "the object provided is unrecognized (must be of type Scale): {why}"
        ))
    };
    let document = body::read(Format::of(&request.content_type)?, &request.body).map_err(bad)?;
    if options.validation == Validation::Strict && !document.duplicates.is_empty() {
        let faults = document.duplicates.join(", ");
        let message = "Scale in version \"v1\" cannot be handled as a Scale: strict decoding error";
        return Err(Refusal::bad_request(format!("{message}: {faults}")));
    }
    let value = document.value;
    let (version, named) = (text(&value, "/apiVersion"), text(&value, "/kind"));
    if (version, named) != (VERSION, KIND) {
        let message = format!("{named} of {version:?} is not a {KIND} of {VERSION}");
        return Err(Refusal::bad_request(message));
    }
    let document = scale_request(Change::Put(value));
    Ok((options, document))
}

fn next(
    scope: &RequestScope<'_>,
    scale: &Scale,
    old: &Value,
    scale_request: &ScaleRequest<'_>,
    place: Place<'_>,
) -> Result<NewState, Refusal> {
    let unset = UNSET.into();
    let before = document(scale, old, at(old, &scale.spec_replicas).unwrap_or(&unset));
    let wanted = match &scale_request.change {
        Change::Put(document) => document.clone(),
        Change::Patch(PatchType::Apply) => applied(&before, scale_request.request)?,
        Change::Patch(type_) => {
            patches::apply(
                *type_,
                &scope.kind.resource,
                before.clone(),
                &scale_request.request.body,
            )?
            .object
        }
    };
    let name = meta::name(&wanted);
    if name != place.name {
        let message = format!(
            "the name of the object ({name}) does not match the name on the URL ({})",
            place.name
        );
        return Err(Refusal::bad_request(message));
    }
    let replicas = replicas(&wanted)?;
    if replicas == UNSET {
        let message = format!("the spec replicas field {:?} cannot be empty", scale.spec_replicas);
        return Err(Refusal::bad_request(message));
    }
    let named = meta::resource_version(&wanted);
    let requires_revision = !matches!(named, "" | "0")
        && (matches!(scale_request.change, Change::Put(_)) || named != meta::resource_version(old))
        && scope.check_revision(old, named)?;
    let mut new = old.clone();
    set(&mut new, &scale.spec_replicas, replicas.into());
    let state = scope.prepare_for_update(old, scope.read(new, Vec::new(), SentAs::Whole)?, Owners::Record)?;
    Ok(state.requiring(requires_revision))
}

/// Leaves a number unchanged that it does not name.
fn applied(before: &Value, request: &ApiRequest) -> Result<Value, Refusal> {
    let bad = |why: String| Refusal::bad_request(format!("error decoding YAML: {why}"));
    let given = body::read(Format::Yaml, &request.body).map_err(bad)?.value;
    let mut wanted = before.clone();
    if let Some(replicas) = given.pointer("/spec/replicas") {
        set(&mut wanted, ".spec.replicas", replicas.clone());
    }
    Ok(wanted)
}

fn replicas(scale: &Value) -> Result<i32, Refusal> {
    let given = scale.pointer("/spec/replicas").unwrap_or(&Value::Null);
    let number = match given {
        Value::Null => Some(0),
        given => given.as_i64().and_then(|number| i32::try_from(number).ok()),
    };
    number.ok_or_else(|| patch_fault("spec.replicas: must be of type int32"))
}

fn document(scale: &Scale, object: &Value, desired: &Value) -> Value {
    let there = at(object, &scale.status_replicas).cloned().unwrap_or_else(|| 0.into());
    let mut status = Map::new();
    status.insert("replicas".to_owned(), there);
    let selector = scale
        .label_selector
        .as_deref()
        .and_then(|path| at(object, path)?.as_str());
    if let Some(selector) = selector.filter(|selector| !selector.is_empty()) {
        status.insert("selector".to_owned(), selector.into());
    }
    let copied = ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"];
    let metadata = object.get("metadata").and_then(Value::as_object).into_iter().flatten();
    let metadata: Map<String, Value> = metadata
        .filter(|(name, _)| copied.contains(&name.as_str()))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    json!({
        "kind": KIND, "apiVersion": VERSION, "metadata": metadata, "spec": {"replicas": desired}, "status": status,
    })
}

fn set(object: &mut Value, path: &str, value: Value) {
    let mut place = object;
    for part in path.split('.').filter(|part| !part.is_empty()) {
        place = map_mut(place).entry(part).or_insert(Value::Null);
    }
    *place = value;
}
