//! Vehicles that join while all of the work is given.

use super::*;

const fn in_layers(parallelism: usize) -> Wanted {
    Wanted {
        layer_height: Meters(12.0),
        ..wanted(parallelism)
    }
}

fn at_work(drone: &str, all: &[(f64, f64)]) -> Observed {
    Observed {
        begun: true,
        ..flown(drone, Doing::Busy, all)
    }
}

/// One flies all of it, 1000 s long, and has flown a little.
fn alone() -> (Work, Progress, Observed) {
    let before = progress(vec![Part {
        start: shifted(HERE, 2000.0, 0.0),
        ..part("a", &[(0.0, 100.0)])
    }]);
    (route(101), before, at_work("a", &[(0.0, 4.0)]))
}

/// On the ground at the far end.
fn joiner() -> Observed {
    seen("b", Doing::Fit(shifted(HERE, 4000.0, 0.0)))
}

#[test]
fn a_raised_parallelism_asks_for_one_who_takes_over_the_later_part_of_what_is_left() {
    let (work, before, a) = alone();
    let asks = step(&work, &in_layers(2), &before, std::slice::from_ref(&a));
    assert_eq!((asks.create, &asks.progress.parts[0].relief), (1, &None));
    let given = step(&work, &in_layers(2), &asks.progress, &[a.clone(), joiner()]);
    let [first, second] = given.progress.parts.as_slice() else {
        panic!("{given:?}")
    };
    // 630 s until there for the one; for the other 30 s until it has climbed, 264 s there, and 330 s to the end.
    let relief = first.relief.clone().unwrap();
    assert_eq!((relief.drone.as_str(), relief.from, relief.beside), ("b", 67.0, true));
    assert_eq!((&second.stretches, second.layer), (&set(&[(67.0, 100.0)]), 1));
    assert_eq!(first.stretches, set(&[(0.0, 100.0)]), "it flies on as it was planned");
    assert_eq!((given.create, why(&given)), (0, vec![]));
    let third = step(
        &work,
        &in_layers(2),
        &given.progress,
        &[a.clone(), seen("b", Doing::Busy), fit("c")],
    );
    assert_eq!(third.progress.parts.len(), 2, "both places are taken");
    assert_eq!(why(&third), [("c", &Why::NotNeeded)]);
}

#[test]
fn the_one_before_flies_on_until_the_joiner_is_in_place_and_all_is_flown_once() {
    let (work, before, a) = alone();
    let given = step(&work, &in_layers(2), &before, &[a, joiner()]).progress;
    let late = step(
        &work,
        &in_layers(2),
        &given,
        &[at_work("a", &[(0.0, 70.0)]), seen("b", Doing::Busy)],
    );
    assert_eq!((late.progress.parts.len(), why(&late)), (2, vec![]));
    let met = step(
        &work,
        &in_layers(2),
        &given,
        &[at_work("a", &[(0.0, 67.0)]), at_work("b", &[(67.0, 69.0)])],
    );
    assert_eq!((why(&met), met.create), (vec![("a", &Why::Relieved)], 0));
    assert_eq!(met.progress.all_flown(), set(&[(0.0, 69.0)]));
    assert!(met.progress.left(&work).is_empty());
    let end = step(
        &work,
        &in_layers(2),
        &met.progress,
        &[flown("b", Doing::Finished, &[(67.0, 100.0)])],
    );
    assert_eq!((end.outcome, end.progress.failures), (Outcome::Complete, 0));
}

#[test]
fn whichever_of_the_two_is_lost_what_it_has_not_flown_is_left() {
    let (work, before, a) = alone();
    let given = step(&work, &in_layers(2), &before, &[a, joiner()]).progress;
    let lost = |a: Observed, b: Observed| step(&work, &in_layers(2), &given, &[a, b]).progress.left(&work);
    let (a, b) = (at_work("a", &[(0.0, 20.0)]), at_work("b", &[(67.0, 80.0)]));
    assert_eq!(lost(flown("a", Doing::Lost, &[(0.0, 20.0)]), b), set(&[(20.0, 67.0)]));
    assert!(
        lost(a, flown("b", Doing::Lost, &[(67.0, 80.0)])).is_empty(),
        "the first flies it"
    );
}

#[test]
fn nobody_joins_where_it_gains_little_in_one_layer_or_before_all_is_flown_again() {
    let (work, before, a) = alone();
    let both = [a, joiner()];
    let parts = |wanted: &Wanted, drones: &[Observed]| step(&work, wanted, &before, drones).progress.parts.len();
    let again = Wanted {
        completions: Some(2),
        ..in_layers(2)
    };
    assert_eq!(parts(&wanted(2), &both), 1);
    assert_eq!(parts(&again, &both), 1);
    assert_eq!(parts(&in_layers(1), &both), 1);
    assert_eq!(parts(&in_layers(2), &[at_work("a", &[(0.0, 75.0)]), joiner()]), 1);
    assert_eq!(
        parts(&in_layers(2), &[flown("a", Doing::Busy, &[]), joiner()]),
        1,
        "it is not there yet"
    );
}
