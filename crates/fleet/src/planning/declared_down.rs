//! Annotations of Nodes by which people declare that a vehicle is not in the air any more (invariant 19).
//!
//! Owns: whether a declaration still counts, and that it is carried out once. Must not: end anything itself; a
//! [`Site`](crate::planning::site::Site) does, and revokes what was declared of a vehicle that is observed in the air after it. Moments are
//! of the wall clock, by which people declare.

use model::ids::NodeName;
use model::time::Moment;
use std::collections::BTreeMap;
use std::time::Duration;

/// Age limit of a declaration, and how far ahead it may be, as people's clocks differ: a later flight is another matter.
pub const DECLARATION_AGE_LIMIT: Duration = Duration::from_secs(600);

/// In this leadership.
#[derive(Clone, Debug, Default)]
pub struct Declarations {
    done: BTreeMap<NodeName, Moment>,
}

fn counts(at: Moment, now: Moment) -> bool {
    now.since(at).max(at.since(now)) <= DECLARATION_AGE_LIMIT
}

impl Declarations {
    /// The nodes whose declarations are to be carried out `now`. A declaration made again is new; one set back in time is not.
    pub fn take_in(&mut self, declared: &BTreeMap<NodeName, Moment>, now: Moment) -> Vec<NodeName> {
        self.done.retain(|node, _| declared.contains_key(node));
        let due = declared.iter().filter(|(node, at)| {
            let is_new = self.done.get(*node).is_none_or(|done| done < *at);
            is_new && counts(**at, now)
        });
        let due: Vec<(NodeName, Moment)> = due.map(|(node, at)| (node.clone(), *at)).collect();
        self.done.extend(due.iter().cloned());
        due.into_iter().map(|(node, _)| node).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: u64) -> Moment {
        Moment::at(Duration::from_secs(1_764_000_000 + second))
    }

    fn declared(all: &[(&str, u64)]) -> BTreeMap<NodeName, Moment> {
        let all = all
            .iter()
            .map(|(node, second)| (NodeName::parse(node).unwrap(), at(*second)));
        all.collect()
    }

    fn taken_in(known: &mut Declarations, all: &[(&str, u64)], now: u64) -> Vec<String> {
        let due = known.take_in(&declared(all), at(now));
        due.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_declaration_counts_for_ten_minutes_and_by_a_clock_that_is_as_much_ahead() {
        for (declared_at, now, counts) in [
            (1000, 1000, true),
            (1000, 1600, true),
            (1000, 1601, false),
            (1600, 1000, true),
            (1601, 1000, false),
        ] {
            let due = taken_in(&mut Declarations::default(), &[("alpha", declared_at)], now);
            assert_eq!(due == ["alpha"], counts, "of {declared_at} at {now}");
        }
    }

    #[test]
    fn a_declaration_is_carried_out_once_and_a_newer_one_again() {
        let mut known = Declarations::default();
        assert_eq!(taken_in(&mut known, &[("alpha", 0)], 5), ["alpha"]);
        assert!(
            taken_in(&mut known, &[("alpha", 0)], 6).is_empty(),
            "it flies again since"
        );
        let both = [("alpha", 0), ("beta", 6)];
        assert_eq!(taken_in(&mut known, &both, 7), ["beta"]);
        assert_eq!(taken_in(&mut known, &[("alpha", 8), ("beta", 6)], 9), ["alpha"]);
        assert!(
            taken_in(&mut known, &[("alpha", 3), ("beta", 6)], 10).is_empty(),
            "an older one says nothing new"
        );
    }

    #[test]
    fn a_declaration_that_is_taken_out_and_made_again_is_carried_out_again() {
        let mut known = Declarations::default();
        assert_eq!(taken_in(&mut known, &[("alpha", 0)], 5), ["alpha"]);
        assert!(taken_in(&mut known, &[], 6).is_empty());
        assert_eq!(taken_in(&mut known, &[("alpha", 0)], 7), ["alpha"]);
    }

    #[test]
    fn one_that_came_too_late_is_not_carried_out_when_another_leads() {
        let mut next_leader = Declarations::default();
        assert!(taken_in(&mut next_leader, &[("alpha", 0)], 601).is_empty());
    }
}
