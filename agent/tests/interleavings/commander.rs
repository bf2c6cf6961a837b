//! Coordinators for random runs: the leader, and its predecessor that does not know that it is deposed.

use agent_testkit::orders::assignment;
use model::assignment::{Assignment, Desired, Failsafe, GroundedWhy, OnCoordinatorLoss, Order};
use model::ground::{GroundMark, GroundOrderId};
use model::ids::{DroneName, DroneUid, Term};
use model::units::AltitudeAboveHome;
use rand::rngs::StdRng;
use rand::{Rng, RngExt};
use std::time::Duration;

#[derive(Clone, Debug)]
pub struct Commander {
    pub term: u64,
    pub drone: u64,
    pub generation: i64,
    pub bound: bool,
    pub desired: Desired,
    pub failsafe: Failsafe,
    pub resume_after: u32,
    pub mark: Option<GroundMark>,
    pub open: bool,
}

pub const FLYING: Desired = Desired::Flying {
    altitude: AltitudeAboveHome(10.0),
};

pub const GROUNDED: Desired = Desired::Grounded {
    why: GroundedWhy::Deleted,
};

pub const ORDERED: Desired = Desired::Grounded {
    why: GroundedWhy::Ordered,
};

impl Commander {
    pub fn new(rng: &mut StdRng) -> Self {
        let on_coordinator_loss = match rng.random_range(0..4) {
            0 => OnCoordinatorLoss::Continue,
            1 => OnCoordinatorLoss::Hold,
            2 => OnCoordinatorLoss::Return,
            _ => OnCoordinatorLoss::Land,
        };
        Self {
            term: 10,
            drone: 1,
            generation: 1,
            bound: true,
            desired: FLYING,
            failsafe: Failsafe {
                on_coordinator_loss,
                after: Duration::from_secs(10),
                ..Failsafe::default()
            },
            resume_after: 0,
            mark: None,
            open: false,
        }
    }

    pub fn order(&self) -> Order {
        let term = Term(self.term);
        if !self.bound {
            return Order::unassigned(term);
        }
        Order::Assigned(Assignment {
            term,
            uid: DroneUid(format!("drone-{}", self.drone)),
            name: DroneName {
                namespace: "field".into(),
                name: format!("alpha-{}", self.drone),
            },
            failsafe: self.failsafe,
            resume_after: self.resume_after,
            ground_mark: self.mark,
            ..assignment(self.generation, self.desired)
        })
    }

    pub fn change(&mut self, rng: &mut StdRng, takeovers: u32) {
        self.generation += 1;
        match rng.random_range(0..12) {
            0 | 1 => self.desired = GROUNDED,
            2 => {
                self.desired = ORDERED;
                self.mark = Some(GroundMark::Given(GroundOrderId(rng.next_u64() | 1)));
            }
            3..=5 => {
                self.desired = FLYING;
                if let Some(GroundMark::Given(id)) = self.mark {
                    self.mark = Some(GroundMark::Done(id));
                }
            }
            // Restarted before the order was recorded: it knows of no order, and wants flight.
            6 => {
                self.term += 1;
                self.mark = None;
                self.desired = FLYING;
            }
            7 => self.term += 1,
            8 => self.resume_after = takeovers,
            9 => self.bound = !self.bound,
            10 => {
                self.drone += 1;
                self.generation = 1;
                self.resume_after = 0;
                self.mark = None;
                self.bound = true;
            }
            _ => self.failsafe.on_coordinator_loss = OnCoordinatorLoss::Land,
        }
    }

    pub fn deposed(&self) -> Order {
        let mut old = self.clone();
        old.term = old.term.saturating_sub(1);
        old.generation += 5;
        old.desired = FLYING;
        old.mark = None;
        old.order()
    }
}
