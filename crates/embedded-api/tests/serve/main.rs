//! The HTTPS side, from outside.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

mod access;
mod connections;
mod restart;
mod stalled;
mod world;
