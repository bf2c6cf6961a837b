//! A schema prepared for validation: patterns and rules compiled, limits read from [`Schema::rules`].
//!
//! Owns: the compiled tree. Must not: read objects.

mod pattern;

use super::cel::Rule;
use super::validate::Format;
use super::{ListType, Schema, SchemaError, Type};
use regex::Regex;
use serde_json::Value;
use std::collections::BTreeMap;

/// What is allowed for one value.
#[derive(Debug, Default)]
pub struct Node {
    /// Types as the schema names them: one, none for any, or `integer` and `string`.
    pub types: Vec<Type>,
    /// `nullable`.
    pub nullable: bool,
    /// A format that is known and fits the type.
    pub format: Option<Format>,
    /// Limits of its value.
    pub limits: Limits,
    /// Fields by name.
    pub properties: BTreeMap<String, Node>,
    /// Entries of a map.
    pub additional: Option<Box<Node>>,
    /// Items of a list.
    pub items: Option<Box<Node>>,
    /// Required fields.
    pub required: Vec<String>,
    /// What identifies items of a list.
    pub list: ListType,
    /// Whether it is an object with `apiVersion`, `kind` and `metadata` of its own.
    pub embedded: bool,
    /// Schemas that must hold as well.
    pub all_of: Vec<Node>,
    /// Schemas of which one must hold.
    pub any_of: Vec<Node>,
    /// Schemas of which exactly one must hold.
    pub one_of: Vec<Node>,
    /// A schema that must not hold.
    pub not: Option<Box<Node>>,
    /// Rules in CEL.
    pub rules: Vec<Rule>,
    /// Whether it or anything in it has rules in CEL.
    pub has_rules: bool,
    /// Whether it or anything in it is a list that is a set or a map.
    pub has_keyed_lists: bool,
    /// Whether it or anything in it is an embedded object.
    pub has_embedded: bool,
}

/// Limits of one value.
#[derive(Debug, Default)]
pub struct Limits {
    /// `enum`.
    pub allowed: Vec<Value>,
    /// `minimum`.
    pub minimum: Option<f64>,
    /// `exclusiveMinimum`.
    pub above_minimum: bool,
    /// `maximum`.
    pub maximum: Option<f64>,
    /// `exclusiveMaximum`.
    pub below_maximum: bool,
    /// `multipleOf`.
    pub multiple_of: Option<f64>,
    /// `minLength`, in characters.
    pub min_length: Option<i64>,
    /// `maxLength`, in characters.
    pub max_length: Option<i64>,
    /// `pattern` as written, and compiled.
    pub pattern: Option<(String, Regex)>,
    /// `minItems`.
    pub min_items: Option<i64>,
    /// `maxItems`.
    pub max_items: Option<i64>,
    /// `uniqueItems`.
    pub unique_items: bool,
    /// `minProperties`.
    pub min_properties: Option<i64>,
    /// `maxProperties`.
    pub max_properties: Option<i64>,
}

impl Node {
    /// Compiles a schema.
    ///
    /// # Errors
    /// When a pattern or a rule cannot be compiled.
    pub fn compile(schema: &Schema) -> Result<Self, SchemaError> {
        Self::read(schema, "schema")
    }

    fn read(schema: &Schema, path: &str) -> Result<Self, SchemaError> {
        let child = |child: &Schema, name: &str| Self::read(child, &format!("{path}.{name}"));
        let mut properties = BTreeMap::new();
        for (name, property) in &schema.properties {
            properties.insert(name.clone(), child(property, &format!("properties[{name}]"))?);
        }
        let additional = schema
            .additional
            .as_deref()
            .map(|inner| child(inner, "additionalProperties"));
        let items = schema.items.as_deref().map(|inner| child(inner, "items"));
        let branches = |keyword: &str| branches(schema, keyword, path);
        let not = match schema.rules.get("not") {
            Some(document) => Some(Self::read(&Schema::parse(document)?, &format!("{path}.not"))?),
            None => None,
        };
        let mut node = Self {
            types: match (schema.int_or_string, schema.type_) {
                (true, _) => vec![Type::Integer, Type::String],
                (false, type_) => type_.into_iter().collect(),
            },
            nullable: schema.nullable,
            format: None,
            limits: Limits::read(&schema.rules, path)?,
            properties,
            additional: additional.transpose()?.map(Box::new),
            items: items.transpose()?.map(Box::new),
            required: schema.required.clone(),
            list: schema.list.clone(),
            embedded: schema.embedded_resource,
            all_of: branches("allOf")?,
            any_of: branches("anyOf")?,
            one_of: branches("oneOf")?,
            not: not.map(Box::new),
            rules: Rule::read_all(schema, path)?,
            has_rules: false,
            has_keyed_lists: false,
            has_embedded: false,
        };
        let format = schema.rules.get("format").and_then(Value::as_str);
        node.format = format.and_then(|name| Format::of(name, &node.types));
        let within = |what: fn(&Self) -> bool| node.children().any(what);
        let rules = !node.rules.is_empty() || within(|node| node.has_rules);
        let lists = node.list != ListType::Atomic || within(|node| node.has_keyed_lists);
        let embedded = node.embedded || within(|node| node.has_embedded);
        node.has_rules = rules || node.all_of.iter().any(|node| node.has_rules);
        node.has_keyed_lists = lists;
        node.has_embedded = embedded;
        Ok(node)
    }

