//! Ground orders in force by the API: whether a release has ended any.

use crate::cluster::Choice;
use crate::live::objects::{Objects, objects};
use crate::route::Route;
use crds::{Drone, GroundOrder, Swarm};
use kube::ResourceExt;
use kube::api::{Api, ListParams};
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::time::timeout;

const READ_TIMEOUT: Duration = Duration::from_secs(3);

/// Ground orders with their exceptions, and marked Swarms and Drones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InForce(BTreeSet<String>);

impl InForce {
    pub(super) fn ended(before: Option<&Self>, after: Option<&Self>) -> Option<bool> {
        Some(before? != after?)
    }

    fn of(orders: &[GroundOrder], swarms: &[Swarm], drones: &[Drone]) -> Self {
        let order = |order: &GroundOrder| {
            let without = order.status.as_ref().map(|status| status.exceptions.join(" "));
            format!("GroundOrder {} {}", order.name_any(), without.unwrap_or_default())
        };
        let swarms = swarms.iter().filter(|swarm| swarm.spec.grounded);
        let swarms = swarms.map(|swarm| key("Swarm", swarm));
        let drones = drones.iter().filter(|drone| drone.spec.grounded);
        let drones = drones.map(|drone| key("Drone", drone));
        Self(orders.iter().map(order).chain(swarms).chain(drones).collect())
    }
}

fn key(kind: &str, object: &impl ResourceExt) -> String {
    format!(
        "{kind} {}/{}",
        object.namespace().unwrap_or_default(),
        object.name_any()
    )
}

pub(super) struct Orders(Option<Objects>);

impl Orders {
    pub(super) async fn of(route: &Route, named: Option<Choice>) -> Self {
        let found = timeout(READ_TIMEOUT, objects(route, named)).await;
        Self(found.ok().and_then(Result::ok).and_then(Result::ok))
    }

    pub(super) async fn read(&self) -> Option<InForce> {
        let objects = self.0.as_ref()?;
        let (orders, swarms, drones) = (
            Api::<GroundOrder>::all(objects.client.clone()),
            Api::<Swarm>::all(objects.client.clone()),
            Api::<Drone>::all(objects.client.clone()),
        );
        let all = ListParams::default();
        let reading = async {
            tokio::try_join!(
                objects.list("list the GroundOrders", &orders, &all),
                objects.list("list the Swarms", &swarms, &all),
                objects.list("list the Drones", &drones, &all)
            )
        };
        let (orders, swarms, drones) = timeout(READ_TIMEOUT, reading).await.ok()?.ok()?;
        Some(InForce::of(&orders, &swarms, &drones))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_release_has_ended_something_where_an_order_a_part_of_it_or_a_mark_is_gone() {
        let order = |exceptions: &[&str]| -> GroundOrder {
            serde_json::from_value(json!({
                "apiVersion": "skein.dev/v1alpha1", "kind": "GroundOrder", "metadata": {"name": "ground-1"},
                "spec": {"scope": "All"}, "status": {"exceptions": exceptions},
            }))
            .unwrap()
        };
        let swarm = |grounded: bool| -> Swarm {
            serde_json::from_value(json!({
                "apiVersion": "skein.dev/v1alpha1", "kind": "Swarm", "metadata": {"name": "alpha", "namespace": "field"},
                "spec": {"replicas": 1, "grounded": grounded},
            }))
            .unwrap()
        };
        let (all, part) = (
            InForce::of(&[order(&[])], &[], &[]),
            InForce::of(&[order(&["uid"])], &[], &[]),
        );
        let none = InForce::of(&[], &[swarm(false)], &[]);
        let marked = InForce::of(&[], &[swarm(true)], &[]);
        for (before, after, ended) in [
            (&all, &none, true),
            (&all, &part, true),
            (&marked, &none, true),
            (&all, &all, false),
            (&none, &none, false),
        ] {
            assert_eq!(
                InForce::ended(Some(before), Some(after)),
                Some(ended),
                "{before:?} {after:?}"
            );
        }
        assert_eq!(InForce::ended(Some(&all), None), None, "nobody knows");
    }
}
