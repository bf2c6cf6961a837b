//! An Event in its two forms: `v1`, in which Events are stored, and `events.k8s.io/v1`.

use serde_json::{Map, Value, json};

pub const GROUP: &str = "events.k8s.io";

const RENAMED: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
];

type Always = (&'static str, fn() -> Value);

const ALWAYS_IN_CORE: [Always; 7] = [
    ("involvedObject", empty),
    ("source", empty),
    ("firstTimestamp", null),
    ("lastTimestamp", null),
    ("eventTime", null),
    ("reportingComponent", text),
    ("reportingInstance", text),
];

const ALWAYS: [Always; 5] = [
    ("regarding", empty),
    ("deprecatedSource", empty),
    ("deprecatedFirstTimestamp", null),
    ("deprecatedLastTimestamp", null),
    ("eventTime", null),
];

/// `v1` has them even when they are empty.
const OMITTED_WHEN_EMPTY: [&str; 2] = ["reportingController", "reportingInstance"];

fn empty() -> Value {
    json!({})
}

fn null() -> Value {
    Value::Null
}

fn text() -> Value {
    "".into()
}

#[must_use]
pub fn to_core(event: Value) -> Value {
    let renamed = RENAMED.map(|(core, newer)| (newer, core));
    complete_core(rename(event, &renamed, "v1"))
}

#[must_use]
pub fn complete_core(event: Value) -> Value {
    fill(event, &ALWAYS_IN_CORE)
}

#[must_use]
pub fn from_core(event: Value) -> Value {
    let mut event = fill(rename(event, &RENAMED, "events.k8s.io/v1"), &ALWAYS);
    if let Some(fields) = event.as_object_mut() {
        for name in OMITTED_WHEN_EMPTY {
            if fields.get(name).is_some_and(|value| value == "") {
                fields.remove(name);
            }
        }
    }
    event
}

fn rename(event: Value, names: &[(&str, &str)], api_version: &str) -> Value {
    let Value::Object(fields) = event else {
        return event;
    };
    let called = |name: String| {
        let new = names.iter().find(|(from, _)| *from == name);
        new.map_or(name, |(_, to)| (*to).to_owned())
    };
    let mut renamed: Map<String, Value> = fields.into_iter().map(|(name, value)| (called(name), value)).collect();
    renamed.insert("apiVersion".to_owned(), api_version.into());
    Value::Object(renamed)
}

fn fill(mut event: Value, always: &[Always]) -> Value {
    if let Some(fields) = event.as_object_mut() {
        for (name, value) in always {
            fields.entry(*name).or_insert_with(value);
        }
    }
    event
}

#[cfg(test)]
mod tests {
    use super::*;

    fn core() -> Value {
        json!({
            "kind": "Event", "apiVersion": "v1", "metadata": {"name": "e1", "namespace": "x"},
            "involvedObject": {"kind": "Drone", "name": "d1"}, "reason": "Low", "message": "low", "type": "Warning",
            "source": {"component": "comp", "host": "h"}, "firstTimestamp": "2026-11-21T04:00:00Z",
            "lastTimestamp": "2026-11-21T05:00:00Z", "count": 3, "eventTime": null,
            "reportingComponent": "", "reportingInstance": "",
        })
    }

    #[test]
    fn an_old_event_is_served_in_the_newer_shape_with_its_deprecated_fields() {
        assert_eq!(
            from_core(core()),
            json!({
                "kind": "Event", "apiVersion": "events.k8s.io/v1", "metadata": {"name": "e1", "namespace": "x"},
                "regarding": {"kind": "Drone", "name": "d1"}, "reason": "Low", "note": "low", "type": "Warning",
                "deprecatedSource": {"component": "comp", "host": "h"},
                "deprecatedFirstTimestamp": "2026-11-21T04:00:00Z",
                "deprecatedLastTimestamp": "2026-11-21T05:00:00Z", "deprecatedCount": 3, "eventTime": null,
            })
        );
    }

    #[test]
    fn an_event_that_went_there_and_back_is_the_same() {
        assert_eq!(to_core(from_core(core())), core());
    }

    #[test]
    fn a_new_event_is_stored_with_its_series_and_its_controller() {
        let stored = to_core(json!({
            "kind": "Event", "apiVersion": "events.k8s.io/v1", "metadata": {"name": "e2"},
            "regarding": {"kind": "Drone"}, "note": "hello", "action": "Fly", "reason": "R", "type": "Normal",
            "eventTime": "2026-11-21T05:00:00.000000Z", "reportingController": "skein.dev/c",
            "reportingInstance": "c-1", "series": {"count": 4, "lastObservedTime": "2026-11-21T05:10:00.000000Z"},
        }));
        assert_eq!(
            stored,
            json!({
                "kind": "Event", "apiVersion": "v1", "metadata": {"name": "e2"},
                "involvedObject": {"kind": "Drone"}, "message": "hello", "action": "Fly", "reason": "R",
                "type": "Normal", "eventTime": "2026-11-21T05:00:00.000000Z", "reportingComponent": "skein.dev/c",
                "reportingInstance": "c-1",
                "series": {"count": 4, "lastObservedTime": "2026-11-21T05:10:00.000000Z"},
                "source": {}, "firstTimestamp": null, "lastTimestamp": null,
            })
        );
    }

    #[test]
    fn an_event_about_nothing_still_shows_what_every_event_shows() {
        let bare = json!({"kind": "Event", "apiVersion": "v1", "metadata": {"name": "e3"}});
        let complete = complete_core(bare);
        assert_eq!(complete["involvedObject"], json!({}));
        assert_eq!(complete["firstTimestamp"], Value::Null);
        assert_eq!(from_core(complete).get("reportingController"), None);
    }
}
