//! The sessions of agents: which nodes are connected, their last reports, and what is sent to them.
//!
//! Owns: one session per node, the newest; what has to be reconciled when a report is news. Must not: decide what an agent is sent
//! ([`crate::controllers::orders`]) or speak gRPC ([`crate::sessions::uplink`]).
//!
//! All ages of reports count from when they were made, as far as is known ([`Lateness`]), not from their receipt.

pub mod log_calls;
pub mod uplink;

use crate::cluster::wake_set::WakeSet;
use crate::cluster::world::World;
use crate::metrics::{self, Metrics};
use crds::Drone;
use fleet::planning::lateness::Lateness;
use fleet::planning::pads::Pads;
use fleet::planning::site::is_away;
use log_calls::{LogCall, LogCalls};
use model::accuracy::Accuracy;
use model::assignment::Order;
use model::guest::GuestCall;
use model::ids::{DroneUid, NodeName};
use model::kill::KillAnswer;
use model::plan::{FlightPlan, PassedBeside, PlanReport, Reached};
use model::remote_id::RemoteIdOrder;
use model::report::Report;
use model::rules::Rules;
use model::stand_down::StandUp;
use model::time::Moment;
use model::units::{Percent, Wgs84};
use model::vehicle::{ArmingReason, Battery, FlightTruth};
use model::whereabouts::Astray;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Above the largest fleet that one coordinator is made for.
pub const MAX_SESSIONS: usize = 50_000;

/// Guests that wait to be announced to one agent.
const GUEST_CALLS: usize = 4;

#[derive(Debug)]
pub struct Sessions {
    /// The epoch of moments here.
    began: Instant,
    inner: Mutex<HashMap<NodeName, Session>>,
    /// Locked last.
    noted: Mutex<Noted>,
    opened: AtomicU64,
    connected: AtomicUsize,
    world: Arc<World>,
    wake_order: Arc<WakeSet<NodeName>>,
    metrics: Metrics,
}

/// Nodes by their last reports, so that nobody has to go through all.
#[derive(Debug, Default)]
struct Noted {
    /// Nodes whose vehicle is in the air elsewhere than above its home.
    away: HashSet<NodeName>,
    /// Nodes that name foreign aircraft.
    traffic: HashSet<NodeName>,
    pads: Pads,
}

#[derive(Debug)]
struct Session {
    epoch: u64,
    /// The life of the agent that opened it.
    life: u64,
    /// Since when this life has been connected without a break.
    since: Instant,
    /// When it was opened, or last reported.
    heard: Instant,
    connected: bool,
    orders: watch::Sender<Option<Order>>,
    rules: watch::Sender<Option<Rules>>,
    plans: watch::Sender<Option<FlightPlan>>,
    remote_id: watch::Sender<Option<RemoteIdOrder>>,
    stand_ups: watch::Sender<Option<StandUp>>,
    kills: mpsc::Sender<KillShot>,
    guests: mpsc::Sender<GuestCall>,
    logs: mpsc::Sender<LogCall>,
    replaced: CancellationToken,
    /// With when it was made.
    report: Option<(Arc<Report>, Instant)>,
    lateness: Lateness,
    /// By the last report that knew.
    flew: Option<bool>,
    /// When a report last knew whether it flies.
    knew: Option<Instant>,
    /// Whether the report came on the session that is open now.
    current: bool,
    significant: Option<Report>,
}

/// An agent that was heard within this time is alive: it reports at least once a second.
const HEARD_LATELY: Duration = Duration::from_millis(2500);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotOpened {
    #[error("too many agents for this coordinator")]
    TooMany,
    /// Another agent of the same node is connected and heard.
    #[error("another agent with the same NODE is connected; give each agent the name of its own node")]
    Taken,
}

#[derive(Debug)]
pub struct Opened {
    /// Distinguishes it from other sessions of the same node.
    pub epoch: u64,
    pub orders: watch::Receiver<Option<Order>>,
    pub rules: watch::Receiver<Option<Rules>>,
    pub plans: watch::Receiver<Option<FlightPlan>>,
    /// Operator to name.
    pub remote_id: watch::Receiver<Option<RemoteIdOrder>>,
    /// A person's word that its vehicle may fly again.
    pub stand_ups: watch::Receiver<Option<StandUp>>,
    /// Orders to stop the motors, each to be sent once and at once.
    pub kills: mpsc::Receiver<KillShot>,
    /// Guests to announce, each once.
    pub guests: mpsc::Receiver<GuestCall>,
    pub logs: LogCalls,
    /// Cancelled when a newer session of the node takes over.
    pub replaced: CancellationToken,
}

