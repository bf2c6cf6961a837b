//! All scenarios, by family.
//!
//! Owns: the list. Must not: hold a scenario.

mod airspace;
mod connect;
mod failsafes;
mod flights;
mod formations;
mod lines;
mod logs;
mod missions;
mod people;
mod refusals;
mod restarts;
mod rules;
mod stations;

use crate::scenario::Scenario;

/// All of them, in the order in which they run.
pub fn all() -> impl Iterator<Item = &'static Scenario> {
    [
        flights::ALL,
        restarts::ALL,
        lines::ALL,
        people::ALL,
        connect::ALL,
        failsafes::ALL,
        refusals::ALL,
        stations::ALL,
        airspace::ALL,
        formations::ALL,
        rules::ALL,
        missions::ALL,
        logs::ALL,
    ]
    .into_iter()
    .flatten()
}
