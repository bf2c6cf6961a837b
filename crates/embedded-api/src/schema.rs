//! Kubernetes' structural schema. Owns: reading an object ([`prune`], [`defaults`], [`decode`]) and validating it
//! ([`validate`], [`lists`], [`cel`], [`metadata`]); [`crate::checker`] does all of it in order. Must not: know which
//! kinds there are.

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

/// OpenAPI v3 as in a CustomResourceDefinition, with the `x-kubernetes-…` extensions.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    /// `None` where any type is allowed.
    pub type_: Option<Type>,
    pub description: String,
    pub properties: BTreeMap<String, Schema>,
    /// `additionalProperties` with a schema, of a map.
    pub additional: Option<Box<Schema>>,
    pub items: Option<Box<Schema>>,
    pub required: Vec<String>,
    pub default: Option<Value>,
    pub nullable: bool,
    pub preserve_unknown: bool,
    /// `x-kubernetes-list-type` with `x-kubernetes-list-map-keys`; atomic by default.
    pub list: ListType,
    pub atomic_map: bool,
    /// `x-kubernetes-patch-merge-key`, by patch strategy `merge`; an empty key merges a list of plain values as a set.
    pub patch_merge_key: Option<String>,
    /// Keywords that are not parsed above: `enum`, `minimum`, `maxLength`, `format` and the like.
    pub rules: Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
}

impl Type {
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

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ListType {
    #[default]
    Atomic,
    Set,
    Map(Vec<String>),
}
