//! Leader election: of several coordinators, one acts. It holds the Lease `skein-coordinator`, and its term is the Lease's
//! `spec.leaseTransitions`, raised by each that takes it.
//!
//! Owns: reading and writing the Lease, and the notes on it: that the API server's store went back in time, the epoch of its terms, that
//! agents' reports raised them; each write fails if somebody else has written it since, so that no term is had twice. Must not: decide when
//! it may be taken or for how long its holder may act ([`fleet::planning::leadership`] does). Ready-made electors write without that
//! condition and compare the clocks of two machines, which must not decide a term.

pub mod deposition;
pub mod endpoint;
pub mod leading;
pub mod periodic;
pub mod state;

use crate::cluster::api::{self, ApiError};
use crate::leadership::state::LeadershipState;
use crds::labels;
use fleet::planning::freshness::{History, Knowledge, Reading, WentBack};
use fleet::planning::leadership::{LASTS, LeaseObservation, LeaseWatch, RENEW_EVERY, next_check};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use kube::api::Api;
use kube::core::ObjectMeta;
use model::ids::Term;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

pub const LEASE: &str = "skein-coordinator";

/// Deadline of one call about the Lease: a renewal that hangs leaves time for another.
const LEASE_CALL_DEADLINE: Duration = Duration::from_secs(3);

const RENEWAL_RETRY_DELAY: Duration = Duration::from_millis(500);

/// Least frequency of tries to lead.
const MAX_TRY_DELAY: Duration = Duration::from_secs(3);

/// The Lease of one namespace, and our identity.
#[derive(Clone)]
pub struct LeaderLease {
    leases: Api<Lease>,
    namespace: String,
    identity: String,
    alone: bool,
    history: Arc<Mutex<History>>,
}

/// Tries to note on the Lease that the store went back.
const NOTE_TRIES: usize = 5;

const RELEASE_TRIES: usize = 3;

#[derive(Clone, Debug)]
pub struct Led {
    /// Higher than all before.
    pub term: Term,
    /// Whether the store went back in time, and no person has confirmed it yet.
    pub went_back: bool,
    /// Whether its term was raised on the report of agents just before.
    pub raised: bool,
    made: bool,
    lease: Lease,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Successor(pub String);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lost {
    To(Successor),
    WentBack(WentBack),
}

/// The note on the Lease by a leader that was deposed on the report of agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raise {
    /// The term that they have received.
    pub to: Term,
    pub most: bool,
}

enum Tried<T> {
    Done(T),
    Not(Successor),
    WentBack(WentBack),
}

impl LeaderLease {
    /// `alone`: there is no other coordinator, so the Lease is taken at once, whoever holds it, and not renewed.
    pub fn new(client: kube::Client, namespace: &str, identity: &str, alone: bool) -> Self {
        Self {
            leases: Api::namespaced(client, namespace),
            namespace: namespace.to_owned(),
            identity: identity.to_owned(),
            alone,
            history: Arc::default(),
        }
    }

    /// Takes the lead, however long it takes. The error: the store went back in time on standby, so the caches are useless.
    pub async fn take(&self, leadership: &LeadershipState) -> Result<Led, WentBack> {
        let mut watch = LeaseWatch::new(&self.identity);
        let mut logged = None;
        let mut failures = 0;
        loop {
            let delay = match self.try_to_take(&mut watch, leadership).await {
                Ok(Tried::Done(led)) => return Ok(led),
                Ok(Tried::WentBack(what)) => {
                    self.note_went_back(&what).await;
                    return Err(what);
                }
                Ok(Tried::Not(Successor(holder))) => {
                    if logged.as_ref() != Some(&holder) {
                        tracing::info!(leader = holder, "standing by");
                        logged = Some(holder);
                    }
                    failures = 0;
                    next_check(rand::random())
                }
                Err(error) if error.is_overtaken() => next_check(rand::random()),
                Err(error) => {
                    failures += 1;
                    // Often enough to be noticed, not so often as to hide all else.
                    if u32::is_power_of_two(failures) {
                        let namespace = &self.namespace;
                        tracing::warn!(%error, namespace, failures, "cannot take the lead yet; will be tried again");
                    }
                    let delay = crate::cluster::retry::RETRY.delay(failures, rand::random::<f64>());
                    delay.min(MAX_TRY_DELAY)
                }
            };
            tokio::time::sleep(delay).await;
        }
    }

