//! The fleet, from the coordinator's fleet service.

use super::clock::Now;
use crate::failure::Failure;
use crate::route::Route;
use crate::server::{Server, Which};
use crate::watch::{RETRY, jitter};
use proto::v1;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tonic::Streaming;

pub const FREQUENT_INTERVAL: Duration = Duration::from_millis(500);

#[derive(Debug, Clone, Default)]
pub struct FleetSnapshot {
    /// In the coordinator's order.
    pub vehicles: Arc<Vec<v1::Vehicle>>,
    pub received: Option<Duration>,
    pub lost: Option<Lost>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    pub since: Duration,
    pub why: String,
}

/// At most one message in `every`.
pub async fn open(route: &Route, which: &Which, every: Duration) -> Result<Streaming<v1::ListResponse>, Failure> {
    Server::connect(route).await?.watch(which, Some(every)).await
}

/// Reconnects when a stream ends, while anybody watches `seen`.
pub async fn follow(
    route: Route,
    (which, every): (Which, Duration),
    mut stream: Streaming<v1::ListResponse>,
    seen: watch::Sender<FleetSnapshot>,
) {
    let mut failures = 0;
    loop {
        let why = loop {
            match stream.message().await {
                Ok(Some(fleet)) => {
                    failures = 0;
                    seen.send_replace(FleetSnapshot {
                        vehicles: Arc::new(fleet.vehicles),
                        received: Some(Now::read().elapsed),
                        lost: None,
                    });
                }
                Ok(None) => break "it ended the stream".to_owned(),
                Err(status) => break status.message().to_owned(),
            }
        };
        lost(&seen, why);
        stream = loop {
            failures += 1;
            tokio::time::sleep(RETRY.delay(failures, jitter())).await;
            if seen.is_closed() {
                return;
            }
            match open(&route, &which, every).await {
                Ok(stream) => break stream,
                // Without the address, which is shown already.
                Err(Failure::Unreachable { why, .. }) => lost(&seen, why),
                Err(failure) => lost(&seen, failure.to_string()),
            }
        };
    }
}

fn lost(seen: &watch::Sender<FleetSnapshot>, why: String) {
    let now = Now::read().elapsed;
    seen.send_modify(|seen| {
        let since = seen.lost.as_ref().map_or(now, |lost| lost.since);
        seen.lost = Some(Lost { since, why });
    });
}
