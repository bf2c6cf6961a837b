//! The Drone controller: gives each Drone a vehicle, keeps its object until that vehicle has landed, and writes status and Events.
//!
//! Owns: one reconcile of one Drone, as its stages: observe ([`DroneSnapshot`]), decide, apply, status. Must not: command a vehicle; what the
//! agent is sent follows from the same facts in [`crate::controllers::orders`].

pub mod apply;
pub mod binding;
pub mod decide;
pub mod heights;
pub mod leaving;
pub mod notes;
pub mod refusals;
pub mod slots;
pub mod status;

use crate::cluster::api::ApiError;
use crate::cluster::key::Key;
use crate::controllers::facts::{DroneSnapshot, Observer};
use crate::controllers::pacing::Paces;
use crate::controllers::swarm::members::{self, Assessments};
use crate::controllers::{self, overtaken_is_no_failure};
use crate::leadership::state::AFTER_DOUBT;
use crate::metrics::Reconciles;
use crate::spans;
use apply::apply;
use binding::Binder;
use crds::Drone;
use decide::decide;
use heights::Heights;
use kube::runtime::reflector::Store;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tracing::Instrument;

const CONCURRENT_RECONCILES: u16 = 16;

#[derive(Debug)]
pub struct DroneController {
    pub binder: Binder,
    pub assessments: Arc<Assessments>,
    /// Vehicles on their way to another altitude.
    pub heights: Arc<Heights>,
    pub paces: Paces,
}

impl DroneController {
    pub const fn observer(&self) -> &Observer {
        &self.binder.observer
    }
}

pub fn start(controller: DroneController, drones: Store<Drone>, reconciles: Reconciles, tasks: &mut JoinSet<()>) {
    let shared = Arc::new(controller);
    let Observer {
        cluster, leadership, ..
    } = shared.observer();
    tasks.spawn(controllers::run(
        drones,
        Arc::clone(&cluster.wakes.drones),
        CONCURRENT_RECONCILES,
        leadership.ending.clone(),
        reconciles,
        |_| Duration::ZERO,
        move |key| {
            let controller = Arc::clone(&shared);
            let span = spans::drone_of(controller.observer().world(), &key);
            async move { overtaken_is_no_failure(Box::pin(reconcile(&controller, &key)).await) }.instrument(span)
        },
    ));
}

async fn reconcile(controller: &DroneController, key: &Key) -> Result<Option<Duration>, ApiError> {
    let leadership = &controller.observer().leadership;
    if !leadership.state.acts() {
        return Ok(Some(AFTER_DOUBT));
    }
    let Some((snapshot, recheck)) = observe(controller, key) else {
        return Ok(None);
    };
    let step = decide(&snapshot, leadership.term);
    let Some(applied) = apply(controller, snapshot, step, recheck).await? else {
        return Ok(None);
    };
    let later = status::write(controller, &applied).await?;
    applied.done(later)
}

/// The Drone as it is now, also for its Swarm's takeoff slots and assessments, and when to observe it again at the latest.
fn observe(controller: &DroneController, key: &Key) -> Option<(DroneSnapshot, Option<Duration>)> {
    let observer = controller.observer();
    let snapshot = DroneSnapshot::of(observer, observer.world().get_drone(key)?);
    slots::observe(observer, &snapshot);
    let recheck = members::observe(observer, &controller.assessments, &snapshot);
    Some((snapshot, recheck))
}
