//! Whether to believe agents that report a term higher than ours.
//!
//! The Lease says whether another coordinator leads. Reports matter when the Lease was lost or restored from a backup: agents then refuse
//! its leader until it leads above the highest term that they have received. But an agent on a captured aircraft reports what it likes, and
//! must not be able to end one coordinator after the other, or to use up the terms. So several have to agree on a term not far from ours;
//! with fewer, or after such a raise, or for a term too far away, the coordinator must have led for a while, and goes up by a bounded step.
//!
//! Agents that really received a term too far away, as from a captured coordinator, follow a new *epoch*: a person raises it on the Lease,
//! and its terms are above all of the epochs before ([`Term::of`]). Nobody has to touch an aircraft.

use model::ids::{NodeName, Term};
use std::collections::BTreeMap;
use std::time::Duration;

/// Agents that have to agree, or all where there are fewer.
pub const MIN_AGREEING_AGENTS: usize = 3;

/// Time of leading after which fewer are believed.
pub const FEWER_BELIEVED_AFTER: Duration = Duration::from_secs(600);

/// Most terms to go up on the report of fewer.
pub const MAX_STEP_TERMS: u64 = 1000;

/// Most terms to go up when enough agree: more than any Lease is renewed by hand or lost with, and far fewer than there are.
pub const MAX_LEAP_TERMS: u64 = 1 << 20;

const MAX_NODES: usize = 4096;

#[derive(Clone, Debug, Default)]
pub struct TermReports(BTreeMap<NodeName, Term>);

impl TermReports {
    pub fn add(&mut self, node: &NodeName, term: Term) {
        if self.0.len() < MAX_NODES || self.0.contains_key(node) {
            self.0.insert(node.clone(), term);
        }
    }

    /// Whether more than half of `nodes` report a term above ours: not a few captured ones, but an old Lease.
    pub fn are_most(&self, nodes: usize) -> bool {
        nodes > 0 && self.0.len().saturating_mul(2) > nodes
    }

