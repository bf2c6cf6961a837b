//! The rest is cut again, and progress is written down in a few numbers.

use super::*;
use std::collections::BTreeSet;

fn flier(east: f64, north: f64) -> Flier {
    Flier {
        start: at(east, north),
        speed: None,
        endurance: None,
    }
}

fn stretch(from: f64, to: f64) -> Stretch {
    Stretch { from, to }
}

fn set(all: &[(f64, f64)]) -> Stretches {
    Stretches::new(all.iter().map(|(from, to)| stretch(*from, *to)))
}

#[test]
fn stretches_are_a_set_of_positions() {
    let some = set(&[
        (5.0, 6.0),
        (0.0, 2.0),
        (1.0, 3.0),
        (9.0, 8.0),
        (f64::NAN, 1.0),
        (3.0, 3.5),
    ]);
    assert_eq!(some.all(), [stretch(0.0, 3.5), stretch(5.0, 6.0)]);
    assert_eq!(some.without(&set(&[(1.0, 5.5)])), set(&[(0.0, 1.0), (5.5, 6.0)]));
    assert_eq!(some.without(&some), Stretches::default());
    assert_eq!(some.within(&set(&[(3.0, 5.25)])), set(&[(3.0, 3.5), (5.0, 5.25)]));
    assert_eq!(some.and(&set(&[(3.5, 5.0)])), set(&[(0.0, 6.0)]));
    assert!(set(&[(0.0, 0.0001)]).is_empty(), "less than can be written down");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn all_that_is_left_is_cut_among_those_who_are_there_and_nothing_twice(
        area in fields(), spacing in 12.0..40.0_f64, pattern in patterns(),
        gone in prop::collection::vec((0.0..1.0_f64, 0.0..0.2_f64), 0..4), count in 1_usize..5,
    ) {
        let survey = survey(area, spacing, pattern);
        let work = Work::of_survey(&survey).unwrap();
        let whole = work.whole();
        let end = whole.all().last().unwrap().to;
        let flown = Stretches::new(gone.iter().map(|(from, length)| stretch(from * end, (from + length) * end)));
        let left = work.trimmed(&whole.without(&flown));
        let fliers: Vec<Flier> = (0..count).map(|number| flier(-350.0, number as f64 * 20.0)).collect();
        let parts = work.cut(&left, &fliers).unwrap();
        let all = parts.iter().fold(Stretches::default(), |all, (_, part)| all.and(part));
        prop_assert!(work.trimmed(&left.without(&all)).is_empty(), "{left:?} {parts:?}");
        let seconds: f64 = parts.iter().map(|(_, part)| work.seconds(part)).sum();
        prop_assert!((seconds - work.seconds(&left)).abs() < 0.5, "{seconds} of {}", work.seconds(&left));
        for (number, part) in &parts {
            let start = fliers[*number].start;
            let flight = work.flight(part, start, Meters(0.0)).unwrap();
            prop_assert!(work.trimmed(&part.without(&flight.flown(|_| true))).is_empty());
            prop_assert!(work.trimmed(&flight.flown(|_| true).without(part)).is_empty());
            let some: BTreeSet<usize> = flight.to_reach().take(flight.places.len() / 2).collect();
            let half = flight.flown(|item| some.contains(&item));
            prop_assert!(half.without(part).all().iter().all(|one| one.to - one.from < 0.01));
            let first = flight.items.iter().find_map(|item| item.place()).unwrap().unwrap();
            let last = flight.items.iter().rev().find_map(|item| item.place()).unwrap().unwrap();
            prop_assert!((first.0.latitude_deg - start.latitude_deg).abs() < 1e-6);
            prop_assert!((last.0.longitude_deg - start.longitude_deg).abs() < 1e-6);
        }
    }
}

fn route(count: usize) -> Work {
    let waypoint = |number: usize| Waypoint {
        speed: (number == 0).then_some(MetersPerSecond(4.0)),
        actions: if number == 1 {
            vec![Action::TriggerEvery(Meters(3.0))]
        } else {
            vec![]
        },
        ..Waypoint::passed(
            at(number as f64 * 40.0, 0.0),
            Altitude::AboveHome(AltitudeAboveHome(20.0)),
        )
    };
    Work::of_route(&Route::new((0..count).map(waypoint).collect()).unwrap()).unwrap()
}

#[test]
fn the_rest_of_a_share_sends_speed_and_camera_again_and_begins_where_it_was_left() {
    let work = route(6);
    let whole = work.whole();
    let flight = work.flight(&whole, at(0.0, -30.0), Meters(0.0)).unwrap();
    assert_eq!(flight.places.len(), 8);
    let numbers: Vec<usize> = flight.to_reach().collect();
    let reached = |item: usize| numbers[..4].contains(&item);
    let flown = flight.flown(reached);
    assert_eq!(flown, set(&[(0.0, 2.0)]));
    let left = work.trimmed(&whole.without(&flown));
    assert_eq!(left, set(&[(2.0, 5.0)]));
    let rest = work.flight(&left, at(10.0, -30.0), Meters(10.0)).unwrap();
    assert_eq!(rest.places.len(), 6);
    assert_eq!(rest.places[1].at.longitude_deg, flight.places[3].at.longitude_deg);
    assert_eq!(rest.places[0].speed, Some(MetersPerSecond(4.0)));
    assert!(rest.places[1].actions.contains(&Action::TriggerEvery(Meters(3.0))));
    assert_eq!(rest.places[1].altitude, Altitude::AboveHome(AltitudeAboveHome(30.0)));
    // A place that was jumped over is not flown, nor are its legs.
    let jumped = flight.flown(|item| item != numbers[3]);
    assert_eq!(work.trimmed(&whole.without(&jumped)), set(&[(1.0, 3.0)]));
    assert_eq!(work.percent(&jumped), 60);
    assert_eq!((work.percent(&whole), work.percent(&Stretches::default())), (100, 0));
}

#[test]
fn with_an_overlap_the_next_begins_some_seconds_earlier_and_not_before_the_line() {
    let work = route(6);
    let left = set(&[(2.5, 5.0)]);
    assert_eq!(work.from_earlier(&left, 10.0), set(&[(1.5, 5.0)]));
    assert_eq!(work.from_earlier(&left, 1000.0), set(&[(0.0, 5.0)]));
    assert_eq!(work.from_earlier(&left, 0.0), left);
}

#[test]
fn a_place_where_something_is_done_and_no_way_leads_to_is_work() {
    let hold = Waypoint {
        hold: std::time::Duration::from_secs(5),
        ..Waypoint::passed(at(0.0, 0.0), Altitude::AboveHome(AltitudeAboveHome(20.0)))
    };
    let work = Work::of_route(&Route::new(vec![hold]).unwrap()).unwrap();
    assert!(!work.whole().is_empty());
    assert!((work.seconds(&work.whole()) - 5.0).abs() < 0.01);
    let flight = work.flight(&work.whole(), at(0.0, -20.0), Meters(0.0)).unwrap();
    assert_eq!(flight.flown(|_| true), work.whole());
}
