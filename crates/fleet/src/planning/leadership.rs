//! Which of several coordinators leads: when one may take the Lease, and how long it may act after a renewal.
//!
//! Owns: the times, and two judgments: [`LeaseWatch::may_take`] of a standby, [`Mandate::acts`] of the leader. Must not: read a clock or
//! know how a Lease is written. Clocks of two machines are never compared: each side counts from its own observations.
//!
//!   leader:  renewed ──ACT_FOR──► acts no more            (counted from before the write was sent)
//!   standby:        observed unchanged ──LASTS──► may take it (counted from after the write was observed)
//!
//! ACT_FOR is shorter than LASTS, and the leader counts from an earlier moment, so it stops before another may begin. What it sent before,
//! and what a stopped clock makes it send later, is fenced by the term ([`model::assignment::Fence`]).

use model::time::Moment;
use std::time::Duration;

/// Time without a renewal after which another may take the Lease.
pub const LASTS: Duration = Duration::from_secs(10);

/// How long a leader acts after the last successful renewal.
pub const ACT_FOR: Duration = Duration::from_secs(7);

pub const RENEW_EVERY: Duration = Duration::from_secs(2);

/// Interval of a standby's checks, give or take [`CHECK_JITTER`].
pub const CHECK_EVERY: Duration = Duration::from_secs(1);

/// As a share of [`CHECK_EVERY`], so that standbys do not all write at once.
pub const CHECK_JITTER: f64 = 0.3;

/// After this time without a check, as while the API server was away, a standby counts from zero: the leader could not renew either, and
/// comes first.
pub const CHECKS_PAUSED: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseObservation<'a> {
    /// `None` once it was released.
    pub holder: Option<&'a str>,
    /// Changes with every write to it.
    pub version: &'a str,
    /// As its holder wrote it, without a renewal.
    pub lasts: Duration,
}

#[derive(Clone, Debug)]
pub struct LeaseWatch {
    me: String,
    last: Option<(String, Moment)>,
    checked: Moment,
}

impl LeaseWatch {
    /// `me`: identity of this coordinator.
    pub fn new(me: &str) -> Self {
        Self {
            me: me.to_owned(),
            last: None,
            checked: Moment::default(),
        }
    }

