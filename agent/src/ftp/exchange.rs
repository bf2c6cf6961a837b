//! One request on its way at a time: repeating it, and giving up.

use super::packet::{Answer, Request};
use model::backoff::Backoff;
use model::time::Moment;
use std::time::Duration;

/// A request that is not answered is sent again after this and twice what the last answer took, and later each time.
const AGAIN: Backoff = Backoff {
    first: Duration::from_millis(600),
    cap: Duration::from_secs(3),
};
const TRANSMISSIONS: u32 = 6;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    Wait,
    Again(Request),
    Unanswered,
    Free,
}

#[derive(Clone, Debug)]
pub(crate) struct Exchange {
    seq: u16,
    sent: Option<Sent>,
    took: Duration,
}

#[derive(Clone, Debug)]
struct Sent {
    request: Request,
    times: u32,
    at: Moment,
    again: Moment,
    patience: Duration,
}

impl Exchange {
    pub(crate) const fn new(seq: u16) -> Self {
        Self {
            seq,
            sent: None,
            took: Duration::ZERO,
        }
    }

    pub(crate) const fn seq(&self) -> u16 {
        self.seq
    }

    pub(crate) fn due(&mut self, now: Moment, jitter: f64) -> Due {
        let Some(sent) = &mut self.sent else { return Due::Free };
        if now < sent.again {
            return Due::Wait;
        }
        if sent.times < TRANSMISSIONS {
            sent.times += 1;
            sent.again = now.plus(AGAIN.delay(sent.times, jitter) + sent.patience);
            return Due::Again(sent.request.clone());
        }
        self.sent = None;
        Due::Unanswered
    }

    /// Sends `request`, with the next number. The answer may take as long as `work` more than an answer usually does.
    pub(crate) fn send(&mut self, mut request: Request, work: Duration, now: Moment, jitter: f64) -> Request {
        request.seq = self.seq;
        // The answer takes the number after ours.
        self.seq = self.seq.wrapping_add(2);
        let patience = self.took * 2 + work;
        self.sent = Some(Sent {
            request: request.clone(),
            times: 1,
            at: now,
            again: now.plus(AGAIN.delay(1, jitter) + patience),
            patience,
        });
        request
    }

    /// The answer to the request on its way, and how long it took. Anything else (late, doubled, made up) changes nothing.
    pub(crate) fn receive(&mut self, payload: &[u8], now: Moment) -> Option<(Answer, Duration)> {
        let answer = Answer::decode(payload)?;
        let sent = self.sent.take_if(|sent| answer.is_to(&sent.request))?;
        let took = now.since(sent.at);
        self.took = took.min(Duration::from_secs(2));
        Some((answer, took))
    }
}
