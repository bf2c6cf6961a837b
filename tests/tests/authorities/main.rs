//! The authority of a fleet, kept by coordinators on a real API server: created once, replaced in time, repaired by
//! hand.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    dead_code,
    reason = "test helpers outside of #[test] functions, shared with other tests"
)]

mod kept;
mod place;
mod race;
mod rotation;
#[path = "../attacks/session.rs"]
mod session;
#[path = "../attacks/tokens.rs"]
mod tokens;
#[path = "../attacks/waiting.rs"]
mod waiting;
#[path = "../attacks/way.rs"]
mod way;
mod wrong;
