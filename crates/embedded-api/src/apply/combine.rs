//! Merging an applied configuration into an object: its values and its order of list items win, and nothing is removed.
//! Items that only the object has stay before the items that they preceded.

use super::field_set::Step;
use super::view::{Shape, View};
use crate::schema::Schema;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

#[must_use]
pub fn combine(schema: &Schema, object: &Value, applied: &Value) -> Value {
    let merged = both(View::root(schema), Some(object), Some(applied));
    merged.unwrap_or_else(|| Value::Object(Map::new()))
}

fn both(view: View<'_>, object: Option<&Value>, applied: Option<&Value>) -> Option<Value> {
    let Some(applied) = applied else {
        return object.cloned();
    };
    let shape = view.shape(applied);
    if view.atomic(shape) {
        return Some(applied.clone());
    }
    let merged = match (shape, object, applied) {
        (Shape::Map, Some(Value::Object(mine)), Value::Object(theirs)) => Value::Object(maps(view, mine, theirs)),
        (Shape::List, Some(Value::Array(mine)), Value::Array(theirs)) => Value::Array(lists(view, mine, theirs)),
        // A null does not remove a value that has fields or items.
        (Shape::Map, Some(Value::Object(mine)), Value::Null) if !mine.is_empty() => Value::Object(mine.clone()),
        (Shape::List, Some(Value::Array(mine)), Value::Null) if !mine.is_empty() => Value::Array(mine.clone()),
        _ => applied.clone(),
    };
    Some(merged)
}

fn maps(view: View<'_>, mine: &Map<String, Value>, theirs: &Map<String, Value>) -> Map<String, Value> {
    let mut merged = mine.clone();
    for (name, applied) in theirs {
        if let Some(value) = both(view.field(name).view, mine.get(name), Some(applied)) {
            merged.insert(name.clone(), value);
        }
    }
    merged
}

fn lists(view: View<'_>, mine: &[Value], theirs: &[Value]) -> Vec<Value> {
    let (mine, theirs) = (steps(view, mine), steps(view, theirs));
    let my_items: BTreeMap<&Step, &Value> = mine.iter().map(|(step, item)| (step, *item)).collect();
    let their_steps: BTreeSet<&Step> = theirs.iter().map(|(step, _)| step).collect();
    let mut next = None;
    let mut next_shared: Vec<Option<&Step>> = theirs
        .iter()
        .rev()
        .map(|(step, _)| {
            if my_items.contains_key(step) {
                next = Some(step);
            }
            next
        })
        .collect();
    next_shared.reverse();

    let mut merged = Vec::with_capacity(mine.len().max(theirs.len()));
    let mut rest = mine.iter().peekable();
    for ((step, item), shared) in theirs.iter().zip(next_shared) {
        while let Some((own, item)) = rest.next_if(|(own, _)| Some(own) != shared) {
            if !their_steps.contains(own) {
                merged.push((*item).clone());
            }
        }
        rest.next_if(|(own, _)| own == step);
        merged.extend(both(view.items(), my_items.get(step).copied(), Some(item)));
    }
    let only_mine = rest.filter(|(own, _)| !their_steps.contains(own));
    merged.extend(only_mine.map(|(_, item)| (*item).clone()));
    merged
}

fn steps<'a>(view: View<'_>, items: &'a [Value]) -> Vec<(Step, &'a Value)> {
    items
        .iter()
        .filter_map(|item| Some((view.step(item).ok()?, item)))
        .collect()
}
