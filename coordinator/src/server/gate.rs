//! The gate: until this coordinator leads and knows the fleet, callers are asked to come back.

use crate::server::auth::Who;
use crate::server::places::{Places, Words};
use proto::v1::{fleet_server, guests_server, uplink_server};
use std::sync::{Arc, OnceLock};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::Status;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;

const SERVICES: [&str; 3] = [
    uplink_server::SERVICE_NAME,
    fleet_server::SERVICE_NAME,
    guests_server::SERVICE_NAME,
];

/// Each watcher costs a listing of the whole fleet per interval.
const MAX_WATCHERS: usize = 32;

/// So that one person keeps no other from watching.
const MAX_WATCHERS_PER_PERSON: usize = 8;

const WATCH: Words = Words {
    full: "too many people watch; end another `skein watch`, or try again later",
    own: "watches",
    end: "`skein watch`",
};

#[derive(Clone, Debug)]
pub struct Gate {
    able: CancellationToken,
    health: Arc<OnceCell<HealthReporter>>,
    tasks: TaskTracker,
    watchers: Places,
}

impl Default for Gate {
    fn default() -> Self {
        Self {
            able: CancellationToken::default(),
            health: Arc::default(),
            tasks: TaskTracker::default(),
            watchers: Places::new(MAX_WATCHERS, MAX_WATCHERS_PER_PERSON, WATCH),
        }
    }
}

impl Gate {
    /// Done once agents can be served: there is a certificate to show to them, or none is needed.
    pub async fn able(&self) {
        self.able.cancelled().await;
    }

    /// The caches are filled: this coordinator is ready to lead, whether it does or is on standby.
    pub async fn warm(&self) {
        self.health().await.set_service_status("", ServingStatus::Serving).await;
    }

    /// Each [`ServiceGate`] has its handles.
    pub async fn open(&self) {
        let health = self.health().await;
        health.set_service_status("", ServingStatus::Serving).await;
        for service in SERVICES {
            health.set_service_status(service, ServingStatus::Serving).await;
        }
    }

    /// At first nothing serves.
    pub(super) async fn health(&self) -> HealthReporter {
        let begin = async || {
            let health = HealthReporter::new();
            health.set_service_status("", ServingStatus::NotServing).await;
            for service in SERVICES {
                health.set_service_status(service, ServingStatus::NotServing).await;
            }
            health
        };
        self.health.get_or_init(begin).await.clone()
    }

    pub(super) fn set_able(&self) {
        self.able.cancel();
    }

    /// Done once all tasks that it runs have ended; no more are expected.
    pub(super) async fn drained(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    fn track_watcher(&self, who: &Who, task: impl Future<Output = ()> + Send + 'static) -> Result<(), Status> {
        let place = self.watchers.take(who)?;
        self.track(async move {
            let _place = place;
            task.await;
        });
        Ok(())
    }

    fn track(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(task);
    }
}

/// The gate of one service, closed until it gets the `H` that it works on.
#[derive(Debug)]
pub struct ServiceGate<H> {
    gate: Gate,
    handles: Arc<OnceLock<Arc<H>>>,
}

impl<H> Clone for ServiceGate<H> {
    fn clone(&self) -> Self {
        Self {
            gate: self.gate.clone(),
            handles: Arc::clone(&self.handles),
        }
    }
}

impl<H> ServiceGate<H> {
    pub fn new(gate: &Gate) -> Self {
        Self {
            gate: gate.clone(),
            handles: Arc::default(),
        }
    }

    pub fn open(&self, handles: H) {
        // It is opened once.
        let _ = self.handles.set(Arc::new(handles));
    }

    /// UNAVAILABLE while the gate is closed.
    pub fn handles(&self) -> Result<Arc<H>, Status> {
        let handles = self.handles.get().cloned();
        handles.ok_or_else(|| {
            Status::unavailable("this coordinator does not lead, or does not know the fleet yet; try again in a moment")
        })
    }

    /// Runs `task` of a person's tool; RESOURCE_EXHAUSTED where there are too many already.
    pub fn track_watcher(&self, who: &Who, task: impl Future<Output = ()> + Send + 'static) -> Result<(), Status> {
        self.gate.track_watcher(who, task)
    }

    /// The server waits for `task` before it ends.
    pub fn track(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.gate.track(task);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_person_takes_a_part_of_the_places_to_watch_and_another_still_has_one() {
        let gate = Gate::default();
        let person = |name: &str| Who::Operator { name: name.to_owned() };
        let watch = |who: &Who| gate.track_watcher(who, std::future::pending());
        for _ in 0..MAX_WATCHERS_PER_PERSON {
            watch(&person("vera")).unwrap();
        }
        let refused = watch(&person("vera")).unwrap_err();
        assert!(
            refused.message().contains("operator vera watches 8 times already"),
            "{refused}"
        );
        watch(&person("ada")).unwrap();
        for _ in MAX_WATCHERS_PER_PERSON + 1..MAX_WATCHERS {
            watch(&Who::Unauthenticated).unwrap();
        }
        assert!(
            watch(&person("bob")).is_err(),
            "there are no more places than there are"
        );
    }

    #[tokio::test]
    async fn a_watcher_that_dies_of_a_fault_leaves_its_place_to_others() {
        let gate = Gate::default();
        for number in 0..=MAX_WATCHERS {
            let (sender, receiver) = tokio::sync::oneshot::channel::<()>();
            let dies = async move {
                let _sender = sender;
                panic!("a fault");
            };
            assert!(
                gate.track_watcher(&Who::Unauthenticated, dies).is_ok(),
                "after {number} others"
            );
            // The place is free before the task lets go of its last values, or as soon as it has ended.
            assert!(receiver.await.is_err());
            gate.tasks.close();
            gate.tasks.wait().await;
            gate.tasks.reopen();
        }
    }
}
