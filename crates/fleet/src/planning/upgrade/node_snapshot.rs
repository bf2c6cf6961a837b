//! Whether the agent of a node may be ended now, so that a newer version can take its place.

use model::report::{Activity, HandsOff, Report};
use model::vehicle::FlightTruth;
use std::time::Duration;

/// A report older than this says nothing: agents report each second.
pub const FRESH: Duration = Duration::from_millis(2500);

/// What is known of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeSnapshot<'a> {
    /// The agent's Pod on it; `None` while there is none.
    pub pod: Option<Pod>,
    /// Whether Kubernetes sees the node as Ready: its kubelet would end the Pod now, and not at some later time.
    pub node_ready: bool,
    /// Its agent, while that is connected.
    pub agent: Option<Agent<'a>>,
    /// Whether a Drone is bound to it.
    pub bound: bool,
}

/// The agent's Pod on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    /// `metadata.uid`.
    pub uid: String,
    pub version: Version,
    /// Whether the agent's program runs in it.
    pub runs: bool,
}

/// Which version a Pod is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Version {
    /// That of the DaemonSet, or it is not known which that is just now.
    Current,
    Outdated,
    /// Any: it is being deleted.
    Leaving,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agent<'a> {
    /// How long this life of it has been connected without a break.
    pub connected_for: Duration,
    /// Its last report on the session that is open now, and the report's age.
    pub report: Option<(&'a Report, Duration)>,
}

impl Agent<'_> {
    /// Whether it goes on, and receives its vehicle.
    pub fn receives_its_vehicle(&self) -> bool {
        self.report.is_some_and(|(report, age)| {
            age <= FRESH && report.link_alive && !report.terminating && !matches!(report.truth, FlightTruth::Unknown(_))
        })
    }
}

/// An agent that may be ended, or soon. The order is the order in which they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Free {
    /// It does not run, and no Drone is bound to its node: nothing ends.
    NotRunning,
    /// Its vehicle is on the ground, and serves no Drone.
    Idle,
    /// Its vehicle is on the ground, and stays there for its Drone.
    OnGround,
    /// Its vehicle is on the ground, and its autopilot refuses to arm for a Drone that wants flight. It has to be ordered to stay
    /// first.
    Refused,
}

/// Why an agent is not ended now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Busy {
    /// Its vehicle is armed or in the air.
    Flying,
    /// Its vehicle is about to take off.
    Takeoff,
    /// Nothing certain is known of its vehicle.
    Unknown,
    /// Its node is not Ready: the Pod would end some time later, whatever its vehicle does by then.
    NodeNotReady,
    /// It could not be replaced a moment ago.
    Lately,
    /// Others go first.
    OthersFirst,
    /// Another has not come back, so no more are replaced.
    Stopped,
}

impl Busy {
    pub const ALL: [Self; 7] = [
        Self::Flying,
        Self::Takeoff,
        Self::Unknown,
        Self::NodeNotReady,
        Self::Lately,
        Self::OthersFirst,
        Self::Stopped,
    ];

    pub const fn label(self) -> &'static str {
        match self {
            Self::Flying => "flying",
            Self::Takeoff => "takeoff",
            Self::Unknown => "unknown",
            Self::NodeNotReady => "node_not_ready",
            Self::Lately => "lately",
            Self::OthersFirst => "turn",
            Self::Stopped => "stopped",
        }
    }
}

/// Whether the agent of a node may be ended, by what its vehicle reports. Without an agent nothing is known of the
/// vehicle; then only a Pod that runs nothing, on a node that no Drone is bound to, may go.
///
/// # Errors
/// [`Busy`], with why not.
pub fn assess(snapshot: &NodeSnapshot<'_>) -> Result<Free, Busy> {
    if !snapshot.node_ready {
        return Err(Busy::NodeNotReady);
    }
    let Some(agent) = &snapshot.agent else {
        let runs = snapshot.pod.as_ref().is_none_or(|pod| pod.runs);
        return if runs || snapshot.bound {
            Err(Busy::Unknown)
        } else {
            Ok(Free::NotRunning)
        };
    };
    let Some((report, _)) = agent.report.filter(|_| agent.receives_its_vehicle()) else {
        return Err(Busy::Unknown);
    };
    match report.truth {
        FlightTruth::Unknown(_) => Err(Busy::Unknown),
        FlightTruth::Airborne(_) | FlightTruth::ArmedOnGround => Err(Busy::Flying),
        FlightTruth::Disarmed => on_the_ground(report, snapshot.bound),
    }
}

fn on_the_ground(report: &Report, bound: bool) -> Result<Free, Busy> {
    let ended = report.flight_is_over() || report.activity == Activity::HandsOff(HandsOff::Killed);
    match &report.held {
        // Its Drone is about to be assigned to it.
        None if bound => Err(Busy::Takeoff),
        None => Ok(Free::Idle),
        // An arm command may still be under way.
        Some(held) if !held.settled => Err(Busy::Takeoff),
        Some(held) if held.grounded || ended => Ok(Free::OnGround),
        Some(_) if report.activity == Activity::NotArmable => Ok(Free::Refused),
        Some(_) => Err(Busy::Takeoff),
    }
}
