//! What the coordinator sends to an agent: not commands but the state it should bring about (level, not edge).
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

/// The desired state of one vehicle.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Desired {
    /// In the air, holding at this height.
    Flying { altitude: AltitudeAboveHome },
    /// On the ground, motors off.
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

/// Why a vehicle should be on the ground.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum GroundedWhy {
    /// Its Drone is being deleted (scale-down, or the Swarm or Drone was deleted).
    Deleted,
    /// An operator's ground order, which latches until released.
    Ordered,
    /// No Drone is bound to the node any more.
    Unbound,
    /// It is to wait: its node is cordoned or drained, or others go first.
    Waiting,
}

/// What the agent does by itself when it has lost the coordinator (invariant 6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum OnCoordinatorLoss {
    #[default]
    Continue,
    /// Hold position; as the vehicle holds anyway once it is up, this keeps it where it is.
    Hold,
    Return,
    Land,
}

/// What the agent does by itself when the battery has reached the reserve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum OnLowBattery {
    /// Nothing; the autopilot's own battery failsafe acts alone.
    Continue,
    #[default]
    Return,
    Land,
}

/// What the agent does by itself when something goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Failsafe {
    /// What to do when the coordinator is lost.
    pub on_coordinator_loss: OnCoordinatorLoss,
    /// How long without contact before it is done.
    pub after: Duration,
    /// What to do when the battery has reached the reserve.
    pub on_low_battery: OnLowBattery,
    /// The reserve: remaining energy at or below which the battery counts as low.
    pub reserve: Percent,
    /// What to make of an autopilot whose own failsafes are off.
    pub preflight: Preflight,
}

/// The reserve of a Drone that names none, percent.
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

/// What one Drone wants of the vehicle of one node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Assignment {
    /// Leadership of the coordinator that sent it.
    pub term: Term,
    /// `metadata.uid` of the bound Drone.
    pub uid: DroneUid,
    /// Its namespace and name, for logs.
    pub name: DroneName,
    /// `metadata.generation` of the Drone when this was computed.
    pub generation: i64,
    pub desired: Desired,
    /// What to do when something goes wrong.
    pub failsafe: Failsafe,
    /// Takeovers by somebody else after which the agent goes on: `spec.resumeAfterTakeovers`; see [`crate::takeover`].
    #[serde(default)]
    pub resume_after: u32,
    /// What has become of a ground order that the agent may keep; see [`crate::ground`].
    #[serde(default)]
    pub ground_mark: Option<GroundMark>,
    /// Flight as an agent reported it before; heeded by one that remembers nothing of it, or fewer takeovers, or no kill.
    #[serde(default, rename = "told")]
    pub reported_flight: ReportedFlight,
    /// Whether it moves along ordered routes only, and otherwise stays where it is; see [`crate::route_order`]. `Desired::Flying`'s
    /// height does not count then.
    #[serde(default)]
    pub routed: bool,
    /// The route to fly, or that it has flown to where it holds.
    #[serde(default)]
    pub route: Option<RouteOrder>,
    /// How it flies its routes, and its heading where they end.
    #[serde(default)]
    pub manner: Manner,
    /// No route up to this number is to be flown any more, if its order comes late: the airspace is another's once the agent has taken that.
    /// A vehicle on the ground does not set out on one either that it has already.
    #[serde(default)]
    pub void: OrderNumber,
    /// The rules that select the vehicle, which have to be in force before it is armed under [`Preflight::Refuse`]; `None`: there are none.
    #[serde(default)]
    pub rules: Option<RulesDigest>,
    /// The plan that it flies once it is up, from the first item that was not reached; `None`: it holds. The agent takes off once it has
    /// this plan on its autopilot, and holds when that has ended.
    #[serde(default)]
    pub plan: Option<PlanDigest>,
    /// Its Drone is deleted by the Swarm or the Mission that made it, which is no person's word about the vehicle; see
    /// [`crate::stand_down`].
    #[serde(default)]
    pub recalled: bool,
}

/// What a coordinator says to an agent about its node.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one for each node, and most are assignments"
)]
pub enum Order {
    /// A Drone is bound to the node.
    Assigned(Assignment),
    /// No Drone is bound to the node. A vehicle still flying on an assignment of ours lands.
    Unassigned {
        /// Leadership of the coordinator that sent it.
        term: Term,
        /// As in an [`Assignment`].
        void: OrderNumber,
    },
}

