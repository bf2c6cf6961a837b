//! Facts of one Drone: its object, its claim, its ground orders, its agent's report. Must not: call the API.

use crate::cluster::Cluster;
use crate::cluster::key::Key;
use crate::cluster::world::{World, is_guarded, owner, uid};
use crate::controllers::airspace::Airspace;
use crate::controllers::flight_traces::FlightTraces;
use crate::controllers::node_operators::NodeOperators;
use crate::controllers::node_rules::NodeRules;
use crate::controllers::plans::{self, Missions, PlanOf, is_ready};
use crate::controllers::reported_flight;
use crate::controllers::takeoff_slots::TakeoffSlots;
use crate::controllers::upgrade::Upgrades;
use crate::ground::{self, Ground as GroundOrders};
use crate::leadership::leading::Leadership;
use crate::sessions::Sessions;
use crds::{Drone, labels};
use fleet::planning::drone::{Claimed, Facts, Ground, desire};
use fleet::planning::node_use::{self, Lift, NoLift, NodeUse};
use kube::ResourceExt;
use model::assignment::{Held, Preflight};
use model::ground::GroundMark;
use model::ids::{DroneName, DroneUid, NodeName};
use model::report::Report;
use model::reported_flight::{ReportedFlight, SoFar};
use model::rules::{RulesClearance, clearance};
use model::time::Moment;
use model::units::AltitudeAboveHome;
use model::vehicle::FlightTruth;
use std::sync::Arc;

/// Sources of the facts. Cheap to clone; clones share state.
#[derive(Clone, Debug)]
pub struct Observer {
    pub cluster: Cluster,
    pub sessions: Arc<Sessions>,
    pub leadership: Leadership,
    pub ground: GroundOrders,
    pub upgrades: Arc<Upgrades>,
    pub takeoff_slots: Arc<TakeoffSlots>,
    pub airspace: Airspace,
    pub rules: Arc<NodeRules>,
    pub missions: Arc<Missions>,
    pub operators: Arc<NodeOperators>,
    pub traces: FlightTraces,
}

impl Observer {
    pub const fn world(&self) -> &Arc<World> {
        &self.cluster.world
    }

    /// The last report of `node` on its open session, and when it came: read with another time, its vehicle would seem to stand still.
    pub fn reported(&self, node: &NodeName) -> Option<(Arc<Report>, Moment)> {
        let (report, at) = self.sessions.received(node)?;
        Some((report, self.leadership.state.moment(at)))
    }
}

#[derive(Clone, Debug)]
pub struct DroneSnapshot {
    pub key: Key,
    pub drone: Arc<Drone>,
    pub facts: Facts,
    /// The node it is bound to, if a node can have that name.
    pub node: Option<NodeName>,
    pub usable: Option<NodeUse>,
    /// On the agent's open session.
    pub report: Option<Arc<Report>>,
}

impl DroneSnapshot {
    pub fn of(observer: &Observer, drone: Arc<Drone>) -> Self {
        let node = drone
            .spec
            .node_name
            .as_deref()
            .and_then(|node| NodeName::parse(node).ok());
        let report = report(observer, &drone);
        let facts = facts_with(observer, &drone, report.as_deref());
        Self {
            key: Key::of(drone.as_ref()),
            drone,
            facts,
            usable: node.as_ref().map(|node| observer.world().node_use(node)),
            node,
            report,
        }
    }

    pub fn uid(&self) -> &str {
        uid(self.drone.as_ref())
    }

    /// Whether the agent of its node reports to serve this Drone.
    pub fn held_by_agent(&self) -> bool {
        self.report
            .as_ref()
            .and_then(|r| r.held.as_ref())
            .is_some_and(|held| held.uid == self.facts.uid)
    }

    /// Whether its vehicle takes off as soon as it may, or stays up.
    pub fn wants_flight(&self) -> bool {
        let may_fly = matches!(
            self.facts.lift,
            Lift::Free
                | Lift::Stay(NoLift::Doubt | NoLift::TakeoffSlot | NoLift::Airspace | NoLift::Rules | NoLift::Plan)
        );
        !self.facts.deleting && self.facts.ground == Ground::No && may_fly
    }

    /// Whether a vehicle serves it or may have served it, by its claim, its status or the agent; merely naming a node does not count.
    pub fn was_served(&self) -> bool {
        let in_status = self
            .drone
            .status
            .as_ref()
            .is_some_and(|status| status.node_name.is_some());
        self.node.is_some() && (self.facts.claim == Claimed::Ours || in_status || self.held_by_agent())
    }
}

/// On the agent's open session.
fn report(observer: &Observer, drone: &Drone) -> Option<Arc<Report>> {
    let node = NodeName::parse(drone.spec.node_name.as_deref()?).ok()?;
    observer.sessions.current(&node)
}

