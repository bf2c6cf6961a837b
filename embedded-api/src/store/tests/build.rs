//! Objects and stores for tests.
//!
//! Owns: the shortest way to each. Must not: hide what a test is about.

use crate::store::{Expect, Facts, FactsFn, Key, Object, Options, Store, Write, WriteError};
use bytes::Bytes;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// An object that was never in a store.
pub(in crate::store) fn object(resource: &str, name: &str, revision: u64) -> Arc<Object> {
    Arc::new(Object {
        key: Key::new(resource, "default", name),
        revision,
        json: Bytes::from_static(b"{}"),
        facts: Facts::default(),
    })
}
