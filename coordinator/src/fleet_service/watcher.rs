//! Whoever watches the fleet, and for how long they may.
//!
//! Owns: asking for their right again. Must not: send them anything.

use crate::auth::{Auth, Right, Who};
use std::time::Duration;
use tokio::time::{Instant, sleep};
use tonic::Status;

/// What a watcher may see is asked again after this.
const ASKED_AGAIN: Duration = Duration::from_secs(60);

/// A watcher shows its credentials again after this.
const LONGEST_WATCH: Duration = Duration::from_secs(3600);

/// Whoever watches.
#[derive(Debug)]
pub(super) struct Watcher {
    pub(super) who: Who,
    pub(super) right: Right,
    pub(super) auth: Auth,
}

impl Watcher {
    /// Done with why, once they may watch no longer.
    pub(super) async fn is_over(&self) -> Status {
        if self.auth.is_open() {
            std::future::pending::<()>().await;
        }
        let until = Instant::now() + LONGEST_WATCH;
        loop {
            sleep(ASKED_AGAIN).await;
            match self.auth.may(&self.who, &self.right).await {
                Err(refusal) if refusal.is_final() => return refusal.into(),
                // An API server that is away changes nothing for those who watch already.
                _ if Instant::now() < until => {}
                _ => return Status::unavailable("credentials have to be shown again; reconnect"),
            }
        }
    }
}
