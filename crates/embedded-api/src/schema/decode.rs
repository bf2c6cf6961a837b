//! Reading a value of a built-in type the way Go's JSON decoder does: a wrong type ends it, unknown fields and nulls are removed.
//!
//! Owns: types, times and quantities, and the words of the error. Must not: validate values of the right type.

mod text;

use super::go;
use super::{Schema, Type};
use serde_json::{Map, Value};

/// Why a value cannot be read, for people: `json: cannot unmarshal string into Go struct field NodeSpec.spec.unschedulable
/// of type bool`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DecodeError(pub String);

/// Reads `value` in place. Returns the paths of unknown fields, which are removed.
///
/// # Errors
/// When a field has the wrong type.
pub fn decode(value: &mut Value, schema: &Schema, struct_name: &str) -> Result<Vec<String>, DecodeError> {
    let mut unknown = Vec::new();
    let at = At {
        struct_name,
        fields: String::new(),
        path: String::new(),
    };
    one(value, schema, &at, &mut unknown)?;
    Ok(unknown)
}

/// The place in the document: `fields` in Go's form, without indices; `path` as in messages on unknown fields, with them.
struct At<'a> {
    struct_name: &'a str,
    fields: String,
    path: String,
}

fn one(value: &mut Value, schema: &Schema, at: &At<'_>, unknown: &mut Vec<String>) -> Result<(), DecodeError> {
    match (schema.definition(), schema.type_) {
        ("Quantity", _) if value.is_number() => text::special(value, schema.definition()),
        ("Time" | "MicroTime" | "Quantity", _) if !value.is_string() => Err(wrong(value, schema, at)),
        ("Time" | "MicroTime" | "Quantity", _) => text::special(value, schema.definition()),
        (_, None) => Ok(()),
        (_, Some(Type::Object)) => match value {
            Value::Object(map) => object(map, schema, at, unknown),
            _ => Err(wrong(value, schema, at)),
        },
        (_, Some(Type::Array)) => {
            let Value::Array(items) = value else {
                return Err(wrong(value, schema, at));
            };
            let Some(inner) = schema.items.as_deref() else {
                return Ok(());
            };
            for (index, item) in items.iter_mut().enumerate() {
                let at = At {
                    struct_name: at.struct_name,
                    fields: at.fields.clone(),
                    path: format!("{}[{index}]", at.path),
                };
                entry(item, inner, &at, unknown)?;
            }
            Ok(())
        }
        (_, Some(Type::String)) if value.is_string() => Ok(()),
        (_, Some(Type::Boolean)) if value.is_boolean() => Ok(()),
        (_, Some(Type::Number)) if value.is_number() => Ok(()),
        (_, Some(Type::Integer)) if integer_fits(value, schema) => Ok(()),
        (_, Some(Type::Integer)) if schema.int_or_string && value.is_string() => Ok(()),
        (_, Some(Type::String | Type::Boolean | Type::Number | Type::Integer)) => Err(wrong(value, schema, at)),
    }
}

fn integer_fits(value: &Value, schema: &Schema) -> bool {
    let narrow = schema.rules.get("format").is_some_and(|format| format == "int32");
    let fits = |integer: i64| !narrow || i32::try_from(integer).is_ok();
    value.as_i64().is_some_and(fits)
}

/// An entry of a list or map: null is the type's zero value.
fn entry(value: &mut Value, schema: &Schema, at: &At<'_>, unknown: &mut Vec<String>) -> Result<(), DecodeError> {
    if value.is_null() {
        *value = match schema.type_ {
            Some(Type::String) => Value::String(String::new()),
            Some(Type::Integer | Type::Number) => 0.into(),
            Some(Type::Boolean) => false.into(),
            Some(Type::Object) if schema.additional.is_none() => Value::Object(Map::new()),
            Some(Type::Object | Type::Array) | None => return Ok(()),
        };
        return Ok(());
    }
    one(value, schema, at, unknown)
}

fn object(
    map: &mut Map<String, Value>,
    schema: &Schema,
    at: &At<'_>,
    unknown: &mut Vec<String>,
) -> Result<(), DecodeError> {
    let struct_name = match schema.definition() {
        "" => at.struct_name,
        name => name,
    };
    let mut failed = Ok(());
    map.retain(|name, value| {
        if failed.is_err() {
            return true;
        }
        let path = dotted(&at.path, name);
        let (inner, is_entry) = match (schema.properties.get(name), schema.additional.as_deref()) {
            (Some(inner), _) => (inner, false),
            (None, Some(inner)) => (inner, true),
            (None, None) => {
                if !schema.preserve_unknown {
                    unknown.push(path);
                }
                return schema.preserve_unknown;
            }
        };
        if value.is_null() && !is_entry {
            return false;
        }
        let fields = if is_entry {
            at.fields.clone()
        } else {
            dotted(&at.fields, name)
        };
        let at = At {
            struct_name,
            fields,
            path,
        };
        failed = entry(value, inner, &at, unknown);
        failed.is_err() || is_entry || !is_left_out(value, inner)
    });
    failed
}

/// Lists and maps without entries are left out, as built-in types serialize themselves.
fn is_left_out(value: &Value, schema: &Schema) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty() && schema.additional.is_some(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn dotted(before: &str, name: &str) -> String {
    match before {
        "" => name.to_owned(),
        before => format!("{before}.{name}"),
    }
}

fn wrong(value: &Value, schema: &Schema, at: &At<'_>) -> DecodeError {
    let type_ = go_type(schema);
    let given = match (value, schema.type_) {
        (Value::Number(number), Some(Type::Integer)) => format!("number {}", go::number(number)),
        _ => go::json_kind(value).to_owned(),
    };
    DecodeError(match at.fields.as_str() {
        "" => format!("json: cannot unmarshal {given} into Go value of type {type_}"),
        fields => format!(
            "json: cannot unmarshal {given} into Go struct field {}.{fields} of type {type_}",
            at.struct_name
        ),
    })
}

fn go_type(schema: &Schema) -> String {
    let format = schema.rules.get("format").and_then(Value::as_str);
    match (schema.type_, schema.definition()) {
        (_, "Time" | "MicroTime") => "string".to_owned(),
        (Some(Type::Object), name) if !name.is_empty() => format!("v1.{name}"),
        (Some(Type::Object), _) => match schema.additional.as_deref() {
            Some(inner) => format!("map[string]{}", go_type(inner)),
            None => "map[string]interface {}".to_owned(),
        },
        (Some(Type::Array), _) => match schema.items.as_deref() {
            Some(inner) => format!("[]{}", go_type(inner)),
            None => "[]interface {}".to_owned(),
        },
        (Some(Type::String), _) => "string".to_owned(),
        (Some(Type::Boolean), _) => "bool".to_owned(),
        (Some(Type::Number), _) => "float64".to_owned(),
        (Some(Type::Integer), _) => format.unwrap_or("int64").to_owned(),
        (None, _) => "interface {}".to_owned(),
    }
}

#[cfg(test)]
mod tests;
