//! A fleet of thousands for benchmarks: its agents in one process, and API and coordinator around them.

pub mod agents;
pub mod herd;
pub mod place;
pub mod way;
