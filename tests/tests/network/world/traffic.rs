//! An aircraft of others that hovers close by now and then, in a share of the worlds with stations.

use super::Run;
use crate::vehicle::Spot;
use rand::RngExt;
use std::time::Duration;

/// One of so many worlds has it: each second of those with stations.
const SHARE: u64 = 6;
/// Seconds.
const STAYS: std::ops::Range<f64> = 40.0..80.0;
/// Distance from the middle over ground, and altitude, meters.
const OFF: std::ops::Range<f64> = 60.0..280.0;
const UP: std::ops::Range<f64> = 0.0..120.0;

impl Run<'_> {
    pub(super) fn traffic(&mut self) {
        if self.seed % SHARE == SHARE - 1 && self.chance(0.006) {
            self.an_aircraft_comes(self.disorder());
        }
    }

    /// At most one at a time; it is gone when the faults are, at `end`.
    pub(super) fn an_aircraft_comes(&mut self, end: Duration) {
        let now = self.sim.elapsed();
        if self.oracle.traffic.is_here(now) {
            return;
        }
        let (course, off) = (
            self.rng.random_range(0.0..std::f64::consts::TAU),
            self.rng.random_range(OFF),
        );
        let at = Spot {
            east: off * course.sin(),
            north: off * course.cos(),
            up: self.rng.random_range(UP),
        };
        let stays = Duration::from_secs_f64(self.rng.random_range(STAYS)).min(end.saturating_sub(now));
        for node in &self.nodes {
            node.vehicle.show_aircraft(at, stays);
        }
        self.oracle.traffic.comes(at, now, now + stays);
        self.oracle.tally.aircraft += 1;
    }
}
