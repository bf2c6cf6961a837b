//! Ground orders as objects of their own: what one covers, and writing, changing and ending it.
//!
//! Owns: [`InForce`], a `GroundOrder` as decisions read it; the object that an order becomes. Must not: decide what is covered
//! or what a release does ([`fleet::ground_order`] does), or keep what is not written yet ([`super::latch`] does).

use crate::cluster::api::{self, ApiError};
use crate::cluster::world::{Change, World, owner, uid};
use crate::context::Context;
use crate::ground::selection::Selection;
use crds::ground_order::Scope as Kind;
use crds::{Drone, GroundOrder, GroundOrderSpec, labels};
use fleet::ground::GroundOrderId;
use fleet::ground_order::{Name, Order, Scope, Subject};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions};
use serde_json::json;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// So many selected objects and so many nodes are in an order, as the CRD has it; a selector covers the rest by what it selects.
const MOST_OBJECTS: usize = 2000;
const MOST_NODES: usize = 10_000;
/// Lengths that the CRD allows.
const LONGEST_NAME: usize = 512;

/// A ground order in force.
#[derive(Clone, Debug)]
pub struct InForce {
    /// The object.
    pub object: GroundOrder,
    /// Its number, unless somebody else has made it.
    pub id: Option<GroundOrderId>,
    /// What it covers.
    pub order: Order,
    selection: Option<Selection>,
}

impl InForce {
    /// Whether it was read from the API server; else it has yet to be written.
    pub(super) const fn is_recorded(&self) -> bool {
        self.object.metadata.resource_version.is_some()
    }

    /// Reads `object`.
    #[must_use]
    pub fn of(object: GroundOrder) -> Self {
        let spec = &object.spec;
        let name = || Name::new(&spec.namespace, &spec.target);
        let selection = (spec.scope == Kind::Selector).then(|| Selection::to_order(&spec.namespace, &spec.target).ok());
        let named = |kind: &str| -> BTreeSet<Name> {
            let objects = spec.objects.iter().filter_map(|object| {
                let (of, rest) = object.split_once('/')?;
                let (namespace, name) = rest.split_once('/')?;
                (of == kind).then(|| Name::new(namespace, name))
            });
            objects.collect()
        };
        let order = Order {
            scope: match spec.scope {
                Kind::All => Scope::All,
                Kind::Selector => Scope::Selector,
                Kind::Swarm => Scope::Swarm(name()),
                Kind::Drone => Scope::Drone(name()),
                Kind::Node => Scope::Node(spec.target.clone()),
            },
            swarms: named("Swarm"),
            drones: named("Drone"),
            nodes: spec.nodes.iter().cloned().collect(),
            exceptions: object
                .status
                .iter()
                .flat_map(|status| status.exceptions.iter().cloned())
                .collect(),
        };
        Self {
            id: spec.id.parse().ok().map(GroundOrderId),
            order,
            selection: selection.flatten(),
            object,
        }
    }

    /// The object's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.object.metadata.name.as_deref().unwrap_or_default()
    }

    /// Whether it keeps the vehicle of `drone` on the ground.
    #[must_use]
    pub fn covers(&self, world: &World, drone: &Drone) -> bool {
        let namespace = drone.metadata.namespace.as_deref().unwrap_or_default();
        let subject = Subject {
            uid: uid(drone),
            namespace,
            name: drone.metadata.name.as_deref().unwrap_or_default(),
            swarm: owner(drone),
            node: drone.spec.node_name.as_deref(),
        };
        self.order.covers(&subject, || {
            let swarm = owner(drone).and_then(|(swarm, _)| world.swarm_of_uid(swarm));
            let swarm = swarm.as_deref();
            let has = |selection: &Selection| {
                swarm.is_some_and(|swarm| selection.has_swarm(swarm)) || selection.has_drone(drone, swarm)
            };
            self.selection.as_ref().is_some_and(has)
        })
    }

    /// Whether it is by the same selector.
    #[must_use]
    pub fn is_by(&self, selection: &Selection) -> bool {
        self.selection.as_ref().is_some_and(|own| own.is_same(selection))
    }
}

impl fmt::Display for InForce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spec = &self.object.spec;
        write!(f, "{}", self.name())?;
        match spec.scope {
            Kind::All => f.write_str(" (all")?,
            Kind::Selector if spec.namespace.is_empty() => write!(f, " (-l '{}'", spec.target)?,
            Kind::Selector => write!(f, " (-l '{}' -n {}", spec.target, spec.namespace)?,
            Kind::Swarm => write!(f, " (Swarm {}/{}", spec.namespace, spec.target)?,
            Kind::Drone => write!(f, " (Drone {}/{}", spec.namespace, spec.target)?,
            Kind::Node => write!(f, " (node {}", spec.target)?,
        }
        match spec.ordered_by.as_str() {
            "" => f.write_str(")"),
            by => write!(f, ", by {by})"),
        }
    }
}

