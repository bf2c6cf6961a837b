//! Removing the fields that are not in a schema.

use super::Schema;
use super::path::Path;
use serde_json::{Map, Value};

const META: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Total of reported paths: under a long key even a small object has very long ones.
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// Returns removed paths, sorted: `spec.foo`, `spec.list[0].bar`.
pub fn prune(object: &mut Value, schema: &Schema) -> Vec<String> {
    let mut pruning = Pruning {
        removed: Vec::new(),
        bytes: 0,
    };
    pruning.value(object, Some(schema), true, &Path::ROOT);
    pruning.removed.sort();
    pruning.removed
}

struct Pruning {
    removed: Vec<String>,
    bytes: usize,
}

impl Pruning {
    fn remove(&mut self, at: &Path<'_>) {
        if self.bytes <= MOST_BYTES {
            let path = at.text();
            self.bytes += path.len();
            self.removed.push(path);
        }
    }
}

impl Pruning {
    fn value(&mut self, value: &mut Value, schema: Option<&Schema>, root: bool, at: &Path<'_>) {
        match value {
            Value::Object(map) => self.map(map, schema, root, at),
            Value::Array(items) => {
                let inner = schema.and_then(|schema| schema.items.as_deref());
                if inner.is_none() && schema.is_some_and(|schema| schema.preserve_unknown) {
                    return;
                }
                for (index, item) in items.iter_mut().enumerate() {
                    self.value(item, inner, false, &at.index(index));
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn map(&mut self, map: &mut Map<String, Value>, schema: Option<&Schema>, root: bool, at: &Path<'_>) {
        map.retain(|name, value| {
            if root && META.contains(&name.as_str()) {
                return true;
            }
            let at = at.field(name);
            let Some(schema) = schema else {
                self.remove(&at);
                return false;
            };
            let inner = schema.properties.get(name).or(schema.additional.as_deref());
            match inner {
                Some(inner) => self.value(value, Some(inner), false, &at),
                None if schema.preserve_unknown => {}
                None => {
                    self.remove(&at);
                    return false;
                }
            }
            true
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema(spec: Value) -> Schema {
        Schema::parse(&json!({"type": "object", "properties": {"spec": spec}})).unwrap()
    }

    fn pruned(spec: Value, mut object: Value) -> (Value, Vec<String>) {
        let removed = prune(&mut object, &schema(spec));
        (object, removed)
    }

    #[test]
    fn what_the_schema_does_not_know_is_removed_and_reported() {
        let spec = json!({"type": "object", "properties": {"a": {"type": "integer"},
            "list": {"type": "array", "items": {"type": "object", "properties": {"b": {"type": "integer"}}}}}});
        let object = json!({"apiVersion": "v1", "kind": "X", "metadata": {"x": 1}, "extra": 1,
            "spec": {"a": 1, "z": {"q": 1}, "list": [{"b": 1}, {"c": 2, "b": 3}]}});
        let (object, removed) = pruned(spec, object);
        assert_eq!(
            object,
            json!({"apiVersion": "v1", "kind": "X", "metadata": {"x": 1},
                "spec": {"a": 1, "list": [{"b": 1}, {"b": 3}]}})
        );
        assert_eq!(removed, ["extra", "spec.list[1].c", "spec.z"]);
    }

    #[test]
    fn a_scalar_has_no_fields() {
        let (object, removed) = pruned(json!({"type": "string"}), json!({"spec": {"a": 1}}));
        assert_eq!(object, json!({"spec": {}}));
        assert_eq!(removed, ["spec.a"]);
    }

    #[test]
    fn unknown_fields_stay_where_the_schema_preserves_them() {
        let spec = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true,
            "properties": {"known": {"type": "object", "properties": {}}}});
        let object = json!({"spec": {"free": {"a": [{"b": 1}]}, "known": {"c": 1}}});
        let (object, removed) = pruned(spec, object);
        assert_eq!(object, json!({"spec": {"free": {"a": [{"b": 1}]}, "known": {}}}));
        assert_eq!(removed, ["spec.known.c"]);
    }

    #[test]
    fn every_key_of_a_map_stays_and_its_values_are_pruned() {
        let spec = json!({"type": "object", "additionalProperties": {"type": "object", "properties": {"a": {}}}});
        let (object, removed) = pruned(spec, json!({"spec": {"x/y": {"a": 1, "b": 2}}}));
        assert_eq!(object, json!({"spec": {"x/y": {"a": 1}}}));
        assert_eq!(removed, ["spec.x/y.b"]);
    }
}
