//! What all parts of a leading coordinator share.
//!
//! Owns: putting it together; the news that a higher term was seen. Must not: act.

use crate::Setup;
use crate::cluster::client::Client;
use crate::cluster::confirm::Confirmed;
use crate::cluster::events;
use crate::cluster::wake_set::WakeSet;
use crate::cluster::world::{Wakes, World};
use crate::controllers::drone::heights::Heights;
use crate::controllers::drone::pacing::Paces;
use crate::controllers::swarm::expectations::Expectations;
use crate::controllers::swarm::members::Assessments;
use crate::controllers::takeoff_slots::TakeoffSlots;
use crate::controllers::upgrade::Upgrades;
use crate::fleet_service::kill::Kills;
use crate::ground::Latch;
use crate::leadership::state::LeadershipState;
use crate::metrics::Metrics;
use crate::server::security::Security;
use crate::sessions::Sessions;
use fleet::deposition::TermReports;
use fleet::hearing::Hearing;
use fleet::ids::{NodeName, Term};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Agents come back to a new coordinator within this time: their back-off is capped at 5 s.
const GRACE: Duration = Duration::from_secs(10);

/// Before a coordinator gives in to a few agents, others have this long to say the same: whether most do says whether the Lease is
/// one of former times.
const OTHERS: Duration = Duration::from_secs(3);

/// A term higher than ours that agents have seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Higher {
    /// The term that is believed.
    pub term: Term,
    /// Whether most of the fleet reports one.
    pub most: bool,
}

/// Shared by controllers, sessions and services.
#[derive(Debug)]
pub struct Context {
    /// Since when agents can connect: the caches are filled.
    pub leading_since: OnceLock<Instant>,
    /// Kubernetes API.
    pub client: Client,
    /// Namespace of our own objects.
    pub namespace: String,
    /// Our leadership.
    pub term: Term,
    /// Whether its term was raised on the report of agents just before.
    pub raised: bool,
    /// Whether we may act just now.
    pub leadership: Arc<LeadershipState>,
    /// Cancelled when this coordinator ends.
    pub ending: CancellationToken,
    /// What was seen of the cluster.
    pub world: Arc<World>,
    /// What the agents report.
    pub sessions: Arc<Sessions>,
    /// What the API server itself has said of late.
    pub confirmed: Confirmed,
    /// Nodes about which it has to be asked before a takeoff.
    pub to_confirm: WakeSet<NodeName>,
    /// Ground orders that are not written yet.
    pub latch: Latch,
    /// Codes to stop motors that were offered and not used yet.
    pub kills: Kills,
    /// What has to be reconciled.
    pub wakes: Wakes,
    /// Events for people.
    pub events: events::Outbox,
    /// When each Drone's status was written last.
    pub drone_paces: Paces,
    /// Which vehicles are on their way to another height.
    pub heights: Heights,
    /// When each Swarm's status was written last.
    pub swarm_paces: Paces,
    /// Nodes whose objects may have to be made or marked, where agents become Nodes.
    pub node_objects: Option<WakeSet<NodeName>>,
    /// Which Drones may take off.
    pub takeoff_slots: TakeoffSlots,
    /// Which agents are being replaced by a newer version.
    pub upgrades: Upgrades,
    /// The assessment of each Drone for its Swarm.
    pub assessments: Assessments,
    /// Creations and deletions that the caches do not show yet.
    pub expectations: Expectations,
    /// What is counted.
    pub metrics: Metrics,
    higher: watch::Sender<Option<Term>>,
    /// How well agents are heard.
    hearing: Mutex<Hearing>,
    /// What agents say of higher terms.
    term_reports: Mutex<TermReports>,
    /// Whether agents are authenticated.
    secured: bool,
    /// Whether a vehicle that is granted to no namespace is used by none.
    pub granted_only: bool,
}

