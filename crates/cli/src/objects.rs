//! Objects that `up` and `demo` read and write.

use crate::failure::Failure;
use coordinator::cluster::api::error_chain;
use crds::{Drone, GroundOrder, Swarm, labels};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, DeleteParams, ListParams, ObjectMeta, Patch, PatchParams};
use kube::core::NamespaceResourceScope;
use kube::{Client, Resource, ResourceExt};
use model::ids::NodeName;
use serde::de::DeserializeOwned;
use serde_json::json;
use std::fmt::Debug;
use std::time::Duration;
use tokio::time::{sleep, timeout};

const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

const READ_INTERVAL: Duration = Duration::from_millis(200);

const MANAGER: &str = "skein";

const NAMESPACE: &str = "default";

#[derive(Clone)]
pub struct Objects(Client);

impl Objects {
    pub const fn new(client: Client) -> Self {
        Self(client)
    }

    pub async fn drones(&self) -> Result<Vec<Drone>, Failure> {
        let drones: Api<Drone> = Api::all(self.0.clone());
        let list = call("list the Drones", drones.list(&ListParams::default())).await?;
        Ok(list.items)
    }

    /// Number of Drones that are neither grounded nor deleted.
    pub async fn want_flight(&self) -> Result<usize, Failure> {
        let swarms: Api<Swarm> = Api::all(self.0.clone());
        let swarms = call("list the Swarms", swarms.list(&ListParams::default())).await?;
        let drones = self.drones().await?;
        Ok(wanting_flight(&swarms.items, &drones))
    }

    /// Like `skein ground --all`, before a coordinator starts that could fly anything. Start nothing after an error.
    pub async fn ground_all(&self) -> Result<(), Failure> {
        self.order_all_to_the_ground().await?;
        let swarms: Api<Swarm> = Api::all(self.0.clone());
        let swarms = call("list the Swarms", swarms.list(&ListParams::default()))
            .await?
            .items;
        let drones = self.drones().await?;
        for swarm in swarms.iter().filter(|swarm| !swarm.spec.grounded) {
            self.ground(swarm).await?;
        }
        let single = |drone: &&Drone| !swarms.iter().any(|swarm| owns(swarm, drone));
        for drone in drones.iter().filter(single).filter(|drone| !drone.spec.grounded) {
            self.ground(drone).await?;
        }
        Ok(())
    }

    /// Covers later objects, too; `skein release --all` ends it.
    async fn order_all_to_the_ground(&self) -> Result<(), Failure> {
        let orders: Api<GroundOrder> = Api::all(self.0.clone());
        let now = Timestamp::now();
        let name = format!("ground-at-start-{}", now.as_millisecond());
        let order = json!({
            "apiVersion": "skein.dev/v1alpha1",
            "kind": "GroundOrder",
            "metadata": {"name": name, "finalizers": [labels::RELEASED_FINALIZER]},
            "spec": {"scope": "All", "orderedBy": "skein up", "orderedAt": Time(now)},
        });
        let (params, order) = (PatchParams::apply(MANAGER).force(), Patch::Apply(order));
        call("give a ground order", orders.patch(&name, &params, &order))
            .await
            .map(drop)
    }

    async fn ground<K>(&self, object: &K) -> Result<(), Failure>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + DeserializeOwned + Debug,
    {
        let api: Api<K> = Api::namespaced(self.0.clone(), &object.namespace().unwrap_or_default());
        let patch = Patch::Merge(json!({"metadata": {"uid": object.uid()}, "spec": {"grounded": true}}));
        let (name, params) = (object.name_any(), PatchParams::default());
        call("ground what is kept", api.patch(&name, &params, &patch))
            .await
            .map(drop)
    }

    pub async fn apply_swarm(&self, name: &str, replicas: u16, altitude: f64) -> Result<(), Failure> {
        let swarms: Api<Swarm> = Api::namespaced(self.0.clone(), NAMESPACE);
        let swarm = json!({
            "apiVersion": "skein.dev/v1alpha1",
            "kind": "Swarm",
            "metadata": {"name": name},
            "spec": {"replicas": replicas, "template": {"spec": {"takeoffAltitudeMeters": altitude}}},
        });
        let (params, swarm) = (PatchParams::apply(MANAGER).force(), Patch::Apply(swarm));
        call("apply the Swarm", swarms.patch(name, &params, &swarm))
            .await
            .map(drop)
    }

    /// Ignores a missing Swarm, and does not wait.
    pub async fn delete_swarm(&self, name: &str) -> Result<(), Failure> {
        let swarms: Api<Swarm> = Api::namespaced(self.0.clone(), NAMESPACE);
        let params = DeleteParams::default();
        match timeout(ANSWER_TIMEOUT, swarms.delete(name, &params)).await {
            Ok(Err(kube::Error::Api(status))) if status.is_not_found() => Ok(()),
            answer => answered("delete the Swarm", answer).map(drop),
        }
    }

