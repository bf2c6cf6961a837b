//! Two short accounts of the same flight, and what counts as a difference between them.

use super::*;

fn armed(at_s: f64, armed: bool) -> Statement {
    Statement {
        at_s,
        fact: Fact::Armed(armed),
    }
}

fn verdict(recorded: &[Statement], simulated: &[Statement]) -> Verdict {
    judge(recorded, simulated, &mut [], f64::INFINITY)
}

#[test]
fn equal_accounts_are_the_same() {
    let flight = [armed(1.0, false), armed(40.0, true)];
    assert_eq!(
        verdict(&flight, &flight),
        Verdict::Same {
            count: 2,
            lost: 0,
            brief: 0,
            worst_s: 0.0
        }
    );
}

#[test]
fn a_state_that_falls_between_two_tellings_of_the_other_side_is_no_difference() {
    let long = [armed(1.0, false), armed(40.0, true), armed(60.0, false)];
    let blink = [
        armed(1.0, false),
        armed(20.0, true),
        armed(21.0, false),
        armed(40.0, true),
        armed(60.0, false),
    ];
    assert!(verdict(&long, &blink).is_same() && verdict(&blink, &long).is_same());
    let mut lasting = blink;
    lasting[2].at_s = 22.5;
    assert!(!verdict(&long, &lasting).is_same());
}

#[test]
fn a_brief_state_at_the_end_of_an_account_is_no_difference_either() {
    let flight = [armed(1.0, false), armed(40.0, true)];
    let blink = [
        armed(1.0, false),
        armed(40.0, true),
        armed(50.0, false),
        armed(51.0, true),
    ];
    assert!(verdict(&flight, &blink).is_same() && verdict(&blink, &flight).is_same());
    let mut lasting = blink;
    lasting[3].at_s = 51.2;
    assert!(!verdict(&flight, &lasting).is_same() && !verdict(&lasting, &flight).is_same());
}

#[test]
fn what_comes_after_the_recordings_end_is_judged_only_where_the_recording_has_it() {
    let flight = [armed(1.0, false), armed(40.0, true)];
    let late = [armed(1.0, false), armed(42.0, true), armed(43.0, false)];
    assert!(judge(&flight, &late, &mut [], 41.0).is_same());
    assert!(
        !judge(&flight, &late, &mut [], 50.0).is_same(),
        "it had the time to report it"
    );
}

#[test]
fn a_change_that_only_one_side_reports_is_a_difference() {
    let flight = [armed(1.0, false), armed(40.0, true)];
    let missing = Verdict::Differs {
        place: 1,
        recorded: Some(flight[1]),
        simulated: None,
    };
    assert_eq!(verdict(&flight, &flight[..1]), missing);
}

#[test]
fn a_change_may_be_late_by_both_clocks_and_a_tenth_of_the_time_since_the_last() {
    let real = [armed(1.0, false), armed(21.0, true)];
    assert!(verdict(&real, &[armed(1.0, false), armed(24.9, true)]).is_same());
    assert!(!verdict(&real, &[armed(1.0, false), armed(25.1, true)]).is_same());
}

fn ack(at_s: f64, result: u8) -> Statement {
    Statement {
        at_s,
        fact: Fact::Ack { command: 22, result },
    }
}

#[test]
fn an_ack_that_the_recorder_lost_is_counted_but_is_no_difference() {
    let gap = Gap {
        from_s: 46.0,
        to_s: 46.3,
        missing: 1,
    };
    let simulated = [ack(46.05, 0), ack(49.0, 4)];
    let acks = |gaps: &[Gap]| compare(&[ack(49.0, 4)], &simulated, gaps, 100.0).0[0].1.clone();
    assert_eq!(
        acks(&[gap]),
        Verdict::Same {
            count: 1,
            lost: 1,
            brief: 0,
            worst_s: 0.0
        }
    );
    assert_eq!(acks(&[]).place(), Some(1), "without a loss it is one");
    let elsewhere = Gap {
        from_s: 47.0,
        to_s: 47.3,
        ..gap
    };
    assert!(!acks(&[elsewhere]).is_same());
}

#[test]
fn one_lost_frame_excuses_one_ack() {
    let gap = Gap {
        from_s: 46.0,
        to_s: 46.3,
        missing: 1,
    };
    let simulated = [ack(46.05, 0), ack(46.1, 1), ack(49.0, 4)];
    assert!(!compare(&[ack(49.0, 4)], &simulated, &[gap], 100.0).is_same());
}

#[test]
fn a_lost_first_answer_does_not_make_the_second_late() {
    let gap = Gap {
        from_s: 40.0,
        to_s: 40.3,
        missing: 2,
    };
    let simulated = [ack(40.05, 0), ack(49.0, 0)];
    assert!(compare(&[ack(49.0, 0)], &simulated, &[gap], 100.0).is_same());
}

#[test]
fn a_missing_answer_of_the_simulated_vehicle_is_never_excused() {
    let gap = Gap {
        from_s: 40.0,
        to_s: 50.0,
        missing: 9,
    };
    assert!(!compare(&[ack(49.0, 0)], &[], &[gap], 100.0).is_same());
}
