//! How late reports come: what lay in a buffer on its way shows where a vehicle was, not where it is.
//!
//! Owns: [`Lateness`] of one session. Must not: read a clock, or compare wall clocks.
//!
//! The agent's clock and ours are monotonic and have nothing in common. The report that took the least time from the one to the other
//! counts as not late, and each other is late by how much longer it took. An agent reports only once its stream is open: at first, and until
//! another report was faster, its first one counts as made when its stream was opened. It may repeat there what it made a second before.
//!
//! What is not known counts as late: a clock that runs slow, stands still or goes back, and a computer that was suspended, make reports
//! older, never newer, until the least is forgotten or the session ends. A clock that jumps ahead hides a delay of its own vehicle alone,
//! as a report of another place would. A delay that stays the same for two windows counts as none.

use model::time::Moment;
use std::time::Duration;

/// The least of the last one to two of these counts: a clock that is off by 0.05 % adds 60 ms at most.
const WINDOW: Duration = Duration::from_secs(60);

/// A first report counts as made when its stream was opened for so long: it may have lain on its way, and a slow computer may have taken its
/// time to make it. A delay that lasts ends the connection sooner.
const FIRST_DOUBTED_FOR: Duration = Duration::from_secs(15);

/// A report by both clocks.
#[derive(Clone, Copy, Debug)]
struct Prompt {
    made: Moment,
    received: Moment,
}

