//! The objects, their revisions and their recent history: one log on disk; all reads are from memory.
//!
//! Every write is a record with the next revision, for all kinds together. The newest record of a key is its state; the
//! records above the floor are those that watches can still read, also after a restart. A write is on disk before it is
//! visible, and visible before it is acknowledged.
//!
//! Owns: revisions, what is kept and for how long, which process may open the folder. Must not: know kinds, verbs or
//! HTTP.
//! ```text
//!  write ─► queue ─► writer thread ─► journal (redb) ─► state ─► lists, watches
//!                    one commit for all that waits      memory
//! ```

mod batch;
pub mod depth;
mod error;
mod folder;
mod handle;
mod history;
mod journal;
mod list;
mod load;
mod names;
mod object;
mod record;
mod shared;
mod state;
mod watch;
mod write;
mod writer;

pub use error::{Compacted, Ended, OpenError, WriteError};
pub use handle::{Options, Store};
pub use history::Limits;
pub use list::{Listed, Page, Place};
pub use object::{Event, Facts, FactsFn, Key, Object};
pub use state::Stats;
pub use watch::Watch;
pub use write::{Expect, Write};

#[cfg(test)]
mod tests;