/// The node whose vehicle serves the Drone ([`World::has_node`](crate::cluster::world::World::has_node)). A Drone that merely names a node
/// shows nothing of the vehicle there.
pub fn serving_node<'a>(observer: &Observer, snapshot: &'a DroneSnapshot) -> Option<&'a NodeName> {
    let node = snapshot.node.as_ref()?;
    let held = snapshot.report.as_deref().and_then(|report| report.held.as_ref());
    let has_it = observer.world().has_node(&snapshot.drone, held.map(|held| &held.uid));
    has_it.then_some(node)
}

/// Whether preflight keeps the vehicle of `drone` on the ground.
pub(super) fn refuses(drone: &Drone) -> bool {
    drone.failsafe().preflight == Preflight::Refuse
}

/// `report` is the one of the Drone's agent.
pub fn facts_with(observer: &Observer, drone: &Drone, report: Option<&Report>) -> Facts {
    let me = uid(drone);
    let claim = drone
        .spec
        .node_name
        .as_deref()
        .and_then(|node| observer.world().claim(node));
    let swarm = match owner(drone) {
        // Orphaned: its Swarm may have been grounded, which is unknown now. Airborne vehicles go on, the others stay on the ground.
        None if drone.labels().contains_key(labels::SWARM) => None,
        // The same without its Mission; while that exists, it has no say in this.
        None if drone.labels().contains_key(labels::MISSION) && plans::owner(drone).is_none() => None,
        None => Some(false),
        Some(_) => observer.world().swarm_of(drone).map(|swarm| swarm.spec.grounded),
    };
    let ground_mark = ground::mark(&observer.ground, drone, report);
    let ordered =
        matches!(ground_mark, Some(GroundMark::Given(_))) || ground::covering(&observer.ground, drone).is_some();
    let node = drone
        .spec
        .node_name
        .as_deref()
        .and_then(|node| NodeName::parse(node).ok());
    let now = observer.leadership.state.now();
    let over = flight_is_over(drone, report);
    let planned = observer.missions.plan(drone);
    let lift = lift(observer, drone, report, over, &planned);
    let recalled = drone.metadata.deletion_timestamp.is_some() || lift == Lift::Land;
    let plan = match &planned {
        PlanOf::Some(planned)
            if !recalled && observer.airspace.may_name_plan(node.as_ref(), &planned.digest, report) =>
        {
            Some(planned.digest.clone())
        }
        PlanOf::NoMission | PlanOf::Unknown | PlanOf::None | PlanOf::Some(_) => None,
    };
    // Its airspace was claimed for the altitude of its Mission, and anybody may have edited its Drone since.
    let takeoff = match &planned {
        PlanOf::Some(planned) => planned.takeoff,
        PlanOf::NoMission | PlanOf::Unknown | PlanOf::None => drone.spec.takeoff_altitude_meters,
    };
    // Without a plan, a vehicle of a Mission may be anywhere: it moves along routes, as one with a station.
    let strays = plan.is_none() && planned != PlanOf::NoMission;
    let movement = match strays {
        false => observer.airspace.movement(drone, node.as_ref(), report, now),
        true => observer.airspace.way_back(node.as_ref(), report, now),
    };
    let asked = AltitudeAboveHome(takeoff);
    let (altitude, kept) = match (&movement, &plan) {
        (None, None) => observer.airspace.height(drone, node.as_ref(), report, asked),
        _ => (asked, None),
    };
    let uid = DroneUid(me.to_owned());
    let waits = desire::waits_for_route(&uid, movement.as_ref(), report)
        || observer
            .airspace
            .keeps_down(drone, plan.as_ref(), node.as_ref(), report);
    let refuses = refuses(drone);
    let name = DroneName::from(&Key::of(drone));
    let rules = node
        .as_ref()
        .and_then(|node| observer.rules.named(node, &name, refuses));
    let policy = if refuses { Preflight::Refuse } else { Preflight::Warn };
    // The agent checks that, too, unless it is of an older version.
    let in_force =
        report.is_none_or(|report| clearance(policy, rules.as_ref(), &report.rules) == RulesClearance::Clear);
    let lift = match lift {
        Lift::Free if !in_force && !over => Lift::Stay(NoLift::Rules),
        lift => lift,
    };
    let lift = desire::lift(lift, over, waits);
    Facts {
        rules,
        plan,
        uid,
        name,
        generation: drone.metadata.generation.unwrap_or_default(),
        deleting: drone.metadata.deletion_timestamp.is_some(),
        recalled: is_recalled(drone),
        guarded: is_guarded(drone),
        claim: match claim {
            Some(claim) if claim.uid == me => Claimed::Ours,
            Some(_) => Claimed::Other,
            None => Claimed::Free,
        },
        altitude,
        waits_for: kept.map(|why| (asked, why)),
        failsafe: drone.failsafe(),
        resume_after: u32::try_from(drone.spec.resume_after_takeovers).unwrap_or(0),
        ground_mark,
        reported_flight: reported_flight(drone),
        forgotten: has_forgotten(drone, report),
        lift,
        movement,
        truth: report.map(|report| report.truth),
        flown: report.is_some_and(|report| report.so_far != SoFar::Fresh),
        over,
        ground: Ground::of(drone.spec.grounded, swarm, ordered),
    }
}

