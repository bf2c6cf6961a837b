//! Answers of a real API server (1.36.3) to sequences of writes, replayed here.
//! In `recorded.json` each step is a write `by` a manager `at` a subresource, and what it `gives`; `owners` are the
//! paths of each entry, named by manager, operation and subresource, and marked if it has no time. Entries of the scale
//! subresource have a time here, and none in the recording.

use super::super::field_set::shown;
use super::super::managed::{Managed, Operation, set_json};
use super::super::{Writer, merge, track};
use crate::refusal::Refusal;
use crate::resource::Resource;
use crate::schema::{ListType, Schema, Type};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) fn widget() -> Resource {
    let texts = || Schema {
        additional: Some(Box::new(text())),
        ..of(Type::Object)
    };
    let tcp = Schema {
        default: Some(json!("TCP")),
        ..text()
    };
    let slot = object(vec![("name", text()), ("value", text()), ("extra", text())]);
    let port = object(vec![("port", of(Type::Integer)), ("protocol", tcp), ("note", text())]);
    let condition = object(vec![("type", text()), ("status", text()), ("reason", text())]);
    let spec = object(vec![
        ("replicas", of(Type::Integer)),
        ("text", text()),
        (
            "defaulted",
            Schema {
                default: Some(json!("given")),
                ..text()
            },
        ),
        (
            "nothing",
            Schema {
                nullable: true,
                ..text()
            },
        ),
        ("tags", texts()),
        (
            "deep",
            Schema {
                additional: Some(Box::new(texts())),
                ..of(Type::Object)
            },
        ),
        (
            "atomicMap",
            Schema {
                atomic_map: true,
                ..texts()
            },
        ),
        ("atomicList", list(text())),
        (
            "set",
            Schema {
                list: ListType::Set,
                ..list(text())
            },
        ),
        ("slots", keyed(&["name"], slot)),
        ("ports", keyed(&["port", "protocol"], port)),
        (
            "free",
            Schema {
                preserve_unknown: true,
                ..of(Type::Object)
            },
        ),
        ("either", Schema::default()),
        ("inner", object(vec![("a", text()), ("b", text())])),
    ]);
    let status = object(vec![
        ("replicas", of(Type::Integer)),
        ("phase", text()),
        ("conditions", keyed(&["type"], condition)),
    ]);
    Resource {
        group: "test.dev".into(),
        version: "v1".into(),
        plural: "widgets".into(),
        singular: "widget".into(),
        kind: "Widget".into(),
        list_kind: "WidgetList".into(),
        short_names: vec![],
        categories: vec![],
        namespaced: true,
        verbs: vec![],
        has_status: true,
        scale: None,
        columns: vec![],
        selectable_fields: vec![],
        schema: Arc::new(object(vec![("spec", spec), ("status", status)])),
        custom: true,
        storage: "widgets.test.dev".into(),
    }
}

pub(crate) fn of(type_: Type) -> Schema {
    Schema {
        type_: Some(type_),
        ..Schema::default()
    }
}

pub(crate) fn text() -> Schema {
    of(Type::String)
}

pub(crate) fn list(items: Schema) -> Schema {
    Schema {
        items: Some(Box::new(items)),
        ..of(Type::Array)
    }
}

pub(crate) fn keyed(keys: &[&str], items: Schema) -> Schema {
    let keys = keys.iter().map(|&key| key.to_owned()).collect();
    Schema {
        list: ListType::Map(keys),
        ..list(items)
    }
}

pub(crate) fn object(properties: Vec<(&str, Schema)>) -> Schema {
    let properties = properties.into_iter().map(|(name, schema)| (name.to_owned(), schema));
    Schema {
        properties: properties.collect(),
        ..of(Type::Object)
    }
}

pub(super) struct Write<'a> {
    pub op: &'a str,
    pub by: &'a str,
    pub at: Option<&'a str>,
    pub force: bool,
    pub body: &'a Value,
    pub now: &'a str,
}

pub(super) fn written(resource: &Resource, live: Option<&Value>, write: &Write<'_>) -> Result<Value, Refusal> {
    let writer = Writer {
        resource,
        manager: write.by,
        subresource: write.at,
        now: write.now,
    };
    let fresh = json!({"apiVersion": "test.dev/v1", "kind": "Widget", "metadata": {"name": "w"}});
    let mut new = match (write.op, live) {
        ("create", _) => {
            let mut new = fresh;
            fill(&mut new, write.body);
            track::update(None, defaulted(new), &writer)
        }
        ("merge", Some(live)) => {
            let mut new = live.clone();
            json_patch::merge(&mut new, write.body);
            track::update(Some(live), defaulted(new), &writer)
        }
        ("apply", _) => {
            let mut applied = fresh;
            fill(&mut applied, write.body);
            defaulted(merge::apply(live, &applied, &writer, write.force)?)
        }
        other => panic!("{other:?}"),
    };
    let restore = |new: &mut Value, name: &str| match live.and_then(|live| live.get(name)) {
        Some(value) => new[name] = value.clone(),
        None => {
            new.as_object_mut().unwrap().remove(name);
        }
    };
    if write.at == Some("status") {
        let entries = new["metadata"].get("managedFields").cloned();
        restore(&mut new, "metadata");
        restore(&mut new, "spec");
        set_json(
            &mut new,
            entries.as_ref().and_then(Value::as_array).cloned().unwrap_or_default(),
        );
    } else {
        restore(&mut new, "status");
    }
    if has_null(&new) {
        return Err(Refusal::new(422, "Invalid", "a null where the schema has none"));
    }
    Ok(new)
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(has_null),
        Value::Object(fields) => fields.iter().any(|(name, value)| match name.as_str() {
            "nothing" => false,
            "free" => value.is_null(),
            _ => has_null(value),
        }),
        _ => false,
    }
}

