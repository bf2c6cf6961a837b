//! Reading one object.

use super::answer::too_new;
use super::core::{Core, Kind};
use super::object_encoder::ObjectEncoder;
use super::options::{ListOptions, Match};
use crate::documents::accept::Requested;
use crate::refusal::Refusal;
use crate::request::{Answer, ApiRequest};
use http::StatusCode;
use std::sync::Arc;

/// Errors: 404 when there is none, 504 for a revision that does not exist yet.
pub(super) fn get(
    core: &Arc<Core>,
    kind: &Arc<Kind>,
    namespace: Option<&str>,
    name: &str,
    request: &ApiRequest,
) -> Result<Answer, Refusal> {
    let encoder = ObjectEncoder::of(core, kind, request, Requested::Object)?;
    let requested = request.query("resourceVersion").unwrap_or_default();
    if !requested.is_empty() {
        let options = ListOptions::read(request, false)?;
        check_revision_exists(core, &options)?;
    }
    let object = core.store.get(&kind.key(namespace, name));
    encoder.object(StatusCode::OK, &*object.ok_or_else(|| kind.not_found(name))?)
}

pub(super) fn check_revision_exists(core: &Core, options: &ListOptions) -> Result<(), Refusal> {
    let now = core.store.revision();
    match options.revision {
        Some(requested) if requested > now => Err(too_new(requested, now)),
        _ => Ok(()),
    }
}

pub(super) fn list_revision(options: &ListOptions) -> Option<u64> {
    match (options.matching, options.revision) {
        (Some(Match::Exact), Some(revision)) => Some(revision),
        // Pages of a list that was requested at a revision show that revision.
        (None, Some(revision)) if revision > 0 && options.limit.is_some() => Some(revision),
        _ => None,
    }
}
