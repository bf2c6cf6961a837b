//! The page's feed: one document, and then what changed in it.

use super::document::{About, Documents};
use super::reading::ObjectsSnapshot;
use crate::live::clock::Now;
use crate::live::fleet_feed::FleetSnapshot;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures::stream::{self, Stream};
use serde_json::{Map, Value};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

/// From one document to the next.
const EVERY: Duration = Duration::from_secs(1);

/// A comment is sent after so long without a change, so that a dead connection is noticed.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// Makes the documents, for as long as this runs.
pub async fn build(
    about: About,
    mut fleet: watch::Receiver<FleetSnapshot>,
    mut objects: watch::Receiver<ObjectsSnapshot>,
    documents: watch::Sender<Arc<Value>>,
) {
    let mut made = Documents::new(about);
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let (fleet, objects) = (fleet.borrow_and_update().clone(), objects.borrow_and_update().clone());
        let document = made.next(&fleet, &objects, Now::read());
        documents.send_if_modified(|now| {
            let changed = **now != document;
            if changed {
                *now = Arc::new(document);
            }
            changed
        });
    }
}

/// The events for one page, until it goes or this ends.
pub fn events(
    documents: watch::Receiver<Arc<Value>>,
    ending: CancellationToken,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let events = stream::unfold((documents, None::<Arc<Value>>), move |(mut documents, sent)| {
        let ending = ending.clone();
        async move {
            loop {
                if sent.is_some() {
                    tokio::select! {
                        changed = documents.changed() => changed.ok()?,
                        () = ending.cancelled() => return None,
                    }
                }
                let now = Arc::clone(&documents.borrow_and_update());
                let (name, data) = match &sent {
                    None => ("snapshot", Some(now.to_string())),
                    Some(before) => ("changes", patch(before, &now).map(|patch| patch.to_string())),
                };
                if let Some(data) = data {
                    let event = Event::default().event(name).data(data);
                    return Some((Ok(event), (documents, Some(now))));
                }
            }
        }
    });
    Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE))
}

/// What makes `now` of `before`; `None` if they are the same. Neither may have a null outside of arrays, which a merge patch cannot say.
pub fn patch(before: &Value, now: &Value) -> Option<Value> {
    if before == now {
        return None;
    }
    let (Value::Object(before), Value::Object(now)) = (before, now) else {
        return Some(now.clone());
    };
    let mut changes = Map::new();
    for (name, value) in now {
        let change = match before.get(name) {
            Some(before) => patch(before, value),
            None => Some(value.clone()),
        };
        if let Some(change) = change {
            changes.insert(name.clone(), change);
        }
    }
    for name in before.keys().filter(|name| !now.contains_key(*name)) {
        changes.insert(name.clone(), Value::Null);
    }
    Some(Value::Object(changes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// As RFC 7396 has it.
    fn apply(to: &mut Value, patch: &Value) {
        let Value::Object(patch) = patch else {
            *to = patch.clone();
            return;
        };
        if !to.is_object() {
            *to = json!({});
        }
        let object = to.as_object_mut().unwrap();
        for (name, value) in patch {
            if value.is_null() {
                object.remove(name);
            } else {
                apply(object.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
    }

    #[test]
    fn a_patch_says_what_changed_and_nothing_else() {
        let before = json!({"vehicles": {"a": {"battery": 80, "mode": "GUIDED", "at": [1, 2]}, "b": {"battery": 3}}, "about": {"x": 1}});
        let now = json!({"vehicles": {"a": {"battery": 79, "at": [1, 3]}, "c": {"battery": 9}}, "about": {"x": 1}});
        let changes = patch(&before, &now).unwrap();
        assert_eq!(
            changes,
            json!({"vehicles": {"a": {"battery": 79, "mode": null, "at": [1, 3]}, "b": null, "c": {"battery": 9}}})
        );
        let mut applied = before.clone();
        apply(&mut applied, &changes);
        assert_eq!(applied, now);
        assert_eq!(patch(&now, &now), None);
    }
}
