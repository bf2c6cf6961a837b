//! Vehicles that have no part any more and may still fly: on their way home, or in other hands.
//!
//! Owns: [`Leaving`], in which layer each of them is. Must not: know airspace: that whose layer is forgotten still owns its own, and the
//! next in that layer waits for it.

use super::{Observed, Progress};

/// A Drone that had a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaving {
    /// Its name.
    pub drone: String,
    /// In which layer it flew its part.
    pub layer: u8,
}

impl Progress {
    /// Nobody has a part any more; what they have flown counts.
    pub fn let_all_go(&mut self) {
        self.flown = self.all_flown();
        let had_part = self.parts.drain(..).map(|part| Leaving {
            drone: part.drone,
            layer: part.layer,
        });
        self.leaving.extend(had_part);
    }
}

/// Adds those that had a part `before`; drops those whose Drones are gone, which they are once they are down, or that have a part again.
pub(super) fn update(progress: &mut Progress, before: &Progress, drones: &[Observed]) {
    let had_part = before.parts.iter().map(|part| Leaving {
        drone: part.drone.clone(),
        layer: part.layer,
    });
    let mut all = before.leaving.clone();
    all.extend(had_part);
    all.retain(|one| {
        let there = drones.iter().any(|seen| seen.drone == one.drone);
        there && progress.part(&one.drone).is_none()
    });
    progress.leaving = all;
}
