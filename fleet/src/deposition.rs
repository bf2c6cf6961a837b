//! Whether to believe agents that say that somebody has led with a higher term.
//!
//! Owns: how many have to say so, or for how long. Must not: know how they are told apart; whoever asks has seen to that.
//!
//! That another coordinator leads, the Lease says. What agents say matters when the Lease was lost or put back from a copy: then
//! they refuse whoever leads by it, until that one leads above the highest term that they have seen. But an agent on a captured
//! aircraft says what it likes, and must not be able to end one coordinator after the other. So several have to agree; or, in
//! case no more of them come, the coordinator has led for a while, and goes up by so much at most.

use crate::ids::{NodeName, Term};
use std::collections::BTreeMap;
use std::time::Duration;

/// So many agree, or all where there are fewer.
pub const ENOUGH: usize = 3;

/// A coordinator that has led for this long gives in to fewer.
pub const PATIENCE: Duration = Duration::from_secs(600);

/// By so many terms at most it then goes up.
pub const LEAP: u64 = 1000;

/// Nodes whose word is kept.
const MOST: usize = 64;

/// What agents have said of terms higher than ours.
#[derive(Clone, Debug, Default)]
pub struct Rumours(BTreeMap<NodeName, Term>);

impl Rumours {
    /// The agent of `node` has seen `term`, which is higher than ours.
    pub fn heard(&mut self, node: &NodeName, term: Term) {
        if self.0.len() < MOST || self.0.contains_key(node) {
            self.0.insert(node.clone(), term);
        }
    }

    /// The term that is believed, if one is: there are `nodes` in the fleet, and we have led for `leading` with term `ours`.
    #[must_use]
    pub fn believed(&self, ours: Term, nodes: usize, leading: Duration) -> Option<Term> {
        let mut told: Vec<Term> = self.0.values().copied().collect();
        told.sort_unstable_by(|a, b| b.cmp(a));
        let needed = ENOUGH.min(nodes.max(1));
        // What so many have seen at least: one alone cannot name a higher one for them.
        if let Some(agreed) = told.get(needed - 1) {
            return Some(*agreed);
        }
        let lowest = told.last().filter(|_| leading >= PATIENCE)?;
        Some(Term(lowest.0.min(ours.0.saturating_add(LEAP))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rumours(told: &[(&str, u64)]) -> Rumours {
        let mut rumours = Rumours::default();
        for (node, term) in told {
            rumours.heard(&NodeName::parse(node).unwrap(), Term(*term));
        }
        rumours
    }

    const SOON: Duration = Duration::from_secs(1);

    #[test]
    fn one_of_many_is_not_believed_and_cannot_repeat_itself_into_it() {
        assert_eq!(rumours(&[]).believed(Term(1), 10, PATIENCE), None);
        assert_eq!(rumours(&[("a", 9)]).believed(Term(1), 10, SOON), None);
        assert_eq!(
            rumours(&[("a", 9), ("a", 10), ("a", 11)]).believed(Term(1), 10, SOON),
            None
        );
    }

    #[test]
    fn several_are_believed_and_none_of_them_names_a_term_for_the_others() {
        let told = rumours(&[("a", 57), ("b", 57), ("c", 1_000_000)]);
        assert_eq!(told.believed(Term(1), 10, SOON), Some(Term(57)));
    }

    #[test]
    fn in_a_small_fleet_all_of_them_are_enough() {
        assert_eq!(rumours(&[("a", 57)]).believed(Term(1), 1, SOON), Some(Term(57)));
        assert_eq!(rumours(&[("a", 57)]).believed(Term(1), 0, SOON), Some(Term(57)));
        assert_eq!(rumours(&[("a", 57)]).believed(Term(1), 2, SOON), None);
        assert_eq!(
            rumours(&[("a", 57), ("b", 58)]).believed(Term(1), 2, SOON),
            Some(Term(57))
        );
    }

    #[test]
    fn one_alone_is_given_in_to_after_a_while_and_by_a_step_at_a_time() {
        assert_eq!(rumours(&[("a", 57)]).believed(Term(1), 10, PATIENCE), Some(Term(57)));
        let far = rumours(&[("a", 2_000_000_000)]).believed(Term(1), 10, PATIENCE);
        assert_eq!(far, Some(Term(1 + LEAP)));
    }

    #[test]
    fn words_without_end_do_not_fill_the_memory() {
        let mut many = Rumours::default();
        for number in 0..1000 {
            many.heard(&NodeName::parse(&format!("n{number}")).unwrap(), Term(9));
        }
        assert_eq!(many.0.len(), MOST);
    }
}
