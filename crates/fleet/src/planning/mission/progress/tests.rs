//! Vehicles come, tire, fail and leave, and all of the work is flown or reported as not flown.

mod joiners;
mod refusals;
mod reliefs;
mod sharing;

use super::*;
use crate::planning::mission::Stretch;
use model::geo::shifted;
use model::plan::{Route, Waypoint};
use model::station::Altitude;
use model::units::{AltitudeAboveHome, MetersPerSecond};
use proptest::prelude::*;

const HERE: Wgs84 = Wgs84 {
    latitude_deg: 47.397_742,
    longitude_deg: 8.545_594,
};

/// Places are 40 m or 10 s apart.
fn route(count: u16) -> Work {
    let waypoint = |number: u16| Waypoint {
        speed: Some(MetersPerSecond(4.0)),
        ..Waypoint::passed(
            shifted(HERE, f64::from(number) * 40.0, 0.0),
            Altitude::AboveHome(AltitudeAboveHome(20.0)),
        )
    };
    Work::of_route(&Route::new((0..count).map(waypoint).collect()).unwrap()).unwrap()
}

const fn wanted(parallelism: usize) -> Wanted {
    Wanted {
        parallelism,
        completions: Some(1),
        backoff_limit: 2,
        overlap_seconds: 0.0,
        layer_height: Meters(0.0),
        halt: None,
        gathering: false,
        may_create: true,
        grounded: false,
    }
}

fn set(all: &[(f64, f64)]) -> Stretches {
    Stretches::new(all.iter().map(|(from, to)| Stretch { from: *from, to: *to }))
}

fn seen(drone: &str, doing: Doing) -> Observed {
    Observed {
        drone: drone.to_owned(),
        node: NodeName::parse(&format!("node-{drone}")).ok(),
        leaving: false,
        doing,
        flown: Stretches::default(),
        underway: Stretches::default(),
        begun: false,
        passed_beside: None,
    }
}

fn fit(drone: &str) -> Observed {
    seen(drone, Doing::Fit(HERE))
}

fn flown(drone: &str, doing: Doing, flown: &[(f64, f64)]) -> Observed {
    Observed {
        flown: set(flown),
        ..seen(drone, doing)
    }
}

fn part(drone: &str, stretches: &[(f64, f64)]) -> Part {
    Part {
        drone: drone.to_owned(),
        stretches: set(stretches),
        flown: Stretches::default(),
        start: HERE,
        layer: 0,
        relief: None,
        ahead: 0,
        plan: None,
        passed_beside: PassedBeside::default(),
    }
}

fn progress(parts: Vec<Part>) -> Progress {
    Progress {
        parts,
        ..Progress::default()
    }
}

fn why(step: &Step) -> Vec<(&str, &Why)> {
    step.delete.iter().map(|(drone, why)| (drone.as_str(), why)).collect()
}

#[test]
fn a_vehicle_in_the_air_keeps_the_plan_that_it_was_given_or_comes_home() {
    let digest = |name: &str| PlanDigest(name.to_owned());
    let (given, other) = (digest("given"), digest("other"));
    let mut part = part("a", &[(0.0, 10.0)]);
    part.layer = 1;
    assert_eq!(part.raised(Meters(10.0)), Meters(10.0));
    assert_eq!(part.give(given.clone(), Meters(10.0), Carrier::Down), Ok(()));
    assert_eq!(part.raised(Meters(0.0)), Meters(10.0), "the layers were edited since");
    for carrier in [Carrier::Unknown, Carrier::Up(None), Carrier::Up(Some(&given))] {
        let before = part.clone();
        assert_eq!(
            part.give(other.clone(), Meters(0.0), carrier),
            Err(NotGiven::Otherwise),
            "{carrier:?}"
        );
        assert_eq!(part, before);
        assert_eq!(part.give(given.clone(), Meters(10.0), carrier), Ok(()), "{carrier:?}");
    }
    assert_eq!(
        part.give(other.clone(), Meters(0.0), Carrier::Down),
        Ok(()),
        "it has not taken off"
    );
    // An older coordinator wrote no plan down.
    part.plan = None;
    assert_eq!(
        part.give(other.clone(), Meters(0.0), Carrier::Unknown),
        Err(NotGiven::Unknown)
    );
    assert_eq!(
        part.give(other.clone(), Meters(0.0), Carrier::Up(Some(&given))),
        Err(NotGiven::Otherwise)
    );
    assert_eq!(
        part.give(given.clone(), Meters(10.0), Carrier::Up(Some(&given))),
        Ok(())
    );
}

