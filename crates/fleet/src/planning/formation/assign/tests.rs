//! Which vehicle goes where: the least total, and the steadiest.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

const KEEP: Meters = Meters(3.0);

fn point(east: f64, north: f64) -> Local {
    Local { east, north, up: 0.0 }
}

fn free(places: &[(f64, f64)]) -> BTreeMap<usize, Seeker> {
    let seeker = |(id, (east, north)): (usize, &(f64, f64))| {
        let at = point(*east, *north);
        (id, Seeker { at, holds: None })
    };
    places.iter().enumerate().map(seeker).collect()
}

fn slots(places: &[(f64, f64)]) -> Vec<Local> {
    places.iter().map(|(east, north)| point(*east, *north)).collect()
}

fn total(vehicles: &BTreeMap<usize, Seeker>, slots: &[Local], found: &BTreeMap<usize, usize>) -> f64 {
    found
        .iter()
        .map(|(slot, id)| squared(vehicles[id].at, slots[*slot]))
        .sum()
}

/// Of all ways to match, tried one by one.
fn least(vehicles: &[Local], slots: &[Local]) -> f64 {
    fn go(vehicles: &[Local], slots: &[Local], skips: usize) -> f64 {
        let Some((first, rest)) = vehicles.split_first() else {
            return 0.0;
        };
        let mut best = if skips > 0 {
            go(rest, slots, skips - 1)
        } else {
            f64::INFINITY
        };
        for i in 0..slots.len() {
            let mut left = slots.to_vec();
            let slot = left.remove(i);
            best = best.min(squared(*first, slot) + go(rest, &left, skips));
        }
        best
    }
    go(vehicles, slots, vehicles.len().saturating_sub(slots.len()))
}

fn places(most: usize) -> impl Strategy<Value = Vec<(f64, f64)>> {
    prop::collection::vec((-200.0..200.0, -200.0..200.0), 0..=most)
}

proptest! {
    #[test]
    fn the_total_is_the_least_and_as_many_as_can_be_are_placed(v in places(6), s in places(6)) {
        let (vehicles, slots) = (free(&v), slots(&s));
        let found = assign(&vehicles, &slots, KEEP).unwrap();
        prop_assert_eq!(found.len(), v.len().min(s.len()));
        let ids: BTreeSet<_> = found.values().collect();
        prop_assert_eq!(ids.len(), found.len(), "no vehicle has two slots");
        let all: Vec<Local> = vehicles.values().map(|seeker| seeker.at).collect();
        let (got, best) = (total(&vehicles, &slots, &found), least(&all, &slots));
        prop_assert!((got - best).abs() <= 0.02 * 7.0, "{} is not {}", got, best);
    }

    #[test]
    fn those_who_are_placed_stay_when_they_drift_and_when_others_come_and_go(
        s in places(12), drift in prop::collection::vec((-1.0..1.0, -1.0..1.0), 12), gone in 0usize..12,
    ) {
        let slots = slots(&s);
        let mut vehicles: BTreeMap<usize, Seeker> = slots.iter().zip(drift).enumerate().map(|(slot, (at, off))| {
            (slot, Seeker { at: at.shifted(off.0, off.1), holds: Some(slot) })
        }).collect();
        // Where slots lie close together, an exchange may save something, but never more than the square of what is to be saved.
        let found = assign(&vehicles, &slots, KEEP).unwrap();
        prop_assert!(found.iter().all(|(slot, id)| slot == id));
        if vehicles.remove(&gone).is_some() {
            let found = assign(&vehicles, &slots, KEEP).unwrap();
            prop_assert!(found.iter().all(|(slot, id)| slot == id) && !found.contains_key(&gone));
        }
    }
}

#[test]
fn a_relief_far_away_takes_the_open_slot_and_moves_nobody_who_is_in_place() {
    let line: Vec<(f64, f64)> = (0..20).map(|i| (f64::from(i) * 10.0, 0.0)).collect();
    let slots = slots(&line);
    let mut vehicles: BTreeMap<usize, Seeker> = slots[..19]
        .iter()
        .enumerate()
        .map(|(slot, at)| {
            (
                slot,
                Seeker {
                    at: *at,
                    holds: Some(slot),
                },
            )
        })
        .collect();
    vehicles.insert(
        77,
        Seeker {
            at: point(-10.0, 0.0),
            holds: None,
        },
    );
    // Each would move by ten meters, whose square is less than that of the preference of 150 m.
    let found = assign(&vehicles, &slots, Meters(150.0)).unwrap();
    assert_eq!(found[&19], 77);
    assert!((0..19).all(|slot| found[&slot] == slot));
    let found = assign(&vehicles, &slots, Meters(0.1)).unwrap();
    assert_eq!(found[&0], 77, "without a preference all move up");
}

#[test]
fn among_equals_the_first_by_id_goes_to_the_lowest_slot() {
    let vehicles = free(&[(10.0, 0.0), (-10.0, 0.0), (0.0, 10.0)]);
    assert_eq!(
        assign(&vehicles, &slots(&[(0.0, 0.0)]), KEEP).unwrap(),
        BTreeMap::from([(0, 0)])
    );
    let one = free(&[(0.0, 0.0)]);
    let found = assign(&one, &slots(&[(5.0, 0.0), (-5.0, 0.0), (0.0, 5.0)]), KEEP).unwrap();
    assert_eq!(found, BTreeMap::from([(0, 0)]));
}

#[test]
fn a_slot_that_is_held_but_gone_and_one_that_two_hold_are_no_trouble() {
    let mut vehicles = free(&[(0.0, 0.0), (1.0, 0.0)]);
    for seeker in vehicles.values_mut() {
        seeker.holds = Some(7);
    }
    assert_eq!(
        assign(&vehicles, &slots(&[(0.0, 0.0), (1.0, 0.0)]), KEEP)
            .unwrap()
            .len(),
        2
    );
}

#[test]
fn many_that_are_in_place_keep_their_slots_and_too_many_that_are_not_are_refused() {
    let count = MAX_WEIGHED + 100;
    let many: Vec<(f64, f64)> = (0..count)
        .map(|i| ((i % 60) as f64 * 10.0, (i / 60) as f64 * 10.0))
        .collect();
    let slots = slots(&many);
    let mut vehicles = free(&many);
    assert_eq!(assign(&vehicles, &slots, KEEP), Err(TooMany(count)));
    for (id, seeker) in &mut vehicles {
        seeker.holds = Some(*id);
    }
    vehicles.remove(&500);
    vehicles.insert(
        5000,
        Seeker {
            at: point(-50.0, 0.0),
            holds: None,
        },
    );
    let found = assign(&vehicles, &slots, KEEP).unwrap();
    assert_eq!(found[&500], 5000);
    assert!(found.iter().all(|(slot, id)| slot == id || *slot == 500));
}
