//! The airframe that each agent observes, and the Drone that its vehicle serves.

use super::next::{Airframe, airframe};
use crate::cluster::world::holding::has_node;
use crds::Drone;
use model::ids::NodeName;
use model::report::Report;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// An autopilot that has not reported its version after this long counts as one that does not.
pub const VERSION_REPORT_TIMEOUT: Duration = Duration::from_secs(30);

/// Cheap to clone; clones share state.
#[derive(Clone, Debug, Default)]
pub struct Airframes(Arc<Mutex<HashMap<NodeName, Instant>>>);

impl Airframes {
    /// The airframe in this `report`; `None` while unknown, as after each reboot until the autopilot has reported its version.
    pub fn of(&self, node: &NodeName, report: Option<&Report>, now: Instant) -> Option<Airframe> {
        let mut unnamed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let observed = report.filter(|report| report.identity.is_some());
        let at_once = observed.and_then(|report| airframe(report, false));
        match (observed, at_once) {
            (Some(report), None) => {
                let since = *unnamed.entry(node.clone()).or_insert(now);
                airframe(report, now.duration_since(since) >= VERSION_REPORT_TIMEOUT)
            }
            _ => {
                unnamed.remove(node);
                at_once
            }
        }
    }

    pub fn keep(&self, is_connected: impl Fn(&NodeName) -> bool) {
        let mut unnamed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        unnamed.retain(|node, _| is_connected(node));
    }
}

/// The one of `drones`, which all name one node, that the vehicle of that node serves; `holder` is the uid of the Drone with the claim.
pub fn served<'a>(drones: &'a [Arc<Drone>], holder: Option<&str>) -> Option<&'a Arc<Drone>> {
    drones.iter().find(|drone| has_node(drone, holder, None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::world::uid;
    use crds::{DroneSpec, DroneStatus};
    use model::vehicle::{Autopilot, HardwareUid, Identity};

    fn node() -> NodeName {
        NodeName::parse("gate-1").unwrap()
    }

    fn drone(uid: &str, was_served: bool) -> Arc<Drone> {
        let mut drone = Drone::new(uid, DroneSpec::default());
        drone.spec.node_name = Some("gate-1".to_owned());
        drone.metadata.uid = Some(uid.to_owned());
        drone.status = was_served.then(|| DroneStatus {
            node_name: Some("gate-1".to_owned()),
            ..DroneStatus::default()
        });
        Arc::new(drone)
    }

    #[test]
    fn a_vehicle_serves_the_holder_of_the_claim_and_none_that_merely_names_its_node() {
        let drones = [drone("a", false), drone("b", false), drone("c", true)];
        let of = |holder| served(&drones, holder).map(|drone| uid(drone.as_ref()).to_owned());
        assert_eq!(of(Some("b")), Some("b".to_owned()), "not the first by name");
        assert_eq!(of(Some("gone")), None);
        assert_eq!(of(None), Some("c".to_owned()), "the claim was removed by hand");
        assert_eq!(served(&drones[..2], None), None);
    }

    #[test]
    fn an_autopilot_that_tells_no_version_is_awaited_and_again_after_each_reconnection() {
        let report = |firmware: Option<&str>, hardware| Report {
            identity: Some(Identity {
                autopilot: Autopilot::Px4,
                system: model::units::SystemId(1),
                component: model::units::ComponentId(1),
                firmware: firmware.map(str::to_owned),
                hardware,
            }),
            ..Report::of_nothing(node())
        };
        let (airframes, start) = (Airframes::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        let silent = report(None, None);
        assert_eq!(airframes.of(&node(), Some(&silent), at(0)), None);
        assert_eq!(airframes.of(&node(), Some(&silent), at(29)), None);
        let both = airframes.clone();
        assert_eq!(
            both.of(&node(), Some(&silent), at(30)),
            Some(Airframe(None)),
            "for both alike"
        );
        let named = report(Some("1.17.0"), Some(HardwareUid::Short(7)));
        assert_eq!(
            airframes.of(&node(), Some(&named), at(31)),
            Some(Airframe(Some(HardwareUid::Short(7))))
        );
        assert_eq!(airframes.of(&node(), Some(&silent), at(32)), None, "it has rebooted");
        airframes.keep(|_| false);
        assert_eq!(airframes.of(&node(), Some(&silent), at(90)), None, "it was away");
        assert_eq!(airframes.of(&node(), None, at(91)), None);
    }
}
