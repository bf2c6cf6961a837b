//! Rules of Events, in both of their forms.
//!
//! Owns: what an Event must contain, and what an update of one may not change. Must not: convert between the forms.
//!
//! An Event of the old form only has to be about an object in its own namespace. An Event of the new form, which has an
//! `eventTime`, names its reporter. The group `events.k8s.io` accepts the new form only; only the series may change.

use super::{push_invalid, text};
use crate::refusal::Cause;
use crate::resource::Resource;
use crate::schema::{cause, go, metadata::names};
use serde_json::Value;

/// Namespaces in which an Event may be about an object without a namespace.
const FOR_ALL: [&str; 2] = ["default", "kube-system"];
/// The longest note, in bytes.
const LONGEST_NOTE: usize = 1024;
/// The longest action, reason and name of a reporter, in bytes.
const LONGEST_TEXT: usize = 128;

/// The names of an Event's fields in its form.
struct Names {
    about: &'static str,
    reporter: &'static str,
    note: &'static str,
    source: &'static str,
    first: &'static str,
    last: &'static str,
    count: &'static str,
}

const CORE: Names = Names {
    about: "involvedObject",
    reporter: "reportingComponent",
    note: "message",
    source: "source",
    first: "firstTimestamp",
    last: "lastTimestamp",
    count: "count",
};

const NEWER: Names = Names {
    about: "regarding",
    reporter: "reportingController",
    note: "note",
    source: "deprecatedSource",
    first: "deprecatedFirstTimestamp",
    last: "deprecatedLastTimestamp",
    count: "deprecatedCount",
};

/// What is wrong with an Event; `old` is its previous state, on an update.
pub(super) fn check(resource: &Resource, event: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let newer = resource.group == "events.k8s.io";
    let names = if newer { &NEWER } else { &CORE };
    required_fields(names, event, causes);
    match old {
        _ if !newer => {}
        None => is_new(names, event, causes),
        Some(old) => check_immutable(names, event, old, causes),
    }
}

fn something<'a>(event: &'a Value, key: &str) -> Option<&'a Value> {
    event.get(key).filter(|value| !value.is_null())
}

fn required_fields(names: &Names, event: &Value, causes: &mut Vec<Cause>) {
    let about = event.get(names.about).map_or("", |about| text(about, "namespace"));
    let own = event.get("metadata").map_or("", |metadata| text(metadata, "namespace"));
    let is_new = something(event, "eventTime").is_some();
    let elsewhere = match (about.is_empty(), is_new) {
        _ if own.is_empty() => false,
        (true, true) => !FOR_ALL.contains(&own),
        (true, false) => own != "default",
        (false, true) => false,
        (false, false) => about != own,
    };
    if elsewhere {
        let detail = "does not match event.namespace";
        causes.push(cause::invalid("involvedObject.namespace", &about.into(), detail));
    }
    if !is_new {
        return;
    }
    let reporter = text(event, names.reporter);
    if reporter.is_empty() {
        causes.push(cause::required(names.reporter, ""));
    }
    push_invalid(causes, names.reporter, reporter, names::label_key(reporter));
    for key in ["reportingInstance", "action", "reason"] {
        let word = text(event, key);
        if word.is_empty() {
            causes.push(cause::required(key, ""));
        }
        at_most(LONGEST_TEXT, key, word, causes);
    }
    at_most(LONGEST_NOTE, "message", text(event, names.note), causes);
}

fn at_most(most: usize, field: &str, text: &str, causes: &mut Vec<Cause>) {
    if text.len() > most {
        let detail = format!("can have at most {most} characters");
        causes.push(cause::invalid(field, &"".into(), &detail));
    }
}

fn series(event: &Value, causes: &mut Vec<Cause>) {
    let Some(series) = something(event, "series") else {
        return;
    };
    if series.get("count").and_then(Value::as_i64).unwrap_or_default() < 2 {
        causes.push(cause::invalid("series.count", &"".into(), "should be at least 2"));
    }
    if something(series, "lastObservedTime").is_none() {
        causes.push(cause::required("series.lastObservedTime", ""));
    }
}

fn is_new(names: &Names, event: &Value, causes: &mut Vec<Cause>) {
    series(event, causes);
    if something(event, "eventTime").is_none() {
        causes.push(cause::required("eventTime", ""));
    }
    let type_ = text(event, "type");
    if !["Normal", "Warning"].contains(&type_) {
        let detail = format!("has invalid value: {type_}");
        causes.push(cause::invalid("type", &"".into(), &detail));
    }
    let source = event.get(names.source);
    let host = |key: &str| source.is_some_and(|source| !text(source, key).is_empty());
    let set = [
        ("firstTimestamp", something(event, names.first).is_some()),
        ("lastTimestamp", something(event, names.last).is_some()),
        (
            "count",
            event.get(names.count).and_then(Value::as_i64).unwrap_or_default() != 0,
        ),
        ("source", host("component") || host("host")),
    ];
    for (field, _) in set.iter().filter(|(_, set)| *set) {
        causes.push(cause::invalid(*field, &"".into(), "needs to be unset"));
    }
}

/// A field that does not change: its name in messages, its name in the Event, and how messages print it.
type Immutable<'a> = (&'static str, &'a str, fn(&Value) -> String);

fn check_immutable(names: &Names, event: &Value, old: &Value, causes: &mut Vec<Cause>) {
    if something(event, "series") != something(old, "series") {
        series(event, causes);
    }
    let immutable: [Immutable<'_>; 13] = [
        ("involvedObject", names.about, reference),
        ("reason", "reason", word),
        ("message", names.note, word),
        ("source", names.source, source),
        ("firstTimestamp", names.first, go::shown),
        ("lastTimestamp", names.last, go::shown),
        ("count", names.count, number),
        ("type", "type", word),
        ("eventTime", "eventTime", go::shown),
        ("action", "action", word),
        ("related", "related", reference),
        ("reportingController", names.reporter, word),
        ("reportingInstance", "reportingInstance", word),
    ];
    for (field, key, shown) in immutable {
        let [now, before] = [event, old].map(|event| shown(event.get(key).unwrap_or(&Value::Null)));
        if now != before {
            causes.push(cause::invalid_shown(field, &now, "field is immutable"));
        }
    }
}

fn word(value: &Value) -> String {
    go::quoted(value.as_str().unwrap_or_default())
}

fn number(value: &Value) -> String {
    value.as_i64().unwrap_or_default().to_string()
}

fn reference(value: &Value) -> String {
    if value.is_null() {
        return "null".to_owned();
    }
    let names = [
        ("Kind", "kind"),
        ("Namespace", "namespace"),
        ("Name", "name"),
        ("UID", "uid"),
        ("APIVersion", "apiVersion"),
        ("ResourceVersion", "resourceVersion"),
        ("FieldPath", "fieldPath"),
    ];
    written(value, &names)
}

fn source(value: &Value) -> String {
    written(value, &[("Component", "component"), ("Host", "host")])
}

/// An object with the names and the order of the API's own type.
fn written(value: &Value, names: &[(&str, &str)]) -> String {
    let field = |(shown, key): &(&str, &str)| format!("\"{shown}\":{}", go::json(&text(value, key).into()));
    let fields: Vec<String> = names.iter().map(field).collect();
    format!("{{{}}}", fields.join(","))
}
