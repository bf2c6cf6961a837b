//! The decision of a reconcile of a Drone.

use crate::controllers::facts::DroneSnapshot;
use crds::labels;
use fleet::planning::drone::Claimed;
use fleet::safety::{LastDesired, NoRelease, Release, may_release};
use kube::ResourceExt;
use model::ids::{NodeName, Term};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// It is being deleted, and no finalizer of ours holds it.
    Nothing,
    Leave {
        /// The node to which it gets its claim back first, if no other Drone has that.
        claim: Option<NodeName>,
        verdict: Result<Release, NoRelease>,
    },
    Bind,
    /// The node is its own: ensure finalizer and claim.
    Hold(NodeName),
    /// A user wrote this into `spec.nodeName`: that node and no other, if its vehicle is free.
    BindTo(String),
}

pub fn decide(snapshot: &DroneSnapshot, term: Term) -> Step {
    if snapshot.facts.deleting {
        return leave(snapshot, term);
    }
    match (&snapshot.drone.spec.node_name, &snapshot.node) {
        (None, _) => Step::Bind,
        (Some(_), Some(node)) if snapshot.facts.claim == Claimed::Ours || snapshot.was_served() => {
            Step::Hold(node.clone())
        }
        (Some(request), _) => Step::BindTo(request.clone()),
    }
}

fn leave(snapshot: &DroneSnapshot, term: Term) -> Step {
    if !snapshot.facts.guarded {
        return Step::Nothing;
    }
    let served = snapshot.was_served();
    // Its agent is ordered to land only under a claim, and the old one is gone: removed by hand, or that of a Drone which a restored store
    // does not know. If another Drone has it, the node has gone over to that one, and an operator has to say what is true.
    let serves_none = snapshot.report.as_deref().is_some_and(|report| report.held.is_none());
    let can_be_had = match snapshot.facts.claim {
        Claimed::Free => !snapshot.held_by_agent(),
        Claimed::Other => serves_none,
        Claimed::Ours => false,
    };
    let unclaimed = served && can_be_had;
    let forced = snapshot
        .drone
        .annotations()
        .get(labels::FORCE_RELEASE)
        .is_some_and(|value| value == snapshot.uid());
    let desired = LastDesired {
        uid: &snapshot.facts.uid,
        term,
        generation: snapshot.facts.generation,
    };
    Step::Leave {
        claim: snapshot.node.clone().filter(|_| unclaimed),
        verdict: may_release(desired, served, snapshot.report.as_deref(), forced),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::key::Key;
    use crds::{Drone, DroneSpec};
    use fleet::planning::drone::{Facts, Ground};
    use fleet::planning::node_use::Lift;
    use model::assignment::Failsafe;
    use model::ids::{DroneName, DroneUid};
    use model::report::Report;
    use model::reported_flight::ReportedFlight;
    use model::units::AltitudeAboveHome;
    use std::sync::Arc;

    fn drone(node: Option<&str>, claim: Claimed) -> DroneSnapshot {
        let mut drone = Drone::new("a", DroneSpec::default());
        drone.spec.node_name = node.map(str::to_owned);
        drone.metadata.uid = Some("uid-a".into());
        let key = Key::of(&drone);
        DroneSnapshot {
            facts: Facts {
                uid: DroneUid("uid-a".into()),
                name: DroneName::from(&key),
                generation: 1,
                deleting: false,
                recalled: false,
                guarded: true,
                claim,
                altitude: AltitudeAboveHome(10.0),
                waits_for: None,
                failsafe: Failsafe::default(),
                ground: Ground::No,
                lift: Lift::Free,
                truth: None,
                flown: false,
                over: false,
                resume_after: 0,
                ground_mark: None,
                reported_flight: ReportedFlight::default(),
                forgotten: false,
                movement: None,
                rules: None,
                plan: None,
            },
            key,
            node: node.and_then(|node| NodeName::parse(node).ok()),
            drone: Arc::new(drone),
            usable: None,
            report: None,
        }
    }

    fn deleted(node: Option<&str>, claim: Claimed) -> DroneSnapshot {
        let mut snapshot = drone(node, claim);
        snapshot.facts.deleting = true;
        snapshot
    }

    fn step(snapshot: &DroneSnapshot) -> Step {
        decide(snapshot, Term(1))
    }

    fn n1() -> NodeName {
        NodeName::parse("n1").unwrap()
    }

    #[test]
    fn a_node_that_somebody_wrote_is_only_asked_for_until_the_drone_has_its_claim() {
        assert_eq!(step(&drone(None, Claimed::Free)), Step::Bind);
        for claim in [Claimed::Free, Claimed::Other] {
            assert_eq!(step(&drone(Some("n1"), claim)), Step::BindTo("n1".into()));
        }
        assert_eq!(step(&drone(Some("n1"), Claimed::Ours)), Step::Hold(n1()));
        assert_eq!(
            step(&drone(Some("no node"), Claimed::Free)),
            Step::BindTo("no node".into())
        );
    }

    #[test]
    fn a_drone_that_goes_leaves_what_is_not_ours_to_others() {
        let mut free = deleted(Some("n1"), Claimed::Ours);
        free.facts.guarded = false;
        assert_eq!(step(&free), Step::Nothing);
        let never = Step::Leave {
            claim: None,
            verdict: Ok(Release::NeverBound),
        };
        assert_eq!(step(&deleted(None, Claimed::Free)), never);
        assert_eq!(
            step(&deleted(Some("n1"), Claimed::Other)),
            never,
            "it merely names that node"
        );
    }

    #[test]
    fn a_drone_whose_claim_was_removed_by_hand_gets_it_back_to_be_landed() {
        let stays = |claim| Step::Leave {
            claim,
            verdict: Err(NoRelease::AgentSilent),
        };
        assert_eq!(step(&deleted(Some("n1"), Claimed::Ours)), stays(None));
        let mut lost = deleted(Some("n1"), Claimed::Free);
        let status = crds::DroneStatus {
            node_name: Some("n1".into()),
            ..crds::DroneStatus::default()
        };
        Arc::make_mut(&mut lost.drone).status = Some(status);
        assert_eq!(step(&lost), stays(Some(n1())));
        lost.facts.claim = Claimed::Other;
        assert_eq!(step(&lost), stays(None), "the node may have gone over to another");
        lost.report = Some(Arc::new(Report::of_nothing(n1())));
        let asks = Step::Leave {
            claim: Some(n1()),
            verdict: Err(NoRelease::NotTaken),
        };
        assert_eq!(step(&lost), asks, "its holder may be gone");
    }

    #[test]
    fn only_a_word_of_force_for_this_very_drone_lets_one_go_that_may_fly() {
        let forced = |uid: &str| {
            let mut snapshot = deleted(Some("n1"), Claimed::Ours);
            let drone = Arc::make_mut(&mut snapshot.drone);
            drone.annotations_mut().insert(labels::FORCE_RELEASE.into(), uid.into());
            step(&snapshot)
        };
        let with = |verdict| Step::Leave { claim: None, verdict };
        assert_eq!(forced("uid-a"), with(Ok(Release::Forced)));
        assert_eq!(forced("uid-of-an-earlier-one"), with(Err(NoRelease::AgentSilent)));
    }
}
