//! Reading a [`Schema`] from a CustomResourceDefinition's `openAPIV3Schema`, or from a JSON schema with references.

use super::{ListType, Schema, Type};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

const MAX_DEPTH: usize = 64;

#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    #[error("{path}: a schema must be an object; correct the document")]
    NotAnObject { path: String },
    #[error("{path}: {found} is not a type; use object, array, string, integer, number or boolean")]
    Type { path: String, found: String },
    #[error("{path}: nothing is known by the reference {reference:?}; add the definition")]
    Reference { path: String, reference: String },
    #[error("{path}: the schema is nested deeper than {MAX_DEPTH} levels; flatten it")]
    TooDeep { path: String },
    #[error("{path}: {keyword} is not checked here; write it as a rule of x-kubernetes-validations")]
    NotChecked { path: String, keyword: &'static str },
    #[error("a rule cannot be used: {why}; correct it")]
    Rule { why: String },
}

impl Schema {
    pub fn parse(document: &Value) -> Result<Self, SchemaError> {
        Self::parse_with(document, &Map::new())
    }

    /// `$ref`s end in names of `definitions`. A definition that contains itself allows anything there.
    pub fn parse_with(document: &Value, definitions: &Map<String, Value>) -> Result<Self, SchemaError> {
        let mut reader = Reader {
            definitions,
            inside: Vec::new(),
            depth: 0,
        };
        reader.schema(document, "schema")
    }

    #[must_use]
    pub fn anything() -> Self {
        Self {
            preserve_unknown: true,
            ..Self::default()
        }
    }

    /// True for the word `true` alone.
    #[must_use]
    pub fn is_true(&self) -> bool {
        self.preserve_unknown && self.rules.is_null()
    }

    #[must_use]
    pub fn format(&self) -> &str {
        self.rules.get("format").and_then(Value::as_str).unwrap_or_default()
    }

    /// Name without package: `NodeSpec`. Empty without a name.
    #[must_use]
    pub fn definition(&self) -> &str {
        let name = self.rules.get(DEFINITION).and_then(Value::as_str);
        name.unwrap_or_default()
    }
}

const DEFINITION: &str = "x-definition";

struct Reader<'a> {
    definitions: &'a Map<String, Value>,
    inside: Vec<&'a str>,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn schema(&mut self, document: &Value, path: &str) -> Result<Schema, SchemaError> {
        let Some(map) = document.as_object() else {
            return match document {
                Value::Bool(true) => Ok(Schema::anything()),
                _ => Err(SchemaError::NotAnObject { path: path.to_owned() }),
            };
        };
        if self.depth >= MAX_DEPTH {
            return Err(SchemaError::TooDeep { path: path.to_owned() });
        }
        self.depth += 1;
        let schema = match map.get("$ref").and_then(Value::as_str) {
            Some(reference) => self.referred(reference, map, path),
            None => self.plain(map, path),
        };
        self.depth -= 1;
        schema
    }

    fn referred(&mut self, reference: &str, beside: &Map<String, Value>, path: &str) -> Result<Schema, SchemaError> {
        let name = reference.rsplit('/').next().unwrap_or_default();
        let Some((name, definition)) = self.definitions.get_key_value(name) else {
            return Err(SchemaError::Reference {
                path: path.to_owned(),
                reference: reference.to_owned(),
            });
        };
        if self.inside.contains(&name.as_str()) {
            return Ok(Schema::anything());
        }
        self.inside.push(name);
        let mut whole = definition.clone();
        if let Some(whole) = whole.as_object_mut() {
            let beside = beside.iter().filter(|(key, _)| *key != "$ref");
            whole.extend(beside.map(|(key, value)| (key.clone(), value.clone())));
            let short = name.rsplit('.').next().unwrap_or_default();
            whole.insert(DEFINITION.to_owned(), short.into());
        }
        let schema = self.schema(&whole, path);
        self.inside.pop();
        schema
    }

    fn plain(&mut self, map: &Map<String, Value>, path: &str) -> Result<Schema, SchemaError> {
        let flag = |key: &str| map.get(key).and_then(Value::as_bool).unwrap_or_default();
        let text = |key: &str| map.get(key).and_then(Value::as_str);
        let (type_, null) = type_of(map.get("type"), path)?;
        let mut properties = BTreeMap::new();
        for (name, property) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let property = self.schema(property, &format!("{path}.properties[{name}]"))?;
            properties.insert(name.clone(), property);
        }
        let additional = match map.get("additionalProperties") {
            None | Some(Value::Bool(false)) => None,
            Some(other) => Some(Box::new(self.schema(other, &format!("{path}.additionalProperties"))?)),
        };
        let items = match map.get("items") {
            None => None,
            Some(items) => Some(Box::new(self.schema(items, &format!("{path}.items"))?)),
        };
        let beside = ["properties", "additionalProperties", "items"];
        let rules = map.iter().filter(|(key, _)| !beside.contains(&key.as_str()));
        Ok(Schema {
            type_,
            description: text("description").unwrap_or_default().to_owned(),
            properties,
            additional,
            items,
            required: words(map.get("required")),
            default: map.get("default").filter(|default| !default.is_null()).cloned(),
            nullable: null || flag("nullable"),
            preserve_unknown: flag("x-kubernetes-preserve-unknown-fields"),
            list: match text("x-kubernetes-list-type") {
                Some("set") => ListType::Set,
                Some("map") => ListType::Map(words(map.get("x-kubernetes-list-map-keys"))),
                _ => ListType::Atomic,
            },
            atomic_map: text("x-kubernetes-map-type") == Some("atomic"),
            patch_merge_key: text("x-kubernetes-patch-strategy")
                .filter(|strategy| strategy.split(',').any(|each| each == "merge"))
                .map(|_| text("x-kubernetes-patch-merge-key").unwrap_or_default().to_owned()),
            rules: rules.map(|(key, value)| (key.clone(), value.clone())).collect(),
        })
    }
}

