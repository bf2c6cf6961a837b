//! Replaces agents by a newer version, node by node, while their vehicles are on the ground: deletes Pods of the DaemonSet `skein-agent`,
//! whose strategy is OnDelete.
//!
//! Owns: gathering the input of [`fleet::planning::upgrade`], and carrying out its plan. Only the leader does that, and not while in doubt.
//! Must not: decide, or delete a Pod that has changed since it was assessed.

pub mod daemon_set;
pub mod pods;

use crate::cluster::Cluster;
use crate::cluster::api::{self, ApiError};
use crate::cluster::events::Note;
use crate::cluster::watching;
use crate::cluster::world::Change;
use crate::leadership::leading::Leadership;
use crate::leadership::periodic::Periodic;
use crate::metrics::Metrics;
use crate::sessions::{Connected, Sessions};
use daemon_set::{Agents, LABEL};
use fleet::planning::upgrade::node_snapshot::{Agent, Free, NodeSnapshot, Version, assess};
use fleet::planning::upgrade::{Pace, Plan, Progress, Upgrade};
use k8s_openapi::api::core::v1::{ObjectReference, Pod};
use kube::api::{Api, DeleteParams, Preconditions};
use kube::runtime::watcher;
use model::ids::NodeName;
use pods::{AgentPod, Pods};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

const FETCH_EVERY: Duration = Duration::from_secs(5);

const ABSENT_DAEMON_SET_CHECK_INTERVAL: Duration = Duration::from_secs(60);

const DAEMON_SET_STALE_AFTER: Duration = Duration::from_secs(30);

/// No longer than a leader may act without renewing its Lease once more.
const DELETION_DEADLINE: Duration = Duration::from_millis(2500);

#[derive(Debug)]
pub struct Upgrades {
    pace: Option<Pace>,
    upgrade: Mutex<Upgrade>,
    plan: Mutex<Plan>,
}

