//! Fences, and the oracle: what each autopilot makes of a compiled fence, against what is wanted, point by point.

use super::*;
use crate::planning::ellipsoid::chord;
use crate::planning::parameters::Resolved;
use model::geo::shifted;
use model::units::Meters;
use proptest::prelude::*;

const BOTH: [Autopilot; 2] = [Autopilot::Px4, Autopilot::ArduPilot];

fn zurich() -> Wgs84 {
    Wgs84 {
        latitude_deg: 47.397_742,
        longitude_deg: 8.545_594,
    }
}

/// Meters east and north.
fn polygon(of: Wgs84, points: &[(f64, f64)]) -> Outline {
    Outline::Polygon(
        points
            .iter()
            .map(|&(east, north)| shape::on_grid(shifted(of, east, north)))
            .collect(),
    )
}

fn square(of: Wgs84, half: f64) -> Outline {
    polygon(of, &[(-half, -half), (half, -half), (half, half), (-half, half)])
}

fn circle(of: Wgs84, east: f64, north: f64, radius: f64) -> Outline {
    Outline::Circle {
        center: shape::on_grid(shifted(of, east, north)),
        radius: Meters(radius),
    }
}

fn wanted(name: &str) -> Wanted {
    Wanted {
        name: name.to_owned(),
        include: Vec::new(),
        exclude: Vec::new(),
        ceiling: None,
        floor: None,
        breach: Breach::Return,
        windows: Vec::new(),
        origin: Origin::Geofence,
    }
}

fn including(name: &str, include: Vec<Outline>) -> Wanted {
    Wanted {
        include,
        ..wanted(name)
    }
}

fn excluding(name: &str, exclude: Vec<Outline>) -> Wanted {
    Wanted {
        exclude,
        ..wanted(name)
    }
}

fn values(compiled: &Compiled) -> Vec<(&str, f64)> {
    compiled.parameters.iter().map(|p| (p.name.as_str(), p.value)).collect()
}

fn star(of: Wgs84, points: usize, outer: f64, inner: f64) -> Outline {
    let corner = |i: usize| {
        let angle = std::f64::consts::TAU * i as f64 / points as f64;
        let radius = if i.is_multiple_of(2) { outer } else { inner };
        (radius * angle.cos(), radius * angle.sin())
    };
    polygon(of, &(0..points).map(corner).collect::<Vec<_>>())
}

#[test]
fn a_fence_that_fits_is_taken_as_it_is_with_polygons_first_and_circles_last() {
    let home = zurich();
    let mut geofence = including("site", vec![square(home, 300.0)]);
    let near = circle(home, 60.0, 0.0, 20.0);
    let block = polygon(home, &[(100.0, 100.0), (150.0, 100.0), (150.0, 150.0)]);
    geofence.exclude = vec![near, block.clone()];
    for autopilot in BOTH {
        let compiled = compile(&[&geofence], autopilot, Some(home)).unwrap();
        let shapes = compiled.fence.unwrap().shapes;
        assert_eq!(shapes.len(), 3);
        assert_eq!(
            (shapes[0].side, &shapes[0].outline),
            (Side::Inside, &square(home, 300.0))
        );
        assert_eq!((shapes[1].side, &shapes[1].outline), (Side::Outside, &block));
        assert!(matches!(shapes[2].outline, Outline::Circle { radius, .. } if (19.9..20.2).contains(&radius.0)));
        assert_eq!(compiled.notes, Vec::<String>::new());
    }
}

#[test]
fn the_parameters_have_what_is_wanted_and_nothing_that_is_not() {
    let home = zurich();
    let shapes = including("site", vec![square(home, 300.0)]);
    let of = |wanted: &[&Wanted], autopilot| compile(wanted, autopilot, Some(home)).unwrap();
    // Neither the circle of 300 m nor the ceiling of 100 m that FENCE_TYPE has by default.
    assert_eq!(
        values(&of(&[&shapes], Autopilot::ArduPilot)),
        [("FENCE_ACTION", 1.0), ("FENCE_ENABLE", 1.0), ("FENCE_TYPE", 4.0)]
    );
    assert_eq!(
        values(&of(&[&shapes], Autopilot::Px4)),
        [("GF_ACTION", 3.0), ("GF_MAX_HOR_DIST", 0.0)],
        "a ceiling that a person has set stays"
    );
    let mut low = wanted("low");
    low.ceiling = Some(AltitudeAboveHome(60.0));
    let mut high = wanted("high");
    high.ceiling = Some(AltitudeAboveHome(100.0));
    high.breach = Breach::Land;
    let heights = of(&[&low, &high], Autopilot::Px4);
    assert_eq!(heights.fence, None, "only heights: the shapes on the autopilot stay");
    assert_eq!(
        values(&heights),
        [("GF_ACTION", 5.0), ("GF_MAX_VER_DIST", 60.0)],
        "a distance that a person has set stays"
    );
    let alone = of(&[&low], Autopilot::ArduPilot);
    let kinds = alone.parameters.iter().find(|wanted| wanted.name == "FENCE_TYPE");
    assert_eq!(
        kinds.unwrap().value,
        5.0,
        "a polygon that a person has put there stays in force"
    );
    high.floor = Some(AltitudeAboveHome(5.0));
    assert_eq!(
        values(&of(&[&low, &high, &shapes], Autopilot::ArduPilot)),
        [
            ("FENCE_ACTION", 2.0),
            ("FENCE_ALT_MAX", 60.0),
            ("FENCE_ALT_MIN", 5.0),
            ("FENCE_ENABLE", 1.0),
            ("FENCE_TYPE", 13.0)
        ]
    );
    let px4 = compile(&[&high], Autopilot::Px4, Some(home));
    assert_eq!(px4, Err(NoFence::NoFloor("high".to_owned())));
    low.ceiling = None;
    assert_eq!(
        of(&[&low], Autopilot::ArduPilot),
        Compiled::default(),
        "nothing is wanted"
    );
}

