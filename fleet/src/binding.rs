//! Which node a Drone gets, and who holds the claim to a node.
//!
//! Owns: [`choose`], with the account of why there is none, and [`claim`], the take-over rule for claims.
//! Must not: write anything. A choice is a wish until the claim is written.

use crate::ids::{DroneUid, NodeName};
use crate::report::Report;
use crate::units::Percent;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What a Drone asks of its node.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Labels that the node must carry.
    pub selector: &'a BTreeMap<String, String>,
    /// The one node that a user named; `None` for any.
    pub only: Option<&'a str>,
}

/// A node with the drone label, as far as binding goes.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// Its name.
    pub node: &'a NodeName,
    /// Its labels.
    pub labels: &'a BTreeMap<String, String>,
    /// Condition Ready is True.
    pub ready: bool,
    /// Cordoned (`spec.unschedulable`).
    pub cordoned: bool,
    /// Carries a NoSchedule or NoExecute taint that Drones do not tolerate.
    pub tainted: bool,
    /// Another Drone is bound to it, claims it, or is about to.
    pub taken: bool,
    /// Last report of its agent, while the agent is connected and the report is fresh.
    pub report: Option<&'a Report>,
}

/// Why no node could be chosen: how many nodes were turned down, for which reason each (the first that applied).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoVehicle {
    /// The node that a user named.
    pub only: Option<String>,
    /// Nodes looked at.
    pub nodes: usize,
    /// Nodes turned down, by reason.
    pub turned_down: BTreeMap<Why, usize>,
}

/// Why a node does not do, in the order in which they are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Why {
    /// Its labels do not match.
    Selector,
    /// It serves another Drone.
    Taken,
    /// It is cordoned.
    Cordoned,
    /// It carries a taint.
    Tainted,
    /// Kubernetes does not see it as Ready.
    NotReady,
    /// Its agent is not connected.
    AgentSilent,
    /// Its agent is ending.
    AgentEnding,
    /// Its agent does not hear the autopilot.
    AutopilotSilent,
    /// Its vehicle is not known to be landed and disarmed, or the agent still serves a Drone with it.
    NotIdle,
}

impl Why {
    const fn text(self) -> &'static str {
        match self {
            Self::Selector => "do not match nodeSelector",
            Self::Taken => "serve other Drones",
            Self::Cordoned => "are cordoned",
            Self::Tainted => "carry a taint",
            Self::NotReady => "are not Ready",
            Self::AgentSilent => "have no connected agent",
            Self::AgentEnding => "have an agent that is ending",
            Self::AutopilotSilent => "do not hear their autopilot",
            Self::NotIdle => "have a vehicle that is not known to be landed and disarmed",
        }
    }
}

impl fmt::Display for NoVehicle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.only, self.nodes) {
            (Some(node), 0) => {
                return write!(
                    f,
                    "spec.nodeName: there is no drone node {node}; see `kubectl get nodes -l node-role.kubernetes.io/drone`"
                );
            }
            (Some(node), _) => write!(
                f,
                "spec.nodeName: the vehicle of node {node} cannot be had: of 1 drone node "
            )?,
            (None, 0) => {
                return f.write_str("no vehicle is free: no node carries the label node-role.kubernetes.io/drone");
            }
            (None, 1) => f.write_str("no vehicle is free: of 1 drone node ")?,
            (None, n) => write!(f, "no vehicle is free: of {n} drone nodes ")?,
        }
        for (i, (why, count)) in self.turned_down.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{count} {}", why.text())?;
        }
        Ok(())
    }
}

/// The best node: one whose autopilot is ready to arm, then the fullest battery, then the first by name.
///
/// # Errors
/// [`NoVehicle`], with a count by cause.
pub fn choose<'a>(
    wanted: Wanted<'_>,
    candidates: impl IntoIterator<Item = Candidate<'a>>,
) -> Result<&'a NodeName, NoVehicle> {
    let mut none = NoVehicle {
        only: wanted.only.map(str::to_owned),
        ..NoVehicle::default()
    };
    let mut best = None;
    for c in candidates
        .into_iter()
        .filter(|c| wanted.only.is_none_or(|only| c.node.as_str() == only))
    {
        none.nodes += 1;
        match judge(wanted, &c) {
            Err(why) => *none.turned_down.entry(why).or_default() += 1,
            Ok(report) => {
                let battery: Option<Percent> = report.battery.and_then(|b| b.remaining);
                let rank = (report.ready == Some(true), battery, Reverse(c.node));
                if best.as_ref().is_none_or(|(other, _)| rank > *other) {
                    best = Some((rank, c.node));
                }
            }
        }
    }
    best.map(|(_, node)| node).ok_or(none)
}

