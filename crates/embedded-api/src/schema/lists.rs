//! Lists that are sets or maps: no item may occur twice.

use super::ListType;
use super::cause;
use super::node::Node;
use super::path::Path;
use crate::refusal::Cause;
use serde_json::{Map, Value};

#[must_use]
pub fn twice(value: &Value, node: &Node, path: &Path<'_>) -> Vec<Cause> {
    let mut causes = Vec::new();
    walk(value, node, path, &mut causes);
    causes
}

fn walk(value: &Value, node: &Node, path: &Path<'_>, causes: &mut Vec<Cause>) {
    if !node.has_keyed_lists {
        return;
    }
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if let Some(inner) = node.child(name) {
                    walk(value, inner, &path.field(name), causes);
                }
            }
        }
        Value::Array(items) => {
            match &node.list {
                ListType::Atomic => {}
                ListType::Set => repeated(items, path, causes),
                ListType::Map(keys) => keyed(items, keys, path, causes),
            }
            for (index, item) in items.iter().enumerate() {
                if let Some(inner) = &node.items {
                    walk(item, inner, &path.index(index), causes);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn keyed(items: &[Value], keys: &[String], path: &Path<'_>, causes: &mut Vec<Cause>) {
    let not_object = |item: &&Value| !item.is_object() && !item.is_null();
    if let Some(index) = items.iter().position(|item| not_object(&item)) {
        let item = items.get(index).unwrap_or(&Value::Null);
        let place = path.index(index).text();
        causes.push(cause::invalid(place, item, "must be an object"));
        return;
    }
    let key_of = |item: &Value| {
        let pairs = keys
            .iter()
            .filter_map(|key| Some((key.clone(), item.get(key)?.clone())));
        Value::Object(pairs.collect::<Map<_, _>>())
    };
    let keys: Vec<Value> = items.iter().map(key_of).collect();
    repeated(&keys, path, causes);
}

/// Once, at its second occurrence.
fn repeated(values: &[Value], path: &Path<'_>, causes: &mut Vec<Cause>) {
    let mut counts: std::collections::HashMap<String, usize> = std::collections::HashMap::new();
    for (index, value) in values.iter().enumerate() {
        let count = counts.entry(value.to_string()).or_default();
        *count += 1;
        if *count == 2 {
            let (place, shown) = (path.index(index).text(), value.to_string());
            causes.push(cause::duplicate(place, &Value::Null, &shown));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Schema;
    use crate::schema::cause::line;
    use serde_json::json;

    fn found(value: Value) -> Vec<String> {
        let item = json!({"type": "object", "properties": {"k": {"type": "string"}, "p": {"type": "integer"},
            "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}}});
        let schema = json!({"type": "object", "properties": {
            "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            "map": {"type": "array", "items": item,
                "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k", "p"]},
            "free": {"type": "array", "items": {"type": "string"}},
            "labels": {"type": "object", "additionalProperties": {"type": "array", "x-kubernetes-list-type": "set"}},
        }});
        let node = Node::of(&Schema::parse(&schema).unwrap()).unwrap();
        twice(&value, &node, &Path::ROOT).iter().map(line).collect()
    }

    #[test]
    fn a_duplicate_is_reported_once_for_each_value() {
        assert_eq!(
            found(json!({"set": ["a", "a", "b", "b", "a"]})),
            [r#"set[1]: Duplicate value: "a""#, r#"set[3]: Duplicate value: "b""#]
        );
        assert_eq!(
            found(json!({"map": [{"k": "a", "p": 1}, {"k": "b"}, {"k": "a", "p": 1}, {"k": "a", "p": 1}]})),
            [r#"map[2]: Duplicate value: {"k":"a","p":1}"#]
        );
    }

    #[test]
    fn lists_without_keys_may_repeat() {
        assert_eq!(found(json!({"free": ["a", "a"], "set": ["a", "b"]})), [""; 0]);
    }

    #[test]
    fn lists_inside_maps_and_lists_are_found() {
        assert_eq!(
            found(json!({"labels": {"x": [1, 1]}, "map": [{"k": "a", "set": ["c", "c"]}]})),
            [
                "labels.x[1]: Duplicate value: 1",
                r#"map[0].set[1]: Duplicate value: "c""#
            ]
        );
    }

    #[test]
    fn an_item_of_a_map_that_is_no_object_is_reported() {
        assert_eq!(
            found(json!({"map": [{"k": "a"}, 5]})),
            ["map[1]: Invalid value: 5: must be an object"]
        );
    }
}
