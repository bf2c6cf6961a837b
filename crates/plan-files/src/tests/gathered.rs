//! Files of public repositories that were read wrongly or named badly, made again by hand.

use crate::area::{self, AreaFile, Purpose};
use crate::parameters::{self, profile};
use crate::recognize::{self, Contents};
use crate::{Plan, check, route};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn contents(text: &str) -> Contents {
    recognize::read(text.as_bytes(), "file", None).unwrap().contents
}

fn plan(text: &str) -> Plan {
    match contents(text) {
        Contents::Plan(plan) => *plan,
        other => panic!("{other:?}"),
    }
}

fn areas(text: &str) -> AreaFile {
    match contents(text) {
        Contents::Areas(areas) => areas,
        other => panic!("{other:?}"),
    }
}

fn refused(text: &str) -> String {
    recognize::read(text.as_bytes(), "file", None).unwrap_err().to_string()
}

fn two_places(home: &str, frame: u8) -> String {
    format!(
        "QGC WPL 110\n0\t1\t0\t16\t0\t0\t0\t0\t47.397742\t8.545594\t{home}\t1\n1\t0\t{frame}\t16\t0\t0\t0\t0\t47.3983\t8.545594\t5\t1\n\
         2\t0\t{frame}\t16\t0\t0\t0\t0\t47.3983\t8.5462\t5\t1\n"
    )
}

#[test]
fn altitudes_above_sea_are_named_where_the_file_does_not_say_how_high_home_is() {
    for frame in [0, 5] {
        let said = check::home_unknown(&plan(&two_places("0.000000", frame))).unwrap();
        assert!(
            said.contains("item 0 (NAV_WAYPOINT, line 3, number 1 in the file) is flown at 5 m, and 1 more")
                && said.contains("--above-home"),
            "{said}"
        );
    }
    // PX4's files begin with the takeoff and have no home.
    let px4 = "QGC WPL 110\n0\t1\t5\t22\t0\t0\t0\t0\t47.397742\t8.545594\t15\t1\n1\t0\t5\t16\t0\t0\t0\t0\t47.3983\t8.545594\t15\t1\n";
    assert!(check::home_unknown(&plan(px4)).is_some());
    assert_eq!(check::home_unknown(&plan(&two_places("488", 0))), None);
    assert_eq!(check::home_unknown(&plan(&two_places("0", 3))), None);
    assert_eq!(check::home_unknown(&route::above_home(plan(&two_places("0", 0)))), None);
}

#[test]
fn a_jump_is_named_by_the_line_in_which_it_stands() {
    let text = format!("{}3\t0\t3\t177\t1\t3\t0\t0\t0\t0\t0\t1\n", two_places("488", 3));
    let refusal = route::route(&plan(&text), false).unwrap_err();
    let said = refusal
        .problems
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("\n");
    assert!(
        said.contains(
            "item 2 (DO_JUMP, line 5, number 3 in the file) cannot be part of a route: command 177 has no counterpart"
        ),
        "{said}"
    );
}

#[test]
fn an_item_has_the_number_of_its_file_where_that_is_another() {
    let of = |text: &str| plan(text).item(1).to_string();
    let home = two_places("488", 3);
    assert_eq!(of(&home), "item 1 (NAV_WAYPOINT, line 4, number 2 in the file)");
    assert_eq!(
        of(&home.replace("\n2\t", "\n40\t")),
        "item 1 (NAV_WAYPOINT, line 4, number 40 in the file)"
    );
    // PX4's files begin with the takeoff.
    let px4 = "QGC WPL 110\n0\t1\t3\t22\t0\t0\t0\t0\t47.397742\t8.545594\t15\t1\n1\t0\t3\t16\t0\t0\t0\t0\t47.3983\t8.545594\t15\t1\n";
    assert_eq!(of(px4), "item 1 (NAV_WAYPOINT, line 3)");
}