    async fn try_to_take(&self, watch: &mut LeaseWatch, leadership: &LeadershipState) -> Result<Tried<Led>, ApiError> {
        let existing = self.read().await?;
        if let Some(what) = self.went_back(existing.as_ref()) {
            return Ok(Tried::WentBack(what));
        }
        let made = existing.is_none();
        let observation = existing.as_ref().map(observe);
        if !watch.may_take(observation, leadership.now()) && !self.alone {
            let holder = observation
                .and_then(|observation| observation.holder)
                .unwrap_or_default();
            return Ok(Tried::Not(Successor(holder.to_owned())));
        }
        let sent = leadership.now();
        let lease = self.write(next(existing, &self.namespace, &self.identity)).await?;
        if !self.alone {
            leadership.confirm(sent);
            read_time(leadership, &lease);
        }
        let term = term(&lease);
        let noted = |key: &str| lease.annotations().get(key);
        Ok(Tried::Done(Led {
            term,
            went_back: noted(labels::WENT_BACK).is_some(),
            raised: noted(labels::RAISED_TO).is_some_and(|to| to.parse() == Ok(term.0.saturating_sub(1))),
            made,
            lease,
        }))
    }

    /// Whether the store went back since the last reading.
    fn went_back(&self, lease: Option<&Lease>) -> Option<WentBack> {
        let mut history = self.history.lock().unwrap_or_else(PoisonError::into_inner);
        history.went_back(reading(lease?))
    }

    /// Notes it for the next leader: nothing takes off until a person has removed the note, and no old term is led again.
    pub async fn note_went_back(&self, what: &WentBack) {
        tracing::error!(
            what = what.0,
            annotation = labels::WENT_BACK,
            "the store of the API server went back in time, as after a restore from a backup: no vehicle takes off until a person has \
             checked what it holds; see deploy/README.md, \"After etcd was restored\""
        );
        for _ in 0..NOTE_TRIES {
            let noted = async {
                let Some(lease) = self.read().await? else { return Ok(()) };
                let history = self.history.lock().unwrap_or_else(PoisonError::into_inner).clone();
                match went_back(lease, &history, what) {
                    Some(lease) => self.write(lease).await.map(drop),
                    None => Ok(()),
                }
            };
            let noted: Result<(), ApiError> = noted.await;
            match noted {
                Ok(()) => return,
                Err(error) => tracing::warn!(%error, "this could not be noted on the Lease yet"),
            }
            tokio::time::sleep(RENEWAL_RETRY_DELAY).await;
        }
    }

    /// Renews the Lease until somebody else has it.
    pub async fn keep(&self, led: &Led, leadership: &LeadershipState) -> Lost {
        if self.alone && !led.went_back {
            return std::future::pending().await;
        }
        let mut lease = Some(led.lease.clone());
        let mut doubted = false;
        loop {
            let delay = if lease.is_some() {
                RENEW_EVERY
            } else {
                RENEWAL_RETRY_DELAY
            };
            tokio::time::sleep(delay).await;
            let sent = leadership.now();
            match self.renew(led.term, lease.take()).await {
                Ok(Tried::Done(renewed)) => {
                    if !self.alone {
                        leadership.confirm(sent);
                        read_time(leadership, &renewed);
                    }
                    confirm_by_person(leadership, &renewed);
                    lease = Some(renewed);
                    if std::mem::take(&mut doubted) {
                        tracing::info!("the Lease is renewed again");
                    }
                }
                Ok(Tried::Not(successor)) => return Lost::To(successor),
                Ok(Tried::WentBack(what)) => {
                    leadership.knows(Knowledge::WentBack);
                    self.note_went_back(&what).await;
                    return Lost::WentBack(what);
                }
                Err(error) if !leadership.leads() && !doubted => {
                    doubted = true;
                    tracing::warn!(%error, "the Lease cannot be renewed, so another may lead: no flight is begun until it can; \
                         vehicles go on as assigned, and a ground order still goes through");
                }
                Err(error) => tracing::debug!(%error, "the Lease was not renewed; will be tried again"),
            }
        }
    }

