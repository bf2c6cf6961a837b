//! Rules of `metadata` that hold for all kinds.
//!
//! Owns: the rules and their messages, and what an update cannot change. Must not: read types (see
//! [`super::object_meta`]), know resource versions.

pub mod names;

use super::{cause, go};
use crate::refusal::Cause;
use names::NameRule;
use serde_json::Value;
use std::collections::HashSet;

/// Keys and values of annotations together, in bytes.
const ANNOTATIONS_LIMIT: i64 = 256 * 1024;
/// At most this many surplus controllers are reported: each report lists all owners.
const MOST_CONTROLLER_CAUSES: usize = 3;
/// Finalizers that need no domain.
pub const STANDARD_FINALIZERS: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

fn text<'a>(meta: &'a Value, key: &str) -> &'a str {
    meta.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(meta: &'a Value, key: &str) -> &'a [Value] {
    meta.get(key)
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

fn finalizers(meta: &Value) -> Vec<&str> {
    list(meta, "finalizers").iter().filter_map(Value::as_str).collect()
}

/// Finalizers that the old object does not have, in the order of their names.
fn added<'a>(meta: &'a Value, old: Option<&Value>) -> Vec<&'a str> {
    let before: HashSet<&str> = old.map(finalizers).unwrap_or_default().into_iter().collect();
    let mut new = finalizers(meta);
    new.retain(|each| !before.contains(each));
    new.sort_unstable();
    new.dedup();
    new
}

