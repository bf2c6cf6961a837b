//! The HTTPS side, tested from outside: which clients are admitted, what ends a connection, and what stays over a restart.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

mod access;
mod connections;
mod restart;
mod stalled;
mod world;