    async fn swarm_is_ready(&self, name: &str) -> Result<bool, Failure> {
        let swarms: Api<Swarm> = Api::namespaced(self.0.clone(), NAMESPACE);
        let swarm = call("read the Swarm", swarms.get(name)).await?;
        let conditions = swarm.status.map(|status| status.conditions).unwrap_or_default();
        Ok(conditions.iter().any(|c| c.type_ == "Ready" && c.status == "True"))
    }

    /// Retries failed readings, as does [`Self::swarm_ready`].
    pub async fn all_gone(&self, swarm: &str) {
        let drones: Api<Drone> = Api::namespaced(self.0.clone(), NAMESPACE);
        let of_swarm = ListParams::default().labels(&format!("{}={swarm}", labels::SWARM));
        let gone = async || call("list the Drones", drones.list(&of_swarm)).await;
        while !gone().await.is_ok_and(|list| list.items.is_empty()) {
            sleep(READ_INTERVAL).await;
        }
    }

    pub async fn swarm_ready(&self, name: &str) {
        while !self.swarm_is_ready(name).await.is_ok_and(|ready| ready) {
            sleep(READ_INTERVAL).await;
        }
    }

    /// Waits until no Drone on `nodes` is recorded in flight, at most for `within`.
    pub async fn wait_until_written_down(&self, nodes: &[NodeName], within: Duration) {
        let flies = |drone: &Drone| {
            let here = nodes
                .iter()
                .any(|node| drone.spec.node_name.as_deref() == Some(node.as_str()));
            here && drone.status.as_ref().and_then(|status| status.flying) == Some(true)
        };
        let written = async {
            while self.drones().await.is_ok_and(|drones| drones.iter().any(flies)) {
                sleep(READ_INTERVAL).await;
            }
        };
        // The next start corrects stale records.
        let _ = timeout(within, written).await;
    }
}

fn owns(swarm: &Swarm, drone: &Drone) -> bool {
    let owners = drone.metadata.owner_references.as_deref().unwrap_or_default();
    owners
        .iter()
        .any(|owner| swarm.metadata.uid.as_ref() == Some(&owner.uid))
}

/// Includes Drones that a Swarm is still to make.
fn wanting_flight(swarms: &[Swarm], drones: &[Drone]) -> usize {
    let stays = |metadata: &ObjectMeta| metadata.deletion_timestamp.is_none();
    let grounded =
        |drone: &Drone| drone.spec.grounded || swarms.iter().any(|swarm| swarm.spec.grounded && owns(swarm, drone));
    let made = drones
        .iter()
        .filter(|drone| stays(&drone.metadata) && !grounded(drone))
        .count();
    let to_make = swarms
        .iter()
        .filter(|swarm| stays(&swarm.metadata) && !swarm.spec.grounded)
        .map(|swarm| {
            let have = drones
                .iter()
                .filter(|drone| stays(&drone.metadata) && owns(swarm, drone))
                .count();
            usize::try_from(swarm.spec.replicas)
                .unwrap_or_default()
                .saturating_sub(have)
        });
    made + to_make.sum::<usize>()
}

async fn call<T>(what: &str, call: impl Future<Output = Result<T, kube::Error>>) -> Result<T, Failure> {
    answered(what, timeout(ANSWER_TIMEOUT, call).await)
}

fn answered<T>(what: &str, answer: Result<Result<T, kube::Error>, tokio::time::error::Elapsed>) -> Result<T, Failure> {
    match answer {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(Failure::Failed(format!("cannot {what}: {}", error_chain(&error)))),
        Err(_) => Err(Failure::Failed(format!(
            "cannot {what}: no answer within {} s",
            ANSWER_TIMEOUT.as_secs()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crds::DroneSpec;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};
    use k8s_openapi::jiff::Timestamp;

    fn drone(owner: &str) -> Drone {
        let mut drone = Drone::new("x", DroneSpec::default());
        drone.metadata.owner_references = Some(vec![OwnerReference {
            uid: owner.to_owned(),
            ..OwnerReference::default()
        }]);
        drone
    }

    fn swarm(uid: &str, grounded: bool) -> Swarm {
        let spec = serde_json::from_value(json!({"replicas": 1, "grounded": grounded})).unwrap();
        let mut swarm = Swarm::new(uid, spec);
        swarm.metadata.uid = Some(uid.to_owned());
        swarm
    }

    #[test]
    fn a_drone_that_is_grounded_by_itself_or_by_its_swarm_or_goes_does_not_want_flight() {
        let swarms = [swarm("up", false), swarm("down", true)];
        let mut by_itself = drone("up");
        by_itself.spec.grounded = true;
        let mut going = drone("up");
        going.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
        assert_eq!(wanting_flight(&swarms, &[drone("down"), by_itself, going]), 0);
        assert_eq!(wanting_flight(&swarms, &[drone("up"), drone("nobody")]), 2);
        assert_eq!(wanting_flight(&swarms, &[]), 1, "one is still to be made");
    }
}
