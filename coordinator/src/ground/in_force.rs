//! Writing, changing and ending the objects of ground orders.

use crate::cluster::Cluster;
use crate::cluster::api::{self, ApiError};
use crate::cluster::world::Change;
use crate::cluster::world::ground_order::InForce;
use crds::ground_order::Scope as Kind;
use crds::{GroundOrder, GroundOrderSpec, labels};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, ListParams, Patch};
use model::ground::GroundOrderId;
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Limit of selected objects and of nodes in an order, from the CRD; a selector covers the rest.
const MAX_OBJECTS: usize = 2000;
const MAX_NODES: usize = 10_000;
const MAX_NAME_LENGTH: usize = 512;

#[derive(Clone, Debug)]
pub(super) struct About {
    pub(super) scope: Kind,
    pub(super) namespace: String,
    pub(super) target: String,
    pub(super) objects: Vec<String>,
    pub(super) nodes: BTreeSet<String>,
}

/// Characters of a uid, which distinguish objects under one number.
const UID_PART_CHARS: usize = 12;

/// The name of the order `id`, or of the part of it that was given again for the object with the uid `part`.
pub(super) fn name(id: GroundOrderId, part: Option<&str>) -> String {
    let Some(part) = part else {
        return format!("ground-{:016x}", id.0);
    };
    let letters = part.chars().filter(char::is_ascii_alphanumeric).take(UID_PART_CHARS);
    let part: String = letters.map(|letter| letter.to_ascii_lowercase()).collect();
    format!("ground-{:016x}-{part}", id.0)
}

/// The order `id`, or the part of it that is given again for the object with the uid `part`.
pub(super) fn order(id: GroundOrderId, part: Option<&str>, about: About, by: &str) -> InForce {
    let name = name(id, part);
    let mut object = GroundOrder::new(
        &name,
        GroundOrderSpec {
            scope: about.scope,
            namespace: about.namespace,
            target: about.target,
            ordered_by: by.chars().take(MAX_NAME_LENGTH).collect(),
            ordered_at: Timestamp::now().round(k8s_openapi::jiff::Unit::Second).ok().map(Time),
            id: id.0.to_string(),
            objects: about.objects.into_iter().take(MAX_OBJECTS).collect(),
            nodes: about.nodes.into_iter().take(MAX_NODES).collect(),
        },
    );
    object.metadata.finalizers = Some(vec![labels::RELEASED_FINALIZER.to_owned()]);
    object
        .labels_mut()
        .insert(labels::MANAGED_BY.to_owned(), labels::COORDINATOR.to_owned());
    InForce::of(object)
}

fn api(cluster: &Cluster) -> Api<GroundOrder> {
    Api::all(cluster.client())
}

/// Returns the order as it is recorded.
pub(super) async fn record(cluster: &Cluster, order: &InForce) -> Result<InForce, ApiError> {
    let made = match api::call(
        "record a ground order",
        api(cluster).create(&api::posting(), &order.object),
    )
    .await
    {
        // It was recorded before, and the answer was lost.
        Err(error) if error.is_already_exists() => {
            let named = ListParams::default().fields(&format!("metadata.name={}", order.name()));
            let found = api::call("read a ground order", api(cluster).list(&named)).await?;
            found.items.into_iter().next().unwrap_or_else(|| order.object.clone())
        }
        made => made?,
    };
    cluster.world.ground_order(Change::Answered(Arc::new(made.clone())));
    Ok(InForce::of(made))
}

/// Takes a part out of an order.
pub(super) async fn except(cluster: &Cluster, order: &InForce, more: &BTreeSet<String>) -> Result<(), ApiError> {
    let exceptions: BTreeSet<&String> = order.order.exceptions.union(more).collect();
    let mut patch = json!({"status": {"exceptions": exceptions}});
    if let Some(version) = &order.object.metadata.resource_version {
        patch["metadata"] = json!({"resourceVersion": version});
    }
    let patch = Patch::Merge(patch);
    let patched = api(cluster);
    let params = api::merging();
    let patched = patched.patch_status(order.name(), &params, &patch);
    match api::call("release a part of a ground order", patched).await {
        Ok(now) => cluster.world.ground_order(Change::Answered(Arc::new(now))),
        Err(error) if error.is_not_found() => {}
        Err(error) => return Err(error),
    }
    Ok(())
}

pub(super) async fn end(cluster: &Cluster, order: &InForce) -> Result<(), ApiError> {
    let finalizers = order.object.finalizers().iter();
    let rest: Vec<&String> = finalizers.filter(|f| *f != labels::RELEASED_FINALIZER).collect();
    let patch = Patch::Merge(json!({"metadata": {"uid": order.object.metadata.uid, "finalizers": rest}}));
    let gone = |result: Result<(), ApiError>| match result {
        Err(error) if error.is_not_found() => Ok(()),
        result => result,
    };
    let freed = api(cluster);
    let params = api::merging();
    let freed = freed.patch(order.name(), &params, &patch);
    gone(api::call("release a ground order", freed).await.map(drop))?;
    let params = order
        .object
        .metadata
        .uid
        .as_deref()
        .map_or_else(DeleteParams::default, api::only);
    let deleted = api(cluster);
    let deleted = deleted.delete(order.name(), &params);
    gone(api::call("remove a released ground order", deleted).await.map(drop))?;
    let key = crate::cluster::key::Key::new("", order.name());
    cluster.world.ground_order(Change::Gone(key));
    Ok(())
}