#[test]
fn a_plane_of_px4_is_known_by_its_mav_type_though_its_build_lists_what_copters_have() {
    let dump = |kind: u8| {
        let text = format!(
            "# \n1\t1\tFW_AIRSPD_MAX\t20.0\t9\n1\t1\tMAV_TYPE\t{kind}\t6\n1\t1\tMC_ROLL_P\t6.5\t9\n1\t1\tMPC_XY_CRUISE\t5.0\t9\n"
        );
        profile(&parameters::read(&text).unwrap(), None, &["MPC_".to_owned()])
    };
    for (kind, what) in [
        (1, "a plane"),
        (22, "a VTOL plane"),
        (10, "a ground rover"),
        (12, "a submarine"),
    ] {
        let said = dump(kind).unwrap_err().to_string();
        assert!(said.contains(&format!("those of {what} (MAV_TYPE {kind})")), "{said}");
    }
    for kind in [0, 2, 13, 14] {
        assert!(dump(kind).is_ok(), "{kind}");
    }
}

#[test]
fn parts_of_dumps_of_other_vehicles_are_known_by_names_that_no_copter_has() {
    for (name, what) in [
        ("Q_A_RAT_PIT_P", "a plane"),
        ("ARSPD_FBW_MIN", "a plane"),
        ("FS_LONG_ACTN", "a plane"),
        ("LAND_FLARE_SEC", "a plane"),
        ("STALL_PREVENTION", "a plane"),
        ("RTL_AUTOLAND", "a plane"),
        ("PTCH_TRIM_DEG", "a plane"),
        ("MODE1", "a rover"),
        ("CRUISE_THROTTLE", "a rover"),
        ("ATC_SPEED_P", "a rover"),
        ("ATC_BAL_P", "a rover"),
        ("BTN0_FUNCTION", "a submarine"),
    ] {
        let text = format!("BATT_MONITOR 4\n{name} 1\n");
        let said = profile(&parameters::read(&text).unwrap(), None, &[])
            .unwrap_err()
            .to_string();
        assert!(said.contains(&format!("those of {what} ({name})")), "{said}");
    }
    for (function, what) in [(19, "a plane"), (77, "a plane"), (26, "a rover"), (73, "a rover")] {
        let text = format!("AVOID_ENABLE 7\nSERVO3_FUNCTION {function}\n");
        let said = profile(&parameters::read(&text).unwrap(), None, &[])
            .unwrap_err()
            .to_string();
        assert!(
            said.contains(&format!("those of {what} (SERVO3_FUNCTION {function})")),
            "{said}"
        );
    }
    let copter = "SERVO1_FUNCTION 33\nSERVO9_FUNCTION 7\nFLTMODE1 5\nATC_RAT_PIT_P 0.1\nTKOFF_THR_MAX 0.9\nLAND_SPEED 50\nBTN_ENABLE 0\nFS_THR_ENABLE 1\nBATT_MONITOR 4\n";
    assert!(profile(&parameters::read(copter).unwrap(), None, &[]).is_ok());
}

fn square(west: f64, south: f64, side: f64) -> Value {
    let (east, north) = (west + side, south + side);
    json!([[
        [west, south],
        [east, south],
        [east, north],
        [west, north],
        [west, south]
    ]])
}

#[test]
fn a_list_of_geojson_is_read_as_one_file() {
    let part = |west: f64| {
        let geometry = json!({"type": "Polygon", "coordinates": square(west, 47.39, 0.001)});
        json!({"type": "FeatureCollection", "features": [{"type": "Feature", "properties": {}, "geometry": geometry}]})
    };
    let list = json!([part(8.5), part(8.51)]).to_string();
    assert_eq!(areas(&list).areas.len(), 2);
    let said = refused("[1, 2]");
    assert!(said.contains("of no kind that Skein reads"), "{said}");
    let said = refused("[section]\nname = value");
    assert!(said.contains("of no kind that Skein reads"), "{said}");
}

