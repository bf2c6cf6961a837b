//! Reading a value of a built-in type: a wrong type ends it, unknown fields and nulls are removed.

use super::path::Path;
use super::{Schema, Type, time};
use jiff::Timestamp;
use regex::Regex;
use serde_json::{Map, Value};
use std::sync::LazyLock;

static QUANTITY: LazyLock<Regex> = LazyLock::new(|| {
    let form = "^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([numkMGTPE]?|[KMGTPE]i|[eE][+-]?[0-9]+)$";
    Regex::new(form).expect("the expression is fixed, and a test uses it")
});

/// Message such as `spec.unschedulable: must be of type boolean`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DecodeError(pub String);

/// Reads `value` in place and returns the paths of removed, unknown fields. Errors: a field has the wrong type.
pub fn decode(value: &mut Value, schema: &Schema) -> Result<Vec<String>, DecodeError> {
    let mut unknown = Vec::new();
    one(value, schema, &Path::ROOT, &mut unknown)?;
    Ok(unknown)
}

fn one(value: &mut Value, schema: &Schema, at: &Path<'_>, unknown: &mut Vec<String>) -> Result<(), DecodeError> {
    if ["Time", "MicroTime", "Quantity"].contains(&schema.definition()) {
        return text(value, schema.definition(), at);
    }
    match (schema.type_, &mut *value) {
        (Some(Type::Object), Value::Object(map)) => return object(map, schema, at, unknown),
        (Some(Type::Array), Value::Array(items)) => {
            for (index, item) in items.iter_mut().enumerate() {
                if let Some(inner) = schema.items.as_deref() {
                    entry(item, inner, &at.index(index), unknown)?;
                }
            }
            return Ok(());
        }
        _ => {}
    }
    let narrow = schema.format() == "int32";
    let fits = |integer: i64| !narrow || i32::try_from(integer).is_ok();
    let right = match schema.type_ {
        None => true,
        Some(Type::String) => value.is_string(),
        Some(Type::Boolean) => value.is_boolean(),
        Some(Type::Number) => value.is_number(),
        Some(Type::Integer) => value.as_i64().is_some_and(fits),
        Some(Type::Object | Type::Array) => false,
    };
    let name = match narrow {
        true => "int32",
        false => schema.type_.map_or("any", Type::name),
    };
    right.then_some(()).ok_or_else(|| wrong(at, &format!("of type {name}")))
}

fn wrong(at: &Path<'_>, wanted: &str) -> DecodeError {
    DecodeError(match at.text() {
        place if place.is_empty() => format!("must be {wanted}"),
        place => format!("{place}: must be {wanted}"),
    })
}

fn text(value: &mut Value, definition: &str, at: &Path<'_>) -> Result<(), DecodeError> {
    let given = match (&*value, definition) {
        (Value::Number(number), "Quantity") => number.to_string(),
        (Value::String(text), _) => text.clone(),
        _ => return Err(wrong(at, "a text")),
    };
    let read = match definition {
        "Quantity" if QUANTITY.is_match(&given) => Ok(given),
        "Quantity" => Err("a quantity such as 100m, 4Gi or 1e3"),
        "MicroTime" => match time::parse(&given) {
            Some((time, 6)) => Ok(format!("{time:.6}")),
            _ => Err("a time in microseconds such as 2006-01-02T15:04:05.000000Z"),
        },
        _ => match time::parse(&given) {
            Some((time, _)) => Ok(whole_seconds(time).to_string()),
            None => Err("a time such as 2006-01-02T15:04:05Z"),
        },
    };
    *value = read.map_err(|wanted| wrong(at, wanted))?.into();
    Ok(())
}

fn whole_seconds(time: Timestamp) -> Timestamp {
    let seconds = time.as_nanosecond().div_euclid(1_000_000_000);
    let whole = i64::try_from(seconds).ok();
    whole
        .and_then(|seconds| Timestamp::from_second(seconds).ok())
        .unwrap_or(time)
}

/// Null is the type's zero value in a list or map.
fn entry(value: &mut Value, schema: &Schema, at: &Path<'_>, unknown: &mut Vec<String>) -> Result<(), DecodeError> {
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
    at: &Path<'_>,
    unknown: &mut Vec<String>,
) -> Result<(), DecodeError> {
    let mut failed = Ok(());
    map.retain(|name, value| {
        if failed.is_err() {
            return true;
        }
        let at = at.field(name);
        let (inner, is_entry) = match (schema.properties.get(name), schema.additional.as_deref()) {
            (Some(inner), _) => (inner, false),
            (None, Some(inner)) => (inner, true),
            (None, None) => {
                if !schema.preserve_unknown {
                    unknown.push(at.text());
                }
                return schema.preserve_unknown;
            }
        };
        if value.is_null() && !is_entry {
            return false;
        }
        failed = entry(value, inner, &at, unknown);
        failed.is_err() || is_entry || !is_left_out(value, inner)
    });
    failed
}