/// An order to stop the motors, for the stream that is open now. It is dropped with the stream, or when its time is over.
#[derive(Debug)]
pub struct KillShot {
    pub nonce: u64,
    /// The Drone whose vehicle is meant.
    pub uid: DroneUid,
    /// Not sent after this.
    pub until: Instant,
    pub answer: oneshot::Sender<KillAnswer>,
}

#[derive(Clone, Debug)]
pub struct Connected {
    /// How long this life of it has been connected without a break.
    pub connected_for: Duration,
    /// Its last report on the session that is open now, and the report's age.
    pub report: Option<(Arc<Report>, Duration)>,
}

#[derive(Clone, Debug)]
pub struct SessionSnapshot {
    pub connected: bool,
    /// The last report and its age.
    pub report: Option<(Arc<Report>, Duration)>,
}

impl Sessions {
    pub fn new(world: Arc<World>, wake_order: Arc<WakeSet<NodeName>>, metrics: Metrics) -> Self {
        Self {
            began: Instant::now(),
            inner: Mutex::default(),
            noted: Mutex::default(),
            opened: AtomicU64::new(0),
            connected: AtomicUsize::new(0),
            world,
            wake_order,
            metrics,
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<NodeName, Session>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn moment(&self, at: Instant) -> Moment {
        Moment::at(at.saturating_duration_since(self.began))
    }

    #[cfg(test)]
    pub fn open(&self, node: &NodeName, life: u64) -> Result<Opened, NotOpened> {
        self.open_since(node, life, Instant::now())
    }

    /// Opens a session for `node` on a stream that its agent asked for at `called`, before it sent any report on it; an older one of the
    /// same `life` of its agent ends, and so does one that has not been heard for a while.
    /// Of two agents that claim one node, the second is refused: each would fly a vehicle of its own for one Drone.
    pub fn open_since(&self, node: &NodeName, life: u64, called: Instant) -> Result<Opened, NotOpened> {
        let mut inner = self.lock();
        let rival = |old: &Session| old.connected && old.life != life && old.heard.elapsed() < HEARD_LATELY;
        if inner.get(node).is_some_and(rival) {
            self.metrics.session("taken");
            return Err(NotOpened::Taken);
        }
        let old = inner.remove(node);
        if old.is_none() && inner.len() >= MAX_SESSIONS {
            self.metrics.session("too_many");
            return Err(NotOpened::TooMany);
        }
        if let Some(old) = &old {
            old.replaced.cancel();
        }
        if !old.as_ref().is_some_and(|old| old.connected) {
            self.connected.fetch_add(1, Ordering::Relaxed);
        }
        let (kills, kills_out) = mpsc::channel(1);
        let (guests, guests_out) = mpsc::channel(GUEST_CALLS);
        let (logs, logs_out) = LogCalls::channel();
        // An agent that shows its credentials again was connected all the while.
        let before = old
            .as_ref()
            .filter(|old| old.connected && old.life == life && life != 0);
        let session = Session {
            since: before.map_or_else(Instant::now, |old| old.since),
            epoch: self.opened.fetch_add(1, Ordering::Relaxed),
            life,
            heard: Instant::now(),
            connected: true,
            orders: watch::Sender::new(None),
            rules: watch::Sender::new(None),
            plans: watch::Sender::new(None),
            remote_id: watch::Sender::new(None),
            stand_ups: watch::Sender::new(None),
            kills,
            guests,
            logs,
            replaced: CancellationToken::new(),
            flew: old.as_ref().and_then(|old| old.flew),
            knew: old.as_ref().and_then(|old| old.knew),
            report: old.and_then(|old| old.report),
            lateness: Lateness::of_session(self.moment(called)),
            current: false,
            significant: None,
        };
        let opened = Opened {
            epoch: session.epoch,
            orders: session.orders.subscribe(),
            rules: session.rules.subscribe(),
            plans: session.plans.subscribe(),
            remote_id: session.remote_id.subscribe(),
            stand_ups: session.stand_ups.subscribe(),
            kills: kills_out,
            guests: guests_out,
            logs: logs_out,
            replaced: session.replaced.clone(),
        };
        inner.insert(node.clone(), session);
        drop(inner);
        self.metrics.session("opened");
        self.wake_order.wake(node.clone());
        Ok(opened)
    }

    pub fn report(&self, node: &NodeName, epoch: u64, report: Report) {
        let mut inner = self.lock();
        let Some(session) = inner.get_mut(node).filter(|s| s.epoch == epoch) else {
            return;
        };
        let significant = significant(&report);
        let before = session.significant.replace(significant.clone());
        self.count(session, &report);
        {
            let mut noted = self.noted();
            noted.note(node, is_away(&report), !report.traffic.is_empty());
            noted.pads.note(node, &report);
        }
        session.heard = Instant::now();
        if report.truth.flying().is_some() {
            session.knew = Some(session.heard);
        }
        let made = session.lateness.made(report.made, self.moment(session.heard));
        session.report = Some((Arc::new(report), self.began + made.since_epoch()));
        session.current = true;
        drop(inner);
        if before.as_ref() == Some(&significant) {
            return;
        }
        let free = |r: &Report| r.vehicle_free() && r.held.as_ref().is_none_or(|held| held.settled);
        let ordered = |r: &Report| {
            let rules = (r.rules.held.clone(), r.rules.in_force);
            let plan = (r.plan.held.clone(), r.plan.state.clone());
            (
                r.held.clone(),
                r.ground_latch,
                r.truth == FlightTruth::Disarmed,
                rules,
                plan,
            )
        };
        if before
            .as_ref()
            .is_none_or(|before| ordered(before) != ordered(&significant))
        {
            self.wake_order.wake(node.clone());
        }
        self.world.wake_drones_on(node);
        let charge = |r: &Report| r.battery.and_then(|b| b.remaining);
        let as_good = |before: &Report| free(before) && charge(before) >= charge(&significant);
        if free(&significant) && !before.as_ref().is_some_and(as_good) {
            self.world.a_vehicle_may_be_free(node);
        }
    }

    /// Counts the news of `report`.
    fn count(&self, session: &mut Session, report: &Report) {
        self.metrics.report();
        let old = session.report.as_ref().map(|(old, _)| old);
        if let Some(old) = old {
            if let Some(transition) = metrics::transition(session.flew, old.truth, report.truth) {
                self.metrics.transition(transition);
            }
            // The count begins again with each Drone.
            if uid(old) == uid(report) {
                self.metrics.taken_over(report.takeovers.saturating_sub(old.takeovers));
            }
        }
        let found = |astray: Option<Astray>| astray.map(|astray| std::mem::discriminant(&astray));
        if let Some(astray) = report
            .astray
            .filter(|_| old.map(|old| found(old.astray)) != Some(found(report.astray)))
        {
            self.metrics.astray(astray);
        }
        let known = |reason: &ArmingReason| {
            old.is_some_and(|old| {
                old.reasons
                    .iter()
                    .any(|o| (&o.text, o.first) == (&reason.text, reason.first))
            })
        };
        for reason in report.reasons.iter().filter(|reason| !known(reason)) {
            self.metrics.arming_refused(reason.class);
        }
        session.flew = report.truth.flying().or(session.flew);
    }

    /// Ends the session `epoch`, if it is the node's present one.
    pub fn close(&self, node: &NodeName, epoch: u64) {
        let mut inner = self.lock();
        let Some(session) = inner.get_mut(node).filter(|s| s.epoch == epoch) else {
            return;
        };
        if std::mem::take(&mut session.connected) {
            self.connected.fetch_sub(1, Ordering::Relaxed);
        }
        session.current = false;
        session.significant = None;
        session.orders.send_replace(None);
        session.rules.send_replace(None);
        session.plans.send_replace(None);
        session.remote_id.send_replace(None);
        session.stand_ups.send_replace(None);
        drop(inner);
        self.world.wake_drones_on(node);
        self.forget_if_unused(node);
    }

    fn forget_if_unused(&self, node: &NodeName) {
        if self.world.drones_on(node).is_empty() {
            let mut inner = self.lock();
            if inner.get(node).is_some_and(|session| !session.connected) {
                inner.remove(node);
                let mut noted = self.noted();
                noted.note(node, false, false);
                noted.pads.forget(node);
            }
        }
    }

    /// The last report of `node` on its open session: the base of decisions.
    pub fn current(&self, node: &NodeName) -> Option<Arc<Report>> {
        let inner = self.lock();
        let session = inner.get(node).filter(|s| s.connected && s.current)?;
        session.report.as_ref().map(|(report, _)| Arc::clone(report))
    }

    /// With when it was made.
    pub fn received(&self, node: &NodeName) -> Option<(Arc<Report>, Instant)> {
        let inner = self.lock();
        let session = inner.get(node).filter(|s| s.connected && s.current)?;
        session.report.as_ref().map(|(report, at)| (Arc::clone(report), *at))
    }

    /// The node that has `drone`: its vehicle serves this Drone, which does not merely name it.
    pub fn node_of(&self, drone: &Drone) -> Option<NodeName> {
        let node = NodeName::parse(drone.spec.node_name.as_deref()?).ok()?;
        let report = self.current(&node);
        let held = report.as_deref().and_then(uid);
        self.world.has_node(drone, held).then_some(node)
    }

    pub fn agent(&self, node: &NodeName) -> Option<Connected> {
        let inner = self.lock();
        let session = inner.get(node).filter(|s| s.connected)?;
        Some(Connected {
            connected_for: session.since.elapsed(),
            report: session.snapshot().report.filter(|_| session.current),
        })
    }

    /// How long ago a report of `node` last knew whether its vehicle flies, also on a closed session.
    pub fn knew_flight_ago(&self, node: &NodeName) -> Option<Duration> {
        let inner = self.lock();
        Some(inner.get(node)?.knew?.elapsed())
    }

    /// For people, also of a closed session.
    pub fn snapshot(&self, node: &NodeName) -> SessionSnapshot {
        let inner = self.lock();
        inner.get(node).map_or(
            SessionSnapshot {
                connected: false,
                report: None,
            },
            Session::snapshot,
        )
    }

    pub fn how_many(&self) -> usize {
        self.connected.load(Ordering::Relaxed)
    }

    pub fn connected(&self) -> Vec<(NodeName, SessionSnapshot)> {
        let inner = self.lock();
        inner
            .iter()
            .filter(|(_, s)| s.connected)
            .map(|(node, s)| (node.clone(), s.snapshot()))
            .collect()
    }

    /// The last reports on open sessions that name foreign aircraft, and their age.
    pub fn with_traffic(&self) -> Vec<(NodeName, Arc<Report>, Duration)> {
        let inner = self.lock();
        let noted = self.noted();
        let open = noted.traffic.iter().filter_map(|node| {
            let session = inner.get(node).filter(|s| s.connected && s.current)?;
            let (report, received) = session.report.as_ref()?;
            Some((node.clone(), Arc::clone(report), received.elapsed()))
        });
        open.collect()
    }

    /// Whether any vehicle was last reported to be in the air elsewhere than above its home.
    pub fn has_one_away(&self) -> bool {
        !self.noted().away.is_empty()
    }

    /// Another whose vehicle has its place on the ground nearer than `least` to that of `node`, meters.
    pub fn pad_beside(&self, node: &NodeName, least: f64) -> Option<NodeName> {
        self.noted().pads.beside(node, least).cloned()
    }

    /// Where the vehicles of open sessions are, by their last reports.
    pub fn positions(&self) -> BTreeMap<NodeName, Wgs84> {
        let inner = self.lock();
        let open = inner.iter().filter(|(_, s)| s.connected);
        let position = |s: &Session| s.report.as_ref()?.0.position;
        open.filter_map(|(node, s)| Some((node.clone(), position(s)?.at)))
            .collect()
    }

    /// Hands over an order to stop the motors; false unless the agent is connected and has reported, and no such order waits for it.
    pub fn kill(&self, node: &NodeName, shot: KillShot) -> bool {
        let inner = self.lock();
        let session = inner.get(node).filter(|s| s.connected && s.current);
        session.is_some_and(|session| session.kills.try_send(shot).is_ok())
    }

    /// False unless the agent is connected, and not too many ask.
    pub fn ask_about_logs(&self, node: &NodeName, call: LogCall) -> bool {
        let inner = self.lock();
        let session = inner.get(node).filter(|s| s.connected);
        session.is_some_and(|session| session.logs.try_send(call).is_ok())
    }

    /// Has a guest announced; false unless the agent is connected, and not too many wait for it.
    pub fn announce(&self, node: &NodeName, call: GuestCall) -> bool {
        let inner = self.lock();
        let session = inner.get(node).filter(|s| s.connected);
        session.is_some_and(|session| session.guests.try_send(call).is_ok())
    }

    /// Sends a person's word that the vehicle may fly again; false unless the agent is connected.
    pub fn stand_up(&self, node: &NodeName, order: StandUp) -> bool {
        let inner = self.lock();
        let session = inner.get(node).filter(|s| s.connected);
        session.is_some_and(|session| {
            session.stand_ups.send_replace(Some(order));
            true
        })
    }

    /// Whether `order` would be new to the agent of `node`.
    pub fn would_send(&self, node: &NodeName, order: &Order) -> bool {
        let inner = self.lock();
        let session = inner.get(node).filter(|s| s.connected);
        session.is_some_and(|session| session.orders.borrow().as_ref() != Some(order))
    }

    /// Sends `order` to the agent of `node`, if it is connected; returns whether it was new.
    pub fn send(&self, node: &NodeName, order: &Order) -> bool {
        let inner = self.lock();
        let Some(session) = inner.get(node).filter(|s| s.connected) else {
            return false;
        };
        send_new(&session.orders, order)
    }

    /// The same with rules: new on the agent's stream.
    pub fn send_rules(&self, node: &NodeName, rules: &Rules) -> bool {
        let inner = self.lock();
        let session = inner.get(node).filter(|s| s.connected);
        session.is_some_and(|session| send_new(&session.rules, rules))
    }

    /// The same with a plan: new on the agent's stream.
    pub fn send_plan(&self, node: &NodeName, plan: &FlightPlan) -> bool {
        let inner = self.lock();
        let session = inner.get(node).filter(|s| s.connected);
        session.is_some_and(|session| send_new(&session.plans, plan))
    }

    /// The same with the operator. An order to name none is sent only to an agent that names one (`held`) or was sent one.
    pub fn send_remote_id(&self, node: &NodeName, order: &RemoteIdOrder, held: bool) -> bool {
        let inner = self.lock();
        let Some(session) = inner.get(node).filter(|s| s.connected) else {
            return false;
        };
        let named = held || session.remote_id.borrow().is_some();
        (named || order.operator.is_some()) && send_new(&session.remote_id, order)
    }
}

impl Noted {
    fn note(&mut self, node: &NodeName, is_away: bool, has_traffic: bool) {
        for (nodes, is_one) in [(&mut self.away, is_away), (&mut self.traffic, has_traffic)] {
            if is_one {
                nodes.insert(node.clone());
            } else {
                nodes.remove(node);
            }
        }
    }
}

impl Session {
    fn snapshot(&self) -> SessionSnapshot {
        let report = self
            .report
            .as_ref()
            .map(|(report, at)| (Arc::clone(report), at.elapsed()));
        SessionSnapshot {
            connected: self.connected,
            report,
        }
    }
}

/// Returns whether `value` differs from the last one.
fn send_new<T: Clone + PartialEq>(to: &watch::Sender<Option<T>>, value: &T) -> bool {
    to.send_if_modified(|sent| {
        let new = sent.as_ref() != Some(value);
        if new {
            *sent = Some(value.clone());
        }
        new
    })
}

/// The Drone whose assignment an agent holds.
fn uid(report: &Report) -> Option<&DroneUid> {
    report.held.as_ref().map(|held| &held.uid)
}

/// The part of a report that a decision or a status depends on: no position, battery in tens of percent.
fn significant(report: &Report) -> Report {
    let tens = |percent: Percent| Percent::new(percent.get() / 10 * 10);
    let battery = report.battery.map(|b| Battery {
        charge: b.charge,
        remaining: b.remaining.and_then(tens),
        voltage: None,
    });
    let reasons = report.reasons.iter().map(|reason| ArmingReason {
        last: reason.first,
        ..reason.clone()
    });
    Report {
        made: Moment::default(),
        battery,
        battery_at: None,
        position: None,
        position_at: None,
        accuracy: Accuracy::default(),
        heading: None,
        link: None,
        traffic: Vec::new(),
        reasons: reasons.collect(),
        // A reached item is no news: who needs it polls.
        plan: PlanReport {
            current: None,
            reached: Reached::none(),
            passed_beside: PassedBeside::default(),
            ..report.plan.clone()
        },
        ..report.clone()
    }
}

#[cfg(test)]
mod tests;
