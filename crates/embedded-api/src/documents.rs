//! Representations of objects: tables, lists, metadata only. Must not: read the store, know the time of day (a
//! parameter).

pub mod accept;
pub mod age;
mod cell;
pub mod cells;
pub mod fingerprint;
pub mod jsonpath;
pub mod list;
pub mod partial;
pub mod table;
