//! From observations of one Drone to its [`Facts`].
//!
//! Owns: every decision between the two: claim, recall, takeoff clearance, the plan to name, the altitude. Must not: ask anything itself. The
//! airspace is asked in between, as [`Observations`] says; its answers are an [`AirspaceClearance`].

use super::{Claimed, Facts, Ground, Movement, desire};
use crate::planning::node_use::{self, Lift, NoLift, NodeUse};
use model::assignment::{Failsafe, Held};
use model::ground::GroundMark;
use model::ids::{DroneName, DroneUid};
use model::plan::{PlanDigest, PlanState};
use model::report::Report;
use model::reported_flight::{ReportedFlight, SoFar};
use model::rules::{RulesClearance, RulesDigest, clearance};
use model::units::AltitudeAboveHome;
use model::vehicle::FlightTruth;

/// All that is observed of one Drone except its airspace.
#[derive(Clone, Debug)]
pub struct Observations<'a> {
    pub uid: DroneUid,
    pub name: DroneName,
    pub generation: i64,
    pub deleting: bool,
    /// Whether the finalizer that waits for the landing is on it.
    pub guarded: bool,
    /// `spec.grounded`.
    pub grounded: bool,
    /// `spec.takeoffAltitudeMeters`.
    pub takeoff: AltitudeAboveHome,
    pub has_station: bool,
    /// `spec.failsafe`.
    pub failsafe: Failsafe,
    /// `spec.resumeAfterTakeovers`.
    pub resume_after: u32,
    /// By its owner reference.
    pub swarm: OwnerSwarm,
    /// Whether a Mission owns it.
    pub has_mission: bool,
    /// By its label, which an orphan keeps.
    pub made_by_swarm: bool,
    /// By its label, which an orphan keeps.
    pub made_by_mission: bool,
    /// Whether its Swarm marked it: its vehicle stands down, by no person's decision.
    pub marked_recalled: bool,
    /// As its status has it, with the hardware of the vehicle that the status names.
    pub reported_flight: ReportedFlight,
    /// Whether its status names the node that it is bound to.
    pub same_node: bool,
    /// Holder of the claim to its node; `None`: nobody.
    pub claim: Option<DroneUid>,
    /// `None`: it is bound to none.
    pub node: Option<BoundNode>,
    pub ground_mark: Option<GroundMark>,
    /// Whether a ground order covers it, recorded or just given.
    pub ordered: bool,
    /// Whether this leader may act.
    pub acts: bool,
    pub plan: MissionPlan,
    /// To be in force before arming; `None`: none select its vehicle.
    pub rules: Option<RulesDigest>,
    /// The last report of its node's agent on the session that is open now.
    pub report: Option<&'a Report>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnerSwarm {
    None,
    /// Not known here.
    Unknown,
    Known {
        /// `spec.grounded`.
        grounded: bool,
        /// Whether the Drone has a takeoff slot, or flies and is counted.
        has_slot: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoundNode {
    pub usable: NodeUse,
    /// Whether its agent is being replaced by a newer version.
    pub upgrades: bool,
    /// Whether a Geofence forbids it to hold above home at `spec.takeoffAltitudeMeters`.
    pub forbids_hold: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum MissionPlan {
    /// No Mission made the Drone.
    NoMission,
    /// None yet, or not known here; or its Mission has left it behind.
    None,
    Some {
        digest: PlanDigest,
        /// Its airspace was claimed for this altitude.
        takeoff: AltitudeAboveHome,
    },
}

/// Answers of the airspace about the vehicle of one Drone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AirspaceClearance {
    /// [`Observations::plan_to_name`], if its airspace allows to name it.
    pub plan: Option<PlanDigest>,
    /// Along routes: home if [`Observations::strays`], else to its station; `None` without.
    pub movement: Option<Movement>,
    /// Altitude to hold above home, and why it is not [`Observations::altitude`]; `None` unless [`holds_above_home`].
    pub altitude: Option<(AltitudeAboveHome, Option<NoLift>)>,
    /// Without a station or a plan: whether a Geofence selects its vehicle is not known yet.
    pub fences_unknown: bool,
    /// Whether it has to wait on the ground for others, or for the way of its plan.
    pub keeps_down: bool,
}

pub fn assess(observed: Observations<'_>, cleared: AirspaceClearance) -> Facts {
    let asked = observed.altitude();
    let (altitude, kept) = cleared.altitude.unwrap_or((asked, None));
    let over = observed.is_over();
    let waits =
        desire::waits_for_route(&observed.uid, cleared.movement.as_ref(), observed.report) || cleared.keeps_down;
    let lift = match desire::lift(observed.lift_by_rules(), over, waits) {
        Lift::Stay(NoLift::Airspace) if cleared.fences_unknown => Lift::Stay(NoLift::FencesUnknown),
        lift => lift,
    };
    Facts {
        lift,
        claim: observed.claimed(),
        ground: Ground::of(observed.grounded, observed.swarm_grounded(), observed.ordered),
        recalled: observed.is_recalled(),
        reported_flight: observed.flight_of_vehicle(),
        forgotten: observed.is_forgotten(),
        truth: observed.report.map(|report| report.truth),
        flown: observed.report.is_some_and(|report| report.so_far != SoFar::Fresh),
        over,
        altitude,
        waits_for: kept.map(|why| (asked, why)),
        plan: cleared.plan,
        movement: cleared.movement,
        uid: observed.uid,
        name: observed.name,
        generation: observed.generation,
        deleting: observed.deleting,
        guarded: observed.guarded,
        failsafe: observed.failsafe,
        resume_after: observed.resume_after,
        ground_mark: observed.ground_mark,
        rules: observed.rules,
    }
}

/// Whether a vehicle with this clearance has no way but the column above its home.
pub const fn holds_above_home(movement: Option<&Movement>, plan: Option<&PlanDigest>) -> bool {
    movement.is_none() && plan.is_none()
}

impl Observations<'_> {
    /// The plan that its order is to name; `None` for one that is called back.
    pub fn plan_to_name(&self) -> Option<&PlanDigest> {
        match &self.plan {
            MissionPlan::Some { digest, .. } if !self.deleting && self.lift() != Lift::Land => Some(digest),
            MissionPlan::NoMission | MissionPlan::None | MissionPlan::Some { .. } => None,
        }
    }

    /// Whether its vehicle may be anywhere, under an order that names the plan `named`: without a plan, a vehicle of a Mission moves along
    /// routes, as one with a station.
    pub fn strays(&self, named: Option<&PlanDigest>) -> bool {
        named.is_none() && self.plan != MissionPlan::NoMission
    }

    /// Altitude of its takeoff or hold. Its airspace was claimed for the altitude of its Mission, and anybody may have edited it since.
    pub const fn altitude(&self) -> AltitudeAboveHome {
        match self.plan {
            MissionPlan::Some { takeoff, .. } => takeoff,
            MissionPlan::NoMission | MissionPlan::None => self.takeoff,
        }
    }

    fn claimed(&self) -> Claimed {
        match &self.claim {
            Some(holder) if *holder == self.uid => Claimed::Ours,
            Some(_) => Claimed::Other,
            None => Claimed::Free,
        }
    }

    /// `None`: unknown.
    const fn swarm_grounded(&self) -> Option<bool> {
        match self.swarm {
            // Orphaned: its Swarm may have been grounded, which is unknown now. Airborne vehicles go on, the others stay on the ground.
            OwnerSwarm::None if self.made_by_swarm => None,
            // The same without its Mission; while that exists, it has no say in this.
            OwnerSwarm::None if self.made_by_mission && !self.has_mission => None,
            OwnerSwarm::None => Some(false),
            OwnerSwarm::Unknown => None,
            OwnerSwarm::Known { grounded, .. } => Some(grounded),
        }
    }

    /// Whether its deletion says nothing of its vehicle: a Mission's own Drones, and those a Swarm marks whose vehicles stand down.
    const fn is_recalled(&self) -> bool {
        self.has_mission || self.made_by_mission || self.marked_recalled
    }

    /// The hardware is that of the vehicle which it is bound to now, if known.
    fn flight_of_vehicle(&self) -> ReportedFlight {
        ReportedFlight {
            hardware: self.reported_flight.hardware.filter(|_| self.same_node),
            ..self.reported_flight
        }
    }

    fn serves(&self, held: &Held) -> bool {
        held.uid == self.uid
    }

    /// Whether the agent that serves it reports less of its flight than before.
    fn is_forgotten(&self) -> bool {
        let report = self
            .report
            .filter(|report| report.held.as_ref().is_some_and(|held| self.serves(held)));
        report.is_some_and(|report| self.reported_flight.exceeds(report.takeovers, report.so_far))
    }

    /// Whether its flight has ended by itself, by its agent's report now, or before it lost its memory.
    fn is_over(&self) -> bool {
        let Some(report) = self.report else { return false };
        let before = self.reported_flight.so_far;
        match &report.held {
            Some(held) if self.serves(held) => report.flight_is_over() || before == SoFar::Killed,
            Some(_) => false,
            None => matches!(before, SoFar::Over | SoFar::Killed),
        }
    }

    fn flies(&self) -> bool {
        let truth = self.report.map(|report| report.truth);
        matches!(truth, Some(FlightTruth::Airborne(_)))
    }

    /// Whether its vehicle may take off, as far as its node, its Swarm and its Mission go.
    fn lift(&self) -> Lift {
        let Some(node) = &self.node else { return Lift::Free };
        // A Mission replaces it, too.
        let replaced = matches!(self.swarm, OwnerSwarm::Known { .. }) || self.has_mission;
        let usable = node_use::lift(node.usable, replaced);
        // An order to wait would make an older agent forget that its flight is over. It stays down; a vehicle that somebody flies lands for a
        // drain.
        if self.is_over() && !(self.flies() && usable == Lift::Land) {
            return Lift::Free;
        }
        match usable {
            Lift::Land => Lift::Land,
            Lift::Stay(why) => Lift::Stay(why),
            Lift::Free if !self.acts => Lift::Stay(NoLift::Doubt),
            Lift::Free if node.upgrades => Lift::Stay(NoLift::Upgrade),
            // A vehicle with a plan waits until its autopilot has it; the plan's way was checked before.
            Lift::Free if self.plan != MissionPlan::NoMission && self.may_begin_plan() => Lift::Free,
            Lift::Free if self.plan != MissionPlan::NoMission => Lift::Stay(NoLift::Plan),
            // A station is checked where its route is granted.
            Lift::Free if !self.has_station && node.forbids_hold => Lift::Stay(NoLift::Geofence),
            Lift::Free if matches!(self.swarm, OwnerSwarm::Known { has_slot: false, .. }) => {
                Lift::Stay(NoLift::TakeoffSlot)
            }
            Lift::Free => Lift::Free,
        }
    }

    /// Whether its autopilot has taken the plan, so that it can be flown; or it flies, or its agent is not heard.
    fn may_begin_plan(&self) -> bool {
        let MissionPlan::Some { digest, .. } = &self.plan else {
            return false;
        };
        let is_ready = |report: &Report| {
            let plan = &report.plan;
            plan.held.as_ref() == Some(digest) && plan.state == PlanState::Ready
        };
        self.flies() || self.report.is_none_or(is_ready)
    }

    /// [`Self::lift`], as far as its rules are in force. Its agent checks that, too, unless it is of an older version.
    fn lift_by_rules(&self) -> Lift {
        let policy = self.failsafe.preflight;
        let in_force = self
            .report
            .is_none_or(|report| clearance(policy, self.rules.as_ref(), &report.rules) == RulesClearance::Clear);
        match self.lift() {
            Lift::Free if !in_force && !self.is_over() => Lift::Stay(NoLift::Rules),
            lift => lift,
        }
    }
}

#[cfg(test)]
mod tests;
