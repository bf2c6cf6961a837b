//! Valid places, and when a vehicle is on station.

use super::*;
use crate::geo::shifted;
use proptest::prelude::*;

const HERE: Wgs84 = Wgs84 {
    latitude_deg: 47.4,
    longitude_deg: 8.5,
};

fn place() -> Place {
    Place {
        at: HERE,
        altitude: Altitude::AboveHome(AltitudeAboveHome(30.0)),
        manner: Manner {
            heading: Some(Heading(90.0)),
            speed: Some(MetersPerSecond(5.0)),
        },
    }
}

fn limits() -> Limits {
    Limits {
        amsl: Some((AltitudeAmsl(450.0), AltitudeAmsl(600.0))),
        reach: Meters(500.0),
        ..Limits::default()
    }
}

fn refused(change: impl FnOnce(&mut Place)) -> BadStation {
    let mut bad = place();
    change(&mut bad);
    Station::new(bad, &limits()).expect_err("it must be refused")
}

#[test]
fn each_number_that_is_out_of_range_is_named() {
    assert!(Station::new(place(), &limits()).is_ok());
    assert_eq!(refused(|p| p.at.latitude_deg = 91.0), BadStation::Latitude(91.0));
    assert_eq!(refused(|p| p.at.longitude_deg = -181.0), BadStation::Longitude(-181.0));
    assert!(matches!(
        refused(|p| p.at.latitude_deg = f64::NAN),
        BadStation::Latitude(_)
    ));
    let height = |meters| Altitude::AboveHome(AltitudeAboveHome(meters));
    assert_eq!(refused(|p| p.altitude = height(f64::INFINITY)), BadStation::Altitude);
    assert_eq!(
        refused(|p| p.altitude = height(0.5)),
        BadStation::TooLow { got: 0.5, lowest: 1.0 }
    );
    let high = BadStation::TooHigh {
        got: 121.0,
        highest: 120.0,
    };
    assert_eq!(refused(|p| p.altitude = height(121.0)), high);
    let low = BadStation::TooLow {
        got: 30.0,
        lowest: 450.0,
    };
    assert_eq!(refused(|p| p.altitude = Altitude::Amsl(AltitudeAmsl(30.0))), low);
    assert_eq!(
        refused(|p| p.manner.heading = Some(Heading(360.0))),
        BadStation::Heading(360.0)
    );
    for speed in [0.0, -1.0, 20.1] {
        let bad = BadStation::Speed {
            got: speed,
            fastest: 20.0,
        };
        assert_eq!(refused(|p| p.manner.speed = Some(MetersPerSecond(speed))), bad);
    }
}

#[test]
fn a_height_above_the_sea_needs_limits_above_the_sea() {
    let amsl = Place {
        altitude: Altitude::Amsl(AltitudeAmsl(500.0)),
        ..place()
    };
    assert!(Station::new(amsl, &limits()).is_ok());
    assert_eq!(Station::new(amsl, &Limits::default()), Err(BadStation::AmslNotAllowed));
}

/// For a vehicle whose home is [`HERE`], 488 m above the sea.
fn unsuitable(change: impl FnOnce(&mut Place), limits: &Limits) -> Option<BadStation> {
    let mut place = place();
    change(&mut place);
    let station = Station::new(place, limits).unwrap();
    station.suits(HERE, AltitudeAmsl(488.0), limits).err()
}

#[test]
fn a_station_is_not_farther_from_the_home_of_its_vehicle_than_it_may_fly() {
    assert_eq!(unsuitable(|p| p.at = shifted(HERE, 300.0, 399.0), &limits()), None);
    let far = unsuitable(|p| p.at = shifted(HERE, 400.0, 400.0), &limits()).unwrap();
    assert_eq!(
        far.to_string(),
        "the station is 566 m from the home of its vehicle, farther than the 500 m that are allowed; move it nearer"
    );
    let nowhere = Limits {
        reach: Meters(f64::NAN),
        ..limits()
    };
    assert!(
        matches!(unsuitable(|_| {}, &nowhere), Some(BadStation::TooFar { .. })),
        "a limit that is no number allows nothing"
    );
}

