//! Conformance: the inputs of a recorded flight are given to a simulated vehicle, and what it answers is compared with
//! what the real autopilot answered.
//!
//! Owns: running every recording of a folder. Must not: know any recording by name, or tell the model that it is replayed.

mod boot_clock;
mod compare;
mod fact;
mod recording;
mod simulate;
mod table;

pub use compare::{Channel, Comparison, Tolerance, compare};
pub use fact::{Fact, Heard, facts};
pub use recording::{Recording, RecordingError};
pub use simulate::simulate;
pub use table::table;

use std::path::Path;

/// Replays every `NAME.tlog` of `folder` that has a `NAME.jsonl` beside it, in order of names.
///
/// # Errors
/// The folder or one of its files cannot be read, or holds no recording.
pub fn folder(folder: &Path) -> Result<Vec<(String, Comparison)>, RecordingError> {
    let mut names = recording::names(folder)?;
    names.sort();
    let replay = |name: String| {
        let recording = Recording::read(folder, &name)?;
        let simulated = simulate(&recording);
        Ok((name, compare(&recording.heard, &simulated)))
    };
    names.into_iter().map(replay).collect()
}
