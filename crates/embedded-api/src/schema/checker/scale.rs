//! The numbers of the scale subresource, in the object itself.
//!
//! Owns: that the subresource can show these numbers. Must not: serve the subresource.

use super::Subject;
use crate::refusal::Cause;
use crate::resource::{Scale, at};
use crate::schema::{cause, go};
use serde_json::Value;

/// What is wrong with the numbers and the selector.
pub(super) fn check(scale: Option<&Scale>, object: &Value, subject: Subject, causes: &mut Vec<Cause>) {
    let Some(scale) = scale else { return };
    if subject == Subject::Main {
        number(object, &scale.spec_replicas, causes);
    }
    number(object, &scale.status_replicas, causes);
    if let Some(path) = &scale.label_selector {
        let value = at(object, path).filter(|value| !value.is_string());
        let detail = value.map(|value| wrong(path, value, "string"));
        if let Some(detail) = detail.or_else(|| no_map(object, path)) {
            causes.push(cause::invalid(path.as_str(), &"".into(), &detail));
        }
    }
}

/// The message when a value above it is neither an object nor absent.
fn no_map(object: &Value, path: &str) -> Option<String> {
    let mut value = object;
    for part in path.split('.').filter(|part| !part.is_empty()) {
        let Some(fields) = value.as_object() else {
            return Some(wrong(path, value, "map[string]interface{}"));
        };
        value = fields.get(part)?;
    }
    None
}

fn number(object: &Value, path: &str, causes: &mut Vec<Cause>) {
    let Some(value) = at(object, path) else {
        if let Some(detail) = no_map(object, path) {
            causes.push(cause::invalid(path, &0.into(), &detail));
        }
        return;
    };
    let Some(number) = value.as_i64() else {
        causes.push(cause::invalid(path, &0.into(), &wrong(path, value, "int64")));
        return;
    };
    if number < 0 {
        causes.push(cause::invalid(path, value, "should be a non-negative integer"));
    } else if number > i64::from(i32::MAX) {
        let detail = format!("should be less than or equal to {}", i32::MAX);
        causes.push(cause::invalid(path, value, &detail));
    }
}

fn wrong(path: &str, value: &Value, wanted: &str) -> String {
    let (shown, type_) = match value {
        Value::String(text) => (text.clone(), "string"),
        Value::Bool(on) => (on.to_string(), "bool"),
        Value::Number(number) if number.is_i64() => (go::number(number), "int64"),
        Value::Number(number) => (go::number(number), "float64"),
        Value::Null => ("<nil>".to_owned(), "<nil>"),
        Value::Array(_) => (go::json(value), "[]interface {}"),
        Value::Object(_) => (go::json(value), "map[string]interface {}"),
    };
    format!("{path} accessor error: {shown} is of the type {type_}, expected {wanted}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::cause::line;
    use serde_json::json;

    fn causes(object: Value, subject: Subject) -> Vec<String> {
        let scale = Scale {
            spec_replicas: ".spec.replicas".to_owned(),
            status_replicas: ".status.replicas".to_owned(),
            label_selector: Some(".status.selector".to_owned()),
        };
        let mut causes = Vec::new();
        check(Some(&scale), &object, subject, &mut causes);
        causes.iter().map(line).collect()
    }

    #[test]
    fn replicas_are_numbers_that_can_be_shown() {
        let spec = |replicas: Value| json!({"spec": {"replicas": replicas}});
        assert_eq!(causes(spec(json!(5)), Subject::Main), [""; 0]);
        assert_eq!(causes(json!({}), Subject::Main), [""; 0]);
        assert_eq!(
            causes(spec(json!(-1)), Subject::Main),
            [".spec.replicas: Invalid value: -1: should be a non-negative integer"]
        );
        assert_eq!(
            causes(spec(json!(3_000_000_000_i64)), Subject::Main),
            [".spec.replicas: Invalid value: 3000000000: should be less than or equal to 2147483647"]
        );
        assert_eq!(
            causes(spec(json!("x")), Subject::Main),
            [
                ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: x is of the type string, expected int64"
            ]
        );
    }

    #[test]
    fn a_number_in_what_is_no_object_is_reported() {
        let causes = causes(json!({"spec": 5, "status": {}}), Subject::Main);
        assert_eq!(
            causes,
            [
                ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: 5 is of the type int64, expected \
                 map[string]interface{}"
            ]
        );
    }

    #[test]
    fn a_change_of_the_status_is_not_judged_by_the_spec() {
        let object = json!({"spec": {"replicas": -1}, "status": {"replicas": -2, "selector": 5}});
        assert_eq!(
            causes(object, Subject::Status),
            [
                ".status.replicas: Invalid value: -2: should be a non-negative integer",
                ".status.selector: Invalid value: \"\": .status.selector accessor error: 5 is of the type int64, expected string",
            ]
        );
    }
}