#[test]
fn a_station_is_not_in_the_ground_beside_the_home_of_its_vehicle() {
    let at = |amsl: f64, east: f64| {
        let change =
            move |p: &mut Place| (p.altitude, p.at) = (Altitude::Amsl(AltitudeAmsl(amsl)), shifted(HERE, east, 0.0));
        unsuitable(change, &limits())
    };
    assert_eq!(at(489.0, 0.0), None);
    assert!(matches!(at(488.5, 0.0), Some(BadStation::InGround { .. })));
    assert_eq!(at(460.0, 30.0), None, "in the valley before it");
    assert_eq!(
        at(460.0, 20.0).unwrap().to_string(),
        "the station is 28 m below the home of its vehicle and 20 m from it, which is in the ground unless that falls steeper than \
         45 degrees; raise the station"
    );
}

#[test]
fn the_height_is_compared_by_the_reference_of_the_station() {
    let station = Station::new(place(), &limits()).unwrap();
    let at = shifted(HERE, 3.0, 4.0);
    let off = station.off(at, AltitudeAmsl(999.0), AltitudeAboveHome(28.0));
    assert!(
        (off.horizontal.0 - 5.0).abs() < 1e-3 && (off.above.0 + 2.0).abs() < 1e-9,
        "{off:?}"
    );
    let amsl = Place {
        altitude: Altitude::Amsl(AltitudeAmsl(500.0)),
        ..place()
    };
    let station = Station::new(amsl, &limits()).unwrap();
    let off = station.off(HERE, AltitudeAmsl(501.0), AltitudeAboveHome(999.0));
    assert!((off.above.0 - 1.0).abs() < 1e-9);
}

/// Whether it is on station after these reports: millisecond, meters off over ground.
fn after(reports: &[(u64, f64)]) -> bool {
    let mut arrival = Arrival::default();
    let mut now = Moment::default();
    for (ms, meters) in reports {
        now = now.max(Moment::at(Duration::from_millis(*ms)));
        let off = Off {
            horizontal: Meters(*meters),
            above: Meters(0.0),
        };
        arrival = arrival.observe(off, Moment::at(Duration::from_millis(*ms)), Tolerance::default());
    }
    arrival.on_station(now)
}

#[test]
fn on_station_is_seen_within_the_tolerance_for_a_second() {
    assert!(!after(&[(0, 1.0)]), "one report proves no time");
    assert!(!after(&[(0, 1.0), (900, 1.0)]));
    assert!(after(&[(0, 1.0), (500, 1.9), (1000, 1.0)]));
    assert!(!after(&[(0, 1.0), (500, 2.1), (1000, 1.0)]), "it left in between");
    let arrived = [(0, 1.0), (1000, 1.0)];
    assert!(after(&[&arrived[..], &[(1500, 2.9), (2000, 2.5)]].concat()), "it sways");
    assert!(
        !after(&[&arrived[..], &[(1500, 3.1), (2000, 2.5)]].concat()),
        "it is off"
    );
    assert!(!after(&[(0, 1.0), (3001, 1.0)]), "what was in between is not known");
    assert!(
        after(&[(0, 1.0), (1000, 1.0), (900, 9.0)]),
        "an old report says nothing new"
    );
    assert!(!after(&[(0, 1.0), (1000, f64::NAN)]));
}

#[test]
fn who_is_not_seen_any_more_is_not_on_station() {
    let off = Off {
        horizontal: Meters(0.0),
        above: Meters(0.0),
    };
    let at = |s| Moment::at(Duration::from_secs(s));
    let tolerance = Tolerance::default();
    let arrival = Arrival::default()
        .observe(off, at(1), tolerance)
        .observe(off, at(2), tolerance);
    assert!(arrival.on_station(at(5)));
    assert!(!arrival.on_station(at(6)));
}

proptest! {
    #[test]
    fn whatever_is_asked_for_a_station_lies_within_the_limits(
        latitude in prop::num::f64::ANY, longitude in prop::num::f64::ANY,
        height in prop_oneof![prop::num::f64::ANY, -200.0..200.0],
        near in any::<bool>(),
    ) {
        let at = if near { shifted(HERE, latitude % 600.0, longitude % 600.0) } else {
            Wgs84 { latitude_deg: latitude, longitude_deg: longitude }
        };
        let asked = Place { at, altitude: Altitude::AboveHome(AltitudeAboveHome(height)), manner: Manner::default() };
        if let Ok(station) = Station::new(asked, &limits()) {
            prop_assert!((1.0..=120.0).contains(&height));
            let suits = station.suits(HERE, AltitudeAmsl(488.0), &limits()).is_ok();
            prop_assert!(!suits || at.meters_to(HERE) <= 500.0 * 1.006);
        }
    }
}
