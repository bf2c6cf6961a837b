//! Defaults of a schema for fields that are not set. A null where the schema allows none counts as not set; a default
//! is filled in before its content is processed, so defaults inside defaults apply too.

use super::Schema;
use serde_json::Value;

/// Where the schema allows none and has no default; items of lists stay.
pub fn drop_nulls(value: &mut Value, schema: &Schema) {
    match value {
        Value::Object(map) => map.retain(|name, value| {
            let Some(inner) = schema.properties.get(name).or(schema.additional.as_deref()) else {
                return true;
            };
            if meaningless(value, inner) {
                return inner.default.is_some();
            }
            drop_nulls(value, inner);
            true
        }),
        Value::Array(items) => {
            if let Some(inner) = &schema.items {
                items.iter_mut().for_each(|item| drop_nulls(item, inner));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

pub fn fill(value: &mut Value, schema: &Schema) {
    match value {
        Value::Object(map) => {
            for (name, inner) in &schema.properties {
                let Some(default) = &inner.default else { continue };
                if map.get(name).is_none_or(|value| meaningless(value, inner)) {
                    map.insert(name.clone(), default.clone());
                }
            }
            for (name, value) in map.iter_mut() {
                match (schema.properties.get(name), schema.additional.as_deref()) {
                    (Some(inner), _) => fill(value, inner),
                    (None, Some(inner)) => fill_entry(value, inner),
                    (None, None) => {}
                }
            }
        }
        Value::Array(items) => {
            if let Some(inner) = &schema.items {
                items.iter_mut().for_each(|item| fill_entry(item, inner));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn fill_entry(value: &mut Value, inner: &Schema) {
    if let (true, Some(default)) = (meaningless(value, inner), &inner.default) {
        *value = default.clone();
    }
    fill(value, inner);
}

#[must_use]
pub fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(fields.map(|(name, value)| (name, without_nulls(value))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(without_nulls).collect()),
        plain => plain,
    }
}

/// Writes `10.0` as `10`, as the API does, so that a value compares equal to itself after another program wrote it.
pub fn plain_numbers(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            if let Some(whole) = number.as_f64().and_then(whole) {
                *value = whole.into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(plain_numbers),
        Value::Object(fields) => fields.iter_mut().for_each(|(_, value)| plain_numbers(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Converts up to 2^53: above, real numbers are not exact.
fn whole(real: f64) -> Option<i64> {
    const MOST: f64 = 9_007_199_254_740_992.0;
    if real.fract() != 0.0 || real.abs() > MOST {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "it is whole, and within the range")]
    Some(real as i64)
}

/// Null counts where the schema allows it or is only `true`, but not because it preserves unknown fields.
fn meaningless(value: &Value, schema: &Schema) -> bool {
    value.is_null() && !schema.nullable && !schema.is_true()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn filled(schema: Value, mut value: Value) -> Value {
        let schema = Schema::parse(&schema).unwrap();
        drop_nulls(&mut value, &schema);
        fill(&mut value, &schema);
        value
    }

    fn schema() -> Value {
        json!({"type": "object", "properties": {
            "plain": {"type": "string"},
            "def": {"type": "string", "default": "d"},
            "nullable": {"type": "string", "nullable": true},
            "nulldef": {"type": "string", "nullable": true, "default": "d"},
            "inner": {"type": "object", "properties": {"x": {"type": "integer", "default": 3}}},
            "any": {"x-kubernetes-preserve-unknown-fields": true},
            "free": {"type": "object", "additionalProperties": true},
        }})
    }

    #[test]
    fn what_was_not_said_is_filled_in() {
        assert_eq!(filled(schema(), json!({})), json!({"def": "d", "nulldef": "d"}));
        assert_eq!(
            filled(schema(), json!({"def": "mine", "nulldef": "mine"})),
            json!({"def": "mine", "nulldef": "mine"})
        );
    }

    #[test]
    fn an_object_that_is_not_there_is_not_made_for_its_defaults() {
        assert_eq!(filled(schema(), json!({})).get("inner"), None);
        assert_eq!(filled(schema(), json!({"inner": {}}))["inner"], json!({"x": 3}));
    }

    #[test]
    fn null_is_nothing_where_no_null_is_allowed() {
        assert_eq!(
            filled(
                schema(),
                json!({"plain": null, "def": null, "inner": null, "any": null})
            ),
            json!({"def": "d", "nulldef": "d"})
        );
        assert_eq!(
            filled(schema(), json!({"inner": {"x": null}}))["inner"],
            json!({"x": 3})
        );
    }

    #[test]
    fn null_stays_where_it_is_allowed() {
        assert_eq!(
            filled(
                schema(),
                json!({"nullable": null, "nulldef": null, "free": {"a": null}})
            ),
            json!({"nullable": null, "nulldef": null, "def": "d", "free": {"a": null}})
        );
    }

    #[test]
    fn defaults_inside_a_default_apply() {
        let schema = json!({"type": "object", "properties": {"outer": {"type": "object", "default": {}, "properties": {
            "x": {"type": "integer", "default": 1}}}}});
        assert_eq!(filled(schema, json!({})), json!({"outer": {"x": 1}}));
    }

    #[test]
    fn entries_of_lists_and_maps_get_their_defaults() {
        let entry = json!({"type": "object", "properties": {"p": {"type": "string", "default": "TCP"}}});
        let schema = json!({"type": "object", "properties": {
            "list": {"type": "array", "items": entry},
            "map": {"type": "object", "additionalProperties": entry},
            "numbers": {"type": "array", "items": {"type": "integer", "default": 7}},
        }});
        assert_eq!(
            filled(
                schema,
                json!({"list": [{}, {"p": "x"}], "map": {"a": {}, "b": null}, "numbers": [1, null]})
            ),
            json!({"list": [{"p": "TCP"}, {"p": "x"}], "map": {"a": {"p": "TCP"}}, "numbers": [1, 7]})
        );
    }

    #[test]
    fn whole_numbers_lose_their_point() {
        let mut value = json!({"a": 10.0, "b": [1.5, -0.0, 1e300], "c": 7});
        plain_numbers(&mut value);
        assert_eq!(value, json!({"a": 10, "b": [1.5, 0, 1e300], "c": 7}));
    }

    #[test]
    fn null_in_a_list_of_things_that_cannot_be_null_stays_to_be_refused() {
        let schema = json!({"type": "object", "properties": {"list": {"type": "array", "items": {"type": "string"}}}});
        assert_eq!(filled(schema, json!({"list": [null]})), json!({"list": [null]}));
    }
}
