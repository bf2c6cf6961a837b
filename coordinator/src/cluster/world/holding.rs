//! The Drone that has a node. Anybody may name any node in a Drone; the vehicle there serves it only for a stronger reason.

use super::uid;
use crds::Drone;
use model::ids::DroneUid;

/// Whether `drone` has its node: it is the claim's `holder`, the agent serves it (`held`), or it was served when a person removed the
/// claim.
pub fn has_node(drone: &Drone, holder: Option<&str>, held: Option<&DroneUid>) -> bool {
    let me = uid(drone);
    let by_agent = held.is_some_and(|held| held.0 == me);
    let by_claim = holder.map_or_else(|| was_served(drone), |holder| holder == me);
    drone.spec.node_name.is_some() && (by_agent || by_claim)
}

/// Whether the status of `drone`, which only the coordinator writes, names the node of its spec: the vehicle was seen to serve it.
pub fn was_served(drone: &Drone) -> bool {
    let status = drone.status.as_ref();
    let served = status.and_then(|status| status.node_name.as_deref());
    served.is_some() && served == drone.spec.node_name.as_deref()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crds::{DroneSpec, DroneStatus};

    fn drone(served: Option<&str>) -> Drone {
        let mut drone = Drone::new("a", DroneSpec::default());
        drone.spec.node_name = Some("n".to_owned());
        drone.metadata.uid = Some("uid-a".to_owned());
        drone.status = served.map(|node| DroneStatus {
            node_name: Some(node.to_owned()),
            ..DroneStatus::default()
        });
        drone
    }

    #[test]
    fn a_drone_has_a_node_by_claim_agent_or_status_and_never_by_its_name_alone() {
        let (named, served) = (drone(None), drone(Some("n")));
        let held = DroneUid("uid-a".to_owned());
        for other in [None, Some("uid-b")] {
            assert!(!has_node(&named, other, None), "{other:?}");
            assert!(has_node(&named, other, Some(&held)), "its agent says so");
        }
        assert!(has_node(&named, Some("uid-a"), None));
        assert!(has_node(&served, None, None), "a person removed the claim");
        assert!(!has_node(&served, Some("uid-b"), None), "it has gone over to another");
        assert!(!has_node(&drone(Some("m")), None, None));
        assert!(!has_node(&named, None, Some(&DroneUid("uid-b".to_owned()))));
    }
}