#[test]
fn drones_are_made_as_long_as_something_is_left_and_no_more_than_fly_at_once() {
    let work = route(11);
    let begin = step(&work, &wanted(3), &Progress::default(), &[]);
    assert_eq!((begin.create, begin.outcome), (3, Outcome::Progressing));
    let waiting = [seen("a", Doing::Waits), seen("b", Doing::Waits)];
    assert_eq!(step(&work, &wanted(3), &Progress::default(), &waiting).create, 1);
    let less_urgent = Wanted {
        may_create: false,
        ..wanted(3)
    };
    assert_eq!(step(&work, &less_urgent, &Progress::default(), &waiting).create, 0);
    let all = progress(vec![part("a", &[(0.0, 10.0)])]);
    let more = step(&work, &wanted(3), &all, &[seen("a", Doing::Busy), fit("b")]);
    assert_eq!((more.create, why(&more)), (0, vec![("b", &Why::NotNeeded)]));
}

#[test]
fn those_who_are_there_share_it_and_a_place_is_kept_for_those_who_come_later() {
    let work = route(11);
    let other_end = seen("b", Doing::Fit(shifted(HERE, 400.0, 0.0)));
    let two = step(&work, &wanted(2), &Progress::default(), &[fit("a"), other_end.clone()]);
    let parts = &two.progress.parts;
    assert_eq!(parts.len(), 2);
    assert!(two.progress.left(&work).is_empty());
    let seconds: Vec<f64> = parts.iter().map(|part| work.seconds(&part.stretches)).collect();
    assert!(seconds.iter().all(|s| (35.0..=65.0).contains(s)), "{seconds:?}");
    assert_eq!(parts.iter().map(|part| part.layer).collect::<Vec<_>>(), [0, 1]);
    let middle = seen("a", Doing::Fit(shifted(HERE, 200.0, -10.0)));
    let one = step(
        &work,
        &wanted(2),
        &Progress::default(),
        &[middle, seen("b", Doing::Waits)],
    );
    assert_eq!(one.progress.parts.len(), 1);
    let left = one.progress.left(&work);
    assert!(!left.is_empty() && one.create == 0);
    let later = step(&work, &wanted(2), &one.progress, &[seen("a", Doing::Busy), other_end]);
    assert_eq!(later.progress.part("b").map(|part| &part.stretches), Some(&left));
    let gathering = Wanted {
        gathering: true,
        ..wanted(2)
    };
    assert!(
        step(&work, &gathering, &Progress::default(), &[fit("a")])
            .progress
            .parts
            .is_empty()
    );
}

#[test]
fn what_was_passed_beside_is_counted_over_plans_and_vehicles_and_once() {
    let beside = |places, meters| {
        Some(PassedBeside {
            places,
            farthest: Meters(meters),
        })
    };
    let saw = |doing, passed_beside| Observed {
        passed_beside,
        ..seen("a", doing)
    };
    let one = |before: &Progress, seen| step(&route(6), &wanted(1), before, &[seen]).progress;
    let now = progress(vec![part("a", &[(0.0, 5.0)])]);
    let now = one(&now, saw(Doing::Busy, beside(1, 9.6)));
    let now = one(&now, saw(Doing::Busy, beside(2, 9.6)));
    let now = one(&now, saw(Doing::Busy, None));
    assert_eq!(now.all_passed_beside(), beside(2, 9.6).unwrap());
    // Its plan is another one by now.
    let now = one(&now, saw(Doing::Busy, beside(0, 0.0)));
    let now = one(&now, saw(Doing::Busy, beside(1, 4.0)));
    assert_eq!(now.all_passed_beside(), beside(3, 9.6).unwrap());
    let over = one(&now, saw(Doing::Finished, beside(2, 11.0)));
    assert!(over.part("a").is_none());
    assert_eq!(over.all_passed_beside(), beside(4, 11.0).unwrap());
}

