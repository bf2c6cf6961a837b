//! What log lines are about: each line of work on a Drone is in its span, and so with Swarms and agents.
//!
//! ```text
//! drone{namespace drone uid node}   work on one Drone; node once it has one
//! swarm{namespace swarm uid}        work on one Swarm
//! agent{node}                       the session of one agent; a drone span is inside where it is about a Drone
//! ```
//!
//! They are of the highest level, so that lines have them whatever `RUST_LOG` leaves out.

use crate::cluster::key::Key;
use crate::cluster::world::{World, uid};
use crds::Drone;
use kube::{Resource, ResourceExt};
use model::assignment::Assignment;
use model::ids::NodeName;
use tracing::{Span, error_span};

pub fn drone(drone: &Drone) -> Span {
    let (Key { namespace, name }, node) = (Key::of(drone), drone.spec.node_name.as_deref());
    error_span!("drone", namespace, drone = name, uid = uid(drone), node)
}

pub fn drone_of(world: &World, key: &Key) -> Span {
    let known = world.get_drone(key);
    known.map_or_else(
        || error_span!("drone", namespace = key.namespace, drone = key.name),
        |known| drone(&known),
    )
}

pub fn assignment(node: &NodeName, assignment: &Assignment) -> Span {
    let (name, uid) = (&assignment.name, &assignment.uid);
    error_span!("drone", namespace = name.namespace, drone = name.name, %uid, %node)
}

/// Work on a Swarm or Drone of which nothing but the object's metadata matters.
pub fn object<K: Resource<DynamicType = ()>>(object: &K) -> Span {
    let Key { namespace, name } = Key::of(object);
    let uid = object.uid();
    if K::kind(&()) == "Drone" {
        error_span!("drone", namespace, drone = name, uid)
    } else {
        error_span!("swarm", namespace, swarm = name, uid)
    }
}

pub fn agent(node: &NodeName) -> Span {
    error_span!("agent", %node)
}
