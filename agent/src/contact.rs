//! Contact with the coordinator: whether a leader has spoken on the stream that is open now.
//!
//! How long the agent has been alone (invariant 6), whether its assignment is confirmed, and for how long the heartbeat of the ground station
//! goes on without contact ([`grace`]), so that a fail-over brings nobody home. Must not: take an open stream for contact. One that only
//! opens, again and again, or that a deposed coordinator holds open, leaves a vehicle alone just as well as none.

use model::time::Moment;
use std::time::Duration;

/// Another coordinator leads, and agents are connected to it and confirmed, after this long at the latest: it may take the
/// Lease after 10 s ([`fleet::planning::leadership::LASTS`]), and an agent tries again every 5 s at least.
pub const FAIL_OVER_TAKES: Duration = Duration::from_secs(18);

/// Bound of [`grace`].
pub const GRACE_AT_MOST: Duration = Duration::from_secs(20);

/// How long the heartbeat of the ground station goes on after contact was lost, `loss` being the time after which the agent
/// itself counts the coordinator as lost; always less than that.
pub fn grace(loss: Duration) -> Duration {
    GRACE_AT_MOST.min(loss * 3 / 4)
}

#[derive(Clone, Copy, Debug)]
pub struct Contact {
    open: bool,
    /// An order of the highest term came on the open stream.
    order_received: bool,
    confirmed: bool,
    /// Since when the assignment has been confirmed on the open stream.
    confirmed_since: Option<Moment>,
    last: Moment,
    /// For how long lives of the agent before this one had none, in the flight that the vehicle is on.
    lives_before: Duration,
    /// When the stream was lost on which the assignment was confirmed last.
    confirmed_until: Option<Moment>,
}

impl Contact {
    pub const fn none_since(now: Moment) -> Self {
        Self {
            open: false,
            order_received: false,
            confirmed: false,
            confirmed_since: None,
            last: now,
            lives_before: Duration::ZERO,
            confirmed_until: None,
        }
    }

    /// The same of an agent whose lives before had no contact for `time` in the present flight.
    pub const fn after_lives_without(self, time: Duration) -> Self {
        Self {
            lives_before: time,
            ..self
        }
    }

    /// The vehicle is on the ground: its next flight is another.
    pub const fn forget_lives_before(&mut self) {
        self.lives_before = Duration::ZERO;
    }

    /// A stream was opened; nothing was said on it yet.
    pub const fn opened(&mut self, now: Moment) {
        self.closed(now);
        self.open = true;
    }

    pub const fn closed(&mut self, now: Moment) {
        if self.order_received {
            self.last = now;
        }
        if self.confirmed {
            self.confirmed_until = Some(now);
        }
        self.open = false;
        self.order_received = false;
        self.confirmed = false;
        self.confirmed_since = None;
    }

    /// An order of the highest term came, whether it was taken or not.
    pub const fn order_received(&mut self) {
        self.order_received = self.open;
        if self.open {
            self.lives_before = Duration::ZERO;
        }
    }

    /// An order of the highest term came, about another Drone than the one that is held: no leader confirms that one's assignment.
    pub const fn disowned(&mut self) {
        self.order_received();
        self.confirmed = false;
        self.confirmed_since = None;
        self.confirmed_until = None;
    }

    pub const fn confirm(&mut self, now: Moment) {
        self.order_received();
        if self.open && !self.confirmed {
            self.confirmed_since = Some(now);
        }
        self.confirmed = self.open;
    }

    /// On the stream that is open now.
    pub const fn confirmed_since(&self) -> Option<Moment> {
        self.confirmed_since
    }

    /// On the stream that is open now.
    pub const fn confirmed(&self) -> bool {
        self.confirmed
    }

    /// Whether what is held is confirmed, or was until a stream was lost no longer than `grace` ago. Streams that open and say
    /// nothing prolong nothing.
    pub fn confirmed_within(&self, grace: Duration, now: Moment) -> bool {
        self.confirmed || self.confirmed_until.is_some_and(|until| now.since(until) <= grace)
    }

