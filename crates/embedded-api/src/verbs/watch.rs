//! Following the changes of objects. A watcher that is too slow loses its watch, so that no other client waits.

mod frames;
mod session;
mod transition;

use super::answer;
use super::core::{Core, Kind};
use super::get::check_revision_exists;
use super::object_encoder::ObjectEncoder;
use super::options::ListOptions;
use super::selector::Selector;
use crate::documents::accept::Requested;
use crate::refusal::Refusal;
use crate::request::{Answer, ApiRequest};
use rand::RngExt;
use session::{Beginning, Session};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Changes that wait for a watcher, besides those in the store's history.
const WAITING: usize = 64;
/// A watch without a timeout lasts from this time to twice as long.
const SHORTEST: Duration = Duration::from_secs(1800);

/// Clocks cannot represent every later time.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// The watch itself reports a revision that is gone. Errors: 400 for bad selectors, 504 for a revision to come.
pub(super) fn watch(
    core: &Arc<Core>,
    kind: &Arc<Kind>,
    namespace: Option<&str>,
    options: &ListOptions,
    request: &ApiRequest,
    tasks: &TaskTracker,
    stop: &CancellationToken,
) -> Result<Answer, Refusal> {
    let encoder = ObjectEncoder::of(core, kind, request, Requested::Watch)?;
    let selector = Selector::of(options, &kind.resource)?;
    let beginning = beginning(options);
    if beginning != Beginning::After(options.revision.unwrap_or_default()) {
        check_revision_exists(core, options)?;
    }
    let random = rand::rng().random_range(0..SHORTEST.as_secs());
    let lasts = options
        .timeout
        .map_or(SHORTEST + Duration::from_secs(random), Duration::from_secs)
        .min(LONGEST);
    let (sender, frames) = mpsc::channel(WAITING);
    let session = Session {
        core: Arc::clone(core),
        kind: Arc::clone(kind),
        namespace: namespace.map(Into::into),
        encoder,
        selector,
        beginning,
        bookmarks: options.bookmarks,
        lasts,
        sender,
    };
    tasks.spawn(session.run(stop.clone()));
    Ok(answer::stream(frames))
}

fn beginning(options: &ListOptions) -> Beginning {
    match (options.initial_events, options.revision.unwrap_or(0)) {
        (Some(true), _) => Beginning::InitialEvents { end_bookmark: true },
        (None, 0) => Beginning::InitialEvents { end_bookmark: false },
        (Some(false), 0) => Beginning::Now,
        (_, revision) => Beginning::After(revision),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watch_begins_with_the_existing_objects_unless_it_names_a_revision() {
        let begin = |initial_events: Option<bool>, revision: Option<u64>| {
            beginning(&ListOptions {
                initial_events,
                revision,
                ..ListOptions::default()
            })
        };
        let there = |end_bookmark: bool| Beginning::InitialEvents { end_bookmark };
        assert_eq!(begin(None, None), there(false));
        assert_eq!(begin(None, Some(0)), there(false));
        assert_eq!(begin(None, Some(7)), Beginning::After(7));
        assert_eq!(begin(Some(true), None), there(true));
        assert_eq!(begin(Some(true), Some(7)), there(true));
        assert_eq!(begin(Some(false), None), Beginning::Now);
        assert_eq!(begin(Some(false), Some(7)), Beginning::After(7));
    }
}