/// What an order is to be about.
#[derive(Clone, Debug)]
pub(super) struct About {
    pub(super) scope: Kind,
    pub(super) namespace: String,
    pub(super) target: String,
    pub(super) objects: Vec<String>,
    pub(super) nodes: BTreeSet<String>,
}

/// The order `id`, as it will be written. One that is given anew for a part of what it was about has a `part` in its name.
pub(super) fn order(id: GroundOrderId, part: Option<&str>, about: About, by: &str) -> InForce {
    let name = match part {
        None => format!("ground-{:016x}", id.0),
        Some(part) => format!("ground-{:016x}-{part}", id.0),
    };
    let mut object = GroundOrder::new(
        &name,
        GroundOrderSpec {
            scope: about.scope,
            namespace: about.namespace,
            target: about.target,
            ordered_by: by.chars().take(LONGEST_NAME).collect(),
            ordered_at: Timestamp::now().round(k8s_openapi::jiff::Unit::Second).ok().map(Time),
            id: id.0.to_string(),
            objects: about.objects.into_iter().take(MOST_OBJECTS).collect(),
            nodes: about.nodes.into_iter().take(MOST_NODES).collect(),
        },
    );
    object.metadata.finalizers = Some(vec![labels::RELEASED_FINALIZER.to_owned()]);
    object
        .labels_mut()
        .insert(labels::MANAGED_BY.to_owned(), labels::COORDINATOR.to_owned());
    InForce::of(object)
}

fn api(context: &Context) -> Api<GroundOrder> {
    Api::all(context.client())
}

/// Records an order, and returns it as it is recorded.
pub(super) async fn record(context: &Context, order: &InForce) -> Result<InForce, ApiError> {
    let params = PostParams {
        field_manager: Some(labels::COORDINATOR.into()),
        ..PostParams::default()
    };
    let made = match api::call("record a ground order", api(context).create(&params, &order.object)).await {
        // It was recorded before, and the answer was lost.
        Err(error) if error.is_already_exists() => {
            let named = ListParams::default().fields(&format!("metadata.name={}", order.name()));
            let found = api::call("read a ground order", api(context).list(&named)).await?;
            found.items.into_iter().next().unwrap_or_else(|| order.object.clone())
        }
        made => made?,
    };
    context.world.ground_order(Change::Is(Arc::new(made.clone())));
    Ok(InForce::of(made))
}

/// Takes a part out of an order.
pub(super) async fn except(context: &Context, order: &InForce, more: &BTreeSet<String>) -> Result<(), ApiError> {
    let exceptions: BTreeSet<&String> = order.order.exceptions.union(more).collect();
    let mut patch = json!({"status": {"exceptions": exceptions}});
    if let Some(version) = &order.object.metadata.resource_version {
        patch["metadata"] = json!({"resourceVersion": version});
    }
    let patch = Patch::Merge(patch);
    let params = PatchParams {
        field_manager: Some(labels::COORDINATOR.into()),
        ..PatchParams::default()
    };
    let patched = api(context);
    let patched = patched.patch_status(order.name(), &params, &patch);
    match api::call("release a part of a ground order", patched).await {
        Ok(now) => context.world.ground_order(Change::Is(Arc::new(now))),
        Err(error) if error.is_not_found() => {}
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Ends an order.
pub(super) async fn end(context: &Context, order: &InForce) -> Result<(), ApiError> {
    let finalizers = order.object.finalizers().iter();
    let rest: Vec<&String> = finalizers.filter(|f| *f != labels::RELEASED_FINALIZER).collect();
    let patch = Patch::Merge(json!({"metadata": {"uid": order.object.metadata.uid, "finalizers": rest}}));
    let params = PatchParams {
        field_manager: Some(labels::COORDINATOR.into()),
        ..PatchParams::default()
    };
    let gone = |result: Result<(), ApiError>| match result {
        Err(error) if error.is_not_found() => Ok(()),
        result => result,
    };
    let freed = api(context);
    let freed = freed.patch(order.name(), &params, &patch);
    gone(api::call("release a ground order", freed).await.map(drop))?;
    let params = DeleteParams {
        preconditions: order.object.metadata.uid.clone().map(|uid| Preconditions {
            uid: Some(uid),
            resource_version: None,
        }),
        ..DeleteParams::default()
    };
    let deleted = api(context);
    let deleted = deleted.delete(order.name(), &params);
    gone(api::call("remove a released ground order", deleted).await.map(drop))?;
    let key = crate::cluster::key::Key::new("", order.name());
    context.world.ground_order(Change::Gone(key));
    Ok(())
}