fn words(list: Option<&Value>) -> Vec<String> {
    let list = list.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn type_of(value: Option<&Value>, path: &str) -> Result<(Option<Type>, bool), SchemaError> {
    let wrong = |found: &Value| SchemaError::Type {
        path: path.to_owned(),
        found: found.to_string(),
    };
    let one = |value: &Value| match value.as_str() {
        Some("object") => Ok(Type::Object),
        Some("array") => Ok(Type::Array),
        Some("string") => Ok(Type::String),
        Some("integer") => Ok(Type::Integer),
        Some("number") => Ok(Type::Number),
        Some("boolean") => Ok(Type::Boolean),
        _ => Err(wrong(value)),
    };
    match value {
        None => Ok((None, false)),
        Some(Value::String(text)) if text.is_empty() => Ok((None, false)),
        Some(Value::Array(several)) => {
            let null = several.iter().any(|each| each == "null");
            let mut others = several.iter().filter(|each| *each != "null");
            match (others.next(), others.next()) {
                (Some(only), None) => Ok((Some(one(only)?), null)),
                (None, _) => Ok((None, null)),
                (Some(_), Some(_)) => Err(wrong(&Value::Array(several.clone()))),
            }
        }
        Some(value) => Ok((Some(one(value)?), false)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_schema_is_read_with_its_extensions() {
        let schema = Schema::parse(&json!({
            "type": "object", "description": "all", "required": ["list"], "nullable": true, "minProperties": 1,
            "properties": {
                "list": {"type": "array", "items": {"type": "object"},
                    "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"],
                    "x-kubernetes-patch-strategy": "merge,retainKeys", "x-kubernetes-patch-merge-key": "a"},
                "port": {"type": "integer", "default": 80},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}, "x-kubernetes-map-type": "atomic"},
            },
        }))
        .unwrap();
        assert_eq!(schema.type_, Some(Type::Object));
        assert_eq!(schema.description, "all");
        assert!(schema.nullable);
        assert_eq!(schema.required, ["list"]);
        assert_eq!(schema.rules["minProperties"], 1);
        assert_eq!(schema.rules.get("properties"), None);
        let list = &schema.properties["list"];
        assert_eq!(list.list, ListType::Map(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(list.patch_merge_key.as_deref(), Some("a"));
        assert!(list.items.is_some());
        assert_eq!(schema.properties["port"].default, Some(json!(80)));
        assert!(schema.properties["labels"].atomic_map);
        assert_eq!(
            schema.properties["labels"].additional.as_ref().unwrap().type_,
            Some(Type::String)
        );
    }

    #[test]
    fn references_are_followed_and_what_stands_beside_them_wins() {
        let definitions = json!({"io.k8s.api.core.v1.NodeSpec": {"type": "object", "description": "of a node"}});
        let document = json!({"$ref": "#/components/schemas/io.k8s.api.core.v1.NodeSpec", "description": "mine"});
        let schema = Schema::parse_with(&document, definitions.as_object().unwrap()).unwrap();
        assert_eq!(schema.type_, Some(Type::Object));
        assert_eq!(schema.description, "mine");
        assert_eq!(schema.definition(), "NodeSpec");
    }

    #[test]
    fn a_definition_inside_itself_allows_anything() {
        let definitions = json!({"Tree": {"type": "object", "properties": {"left": {"$ref": "#/x/Tree"}}}});
        let schema = Schema::parse_with(&json!({"$ref": "#/x/Tree"}), definitions.as_object().unwrap()).unwrap();
        let left = &schema.properties["left"];
        assert!(left.preserve_unknown);
        assert_eq!(left.type_, None);
    }

    #[test]
    fn the_same_definition_in_two_places_is_read_twice() {
        let definitions = json!({"Name": {"type": "string"}});
        let document = json!({"properties": {"a": {"$ref": "#/x/Name"}, "b": {"$ref": "#/x/Name"}}});
        let schema = Schema::parse_with(&document, definitions.as_object().unwrap()).unwrap();
        assert_eq!(schema.properties["a"].type_, Some(Type::String));
        assert_eq!(schema.properties["b"].type_, Some(Type::String));
    }

    #[test]
    fn a_type_that_may_be_null_is_nullable() {
        let schema = Schema::parse(&json!({"type": ["string", "null"]})).unwrap();
        assert_eq!(schema.type_, Some(Type::String));
        assert!(schema.nullable);
    }

    #[test]
    fn what_is_no_schema_is_refused_with_its_place() {
        let error = |document: Value| Schema::parse(&document).unwrap_err().to_string();
        let place = json!({"properties": {"a": {"items": {"type": "decimal"}}}});
        assert!(error(place).starts_with("schema.properties[a].items: \"decimal\" is not a type"));
        assert!(error(json!({"properties": {"a": 5}})).starts_with("schema.properties[a]: a schema must be"));
        assert!(error(json!({"$ref": "#/x/Gone"})).contains("\"#/x/Gone\""));
        let deep = (0..70).fold(json!({"type": "string"}), |inner, _| json!({"items": inner}));
        assert!(error(deep).contains("nested deeper"));
    }
}
