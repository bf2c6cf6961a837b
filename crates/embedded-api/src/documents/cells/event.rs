//! Cells of `kubectl get events`, for an Event in either of its two forms.

use super::super::age;
use super::{Cells, NAME, Title, name, or, text, title, wide};
use serde_json::Value;

pub(super) const CELLS: Cells = Cells {
    titles: &[
        title("Last Seen", "How long ago it was last seen."),
        title("Type", "Normal or Warning."),
        title("Reason", "Why, in one word."),
        title("Object", "What it is about."),
        wide("Subobject", "Which part of the object it is about."),
        wide("Source", "Who reports it."),
        title("Message", "What happened."),
        wide("First Seen", "How long ago it was first seen."),
        wide("Count", "How often it was seen."),
        Title { priority: 1, ..NAME },
    ],
    row: |event, now| {
        let (involved, said) = ("/involvedObject", "/message");
        let about = either(event, involved, "/regarding");
        let field = |pointer: &str| about.map_or("", |about| text(about, pointer));
        let moment = |core: &str, newer: &str| or(text(event, core), text(event, newer));
        let first = or(
            moment("/firstTimestamp", "/deprecatedFirstTimestamp"),
            text(event, "/eventTime"),
        );
        let last = or(moment("/lastTimestamp", "/deprecatedLastTimestamp"), first);
        let series = event.get("series").filter(|series| series.is_object());
        let last = series.map_or(last, |series| text(series, "/lastObservedTime"));
        let counted = match series {
            Some(series) => series.get("count").and_then(Value::as_i64).unwrap_or(0),
            None => either(event, "/count", "/deprecatedCount")
                .and_then(Value::as_i64)
                .filter(|&n| n != 0)
                .unwrap_or(1),
        };
        let message = either(event, said, "/note").and_then(Value::as_str).unwrap_or_default();
        vec![
            age::of(last, now).into(),
            text(event, "/type").into(),
            text(event, "/reason").into(),
            object(field("/kind"), field("/name")).into(),
            field("/fieldPath").into(),
            source(event).into(),
            message.trim().into(),
            age::of(first, now).into(),
            counted.into(),
            name(event),
        ]
    },
};

fn either<'a>(event: &'a Value, core: &str, newer: &str) -> Option<&'a Value> {
    event.pointer(core).or_else(|| event.pointer(newer))
}

fn object(kind: &str, name: &str) -> String {
    let kind = kind.to_lowercase();
    if name.is_empty() {
        kind
    } else {
        format!("{kind}/{name}")
    }
}

fn source(event: &Value) -> String {
    let old = either(event, "/source", "/deprecatedSource").unwrap_or(&Value::Null);
    let controller = either(event, "/reportingComponent", "/reportingController");
    let controller = controller.and_then(Value::as_str).unwrap_or_default();
    let component = or(text(old, "/component"), controller);
    let instance = or(text(old, "/host"), text(event, "/reportingInstance"));
    if instance.is_empty() {
        return component.to_owned();
    }
    format!("{component}, {instance}")
}

#[cfg(test)]
mod tests {
    use super::super::row;
    use super::*;
    use crate::kinds::event::from_core;
    use serde_json::json;

    fn both(event: &Value) -> Vec<Value> {
        let shown = row(CELLS, event);
        assert_eq!(
            row(CELLS, &from_core(event.clone())),
            shown,
            "both shapes look the same"
        );
        shown
    }

    #[test]
    fn an_event_counted_by_its_writer_shows_first_and_last_time() {
        let event = json!({
            "metadata": {"name": "e1"}, "involvedObject": {"kind": "Drone", "name": "d1", "fieldPath": "spec.x"},
            "reason": "Low", "message": "bat\nlow ", "source": {"component": "comp", "host": "h"}, "count": 3,
            "firstTimestamp": "2026-11-21T04:00:00Z", "lastTimestamp": "2026-11-21T05:00:00Z", "type": "Warning",
            "reportingComponent": "", "eventTime": null,
        });
        assert_eq!(
            Value::from(both(&event)),
            json!([
                "60m", "Warning", "Low", "drone/d1", "spec.x", "comp, h", "bat\nlow", "120m", 3, "e1"
            ])
        );
    }

    #[test]
    fn a_series_shows_when_it_last_occurred_and_how_often() {
        let event = json!({
            "metadata": {"name": "e2"}, "involvedObject": {"kind": "Drone", "name": "d1"}, "reason": "Low",
            "message": "hello", "source": {}, "firstTimestamp": null, "lastTimestamp": null, "type": "Normal",
            "eventTime": "2026-11-21T05:00:00.000000Z", "reportingComponent": "skein.dev/c", "reportingInstance": "c-1",
            "series": {"count": 4, "lastObservedTime": "2026-11-21T05:50:00.000000Z"},
        });
        assert_eq!(
            Value::from(both(&event)),
            json!([
                "10m",
                "Normal",
                "Low",
                "drone/d1",
                "",
                "skein.dev/c, c-1",
                "hello",
                "60m",
                4,
                "e2"
            ])
        );
    }

    #[test]
    fn an_event_without_times_occurred_once_at_an_unknown_time() {
        let event = json!({"metadata": {"name": "e3"}, "involvedObject": {"namespace": "x"}, "source": {}});
        assert_eq!(
            Value::from(both(&event)),
            json!(["<unknown>", "", "", "", "", "", "", "<unknown>", 1, "e3"])
        );
    }
}
