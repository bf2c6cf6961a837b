//! The conformance table.
//!
//! Owns: its look. Must not: compare.

use super::compare::{Channel, Comparison};
use std::fmt::Write;

/// One line for each recording and channel that differs, one for each that is the same throughout, and the count.
#[must_use]
pub fn table(replays: &[(String, Comparison)]) -> String {
    let mut text = String::new();
    let width = replays.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, comparison) in replays {
        if comparison.is_same() {
            let told: Vec<String> = comparison
                .0
                .iter()
                .map(|(channel, verdict)| format!("{} {verdict}", word(*channel)))
                .collect();
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{name:width$}  same     {}", told.join("; "));
        }
        for (channel, verdict) in comparison.differences() {
            let _ = writeln!(text, "{name:width$}  DIFFERS  {}: {verdict}", word(*channel));
        }
    }
    let same = replays.iter().filter(|(_, comparison)| comparison.is_same()).count();
    let _ = writeln!(text, "{same} of {} recordings are the same", replays.len());
    text
}

fn word(channel: Channel) -> &'static str {
    match channel {
        Channel::Acks => "acks",
        Channel::Armed => "armed",
        Channel::Mode => "mode",
        Channel::Status => "status",
        Channel::Landed => "landed",
    }
}