    /// The node of a field or an entry of that name.
    #[must_use]
    pub fn child(&self, name: &str) -> Option<&Self> {
        self.properties.get(name).or(self.additional.as_deref())
    }

    fn children(&self) -> impl Iterator<Item = &Self> {
        let one = self.additional.as_deref().into_iter().chain(self.items.as_deref());
        self.properties.values().chain(one)
    }
}

fn branches(schema: &Schema, keyword: &str, path: &str) -> Result<Vec<Node>, SchemaError> {
    let documents = schema.rules.get(keyword).and_then(Value::as_array);
    let read = |(index, document)| Node::read(&Schema::parse(document)?, &format!("{path}.{keyword}[{index}]"));
    documents.into_iter().flatten().enumerate().map(read).collect()
}

impl Limits {
    fn read(rules: &Value, path: &str) -> Result<Self, SchemaError> {
        let number = |key: &str| rules.get(key).and_then(Value::as_f64);
        let count = |key: &str| rules.get(key).and_then(Value::as_i64);
        let flag = |key: &str| rules.get(key).and_then(Value::as_bool).unwrap_or_default();
        let pattern = rules
            .get("pattern")
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty());
        let pattern = pattern.map(|text| Ok((text.to_owned(), pattern::compile(text)?)));
        let pattern = pattern.transpose().map_err(|source| SchemaError::Pattern {
            path: path.to_owned(),
            source: Box::new(source),
        })?;
        Ok(Self {
            allowed: rules.get("enum").and_then(Value::as_array).cloned().unwrap_or_default(),
            minimum: number("minimum"),
            above_minimum: flag("exclusiveMinimum"),
            maximum: number("maximum"),
            below_maximum: flag("exclusiveMaximum"),
            multiple_of: number("multipleOf"),
            min_length: count("minLength"),
            max_length: count("maxLength"),
            pattern,
            min_items: count("minItems"),
            max_items: count("maxItems"),
            unique_items: flag("uniqueItems"),
            min_properties: count("minProperties"),
            max_properties: count("maxProperties"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn compiled(document: Value) -> Result<Node, SchemaError> {
        Node::compile(&Schema::parse(&document).unwrap())
    }

    #[test]
    fn a_schema_without_rules_has_none() {
        let plain = compiled(json!({"type": "object", "properties": {"a": {"type": "string"}}})).unwrap();
        assert!(!plain.has_rules && !plain.has_keyed_lists && !plain.has_embedded);
        let rule = json!([{"rule": "self > 1"}]);
        let deep = json!({"properties": {"a": {"items": {"x-kubernetes-validations": rule}}}});
        assert!(compiled(deep).unwrap().has_rules);
        let list = json!({"properties": {"a": {"type": "array", "x-kubernetes-list-type": "set"}}});
        assert!(compiled(list).unwrap().has_keyed_lists);
    }

    #[test]
    fn a_pattern_that_cannot_be_compiled_is_refused_with_its_place() {
        let error = compiled(json!({"properties": {"a": {"pattern": "("}}})).unwrap_err();
        assert_eq!(
            error.to_string(),
            "schema.properties[a]: the pattern cannot be used; correct it"
        );
    }

    #[test]
    fn a_rule_that_cannot_be_compiled_is_refused_with_its_place() {
        let rule = json!([{"rule": "self >"}]);
        let error = compiled(json!({"items": {"x-kubernetes-validations": rule}})).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("schema.items: the rule \"self >\" cannot be used")
        );
    }
}