#[test]
fn px4_is_kept_from_returning_through_a_ceiling_and_a_lower_return_is_left_alone() {
    let mut low = wanted("low");
    low.ceiling = Some(AltitudeAboveHome(30.0));
    let of = |autopilot| compile(&[&low], autopilot, None).unwrap().returns;
    assert_eq!(of(Autopilot::ArduPilot), None, "it lowers its return by itself");
    let limit = of(Autopilot::Px4).unwrap();
    assert_eq!((limit.name, limit.most), ("RTL_RETURN_ALT", 27.0));
    let value = |now: f64, by: &[WantedParameter]| limit.parameter(AltitudeAboveHome(now), by).map(|p| p.value);
    assert_eq!(value(60.0, &[]), Some(27.0), "its factory setting");
    assert_eq!(value(27.0, &[]), Some(27.0), "what was set by us stays wanted");
    assert_eq!(value(20.0, &[]), None, "a person has set it lower");
    let profile = |value: f64, enforce| WantedParameter {
        name: "RTL_RETURN_ALT".to_owned(),
        value,
        enforce,
        may_reboot: false,
        any_name: false,
    };
    assert_eq!(
        value(60.0, &[profile(22.0, Enforce::Apply)]),
        None,
        "the profile sees to it"
    );
    assert_eq!(value(60.0, &[profile(22.0, Enforce::Report)]), Some(27.0));
    assert_eq!(value(60.0, &[profile(40.0, Enforce::Apply)]), Some(27.0));
    let resolved = |value| Resolved {
        parameters: vec![profile(value, Enforce::Apply)],
        owners: [("RTL_RETURN_ALT".to_owned(), "heights".to_owned())].into(),
        ..Resolved::default()
    };
    let (mut high, mut good) = (resolved(40.0), resolved(22.0));
    limit.overrule(&mut high);
    limit.overrule(&mut good);
    assert_eq!((high.parameters.len(), high.owners.len()), (0, 0));
    assert_eq!(
        (high.overruled[0].profile.as_str(), &high.overruled[0].by),
        ("heights", &None)
    );
    assert_eq!(good, resolved(22.0));
}

#[test]
fn shapes_at_the_180th_meridian_are_refused_with_that_reason() {
    let at = |longitude_deg| Wgs84 {
        latitude_deg: -17.0,
        longitude_deg,
    };
    let round = |longitude_deg, radius| Outline::Circle {
        center: at(longitude_deg),
        radius: Meters(radius),
    };
    let alone = |outline| including("fiji", vec![outline]).check();
    // A thousandth of a degree is 106 m there.
    for longitude in [179.999, -179.999] {
        assert_eq!(alone(round(longitude, 90.0)), Ok(()));
        let crosses = alone(round(longitude, 110.0));
        assert!(
            matches!(
                crosses,
                Err(NoFence::Shape {
                    why: BadShape::Antimeridian,
                    ..
                })
            ),
            "{crosses:?}"
        );
    }
    let both = including("fiji", vec![round(179.99, 500.0), round(-179.99, 500.0)]).check();
    assert_eq!(both, Err(NoFence::Antimeridian("fiji".to_owned())));
}

