//! Facts of one Drone: its object, its claim, its ground orders, its agent's report, gathered for [`fleet::planning::drone::assess`]. Must
//! not: decide, or call the API.

use crate::cluster::Cluster;
use crate::cluster::key::Key;
use crate::cluster::world::{World, is_guarded, owner, uid};
use crate::controllers::airspace::Airspace;
use crate::controllers::flight_traces::FlightTraces;
use crate::controllers::node_operators::NodeOperators;
use crate::controllers::node_rules::NodeRules;
use crate::controllers::plans::{self, Missions};
use crate::controllers::reported_flight;
use crate::controllers::takeoff_slots::TakeoffSlots;
use crate::controllers::upgrade::Upgrades;
use crate::ground::{self, Ground as GroundOrders};
use crate::leadership::leading::Leadership;
use crate::sessions::Sessions;
use crds::{Drone, labels};
use fleet::planning::drone::assess::{
    AirspaceClearance, BoundNode, MissionPlan, Observations, OwnerSwarm, assess, holds_above_home,
};
use fleet::planning::drone::{Claimed, Facts, Ground};
use fleet::planning::node_use::{Lift, NoLift, NodeUse};
use kube::ResourceExt;
use model::assignment::Preflight;
use model::ground::GroundMark;
use model::ids::{DroneName, DroneUid, NodeName};
use model::report::Report;
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

    /// The last report of `node` on its open session, and when it was made: read with another time, its vehicle would seem to stand still.
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
        let node = node_of(&drone);
        let report = node.as_ref().and_then(|node| observer.sessions.current(node));
        let facts = facts_of(observer, &drone, report.as_deref());
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
                | Lift::Stay(
                    NoLift::Doubt
                        | NoLift::TakeoffSlot
                        | NoLift::Airspace
                        | NoLift::FencesUnknown
                        | NoLift::Rules
                        | NoLift::Plan
                )
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

/// The node that it is bound to, if a node can have that name.
pub(super) fn node_of(drone: &Drone) -> Option<NodeName> {
    NodeName::parse(drone.spec.node_name.as_deref()?).ok()
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
pub fn facts_of(observer: &Observer, drone: &Drone, report: Option<&Report>) -> Facts {
    let node = node_of(drone);
    let observed = observe(observer, drone, node.as_ref(), report);
    let cleared = ask_airspace(observer, drone, node.as_ref(), &observed);
    assess(observed, cleared)
}

/// Everything but the airspace.
fn observe<'a>(
    observer: &Observer,
    drone: &Drone,
    node: Option<&NodeName>,
    report: Option<&'a Report>,
) -> Observations<'a> {
    let world = observer.world();
    let claim = drone.spec.node_name.as_deref().and_then(|node| world.claim(node));
    let swarm = owner_swarm(observer, drone, report);
    let ground_mark = ground::mark(&observer.ground, drone, report);
    let ordered =
        matches!(ground_mark, Some(GroundMark::Given(_))) || ground::covering(&observer.ground, drone).is_some();
    let plan = MissionPlan::from(&observer.missions.plan(drone));
    let takeoff = AltitudeAboveHome(drone.spec.takeoff_altitude_meters);
    let bound = node.map(|node| BoundNode {
        usable: world.node_use(node),
        upgrades: observer.upgrades.holds(node),
        forbids_hold: observer.rules.allow(node, None, Some(takeoff)).is_err(),
    });
    let name = DroneName::from(&Key::of(drone));
    let strict = refuses(drone);
    let status = drone.status.as_ref();
    Observations {
        rules: node.and_then(|node| observer.rules.named(node, &name, strict)),
        uid: DroneUid(uid(drone).to_owned()),
        name,
        generation: drone.metadata.generation.unwrap_or_default(),
        deleting: drone.metadata.deletion_timestamp.is_some(),
        guarded: is_guarded(drone),
        grounded: drone.spec.grounded,
        takeoff,
        has_station: drone.spec.station.is_some(),
        failsafe: drone.failsafe(),
        resume_after: u32::try_from(drone.spec.resume_after_takeovers).unwrap_or(0),
        swarm,
        has_mission: plans::owner(drone).is_some(),
        made_by_swarm: drone.labels().contains_key(labels::SWARM),
        made_by_mission: drone.labels().contains_key(labels::MISSION),
        marked_recalled: drone.annotations().contains_key(labels::RECALLED),
        reported_flight: status.map(reported_flight::reported_flight).unwrap_or_default(),
        same_node: status.is_some_and(|status| status.node_name == drone.spec.node_name),
        claim: claim.map(|claim| DroneUid(claim.uid)),
        node: bound,
        ground_mark,
        ordered,
        acts: observer.leadership.state.acts(),
        plan,
        report,
    }
}

fn owner_swarm(observer: &Observer, drone: &Drone, report: Option<&Report>) -> OwnerSwarm {
    let Some((swarm_uid, _)) = owner(drone) else {
        return OwnerSwarm::None;
    };
    let Some(swarm) = observer.world().swarm_of(drone) else {
        return OwnerSwarm::Unknown;
    };
    let flies = report.is_some_and(|report| matches!(report.truth, FlightTruth::Airborne(_)));
    OwnerSwarm::Known {
        grounded: swarm.spec.grounded,
        has_slot: observer.takeoff_slots.has(swarm_uid, uid(drone), flies),
    }
}

fn ask_airspace(
    observer: &Observer,
    drone: &Drone,
    node: Option<&NodeName>,
    observed: &Observations<'_>,
) -> AirspaceClearance {
    let (airspace, report) = (&observer.airspace, observed.report);
    let now = observer.leadership.state.now();
    let plan = observed
        .plan_to_name()
        .filter(|digest| airspace.may_name_plan(node, digest, report));
    let movement = match observed.strays(plan) {
        false => airspace.movement(drone, node, report, now),
        true => airspace.way_back(node, report, now),
    };
    let holds = holds_above_home(movement.as_ref(), plan);
    AirspaceClearance {
        altitude: holds.then(|| airspace.height(drone, node, report, observed.altitude())),
        fences_unknown: holds && node.is_some_and(|node| !observer.rules.knows(node)),
        keeps_down: airspace.keeps_down(drone, plan, node, report),
        plan: plan.cloned(),
        movement,
    }
}

#[cfg(test)]
pub mod tests;
