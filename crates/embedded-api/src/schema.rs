//! The schema of a well-formed object: Kubernetes' structural schema.
//!
//! Owns: the parsed schema, and what uses it: reading an object ([`prune`], [`defaults`], [`decode`]) and validating it
//! ([`validate`], [`lists`], [`cel`], [`metadata`]). [`crate::checker`] does all of it in order. Must not: know which kinds
//! there are.

pub mod cause;
pub mod cel;
pub mod decode;
pub mod defaults;
pub mod duplicates;
pub mod lists;
pub mod metadata;
pub mod node;
pub mod object_meta;
pub mod parse;
pub mod path;
pub mod prune;
pub mod same;
pub mod time;
pub mod validate;

#[cfg(test)]
mod tests;

pub use parse::SchemaError;

use serde_json::Value;
use std::collections::BTreeMap;

/// The schema of one value, from OpenAPI v3 as in a CustomResourceDefinition, with the `x-kubernetes-…` extensions.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    /// Its type; `None` where any is allowed.
    pub type_: Option<Type>,
    /// `description`.
    pub description: String,
    /// `properties`.
    pub properties: BTreeMap<String, Schema>,
    /// `additionalProperties` with a schema: the object is a map.
    pub additional: Option<Box<Schema>>,
    /// `items` of an array.
    pub items: Option<Box<Schema>>,
    /// `required`.
    pub required: Vec<String>,
    /// `default`.
    pub default: Option<Value>,
    /// `nullable`.
    pub nullable: bool,
    /// `x-kubernetes-preserve-unknown-fields`.
    pub preserve_unknown: bool,
    /// `x-kubernetes-list-type` with `x-kubernetes-list-map-keys`; lists are atomic by default.
    pub list: ListType,
    /// `x-kubernetes-map-type: atomic`.
    pub atomic_map: bool,
    /// How a strategic merge patch treats a list: `x-kubernetes-patch-merge-key`, where the patch strategy is `merge`.
    /// An empty key merges a list of plain values as a set.
    pub patch_merge_key: Option<String>,
    /// The schema document itself, without `properties`, `additionalProperties` and `items` parsed above: `enum`,
    /// `minimum`, `maxLength`, `format` and the like are read from here.
    pub rules: Value,
}

/// JSON types as OpenAPI names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// `object`.
    Object,
    /// `array`.
    Array,
    /// `string`.
    String,
    /// `integer`.
    Integer,
    /// `number`.
    Number,
    /// `boolean`.
    Boolean,
}

impl Type {
    /// As schemas and messages name it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
        }
    }
}

/// What identifies an item of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ListType {
    /// Nothing: the list is replaced as a whole.
    #[default]
    Atomic,
    /// Its value.
    Set,
    /// These fields of it.
    Map(Vec<String>),
}
