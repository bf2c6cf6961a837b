//! Reading many objects.

use super::continuation::Continuation;
use super::core::{Core, Kind};
use super::get::{check_revision_exists, list_revision};
use super::object_encoder::ObjectEncoder;
use super::options::ListOptions;
use super::selector::Selector;
use crate::documents::accept::Requested;
use crate::documents::list::ListMeta;
use crate::refusal::Refusal;
use crate::request::{Answer, ApiRequest};
use crate::store::{Listed, Object, Page};
use std::sync::Arc;

/// Errors: 400 for bad selectors and tokens, 410 for a revision that is gone, 504 for one that does not exist yet.
pub(super) fn list(
    core: &Arc<Core>,
    kind: &Arc<Kind>,
    namespace: Option<&str>,
    options: &ListOptions,
    request: &ApiRequest,
) -> Result<Answer, Refusal> {
    let encoder = ObjectEncoder::of(core, kind, request, Requested::List)?;
    let selector = Selector::of(options, &kind.resource)?;
    let (objects, meta) = found(core, kind, namespace, options, &selector)?;
    encoder.list(&objects, &meta)
}

pub(super) fn found(
    core: &Core,
    kind: &Kind,
    namespace: Option<&str>,
    options: &ListOptions,
    selector: &Selector,
) -> Result<(Vec<Arc<Object>>, ListMeta), Refusal> {
    check_revision_exists(core, options)?;
    let page = page(options, namespace)?;
    // A later page of a list that this server has never started: it had other objects then.
    if page.after.is_some() && page.at.is_some_and(|at| at > core.store.revision()) {
        return Err(too_old(&page, core.store.revision(), namespace));
    }
    let storage = &kind.resource.storage;
    let listed = core
        .store
        .list(storage, namespace, &page, |object| selector.matches(object));
    let listed = listed.map_err(|_| too_old(&page, core.store.revision(), namespace))?;
    let meta = meta(&listed, namespace, selector);
    Ok((listed.objects, meta))
}

fn page(options: &ListOptions, namespace: Option<&str>) -> Result<Page, Refusal> {
    let Some(token) = &options.continue_ else {
        return Ok(Page {
            at: list_revision(options),
            after: None,
            limit: options.limit,
        });
    };
    if options.revision.is_some_and(|revision| revision > 0) {
        let message = "specifying resource version is not allowed when using continue";
        return Err(Refusal::bad_request(message));
    }
    let continuation = Continuation::read(token, namespace)?;
    Ok(Page {
        at: continuation.revision,
        after: Some(continuation.after),
        limit: options.limit,
    })
}

/// The remaining count is known only if everything is selected.
fn meta(listed: &Listed, namespace: Option<&str>, selector: &Selector) -> ListMeta {
    let continuation = listed.more.clone().map(|after| Continuation {
        revision: Some(listed.revision),
        after,
    });
    let remaining = listed.remaining.filter(|_| selector.is_everything());
    ListMeta {
        resource_version: listed.revision.to_string(),
        continue_: continuation.map(|continuation| continuation.token(namespace)),
        remaining: remaining.and_then(|count| u64::try_from(count).ok()),
    }
}

/// Carries a token for the rest in its present state, for a later page.
fn too_old(page: &Page, now: u64, namespace: Option<&str>) -> Refusal {
    let Some(after) = &page.after else {
        let requested = page.at.unwrap_or_default();
        return Refusal::expired(format!(
            "The resourceVersion for the provided list is too old. ({requested} < {now})"
        ));
    };
    let token = Continuation {
        revision: None,
        after: after.clone(),
    };
    let message = "The provided continue parameter is too old to display a consistent list result. You can start a new \
                   list without the continue parameter, or use the continue token in this response to retrieve the \
                   remainder of the results. Continuing with the provided token results in an inconsistent list - \
                   objects that were created, modified, or deleted between the time the first chunk was returned and now \
                   may show up in the list.";
    Refusal {
        continue_: Some(token.token(namespace).into()),
        ..Refusal::expired(message)
    }
}