#[test]
fn a_way_that_leaves_an_inclusion_or_crosses_an_exclusion_or_ceiling_is_refused() {
    let home = zurich();
    let at = |east: f64, north: f64, up: f64| (shifted(home, east, north), AltitudeAboveHome(up));
    // A U: the line between its arms leads outside.
    let mut site = including(
        "u",
        vec![polygon(
            home,
            &[
                (-50.0, -50.0),
                (150.0, -50.0),
                (150.0, 100.0),
                (100.0, 100.0),
                (100.0, 0.0),
                (0.0, 0.0),
                (0.0, 100.0),
                (-50.0, 100.0),
            ],
        )],
    );
    site.exclude = vec![circle(home, 50.0, -25.0, 10.0)];
    site.ceiling = Some(AltitudeAboveHome(40.0));
    let way = |places: &[(Wgs84, AltitudeAboveHome)]| way_outside(&[&site], places);
    let (left, right) = (at(-25.0, 60.0, 10.0), at(125.0, 60.0, 10.0));
    assert_eq!(
        way(&[left, at(-25.0, -45.0, 10.0), at(125.0, -45.0, 10.0), right]),
        Ok(())
    );
    assert!(matches!(way(&[left, right]), Err(WayOutside::Leaves { index: 0, .. })));
    let across = way(&[at(-25.0, -25.0, 10.0), at(125.0, -25.0, 10.0)]);
    assert!(
        matches!(across, Err(WayOutside::Crosses { index: 0, .. })),
        "{across:?}"
    );
    let past = |north: f64| way(&[at(-25.0, north, 10.0), at(125.0, north, 10.0)]);
    assert!(past(-36.0).is_err() && past(-39.0).is_ok());
    let climbs = way(&[at(-25.0, -45.0, 0.0), at(-25.0, -45.0, 39.0), at(125.0, -45.0, 39.0)]);
    assert!(
        climbs
            .unwrap_err()
            .to_string()
            .contains("up to 39.0 m above home, and the ceiling of Geofence u is 40 m")
    );
    // A vehicle that is outside may come back.
    assert_eq!(way(&[at(50.0, 60.0, 10.0), at(-25.0, 60.0, 10.0)]), Ok(()));
    assert_eq!(way(&[]), Ok(()));
    // But not out again, nor through the shape at whose edge it is on the right side.
    let (inside, west, east) = (at(50.0, -25.0, 10.0), at(30.0, -25.0, 10.0), at(70.0, -25.0, 10.0));
    let crosses = |places: &[(Wgs84, AltitudeAboveHome)]| matches!(way(places), Err(WayOutside::Crosses { .. }));
    assert_eq!(way(&[inside, west]), Ok(()));
    assert!(crosses(&[inside, west, east]));
    let edge = at(38.5, -25.0, 10.0);
    assert!(crosses(&[edge, east]));
    assert_eq!(way(&[edge, west]), Ok(()));
    assert!(crosses(&[edge, west, edge]));
    let up = |heights: [f64; 3]| way(&heights.map(|up| at(-25.0, -45.0, up)));
    assert_eq!(up([38.5, 38.5, 10.0]), Ok(()));
    assert_eq!(up([41.0, 42.0, 10.0]), Ok(()));
    for heights in [[38.5, 45.0, 10.0], [38.5, 10.0, 38.5], [41.0, 10.0, 41.0]] {
        assert!(matches!(up(heights), Err(WayOutside::Climbs { .. })), "{heights:?}");
    }
}

#[test]
fn the_rest_of_a_flight_is_refused_also_where_the_vehicle_is_outside_by_now() {
    let home = zurich();
    let at = |east: f64, north: f64, up: f64| (shifted(home, east, north), AltitudeAboveHome(up));
    let (near, far, back) = (at(20.0, 0.0, 20.0), at(80.0, 0.0, 20.0), at(0.0, 0.0, 20.0));
    let mut now = including("north", vec![square(home, 50.0)]);
    let rest = |now: &Wanted, places: &[(Wgs84, AltitudeAboveHome)]| rest_outside(&[now], home, places);
    assert_eq!(rest(&now, &[near, back]), Ok(()));
    assert_eq!(rest(&now, &[near, far, back]), rest(&now, &[far, near, back]));
    for places in [&[near, far, back][..], &[far, near, back], &[far, back]] {
        assert!(matches!(rest(&now, places), Err(WayOutside::Leaves { index: 0, .. })));
    }
    now.ceiling = Some(AltitudeAboveHome(15.0));
    assert!(matches!(rest(&now, &[near, back]), Err(WayOutside::Climbs { .. })));
    assert_eq!(rest(&now, &[]), Ok(()));
}

