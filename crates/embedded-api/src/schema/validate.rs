//! Validating a value by its schema.
//!
//! Owns: types, limits, and the messages and order of faults. Must not: know rules in CEL, lists with keys, metadata.
//!
//! Validation of an update is ratcheting: faults of an unchanged value are ignored.

mod format;
mod logic;
mod number;
pub mod same;

pub use format::Format;

use super::node::Node;
use super::path::Path;
use super::{Type, cause, go};
use crate::refusal::Cause;
use serde_json::{Map, Value};

/// Causes are collected up to this many bytes. A cause names its field with the whole path, so the causes of a
/// small object with a long key could take gigabytes.
const MOST_BYTES: usize = 16 * 1024 * 1024;

/// What is wrong with `value`. `old` is the previous value at its place, if it is known.
#[must_use]
pub fn validate(value: &Value, old: Option<&Value>, node: &Node, path: &Path<'_>) -> Vec<Cause> {
    cause::once(judge(value, old, node, path).causes)
}

/// The faults, and how many of the checks held: of several schemas that all fail, the one with most is reported.
/// A cause may be in it twice; [`validate`] reports it once.
#[derive(Debug, Default)]
pub(super) struct Found {
    causes: Vec<Cause>,
    size: usize,
    held: usize,
}

impl Found {
    fn add(&mut self, cause: Cause) {
        self.size += cause.field.len() + cause.message.len();
        self.causes.push(cause);
    }

    fn merge(&mut self, mut other: Self) {
        self.causes.append(&mut other.causes);
        self.size += other.size;
        self.held += other.held;
    }

    /// Whether the limit of causes is reached: the rest of the object is not checked.
    fn is_full(&self) -> bool {
        self.size > MOST_BYTES
    }
}

fn judge(value: &Value, old: Option<&Value>, node: &Node, path: &Path<'_>) -> Found {
    let mut found = judge_new(value, old, node, path);
    if !found.causes.is_empty() && old.is_some_and(|old| same::same(value, old, node)) {
        found.causes.clear();
        found.size = 0;
    }
    found
}

fn judge_new(value: &Value, old: Option<&Value>, node: &Node, path: &Path<'_>) -> Found {
    let mut found = Found::default();
    if value.is_null() {
        null(node, path, &mut found);
        return found;
    }
    if !node.types.is_empty() || node.format.is_some() {
        match type_of(value, node, path) {
            Some(cause) => found.add(cause),
            None => found.held += 1,
        }
        found.held += 1;
    }
    found.merge(logic::judge_all(value, node, path));
    found.held += 1;
    match value {
        Value::String(text) => {
            text_limits(text, node, path)
                .into_iter()
                .for_each(|cause| found.add(cause));
            found.held += 1;
            if let Some(format) = node.format.filter(|format| format.is_text()) {
                if !format.fits(text) {
                    let place = path.dotted();
                    let detail = format!(
                        "{place} in body must be of type {}: {}",
                        format.name(),
                        go::quoted(text)
                    );
                    found.add(cause::type_invalid(place, text, &detail));
                }
                found.held += 1;
            }
        }
        Value::Number(number) => {
            number::judge(number, node, path)
                .into_iter()
                .for_each(|cause| found.add(cause));
            found.held += 2;
        }
        Value::Array(items) => {
            list(items, old, node, path, &mut found);
            found.held += 2;
        }
        Value::Null | Value::Bool(_) | Value::Object(_) => {}
    }
    allowed(value, node, path)
        .into_iter()
        .for_each(|cause| found.add(cause));
    found.held += 1;
    if let Value::Object(fields) = value {
        object(fields, old, node, path, &mut found);
        found.held += 1;
    }
    found.held += 1;
    found
}

fn null(node: &Node, path: &Path<'_>, found: &mut Found) {
    if !node.nullable && !node.types.is_empty() {
        let place = path.dotted();
        let detail = format!("{place} in body must be of type {}: \"null\"", type_names(node));
        found.add(cause::type_invalid(place, "null", &detail));
        return;
    }
    found.held += 1;
    // A null does not match an enumeration, even if null is listed.
    allowed(&Value::Null, node, path)
        .into_iter()
        .for_each(|cause| found.add(cause));
}

fn type_names(node: &Node) -> String {
    let names: Vec<&str> = node.types.iter().copied().map(Type::name).collect();
    names.join(",")
}

/// The type of a value, and the name of its format.
fn type_found(value: &Value) -> (Option<Type>, &'static str) {
    match value {
        Value::Null => (None, ""),
        Value::Bool(_) => (Some(Type::Boolean), ""),
        Value::Number(number) if number.is_i64() => (Some(Type::Integer), "int64"),
        Value::Number(_) => (Some(Type::Number), "float64"),
        Value::String(_) => (Some(Type::String), ""),
        Value::Array(_) => (Some(Type::Array), ""),
        Value::Object(_) => (Some(Type::Object), ""),
    }
}