#[test]
fn the_only_vehicle_flies_all_at_once_and_not_half_of_the_rest_again_and_again() {
    let nowhere = |drone: &str| Observed {
        node: None,
        ..seen(drone, Doing::Waits)
    };
    for work in [route(2), route(361)] {
        for layer_height in [Meters(0.0), Meters(12.0)] {
            for parallelism in [2, 10] {
                let wanted = Wanted {
                    layer_height,
                    ..wanted(parallelism)
                };
                let next = step(&work, &wanted, &Progress::default(), &[fit("a"), nowhere("b")]);
                assert_eq!(next.progress.parts.len(), 1);
                assert!(next.progress.left(&work).is_empty() && next.create == 0, "{next:?}");
            }
        }
    }
    // Of work that is flown again and again, it flies no part that is hardly worth a flight.
    let flights = |places: u16| {
        let work = &route(places);
        let fit = seen("a", Doing::Fit(shifted(HERE, f64::from(places) * 20.0, -10.0)));
        let wanted = Wanted {
            completions: None,
            ..wanted(2)
        };
        let (mut now, mut flights) = (Progress::default(), 0);
        while now.completed == 0 {
            let given = step(work, &wanted, &now, &[fit.clone(), nowhere("b")]).progress;
            let part = given.part("a").expect("a part").stretches.clone();
            let done = Observed {
                flown: part,
                ..seen("a", Doing::Finished)
            };
            (now, flights) = (step(work, &wanted, &given, &[done, nowhere("b")]).progress, flights + 1);
        }
        flights
    };
    assert_eq!((flights(10), flights(100)), (1, 2));
}

#[test]
fn who_has_flown_its_part_comes_home_and_the_mission_is_complete_when_all_is_flown() {
    let work = route(6);
    let before = progress(vec![part("a", &[(0.0, 3.0)]), part("b", &[(3.0, 5.0)])]);
    let busy = [
        flown("a", Doing::Finished, &[(0.0, 3.0)]),
        flown("b", Doing::Busy, &[(3.0, 4.0)]),
    ];
    let next = step(&work, &wanted(2), &before, &busy);
    assert_eq!(why(&next), [("a", &Why::Flown)]);
    assert_eq!((next.progress.flown.clone(), next.create), (set(&[(0.0, 3.0)]), 0));
    assert_eq!(next.progress.all_flown(), set(&[(0.0, 4.0)]));
    assert_eq!(next.outcome, Outcome::Progressing);
    let done = [flown("b", Doing::Finished, &[(3.0, 5.0)])];
    let next = step(&work, &wanted(2), &next.progress, &done);
    assert_eq!(
        (next.outcome.clone(), why(&next)),
        (Outcome::Complete, vec![("b", &Why::Flown)])
    );
    assert_eq!((next.progress.completed, work.percent(&next.progress.flown)), (1, 100));
    let after = step(&work, &wanted(2), &next.progress, &[]);
    assert_eq!(
        (after.outcome, after.create, after.progress),
        (Outcome::Complete, 0, next.progress)
    );
}

