//! Set of the fields of an object.

use super::field_set::{FieldSet, Node, Step};
use super::view::{Shape, View};
use crate::schema::Schema;
use serde_json::Value;

#[must_use]
pub fn fields(schema: &Schema, object: &Value) -> FieldSet {
    node(View::root(schema), object).below
}

fn node(view: View<'_>, value: &Value) -> Node {
    let shape = view.shape(value);
    if view.atomic(shape) {
        return Node::leaf();
    }
    let below = match (shape, value) {
        (Shape::Map, Value::Object(fields)) => {
            let nodes = fields.iter().map(|(name, value)| {
                let field = view.field(name);
                let mut node = node(field.view, value);
                let empty = value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty);
                node.member |= empty || !field.named;
                (Step::Field(name.clone()), node)
            });
            FieldSet::from_nodes(nodes.collect())
        }
        (Shape::List, Value::Array(items)) => of_items(view, items),
        _ => FieldSet::default(),
    };
    Node { member: false, below }
}

/// Items that occur twice are owned as one.
fn of_items(view: View<'_>, items: &[Value]) -> FieldSet {
    let mut nodes: Vec<(Step, Node)> = items
        .iter()
        .filter_map(|item| {
            let node = Node {
                member: true,
                ..node(view.items(), item)
            };
            Some((view.step(item).ok()?, node))
        })
        .collect();
    nodes.sort_by(|(one, _), (next, _)| one.cmp(next));
    nodes.dedup_by(|(next, _), (one, previous)| {
        let twice = next == one;
        if twice {
            *previous = Node::leaf();
        }
        twice
    });
    FieldSet::from_nodes(nodes)
}
