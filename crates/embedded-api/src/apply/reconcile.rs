//! Owned fields after the schema changed.

use super::field_set::{FieldSet, Node, Step};
use super::view::{Shape, View};
use crate::schema::{Schema, Type};

/// The owner of a part of what is now atomic owns all of it.
#[must_use]
pub fn reconciled(schema: &Schema, fields: FieldSet) -> FieldSet {
    below(View::root(schema), fields)
}

fn below(view: View<'_>, fields: FieldSet) -> FieldSet {
    fields.map(|step, node| match step {
        _ if node.below.is_empty() => node,
        Step::Field(name) => match view.declared(name) {
            Some(field) => at(field.view, node),
            None => node,
        },
        Step::Key(_) => at(view.items(), node),
        Step::Value(_) | Step::Index(_) => node,
    })
}

fn at(view: View<'_>, node: Node) -> Node {
    let shape = match view.schema.type_ {
        Some(Type::Object) => Shape::Map,
        Some(Type::Array) => Shape::List,
        // Anything is allowed, and it has always been owned by its shape.
        _ => return node,
    };
    if view.atomic(shape) {
        return Node::leaf();
    }
    Node {
        member: node.member,
        below: below(view, node.below),
    }
}
