//! Verb of a request, if its kind has it.

use super::answer;
use super::core::{Core, Kind};
use super::documents;
use super::options::ListOptions;
use super::route::{Route, Target, route};
use super::update::Place;
use super::{create, delete, get, list, patch, refused, scale, self_review, update, watch};
use crate::patch::PatchType;
use crate::refusal::Refusal;
use crate::request::{Answer, ApiRequest};
use crate::resource::{Resource, Verb};
use http::Method;
use serde_json::json;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub(super) async fn answer(
    core: &Arc<Core>,
    request: &ApiRequest,
    tasks: &TaskTracker,
    stop: &CancellationToken,
) -> Result<Answer, Refusal> {
    let route = route(&request.path);
    if let Some(answer) = documents::answer(core, &route, request) {
        return answer;
    }
    let Route::Objects(target) = route else {
        return Ok(answer::no_such_page());
    };
    let kind = match core.kind(&target) {
        Some(kind) => Arc::clone(kind),
        None => return unknown(core, &target),
    };
    let resource = &kind.resource;
    let misplaced = match (resource.namespaced, &target.namespace) {
        (true, None) => target.name.is_some(),
        (false, Some(_)) => true,
        _ => false,
    };
    if misplaced {
        return unknown(core, &target);
    }
    if let Some(subresource) = target.subresource.as_deref() {
        return part(core, &kind, &target, subresource, request).await;
    }
    let whole = resource.namespaced && target.namespace.is_none();
    let reads = matches!(request.method, Method::GET | Method::HEAD);
    if whole && !reads && resource.custom {
        return Ok(answer::no_such_page());
    }
    let verb = verb(resource, &target, request)?;
    if !resource.serves(verb) {
        return Err(refused::refusal(&resource.group, &resource.plural, "").unwrap_or_else(answer::method_not_allowed));
    }
    if whole && !reads {
        return Err(answer::method_not_allowed());
    }
    let namespace = target.namespace.as_deref();
    let place = Place {
        namespace,
        name: target.name.as_deref().unwrap_or_default(),
        subresource: None,
    };
    match verb {
        Verb::Get => get::get(core, &kind, namespace, place.name, request),
        Verb::List => list::list(core, &kind, namespace, &ListOptions::read(request, false)?, request),
        Verb::Watch => {
            let options = ListOptions::read(request, true)?;
            watch::watch(core, &kind, namespace, &options, request, tasks, stop)
        }
        Verb::Create => match self_review::answer(&kind, request) {
            Some(answer) => answer,
            None => create::create(core, &kind, namespace, request).await,
        },
        Verb::Update => update::update(core, &kind, place, request).await,
        Verb::Patch => patch::patch(core, &kind, place, request).await,
        Verb::Delete => delete::delete(core, &kind, namespace, place.name, request).await,
        Verb::DeleteCollection => delete::delete_collection(core, &kind, namespace, request).await,
    }
}

fn verb(resource: &Resource, target: &Target, request: &ApiRequest) -> Result<Verb, Refusal> {
    let named = target.name.is_some();
    Ok(match (&request.method, named) {
        // A watch of one object is requested by a field selector; `?watch` with a name reads it.
        (&Method::GET | &Method::HEAD, true) => Verb::Get,
        (&Method::GET | &Method::HEAD, false) => match ListOptions::read(request, false)?.watch {
            true => Verb::Watch,
            false => Verb::List,
        },
        (&Method::POST, false) => Verb::Create,
        (&Method::PUT, true) => Verb::Update,
        (&Method::PATCH, true) => Verb::Patch,
        (&Method::DELETE, true) => Verb::Delete,
        (&Method::DELETE, false) => Verb::DeleteCollection,
        (&Method::POST, true) if resource.custom => Verb::Create,
        (&Method::PUT, false) if resource.custom => return Err(Refusal::bad_request("name must be provided")),
        (&Method::PATCH, false) if resource.custom => {
            PatchType::of(&request.content_type, resource)?;
            return Err(Refusal::bad_request("name must be provided"));
        }
        (method, _) => return Err(not_with(resource, method)),
    })
}

async fn part(
    core: &Arc<Core>,
    kind: &Arc<Kind>,
    target: &Target,
    part: &str,
    request: &ApiRequest,
) -> Result<Answer, Refusal> {
    let resource = &kind.resource;
    let place = Place {
        namespace: target.namespace.as_deref(),
        name: target.name.as_deref().unwrap_or_default(),
        subresource: Some(part),
    };
    let has = match part {
        "status" => resource.has_status && resource.serves(Verb::Update),
        "scale" => resource.scale.is_some(),
        _ => false,
    };
    if !has {
        return match refused::refusal(&resource.group, &resource.plural, part) {
            Some(refusal) => Err(refusal),
            None if resource.custom => Err(kind.not_found(place.name)),
            None => Err(answer::no_such_resource()),
        };
    }
    match (&request.method, part) {
        (&Method::GET | &Method::HEAD | &Method::PUT | &Method::PATCH, "scale") => {
            scale::scale(core, kind, place, request).await
        }
        (&Method::GET | &Method::HEAD, _) => get::get(core, kind, place.namespace, place.name, request),
        (&Method::PUT, _) => update::update(core, kind, place, request).await,
        (&Method::PATCH, _) => patch::patch(core, kind, place, request).await,
        (method, _) => Err(not_with(resource, method)),
    }
}

fn not_with(resource: &Resource, method: &Method) -> Refusal {
    if !resource.custom {
        return answer::method_not_allowed();
    }
    let verb = match *method {
        Method::POST => "create",
        Method::DELETE => "delete",
        _ => "",
    };
    let message = format!(
        "{verb} is not supported on resources of kind {:?}",
        resource.qualified()
    );
    Refusal {
        details: json!({"group": resource.group, "kind": resource.plural}),
        ..Refusal::new(405, "MethodNotAllowed", message)
    }
}

fn unknown(core: &Core, target: &Target) -> Result<Answer, Refusal> {
    if let Some(part) = target.subresource.as_deref()
        && let Some(refusal) = refused::refusal(&target.group, &target.plural, part)
    {
        return Err(refusal);
    }
    let in_group = |kind: &&Arc<Resource>| kind.group == target.group && kind.version == target.version;
    let built_in = core.registry.iter().filter(in_group).any(|kind| !kind.custom);
    match built_in || target.group.is_empty() {
        true => Err(answer::no_such_resource()),
        false => Ok(answer::no_such_page()),
    }
}
