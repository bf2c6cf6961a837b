//! Whether an applied configuration has the types of its schema, so that it can be merged.

use super::field_set::Step;
use super::view::{Shape, View};
use crate::schema::{ListType, Schema, Type};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

pub fn check(schema: &Schema, applied: &Value) -> Result<(), String> {
    let mut faults = Vec::new();
    value(View::root(schema), applied, "", &mut faults);
    match faults.is_empty() {
        true => Ok(()),
        false => Err(faults.join("; ")),
    }
}

fn value(view: View<'_>, given: &Value, path: &str, faults: &mut Vec<String>) {
    let expected = match (view.shape(given), given) {
        (_, Value::Null) => return,
        (Shape::Map, Value::Object(fields)) => return in_map(view, fields, path, faults),
        (Shape::List, Value::Array(items)) => return in_list(view, items, path, faults),
        (Shape::Map, _) => "an object",
        (Shape::List, _) => "a list",
        (Shape::Scalar, _) => match wrong_scalar(view.schema, given) {
            Some(expected) => expected,
            None => return,
        },
    };
    faults.push(format!("{path}: must be {expected}"));
}

fn in_map(view: View<'_>, fields: &Map<String, Value>, path: &str, faults: &mut Vec<String>) {
    for (name, given) in fields {
        let path = format!("{path}.{name}");
        match view.declared(name) {
            Some(field) => value(field.view, given, &path, faults),
            None => return faults.push(format!("{path}: field not declared in schema")),
        }
    }
}

fn in_list(view: View<'_>, items: &[Value], path: &str, faults: &mut Vec<String>) {
    let mut seen: BTreeSet<Step> = BTreeSet::new();
    for (index, item) in items.iter().enumerate() {
        let step = if view.schema.list == ListType::Atomic {
            Ok(Step::Index(i64::try_from(index).unwrap_or(i64::MAX)))
        } else {
            view.step(item)
        };
        let step = match step {
            Ok(step) => step,
            Err(error) => return faults.push(format!("{path}[{index}]: {error}")),
        };
        if seen.contains(&step) {
            faults.push(format!("{path}: duplicate entries for key {step}"));
        }
        value(view.items(), item, &format!("{path}{step}"), faults);
        seen.insert(step);
    }
}

/// Expected type of a wrong scalar. A text with a format can be any scalar, except bytes.
fn wrong_scalar(schema: &Schema, given: &Value) -> Option<&'static str> {
    let (right, expected) = match schema.type_ {
        Some(Type::String) if matches!(schema.format(), "" | "byte") => (given.is_string(), "a text"),
        Some(Type::Integer | Type::Number) => (given.is_number(), "a number"),
        Some(Type::Boolean) => (given.is_boolean(), "a boolean"),
        _ => (!given.is_object() && !given.is_array(), "a text, a number or a boolean"),
    };
    (!right).then_some(expected)
}
