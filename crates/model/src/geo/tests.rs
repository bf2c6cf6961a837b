//! The flat frame against the ellipsoid itself.

use super::*;
use proptest::prelude::*;

/// Straight distance between two points on the ellipsoid, through the Earth's center: shares nothing with [`Frame`] but WGS 84.
fn chord(one: Wgs84, other: Wgs84) -> f64 {
    let center = |at: Wgs84| {
        let (phi, lambda) = (at.latitude_deg.to_radians(), at.longitude_deg.to_radians());
        let flattening = 1.0 / 298.257_223_563;
        let e2 = flattening * (2.0 - flattening);
        let n = 6_378_137.0 / (1.0 - e2 * phi.sin().powi(2)).sqrt();
        [
            n * phi.cos() * lambda.cos(),
            n * phi.cos() * lambda.sin(),
            n * (1.0 - e2) * phi.sin(),
        ]
    };
    let (one, other) = (center(one), center(other));
    (0..3).map(|i| (one[i] - other[i]).powi(2)).sum::<f64>().sqrt()
}

fn at(latitude_deg: f64, longitude_deg: f64) -> Wgs84 {
    Wgs84 {
        latitude_deg,
        longitude_deg,
    }
}

const SEA: AltitudeAmsl = AltitudeAmsl(0.0);

proptest! {
    #[test]
    fn near_points_are_as_far_apart_as_on_the_ellipsoid_to_within_the_scale_error(
        latitude in -HIGHEST_LATITUDE..HIGHEST_LATITUDE,
        longitude in -180.0..180.0,
        east in -0.99 * REACH..0.99 * REACH,
        north in -0.99 * REACH..0.99 * REACH,
        (apart_east, apart_north) in (-50.0..50.0, -50.0..50.0),
    ) {
        let frame = Frame::at(at(latitude, longitude)).unwrap();
        let one = Local { east, north, up: 0.0 };
        let other = one.shifted(apart_east, apart_north);
        let truth = chord(frame.position(one).0, frame.position(other).0);
        let flat = one.over_ground(other);
        prop_assert!((flat - truth).abs() <= SCALE_ERROR * truth + 1e-4, "{flat} is {truth}");
    }

    #[test]
    fn a_point_comes_back_from_its_position(
        latitude in -HIGHEST_LATITUDE..HIGHEST_LATITUDE,
        longitude in -180.0..=180.0,
        east in -0.99 * REACH..0.99 * REACH,
        north in -0.99 * REACH..0.99 * REACH,
    ) {
        let frame = Frame::at(at(latitude, longitude)).unwrap();
        let (position, height) = frame.position(Local { east, north, up: 7.0 });
        let back = frame.local(position, height).unwrap();
        prop_assert!((back.east - east).abs() < 1e-4 && (back.north - north).abs() < 1e-4 && height.0 == 7.0);
    }

    #[test]
    fn near_its_origin_the_frame_is_exact(latitude in -60.0..60.0, east in -500.0..500.0, north in -500.0..500.0) {
        let from = at(latitude, 8.0);
        let to = shifted(from, east, north);
        let truth = chord(from, to);
        prop_assert!((f64::hypot(east, north) - truth).abs() <= 2e-4 * truth + 1e-4);
        let back = offset(from, to);
        prop_assert!((back.0 - east).abs() < 1e-4 && (back.1 - north).abs() < 1e-4);
    }
}

#[test]
fn what_is_no_position_or_too_far_away_has_no_place() {
    for bad in [at(f64::NAN, 0.0), at(90.1, 0.0), at(0.0, 180.1), at(0.0, f64::INFINITY)] {
        assert!(matches!(Frame::at(bad), Err(NoPlace::NoPosition { .. })));
    }
    assert_eq!(Frame::at(at(70.1, 0.0)), Err(NoPlace::Polar(70.1)));
    assert_eq!(
        Frame::at(at(-71.5, 0.0)).unwrap_err().to_string(),
        "latitude -71.5 is too near to a pole; Skein flies between 70° south and 70° north"
    );
    assert!(Frame::at(at(-60.5, 0.0)).is_ok() && Frame::at(at(69.9, 0.0)).is_ok());
    let frame = Frame::at(at(47.0, 8.0)).unwrap();
    assert!(frame.local(at(47.17, 8.0), SEA).is_ok());
    assert_eq!(frame.local(at(47.2, 8.0), SEA), Err(NoPlace::OutOfReach));
    assert_eq!(frame.local(at(47.0, 8.3), SEA), Err(NoPlace::OutOfReach));
    assert_eq!(
        frame.local(at(47.0, 8.0), AltitudeAmsl(f64::NAN)),
        Err(NoPlace::OutOfReach)
    );
}

#[test]
fn the_frame_reaches_over_the_date_line() {
    let frame = Frame::at(at(0.0, 179.99)).unwrap();
    let point = frame.local(at(0.0, -179.99), SEA).unwrap();
    assert!((point.east - 2_226.4).abs() < 1.0, "{point:?}");
}