#[test]
fn the_rest_of_one_that_leaves_is_flown_by_another_from_where_it_had_come_to() {
    let work = route(11);
    for (doing, failures, deleted) in [
        (Doing::Tired, 0, true),
        (Doing::Drained, 0, true),
        (Doing::Over, 0, true),
        (Doing::Diverted, 0, false),
        (Doing::Grounded, 0, false),
        (Doing::Taken, 0, false),
        (Doing::Lost, 1, false),
        (Doing::Short, 1, true),
        (Doing::Refused("no".into()), 1, true),
        (Doing::Unfit("a Geofence".into()), 0, true),
    ] {
        let before = progress(vec![part("a", &[(0.0, 10.0)])]);
        let next = step(&work, &wanted(1), &before, &[flown("a", doing.clone(), &[(0.0, 4.0)])]);
        assert_eq!(next.progress.flown, set(&[(0.0, 4.0)]), "{doing:?}");
        assert_eq!((next.progress.failures, next.create), (failures, 1), "{doing:?}");
        assert_eq!(!next.delete.is_empty(), deleted, "{doing:?}");
        assert_eq!(next.gave_up.len(), 1, "{doing:?}");
        let drones = [fit("b"), seen("a", Doing::Grounded)];
        let relief = step(&work, &wanted(1), &next.progress, &drones);
        let of_relief = relief.progress.part("b").map(|part| part.stretches.clone());
        assert_eq!(of_relief, Some(set(&[(4.0, 10.0)])), "{doing:?}");
        let overlap = Wanted {
            overlap_seconds: 5.0,
            ..wanted(1)
        };
        let relief = step(&work, &overlap, &next.progress, &drones);
        let of_relief = relief.progress.part("b").map(|part| part.stretches.clone());
        assert_eq!(of_relief, Some(set(&[(3.5, 10.0)])), "{doing:?}");
    }
}

#[test]
fn one_whose_drone_is_gone_keeps_what_was_written_down_of_it() {
    let work = route(11);
    let kept = Part {
        flown: set(&[(0.0, 3.0)]),
        ..part("a", &[(0.0, 10.0)])
    };
    let next = step(&work, &wanted(1), &progress(vec![kept]), &[]);
    assert_eq!(next.progress.left(&work), set(&[(3.0, 10.0)]));
    assert_eq!((next.progress.failures, next.create), (0, 1));
    assert_eq!(next.gave_up, [("a".to_owned(), Why::Gone)]);
}

#[test]
fn a_place_that_was_jumped_over_is_not_flown_and_counts_as_a_failure() {
    let work = route(6);
    let before = progress(vec![part("a", &[(0.0, 5.0)])]);
    let next = step(
        &work,
        &wanted(1),
        &before,
        &[flown("a", Doing::Short, &[(0.0, 2.0), (3.0, 5.0)])],
    );
    assert_eq!(next.progress.not_flown(&work), set(&[(2.0, 3.0)]));
    assert_eq!((next.progress.failures, next.create), (1, 1));
    assert_eq!(next.outcome, Outcome::Progressing);
}

#[test]
fn a_mission_fails_after_too_many_failures_and_all_come_home() {
    let work = route(6);
    let mut now = Progress::default();
    for attempt in 0..=2 {
        now.parts = vec![part("a", &[(0.0, 5.0)])];
        let next = step(
            &work,
            &wanted(1),
            &now,
            &[seen("a", Doing::Refused("bad item".into())), fit("b")],
        );
        let failed = next.outcome == Outcome::Failed(Failure::BackoffLimit);
        assert_eq!(failed, attempt == 2);
        assert_eq!(
            failed,
            next.delete
                .iter()
                .any(|(drone, why)| drone == "b" && *why == Why::Halted)
        );
        now = next.progress;
    }
    assert!(now.parts.is_empty());
    assert_eq!(work.percent(&now.all_flown()), 0);
}

