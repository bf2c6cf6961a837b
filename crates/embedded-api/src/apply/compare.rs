//! Differences between two objects.

use super::field_set::{FieldSet, Node, Step};
use super::view::{Shape, View, same};
use crate::schema::Schema;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    pub added: FieldSet,
    pub modified: FieldSet,
    pub removed: FieldSet,
}

impl Change {
    #[must_use]
    pub fn between(schema: &Schema, old: Option<&Value>, new: &Value) -> Self {
        let found = between(View::root(schema), old, Some(new));
        Self {
            added: found.added.below,
            modified: found.modified.below,
            removed: found.removed.below,
        }
    }

    #[must_use]
    pub fn outside(self, fields: &FieldSet) -> Self {
        Self {
            added: self.added.outside(fields),
            modified: self.modified.outside(fields),
            removed: self.removed.outside(fields),
        }
    }

    #[must_use]
    pub fn written(&self) -> FieldSet {
        self.added.clone().union(self.modified.clone())
    }
}

#[derive(Default)]
struct Nodes {
    added: Node,
    modified: Node,
    removed: Node,
}

impl Nodes {
    fn union(mut self, other: Self) -> Self {
        for (mine, theirs) in [
            (&mut self.added, other.added),
            (&mut self.modified, other.modified),
            (&mut self.removed, other.removed),
        ] {
            mine.member |= theirs.member;
            mine.below = std::mem::take(&mut mine.below).union(theirs.below);
        }
        self
    }
}

/// A null takes the shape of the other value.
fn between(view: View<'_>, old: Option<&Value>, new: Option<&Value>) -> Nodes {
    let shapes = (old.map(|value| view.shape(value)), new.map(|value| view.shape(value)));
    match shapes {
        (None, None) => Nodes::default(),
        (Some(shape), None) | (None, Some(shape)) => shaped(view, shape, old, new),
        (Some(before), Some(after)) if before == after => shaped(view, after, old, new),
        (Some(before), Some(after)) => shaped(view, before, old, new).union(shaped(view, after, old, new)),
    }
}

fn shaped(view: View<'_>, shape: Shape, old: Option<&Value>, new: Option<&Value>) -> Nodes {
    let mut found = match shape {
        Shape::Scalar => return whole(old, new),
        Shape::Map => {
            let (before, after) = (old.and_then(Value::as_object), new.and_then(Value::as_object));
            let empty = |map: Option<&Map<String, Value>>| map.is_none_or(Map::is_empty);
            if view.atomic(shape) || (empty(before) && empty(after)) {
                return whole(old, new);
            }
            in_maps(view, before, after)
        }
        Shape::List => {
            let (before, after) = (list(old), list(new));
            if view.atomic(shape) || (before.is_empty() && after.is_empty()) {
                return whole(old, new);
            }
            in_lists(view, before, after)
        }
    };
    found.added.member |= old.is_none();
    found.removed.member |= new.is_none();
    found
}

fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn whole(old: Option<&Value>, new: Option<&Value>) -> Nodes {
    let mut found = Nodes::default();
    match (old, new) {
        (None, _) => found.added = Node::leaf(),
        (_, None) => found.removed = Node::leaf(),
        (Some(before), Some(after)) if !same(before, after) => found.modified = Node::leaf(),
        _ => {}
    }
    found
}

#[derive(Default)]
struct Collector {
    added: Vec<(Step, Node)>,
    modified: Vec<(Step, Node)>,
    removed: Vec<(Step, Node)>,
}

impl Collector {
    fn push(&mut self, step: impl Fn() -> Step, found: Nodes) {
        for (all, node) in [
            (&mut self.added, found.added),
            (&mut self.modified, found.modified),
            (&mut self.removed, found.removed),
        ] {
            if !node.is_empty() {
                all.push((step(), node));
            }
        }
    }

    fn below(self) -> Nodes {
        let node = |nodes| Node {
            member: false,
            below: FieldSet::from_nodes(nodes),
        };
        Nodes {
            added: node(self.added),
            modified: node(self.modified),
            removed: node(self.removed),
        }
    }
}

fn in_maps(view: View<'_>, old: Option<&Map<String, Value>>, new: Option<&Map<String, Value>>) -> Nodes {
    let mut found = Collector::default();
    for (name, before) in old.into_iter().flatten() {
        let after = new.and_then(|map| map.get(name));
        found.push(
            || Step::Field(name.clone()),
            between(view.field(name).view, Some(before), after),
        );
    }
    for (name, after) in new.into_iter().flatten() {
        if old.is_none_or(|map| !map.contains_key(name)) {
            found.push(
                || Step::Field(name.clone()),
                between(view.field(name).view, None, Some(after)),
            );
        }
    }
    found.below()
}

/// Items that occur twice in one list are compared as one whole.
fn in_lists(view: View<'_>, old: &[Value], new: &[Value]) -> Nodes {
    let (before, after) = (by_step(view, old), by_step(view, new));
    let steps: BTreeSet<&Step> = before.keys().chain(after.keys()).collect();
    let mut found = Collector::default();
    for step in steps {
        let (old, new) = (before.get(step), after.get(step));
        let (old, new) = (old.map_or(&[][..], Vec::as_slice), new.map_or(&[][..], Vec::as_slice));
        found.push(|| step.clone(), items(view.items(), old, new));
    }
    found.below()
}

fn by_step<'a>(view: View<'_>, items: &'a [Value]) -> BTreeMap<Step, Vec<&'a Value>> {
    let mut found: BTreeMap<Step, Vec<&Value>> = BTreeMap::new();
    for item in items {
        if let Ok(step) = view.step(item) {
            found.entry(step).or_default().push(item);
        }
    }
    found
}

fn items(view: View<'_>, old: &[&Value], new: &[&Value]) -> Nodes {
    match (old, new) {
        ([_, _, ..], [_, _, ..]) => {
            let equal = old.len() == new.len() && old.iter().zip(new).all(|(a, b)| same(a, b));
            let mut found = Nodes::default();
            found.modified.member = !equal;
            found
        }
        ([_, _, ..], _) => {
            let mut found = between(view, None, new.first().copied());
            found.removed = Node::leaf();
            found
        }
        (_, [_, _, ..]) => {
            let mut found = between(view, old.first().copied(), None);
            found.added = Node::leaf();
            found
        }
        _ => between(view, old.first().copied(), new.first().copied()),
    }
}
