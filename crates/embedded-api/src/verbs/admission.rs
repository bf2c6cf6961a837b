//! Fields that the server sets on objects, and fields that a writer cannot change.

use super::meta::{self, map_mut, metadata_mut, put};
use crate::refusal::Refusal;
use crate::resource::Resource;
use crate::schema::defaults::fill;
use crate::schema::metadata::keep;
use serde_json::{Map, Value, json};

/// Unambiguous, and without vowels, so that no words arise.
const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
const GENERATED: usize = 5;
const LONGEST_GENERATED: usize = 63;
pub const NAMESPACE_FINALIZER: &str = "kubernetes";
pub const NAMESPACE_LABEL: &str = "kubernetes.io/metadata.name";

#[derive(Clone, Copy, Debug)]
pub struct ServerFields<'a> {
    pub namespace: Option<&'a str>,
    pub uid: &'a str,
    pub now: &'a str,
    pub random: u64,
}

pub fn set_server_fields(resource: &Resource, object: &mut Value, server_fields: &ServerFields<'_>) {
    let metadata = metadata_mut(object);
    put(metadata, "namespace", server_fields.namespace.map(Value::from));
    metadata.insert("uid".to_owned(), server_fields.uid.into());
    metadata.insert("creationTimestamp".to_owned(), server_fields.now.into());
    if resource.custom {
        metadata.insert("generation".to_owned(), 1.into());
    }
    if text_of(metadata, "name").is_empty() && !text_of(metadata, "generateName").is_empty() {
        let name = generated(text_of(metadata, "generateName"), server_fields.random);
        metadata.insert("name".to_owned(), name.into());
    }
    name_namespace(resource, object);
    if resource.custom && resource.has_status {
        put(map_mut(object), "status", first_status(resource));
    }
    if is_namespace(resource) {
        map_mut(object).insert("status".to_owned(), json!({"phase": "Active"}));
        let finalizers = map_mut(map_mut(object).entry("spec").or_insert_with(|| json!({})));
        finalizers.insert("finalizers".to_owned(), json!([NAMESPACE_FINALIZER]));
    }
}

fn first_status(resource: &Resource) -> Option<Value> {
    let schema = resource.schema.properties.get("status")?;
    let mut status = schema.default.clone()?;
    fill(&mut status, schema);
    Some(status)
}

/// Keeps what the writer may set, and adds what a kind always has.
pub fn normalize_new(resource: &Resource, object: &mut Value) {
    let metadata = metadata_mut(object);
    for name in [
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "selfLink",
        "generation",
    ] {
        metadata.remove(name);
    }
    name_namespace(resource, object);
}

fn name_namespace(resource: &Resource, object: &mut Value) {
    let name = meta::name(object).to_owned();
    if is_namespace(resource) && !name.is_empty() {
        let labels = map_mut(metadata_mut(object).entry("labels").or_insert_with(|| json!({})));
        labels.insert(NAMESPACE_LABEL.to_owned(), name.into());
    }
}

#[must_use]
pub fn is_namespace(resource: &Resource) -> bool {
    resource.group.is_empty() && resource.plural == "namespaces"
}

fn generated(start: &str, mut random: u64) -> String {
    let mut end = start.len().min(LONGEST_GENERATED - GENERATED);
    while !start.is_char_boundary(end) {
        end -= 1;
    }
    let mut name = start[..end].to_owned();
    let count = LETTERS.len() as u64;
    for _ in 0..GENERATED {
        let index = usize::try_from(random % count).unwrap_or_default();
        name.push(char::from(LETTERS[index]));
        random /= count;
    }
    name
}

/// Sets a missing namespace. Errors: 400 when name or namespace differ from the path.
pub fn match_path(
    resource: &Resource,
    object: &mut Value,
    namespace: Option<&str>,
    name: Option<&str>,
) -> Result<(), Refusal> {
    if let Some(name) = name {
        let given = meta::name(object);
        if given.is_empty() {
            let why = "name must be provided";
            let message = format!("the name of the object ({name} based on URL) was undeterminable: {why}");
            return Err(Refusal::bad_request(message));
        }
        if given != name {
            let message = format!("the name of the object ({given}) does not match the name on the URL ({name})");
            return Err(Refusal::bad_request(message));
        }
    }
    if !resource.namespaced {
        metadata_mut(object).remove("namespace");
        return Ok(());
    }
    let (given, namespace) = (meta::namespace(object), namespace.unwrap_or_default());
    if !given.is_empty() && given != namespace {
        let message = "the namespace of the provided object does not match the namespace sent on the request";
        return Err(Refusal::bad_request(message));
    }
    metadata_mut(object).insert("namespace".to_owned(), namespace.into());
    Ok(())
}

pub fn restore_fixed_fields(resource: &Resource, old: &Value, new: &mut Value, subresource: Option<&str>) {
    if subresource == Some("status") && resource.custom {
        let status = new.get("status").cloned();
        let managed = new.pointer("/metadata/managedFields").cloned();
        *new = old.clone();
        put(map_mut(new), "status", status);
        put(metadata_mut(new), "managedFields", managed);
    }
    let restored = match subresource {
        Some("status") => "spec",
        _ => "status",
    };
    if subresource.is_some() || resource.has_status {
        put(map_mut(new), restored, old.get(restored).cloned());
    }
    let before = old.get("metadata").unwrap_or(&Value::Null);
    let metadata = metadata_mut(new);
    metadata.remove("selfLink");
    put(metadata, "resourceVersion", before.get("resourceVersion").cloned());
    if let Some(metadata) = new.get_mut("metadata") {
        keep(metadata, before);
    }
    if is_namespace(resource) {
        name_namespace(resource, new);
        let finalizers = old.pointer("/spec/finalizers").cloned();
        let spec = map_mut(map_mut(new).entry("spec").or_insert_with(|| json!({})));
        put(spec, "finalizers", finalizers);
    }
}

/// Counts changes outside of `metadata`, and of `status` if that is a subresource.
pub fn update_generation(resource: &Resource, old: &Value, new: &mut Value) {
    let counted = old.pointer("/metadata/generation").and_then(Value::as_u64);
    let Some(counted) = counted else {
        return;
    };
    let is_counted = |name: &str| name != "metadata" && !(name == "status" && resource.has_status);
    let part = |object: &Value| -> Map<String, Value> {
        let fields = object.as_object().into_iter().flatten();
        let counted_fields = fields.filter(|(name, _)| is_counted(name));
        counted_fields
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    };
    if part(old) != part(new) {
        metadata_mut(new).insert("generation".to_owned(), (counted + 1).into());
    }
}

fn text_of<'a>(metadata: &'a Map<String, Value>, name: &str) -> &'a str {
    metadata.get(name).and_then(Value::as_str).unwrap_or_default()
}
