//! Parts of `metadata` that verbs read and set.

use serde_json::{Map, Value};

/// Finalizer of an owner that waits for its dependents' deletion.
pub const FOREGROUND: &str = "foregroundDeletion";
/// Finalizer of an owner whose dependents stay.
pub const ORPHAN: &str = "orphan";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    pub api_version: String,
    pub kind: String,
    pub name: String,
    pub uid: String,
    pub blocks: bool,
}

#[must_use]
pub fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

#[must_use]
pub fn name(object: &Value) -> &str {
    text(object, "/metadata/name")
}

#[must_use]
pub fn namespace(object: &Value) -> &str {
    text(object, "/metadata/namespace")
}

#[must_use]
pub fn uid(object: &Value) -> &str {
    text(object, "/metadata/uid")
}

#[must_use]
pub fn resource_version(object: &Value) -> &str {
    text(object, "/metadata/resourceVersion")
}

#[must_use]
pub fn is_deleting(object: &Value) -> bool {
    !text(object, "/metadata/deletionTimestamp").is_empty()
}

#[must_use]
pub fn finalizers(object: &Value) -> Vec<&str> {
    let found = object.pointer("/metadata/finalizers").and_then(Value::as_array);
    found.into_iter().flatten().filter_map(Value::as_str).collect()
}

pub fn set_finalizers(object: &mut Value, finalizers: &[String]) {
    let metadata = metadata_mut(object);
    if finalizers.is_empty() {
        metadata.remove("finalizers");
    } else {
        metadata.insert("finalizers".to_owned(), finalizers.into());
    }
}

#[must_use]
pub fn owners(object: &Value) -> Vec<Owner> {
    let found = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    let owner = |reference: &Value| Owner {
        api_version: text(reference, "/apiVersion").to_owned(),
        kind: text(reference, "/kind").to_owned(),
        name: text(reference, "/name").to_owned(),
        uid: text(reference, "/uid").to_owned(),
        blocks: reference.get("blockOwnerDeletion") == Some(&Value::Bool(true)),
    };
    found.into_iter().flatten().map(owner).collect()
}

pub fn remove_owners(object: &mut Value, gone: impl Fn(&str) -> bool) {
    let metadata = metadata_mut(object);
    let Some(references) = metadata.get_mut("ownerReferences").and_then(Value::as_array_mut) else {
        return;
    };
    references.retain(|reference| !gone(text(reference, "/uid")));
    if references.is_empty() {
        metadata.remove("ownerReferences");
    }
}

pub fn block_no_owner(object: &mut Value) {
    let references = metadata_mut(object).get_mut("ownerReferences");
    for reference in references.and_then(Value::as_array_mut).into_iter().flatten() {
        if reference.get("blockOwnerDeletion") == Some(&Value::Bool(true)) {
            put(map_mut(reference), "blockOwnerDeletion", Some(false.into()));
        }
    }
}

pub fn metadata_mut(object: &mut Value) -> &mut Map<String, Value> {
    map_mut(
        map_mut(object)
            .entry("metadata")
            .or_insert_with(|| Value::Object(Map::new())),
    )
}

pub fn map_mut(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut().expect("it was made a map above")
}

pub fn put(map: &mut Map<String, Value>, key: &str, value: Option<Value>) {
    match value {
        Some(value) => map.insert(key.to_owned(), value),
        None => map.remove(key),
    };
}
