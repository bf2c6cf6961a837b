//! Target `agent`: a byte string drives the agent's pilot. [`world`] gives each byte its meaning, and [`oracle`] judges
//! all that leaves.
//!
//! Must not: keep anything from one run to the next; an input gives the same run each time.

mod facts;
mod ledger;
mod messages;
mod oracle;
mod orders;
mod tally;
#[path = "../../../agent/tests/interleavings/vehicle.rs"]
#[allow(missing_docs, reason = "written for a test")]
mod vehicle;
mod world;

pub use tally::Tally;

/// Runs one input; panics when the agent does what it must not.
pub fn run(input: &[u8]) -> Tally {
    let mut world = world::World::new(input);
    while world.step() {}
    world.tally
}

#[cfg(test)]
mod tests;