fn over_one_another(count: u32) -> String {
    let squares: Vec<Value> = (0..count)
        .map(|number| {
            let (x, y) = (f64::from(number * 7 % count), f64::from(number * 13 % count));
            square(8.5 + x * 1e-5, 47.39 + y * 1e-5, 0.02)
        })
        .collect();
    json!({"type": "MultiPolygon", "coordinates": squares}).to_string()
}

#[test]
fn a_thousand_polygons_over_one_another_become_one_in_seconds() {
    let begun = Instant::now();
    let ready = area::prepare(&areas(&over_one_another(979)), Purpose::Survey).unwrap();
    assert_eq!(ready.len(), 1);
    assert!(ready[0].holes.is_empty(), "{:?}", ready[0].holes);
    // Without halves it takes a minute and more.
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn combs_across_one_another_are_refused_at_once() {
    const TEETH: u32 = 6000;
    let comb = |turned: bool| {
        let mut ring: Vec<[f64; 2]> = Vec::new();
        for tooth in 0..TEETH {
            let along = f64::from(tooth) * 2e-6;
            for (step, across) in [(0.0, 0.0), (0.0, 0.02), (1e-6, 0.02), (1e-6, 0.0)] {
                ring.push([along + step, across]);
            }
        }
        ring.push([f64::from(TEETH) * 2e-6, -0.001]);
        ring.push([0.0, -0.001]);
        let place = |[x, y]: &[f64; 2]| {
            if turned {
                json!([8.5 + y, 47.39 + x])
            } else {
                json!([8.5 + x, 47.39 + y])
            }
        };
        let mut places: Vec<Value> = ring.iter().map(place).collect();
        places.extend(places.first().cloned());
        json!([places])
    };
    let text = json!({"type": "MultiPolygon", "coordinates": [comb(false), comb(true)]}).to_string();
    let begun = Instant::now();
    let errors = area::prepare(&areas(&text), Purpose::Survey).unwrap_err();
    let said = errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    assert!(said.contains("cross one another too often to be united"), "{said}");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn kml_of_tags_without_end_is_refused() {
    let text = format!("<kml>{}", "<Folder>".repeat(100_000));
    let said = refused(&text);
    assert!(said.contains("tags more than 200 deep in one another"), "{said}");
}

#[test]
fn kml_that_was_cut_off_is_refused_as_polygons_may_be_missing() {
    let polygon = "<Placemark><Polygon><outerBoundaryIs><LinearRing><coordinates>8.5456,47.3977 8.5466,47.3977 8.5466,47.3987\
                   </coordinates></LinearRing></outerBoundaryIs></Polygon></Placemark>";
    let whole = format!("<kml><Document>{polygon}{polygon}</Document></kml>");
    assert_eq!(areas(&whole).areas.len(), 2);
    let cut = &whole[..whole.rfind("<Polygon>").unwrap()];
    assert_eq!(
        refused(cut),
        "the KML ends inside of <Placemark>: a part of it is missing; save or copy it again"
    );
    let cut = &whole[..whole.len() - "</Document></kml>".len()];
    assert!(refused(cut).contains("ends inside of <Document>"));
}

#[test]
fn a_shapefile_of_another_length_than_it_says_is_refused() {
    let mut bytes = vec![0; 100];
    bytes[..4].copy_from_slice(&9994_i32.to_be_bytes());
    bytes[24..28].copy_from_slice(&60_u32.to_be_bytes());
    bytes[28..32].copy_from_slice(&1000_i32.to_le_bytes());
    bytes[32..36].copy_from_slice(&5_i32.to_le_bytes());
    let said = recognize::read(&bytes, "cut.shp", None).unwrap_err().to_string();
    assert!(said.contains("says that it has 120 bytes, and has 100"), "{said}");
}

#[test]
fn parameters_of_thirty_megabytes_are_refused_at_once() {
    let begun = Instant::now();
    let text: String = (0..1_000_000).map(|number| format!("P{number} 1\n")).collect();
    assert!(refused(&text).contains("more than 4194304 of this kind; divide it"));
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}
