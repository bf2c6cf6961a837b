//! A schema for ownership: what has fields of its own, what is one whole, and what identifies an item of a list.

use super::field_set::{Scalar, Step};
use crate::schema::object_meta::OBJECT_META;
use crate::schema::{ListType, Schema, Type};
use serde_json::{Map, Value};
use std::sync::LazyLock;

static ANY: LazyLock<Schema> = LazyLock::new(Schema::default);
static TEXT: LazyLock<Schema> = LazyLock::new(|| Schema {
    type_: Some(Type::String),
    ..Schema::default()
});

#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    pub schema: &'a Schema,
    /// Preserves unknown fields, by this schema or one above it.
    open: bool,
    /// Its `metadata` is ObjectMeta whatever the schema says.
    root: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Scalar,
    /// Field by field, unless it is atomic.
    Map,
    List,
}

#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    pub view: View<'a>,
    /// The schema names the field; it names no key of a map.
    pub named: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ItemError {
    #[error("an item of a list with keys must be an object")]
    NotAMap,
    #[error("the item has none of its keys {0:?}")]
    NoKeys(Vec<String>),
    #[error("an item of a set must be a plain value")]
    NotPlain,
}

impl<'a> View<'a> {
    #[must_use]
    pub fn root(schema: &'a Schema) -> Self {
        let open = schema.preserve_unknown;
        Self {
            schema,
            open,
            root: true,
        }
    }

    fn of(self, schema: &'a Schema) -> Self {
        let open = self.open || schema.preserve_unknown;
        Self {
            schema,
            open,
            root: false,
        }
    }

    /// Shape by the schema; if that allows anything, by the value.
    #[must_use]
    pub fn shape(self, value: &Value) -> Shape {
        match (self.schema.type_, value) {
            (Some(Type::Object), _) => Shape::Map,
            (Some(Type::Array), _) => Shape::List,
            (Some(_), _) => Shape::Scalar,
            (None, Value::Array(_)) => Shape::List,
            (None, Value::Object(_) | Value::Null) => Shape::Map,
            (None, Value::String(_) | Value::Number(_) | Value::Bool(_)) => Shape::Scalar,
        }
    }

    #[must_use]
    pub fn atomic(self, shape: Shape) -> bool {
        match shape {
            Shape::Scalar => true,
            Shape::Map => self.schema.atomic_map,
            Shape::List => self.schema.list == ListType::Atomic,
        }
    }

    #[must_use]
    pub fn declared(self, name: &str) -> Option<Field<'a>> {
        let named = |view| Some(Field { view, named: true });
        let free = |view| Some(Field { view, named: false });
        match name {
            "metadata" if self.root => return named(self.of(&OBJECT_META)),
            "apiVersion" | "kind" if self.root => return named(self.of(&TEXT)),
            _ => {}
        }
        match (self.schema.properties.get(name), &self.schema.additional) {
            (Some(property), _) => named(self.of(property)),
            (None, Some(each)) => free(self.of(each)),
            (None, None) if self.open || self.schema.properties.is_empty() => free(self.of(&ANY)),
            (None, None) => None,
        }
    }

    #[must_use]
    pub fn field(self, name: &str) -> Field<'a> {
        self.declared(name).unwrap_or(Field {
            view: self.of(&ANY),
            named: false,
        })
    }

    #[must_use]
    pub fn items(self) -> Self {
        let items = self.schema.items.as_deref();
        self.of(items.unwrap_or(&ANY))
    }

    pub fn step(self, item: &Value) -> Result<Step, ItemError> {
        match (&self.schema.list, item) {
            (ListType::Map(keys), Value::Object(fields)) => self.key(keys, fields).map(Step::Key),
            (ListType::Map(_), _) => Err(ItemError::NotAMap),
            (_, other) => Scalar::of(other).map(Step::Value).ok_or(ItemError::NotPlain),
        }
    }

    /// An unset key has its default, or is left out.
    fn key(self, keys: &[String], fields: &Map<String, Value>) -> Result<Vec<(String, Scalar)>, ItemError> {
        let items = self.items().schema;
        let value = |key: &String| {
            let default = || items.properties.get(key).and_then(|property| property.default.as_ref());
            let value = fields.get(key).or_else(default)?;
            let value = Scalar::of(value).unwrap_or_else(|| Scalar::Other(value.to_string()));
            Some((key.clone(), value))
        };
        let mut found: Vec<_> = keys.iter().filter_map(value).collect();
        if found.is_empty() {
            return Err(ItemError::NoKeys(keys.to_vec()));
        }
        found.sort();
        Ok(found)
    }
}

/// `1` equals `1.0`.
#[must_use]
pub fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            let pairs = || a.iter().zip(b);
            a.len() == b.len() && pairs().all(|((a_key, a), (b_key, b))| a_key == b_key && same(a, b))
        }
        _ => one == other,
    }
}