/// What is wrong with the `metadata` of an object, by the rules that need no other object. `namespaced` is whether
/// objects of its kind are in namespaces.
#[must_use]
pub fn check(meta: &Value, rule: NameRule, namespaced: bool) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut refuse = |field: &str, value: &str, messages: Vec<String>| {
        for message in messages {
            causes.push(cause::invalid(field, &value.into(), &message));
        }
    };
    let prefix = text(meta, "generateName");
    if !prefix.is_empty() {
        refuse("metadata.generateName", prefix, rule.check(prefix, true));
    }
    let name = text(meta, "name");
    refuse("metadata.name", name, rule.check(name, false));
    if name.is_empty() {
        let detail = "name or generateName is required";
        causes.retain(|cause| cause.field != "metadata.name");
        causes.push(cause::required("metadata.name", detail));
    }
    let namespace = text(meta, "namespace");
    match (namespaced, namespace.is_empty()) {
        (true, true) => causes.push(cause::required("metadata.namespace", "")),
        (true, false) => {
            for message in NameRule::Label.check(namespace, false) {
                causes.push(cause::invalid("metadata.namespace", &namespace.into(), &message));
            }
        }
        (false, false) => causes.push(cause::forbidden("metadata.namespace", "not allowed on this type")),
        (false, true) => {}
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

fn labels(meta: &Value, causes: &mut Vec<Cause>) {
    for (key, value) in meta.get("labels").and_then(Value::as_object).into_iter().flatten() {
        let value = value.as_str().unwrap_or_default();
        for message in names::label_key(key) {
            causes.push(cause::invalid("metadata.labels", &key.as_str().into(), &message));
        }
        for message in names::label_value(value) {
            causes.push(cause::invalid("metadata.labels", &value.into(), &message));
        }
    }
}

fn annotations(meta: &Value, causes: &mut Vec<Cause>) {
    let mut size = 0;
    for (key, value) in meta.get("annotations").and_then(Value::as_object).into_iter().flatten() {
        size += key.len() + value.as_str().unwrap_or_default().len();
        for message in names::label_key(&key.to_lowercase()) {
            causes.push(cause::invalid("metadata.annotations", &key.as_str().into(), &message));
        }
    }
    if i64::try_from(size).map_or(true, |size| size > ANNOTATIONS_LIMIT) {
        causes.push(cause::too_long("metadata.annotations", ANNOTATIONS_LIMIT));
    }
}

fn owners(meta: &Value, causes: &mut Vec<Cause>) {
    const FIELD: &str = "metadata.ownerReferences";
    let all = list(meta, "ownerReferences");
    let mut controller: Option<String> = None;
    let mut further = 0;
    for owner in all {
        let api_version = text(owner, "apiVersion");
        let version = api_version.rsplit('/').next().unwrap_or_default();
        let mut missing = |key: &str, detail: &str| {
            let value = text(owner, key).into();
            causes.push(cause::invalid(format!("{FIELD}.{key}"), &value, detail));
        };
        if version.is_empty() {
            missing("apiVersion", "version must not be empty");
        }
        for key in ["kind", "name", "uid"] {
            if text(owner, key).is_empty() {
                missing(key, "must not be empty");
            }
        }
        if (api_version, text(owner, "kind")) == ("v1", "Event") {
            let detail = "/v1, Kind=Event is disallowed from being an owner";
            causes.push(cause::invalid_shown(FIELD, &owner_shown(owner), detail));
        }
        if owner.get("controller") == Some(&Value::Bool(true)) {
            let this = format!("{}/{}", text(owner, "kind"), text(owner, "name"));
            let Some(first) = &controller else {
                controller = Some(this);
                continue;
            };
            further += 1;
            if further > MOST_CONTROLLER_CAUSES {
                continue;
            }
            let shown: Vec<String> = all.iter().map(owner_shown).collect();
            let detail = format!(
                "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {this}"
            );
            causes.push(cause::invalid_shown(FIELD, &format!("[{}]", shown.join(",")), &detail));
        }
    }
}

/// An owner as the API prints it: fields in the order of its type.
fn owner_shown(owner: &Value) -> String {
    let named =
        ["apiVersion", "kind", "name", "uid"].map(|key| format!("\"{key}\":{}", go::json(&text(owner, key).into())));
    let flags = ["controller", "blockOwnerDeletion"].into_iter().filter_map(|key| {
        let flag = owner.get(key)?.as_bool()?;
        Some(format!("\"{key}\":{flag}"))
    });
    let parts: Vec<String> = named.into_iter().chain(flags).collect();
    format!("{{{}}}", parts.join(","))
}

fn check_finalizers(meta: &Value, causes: &mut Vec<Cause>) {
    let all = finalizers(meta);
    for finalizer in &all {
        for message in names::label_key(finalizer) {
            causes.push(cause::invalid("metadata.finalizers", &(*finalizer).into(), &message));
        }
    }
    if all.contains(&"orphan") && all.contains(&"foregroundDeletion") {
        let detail = "finalizer orphan and foregroundDeletion cannot be both set";
        causes.push(cause::invalid("metadata.finalizers", &Value::from(all), detail));
    }
}

fn managers(meta: &Value, causes: &mut Vec<Cause>) {
    for (index, entry) in list(meta, "managedFields").iter().enumerate() {
        let field = |key: &str| format!("metadata.managedFields[{index}].{key}");
        if !["Apply", "Update"].contains(&text(entry, "operation")) {
            let value = text(entry, "operation").into();
            causes.push(cause::invalid(
                field("operation"),
                &value,
                "must be `Apply` or `Update`",
            ));
        }
        if !["", "FieldsV1"].contains(&text(entry, "fieldsType")) {
            let value = text(entry, "fieldsType").into();
            causes.push(cause::invalid(field("fieldsType"), &value, "must be `FieldsV1`"));
        }
        if text(entry, "manager").len() > 128 {
            causes.push(cause::too_long(field("manager"), 128));
        }
        if text(entry, "subresource").len() > 256 {
            causes.push(cause::too_long(field("subresource"), 256));
        }
    }
}

/// Restores what no update can change: generation, creation time, and, once it is set, deletion. A missing uid is the old
/// one.
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

/// What is wrong with the `metadata` of an update, by the rules that need the previous object.
#[must_use]
pub fn check_update(meta: &Value, old: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    if old.get("deletionTimestamp").is_some() {
        let new = added(meta, Some(old));
        if !new.is_empty() {
            let new: Vec<String> = new.into_iter().map(go::quoted).collect();
            let detail = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
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

/// Warnings about finalizers that were added without a domain.
#[must_use]
pub fn finalizer_warnings(meta: &Value, old: Option<&Value>) -> Vec<String> {
    let mut new = added(meta, old);
    new.retain(|each| !each.contains('/') && !STANDARD_FINALIZERS.contains(each));
    let warning = |finalizer: &str| {
        let path = if finalizer.contains('.') {
            " including a path (/)"
        } else {
            ""
        };
        format!(
            "metadata.finalizers: {}: prefer a domain-qualified finalizer name{path} to avoid accidental conflicts with \
             other finalizer writers",
            go::quoted(finalizer)
        )
    };
    new.into_iter().map(warning).collect()
}

#[cfg(test)]
mod tests;