#[test]
fn what_an_autopilot_keeps_counts_whether_it_is_known_or_not() {
    let home = zurich();
    let at = |east: f64, up: f64| (shifted(home, east, 0.0), AltitudeAboveHome(up));
    let mut site = including("north", vec![square(home, 50.0)]);
    site.ceiling = Some(AltitudeAboveHome(40.0));
    let former = site.former();
    let kept = "north".to_owned();
    for place in [at(80.0, 20.0), at(20.0, 45.0)] {
        let way = way_outside(&[&former], &[at(0.0, 10.0), place]);
        assert_eq!(way, Err(WayOutside::Former(kept.clone())));
        let station = outside(&[&former], Some(place.0), Some(place.1));
        assert_eq!(station, Err(Outside::Former(kept.clone())));
    }
    let unknown = Wanted::unknown();
    let (near, far) = (at(1.0, 10.0), at(2.0, 10.0));
    assert_eq!(way_outside(&[&unknown], &[near, far]), Err(WayOutside::Unknown));
    assert_eq!(rest_outside(&[&unknown], home, &[near, far]), Ok(()), "it was granted");
    assert_eq!(outside(&[&unknown], Some(near.0), Some(near.1)), Ok(()));
}

/// Far larger than an autopilot holds.
fn large(home: Wgs84) -> [Wanted; 2] {
    let mut site = including("site", vec![star(home, 254, 2000.0, 1998.0)]);
    for i in 0..4_u32 {
        let angle = std::f64::consts::TAU * f64::from(i) / 4.0;
        let of = shifted(home, 1000.0 * angle.cos(), 1000.0 * angle.sin());
        site.exclude.push(star(of, 20, 100.0, 98.0));
    }
    let county = including("county", vec![star(shifted(home, 700.0, 0.0), 200, 2500.0, 2498.0)]);
    [site, county]
}

#[test]
fn a_place_that_the_autopilot_will_not_allow_is_refused_also_where_it_is_wanted() {
    let home = zurich();
    let spiky = including("spiky", vec![star(home, 100, 2000.0, 1990.0)]);
    for autopilot in BOTH {
        let compiled = compile(&[&spiky], autopilot, Some(home)).unwrap();
        let narrower = compiled.narrower("held".to_owned()).unwrap();
        let fence = compiled.fence.unwrap();
        let mut refused = 0;
        for n in 0..720 {
            let angle = std::f64::consts::TAU * f64::from(n) / 720.0;
            let place = shifted(home, 1994.0 * angle.cos(), 1994.0 * angle.sin());
            if outside(&[&spiky], Some(place), None).is_ok() && !allows(autopilot, &fence, place) {
                assert!(outside(&[&narrower], Some(place), None).is_err());
                refused += 1;
            }
        }
        assert!(refused > 0, "{autopilot:?}");
    }
    let small = including("small", vec![square(home, 50.0)]);
    let compiled = compile(&[&small], Autopilot::Px4, Some(home)).unwrap();
    assert_eq!(compiled.narrower("held".to_owned()), None, "it is held as it is wanted");
}

#[test]
fn a_place_is_refused_where_a_circle_on_board_is_of_another_size_than_desired() {
    let mut refused = 0;
    for latitude_deg in [-65.0, 0.0, 20.0, 47.4, 69.0] {
        let home = shape::on_grid(Wgs84 {
            latitude_deg,
            ..zurich()
        });
        for (autopilot, radius) in BOTH
            .into_iter()
            .flat_map(|of| [(of, 300.0), (of, 2000.0), (of, 8000.0)])
        {
            let mut round = including("round", vec![circle(home, 0.0, 0.0, radius)]);
            round.exclude = vec![circle(home, radius / 2.0, 0.0, radius / 4.0)];
            let compiled = compile(&[&round], autopilot, Some(home)).unwrap();
            let held = compiled.narrower("held".to_owned());
            let judges: Vec<&Wanted> = [Some(&round), held.as_ref()].into_iter().flatten().collect();
            let fence = compiled.fence.unwrap();
            for n in 0..360 {
                let angle = std::f64::consts::TAU * f64::from(n) / 360.0;
                for (center, radius) in [(0.0, radius), (radius / 2.0, radius / 4.0)] {
                    for off in [-0.006, -0.003, 0.0, 0.003, 0.006].map(|share| radius * (1.0 + share)) {
                        for off in [off - 3.5, off, off + 3.5] {
                            let place = shifted(home, center + off * angle.cos(), off * angle.sin());
                            let allowed = allows(autopilot, &fence, place);
                            refused += usize::from(outside(&[&round], Some(place), None).is_ok() && !allowed);
                            assert!(
                                outside(&judges, Some(place), None).is_err() || allowed,
                                "{autopilot:?} {latitude_deg} {radius} {off} {n}"
                            );
                        }
                    }
                }
            }
        }
    }
    assert!(refused > 0);
}

