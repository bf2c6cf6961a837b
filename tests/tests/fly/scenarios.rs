//! The list of all scenarios, by family.

mod airspace;
mod connect;
mod external;
mod failsafes;
mod field;
mod flights;
mod formations;
mod gate;
mod lines;
mod logs;
mod missions;
mod mixed;
mod people;
mod refusals;
mod restarts;
mod returns;
mod rules;
mod stations;

use crate::scenario::Scenario;

pub fn all() -> impl Iterator<Item = &'static Scenario> {
    [
        flights::ALL,
        restarts::ALL,
        lines::ALL,
        people::ALL,
        connect::ALL,
        external::ALL,
        failsafes::ALL,
        refusals::ALL,
        stations::ALL,
        airspace::ALL,
        gate::ALL,
        returns::ALL,
        formations::ALL,
        rules::ALL,
        missions::ALL,
        logs::ALL,
        mixed::ALL,
        field::ALL,
    ]
    .into_iter()
    .flatten()
}
