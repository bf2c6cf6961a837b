//! Attacks on a coordinator, on a real API server, over real connections: each is refused with a line that says why,
//! and a bystander's session stays open and its reports arrive all the time.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod certificates;
mod crowd;
mod fleet;
mod forgery;
mod life;
mod people;
mod place;
mod requests;
mod wire;
