//! Invariant 5: in which circumstances a kill order is carried out.

use crate::given::{FLYING, GROUNDED, assigned, at, uid};
use model::ids::Term;
use model::kill::{KillOrder, KillQuestion, UsedNonces, may_kill};

const HEARD: u64 = 10_000;

#[test]
fn motors_are_stopped_by_a_current_order_of_the_leader_for_the_held_drone_only() {
    let mut used = UsedNonces::default();
    used.note(2);
    let (mut asked, mut allowed) = (0, 0);
    for nonce in [1, 2] {
        for held in [
            None,
            Some(("d", 3, FLYING)),
            Some(("d", 3, GROUNDED)),
            Some(("d", 2, FLYING)),
            Some(("e", 3, FLYING)),
        ] {
            let held = held.map(|(name, term, desired)| assigned(name, term, desired));
            for term in [2, 3, 4] {
                for highest in [2, 3, 4] {
                    for confirmed in [true, false] {
                        for reported_before in [0, 3000, 3001, 60_000] {
                            for waited in [0, 2000, 2001] {
                                let order = KillOrder {
                                    nonce,
                                    uid: uid("d"),
                                    term: Term(term),
                                    last_report: at(HEARD.saturating_sub(reported_before)),
                                };
                                let question = KillQuestion {
                                    order: &order,
                                    arrived: at(HEARD),
                                    held: held.as_ref(),
                                    highest_term: Term(highest),
                                    confirmed,
                                    used: &used,
                                    now: at(HEARD + waited),
                                };
                                let serves = held
                                    .as_ref()
                                    .is_some_and(|held| held.uid.0 == "d" && held.term == Term(term));
                                let good = nonce == 1 && serves && term == highest && confirmed;
                                let in_time = reported_before <= 3000 && waited <= 2000;
                                let answer = may_kill(&question);
                                assert_eq!(answer.is_ok(), good && in_time, "{question:#?}");
                                asked += 1;
                                if let Ok(permit) = answer {
                                    allowed += 1;
                                    assert!(permit.spend(at(HEARD + 2001)).is_err(), "two seconds from its arrival");
                                }
                            }
                        }
                    }
                }
            }
        }
    }
    assert_eq!(asked, 2 * 5 * 3 * 3 * 2 * 4 * 3);
    // Three assignments that serve it (one of an older term, with its own order), two ages, two waits.
    assert_eq!(allowed, 3 * 2 * 2);
}

#[test]
fn a_report_from_the_future_is_not_the_agents_own() {
    let held = assigned("d", 3, FLYING);
    let used = UsedNonces::default();
    let order = KillOrder {
        nonce: 1,
        uid: uid("d"),
        term: Term(3),
        last_report: at(HEARD + 1),
    };
    let question = KillQuestion {
        order: &order,
        arrived: at(HEARD),
        held: Some(&held),
        highest_term: Term(3),
        confirmed: true,
        used: &used,
        now: at(HEARD),
    };
    assert!(may_kill(&question).is_err());
}
