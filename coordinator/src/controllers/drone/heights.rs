//! Which vehicles are on their way to the height that they were asked for, and since when.

use crate::controllers::facts::DroneSnapshot;
use fleet::planning::drone::Ground;
use fleet::planning::drone::height::{Climb, Height};
use model::report::{Activity, Report};
use model::time::Moment;
use model::vehicle::FlightTruth;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A vehicle on its way is checked this often: reports are no news for their position alone.
const ON_ITS_WAY: Duration = Duration::from_secs(1);

/// One that has not arrived in time is checked this often.
const LATE: Duration = Duration::from_secs(5);

/// The ways of all vehicles that are in the air for a Drone.
#[derive(Debug, Default)]
pub struct Heights(Mutex<HashMap<String, Climb>>);

impl Heights {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Climb>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the vehicle of a Drone is on its way, `now`.
    pub fn observe(&self, snapshot: &DroneSnapshot, now: Moment) -> Height {
        let mut ways = self.lock();
        let at = snapshot
            .report
            .as_deref()
            .filter(|report| is_to_be_there(snapshot, report));
        let Some(at) = at.and_then(|report| report.position) else {
            ways.remove(snapshot.uid());
            return Height::There;
        };
        let before = ways.get(snapshot.uid()).copied();
        let (climb, height) = Climb::observe(before, snapshot.facts.altitude, at.above_home, now);
        ways.insert(snapshot.uid().to_owned(), climb);
        height
    }

    pub fn forget(&self, uid: &str) {
        self.lock().remove(uid);
    }
}

/// Whether its agent flies it as this Drone wants now.
fn is_to_be_there(snapshot: &DroneSnapshot, report: &Report) -> bool {
    let taken =
        |held: &model::assignment::Held| held.uid == snapshot.facts.uid && held.generation >= snapshot.facts.generation;
    let flies = matches!(report.truth, FlightTruth::Airborne(_));
    let by_us = matches!(report.activity, Activity::TakingOff | Activity::Holding);
    // One with a station is where its route leads, and one with a plan where that does.
    let desired = snapshot.facts.movement.is_none()
        && snapshot.facts.plan.is_none()
        && !snapshot.facts.deleting
        && snapshot.facts.ground != Ground::Ordered;
    desired && flies && by_us && report.held.as_ref().is_some_and(taken)
}

/// After which time a vehicle is checked again although nothing reports it.
pub const fn check_again(height: Height) -> Option<Duration> {
    match height {
        Height::There => None,
        Height::UnderWay => Some(ON_ITS_WAY),
        Height::NotReached { .. } => Some(LATE),
    }
}
