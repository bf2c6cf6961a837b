//! What cannot be planned: one error each, that says what to do.

use super::*;
use crate::planning::mission::area::Ring;
use model::plan::route::BadWaypoint;
use model::units::Percent;

const SQUARE: &[(f64, f64)] = &[(0.0, 0.0), (100.0, 0.0), (100.0, 100.0), (0.0, 100.0)];

#[test]
fn rings_that_make_no_area_are_refused() {
    let no = |outer: &[(f64, f64)], holes: &[&[(f64, f64)]]| {
        let holes: Vec<Vec<Wgs84>> = holes.iter().map(|hole| corners(hole)).collect();
        Area::new(&corners(outer), &holes).unwrap_err()
    };
    let inner = |by: f64| [(by, by), (by + 20.0, by), (by + 20.0, by + 20.0), (by, by + 20.0)];
    assert_eq!(no(&SQUARE[..2], &[]), BadArea::TooFewCorners(Ring::Outer));
    assert_eq!(no(&[], &[]), BadArea::TooFewCorners(Ring::Outer));
    assert_eq!(
        no(&[(0.0, 0.0), (100.0, 100.0), (100.0, 0.0), (0.0, 100.0)], &[]),
        BadArea::CrossesItself(Ring::Outer)
    );
    assert_eq!(no(SQUARE, &[&inner(200.0)]), BadArea::HoleOutside(Ring::Hole(0)));
    assert_eq!(
        no(SQUARE, &[&inner(20.0), &inner(30.0)]),
        BadArea::Overlap(Ring::Hole(0), Ring::Hole(1))
    );
    assert_eq!(
        no(SQUARE, &[&[(1.0, 1.0), (1.0, 1.0), (2.0, 2.0)]]),
        BadArea::TooFewCorners(Ring::Hole(0))
    );
    assert!(matches!(no(&[(0.0, 0.0), (0.5, 0.0), (0.5, 0.5)], &[]), BadArea::TooSmall(size) if size < 0.2));
    assert!(matches!(
        no(&[(0.0, 0.0), (90_000.0, 0.0), (0.0, 10.0)], &[]),
        BadArea::Corner { ring: Ring::Outer, .. }
    ));
    let many = star((0.0, 0.0), &[100.0; 501]);
    assert_eq!(no(&many, &[]), BadArea::TooManyCorners(501));
    let nowhere = Wgs84 {
        latitude_deg: f64::NAN,
        longitude_deg: 8.0,
    };
    let ring = [corners(SQUARE), vec![nowhere]].concat();
    assert!(matches!(
        Area::new(&ring, &[]),
        Err(BadArea::Corner { ring: Ring::Outer, .. })
    ));
}

#[test]
fn a_ring_may_repeat_its_first_corner_and_run_either_way() {
    let closed = [SQUARE, &SQUARE[..1]].concat();
    let turned: Vec<(f64, f64)> = SQUARE.iter().rev().copied().collect();
    let size = area(SQUARE, &[]).square_meters();
    assert!((area(&closed, &[]).square_meters() - size).abs() < 0.01);
    assert!((area(&turned, &[]).square_meters() - size).abs() < 0.01);
}

