//! Whether the agent of a node may be ended now, so that a newer version can take its place.

use model::report::{Activity, HandsOff, Report};
use model::vehicle::FlightTruth;
use std::time::Duration;

/// Age limit of a report: agents report each second.
pub const REPORT_AGE_LIMIT: Duration = Duration::from_millis(2500);

#[derive(Clone, Debug, PartialEq)]
pub struct NodeSnapshot<'a> {
    /// `None` while there is none.
    pub pod: Option<Pod>,
    /// If not Ready, the kubelet would end the Pod at some later time.
    pub node_ready: bool,
    pub agent: Option<Agent<'a>>,
    pub bound: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    /// `metadata.uid`.
    pub uid: String,
    pub version: Version,
    pub runs: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Version {
    /// That of the DaemonSet, or that is not known now.
    Current,
    Outdated,
    /// Being deleted.
    Leaving,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agent<'a> {
    /// Without a break, in this life of the agent.
    pub connected_for: Duration,
    /// On the session that is open now, with the report's age.
    pub report: Option<(&'a Report, Duration)>,
}

impl Agent<'_> {
    /// Whether it is not shutting down, and receives its vehicle.
    pub fn receives_its_vehicle(&self) -> bool {
        self.report.is_some_and(|(report, age)| {
            age <= REPORT_AGE_LIMIT
                && report.link_alive
                && !report.terminating
                && !matches!(report.truth, FlightTruth::Unknown(_))
        })
    }
}

/// In the order in which agents are ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Free {
    /// It does not run, and no Drone is bound to its node: nothing ends.
    NotRunning,
    /// On the ground, and serves no Drone.
    Idle,
    /// On the ground, and stays there for its Drone.
    OnGround,
    /// On the ground; its autopilot refuses to arm for a Drone that wants flight. It has to be ordered to stay first.
    Refused,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Busy {
    Flying,
    Takeoff,
    Unknown,
    /// The Pod would end some time later, whatever its vehicle does by then.
    NodeNotReady,
    Lately,
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

/// Whether the agent may be ended, by its vehicle's reports. Without an agent nothing is known of the vehicle; then only a Pod that runs
/// nothing, on a node without a bound Drone, may go.
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
        // An arm command may still be on its way.
        Some(held) if !held.settled => Err(Busy::Takeoff),
        Some(held) if held.grounded || ended => Ok(Free::OnGround),
        Some(_) if report.activity == Activity::NotArmable => Ok(Free::Refused),
        Some(_) => Err(Busy::Takeoff),
    }
}
