//! Each scripted fault happens, and only then, and only that.
//!
//! Owns: a test for each fault, named after it. Must not: open a link; the tests of the process do.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on ends here")]

mod around;
mod commands;
mod rig;
mod vehicle;
