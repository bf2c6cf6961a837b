//! A schema prepared for validation: limits read from [`Schema::rules`].

use super::{ListType, Schema, SchemaError, Type};
use serde_json::Value;
use std::collections::BTreeMap;

/// A definition with one of these is refused: else objects would be accepted that a cluster refuses.
const NOT_CHECKED: [&str; 13] = [
    "allOf",
    "anyOf",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "maxProperties",
    "minProperties",
    "multipleOf",
    "not",
    "oneOf",
    "pattern",
    "uniqueItems",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
];

#[derive(Debug, Default)]
pub struct Node {
    pub type_: Option<Type>,
    pub nullable: bool,
    /// Checked for `int32`, `float` and `date-time` only.
    pub format: String,
    pub limits: Limits,
    pub properties: BTreeMap<String, Node>,
    pub additional: Option<Box<Node>>,
    pub items: Option<Box<Node>>,
    pub required: Vec<String>,
    pub list: ListType,
    pub has_keyed_lists: bool,
}

#[derive(Debug, Default)]
pub struct Limits {
    pub allowed: Vec<Value>,
    pub minimum: Option<f64>,
    pub maximum: Option<f64>,
    /// Characters, like `max_length`.
    pub min_length: Option<i64>,
    pub max_length: Option<i64>,
    pub min_items: Option<i64>,
    pub max_items: Option<i64>,
}

impl Node {
    /// Errors: a keyword that is not checked here.
    pub fn of(schema: &Schema) -> Result<Self, SchemaError> {
        Self::read(schema, "schema")
    }

    fn read(schema: &Schema, path: &str) -> Result<Self, SchemaError> {
        if let Some(keyword) = NOT_CHECKED.iter().find(|keyword| schema.rules.get(**keyword).is_some()) {
            return Err(SchemaError::NotChecked {
                path: path.to_owned(),
                keyword,
            });
        }
        let child = |child: &Schema, name: &str| Self::read(child, &format!("{path}.{name}"));
        let boxed =
            |inner: Option<&Schema>, name: &str| inner.map(|inner| child(inner, name).map(Box::new)).transpose();
        let properties = schema.properties.iter();
        let properties =
            properties.map(|(name, inner)| Ok((name.clone(), child(inner, &format!("properties[{name}]"))?)));
        let mut node = Self {
            type_: schema.type_,
            nullable: schema.nullable,
            format: schema.format().to_owned(),
            limits: Limits::read(&schema.rules),
            properties: properties.collect::<Result<_, SchemaError>>()?,
            additional: boxed(schema.additional.as_deref(), "additionalProperties")?,
            items: boxed(schema.items.as_deref(), "items")?,
            required: schema.required.clone(),
            list: schema.list.clone(),
            has_keyed_lists: false,
        };
        let inner = node.additional.as_deref().into_iter().chain(node.items.as_deref());
        let mut inner = node.properties.values().chain(inner);
        node.has_keyed_lists = node.list != ListType::Atomic || inner.any(|inner| inner.has_keyed_lists);
        Ok(node)
    }

    #[must_use]
    pub fn child(&self, name: &str) -> Option<&Self> {
        self.properties.get(name).or(self.additional.as_deref())
    }
}

impl Limits {
    fn read(rules: &Value) -> Self {
        let number = |key: &str| rules.get(key).and_then(Value::as_f64);
        let count = |key: &str| rules.get(key).and_then(Value::as_i64);
        Self {
            allowed: rules.get("enum").and_then(Value::as_array).cloned().unwrap_or_default(),
            minimum: number("minimum"),
            maximum: number("maximum"),
            min_length: count("minLength"),
            max_length: count("maxLength"),
            min_items: count("minItems"),
            max_items: count("maxItems"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(document: Value) -> Result<Node, SchemaError> {
        Node::of(&Schema::parse(&document).unwrap())
    }

    #[test]
    fn a_schema_knows_whether_it_has_lists_with_keys() {
        let plain = read(json!({"type": "object", "properties": {"a": {"type": "string"}}})).unwrap();
        assert!(!plain.has_keyed_lists);
        let list = json!({"properties": {"a": {"type": "array", "x-kubernetes-list-type": "set"}}});
        assert!(read(list).unwrap().has_keyed_lists);
    }

    #[test]
    fn a_keyword_that_is_not_checked_is_refused_with_its_place() {
        let error = read(json!({"properties": {"a": {"pattern": "x"}}})).unwrap_err();
        assert_eq!(
            error.to_string(),
            "schema.properties[a]: pattern is not checked here; write it as a rule of x-kubernetes-validations"
        );
    }
}
