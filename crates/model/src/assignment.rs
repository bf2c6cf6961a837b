//! What the coordinator sends to an agent: the desired state (level), not commands (edge).
//!
//! Owns: [`Assignment`], [`Desired`], and which assignments an agent takes or refuses ([`Fence`]).
//! Must not: say how to get there; that is `fleet::flight::converge`.

use crate::ground::{GroundMark, GroundOrderId, kept};
use crate::ids::{DroneName, DroneUid, Term};
use crate::plan::PlanDigest;
pub use crate::preflight_policy::Preflight;
use crate::reported_flight::ReportedFlight;
use crate::route_order::{OrderNumber, RouteOrder};
use crate::rules::RulesDigest;
use crate::station::Manner;
use crate::units::{AltitudeAboveHome, Percent};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Desired {
    Flying { altitude: AltitudeAboveHome },
    Grounded { why: GroundedWhy },
}

impl Desired {
    const fn is_ground_order(self) -> bool {
        matches!(
            self,
            Self::Grounded {
                why: GroundedWhy::Ordered
            }
        )
    }
}

impl fmt::Display for Desired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flying { altitude } => write!(f, "flying at {} m", altitude.0),
            Self::Grounded { why } => f.write_str(match why {
                GroundedWhy::Deleted => "grounded: its Drone is being deleted",
                GroundedWhy::Ordered => "grounded: a ground order is in force",
                GroundedWhy::Unbound => "grounded: no Drone is bound",
                GroundedWhy::Waiting => "grounded: it has to wait",
            }),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum GroundedWhy {
    /// Its Drone is being deleted, also by a scale-down or with its Swarm.
    Deleted,
    /// An operator's ground order, which latches until released.
    Ordered,
    Unbound,
    /// Its node is cordoned or drained, or others go first.
    Waiting,
}

/// Failsafe of the agent that has lost the coordinator (invariant 6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum OnCoordinatorLoss {
    #[default]
    Continue,
    Hold,
    Return,
    Land,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum OnLowBattery {
    /// The autopilot's own battery failsafe acts alone.
    Continue,
    #[default]
    Return,
    Land,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Failsafe {
    pub on_coordinator_loss: OnCoordinatorLoss,
    /// Time without contact before `on_coordinator_loss` is done.
    pub after: Duration,
    pub on_low_battery: OnLowBattery,
    /// Remaining energy at or below which the battery is low.
    pub reserve: Percent,
    /// Policy for an autopilot whose own failsafes are off.
    pub preflight: Preflight,
}

/// The reserve where a Drone names none.
pub const USUAL_RESERVE: Percent = Percent::new(20).expect("20 is a percentage");

impl Default for Failsafe {
    fn default() -> Self {
        Self {
            on_coordinator_loss: OnCoordinatorLoss::Continue,
            after: Duration::from_secs(60),
            on_low_battery: OnLowBattery::Return,
            reserve: USUAL_RESERVE,
            preflight: Preflight::Warn,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Assignment {
    pub term: Term,
    pub uid: DroneUid,
    pub name: DroneName,
    /// `metadata.generation` of the Drone when this was computed.
    pub generation: i64,
    pub desired: Desired,
    pub failsafe: Failsafe,
    /// Takeovers by somebody else after which the agent goes on: `spec.resumeAfterTakeovers`; see [`crate::takeover`].
    #[serde(default)]
    pub resume_after: u32,
    /// State of a ground order that the agent may keep; see [`crate::ground`].
    #[serde(default)]
    pub ground_mark: Option<GroundMark>,
    /// Flight that an agent reported before; used by an agent that remembers less of it.
    #[serde(default, rename = "told")]
    pub reported_flight: ReportedFlight,
    /// Whether it moves along ordered routes only ([`crate::route_order`]); the altitude of `Desired::Flying` does not count then.
    #[serde(default)]
    pub routed: bool,
    #[serde(default)]
    pub route: Option<RouteOrder>,
    #[serde(default)]
    pub manner: Manner,
    /// Routes up to this number are never started any more, even if their order comes late: their airspace is another vehicle's once the
    /// agent has taken this.
    #[serde(default)]
    pub void: OrderNumber,
    /// The rules that have to be in force before arming under [`Preflight::Refuse`]; `None`: no rules select the vehicle.
    #[serde(default)]
    pub rules: Option<RulesDigest>,
    /// The plan to fly after takeoff, from the first item not reached; `None`: it holds. The agent takes off only with this plan on its
    /// autopilot.
    #[serde(default)]
    pub plan: Option<PlanDigest>,
    /// Whether the Swarm or Mission deleted the Drone: no person's decision about the vehicle; see [`crate::stand_down`].
    #[serde(default)]
    pub recalled: bool,
}

#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one for each node, and most are assignments"
)]
pub enum Order {
    Assigned(Assignment),
    /// No Drone is bound to the node. A vehicle still flying on an assignment of ours lands.
    Unassigned {
        term: Term,
        /// As in an [`Assignment`].
        void: OrderNumber,
    },
}

impl Order {
    pub const fn term(&self) -> Term {
        match self {
            Self::Assigned(a) => a.term,
            Self::Unassigned { term, .. } => *term,
        }
    }

    pub fn unassigned(term: Term) -> Self {
        Self::Unassigned {
            term,
            void: OrderNumber::default(),
        }
    }

    /// The order that voids all routes up to `number`, except the route that it orders itself.
    pub fn without_routes_to(self, number: OrderNumber) -> Self {
        match self {
            Self::Assigned(assignment) if assignment.route.is_none() => Self::Assigned(Assignment {
                void: number,
                ..assignment
            }),
            Self::Unassigned { term, .. } => Self::Unassigned { term, void: number },
            order @ Self::Assigned(_) => order,
        }
    }

    const fn void(&self) -> OrderNumber {
        match self {
            Self::Assigned(Assignment { void, .. }) | Self::Unassigned { void, .. } => *void,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("order of term {got} refused: this agent has received term {highest}; the sender no longer leads")]
    StaleTerm { got: Term, highest: Term },
    #[error("order of generation {got} refused: generation {held} of the same Drone is held")]
    StaleGeneration { got: i64, held: i64 },
    #[error(
        "order for Drone {got} refused: the vehicle still serves Drone {held} and is not known to be landed and disarmed"
    )]
    Busy { got: DroneUid, held: DroneUid },
}

/// What an agent stores of its orders on disk: the fence against old leaders, and the assignment itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fence {
    pub highest_term: Term,
    /// While a ground order is kept, it keeps the vehicle on the ground whatever was sent.
    pub held: Option<Assignment>,
    /// The ground order kept until the coordinator says that it is done (invariant 9); see [`crate::ground`].
    #[serde(default)]
    pub ground_latch: Option<GroundOrderId>,
    /// The highest route number ever taken: only a higher one is flown.
    #[serde(default)]
    pub last_route: OrderNumber,
}

