//! Rules of `metadata` for all kinds, and what an update cannot change; types are in [`super::object_meta`].

pub mod names;

use super::cause;
use crate::refusal::Cause;
use names::NameRule;
use serde_json::Value;
use std::collections::HashSet;

/// Keys and values together, in bytes.
const ANNOTATIONS_LIMIT: i64 = 256 * 1024;
pub const STANDARD_FINALIZERS: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

#[must_use]
pub fn text<'a>(meta: &'a Value, key: &str) -> &'a str {
    meta.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[must_use]
pub fn list<'a>(meta: &'a Value, pointer: &str) -> &'a [Value] {
    meta.pointer(pointer)
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

fn finalizers(meta: &Value) -> Vec<&str> {
    list(meta, "/finalizers").iter().filter_map(Value::as_str).collect()
}

fn added<'a>(meta: &'a Value, old: Option<&Value>) -> Vec<&'a str> {
    let before: HashSet<&str> = old.map(finalizers).unwrap_or_default().into_iter().collect();
    let mut new = finalizers(meta);
    new.retain(|each| !before.contains(each));
    new.sort_unstable();
    new.dedup();
    new
}

/// Rules that need no other object.
#[must_use]
pub fn check(meta: &Value, rule: NameRule, namespaced: bool) -> Vec<Cause> {
    let mut causes = Vec::new();
    let prefix = text(meta, "generateName");
    if !prefix.is_empty() {
        wrong("metadata.generateName", prefix, rule.check(prefix, true), &mut causes);
    }
    match text(meta, "name") {
        "" => causes.push(cause::required("metadata.name", "name or generateName is required")),
        name => wrong("metadata.name", name, rule.check(name, false), &mut causes),
    }
    let namespace = text(meta, "namespace");
    match (namespaced, namespace) {
        (true, "") => causes.push(cause::required("metadata.namespace", "")),
        (true, _) => wrong(
            "metadata.namespace",
            namespace,
            NameRule::Label.check(namespace, false),
            &mut causes,
        ),
        (false, "") => {}
        (false, _) => causes.push(cause::forbidden("metadata.namespace", "not allowed on this type")),
    }
    let generation = meta.get("generation").and_then(Value::as_i64).unwrap_or_default();
    if generation < 0 {
        let detail = "must be greater than or equal to 0";
        causes.push(cause::invalid("metadata.generation", &generation.into(), detail));
    }
    labels(meta, &mut causes);
    annotations(meta, &mut causes);
    owners(meta, &mut causes);
    check_finalizers(meta, &mut causes);
    managers(meta, &mut causes);
    causes
}

pub fn wrong(field: &str, value: &str, why: Option<&str>, causes: &mut Vec<Cause>) {
    causes.extend(why.map(|why| cause::invalid(field, &value.into(), why)));
}

fn labels(meta: &Value, causes: &mut Vec<Cause>) {
    for (key, value) in meta.get("labels").and_then(Value::as_object).into_iter().flatten() {
        let value = value.as_str().unwrap_or_default();
        wrong("metadata.labels", key, names::label_key(key), causes);
        wrong("metadata.labels", value, names::label_value(value), causes);
    }
}

fn annotations(meta: &Value, causes: &mut Vec<Cause>) {
    let mut size = 0;
    for (key, value) in meta.get("annotations").and_then(Value::as_object).into_iter().flatten() {
        size += key.len() + value.as_str().unwrap_or_default().len();
        wrong(
            "metadata.annotations",
            key,
            names::label_key(&key.to_lowercase()),
            causes,
        );
    }
    if i64::try_from(size).map_or(true, |size| size > ANNOTATIONS_LIMIT) {
        causes.push(cause::too_long("metadata.annotations", ANNOTATIONS_LIMIT));
    }
}

