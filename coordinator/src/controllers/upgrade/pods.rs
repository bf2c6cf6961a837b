//! The agents' Pods, as far as their replacement goes.

use crate::cluster::key::Key;
use crate::cluster::world::{Change, uid};
use fleet::planning::upgrade::node_snapshot::{Pod as PodSnapshot, Version};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use model::ids::NodeName;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The DaemonSet controller puts the name of a Pod's ControllerRevision on it by this label.
pub const REVISION: &str = "controller-revision-hash";

const CONTAINER: &str = "agent";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentPod {
    pub name: String,
    pub uid: String,
    /// As observed last: a deletion fails when the Pod has changed since.
    pub resource_version: Option<String>,
    pub revision: Option<String>,
    node: NodeName,
    owner: Option<String>,
    leaving: bool,
    runs: bool,
}

impl AgentPod {
    /// `None` while it has no node.
    fn of(pod: &Pod) -> Option<Self> {
        let node = pod.spec.as_ref()?.node_name.as_deref()?;
        let status = pod.status.as_ref();
        let containers = status.and_then(|s| s.container_statuses.as_deref()).unwrap_or_default();
        let running = |name: &str, state: &Option<_>| {
            let running = |state: &k8s_openapi::api::core::v1::ContainerState| state.running.is_some();
            name == CONTAINER && state.as_ref().is_some_and(running)
        };
        let owners = pod.metadata.owner_references.as_deref().unwrap_or_default();
        Some(Self {
            name: pod.name_any(),
            uid: uid(pod).to_owned(),
            resource_version: pod.resource_version(),
            revision: pod.labels().get(REVISION).cloned(),
            node: NodeName::parse(node).ok()?,
            owner: owners
                .iter()
                .find(|o| o.controller == Some(true))
                .map(|o| o.uid.clone()),
            leaving: pod.metadata.deletion_timestamp.is_some(),
            runs: containers.iter().any(|c| running(&c.name, &c.state)),
        })
    }

    /// `revision` is the hash of the newest one.
    pub fn snapshot(&self, revision: Option<&str>) -> PodSnapshot {
        let outdated = revision.is_some_and(|newest| self.revision.as_deref() != Some(newest));
        PodSnapshot {
            uid: self.uid.clone(),
            version: match (self.leaving, outdated) {
                (true, _) => Version::Leaving,
                (false, true) => Version::Outdated,
                (false, false) => Version::Current,
            },
            runs: self.runs,
        }
    }
}

#[derive(Debug, Default)]
pub struct Pods(Mutex<HashMap<Key, AgentPod>>);

impl Pods {
    fn lock(&self) -> MutexGuard<'_, HashMap<Key, AgentPod>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn take(&self, change: &Change<Pod>) {
        match change {
            Change::Is(pod) | Change::Answered(pod) => {
                let key = Key::of(pod.as_ref());
                match AgentPod::of(pod) {
                    Some(facts) => self.lock().insert(key, facts),
                    None => self.lock().remove(&key),
                };
            }
            Change::Gone(key) => {
                self.lock().remove(key);
            }
            Change::Asked | Change::Filled => {}
        }
    }

    /// The Pods of the DaemonSet with this uid, by node. Of two on a node, the one being deleted counts.
    pub fn of(&self, daemon_set: &str) -> BTreeMap<NodeName, AgentPod> {
        let pods = self.lock();
        let mut of_node: BTreeMap<NodeName, AgentPod> = BTreeMap::new();
        for pod in pods.values().filter(|pod| pod.owner.as_deref() == Some(daemon_set)) {
            let other = of_node.get(&pod.node);
            if other.is_none_or(|other| !other.leaving) {
                of_node.insert(pod.node.clone(), pod.clone());
            }
        }
        of_node
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::sync::Arc;

    fn pod(name: &str, node: Option<&str>, state: serde_json::Value) -> Change<Pod> {
        let pod = json!({
            "metadata": {
                "name": name, "namespace": "s", "uid": format!("uid-{name}"), "labels": {REVISION: "r1"},
                "ownerReferences": [
                    {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "a", "uid": "set", "controller": true},
                ],
            },
            "spec": {"nodeName": node, "containers": []},
            "status": {"containerStatuses": [
                {"name": "agent", "state": state, "image": "", "imageID": "", "ready": true, "restartCount": 0},
            ]},
        });
        Change::Is(Arc::new(serde_json::from_value(pod).unwrap()))
    }

    fn leaving(name: &str) -> Change<Pod> {
        let Change::Is(mut pod) = pod(name, Some("n"), json!({"running": {}})) else {
            unreachable!("it is one that is there")
        };
        let now = k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(k8s_openapi::jiff::Timestamp::now());
        Arc::make_mut(&mut pod).metadata.deletion_timestamp = Some(now);
        Change::Is(pod)
    }

    #[test]
    fn a_pod_is_outdated_when_its_revision_is_not_the_newest_that_is_known() {
        let pods = Pods::default();
        pods.take(&pod("p", Some("n"), json!({"running": {}})));
        let all = pods.of("set");
        let (_, found) = all.first_key_value().unwrap();
        let version = |newest| found.snapshot(newest).version;
        assert_eq!(version(Some("r2")), Version::Outdated);
        assert_eq!(version(Some("r1")), Version::Current);
        assert_eq!(version(None), Version::Current, "nothing is known to be newer");
        assert!(found.snapshot(None).runs);
    }

    #[test]
    fn a_pod_that_waits_runs_nothing_and_one_without_node_or_of_another_is_nobodys() {
        let pods = Pods::default();
        pods.take(&pod("p", Some("n"), json!({"waiting": {"reason": "ImagePullBackOff"}})));
        pods.take(&pod("q", None, json!({"running": {}})));
        let all = pods.of("set");
        assert_eq!(all.len(), 1);
        assert!(!all.first_key_value().unwrap().1.snapshot(None).runs);
        assert!(pods.of("another").is_empty());
        pods.take(&Change::Gone(Key::new("s", "p")));
        assert!(pods.of("set").is_empty());
    }

    #[test]
    fn of_two_on_a_node_the_one_that_goes_counts() {
        for order in [["old", "new"], ["new", "old"]] {
            let pods = Pods::default();
            for name in order {
                match name {
                    "old" => pods.take(&leaving("old")),
                    name => pods.take(&pod(name, Some("n"), json!({"running": {}}))),
                }
            }
            assert_eq!(pods.of("set").first_key_value().unwrap().1.name, "old");
        }
    }
}
