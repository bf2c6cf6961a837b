//! The store, tested as its users see it.
//!
//! Owns: what the tests share. Must not: look inside.

pub(super) mod build;
