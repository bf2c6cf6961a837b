//! The Lease of the coordinator, as others see it.

use crate::tenant::PATIENCE;
use anyhow::Context;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::jiff::Timestamp;
use kube::{Api, Client};
use skein_tests::SYSTEM;
use std::time::Duration;

/// Much more often than it is renewed.
const POLL: Duration = Duration::from_millis(200);

pub struct Renewals {
    leases: Api<Lease>,
    last: Option<(Timestamp, i32)>,
    longest: Duration,
    transitions: u64,
}

impl Renewals {
    pub fn new(client: Client) -> Self {
        Self {
            leases: Api::namespaced(client, SYSTEM),
            last: None,
            longest: Duration::ZERO,
            transitions: 0,
        }
    }

    /// Until it cannot be read.
    pub async fn follow(&mut self) -> anyhow::Error {
        loop {
            if let Err(error) = self.read().await {
                return error;
            }
            tokio::time::sleep(POLL).await;
        }
    }

    async fn read(&mut self) -> anyhow::Result<()> {
        let lease = tokio::time::timeout(PATIENCE, self.leases.get("skein-coordinator")).await??;
        let spec = lease.spec.context("the Lease has no spec")?;
        let renewed = spec.renew_time.context("the Lease has never been renewed")?.0;
        let term = spec.lease_transitions.unwrap_or_default();
        if let Some((before, known)) = self.last {
            self.longest = self.longest.max(between(before, renewed));
            self.transitions += u64::from(known.abs_diff(term));
        }
        self.last = Some((renewed, term));
        Ok(())
    }

    /// With the time since the last renewal.
    pub fn longest_gap(&self) -> Duration {
        let since = self.last.map(|(last, _)| between(last, Timestamp::now()));
        self.longest.max(since.unwrap_or_default())
    }

    /// By how much `leaseTransitions` has changed.
    pub fn transitions(&self) -> u64 {
        self.transitions
    }
}

fn between(from: Timestamp, to: Timestamp) -> Duration {
    Duration::try_from(to.duration_since(from)).unwrap_or_default()
}
