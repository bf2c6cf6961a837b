//! Surveys cover their area and cross no hole.

use super::*;

/// A millimeter or two of arithmetic: polygons are cut on a grid.
const EXACT: f64 = 0.02;

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_place_of_an_area_is_within_half_a_spacing_and_nothing_crosses_a_hole(
        area in fields(), spacing in 8.0..60.0_f64, pattern in patterns(),
    ) {
        let survey = survey(area, spacing, pattern);
        let work = Work::of_survey(&survey).unwrap();
        let path = work.track().points();
        prop_assert!(path.iter().all(|point| point.at.x.is_finite() && point.at.y.is_finite()));
        for place in places(&survey.area) {
            let far = from_work(place, path);
            prop_assert!(far <= spacing / 2.0 + EXACT, "{place:?} is {far} m from the lines, {spacing} m apart");
        }
        let inside = in_holes(&survey.area, path);
        prop_assert!(inside == 0.0, "{inside} m in holes");
        let figures = work.figures();
        prop_assert!(figures.survey.unwrap().covered > 0.9999, "{figures:?}");
    }

    #[test]
    fn what_is_flown_stays_within_half_a_spacing_of_the_area_but_for_the_ways_to_it(
        area in fields(), spacing in 8.0..60.0_f64, pattern in patterns(),
    ) {
        use ::geo::{Distance as _, Euclidean};
        let work = Work::of_survey(&survey(area.clone(), spacing, pattern)).unwrap();
        let outer = ::geo::Polygon::new(area.polygon().exterior().clone(), Vec::new());
        for pair in work.track().points().windows(2) {
            for share in [0.0, 0.3, 0.5, 0.8, 1.0] {
                let place = pair[0].at + (pair[1].at - pair[0].at) * share;
                let far = Euclidean.distance(&::geo::Point::from(place), &outer);
                prop_assert!(far <= spacing * 0.56, "{far} m outside, lines {spacing} m apart");
            }
        }
    }
}

#[test]
fn a_square_field_is_flown_there_and_back_in_as_many_lines_as_fit() {
    let field = area(&[(0.0, 0.0), (100.0, 0.0), (100.0, 50.0), (0.0, 50.0)], &[]);
    let work = Work::of_survey(&survey(field, 10.0, LINES)).unwrap();
    let figures = work.figures();
    assert_eq!(figures.lines, 5);
    assert!((figures.work_meters - 500.0).abs() < 0.5, "{figures:?}");
    assert!((figures.transit_meters - 40.0).abs() < 0.5, "{figures:?}");
    assert_eq!(figures.photos, 5 * 21);
    let survey = figures.survey.unwrap();
    assert!((survey.area_square_meters - 5000.0).abs() < 5.0 && survey.covered == 1.0);
}

#[test]
fn a_hole_across_a_line_is_flown_around_and_what_is_behind_it_is_covered() {
    let hole: &[(f64, f64)] = &[(30.0, 18.0), (70.0, 18.0), (70.0, 33.0), (30.0, 33.0)];
    let field = area(&[(0.0, 0.0), (100.0, 0.0), (100.0, 50.0), (0.0, 50.0)], &[hole]);
    let pattern = Pattern::Lines {
        heading: Some(Heading(90.0)),
    };
    let work = Work::of_survey(&survey(field.clone(), 10.0, pattern)).unwrap();
    for place in places(&field) {
        assert!(from_work(place, work.track().points()) <= 5.01, "{place:?}");
    }
    assert_eq!(in_holes(&field, work.track().points()), 0.0);
}

#[test]
fn an_expanding_square_begins_in_the_middle_and_goes_outward() {
    let field = area(&[(-50.0, -50.0), (50.0, -50.0), (50.0, 50.0), (-50.0, 50.0)], &[]);
    let pattern = Pattern::ExpandingSquare {
        center: Some(at(0.0, 0.0)),
        heading: Heading(0.0),
    };
    let work = Work::of_survey(&survey(field, 20.0, pattern)).unwrap();
    let far: Vec<f64> = work
        .track()
        .points()
        .iter()
        .map(|point| point.at.x.abs().max(point.at.y.abs()))
        .collect();
    assert!(far[0] <= 10.1 && *far.last().unwrap() >= 39.9, "{far:?}");
    assert!(far.windows(2).all(|pair| pair[1] >= pair[0] - 20.1), "{far:?}");
    assert_eq!(work.figures().lines, 9);
}

