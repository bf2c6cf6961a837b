//! Areas in each format.

use super::*;
use crate::recognize::{self, Contents};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const MIDDLE: Wgs84 = Wgs84 {
    latitude_deg: 47.397_742,
    longitude_deg: 8.545_594,
};

fn place((east, north): (f64, f64)) -> Value {
    let at = shifted(MIDDLE, east, north);
    json!([at.longitude_deg, at.latitude_deg])
}

fn ring(corners: &[(f64, f64)]) -> Value {
    let closed = corners.iter().chain(corners.first());
    closed.map(|corner| place(*corner)).collect()
}

fn feature(kind: &str, coordinates: &Value) -> String {
    json!({"type": "FeatureCollection", "features": [{"type": "Feature", "properties": {}, "geometry": {"type": kind, "coordinates": coordinates}}]}).to_string()
}

fn areas(bytes: &[u8]) -> AreaFile {
    match recognize::read(bytes, "file", None).unwrap().contents {
        Contents::Areas(areas) => areas,
        other => panic!("{other:?}"),
    }
}

fn prepared(text: &str, purpose: Purpose) -> Vec<Area> {
    prepare(&areas(text.as_bytes()), purpose).unwrap()
}

fn wrong(text: &str) -> String {
    let errors = prepare(&areas(text.as_bytes()), Purpose::Survey).unwrap_err();
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn waves(count: u32, radius: f64, depth: f64, middle: (f64, f64)) -> Vec<(f64, f64)> {
    let corner = |index: u32| {
        let angle = std::f64::consts::TAU * f64::from(index) / f64::from(count);
        let out = radius + depth * (angle * 37.0).sin() + depth * 0.3 * (angle * 411.0).cos();
        (middle.0 + out * angle.cos(), middle.1 + out * angle.sin())
    };
    (0..count).map(corner).collect()
}

const SQUARE: [(f64, f64); 4] = [(0.0, 0.0), (100.0, 0.0), (100.0, 100.0), (0.0, 100.0)];

#[test]
fn an_area_of_ten_thousand_corners_is_made_simpler_in_time_and_never_larger() {
    let outer = waves(10_000, 800.0, 8.0, (0.0, 0.0));
    let holes = [
        waves(500, 60.0, 2.0, (300.0, 0.0)),
        waves(63, 40.0, 0.0, (-300.0, 100.0)),
    ];
    let text = feature("Polygon", &json!([ring(&outer), ring(&holes[0]), ring(&holes[1])]));
    let begun = Instant::now();
    let survey = prepared(&text, Purpose::Survey).remove(0);
    let inclusion = prepared(&text, Purpose::Inclusion).remove(0);
    let exclusion = prepared(&text, Purpose::Exclusion).remove(0);
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert_eq!(survey.corners(), 500);
    assert_eq!(inclusion.outer.len(), 255);
    assert_eq!((exclusion.outer.len(), exclusion.holes.len()), (255, 0));
    assert!(exclusion.notes[0].contains("are closed: 2"), "{:?}", exclusion.notes);
    let said = &survey.notes[0];
    assert!(
        said.contains("10563 corners were simplified to 500") && said.contains("inward by up to"),
        "{said}"
    );
    assert!(exclusion.notes[1].contains("outward by up to"), "{:?}", exclusion.notes);
    let flat = |places: &[Wgs84]| -> Vec<Coord> {
        let coord = |at: &Wgs84| {
            let (x, y) = offset(MIDDLE, *at);
            Coord { x, y }
        };
        places.iter().map(coord).collect()
    };
    let coords = |ring: &[(f64, f64)]| ring.iter().map(|(x, y)| Coord { x: *x, y: *y }).collect::<Vec<_>>();
    let (truth, first) = (coords(&outer), coords(&holes[0]));
    // The Earth is not flat: the plane here is another one.
    let near = |ring: &[Coord], point: Coord| simplify::distance(ring, point) < 0.05;
    for point in flat(&survey.outer) {
        assert!(valid::contains(&truth, point) || near(&truth, point), "{point:?}");
    }
    for point in &first {
        let hole = flat(&survey.holes[0]);
        assert!(valid::contains(&hole, *point) || near(&hole, *point), "{point:?}");
    }
    for point in &truth {
        let around = flat(&exclusion.outer);
        assert!(valid::contains(&around, *point) || near(&around, *point), "{point:?}");
    }
    fleet::planning::mission::Area::new(&survey.outer, &survey.holes).unwrap();
}

#[test]
fn an_area_with_more_holes_than_a_survey_has_is_divided_and_none_of_it_lost() {
    let coords = |ring: &[(f64, f64)]| ring.iter().map(|(x, y)| Coord { x: *x, y: *y }).collect::<Vec<_>>();
    let flat = |places: &[Wgs84]| -> Vec<Coord> {
        let coord = |at: &Wgs84| {
            let (x, y) = offset(MIDDLE, *at);
            Coord { x, y }
        };
        places.iter().map(coord).collect()
    };
    let near = |ring: &[Coord], point: Coord| simplify::distance(ring, point) < 0.05;
    let within = |ring: &[Coord], point: Coord| valid::contains(ring, point) || near(ring, point);
    let outer = waves(3000, 800.0, 8.0, (0.0, 0.0));
    let pond = |number: u32| {
        let at = [number % 12, number / 12].map(|place| (f64::from(place) - 5.5) * 85.0);
        waves(40, 14.0, 1.5, (at[0], at[1]))
    };
    let ponds: Vec<Vec<(f64, f64)>> = (0..144).map(pond).collect();
    let rings: Vec<Value> = std::iter::once(&outer).chain(&ponds).map(|one| ring(one)).collect();
    let pieces = prepared(&feature("Polygon", &json!(rings)), Purpose::Survey);
    assert!((2..=8).contains(&pieces.len()), "{}", pieces.len());
    let said = &pieces[0].notes[0];
    let divided = format!("the area: it was divided into {} areas, as ", pieces.len());
    assert!(
        said.starts_with(&divided) && said.contains("144 holes are too many for one"),
        "{said}"
    );

    let square = |ring: &[(f64, f64)]| valid::area(&coords(ring)).abs();
    let all = square(&outer) - ponds.iter().map(|pond| square(pond)).sum::<f64>();
    let kept: f64 = pieces.iter().map(|piece| piece.square_meters).sum();
    assert!(kept <= all * 1.000_1 && kept > all * 0.9, "{kept} of {all} m²");
    let truth = coords(&outer);
    for piece in &pieces {
        assert!(
            piece.corners() <= 500 && piece.holes.len() <= 50,
            "{} corners",
            piece.corners()
        );
        fleet::planning::mission::Area::new(&piece.outer, &piece.holes).unwrap();
        let edge = flat(&piece.outer);
        let holes: Vec<Vec<Coord>> = piece.holes.iter().map(|hole| flat(hole)).collect();
        for corner in &edge {
            assert!(within(&truth, *corner), "{corner:?}");
        }
        for corner in ponds.iter().flatten().step_by(4) {
            let at = Coord {
                x: corner.0,
                y: corner.1,
            };
            let is_out = !valid::contains(&edge, at) || near(&edge, at) || holes.iter().any(|hole| within(hole, at));
            assert!(is_out, "{at:?} of a hole is flown over");
        }
    }
    let one = prepared(&feature("Polygon", &json!(rings)), Purpose::Inclusion);
    assert_eq!((one.len(), one[0].holes.len()), (1, 144));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn what_is_made_simpler_is_allowed_before(count in 300_u32..900, depth in 0.0..30.0_f64, inside in any::<bool>(), most in 20_usize..200) {
        let coords = |ring: Vec<(f64, f64)>| ring.into_iter().map(|(x, y)| Coord { x, y }).collect::<Vec<_>>();
        let mut rings = Rings(vec![coords(waves(count, 300.0, depth, (0.0, 0.0)))]);
        let before = rings.0[0].clone();
        let frame = Frame::at(MIDDLE).unwrap();
        prop_assume!(valid::fault(&rings, &frame).is_none());
        if let Ok(moved) = simplify::fit(&mut rings, inside, |counts| counts[0] <= most) {
            let after = &rings.0[0];
            prop_assert!(after.len() <= most.max(3) && moved >= 0.0);
            prop_assert_eq!(valid::fault(&rings, &frame), None);
            let (small, large) = if inside { (after, &before) } else { (&before, after) };
            prop_assert!(valid::area(small).abs() <= valid::area(large).abs() + 1e-6);
            for (a, b) in small.iter().zip(small.iter().skip(1)) {
                let middle = (*a + *b) / 2.0;
                let deep = Coord { x: middle.x * 0.9999, y: middle.y * 0.9999 };
                prop_assert!(valid::contains(large, deep) || valid::contains(large, middle), "{middle:?}");
            }
        }
    }
}

/// Corners of a disc of 450 m, each up to 25 m off.
fn noisy_disc() -> Vec<(f64, f64)> {
    let mut seed = 1_u64;
    let corner = |index: u32| {
        seed = (seed * 1_103_515_245 + 12_345) % (1 << 31);
        let noise = f64::from(u32::try_from(seed).unwrap()) / f64::from(1_u32 << 31);
        let (angle, radius) = (std::f64::consts::TAU * f64::from(index) / 2000.0, 425.0 + 50.0 * noise);
        (radius * angle.cos(), radius * angle.sin())
    };
    (0..2000).map(corner).collect()
}

/// Disc of 400 m in steps of 2 m, as made of pixels.
fn stairs() -> Vec<(f64, f64)> {
    let mut top: Vec<(f64, f64)> = Vec::new();
    for column in -200..200 {
        let west = 2.0 * f64::from(column);
        let height = (160_000.0 - (west + 1.0).powi(2)).sqrt().floor();
        for corner in [(west, height), (west + 2.0, height)] {
            if top.last() != Some(&corner) {
                top.push(corner);
            }
        }
    }
    let bottom: Vec<(f64, f64)> = top.iter().rev().map(|(x, y)| (*x, -y)).collect();
    top.extend(bottom);
    top
}

/// 300 teeth of 1 m by 500 m.
fn comb() -> Vec<(f64, f64)> {
    let tooth = |number: u32| {
        let west = 2.0 * f64::from(number);
        [(west, 0.0), (west, 500.0), (west + 1.0, 500.0), (west + 1.0, 0.0)]
    };
    let mut corners: Vec<(f64, f64)> = (0..300).flat_map(tooth).collect();
    corners.extend([(599.0, -100.0), (0.0, -100.0)]);
    corners
}

#[test]
fn a_rough_edge_moves_little_and_only_to_the_safe_side() {
    let coords = |ring: Vec<(f64, f64)>| ring.into_iter().map(|(x, y)| Coord { x, y }).collect::<Vec<_>>();
    for (ring, most) in [(noisy_disc(), 66.0), (stairs(), 3.0)] {
        let truth = Rings(vec![coords(ring)]);
        for purpose in [Purpose::Inclusion, Purpose::Exclusion] {
            let fitted = fitted(&truth, purpose).unwrap();
            let (moved, after) = (fitted[0].moved, &fitted[0].rings);
            assert!(moved <= most && after.0[0].len() == 255, "{purpose:?}: {moved} m");
            let (small, large) = match purpose {
                Purpose::Exclusion => (&truth.0[0], &after.0[0]),
                Purpose::Survey | Purpose::Inclusion => (&after.0[0], &truth.0[0]),
            };
            for corner in small {
                assert!(
                    valid::contains(large, *corner) || simplify::distance(large, *corner) < 1e-6,
                    "{purpose:?}: {corner:?}"
                );
            }
        }
    }
}

#[test]
fn an_edge_that_moves_by_a_large_part_of_its_extent_is_said() {
    let text = feature("Polygon", &json!([ring(&comb())]));
    for purpose in [Purpose::Inclusion, Purpose::Exclusion] {
        let said = prepared(&text, purpose).remove(0).notes.join(", ");
        assert!(said.contains("more than a twentieth of its extent"), "{said}");
    }
}

#[test]
fn an_area_that_needs_no_change_keeps_its_corners() {
    let text = feature(
        "Polygon",
        &json!([ring(&SQUARE), ring(&[(40.0, 40.0), (60.0, 40.0), (60.0, 60.0)])]),
    );
    let area = prepared(&text, Purpose::Survey).remove(0);
    assert_eq!((area.outer.len(), area.holes[0].len(), area.notes.len()), (4, 3, 0));
    assert!((area.square_meters - 9800.0).abs() < 5.0, "{}", area.square_meters);
    assert!((area.outer[0].latitude_deg - MIDDLE.latitude_deg).abs() < 1e-8);
}

#[test]
fn what_is_no_polygon_is_named_by_edge_and_place() {
    let bow = [(0.0, 0.0), (100.0, 100.0), (100.0, 0.0), (0.0, 100.0)];
    let said = wrong(&feature("Polygon", &json!([ring(&bow)])));
    let at = shifted(MIDDLE, 50.0, 50.0);
    let place = format!("{:.5}", at.latitude_deg);
    assert!(
        said.contains("the outer edge crosses itself: the edge from corner 1 to 2 meets the edge from corner 3 to 4")
            && said.contains(&place),
        "{said}"
    );
    for (rings, expected) in [
        (
            json!([ring(&SQUARE), ring(&[(90.0, 40.0), (130.0, 40.0), (130.0, 60.0)])]),
            "the outer edge and hole 1 meet: the edge from corner 2 to 3",
        ),
        (
            json!([ring(&SQUARE), ring(&[(140.0, 40.0), (180.0, 40.0), (180.0, 60.0)])]),
            "hole 1 lies outside of the outer edge",
        ),
        (
            json!([
                ring(&SQUARE),
                ring(&[(20.0, 20.0), (80.0, 20.0), (80.0, 80.0), (20.0, 80.0)]),
                ring(&[(40.0, 40.0), (60.0, 40.0), (60.0, 60.0)])
            ]),
            "hole 2 lies inside of hole 1",
        ),
        (
            json!([ring(&[
                (0.0, 0.0),
                (100.0, 0.0),
                (150.0, 0.0),
                (100.0, 0.0),
                (100.0, 100.0)
            ])]),
            "turns back on itself at corner 3",
        ),
        (
            json!([ring(&[(0.0, 0.0), (100.0, 0.0)])]),
            "fewer than 3 different corners",
        ),
        (
            json!([ring(&[(0.0, 0.0), (0.5, 0.0), (0.5, 0.5)])]),
            "no part larger than 1 m²",
        ),
        (
            json!([ring(&[(0.0, 0.0), (70_000.0, 0.0), (0.0, 100.0)])]),
            "a site reaches 20 km",
        ),
        (
            json!([[[8.5, 47.4], [500_000.0, 47.4], [8.6, 47.5]]]),
            "longitude 500000, which is no position",
        ),
        (
            json!([[[8.5, 71.4], [8.6, 71.4], [8.6, 71.5]]]),
            "latitude 71.4000 is too near to a pole",
        ),
        (
            json!([[[8.5, -75.4], [8.6, -75.4], [8.6, -75.5]]]),
            "latitude -75.4000 is too near to a pole",
        ),
    ] {
        let said = wrong(&feature("Polygon", &rings));
        assert!(said.contains(expected) && said.contains("; "), "{expected}: {said}");
    }
}

#[test]
fn polygons_that_touch_become_one_and_slivers_are_named() {
    let left: Vec<(f64, f64)> = SQUARE.to_vec();
    let right = [(100.0, 0.0), (200.0, 0.0), (200.0, 100.0), (100.0, 100.0)];
    let far = [(300.0, 0.0), (400.0, 0.0), (400.0, 100.0)];
    let sliver = [(210.0, 0.0), (210.02, 0.0), (210.02, 60.0)];
    let point = [(220.0, 0.0), (220.0, 0.0), (220.0, 0.0)];
    let text = feature(
        "MultiPolygon",
        &json!([
            [ring(&left)],
            [ring(&right)],
            [ring(&sliver)],
            [ring(&point)],
            [ring(&far)]
        ]),
    );
    let areas = prepared(&text, Purpose::Survey);
    assert_eq!(areas.iter().map(|area| area.outer.len()).collect::<Vec<_>>().len(), 2);
    let said = areas[0].notes.join("\n");
    assert!(
        said.contains("smaller than 1 m²: 2") && said.contains("united: 2 from 3"),
        "{said}"
    );
    let mut sizes: Vec<f64> = areas.iter().map(|area| area.square_meters.round()).collect();
    sizes.sort_by(f64::total_cmp);
    assert!(
        (sizes[0] - 5000.0).abs() < 5.0 && (sizes[1] - 20_000.0).abs() < 10.0,
        "{sizes:?}"
    );
}

#[test]
fn an_area_across_the_180th_meridian_is_one() {
    let whole = json!([[
        [179.9985, -16.843],
        [-179.999, -16.843],
        [-179.9992, -16.841],
        [179.9987, -16.8408],
        [179.9985, -16.843]
    ]]);
    let area = prepared(&feature("Polygon", &whole), Purpose::Survey).remove(0);
    assert!(
        area.outer.len() == 4 && (50_000.0..70_000.0).contains(&area.square_meters),
        "{area:?}"
    );
    let divided = json!([
        [[
            [179.9985, -16.843],
            [180.0, -16.843],
            [180.0, -16.841],
            [179.9985, -16.841],
            [179.9985, -16.843]
        ]],
        [[
            [-180.0, -16.843],
            [-179.999, -16.843],
            [-179.999, -16.841],
            [-180.0, -16.841],
            [-180.0, -16.843]
        ]],
    ]);
    let areas = prepared(&feature("MultiPolygon", &divided), Purpose::Survey);
    assert_eq!(areas.len(), 1);
    assert!(
        (areas[0].square_meters - 59_000.0).abs() < 1500.0,
        "{}",
        areas[0].square_meters
    );
}

#[test]
fn each_format_is_read_with_its_names_and_holes() {
    let kml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<kml xmlns=\"http://www.opengis.net/kml/2.2\"><Document><name>site</name><Style id=\"s\"><LineStyle><width>x</width></LineStyle></Style><Folder>\
               <Placemark><name>north field</name><gx:odd>1</gx:odd><MultiGeometry><Polygon><outerBoundaryIs><LinearRing><coordinates>\n8.545,47.397,0 8.547,47.397,0\n 8.547,47.399,0 8.545,47.399,0 8.545,47.397,0\n</coordinates></LinearRing></outerBoundaryIs>\
               <innerBoundaryIs><LinearRing><coordinates>8.5455,47.3975 8.5460,47.3975 8.5460,47.3980 8.5455,47.3975</coordinates></LinearRing></innerBoundaryIs></Polygon></MultiGeometry></Placemark>\
               <Placemark><name>road</name><LineString><coordinates>8.5,47.4 8.6,47.4</coordinates></LineString></Placemark></Folder></Document></kml>";
    let file = areas(kml.as_bytes());
    assert_eq!(
        (
            file.areas.len(),
            file.areas[0].name.as_deref(),
            file.not_taken.as_slice()
        ),
        (1, Some("north field"), &["lines: 1".to_owned()][..])
    );
    let area = prepare(&file, Purpose::Survey).unwrap().remove(0);
    assert_eq!((area.outer.len(), area.holes.len()), (4, 1));
    let road =
        "<kml><Placemark><LineString><coordinates>8.5,47.4 8.6,47.4</coordinates></LineString></Placemark></kml>";
    assert!(wrong(road).contains("no polygon (lines: 1); draw the area as a polygon"));
    let projected = json!({"type": "Polygon", "crs": {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::25832"}}, "coordinates": [ring(&SQUARE)]});
    assert!(
        recognize::read(projected.to_string().as_bytes(), "a", None)
            .unwrap_err()
            .to_string()
            .contains("EPSG::25832; save it in degrees")
    );
}

#[test]
fn a_shapefile_is_read_with_its_holes_and_its_reference() {
    use shapefile::{Point, Polygon, PolygonRing, ShapeWriter};
    let point = |(x, y): (f64, f64)| Point::new(8.545 + x / 100_000.0, 47.397 + y / 100_000.0);
    let mut bytes = Cursor::new(Vec::new());
    let outer = PolygonRing::Outer(SQUARE.iter().map(|corner| point(*corner)).collect());
    let hole = PolygonRing::Inner([(40.0, 40.0), (60.0, 40.0), (60.0, 60.0)].map(point).to_vec());
    ShapeWriter::new(&mut bytes)
        .write_shapes(&[Polygon::with_rings(vec![outer, hole])])
        .unwrap();
    let bytes = bytes.into_inner();
    let file = areas(&bytes);
    let area = prepare(&file, Purpose::Survey).unwrap().remove(0);
    assert_eq!((area.outer.len(), area.holes.len()), (4, 1));
    let with = |projection: &str| {
        recognize::read(&bytes, "a.shp", Some(projection))
            .map(|_| ())
            .map_err(|error| error.to_string())
    };
    assert_eq!(with("GEOGCS[\"GCS_WGS_1984\",DATUM[\"D_WGS_1984\"]]"), Ok(()));
    assert!(
        with("PROJCS[\"ETRS_1989_UTM_Zone_32N\",GEOGCS[\"GCS_ETRS_1989\"]]")
            .unwrap_err()
            .contains("\"ETRS_1989_UTM_Zone_32N\"")
    );
    assert!(
        with("GEOGCS[\"GCS_European_1950\"]")
            .unwrap_err()
            .contains("save it in degrees (WGS 84")
    );
}

use std::io::Cursor;
