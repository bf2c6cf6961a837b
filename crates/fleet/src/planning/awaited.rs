//! Vehicles that were in the air when a leader before heard them last, and that this leader has not heard.
//!
//! Owns: for which of them it waits yet. Must not: say where they may be; a [`Site`](crate::planning::site::Site) does.

use model::ids::NodeName;
use model::report::Report;
use model::vehicle::FlightTruth;
use std::collections::BTreeMap;

/// Vehicles by the names of their objects in the inventory, with their nodes. None is added in a leadership: this leader hears itself who takes off.
#[derive(Clone, Debug, Default)]
pub struct Awaited(BTreeMap<String, NodeName>);

impl Awaited {
    /// Waits for all `in_air` by the inventory.
    pub fn new(in_air: impl IntoIterator<Item = (String, NodeName)>) -> Self {
        Self(in_air.into_iter().collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn nodes(&self) -> impl Iterator<Item = &NodeName> {
        self.0.values()
    }

    /// Ends the wait for those whose node `is_heard`: from then on what this leader observed counts. Returns their nodes.
    pub fn hear(&mut self, is_heard: impl Fn(&NodeName) -> bool) -> Vec<NodeName> {
        self.end(|_, node| is_heard(node))
    }

    /// Ends the wait for those that are not `in_air` by the inventory any more, by the names of their objects. Returns their nodes.
    pub fn keep(&mut self, in_air: impl Fn(&str) -> bool) -> Vec<NodeName> {
        self.end(|object, _| !in_air(object))
    }

    /// A person has declared that the vehicle of `node` is not in the air (invariant 19).
    pub fn declare_down(&mut self, node: &NodeName) {
        self.0.retain(|_, of| of != node);
    }

    fn end(&mut self, ends: impl Fn(&str, &NodeName) -> bool) -> Vec<NodeName> {
        let mut ended = Vec::new();
        self.0.retain(|object, node| {
            let ends = ends(object, node);
            if ends {
                ended.push(node.clone());
            }
            !ends
        });
        ended
    }
}

/// Whether `report` says where its vehicle is and where it returns to, or that it is on the ground.
pub const fn says_where(report: &Report) -> bool {
    match report.truth {
        FlightTruth::Airborne(_) => report.position.is_some() && report.home.is_some(),
        FlightTruth::Disarmed | FlightTruth::ArmedOnGround => true,
        FlightTruth::Unknown(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::vehicle::{Airborne, WhyUnknown};

    fn name(name: &str) -> NodeName {
        NodeName::parse(name).unwrap()
    }

    #[test]
    fn one_is_awaited_until_it_is_heard_or_declared_down_or_its_object_says_that_it_landed() {
        let all = ["a", "b", "c", "d"].map(|node| (format!("{node}-1"), name(node)));
        let mut awaited = Awaited::new(all);
        assert_eq!(awaited.hear(|node| *node == name("a")), [name("a")]);
        assert_eq!(awaited.keep(|object| object != "b-1"), [name("b")]);
        awaited.declare_down(&name("c"));
        assert_eq!(awaited.nodes().collect::<Vec<_>>(), [&name("d")]);
        assert!(awaited.hear(|_| false).is_empty() && !awaited.is_empty());
    }

    #[test]
    fn an_agent_that_does_not_hear_its_autopilot_does_not_say_where_its_vehicle_is() {
        let says = |truth| {
            says_where(&Report {
                truth,
                ..Report::of_nothing(name("a"))
            })
        };
        assert!(says(FlightTruth::Disarmed));
        assert!(!says(FlightTruth::Unknown(WhyUnknown::NeverHeard)));
        assert!(!says(FlightTruth::Airborne(Airborne::InAir)), "without a position");
    }
}
