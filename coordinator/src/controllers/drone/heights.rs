//! Vehicles on their way to the altitude that they were asked for, and since when.

use crate::controllers::facts::DroneSnapshot;
use fleet::planning::drone::Ground;
use fleet::planning::drone::height::{Climb, Height};
use model::report::{Activity, Report};
use model::time::Moment;
use model::vehicle::FlightTruth;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Reports are no news for their position alone.
const CLIMB_CHECK_INTERVAL: Duration = Duration::from_secs(1);

const OVERDUE_CHECK_INTERVAL: Duration = Duration::from_secs(5);

#[derive(Debug, Default)]
pub struct Heights(Mutex<HashMap<String, Climb>>);

impl Heights {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Climb>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

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

/// Whether its agent flies the present desire of this Drone.
fn is_to_be_there(snapshot: &DroneSnapshot, report: &Report) -> bool {
    let taken =
        |held: &model::assignment::Held| held.uid == snapshot.facts.uid && held.generation >= snapshot.facts.generation;
    let flies = matches!(report.truth, FlightTruth::Airborne(_));
    let by_us = matches!(report.activity, Activity::TakingOff | Activity::Holding);
    // With a station or a plan, the route decides.
    let desired = snapshot.facts.movement.is_none()
        && snapshot.facts.plan.is_none()
        && !snapshot.facts.deleting
        && snapshot.facts.ground != Ground::Ordered;
    desired && flies && by_us && report.held.as_ref().is_some_and(taken)
}

/// After which time a vehicle is checked again although no news comes.
pub const fn check_again(height: Height) -> Option<Duration> {
    match height {
        Height::There => None,
        Height::UnderWay => Some(CLIMB_CHECK_INTERVAL),
        Height::NotReached { .. } => Some(OVERDUE_CHECK_INTERVAL),
    }
}
