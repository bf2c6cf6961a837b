//! The authority of a fleet, kept by coordinators on a real API server: made once by however many there are, followed by the next
//! in time, and put right by hand.
//!
//! Owns: years, as certificates of long ago. Must not: test when what is due ([`trust::authorities`] has that).

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    dead_code,
    reason = "test helpers outside of #[test] functions, shared with other tests"
)]

#[path = "authorities/kept.rs"]
mod kept;
#[path = "authorities/place.rs"]
mod place;
#[path = "authorities/race.rs"]
mod race;
#[path = "authorities/rotation.rs"]
mod rotation;
#[path = "attacks/session.rs"]
mod session;
#[path = "attacks/tokens.rs"]
mod tokens;
#[path = "attacks/waiting.rs"]
mod waiting;
#[path = "attacks/way.rs"]
mod way;
#[path = "authorities/wrong.rs"]
mod wrong;
