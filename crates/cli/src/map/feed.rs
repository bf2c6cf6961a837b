//! The page's feed: one document, then its changes.

use super::document::{About, Documents};
use super::reading::ObjectsSnapshot;
use super::vehicles::NUMBER;
use crate::live::clock::Now;
use crate::live::fleet_feed::FleetSnapshot;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures::stream::{self, Stream};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

/// Interval of documents, less `EARLY_DOCUMENT_LEAD` when something new comes.
pub const DOCUMENT_INTERVAL: Duration = Duration::from_secs(1);

const EARLY_DOCUMENT_LEAD: Duration = Duration::from_millis(200);

/// Silence before a comment is sent, so that a dead connection is noticed.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(10);

/// Values that change with nearly every report, in the order of a row of `moves`, and their steps in a unit.
const MOVING: [(&str, f64); 7] = [
    ("longitudeDegrees", 1e7),
    ("latitudeDegrees", 1e7),
    ("altitudeAmslMeters", 10.0),
    ("altitudeAboveHomeMeters", 10.0),
    ("courseDegrees", 1.0),
    ("speedMetersPerSecond", 10.0),
    ("headingDegrees", 1.0),
];

/// Document with the change from its predecessor, serialized once for all pages.
#[derive(Debug, Default)]
pub struct Edition {
    document: Value,
    number: u64,
    changes: Option<String>,
}

impl From<Value> for Edition {
    fn from(document: Value) -> Self {
        Self {
            document,
            ..Self::default()
        }
    }
}

impl Edition {
    fn next(&self, document: Value) -> Option<Self> {
        let changes = changes(&self.document, &document)?;
        Some(Self {
            document,
            number: self.number + 1,
            changes: Some(changes.to_string()),
        })
    }

    fn since(&self, sent: &Self) -> Option<Cow<'_, str>> {
        match &self.changes {
            Some(changes) if self.number == sent.number + 1 => Some(Cow::Borrowed(changes.as_str())),
            _ => changes(&sent.document, &self.document).map(|changes| Cow::Owned(changes.to_string())),
        }
    }
}

pub async fn build(
    about: About,
    mut fleet: watch::Receiver<FleetSnapshot>,
    mut objects: watch::Receiver<ObjectsSnapshot>,
    documents: watch::Sender<Arc<Edition>>,
) {
    let mut made = Documents::new(about);
    let (mut earliest, mut due) = (Instant::now(), Instant::now());
    loop {
        tokio::select! {
            () = sleep_until(due) => {}
            () = async {
                sleep_until(earliest).await;
                // Fails when nobody follows the fleet any more, just before the end.
                let _ = fleet.changed().await;
            } => {}
        }
        let now = Instant::now();
        (earliest, due) = (
            now + DOCUMENT_INTERVAL.saturating_sub(EARLY_DOCUMENT_LEAD),
            now + DOCUMENT_INTERVAL,
        );
        let (fleet, objects) = (fleet.borrow_and_update().clone(), objects.borrow_and_update().clone());
        let before = Arc::clone(&documents.borrow());
        if let Some(next) = before.next(made.next(&fleet, &objects, Now::read())) {
            documents.send_replace(Arc::new(next));
        }
    }
}

pub fn events(
    documents: watch::Receiver<Arc<Edition>>,
    ending: CancellationToken,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let events = stream::unfold((documents, None::<Arc<Edition>>), move |(mut documents, sent)| {
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
                let event = match &sent {
                    None => Some(Event::default().event("snapshot").data(now.document.to_string())),
                    Some(sent) => now.since(sent).map(|data| Event::default().event("changes").data(data)),
                };
                if let Some(event) = event {
                    return Some((Ok(event), (documents, Some(now))));
                }
            }
        }
    });
    Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE_INTERVAL))
}

/// A merge patch, with `moves` beside it: rows of numbers for vehicles that moved. `None` for no change.
fn changes(before: &Value, now: &Value) -> Option<Value> {
    let mut changes = patch(before, now)?;
    let moves = changes.get_mut("vehicles").and_then(Value::as_object_mut);
    let moves = moves.map_or_else(Vec::new, |vehicles| take_moves(vehicles, &now["vehicles"]));
    if let Some(all) = changes.as_object_mut().filter(|_| !moves.is_empty()) {
        if all.get("vehicles") == Some(&Value::Object(Map::new())) {
            all.remove("vehicles");
        }
        all.insert("moves".to_owned(), Value::Array(moves));
    }
    Some(changes)
}

/// Takes rows out of the patch of `vehicles`, except for a vehicle that has just come or lost its place.
fn take_moves(vehicles: &mut Map<String, Value>, now: &Value) -> Vec<Value> {
    let mut moves = Vec::new();
    vehicles.retain(|id, change| {
        let Some(change) = change.as_object_mut() else {
            return true;
        };
        let moved = MOVING.iter().any(|(name, _)| change.contains_key(*name));
        if !moved || change.contains_key(NUMBER) {
            return true;
        }
        let Some(row) = now.get(id).and_then(Value::as_object).and_then(row) else {
            return true;
        };
        moves.push(row);
        change.retain(|name, _| MOVING.iter().all(|(moving, _)| moving != name));
        !change.is_empty()
    });
    moves
}

fn row(vehicle: &Map<String, Value>) -> Option<Value> {
    let [longitude, latitude, ..] = MOVING;
    if !vehicle.contains_key(longitude.0) || !vehicle.contains_key(latitude.0) {
        return None;
    }
    let mut row = vec![vehicle.get(NUMBER)?.clone()];
    for (name, steps) in MOVING {
        row.push(match vehicle.get(name) {
            Some(value) => json!(whole(value.as_f64()? * steps)),
            None => Value::Null,
        });
    }
    Some(Value::Array(row))
}

