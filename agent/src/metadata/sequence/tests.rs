//! Events lost, doubled, out of order, and after a reboot.

use super::*;
use proptest::prelude::*;

const NONE: [u16; 0] = [];

fn at(ms: u64) -> Moment {
    Moment::at(Duration::from_millis(ms))
}

fn event(sequence: u16) -> EVENT_DATA {
    EVENT_DATA {
        sequence,
        ..EVENT_DATA::default()
    }
}

fn numbers(events: &[EVENT_DATA]) -> Vec<u16> {
    events.iter().map(|e| e.sequence).collect()
}

/// 10 ms apart; returns the numbers that were handed on.
fn receive(sequence: &mut Sequence, events: &[u16]) -> Vec<u16> {
    let handed = |(n, seq): (usize, &u16)| sequence.receive(&event(*seq), at(10 * n as u64));
    numbers(&events.iter().enumerate().flat_map(handed).collect::<Vec<_>>())
}

#[test]
fn each_event_is_handed_on_once_over_the_wrap() {
    let mut sequence = Sequence::default();
    let all = [65534, 65535, 65534, 0, 0, 65535, 1, 2];
    assert_eq!(receive(&mut sequence, &all), [65534, 65535, 0, 1, 2]);
    assert_eq!(sequence.wanted(at(10_000)), None);
}

#[test]
fn old_events_that_others_asked_for_are_not_news() {
    let mut sequence = Sequence::default();
    assert_eq!(receive(&mut sequence, &[500, 480, 481, 501]), [500, 501]);
}

#[test]
fn events_that_overtook_one_another_are_put_in_order_and_nothing_is_asked() {
    let mut sequence = Sequence::default();
    assert_eq!(receive(&mut sequence, &[7, 9, 10, 8, 11]), [7, 8, 9, 10, 11]);
    assert_eq!(sequence.wanted(at(5000)), None);
}

#[test]
fn a_gap_is_asked_about_once_and_holds_back_what_is_behind_it_for_a_while_only() {
    let mut sequence = Sequence::default();
    assert_eq!(receive(&mut sequence, &[65534, 2, 3]), [65534]);
    assert_eq!(sequence.wanted(at(50)), None, "it may have been overtaken only");
    assert_eq!(sequence.wanted(at(110)), Some((65535, 1)));
    assert_eq!(sequence.wanted(at(500)), None);
    assert_eq!(numbers(&sequence.at(at(1000))), NONE);
    assert_eq!(numbers(&sequence.at(at(1210))), [2, 3]);
    assert_eq!(numbers(&sequence.receive(&event(4), at(1300))), [4]);
    assert_eq!(numbers(&sequence.receive(&event(0), at(1310))), NONE, "too late");
}

#[test]
fn what_was_asked_for_fills_the_gap_in_order() {
    let mut sequence = Sequence::default();
    receive(&mut sequence, &[10, 13]);
    assert_eq!(sequence.wanted(at(200)), Some((11, 12)));
    assert_eq!(numbers(&sequence.receive(&event(11), at(210))), [11]);
    assert_eq!(numbers(&sequence.receive(&event(12), at(220))), [12, 13]);
    assert_eq!(numbers(&sequence.at(at(9000))), NONE);
}

#[test]
fn an_event_that_is_not_to_be_had_is_passed_over() {
    let mut sequence = Sequence::default();
    receive(&mut sequence, &[10, 14]);
    assert_eq!(sequence.wanted(at(200)), Some((11, 13)));
    assert_eq!(numbers(&sequence.lost(11, 13)), NONE);
    assert_eq!(numbers(&sequence.lost(40, 41)), NONE, "an answer to somebody else");
    assert_eq!(numbers(&sequence.receive(&event(13), at(210))), [13, 14]);
    // One that names no older one, and one that names a far newer one.
    receive(&mut sequence, &[16]);
    assert_eq!(numbers(&sequence.lost(15, 15)), [16]);
    receive(&mut sequence, &[18]);
    assert_eq!(numbers(&sequence.lost(17, 40)), [18]);
    assert_eq!(numbers(&sequence.lost(19, 20)), NONE, "nothing is missing");
}

#[test]
fn a_long_gap_is_passed_over_without_asking() {
    let mut sequence = Sequence::default();
    assert_eq!(receive(&mut sequence, &[10, 12, 100, 101]), [10, 12, 100, 101]);
    assert_eq!(sequence.wanted(at(5000)), None);
}

#[test]
fn the_autopilots_own_count_shows_what_is_missing_at_the_end() {
    let mut sequence = Sequence::default();
    sequence.current(6, false, at(0));
    assert_eq!(receive(&mut sequence, &[7, 8]), [7, 8], "what was before is not missed");
    assert_eq!(sequence.wanted(at(90)), None);
    sequence.current(10, false, at(100));
    assert_eq!(sequence.wanted(at(150)), None);
    assert_eq!(sequence.wanted(at(210)), Some((9, 10)));
    assert_eq!(numbers(&sequence.at(at(1400))), NONE);
    assert_eq!(numbers(&sequence.receive(&event(11), at(1500))), [11]);
    sequence.current(11, false, at(1600));
    assert_eq!(sequence.wanted(at(5000)), None);
}

#[test]
fn after_a_reboot_the_count_begins_again() {
    let mut sequence = Sequence::default();
    receive(&mut sequence, &[300, 302]);
    sequence.current(65533, true, at(100));
    assert_eq!(receive(&mut sequence, &[65533, 65534]), [65533, 65534]);
    // Without the flag, the second count that is behind says so; one alone has only been overtaken.
    let mut sequence = Sequence::default();
    receive(&mut sequence, &[300]);
    sequence.current(20, false, at(100));
    assert_eq!(receive(&mut sequence, &[21]), NONE);
    sequence.current(21, false, at(200));
    assert_eq!(receive(&mut sequence, &[22, 23]), [22, 23]);
    // The flag comes several times.
    sequence.current(23, true, at(300));
    assert_eq!(receive(&mut sequence, &[23, 24]), [24]);
}

proptest! {
    #[test]
    fn every_event_is_handed_on_at_most_once_in_order_and_what_is_held_is_bounded(
        start: u16, steps in prop::collection::vec((0_u16..30, 0_u8..5, 0_u64..300), 1..200)
    ) {
        let mut sequence = Sequence::default();
        let mut now = 0;
        let mut handed = Vec::new();
        for (far, what, ms) in steps {
            now += ms;
            let number = start.wrapping_add(far);
            match what {
                0 => sequence.current(number, false, at(now)),
                1 => handed.extend(sequence.lost(number, number.wrapping_add(1))),
                2 => { sequence.wanted(at(now)); }
                _ => handed.extend(sequence.receive(&event(number), at(now))),
            }
            handed.extend(sequence.at(at(now)));
            prop_assert!(sequence.waiting.len() <= usize::from(REMEMBERED));
            if sequence.behind {
                // The count may begin again, and then events come again.
                return Ok(());
            }
        }
        let far: Vec<u16> = handed.iter().map(|e| e.sequence.wrapping_sub(start)).collect();
        prop_assert!(far.is_sorted() && far.windows(2).all(|w| w[0] != w[1]), "{far:?}");
    }
}