#[test]
fn a_home_at_the_edge_of_a_circle_on_board_is_not_taken_for_one_in_its_middle() {
    let home = shape::on_grid(Wgs84 {
        latitude_deg: 0.0,
        ..zurich()
    });
    let round = including("round", vec![circle(home, 0.0, 0.0, 2000.0)]);
    for autopilot in BOTH {
        let compiled = compile(&[&round], autopilot, Some(home));
        for left in 5..40 {
            let other = shifted(home, 0.0, 2000.0 - f64::from(left));
            let own = compile(&[&round], autopilot, Some(other));
            assert!(
                !suits_home(&compiled, &[&round], other) || own == compiled,
                "{autopilot:?} {left} m: {own:?}"
            );
        }
    }
}

#[test]
fn exclusions_that_are_drawn_in_both_directions_stay_when_they_are_made_to_fit() {
    let home = zurich();
    let block = |at: f64| [(at, at), (at + 60.0, at), (at + 60.0, at + 60.0), (at, at + 60.0)];
    for at in [300.0, 130.0] {
        let (one, mut other) = (block(100.0), block(at));
        other.reverse();
        for exclude in [[one, other], [other, one]] {
            let mut geofence = including("site", vec![star(home, 60, 2000.0, 1998.0)]);
            geofence.exclude = exclude.iter().map(|points| polygon(home, points)).collect();
            let compiled = compile(&[&geofence], Autopilot::Px4, Some(home)).unwrap();
            let fence = compiled.fence.unwrap();
            for place in [101.0, 135.0, 159.0, at + 1.0, at + 59.0].map(|off| shifted(home, off, off)) {
                assert!(!allows(Autopilot::Px4, &fence, place), "{place:?} {:?}", compiled.notes);
            }
        }
    }
}

#[test]
fn a_fence_that_is_the_same_for_homes_near_by_is_the_one_that_each_would_get() {
    let home = zurich();
    let fences = large(home);
    let all: Vec<&Wanted> = fences.iter().collect();
    for autopilot in BOTH {
        let (compiled, same) = compile_around(&all, autopilot, Some(home));
        assert!(same > 100.0, "{same} {compiled:?}");
        for (east, north) in [(50.0, 0.0), (-60.0, 60.0), (0.0, -99.0)] {
            let other = shifted(home, east, north);
            assert!(suits_home(&compiled, &all, other));
            assert_eq!(compile(&all, autopilot, Some(other)), compiled);
        }
    }
    // At an edge that would be simplified the home decides, and the result says within which distance.
    let edge = shifted(home, 1982.0, 0.0);
    let (compiled, same) = compile_around(&all, Autopilot::Px4, Some(edge));
    let near = shifted(edge, -same * 0.9, 0.0);
    if suits_home(&compiled, &all, near) {
        assert_eq!(compile(&all, Autopilot::Px4, Some(near)), compiled);
    }
    assert!(
        !suits_home(&compiled, &all, shifted(home, 2100.0, 0.0)),
        "it is outside"
    );
}

#[test]
fn no_action_stops_motors() {
    let mut geofence = wanted("a");
    geofence.ceiling = Some(AltitudeAboveHome(50.0));
    for breach in [Breach::Warn, Breach::Hold, Breach::Return, Breach::Land] {
        geofence.breach = breach;
        let px4 = compile(&[&geofence], Autopilot::Px4, None).unwrap();
        assert!(
            values(&px4)
                .iter()
                .all(|&(name, value)| name != "GF_ACTION" || [1.0, 2.0, 3.0, 5.0].contains(&value))
        );
    }
}