fn type_of(value: &Value, node: &Node, path: &Path<'_>) -> Option<Cause> {
    let (type_, format_found) = type_found(value);
    let has = |type_: Type| node.types.contains(&type_);
    let fits = type_.is_some_and(has)
        || (type_ == Some(Type::Integer) && has(Type::Number))
        || (type_ == Some(Type::Number) && has(Type::Integer) && value.as_f64().is_some_and(number::is_whole));
    if fits {
        return None;
    }
    let text_like = matches!(value, Value::String(_) | Value::Array(_));
    let (wanted, got) = match node.format {
        Some(format) if !text_like && format.name() != format_found => (format.name().to_owned(), format_found),
        Some(_) if text_like && !(has(Type::Number) || has(Type::Integer)) => return None,
        _ => (type_names(node), type_.map(Type::name).unwrap_or_default()),
    };
    let place = path.dotted();
    let detail = format!("{place} in body must be of type {wanted}: {}", go::quoted(got));
    Some(cause::type_invalid(place, got, &detail))
}

/// The first limit that a text exceeds.
fn text_limits(text: &str, node: &Node, path: &Path<'_>) -> Option<Cause> {
    let limits = &node.limits;
    let length = || i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    let said = |detail: String| {
        let place = path.dotted();
        let detail = format!("{place} in body {detail}");
        cause::invalid(place, &Value::from(text), &detail)
    };
    if let Some(max) = limits.max_length.filter(|max| length() > *max) {
        return Some(cause::too_long(path.dotted(), max));
    }
    if let Some(min) = limits.min_length.filter(|min| length() < *min) {
        return Some(said(format!("should be at least {min} chars long")));
    }
    match &limits.pattern {
        Some((pattern, regex)) if !regex.is_match(text) => Some(said(format!("should match '{pattern}'"))),
        _ => None,
    }
}

fn allowed(value: &Value, node: &Node, path: &Path<'_>) -> Option<Cause> {
    let allowed = &node.limits.allowed;
    let equal = |each: &Value| match (each.as_f64(), value.as_f64()) {
        (Some(one), Some(other)) => one == other,
        _ => each == value && !value.is_null(),
    };
    if allowed.is_empty() || allowed.iter().any(equal) {
        return None;
    }
    let shown = |each: &Value| each.as_str().map_or_else(|| go::json(each), str::to_owned);
    let supported: Vec<String> = allowed.iter().map(shown).collect();
    Some(cause::not_supported(path.dotted(), value, &supported))
}

fn list(items: &[Value], old: Option<&Value>, node: &Node, path: &Path<'_>, found: &mut Found) {
    if let Some(inner) = &node.items {
        let before = old.map(|old| same::Items::of(old, &node.list));
        for (index, item) in items.iter().enumerate() {
            if found.is_full() {
                break;
            }
            let old = before.as_ref().and_then(|before| before.counterpart(item));
            found.merge(judge(item, old, inner, &path.index(index)));
        }
    }
    let count = items.len();
    if node.limits.min_items.is_some_and(|min| below(count, min)) {
        let min = node.limits.min_items.unwrap_or_default();
        found.add(counted(path, count, &format!("should have at least {min} items")));
    }
    if let Some(max) = node.limits.max_items.filter(|max| above(count, *max)) {
        found.add(cause::too_many(path.dotted(), count, max));
    }
    let twice = |(index, item): (usize, &Value)| items.iter().take(index).any(|before| before == item);
    if node.limits.unique_items && items.iter().enumerate().any(twice) {
        let place = path.dotted();
        let detail = format!("{place} in body shouldn't contain duplicates");
        found.add(cause::invalid(place, &Value::from(""), &detail));
    }
}

fn object(fields: &Map<String, Value>, old: Option<&Value>, node: &Node, path: &Path<'_>, found: &mut Found) {
    let count = fields.len();
    if let Some(min) = node.limits.min_properties.filter(|min| below(count, *min)) {
        found.add(counted(path, count, &format!("should have at least {min} properties")));
    }
    if let Some(max) = node.limits.max_properties.filter(|max| above(count, *max)) {
        found.add(cause::too_many(path.dotted(), count, max));
    }
    for (name, value) in fields {
        if found.is_full() {
            break;
        }
        if let Some(inner) = node.child(name) {
            let old = old.and_then(|old| old.get(name));
            found.merge(judge(value, old, inner, &path.field(name)));
        }
    }
    for name in &node.required {
        if !fields.contains_key(name) {
            found.add(cause::required(path.field(name).dotted(), ""));
        }
    }
}

fn counted(path: &Path<'_>, count: usize, detail: &str) -> Cause {
    let place = path.dotted();
    let detail = format!("{place} in body {detail}");
    cause::invalid(place, &Value::from(count), &detail)
}

fn below(count: usize, min: i64) -> bool {
    i64::try_from(count).is_ok_and(|count| count < min)
}

fn above(count: usize, max: i64) -> bool {
    i64::try_from(count).is_ok_and(|count| count > max)
}

#[cfg(test)]
mod tests;