#[test]
fn surveys_that_cannot_be_flown_are_refused() {
    let fine = survey(area(SQUARE, &[]), 10.0, LINES);
    let refused = |change: &dyn Fn(&mut Survey)| {
        let mut survey = fine.clone();
        change(&mut survey);
        Work::of_survey(&survey).unwrap_err()
    };
    let camera = Camera {
        sensor_width_mm: 13.2,
        sensor_height_mm: 8.8,
        focal_length_mm: 8.8,
        side_overlap: Percent::new(70).unwrap(),
        front_overlap: Percent::new(80).unwrap(),
    };
    assert_eq!(
        refused(&|s| s.spacing = Spacing::Fixed(Meters(0.0))),
        BadSurvey::Spacing(0.0)
    );
    assert!(matches!(
        refused(&|s| s.spacing = Spacing::Fixed(Meters(f64::NAN))),
        BadSurvey::Spacing(_)
    ));
    assert_eq!(refused(&|s| s.trigger = Some(Meters(0.0))), BadSurvey::Trigger(0.0));
    assert_eq!(refused(&|s| s.speed = MetersPerSecond(0.0)), BadSurvey::Speed(0.0));
    assert_eq!(
        refused(&|s| s.altitude = Altitude::AboveHome(AltitudeAboveHome(f64::INFINITY))),
        BadSurvey::Altitude
    );
    assert_eq!(
        refused(&|s| s.pattern = Pattern::Lines {
            heading: Some(Heading(360.0))
        }),
        BadSurvey::Heading(360.0)
    );
    let lens = Camera {
        focal_length_mm: 0.0,
        ..camera
    };
    assert_eq!(
        refused(&|s| s.spacing = Spacing::Camera(lens)),
        BadSurvey::Camera("focal length")
    );
    let all = Camera {
        side_overlap: Percent::new(96).unwrap(),
        ..camera
    };
    assert_eq!(refused(&|s| s.spacing = Spacing::Camera(all)), BadSurvey::Overlap(96));
    let above_sea = |s: &mut Survey| {
        s.spacing = Spacing::Camera(camera);
        s.altitude = Altitude::Amsl(model::units::AltitudeAmsl(500.0));
    };
    assert_eq!(refused(&above_sea), BadSurvey::CameraAboveSea);
    let square = |center| Pattern::ExpandingSquare {
        center: Some(center),
        heading: Heading(0.0),
    };
    assert_eq!(
        refused(&|s| s.pattern = square(at(500.0, 0.0))),
        BadSurvey::CenterOutside
    );
    assert!(matches!(
        refused(&|s| s.pattern = square(at(0.0, 50_000.0))),
        BadSurvey::Center(_)
    ));
    let large = area(&[(0.0, 0.0), (5000.0, 0.0), (5000.0, 5000.0), (0.0, 5000.0)], &[]);
    assert!(matches!(
        refused(&|s| {
            s.area = large.clone();
            s.spacing = Spacing::Fixed(Meters(1.0))
        }),
        BadSurvey::TooManyLines(_)
    ));
}

#[test]
fn routes_that_cannot_be_flown_are_refused() {
    let fine = Waypoint::passed(at(0.0, 0.0), Altitude::AboveHome(AltitudeAboveHome(20.0)));
    assert_eq!(Route::new(Vec::new()), Err(BadRoute::Empty));
    assert_eq!(Route::new(vec![fine.clone(); 1001]), Err(BadRoute::TooMany(1001)));
    let refused = |change: &dyn Fn(&mut Waypoint)| {
        let mut wrong = fine.clone();
        change(&mut wrong);
        match Route::new(vec![fine.clone(), wrong]) {
            Err(BadRoute::Waypoint { number: 1, source }) => source,
            other => panic!("{other:?}"),
        }
    };
    assert!(matches!(refused(&|w| w.at.latitude_deg = 91.0), BadWaypoint::Place(_)));
    assert_eq!(
        refused(&|w| w.altitude = Altitude::AboveHome(AltitudeAboveHome(f64::NAN))),
        BadWaypoint::Altitude
    );
    assert_eq!(
        refused(&|w| w.speed = Some(MetersPerSecond(21.0))),
        BadWaypoint::Speed(21.0)
    );
    assert_eq!(
        refused(&|w| w.heading = Some(Heading(-1.0))),
        BadWaypoint::Heading(-1.0)
    );
    assert_eq!(
        refused(&|w| w.hold = std::time::Duration::from_secs(3601)),
        BadWaypoint::Hold(3601)
    );
    assert_eq!(
        refused(&|w| w.actions = vec![Action::TriggerEvery(Meters(0.0))]),
        BadWaypoint::Trigger(0.0)
    );
    let far = Waypoint {
        at: at(90_000.0, 0.0),
        ..fine.clone()
    };
    let far = Work::of_route(&Route::new(vec![fine, far]).unwrap());
    assert!(matches!(
        far,
        Err(BadRoute::Waypoint {
            source: BadWaypoint::Place(_),
            ..
        })
    ));
}

#[test]
fn nobody_too_many_and_starts_that_are_none_are_refused() {
    let hole: &[(f64, f64)] = &[(40.0, 40.0), (60.0, 40.0), (60.0, 60.0), (40.0, 60.0)];
    let work = Work::of_survey(&survey(area(SQUARE, &[hole]), 10.0, LINES)).unwrap();
    let flier = |start| Flier {
        start,
        speed: None,
        endurance: None,
    };
    assert_eq!(work.share(&[]), Err(CannotShare::NoVehicle));
    assert_eq!(work.share(&[flier(at(0.0, 0.0)); 101]), Err(CannotShare::TooMany(101)));
    assert_eq!(work.share(&[flier(at(50.0, 50.0))]), Err(CannotShare::StartInHole(0)));
    assert!(matches!(
        work.share(&[flier(at(0.0, 90_000.0))]),
        Err(CannotShare::Start { number: 0, .. })
    ));
    let still = Flier {
        speed: Some(MetersPerSecond(0.0)),
        ..flier(at(0.0, 0.0))
    };
    assert_eq!(work.share(&[still]), Err(CannotShare::Speed(0)));
}
