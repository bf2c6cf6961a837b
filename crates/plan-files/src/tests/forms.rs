//! The same contents in other forms: each was read wrongly, refused, or named badly.

use super::zipped::zip;
use crate::area::{self, Area, AreaFile, Purpose};
use crate::parameters::{self, BadParameters, ParameterFile, profile};
use crate::recognize::{self, Contents, Refused};
use crate::{Plan, check, qgc, route};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

fn contents(bytes: impl AsRef<[u8]>) -> Contents {
    recognize::read(bytes.as_ref(), "file", None).unwrap().contents
}

fn refused(bytes: impl AsRef<[u8]>, name: &str) -> String {
    recognize::read(bytes.as_ref(), name, None).unwrap_err().to_string()
}

fn plan(text: &str) -> Plan {
    match contents(text) {
        Contents::Plan(plan) => *plan,
        other => panic!("{other:?}"),
    }
}

fn areas(bytes: impl AsRef<[u8]>) -> AreaFile {
    match contents(bytes) {
        Contents::Areas(areas) => areas,
        other => panic!("{other:?}"),
    }
}

fn parameters(text: &str) -> ParameterFile {
    match contents(text) {
        Contents::Parameters(file) => file,
        other => panic!("{other:?}"),
    }
}

fn prepared(bytes: impl AsRef<[u8]>) -> Vec<Area> {
    area::prepare(&areas(bytes), Purpose::Survey).unwrap()
}

