//! The coordinator's part of traces: a Drone was bound, was ordered to fly, and is in the air.

use crate::cluster::key::Key;
use crate::cluster::world::uid;
use crds::Drone;
use fleet::planning::trace::{Ended, Track};
use model::assignment::{Assignment, Desired};
use model::ids::{DroneName, DroneUid, NodeName};
use model::time::Moment;
use model::trace::{Span, Subject};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use traces::Traces;

/// At the limit all are forgotten, and later spans are those of unknown Drones.
const MAX_DRONES: usize = 50_000;

/// Cheap to clone; clones share state.
#[derive(Clone, Debug, Default)]
pub struct FlightTraces {
    to: Traces,
    tracks: Arc<Mutex<HashMap<DroneUid, Track>>>,
}

/// The date, as a moment since 1970.
pub fn now() -> Moment {
    Moment::at(
        SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default(),
    )
}

fn created(drone: &Drone) -> Option<Moment> {
    let made = drone.metadata.creation_timestamp.as_ref()?.0.as_millisecond();
    Some(Moment::at(Duration::from_millis(u64::try_from(made).ok()?)))
}

fn subject(drone: &Drone) -> Subject {
    Subject {
        uid: DroneUid(uid(drone).to_owned()),
        name: DroneName::from(&Key::of(drone)),
        generation: drone.metadata.generation.unwrap_or_default(),
    }
}

impl FlightTraces {
    pub fn to(to: Traces) -> Self {
        Self {
            to,
            tracks: Arc::default(),
        }
    }

    pub fn bound(&self, drone: &Drone, node: &NodeName) {
        let now = now();
        self.write(
            Some(node),
            || subject(drone),
            |track| Some(track.bound(created(drone).unwrap_or(now), now)),
        );
    }

    /// `begins` is whether a flight may begin by the order, `at` its date.
    pub fn ordered(&self, assignment: &Assignment, node: &NodeName, (begins, at): (bool, Moment)) {
        let of = || Subject {
            uid: assignment.uid.clone(),
            name: assignment.name.clone(),
            generation: assignment.generation,
        };
        self.write(Some(node), of, |track| match assignment.desired {
            Desired::Flying { .. } => begins.then(|| track.ordered(at)).flatten(),
            Desired::Grounded { .. } => {
                track.grounded();
                None
            }
        });
    }

    /// Whether the vehicle of `drone` flies, before and now.
    pub fn flies(&self, drone: &Drone, node: Option<&NodeName>, (before, flies): (Option<bool>, Option<bool>)) {
        if before == Some(true) || flies != Some(true) {
            return;
        }
        let (now, was_down) = (now(), before == Some(false));
        self.write(
            node,
            || subject(drone),
            |track| track.airborne(was_down, created(drone).unwrap_or(now), now),
        );
    }

    pub fn forget(&self, drone: &Drone) {
        let mut tracks = self.tracks.lock().unwrap_or_else(PoisonError::into_inner);
        tracks.remove(&DroneUid(uid(drone).to_owned()));
    }

    fn write(
        &self,
        node: Option<&NodeName>,
        of: impl FnOnce() -> Subject,
        step: impl FnOnce(&mut Track) -> Option<Ended>,
    ) {
        if !self.to.are_written() {
            return;
        }
        let of = of();
        let ended = {
            let mut tracks = self.tracks.lock().unwrap_or_else(PoisonError::into_inner);
            if tracks.len() >= MAX_DRONES {
                tracks.clear();
            }
            step(tracks.entry(of.uid.clone()).or_default())
        };
        if let Some((part, start, end)) = ended {
            let span = Span {
                of,
                part,
                start,
                end,
                fault: None,
            };
            let date = |moment: Moment| SystemTime::UNIX_EPOCH + moment.since_epoch();
            self.to.write(span, node, &date);
        }
    }
}
