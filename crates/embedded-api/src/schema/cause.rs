//! What is wrong with an object: one constructor for each reason.

use crate::refusal::Cause;
use serde_json::Value;
use std::collections::HashSet;

/// The field of a fault of the whole object, as the API names it.
pub const ROOT: &str = "<nil>";

/// `value` is repeated if it is neither an object nor a list: those can be large.
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

/// The value is not allowed.
#[must_use]
pub fn invalid(field: impl Into<String>, value: &Value, detail: &str) -> Cause {
    cause("FieldValueInvalid", field, "Invalid value", value, detail)
}

/// The value has another type.
#[must_use]
pub fn type_invalid(field: impl Into<String>, value: &Value, detail: &str) -> Cause {
    cause("FieldValueTypeInvalid", field, "Invalid value", value, detail)
}

/// The value is missing.
#[must_use]
pub fn required(field: impl Into<String>, detail: &str) -> Cause {
    cause("FieldValueRequired", field, "Required value", &Value::Null, detail)
}

/// The value may not be set, or may not be changed.
#[must_use]
pub fn forbidden(field: impl Into<String>, detail: &str) -> Cause {
    cause("FieldValueForbidden", field, "Forbidden", &Value::Null, detail)
}

/// The value occurs twice.
#[must_use]
pub fn duplicate(field: impl Into<String>, value: &Value, detail: &str) -> Cause {
    cause("FieldValueDuplicate", field, "Duplicate value", value, detail)
}

/// A text of more than `max` bytes.
#[must_use]
pub fn too_long(field: impl Into<String>, max: i64) -> Cause {
    let detail = format!("may not be more than {max} bytes");
    cause("FieldValueTooLong", field, "Too long", &Value::Null, &detail)
}

/// A list of more than `max` entries.
#[must_use]
pub fn too_many(field: impl Into<String>, count: usize, max: i64) -> Cause {
    let detail = format!("must have at most {max} items");
    cause("FieldValueTooMany", field, "Too many", &count.into(), &detail)
}

/// Not one of the allowed values.
#[must_use]
pub fn not_supported(field: impl Into<String>, value: &Value, supported: &[Value]) -> Cause {
    let supported: Vec<String> = supported.iter().map(ToString::to_string).collect();
    let detail = format!("supported values: {}", supported.join(", "));
    cause("FieldValueNotSupported", field, "Unsupported value", value, &detail)
}

/// A cause as one line: `spec.replicas: Invalid value: 5: …`. Warnings have this form.
#[must_use]
pub fn line(cause: &Cause) -> String {
    format!("{}: {}", cause.field, cause.message)
}

/// The causes in their order, without duplicates. There may be as many as an object has fields.
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
