//! Whether a value is as it was before, and which item of the old list an item was.
//!
//! Owns: both comparisons, as updates are judged by them. Must not: judge.

use crate::schema::ListType;
use crate::schema::node::Node;
use serde_json::Value;

/// Whether a value is as it was. Items of a list with keys are compared by their keys, wherever they stand; a field that
/// the schema does not know makes an object another one.
#[must_use]
pub fn same(value: &Value, old: &Value, node: &Node) -> bool {
    match (value, old) {
        (Value::Object(new), Value::Object(old)) => {
            let field = |(name, value): (&String, &Value)| match (node.child(name), old.get(name)) {
                (Some(inner), Some(old)) => same(value, old, inner),
                _ => false,
            };
            new.len() == old.len() && new.iter().all(field)
        }
        (Value::Array(new), Value::Array(before)) => {
            let ListType::Map(_) = node.list else {
                return new == before;
            };
            let Some(inner) = node.items.as_deref() else {
                return new == before;
            };
            let item = |item: &Value| counterpart(item, old, &node.list).is_some_and(|old| same(item, old, inner));
            new.len() == before.len() && new.iter().all(item)
        }
        _ => value == old,
    }
}

/// The item of the old list with the same keys. Only lists with keys have one.
#[must_use]
pub fn counterpart<'a>(item: &Value, old: &'a Value, list: &ListType) -> Option<&'a Value> {
    let ListType::Map(keys) = list else {
        return None;
    };
    let scalar = |value: &&Value| value.is_string() || value.is_number() || value.is_boolean();
    let wanted: Option<Vec<&Value>> = keys.iter().map(|key| item.get(key).filter(scalar)).collect();
    let wanted = wanted?;
    let fits = |old: &&Value| {
        let mut pairs = keys.iter().zip(&wanted);
        pairs.all(|(key, wanted)| old.get(key) == Some(*wanted))
    };
    old.as_array()?.iter().find(fits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Schema;
    use serde_json::json;

    fn node(document: Value) -> Node {
        Node::compile(&Schema::parse(&document).unwrap()).unwrap()
    }

    #[test]
    fn items_with_keys_are_the_same_in_another_order() {
        let item = json!({"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer"}}});
        let keyed = node(json!({"type": "array", "items": item,
            "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}));
        let plain = node(json!({"type": "array", "items": item}));
        let one = json!([{"k": "a", "v": 1}, {"k": "b"}]);
        let other = json!([{"k": "b"}, {"k": "a", "v": 1}]);
        assert!(same(&one, &other, &keyed));
        assert!(!same(&one, &other, &plain));
        assert!(!same(&one, &json!([{"k": "b"}, {"k": "a", "v": 2}]), &keyed));
        assert!(!same(&one, &json!([{"k": "b"}, {"k": "c", "v": 1}]), &keyed));
    }

    #[test]
    fn an_object_with_a_field_that_the_schema_does_not_know_counts_as_another() {
        let known = node(json!({"type": "object", "properties": {"a": {}}}));
        assert!(same(&json!({"a": 1}), &json!({"a": 1}), &known));
        assert!(!same(&json!({"b": 1}), &json!({"b": 1}), &known));
        assert!(!same(&json!({"a": 1}), &json!({}), &known));
    }

    #[test]
    fn an_item_without_all_its_keys_has_no_counterpart() {
        let list = ListType::Map(vec!["k".to_owned(), "p".to_owned()]);
        let old = json!([{"k": "a", "p": 1, "v": 5}]);
        assert_eq!(counterpart(&json!({"k": "a", "p": 1}), &old, &list), Some(&old[0]));
        assert_eq!(counterpart(&json!({"k": "a"}), &old, &list), None);
        assert_eq!(counterpart(&json!("a"), &json!(["a"]), &ListType::Set), None);
    }
}
