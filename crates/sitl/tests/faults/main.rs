//! Each scripted fault happens, and only then, and only that; no link is opened.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on ends here")]

mod around;
mod commands;
mod rig;
mod vehicle;
