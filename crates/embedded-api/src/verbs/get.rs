//! Reading one object.
//!
//! Owns: that. Must not: change anything.

use super::answer::too_new;
use super::core::{Core, Kind};
use super::face::Face;
use super::options::{ListOptions, Match};
use crate::documents::accept::Asked;
use crate::refusal::Refusal;
use crate::request::{Answer, ApiRequest};
use http::StatusCode;
use std::sync::Arc;

/// Answers with the object of that name.
///
/// # Errors
/// 404 when there is none, 504 for a revision that does not exist yet.
pub(super) fn get(
    core: &Arc<Core>,
    kind: &Arc<Kind>,
    namespace: Option<&str>,
    name: &str,
    request: &ApiRequest,
) -> Result<Answer, Refusal> {
    let face = Face::of(core, kind, request, Asked::Object)?;
    let asked = request.query("resourceVersion").unwrap_or_default();
    if !asked.is_empty() {
        let options = ListOptions::read(request, false)?;
        at_hand(core, &options)?;
    }
    let object = core.store.get(&kind.key(namespace, name));
    face.object(StatusCode::OK, &*object.ok_or_else(|| kind.not_found(name))?)
}

/// Checks that the requested revision exists.
///
/// # Errors
/// 504 when it does not exist yet.
pub(super) fn at_hand(core: &Core, options: &ListOptions) -> Result<(), Refusal> {
    let now = core.store.revision();
    match options.revision {
        Some(asked) if asked > now => Err(too_new(asked, now)),
        _ => Ok(()),
    }
}

/// The revision that a list has to show: an exact one, or the newest.
pub(super) fn moment(options: &ListOptions) -> Option<u64> {
    match (options.matching, options.revision) {
        (Some(Match::Exact), Some(revision)) => Some(revision),
        // Pages of a list that was requested at a revision show that revision.
        (None, Some(revision)) if revision > 0 && options.limit.is_some() => Some(revision),
        _ => None,
    }
}
