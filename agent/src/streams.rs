//! Which messages we need from the autopilot, and asking for those that are missing.
//!
//! Owns: [`Streams`]: what is asked for next, one at a time and paced (PX4 loses answers to bursts). Must not: send. These
//! requests move nothing and are allowed at any time.
//!
//! A link carries what it carries: PX4 stretches all intervals alike until they fit its budget (ten times on a companion's port
//! at 57,600 baud), and what we ask for makes others wait. So the rate at which each message comes is measured. What comes
//! often enough is left alone. Else the autopilot is asked for the interval that is set, and a shorter one is set only where that
//! is longer than what we need: a stream that others use never becomes slower by us. Where a stream stays thin all the same,
//! single messages are asked for.

mod flow;
mod want;

pub use want::{Ask, How, Want};

use fleet::time::Moment;
use flow::Flow;
use link::dialect::MavMessage;
use std::time::Duration;
use want::{AT_ONCE, KINDS, WANTS};

/// Between two requests.
const PACE: Duration = Duration::from_millis(60);
/// After so many questions for intervals without an answer, streams that never came are set without asking.
const MUTE_AFTER: u32 = 1;

/// What was received of each message that we need, and asked for.
#[derive(Clone, Debug, Default)]
pub struct Streams {
    flows: [Flow; KINDS],
    not_before: Moment,
    at_once: [bool; AT_ONCE.len()],
    /// Questions for intervals that had no answer, since one had.
    unanswered: u32,
}

impl Streams {
    /// A message of our autopilot has come.
    pub fn heard(&mut self, message: &MavMessage, now: Moment) {
        if let Some(want) = Want::fulfilled_by(message) {
            self.flows[want as usize].heard(want.terms().every, now);
        }
        if let MavMessage::MESSAGE_INTERVAL(interval) = message
            && let Some(want) = WANTS.into_iter().find(|want| want.terms().id == interval.message_id)
        {
            self.unanswered = 0;
            self.flows[want as usize].confirmed(interval.interval_us);
        }
    }

    /// What a message that is wanted once would say is known from elsewhere.
    pub const fn known(&mut self, want: Want, now: Moment) {
        self.flows[want as usize].known(now);
    }

    /// What a message that is wanted once says may not be true any more.
    pub fn again(&mut self, want: Want) {
        self.flows[want as usize] = Flow::default();
    }

    /// Somebody waits for `want`, which is one of those that are asked for at once: once, without regard to the pace.
    pub fn hurry(&mut self, want: Want) {
        for (asked, _) in self.at_once.iter_mut().zip(AT_ONCE).filter(|(_, w)| *w == want) {
            *asked = true;
        }
    }

    /// What to ask for now, if anything. Call it when no command is outstanding and the autopilot is being heard.
    #[must_use]
    pub fn next(&self, now: Moment) -> Option<Ask> {
        if let Some((_, want)) = self.at_once.iter().zip(AT_ONCE).find(|(asked, _)| **asked) {
            return Some(Ask { want, how: How::Single });
        }
        if now < self.not_before {
            return None;
        }
        let mute = self.unanswered >= MUTE_AFTER;
        let due = WANTS
            .into_iter()
            .filter_map(|want| self.flows[want as usize].due(want, mute, now));
        // The one that has waited longest, so that none keeps the others waiting; in order of need at first.
        due.min_by_key(|(since, _)| *since).map(|(_, ask)| ask)
    }

    /// `ask` is being asked.
    pub fn asked(&mut self, ask: Ask, now: Moment, jitter: f64) {
        let Ask { want, how } = ask;
        for (asked, _) in self.at_once.iter_mut().zip(AT_ONCE).filter(|(_, w)| *w == want) {
            *asked = false;
        }
        if how == How::Interval {
            self.unanswered = self.unanswered.saturating_add(1);
        }
        self.flows[want as usize].asked(&want.terms(), how, now, jitter);
    }

    /// The asking has ended, with or without success.
    pub fn ended(&mut self, ask: Ask, accepted: bool, now: Moment) {
        let Ask { want, how } = ask;
        self.flows[want as usize].ended(&want.terms(), how, accepted, now);
        self.not_before = now.plus(PACE);
    }
}

#[cfg(test)]
mod tests;
