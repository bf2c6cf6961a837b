//! `Kill` and `KillAnswer`, to and from `model::kill`.

use super::{BadMessage, filled};
use crate::v1;
use model::ids::{DroneUid, Term};
use model::kill::{KillAnswer, KillOrder, KillOutcome};
use model::time::Moment;
use std::time::Duration;

impl From<&KillOrder> for v1::Kill {
    fn from(order: &KillOrder) -> Self {
        Self {
            nonce: order.nonce,
            drone_uid: order.uid.0.clone(),
            term: order.term.0,
            seen_report_ms: u64::try_from(order.last_report.since_epoch().as_millis()).unwrap_or(u64::MAX),
        }
    }
}

impl TryFrom<v1::Kill> for KillOrder {
    type Error = BadMessage;

    fn try_from(kill: v1::Kill) -> Result<Self, BadMessage> {
        if kill.nonce == 0 {
            return Err(BadMessage::Missing { field: "kill.nonce" });
        }
        Ok(Self {
            nonce: kill.nonce,
            uid: DroneUid(filled("kill.drone_uid", kill.drone_uid)?),
            term: Term(kill.term),
            last_report: Moment::at(Duration::from_millis(kill.seen_report_ms)),
        })
    }
}

impl From<&KillAnswer> for v1::KillAnswer {
    fn from(answer: &KillAnswer) -> Self {
        let (outcome, words) = match &answer.outcome {
            KillOutcome::NotSent(why) => (v1::KillOutcome::NotSent, why.clone()),
            KillOutcome::Accepted => (v1::KillOutcome::Accepted, String::new()),
            KillOutcome::Refused(result) => (v1::KillOutcome::Refused, result.clone()),
            KillOutcome::NoAnswer => (v1::KillOutcome::NoAnswer, String::new()),
        };
        Self {
            nonce: answer.nonce,
            outcome: outcome.into(),
            words,
        }
    }
}

impl From<v1::KillAnswer> for KillAnswer {
    /// An unknown outcome says nothing about the motors.
    fn from(answer: v1::KillAnswer) -> Self {
        Self {
            nonce: answer.nonce,
            outcome: match answer.outcome() {
                v1::KillOutcome::NotSent => KillOutcome::NotSent(answer.words),
                v1::KillOutcome::Accepted => KillOutcome::Accepted,
                v1::KillOutcome::Refused => KillOutcome::Refused(answer.words),
                v1::KillOutcome::NoAnswer | v1::KillOutcome::Unspecified => KillOutcome::NoAnswer,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::assignment::Order;

    fn order() -> KillOrder {
        KillOrder {
            nonce: 5,
            uid: DroneUid("u".into()),
            term: Term(3),
            last_report: Moment::at(Duration::from_millis(1234)),
        }
    }

    #[test]
    fn a_kill_order_survives_the_wire() {
        assert_eq!(KillOrder::try_from(v1::Kill::from(&order())), Ok(order()));
    }

    #[test]
    fn a_kill_order_that_leaves_out_whom_or_which_is_refused() {
        let whole = v1::Kill::from(&order());
        let no_drone = v1::Kill {
            drone_uid: String::new(),
            ..whole.clone()
        };
        let no_number = v1::Kill { nonce: 0, ..whole };
        for broken in [no_drone, no_number, v1::Kill::default()] {
            assert!(KillOrder::try_from(broken).is_err());
        }
    }

    #[test]
    fn a_message_with_a_kill_is_no_order() {
        let message = v1::ToAgent {
            kill: Some((&order()).into()),
            ..v1::ToAgent::default()
        };
        assert!(Order::try_from(message).is_err());
    }

    #[test]
    fn what_came_of_a_kill_survives_the_wire() {
        for outcome in [
            KillOutcome::NotSent("too late".into()),
            KillOutcome::Accepted,
            KillOutcome::Refused("FAILED".into()),
            KillOutcome::NoAnswer,
        ] {
            let answer = KillAnswer { nonce: 5, outcome };
            assert_eq!(KillAnswer::from(v1::KillAnswer::from(&answer)), answer);
        }
        let newer = v1::KillAnswer {
            nonce: 5,
            outcome: 99,
            words: String::new(),
        };
        assert_eq!(KillAnswer::from(newer).outcome, KillOutcome::NoAnswer);
    }
}