impl Upgrades {
    pub fn new(pace: Option<Pace>) -> Self {
        Self {
            pace,
            upgrade: Mutex::default(),
            plan: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Upgrade> {
        self.upgrade.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the vehicle of `node` must not take off, because its agent is being replaced.
    pub fn holds(&self, node: &NodeName) -> bool {
        self.lock().holds(node)
    }

    pub fn plan(&self) -> Plan {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn held(&self) -> BTreeSet<NodeName> {
        let upgrade = self.lock();
        upgrade.nodes().filter(|node| upgrade.holds(node)).cloned().collect()
    }
}

#[derive(Debug)]
pub struct UpgradeController {
    pub cluster: Cluster,
    pub sessions: Arc<Sessions>,
    pub leadership: Leadership,
    pub upgrades: Arc<Upgrades>,
    pub metrics: Metrics,
}

/// Replaces agents, where that is the coordinator's task.
pub fn start(controller: UpgradeController, tasks: &mut JoinSet<()>) {
    let Some(pace) = controller.upgrades.pace else { return };
    let driver = Driver {
        controller,
        pace,
        pods: Arc::default(),
        agents: None,
        trouble: None,
    };
    tasks.spawn(driver.drive());
}

struct Driver {
    controller: UpgradeController,
    pace: Pace,
    pods: Arc<Pods>,
    /// And when it was fetched.
    agents: Option<(Agents, Instant)>,
    /// The last log line about the DaemonSet, so that each is logged once.
    trouble: Option<String>,
}

impl Periodic for Driver {
    const NAME: &'static str = "upgrades";
    const INTERVAL: Duration = Duration::from_secs(1);
    const JITTER: f64 = 0.2;

    async fn run(&mut self) -> Result<(), ApiError> {
        self.once().await;
        Ok(())
    }
}

impl Driver {
    async fn drive(mut self) {
        let Leadership { ending, loops, .. } = self.controller.leadership.clone();
        let work = async move {
            while self.agents.is_none() {
                self.fetch_daemon_set().await;
                if self.agents.is_none() {
                    sleep(ABSENT_DAEMON_SET_CHECK_INTERVAL.mul_f64(1.0 - rand::random::<f64>() / 2.0)).await;
                }
            }
            let pods = Arc::clone(&self.pods);
            let api = Api::<Pod>::namespaced(self.controller.cluster.client(), &self.controller.cluster.namespace);
            let config = watcher::Config::default()
                .timeout(watching::WATCH_SECONDS)
                .labels(LABEL);
            let take = move |change: Change<Pod>| pods.take(&change);
            let watch = watching::follow(api, config, None, self.controller.leadership.ending.clone(), take);
            tokio::join!(watch, loops.run(self));
        };
        // A call under way is a read, or a deletion that the next leader will observe.
        Box::pin(ending.run_until_cancelled(work)).await;
    }

    /// Logs a failure once; the DaemonSet is forgotten when it is old.
    async fn fetch_daemon_set(&mut self) {
        let before = self.agents.as_ref().map(|(agents, _)| agents);
        let trouble = match daemon_set::fetch(&self.controller.cluster, before).await {
            Ok(agents) => {
                self.agents = agents.map(|agents| (agents, Instant::now()));
                let on_delete = self.agents.as_ref().is_none_or(|(agents, _)| agents.on_delete);
                (!on_delete).then(|| {
                    "the DaemonSet skein-agent replaces its Pods by itself, vehicles in the air or not; set its updateStrategy to \
                     OnDelete"
                        .to_owned()
                })
            }
            Err(error) => {
                self.agents.take_if(|(_, at)| at.elapsed() > DAEMON_SET_STALE_AFTER);
                Some(error.to_string())
            }
        };
        if let Some(trouble) = trouble
            .as_ref()
            .filter(|trouble| self.trouble.as_ref() != Some(trouble))
        {
            tracing::warn!(why = trouble, "agents are not upgraded");
        }
        self.trouble = trouble;
    }

    async fn once(&mut self) {
        if self.agents.as_ref().is_none_or(|(_, at)| at.elapsed() > FETCH_EVERY) {
            self.fetch_daemon_set().await;
        }
        let agents = self
            .agents
            .as_ref()
            .map(|(agents, _)| agents)
            .filter(|agents| agents.on_delete);
        let newest = agents.and_then(|agents| agents.newest.as_deref());
        let pods = agents.map(|agents| self.pods.of(&agents.uid)).unwrap_or_default();
        let (plan, progress) = self.plan(&pods, newest);
        for step in progress {
            self.report(&step);
        }
        for node in &plan.replace {
            if let Some(pod) = pods.get(node) {
                self.replace(node, pod).await;
            }
        }
    }

    /// Plans for all nodes where there is something to do or to wait for.
    fn plan(&self, pods: &BTreeMap<NodeName, AgentPod>, newest: Option<&str>) -> (Plan, Vec<Progress>) {
        let upgrades = &self.controller.upgrades;
        let held = upgrades.held();
        let mut nodes: BTreeSet<NodeName> = upgrades.lock().nodes().cloned().collect();
        nodes.retain(|node| pods.contains_key(node) || self.controller.cluster.world.knows_node(node));
        let of_note = |pod: &AgentPod| {
            let snapshot = pod.snapshot(newest);
            snapshot.version != Version::Current || !snapshot.runs
        };
        nodes.extend(
            pods.iter()
                .filter(|(_, pod)| of_note(pod))
                .map(|(node, _)| node.clone()),
        );
        let agents: BTreeMap<&NodeName, Option<Connected>> = nodes
            .iter()
            .map(|node| (node, self.controller.sessions.agent(node)))
            .collect();
        let snapshots = agents
            .iter()
            .map(|(node, agent)| {
                (
                    (*node).clone(),
                    self.snapshot(node, pods.get(node), newest, agent.as_ref()),
                )
            })
            .collect();
        let mut plan = upgrades
            .lock()
            .plan(&snapshots, self.pace, self.controller.leadership.state.now());
        self.wake_changed(&held);
        let progress = std::mem::take(&mut plan.progress);
        plan.clone_into(&mut upgrades.plan.lock().unwrap_or_else(PoisonError::into_inner));
        (plan, progress)
    }

    fn snapshot<'a>(
        &self,
        node: &NodeName,
        pod: Option<&AgentPod>,
        newest: Option<&str>,
        agent: Option<&'a Connected>,
    ) -> NodeSnapshot<'a> {
        let world = &self.controller.cluster.world;
        NodeSnapshot {
            pod: pod.map(|pod| pod.snapshot(newest)),
            node_ready: world.node_ready(node).unwrap_or_default(),
            agent: agent.map(|agent| Agent {
                connected_for: agent.connected_for,
                report: agent.report.as_ref().map(|(report, age)| (report.as_ref(), *age)),
            }),
            bound: world.is_in_service(node),
        }
    }

    /// Wakes every node and Drone whose vehicle may take off again, or no longer may.
    fn wake_changed(&self, before: &BTreeSet<NodeName>) {
        let now = self.controller.upgrades.held();
        for node in before.symmetric_difference(&now) {
            self.controller.cluster.wakes.nodes.wake(node.clone());
            self.controller.cluster.world.wake_drones_on(node);
        }
        for free in before.difference(&now) {
            self.controller.cluster.world.a_vehicle_may_be_free(free);
        }
    }

    /// Deletes the Pod, if nothing has changed since the decision.
    async fn replace(&mut self, node: &NodeName, pod: &AgentPod) {
        // The API server is asked, as the cache may be old.
        let newest = match daemon_set::fetch(&self.controller.cluster, None).await {
            Ok(agents) => agents
                .filter(|agents| agents.on_delete)
                .and_then(|agents| agents.newest),
            Err(error) => return self.not_replaced(node, &error),
        };
        let outdated = pod.snapshot(newest.as_deref()).version == Version::Outdated;
        let agent = self.controller.sessions.agent(node);
        let assessed = assess(&self.snapshot(node, Some(pod), newest.as_deref(), agent.as_ref()));
        let free = assessed.is_ok_and(|free| free != Free::Refused);
        if !outdated || !free || !self.controller.leadership.state.acts() {
            tracing::debug!(%node, ?assessed, "the agent is not replaced just now");
            return;
        }
        let pods: Api<Pod> = Api::namespaced(self.controller.cluster.client(), &self.controller.cluster.namespace);
        let params = DeleteParams {
            preconditions: Some(Preconditions {
                uid: Some(pod.uid.clone()),
                resource_version: pod.resource_version.clone(),
            }),
            ..DeleteParams::default()
        };
        let what = "delete the Pod of an agent";
        let deleted = timeout(DELETION_DEADLINE, api::call(what, pods.delete(&pod.name, &params))).await;
        match deleted.unwrap_or(Err(ApiError::TimedOut { what })) {
            Ok(_) => {
                let now = self.controller.leadership.state.now();
                self.controller.upgrades.lock().replaced(node, &pod.uid, now);
                self.controller.metrics.upgrade("ended");
                let (old, new) = (pod.revision.as_deref().unwrap_or("none"), newest.unwrap_or_default());
                tracing::info!(%node, pod = pod.name, old, new, "agent is replaced by a newer version");
                let text = format!(
                    "node {node}: Pod {} of revision {old} makes room for revision {new}",
                    pod.name
                );
                self.event(node, Note::normal("AgentReplaced", text));
            }
            Err(error) if error.is_overtaken() => tracing::debug!(%node, %error, "the Pod has changed"),
            Err(error) => self.not_replaced(node, &error),
        }
    }

    /// A deletion without an answer may have been done: it is tried again, or observed. A refused one was not.
    fn not_replaced(&self, node: &NodeName, error: &ApiError) {
        tracing::warn!(%node, %error, "agent could not be replaced; its vehicle may fly soon, and it is tried again later");
        self.controller.metrics.upgrade("failed");
        if error.is_refusal() {
            let held = self.controller.upgrades.held();
            let now = self.controller.leadership.state.now();
            self.controller.upgrades.lock().failed(node, now);
            self.wake_changed(&held);
        }
    }

    fn report(&self, step: &Progress) {
        let metrics = &self.controller.metrics;
        match step {
            Progress::Chosen(node, why) => {
                tracing::info!(%node, ?why, "agent is to be replaced by a newer version; its vehicle stays on the ground");
            }
            Progress::NotReplaced(node, why) => {
                metrics.upgrade("let_go");
                tracing::info!(%node, ?why, "agent is not replaced just now; its vehicle may fly");
            }
            Progress::Done(node) => {
                metrics.upgrade("done");
                tracing::info!(%node, "agent is of the newer version, and well");
                self.event(
                    node,
                    Note::normal("AgentUpgraded", format!("node {node}: the new agent is well")),
                );
            }
            Progress::Stuck(node) => {
                metrics.upgrade("stuck");
                let text = format!(
                    "node {node}: its agent has not come back within {} s, so no other is replaced; check its Pod and its log",
                    self.pace.patience.as_secs()
                );
                tracing::error!(%node, "{text}");
                self.event(node, Note::warning("AgentUpgradeStuck", text));
            }
        }
    }

    /// An Event about the DaemonSet, and the node.
    fn event(&self, node: &NodeName, note: Note) {
        if let Some((agents, _)) = &self.agents {
            let related = ObjectReference {
                api_version: Some("v1".to_owned()),
                kind: Some("Node".to_owned()),
                name: Some(node.to_string()),
                ..ObjectReference::default()
            };
            let about = agents.reference.clone();
            self.controller.cluster.events.record_about(about, Some(related), note);
        }
    }
}
