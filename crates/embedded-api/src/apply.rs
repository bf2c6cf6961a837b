//! Field ownership and server-side apply.
//!
//! Owns: `metadata.managedFields` after every write ([`track`]), and merging an applied configuration ([`merge`]). Must
//! not: validate by rules, store, know HTTP.
//!
//! Each writer ("manager") owns a set of field paths ([`field_set`]). A write that changes a field takes it from the
//! others; an apply also releases what it no longer names, and reports a conflict before it takes a field.

pub mod combine;
pub mod compare;
pub mod conflict;
pub mod extract;
pub mod field_set;
pub mod last_applied;
pub mod managed;
pub mod merge;
pub mod object_meta;
pub mod reconcile;
pub mod remove;
pub mod track;
pub mod typed;
pub mod view;

#[cfg(test)]
pub(crate) mod tests;

use crate::resource::Resource;

#[derive(Clone, Copy, Debug)]
pub struct Writer<'a> {
    pub resource: &'a Resource,
    /// `unknown` when empty.
    pub manager: &'a str,
    pub subresource: Option<&'a str>,
    /// RFC 3339 with whole seconds, in UTC: `2026-01-31T12:00:00Z`.
    pub now: &'a str,
}

impl Writer<'_> {
    fn name(&self) -> &str {
        if self.manager.is_empty() {
            "unknown"
        } else {
            self.manager
        }
    }

    /// Fields that this writer cannot change: its values for them are dropped before the object is stored.
    fn reset(&self) -> &'static [&'static str] {
        match self.subresource {
            None if self.resource.has_status => &["status"],
            Some("status") if self.resource.custom => &["metadata", "spec"],
            Some("status") => &["spec"],
            _ => &[],
        }
    }
}
