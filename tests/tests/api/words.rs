//! Transcripts without the words of refusals and warnings, which each server chooses for itself.

use serde_json::{Map, Value};
use std::collections::BTreeSet;

const ABOUT_FIELDS: [&str; 4] = ["unknown field", "duplicate field", "json patch unknown field", "line "];

pub fn without(value: Value) -> Value {
    match value {
        Value::Object(mut map) => {
            if map.get("kind").is_some_and(|kind| kind == "Status") {
                of_refusal(&mut map);
            }
            let fields = map.into_iter().map(|(key, value)| {
                let value = match (key.as_str(), value) {
                    ("stderr", Value::String(text)) => of_kubectl(&text).into(),
                    ("warning", Value::Array(all)) => all.iter().filter_map(Value::as_str).map(of_warning).collect(),
                    (_, value) => without(value),
                };
                (key, value)
            });
            Value::Object(fields.collect())
        }
        Value::Array(all) => all.into_iter().map(without).collect(),
        plain => plain,
    }
}

/// A real server reports causes in random order, and some of them twice.
fn of_refusal(status: &mut Map<String, Value>) {
    if status.get("status").is_none_or(|status| status != "Failure") {
        return;
    }
    if status.get("message").is_some_and(|message| message != "") {
        status.insert("message".to_owned(), "<text>".into());
    }
    let Some(Value::Array(causes)) = status.get_mut("details").and_then(|details| details.get_mut("causes")) else {
        return;
    };
    let word = |cause: &Value, key: &str| {
        cause[key]
            .as_str()
            .unwrap_or_default()
            .trim_start_matches('.')
            .to_owned()
    };
    let named = causes
        .iter()
        .map(|cause| format!("{} {}", word(cause, "reason"), word(cause, "field")));
    let named: BTreeSet<String> = named.collect();
    status["details"]["causes"] = Value::Object(named.into_iter().map(|cause| (cause, true.into())).collect());
}

fn of_kubectl(stderr: &str) -> String {
    let mut lines = Vec::new();
    for line in stderr.lines() {
        let cut = |end: &str| line.find(end).map(|at| format!("{} <text>", &line[..at + end.len()]));
        lines.push(match line {
            _ if line.starts_with("* ") => continue,
            _ if line.starts_with("Error from server") => cut(":").unwrap_or_default(),
            _ if line.starts_with("The ") => cut(" is invalid:").unwrap_or_else(|| line.to_owned()),
            _ => line.strip_prefix("Warning: ").map_or_else(
                || line.to_owned(),
                |warning| format!("Warning: {}", of_warning(warning)),
            ),
        });
    }
    lines.join("\n")
}

fn of_warning(warning: &str) -> &str {
    let text = warning.trim_start_matches("299 - \"");
    match ABOUT_FIELDS.iter().any(|start| text.starts_with(start)) {
        true => warning,
        false => "<warning>",
    }
}

#[test]
fn the_words_of_a_refusal_go_and_what_programs_read_stays() {
    let cause = |field: &str| serde_json::json!({"reason": "FieldValueInvalid", "field": field, "message": "words"});
    let status = serde_json::json!({"kind": "Status", "status": "Failure", "code": 422, "reason": "Invalid",
        "message": "words", "details": {"name": "a", "causes": [cause("spec.b"), cause(".spec.b"), cause("spec.a")]}});
    let bare = serde_json::json!({"kind": "Status", "status": "Failure", "code": 422, "reason": "Invalid",
        "message": "<text>", "details": {"name": "a",
            "causes": {"FieldValueInvalid spec.a": true, "FieldValueInvalid spec.b": true}}});
    assert_eq!(without(status), bare);
    let stderr = "The Swarm \"a\" is invalid: words\n* spec: words\nWarning: words\nWarning: unknown field \"x\"\n";
    let bare = "The Swarm \"a\" is invalid: <text>\nWarning: <warning>\nWarning: unknown field \"x\"";
    assert_eq!(of_kubectl(stderr), bare);
}