#[test]
fn what_cannot_be_exact_and_safe_is_refused_in_words_that_say_what_to_do() {
    let home = zurich();
    let away = shifted(home, 5000.0, 0.0);
    let bow = polygon(
        home,
        &[(-100.0, -100.0), (100.0, 100.0), (100.0, -100.0), (-100.0, 100.0)],
    );
    let twice = polygon(home, &[(0.0, 0.0), (100.0, 0.0), (100.0, 0.0), (0.0, 100.0)]);
    let line = polygon(home, &[(0.0, 0.0), (100.0, 0.0), (200.0, 0.0)]);
    let far = vec![circle(home, 0.0, 0.0, 100.0), circle(home, 60_000.0, 0.0, 100.0)];
    let comb: Vec<(f64, f64)> = (0..120)
        .flat_map(|i| {
            let x = f64::from(i) * 120.0;
            [(x, 3000.0), (x + 60.0, 3000.0), (x + 60.0, 100.0), (x + 120.0, 100.0)]
        })
        .take(240)
        .chain([(15_000.0, -500.0), (-500.0, -500.0)])
        .collect();
    let mut flat = wanted("flat");
    (flat.ceiling, flat.floor) = (Some(AltitudeAboveHome(20.0)), Some(AltitudeAboveHome(30.0)));
    let cases: Vec<(Wanted, Option<Wgs84>, &str)> = vec![
        (
            including("a", vec![square(home, 100.0)]),
            None,
            "has not reported its home position yet",
        ),
        (
            including("a", vec![square(away, 100.0)]),
            Some(home),
            "home is not 5 m inside spec.include[0] of Geofence a",
        ),
        (
            including("a", vec![square(home, 4.0)]),
            Some(home),
            "home is not 5 m inside",
        ),
        (
            excluding("a", vec![square(away, 9.0), square(home, 9.0)]),
            Some(home),
            "home is not 5 m outside spec.exclude[1]",
        ),
        (including("a", vec![bow]), Some(home), "its edges cross or touch"),
        (including("a", vec![twice]), Some(home), "its edges cross or touch"),
        (including("a", vec![line]), Some(home), "its edges cross or touch"),
        (
            including("a", vec![circle(home, 0.0, 0.0, f64::NAN)]),
            Some(home),
            "the radius is NaN m",
        ),
        (
            including("a", vec![square(home, 50.0), square(away, 50.0)]),
            Some(home),
            "no area in common (a)",
        ),
        (including("a", far), Some(home), "20 km from their center"),
        (
            including("a", vec![polygon(home, &comb)]),
            Some(home),
            "fewer would move its edge by more than 20 m",
        ),
        (
            flat,
            Some(home),
            "the floor of 30 m is not below the ceiling of 20 m (flat)",
        ),
    ];
    for (geofence, home, words) in cases {
        let error = compile(&[&geofence], Autopilot::ArduPilot, home).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(error.waits(), home.is_none());
    }
}

#[test]
fn inclusions_of_several_geofences_become_one_polygon_around_home() {
    let home = zurich();
    let u = polygon(
        home,
        &[
            (-300.0, -50.0),
            (300.0, -50.0),
            (300.0, 300.0),
            (200.0, 300.0),
            (200.0, 50.0),
            (-200.0, 50.0),
            (-200.0, 300.0),
            (-300.0, 300.0),
        ],
    );
    let band = polygon(
        home,
        &[(-400.0, 100.0), (400.0, 100.0), (400.0, 200.0), (-400.0, 200.0)],
    );
    let (one, other) = (including("u", vec![u]), including("band", vec![band]));
    let left = shifted(home, -250.0, 150.0);
    for autopilot in BOTH {
        let compiled = compile(&[&one, &other], autopilot, Some(left)).unwrap();
        let shapes = compiled.fence.unwrap().shapes;
        assert_eq!(shapes.len(), 1);
        assert!(shape::depth(&shapes[0].outline, left) > 45.0);
        assert!(
            shape::depth(&shapes[0].outline, shifted(home, 250.0, 150.0)) < 0.0,
            "the other part is left out"
        );
        assert!(compiled.notes[0].contains("2 areas in common"), "{:?}", compiled.notes);
    }
}

#[test]
fn a_circle_stays_a_circle_where_nothing_cuts_it() {
    let home = zurich();
    let round = including("round", vec![circle(home, 0.0, 0.0, 200.0)]);
    let wide = including("wide", vec![square(home, 500.0)]);
    let compiled = compile(&[&round, &wide], Autopilot::Px4, Some(home)).unwrap();
    let shapes = compiled.fence.unwrap().shapes;
    assert!(
        matches!(
            &shapes[..],
            [Shape {
                outline: Outline::Circle { .. },
                side: Side::Inside
            }]
        ),
        "{shapes:?}"
    );
    let cut = including("cut", vec![square(home, 150.0)]);
    let compiled = compile(&[&round, &cut], Autopilot::Px4, Some(home)).unwrap();
    assert!(matches!(&compiled.fence.unwrap().shapes[0].outline, Outline::Polygon(vertices) if vertices.len() > 4));
}

use model::rules::Shape;

#[test]
fn too_many_vertices_are_made_fewer_for_each_autopilot_and_never_more_room() {
    let home = zurich();
    let geofence = including("star", vec![star(home, 100, 500.0, 495.0)]);
    for (autopilot, most) in [(Autopilot::Px4, 64), (Autopilot::ArduPilot, 69)] {
        let compiled = compile(&[&geofence], autopilot, Some(home)).unwrap();
        let items = compiled.fence.unwrap().items();
        assert!(items <= most && items > most - 3, "{items}");
        assert!(
            compiled.notes[0].starts_with("100 vertices became"),
            "{:?}",
            compiled.notes
        );
    }
}

#[test]
fn a_home_that_moves_a_little_changes_nothing() {
    let home = zurich();
    let mut geofence = including(
        "star",
        vec![star(home, 100, 500.0, 495.0), circle(home, 50.0, 0.0, 480.0)],
    );
    geofence.exclude = vec![circle(home, 200.0, 200.0, 50.0)];
    let of = |home| compile(&[&geofence], Autopilot::Px4, Some(home)).unwrap();
    assert_eq!(of(home), of(shifted(home, 1.5, -2.0)));
}