impl Order {
    /// The leadership it was sent under.
    pub const fn term(&self) -> Term {
        match self {
            Self::Assigned(a) => a.term,
            Self::Unassigned { term, .. } => *term,
        }
    }

    /// No Drone is bound to the node, and no route is void.
    pub fn unassigned(term: Term) -> Self {
        Self::Unassigned {
            term,
            void: OrderNumber::default(),
        }
    }

    /// The order under which no route up to `number` is to be flown, but for the one that it orders.
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

/// Why an agent does not take an order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("order of term {got} refused: this agent has received term {highest}; the sender no longer leads")]
    StaleTerm { got: Term, highest: Term },
    /// Older than what is held of the same Drone in the same term.
    #[error("order of generation {got} refused: generation {held} of the same Drone is held")]
    StaleGeneration { got: i64, held: i64 },
    /// For another Drone while the vehicle is not known to be landed and disarmed.
    #[error(
        "order for Drone {got} refused: the vehicle still serves Drone {held} and is not known to be landed and disarmed"
    )]
    Busy { got: DroneUid, held: DroneUid },
}

/// What an agent remembers of its orders, on disk: the fence against old leaders, and the assignment itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fence {
    pub highest_term: Term,
    /// The assignment held, if any. While a ground order is kept, it keeps the vehicle on the ground whatever was sent.
    pub held: Option<Assignment>,
    /// The ground order kept for the Drone that is held, until the coordinator says that it is done (invariant 9); see
    /// [`crate::ground`].
    #[serde(default)]
    pub ground_latch: Option<GroundOrderId>,
    /// The highest number of a route that was ever taken: only a route with a higher one is flown.
    #[serde(default)]
    pub last_route: OrderNumber,
}

impl Fence {
    /// The fence after taking `order`, or why it is refused. `settled` is whether the vehicle is known to be landed,
    /// disarmed and without an arm command under way (see `fleet::safety::settled`).
    ///
    /// # Errors
    /// [`Refused`], when taking the order would break invariant 1 (highest term) or 3 (one Drone per vehicle). The term
    /// of the order counts all the same: go on with [`Fence::raised_to`] it.
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
            // The order was about a Drone that is gone; the next Drone has orders of its own.
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
                // One that is not on its way yet does not set out on a route that is void.
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

    /// `assignment` with the route to fly: its own if that is newer than all before, else the one that is flown already. A vehicle that
    /// is to land has none.
    fn with_route(&self, assignment: Assignment, before: Option<&RouteOrder>) -> Assignment {
        let flies = assignment.routed && matches!(assignment.desired, Desired::Flying { .. });
        let newer = |route: &RouteOrder| route.number > self.last_route;
        let route = assignment.route.filter(newer).or_else(|| before.cloned());
        Assignment {
            route: route.filter(|_| flies),
            ..assignment
        }
    }

    /// The fence once the vehicle has left its route: somebody else flies it, or a failsafe does. It is not taken up again.
    pub fn without_route(&self) -> Self {
        let held = self.held.clone().map(|held| Assignment { route: None, ..held });
        Self { held, ..self.clone() }
    }

    /// The fence after an order of `term` was refused: what is held stays, but no sender of a lower term makes the vehicle
    /// take off any more, nor does an assignment of one.
    pub fn raised_to(&self, term: Term) -> Self {
        Self {
            highest_term: self.highest_term.max(term),
            held: self.held.clone(),
            ground_latch: self.ground_latch,
            last_route: self.last_route,
        }
    }
}

/// `assignment` as it is to be acted on while the ground order `latch` is kept.
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

/// What of an assignment changes without a new generation of its Drone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HeldDetails {
    /// Whether it moves along ordered routes only.
    pub routed: bool,
    /// The rules that select the vehicle.
    pub rules: Option<RulesDigest>,
    pub plan: Option<PlanDigest>,
    /// The height at which it wants the vehicle, if it wants it in the air; `None` also from an agent of an older version.
    #[serde(default)]
    pub altitude: Option<AltitudeAboveHome>,
}

impl HeldDetails {
    /// Those of `assignment`.
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
    /// Whether it wants the vehicle on the ground.
    pub grounded: bool,
    /// Whether the vehicle is known to be landed and disarmed, with no arm command under way, since it wants that.
    pub settled: bool,
    /// What else it says; `None` from an agent of an older version.
    #[serde(default)]
    pub details: Option<HeldDetails>,
}

impl Held {
    /// The height above home at which it wants the vehicle in the air; `None` also when its agent is of an older version.
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