fn whole(steps: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "rounded; a cast saturates")]
    let whole = steps.round() as i64;
    whole
}

/// `None` for no change. A null outside of arrays is not allowed: a merge patch cannot express it.
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

    /// RFC 7396.
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

    /// As FEED.md demands of a page.
    fn page(document: &mut Value, mut changes: Value) {
        let moves = changes.as_object_mut().unwrap().remove("moves");
        apply(document, &changes);
        let vehicles = document["vehicles"].as_object_mut().unwrap();
        for row in moves.as_ref().and_then(Value::as_array).into_iter().flatten() {
            let moved = vehicles.values_mut().find(|vehicle| vehicle[NUMBER] == row[0]);
            let moved = moved.unwrap().as_object_mut().unwrap();
            for (at, (name, steps)) in MOVING.iter().enumerate() {
                match row[at + 1].as_f64() {
                    Some(value) => moved.insert((*name).to_owned(), json!(value / steps)),
                    None => moved.remove(*name),
                };
            }
        }
    }

    #[test]
    fn a_page_has_after_the_moves_what_the_document_says_to_the_last_digit() {
        let at = |number: u64, latitude: f64, longitude: f64| {
            json!({
                "number": number, "latitudeDegrees": latitude, "longitudeDegrees": longitude, "altitudeAmslMeters": 510.1,
                "altitudeAboveHomeMeters": -0.3, "courseDegrees": 90.0, "speedMetersPerSecond": 4.2, "mode": "GUIDED"
            })
        };
        let mut shown = json!({"vehicles": {"a": at(0, 47.397_700_1, 8.545_600_1), "b": at(1, -0.000_000_1, 179.999_999_9), "c": {"number": 2}}});
        let mut document = shown.clone();
        let mut next = |change: &dyn Fn(&mut Value)| {
            let before = document.clone();
            change(&mut document["vehicles"]);
            let sent = changes(&before, &document).unwrap();
            page(&mut shown, sent.clone());
            assert_eq!(shown, document, "{sent}");
            sent
        };
        let sent = next(&|vehicles| vehicles["a"]["latitudeDegrees"] = json!(47.397_700_2));
        assert_eq!(
            sent,
            json!({"moves": [[0, 85_456_001, 473_977_002, 5101, -3, 90, 42, null]]})
        );
        let sent = next(&|vehicles| {
            vehicles["b"]["mode"] = json!("AUTO");
            vehicles["b"]["speedMetersPerSecond"] = json!(0.0);
            vehicles["b"].as_object_mut().unwrap().remove("courseDegrees");
        });
        assert_eq!(
            sent,
            json!({"vehicles": {"b": {"mode": "AUTO"}}, "moves": [[1, 1_799_999_999, -1, 5101, -3, null, 0, null]]})
        );
        next(&|vehicles| vehicles["c"] = at(2, 1.234_567_8, 2.0));
        let sent = next(&|vehicles| {
            vehicles["a"].as_object_mut().unwrap().remove("latitudeDegrees");
        });
        assert_eq!(sent, json!({"vehicles": {"a": {"latitudeDegrees": null}}}));
        let sent = next(&|vehicles| {
            vehicles.as_object_mut().unwrap().remove("b");
            vehicles["d"] = at(3, 5.0, 6.0);
        });
        assert_eq!(sent.get("moves"), None, "{sent}");
    }

    #[test]
    fn a_fleet_that_moves_takes_less_than_half_of_its_patch() {
        let fleet = |north: f64| {
            let vehicle = |number: u32| {
                let (name, f) = (format!("drone/default/alpha-{number}"), f64::from(number));
                let latitude = super::super::vehicles::fine(47.0 + f / 1e4 + north);
                let moving = json!({"number": number, "latitudeDegrees": latitude, "longitudeDegrees": super::super::vehicles::fine(8.5 + f / 3e4 + north),
                    "altitudeAmslMeters": 510.1, "altitudeAboveHomeMeters": 30.0, "courseDegrees": (f + north * 1e7) % 360.0,
                    "headingDegrees": (f + north * 1e7) % 360.0, "speedMetersPerSecond": 4.2});
                (name, moving)
            };
            json!({"vehicles": (0..1_000).map(vehicle).collect::<Map<_, _>>()})
        };
        let (before, now) = (fleet(0.0), fleet(0.000_012_3));
        let plain = patch(&before, &now).unwrap().to_string().len();
        let rows = changes(&before, &now).unwrap().to_string().len();
        assert!(rows * 2 < plain, "{rows} of {plain} bytes");
    }

    #[test]
    fn what_changed_is_written_once_for_pages_that_follow_and_anew_for_one_that_is_late() {
        let document = |battery: u8| json!({"vehicles": {"a": {"batteryPercent": battery}}});
        let first = Edition::from(document(80));
        assert!(first.next(document(80)).is_none());
        let second = first.next(document(79)).unwrap();
        let third = second.next(document(78)).unwrap();
        let sent = |now: &Edition, before: &Edition| now.since(before).map(Cow::into_owned);
        let changed = |battery: u8| Some(document(battery).to_string());
        assert!(matches!(second.since(&first), Some(Cow::Borrowed(_))));
        assert_eq!(sent(&second, &first), changed(79));
        assert_eq!(sent(&third, &first), changed(78));
        assert_eq!(sent(&third, &third), None);
    }
}