    pub fn silent(&self, now: Moment) -> Duration {
        if self.order_received {
            Duration::ZERO
        } else {
            self.lives_before.saturating_add(now.since(self.last))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: u64) -> Moment {
        Moment::at(Duration::from_secs(s))
    }

    #[test]
    fn contact_lasts_as_long_as_the_stream_on_which_an_order_came() {
        let mut contact = Contact::none_since(at(0));
        contact.opened(at(1));
        assert!(!contact.confirmed());
        contact.confirm(at(1));
        assert!(contact.confirmed());
        assert_eq!(contact.silent(at(500)), Duration::ZERO);
        contact.closed(at(500));
        assert!(!contact.confirmed());
        assert_eq!(contact.silent(at(507)), Duration::from_secs(7));
    }

    #[test]
    fn streams_that_open_and_say_nothing_do_not_put_off_the_failsafe() {
        let mut contact = Contact::none_since(at(0));
        for s in 0..60 {
            contact.opened(at(s));
            contact.closed(at(s));
        }
        contact.opened(at(60));
        assert_eq!(contact.silent(at(90)), Duration::from_secs(90));
    }

    #[test]
    fn lives_before_without_contact_count_until_an_order_comes_or_the_vehicle_is_down() {
        let seconds = Duration::from_secs;
        let born = Contact::none_since(at(2)).after_lives_without(seconds(50));
        let mut contact = born;
        contact.opened(at(4));
        assert_eq!(contact.silent(at(7)), seconds(55), "nothing was said on it");
        contact.order_received();
        contact.closed(at(8));
        assert_eq!(contact.silent(at(9)), seconds(1));
        let mut down = born;
        down.forget_lives_before();
        assert_eq!(down.silent(at(7)), seconds(5));
    }

    #[test]
    fn an_order_that_was_received_but_not_taken_is_contact_and_no_confirmation() {
        let mut contact = Contact::none_since(at(0));
        contact.opened(at(1));
        contact.order_received();
        assert_eq!((contact.silent(at(9)), contact.confirmed()), (Duration::ZERO, false));
    }

    #[test]
    fn an_order_about_another_drone_is_contact_and_takes_the_confirmation_back() {
        let mut contact = Contact::none_since(at(0));
        contact.opened(at(1));
        contact.confirm(at(1));
        contact.disowned();
        assert_eq!((contact.silent(at(9)), contact.confirmed()), (Duration::ZERO, false));
    }

    #[test]
    fn a_fail_over_is_bridged_and_a_coordinator_that_stays_away_is_not() {
        let grace = grace(Duration::from_secs(60));
        assert!(grace >= FAIL_OVER_TAKES);
        let mut contact = Contact::none_since(at(0));
        assert!(!contact.confirmed_within(grace, at(1)), "never confirmed in this life");
        contact.opened(at(1));
        contact.confirm(at(1));
        contact.closed(at(100));
        assert!(contact.confirmed_within(grace, at(118)));
        contact.opened(at(118));
        assert!(contact.confirmed_within(grace, at(120)));
        assert!(
            !contact.confirmed_within(grace, at(121)),
            "an open stream that says nothing"
        );
        contact.closed(at(122));
        contact.opened(at(123));
        assert!(!contact.confirmed_within(grace, at(124)), "nor do many of them");
        contact.confirm(at(1));
        assert!(contact.confirmed_within(grace, at(500)));
    }

    #[test]
    fn what_another_coordinator_does_not_stand_by_is_not_bridged() {
        let mut contact = Contact::none_since(at(0));
        contact.opened(at(1));
        contact.confirm(at(1));
        contact.closed(at(2));
        contact.opened(at(3));
        contact.disowned();
        assert!(!contact.confirmed_within(GRACE_AT_MOST, at(3)));
    }

    #[test]
    fn the_grace_ends_before_the_agent_counts_the_coordinator_as_lost() {
        for loss_s in [5, 10, 20, 24, 60, 3600] {
            let loss = Duration::from_secs(loss_s);
            assert!(grace(loss) < loss && grace(loss) <= GRACE_AT_MOST);
        }
    }

    #[test]
    fn what_comes_after_the_stream_is_gone_is_no_contact() {
        let mut contact = Contact::none_since(at(0));
        contact.opened(at(1));
        contact.closed(at(2));
        contact.confirm(at(1));
        assert_eq!(contact.silent(at(9)), Duration::from_secs(9));
        assert!(!contact.confirmed());
    }
}
