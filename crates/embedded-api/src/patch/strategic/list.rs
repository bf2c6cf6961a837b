//! Merging a list of a strategic merge patch into the object's.

use super::fault::Fault;
use super::order::Places;
use super::{PATCH, objects, order};
use crate::apply::view::View;
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::mem::discriminant;

/// The patch replaces a list that is not merged.
pub(super) fn merge(view: View<'_>, live: Vec<Value>, patch: Vec<Value>) -> Result<Vec<Value>, Fault> {
    let Some(key) = view.schema.patch_merge_key.as_deref() else {
        return Ok(patch);
    };
    same_types(&live, &patch)?;
    let are_objects = live.iter().chain(&patch).any(Value::is_object);
    match (are_objects, key) {
        (false, _) => {
            let mut seen = HashSet::new();
            let all = live.iter().chain(&patch);
            let merged = all.filter(|item| seen.insert(item.to_string())).cloned().collect();
            order::by(merged, &patch, &live, "")
        }
        (true, "") => Err(Fault::NoMergeKey),
        (true, key) => by_key(view, live, patch, key),
    }
}

/// Items of a merged list cannot be lists.
pub(super) fn same_types(live: &[Value], patch: &[Value]) -> Result<(), Fault> {
    let mut all = live.iter().chain(patch);
    let Some(first) = all.next() else { return Ok(()) };
    if first.is_array() {
        return Err(Fault::ListOfLists);
    }
    match all.all(|item| discriminant(item) == discriminant(first)) {
        true => Ok(()),
        false => Err(Fault::MixedTypes),
    }
}

fn by_key(view: View<'_>, mut live: Vec<Value>, patch: Vec<Value>, key: &str) -> Result<Vec<Value>, Fault> {
    let mut given: Vec<Map<String, Value>> = Vec::with_capacity(patch.len());
    let mut gone: HashSet<String> = HashSet::new();
    let mut replace = false;
    for item in patch {
        let Value::Object(item) = item else { continue };
        match item.get(PATCH) {
            None => given.push(item),
            Some(directive) if directive == "delete" => {
                gone.insert(key_of(&item, key)?.to_string());
            }
            Some(directive) if directive == "replace" => replace = true,
            Some(_) => return Err(Fault::Directive),
        }
    }
    let wanted: Vec<Value> = given.iter().cloned().map(Value::Object).collect();
    if replace {
        return Ok(wanted);
    }
    live.retain(|item| item.get(key).is_none_or(|value| !gone.contains(&value.to_string())));
    let before = live.clone();
    let mut places = Places::of(&live, key);
    for item in given {
        key_of(&item, key)?;
        let item = Value::Object(item);
        match (places.of_item(&item).and_then(|place| live.get_mut(place)), item) {
            (Some(Value::Object(other)), Value::Object(item)) => {
                *other = objects(view.items(), std::mem::take(other), item)?;
            }
            (_, item) => {
                places.add(&item, live.len());
                live.push(item);
            }
        }
    }
    order::by(live, &wanted, &before, key)
}

fn key_of<'a>(item: &'a Map<String, Value>, key: &str) -> Result<&'a Value, Fault> {
    item.get(key).ok_or_else(|| Fault::NoKey(key.to_owned()))
}