#[test]
fn a_window_has_its_start_and_not_its_end() {
    let mut geofence = wanted("a");
    assert!(geofence.is_active(0));
    geofence.windows = vec![
        Window {
            from: Some(10),
            until: Some(20),
        },
        Window {
            from: Some(30),
            until: None,
        },
    ];
    let active: Vec<i64> = [9, 10, 19, 20, 29, 30, 99]
        .into_iter()
        .filter(|&now| geofence.is_active(now))
        .collect();
    assert_eq!(active, [10, 19, 30, 99]);
}

#[test]
fn a_station_is_judged_with_a_margin_and_the_geofence_is_named() {
    let home = zurich();
    let mut geofence = including("site", vec![square(home, 100.0)]);
    geofence.exclude = vec![circle(home, 50.0, 0.0, 10.0)];
    (geofence.ceiling, geofence.floor) = (Some(AltitudeAboveHome(60.0)), Some(AltitudeAboveHome(10.0)));
    let says = |east, north, height| {
        let at = shifted(home, east, north);
        let judged = outside(&[&geofence], Some(at), Some(AltitudeAboveHome(height)));
        judged.err().map(|why| why.to_string())
    };
    assert_eq!(says(0.0, 0.0, 30.0), None);
    let told = |east, north, height, words: &str| {
        let says = says(east, north, height).unwrap();
        assert!(says.contains(words) && says.contains("site"), "{says}");
    };
    told(98.0, 0.0, 30.0, "inside spec.include[0]");
    told(38.0, 0.0, 30.0, "outside spec.exclude[0]");
    told(0.0, 0.0, 58.0, "the ceiling");
    told(0.0, 0.0, 12.0, "the floor");
    assert_eq!(
        outside(&[&geofence], None, Some(AltitudeAboveHome(30.0))),
        Ok(()),
        "no place is asked for"
    );
}

/// Whether the autopilot lets a vehicle be there: PX4 `Geofence::checkPolygons`, ArduPilot `AC_PolyFence_loader::breached`. Both take
/// latitude and longitude as a plane for polygons; each has its own distance.
fn allows(autopilot: Autopilot, fence: &model::rules::Fence, at: Wgs84) -> bool {
    fence.shapes.iter().all(|shape| {
        let inside = match &shape.outline {
            Outline::Polygon(vertices) => crosses_ray(vertices, at),
            Outline::Circle { center, radius } => distance(autopilot, *center, at) < radius.0,
        };
        inside == (shape.side == Side::Inside)
    })
}

fn crosses_ray(vertices: &[Wgs84], at: Wgs84) -> bool {
    let mut inside = false;
    for (i, a) in vertices.iter().enumerate() {
        let b = vertices[(i + 1) % vertices.len()];
        let between = (a.longitude_deg >= at.longitude_deg) != (b.longitude_deg >= at.longitude_deg);
        let slope = (b.latitude_deg - a.latitude_deg) / (b.longitude_deg - a.longitude_deg);
        if between && at.latitude_deg <= slope * (at.longitude_deg - a.longitude_deg) + a.latitude_deg {
            inside = !inside;
        }
    }
    inside
}

fn distance(autopilot: Autopilot, from: Wgs84, to: Wgs84) -> f64 {
    match autopilot {
        // get_distance_to_next_waypoint: haversine.
        Autopilot::Px4 => from.meters_to(to),
        // Location::get_distance.
        Autopilot::ArduPilot => {
            let middle = f64::midpoint(from.latitude_deg, to.latitude_deg).to_radians();
            let north = (to.latitude_deg - from.latitude_deg) * 1e7;
            let east = (to.longitude_deg - from.longitude_deg) * 1e7 * middle.cos();
            north.hypot(east) * 0.011_131_884_502_145_034
        }
    }
}

/// The wire's grid of a centimeter, meters.
const GRID: f64 = 0.02;

/// Whether a vehicle may be there: circles measured through the ellipsoid.
fn is_wanted(wanted: &[&Wanted], at: Wgs84) -> bool {
    let depth = |outline: &Outline| match outline {
        Outline::Circle { center, radius } => radius.0 - chord(*center, at),
        polygon @ Outline::Polygon(_) => shape::depth(polygon, at),
    };
    wanted.iter().all(|w| {
        w.include.iter().all(|outline| depth(outline) > -GRID) && w.exclude.iter().all(|outline| depth(outline) < GRID)
    })
}

