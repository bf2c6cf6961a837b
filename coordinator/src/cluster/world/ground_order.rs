//! A `GroundOrder` as decisions read it, and what it covers.

use super::{World, owner, uid};
use crate::cluster::selection::Selection;
use crds::ground_order::Scope as Kind;
use crds::{Drone, GroundOrder};
use fleet::planning::ground_order::{Name, Order, Scope, Subject};
use model::ground::GroundOrderId;
use std::collections::BTreeSet;
use std::fmt;

#[derive(Clone, Debug)]
pub struct InForce {
    pub object: GroundOrder,
    /// Its number, unless somebody else has made it.
    pub id: Option<GroundOrderId>,
    pub order: Order,
    selection: Option<Selection>,
}

impl InForce {
    /// Whether it was read from the API server, and not just made here.
    pub const fn is_recorded(&self) -> bool {
        self.object.metadata.resource_version.is_some()
    }

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
            fleet_wide: match spec.scope {
                Kind::All => true,
                Kind::Selector => spec.namespace.is_empty(),
                Kind::Swarm | Kind::Drone | Kind::Node => false,
            },
        };
        Self {
            id: spec.id.parse().ok().map(GroundOrderId),
            order,
            selection: selection.flatten(),
            object,
        }
    }

    pub fn name(&self) -> &str {
        self.object.metadata.name.as_deref().unwrap_or_default()
    }

    pub fn covers(&self, world: &World, drone: &Drone) -> bool {
        let namespace = drone.metadata.namespace.as_deref().unwrap_or_default();
        let subject = Subject {
            uid: uid(drone),
            namespace,
            name: drone.metadata.name.as_deref().unwrap_or_default(),
            swarm: owner(drone).map(|(_, name)| name),
            swarm_uid: owner(drone).map(|(swarm, _)| swarm).filter(|swarm| {
                // The world is asked only where it matters.
                self.order.exceptions.contains(*swarm) && world.swarm_of(drone).is_some()
            }),
            node: drone.spec.node_name.as_deref(),
        };
        self.order.covers(&subject, || {
            let swarm = world.swarm_of(drone);
            let swarm = swarm.as_deref();
            let has = |selection: &Selection| {
                swarm.is_some_and(|swarm| selection.has_swarm(swarm)) || selection.has_drone(drone, swarm)
            };
            self.selection.as_ref().is_some_and(has)
        })
    }

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
