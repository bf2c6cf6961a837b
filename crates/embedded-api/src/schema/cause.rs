//! Faults of an object: one constructor for each reason.

use crate::refusal::Cause;
use serde_json::Value;
use std::collections::HashSet;

pub const ROOT: &str = "<nil>";

/// Repeats `value` if it is neither an object nor a list: those can be large.
fn cause(reason: &'static str, field: impl Into<String>, word: &str, value: &Value, detail: &str) -> Cause {
    let mut message = word.to_owned();
    let shown = match value {
        Value::Null | Value::Array(_) | Value::Object(_) => String::new(),
        plain => plain.to_string(),
    };
    for part in [shown.as_str(), detail].into_iter().filter(|part| !part.is_empty()) {
        message.push_str(": ");
        message.push_str(part);
    }
    Cause {
        reason,
        field: field.into(),
        message,
    }
}

#[must_use]
pub fn invalid(field: impl Into<String>, value: &Value, detail: &str) -> Cause {
    cause("FieldValueInvalid", field, "Invalid value", value, detail)
}

#[must_use]
pub fn type_invalid(field: impl Into<String>, value: &Value, detail: &str) -> Cause {
    cause("FieldValueTypeInvalid", field, "Invalid value", value, detail)
}

#[must_use]
pub fn required(field: impl Into<String>, detail: &str) -> Cause {
    cause("FieldValueRequired", field, "Required value", &Value::Null, detail)
}

#[must_use]
pub fn forbidden(field: impl Into<String>, detail: &str) -> Cause {
    cause("FieldValueForbidden", field, "Forbidden", &Value::Null, detail)
}

#[must_use]
pub fn duplicate(field: impl Into<String>, value: &Value, detail: &str) -> Cause {
    cause("FieldValueDuplicate", field, "Duplicate value", value, detail)
}

/// `max` is in bytes.
#[must_use]
pub fn too_long(field: impl Into<String>, max: i64) -> Cause {
    let detail = format!("may not be more than {max} bytes");
    cause("FieldValueTooLong", field, "Too long", &Value::Null, &detail)
}

#[must_use]
pub fn too_many(field: impl Into<String>, count: usize, max: i64) -> Cause {
    let detail = format!("must have at most {max} items");
    cause("FieldValueTooMany", field, "Too many", &count.into(), &detail)
}

#[must_use]
pub fn not_supported(field: impl Into<String>, value: &Value, supported: &[Value]) -> Cause {
    let supported: Vec<String> = supported.iter().map(ToString::to_string).collect();
    let detail = format!("supported values: {}", supported.join(", "));
    cause("FieldValueNotSupported", field, "Unsupported value", value, &detail)
}

/// Line of a warning: `spec.replicas: Invalid value: 5: …`.
#[must_use]
pub fn line(cause: &Cause) -> String {
    format!("{}: {}", cause.field, cause.message)
}

/// Removes duplicates in order; there may be as many as an object has fields.
#[must_use]
pub fn once(causes: Vec<Cause>) -> Vec<Cause> {
    let mut listed: HashSet<Cause> = HashSet::with_capacity(causes.len());
    let mut left = causes;
    left.retain(|cause| listed.insert(cause.clone()));
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_cause_says_the_field_the_value_and_the_reason() {
        let cases = [
            (invalid("a", &json!(5), "too much"), "a: Invalid value: 5: too much"),
            (invalid("a", &json!({"large": 1}), "no"), "a: Invalid value: no"),
            (required("a", ""), "a: Required value"),
            (duplicate("a", &json!("x"), ""), r#"a: Duplicate value: "x""#),
            (too_many("a", 3, 2), "a: Too many: 3: must have at most 2 items"),
            (
                not_supported("a", &json!("C"), &[json!("A"), json!("B")]),
                r#"a: Unsupported value: "C": supported values: "A", "B""#,
            ),
        ];
        for (cause, expected) in cases {
            assert_eq!(line(&cause), expected);
        }
    }
}
