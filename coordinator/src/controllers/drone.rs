//! The Drone controller: gives each Drone a vehicle, keeps its object until that vehicle has landed, and writes status and Events.
//!
//! Owns: one reconcile of one Drone, as observe, then bind or let go, then status. Must not: command a vehicle; what the
//! agent is sent follows from the same facts in [`crate::controllers::orders`].

pub mod binding;
pub mod facts;
pub mod heights;
pub mod leaving;
pub mod notes;
pub mod pacing;
pub mod refusals;
pub mod status;

use crate::cluster::api::ApiError;
use crate::cluster::key::Key;
use crate::controllers;
use crate::controllers::swarm::members::{self, Assessments};
use crate::leadership::state::AFTER_DOUBT;
use crate::metrics::Reconciles;
use crate::spans;
use binding::Binder;
use crds::Drone;
use facts::{DroneSnapshot, Observer};
use fleet::drone::status::Binding;
use heights::Heights;
use kube::runtime::reflector::Store;
use pacing::Paces;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tracing::Instrument;

/// Drones worked on at a time.
const AT_A_TIME: u16 = 16;

/// After losing to another writer, the watch brings the news within this time.
pub(crate) const AFTER_CONFLICT: Duration = Duration::from_millis(100);

/// The Drone controller.
#[derive(Debug)]
pub struct DroneController {
    /// What is known of each Drone.
    pub observer: Observer,
    /// What gives each its vehicle.
    pub binder: Binder,
    /// The assessment of each for its Swarm.
    pub assessments: Arc<Assessments>,
    /// Which vehicles are on their way to another height.
    pub heights: Arc<Heights>,
    /// When the status of each was written last.
    pub paces: Paces,
}

/// Starts the controller.
pub fn start(controller: DroneController, drones: Store<Drone>, reconciles: Reconciles, tasks: &mut JoinSet<()>) {
    let shared = Arc::new(controller);
    let Observer {
        cluster, leadership, ..
    } = &shared.observer;
    tasks.spawn(controllers::run(
        drones,
        Arc::clone(&cluster.wakes.drones),
        AT_A_TIME,
        leadership.ending.clone(),
        reconciles,
        |_| Duration::ZERO,
        move |key| {
            let controller = Arc::clone(&shared);
            let span = spans::drone_of(controller.observer.world(), &key);
            async move { overtaken_is_no_failure(Box::pin(reconcile(&controller, &key)).await) }.instrument(span)
        },
    ));
}

/// Losing to another writer is no fault: reconcile again once the cache has the news.
pub(crate) fn overtaken_is_no_failure(
    result: Result<Option<Duration>, ApiError>,
) -> Result<Option<Duration>, ApiError> {
    match result {
        Err(error) if error.is_overtaken() => {
            tracing::debug!(%error, "overtaken by another writer");
            Ok(Some(AFTER_CONFLICT))
        }
        result => result,
    }
}

async fn reconcile(controller: &DroneController, key: &Key) -> Result<Option<Duration>, ApiError> {
    let observer = &controller.observer;
    if !observer.leadership.state.acts() {
        return Ok(Some(AFTER_DOUBT));
    }
    let Some(drone) = observer.world().get_drone(key) else {
        return Ok(None);
    };
    let snapshot = DroneSnapshot::of(observer, drone);
    observer.takeoff_slots.see(observer.world(), &snapshot);
    let recheck = members::see(&observer.cluster, &controller.assessments, &snapshot);
    if snapshot.facts.deleting {
        return leaving::reconcile(controller, &snapshot).await;
    }
    let (snapshot, binding, again) = match binding::reconcile(&controller.binder, snapshot.clone()).await {
        // Only a person can change that, and people read the object.
        Err(error) if error.is_refusal() && !snapshot.was_served() => {
            status::write(controller, &snapshot, &Binding::Refused(error.to_string()), None).await?;
            return Err(error);
        }
        bound => bound?,
    };
    let later = status::write(controller, &snapshot, &binding, None).await?;
    Ok([again, later, recheck].into_iter().flatten().min())
}
