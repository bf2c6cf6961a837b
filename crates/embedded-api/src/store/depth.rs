//! Nesting depth of objects. JSON parsers stop below 128 levels, and a stored object has to stay readable, also as an
//! item of a list: an unreadable one would make the whole log unreadable at the next start.

use serde_json::Value;

/// Levels of objects and lists, including the outermost.
pub const DEEPEST: usize = 120;

fn fits(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels > 0 && items.iter().all(|item| fits(item, levels - 1)),
        Value::Object(fields) => levels > 0 && fields.values().all(|field| fits(field, levels - 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

#[must_use]
pub fn is_within_limit(object: &Value) -> bool {
    fits(object, DEEPEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn levels_are_counted_and_what_is_in_no_list_has_none() {
        for (value, levels) in [(json!(1), 0), (json!([]), 1), (json!({"a": [1], "b": 2}), 2)] {
            assert!(fits(&value, levels), "{value}");
            assert!(levels == 0 || !fits(&value, levels - 1), "{value}");
        }
    }
}