fn wrong(text: &str) -> String {
    let problems = route::route(&plan(text), false).unwrap_err().problems;
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// Home at 488 m, and items of a frame, a command, a latitude and an altitude.
fn wpl(items: &[(u8, u16, f64, f64)]) -> String {
    let mut text = "QGC WPL 110\n0\t1\t0\t16\t0\t0\t0\t0\t47.397742\t8.545594\t488\t1\n".to_owned();
    for (number, (frame, command, latitude, altitude)) in items.iter().enumerate() {
        let number = number + 1;
        text += &format!("{number}\t0\t{frame}\t{command}\t0\t0\t0\t0\t{latitude}\t8.545594\t{altitude}\t1\n");
    }
    text
}

#[test]
fn a_last_hold_without_end_is_judged_as_the_waypoint_that_it_becomes() {
    let said = wrong(&wpl(&[(3, 16, 47.398, 25.0), (0, 17, 47.3983, 50.0)]));
    assert!(
        said.contains("item 1 (NAV_LOITER_UNLIM, line 4, number 2 in the file) is flown at 50 m above mean sea level, 438 m below home"),
        "{said}"
    );
    let said = wrong(&wpl(&[(3, 16, 47.398, 25.0), (3, 17, 40.398, 25.0)]));
    assert!(
        said.contains("item 1 (NAV_LOITER_UNLIM, line 4, number 2 in the file) is 778 km from the first place"),
        "{said}"
    );
}

#[test]
fn altitudes_far_above_home_of_the_file_are_named() {
    let high = plan(&wpl(&[
        (0, 16, 47.398, 538.0),
        (0, 16, 47.3983, 700.0),
        (5, 16, 47.3985, 5000.0),
    ]));
    let said = check::far_above_home(&high).unwrap();
    assert!(
        said.contains(
            "(488 m; item 1 (NAV_WAYPOINT, line 4, number 2 in the file) is flown 212 m above it, and 1 more)"
        ),
        "{said}"
    );
    for fine in [(0, 16, 47.398, 608.0), (3, 16, 47.398, 700.0), (0, 21, 47.398, 5000.0)] {
        assert_eq!(check::far_above_home(&plan(&wpl(&[fine]))), None, "{fine:?}");
    }
}

#[test]
fn numbers_of_a_waypoint_file_may_have_decimals_and_quotes() {
    let items = [(3, 16, 47.398, 25.0), (3, 16, 47.3983, 30.0)];
    let whole = plan(&wpl(&items));
    let decimals = wpl(&items)
        .replace("\t16\t", "\t16.00000000\t")
        .replace("\t3\t", "\t3,000\t");
    assert_eq!(plan(&decimals), whole);
    let quoted = wpl(&items).replace("\t47.398\t", "\t\"47.398\"\t");
    assert_eq!(plan(&quoted), whole);
    let half = wpl(&items).replace("\t16\t", "\t16.5\t");
    assert!(refused(half, "file").contains("command is \"16.5\""));
}

fn with_pattern(kind: &str, vehicle: i64) -> String {
    let place = |number: i64, latitude: f64| {
        json!({"autoContinue": true, "command": 16, "doJumpId": number, "frame": 3, "type": "SimpleItem",
               "params": [0, 0, 0, null, latitude, 8.545_594, 20]})
    };
    let pattern = json!({"type": "ComplexItem", "complexItemType": kind, "version": 1});
    let corners = json!([[47.396, 8.544], [47.396, 8.547], [47.399, 8.547]]);
    json!({
        "fileType": "Plan", "version": 1, "rallyPoints": {"points": [], "version": 2},
        "geoFence": {"circles": [], "polygons": [{"inclusion": true, "polygon": corners, "version": 1}], "version": 2},
        "mission": {"items": [place(1, 47.398), pattern], "plannedHomePosition": [47.397_742, 8.545_594, 488],
                    "vehicleType": vehicle, "version": 2},
    })
    .to_string()
}

#[test]
fn a_landing_of_a_plane_in_a_plan_for_a_plane_is_no_item_to_remove() {
    for (vehicle, expected) in [
        (1, "plan the mission for a multicopter"),
        (22, "plan the mission for a multicopter"),
        (2, "remove it, as Skein brings its vehicles home"),
    ] {
        let said = refused(with_pattern("vtolLandingPattern", vehicle), "file");
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn an_altitude_that_is_shown_above_another_reference_is_refused() {
    let one = |mode: i64, frame: u8, altitude: f64, is_current: bool| {
        let mut plan: Value = serde_json::from_str(&with_pattern("survey", 2)).unwrap();
        plan["mission"]["items"] = json!([{
            "Altitude": altitude, "AltitudeMode": mode, "autoContinue": true, "command": 16, "doJumpId": 1, "frame": frame,
            "params": [0, 0, 0, null, 47.398, 8.545_594, altitude], "type": "SimpleItem",
        }]);
        if is_current {
            plan["mission"]["globalPlanAltitudeMode"] = json!(1);
        }
        plan.to_string()
    };
    for text in [one(1, 0, 540.0, true), one(2, 3, 40.0, true), one(2, 3, 40.0, false)] {
        let said = wrong(&text);
        assert!(
            said.contains(
                "item 0 (NAV_WAYPOINT, number 1 in QGroundControl) shows an altitude above another reference"
            ),
            "{said}"
        );
        assert!(crate::read(&text).is_err());
    }
    // Until 2020 1 is above mean sea level.
    for text in [
        one(1, 3, 40.0, true),
        one(2, 0, 540.0, true),
        one(1, 0, 540.0, false),
        one(0, 3, 40.0, false),
    ] {
        assert!(route::route(&plan(&text), false).is_ok(), "{text}");
    }
}

#[test]
fn the_fence_of_a_plan_is_read_without_its_mission() {
    let text = with_pattern("StructureScan", 2);
    assert!(refused(&text, "file").contains("does not save the places that it flies"));
    let found = recognize::read_without_mission(text.as_bytes()).unwrap();
    let Contents::Plan(plan) = found.contents else { panic!() };
    assert_eq!((plan.fence.shapes.len(), plan.file.items.len()), (1, 0));
    assert!(recognize::read_without_mission(b"QGC WPL 110\n").is_none());
    assert!(qgc::read_without_mission("{}").is_err());
}

#[test]
fn parameters_of_a_camera_are_no_part_of_a_profile() {
    let line = |component: u32, name: &str, value: &str| format!("1\t{component}\t{name}\t{value}\t9\n");
    let head = "# Onboard parameters for Vehicle 1\n# Stack: PX4 Pro\n".to_owned();
    let mixed =
        head.clone() + &line(1, "MPC_XY_CRUISE", "5") + &line(100, "CAM_MODE", "1") + &line(100, "MPC_XY_CRUISE", "9");
    let taken = profile(&parameters(&mixed), None, &[]).unwrap();
    assert_eq!(
        taken.values.into_iter().collect::<Vec<_>>(),
        [("MPC_XY_CRUISE".to_owned(), "5".to_owned())]
    );
    let left: Vec<&String> = taken.left_out.values().flatten().collect();
    assert_eq!(left, ["CAM_MODE", "MPC_XY_CRUISE"]);
    // Early PX4: no component is 1.
    let early = head + &line(50, "MPC_XY_CRUISE", "5");
    assert_eq!(profile(&parameters(&early), None, &[]).unwrap().values.len(), 1);
}

#[test]
fn a_parameter_with_two_values_is_refused_as_a_comma_may_be_both() {
    for text in [
        "RTL_ALT,3000,1500\n",
        "ATC_RAT_PIT_P,0,135\n",
        "RTL_ALT,3000.0,1500.0\n",
        "RTL_ALT, 3000 , 5\n",
        "RTL_ALT   1500.000000  3000.000000\n",
    ] {
        let error = parameters::read(text).unwrap_err();
        assert!(
            matches!(error, BadParameters::TwoValues { line: 1, .. }),
            "{text}: {error}"
        );
    }
    for (text, value) in [
        ("RTL_ALT,3000,\n", 3000.0),
        ("RTL_ALT 0,5\n", 0.5),
        ("RTL_ALT,3000,cm\n", 3000.0),
        ("RTL_ALT 3000 cm, not 30\n", 3000.0),
    ] {
        let file = parameters::read(text).unwrap();
        assert_eq!(
            file.values.get("RTL_ALT").map(|(value, _)| *value),
            Some(value),
            "{text}"
        );
    }
}

const RING: &str = "8.545,47.397,0 8.547,47.397,0 8.547,47.3985,0 8.545,47.3985,0 8.545,47.397,0";
const HOLE: &str = "8.5455,47.3972,0 8.546,47.3972,0 8.546,47.3976,0 8.5455,47.3972,0";

fn kml(outer: &[&str], inner: &[&str]) -> String {
    let edge =
        |tag: &str, ring: &str| format!("<{tag}><LinearRing><coordinates>{ring}</coordinates></LinearRing></{tag}>");
    let outer = outer.iter().map(|ring| edge("outerBoundaryIs", ring));
    let inner = inner.iter().map(|ring| edge("innerBoundaryIs", ring));
    let edges: String = outer.chain(inner).collect();
    format!("<kml><Document><Placemark><name>a &amp; b</name><Polygon>{edges}</Polygon></Placemark></Document></kml>")
}

#[test]
fn kml_is_known_by_its_first_tag_whatever_its_prefix_and_what_stands_before() {
    let whole = areas(kml(&[RING], &[HOLE]));
    assert_eq!(whole.areas[0].name.as_deref(), Some("a & b"));
    let remark = format!(
        "<?xml version=\"1.0\"?>\n<!-- {} -->\n{}",
        "words ".repeat(2000),
        kml(&[RING], &[HOLE])
    );
    assert_eq!(areas(remark), whole);
    let prefixed = kml(&[RING], &[HOLE]).replace("</", "</ns0:");
    let prefixed = prefixed.replace('<', "<ns0:").replace("<ns0:/ns0:", "</ns0:");
    assert_eq!(areas(prefixed), whole);
    let other = format!(
        "<?xml version=\"1.0\"?>\n<!-- {} <kml> -->\n<gml></gml>",
        "words ".repeat(2000)
    );
    assert!(refused(other, "file").contains("XML, but not KML"));
}

#[test]
fn corners_of_kml_are_read_whole_or_refused() {
    let references = RING.replace(' ', "&#10;");
    assert_eq!(areas(kml(&[&references], &[])), areas(kml(&[RING], &[])));
    for ring in [
        RING.replace(' ', ""),
        RING.replace('.', ","),
        "8,5,47,3 8,6,47,3 8,6,47,4".to_owned(),
    ] {
        let said = refused(kml(&[&ring], &[]), "file");
        assert!(said.contains("which is not longitude,latitude in degrees"), "{said}");
    }
}

#[test]
fn each_outer_edge_of_a_polygon_of_kml_is_an_area() {
    let east = RING.replace("8.54", "8.55");
    assert_eq!(prepared(kml(&[RING, &east], &[])).len(), 2);
    let line = kml(&[RING], &[]).replace("<Polygon>", "").replace("</Polygon>", "");
    let errors = area::prepare(&areas(line), Purpose::Survey).unwrap_err();
    assert!(
        errors[0].to_string().contains("no polygon (closed lines: 1)"),
        "{}",
        errors[0]
    );
}

fn square(west: f64, south: f64) -> Value {
    let (east, north) = (west + 0.001, south + 0.001);
    let ring = json!([
        [west, south],
        [east, south],
        [east, north],
        [west, north],
        [west, south]
    ]);
    json!({"type": "Polygon", "coordinates": [ring]})
}

#[test]
fn geojson_texts_one_after_another_are_one_file() {
    let (one, other) = (square(8.5, 47.39).to_string(), square(8.51, 47.39).to_string());
    for text in [format!("{one}\n{other}\n"), format!("\u{1e}{one}\n\u{1e}{other}\n")] {
        assert_eq!(areas(text).areas.len(), 2);
    }
    assert!(refused(format!("{one}\n{{\"a\": 1}}\n"), "file").contains("JSON that is broken"));
    assert!(refused(format!("{one}\n{{\"type\": "), "file").contains("JSON that is broken"));
}

#[test]
fn a_reference_is_found_wherever_geojson_names_it() {
    let named = |crs: Value| {
        let mut geometry = square(8.5, 47.39);
        geometry["crs"] = crs;
        json!({"type": "FeatureCollection", "features": [{"type": "Feature", "properties": {}, "geometry": geometry}]})
            .to_string()
    };
    for (crs, expected) in [
        (
            json!({"type": "EPSG", "properties": {"code": 31467}}),
            "are in EPSG:31467",
        ),
        (
            json!({"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::3857"}}),
            "EPSG::3857",
        ),
        (
            json!({"type": "link", "properties": {"href": "http://example.org/epsg/25832/"}}),
            "epsg/25832",
        ),
        (json!("WGS 84 / UTM zone 32N"), "are in WGS 84 / UTM zone 32N"),
    ] {
        let said = refused(named(crs), "file");
        assert!(said.contains(expected), "{said}");
    }
    for known in [
        json!(null),
        json!({"type": "EPSG", "properties": {"code": "4326"}}),
        json!("EPSG:4326"),
        json!("WGS 84 / EPSG:4326"),
        json!({}),
    ] {
        assert_eq!(areas(named(known)).areas.len(), 1);
    }
    for (text, kind) in [
        ("{\"type\": \"Topology\"}", "TopoJSON"),
        ("{\"geometryType\": 1, \"features\": []}", "JSON of Esri"),
    ] {
        assert!(refused(text, "file").contains(kind));
    }
}

#[test]
fn longitudes_beyond_180_are_turned_and_said() {
    let east = prepared(square(368.545, 47.39).to_string());
    let near = prepared(square(8.545, 47.39).to_string());
    assert!(
        (east[0].outer[0].longitude_deg - 8.545).abs() < 0.002,
        "{:?}",
        east[0].outer
    );
    assert!((east[0].square_meters - near[0].square_meters).abs() < 1.0);
    assert!(
        east[0].notes[0].contains("longitudes beyond 180° were turned"),
        "{:?}",
        east[0].notes
    );
    assert!(near[0].notes.is_empty());
    let across = prepared(square(179.9995, -16.8).to_string());
    assert!(
        (across[0].square_meters - 11_850.0).abs() < 100.0,
        "{}",
        across[0].square_meters
    );
    for far in [square(600.0, 47.39), square(368.5, 91.0)] {
        let errors = area::prepare(&areas(far.to_string()), Purpose::Survey).unwrap_err();
        assert!(errors[0].to_string().contains("which is no position"), "{}", errors[0]);
    }
}

#[test]
fn thousands_of_areas_are_refused_and_thousands_of_holes_judged_in_seconds() {
    let begun = Instant::now();
    let feature = |number: u32| json!({"type": "Feature", "properties": {}, "geometry": square(8.5 + f64::from(number) * 0.002, 47.39)});
    let many = json!({"type": "FeatureCollection", "features": (0..1001).map(feature).collect::<Vec<_>>()});
    let errors = area::prepare(&areas(many.to_string()), Purpose::Survey).unwrap_err();
    assert!(
        errors[0]
            .to_string()
            .contains("1001 areas, and each would become an object"),
        "{}",
        errors[0]
    );
    let ring = |west: f64, south: f64, side: f64| {
        json!([
            [west, south],
            [west + side, south],
            [west + side, south + side],
            [west, south + side],
            [west, south]
        ])
    };
    let mut rings = vec![ring(8.499, 47.389, 0.02)];
    for number in 0..4000 {
        let (column, row) = (f64::from(number % 90), f64::from(number / 90));
        rings.push(ring(8.5 + column * 1e-4, 47.39 + row * 1e-4, 5e-5));
    }
    // In one of the 4,000 before it.
    rings.push(ring(8.500_01, 47.390_01, 1e-5));
    let text = json!({"type": "Polygon", "coordinates": rings}).to_string();
    let errors = area::prepare(&areas(text), Purpose::Survey).unwrap_err();
    assert!(
        errors[0].to_string().contains("hole 4001 lies inside of hole 1 "),
        "{}",
        errors[0]
    );
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

/// One shape; rings are closed here. Degrees from 8.545 E, 47.397 N, in units of 1e-5.
pub(super) fn shapefile(rings: &[Vec<(f64, f64)>]) -> Vec<u8> {
    let whole = |number: usize| i32::try_from(number).unwrap();
    let closed: Vec<Vec<(f64, f64)>> = rings
        .iter()
        .map(|ring| ring.iter().chain(ring.first()).copied().collect())
        .collect();
    let mut shape = 5_i32.to_le_bytes().to_vec();
    for bound in [8.0, 47.0, 9.0, 48.0_f64] {
        shape.extend(bound.to_le_bytes());
    }
    shape.extend(whole(closed.len()).to_le_bytes());
    shape.extend(whole(closed.iter().map(Vec::len).sum()).to_le_bytes());
    let mut first = 0;
    for ring in &closed {
        shape.extend(whole(first).to_le_bytes());
        first += ring.len();
    }
    for (x, y) in closed.iter().flatten() {
        shape.extend((8.545 + x * 1e-5).to_le_bytes());
        shape.extend((47.397 + y * 1e-5).to_le_bytes());
    }
    let mut bytes = 9994_i32.to_be_bytes().to_vec();
    bytes.extend([0_u8; 20]);
    bytes.extend(whole((100 + 8 + shape.len()) / 2).to_be_bytes());
    bytes.extend(1000_i32.to_le_bytes());
    bytes.extend(5_i32.to_le_bytes());
    for bound in [8.0, 47.0, 9.0, 48.0, 0.0, 0.0, 0.0, 0.0_f64] {
        bytes.extend(bound.to_le_bytes());
    }
    bytes.extend(1_i32.to_be_bytes());
    bytes.extend(whole(shape.len() / 2).to_be_bytes());
    bytes.extend(shape);
    bytes
}

/// Corners counterclockwise, as GeoJSON has an outer edge and a Shapefile that of a hole.
fn counterclockwise(west: f64, south: f64, side: f64) -> Vec<(f64, f64)> {
    let (east, north) = (west + side, south + side);
    vec![(west, south), (east, south), (east, north), (west, north)]
}

pub(super) fn clockwise(west: f64, south: f64, side: f64) -> Vec<(f64, f64)> {
    counterclockwise(west, south, side).into_iter().rev().collect()
}

fn holes(rings: &[Vec<(f64, f64)>]) -> Vec<usize> {
    let file = areas(shapefile(rings));
    file.areas[0]
        .polygons
        .iter()
        .map(|polygon| polygon.holes.len())
        .collect()
}

#[test]
fn rings_of_a_shapefile_find_their_holes_also_where_they_run_the_wrong_way() {
    // As the format asks.
    assert_eq!(
        holes(&[clockwise(0.0, 0.0, 100.0), counterclockwise(40.0, 40.0, 20.0)]),
        [1]
    );
    // The other way round, and all one way.
    assert_eq!(
        holes(&[counterclockwise(0.0, 0.0, 100.0), clockwise(40.0, 40.0, 20.0)]),
        [1]
    );
    assert_eq!(
        holes(&[counterclockwise(0.0, 0.0, 100.0), counterclockwise(40.0, 40.0, 20.0)]),
        [1]
    );
    assert_eq!(
        holes(&[counterclockwise(0.0, 0.0, 100.0), counterclockwise(200.0, 0.0, 100.0)]),
        [0, 0]
    );
    // A hole in an island in a hole.
    assert_eq!(
        holes(&[
            clockwise(0.0, 0.0, 100.0),
            counterclockwise(10.0, 10.0, 80.0),
            clockwise(20.0, 20.0, 60.0),
            counterclockwise(30.0, 30.0, 40.0),
        ]),
        [1, 1]
    );
    let begun = Instant::now();
    let mut rings = Vec::new();
    for number in 0..2000 {
        let (column, row) = (f64::from(number % 64) * 20.0, f64::from(number / 64) * 20.0);
        rings.push(clockwise(column, row, 10.0));
        rings.push(counterclockwise(column + 3.0, row + 3.0, 4.0));
    }
    assert_eq!(holes(&rings), vec![1; 2000]);
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn a_datum_that_is_only_compared_with_wgs_84_is_refused() {
    let bytes = shapefile(&[clockwise(0.0, 0.0, 100.0)]);
    let read = |projection: &str| recognize::read(&bytes, "field.shp", Some(projection));
    let said = read(
        "GEOGCS[\"DHDN\",DATUM[\"Deutsches_Hauptdreiecksnetz\",SPHEROID[\"Bessel 1841\",6377397.155,299.15],TOWGS84[598.1,73.7,418.2,0.202,0.045,-2.455,6.7]]]",
    );
    assert!(said.unwrap_err().to_string().contains("are in \"DHDN\""));
    for fine in [
        "GEOGCRS[\"WGS 84\",ENSEMBLE[\"World Geodetic System 1984 ensemble\",MEMBER[\"World Geodetic System 1984 (G730)\"]]]",
        "GEOGCS[\"WGS 84\",DATUM[\"WGS_1984\",SPHEROID[\"WGS 84\",6378137,298.257223563]]]",
        "GEOGCS[\"GCS_WGS_1984\"]",
    ] {
        assert!(read(fine).is_ok(), "{fine}");
    }
}

#[test]
fn parts_of_a_shapefile_a_fence_and_packed_files_are_named() {
    let mut index = shapefile(&[])[..100].to_vec();
    index.extend(50_i32.to_be_bytes());
    index.extend(64_i32.to_be_bytes());
    for (bytes, name) in [
        (index.clone(), "-"),
        (index, "field.SHX"),
        (b"GEOGCS[\"GCS_WGS_1984\"]".to_vec(), "field.prj"),
        (b"UTF-8".to_vec(), "field.cpg"),
        (b"\x03\x7a\x01\x01\x01\0\0\0A\0\x0b\0".to_vec(), "field.DBF"),
    ] {
        let error = recognize::read(&bytes, name, None).unwrap_err();
        assert!(matches!(error, Refused::PartOfShapefile), "{name}: {error}");
    }
    let given = ["a/field.shp", "b/Field.SHP"].map(PathBuf::from);
    for (path, shapes) in [
        ("a/field.dbf", Some("a/field.shp")),
        ("a/field.PRJ", Some("a/field.shp")),
        ("a/field.shp.xml", Some("a/field.shp")),
        ("b/Field.shx", Some("b/Field.SHP")),
        ("b/Field.cpg", Some("b/Field.SHP")),
        ("b/other.dbf", None),
        ("field.dbf", None),
        ("a/field.shp", None),
        ("a/field.kml", None),
        ("a/field.xml", None),
        ("a/field", None),
    ] {
        assert_eq!(
            recognize::shapefile_of(Path::new(path), &given),
            shapes.map(Path::new),
            "{path}"
        );
    }
    let said = refused("47.397 8.545\n47.397 8.546\n47.398\n47.397 8.545\n", "pen.fen");
    assert!(said.contains("line 3 is \"47.398\""), "{said}");
    let said = refused(zip(&[("wpmz/template.kml", ""), ("wpmz/waylines.wpml", "")]), "file");
    assert!(said.contains("a mission of DJI (WPML)"), "{said}");
    assert!(refused(b"PK\x05\x06\0\0\0\0", "file").contains("the file is empty"));
    let said = refused(
        "FMT, 128, 89, FMT, BBnNZ, Type,Length,Name\nPARM, 1, RTL_ALT, 3000\n",
        "file",
    );
    assert!(said.contains("a flight log of ArduPilot, as text"), "{said}");
}