fn fill(object: &mut Value, body: &Value) {
    for (name, value) in body.as_object().unwrap() {
        match (name.as_str(), value) {
            ("metadata", Value::Object(fields)) => object["metadata"].as_object_mut().unwrap().extend(fields.clone()),
            _ => object[name] = value.clone(),
        }
    }
}

fn defaulted(mut object: Value) -> Value {
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        spec.entry("defaulted").or_insert(json!("given"));
        if spec.get("text").is_some_and(Value::is_null) {
            spec.remove("text");
        }
        for port in spec
            .get_mut("ports")
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            port.as_object_mut().unwrap().entry("protocol").or_insert(json!("TCP"));
        }
    }
    let metadata = object["metadata"].as_object_mut().unwrap();
    metadata.retain(|_, value| *value != json!({}) && *value != json!([]) && !value.is_null());
    object
}

fn owners(object: &Value) -> BTreeMap<String, Vec<String>> {
    let managed = Managed::of(object);
    let entry = |entry: &super::super::managed::Entry| {
        let operation = if entry.owner.operation == Operation::Apply {
            "Apply"
        } else {
            "Update"
        };
        let untimed = if entry.time.is_none() { "untimed" } else { "" };
        let words = [
            entry.owner.manager.as_str(),
            operation,
            &entry.owner.subresource,
            untimed,
        ];
        let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        let mut paths: Vec<String> = entry.fields.paths().iter().map(|path| shown(path)).collect();
        paths.sort();
        (words.join(" "), paths)
    };
    managed.iter().map(entry).collect()
}

fn bare(object: &Value) -> Value {
    let mut object: Map<String, Value> = object.as_object().unwrap().clone();
    object.retain(|name, _| !matches!(name.as_str(), "apiVersion" | "kind"));
    let metadata = object["metadata"].as_object_mut().unwrap();
    metadata.retain(|name, value| !matches!(name.as_str(), "name" | "managedFields") && !value.is_null());
    if metadata.is_empty() {
        object.remove("metadata");
    }
    Value::Object(object)
}

#[test]
fn sequences_of_writes_give_what_a_real_server_gave() {
    let sequences: Vec<Value> = serde_json::from_str(include_str!("recorded.json")).unwrap();
    let resource = widget();
    let mut wrong = Vec::new();
    for sequence in &sequences {
        let mut live: Option<Value> = None;
        for (index, step) in sequence["steps"].as_array().unwrap().iter().enumerate() {
            let now = format!("2026-01-01T00:{index:02}:00Z");
            let write = Write {
                op: step["op"].as_str().unwrap(),
                by: step["by"].as_str().unwrap(),
                at: step["at"].as_str(),
                force: step["force"] == true,
                body: &step["body"],
                now: &now,
            };
            let difference = |what: &str, got: String, want: String| {
                format!(
                    "{} #{index} {step}\n  {what}: got  {got}\n  {what}: want {want}",
                    sequence["name"]
                )
            };
            let before = live.as_ref().filter(|_| write.op != "create");
            match written(&resource, before, &write) {
                Ok(object) => {
                    if step["refused"].is_u64() {
                        wrong.push(difference("refusal", object.to_string(), step["refused"].to_string()));
                        continue;
                    }
                    if bare(&object) != step["gives"] {
                        wrong.push(difference(
                            "object",
                            bare(&object).to_string(),
                            step["gives"].to_string(),
                        ));
                    }
                    let (got, want) = (json!(owners(&object)), &step["owners"]);
                    if got != *want {
                        wrong.push(difference("owners", got.to_string(), want.to_string()));
                    }
                    live = Some(object);
                }
                Err(refusal) => {
                    if step["refused"] != refusal.code {
                        wrong.push(difference(
                            "refusal",
                            refusal.message.clone(),
                            step["refused"].to_string(),
                        ));
                    }
                    let causes = refusal.details["causes"].as_array().cloned().unwrap_or_default();
                    let mut got: Vec<&str> = causes.iter().filter_map(|cause| cause["field"].as_str()).collect();
                    got.sort_unstable();
                    let want: Vec<&str> = step["fields"]
                        .as_array()
                        .into_iter()
                        .flatten()
                        .filter_map(Value::as_str)
                        .collect();
                    if got != want {
                        wrong.push(difference("causes", format!("{got:?}"), format!("{want:?}")));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
