//! The pilot's part in the plan that the vehicle flies by itself.

use super::Pilot;
use crate::outgoing::Outgoing;
use crate::plan::{Situation, may_write};
use fleet::flight::converge::{PlanStage, Step};
use fleet::flight::memory::{Outcome, StepKind};
use fleet::safety::FRESH_FOR_ARMING;
use link::dialect::MavMessage;
use model::plan::{FlightPlan, PlanDigest};
use model::takeover::Descent;
use model::time::Moment;
use model::units::Address;
use model::vehicle::{Airframe, ArmingReason, FlightTruth, ReasonClass};
use tracing::warn;

impl Pilot {
    /// A plan of a coordinator that no longer leads is refused.
    pub fn take_plan(&mut self, plan: FlightPlan) {
        let highest = self.state.fence.highest_term;
        if plan.term < highest {
            warn!(got = %plan.term, %highest, "plan refused: its sender no longer leads");
            return;
        }
        self.state.fence = self.state.fence.raised_to(plan.term);
        self.keeper.take(plan);
        self.remember_plan();
    }

    /// Another Drone may be held from now on.
    pub(super) fn serve_by_plan(&mut self) {
        let held = self.state.fence.held.as_ref();
        self.keeper.serve(held.map(|held| &held.uid));
        self.remember_plan();
    }

    /// Also while it waits on the ground for that.
    pub(super) fn named_plan(&self) -> Option<&PlanDigest> {
        let held = self.state.fence.held.as_ref()?;
        held.plan.as_ref().filter(|_| !self.terminating)
    }

    pub(super) fn receive_for_plan(&mut self, message: &MavMessage, us: Address, now: Moment) {
        self.keeper.receive(message, us, now);
    }

    /// Call it before the mode is judged.
    pub(super) fn observe_plan(&mut self, now: Moment) {
        let in_command = self.state.record.in_command;
        self.keeper.observe(&self.vehicle, in_command, now);
        self.vehicle.our_plan = self.keeper.ours();
        self.remember_plan();
    }

    /// By us, or by the last item of the plan.
    pub(super) fn descent_sent(&self) -> Option<Descent> {
        self.memory.descent_sent().or_else(|| self.keeper.descent())
    }

    pub(super) fn next_of_plan(&mut self, now: Moment, jitter: f64) -> Option<Outgoing> {
        let held = self.state.fence.held.as_ref();
        let let_go = held.is_some_and(|held| self.state.record.let_go(held));
        if let_go || self.named_plan().is_none() {
            self.keeper.break_off();
            self.remember_plan();
            return None;
        }
        let identity = self.vehicle.identity.clone()?;
        let free = self.outstanding.is_none() && self.link_up.is_some() && !self.board.is_transferring();
        let ours = self.airframe() == Airframe::Same;
        if !free || !ours || !self.vehicle.link_alive(now) {
            return None;
        }
        // Armed is known only with the next heartbeat.
        let beat = self.vehicle.heartbeat.as_ref();
        let fresh = beat.is_some_and(|beat| beat.fresh(now, FRESH_FOR_ARMING).is_some());
        let held = self.state.fence.held.as_ref();
        let arming = self.memory.arm_under_way(now);
        let truth = self.vehicle.truth(now);
        let may = may_write(truth, self.vehicle.mode(now), arming);
        let named = held.and_then(|held| held.plan.clone());
        let situation = Situation {
            to: &identity,
            named: named.as_ref(),
            may_write: fresh && may,
            may_go_on: may || (matches!(truth, FlightTruth::Unknown(_)) && !arming),
        };
        let send = self.keeper.next(situation, now, jitter);
        self.remember_plan();
        let send = send?;
        Some(Outgoing {
            once_remembered: send.once_remembered,
            ..self.aside(send.message)
        })
    }

    pub(super) fn commands_plan(&mut self, step: &Step, now: Moment) {
        match step {
            Step::FlyPlan => self.keeper.fly_sent(now),
            Step::Hold => self.keeper.hold_sent(),
            _ => return,
        }
        self.remember_plan();
    }

    pub(super) fn plan_answered(&mut self, kind: StepKind, outcome: &Outcome, now: Moment) {
        match kind {
            StepKind::FlyPlan if matches!(outcome, Outcome::Refused { .. } | Outcome::NotSent) => {
                self.keeper.fly_refused();
                self.remember_plan();
            }
            StepKind::Hold => self.keeper.hold_ended(now),
            _ => {}
        }
    }

    pub(super) fn plan_missing(&self, now: Moment) -> Option<ArmingReason> {
        let named = self.named_plan()?;
        if self.vehicle.truth(now) != FlightTruth::Disarmed || self.keeper.stage(Some(named)) != PlanStage::Preparing {
            return None;
        }
        let (class, text) = match self.keeper.refusal() {
            Some(words) => (
                ReasonClass::NeedsHuman,
                format!("the plan that it is to fly is refused: {words}"),
            ),
            None => (
                ReasonClass::WillHeal,
                "the plan that it is to fly is not on its autopilot yet".to_owned(),
            ),
        };
        Some(ArmingReason {
            class,
            ..ArmingReason::reported(text, self.link_up.unwrap_or(now))
        })
    }

    fn remember_plan(&mut self) {
        if self.state.plan != *self.keeper.memory() {
            self.state.plan = self.keeper.memory().clone();
        }
    }
}
