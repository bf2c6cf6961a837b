//! Numbers of released orders, noted on the Drones whose agents may still keep them: such an agent may first report to another leader, to
//! which only the objects say that the order has ended.

use super::{CONCURRENCY, Ground, latched_by};
use crate::cluster::api::{self, ApiError, error_chain};
use crate::cluster::world::ground_order::InForce;
use crate::cluster::world::uid;
use crds::{Drone, labels};
use fleet::planning::ground_order::Scope;
use futures::{StreamExt, stream};
use kube::ResourceExt;
use kube::api::{Api, Patch};
use model::ground::GroundOrderId;
use model::ids::NodeName;
use serde_json::{Value, json};
use std::sync::Arc;

/// Numbers noted on one Drone, the newest; its agent keeps one.
const MAX_NOTED: usize = 8;

/// Whether the release of the order `id` is noted on `drone`.
pub(super) fn is_noted(drone: &Drone, id: GroundOrderId) -> bool {
    noted(drone).contains(&id)
}

fn noted(drone: &Drone) -> Vec<GroundOrderId> {
    let text = drone.annotations().get(labels::RELEASED_GROUND_ORDERS);
    let numbers = text.map_or("", String::as_str).split(' ');
    numbers.filter_map(|id| id.parse().ok().map(GroundOrderId)).collect()
}

/// The Drones on which the release of `order`, with the number `id`, is still to be noted. For one vehicle it always is; for more where the
/// agent kept the number when it reported last.
pub(super) fn drones(ground: &Ground, order: &InForce, id: GroundOrderId) -> Vec<Arc<Drone>> {
    let world = &ground.cluster.world;
    // An agent of what was taken out of the order before may be away since then.
    let mut whole = order.clone();
    whole.order.exceptions.clear();
    let is_for_one = matches!(whole.order.scope, Scope::Node(_));
    let keeps = |drone: &Drone| {
        let node = drone.spec.node_name.as_deref();
        let node = node.and_then(|node| NodeName::parse(node).ok());
        let last = node.and_then(|node| ground.sessions.snapshot(&node).report);
        latched_by(last.as_ref().map(|(report, _)| report.as_ref()), drone) == Some(id)
    };
    let mut drones = world.all_drones(None);
    drones.retain(|drone| whole.covers(world, drone) && !is_noted(drone, id) && (is_for_one || keeps(drone)));
    drones
}

/// Notes on `drones` that the order `id` is released. Tries all, returns the first failure.
pub(super) async fn note(ground: &Ground, drones: Vec<Arc<Drone>>, id: GroundOrderId) -> Result<(), ApiError> {
    let writes = drones
        .into_iter()
        .map(|drone| async move { write(ground, &drone, id).await });
    let results: Vec<_> = stream::iter(writes).buffer_unordered(CONCURRENCY).collect().await;
    results.into_iter().collect()
}

async fn write(ground: &Ground, drone: &Drone, id: GroundOrderId) -> Result<(), ApiError> {
    let (namespace, name) = (drone.namespace().unwrap_or_default(), drone.name_any());
    let api: Api<Drone> = Api::namespaced(ground.cluster.client(), &namespace);
    let (params, patch) = (api::merging(), Patch::Merge(patch(drone, id)));
    match api::call("note a released ground order", api.patch(&name, &params, &patch)).await {
        Ok(drone) => ground.cluster.world.learn_drone(drone),
        // It is gone: no agent keeps the number for it.
        Err(error) if error.is_not_found() => {}
        // An object of one namespace keeps no order of others in force: at worst its own vehicle is grounded once more.
        Err(error) if error.is_refusal() => {
            tracing::warn!(%namespace, %name, error = error_chain(&error), "cannot note a released ground order");
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Adds `id` to what is noted on `drone`.
fn patch(drone: &Drone, id: GroundOrderId) -> Value {
    let mut ids = noted(drone);
    ids.push(id);
    let surplus = ids.len().saturating_sub(MAX_NOTED);
    let newest: Vec<String> = ids.iter().skip(surplus).map(|id| id.0.to_string()).collect();
    json!({"metadata": {"uid": uid(drone), "annotations": {labels::RELEASED_GROUND_ORDERS: newest.join(" ")}}})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crds::DroneSpec;

    #[test]
    fn the_newest_releases_stay_noted_and_what_people_wrote_there_is_none() {
        let mut drone = Drone::new("alpha-1", DroneSpec::default());
        let note = |drone: &mut Drone, text: &str| {
            let notes = drone.annotations_mut();
            notes.insert(labels::RELEASED_GROUND_ORDERS.to_owned(), text.to_owned());
        };
        note(&mut drone, "seven  -1");
        for id in 0..=8 {
            let change = patch(&drone, GroundOrderId(id));
            let text = change["metadata"]["annotations"][labels::RELEASED_GROUND_ORDERS].as_str();
            note(&mut drone, text.unwrap());
        }
        assert!(!is_noted(&drone, GroundOrderId(0)), "too long ago");
        assert!(is_noted(&drone, GroundOrderId(1)) && is_noted(&drone, GroundOrderId(8)));
    }
}
