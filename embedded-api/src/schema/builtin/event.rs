//! Rules of Events, in both of their shapes.
//!
//! Owns: what an Event must say, and how much. Must not: convert between the shapes.
//!
//! An Event of the old form need only be about something in its own namespace. One of the new form, told by its `eventTime`,
//! says who reports what. The group `events.k8s.io` takes the new form only. A real server also lets nothing of it change but
//! the series, and wants an Event about what lives in no namespace in the default one; here that is left to the writer.

use super::{say, text};
use crate::refusal::Cause;
use crate::resource::Resource;
use crate::schema::{cause, metadata::names};
use serde_json::Value;

/// The longest note, in bytes.
const LONGEST_NOTE: usize = 1024;
/// The longest action, reason and name of a reporter, in bytes.
const LONGEST_WORD: usize = 128;

/// What the fields of an Event are called in its shape.
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

/// What is wrong with an Event; `old` is what it was, on an update.
pub(super) fn check(resource: &Resource, event: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let newer = resource.group == "events.k8s.io";
    let names = if newer { &NEWER } else { &CORE };
    says_enough(names, event, causes);
    match old {
        _ if !newer => {}
        None => is_new(names, event, causes),
        Some(old) => is_changed(event, old, causes),
    }
}

fn something<'a>(event: &'a Value, key: &str) -> Option<&'a Value> {
    event.get(key).filter(|value| !value.is_null())
}

fn says_enough(names: &Names, event: &Value, causes: &mut Vec<Cause>) {
    let about = event.get(names.about).map_or("", |about| text(about, "namespace"));
    let own = event.get("metadata").map_or("", |metadata| text(metadata, "namespace"));
    let is_new = something(event, "eventTime").is_some();
    if !is_new && !about.is_empty() && about != own {
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
    say(causes, names.reporter, reporter, names::label_key(reporter));
    for key in ["reportingInstance", "action", "reason"] {
        let word = text(event, key);
        if word.is_empty() {
            causes.push(cause::required(key, ""));
        }
        at_most(LONGEST_WORD, key, word, causes);
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

fn is_changed(event: &Value, old: &Value, causes: &mut Vec<Cause>) {
    if something(event, "series") != something(old, "series") {
        series(event, causes);
    }
}