    /// Renews `lease`, or the stored one if that is not known to be the newest.
    async fn renew(&self, term: Term, lease: Option<Lease>) -> Result<Tried<Lease>, ApiError> {
        let lease = match lease {
            Some(lease) => Some(lease),
            None => self.read().await?,
        };
        if let Some(what) = self.went_back(lease.as_ref()) {
            return Ok(Tried::WentBack(what));
        }
        match renewed(lease, term, &self.namespace, &self.identity) {
            Err(successor) => Ok(Tried::Not(successor)),
            // Overtaken: the next try reads the stored one.
            Ok(lease) => self.write(lease).await.map(Tried::Done),
        }
    }

    /// Releases the Lease, and records a higher term. A renewal that was on its way may be stored between reading and writing, so it is tried
    /// again; without it the next leader waits a little, or is deposed and tries again.
    pub async fn release(&self, led: &Led, raise: Option<Raise>) {
        // Where there was no Lease, only the Lease was lost, and not the rest of the store.
        let raise = raise.map(|raise| Raise {
            most: raise.most && !led.made,
            ..raise
        });
        let mut tries = 0;
        let done = loop {
            tries += 1;
            match self.try_to_release(led.term, raise).await {
                Err(error) if error.is_overtaken() && tries < RELEASE_TRIES => {}
                done => break done,
            }
        };
        if let Err(error) = done {
            tracing::warn!(%error, "cannot let go of the Lease; the next leader has to wait for it");
        }
    }

    async fn try_to_release(&self, term: Term, raise: Option<Raise>) -> Result<(), ApiError> {
        let Some(lease) = self.read().await? else { return Ok(()) };
        match released(lease, term, &self.identity, raise) {
            Some(lease) => self.write(lease).await.map(drop),
            None => Ok(()),
        }
    }

    async fn read(&self) -> Result<Option<Lease>, ApiError> {
        let what = "read the Lease of the coordinator";
        in_time(what, api::call(what, self.leases.get_opt(LEASE))).await
    }

    /// Creates the Lease, or replaces the one of the same resourceVersion.
    async fn write(&self, lease: Lease) -> Result<Lease, ApiError> {
        let params = api::posting();
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
    tokio::time::timeout(LEASE_CALL_DEADLINE, call)
        .await
        .unwrap_or(Err(ApiError::TimedOut { what }))
}

fn observe(lease: &Lease) -> LeaseObservation<'_> {
    let spec = lease.spec.as_ref();
    let holder = spec.and_then(|spec| spec.holder_identity.as_deref());
    let lasts = spec.and_then(|spec| spec.lease_duration_seconds);
    LeaseObservation {
        holder: holder.filter(|holder| !holder.is_empty()),
        version: lease.metadata.resource_version.as_deref().unwrap_or_default(),
        lasts: lasts
            .and_then(|s| u64::try_from(s).ok())
            .map_or(LASTS, Duration::from_secs),
    }
}

fn epoch(lease: &Lease) -> u32 {
    let epoch = lease.annotations().get(labels::TERM_EPOCH);
    // The largest epoch; what cannot be parsed counts as none.
    epoch.and_then(|epoch| epoch.parse::<u16>().ok()).map_or(0, u32::from)
}

fn term(lease: &Lease) -> Term {
    let count = lease.spec.as_ref().and_then(|spec| spec.lease_transitions);
    Term::of(
        epoch(lease),
        count.and_then(|count| u32::try_from(count).ok()).unwrap_or_default(),
    )
}

fn with_term(mut lease: Lease, term: Term) -> Lease {
    lease.spec.get_or_insert_default().lease_transitions = i32::try_from(term.count()).ok();
    if term.epoch() > 0 {
        lease = noted(lease, labels::TERM_EPOCH, term.epoch().to_string());
    }
    lease
}

fn noted(mut lease: Lease, key: &str, text: String) -> Lease {
    lease.metadata.managed_fields = None;
    lease.annotations_mut().insert(key.to_owned(), text);
    lease
}

/// The Lease with the note that the store went back, and with a term above those in `history`; `None` when there is nothing to write.
fn went_back(lease: Lease, history: &History, what: &WentBack) -> Option<Lease> {
    let skip = history.term_to_skip(term(&lease));
    if skip.is_none() && lease.annotations().contains_key(labels::WENT_BACK) {
        return None;
    }
    let lease = noted(lease, labels::WENT_BACK, what.0.clone());
    // That deposes a coordinator which leads by a term that was led before.
    Some(match skip {
        Some(skip) => with_term(lease, skip),
        None => lease,
    })
}