    /// Whether the Lease as observed (`None`: there is none) may be taken: nobody holds it, an earlier life of this coordinator does, or it
    /// was not renewed for as long as it lasts.
    pub fn may_take(&mut self, observed: Option<LeaseObservation<'_>>, now: Moment) -> bool {
        let away = now.since(std::mem::replace(&mut self.checked, now)) >= CHECKS_PAUSED;
        let Some(observed) = observed else {
            self.last = None;
            return true;
        };
        let since = match &self.last {
            Some((version, since)) if version == observed.version && !away => *since,
            _ => {
                self.last = Some((observed.version.to_owned(), now));
                now
            }
        };
        match observed.holder {
            None => true,
            Some(holder) if holder == self.me => true,
            Some(_) => now.since(since) >= observed.lasts.max(LASTS),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mandate {
    confirmed: Moment,
}

impl Mandate {
    /// From when the write was sent that took or renewed the Lease.
    pub const fn confirmed(sent: Moment) -> Self {
        Self { confirmed: sent }
    }

    /// If `false`, another may lead by now: this one begins no flight, binds and writes nothing until it has renewed the Lease. It lands no
    /// vehicle for that, and a ground order still goes through.
    pub fn acts(&self, now: Moment) -> bool {
        now.since(self.confirmed) < ACT_FOR
    }
}

/// Time to a standby's next check; `jitter` in 0.0..=1.0.
pub fn next_check(jitter: f64) -> Duration {
    CHECK_EVERY.mul_f64(1.0 - CHECK_JITTER + 2.0 * CHECK_JITTER * jitter.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn at(ms: u64) -> Moment {
        Moment::at(Duration::from_millis(ms))
    }

    fn held<'a>(holder: Option<&'a str>, version: &'a str) -> Option<LeaseObservation<'a>> {
        Some(LeaseObservation {
            holder,
            version,
            lasts: LASTS,
        })
    }

    #[test]
    fn a_lease_that_nobody_holds_is_taken_at_once_and_so_is_one_of_an_earlier_life() {
        assert!(LeaseWatch::new("a").may_take(None, at(0)));
        assert!(LeaseWatch::new("a").may_take(held(None, "1"), at(0)));
        assert!(LeaseWatch::new("a").may_take(held(Some("a"), "1"), at(0)));
        assert!(!LeaseWatch::new("a").may_take(held(Some("b"), "1"), at(0)));
    }

    #[test]
    fn a_renewed_lease_is_never_taken_and_another_is_once_its_time_is_over() {
        let mut watch = LeaseWatch::new("a");
        for i in 0..100 {
            assert!(!watch.may_take(held(Some("b"), &i.to_string()), at(i * 2000)));
        }
        let last = 99 * 2000;
        for ms in [3000, 6000, 9999] {
            assert!(!watch.may_take(held(Some("b"), "99"), at(last + ms)));
        }
        assert!(watch.may_take(held(Some("b"), "99"), at(last + 10_000)));
    }

    #[test]
    fn after_an_outage_the_one_who_leads_has_time_to_renew() {
        let mut watch = LeaseWatch::new("a");
        assert!(!watch.may_take(held(Some("b"), "1"), at(0)));
        assert!(
            !watch.may_take(held(Some("b"), "1"), at(60_000)),
            "none could renew meanwhile"
        );
        for second in 61..70 {
            assert!(!watch.may_take(held(Some("b"), "1"), at(second * 1000)));
        }
        assert!(watch.may_take(held(Some("b"), "1"), at(70_000)));
    }

    #[test]
    fn a_holder_that_wants_longer_gets_it_and_one_that_wants_less_does_not() {
        let mut watch = LeaseWatch::new("a");
        let mut may = |lasts, now| {
            let observed = LeaseObservation {
                holder: Some("b"),
                version: "1",
                lasts: Duration::from_secs(lasts),
            };
            watch.may_take(Some(observed), at(now))
        };
        assert!(!may(1, 0));
        for second in 1..10 {
            assert!(!may(1, second * 1000));
        }
        for second in 10..30 {
            assert!(!may(30, second * 1000));
        }
        assert!(may(30, 30_000));
    }

    #[test]
    fn a_leader_acts_for_a_while_after_each_renewal() {
        let mandate = Mandate::confirmed(at(1000));
        assert!(mandate.acts(at(7999)));
        assert!(!mandate.acts(at(8000)));
    }

    proptest! {
        #[test]
        fn nobody_takes_the_lease_while_its_holder_may_act(
            // When the renewals were sent, how long each took, and when the standby checked.
            renewals in proptest::collection::vec((0u64..9000, 0u64..5000), 1..20),
            checks in proptest::collection::vec(300u64..2000, 1..100),
        ) {
            let mut writes = vec![];
            let mut sent = 0;
            for (gap, took) in renewals {
                sent += gap;
                writes.push((sent, sent + took));
                sent += took;
            }
            let mut watch = LeaseWatch::new("standby");
            let mut now = 0;
            for gap in checks {
                now += gap;
                // The newest write that has reached the API server, and its leader's mandate.
                let Some(i) = writes.iter().rposition(|(_, landed)| *landed <= now) else { continue };
                let acts = Mandate::confirmed(at(writes[i].0)).acts(at(now));
                if watch.may_take(held(Some("leader"), &i.to_string()), at(now)) {
                    prop_assert!(!acts, "taken at {now} while the leader may act");
                    break;
                }
            }
        }

        #[test]
        fn checks_are_spread(jitter in 0.0..=1.0f64) {
            let next = next_check(jitter);
            prop_assert!(next >= Duration::from_millis(699) && next <= Duration::from_millis(1301));
        }
    }
}