/// A polygon around a point near home, with an edge that goes in and out: radius and bumps, meters.
fn any_polygon(sizes: std::ops::Range<f64>, off: f64) -> impl Strategy<Value = (f64, f64, Vec<f64>)> {
    let radii = (3_usize..90).prop_flat_map(move |n| {
        (sizes.clone(), prop::collection::vec(0.75..1.0_f64, n))
            .prop_map(|(size, shares)| shares.into_iter().map(|share| share * size).collect())
    });
    (-off..off, -off..off, radii)
}

/// In either direction, as people draw.
fn rounded(of: Wgs84, (east, north, radii): &(f64, f64, Vec<f64>)) -> Outline {
    let turn = if radii.len() % 2 == 0 { 1.0 } else { -1.0 };
    let corner = |(i, radius): (usize, &f64)| {
        let angle = turn * std::f64::consts::TAU * i as f64 / radii.len() as f64;
        (east + radius * angle.cos(), north + radius * angle.sin())
    };
    polygon(of, &radii.iter().enumerate().map(corner).collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    /// On either stack, the compiled fence allows no place that is not wanted.
    #[test]
    fn no_compiled_fence_is_larger_than_the_wanted_one(
        latitude_deg in -69.0..69.0_f64,
        longitude_deg in -179.0..179.0_f64,
        inside in prop::collection::vec(any_polygon(200.0..1500.0, 150.0), 0..3),
        round in prop::collection::vec((-150.0..150.0_f64, -150.0..150.0_f64, 200.0..2500.0_f64), 0..3),
        blocks in prop::collection::vec(any_polygon(10.0..200.0, 1200.0), 0..4),
        pillars in prop::collection::vec((-1200.0..1200.0_f64, -1200.0..1200.0_f64, 5.0..300.0_f64), 0..4),
        samples in prop::collection::vec((-2700.0..2700.0_f64, -2700.0..2700.0_f64), 300),
    ) {
        let home = shape::on_grid(Wgs84 { latitude_deg, longitude_deg });
        let one = including("one", inside.iter().map(|p| rounded(home, p)).collect());
        let mut other = including("other", round.iter().map(|&(e, n, r)| circle(home, e, n, r)).collect());
        other.exclude = blocks.iter().map(|p| rounded(home, p)).collect();
        let third = excluding("third", pillars.iter().map(|&(e, n, r)| circle(home, e, n, r)).collect());
        let all = [&one, &other, &third];
        for autopilot in BOTH {
            let Ok(compiled) = compile(&all, autopilot, Some(home)) else { continue };
            let Some(fence) = compiled.fence else { continue };
            let limits = Limits::of(autopilot);
            prop_assert!(fence.items() <= limits.items);
            let circles = |shape: &Shape| matches!(shape.outline, Outline::Circle { .. });
            prop_assert!(fence.shapes.iter().is_sorted_by_key(circles), "circles are last");
            prop_assert!(fence.shapes.iter().filter(|s| s.side == Side::Inside).count() <= 1);
            prop_assert!(allows(autopilot, &fence, home));
            // Everywhere, and close to each vertex that goes to the autopilot.
            let far = samples.iter().map(|&(east, north)| shifted(home, east, north));
            let vertices = fence.shapes.iter().flat_map(|shape| match &shape.outline {
                Outline::Polygon(vertices) => vertices.clone(),
                Outline::Circle { center, radius } => (0..16)
                    .map(|i| f64::from(i) * std::f64::consts::TAU / 16.0)
                    .map(|a| shifted(*center, radius.0 * a.cos(), radius.0 * a.sin()))
                    .collect(),
            });
            let near = vertices.zip(samples.iter().cycle()).map(|(at, (e, n))| shifted(at, e / 900.0, n / 900.0));
            for at in far.chain(near) {
                prop_assert!(
                    !allows(autopilot, &fence, at) || is_wanted(&all, at),
                    "{autopilot:?} allows {at:?} of {fence:?}"
                );
            }
        }
    }
}

#[test]
fn most_random_fences_compile() {
    // The property above proves nothing where nothing compiles.
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let home = zurich();
    let mut runner = TestRunner::deterministic();
    let strategy = (
        any_polygon(200.0..1500.0, 150.0),
        any_polygon(200.0..1500.0, 150.0),
        any_polygon(10.0..200.0, 1200.0),
    );
    let (mut good, mut why) = (0, std::collections::BTreeMap::new());
    for _ in 0..300 {
        let (one, other, block) = strategy.new_tree(&mut runner).unwrap().current();
        let mut geofence = including("a", vec![rounded(home, &one), rounded(home, &other)]);
        geofence.exclude = vec![rounded(home, &block)];
        match compile(&[&geofence], Autopilot::Px4, Some(home)) {
            Ok(_) => good += 1,
            Err(error) => *why.entry(error.to_string()).or_insert(0) += 1,
        }
    }
    assert!(good > 200, "{good} of 300: {why:#?}");
}
