//! Whether a Drone's place matches its Swarm's node selector, after that has changed.

use crate::planning::binding::selects;
use std::collections::BTreeMap;

/// Of a node, or required of it.
pub type Labels = BTreeMap<String, String>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place<'a> {
    Nowhere,
    On(&'a Labels),
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Placement {
    /// Made with this selector, or nothing can be said.
    Unchanged,
    /// The selector has changed, and matches its node.
    StillMatches,
    /// The selector has changed, and does not match its node: another is to fly in its place.
    Misplaced,
}

/// `has`: selector of the Drone; `wanted`: of its Swarm.
pub fn placement(has: &Labels, wanted: &Labels, place: Place<'_>) -> Placement {
    if has == wanted {
        return Placement::Unchanged;
    }
    match place {
        Place::Nowhere => Placement::StillMatches,
        Place::On(labels) if selects(wanted, labels) => Placement::StillMatches,
        Place::On(_) => Placement::Misplaced,
        Place::Unknown => Placement::Unchanged,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    #[test]
    fn only_a_changed_selector_that_the_node_does_not_match_misplaces_a_drone() {
        let (north, south) = (labels(&[("site", "north")]), labels(&[("site", "south")]));
        let node = labels(&[("site", "north"), ("camera", "thermal")]);
        let of = |has: &Labels, wanted: &Labels| placement(has, wanted, Place::On(&node));
        assert_eq!(of(&north, &south), Placement::Misplaced);
        assert_eq!(of(&north, &labels(&[("camera", "thermal")])), Placement::StillMatches);
        assert_eq!(
            of(&north, &labels(&[])),
            Placement::StillMatches,
            "any node will do now"
        );
        assert_eq!(of(&labels(&[]), &labels(&[("camera", "wide")])), Placement::Misplaced);
        assert_eq!(
            of(&south, &south),
            Placement::Unchanged,
            "the node's labels have changed, not what is desired"
        );
    }

    #[test]
    fn without_a_node_the_new_selector_is_taken_and_of_an_unknown_node_nothing_is_said() {
        let (has, wanted) = (labels(&[]), labels(&[("site", "south")]));
        assert_eq!(placement(&has, &wanted, Place::Nowhere), Placement::StillMatches);
        assert_eq!(placement(&has, &wanted, Place::Unknown), Placement::Unchanged);
    }
}