fn judge<'a>(wanted: Wanted<'_>, c: &Candidate<'a>) -> Result<&'a Report, Why> {
    if !wanted
        .selector
        .iter()
        .all(|(key, value)| c.labels.get(key) == Some(value))
    {
        return Err(Why::Selector);
    }
    if c.taken {
        return Err(Why::Taken);
    }
    if c.cordoned {
        return Err(Why::Cordoned);
    }
    if c.tainted {
        return Err(Why::Tainted);
    }
    if !c.ready {
        return Err(Why::NotReady);
    }
    let report = c.report.ok_or(Why::AgentSilent)?;
    if report.terminating {
        return Err(Why::AgentEnding);
    }
    if !report.link_alive {
        return Err(Why::AutopilotSilent);
    }
    let settled = report.held.as_ref().is_none_or(|held| held.settled);
    if report.vehicle_free() && settled {
        Ok(report)
    } else {
        Err(Why::NotIdle)
    }
}

/// A taint that keeps Drones away, by key and effect. Cordon is looked at by itself, and readiness by the Ready condition.
#[must_use]
pub fn taint_matters(key: &str, effect: &str) -> bool {
    let looked_at_elsewhere = BTreeSet::from([
        "node.kubernetes.io/unschedulable",
        "node.kubernetes.io/not-ready",
        DRONE_TAINT,
    ]);
    matches!(effect, "NoSchedule" | "NoExecute") && !looked_at_elsewhere.contains(key)
}

/// A taint that keeps ordinary workloads off drone nodes; Drones tolerate it.
pub const DRONE_TAINT: &str = "node-role.kubernetes.io/drone";

/// What to do about the claim to a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// It is ours already.
    Ours,
    /// Nobody holds it: create it.
    Create,
    /// Somebody else holds it: find out, from the API server and not from a cache, whether that Drone still exists.
    AskForHolder(DroneUid),
    /// Its holder is gone: take it over.
    TakeOver,
    /// Its holder exists: the node is taken.
    Taken(DroneUid),
}

