//! Node objects for agents, where there is no cluster whose kubelets make them.
//!
//! Owns: reconciling a node whenever its agent comes or goes or its object changes, and the two writes: the object itself, and its Ready
//! condition. [`next`] decides. Must not: run in a cluster.
//!
//! A Node that a person deletes comes back once its agent is connected. A person's labels, cordons and taints stay.

pub mod next;

use crate::cluster::Cluster;
use crate::cluster::api::{self, ApiError};
use crate::cluster::node_objects::NodeObjects;
use crate::cluster::watching;
use crate::cluster::world::{Change, uid};
use crate::controllers::{AFTER_CONFLICT, queue};
use crate::sessions::Sessions;
use crds::labels;
use k8s_openapi::api::core::v1::{Node, NodeCondition};
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use kube::api::{Api, Patch, PatchParams};
use kube::runtime::reflector::store::Writer;
use kube::runtime::reflector::{ObjectRef, Store};
use kube::runtime::watcher;
use model::ids::NodeName;
use next::{Agent, Step};
use serde_json::json;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

const CONCURRENT_RECONCILES: usize = 8;

struct Keeper {
    cluster: Cluster,
    sessions: Arc<Sessions>,
    nodes: Store<Node>,
    /// Since when the agents of Nodes of ours are gone, or receive nothing from their autopilots.
    silent: Mutex<HashMap<NodeName, (Silence, Instant)>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Silence {
    Agent,
    Autopilot,
}

/// Keeps Nodes, if agents become Nodes here, until `ending`.
pub fn start(
    cluster: &Cluster,
    sessions: &Arc<Sessions>,
    node_objects: &NodeObjects,
    ending: &CancellationToken,
    tasks: &mut JoinSet<()>,
) {
    let Some(wakes) = node_objects.wakes() else { return };
    let writer = Writer::<Node>::default();
    let keeper = Arc::new(Keeper {
        cluster: cluster.clone(),
        sessions: Arc::clone(sessions),
        nodes: writer.as_reader(),
        silent: Mutex::default(),
    });
    let waker = node_objects.clone();
    let wake = move |change: Change<Node>| {
        let name = match &change {
            Change::Is(node) | Change::Answered(node) => node.name_any(),
            Change::Gone(key) => key.name.clone(),
            Change::Asked | Change::Filled => return,
        };
        if let Ok(node) = NodeName::parse(&name) {
            waker.agent_changed(&node);
        }
    };
    let api = Api::<Node>::all(cluster.client());
    let config = watcher::Config::default();
    tasks.spawn(watching::follow(api, config, Some(writer), ending.clone(), wake));
    let ending = ending.clone();
    tasks.spawn(async move {
        // Until the watch has filled the store, an object that exists would seem to be missing.
        let filled = ending.run_until_cancelled(keeper.nodes.wait_until_ready()).await;
        if !matches!(filled, Some(Ok(()))) {
            return;
        }
        let keeper = &keeper;
        queue::work_off(&wakes, CONCURRENT_RECONCILES, &ending, |node| keeper.reconcile(node)).await;
    });
}

impl Keeper {
    async fn reconcile(&self, node: NodeName) -> Result<Option<Duration>, ApiError> {
        let object = self.nodes.get(&ObjectRef::new(node.as_str()));
        let agent = self.agent(&node, object.as_deref());
        let done = match next::step(object.as_deref(), agent) {
            Step::Rest => return Ok(None),
            Step::CheckAgain(after) => return Ok(Some(after)),
            Step::Register => self.register(&node).await,
            Step::Write(state) => match object {
                Some(object) => {
                    self.write_condition(&object, state.condition(&object, Timestamp::now()))
                        .await
                }
                None => return Ok(None),
            },
        };
        match done {
            Err(error) if error.is_overtaken() => Ok(Some(AFTER_CONFLICT)),
            done => done.map(|()| None),
        }
    }

    fn agent(&self, node: &NodeName, object: Option<&Node>) -> Agent {
        let mut silent = self.silent.lock().unwrap_or_else(PoisonError::into_inner);
        let connected = self.sessions.snapshot(node).connected;
        let silence = match self.sessions.current(node) {
            Some(report) if connected && report.link_alive => {
                silent.remove(node);
                return Agent::Connected;
            }
            _ if connected => Silence::Autopilot,
            _ => Silence::Agent,
        };
        // Only of Nodes of ours, so that an agent which connected once is not remembered for ever.
        let since = if object.is_some_and(next::is_ours) {
            let entry = silent.entry(node.clone()).or_insert_with(|| (silence, Instant::now()));
            if entry.0 != silence {
                *entry = (silence, Instant::now());
            }
            entry.1.elapsed()
        } else {
            silent.remove(node);
            Duration::ZERO
        };
        match silence {
            Silence::Autopilot => Agent::NoAutopilot { since },
            Silence::Agent => Agent::Gone { since },
        }
    }

    async fn register(&self, node: &NodeName) -> Result<(), ApiError> {
        let nodes: Api<Node> = Api::all(self.cluster.client());
        api::call("create a Node", nodes.create(&api::posting(), &next::object(node))).await?;
        tracing::info!(%node, "an agent connected for which there was no Node; there is one now");
        Ok(())
    }

    async fn write_condition(&self, node: &Node, condition: NodeCondition) -> Result<(), ApiError> {
        let name = node.name_any();
        tracing::info!(
            node = name,
            ready = condition.status,
            reason = condition.reason,
            "Node is marked"
        );
        let patch = json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "uid": uid(node)},
            "status": {"conditions": [condition]},
        });
        let params = PatchParams::apply(labels::COORDINATOR).force();
        let nodes: Api<Node> = Api::all(self.cluster.client());
        let patch = Patch::Apply(patch);
        let written = nodes.patch_status(&name, &params, &patch);
        api::call("write the status of a Node", written).await.map(drop)
    }
}
