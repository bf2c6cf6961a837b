//! Life of Events: an hour, as in Kubernetes, and never more than a number of them.

use super::core::{Core, Kind, parsed};
use super::delete::remove;
use super::meta::text;
use super::options::DeleteOptions;
use crate::store::{Key, Object, Page};
use futures::{StreamExt, stream};
use jiff::{SignedDuration, Timestamp};
use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

const STORAGE: &str = "events";

const TOGETHER: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub age: Duration,
    /// Limit beyond which those first written are deleted.
    pub count: usize,
    pub sweep: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            age: Duration::from_secs(3600),
            count: 20_000,
            sweep: Duration::from_secs(60),
        }
    }
}

type Written = (Key, u64, Timestamp);

/// Wakes the sweep, so that a flood of Events does not wait for the next one.
pub(super) fn made(core: &Core, kind: &Kind) {
    if *kind.resource.storage == *STORAGE {
        core.event_made.notify_one();
    }
}

pub(super) async fn run(core: Arc<Core>, limits: Limits, stop: CancellationToken) {
    let mut known: HashMap<Key, (u64, Timestamp)> = HashMap::new();
    let flood = limits.count + limits.count / 8;
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = sleep(limits.sweep) => {}
            () = too_many(&core, flood) => {}
        }
        let now = Timestamp::now();
        let all = all(&core, &mut known, now);
        sweep(&core, over(all, limits, now), &stop).await;
    }
}

/// Spares Events written again since; ends at `stop`.
async fn sweep(core: &Core, going: Vec<(Key, u64)>, stop: &CancellationToken) {
    let Some(kind) = core.storing(STORAGE) else { return };
    let going = stream::iter(going).take_until(stop.cancelled());
    let deletions = going.map(|(key, revision)| async move {
        let options = DeleteOptions {
            resource_version: Some(revision.to_string()),
            ..DeleteOptions::default()
        };
        let done = remove(core, kind, &key, &options).await;
        (key, done)
    });
    let mut deletions = pin!(deletions.buffer_unordered(TOGETHER));
    while let Some((key, done)) = deletions.next().await {
        if let Err(refusal) = done
            && !matches!(refusal.code, 404 | 409)
        {
            tracing::warn!(?key, %refusal, "an old Event is not deleted yet");
            return;
        }
    }
}

async fn too_many(core: &Core, flood: usize) {
    loop {
        core.event_made.notified().await;
        if core.store.count(STORAGE, None) > flood {
            return;
        }
    }
}

fn all(core: &Core, known: &mut HashMap<Key, (u64, Timestamp)>, now: Timestamp) -> Vec<Written> {
    let listed = core.store.list(STORAGE, None, &Page::default(), |_| true);
    let objects = listed.map(|listed| listed.objects).unwrap_or_default();
    let mut still = HashMap::with_capacity(objects.len());
    let mut all = Vec::with_capacity(objects.len());
    for object in objects {
        let time = match known.get(&object.key) {
            Some((revision, time)) if *revision == object.revision => *time,
            Some(_) => now,
            None => last_written(&object, now),
        };
        still.insert(object.key.clone(), (object.revision, time));
        all.push((object.key.clone(), object.revision, time));
    }
    *known = still;
    all
}

/// Time by the Event's own fields; `now` without one, or for the future.
fn last_written(object: &Object, now: Timestamp) -> Timestamp {
    let Ok(value) = parsed(object) else { return now };
    let said = [
        "/metadata/creationTimestamp",
        "/lastTimestamp",
        "/series/lastObservedTime",
    ];
    let times = said.iter().filter_map(|at| text(&value, at).parse::<Timestamp>().ok());
    times.max().map_or(now, |time| time.min(now))
}

fn over(mut all: Vec<Written>, limits: Limits, now: Timestamp) -> Vec<(Key, u64)> {
    let age = SignedDuration::try_from(limits.age).unwrap_or(SignedDuration::MAX);
    all.sort_unstable_by_key(|(_, revision, _)| *revision);
    let excess = all.len().saturating_sub(limits.count);
    let old = |time: Timestamp| now.duration_since(time) > age;
    let going = all
        .into_iter()
        .enumerate()
        .filter(|(index, (_, _, time))| *index < excess || old(*time));
    going.map(|(_, (key, revision, _))| (key, revision)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Facts;
    use crate::verbs::tests::world::{EVENTS, world};
    use serde_json::json;

    fn names(going: &[(Key, u64)]) -> Vec<&str> {
        going.iter().map(|(key, _)| &*key.name).collect()
    }

    #[tokio::test]
    async fn an_event_that_was_written_again_stays_and_so_does_everything_at_the_end() {
        let world = world().await;
        let core = &world.api.core;
        let mut all = Vec::new();
        for name in ["a", "b", "c"] {
            let event = json!({"metadata": {"name": name}, "involvedObject": {"namespace": "default"}});
            let made = world.post(EVENTS, event).await.is(201);
            all.push((Key::new(STORAGE, "default", name), made.version()));
        }
        world.merge(&format!("{EVENTS}/b"), json!({"count": 2})).await.is(200);
        let ended = CancellationToken::new();
        ended.cancel();
        sweep(core, all.clone(), &ended).await;
        assert_eq!(world.get(EVENTS).await.names(), ["a", "b", "c"]);
        sweep(core, all, &CancellationToken::new()).await;
        assert_eq!(world.get(EVENTS).await.names(), ["b"]);
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).expect("a time")
    }

    fn event(name: &str, revision: u64, seconds: i64) -> Written {
        (Key::new(STORAGE, "field", name), revision, at(seconds))
    }

    fn limits(count: usize) -> Limits {
        Limits {
            count,
            ..Limits::default()
        }
    }

    #[test]
    fn an_event_goes_an_hour_after_it_was_last_written() {
        let all = || vec![event("old", 1, 0), event("young", 2, 1)];
        assert_eq!(names(&over(all(), limits(10), at(3600))), [""; 0]);
        assert_eq!(names(&over(all(), limits(10), at(3601))), ["old"]);
    }

    #[test]
    fn of_too_many_events_the_first_go() {
        let all = vec![event("c", 3, 0), event("a", 1, 0), event("b", 2, 0)];
        assert_eq!(names(&over(all, limits(1), at(1))), ["a", "b"]);
    }

    #[test]
    fn when_an_event_was_written_is_read_off_it() {
        let of = |json: &'static str| {
            let object = Object {
                key: Key::new(STORAGE, "field", "a"),
                revision: 1,
                json: bytes::Bytes::from_static(json.as_bytes()),
                facts: Facts::default(),
            };
            last_written(&object, at(0))
        };
        let time = |text: &str| text.parse::<Timestamp>().expect("a time");
        let both =
            r#"{"metadata":{"creationTimestamp":"2026-01-01T00:00:00Z"},"lastTimestamp":"2026-01-02T00:00:00Z"}"#;
        assert_eq!(of(both), time("2026-01-02T00:00:00Z"));
        assert_eq!(
            of(r#"{"series":{"lastObservedTime":"2026-01-03T00:00:00.000001Z"}}"#),
            time("2026-01-03T00:00:00.000001Z")
        );
        assert_eq!(of("{}"), at(0));
        assert_eq!(of(r#"{"lastTimestamp":"2099-01-01T00:00:00Z"}"#), at(0));
    }
}
