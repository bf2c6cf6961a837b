//! The authority of a fleet, kept by coordinators on a real API server: created once, replaced in time, repaired by
//! hand.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "test helpers outside of #[test] functions"
)]

mod kept;
mod place;
mod race;
mod rotation;
mod wrong;