#[test]
fn a_camera_sets_the_distance_of_lines_and_photos() {
    let field = area(&[(0.0, 0.0), (200.0, 0.0), (200.0, 200.0), (0.0, 200.0)], &[]);
    let mut with_camera = survey(field, 1.0, LINES);
    // 13.2 × 8.8 mm behind 8.8 mm: 60 × 40 m from 40 m; a quarter of the width and of the length is new.
    with_camera.altitude = Altitude::AboveHome(AltitudeAboveHome(40.0));
    let percent = |value| model::units::Percent::new(value).unwrap();
    with_camera.spacing = Spacing::Camera(Camera {
        sensor_width_mm: 13.2,
        sensor_height_mm: 8.8,
        focal_length_mm: 8.8,
        side_overlap: percent(75),
        front_overlap: percent(75),
    });
    let work = Work::of_survey(&with_camera).unwrap();
    assert!((work.spacing().unwrap().0 - 15.0).abs() < 1e-9);
    let trigger = work.track().points().iter().find_map(|point| point.trigger).unwrap();
    assert!((trigger.0 - 10.0).abs() < 1e-9);
}

#[test]
fn lines_end_at_the_edge_of_a_hole_that_is_nearly_square_to_them() {
    use ::geo::{Distance as _, Euclidean, Intersects as _};
    // Its west side leaves the square by 16 mm in the width of a line, which would end 8 mm inside.
    let hole: &[(f64, f64)] = &[(40.0, 5.0), (40.064, 45.0), (70.0, 25.0)];
    let field = area(&[(0.0, 0.0), (100.0, 0.0), (100.0, 50.0), (0.0, 50.0)], &[hole]);
    let pattern = Pattern::Lines {
        heading: Some(Heading(90.0)),
    };
    let work = Work::of_survey(&survey(field.clone(), 10.0, pattern)).unwrap();
    let hole = ::geo::Polygon::new(field.polygon().interiors()[0].clone(), Vec::new());
    for point in work.track().points() {
        let place = ::geo::Point::from(point.at);
        let edge = Euclidean.distance(&place, hole.exterior());
        assert!(!hole.intersects(&place) || edge < 1e-4, "{place:?} is {edge} m inside");
    }
    for place in places(&field) {
        assert!(from_work(place, work.track().points()) <= 5.01, "{place:?}");
    }
}

#[test]
fn a_line_through_the_corner_of_a_hole_does_not_go_on_inside() {
    let hole: &[(f64, f64)] = &[(30.0, 25.0), (45.0, 15.0), (70.0, 25.0), (45.0, 35.0)];
    for by in [0.0, 1e-9, -1e-9, 1e-6] {
        let moved: Vec<(f64, f64)> = hole.iter().map(|(east, north)| (*east, north + by)).collect();
        let field = area(&[(0.0, 0.0), (100.0, 0.0), (100.0, 50.0), (0.0, 50.0)], &[&moved]);
        for spacing in [10.0, 16.7, 50.0] {
            let pattern = Pattern::Lines {
                heading: Some(Heading(90.0)),
            };
            let work = Work::of_survey(&survey(field.clone(), spacing, pattern)).unwrap();
            assert_eq!(in_holes(&field, work.track().points()), 0.0, "{by} {spacing}");
        }
    }
}

