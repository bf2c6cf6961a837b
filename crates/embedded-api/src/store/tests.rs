//! The store, tested through its public interface.
//!
//! Owns: what the tests share. Must not: use internals, except to put a failing disk under it.

pub(super) mod build;
mod damage;
mod disk_full;
mod lists;
mod model;
mod restart;
mod watches;
mod writes;
