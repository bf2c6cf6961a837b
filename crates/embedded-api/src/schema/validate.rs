//! Validation of a value by its schema. It is ratcheting on an update: faults of an unchanged value are ignored.

use super::node::Node;
use super::path::Path;
use super::{Type, cause, same, time};
use crate::refusal::Cause;
use serde_json::{Map, Number, Value};

/// Causes name the whole path, so those of a small object with a long key could take gigabytes.
const MOST_BYTES: usize = 16 * 1024 * 1024;

#[must_use]
pub fn validate(value: &Value, old: Option<&Value>, node: &Node, path: &Path<'_>) -> Vec<Cause> {
    let mut found = Found::default();
    judge(value, old, node, path, &mut found);
    cause::once(found.causes)
}

#[derive(Debug, Default)]
struct Found {
    causes: Vec<Cause>,
    size: usize,
}

impl Found {
    fn add(&mut self, cause: Cause) {
        self.size += cause.field.len() + cause.message.len();
        self.causes.push(cause);
    }

    fn is_full(&self) -> bool {
        self.size > MOST_BYTES
    }
}

fn judge(value: &Value, old: Option<&Value>, node: &Node, path: &Path<'_>, found: &mut Found) {
    let (count, size) = (found.causes.len(), found.size);
    judge_new(value, old, node, path, found);
    if found.causes.len() > count && old.is_some_and(|old| same::same(value, old, node)) {
        found.causes.truncate(count);
        found.size = size;
    }
}

fn judge_new(value: &Value, old: Option<&Value>, node: &Node, path: &Path<'_>, found: &mut Found) {
    if let Some(type_) = node.type_.filter(|type_| !is_of_type(value, *type_, node)) {
        let detail = format!("must be of type {}", type_.name());
        found.add(cause::type_invalid(path.text(), value, &detail));
    }
    match value {
        Value::String(text) => limits_of_text(text, value, node, path, found),
        Value::Number(number) => limits_of_number(number, value, node, path, found),
        Value::Array(items) => list(items, old, node, path, found),
        Value::Object(fields) => object(fields, old, node, path, found),
        Value::Null | Value::Bool(_) => {}
    }
    let allowed = &node.limits.allowed;
    let equal = |each: &Value| match (each.as_f64(), value.as_f64()) {
        (Some(one), Some(other)) => one == other,
        _ => each == value,
    };
    if !allowed.is_empty() && !allowed.iter().any(equal) {
        found.add(cause::not_supported(path.text(), value, allowed));
    }
}

fn is_of_type(value: &Value, type_: Type, node: &Node) -> bool {
    match (value, type_) {
        (Value::Null, _) => node.nullable,
        (Value::Bool(_), Type::Boolean)
        | (Value::Number(_), Type::Number)
        | (Value::String(_), Type::String)
        | (Value::Array(_), Type::Array)
        | (Value::Object(_), Type::Object) => true,
        (Value::Number(number), Type::Integer) => number.as_f64().is_some_and(|real| real.fract() == 0.0),
        _ => false,
    }
}

fn limits_of_text(text: &str, value: &Value, node: &Node, path: &Path<'_>, found: &mut Found) {
    let length = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    if let Some(max) = node.limits.max_length.filter(|max| length > *max) {
        found.add(cause::too_long(path.text(), max));
    }
    if let Some(min) = node.limits.min_length.filter(|min| length < *min) {
        let detail = format!("should be at least {min} chars long");
        found.add(cause::invalid(path.text(), value, &detail));
    }
    if node.format == "date-time" && time::parse(text).is_none() {
        let detail = "must be a date-time such as 2006-01-02T15:04:05Z";
        found.add(cause::type_invalid(path.text(), value, detail));
    }
}

fn limits_of_number(number: &Number, value: &Value, node: &Node, path: &Path<'_>, found: &mut Found) {
    let real = number.as_f64().unwrap_or(f64::NAN);
    let fits = match (node.type_, node.format.as_str()) {
        (Some(Type::Integer), "int32") => number.as_i64().is_some_and(|whole| i32::try_from(whole).is_ok()),
        (Some(Type::Integer), _) => number.is_i64(),
        (Some(Type::Number), "float") => real.abs() <= f64::from(f32::MAX),
        _ => true,
    };
    if !fits {
        let detail = format!("{} is no {}", path.text(), node.format);
        found.add(cause::invalid(cause::ROOT, value, &detail));
    }
    if let Some(minimum) = node.limits.minimum.filter(|minimum| real < *minimum) {
        let detail = format!("should be greater than or equal to {minimum}");
        found.add(cause::invalid(path.text(), value, &detail));
    }
    if let Some(maximum) = node.limits.maximum.filter(|maximum| real > *maximum) {
        let detail = format!("should be less than or equal to {maximum}");
        found.add(cause::invalid(path.text(), value, &detail));
    }
}

