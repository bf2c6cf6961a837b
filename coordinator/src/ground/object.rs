//! The mark of a ground order on a Swarm or Drone: `spec.grounded`, and the order's number in an annotation.
//!
//! The number stays when the order is released, so that an agent which was away meanwhile, and a coordinator that was started since, know
//! that it has ended. Must not: call the API.

use crate::cluster::key::Key;
use crate::cluster::world::uid;
use crds::labels;
use crds::{Drone, Swarm};
use kube::ResourceExt;
use model::ground::GroundOrderId;
use serde_json::{Value, json};

/// Follows the number, once the order was released.
const RELEASED: &str = "released";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marked {
    pub uid: String,
    pub key: Key,
    pub kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// With all its Drones.
    Swarm,
    Drone,
}

impl Marked {
    pub fn drone(drone: &Drone) -> Self {
        Self {
            uid: uid(drone).to_owned(),
            key: Key::of(drone),
            kind: Kind::Drone,
        }
    }

    pub(super) fn path(&self) -> String {
        let kind = match self.kind {
            Kind::Swarm => "Swarm",
            Kind::Drone => "Drone",
        };
        format!("{kind}/{}/{}", self.key.namespace, self.key.name)
    }

    pub fn swarm(swarm: &Swarm) -> Self {
        Self {
            uid: uid(swarm).to_owned(),
            key: Key::of(swarm),
            kind: Kind::Swarm,
        }
    }
}

/// The last ground order that is recorded on an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    pub id: GroundOrderId,
    pub released: bool,
}

impl Recorded {
    /// `None` without a record, or with one that cannot be parsed.
    pub fn on(object: &impl ResourceExt) -> Option<Self> {
        let mut words = object.annotations().get(labels::GROUND_ORDER)?.split(' ');
        let id = GroundOrderId(words.next()?.parse().ok()?);
        match (words.next(), words.next()) {
            (None, None) => Some(Self { id, released: false }),
            (Some(RELEASED), None) => Some(Self { id, released: true }),
            _ => None,
        }
    }

    fn text(self) -> String {
        let Self { id, released } = self;
        if released {
            format!("{} {RELEASED}", id.0)
        } else {
            id.0.to_string()
        }
    }
}

/// Grounds or releases the object with `uid`, and records `order`.
pub(super) fn patch(uid: &str, grounded: bool, order: Option<Recorded>) -> Value {
    let mut patch = json!({"metadata": {"uid": uid}, "spec": {"grounded": grounded}});
    if let Some(order) = order {
        patch["metadata"]["annotations"] = json!({labels::GROUND_ORDER: order.text()});
    }
    patch
}

#[cfg(test)]
mod tests {
    use super::*;
    use crds::DroneSpec;

    fn with(annotation: &str) -> Drone {
        let mut drone = Drone::new("alpha-1", DroneSpec::default());
        drone
            .annotations_mut()
            .insert(labels::GROUND_ORDER.into(), annotation.into());
        drone
    }

    #[test]
    fn an_order_and_its_release_are_read_as_they_are_written() {
        for released in [false, true] {
            let order = Recorded {
                id: GroundOrderId(u64::MAX),
                released,
            };
            let change = patch("u", !released, Some(order));
            let text = change["metadata"]["annotations"][labels::GROUND_ORDER]
                .as_str()
                .unwrap();
            assert_eq!(Recorded::on(&with(text)), Some(order));
            assert_eq!(
                (&change["metadata"]["uid"], &change["spec"]["grounded"]),
                (&json!("u"), &json!(!released))
            );
        }
        assert!(patch("u", false, None)["metadata"].get("annotations").is_none());
    }

    #[test]
    fn what_people_wrote_there_is_no_order() {
        for text in ["", "7 maybe", "seven", "7 released 8", "-1"] {
            assert_eq!(Recorded::on(&with(text)), None, "{text:?}");
        }
        assert_eq!(Recorded::on(&Drone::new("alpha-1", DroneSpec::default())), None);
    }
}
