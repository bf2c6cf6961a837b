//! Fate of an object by the state of its owners, and of an owner by its dependents.

use crate::verbs::meta::{FOREGROUND, ORPHAN};
use crate::verbs::options::Propagation;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// Exists, or its kind is not served here, so its state is unknown.
    There,
    Waits,
    /// Deleted, or its name is another object's.
    Gone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dependent {
    Stays,
    /// Loses references to missing owners, and stays for the others.
    Forgets,
    Goes(Propagation),
}

pub(super) fn of_dependent(owners: &[Owner], finalizers: &[&str], owns: bool) -> Dependent {
    let any = |state: Owner| owners.contains(&state);
    if owners.is_empty() || !(any(Owner::Gone) || any(Owner::Waits)) {
        return Dependent::Stays;
    }
    if any(Owner::There) {
        return Dependent::Forgets;
    }
    Dependent::Goes(if any(Owner::Waits) && owns {
        // An owner that waits for it also waits for its dependents.
        Propagation::Foreground
    } else if finalizers.contains(&ORPHAN) {
        Propagation::Orphan
    } else if finalizers.contains(&FOREGROUND) {
        Propagation::Foreground
    } else {
        Propagation::Background
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiting {
    No,
    ToBeForgotten,
    /// Its dependents are deleted; `over` without a blocking one.
    ForDependents {
        over: bool,
    },
}

pub(super) fn of_owner(finalizers: &[&str], blocked: bool) -> Waiting {
    if finalizers.contains(&ORPHAN) {
        Waiting::ToBeForgotten
    } else if finalizers.contains(&FOREGROUND) {
        Waiting::ForDependents { over: !blocked }
    } else {
        Waiting::No
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Owner::{Gone, There, Waits};

    #[test]
    fn a_dependent_stays_as_long_as_one_owner_is_there() {
        assert_eq!(of_dependent(&[], &[], false), Dependent::Stays);
        assert_eq!(of_dependent(&[There, There], &[], false), Dependent::Stays);
        assert_eq!(of_dependent(&[There, Gone], &[], false), Dependent::Forgets);
        assert_eq!(of_dependent(&[There, Waits], &[], true), Dependent::Forgets);
    }

    #[test]
    fn a_dependent_goes_with_its_last_owner() {
        assert_eq!(
            of_dependent(&[Gone], &[], true),
            Dependent::Goes(Propagation::Background)
        );
        assert_eq!(
            of_dependent(&[Waits], &[], false),
            Dependent::Goes(Propagation::Background)
        );
        assert_eq!(
            of_dependent(&[Gone, Gone], &["a.dev/x"], false),
            Dependent::Goes(Propagation::Background)
        );
    }

    #[test]
    fn what_a_waiting_owner_waits_for_waits_for_its_own() {
        assert_eq!(
            of_dependent(&[Waits, Gone], &[], true),
            Dependent::Goes(Propagation::Foreground)
        );
    }

    #[test]
    fn a_dependent_that_was_marked_goes_as_it_was_marked() {
        assert_eq!(
            of_dependent(&[Gone], &[ORPHAN], false),
            Dependent::Goes(Propagation::Orphan)
        );
        assert_eq!(
            of_dependent(&[Gone], &[FOREGROUND], false),
            Dependent::Goes(Propagation::Foreground)
        );
    }

    #[test]
    fn an_owner_waits_as_its_finalizers_say() {
        assert_eq!(of_owner(&["a.dev/x"], true), Waiting::No);
        assert_eq!(of_owner(&[ORPHAN, "a.dev/x"], true), Waiting::ToBeForgotten);
        assert_eq!(of_owner(&[FOREGROUND], true), Waiting::ForDependents { over: false });
        assert_eq!(of_owner(&[FOREGROUND], false), Waiting::ForDependents { over: true });
    }
}
