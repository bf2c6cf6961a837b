//! What becomes of an object by the state of its owners, and of an owner by its dependents.
//!
//! Owns: those decisions. Must not: look anything up.

use crate::verbs::meta::{FOREGROUND, ORPHAN};
use crate::verbs::options::Propagation;

/// An owner, as a dependent finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// It is there, or of a kind that is not served here: nobody can tell.
    There,
    /// It waits for its dependents to go.
    Waits,
    /// It is gone, or another object has its name.
    Gone,
}

/// What becomes of a dependent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dependent {
    /// Nothing.
    Stays,
    /// It forgets the owners that are not there, and stays for those that are.
    Forgets,
    /// It goes.
    Goes(Propagation),
}

/// What becomes of a dependent with these owners. `finalizers` are its own; `owns`: it has dependents itself.
pub(super) fn of_dependent(owners: &[Owner], finalizers: &[&str], owns: bool) -> Dependent {
    let any = |state: Owner| owners.contains(&state);
    if owners.is_empty() || !(any(Owner::Gone) || any(Owner::Waits)) {
        return Dependent::Stays;
    }
    if any(Owner::There) {
        return Dependent::Forgets;
    }
    Dependent::Goes(if any(Owner::Waits) && owns {
        // Who waits for it waits for what it owns too.
        Propagation::Foreground
    } else if finalizers.contains(&ORPHAN) {
        Propagation::Orphan
    } else if finalizers.contains(&FOREGROUND) {
        Propagation::Foreground
    } else {
        Propagation::Background
    })
}

/// What an owner on its way out waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiting {
    /// Nothing that concerns dependents.
    No,
    /// For its dependents to forget it.
    ToBeForgotten,
    /// For its dependents to go; `over` when none that blocks it is left.
    ForDependents {
        /// Whether the wait is over.
        over: bool,
    },
}

/// What an owner on its way out waits for. `blocked`: a dependent is there that blocks its end.
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
    fn an_owner_waits_as_it_was_told() {
        assert_eq!(of_owner(&["a.dev/x"], true), Waiting::No);
        assert_eq!(of_owner(&[ORPHAN, "a.dev/x"], true), Waiting::ToBeForgotten);
        assert_eq!(of_owner(&[FOREGROUND], true), Waiting::ForDependents { over: false });
        assert_eq!(of_owner(&[FOREGROUND], false), Waiting::ForDependents { over: true });
    }
}
