//! One cell of a custom column: what its path found, converted to the column's type.

use super::age;
use jiff::Timestamp;
use serde_json::{Number, Value};

/// Null for a missing value, or one that does not fit the type.
#[must_use]
pub fn of(type_: &str, value: Option<&Value>, now: Timestamp) -> Value {
    let Some(value) = value else { return Value::Null };
    let cell = match type_ {
        "string" => Some(text(value).into()),
        "integer" => integer(value),
        "number" => value
            .as_f64()
            .and_then(Number::from_f64)
            .map(|number| whole(number).into()),
        "boolean" => value.as_bool().map(Value::from),
        "date" => value.as_str().map(|time| age::of(time, now).into()),
        _ => None,
    };
    cell.unwrap_or_default()
}

/// Lists and objects as JSON, everything else as people write it.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "<no value>".to_owned(),
        other => other.to_string(),
    }
}

fn integer(value: &Value) -> Option<Value> {
    if let Some(integer) = value.as_i64() {
        return Some(integer.into());
    }
    value.as_f64().map(|number| (number as i64).into())
}

/// `5` rather than `5.0`, as in Kubernetes.
fn whole(number: Number) -> Number {
    let exact = number
        .as_f64()
        .filter(|value| value.fract() == 0.0 && value.abs() < 1e15);
    exact.map_or(number, |value| (value as i64).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_value_takes_the_columns_type_or_is_not_shown() {
        let now: Timestamp = "2026-11-21T06:00:00Z".parse().expect("a time");
        let cases = [
            ("string", json!("text"), json!("text")),
            ("string", json!(5), json!("5")),
            ("string", json!(2.75), json!("2.75")),
            ("string", json!(true), json!("true")),
            ("string", json!({"x": 1}), json!(r#"{"x":1}"#)),
            ("string", json!([1, "two"]), json!(r#"[1,"two"]"#)),
            ("string", json!([]), json!("[]")),
            ("string", Value::Null, json!("<no value>")),
            ("integer", Value::Null, Value::Null),
            ("date", Value::Null, Value::Null),
            ("date", json!(""), json!("<unknown>")),
            ("integer", json!(5), json!(5)),
            ("integer", json!(2.75), json!(2)),
            ("integer", json!(12_345_678_901_i64), json!(12_345_678_901_i64)),
            ("integer", json!("5"), Value::Null),
            ("number", json!(5), json!(5)),
            ("number", json!(2.75), json!(2.75)),
            ("boolean", json!(true), json!(true)),
            ("boolean", json!("true"), Value::Null),
            ("date", json!("2026-11-21T05:50:00Z"), json!("10m")),
            ("date", json!("text"), json!("<invalid>")),
            ("date", json!(5), Value::Null),
            ("colour", json!("red"), Value::Null),
        ];
        for (type_, value, cell) in cases {
            assert_eq!(of(type_, Some(&value), now), cell, "{value} as {type_}");
        }
        assert_eq!(of("string", None, now), Value::Null);
    }
}
