//! The base of the tests of the agent: orders, a scripted autopilot, a pilot without its shell, a pilot on a line to a
//! simulated vehicle, an agent on a real autopilot.
//!
//! Must not: have tests of its own, or decide what the agent must do; its tests do.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on ends here")]

pub mod alone;
pub mod autopilot;
pub mod line;
pub mod on_real_autopilots;
pub mod orders;
