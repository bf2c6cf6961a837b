//! The store through its public interface; internals only to put a failing disk under it.

pub(super) mod build;
mod damage;
mod disk_full;
mod lists;
mod model;
mod restart;
mod watches;
mod writes;
