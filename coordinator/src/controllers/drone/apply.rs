//! Carries out a decision about a Drone at the API server.

use crate::cluster::api::ApiError;
use crate::cluster::claims;
use crate::controllers::drone::decide::Step;
use crate::controllers::drone::{DroneController, binding, leaving};
use crate::controllers::facts::DroneSnapshot;
use fleet::planning::drone::status::Binding;
use fleet::safety::NoRelease;
use std::time::Duration;

#[derive(Debug)]
pub struct Applied {
    snapshot: DroneSnapshot,
    binding: Binding,
    no_release: Option<NoRelease>,
    again: Option<Duration>,
    refused: Option<ApiError>,
}

impl Applied {
    pub const fn snapshot(&self) -> &DroneSnapshot {
        &self.snapshot
    }

    pub const fn binding(&self) -> &Binding {
        &self.binding
    }

    /// Why it stays although it is being deleted.
    pub const fn no_release(&self) -> Option<NoRelease> {
        self.no_release
    }

    /// When to reconcile again at the latest, `later` being the status's answer; or the API server's refusal of the step.
    pub fn done(self, later: Option<Duration>) -> Result<Option<Duration>, ApiError> {
        match self.refused {
            Some(error) => Err(error),
            None => Ok([self.again, later].into_iter().flatten().min()),
        }
    }
}

/// Carries out `step`; the next reconcile is due after `recheck`. `None` when the Drone needs no status any more.
pub async fn apply(
    controller: &DroneController,
    snapshot: DroneSnapshot,
    step: Step,
    recheck: Option<Duration>,
) -> Result<Option<Applied>, ApiError> {
    let binder = &controller.binder;
    let before = snapshot.clone();
    let bound = match step {
        Step::Nothing => return Ok(None),
        Step::Leave { claim, verdict } => {
            let again = match claim {
                None => None,
                Some(node) => {
                    let cluster = &controller.observer().cluster;
                    match claims::obtain(cluster, &node, &snapshot.key, snapshot.uid()).await? {
                        claims::Outcome::Ours => None,
                        claims::Outcome::Taken(_) => Some(binding::UNBOUND_RECHECK_INTERVAL),
                    }
                }
            };
            return match verdict {
                Ok(release) => leaving::release(controller, &snapshot, release).await.map(|()| None),
                Err(no_release) => Ok(Some(Applied {
                    binding: snapshot.node.clone().map_or(Binding::NotYet, Binding::Bound),
                    no_release: Some(no_release),
                    snapshot,
                    again,
                    refused: None,
                })),
            };
        }
        Step::Bind => binding::bind(binder, snapshot).await,
        Step::Hold(node) => binding::keep(&binder.observer, snapshot, node).await,
        Step::BindTo(node) => binding::bind_to(binder, snapshot, &node).await,
    };
    match bound {
        Ok((snapshot, binding, again)) => Ok(Some(Applied {
            snapshot,
            binding,
            no_release: None,
            again: [again, recheck].into_iter().flatten().min(),
            refused: None,
        })),
        // Only a person can change that, and people read the object.
        Err(error) if error.is_refusal() && !before.was_served() => Ok(Some(Applied {
            snapshot: before,
            binding: Binding::Refused(error.to_string()),
            no_release: None,
            again: None,
            refused: Some(error),
        })),
        Err(error) => Err(error),
    }
}
