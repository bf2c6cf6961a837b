//! Claims: one Lease per drone node, naming the Drone that its vehicle serves. They make binding atomic, also between two coordinators.
//!
//! A claim is never deleted; one whose holder is gone, or bound to another node, can be taken over once the API server has confirmed that.

use crate::cluster::Cluster;
use crate::cluster::api::{self, ApiError};
use crate::cluster::key::Key;
use crate::cluster::world::Change;
use crate::cluster::world::claim::{Claim, DRONE_NAME, DRONE_NAMESPACE, LABEL, NODE, name, parse};
use crds::{Drone, labels};
use fleet::planning::binding;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::Api;
use kube::core::ObjectMeta;
use model::ids::{DroneUid, NodeName};
use std::collections::BTreeMap;
use std::sync::Arc;

const MAX_CLAIM_RETRIES: usize = 5;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Ours,
    Taken(Key),
}

/// Gets the claim to `node` for the Drone `key` with `uid`, if it is free. After an error nothing is known, and it may be tried again.
pub async fn obtain(cluster: &Cluster, node: &NodeName, key: &Key, uid: &str) -> Result<Outcome, ApiError> {
    let leases: Api<Lease> = Api::namespaced(cluster.client(), &cluster.namespace);
    let params = api::posting();
    let (me, name) = (DroneUid(uid.to_owned()), name(node.as_str()));
    let mut claim = cluster.world.claim(node.as_str());
    let mut holder_exists = None;
    let mut lost = 0;
    loop {
        let holder = claim.as_ref().map(|claim| DroneUid(claim.uid.clone()));
        let version = claim.as_ref().and_then(|claim| claim.version.clone());
        let lease = build(cluster, node, key, uid, version);
        let written = match (binding::claim(&me, holder.as_ref(), holder_exists), &claim) {
            (binding::Claim::Ours, _) => return Ok(Outcome::Ours),
            (binding::Claim::Taken(_), Some(claim)) => return Ok(Outcome::Taken(claim.holder.clone())),
            (binding::Claim::AskForHolder(_), Some(claim)) => {
                holder_exists = Some(is_valid(cluster, claim, node).await?);
                continue;
            }
            (binding::Claim::TakeOver, _) => {
                api::call("take over a claim", leases.replace(&name, &params, &lease)).await
            }
            // Without a claim there is no holder to check.
            _ => api::call("create a claim", leases.create(&params, &lease)).await,
        };
        match written {
            Ok(lease) => {
                cluster.world.lease(Change::Answered(Arc::new(lease)));
                return Ok(Outcome::Ours);
            }
            // Another was first, or our cache is old: read, and decide again.
            Err(error) if lost < MAX_CLAIM_RETRIES && error.is_overtaken() => {
                lost += 1;
                let existing = api::call("read a claim", leases.get_opt(&name)).await?;
                claim = existing.as_ref().and_then(parse).map(|(_, claim)| claim);
                holder_exists = None;
                if let Some(lease) = existing {
                    cluster.world.lease(Change::Answered(Arc::new(lease)));
                }
            }
            Err(error) => return Err(error),
        }
    }
}

/// Asks the API server whether the holder of `claim` exists and can still be served by `node`.
async fn is_valid(cluster: &Cluster, claim: &Claim, node: &NodeName) -> Result<bool, ApiError> {
    let drones: Api<Drone> = Api::namespaced(cluster.client(), &claim.holder.namespace);
    let holder = api::call("look for the holder of a claim", drones.get_opt(&claim.holder.name)).await?;
    Ok(holder.is_some_and(|drone| {
        let same = drone.metadata.uid.as_deref() == Some(claim.uid.as_str());
        same && drone
            .spec
            .node_name
            .as_deref()
            .is_none_or(|bound| bound == node.as_str())
    }))
}

fn build(cluster: &Cluster, node: &NodeName, key: &Key, uid: &str, version: Option<String>) -> Lease {
    let text = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    };
    Lease {
        metadata: ObjectMeta {
            name: Some(name(node.as_str())),
            namespace: Some(cluster.namespace.to_string()),
            resource_version: version,
            labels: Some(text(&[(LABEL, "node"), (labels::MANAGED_BY, labels::COORDINATOR)])),
            annotations: Some(text(&[
                (NODE, node.as_str()),
                (DRONE_NAMESPACE, &key.namespace),
                (DRONE_NAME, &key.name),
            ])),
            ..ObjectMeta::default()
        },
        spec: Some(LeaseSpec {
            holder_identity: Some(uid.to_owned()),
            acquire_time: Some(MicroTime(k8s_openapi::jiff::Timestamp::now())),
            ..LeaseSpec::default()
        }),
    }
}
