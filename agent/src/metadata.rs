//! The autopilot's own descriptions of its events: where they are, fetching them, and what an event says by them.
//!
//! Owns: the way from COMPONENT_METADATA (397) over MAVLink FTP to a [`Table`] ([`Fetch`]), the files kept in the state
//! directory ([`MetadataCache`]), and the order of events ([`Sequence`]). Must not: decide anything about flight, or take the link
//! from anybody: one packet at a time, on the ground, when nothing else is to be sent.
//!
//! All of it but [`Job`] and [`MetadataCache`] is plain data and functions; moments and jitter come in.

mod cache;
mod events;
mod fetch;
mod job;
mod named;
mod place;
mod sequence;
mod table;
mod template;
mod unpack;
mod value;

pub use cache::MetadataCache;
pub use fetch::Fetch;
pub use job::{Done, Found, Job};
pub use sequence::Sequence;
pub use table::{EventText, Subject, Table};

#[cfg(test)]
pub(crate) mod samples;
