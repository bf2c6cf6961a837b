//! The store, tested as its users see it.
//!
//! Owns: what the tests share. Must not: look inside, but to put a failing disk under it.

pub(super) mod build;
mod damage;
mod disk_full;
mod lists;
mod model;
mod restart;
mod watches;
mod writes;