fn reading(lease: &Lease) -> Reading {
    let taken = lease.spec.as_ref().and_then(|spec| spec.acquire_time.as_ref());
    Reading {
        lease: lease.metadata.uid.clone().unwrap_or_default(),
        revision: api::version(&lease.metadata),
        term: term(lease),
        taken: taken.map(|time| time.0.to_string()).unwrap_or_default(),
        holder: observe(lease).holder.map(str::to_owned),
    }
}

/// Where the store had gone back: records a person's confirmation.
fn confirm_by_person(leadership: &LeadershipState, lease: &Lease) {
    let noted = lease.annotations().contains_key(labels::WENT_BACK);
    match (leadership.knowledge(), noted) {
        (Knowledge::WentBack, false) => {
            tracing::warn!("a person has confirmed what the store of the API server holds; vehicles fly by it again");
            leadership.knows(Knowledge::BeforeLeading);
        }
        (Knowledge::BeforeLeading | Knowledge::Current, true) => {
            tracing::error!(
                annotation = labels::WENT_BACK,
                "it is noted on the Lease that the store went back; nothing takes off"
            );
            leadership.knows(Knowledge::WentBack);
        }
        _ => {}
    }
}

/// Reads the clock of the API server, which noted it when it took the write of `lease` just now.
fn read_time(leadership: &LeadershipState, lease: &Lease) {
    let writes = lease.metadata.managed_fields.iter().flatten();
    let ours = writes.filter(|write| write.manager.as_deref() == Some(labels::COORDINATOR));
    let times = ours.filter_map(|write| write.time.as_ref().map(|time| time.0));
    if let Some(time) = times.max() {
        leadership.read_shared_time(time);
    }
}

fn now() -> Option<MicroTime> {
    Some(MicroTime(Timestamp::now()))
}

/// The Lease with the next term; keeps the resourceVersion, so that of two coordinators only one gets each term.
fn next(existing: Option<Lease>, namespace: &str, identity: &str) -> Lease {
    let mut lease = existing.unwrap_or_else(|| empty(namespace));
    lease.metadata.managed_fields = None;
    let term = term(&lease).next();
    let before = lease.spec.take().unwrap_or_default();
    lease.spec = Some(LeaseSpec {
        acquire_time: now(),
        ..held_by(identity, before)
    });
    with_term(lease, term)
}

/// The Lease renewed in `term`; the error: somebody else has it.
fn renewed(existing: Option<Lease>, term: Term, namespace: &str, identity: &str) -> Result<Lease, Successor> {
    // Removed by hand: nobody has taken it, or it would exist again.
    let mut lease = existing.unwrap_or_else(|| {
        let mut lease = empty(namespace);
        lease.spec = Some(LeaseSpec {
            holder_identity: Some(identity.to_owned()),
            acquire_time: now(),
            ..LeaseSpec::default()
        });
        with_term(lease, term)
    });
    if !is_ours(&lease, term, identity) {
        let holder = observe(&lease).holder.unwrap_or("nobody").to_owned();
        return Err(Successor(format!("{holder} (term {})", self::term(&lease))));
    }
    lease.metadata.managed_fields = None;
    lease.spec = lease.spec.map(|spec| held_by(identity, spec));
    Ok(lease)
}

/// The released Lease, with at least the reported term; `None` when there is nothing to write.
fn released(mut lease: Lease, term: Term, identity: &str, raise: Option<Raise>) -> Option<Lease> {
    let ours = is_ours(&lease, term, identity);
    let there = self::term(&lease);
    // Only a person begins another epoch.
    let raise = raise.filter(|raise| raise.to > there && raise.to.can_be() && raise.to.epoch() == there.epoch());
    if !ours && raise.is_none() {
        return None;
    }
    let spec = lease.spec.get_or_insert_default();
    if ours {
        spec.holder_identity = None;
        spec.renew_time = now();
    }
    lease.metadata.managed_fields = None;
    let Some(raise) = raise else { return Some(lease) };
    lease = noted(with_term(lease, raise.to), labels::RAISED_TO, raise.to.to_string());
    if raise.most {
        let text = format!(
            "most agents have received term {}, and the Lease said {there}",
            raise.to
        );
        lease = noted(lease, labels::WENT_BACK, text);
    }
    Some(lease)
}

fn is_ours(lease: &Lease, term: Term, identity: &str) -> bool {
    observe(lease).holder == Some(identity) && self::term(lease) == term
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
