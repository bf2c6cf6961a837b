//! Which node a Drone gets, and which Drone holds the claim to a node.
//!
//! Owns: [`choose`], with the reasons why there is none, and [`claim`], the take-over rule for claims.
//! Must not: write anything. A choice counts once the claim is written.

use model::ids::{DroneUid, NodeName};
use model::report::Report;
use model::units::{Percent, Wgs84};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

#[derive(Clone, Copy, Debug)]
pub struct Requirements<'a> {
    pub selector: &'a BTreeMap<String, String>,
    /// Named by a user; `None` for any.
    pub only: Option<&'a str>,
    /// With this much battery or less a vehicle could not take off, or would be relieved at once.
    pub more_than: Percent,
    /// Where others of its Swarm fly.
    pub near: Option<Wgs84>,
    /// Its people may use the vehicles that are granted to it ([`is_granted`]).
    pub namespace: &'a str,
    /// Whether a vehicle that is granted to no namespace is out, too.
    pub granted_only: bool,
}

#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    pub node: &'a NodeName,
    pub labels: &'a BTreeMap<String, String>,
    pub ready: bool,
    /// `spec.unschedulable`.
    pub cordoned: bool,
    /// NoSchedule or NoExecute, not tolerated by Drones.
    pub tainted: bool,
    /// Another Drone is bound to it, claims it, or is about to.
    pub taken: bool,
    /// Its agent is about to be replaced by a newer version, or is not steady again since.
    pub upgrading: bool,
    pub grounded: bool,
    /// By its hardware number, its airframe may be flying for a Drone of another node whose agent is away: the vehicle's computer was set
    /// up anew, or renamed.
    pub flies_elsewhere: bool,
    /// While its agent is connected and the report is fresh.
    pub report: Option<&'a Report>,
}

/// How many nodes were rejected, each by its first reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoVehicle {
    pub only: Option<String>,
    pub nodes: usize,
    pub rejected: BTreeMap<Why, usize>,
}

/// In the order of checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Why {
    Selector,
    NotGranted,
    Taken,
    Cordoned,
    Tainted,
    NotReady,
    AgentUpgrading,
    Grounded,
    AgentSilent,
    AgentEnding,
    /// Its agent receives nothing from its autopilot.
    AutopilotSilent,
    /// Not known to be landed and disarmed, or the agent still serves a Drone with it.
    NotIdle,
    OthersFlew,
    /// Its airframe may be flying for a Drone of another node, whose agent is away.
    FliesElsewhere,
    /// Its vehicle has landed without an order and is left to a person.
    StandsDown,
    LowBattery,
}

