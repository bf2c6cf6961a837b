//! Ground orders that ended recently, by uid: an answer that was under way may still show one in force.

use crate::cluster::api::CALL_DEADLINE;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::Instant;

/// An answer comes at most [`CALL_DEADLINE`] after its question: one that comes later than this was asked after the end, so its order exists.
const REMEMBERED_FOR: Duration = CALL_DEADLINE.saturating_mul(2);

/// The oldest are forgotten first.
const MAX_ENDED_ORDERS: usize = 1024;

/// Oldest first, each with when its end was found.
#[derive(Debug, Default)]
pub(super) struct EndedOrders(VecDeque<(String, Instant)>);

impl EndedOrders {
    /// The order with this uid was found gone `now`. An order without a uid was never at the API server.
    pub(super) fn put(&mut self, uid: Option<&str>, now: Instant) {
        self.0.retain(|(_, at)| now - *at < REMEMBERED_FOR);
        if self.0.len() >= MAX_ENDED_ORDERS {
            self.0.pop_front();
        }
        self.0.extend(uid.map(|uid| (uid.to_owned(), now)));
    }

    /// Whether an answer at `now` that shows the order with this uid may be older than its end.
    pub(super) fn has(&self, uid: Option<&str>, now: Instant) -> bool {
        let ended = |(ended, at): &(String, Instant)| Some(ended.as_str()) == uid && now - *at < REMEMBERED_FOR;
        self.0.iter().any(ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_that_ended_is_remembered_for_as_long_as_an_answer_may_be_under_way() {
        let (mut ended, now) = (EndedOrders::default(), Instant::now());
        ended.put(Some("o"), now);
        assert!(ended.has(Some("o"), now + CALL_DEADLINE) && !ended.has(Some("p"), now) && !ended.has(None, now));
        assert!(!ended.has(Some("o"), now + REMEMBERED_FOR));
        ended.put(None, now + REMEMBERED_FOR);
        assert!(ended.0.is_empty());
    }

    #[test]
    fn no_more_than_a_bounded_number_are_remembered() {
        let (mut ended, now) = (EndedOrders::default(), Instant::now());
        for id in 0..=MAX_ENDED_ORDERS {
            ended.put(Some(&id.to_string()), now);
        }
        assert_eq!(ended.0.len(), MAX_ENDED_ORDERS);
        assert!(!ended.has(Some("0"), now) && ended.has(Some("1"), now));
    }
}
