//! Upload of logs to an S3-compatible object store, after landing.
//!
//! Owns: settings ([`flags`]), what was uploaded ([`ledger`]), and doing it (`worker`, which sends one log after the other by `send`, over `http`
//! to the `store`). Must not: be waited for by anything that flies, send in flight, or remove a log.

pub mod flags;
pub mod ledger;

mod disk;
mod http;
mod send;
mod store;
mod worker;

pub use flags::{BadUpload, Config, UploadFlags};
pub(crate) use worker::{Task, start};