fn owners(meta: &Value, causes: &mut Vec<Cause>) {
    const FIELD: &str = "metadata.ownerReferences";
    let all = list(meta, "/ownerReferences");
    for owner in all {
        let version = text(owner, "apiVersion").rsplit('/').next().unwrap_or_default();
        let named = ["kind", "name", "uid"].map(|key| (key, text(owner, key)));
        for (key, _) in [("apiVersion", version)]
            .iter()
            .chain(&named)
            .filter(|(_, text)| text.is_empty())
        {
            let value = text(owner, key).into();
            causes.push(cause::invalid(format!("{FIELD}.{key}"), &value, "must not be empty"));
        }
        if (text(owner, "apiVersion"), text(owner, "kind")) == ("v1", "Event") {
            causes.push(cause::invalid(FIELD, &Value::Null, "an Event cannot be an owner"));
        }
    }
    let controls = |owner: &&Value| owner.get("controller") == Some(&Value::Bool(true));
    if all.iter().filter(controls).count() > 1 {
        let detail = "only one of them can have controller set to true";
        causes.push(cause::invalid(FIELD, &Value::Null, detail));
    }
}

fn check_finalizers(meta: &Value, causes: &mut Vec<Cause>) {
    let all = finalizers(meta);
    for finalizer in &all {
        wrong("metadata.finalizers", finalizer, names::label_key(finalizer), causes);
    }
    if all.contains(&"orphan") && all.contains(&"foregroundDeletion") {
        let detail = "orphan and foregroundDeletion cannot both be set";
        causes.push(cause::invalid("metadata.finalizers", &Value::Null, detail));
    }
}

fn managers(meta: &Value, causes: &mut Vec<Cause>) {
    for (index, entry) in list(meta, "/managedFields").iter().enumerate() {
        let field = |key: &str| format!("metadata.managedFields[{index}].{key}");
        let allowed: [(&str, &[&str], &str); 2] = [
            ("operation", &["Apply", "Update"], "must be Apply or Update"),
            ("fieldsType", &["", "FieldsV1"], "must be FieldsV1"),
        ];
        for (key, allowed, detail) in allowed {
            let value = text(entry, key);
            let why = (!allowed.contains(&value)).then_some(detail);
            wrong(&field(key), value, why, causes);
        }
        for (key, max) in [("manager", 128), ("subresource", 256)] {
            if text(entry, key).len() > max {
                causes.push(cause::too_long(field(key), i64::try_from(max).unwrap_or(i64::MAX)));
            }
        }
    }
}

/// Restores generation, creation time, deletion once it is set, and a missing uid.
pub fn keep(meta: &mut Value, old: &Value) {
    let Some(fields) = meta.as_object_mut() else { return };
    let mut put = |key: &str, always: bool| match old.get(key) {
        Some(value) if always || !fields.contains_key(key) => {
            fields.insert(key.to_owned(), value.clone());
        }
        None if key == "generation" => {
            fields.remove(key);
        }
        _ => {}
    };
    put("generation", true);
    put("uid", false);
    put("creationTimestamp", true);
    put("deletionTimestamp", true);
    put("deletionGracePeriodSeconds", false);
}

#[must_use]
pub fn check_update(meta: &Value, old: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    if old.get("deletionTimestamp").is_some() {
        let new = added(meta, Some(old));
        if !new.is_empty() {
            let detail = format!(
                "none can be added while the object is being deleted: {}",
                new.join(", ")
            );
            causes.push(cause::forbidden("metadata.finalizers", &detail));
        }
    }
    for key in ["name", "namespace", "uid"] {
        if text(meta, key) != text(old, key) {
            let value = text(meta, key).into();
            causes.push(cause::invalid(format!("metadata.{key}"), &value, "field is immutable"));
        }
    }
    for key in ["creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        if meta.get(key) != old.get(key) {
            let value = meta.get(key).unwrap_or(&Value::Null);
            causes.push(cause::invalid(format!("metadata.{key}"), value, "field is immutable"));
        }
    }
    causes
}

#[must_use]
pub fn finalizer_warnings(meta: &Value, old: Option<&Value>) -> Vec<String> {
    let mut new = added(meta, old);
    new.retain(|each| !each.contains('/') && !STANDARD_FINALIZERS.contains(each));
    let warning =
        |finalizer: &str| format!("metadata.finalizers: {finalizer:?} should have a domain: example.com/name");
    new.into_iter().map(warning).collect()
}

#[cfg(test)]
mod tests;
