//! An autopilot that signs what it sends, where the agent has no key.
//!
//! PX4 1.18 with a key ignores every unsigned command. Signed messages alone do not prove it: others, such as PX4 before 1.18 by MAV_SIGN_CFG,
//! sign on links on which they take what is not signed. So silence is the proof.

use super::Pilot;
use fleet::flight::memory::Outcome;
use link::dialect::COMMAND_ACK_DATA;
use model::time::Moment;
use model::units::Address;
use model::vehicle::{ArmingReason, ReasonClass};
use tracing::warn;

/// Some are lost on a poor link.
const UNANSWERED_AT_LEAST: u32 = 3;
const TEXT: &str = "the autopilot signs its messages and has answered none of the agent's commands, which are not signed; give the agent \
                    the autopilot's key (--signing-key)";

#[derive(Clone, Debug, Default)]
pub(super) struct Unsigned {
    signs_since: Option<Moment>,
    /// Since then: anything was answered, and how many commands were not.
    answered: bool,
    unanswered: u32,
}

impl Unsigned {
    fn beat(&mut self, signed: bool, now: Moment) {
        if signed != self.signs_since.is_some() {
            *self = Self {
                signs_since: signed.then_some(now),
                ..Self::default()
            };
        }
    }

    fn ended(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Accepted | Outcome::Refused { .. } => self.answered = true,
            Outcome::NoAnswer => self.unanswered = self.unanswered.saturating_add(1),
            Outcome::NotSent => {}
        }
    }

    fn ignored_since(&self) -> Option<Moment> {
        let silent = !self.answered && self.unanswered >= UNANSWERED_AT_LEAST;
        self.signs_since.filter(|_| silent)
    }
}

impl Pilot {
    pub(super) fn beat_signed(&mut self, signed: bool, now: Moment) {
        self.unsigned.beat(signed, now);
    }

    /// Also one that comes late.
    pub(super) fn answer_to_unsigned(&mut self, ack: &COMMAND_ACK_DATA, us: Address) {
        if (ack.target_system, ack.target_component) == (us.system.0, us.component.0) {
            self.unsigned.answered = true;
        }
    }

    /// The end of a command that was waited for.
    pub(super) fn unsigned_ended(&mut self, outcome: &Outcome) {
        let before = self.unsigned.ignored_since();
        self.unsigned.ended(outcome);
        if before.is_none() && self.unsigned.ignored_since().is_some() {
            warn!("{TEXT}");
        }
    }

    pub(super) fn know_unsigned(&mut self) {
        self.vehicle.takes_only_signed = self.unsigned.ignored_since().is_some();
    }

    pub(super) fn unsigned_reason(&self) -> Option<ArmingReason> {
        let since = self.unsigned.ignored_since()?;
        Some(ArmingReason {
            class: ReasonClass::NeedsHuman,
            ..ArmingReason::reported(TEXT.to_owned(), since)
        })
    }
}
