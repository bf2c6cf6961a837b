//! The safety invariants over all circumstances: each rule of `fleet` against the same rule written a second time in other words, for every
//! combination of its inputs; and what must hold over any sequence of orders and flights.
//!
//! Owns: that no combination was forgotten. Must not: test one circumstance at a time; the modules themselves do that.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on ends here")]

mod arming;
mod flights;
mod given;
mod kills;
mod known;
mod orders;
mod release;
mod steps;
