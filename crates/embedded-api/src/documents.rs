//! The representations of objects and kinds: discovery, OpenAPI, tables, lists, metadata only.
//!
//! Owns: the documents. Must not: read the store, know the time of day (`now` is a parameter).

pub mod accept;
pub mod age;
mod cell;
pub mod discovery;
pub mod fingerprint;
pub mod jsonpath;
pub mod list;
pub mod openapi;
pub mod partial;
pub mod table;