impl Why {
    const fn text(self) -> &'static str {
        match self {
            Self::Selector => "do not match nodeSelector",
            Self::NotGranted => "are not granted to this namespace (label use.skein.dev/NAMESPACE)",
            Self::Taken => "serve other Drones",
            Self::Cordoned => "are cordoned",
            Self::Tainted => "carry a taint",
            Self::NotReady => "are not Ready",
            Self::AgentUpgrading => "have an agent that is being upgraded",
            Self::Grounded => "are kept on the ground by a ground order",
            Self::AgentSilent => "have no connected agent",
            Self::AgentEnding => "have an agent that is ending",
            Self::AutopilotSilent => "receive nothing from their autopilot",
            Self::NotIdle => "have a vehicle that is not known to be landed and disarmed",
            Self::OthersFlew => "were just flown by somebody else and are offered again after a quiet time",
            Self::FliesElsewhere => {
                "have an airframe that may be flying for a Drone of another node, whose agent is away"
            }
            Self::StandsDown => {
                "have a vehicle that landed without an order and stays down until a person acts (`skein resume --vehicle`)"
            }
            Self::LowBattery => "have too low a battery",
        }
    }

    /// Also the reason of a condition.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Selector => "SelectorDiffers",
            Self::NotGranted => "NotGranted",
            Self::Taken => "Taken",
            Self::Cordoned => "NodeCordoned",
            Self::Tainted => "NodeTainted",
            Self::NotReady => "NodeNotReady",
            Self::AgentUpgrading => "AgentUpgrading",
            Self::Grounded => "Grounded",
            Self::AgentSilent => "AgentSilent",
            Self::AgentEnding => "AgentEnding",
            Self::AutopilotSilent => "AutopilotSilent",
            Self::NotIdle => "NotIdle",
            Self::OthersFlew => "OthersFlew",
            Self::FliesElsewhere => "FliesElsewhere",
            Self::StandsDown => "StandsDown",
            Self::LowBattery => "LowBattery",
        }
    }

    /// Of one node, with what to do.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Selector => "its labels do not match nodeSelector",
            Self::NotGranted => "it is granted to other namespaces only (label use.skein.dev/NAMESPACE)",
            Self::Taken => "a Drone is bound to this node, or is about to be",
            Self::Cordoned => "this node is cordoned, so no Drone can be bound to it until `kubectl uncordon`",
            Self::Tainted => "this node carries a taint, so no Drone can be bound to it; see `kubectl describe node`",
            Self::NotReady => {
                "Kubernetes does not see this node as Ready, so no Drone can be bound to it; see `kubectl describe node`"
            }
            Self::AgentUpgrading => {
                "its agent is being replaced by a newer version; a Drone can be bound to this node after that"
            }
            Self::Grounded => {
                "a ground order keeps its vehicle on the ground, so no Drone can be bound to this node until `skein release`"
            }
            Self::AgentSilent => "its agent has connected and not reported yet",
            Self::AgentEnding => "its agent is ending, so no Drone can be bound to this node",
            Self::AutopilotSilent => {
                "the agent receives nothing from its autopilot any more, so no Drone can be bound to this node; check cable, port, baud rate and power"
            }
            Self::NotIdle => {
                "its vehicle is not known to be landed and disarmed, so no Drone can be bound to this node"
            }
            Self::OthersFlew => {
                "somebody else has just flown its vehicle; a Drone can be bound to this node after a quiet time"
            }
            Self::FliesElsewhere => {
                "by its hardware number its airframe may be flying for a Drone of another node, whose agent is away, so no Drone can be bound to this node; if the computer was set up anew, give it the old name again, else look at the vehicle, then delete that Drone and force its release"
            }
            Self::StandsDown => {
                "its vehicle has landed without an order and stays down until a person acts, so no Drone can be bound to this node; check the vehicle, then `skein resume --vehicle` with the name of this node"
            }
            Self::LowBattery => "its battery is too low",
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
        for (i, (why, count)) in self.rejected.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{count} {}", why.text())?;
        }
        Ok(())
    }
}

/// The best nodes, best first, at most `most`: ready to arm, fuller battery by tens of percent, nearer to the others, fuller battery, name.
/// Unknown comes last each time.
///
/// # Errors
/// [`NoVehicle`], with a count by cause, if there is none.
pub fn choose<'a>(
    required: Requirements<'_>,
    candidates: impl IntoIterator<Item = Candidate<'a>>,
    most: usize,
) -> Result<Vec<&'a NodeName>, NoVehicle> {
    let mut none = NoVehicle {
        only: required.only.map(str::to_owned),
        ..NoVehicle::default()
    };
    let mut found = Vec::new();
    for c in candidates
        .into_iter()
        .filter(|c| required.only.is_none_or(|only| c.node.as_str() == only))
    {
        none.nodes += 1;
        match check(required, &c) {
            Err(why) => *none.rejected.entry(why).or_default() += 1,
            Ok(report) => {
                let battery: Option<Percent> = report.battery.and_then(|b| b.remaining);
                let tens = battery.map(|percent| percent.get() / 10);
                let nearness = nearness(required.near, report);
                found.push(Reverse((
                    report.ready == Some(true),
                    tens,
                    nearness,
                    battery,
                    Reverse(c.node),
                )));
            }
        }
    }
    if found.is_empty() {
        return Err(none);
    }
    if most < found.len() {
        found.select_nth_unstable(most);
        found.truncate(most);
    }
    found.sort_unstable();
    Ok(found.into_iter().map(|Reverse((.., Reverse(node)))| node).collect())
}

