//! The Lease as it is written.

use super::*;

fn taken(existing: Option<Lease>, by: &str) -> Lease {
    next(existing, "skein-system", by)
}

fn holder(lease: &Lease) -> Option<&str> {
    seen(lease).holder
}

#[test]
fn each_leadership_has_a_higher_term() {
    let first = taken(None, "a");
    assert_eq!((term(&first), holder(&first)), (Term(1), Some("a")));
    let second = taken(Some(first), "b");
    assert_eq!((term(&second), holder(&second)), (Term(2), Some("b")));
}

#[test]
fn whoever_holds_it_renews_it_and_keeps_its_term() {
    let lease = renewed(Some(taken(None, "a")), Term(1), "skein-system", "a").unwrap();
    assert_eq!((term(&lease), holder(&lease)), (Term(1), Some("a")));
    assert!(lease.spec.unwrap().renew_time.is_some());
}

#[test]
fn a_lease_that_another_has_or_had_meanwhile_is_not_renewed() {
    let first = taken(None, "a");
    let second = taken(Some(first), "b");
    let lost = renewed(Some(second.clone()), Term(1), "skein-system", "a").unwrap_err();
    assert_eq!(lost, Successor("b (term 2)".into()));
    // It is ours again, but of another life: what happened in between is not known here.
    let third = taken(Some(second), "a");
    assert!(renewed(Some(third), Term(1), "skein-system", "a").is_err());
}

#[test]
fn a_lease_that_was_removed_by_hand_is_made_again_with_the_same_term() {
    let lease = renewed(None, Term(7), "skein-system", "a").unwrap();
    assert_eq!((term(&lease), holder(&lease)), (Term(7), Some("a")));
    assert_eq!(lease.metadata.resource_version, None);
}

#[test]
fn one_that_ends_lets_go_of_its_own_lease_and_of_no_other() {
    let mine = taken(None, "a");
    let free = released(mine.clone(), Term(1), "a", None).unwrap();
    assert_eq!((term(&free), holder(&free)), (Term(1), None));
    assert_eq!(term(&taken(Some(free), "b")), Term(2));
    assert_eq!(released(taken(Some(mine), "b"), Term(1), "a", None), None);
}

#[test]
fn after_a_lost_lease_one_more_start_leads_above_all_that_agents_have_seen() {
    let anew = taken(None, "a");
    let raised = released(anew.clone(), Term(1), "a", Some(Term(57))).unwrap();
    assert_eq!((term(&raised), holder(&raised)), (Term(57), None));
    assert_eq!(term(&taken(Some(raised.clone()), "b")), Term(58));
    let theirs = taken(Some(raised), "b");
    assert_eq!(released(theirs, Term(1), "a", Some(Term(57))), None);
    let unbelievable = released(anew, Term(1), "a", Some(Term(u64::MAX))).unwrap();
    assert_eq!(term(&unbelievable), Term(1));
}
