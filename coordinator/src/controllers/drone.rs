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
use crate::context::Context;
use crate::controllers;
use crate::controllers::swarm::members;
use crate::leadership::state::AFTER_DOUBT;
use crate::spans;
use crds::Drone;
use facts::DroneSnapshot;
use fleet::drone::status::Binding;
use kube::runtime::reflector::Store;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tracing::Instrument;

/// Drones worked on at a time.
const AT_A_TIME: u16 = 16;

/// After losing to another writer, the watch brings the news within this time.
pub(crate) const AFTER_CONFLICT: Duration = Duration::from_millis(100);

/// Starts the controller.
pub fn start(context: &Arc<Context>, drones: Store<Drone>, tasks: &mut JoinSet<()>) {
    let shared = Arc::clone(context);
    tasks.spawn(controllers::run(
        drones,
        Arc::clone(&context.wakes.drones),
        AT_A_TIME,
        context.ending.clone(),
        context.metrics.reconciles_of("Drone"),
        |_| Duration::ZERO,
        move |key| {
            let context = Arc::clone(&shared);
            let span = spans::drone_of(&context.world, &key);
            async move { overtaken_is_no_failure(Box::pin(reconcile(&context, &key)).await) }.instrument(span)
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

async fn reconcile(context: &Arc<Context>, key: &Key) -> Result<Option<Duration>, ApiError> {
    if !context.leadership.acts() {
        return Ok(Some(AFTER_DOUBT));
    }
    let Some(drone) = context.world.get_drone(key) else {
        return Ok(None);
    };
    let snapshot = DroneSnapshot::of(context, drone);
    context.takeoff_slots.see(context, &snapshot);
    let recheck = members::see(context, &snapshot);
    if snapshot.facts.deleting {
        return leaving::reconcile(context, &snapshot).await;
    }
    let (snapshot, binding, again) = match binding::reconcile(context, snapshot.clone()).await {
        // Only a person can change that, and people read the object.
        Err(error) if error.is_refusal() && !snapshot.was_served() => {
            status::write(context, &snapshot, &Binding::Refused(error.to_string()), None).await?;
            return Err(error);
        }
        bound => bound?,
    };
    let later = status::write(context, &snapshot, &binding, None).await?;
    Ok([again, later, recheck].into_iter().flatten().min())
}
