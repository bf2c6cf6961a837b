//! `metadata`: the same for all kinds, read as the API's own type.

use super::Schema;
use super::decode::{DecodeError, decode};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::sync::LazyLock;

/// Removes unknown, null and empty fields in place; returns sorted paths of unknown ones: `ownerReferences[0].foo`.
pub fn read(metadata: &mut Value) -> Result<Vec<String>, DecodeError> {
    if metadata.is_null() {
        *metadata = Value::Object(Map::new());
    }
    let mut unknown = decode(metadata, &OBJECT_META)?;
    unknown.sort();
    if let Some(fields) = metadata.as_object_mut() {
        fields.retain(|name, value| name == "deletionGracePeriodSeconds" || !empty(value));
    }
    Ok(unknown)
}

/// Keeps the first owner with each uid; returns a warning if it removed any.
pub fn merge_owners(metadata: &mut Value) -> Option<String> {
    let owners = metadata.get_mut("ownerReferences")?.as_array_mut()?;
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut twice: Vec<String> = Vec::new();
    owners.retain(|owner| {
        let uid = owner.get("uid").and_then(Value::as_str).unwrap_or_default();
        let count = seen.entry(uid.to_owned()).or_default();
        *count += 1;
        if *count == 2 {
            twice.push(uid.to_owned());
        }
        *count == 1
    });
    (!twice.is_empty()).then(|| {
        format!(
            "metadata.ownerReferences has several entries with these uids, of which the first is kept: {}",
            twice.join(", ")
        )
    })
}

fn empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(on) => !on,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

pub static OBJECT_META: LazyLock<Schema> = LazyLock::new(|| {
    let text = json!({"type": "string"});
    let map = json!({"type": "object", "additionalProperties": text});
    let definitions = json!({
        "ObjectMeta": {"type": "object", "properties": {
            "annotations": map,
            "creationTimestamp": {"$ref": "Time"},
            "deletionGracePeriodSeconds": {"type": "integer", "format": "int64"},
            "deletionTimestamp": {"$ref": "Time"},
            "finalizers": {"type": "array", "items": text,
                "x-kubernetes-list-type": "set", "x-kubernetes-patch-strategy": "merge"},
            "generateName": text,
            "generation": {"type": "integer", "format": "int64"},
            "labels": map,
            "managedFields": {"type": "array", "items": {"$ref": "ManagedFieldsEntry"}},
            "name": text,
            "namespace": text,
            "ownerReferences": {"type": "array", "items": {"$ref": "OwnerReference"},
                "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["uid"],
                "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "uid"},
            "resourceVersion": text,
            "selfLink": text,
            "uid": text,
        }},
        "ManagedFieldsEntry": {"type": "object", "properties": {
            "apiVersion": text,
            "fieldsType": text,
            "fieldsV1": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "manager": text,
            "operation": text,
            "subresource": text,
            "time": {"$ref": "Time"},
        }},
        "OwnerReference": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {
            "apiVersion": text,
            "blockOwnerDeletion": {"type": "boolean"},
            "controller": {"type": "boolean"},
            "kind": text,
            "name": text,
            "uid": text,
        }},
        "Time": {"type": "string", "format": "date-time"},
    });
    let definitions = definitions.as_object().cloned().unwrap_or_default();
    let schema = Schema::parse_with(&json!({"$ref": "ObjectMeta"}), &definitions);
    schema.expect("the document above is fixed, and the tests read it")
});

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(mut metadata: Value) -> String {
        read(&mut metadata).unwrap_err().0
    }

    #[test]
    fn unknown_and_empty_fields_go() {
        let mut metadata = json!({
            "name": "x", "namespace": "", "labels": {"a": null}, "annotations": null, "finalizers": [], "generation": 0,
            "creationTimestamp": null, "deletionGracePeriodSeconds": 0, "zoo": 1, "Labels": {}, "bar": 2,
            "ownerReferences": [{"uid": "1", "zzz": 1}],
            "managedFields": [{"manager": "m", "fieldsV1": {"f:spec": {"f:a": {}}}, "foo": 1}],
        });
        let unknown = read(&mut metadata).unwrap();
        assert_eq!(
            unknown,
            ["Labels", "bar", "managedFields[0].foo", "ownerReferences[0].zzz", "zoo"]
        );
        assert_eq!(
            metadata,
            json!({
                "name": "x", "labels": {"a": ""}, "deletionGracePeriodSeconds": 0, "ownerReferences": [{"uid": "1"}],
                "managedFields": [{"manager": "m", "fieldsV1": {"f:spec": {"f:a": {}}}}],
            })
        );
    }

    #[test]
    fn a_field_of_the_wrong_type_is_refused() {
        for (metadata, place) in [
            (json!({"labels": {"a": 1}}), "labels.a"),
            (json!({"finalizers": [1]}), "finalizers[0]"),
            (json!({"name": 5}), "name"),
            (json!({"generation": "1"}), "generation"),
            (json!({"ownerReferences": [{"name": 5}]}), "ownerReferences[0].name"),
            (json!({"creationTimestamp": "bad"}), "creationTimestamp"),
        ] {
            let error = refused(metadata);
            assert!(error.starts_with(&format!("{place}: must be ")), "{error}");
        }
        assert_eq!(refused(json!("x")), "must be of type object");
    }

    #[test]
    fn null_is_metadata_without_fields() {
        let mut metadata = Value::Null;
        assert_eq!(read(&mut metadata), Ok(Vec::new()));
        assert_eq!(metadata, json!({}));
    }

    #[test]
    fn a_duplicate_owner_is_stored_once_with_a_warning() {
        let mut metadata =
            json!({"ownerReferences": [{"uid": "1", "name": "a"}, {"uid": "2"}, {"uid": "1", "name": "b"}]});
        assert!(merge_owners(&mut metadata).unwrap().ends_with("is kept: 1"));
        assert_eq!(
            metadata["ownerReferences"],
            json!([{"uid": "1", "name": "a"}, {"uid": "2"}])
        );
        assert_eq!(merge_owners(&mut metadata), None);
        assert_eq!(merge_owners(&mut json!({})), None);
    }
}
