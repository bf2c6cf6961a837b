//! Stopping the vehicle's motors: the only place of the agent that a command which disarms can come from.
//!
//! Owns: the command ([`Shot`]), which cannot be made without a [`KillPermit`], and what the autopilot answers to it.
//! Must not: decide ([`model::kill::may_kill`] does), keep an order for later, or send a command twice.

use crate::command::{Outstanding, Patience, Progress};
use crate::outgoing::Written;
use crate::recipe::Command;
use fleet::flight::memory::Outcome;
use link::dialect::{COMMAND_ACK_DATA, MavCmd, MavMessage};
use model::kill::{KillAnswer, KillOutcome, KillPermit, KillQuestion, NoKill, UsedNonces, may_kill};
use model::time::Moment;
use model::units::Address;
use model::vehicle::Identity;
use std::time::Duration;
use tracing::warn;

/// Parameter 2 of MAV_CMD_COMPONENT_ARM_DISARM (400) that has it carried out whatever the vehicle does: PX4 and ArduPilot
/// alike refuse to disarm in the air without it.
const WHATEVER_IT_DOES: f32 = 21196.0;

/// One frame, and an answer within two seconds or none.
const ONCE: Patience = Patience {
    transmissions: 1,
    wait: Duration::from_secs(2),
};

/// The command that stops the motors, to be written now or not at all.
#[derive(Debug)]
pub struct Shot {
    pub nonce: u64,
    pub from: Address,
    /// One COMMAND_LONG (76).
    pub message: MavMessage,
    /// To be spent at the moment of writing.
    pub permit: KillPermit,
}

/// Nothing of it is written down: after a restart nothing is under way.
#[derive(Debug, Default)]
pub struct Kills {
    used: UsedNonces,
    under_way: Option<Outstanding<u64>>,
    /// The one under way was sent while an arm command was: they have one number, so that an answer may be to either.
    amid_arming: bool,
    /// It was answered ACCEPTED all the same. Whose answer that is, the next HEARTBEAT shows.
    accepted: bool,
    answer: Option<KillAnswer>,
}

impl Kills {
    pub const fn used(&self) -> &UsedNonces {
        &self.used
    }

    /// `None` while the autopilot may still answer.
    pub const fn answer(&self) -> Option<&KillAnswer> {
        self.answer.as_ref()
    }

    /// Takes an order: the command to write now, or nothing, and then [`Self::answer`] says why. `to` is the autopilot, if
    /// there is a line to it; `amid_arming` is whether it may still answer to an arm command.
    pub fn order(
        &mut self,
        question: &KillQuestion<'_>,
        to: Option<&Identity>,
        from: Address,
        amid_arming: bool,
    ) -> Option<Shot> {
        let nonce = question.order.nonce;
        let allowed = may_kill(question);
        self.used.note(nonce);
        let permit = match allowed {
            Ok(permit) => permit,
            // It was answered, or will be.
            Err(refused @ NoKill::UsedBefore) => {
                warn!(drone = %question.order.uid, %refused, "kill refused");
                return None;
            }
            Err(refused) => {
                warn!(drone = %question.order.uid, %refused, "kill refused");
                self.answered(nonce, KillOutcome::NotSent(refused.to_string()));
                return None;
            }
        };
        let Some(to) = to else {
            let why = "the agent has no line to the autopilot";
            warn!(drone = %question.order.uid, why, "kill not sent");
            self.answered(nonce, KillOutcome::NotSent(why.to_owned()));
            return None;
        };
        let (outstanding, message) = Outstanding::begin(nonce, to.clone(), stop_motors(&permit), ONCE, question.now);
        (self.under_way, self.answer) = (Some(outstanding), None);
        (self.amid_arming, self.accepted) = (amid_arming, false);
        Some(Shot {
            nonce,
            from,
            message,
            permit,
        })
    }

    pub fn written(&mut self, how: Written) {
        if how == Written::No
            && let Some(nonce) = self.under_way.take().map(|o| o.purpose)
        {
            let why = "the line to the autopilot is down or too slow";
            self.answered(nonce, KillOutcome::NotSent(why.to_owned()));
        }
    }

    pub fn acknowledged(&mut self, ack: &COMMAND_ACK_DATA, now: Moment) {
        let progress = self.under_way.as_mut().map(|o| o.acknowledged(ack, now));
        if self.amid_arming {
            self.accepted |= progress == Some(Progress::Ended(Outcome::Accepted));
            return;
        }
        self.progress(progress);
    }

    /// Takes a HEARTBEAT (0) from our autopilot.
    pub fn beat(&mut self, armed: bool) {
        if self.amid_arming && self.accepted && !armed {
            self.progress(Some(Progress::Ended(Outcome::Accepted)));
        }
    }

    pub fn at(&mut self, now: Moment) {
        let progress = self.under_way.as_mut().map(|o| o.at(now));
        self.progress(progress);
    }

    fn progress(&mut self, progress: Option<Progress>) {
        let outcome = match progress {
            // A command of one transmission is never sent again.
            None | Some(Progress::Waiting | Progress::Send(_)) => return,
            Some(Progress::Ended(Outcome::Accepted)) => KillOutcome::Accepted,
            Some(Progress::Ended(Outcome::Refused { result })) => KillOutcome::Refused(result),
            Some(Progress::Ended(Outcome::NoAnswer | Outcome::NotSent)) => KillOutcome::NoAnswer,
        };
        if let Some(nonce) = self.under_way.take().map(|o| o.purpose) {
            warn!(?outcome, "the autopilot was ordered to stop the motors");
            self.answered(nonce, outcome);
        }
    }

    fn answered(&mut self, nonce: u64, outcome: KillOutcome) {
        self.answer = Some(KillAnswer { nonce, outcome });
    }
}

/// Disarms, whatever the vehicle does. The permit is what makes this a person's word.
const fn stop_motors(_: &KillPermit) -> Command {
    Command::long(MavCmd::MAV_CMD_COMPONENT_ARM_DISARM, [0.0, WHATEVER_IT_DOES, 0.0, 0.0])
}

#[cfg(test)]
mod tests;
