//! The DaemonSet of the agents, and its newest revision.
//!
//! The DaemonSet controller keeps a ControllerRevision for each template. Before `status.observedGeneration` shows a change, it has made a
//! revision for it, or given the existing one the highest number.

use crate::cluster::Cluster;
use crate::cluster::api::{self, ApiError};
use crate::cluster::world::uid;
use crate::controllers::upgrade::pods::REVISION;
use k8s_openapi::api::apps::v1::{ControllerRevision, DaemonSet};
use k8s_openapi::api::core::v1::ObjectReference;
use kube::api::{Api, ListParams};
use kube::{Resource, ResourceExt};

/// Name of the DaemonSet, and value of the label `app.kubernetes.io/name` on all that belongs to it.
pub const NAME: &str = "skein-agent";

pub const LABEL: &str = "app.kubernetes.io/name=skein-agent";

#[derive(Clone, Debug, PartialEq)]
pub struct Agents {
    pub uid: String,
    pub reference: ObjectReference,
    /// Whether Pods are only made again after they were deleted: else the DaemonSet controller replaces them, flying or not.
    pub on_delete: bool,
    /// Hash of the newest revision; `None` while unknown.
    pub newest: Option<String>,
    generation: Option<i64>,
}

/// `before` is the previous result, which saves asking for the same again.
pub async fn fetch(cluster: &Cluster, before: Option<&Agents>) -> Result<Option<Agents>, ApiError> {
    let sets: Api<DaemonSet> = Api::namespaced(cluster.client(), &cluster.namespace);
    let set = match api::call("get the DaemonSet of the agents", sets.get(NAME)).await {
        Ok(set) => set,
        Err(error) if error.is_not_found() => return Ok(None),
        Err(error) => return Err(error),
    };
    let strategy = set.spec.as_ref().and_then(|spec| spec.update_strategy.as_ref());
    let observed = set.status.as_ref().and_then(|status| status.observed_generation);
    let mut agents = Agents {
        uid: uid(&set).to_owned(),
        reference: set.object_ref(&()),
        on_delete: strategy.is_some_and(|strategy| strategy.type_.as_deref() == Some("OnDelete")),
        newest: None,
        generation: set.metadata.generation,
    };
    if observed < set.metadata.generation {
        return Ok(Some(agents));
    }
    agents.newest = match before {
        Some(before) if (&before.uid, before.generation) == (&agents.uid, agents.generation) => before.newest.clone(),
        Some(_) | None => None,
    };
    if agents.newest.is_none() {
        let revisions: Api<ControllerRevision> = Api::namespaced(cluster.client(), &cluster.namespace);
        let ours = ListParams::default().labels(LABEL);
        let listed = api::call("list the revisions of the agents", revisions.list(&ours)).await?;
        agents.newest = newest(&listed.items, &agents.uid);
    }
    Ok(Some(agents))
}

/// `set` is the DaemonSet's uid.
fn newest(revisions: &[ControllerRevision], set: &str) -> Option<String> {
    let own = |revision: &&ControllerRevision| {
        let mut owners = revision.owner_references().iter();
        owners.any(|owner| owner.controller == Some(true) && owner.uid == set)
    };
    let newest = revisions.iter().filter(own).max_by_key(|revision| revision.revision)?;
    newest.labels().get(REVISION).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn revision(hash: &str, number: i64, owner: &str) -> ControllerRevision {
        let revision = json!({
            "metadata": {
                "name": format!("skein-agent-{hash}"), "labels": {REVISION: hash},
                "ownerReferences": [
                    {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": NAME, "uid": owner, "controller": true},
                ],
            },
            "revision": number,
        });
        serde_json::from_value(revision).unwrap()
    }

    #[test]
    fn the_newest_revision_is_the_daemon_sets_own_with_the_highest_number() {
        let all = [
            revision("b", 3, "us"),
            revision("c", 2, "us"),
            revision("d", 9, "an earlier one"),
        ];
        assert_eq!(newest(&all, "us").as_deref(), Some("b"));
        assert_eq!(newest(&all, "nobody"), None);
    }
}