impl Fence {
    /// The fence after taking `order`. `settled`: the vehicle is known to be landed, disarmed and without an arm command under way
    /// (`fleet::safety::settled`).
    ///
    /// # Errors
    /// [`Refused`], when the order would break invariant 1 (highest term) or 3 (one Drone per vehicle). Its term counts all the same: go on
    /// with [`Fence::raised_to`].
    pub fn take(&self, order: &Order, settled: bool) -> Result<Self, Refused> {
        let highest = self.highest_term;
        if order.term() < highest {
            return Err(Refused::StaleTerm {
                got: order.term(),
                highest,
            });
        }
        let (held, ground_latch) = match (order, &self.held) {
            (Order::Unassigned { .. }, None) => (None, None),
            (Order::Unassigned { .. }, Some(_)) if settled => (None, None),
            (Order::Unassigned { term, .. }, Some(held)) => {
                let desired = Desired::Grounded {
                    why: GroundedWhy::Unbound,
                };
                let landing = Assignment {
                    term: *term,
                    desired,
                    ..held.clone()
                };
                (Some(landing), self.ground_latch)
            }
            (Order::Assigned(new), Some(held)) if new.uid != held.uid && !settled => {
                return Err(Refused::Busy {
                    got: new.uid.clone(),
                    held: held.uid.clone(),
                });
            }
            (Order::Assigned(new), Some(held))
                if new.uid == held.uid && new.term == held.term && new.generation < held.generation =>
            {
                return Err(Refused::StaleGeneration {
                    got: new.generation,
                    held: held.generation,
                });
            }
            (Order::Assigned(new), held) => {
                let same = held.as_ref().is_some_and(|held| held.uid == new.uid);
                let ordered = new.desired.is_ground_order();
                let latch = kept(self.ground_latch.filter(|_| same), ordered, new.ground_mark);
                let before = held.as_ref().filter(|_| same).and_then(|held| held.route.as_ref());
                // A route that is not started yet is not started once void.
                let before = before.filter(|route| !settled || route.number > new.void);
                (Some(self.with_route(under(latch, new), before)), latch)
            }
        };
        let taken = held.as_ref().and_then(|held| held.route.as_ref());
        let last_route = taken.map_or(self.last_route, |route| self.last_route.max(route.number));
        let last_route = last_route.max(order.void());
        Ok(Self {
            highest_term: order.term(),
            held,
            ground_latch,
            last_route,
        })
    }

