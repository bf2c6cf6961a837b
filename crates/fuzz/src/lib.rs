//! Fuzzing of what stands between a wire full of noise and a vehicle in the air, and the judges of what comes out.
//!
//! [`reader`]: any chunks of bytes through the link's framing, decoding and signing, with every byte accounted for.
//! [`flight`]: a byte string that drives the agent's pilot, with an oracle over every message that leaves. [`guests`]:
//! ground stations that say anything, through the pass-through. [`metadata`]: files from the autopilot, and the way to
//! them.
//! Must not: share a rule with `fleet::safety`; what is allowed is written down here a second time.
//!
//! `cargo xtask fuzz` builds this with coverage counters and runs it under libFuzzer; `cargo xtask fuzz TARGET --input
//! FILE` runs a failed input again.

use std::fmt::Debug;

pub mod bytes;
pub mod flight;
pub mod guests;
pub mod metadata;
pub mod reader;
pub mod seeds;

// The coverage counters of a test program, too, need something to report to.
#[cfg(test)]
libfuzzer_sys::fuzz_target!(|_input: &[u8]| {});

/// Prints on standard error, when `SKEIN_FUZZ_TALLY` is set.
pub fn print_tally(tally: &impl Debug) {
    if std::env::var_os("SKEIN_FUZZ_TALLY").is_some() {
        eprintln!("{tally:?}");
    }
}