    /// The term to believe, after leading for `leading` with term `ours`, which was `raised` on reports just before.
    pub fn believed(&self, ours: Term, nodes: usize, leading: Duration, raised: bool) -> Option<Term> {
        let mut reported: Vec<Term> = self.0.values().copied().collect();
        reported.sort_unstable_by(|a, b| b.cmp(a));
        let needed = MIN_AGREEING_AGENTS.min(nodes.max(1));
        let within = |term: Term, most: u64| Term(term.0.min(ours.0.saturating_add(most)));
        let patient = leading >= FEWER_BELIEVED_AFTER;
        // What so many have received at least: one alone cannot name a higher one for them.
        if let Some(&agreed) = reported.get(needed - 1) {
            let plausible = agreed.0.saturating_sub(ours.0) <= MAX_LEAP_TERMS && !raised;
            return (plausible || patient).then(|| within(agreed, MAX_LEAP_TERMS));
        }
        let lowest = reported.last().filter(|_| patient)?;
        Some(within(*lowest, MAX_STEP_TERMS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reports(reported: &[(&str, u64)]) -> TermReports {
        let mut reports = TermReports::default();
        for (node, term) in reported {
            reports.add(&NodeName::parse(node).unwrap(), Term(*term));
        }
        reports
    }

    fn believed(reported: &[(&str, u64)], nodes: usize, leading: Duration) -> Option<Term> {
        reports(reported).believed(Term(1), nodes, leading, false)
    }

    const SOON: Duration = Duration::from_secs(1);
    /// The highest term of a Lease.
    const TOP: u64 = 2_147_483_646;

    #[test]
    fn one_of_many_is_not_believed_and_cannot_repeat_itself_into_it() {
        assert_eq!(believed(&[], 10, FEWER_BELIEVED_AFTER), None);
        assert_eq!(believed(&[("a", 9)], 10, SOON), None);
        assert_eq!(believed(&[("a", 9), ("a", 10), ("a", 11)], 10, SOON), None);
    }

    #[test]
    fn several_are_believed_and_none_of_them_names_a_term_for_the_others() {
        assert_eq!(
            believed(&[("a", 57), ("b", 57), ("c", 1_000_000)], 10, SOON),
            Some(Term(57))
        );
        assert_eq!(believed(&[("a", TOP), ("b", 57), ("c", 58)], 10, SOON), Some(Term(57)));
    }

    #[test]
    fn in_a_small_fleet_all_of_them_are_enough() {
        assert_eq!(believed(&[("a", 57)], 1, SOON), Some(Term(57)));
        assert_eq!(believed(&[("a", 57)], 0, SOON), Some(Term(57)));
        assert_eq!(believed(&[("a", 57)], 2, SOON), None);
        assert_eq!(believed(&[("a", 57), ("b", 58)], 2, SOON), Some(Term(57)));
    }

    #[test]
    fn one_alone_is_believed_after_a_while_and_by_a_step_at_a_time() {
        assert_eq!(believed(&[("a", 57)], 10, FEWER_BELIEVED_AFTER), Some(Term(57)));
        assert_eq!(
            believed(&[("a", 2_000_000_000)], 10, FEWER_BELIEVED_AFTER),
            Some(Term(1 + MAX_STEP_TERMS))
        );
    }

    #[test]
    fn three_captured_agents_that_claim_the_last_term_depose_nobody_at_once() {
        let captured = [("a", TOP), ("b", TOP), ("c", TOP)];
        assert_eq!(believed(&captured, 10, SOON), None, "it is too far to be true");
        assert_eq!(
            believed(&captured, 10, FEWER_BELIEVED_AFTER),
            Some(Term(1 + MAX_LEAP_TERMS))
        );
        let (mut ours, mut spent) = (Term(1), Duration::ZERO);
        while spent < Duration::from_secs(10 * 24 * 3600) {
            let next = reports(&captured)
                .believed(ours, 10, FEWER_BELIEVED_AFTER, true)
                .unwrap();
            assert!(next.can_be() && next.next().can_be());
            (ours, spent) = (next.next(), spent + FEWER_BELIEVED_AFTER);
        }
        assert!(ours.next() > ours);
    }

    #[test]
    fn what_was_raised_on_the_report_of_agents_is_not_raised_again_at_once() {
        let next = reports(&[("a", 90), ("b", 90), ("c", 90)]);
        assert_eq!(next.believed(Term(58), 10, SOON, false), Some(Term(90)));
        assert_eq!(next.believed(Term(58), 10, SOON, true), None);
        assert_eq!(next.believed(Term(58), 10, FEWER_BELIEVED_AFTER, true), Some(Term(90)));
    }

    #[test]
    fn terms_never_end_and_a_new_epoch_is_above_all_that_were_claimed() {
        assert!(Term(TOP - 1).can_be() && !Term(TOP).can_be());
        assert_eq!(Term(TOP - 1).next(), Term::of(1, 1));
        assert_eq!(Term(7).next(), Term(8));
        assert!(Term::of(1, 1) > Term(TOP));
        assert_eq!((Term::of(3, 9).epoch(), Term::of(3, 9).count()), (3, 9));
        assert!(!Term(u64::MAX).can_be());
    }

    #[test]
    fn a_few_are_not_most() {
        assert!(!reports(&[("a", 9), ("b", 9), ("c", 9)]).are_most(10));
        assert!(reports(&[("a", 9), ("b", 9), ("c", 9)]).are_most(5));
        assert!(reports(&[("a", 9)]).are_most(1));
        assert!(!TermReports::default().are_most(0));
    }

    #[test]
    fn words_without_end_do_not_fill_the_memory() {
        let mut many = TermReports::default();
        for number in 0..10_000 {
            many.add(&NodeName::parse(&format!("n{number}")).unwrap(), Term(9));
        }
        assert_eq!(many.0.len(), MAX_NODES);
    }
}
