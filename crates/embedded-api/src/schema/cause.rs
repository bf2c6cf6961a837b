//! What is wrong with an object, in the API's words: one constructor for each reason.
//!
//! Owns: the wording of reasons. Must not: detect faults.

use super::go;
use crate::refusal::Cause;
use serde_json::Value;
use std::collections::HashSet;

fn cause(reason: &'static str, field: impl Into<String>, word: &str, detail: &str) -> Cause {
    let message = if detail.is_empty() {
        word.to_owned()
    } else {
        format!("{word}: {detail}")
    };
    Cause {
        reason,
        field: field.into(),
        message,
    }
}

/// The value is not allowed.
#[must_use]
pub fn invalid(field: impl Into<String>, value: &Value, detail: &str) -> Cause {
    let word = format!("Invalid value: {}", go::shown(value));
    cause("FieldValueInvalid", field, &word, detail)
}

/// The value is not allowed; the message prints it as `shown`.
#[must_use]
pub fn invalid_shown(field: impl Into<String>, shown: &str, detail: &str) -> Cause {
    cause("FieldValueInvalid", field, &format!("Invalid value: {shown}"), detail)
}

/// The value is not allowed; it is too large to be repeated.
#[must_use]
pub fn invalid_without_value(field: impl Into<String>, detail: &str) -> Cause {
    cause("FieldValueInvalid", field, "Invalid value", detail)
}

/// The value has another type. `shown` is what the message repeats: the name of a type or the value.
#[must_use]
pub fn type_invalid(field: impl Into<String>, shown: &str, detail: &str) -> Cause {
    let word = format!("Invalid value: {}", go::quoted(shown));
    cause("FieldValueTypeInvalid", field, &word, detail)
}

/// The value is missing.
#[must_use]
pub fn required(field: impl Into<String>, detail: &str) -> Cause {
    cause("FieldValueRequired", field, "Required value", detail)
}

/// The value may not be set, or may not be changed.
#[must_use]
pub fn forbidden(field: impl Into<String>, detail: &str) -> Cause {
    cause("FieldValueForbidden", field, "Forbidden", detail)
}

/// The value occurs twice.
#[must_use]
pub fn duplicate(field: impl Into<String>, value: &Value, detail: &str) -> Cause {
    let word = format!("Duplicate value: {}", go::shown(value));
    cause("FieldValueDuplicate", field, &word, detail)
}

/// The value occurs twice; the message prints it as `shown`.
#[must_use]
pub fn duplicate_shown(field: impl Into<String>, shown: &str, detail: &str) -> Cause {
    cause(
        "FieldValueDuplicate",
        field,
        &format!("Duplicate value: {shown}"),
        detail,
    )
}

/// The value occurs twice; it is too large to be repeated.
#[must_use]
pub fn duplicate_without_value(field: impl Into<String>) -> Cause {
    cause("FieldValueDuplicate", field, "Duplicate value", "")
}

/// A text of more than `max` bytes.
#[must_use]
pub fn too_long(field: impl Into<String>, max: i64) -> Cause {
    let detail = format!("may not be more than {max} bytes");
    cause("FieldValueTooLong", field, "Too long", &detail)
}

/// A list or map of more than `max` entries.
#[must_use]
pub fn too_many(field: impl Into<String>, count: usize, max: i64) -> Cause {
    let detail = format!("must have at most {max} items");
    cause("FieldValueTooMany", field, &format!("Too many: {count}"), &detail)
}

/// Not one of the allowed values.
#[must_use]
pub fn not_supported(field: impl Into<String>, value: &Value, supported: &[String]) -> Cause {
    let word = format!("Unsupported value: {}", go::shown(value));
    let supported: Vec<String> = supported.iter().map(|each| go::quoted(each)).collect();
    let detail = match supported.as_slice() {
        [] => String::new(),
        some => format!("supported values: {}", some.join(", ")),
    };
    cause("FieldValueNotSupported", field, &word, &detail)
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
    fn each_reason_has_its_wording() {
        let supported = ["A".to_owned(), "B".to_owned()];
        let cases = [
            (invalid("a", &json!(5), "too much"), "a: Invalid value: 5: too much"),
            (invalid_without_value("a", "no"), "a: Invalid value: no"),
            (type_invalid("a", "string", "no"), r#"a: Invalid value: "string": no"#),
            (required("a", ""), "a: Required value"),
            (forbidden("a", "fixed"), "a: Forbidden: fixed"),
            (duplicate("a", &json!("x"), ""), r#"a: Duplicate value: "x""#),
            (duplicate_without_value("a"), "a: Duplicate value"),
            (too_long("a", 4), "a: Too long: may not be more than 4 bytes"),
            (too_many("a", 3, 2), "a: Too many: 3: must have at most 2 items"),
            (
                not_supported("a", &json!("C"), &supported),
                r#"a: Unsupported value: "C": supported values: "A", "B""#,
            ),
        ];
        for (cause, expected) in cases {
            assert_eq!(line(&cause), expected);
        }
    }
}
