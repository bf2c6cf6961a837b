//! The garbage collector: one task that checks objects whose owners or namespace are deleted, by [`verdict`] and
//! [`namespace`]. It starts from the present objects, so a restart at any point changes nothing: at first it checks
//! every object that has an owner or is being deleted, later those that a change affects.

mod act;
mod affected;
mod namespace;
mod verdict;
mod writes;

use super::core::Core;
use super::namespaces::STORAGE;
use crate::store::{Ended, Event, Key, Object, Page, Watch};
use affected::{Affected, affected};
use futures::stream::{self, BoxStream, SelectAll};
use futures::{FutureExt, StreamExt};
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

const TOGETHER: usize = 64;
const RETRY_AFTER: Duration = Duration::from_secs(2);

type Changes = SelectAll<BoxStream<'static, Result<Arc<Event>, Ended>>>;

#[derive(Default)]
struct Queue {
    now: BTreeSet<Key>,
    later: BTreeSet<Key>,
    retry_at: Option<Instant>,
}

pub(super) async fn run(core: Arc<Core>, stop: CancellationToken) {
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            ended = follow(&core) => match ended {
                Ended::Closed => return,
                Ended::Lagged { after } => tracing::info!(seen = after, "the garbage collector starts over from what is there"),
            },
        }
    }
}

async fn follow(core: &Arc<Core>) -> Ended {
    let since = core.store.revision();
    let mut changes = match changes(core, since) {
        Ok(changes) => changes,
        Err(ended) => return ended,
    };
    let mut queue = Queue::default();
    queue.now.extend(concerned(core));
    loop {
        while let Some(Some(change)) = changes.next().now_or_never() {
            match change {
                Ok(event) => queue.take(core, &event),
                Err(ended) => return ended,
            }
        }
        if queue.work(core).await {
            continue;
        }
        let retry = queue.retry_at.unwrap_or_else(Instant::now);
        tokio::select! {
            change = changes.next() => match change {
                Some(Ok(event)) => queue.take(core, &event),
                Some(Err(ended)) => return ended,
                None => return Ended::Closed,
            },
            () = sleep_until(retry), if queue.retry_at.is_some() => queue.retry(),
        }
    }
}

fn changes(core: &Core, since: u64) -> Result<Changes, Ended> {
    let mut all = SelectAll::new();
    for storage in core.storages() {
        let watch = core
            .store
            .watch(&storage, since)
            .map_err(|_| Ended::Lagged { after: since })?;
        let events = stream::unfold(Some(watch), |watch: Option<Watch>| async move {
            let mut watch = watch?;
            let event = watch.next().await;
            let rest = event.is_ok().then_some(watch);
            Some((event, rest))
        });
        all.push(events.boxed());
    }
    Ok(all)
}

/// Objects of the initial check: owned, being deleted, or in a namespace that is missing or being deleted.
fn concerned(core: &Core) -> Vec<Key> {
    let all = |storage: &str, keep: &dyn Fn(&Object) -> bool| -> Vec<Arc<Object>> {
        let listed = core.store.list(storage, None, &Page::default(), keep);
        listed.map(|listed| listed.objects).unwrap_or_default()
    };
    let namespaces: HashSet<Arc<str>> = all(STORAGE, &|namespace| !namespace.facts.deleting)
        .iter()
        .map(|each| Arc::clone(&each.key.name))
        .collect();
    let lost = |object: &Object| !object.key.namespace.is_empty() && !namespaces.contains(&object.key.namespace);
    let concerned = |object: &Object| object.facts.deleting || !object.facts.owners.is_empty() || lost(object);
    let storages = core.storages();
    let found = storages.iter().flat_map(|storage| all(storage, &concerned));
    found.map(|object| object.key.clone()).collect()
}

impl Queue {
    fn take(&mut self, core: &Core, event: &Event) {
        for affected in affected(event) {
            match affected {
                Affected::Object(key) => {
                    self.now.insert(key);
                }
                Affected::DependentsOf(uid) => {
                    let dependents = core.store.owned_by(&uid);
                    self.now.extend(dependents.iter().map(|object| object.key.clone()));
                }
                Affected::OwnersOf(object) => self.now.extend(act::owners(core, &object)),
            }
        }
    }

    async fn work(&mut self, core: &Arc<Core>) -> bool {
        let mut some = Vec::with_capacity(TOGETHER);
        while some.len() < TOGETHER
            && let Some(key) = self.now.pop_first()
        {
            some.push(key);
        }
        if some.is_empty() {
            return false;
        }
        let reconciles = some.into_iter().map(|key| async move {
            let done = act::reconcile(core, &key).await;
            (key, done)
        });
        let done: Vec<_> = stream::iter(reconciles).buffer_unordered(TOGETHER).collect().await;
        for (key, done) in done {
            if let Err(refusal) = done {
                tracing::warn!(?key, %refusal, "garbage is not collected yet");
                self.later.insert(key);
                self.retry_at.get_or_insert_with(|| Instant::now() + RETRY_AFTER);
            }
        }
        true
    }

    fn retry(&mut self) {
        self.retry_at = None;
        self.now.append(&mut self.later);
    }
}
