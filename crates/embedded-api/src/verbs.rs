//! The verbs of the Kubernetes API on the objects in the store.
//!
//! Owns: all from an [`ApiRequest`] to its [`Answer`]. Must not: know sockets, or what the custom resources mean.
//! ```text
//!  request ─► route ─► dispatch ─► options, body ─► request_scope (admission, schema, field owners) ─► guaranteed_update ─► store
//!                          └─────► selector ─► list, watch ◄────────────────────────────────────────────────────────────────┘
//!                                       garbage collector, Events' age: driven by the store's changes
//! ```

mod admission;
mod answer;
mod body;
mod continuation;
mod core;
mod create;
mod delete;
mod deletion;
mod dispatch;
mod documents;
pub mod events_ttl;
mod facts;
mod garbage;
mod get;
mod guaranteed_update;
mod list;
mod meta;
mod namespaces;
mod object_encoder;
mod options;
mod patch;
mod protobuf;
pub mod refused;
mod request_scope;
mod restart_on_panic;
mod route;
mod scale;
mod selector;
mod self_review;
mod start;
mod update;
mod validator;
mod watch;
mod write;

#[cfg(test)]
mod tests;

pub use start::OpenError;

use self::core::Core;
use self::restart_on_panic::restart_on_panic;
use crate::refusal::Refusal;
use crate::request::{Answer, ApiRequest};
use crate::serve::Handler;
use crate::store;
use http::Method;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

const PERMIT_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Clone, Debug)]
pub struct Options {
    pub folder: PathBuf,
    pub crds: Vec<Value>,
    pub history: store::Limits,
    pub events: events_ttl::Limits,
    pub in_flight: usize,
}

impl Options {
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>, crds: Vec<Value>) -> Self {
        Self {
            folder: folder.into(),
            crds,
            history: store::Limits::default(),
            events: events_ttl::Limits::default(),
            in_flight: 400,
        }
    }
}

/// Share of writes: a hanging disk blocks writers and their permits, and reads must not wait for that.
const WRITES: usize = 2;

/// Cheap to clone; dropping the last clone ends watches and background tasks and releases the folder.
#[derive(Clone, Debug)]
pub struct Api {
    core: Arc<Core>,
    requests: Arc<Semaphore>,
    writes: Arc<Semaphore>,
    running: Arc<Running>,
}

#[derive(Debug)]
struct Running {
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Api {
    /// Needs a tokio runtime, which then runs the background tasks.
    pub async fn open(options: Options) -> Result<Self, OpenError> {
        let events = options.events;
        let requests = Arc::new(Semaphore::new(options.in_flight.max(1)));
        let writes = Arc::new(Semaphore::new((options.in_flight / WRITES).max(1)));
        let core = Arc::new(start::core(options).await?);
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let (of, until) = (Arc::clone(&core), stop.clone());
        let garbage = move || garbage::run(Arc::clone(&of), until.clone());
        tasks.spawn(restart_on_panic("the garbage collector", stop.clone(), garbage));
        let (of, until) = (Arc::clone(&core), stop.clone());
        let events = move || events_ttl::run(Arc::clone(&of), events, until.clone());
        tasks.spawn(restart_on_panic("the removal of old Events", stop.clone(), events));
        Ok(Self {
            core,
            requests,
            writes,
            running: Arc::new(Running { tasks, stop }),
        })
    }

    /// Safe to drop at any point; a write that has begun is then done or not.
    pub async fn handle(&self, request: ApiRequest) -> Answer {
        let permits = async {
            // In this order: a request that waits to write holds no permit that others need.
            let write = match matches!(request.method, Method::GET | Method::HEAD) {
                true => None,
                false => Some(self.writes.acquire().await),
            };
            (write, self.requests.acquire().await)
        };
        let Ok((_write, Ok(_permit))) = timeout(PERMIT_TIMEOUT, permits).await else {
            return answer::refusal(&Refusal::too_many_requests());
        };
        let running = &self.running;
        let answered = dispatch::answer(&self.core, &request, &running.tasks, &running.stop).await;
        answered.unwrap_or_else(|refusal| answer::refusal(&refusal))
    }

    #[must_use]
    pub fn revision(&self) -> u64 {
        self.core.store.revision()
    }

    /// Ends watches and background tasks, and finishes queued writes. Later writes are refused.
    pub async fn close(self) {
        self.running.stop.cancel();
        self.running.tasks.close();
        self.running.tasks.wait().await;
        self.core.store.clone().close().await;
    }
}

impl Handler for Api {
    async fn handle(&self, request: ApiRequest) -> Answer {
        Self::handle(self, request).await
    }
}
