//! Facts that outlive a restart of the agent: its orders, and the state of the Drone's flight.

use super::facts::{Mode, State};
use link::dialect::AUTOPILOT_VERSION_DATA;
use model::assignment::{Assignment, Desired, Failsafe, GroundedWhy, Order};
use model::ground::{GroundMark, GroundOrderId};
use model::ids::Term;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StoredOrder {
    #[default]
    None,
    Perhaps,
    Yes(GroundOrderId),
}

#[derive(Clone, Debug, Default)]
pub struct Ledger {
    pub highest_term: u64,
    pub taken: Option<Order>,
    /// The last assignment taken, as long as it may be held.
    pub held: Option<Assignment>,
    pub stored_order: StoredOrder,
    /// The vehicle that was flown last.
    pub vehicle: Option<(u8, u8)>,
    /// Takeovers that the agent cannot have missed.
    pub takeovers: u32,
    /// The takeovers agreed to before somebody else may have taken command.
    agreed_before: Option<u32>,
    pub flown: bool,
    /// A takeoff was sent since the vehicle was last down.
    pub lifted: bool,
    pub over: bool,
    /// A requested landing was sent since it was last armed. (A takeoff should end that, too; it does not yet: see
    /// crates/fleet/tests/invariants/known.rs.)
    pub our_landing: bool,
    pub killed: bool,
    /// Moment since which no leader has spoken.
    pub alone_since: Option<u64>,
    /// Reported hardware numbers: with two of them it may be another vehicle than the one that served the Drone.
    pub hardware: Vec<(u64, [u8; 18])>,
}

impl Ledger {
    /// Judges whether an order may have been taken or refused, and notes it.
    pub fn order_received(&mut self, order: &Order, took_it: bool, state: State) {
        let term = order.term().0;
        let stale = term < self.highest_term;
        assert!(
            !(stale && took_it),
            "an order of a deposed coordinator was taken: {order:?}"
        );
        if stale {
            return;
        }
        self.highest_term = term;
        match order {
            Order::Unassigned { .. } => {
                assert!(took_it, "there is no reason to refuse {order:?}");
                self.unassigned(state);
            }
            Order::Assigned(new) => {
                let same = self.held.as_ref().filter(|held| held.uid == new.uid);
                if took_it {
                    assert!(
                        same.is_some() || self.held.is_none() || state == State::Down,
                        "the vehicle serves another Drone, and is not down: {order:?} {self:?}"
                    );
                    let earlier = same.is_some_and(|held| held.term == new.term && new.generation < held.generation);
                    assert!(
                        !earlier,
                        "an earlier order of the same Drone was taken: {order:?} {self:?}"
                    );
                } else {
                    let newer = same.is_some_and(|held| held.term < new.term || held.generation <= new.generation);
                    assert!(
                        !newer,
                        "the newest order for the Drone that is held was refused: {order:?} {self:?}"
                    );
                    return;
                }
                self.assigned(new, same.is_some());
            }
        }
        self.taken = Some(order.clone());
    }

    fn unassigned(&mut self, state: State) {
        // A vehicle that is not down lands first, and keeps its ground order.
        if state == State::Down || self.held.is_none() {
            // The order is kept, as an arm command may be under way.
            let none = self.stored_order == StoredOrder::None;
            *self = Self {
                highest_term: self.highest_term,
                vehicle: self.vehicle,
                our_landing: self.our_landing,
                hardware: std::mem::take(&mut self.hardware),
                stored_order: if none { StoredOrder::None } else { StoredOrder::Perhaps },
                ..Self::default()
            };
        } else if let Some(held) = &mut self.held {
            held.term = Term(self.highest_term);
        }
    }