fn list(items: &[Value], old: Option<&Value>, node: &Node, path: &Path<'_>, found: &mut Found) {
    if let Some(inner) = &node.items {
        let before = old.map(|old| same::Items::of(old, &node.list));
        for (index, item) in items.iter().enumerate() {
            if found.is_full() {
                break;
            }
            let old = before.as_ref().and_then(|before| before.counterpart(item));
            judge(item, old, inner, &path.index(index), found);
        }
    }
    let count = i64::try_from(items.len()).unwrap_or(i64::MAX);
    if let Some(min) = node.limits.min_items.filter(|min| count < *min) {
        let detail = format!("should have at least {min} items");
        found.add(cause::invalid(path.text(), &count.into(), &detail));
    }
    if let Some(max) = node.limits.max_items.filter(|max| count > *max) {
        found.add(cause::too_many(path.text(), items.len(), max));
    }
}

fn object(fields: &Map<String, Value>, old: Option<&Value>, node: &Node, path: &Path<'_>, found: &mut Found) {
    for (name, value) in fields {
        if found.is_full() {
            break;
        }
        if let Some(inner) = node.child(name) {
            let old = old.and_then(|old| old.get(name));
            judge(value, old, inner, &path.field(name), found);
        }
    }
    for name in &node.required {
        if !fields.contains_key(name) {
            found.add(cause::required(path.field(name).text(), ""));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Schema;
    use crate::schema::cause::line;
    use serde_json::json;

    fn causes(schema: Value, value: Value, old: Option<Value>) -> Vec<String> {
        let node = Node::of(&Schema::parse(&schema).unwrap()).unwrap();
        let causes = validate(&value, old.as_ref(), &node, &Path::ROOT.field("spec"));
        causes.iter().map(line).collect()
    }

    fn is_valid(schema: Value, value: Value) -> bool {
        causes(schema, value, None).is_empty()
    }

    #[test]
    fn a_schema_without_type_allows_any() {
        for value in [json!(1), json!("x"), json!(null), json!([]), json!({})] {
            assert!(is_valid(json!({}), value));
        }
    }

    #[test]
    fn null_is_allowed_where_it_is_said() {
        assert!(is_valid(json!({"type": "string", "nullable": true}), Value::Null));
        assert_eq!(
            causes(json!({"type": "string"}), Value::Null, None),
            ["spec: Invalid value: must be of type string"]
        );
        let listed = json!({"type": "string", "nullable": true, "enum": ["A"]});
        assert_eq!(causes(listed, Value::Null, None).len(), 1);
    }

    #[test]
    fn numbers_have_their_type_format_and_limits() {
        assert!(is_valid(json!({"type": "number"}), json!(1)));
        assert!(!is_valid(json!({"type": "integer"}), json!(1.5)));
        assert!(is_valid(json!({"type": "integer"}), json!(i64::MIN)));
        let below: Value = serde_json::from_str("-9223372036854775809").unwrap();
        assert!(!is_valid(json!({"type": "integer"}), below));
        assert!(!is_valid(
            json!({"type": "integer", "format": "int32"}),
            json!(3_000_000_000_i64)
        ));
        assert!(!is_valid(json!({"type": "number", "format": "float"}), json!(1e300)));
        for (value, good) in [
            (json!(1), true),
            (json!(2.5), true),
            (json!(0.5), false),
            (json!(3), false),
        ] {
            assert_eq!(
                is_valid(json!({"type": "number", "minimum": 1, "maximum": 2.5}), value),
                good
            );
        }
    }

    #[test]
    fn texts_and_lists_have_a_length_and_texts_count_characters() {
        let text = || json!({"type": "string", "minLength": 2, "maxLength": 3});
        let list = || json!({"type": "array", "minItems": 2, "maxItems": 3});
        for (count, good) in [(1, false), (2, true), (3, true), (4, false)] {
            assert_eq!(is_valid(text(), "ü".repeat(count).into()), good);
            assert_eq!(is_valid(list(), vec![1; count].into()), good);
        }
    }

    #[test]
    fn a_time_is_one() {
        let time = json!({"type": "string", "format": "date-time"});
        assert!(is_valid(time.clone(), json!("2020-01-01T00:00:00.5+01:00")));
        assert!(!is_valid(time, json!("yesterday")));
    }

    #[test]
    fn fields_come_before_what_is_missing() {
        let schema = json!({"type": "object", "required": ["z", "b"], "properties": {"a": {"type": "integer"}}});
        assert_eq!(
            causes(schema, json!({"a": "x"}), None),
            [
                r#"spec.a: Invalid value: "x": must be of type integer"#,
                "spec.z: Required value",
                "spec.b: Required value",
            ]
        );
    }

    #[test]
    fn what_was_wrong_before_and_is_untouched_is_no_fault_of_an_update() {
        let schema = || {
            json!({"type": "object", "properties": {
                "n": {"type": "integer", "maximum": 9}, "m": {"type": "integer"},
                "list": {"type": "array", "items": {"type": "integer", "maximum": 9}}}})
        };
        let count = |new: Value, old: Value| causes(schema(), new, Some(old)).len();
        assert_eq!(count(json!({"n": 10, "m": 1}), json!({"n": 10})), 0);
        assert_eq!(count(json!({"n": 11}), json!({"n": 10})), 1);
        assert_eq!(count(json!({"list": [10]}), json!({"list": [10]})), 0);
        assert_eq!(count(json!({"list": [10, 1]}), json!({"list": [10]})), 1);
    }
}
