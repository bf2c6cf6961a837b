//! The term of this coordinator's leadership.
//!
//! Owns: taking a term that is higher than all before, by counting up `spec.leaseTransitions` of the Lease
//! `skein-coordinator`. Must not: elect; until there is an election, one coordinator runs at a time (a Deployment with one
//! replica and strategy Recreate), and an older one that still runs is fenced off by the agents.

use crate::api::{self, ApiError};
use crds::labels;
use fleet::ids::Term;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{Api, PostParams};
use kube::core::ObjectMeta;
use std::time::Duration;

/// Name of the Lease.
pub const LEASE: &str = "skein-coordinator";

/// Takes the next term; tries for as long as it takes.
pub async fn take(client: &kube::Client, namespace: &str, identity: &str) -> Term {
    let leases: Api<Lease> = Api::namespaced(client.clone(), namespace);
    let mut failures = 0;
    loop {
        match take_once(&leases, namespace, identity).await {
            Ok(term) => return term,
            Err(error) => {
                failures += 1;
                // Often enough to be seen, not so often as to hide all else.
                if u32::is_power_of_two(failures) {
                    tracing::warn!(%error, namespace, failures, "cannot take the lead yet; will be tried again");
                }
                tokio::time::sleep(retry_delay(failures)).await;
            }
        }
    }
}

/// Remembers that term `seen` was led, unless that or more is remembered. One try: without it the next start is deposed
/// again, and tries again.
pub async fn raise_to(client: &kube::Client, namespace: &str, seen: Term) {
    let leases: Api<Lease> = Api::namespaced(client.clone(), namespace);
    let raised = async {
        let existing = api::call("read the Lease of the coordinator", leases.get_opt(LEASE)).await?;
        let Some(lease) = existing.and_then(|lease| raise(lease, seen)) else {
            return Ok(());
        };
        let params = PostParams {
            field_manager: Some(labels::COORDINATOR.into()),
            ..PostParams::default()
        };
        let written = leases.replace(LEASE, &params, &lease);
        api::call("write the Lease of the coordinator", written).await.map(drop)
    };
    let raised: Result<(), ApiError> = raised.await;
    if let Err(error) = raised {
        tracing::warn!(%error, term = %seen, "cannot remember the higher term");
    }
}

/// The Lease with at least the term `seen`; `None` when it has that already.
fn raise(mut lease: Lease, seen: Term) -> Option<Lease> {
    let seen = i32::try_from(seen.0).ok()?;
    let spec = lease.spec.get_or_insert_default();
    if spec.lease_transitions.is_some_and(|term| term >= seen) {
        return None;
    }
    spec.lease_transitions = Some(seen);
    lease.metadata.managed_fields = None;
    Some(lease)
}

fn retry_delay(failures: u32) -> Duration {
    crate::retry::RETRY.delay(failures, rand::random::<f64>())
}

async fn take_once(leases: &Api<Lease>, namespace: &str, identity: &str) -> Result<Term, ApiError> {
    let params = PostParams {
        field_manager: Some(labels::COORDINATOR.into()),
        ..PostParams::default()
    };
    let existing = api::call("read the Lease of the coordinator", leases.get_opt(LEASE)).await?;
    let lease = next(existing, namespace, identity);
    let written = if lease.metadata.resource_version.is_some() {
        api::call(
            "write the Lease of the coordinator",
            leases.replace(LEASE, &params, &lease),
        )
        .await?
    } else {
        api::call("create the Lease of the coordinator", leases.create(&params, &lease)).await?
    };
    let count = written.spec.and_then(|spec| spec.lease_transitions).unwrap_or_default();
    Ok(Term(u64::try_from(count).unwrap_or_default()))
}

/// The Lease with the term counted up; keeps the resourceVersion, so that of two coordinators only one gets each term.
fn next(existing: Option<Lease>, namespace: &str, identity: &str) -> Lease {
    let mut lease = existing.unwrap_or_else(|| Lease {
        metadata: ObjectMeta {
            name: Some(LEASE.into()),
            namespace: Some(namespace.into()),
            ..ObjectMeta::default()
        },
        spec: None,
    });
    lease.metadata.managed_fields = None;
    let term = lease
        .spec
        .as_ref()
        .and_then(|spec| spec.lease_transitions)
        .unwrap_or_default()
        .max(0);
    lease.spec = Some(LeaseSpec {
        holder_identity: Some(identity.to_owned()),
        acquire_time: Some(MicroTime(k8s_openapi::jiff::Timestamp::now())),
        lease_transitions: Some(term.saturating_add(1)),
        ..lease.spec.unwrap_or_default()
    });
    lease
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_leadership_has_a_higher_term() {
        let term = |lease: &Lease| lease.spec.as_ref().unwrap().lease_transitions;
        let first = next(None, "skein-system", "a");
        assert_eq!(term(&first), Some(1));
        let second = next(Some(first), "skein-system", "b");
        assert_eq!(term(&second), Some(2));
        assert_eq!(second.spec.unwrap().holder_identity.as_deref(), Some("b"));
    }

    #[test]
    fn after_a_lost_lease_one_more_start_leads_above_all_that_agents_have_seen() {
        let term = |lease: &Lease| lease.spec.as_ref().unwrap().lease_transitions;
        let anew = next(None, "skein-system", "a");
        let raised = raise(anew, Term(57)).unwrap();
        assert_eq!(term(&next(Some(raised.clone()), "skein-system", "b")), Some(58));
        assert!(
            raise(raised, Term(57)).is_none(),
            "a successor's own term is not touched"
        );
        assert!(raise(next(None, "skein-system", "a"), Term(u64::MAX)).is_none());
    }
}