    fn assigned(&mut self, new: &Assignment, same: bool) {
        if !same && self.stored_order != StoredOrder::Perhaps {
            self.stored_order = StoredOrder::None;
        }
        if !same {
            *self = Self {
                highest_term: self.highest_term,
                vehicle: self.vehicle,
                our_landing: self.our_landing,
                hardware: std::mem::take(&mut self.hardware),
                stored_order: self.stored_order,
                ..Self::default()
            };
        }
        let ordered = new.desired
            == Desired::Grounded {
                why: GroundedWhy::Ordered,
            };
        match (new.ground_mark, self.stored_order) {
            (Some(GroundMark::Given(id)), _) if ordered => self.stored_order = StoredOrder::Yes(id),
            (Some(GroundMark::Done(id)), StoredOrder::Yes(stored)) if stored == id => {
                self.stored_order = StoredOrder::None
            }
            _ => {}
        }
        self.takeovers = self.takeovers.max(new.resume_after);
        self.held = Some(new.clone());
    }

    /// Whether the Drone wants flight, and nothing certain is against it.
    pub fn wants_flight(&self) -> bool {
        let flying = matches!(&self.taken, Some(Order::Assigned(a)) if matches!(a.desired, Desired::Flying { .. }));
        flying && !matches!(self.stored_order, StoredOrder::Yes(_))
    }

    /// Whether something may want it down.
    pub fn may_be_ordered_down(&self) -> bool {
        let ordered = match &self.taken {
            None => false,
            Some(Order::Unassigned { .. }) => true,
            Some(Order::Assigned(a)) => matches!(a.desired, Desired::Grounded { .. }),
        };
        ordered || self.stored_order != StoredOrder::None
    }

    /// Whether a person's ground order may be in force, as the last order or as a kept one against the flight that it
    /// wants.
    pub fn may_be_grounded_by_a_person(&self) -> bool {
        match &self.taken {
            Some(Order::Assigned(a)) => match a.desired {
                Desired::Grounded { why } => why == GroundedWhy::Ordered,
                Desired::Flying { .. } => self.stored_order != StoredOrder::None,
            },
            Some(Order::Unassigned { .. }) | None => false,
        }
    }

    /// Whether somebody has taken over for certain, and nobody has said to go on.
    pub fn let_go(&self) -> bool {
        let agreed = self.held.as_ref().map_or(0, |held| held.resume_after);
        self.held.is_some() && self.takeovers > agreed
    }

    pub fn note_hardware(&mut self, reported: &AUTOPILOT_VERSION_DATA) {
        let number = (reported.uid, reported.uid2);
        if !self.hardware.contains(&number) {
            self.hardware.push(number);
        }
    }

    /// Whether the order taken is of the highest term.
    pub fn is_of_the_leader(&self) -> bool {
        self.taken
            .as_ref()
            .is_some_and(|order| order.term().0 >= self.highest_term)
    }

    pub fn failsafe(&self) -> Option<Failsafe> {
        self.held.as_ref().map(|held| held.failsafe)
    }

    /// Notes the certain state; `perhaps` is the state if nothing reported was forgotten.
    pub fn watch(&mut self, certain: (State, Option<Mode>), perhaps: State) {
        if self.held.is_none() {
            return;
        }
        let (state, mode) = certain;
        self.lifted &= perhaps != State::Down;
        match (state, mode) {
            (State::InTheAir, Some(Mode::Station | Mode::TakeOff)) | (State::Down, _) => self.agreed_before = None,
            (State::InTheAir, Some(Mode::Land | Mode::Return)) => {
                self.agreed_before.get_or_insert(self.takeovers);
            }
            (State::InTheAir, Some(Mode::Foreign)) => {
                let before = *self.agreed_before.get_or_insert(self.takeovers);
                self.takeovers = self.takeovers.max(before + 1);
            }
            (State::InTheAir, None) | (State::Unknown | State::ArmedOnGround, _) => {}
        }
        if self.may_be_ordered_down() {
            if perhaps == State::Down {
                self.flown = false;
                self.over = false;
            }
        } else if self.wants_flight() {
            self.flown |= state == State::InTheAir && !self.over;
            if self.flown && state == State::Down {
                self.flown = false;
                self.over = !self.our_landing;
            }
        }
    }
}
