//! Work is cut into shares of equal time, and what is left of it is cut again.

use super::*;
use std::time::Duration;

fn flier(east: f64, north: f64) -> Flier {
    Flier {
        start: at(east, north),
        speed: None,
        endurance: None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn shares_take_equal_time_cover_all_and_cross_no_hole(
        area in fields(), spacing in 8.0..25.0_f64, pattern in patterns(),
        starts in prop::collection::vec((-350.0..-250.0_f64, -350.0..350.0_f64, 4.0..10.0_f64), 1..5),
    ) {
        let survey = survey(area, spacing, pattern);
        let work = Work::of_survey(&survey).unwrap();
        let fliers: Vec<Flier> = starts
            .iter()
            .map(|(east, north, speed)| Flier { speed: Some(MetersPerSecond(*speed)), ..flier(*east, *north) })
            .collect();
        let plan = work.share(&fliers).unwrap();
        prop_assert!(plan.is_whole());
        let longest = plan.shares.iter().map(|share| share.time).max();
        let all = work.track().work_meters();
        // A flier too far away, or too slow, to help in the time of the others is left out: it could fly next to nothing of the first line.
        // An improvement of a thousandth is not searched for.
        for (number, flier) in fliers.iter().enumerate() {
            if plan.shares.iter().all(|share| share.flier != number) {
                let alone = Flier { endurance: longest, ..*flier };
                let could: f64 = work.share(&[alone]).unwrap().shares.iter().map(Share::work_meters).sum();
                prop_assert!(could <= 0.02 * all, "it could fly {could} of {all} m");
            }
        }
        let times: Vec<f64> = plan.shares.iter().map(|share| share.time.as_secs_f64()).collect();
        // Longest to mean, as partitions are judged.
        let most = times.iter().copied().fold(0.0, f64::max);
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        prop_assert!(most <= 1.1 * mean, "{times:?}");
        let flown: f64 = plan.shares.iter().map(Share::work_meters).sum();
        prop_assert!((flown - all).abs() < 0.01, "{flown} of {all} m");
        for share in &plan.shares {
            prop_assert!(in_holes(&survey.area, &share.path) == 0.0);
            prop_assert!(share.path.iter().all(|point| point.at.x.is_finite() && point.at.y.is_finite()));
        }
    }

    #[test]
    fn what_is_left_is_what_was_not_flown_and_nothing_else(
        area in fields(), spacing in 15.0..40.0_f64, pattern in patterns(),
        progress in prop::collection::vec(0.0..1.0_f64, 3), others in 1_usize..4,
    ) {
        let survey = survey(area, spacing, pattern);
        let work = Work::of_survey(&survey).unwrap();
        let plan = work.share(&[flier(-300.0, 0.0), flier(-300.0, 50.0), flier(300.0, 0.0)]).unwrap();
        let reached: Vec<usize> = plan
            .shares
            .iter()
            .zip(&progress)
            .map(|(share, progress)| (share.path.len() as f64 * progress) as usize)
            .collect();
        let mut flown: Vec<Vec<Point>> =
            plan.shares.iter().zip(&reached).map(|(share, count)| share.path[..*count].to_vec()).collect();
        let done: f64 = flown.iter().map(|path| super::super::track::length(path, Leg::Work)).sum();
        let Some(left) = plan.left(&work, &reached) else {
            prop_assert!((done - work.track().work_meters()).abs() < 0.01);
            return Ok(());
        };
        let again = left.share(&vec![flier(-300.0, 100.0); others]).unwrap();
        flown.extend(again.shares.iter().map(|share| share.path.clone()));
        let more: f64 = again.shares.iter().map(Share::work_meters).sum();
        prop_assert!((done + more - work.track().work_meters()).abs() < 0.01, "{done} + {more}");
        for place in places(&survey.area) {
            let far = flown.iter().map(|path| from_work(place, path)).fold(f64::INFINITY, f64::min);
            prop_assert!(far <= spacing / 2.0 + 0.02, "{place:?} is {far} m from what was flown");
        }
        for path in &flown {
            prop_assert!(in_holes(&survey.area, path) == 0.0);
        }
    }
}

fn field() -> Work {
    let field = area(&[(0.0, 0.0), (400.0, 0.0), (400.0, 300.0), (0.0, 300.0)], &[]);
    Work::of_survey(&survey(field, 20.0, LINES)).unwrap()
}

#[test]
fn one_that_is_twice_as_fast_flies_about_twice_as_far() {
    let slow = Flier {
        speed: Some(MetersPerSecond(4.0)),
        ..flier(-10.0, 0.0)
    };
    let plan = field().share(&[flier(-10.0, 0.0), slow]).unwrap();
    let meters = |number: usize| {
        plan.shares
            .iter()
            .find(|share| share.flier == number)
            .unwrap()
            .work_meters()
    };
    let ratio = meters(0) / meters(1);
    assert!((1.5..2.5).contains(&ratio), "{ratio}");
}

#[test]
fn work_that_takes_more_milliseconds_than_a_number_holds_is_shared_all_the_same() {
    for speed in [1e-11, 1e-200, 1e-310] {
        let slow = Flier {
            speed: Some(MetersPerSecond(speed)),
            ..flier(-10.0, 0.0)
        };
        let shared = field().share(&[slow, slow]);
        assert!(!shared.is_ok_and(|plan| plan.shares.len() > 2), "{speed}");
    }
}

#[test]
fn one_that_is_far_away_and_slow_is_left_out() {
    let far = Flier {
        speed: Some(MetersPerSecond(4.0)),
        ..flier(-2_000.0, 0.0)
    };
    let plan = field().share(&[flier(-10.0, 0.0), far]).unwrap();
    let fliers: Vec<usize> = plan.shares.iter().map(|share| share.flier).collect();
    assert!(plan.is_whole());
    assert_eq!(fliers, [0]);
}

#[test]
fn a_small_battery_takes_what_it_can_and_the_others_take_the_rest() {
    let small = Flier {
        endurance: Some(Duration::from_secs(200)),
        ..flier(-10.0, 0.0)
    };
    let plan = field().share(&[small, flier(-10.0, 10.0)]).unwrap();
    assert!(plan.is_whole());
    let time = |number: usize| {
        plan.shares
            .iter()
            .find(|share| share.flier == number)
            .unwrap()
            .time
            .as_secs_f64()
    };
    assert!(time(0) <= 200.0 && time(0) > 180.0, "{}", time(0));
    assert!(time(1) > 500.0);
}

#[test]
fn what_no_battery_suffices_for_is_left_for_a_relief() {
    let work = field();
    let small = Flier {
        endurance: Some(Duration::from_secs(200)),
        ..flier(-10.0, 0.0)
    };
    let plan = work.share(&[small, small]).unwrap();
    assert!(!plan.is_whole());
    let flown: f64 = plan.shares.iter().map(Share::work_meters).sum();
    let all: Vec<usize> = plan.shares.iter().map(|share| share.path.len()).collect();
    let left = plan.left(&work, &all).unwrap();
    assert!((left.track().work_meters() + flown - work.track().work_meters()).abs() < 0.01);
    let (mut left, mut flights) = (Some(left), 2);
    while let Some(work) = left {
        let plan = work.share(&[small]).unwrap();
        assert_eq!(plan.shares.len(), 1, "after {flights} flights");
        left = plan.left(&work, &[plan.shares[0].path.len()]);
        flights += 1;
    }
    assert!((5..12).contains(&flights), "{flights}");
}

#[test]
fn a_route_is_cut_on_its_way_and_what_is_done_at_a_waypoint_is_done_once() {
    let mut waypoints: Vec<Waypoint> = (0..5)
        .map(|index| {
            Waypoint::passed(
                at(f64::from(index) * 100.0, 50.0),
                Altitude::AboveHome(AltitudeAboveHome(20.0)),
            )
        })
        .collect();
    for waypoint in &mut waypoints {
        waypoint.actions.push(Action::Photo);
    }
    waypoints[0].speed = Some(MetersPerSecond(6.0));
    waypoints[0].actions.push(Action::TriggerEvery(Meters(10.0)));
    let work = Work::of_route(&Route::new(waypoints).unwrap()).unwrap();
    assert_eq!(work.figures().photos, 5 + 41);
    let plan = work.share(&[flier(0.0, 0.0), flier(400.0, 0.0)]).unwrap();
    assert_eq!(plan.shares.len(), 2);
    let photos: u32 = plan
        .shares
        .iter()
        .flat_map(|share| &share.path)
        .map(|point| point.photos)
        .sum();
    assert_eq!(photos, 5);
    for share in &plan.shares {
        let waypoints = work.waypoints(&share.path);
        assert_eq!(waypoints[0].speed, Some(MetersPerSecond(6.0)));
        let began = waypoints
            .iter()
            .flat_map(|waypoint| &waypoint.actions)
            .filter(|action| **action == Action::TriggerEvery(Meters(10.0)));
        assert_eq!(began.count(), 1);
        let ended = waypoints
            .iter()
            .flat_map(|waypoint| &waypoint.actions)
            .filter(|action| **action == Action::StopTrigger);
        assert_eq!(ended.count(), 1);
    }
}

#[test]
fn a_single_waypoint_is_work_of_one_vehicle() {
    let mut waypoint = Waypoint::passed(at(100.0, 0.0), Altitude::AboveHome(AltitudeAboveHome(20.0)));
    waypoint.hold = Duration::from_secs(60);
    for hold in [Duration::ZERO, Duration::from_secs(60)] {
        waypoint.hold = hold;
        let work = Work::of_route(&Route::new(vec![waypoint.clone()]).unwrap()).unwrap();
        let plan = work.share(&[flier(0.0, 0.0), flier(0.0, 20.0)]).unwrap();
        assert!(plan.is_whole());
        assert_eq!(plan.shares.len(), 1);
        assert!(plan.shares[0].time >= hold + Duration::from_secs(40));
    }
}
