//! The order in which Missions are reconciled, so that no namespace delays another.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Longest time of a namespace in one round. Each namespace is served in each round, so an order waits for one round at most.
const NAMESPACE_ROUND_TIME: Duration = Duration::from_millis(500);

#[derive(Clone, Debug, Default)]
pub struct Rounds {
    round: u64,
    taken: BTreeMap<String, Duration>,
    last: BTreeMap<String, u64>,
    has_put_off: bool,
}

impl Rounds {
    /// Begins a round for Missions, each with its namespace and its uid; returns their numbers in order: namespaces that took the least of
    /// the round before first, within one the Mission whose last round is the longest ago, then as given.
    pub fn begin(&mut self, missions: &[(&str, &str)]) -> Vec<usize> {
        let taken_before = std::mem::take(&mut self.taken);
        self.round += 1;
        self.has_put_off = false;
        let known: BTreeSet<&str> = missions.iter().map(|(_, uid)| *uid).collect();
        self.last.retain(|uid, _| known.contains(uid.as_str()));
        let mut order: Vec<usize> = (0..missions.len()).collect();
        order.sort_by_key(|number| {
            let (namespace, uid) = missions.get(*number).copied().unwrap_or_default();
            let taken = taken_before.get(namespace).copied().unwrap_or_default();
            let last = self.last.get(uid).copied().unwrap_or_default();
            (taken, namespace, last)
        });
        order
    }

    /// If not, this Mission is put off to the next round.
    pub fn may(&mut self, namespace: &str, uid: &str) -> bool {
        let may = self
            .taken
            .get(namespace)
            .is_none_or(|taken| *taken < NAMESPACE_ROUND_TIME);
        if may {
            self.last.insert(uid.to_owned(), self.round);
        } else {
            self.has_put_off = true;
        }
        may
    }

    pub fn took(&mut self, namespace: &str, time: Duration) {
        *self.taken.entry(namespace.to_owned()).or_default() += time;
    }

    /// Whether the next round is to begin at once.
    pub const fn has_put_off(&self) -> bool {
        self.has_put_off
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The longest wait of another namespace beside so many hostile Missions, each taking `call`.
    fn until_served(hostile: usize, call: Duration) -> Duration {
        let names: Vec<String> = (0..hostile).map(|number| format!("h{number}")).collect();
        let mut missions: Vec<(&str, &str)> = names.iter().map(|name| ("a-hostile", name.as_str())).collect();
        missions.push(("ordinary", "one"));
        let mut rounds = Rounds::default();
        let mut longest = Duration::ZERO;
        for _ in 0..20 {
            let mut round = Duration::ZERO;
            let mut is_served = false;
            for number in rounds.begin(&missions) {
                let (namespace, uid) = missions[number];
                if !rounds.may(namespace, uid) {
                    continue;
                }
                let time = if namespace == "ordinary" { Duration::ZERO } else { call };
                rounds.took(namespace, time);
                round += time;
                is_served |= namespace == "ordinary";
            }
            assert!(is_served);
            longest = longest.max(round);
        }
        longest
    }

    #[test]
    fn an_ordinary_namespace_is_served_in_a_second_however_many_missions_another_has() {
        for hostile in [1, 10, 1000] {
            let longest = until_served(hostile, Duration::from_millis(200));
            assert!(longest < Duration::from_secs(1), "{hostile}: {longest:?}");
        }
    }

    #[test]
    fn each_mission_of_a_namespace_that_takes_more_than_its_share_has_its_turn() {
        let names: Vec<String> = (0..20).map(|number| format!("m{number}")).collect();
        let missions: Vec<(&str, &str)> = names.iter().map(|name| ("north", name.as_str())).collect();
        let mut rounds = Rounds::default();
        let mut served = BTreeSet::new();
        for _ in 0..5 {
            for number in rounds.begin(&missions) {
                let (namespace, uid) = missions[number];
                if rounds.may(namespace, uid) {
                    served.insert(uid);
                    rounds.took(namespace, Duration::from_millis(100));
                }
            }
        }
        assert_eq!(served.len(), 20);
        assert!(rounds.has_put_off());
    }

    #[test]
    fn nobody_is_put_off_while_all_take_little_and_the_order_is_kept() {
        let missions = [("b", "1"), ("a", "2"), ("b", "3"), ("a", "4")];
        let mut rounds = Rounds::default();
        let order = rounds.begin(&missions);
        assert_eq!(order, [1, 3, 0, 2]);
        for number in order {
            let (namespace, uid) = missions[number];
            assert!(rounds.may(namespace, uid));
            rounds.took(namespace, Duration::from_millis(5));
        }
        assert!(!rounds.has_put_off());
    }
}
