//! Removing fields from an object.

use super::field_set::{FieldSet, Node, Step};
use super::view::{Shape, View};
use crate::schema::Schema;
use serde_json::{Map, Value};

/// An emptied map or list becomes null, or goes if it is in the set itself.
#[must_use]
pub fn without(schema: &Schema, object: Value, gone: &FieldSet) -> Value {
    if gone.is_empty() {
        object
    } else {
        remove(View::root(schema), object, gone)
    }
}

fn remove(view: View<'_>, value: Value, gone: &FieldSet) -> Value {
    let shape = view.shape(&value);
    match value {
        scalar if shape == Shape::Scalar => scalar,
        Value::Object(fields) if shape == Shape::Map && !view.atomic(shape) => {
            let mut left = Map::new();
            for (name, value) in fields {
                match gone.field(&name) {
                    Some(node) if node.member => {}
                    Some(node) => {
                        let value = remove(view.field(&name).view, value, &node.below);
                        left.insert(name, value);
                    }
                    None => {
                        left.insert(name, value);
                    }
                }
            }
            if left.is_empty() {
                Value::Null
            } else {
                Value::Object(left)
            }
        }
        Value::Array(items) if shape == Shape::List && !view.atomic(shape) => {
            let left = items.into_iter().filter_map(|item| {
                let node = view.step(&item).ok().and_then(|step| gone.get(&step));
                match node {
                    Some(node) if node.member => None,
                    Some(node) => Some(remove(view.items(), item, &node.below)),
                    None => Some(item),
                }
            });
            let left: Vec<Value> = left.collect();
            if left.is_empty() {
                Value::Null
            } else {
                Value::Array(left)
            }
        }
        _ => Value::Null,
    }
}

/// The owner of `spec.tags.x` also has `spec` and `spec.tags`, but not items of lists or keys of maps between them.
#[must_use]
pub fn with_named(schema: &Schema, set: FieldSet) -> FieldSet {
    named(Some(View::root(schema)), set)
}

fn named(view: Option<View<'_>>, set: FieldSet) -> FieldSet {
    set.map(|step, node| {
        let field = match step {
            Step::Field(name) => view.and_then(|view| view.declared(name)),
            _ => None,
        };
        let below = match step {
            Step::Field(_) => field.map(|field| field.view),
            Step::Key(_) => view.map(View::items),
            Step::Value(_) | Step::Index(_) => None,
        };
        let implied = !node.below.is_empty() && field.is_some_and(|field| field.named);
        Node {
            member: node.member || implied,
            below: named(below, node.below),
        }
    })
}
