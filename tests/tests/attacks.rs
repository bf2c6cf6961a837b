//! Attacks on a coordinator, on a real API server, over real connections: each is refused with a line that says why, and no
//! other agent is affected: a bystander's session stays open and its reports arrive all the time.
//!
//! Owns: the list of attacks. Must not: weaken the coordinator to make an attack easier.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "attacks/certificates.rs"]
mod certificates;
#[path = "people/certificates.rs"]
mod certificates_of_people;
#[path = "attacks/crowd.rs"]
mod crowd;
#[path = "attacks/fleet.rs"]
mod fleet;
#[path = "attacks/forgery.rs"]
mod forgery;
#[path = "attacks/life.rs"]
mod life;
#[path = "attacks/people.rs"]
mod people;
#[path = "attacks/place.rs"]
mod place;
#[path = "attacks/requests.rs"]
mod requests;
#[path = "attacks/session.rs"]
mod session;
#[path = "attacks/tokens.rs"]
mod tokens;
#[path = "attacks/waiting.rs"]
mod waiting;
#[path = "attacks/way.rs"]
mod way;
#[path = "attacks/wire.rs"]
mod wire;