/// The hardware is that of the vehicle which it is bound to now, if known.
fn reported_flight(drone: &Drone) -> ReportedFlight {
    let Some(kept) = &drone.status else {
        return ReportedFlight::default();
    };
    let reported = reported_flight::reported_flight(kept);
    ReportedFlight {
        hardware: reported.hardware.filter(|_| kept.node_name == drone.spec.node_name),
        ..reported
    }
}

/// Whether the agent that serves `drone` reports less of its flight than before.
fn has_forgotten(drone: &Drone, report: Option<&Report>) -> bool {
    let serves = |held: &Held| held.uid.0 == uid(drone);
    let report = report.filter(|report| report.held.as_ref().is_some_and(serves));
    report.is_some_and(|report| reported_flight(drone).exceeds(report.takeovers, report.so_far))
}

/// Whether the deletion of `drone` says nothing of its vehicle: a Mission's own Drones, and those a Swarm marks whose vehicles stand down.
fn is_recalled(drone: &Drone) -> bool {
    let of_mission = plans::owner(drone).is_some() || drone.labels().contains_key(labels::MISSION);
    of_mission || drone.annotations().contains_key(labels::RECALLED)
}

/// Whether the flight of `drone` has ended by itself, by its agent's report now, or before it lost its memory.
fn flight_is_over(drone: &Drone, report: Option<&Report>) -> bool {
    let Some(report) = report else { return false };
    let serves = |held: &Held| held.uid.0 == uid(drone);
    match &report.held {
        Some(held) if serves(held) => report.flight_is_over() || reported_flight(drone).so_far == SoFar::Killed,
        Some(_) => false,
        None => {
            matches!(reported_flight(drone).so_far, SoFar::Over | SoFar::Killed)
        }
    }
}

/// Whether the vehicle of `drone` may take off, as far as its node and its Swarm go.
fn lift(observer: &Observer, drone: &Drone, report: Option<&Report>, over: bool, planned: &PlanOf) -> Lift {
    let node = drone.spec.node_name.as_deref().map(NodeName::parse);
    let Some(Ok(node)) = node else { return Lift::Free };
    let swarm = owner(drone).filter(|_| observer.world().swarm_of(drone).is_some());
    let flies = report.is_some_and(|report| matches!(report.truth, FlightTruth::Airborne(_)));
    let altitude = Some(AltitudeAboveHome(drone.spec.takeoff_altitude_meters));
    // A Mission replaces it, too.
    let replaced = swarm.is_some() || plans::owner(drone).is_some();
    let usable = node_use::lift(observer.world().node_use(&node), replaced);
    // An order to wait would make an older agent forget that its flight is over. It stays down; one that somebody flies lands for a drain.
    if over && !(flies && usable == Lift::Land) {
        return Lift::Free;
    }
    match usable {
        Lift::Land => Lift::Land,
        Lift::Stay(why) => Lift::Stay(why),
        Lift::Free if !observer.leadership.state.acts() => Lift::Stay(NoLift::Doubt),
        Lift::Free if observer.upgrades.holds(&node) => Lift::Stay(NoLift::Upgrade),
        // A vehicle with a plan waits until its autopilot has it; the plan's way was checked before.
        Lift::Free if *planned != PlanOf::NoMission => match planned {
            PlanOf::Some(planned) if report.is_none_or(|report| is_ready(planned, report) || flies) => Lift::Free,
            _ => Lift::Stay(NoLift::Plan),
        },
        // A station is checked where its route is granted.
        Lift::Free if drone.spec.station.is_none() && observer.rules.allow(&node, None, altitude).is_err() => {
            Lift::Stay(NoLift::Geofence)
        }
        Lift::Free if swarm.is_some_and(|(swarm, _)| !observer.takeoff_slots.has(swarm, uid(drone), flies)) => {
            Lift::Stay(NoLift::TakeoffSlot)
        }
        Lift::Free => Lift::Free,
    }
}

#[cfg(test)]
pub mod tests;