#[test]
fn a_suspended_mission_keeps_what_is_flown_and_goes_on_from_there() {
    let work = route(11);
    let suspended = Wanted {
        halt: Some(Halt::Suspended),
        ..wanted(1)
    };
    let before = progress(vec![part("a", &[(0.0, 10.0)])]);
    let next = step(&work, &suspended, &before, &[flown("a", Doing::Busy, &[(0.0, 6.0)])]);
    assert_eq!(
        (next.outcome.clone(), why(&next)),
        (Outcome::Suspended, vec![("a", &Why::Halted)])
    );
    assert_eq!((next.create, next.progress.parts.len()), (0, 0));
    let again = step(&work, &wanted(1), &next.progress, &[]);
    assert_eq!((again.create, again.progress.left(&work)), (1, set(&[(6.0, 10.0)])));
    let late = Wanted {
        halt: Some(Halt::Deadline),
        ..wanted(1)
    };
    let next = step(&work, &late, &before, &[]);
    assert_eq!(next.outcome, Outcome::Failed(Failure::Deadline));
}

#[test]
fn one_in_the_air_without_a_part_comes_home_and_one_in_other_hands_is_left_alone() {
    let work = route(6);
    let before = progress(vec![part("a", &[(0.0, 5.0)])]);
    let others = [
        seen("a", Doing::Busy),
        seen("b", Doing::Busy),
        seen("c", Doing::Taken),
        seen("d", Doing::Lost),
        seen("e", Doing::Grounded),
    ];
    let next = step(&work, &wanted(1), &before, &others);
    assert_eq!(why(&next), [("b", &Why::NotNeeded)]);
}

#[test]
fn what_is_flown_again_begins_anew_and_a_patrol_never_completes() {
    let work = route(6);
    let before = progress(vec![part("a", &[(0.0, 5.0)])]);
    let done = [flown("a", Doing::Finished, &[(0.0, 5.0)])];
    let twice = Wanted {
        completions: Some(2),
        ..wanted(1)
    };
    let next = step(&work, &twice, &before, &done);
    assert_eq!(
        (next.outcome, next.progress.completed, next.create),
        (Outcome::Progressing, 1, 1)
    );
    assert!(next.progress.flown.is_empty());
    let patrol = Wanted {
        completions: None,
        ..wanted(1)
    };
    let long = Progress {
        completed: 9999,
        ..before
    };
    let next = step(&work, &patrol, &long, &done);
    assert_eq!(
        (next.outcome, next.progress.completed, next.create),
        (Outcome::Progressing, 10_000, 1)
    );
}

