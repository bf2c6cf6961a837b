//! Whether an applied configuration has the types of its schema, so that it can be merged.
//!
//! Owns: unknown fields, wrong types and items that occur twice, worded as an API server does.
//! Must not: check values; validation of the merged object does that.

use super::field_set::Step;
use super::view::{Shape, View};
use crate::schema::{ListType, Schema, Type};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fault {
    path: String,
    what: String,
}

/// What is wrong with a configuration.
///
/// # Errors
/// All faults, as one text.
pub fn check(schema: &Schema, applied: &Value) -> Result<(), String> {
    let mut faults = Vec::new();
    value(View::root(schema), applied, "", &mut faults);
    let lines: Vec<String> = faults
        .iter()
        .map(|Fault { path, what }| format!("{path}: {what}"))
        .collect();
    match lines.as_slice() {
        [] => Ok(()),
        [one] => Err(one.trim_start_matches(": ").to_owned()),
        many => Err(format!("errors:\n  {}", many.join("\n  "))),
    }
}

fn value(view: View<'_>, given: &Value, path: &str, faults: &mut Vec<Fault>) {
    let mut fault = |what: String| {
        faults.push(Fault {
            path: path.to_owned(),
            what,
        });
    };
    match (view.shape(given), given) {
        (_, Value::Null) => {}
        (Shape::Map, Value::Object(fields)) => in_map(view, fields, path, faults),
        (Shape::Map, _) => fault(format!("expected map, got &{{{}}}", shown(given))),
        (Shape::List, Value::Array(items)) => in_list(view, items, path, faults),
        (Shape::List, _) => fault(format!("expected list, got &{{{}}}", shown(given))),
        (Shape::Scalar, _) => {
            if let Some(what) = scalar(view.schema, given) {
                fault(what);
            }
        }
    }
}

fn in_map(view: View<'_>, fields: &Map<String, Value>, path: &str, faults: &mut Vec<Fault>) {
    for (name, given) in fields {
        let path = format!("{path}.{name}");
        let Some(field) = view.declared(name) else {
            faults.push(Fault {
                path,
                what: "field not declared in schema".to_owned(),
            });
            return;
        };
        value(field.view, given, &path, faults);
    }
}

fn in_list(view: View<'_>, items: &[Value], path: &str, faults: &mut Vec<Fault>) {
    let mut seen: BTreeSet<Step> = BTreeSet::new();
    for (index, item) in items.iter().enumerate() {
        let mut fault = |what: String| {
            faults.push(Fault {
                path: path.to_owned(),
                what,
            });
        };
        let step = if view.schema.list == ListType::Atomic {
            Ok(Step::Index(i64::try_from(index).unwrap_or(i64::MAX)))
        } else {
            view.step(item)
        };
        let step = match step {
            Ok(step) => step,
            Err(error) => return fault(format!("element {index}: {error}")),
        };
        if seen.contains(&step) {
            fault(format!("duplicate entries for key {step}"));
        }
        value(view.items(), item, &format!("{path}{step}"), faults);
        seen.insert(step);
    }
}

fn scalar(schema: &Schema, given: &Value) -> Option<String> {
    let format = schema.rules.get("format").and_then(Value::as_str).unwrap_or_default();
    let any_scalar = !matches!(format, "" | "byte");
    let plain = matches!(given, Value::String(_) | Value::Number(_) | Value::Bool(_));
    let right = match schema.type_ {
        Some(Type::String) if !any_scalar => given.is_string(),
        Some(Type::Integer | Type::Number) => given.is_number(),
        Some(Type::Boolean) => given.is_boolean(),
        _ => plain,
    };
    (!right).then(|| match schema.type_ {
        Some(Type::String) if !any_scalar => match given {
            Value::Object(_) | Value::Array(_) | Value::String(_) | Value::Null => {
                format!(
                    "expected string, got &value.valueUnstructured{{Value:{}}}",
                    quoted(given)
                )
            }
            plain => format!("expected string, got &value.valueUnstructured{{Value:{plain}}}"),
        },
        Some(Type::Integer | Type::Number) => format!("expected numeric (int or float), got {}", type_name(given)),
        Some(Type::Boolean) => format!("expected boolean, got &{{{}}}", shown(given)),
        _ => format!("expected any scalar, got &{{{}}}", shown(given)),
    })
}

/// A value as an API server, which is written in Go, shows it in these messages.
pub(crate) fn shown(given: &Value) -> String {
    match given {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(_) | Value::Bool(_) => given.to_string(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(shown).collect();
            format!("[{}]", items.join(" "))
        }
        Value::Object(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{name}:{}", shown(value)))
                .collect();
            format!("map[{}]", fields.join(" "))
        }
    }
}

fn quoted(given: &Value) -> String {
    let any = |given: &Value| match given {
        Value::Null => "interface {}(nil)".to_owned(),
        other => quoted(other),
    };
    match given {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(any).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        Value::Object(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{name:?}:{}", any(value)))
                .collect();
            format!("map[string]interface {{}}{{{}}}", fields.join(", "))
        }
        other => other.to_string(),
    }
}

pub(crate) fn type_name(given: &Value) -> &'static str {
    match given {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::String(_) => "string",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}