pub fn suits(required: Requirements<'_>, candidate: &Candidate<'_>) -> bool {
    required.only.is_none_or(|only| candidate.node.as_str() == only) && check(required, candidate).is_ok()
}

fn check<'a>(required: Requirements<'_>, c: &Candidate<'a>) -> Result<&'a Report, Why> {
    if !selects(required.selector, c.labels) {
        return Err(Why::Selector);
    }
    if !is_granted(required.namespace, c.labels, required.granted_only) {
        return Err(Why::NotGranted);
    }
    let report = free(c)?;
    match report.battery.and_then(|b| b.remaining) {
        Some(battery) if battery <= required.more_than => Err(Why::LowBattery),
        _ => Ok(report),
    }
}

/// Whether a node could be chosen for a Drone without requirements.
///
/// # Errors
/// The first reason why not.
pub fn free<'a>(c: &Candidate<'a>) -> Result<&'a Report, Why> {
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
    if c.upgrading {
        return Err(Why::AgentUpgrading);
    }
    if c.grounded {
        return Err(Why::Grounded);
    }
    let report = c.report.ok_or(Why::AgentSilent)?;
    if report.terminating {
        return Err(Why::AgentEnding);
    }
    if !report.link_alive {
        return Err(Why::AutopilotSilent);
    }
    let settled = report.held.as_ref().is_none_or(|held| held.settled);
    if report.others_flew {
        return Err(Why::OthersFlew);
    }
    if c.flies_elsewhere {
        return Err(Why::FliesElsewhere);
    }
    if report.stand_down.is_some() {
        return Err(Why::StandsDown);
    }
    if !report.vehicle_free() || !settled {
        return Err(Why::NotIdle);
    }
    Ok(report)
}

/// By labels alone.
pub fn selects(selector: &BTreeMap<String, String>, labels: &BTreeMap<String, String>) -> bool {
    selector.iter().all(|(key, value)| labels.get(key) == Some(value))
}

/// Label prefix on a node: `use.skein.dev/NAMESPACE`, with any value, grants its vehicle to that namespace, and to no others but those of
/// further such labels.
pub const GRANT: &str = "use.skein.dev/";

/// Granted to `namespace`, or to none in particular unless `granted_only`.
pub fn is_granted(namespace: &str, labels: &BTreeMap<String, String>, granted_only: bool) -> bool {
    let mut grants = labels.keys().filter_map(|key| key.strip_prefix(GRANT)).peekable();
    if grants.peek().is_none() {
        return !granted_only;
    }
    grants.any(|granted| granted == namespace)
}

/// The greater the nearer, in steps of ten meters: positions jitter.
fn nearness(near: Option<Wgs84>, report: &Report) -> Option<Reverse<u64>> {
    let meters = near?.meters_to(report.position?.at);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 20,000,000")]
    meters.is_finite().then(|| Reverse((meters / 10.0) as u64))
}

/// Whether a taint keeps Drones away. Cordon and readiness are checked by themselves.
pub fn taint_matters(key: &str, effect: &str) -> bool {
    let checked_elsewhere = BTreeSet::from([
        "node.kubernetes.io/unschedulable",
        "node.kubernetes.io/not-ready",
        DRONE_TAINT,
    ]);
    matches!(effect, "NoSchedule" | "NoExecute") && !checked_elsewhere.contains(key)
}

/// Keeps ordinary workloads off drone nodes; Drones tolerate it.
pub const DRONE_TAINT: &str = "node-role.kubernetes.io/drone";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    Ours,
    Create,
    /// Ask the API server, not a cache, whether the Drone that holds it still exists.
    AskForHolder(DroneUid),
    TakeOver,
    Taken(DroneUid),
}

/// `holder_exists`: the API server's answer about `holder`.
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
mod tests;
