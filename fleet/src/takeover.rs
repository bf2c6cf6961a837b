//! A pilot, a ground station or a failsafe takes over in flight: from then on the agent lets go, until it is told to go on.
//!
//! The agent counts takeovers under one Drone and reports the number; whoever wants Skein to go on writes that number into
//! the Drone (`spec.resumeAfterTakeovers`, `skein resume`). A repeated or late word therefore resumes nothing that was
//! taken over since.
//!
//! Owns: when the agent has let go ([`let_go`]). The count itself is part of [`crate::flight_record::FlightRecord`].

/// Whether the agent has let go of its vehicle: somebody has taken over more often than it was told to go on after.
#[must_use]
pub const fn let_go(takeovers: u32, resume_after: u32) -> bool {
    takeovers > resume_after
}