#[test]
fn a_way_through_a_hole_is_none_though_its_middle_passes_a_corner_of_the_hole() {
    // The corner in the west is 2 mm beside the middle of the way.
    let hole: &[(f64, f64)] = &[
        (40.0, 10.0),
        (20.0, 22.0),
        (39.998, 35.0),
        (20.0, 48.0),
        (40.0, 60.0),
        (70.0, 35.0),
    ];
    let field = area(&[(0.0, 0.0), (100.0, 0.0), (100.0, 100.0), (0.0, 100.0)], &[hole]);
    let place = |east, north| field.place(at(east, north)).unwrap();
    let (from, to) = (place(40.0, 5.0), place(40.0, 65.0));
    let length = way::Ways::around_holes(&field).length(from, to).unwrap();
    assert!((78.0..79.0).contains(&length), "{length}");
    let outside = boundary::Boundary::of_holes(&field).allowed(from, to);
    let meters: f64 = outside.iter().map(|(from, to)| (to - from) * 60.0).sum();
    assert!((meters - 10.0).abs() < 0.1, "{outside:?}");
}

#[test]
fn a_track_is_named_by_where_it_leads_to_a_centimeter_and_by_nothing_else() {
    let track = |places: &[(f64, f64)]| {
        let point = |(x, y): &(f64, f64)| super::ways::point(Coord { x: *x, y: *y });
        Track(places.iter().map(point).collect())
    };
    let one = track(&[(0.0, -1e-9), (10.0, 20.0)]).digest();
    assert_eq!(one.len(), 16);
    assert_eq!(one, track(&[(-1e-9, 0.0), (10.001, 19.999)]).digest());
    for other in [
        &[(0.0, 0.0), (10.02, 20.0)][..],
        &[(10.0, 20.0), (0.0, 0.0)],
        &[(0.0, 0.0), (5.0, 10.0), (10.0, 20.0)],
    ] {
        assert_ne!(one, track(other).digest(), "{other:?}");
    }
    let survey = |altitude| {
        let field = area(&[(0.0, 0.0), (100.0, 0.0), (100.0, 50.0), (0.0, 50.0)], &[]);
        let mut survey = survey(field, 10.0, LINES);
        survey.altitude = Altitude::AboveHome(AltitudeAboveHome(altitude));
        Work::of_survey(&survey).unwrap().track().digest()
    };
    assert_eq!(survey(30.0), survey(40.0));
}

/// Of rings in degrees near the equator, holes left out.
fn square_meters(rings: &[Vec<(f64, f64)>], latitude: f64) -> f64 {
    let ring = |ring: &Vec<(f64, f64)>| {
        let doubled = ring
            .windows(2)
            .map(|pair| pair[0].0 * pair[1].1 - pair[1].0 * pair[0].1);
        doubled.sum::<f64>() / 2.0
    };
    let degree = 111_195.0_f64;
    rings.iter().map(ring).sum::<f64>() * degree * degree * latitude.to_radians().cos()
}

#[test]
fn an_area_across_the_180th_meridian_is_shown_in_two_parts_that_meet_there() {
    let east = |longitude_deg: f64, latitude_deg: f64| Wgs84 {
        latitude_deg,
        longitude_deg,
    };
    let outer = [
        east(179.999, -16.843),
        east(-179.998, -16.843),
        east(-179.998, -16.840),
        east(179.999, -16.840),
    ];
    let hole = vec![
        east(179.9995, -16.842),
        east(-179.9995, -16.842),
        east(-179.9995, -16.841),
        east(179.9995, -16.841),
    ];
    let area = Area::new(&outer, &[hole]).unwrap();
    let parts = area.polygons();
    let lies = |part: &Vec<Vec<(f64, f64)>>, from: f64, to: f64| {
        part.iter()
            .flatten()
            .all(|(longitude, _)| (from..=to).contains(longitude))
    };
    let before = parts.iter().filter(|part| lies(part, 179.99, 180.0)).count();
    let behind = parts.iter().filter(|part| lies(part, -180.0, -179.99)).count();
    assert!(before > 0 && behind > 0 && before + behind == parts.len(), "{parts:?}");
    let size: f64 = parts.iter().map(|part| square_meters(part, -16.84)).sum();
    assert!((size / area.square_meters() - 1.0).abs() < 0.01, "{size}");
    for ring in parts.iter().flatten() {
        assert_eq!(ring.first(), ring.last());
    }
    let beside = [outer[0], east(179.9999, -16.8415), outer[3]];
    assert_eq!(Area::new(&beside, &[]).unwrap().polygons().len(), 1);
}