/// What the Drone `me` should do, when `holder` holds the claim and `holder_exists` is what the API server said of it.
#[must_use]
pub fn claim(me: &DroneUid, holder: Option<&DroneUid>, holder_exists: Option<bool>) -> Claim {
    match (holder, holder_exists) {
        (None, _) => Claim::Create,
        (Some(holder), _) if holder == me => Claim::Ours,
        (Some(holder), None) => Claim::AskForHolder(holder.clone()),
        (Some(_), Some(false)) => Claim::TakeOver,
        (Some(holder), Some(true)) => Claim::Taken(holder.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assignment::Held;
    use crate::ids::Term;
    use crate::vehicle::{Airborne, Battery, Charge, FlightTruth, WhyUnknown};

    struct Node {
        name: NodeName,
        labels: BTreeMap<String, String>,
        report: Option<Report>,
        ready: bool,
        cordoned: bool,
        taken: bool,
    }

    fn node(name: &str) -> Node {
        let name = NodeName::parse(name).unwrap();
        let report = Report {
            link_alive: true,
            truth: FlightTruth::Disarmed,
            ready: Some(true),
            ..Report::of_nothing(name.clone())
        };
        Node {
            name,
            labels: BTreeMap::new(),
            report: Some(report),
            ready: true,
            cordoned: false,
            taken: false,
        }
    }

    impl Node {
        fn with(mut self, change: impl FnOnce(&mut Report)) -> Self {
            if let Some(report) = &mut self.report {
                change(report);
            }
            self
        }

        fn battery(self, percent: u8) -> Self {
            self.with(|r| {
                r.battery = Some(Battery {
                    charge: Charge::Unknown,
                    remaining: Percent::new(percent),
                    volts: None,
                })
            })
        }
    }

    fn pick(wanted: Wanted<'_>, nodes: &[Node]) -> Result<String, String> {
        let candidates = nodes.iter().map(|n| Candidate {
            node: &n.name,
            labels: &n.labels,
            ready: n.ready,
            cordoned: n.cordoned,
            tainted: false,
            taken: n.taken,
            report: n.report.as_ref(),
        });
        choose(wanted, candidates)
            .map(ToString::to_string)
            .map_err(|none| none.to_string())
    }

    fn any(nodes: &[Node]) -> Result<String, String> {
        pick(
            Wanted {
                selector: &BTreeMap::new(),
                only: None,
            },
            nodes,
        )
    }

    #[test]
    fn a_busy_first_node_does_not_end_the_search() {
        let busy = Node {
            taken: true,
            ..node("a")
        };
        assert_eq!(any(&[busy, node("b")]), Ok("b".into()));
    }

    #[test]
    fn the_vehicle_that_can_arm_goes_before_the_fuller_battery_and_that_before_the_name() {
        let not_ready = node("a").battery(100).with(|r| r.ready = Some(false));
        assert_eq!(
            any(&[not_ready, node("b").battery(30), node("c").battery(60)]),
            Ok("c".into())
        );
        assert_eq!(any(&[node("b").battery(60), node("a").battery(60)]), Ok("a".into()));
        assert_eq!(
            any(&[node("a"), node("b").battery(1)]),
            Ok("b".into()),
            "a known battery beats an unknown one"
        );
    }

    #[test]
    fn no_vehicle_that_is_not_known_to_be_down_is_chosen() {
        for truth in [
            FlightTruth::ArmedOnGround,
            FlightTruth::Airborne(Airborne::InAir),
            FlightTruth::Unknown(WhyUnknown::LandedStateUnknown),
        ] {
            let n = node("a").with(|r| r.truth = truth);
            assert!(
                any(&[n]).unwrap_err().contains("not known to be landed and disarmed"),
                "{truth:?}"
            );
        }
    }

    #[test]
    fn a_vehicle_whose_agent_has_not_settled_its_last_drone_is_not_free() {
        let held = Held {
            uid: DroneUid("old".into()),
            term: Term(1),
            generation: 1,
            grounded: true,
            settled: false,
        };
        assert!(any(&[node("a").with(|r| r.held = Some(held.clone()))]).is_err());
        assert!(any(&[node("a").with(|r| r.held = Some(Held { settled: true, ..held }))]).is_ok());
    }

    #[test]
    fn a_pending_drone_is_told_how_many_nodes_failed_for_which_reason() {
        let taken = |name| Node {
            taken: true,
            ..node(name)
        };
        let all = [taken("a"), taken("b"), taken("c"), taken("d")];
        assert_eq!(
            any(&all).unwrap_err(),
            "no vehicle is free: of 4 drone nodes 4 serve other Drones"
        );
        let mixed = [
            taken("a"),
            Node {
                cordoned: true,
                ..node("b")
            },
            Node {
                ready: false,
                ..node("c")
            },
            Node {
                report: None,
                ..node("d")
            },
            node("e").with(|r| r.link_alive = false),
            node("f").with(|r| r.terminating = true),
        ];
        assert_eq!(
            any(&mixed).unwrap_err(),
            "no vehicle is free: of 6 drone nodes 1 serve other Drones, 1 are cordoned, 1 are not Ready, \
             1 have no connected agent, 1 have an agent that is ending, 1 do not hear their autopilot"
        );
        assert!(any(&[]).unwrap_err().contains("no node carries the label"));
    }

    #[test]
    fn a_node_selector_is_obeyed() {
        let selector = BTreeMap::from([("camera".to_owned(), "thermal".to_owned())]);
        let wanted = Wanted {
            selector: &selector,
            only: None,
        };
        let mut thermal = node("b");
        thermal.labels.insert("camera".into(), "thermal".into());
        assert_eq!(pick(wanted, &[node("a").battery(100), thermal]), Ok("b".into()));
        assert!(
            pick(wanted, &[node("a")])
                .unwrap_err()
                .contains("1 do not match nodeSelector")
        );
    }

    #[test]
    fn a_node_named_by_the_user_is_the_only_one_looked_at() {
        let wanted = Wanted {
            selector: &BTreeMap::new(),
            only: Some("b"),
        };
        assert_eq!(pick(wanted, &[node("a").battery(100), node("b")]), Ok("b".into()));
        assert!(
            pick(wanted, &[node("a")])
                .unwrap_err()
                .contains("there is no drone node b")
        );
    }

    #[test]
    fn cordon_and_not_ready_are_no_taints_of_their_own_and_the_drone_taint_is_tolerated() {
        assert!(taint_matters("maintenance", "NoSchedule"));
        assert!(taint_matters("node.kubernetes.io/unreachable", "NoExecute"));
        assert!(!taint_matters("maintenance", "PreferNoSchedule"));
        assert!(!taint_matters("node.kubernetes.io/unschedulable", "NoSchedule"));
        assert!(!taint_matters(DRONE_TAINT, "NoSchedule"));
    }

    #[test]
    fn a_claim_is_taken_over_only_once_the_api_server_says_that_its_holder_is_gone() {
        let (me, other) = (DroneUid("me".into()), DroneUid("other".into()));
        assert_eq!(claim(&me, None, None), Claim::Create);
        assert_eq!(claim(&me, Some(&me), None), Claim::Ours);
        assert_eq!(claim(&me, Some(&other), None), Claim::AskForHolder(other.clone()));
        assert_eq!(claim(&me, Some(&other), Some(true)), Claim::Taken(other.clone()));
        assert_eq!(claim(&me, Some(&other), Some(false)), Claim::TakeOver);
    }
}
