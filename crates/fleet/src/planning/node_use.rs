//! What may be done with the vehicle of a node, by its Node object.

/// With effect NoExecute: the node's vehicle is landed in an orderly way, and none takes off.
pub const GROUND_TAINT: &str = "skein.dev/ground";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NodeUse {
    Open,
    /// No new flights.
    Cordoned,
    /// Tainted with [`GROUND_TAINT`]: it is to be on the ground.
    Drained,
    /// There is no such node, or it has the drone label no more: no new flights.
    Gone,
}

impl NodeUse {
    /// From `spec.unschedulable` and the taints.
    pub const fn of(cordoned: bool, drained: bool) -> Self {
        match (drained, cordoned) {
            (true, _) => Self::Drained,
            (false, true) => Self::Cordoned,
            (false, false) => Self::Open,
        }
    }
}

/// [`GROUND_TAINT`] with its effect.
pub fn drains(key: &str, effect: &str) -> bool {
    key == GROUND_TAINT && effect == "NoExecute"
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnCordon {
    #[default]
    Continue,
    Land,
}

/// Takeoff clearance, as far as node and Swarm go. Ground orders are separate ([`crate::planning::drone::Ground`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lift {
    Free,
    /// What flies goes on; what is on the ground stays.
    Stay(NoLift),
    /// Its node is drained, and it has no Swarm that would replace it first.
    Land,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NoLift {
    /// The coordinator cannot renew its Lease, so another may lead.
    Doubt,
    Cordoned,
    Drained,
    /// Or no drone node any more.
    NodeGone,
    /// Its agent is about to be replaced by a newer version, or is not steady again since.
    Upgrade,
    TakeoffSlot,
    Airspace,
    /// It is to hold above home where a Geofence does not allow it.
    Geofence,
    /// Whether a Geofence selects its vehicle is not known yet.
    FencesUnknown,
    /// A fence or parameters that select its vehicle are not in force, and it requires them.
    Rules,
    /// No part of its Mission yet, or its autopilot has not taken the plan yet.
    Plan,
}

/// `replaced`: it has a Swarm or a Mission that sees to a replacement.
pub const fn lift(node: NodeUse, replaced: bool) -> Lift {
    match node {
        NodeUse::Open => Lift::Free,
        NodeUse::Cordoned => Lift::Stay(NoLift::Cordoned),
        NodeUse::Gone => Lift::Stay(NoLift::NodeGone),
        NodeUse::Drained if replaced => Lift::Stay(NoLift::Drained),
        NodeUse::Drained => Lift::Land,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_ground_taint_that_drains_drains() {
        assert!(drains(GROUND_TAINT, "NoExecute"));
        assert!(!drains(GROUND_TAINT, "NoSchedule"));
        assert!(
            !drains("node.kubernetes.io/unreachable", "NoExecute"),
            "no vehicle is landed for a node that is lost"
        );
    }

    #[test]
    fn a_cordon_lifts_nobody_and_lands_nobody_and_a_drain_lands_who_has_no_swarm() {
        for replaced in [false, true] {
            assert_eq!(lift(NodeUse::of(false, false), replaced), Lift::Free);
            assert_eq!(lift(NodeUse::of(true, false), replaced), Lift::Stay(NoLift::Cordoned));
            assert_eq!(lift(NodeUse::Gone, replaced), Lift::Stay(NoLift::NodeGone));
        }
        assert_eq!(lift(NodeUse::of(true, true), true), Lift::Stay(NoLift::Drained));
        assert_eq!(lift(NodeUse::of(false, true), false), Lift::Land);
    }
}
