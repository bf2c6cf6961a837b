//! Label selectors: an impossible label selects nothing and is refused as a mistake.

use embedded_api::schema::metadata::names;
use serde_json::Value;

/// Errors: the broken rule.
pub fn possible(key: &str, value: &str) -> Result<(), String> {
    if let Some(rule) = names::label_key(key) {
        return Err(format!("no label can have the key {key:?}: {rule}"));
    }
    match names::label_value(value) {
        Some(rule) => Err(format!("no label can have the value {value:?}: {rule}, or empty")),
        None => Ok(()),
    }
}

/// Checks all label selectors of an object, at any depth. Errors: the first impossible label, with its field.
pub fn possible_in(object: &Value) -> Result<(), String> {
    within(object, "")
}

fn within(value: &Value, path: &str) -> Result<(), String> {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = if path.is_empty() {
                    name.clone()
                } else {
                    format!("{path}.{name}")
                };
                if let ("nodeSelector" | "matchLabels", Value::Object(labels)) = (name.as_str(), value) {
                    for (key, value) in labels {
                        possible(key, value.as_str().unwrap_or_default()).map_err(|why| format!("{path}: {why}"))?;
                    }
                } else {
                    within(value, &path)?;
                }
            }
            Ok(())
        }
        Value::Array(items) => {
            let mut items = items.iter().enumerate();
            items.try_for_each(|(index, item)| within(item, &format!("{path}[{index}]")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_label_that_no_object_can_have_is_refused_with_the_rule() {
        for (key, value) in [("team", "red"), ("skein.dev/site", "North_1"), ("team", "")] {
            possible(key, value).unwrap();
        }
        for (key, value, part) in [
            ("my team", "red", "the key \"my team\""),
            ("a/b/c", "red", "the key \"a/b/c\""),
            ("équipe", "red", "the key \"équipe\""),
            ("team", "light red", "the value \"light red\""),
            ("team", "-red", "the value \"-red\""),
            ("team", &"r".repeat(64), "no label can have the value"),
        ] {
            let why = possible(key, value).unwrap_err();
            assert!(why.contains(part) && why.contains(": "), "{why}");
        }
    }

    #[test]
    fn the_field_of_an_impossible_selector_is_named() {
        let mission = json!({"spec": {"nodeSelector": {"site": "north field"}}});
        let why = possible_in(&mission).unwrap_err();
        assert!(
            why.starts_with("spec.nodeSelector: no label can have the value \"north field\""),
            "{why}"
        );
        let fences = json!([{"spec": {"vehicleSelector": {"matchLabels": {"a b": "c"}}}}]);
        assert!(
            possible_in(&fences)
                .unwrap_err()
                .starts_with("[0].spec.vehicleSelector.matchLabels: ")
        );
        possible_in(&json!({"spec": {"nodeSelector": {"site": "north"}, "other": ["a b"]}})).unwrap();
    }
}