impl Context {
    /// A context, and the Events that it will produce.
    #[must_use]
    pub fn new(
        setup: &Setup,
        (term, raised): (Term, bool),
        leadership: Arc<LeadershipState>,
        world: Arc<World>,
        ending: CancellationToken,
    ) -> (Self, mpsc::Receiver<events::Message>) {
        let wakes = world.wakes();
        let sessions = Arc::new(Sessions::new(
            Arc::clone(&world),
            Arc::clone(&wakes.nodes),
            setup.metrics.clone(),
        ));
        let (outbox, messages) = events::channel(setup.metrics.clone());
        let context = Self {
            leading_since: OnceLock::new(),
            client: Client::new(setup.client.clone()),
            namespace: setup.namespace.clone(),
            term,
            raised,
            confirmed: Confirmed::default(),
            to_confirm: WakeSet::default(),
            leadership,
            ending,
            world,
            sessions,
            latch: Latch::default(),
            kills: Kills::default(),
            wakes,
            events: outbox,
            drone_paces: Paces::default(),
            heights: Heights::default(),
            swarm_paces: Paces::default(),
            node_objects: setup.agents_become_nodes.then(WakeSet::default),
            takeoff_slots: TakeoffSlots::default(),
            upgrades: Upgrades::new(setup.upgrades),
            assessments: Assessments::default(),
            expectations: Expectations::default(),
            metrics: setup.metrics.clone(),
            higher: watch::Sender::new(None),
            hearing: Mutex::default(),
            term_reports: Mutex::default(),
            secured: !matches!(setup.security, Security::Plaintext),
            granted_only: setup.granted_vehicles_only,
        };
        (context, messages)
    }

    /// While agents find their way to a coordinator that has just started, their silence is no news; how long that still
    /// holds.
    #[must_use]
    pub fn grace_left(&self) -> Option<Duration> {
        let passed = self.leading_since.get().map_or(Duration::ZERO, Instant::elapsed);
        GRACE.checked_sub(passed).filter(|left| !left.is_zero())
    }

    /// Whether so few agents report that the silence of one means nothing.
    #[must_use]
    pub fn is_deaf(&self) -> bool {
        let (agents, serving) = (self.sessions.how_many(), self.world.nodes_in_service());
        let mut hearing = self.hearing.lock().unwrap_or_else(PoisonError::into_inner);
        hearing.is_deaf(agents, serving, self.leadership.now())
    }

    /// Whether a ground order keeps the vehicle of `node` for nobody.
    #[must_use]
    pub fn ground_orders_keep(&self, node: &str) -> bool {
        crate::ground::orders(self).any(|order| order.order.keeps(node))
    }

    /// The Kubernetes client.
    #[must_use]
    pub fn client(&self) -> kube::Client {
        kube::Client::clone(&self.client)
    }

    /// The agent of `node` has connected or disconnected, or the link to its autopilot has come or gone.
    pub fn agent_came_or_went(&self, node: &NodeName) {
        if let Some(wakes) = &self.node_objects {
            wakes.wake(node.clone());
        }
    }

    /// The agent of `node` has seen term `seen`. If it is higher than ours and believed, we lead no more; one that nobody can
    /// lead is not believed. Where links are not secured, agents cannot be distinguished, and the first report counts.
    pub fn note_reported_term(&self, node: &NodeName, seen: Term) {
        if seen <= self.term || !seen.can_be() {
            return;
        }
        let leading = self.leading_since.get().map_or(Duration::ZERO, Instant::elapsed);
        let nodes = if self.secured { self.world.drone_nodes() } else { 1 };
        let mut term_reports = self.term_reports.lock().unwrap_or_else(PoisonError::into_inner);
        term_reports.add(node, seen);
        match term_reports.believed(self.term, nodes, leading, self.raised && self.secured) {
            Some(higher) if higher > self.term => {
                self.higher.send_replace(Some(higher));
            }
            _ => {
                tracing::debug!(%node, %seen, ours = %self.term, "an agent says that a higher term was led; it is not believed yet")
            }
        }
    }

    /// Done, with the higher term, once this coordinator is deposed.
    pub async fn deposed(&self) -> Higher {
        let mut higher = self.higher.subscribe();
        // Fails only if the sender is gone, and that is ourselves.
        let heard = higher.wait_for(Option::is_some).await.ok().and_then(|term| *term);
        if heard.is_none() {
            std::future::pending::<()>().await;
        }
        let most = || {
            let term_reports = self.term_reports.lock().unwrap_or_else(PoisonError::into_inner);
            term_reports.are_most(self.world.drone_nodes())
        };
        if !most() {
            tokio::time::sleep(OTHERS).await;
        }
        let newest = *higher.borrow();
        Higher {
            term: newest.or(heard).unwrap_or_default(),
            most: most(),
        }
    }
}