#[test]
fn a_long_route_is_flown_in_plans_that_an_autopilot_holds() {
    let work = route(1000);
    let next = step(&work, &wanted(1), &Progress::default(), &[fit("a")]);
    let first = next.progress.part("a").unwrap();
    let flight = work.flight(&first.stretches, HERE, Meters(0.0)).unwrap();
    assert!(
        (300..=MOST_ITEMS).contains(&flight.items.len()),
        "{}",
        flight.items.len()
    );
    assert!(!next.progress.left(&work).is_empty());
    assert_eq!(first.stretches.all()[0].from, 0.0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever vehicles do, all is flown in the end, or the Mission has failed and reports the rest; nothing counts as flown that was not.
    #[test]
    fn whatever_becomes_of_vehicles_nothing_is_lost_and_nothing_unflown_counts(
        places in 2_u16..40, parallelism in 1_usize..5, limit in 0_u32..30,
        fates in prop::collection::vec((0_u8..12, 0.0..1.0_f64), 0..60), layers in any::<bool>(),
    ) {
        let work = route(places);
        let whole = work.whole();
        let layer_height = Meters(if layers { 12.0 } else { 0.0 });
        let wanted = Wanted { backoff_limit: limit, layer_height, ..wanted(parallelism) };
        let mut now = Progress::default();
        let mut drones: Vec<Observed> = Vec::new();
        let mut truly = Stretches::default();
        let mut fates = fates.into_iter();
        let mut outcome = Outcome::Progressing;
        for round in 0..400 {
            let next = step(&work, &wanted, &now, &drones);
            let relieved = next.progress.parts.iter().filter(|part| part.relief.is_some()).count();
            prop_assert!(next.progress.parts.len() <= parallelism + relieved);
            let all = next.progress.parts.iter().fold(next.progress.flown.clone(), |all, part| all.and(&part.stretches));
            prop_assert!(work.trimmed(&whole.without(&all.and(&next.progress.left(&work)))).is_empty());
            prop_assert!(work.trimmed(&next.progress.all_flown().without(&truly)).is_empty());
            let deleted: Vec<&String> = next.delete.iter().map(|(drone, _)| drone).collect();
            drones.retain(|seen| !deleted.contains(&&seen.drone));
            now = next.progress;
            outcome = next.outcome;
            if outcome != Outcome::Progressing {
                break;
            }
            drones.extend((0..next.create).map(|number| fit(&format!("d{round}-{number}"))));
            let counted = drones.iter().filter(|seen| seen.doing != Doing::Lost).count();
            prop_assert!(counted <= parallelism * 3, "{counted} Drones");
            for seen in &mut drones {
                let Some(part) = now.part(&seen.drone) else {
                    if seen.doing == Doing::Grounded && round % 7 == 0 {
                        seen.doing = Doing::Fit(HERE);
                    }
                    continue;
                };
                let first = part.stretches.all()[0];
                let (kind, share) = fates.next().unwrap_or((9, 1.0));
                let to = first.from + (first.to - first.from) * share;
                let some = Stretches::new([Stretch { from: first.from, to }]);
                (seen.doing, seen.flown) = match kind {
                    0 => (Doing::Tired, some),
                    1 => (Doing::Over, some),
                    2 => (Doing::Lost, some),
                    3 => (Doing::Refused("no".into()), Stretches::default()),
                    4 => (Doing::Short, some),
                    5 => (Doing::Grounded, some),
                    6 => (Doing::Busy, some),
                    10 | 11 => (Doing::Tiring, some),
                    _ => (Doing::Finished, part.stretches.clone()),
                };
                seen.begun = !seen.flown.is_empty();
                truly = truly.and(&seen.flown);
            }
        }
        match outcome {
            Outcome::Complete => prop_assert!(work.trimmed(&whole.without(&truly)).is_empty()),
            Outcome::Failed(Failure::BackoffLimit) => prop_assert!(now.failures > limit),
            other => prop_assert!(false, "{other:?}"),
        }
    }
}

#[test]
fn drones_that_are_kept_on_the_ground_call_for_no_more_of_them_without_end() {
    let work = route(11);
    let mut drones: Vec<Observed> = Vec::new();
    for round in 0..100 {
        let next = step(&work, &wanted(1), &Progress::default(), &drones);
        drones.extend((0..next.create).map(|number| seen(&format!("{round}-{number}"), Doing::Grounded)));
    }
    assert!(drones.len() <= 3, "{} Drones of one place", drones.len());
}

#[test]
fn what_a_grounded_drone_gave_up_waits_for_it_while_another_would_be_grounded_too() {
    let work = route(11);
    let all = progress(vec![part("a", &[(0.0, 10.0)])]);
    let everybody = Wanted {
        grounded: true,
        ..wanted(1)
    };
    let grounded = [flown("a", Doing::Grounded, &[(0.0, 4.0)])];
    let waits = step(&work, &everybody, &all, &grounded);
    assert_eq!((waits.create, why(&waits)), (0, vec![]));
    assert_eq!(waits.gave_up, [("a".to_owned(), Why::Grounded)]);
    let again = step(&work, &everybody, &waits.progress, &grounded);
    assert_eq!((again.create, why(&again)), (0, vec![]), "and it is kept");
    let released = step(&work, &wanted(1), &again.progress, &[fit("a")]);
    assert_eq!(released.progress.part("a").unwrap().stretches, set(&[(4.0, 10.0)]));
    // Only that Drone stays down: another flies the rest.
    assert_eq!(step(&work, &wanted(1), &all, &grounded).create, 1);
}
