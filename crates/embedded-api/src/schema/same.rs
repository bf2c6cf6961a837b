//! Whether a value is unchanged, and which item of the old list corresponds to an item.

use crate::schema::ListType;
use crate::schema::node::Node;
use serde_json::Value;
use std::collections::HashMap;

/// Compares items of a list with keys by key, at any position; a field outside the schema makes objects different.
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
            let (ListType::Map(_), Some(inner)) = (&node.list, node.items.as_deref()) else {
                return new == before;
            };
            let before = Items::of(old, &node.list);
            let item = |item: &Value| before.counterpart(item).is_some_and(|old| same(item, old, inner));
            new.len() == before.count && new.iter().all(item)
        }
        _ => value == old,
    }
}

/// Built once per list: an object may have tens of thousands of items, each with a counterpart.
#[derive(Debug)]
pub struct Items<'a> {
    keys: &'a [String],
    by_key: HashMap<Vec<String>, &'a Value>,
    count: usize,
}

impl<'a> Items<'a> {
    #[must_use]
    pub fn of(old: &'a Value, list: &'a ListType) -> Self {
        let items = old.as_array().map(Vec::as_slice).unwrap_or_default();
        let keys = match list {
            ListType::Map(keys) => keys.as_slice(),
            ListType::Atomic | ListType::Set => &[],
        };
        let mut by_key = HashMap::new();
        if !keys.is_empty() {
            by_key.reserve(items.len());
            for item in items {
                if let Some(key) = key_of(item, keys) {
                    by_key.entry(key).or_insert(item);
                }
            }
        }
        Self {
            keys,
            by_key,
            count: items.len(),
        }
    }

    #[must_use]
    pub fn counterpart(&self, item: &Value) -> Option<&'a Value> {
        if self.by_key.is_empty() {
            return None;
        }
        self.by_key.get(&key_of(item, self.keys)?).copied()
    }
}

fn key_of(item: &Value, keys: &[String]) -> Option<Vec<String>> {
    let scalar = |value: &&Value| value.is_string() || value.is_number() || value.is_boolean();
    let text = |key: &String| item.get(key).filter(scalar).map(Value::to_string);
    keys.iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Schema;
    use serde_json::json;

    fn node(document: Value) -> Node {
        Node::of(&Schema::parse(&document).unwrap()).unwrap()
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
        let items = Items::of(&old, &list);
        assert_eq!(items.counterpart(&json!({"k": "a", "p": 1})), Some(&old[0]));
        assert_eq!(items.counterpart(&json!({"k": "a"})), None);
        assert_eq!(items.counterpart(&json!({"k": "a", "p": "1"})), None);
        assert_eq!(Items::of(&json!(["a"]), &ListType::Set).counterpart(&json!("a")), None);
    }
}
