//! How Go writes values: the API's messages quote what was sent the way Go's `%q`, `%v` and `encoding/json` do.
//!
//! Owns: the writing. Must not: know objects.

use serde_json::{Number, Value};
use std::fmt::Write as _;

/// A value as in `Invalid value: …`.
#[must_use]
pub fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Number(number) => self::number(number),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => json(value),
    }
}

/// A text as `%q` writes it.
#[must_use]
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for each in text.chars() {
        match each {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            _ if each.is_ascii_control() => write_escape(&mut out, format_args!("\\x{:02x}", u32::from(each))),
            _ if each.is_control() || (each.is_whitespace() && each != ' ') => {
                write_escape(&mut out, format_args!("\\u{:04x}", u32::from(each)));
            }
            _ => out.push(each),
        }
    }
    out.push('"');
    out
}

fn write_escape(out: &mut String, escape: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = out.write_fmt(escape);
}

/// A number as `%v` writes it: `1e+06`, `0.5`, `3`.
#[must_use]
pub fn number(number: &Number) -> String {
    match (number.as_i64(), number.as_f64()) {
        (Some(integer), _) => integer.to_string(),
        (None, Some(real)) => float(real),
        (None, None) => number.to_string(),
    }
}

/// A real number as `%v` writes it: the shortest digits, with an exponent below 1e-4 and from a million on.
#[must_use]
pub fn float(real: f64) -> String {
    match split(real) {
        Some((digits, exponent)) if !(-4..6).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.abs())
        }
        _ => format!("{real}"),
    }
}

/// A real number as `encoding/json` writes it: the shortest digits, with an exponent below 1e-6 and from 1e21.
fn json_float(real: f64) -> String {
    match split(real) {
        Some((digits, exponent)) if !(-6..21).contains(&exponent) => format!("{digits}e{exponent:+}"),
        _ => format!("{real}"),
    }
}

/// The shortest digits of a number, and its exponent. `None` for zero and for NaN or infinity.
fn split(real: f64) -> Option<(String, i32)> {
    let text = format!("{real:e}");
    let (digits, exponent) = text.split_once('e')?;
    let exponent = exponent.parse().ok().filter(|_| real != 0.0)?;
    Some((digits.to_owned(), exponent))
}

/// A value as `encoding/json` writes it: no spaces, keys in order, `<`, `>` and `&` escaped.
#[must_use]
pub fn json(value: &Value) -> String {
    let mut out = String::new();
    write_json(value, &mut out);
    out
}

fn write_json(value: &Value, out: &mut String) {
    match value {
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_json(item, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            out.push('{');
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            for (index, (key, value)) in entries.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_json(&Value::String(key.clone()), out);
                out.push(':');
                write_json(value, out);
            }
            out.push('}');
        }
        Value::Number(number) => out.push_str(&match (number.as_i64(), number.as_f64()) {
            (None, Some(real)) => json_float(real),
            _ => number.to_string(),
        }),
        Value::Null | Value::Bool(_) | Value::String(_) => {
            let text = value.to_string();
            out.push_str(
                &text
                    .replace('<', "\\u003c")
                    .replace('>', "\\u003e")
                    .replace('&', "\\u0026"),
            );
        }
    }
}

/// The name of a value's type in Go's JSON decoder: `number`, `bool`.
#[must_use]
pub fn json_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_shown_as_the_api_shows_them() {
        let cases = [
            (json!("a\"b\n"), r#""a\"b\n""#),
            (json!("ü"), r#""ü""#),
            (json!("\u{1}\u{a0}"), r#""\x01\u00a0""#),
            (json!(5000), "5000"),
            (json!(1.5), "1.5"),
            (json!(2.0), "2"),
            (json!(1e21), "1e+21"),
            (json!(1.5e-7), "1.5e-07"),
            (json!(0.0), "0"),
            (json!(999_999.5), "999999.5"),
            (json!(1_234_567.5), "1.2345675e+06"),
            (json!(0.0001), "0.0001"),
            (json!(0.00001), "1e-05"),
            (json!(u64::MAX), "1.8446744073709552e+19"),
            (
                json!([1_234_567.5, 1e20, 1e21, 0.000_001, 1.5e-7, 1e300]),
                "[1234567.5,100000000000000000000,1e+21,0.000001,1.5e-7,1e+300]",
            ),
            (json!(true), "true"),
            (Value::Null, "null"),
            (
                json!({"b": [1, "<x>"], "a": null}),
                r#"{"a":null,"b":[1,"\u003cx\u003e"]}"#,
            ),
        ];
        for (value, expected) in cases {
            assert_eq!(shown(&value), expected);
        }
    }
}
