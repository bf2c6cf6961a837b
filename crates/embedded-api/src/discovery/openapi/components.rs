//! Schemas of an OpenAPI document: those of its kinds and their lists, and all that they refer to.

use crate::kinds::{self, REFERENCE};
use crate::resource::Resource;
use crate::schema::Schema;
use serde_json::{Map, Value, json};
use std::sync::Arc;

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";
const ALWAYS: [&str; 3] = ["Status", "DeleteOptions", "Patch"];
const SCALE: &str = "io.k8s.api.autoscaling.v1.Scale";

pub(super) fn reference(kind: &Resource) -> Value {
    refer(&name(kind))
}

pub(super) fn list_reference(kind: &Resource) -> Value {
    refer(&list_name(kind))
}

pub(super) fn meta_reference(type_: &str) -> Value {
    refer(&format!("{META}.{type_}"))
}

pub(super) fn scale_reference() -> Value {
    refer(SCALE)
}

pub(super) fn schemas(kinds: &[Arc<Resource>]) -> Map<String, Value> {
    let mut all = Map::new();
    for kind in kinds {
        if kind.custom {
            all.insert(name(kind), custom(kind));
        }
        all.insert(list_name(kind), list(kind));
    }
    let patch = json!({"description": "A change, in the form that its media type says.", "type": "object"});
    all.insert(format!("{META}.Patch"), patch);
    let mut wanted: Vec<String> = all.values().flat_map(references).collect();
    wanted.extend(kinds.iter().map(|kind| name(kind)));
    wanted.extend(ALWAYS.iter().map(|type_| format!("{META}.{type_}")));
    if kinds.iter().any(|kind| kind.scale.is_some()) {
        wanted.push(SCALE.to_owned());
    }
    while let Some(name) = wanted.pop() {
        if all.contains_key(&name) {
            continue;
        }
        if let Some(definition) = kinds::definitions().get(&name) {
            let schema = standard(&name, definition.clone());
            wanted.extend(references(&schema));
            all.insert(name, schema);
        }
    }
    for kind in kinds {
        mark(&mut all, &name(kind), kind);
    }
    all
}

fn refer(name: &str) -> Value {
    json!({ "$ref": format!("{REFERENCE}{name}") })
}

/// `io.k8s.api.core.v1.Node` for a built-in kind, `dev.sea.v1.Boat` for a custom one.
fn name(kind: &Resource) -> String {
    match kinds::definition(&kind.group, &kind.kind) {
        Some(name) => name.to_owned(),
        None => {
            let reversed: Vec<&str> = kind.group.rsplit('.').collect();
            format!("{}.{}.{}", reversed.join("."), kind.version, kind.kind)
        }
    }
}

fn list_name(kind: &Resource) -> String {
    let name = name(kind);
    let (before, _) = name.rsplit_once('.').unwrap_or(("", &name));
    format!("{before}.{}", kind.list_kind)
}

fn mark(all: &mut Map<String, Value>, name: &str, resource: &Resource) {
    let Some(schema) = all.get_mut(name) else { return };
    schema["x-kubernetes-group-version-kind"] =
        json!([{"group": resource.group, "version": resource.version, "kind": resource.kind}]);
    if resource.custom && !resource.selectable_fields.is_empty() {
        let fields = resource
            .selectable_fields
            .iter()
            .map(|field| json!({"fieldPath": field}));
        schema["x-kubernetes-selectable-fields"] = fields.collect();
    }
}

fn list(kind: &Resource) -> Value {
    let mut schema = json!({
        "description": format!("{} is a list of {}.", kind.list_kind, kind.kind),
        "type": "object", "required": ["items"],
        "properties": {
            "apiVersion": type_field("apiVersion"), "kind": type_field("kind"),
            "items": {"description": "The objects.", "type": "array", "items": refer(&name(kind))},
            "metadata": {"description": "Of the list.", "allOf": [meta_reference("ListMeta")]},
        },
    });
    schema["x-kubernetes-group-version-kind"] =
        json!([{"group": kind.group, "version": kind.version, "kind": kind.list_kind}]);
    schema
}

fn custom(kind: &Resource) -> Value {
    let mut schema = document(&kind.schema);
    let own = json!({
        "apiVersion": type_field("apiVersion"), "kind": type_field("kind"),
        "metadata": {"description": metadata_description(), "allOf": [meta_reference("ObjectMeta")]},
    });
    if let (Some(schema), Value::Object(own)) = (schema.as_object_mut(), own) {
        schema.insert("type".to_owned(), "object".into());
        let properties = schema.entry("properties").or_insert_with(|| json!({}));
        if let Some(properties) = properties.as_object_mut() {
            properties.extend(own);
        }
    }
    schema
}

fn type_field(name: &str) -> Value {
    let status = kinds::definitions().get(&format!("{META}.Status"));
    let field = status.and_then(|status| status.pointer(&format!("/properties/{name}")));
    field.cloned().unwrap_or_else(|| json!({"type": "string"}))
}

fn metadata_description() -> &'static str {
    let namespace = kinds::definitions().get("io.k8s.api.core.v1.Namespace");
    let text = namespace.and_then(|namespace| namespace.pointer("/properties/metadata/description"));
    text.and_then(Value::as_str).unwrap_or_default()
}

fn document(schema: &Schema) -> Value {
    let mut out = schema.rules.as_object().cloned().unwrap_or_default();
    if !schema.description.is_empty() {
        out.insert("description".to_owned(), schema.description.as_str().into());
    }
    if let Some(type_) = schema.type_ {
        out.insert("type".to_owned(), type_.name().into());
    }
    if !schema.properties.is_empty() {
        let properties = schema
            .properties
            .iter()
            .map(|(name, each)| (name.clone(), document(each)));
        out.insert("properties".to_owned(), Value::Object(properties.collect()));
    }
    if let Some(additional) = &schema.additional {
        out.insert("additionalProperties".to_owned(), document(additional));
    }
    if let Some(items) = &schema.items {
        out.insert("items".to_owned(), document(items));
    }
    Value::Object(out)
}

/// Puts a reference alone, or in `allOf` beside other fields, as OpenAPI 3.0 requires.
fn standard(name: &str, definition: Value) -> Value {
    let either = json!([{"type": "integer"}, {"type": "string"}]);
    let mut schema = beside(definition);
    if schema.get("x-kubernetes-int-or-string").is_some()
        && let Some(schema) = schema.as_object_mut()
    {
        schema.remove("x-kubernetes-int-or-string");
        if name.ends_with(".Quantity") {
            let either = json!([{"type": "string"}, {"type": "number"}]);
            schema.insert("oneOf".to_owned(), either);
        } else {
            schema.insert("oneOf".to_owned(), either);
            schema.insert("format".to_owned(), "int-or-string".into());
        }
    }
    schema
}

fn beside(value: Value) -> Value {
    match value {
        Value::Object(mut fields) => {
            if fields.len() > 1 && fields.get("$ref").is_some_and(Value::is_string) {
                let reference = fields.remove("$ref").unwrap_or_default();
                fields.insert("allOf".to_owned(), json!([{"$ref": reference}]));
            }
            Value::Object(fields.into_iter().map(|(name, value)| (name, beside(value))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(beside).collect()),
        plain => plain,
    }
}

fn references(schema: &Value) -> Vec<String> {
    match schema {
        Value::Object(fields) => {
            let own = fields
                .get("$ref")
                .and_then(Value::as_str)
                .and_then(|link| link.strip_prefix(REFERENCE));
            own.map(str::to_owned)
                .into_iter()
                .chain(fields.values().flat_map(references))
                .collect()
        }
        Value::Array(items) => items.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}
