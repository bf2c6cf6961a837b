//! The leadership of this coordinator: of several, one acts. It holds the Lease `skein-coordinator`, and its term is the
//! Lease's `spec.leaseTransitions`, raised by whoever takes it.
//!
//! Owns: reading and writing the Lease; each write fails if somebody else has written it since, so that no term is had twice.
//! Must not: decide when it may be taken or for how long its holder may act ([`fleet::leadership`] does). Ready-made
//! electors write without that condition and compare the clocks of two machines; a term must not come out of that.

use crate::api::{self, ApiError};
use crate::standing::Standing;
use crds::labels;
use fleet::ids::Term;
use fleet::leadership::{LASTS, Lookout, RENEW_EVERY, Seen, next_look};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{Api, PostParams};
use kube::core::ObjectMeta;
use std::future::Future;
use std::time::Duration;

/// Name of the Lease.
pub const LEASE: &str = "skein-coordinator";

/// One call about the Lease takes at most this long: a renewal that hangs leaves time for another.
const CALL: Duration = Duration::from_secs(3);

/// After a renewal that failed, the next is tried this soon.
const AGAIN: Duration = Duration::from_millis(500);

/// One that wants to lead tries at least this often.
const LONGEST_DELAY: Duration = Duration::from_secs(3);

/// The Lease of one namespace, and who we are.
#[derive(Clone)]
pub struct Office {
    leases: Api<Lease>,
    namespace: String,
    identity: String,
    alone: bool,
}

/// A leadership that was taken.
#[derive(Clone, Debug)]
pub struct Led {
    /// Its term: higher than all before.
    pub term: Term,
    lease: Lease,
}

/// Somebody else leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Successor(pub String);

impl Office {
    /// The Lease in `namespace`. `alone` is whether there is no other coordinator: then it is taken at once, whoever holds it,
    /// and not renewed.
    #[must_use]
    pub fn new(client: kube::Client, namespace: &str, identity: &str, alone: bool) -> Self {
        Self {
            leases: Api::namespaced(client, namespace),
            namespace: namespace.to_owned(),
            identity: identity.to_owned(),
            alone,
        }
    }

    /// Takes the lead as soon as that may be; tries for as long as it takes.
    pub async fn take(&self, standing: &Standing) -> Led {
        let mut lookout = Lookout::new(&self.identity);
        let mut told = None;
        let mut failures = 0;
        loop {
            let delay = match self.try_to_take(&mut lookout, standing).await {
                Ok(Ok(led)) => return led,
                Ok(Err(Successor(holder))) => {
                    if told.as_ref() != Some(&holder) {
                        tracing::info!(leader = holder, "standing by");
                        told = Some(holder);
                    }
                    failures = 0;
                    next_look(rand::random())
                }
                Err(error) if error.is_overtaken() => next_look(rand::random()),
                Err(error) => {
                    failures += 1;
                    // Often enough to be seen, not so often as to hide all else.
                    if u32::is_power_of_two(failures) {
                        let namespace = &self.namespace;
                        tracing::warn!(%error, namespace, failures, "cannot take the lead yet; will be tried again");
                    }
                    let delay = crate::retry::RETRY.delay(failures, rand::random::<f64>());
                    delay.min(LONGEST_DELAY)
                }
            };
            tokio::time::sleep(delay).await;
        }
    }

    async fn try_to_take(
        &self,
        lookout: &mut Lookout,
        standing: &Standing,
    ) -> Result<Result<Led, Successor>, ApiError> {
        let existing = self.read().await?;
        let seen = existing.as_ref().map(seen);
        if !lookout.may_take(seen, standing.now()) && !self.alone {
            let holder = seen.and_then(|seen| seen.holder).unwrap_or_default();
            return Ok(Err(Successor(holder.to_owned())));
        }
        let sent = standing.now();
        let lease = self.write(next(existing, &self.namespace, &self.identity)).await?;
        if !self.alone {
            standing.confirm(sent);
        }
        let term = term(&lease);
        Ok(Ok(Led { term, lease }))
    }

    /// Renews the Lease for as long as nobody else has it.
    pub async fn keep(&self, led: &Led, standing: &Standing) -> Successor {
        if self.alone {
            return std::future::pending().await;
        }
        let mut lease = Some(led.lease.clone());
        let mut doubted = false;
        loop {
            let delay = if lease.is_some() { RENEW_EVERY } else { AGAIN };
            tokio::time::sleep(delay).await;
            let sent = standing.now();
            match self.renew(led.term, lease.take()).await {
                Ok(Ok(renewed)) => {
                    standing.confirm(sent);
                    lease = Some(renewed);
                    if std::mem::take(&mut doubted) {
                        tracing::info!("the Lease is renewed again");
                    }
                }
                Ok(Err(successor)) => return successor,
                Err(error) if !standing.acts() && !doubted => {
                    doubted = true;
                    tracing::warn!(%error, "the Lease cannot be renewed, so another may lead: no flight is begun until it can; \
                         vehicles go on as assigned, and a ground order still goes through");
                }
                Err(error) => tracing::debug!(%error, "the Lease was not renewed; will be tried again"),
            }
        }
    }

    /// Renews `lease`, or what is there if that is not known to be the newest.
    async fn renew(&self, term: Term, lease: Option<Lease>) -> Result<Result<Lease, Successor>, ApiError> {
        let lease = match lease {
            Some(lease) => Some(lease),
            None => self.read().await?,
        };
        match renewed(lease, term, &self.namespace, &self.identity) {
            Err(successor) => Ok(Err(successor)),
            // Overtaken: what is there is looked at next time.
            Ok(lease) => self.write(lease).await.map(Ok),
        }
    }

