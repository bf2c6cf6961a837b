//! Order of a merged list: items that the patch orders, and before each the others that it followed in the object.

use super::PATCH;
use super::fault::Fault;
use serde_json::Value;
use std::collections::HashMap;

/// Sorts by `wanted`, then by `live`; items are identified by `key`, or by value if `key` is empty.
pub(super) fn by(items: Vec<Value>, wanted: &[Value], live: &[Value], key: &str) -> Result<Vec<Value>, Fault> {
    for item in items.iter().chain(wanted) {
        identity(item, key)?;
    }
    let (wanted, live) = (Places::of(wanted, key), Places::of(live, key));
    let (mut ordered, mut others): (Vec<Value>, Vec<Value>) =
        items.into_iter().partition(|item| wanted.of_item(item).is_some());
    ordered.sort_by_cached_key(|item| wanted.of_item(item));
    others.sort_by_cached_key(|item| live.of_item(item));

    let mut all = Vec::with_capacity(ordered.len() + others.len());
    let mut others = others.into_iter().peekable();
    for item in ordered {
        if let Some(here) = live.of_item(&item) {
            while let Some(before) = others.next_if(|other| live.of_item(other).is_some_and(|there| there < here)) {
                all.push(before);
            }
        }
        all.push(item);
    }
    all.extend(others);
    Ok(all)
}

pub(super) struct Places<'a> {
    key: &'a str,
    first: HashMap<String, usize>,
}

impl<'a> Places<'a> {
    pub(super) fn of(list: &[Value], key: &'a str) -> Self {
        let mut places = Self {
            key,
            first: HashMap::with_capacity(list.len()),
        };
        for (place, item) in list.iter().enumerate() {
            places.add(item, place);
        }
        places
    }

    pub(super) fn add(&mut self, item: &Value, place: usize) {
        if let Ok(id) = identity(item, self.key) {
            self.first.entry(id.to_string()).or_insert(place);
        }
    }

    pub(super) fn of_item(&self, item: &Value) -> Option<usize> {
        let id = identity(item, self.key).ok()?;
        self.first.get(&id.to_string()).copied()
    }
}

pub(super) fn check(patch: &[Value], wanted: &[Value], key: &str) -> Result<(), Fault> {
    if patch.is_empty() || wanted.is_empty() {
        return Ok(());
    }
    let remaining = patch.iter().filter(|item| item.get(PATCH).is_none());
    let mut rest = wanted.iter();
    for item in remaining {
        let id = identity(item, key)?;
        loop {
            let next = rest.next().ok_or(Fault::OtherOrder)?;
            if identity(next, key)? == id {
                break;
            }
        }
    }
    Ok(())
}

fn identity<'a>(item: &'a Value, key: &str) -> Result<&'a Value, Fault> {
    match item {
        _ if key.is_empty() => Ok(item),
        Value::Object(fields) => fields.get(key).ok_or_else(|| Fault::NoKey(key.to_owned())),
        _ => Err(Fault::Type("an object")),
    }
}