/// Empty lists and maps, as built-in types serialize themselves.
fn is_left_out(value: &Value, schema: &Schema) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty() && schema.additional.is_some(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn lease() -> Schema {
        let definitions = json!({
            "x.Lease": {"type": "object", "properties": {"spec": {"$ref": "#/x/x.LeaseSpec"}}},
            "x.LeaseSpec": {"type": "object", "properties": {
                "leaseDurationSeconds": {"type": "integer", "format": "int32"},
                "holderIdentity": {"type": "string"},
                "renewTime": {"$ref": "#/x/x.MicroTime"},
                "at": {"$ref": "#/x/x.Time"},
                "amount": {"$ref": "#/x/x.Quantity"},
                "taints": {"type": "array", "items": {"$ref": "#/x/x.Taint"}},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "on": {"type": "boolean"},
            }},
            "x.Taint": {"type": "object", "properties": {"key": {"type": "string"}}},
            "x.MicroTime": {"type": "string", "format": "date-time"},
            "x.Time": {"type": "string", "format": "date-time"},
            "x.Quantity": {"type": "string"},
        });
        Schema::parse_with(&json!({"$ref": "#/x/x.Lease"}), definitions.as_object().unwrap()).unwrap()
    }

    fn read(spec: Value) -> Result<Value, String> {
        let mut lease_ = json!({"spec": spec});
        decode(&mut lease_, &lease()).map_err(|error| error.0)?;
        Ok(lease_["spec"].take())
    }

    #[test]
    fn a_wrong_type_is_reported_with_its_place() {
        for (spec, place) in [
            (json!({"leaseDurationSeconds": "1"}), "spec.leaseDurationSeconds"),
            (json!({"leaseDurationSeconds": 1.5}), "spec.leaseDurationSeconds"),
            (
                json!({"leaseDurationSeconds": 3_000_000_000_i64}),
                "spec.leaseDurationSeconds",
            ),
            (json!({"holderIdentity": 5}), "spec.holderIdentity"),
            (json!({"renewTime": 5}), "spec.renewTime"),
            (json!({"on": "x"}), "spec.on"),
            (json!({"taints": "x"}), "spec.taints"),
            (json!({"taints": [5]}), "spec.taints[0]"),
            (json!({"taints": [{"key": 5}]}), "spec.taints[0].key"),
            (json!({"labels": []}), "spec.labels"),
            (json!({"labels": {"a": 1}}), "spec.labels.a"),
            (json!(5), "spec"),
        ] {
            let error = read(spec).unwrap_err();
            assert!(error.starts_with(&format!("{place}: must be ")), "{error}");
        }
    }

    #[test]
    fn unknown_fields_and_nulls_go() {
        let mut value = json!({"spec": {"foo": 1, "holderIdentity": null, "taints": [{"key": "a", "bar": {}}],
            "labels": {"a": null}}});
        let unknown = decode(&mut value, &lease()).unwrap();
        assert_eq!(unknown, ["spec.foo", "spec.taints[0].bar"]);
        assert_eq!(value, json!({"spec": {"taints": [{"key": "a"}], "labels": {"a": ""}}}));
    }

    #[test]
    fn lists_and_maps_without_entries_go() {
        let spec = json!({"taints": [], "labels": {}, "holderIdentity": ""});
        assert_eq!(read(spec), Ok(json!({"holderIdentity": ""})));
    }

    #[test]
    fn times_are_stored_in_utc_and_in_their_precision() {
        for (given, stored) in [
            (
                json!({"at": "2020-01-01T00:00:00.9+01:00"}),
                json!({"at": "2019-12-31T23:00:00Z"}),
            ),
            (
                json!({"renewTime": "2020-01-01T01:00:00.000001+01:00"}),
                json!({"renewTime": "2020-01-01T00:00:00.000001Z"}),
            ),
        ] {
            assert_eq!(read(given), Ok(stored));
        }
        assert!(read(json!({"at": "yesterday"})).is_err());
        assert!(read(json!({"renewTime": "2020-01-01T00:00:00Z"})).is_err());
    }

    #[test]
    fn quantities_may_be_numbers_and_are_stored_as_texts() {
        assert_eq!(read(json!({"amount": 4})), Ok(json!({"amount": "4"})));
        for good in [
            "1", "1.", ".5", "-3", "+1", "100m", "1n", "4Gi", "2Ei", "1E", "1e3", "1E+3", "1.5k",
        ] {
            assert_eq!(read(json!({"amount": good})), Ok(json!({"amount": good})));
        }
        for bad in [
            "1K", "1e", "1i", "1mi", "1Kii", "1kk", "1M5", "1e+", "", "x", "1.2.3", "1e3.5",
        ] {
            assert!(read(json!({"amount": bad})).is_err(), "{bad}");
        }
    }
}
