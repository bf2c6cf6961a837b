//! Which messages we need from the autopilot, and asking for those that are missing.
//!
//! Owns: [`Streams`]: what is asked for next, one at a time and paced (PX4 loses answers to bursts). Must not: send. These
//! requests move nothing and are allowed at any time.
//!
//! A link carries what it carries: PX4 stretches all intervals alike until they fit its budget (ten times on a companion's port
//! at 57,600 baud), and what we request makes others wait. So the rate at which each message comes is measured. What comes
//! often enough is left alone. Else the autopilot is asked for the interval that is set, and a shorter one is set only where that
//! is longer than what we need: a stream that others use never becomes slower by us. Where a stream stays thin all the same,
//! single messages are asked for.

mod flow;
mod needed;

pub use needed::{How, Needed, Request};

use flow::Flow;
use link::dialect::MavMessage;
use model::time::Moment;
use needed::{AT_ONCE, IN_ORDER, KINDS};
use std::time::Duration;

const PACE: Duration = Duration::from_millis(60);
/// After so many questions for intervals without an answer, streams that never came are set without asking.
const MUTE_AFTER: u32 = 1;

#[derive(Clone, Debug, Default)]
pub struct Streams {
    flows: [Flow; KINDS],
    not_before: Moment,
    at_once: [bool; AT_ONCE.len()],
    unanswered: u32,
}

impl Streams {
    pub fn received(&mut self, message: &MavMessage, now: Moment) {
        if let Some(needed) = Needed::fulfilled_by(message) {
            self.flows[needed as usize].received(needed.terms().every, now);
        }
        if let MavMessage::MESSAGE_INTERVAL(interval) = message
            && let Some(needed) = IN_ORDER
                .into_iter()
                .find(|needed| needed.terms().id == interval.message_id)
        {
            self.unanswered = 0;
            self.flows[needed as usize].confirmed(interval.interval_us);
        }
    }

    /// What the message would say is known from elsewhere.
    pub const fn known(&mut self, needed: Needed, now: Moment) {
        self.flows[needed as usize].known(now);
    }

    /// What the message said may not be true any more.
    pub fn again(&mut self, needed: Needed) {
        self.flows[needed as usize] = Flow::default();
    }

    /// Once, without regard to the pace; `needed` is one of `AT_ONCE`.
    pub fn hurry(&mut self, needed: Needed) {
        for (asked, _) in self.at_once.iter_mut().zip(AT_ONCE).filter(|(_, w)| *w == needed) {
            *asked = true;
        }
    }

    /// Call it when no command is outstanding and the autopilot is being heard.
    pub fn next(&self, now: Moment) -> Option<Request> {
        if let Some((_, needed)) = self.at_once.iter().zip(AT_ONCE).find(|(asked, _)| **asked) {
            return Some(Request {
                needed,
                how: How::Single,
            });
        }
        if now < self.not_before {
            return None;
        }
        let mute = self.unanswered >= MUTE_AFTER;
        let due = IN_ORDER
            .into_iter()
            .filter_map(|needed| self.flows[needed as usize].due(needed, mute, now));
        // The one that has waited longest, so that none keeps the others waiting; in order of need at first.
        due.min_by_key(|(since, _)| *since).map(|(_, request)| request)
    }

    pub fn requested(&mut self, request: Request, now: Moment, jitter: f64) {
        let Request { needed, how } = request;
        for (asked, _) in self.at_once.iter_mut().zip(AT_ONCE).filter(|(_, w)| *w == needed) {
            *asked = false;
        }
        if how == How::Interval {
            self.unanswered = self.unanswered.saturating_add(1);
        }
        self.flows[needed as usize].requested(&needed.terms(), how, now, jitter);
    }

    pub fn ended(&mut self, request: Request, accepted: bool, now: Moment) {
        let Request { needed, how } = request;
        self.flows[needed as usize].ended(&needed.terms(), how, accepted, now);
        self.not_before = now.plus(PACE);
    }
}

#[cfg(test)]
mod tests;
