//! Contact with the coordinator: whether somebody who leads has spoken on the stream that is open now.
//!
//! Owns: [`Contact`]: how long the agent has been alone (invariant 6), and whether its assignment is confirmed.
//! Must not: take an open stream for contact. One that only opens, again and again, or that a deposed coordinator holds
//! open, leaves a vehicle alone just as well as none.

use fleet::time::Moment;
use std::time::Duration;

/// What is known of the coordinator.
#[derive(Clone, Copy, Debug)]
pub struct Contact {
    open: bool,
    /// An order of the highest term came on the open stream.
    heard: bool,
    confirmed: bool,
    last: Moment,
}

impl Contact {
    /// No contact, counted from `now`.
    #[must_use]
    pub const fn none_since(now: Moment) -> Self {
        Self {
            open: false,
            heard: false,
            confirmed: false,
            last: now,
        }
    }

    /// A stream was opened; nothing was said on it yet.
    pub const fn opened(&mut self, now: Moment) {
        self.closed(now);
        self.open = true;
    }

    /// The stream is gone.
    pub const fn closed(&mut self, now: Moment) {
        if self.heard {
            self.last = now;
        }
        self.open = false;
        self.heard = false;
        self.confirmed = false;
    }

    /// An order of the highest term came, whether it was taken or not.
    pub const fn heard(&mut self) {
        self.heard = self.open;
    }

    /// An order of the highest term came, about another Drone than the one that is held: nobody stands by that one's wish.
    pub const fn disowned(&mut self) {
        self.heard();
        self.confirmed = false;
    }

    /// An order came and was taken.
    pub const fn confirm(&mut self) {
        self.heard();
        self.confirmed = self.open;
    }

    /// Whether what is held was confirmed on the stream that is open now.
    #[must_use]
    pub const fn confirmed(&self) -> bool {
        self.confirmed
    }

    /// How long there has been no contact.
    #[must_use]
    pub fn silent(&self, now: Moment) -> Duration {
        if self.heard {
            Duration::ZERO
        } else {
            now.since(self.last)
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
        contact.confirm();
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
    fn an_order_that_was_heard_but_not_taken_is_contact_and_no_confirmation() {
        let mut contact = Contact::none_since(at(0));
        contact.opened(at(1));
        contact.heard();
        assert_eq!((contact.silent(at(9)), contact.confirmed()), (Duration::ZERO, false));
    }

    #[test]
    fn an_order_about_another_drone_is_contact_and_takes_the_confirmation_back() {
        let mut contact = Contact::none_since(at(0));
        contact.opened(at(1));
        contact.confirm();
        contact.disowned();
        assert_eq!((contact.silent(at(9)), contact.confirmed()), (Duration::ZERO, false));
    }

    #[test]
    fn what_comes_after_the_stream_is_gone_is_no_contact() {
        let mut contact = Contact::none_since(at(0));
        contact.opened(at(1));
        contact.closed(at(2));
        contact.confirm();
        assert_eq!(contact.silent(at(9)), Duration::from_secs(9));
        assert!(!contact.confirmed());
    }
}