    /// Lets go of the Lease, so that another may lead at once, and remembers that term `seen` was led. One try: without it the
    /// next leader waits a little longer, or is deposed and tries again.
    pub async fn let_go(&self, led: &Led, seen: Option<Term>) {
        let done = async {
            match self.read().await? {
                Some(lease) => match released(lease, led.term, &self.identity, seen) {
                    Some(lease) => self.write(lease).await.map(drop),
                    None => Ok(()),
                },
                None => Ok(()),
            }
        };
        let done: Result<(), ApiError> = done.await;
        if let Err(error) = done {
            tracing::warn!(%error, "cannot let go of the Lease; the next leader has to wait for it");
        }
    }

    async fn read(&self) -> Result<Option<Lease>, ApiError> {
        let what = "read the Lease of the coordinator";
        in_time(what, api::call(what, self.leases.get_opt(LEASE))).await
    }

    /// Creates the Lease, or replaces the one of the same resourceVersion.
    async fn write(&self, lease: Lease) -> Result<Lease, ApiError> {
        let params = PostParams {
            field_manager: Some(labels::COORDINATOR.into()),
            ..PostParams::default()
        };
        if lease.metadata.resource_version.is_some() {
            let what = "write the Lease of the coordinator";
            in_time(what, api::call(what, self.leases.replace(LEASE, &params, &lease))).await
        } else {
            let what = "create the Lease of the coordinator";
            in_time(what, api::call(what, self.leases.create(&params, &lease))).await
        }
    }
}

async fn in_time<T>(what: &'static str, call: impl Future<Output = Result<T, ApiError>>) -> Result<T, ApiError> {
    tokio::time::timeout(CALL, call)
        .await
        .unwrap_or(Err(ApiError::TimedOut { what }))
}

fn seen(lease: &Lease) -> Seen<'_> {
    let spec = lease.spec.as_ref();
    let holder = spec.and_then(|spec| spec.holder_identity.as_deref());
    let lasts = spec.and_then(|spec| spec.lease_duration_seconds);
    Seen {
        holder: holder.filter(|holder| !holder.is_empty()),
        version: lease.metadata.resource_version.as_deref().unwrap_or_default(),
        lasts: lasts
            .and_then(|s| u64::try_from(s).ok())
            .map_or(LASTS, Duration::from_secs),
    }
}

fn term(lease: &Lease) -> Term {
    let count = lease.spec.as_ref().and_then(|spec| spec.lease_transitions);
    Term(count.and_then(|count| u64::try_from(count).ok()).unwrap_or_default())
}

fn now() -> Option<MicroTime> {
    Some(MicroTime(k8s_openapi::jiff::Timestamp::now()))
}

/// The Lease with the term counted up; keeps the resourceVersion, so that of two coordinators only one gets each term.
fn next(existing: Option<Lease>, namespace: &str, identity: &str) -> Lease {
    let mut lease = existing.unwrap_or_else(|| empty(namespace));
    lease.metadata.managed_fields = None;
    let before = lease.spec.take().unwrap_or_default();
    let term = before.lease_transitions.unwrap_or_default().max(0);
    lease.spec = Some(LeaseSpec {
        acquire_time: now(),
        lease_transitions: Some(term.saturating_add(1)),
        ..held_by(identity, before)
    });
    lease
}

/// The Lease as held on in `term`.
///
/// # Errors
/// Somebody else has it.
fn renewed(existing: Option<Lease>, term: Term, namespace: &str, identity: &str) -> Result<Lease, Successor> {
    // Removed by hand: nobody has taken it, or it would be there again.
    let mut lease = existing.unwrap_or_else(|| {
        let count = i32::try_from(term.0).ok();
        let mut lease = empty(namespace);
        lease.spec = Some(LeaseSpec {
            holder_identity: Some(identity.to_owned()),
            lease_transitions: count,
            acquire_time: now(),
            ..LeaseSpec::default()
        });
        lease
    });
    if !is_ours(&lease, term, identity) {
        let holder = seen(&lease).holder.unwrap_or("nobody").to_owned();
        return Err(Successor(format!("{holder} (term {})", self::term(&lease))));
    }
    lease.metadata.managed_fields = None;
    lease.spec = lease.spec.map(|spec| held_by(identity, spec));
    Ok(lease)
}

/// The Lease as let go of, with at least the term `seen`; `None` when there is nothing to write.
fn released(mut lease: Lease, term: Term, identity: &str, seen: Option<Term>) -> Option<Lease> {
    let ours = is_ours(&lease, term, identity);
    let spec = lease.spec.get_or_insert_default();
    let highest = seen.and_then(|seen| i32::try_from(seen.0).ok());
    let raise = highest.filter(|highest| spec.lease_transitions.is_none_or(|count| count < *highest));
    if !ours && raise.is_none() {
        return None;
    }
    if ours {
        spec.holder_identity = None;
        spec.renew_time = now();
    }
    spec.lease_transitions = raise.or(spec.lease_transitions);
    lease.metadata.managed_fields = None;
    Some(lease)
}

fn is_ours(lease: &Lease, term: Term, identity: &str) -> bool {
    seen(lease).holder == Some(identity) && self::term(lease) == term
}

fn empty(namespace: &str) -> Lease {
    Lease {
        metadata: ObjectMeta {
            name: Some(LEASE.into()),
            namespace: Some(namespace.into()),
            ..ObjectMeta::default()
        },
        spec: None,
    }
}

fn held_by(identity: &str, spec: LeaseSpec) -> LeaseSpec {
    LeaseSpec {
        holder_identity: Some(identity.to_owned()),
        renew_time: now(),
        lease_duration_seconds: i32::try_from(LASTS.as_secs()).ok(),
        ..spec
    }
}

#[cfg(test)]
mod tests;
