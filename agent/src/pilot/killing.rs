//! The pilot's part in a kill: it knows which Drone the vehicle serves, and remembers that its motors were stopped.

use super::Pilot;
use crate::command::Outstanding;
use crate::kill::Shot;
use crate::outgoing::{Purpose, Written};
use fleet::flight::memory::{Outcome, StepKind};
use model::kill::{KillAnswer, KillOrder, KillQuestion};
use model::time::Moment;
use model::vehicle::Airframe;

impl Pilot {
    /// Takes a kill order that came at `heard`: the command to write now, if it is to be carried out. Report
    /// [`Self::kill_written`] how that went; [`Self::kill_answer`] says what came of it.
    pub fn kill(&mut self, order: &KillOrder, arrived: Moment, now: Moment, jitter: f64) -> Option<Shot> {
        let from = self.from();
        let used = self.kills.used().clone();
        let question = KillQuestion {
            order,
            arrived,
            held: self.state.fence.held.as_ref(),
            highest_term: self.state.fence.highest_term,
            confirmed: self.contact.confirmed(),
            used: &used,
            now,
        };
        let to = self.vehicle.identity.as_ref();
        let to = to.filter(|_| self.link_up.is_some() && self.airframe() != Airframe::Another);
        let arms = |o: &Outstanding<Purpose>| o.purpose == Purpose::Step(StepKind::Arm);
        let amid_arming = self.outstanding.as_ref().is_some_and(arms) || self.memory.arm_under_way(now);
        let shot = self.kills.order(&question, to, from, amid_arming)?;
        // Whatever else is on its way is not repeated any more.
        self.end(&Outcome::NoAnswer, now, jitter);
        Some(shot)
    }

    /// The command of [`Self::kill`] was written, or not. If it may have left, the flight is over for good.
    pub fn kill_written(&mut self, how: Written) {
        self.kills.written(how);
        if how != Written::No {
            self.state.record = self.state.record.killed();
        }
    }

    pub const fn kill_answer(&self) -> Option<&KillAnswer> {
        self.kills.answer()
    }
}
