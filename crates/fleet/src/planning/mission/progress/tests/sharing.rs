//! Shares may be found in parallel: until then nothing is given and nobody is sent away, and then all is as if found at once.

use super::*;
use crate::planning::mission::progress::sharing::{Request, answer};

const fn in_layers(parallelism: usize) -> Wanted {
    Wanted {
        layer_height: Meters(12.0),
        ..wanted(parallelism)
    }
}

/// The step without an answer, and the one with all requested ones.
fn beside(work: &Work, wanted: &Wanted, before: &Progress, drones: &[Observed]) -> [Step; 2] {
    let none = Answers::default();
    let ignorant = Sharer::of_known(work, &none);
    let waits = step_by(&ignorant, wanted, before, drones);
    assert!(ignorant.lacks().is_some());
    let request = Request::Step {
        wanted: *wanted,
        before: before.clone(),
        drones: drones.to_vec(),
        planned: before.parts.iter().map(|part| part.drone.clone()).collect(),
    };
    let answers = answer(work, &request);
    let known = Sharer::of_known(work, &answers);
    let follows = step_by(&known, wanted, before, drones);
    assert_eq!(known.lacks(), None);
    for part in follows
        .progress
        .parts
        .iter()
        .filter(|part| before.part(&part.drone).is_none())
    {
        let flight = known.flight(&part.stretches, part.start, part.raised(wanted.layer_height));
        assert!(matches!(flight, Ok(Ok(_))), "{part:?}");
    }
    assert_eq!(follows, step(work, wanted, before, drones));
    [waits, follows]
}

#[test]
fn work_is_given_once_its_shares_are_known_and_those_who_wait_for_them_stay() {
    let work = route(41);
    let (before, drones) = (Progress::default(), [fit("a"), fit("b")]);
    let [waits, given] = beside(&work, &wanted(2), &before, &drones);
    assert!(waits.is_waiting && waits.progress.parts.is_empty());
    assert_eq!((waits.create, waits.delete.len(), waits.cannot), (0, 0, None));
    assert!(!given.is_waiting && !given.progress.parts.is_empty());
}

#[test]
fn who_joins_or_relieves_stays_until_its_part_is_known_and_the_other_flies_on() {
    let at = |drone: &str, east: f64| seen(drone, Doing::Fit(shifted(HERE, east, 0.0)));
    let all = |east: f64, to: f64| {
        progress(vec![Part {
            start: shifted(HERE, east, 0.0),
            ..part("a", &[(0.0, to)])
        }])
    };
    let busy = Observed {
        begun: true,
        ..flown("a", Doing::Busy, &[(0.0, 4.0)])
    };
    let tiring = flown("a", Doing::Tiring, &[(0.0, 4.0)]);
    let scenes = [
        (route(101), 2, all(2000.0, 100.0), [busy, at("b", 4000.0)]),
        (route(41), 1, all(170.0, 40.0), [tiring, at("b", 170.0)]),
    ];
    for (work, parallelism, before, drones) in scenes {
        let [waits, given] = beside(&work, &in_layers(parallelism), &before, &drones);
        assert!(waits.is_waiting && waits.progress.parts.len() == 1);
        assert_eq!((waits.create, waits.delete.len()), (0, 0), "{waits:?}");
        assert!(waits.progress.parts[0].relief.is_none());
        assert_eq!(given.progress.parts.len(), 2);
    }
}

#[test]
fn a_halt_waits_for_no_answer() {
    let work = route(41);
    let halted = Wanted {
        halt: Some(Halt::Suspended),
        ..wanted(2)
    };
    let none = Answers::default();
    let sharer = Sharer::of_known(&work, &none);
    let step = step_by(&sharer, &halted, &Progress::default(), &[fit("a")]);
    assert_eq!((step.outcome, step.is_waiting), (Outcome::Suspended, false));
    assert_eq!(step.delete, [("a".to_owned(), Why::Halted)]);
}

#[test]
fn what_was_asked_is_named_by_all_that_its_answer_depends_on() {
    let work = route(41);
    let none = Answers::default();
    let lacks = |east: f64| {
        let sharer = Sharer::of_known(&work, &none);
        let drones = [seen("a", Doing::Fit(shifted(HERE, east, 0.0)))];
        let _asks = step_by(&sharer, &wanted(1), &Progress::default(), &drones);
        sharer.lacks().unwrap()
    };
    assert_eq!(lacks(0.0), lacks(0.0));
    assert_ne!(lacks(0.0), lacks(1.0));
}

#[test]
fn few_points_for_few_vehicles_are_shared_at_once_and_more_are_not() {
    assert!(route(1000).is_quick(4));
    assert!(!route(1000).is_quick(5));
}