    /// `assignment` with its own route if that is newer than all before, else the route that is flown already. A vehicle that is to land
    /// has none.
    fn with_route(&self, assignment: Assignment, before: Option<&RouteOrder>) -> Assignment {
        let flies = assignment.routed && matches!(assignment.desired, Desired::Flying { .. });
        let newer = |route: &RouteOrder| route.number > self.last_route;
        let route = assignment.route.filter(newer).or_else(|| before.cloned());
        Assignment {
            route: route.filter(|_| flies),
            ..assignment
        }
    }

    /// The fence once the vehicle has left its route: somebody else flies it, or a failsafe does. The route is not resumed.
    pub fn without_route(&self) -> Self {
        let held = self.held.clone().map(|held| Assignment { route: None, ..held });
        Self { held, ..self.clone() }
    }

    /// The fence after an order of `term` was refused: what is held stays, but a lower term makes the vehicle take off no more.
    pub fn raised_to(&self, term: Term) -> Self {
        Self {
            highest_term: self.highest_term.max(term),
            held: self.held.clone(),
            ground_latch: self.ground_latch,
            last_route: self.last_route,
        }
    }
}

/// `assignment` as it is acted on while the ground order `latch` is kept.
fn under(latch: Option<GroundOrderId>, assignment: &Assignment) -> Assignment {
    let desired = match (latch, assignment.desired) {
        (Some(_), Desired::Flying { .. }) => Desired::Grounded {
            why: GroundedWhy::Ordered,
        },
        (_, desired) => desired,
    };
    Assignment {
        desired,
        ..assignment.clone()
    }
}

/// Parts of an assignment that change without a new generation of its Drone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HeldDetails {
    pub routed: bool,
    pub rules: Option<RulesDigest>,
    pub plan: Option<PlanDigest>,
    /// Altitude above home that a vehicle in the air has to hold; `None` on the ground, and from an agent of an older version.
    #[serde(default)]
    pub altitude: Option<AltitudeAboveHome>,
}

impl HeldDetails {
    pub fn of(assignment: &Assignment) -> Self {
        Self {
            routed: assignment.routed,
            rules: assignment.rules.clone(),
            plan: assignment.plan.clone(),
            altitude: match assignment.desired {
                Desired::Flying { altitude } => Some(altitude),
                Desired::Grounded { .. } => None,
            },
        }
    }

    /// Whether an agent that reports these acts on `others`, as far as it says.
    pub fn act_on(&self, others: &Self) -> bool {
        let altitude = self.altitude.or(others.altitude);
        Self {
            altitude,
            ..self.clone()
        } == *others
    }
}

/// The part of an assignment that an agent reports back: which assignment it acts on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Held {
    pub uid: DroneUid,
    pub term: Term,
    pub generation: i64,
    pub grounded: bool,
    /// Whether the vehicle is known to be landed and disarmed, with no arm command under way, since it wants that.
    pub settled: bool,
    /// What else it says; `None` from an agent of an older version.
    #[serde(default)]
    pub details: Option<HeldDetails>,
}

impl Held {
    /// Altitude above home that a vehicle in the air has to hold; `None` on the ground, and from an agent of an older version.
    pub fn height(&self) -> Option<AltitudeAboveHome> {
        let details = self.details.as_ref().filter(|_| !self.grounded)?;
        details.altitude
    }

    /// What an agent reports of `assignment`; `settled` as for [`Fence::take`].
    pub fn of(assignment: &Assignment, settled: bool) -> Self {
        Self {
            uid: assignment.uid.clone(),
            term: assignment.term,
            generation: assignment.generation,
            grounded: matches!(assignment.desired, Desired::Grounded { .. }),
            settled,
            details: Some(HeldDetails::of(assignment)),
        }
    }
}

#[cfg(test)]
mod tests;