impl Prompt {
    /// How much longer a report `other` took than this one.
    fn later(self, other: Self) -> Duration {
        let passed = other.received.since(self.received);
        let back = self.made.since(other.made);
        passed.saturating_add(back).saturating_sub(other.made.since(self.made))
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Lateness {
    opened: Moment,
    /// The first report, as if it was received when the stream was opened; and when it was.
    first: Option<(Prompt, Moment)>,
    /// The fastest since `since`; `None` before the first report that says when it was made.
    fastest: Option<Prompt>,
    since: Moment,
    /// The fastest of the window before.
    before: Option<Prompt>,
}

impl Lateness {
    /// Lateness in a session whose stream was opened then, by our clock.
    pub const fn of_session(opened: Moment) -> Self {
        Self {
            opened,
            first: None,
            fastest: None,
            since: opened,
            before: None,
        }
    }

    /// When a report was made, by our clock: `made` is by its agent's, `received` by ours. Reports are given in the order of their receipt.
    /// One of an agent that never says when it makes them (`made` is zero) counts as made when received.
    pub fn made(&mut self, made: Moment, received: Moment) -> Moment {
        let own = Prompt { made, received };
        match self.fastest {
            None if made == Moment::default() => return received,
            None => {
                let at_opening = self.opened.min(received);
                self.first = Some((
                    Prompt {
                        made,
                        received: at_opening,
                    },
                    received,
                ));
                self.fastest = Some(own);
            }
            Some(_) if received.since(self.since) >= WINDOW => {
                (self.before, self.fastest, self.since) = (self.fastest, Some(own), received);
            }
            Some(fastest) if fastest.later(own).is_zero() => self.fastest = Some(own),
            Some(_) => {}
        }
        self.first = self.first.filter(|(_, at)| received.since(*at) < FIRST_DOUBTED_FOR);
        let first = self.first.map(|(first, _)| first);
        let late = [first, self.fastest, self.before]
            .into_iter()
            .flatten()
            .map(|than| than.later(own));
        let late = late.max().unwrap_or_default();
        Moment::at(received.since_epoch().saturating_sub(late))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: f64) -> Moment {
        Moment::at(Duration::from_secs_f64(seconds))
    }

    /// Seconds from `one` to `other`, negative if that was before.
    fn from(one: Moment, other: Moment) -> f64 {
        other.since_epoch().as_secs_f64() - one.since_epoch().as_secs_f64()
    }

    /// A session that was opened at second 100, with an agent whose clock shows `ahead` more.
    struct Session {
        lateness: Lateness,
        ahead: f64,
    }

    impl Session {
        fn new(ahead: f64) -> Self {
            let lateness = Lateness::of_session(at(100.0));
            Self { lateness, ahead }
        }

        /// How late a report of second `then` counts that takes so long.
        fn late(&mut self, then: f64, takes: f64) -> f64 {
            let received = at(then + takes);
            from(self.lateness.made(at(then + self.ahead), received), received)
        }
    }

    fn near(one: f64, other: f64) -> bool {
        (one - other).abs() < 0.1
    }

    #[test]
    fn a_report_that_lay_in_a_buffer_is_as_old_as_it_is() {
        for ahead in [-99.0, 0.0, 1e6] {
            let mut session = Session::new(ahead);
            for second in 0..10 {
                let late = session.late(100.0 + f64::from(second), 0.05);
                assert!(near(late, 0.0), "{late}");
            }
            for second in 10..=18 {
                let then = 100.0 + f64::from(second);
                let late = session.late(then, 118.0 - then);
                assert!(near(late, 118.0 - then), "{late} at {then}");
            }
            assert!(near(session.late(119.0, 0.05), 0.0));
        }
    }

    #[test]
    fn the_first_report_of_a_session_is_as_old_as_its_stream_until_another_was_faster() {
        let mut session = Session::new(7000.0);
        assert!(near(session.late(100.0, 4.0), 4.0));
        assert!(near(session.late(101.0, 4.0), 4.0));
        assert!(near(session.late(105.0, 0.1), 0.1));
        // A slow computer took 4 s to make it.
        let mut session = Session::new(7000.0);
        assert!((104..118).all(|second| near(session.late(f64::from(second), 0.0), 4.0)));
        assert!(near(session.late(119.0, 0.0), 0.0));
        // Made before the stream was opened, and sent again on it.
        let mut session = Session::new(7000.0);
        assert!(near(session.late(99.5, 0.5), 0.0));
        assert!(near(session.late(101.0, 0.0), 0.0));
        assert!(near(session.late(102.0, 3.0), 3.0));
    }

    #[test]
    fn reports_of_an_agent_that_says_no_time_count_as_made_when_received() {
        let mut lateness = Lateness::of_session(at(100.0));
        for second in [100.0, 110.0, 300.0] {
            assert_eq!(lateness.made(Moment::default(), at(second)), at(second));
        }
        assert!(
            near(from(lateness.made(at(5.0), at(300.5)), at(300.5)), 200.5),
            "unknown"
        );
        assert!(near(from(lateness.made(at(6.0), at(301.0)), at(301.0)), 200.0), "still");
        let received = at(302.0);
        assert!(
            from(lateness.made(Moment::default(), received), received) > 200.0,
            "it has said one"
        );
    }

    #[test]
    fn clocks_that_drift_hide_no_delay_and_make_no_report_late() {
        // NTP slews a clock by at most 0.05 %; a bad crystal is off by 0.01 %.
        for rate in [0.9995, 0.9999, 1.0, 1.0001, 1.0005] {
            let mut lateness = Lateness::of_session(at(0.0));
            let mut late = |second: f64, takes: f64| {
                let received = at(second + takes);
                from(lateness.made(at(50.0 + second * rate), received), received)
            };
            for second in 0..7200 {
                let takes = 0.02 + 0.03 * f64::from(second % 3);
                let late = late(f64::from(second), takes);
                assert!((0.0..0.2).contains(&late), "{late} at {second}, {rate}");
            }
            let late = late(7200.0, 8.0);
            assert!((7.9..8.2).contains(&late), "{late}, {rate}");
        }
    }

    #[test]
    fn a_clock_that_stood_still_makes_reports_late_until_the_least_is_forgotten() {
        let mut session = Session::new(0.0);
        for second in 0..100 {
            session.late(100.0 + f64::from(second), 0.0);
        }
        // Its computer was suspended for 30 s.
        session.ahead = -30.0;
        let mut late = |second: u32| session.late(230.0 + f64::from(second), 0.0);
        assert!((0..=50).all(|second| near(late(second), 30.0)));
        let after: Vec<f64> = (51..=120).map(late).collect();
        assert!(near(after[after.len() - 1], 0.0), "{after:?}");
    }

    #[test]
    fn no_clock_makes_a_report_newer_than_its_receipt() {
        let mut session = Session::new(1000.0);
        assert!(near(session.late(100.0, 0.0), 0.0));
        // The same time again and again, and an earlier one.
        for (made, received, late) in [(1100.0, 101.0, 1.0), (1100.0, 109.0, 9.0), (1050.0, 110.0, 60.0)] {
            let (made, received) = (at(made), at(received));
            let counts = session.lateness.made(made, received);
            assert!(near(from(counts, received), late), "{counts:?}");
        }
        // A lie, the greatest time that a message can have, makes what follows old.
        let received = at(111.0);
        let greatest = Moment::at(Duration::from_millis(u64::MAX));
        assert_eq!(session.lateness.made(greatest, received), received);
        assert_eq!(session.lateness.made(at(1112.0), at(112.0)), Moment::default());
        assert_eq!(session.lateness.made(Moment::default(), at(113.0)), Moment::default());
    }

    #[test]
    fn reports_in_order_count_as_made_in_order() {
        let mut session = Session::new(33.0);
        let (mut received, mut last) = (100.0_f64, Moment::default());
        // Delays from 0 to 4.9 s that look random, over several windows.
        for step in 0..2000_u32 {
            let made = 100.0 + f64::from(step) * 0.3;
            let takes = f64::from(step.wrapping_mul(2_654_435_761) % 50) * 0.1;
            received = received.max(made + takes);
            let counts = session.lateness.made(at(made + session.ahead), at(received));
            assert!(counts >= last && counts <= at(received), "{counts:?} after {last:?}");
            last = counts;
        }
    }
}
