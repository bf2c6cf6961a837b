//! Files that were read as something else than they say: fences at 0, 0, sides turned round, half of a place.

use crate::parameters::{self, profile};
use crate::recognize::{self, Contents, Refused};
use crate::{Format, Plan, route, write};
use model::rules::Outline;
use serde_json::{Value, json};

fn refused(text: &str) -> String {
    recognize::read(text.as_bytes(), "file", None).unwrap_err().to_string()
}

fn plan(text: &str) -> Plan {
    match recognize::read(text.as_bytes(), "file", None).unwrap().contents {
        Contents::Plan(plan) => *plan,
        other => panic!("{other:?}"),
    }
}

/// Home at 488 m in line 2, and what follows.
fn wpl(rows: &str) -> String {
    format!("QGC WPL 110\n0\t1\t0\t16\t0\t0\t0\t0\t47.397742\t8.545594\t488\t1\n{rows}")
}

fn qgc(items: &Value, fence: &Value) -> Value {
    json!({
        "fileType": "Plan", "geoFence": fence, "rallyPoints": {"points": [], "version": 2}, "version": 1,
        "mission": {"globalPlanAltitudeMode": 1, "items": items, "plannedHomePosition": [47.397_742, 8.545_594, 488],
                    "vehicleType": 2, "version": 2},
    })
}

fn waypoint(latitude: Option<f64>, longitude: Option<f64>) -> Value {
    json!({"autoContinue": true, "command": 16, "doJumpId": 1, "frame": 3, "type": "SimpleItem",
           "params": [0, 0, 0, null, latitude, longitude, 30]})
}

const CORNERS: [[f64; 2]; 3] = [[47.396, 8.544], [47.396, 8.547], [47.399, 8.547]];

#[test]
fn a_fence_with_an_open_place_is_refused_and_never_at_0_0() {
    for center in ["nan\tnan", "0\t0", "nan\t8.5"] {
        let said = refused(&wpl(&format!("1\t0\t0\t5003\t100\t0\t0\t0\t{center}\t0\t1\n")));
        assert!(said.contains("the circle in line 3 has no center"), "{said}");
    }
    let corner = |number: usize, place: &str| format!("{number}\t0\t0\t5001\t3\t0\t0\t0\t{place}\t0\t1\n");
    let rows = corner(1, "0.0005\t0.0005") + &corner(2, "0.0015\t0.0005") + &corner(3, "nan\t0.0015");
    let said = refused(&wpl(&rows));
    assert!(said.contains("the corner in line 5 has no place"), "{said}");
    for center in [json!([0, 0]), json!([null, 8.5]), json!([])] {
        let circle = json!([{"circle": {"center": center, "radius": 100}, "inclusion": true, "version": 1}]);
        let fence = json!({"circles": circle, "polygons": [], "version": 2});
        let said = refused(&qgc(&json!([]), &fence).to_string());
        assert!(
            said.contains("circle 1 of the plan's geofence cannot be read: it has no center"),
            "{said}"
        );
    }
    for corner in [json!([0, 0]), json!([47.4, null])] {
        let corners = json!([CORNERS[0], CORNERS[1], corner]);
        let fence =
            json!({"circles": [], "polygons": [{"polygon": corners, "inclusion": true, "version": 1}], "version": 2});
        let said = refused(&qgc(&json!([]), &fence).to_string());
        assert!(said.contains("a corner is no place"), "{said}");
    }
    for open in ["nan 8.545", "0 0"] {
        let said = refused(&format!(
            "47.397 8.545\n47.397 8.545\n{open}\n47.398 8.546\n47.397 8.545\n"
        ));
        assert!(said.contains("a corner of the fence has no place"), "{said}");
    }
    // The place to return to is not taken.
    let list = "0 0\n47.397 8.545\n47.398 8.545\n47.398 8.546\n47.397 8.545\n";
    assert_eq!(plan(list).fence.shapes.len(), 1);
}

#[test]
fn what_is_forbidden_never_becomes_what_is_allowed() {
    for inclusion in [json!(0), json!("false"), Value::Null] {
        let polygon = json!({"polygon": CORNERS, "inclusion": inclusion, "version": 1});
        let circle = json!({"circle": {"center": CORNERS[0], "radius": 20}, "inclusion": inclusion, "version": 1});
        for (fence, shape) in [
            (json!({"circles": [], "polygons": [polygon], "version": 2}), "polygon 1"),
            (json!({"circles": [circle], "polygons": [], "version": 2}), "circle 1"),
        ] {
            let said = refused(&qgc(&json!([]), &fence).to_string());
            assert!(
                said.contains(shape) && said.contains("its \"inclusion\" is neither true nor false"),
                "{said}"
            );
        }
    }
    let missing = json!({"circles": [], "polygons": [{"polygon": CORNERS, "version": 1}], "version": 2});
    assert!(refused(&qgc(&json!([]), &missing).to_string()).contains("neither true nor false"));
}

#[test]
fn a_fence_that_is_not_known_is_refused_and_never_left_out_in_silence() {
    let items = json!([waypoint(Some(47.398), Some(8.545_594))]);
    for (fence, expected) in [
        (
            json!({"circles": [], "polygons": [], "zones": [{"x": 1}], "version": 9}),
            "the geofence of the plan has version 9",
        ),
        (
            json!({"circles": [], "polygons": [], "zones": [{"x": 1}], "version": 2}),
            "geofence has \"zones\"",
        ),
        (
            json!({"circle": {"center": CORNERS[0], "radius": 100}, "polygon": [], "version": 1}),
            "geofence has \"circle\"",
        ),
        (
            json!({"circles": [], "polygons": {"a": 1}, "version": 2}),
            "list of fence polygons is not as QGroundControl",
        ),
        (json!([]), "the plan's geofence is not as QGroundControl"),
    ] {
        let said = refused(&qgc(&items, &fence).to_string());
        assert!(said.contains(expected), "{said}");
    }
    let parameters = json!([{"compId": 1, "name": "FENCE_RADIUS", "value": 150}, {"compId": 1, "name": "FENCE_ALT_MAX", "value": 80}]);
    let first = json!({"polygon": [], "breachReturn": [null, null, null], "parameters": parameters, "version": 1});
    let notes = plan(&qgc(&items, &first).to_string()).notes.join("\n");
    assert!(notes.contains("own fence (FENCE_RADIUS, FENCE_ALT_MAX)"), "{notes}");
    let said = refused(&qgc(&json!({"0": items[0]}), &json!(null)).to_string());
    assert!(said.contains("list of items is not as QGroundControl"), "{said}");
    for empty in [json!(null), json!({}), json!({"circles": null, "version": 2})] {
        assert!(plan(&qgc(&items, &empty).to_string()).fence.shapes.is_empty());
    }
    let mut plan = qgc(&items, &json!({}));
    plan["version"] = json!("1");
    assert!(refused(&plan.to_string()).contains("the file of the plan has no version that is a number"));
}

fn wrong(text: &str) -> Vec<String> {
    let problems = route::route(&plan(text), false).unwrap_err().problems;
    problems.iter().map(ToString::to_string).collect()
}

#[test]
fn a_home_that_nobody_gave_is_written_as_a_place_of_the_mission_or_not_at_all() {
    let rows = "1\t0\t3\t22\t0\t0\t0\t0\t0\t0\t20\t1\n2\t0\t3\t16\t0\t0\t0\t0\t47.398742\t8.545594\t30\t1\n";
    let without = wpl(rows).replace("47.397742\t8.545594\t488", "0\t0\t0");
    let file = plan(&without).file;
    assert_eq!(file.home, None);
    for format in [Format::Plan, Format::Wpl] {
        let home = crate::parse(&write(&file, format)).unwrap().file.home;
        assert_eq!(home.map(|(at, _)| at.latitude_deg), Some(47.398_742));
    }
    let mut nowhere = file;
    nowhere.items.truncate(1);
    let written: Value = serde_json::from_str(&write(&nowhere, Format::Plan)).unwrap();
    assert_eq!(written["mission"]["plannedHomePosition"], Value::Null);
    assert_eq!(crate::parse(&write(&nowhere, Format::Wpl)).unwrap().file.home, None);
}

#[test]
fn half_of_a_place_is_neither_here_nor_at_the_equator() {
    for (latitude, longitude) in [(None, Some(8.545_594)), (Some(47.398), None)] {
        let mut hold = waypoint(latitude, longitude);
        for command in [16, 17, 19] {
            hold["command"] = json!(command);
            let text = qgc(&json!([waypoint(Some(47.398), Some(8.545_594)), hold]), &json!({})).to_string();
            let said = wrong(&text);
            assert!(
                said.len() == 1 && said[0].contains("has a latitude or a longitude, and not both"),
                "{said:?}"
            );
            assert!(crate::read(&text).is_err());
        }
    }
}

#[test]
fn an_altitude_above_terrain_of_an_early_plan_is_the_one_that_is_flown() {
    let text = |flown: f64, above_sea: Value| {
        let mut item = waypoint(Some(47.398), Some(8.545_594));
        item["frame"] = json!(0);
        item["params"][6] = json!(flown);
        item["Altitude"] = json!(50);
        item["AltitudeMode"] = json!(2);
        item["AMSLAltAboveTerrain"] = above_sea;
        let mut plan = qgc(&json!([item]), &json!({}));
        plan["mission"]
            .as_object_mut()
            .unwrap()
            .remove("globalPlanAltitudeMode");
        plan.to_string()
    };
    assert!(route::route(&plan(&text(548.0, json!(548))), false).is_ok());
    for other in [text(560.0, json!(548)), text(548.0, Value::Null)] {
        assert!(wrong(&other)[0].contains("shows an altitude of"), "{:?}", wrong(&other));
    }
}

#[test]
fn an_item_that_waits_is_read_in_each_form_of_yes_and_no() {
    let text = |goes_on: Value| {
        let mut item = waypoint(Some(47.398), Some(8.545_594));
        item["autoContinue"] = goes_on;
        qgc(&json!([item]), &json!({})).to_string()
    };
    for (goes_on, expected) in [
        (json!(0), false),
        (json!(1), true),
        (json!(false), false),
        (Value::Null, true),
    ] {
        assert_eq!(plan(&text(goes_on)).file.items[0].goes_on, expected);
    }
    for odd in [json!("false"), json!(2), json!([])] {
        assert!(refused(&text(odd)).contains("item 0 of the plan is no mission item: its autoContinue is"));
    }
}

const TAKEOFF: &str = "1\t0\t3\t22\t0\t0\t0\t0\t0\t0\t20\t1\n";

/// Waypoint 100 m north of home, or as much farther.
fn row(number: usize, command: u16, north: usize) -> String {
    format!(
        "{number}\t0\t3\t{command}\t0\t0\t0\t0\t47.39{}\t8.545594\t30\t1\n",
        86 + north
    )
}

#[test]
fn a_fence_around_home_is_refused_and_is_no_item_of_a_mission() {
    let said = refused(&wpl("1\t0\t3\t5005\t100\t0\t0\t0\t0\t0\t0\t1\n"));
    assert!(
        said.contains("line 3 is a fence around home") && said.contains("draw a circle"),
        "{said}"
    );
}

#[test]
fn a_home_that_is_not_number_0_is_asked_for_and_not_flown_to() {
    let text = wpl(TAKEOFF).replace("\n1\t", "\n2\t").replace("\n0\t", "\n1\t");
    assert!(
        refused(&text).contains("no line has number 0: is line 2 home?"),
        "{}",
        refused(&text)
    );
}

#[test]
fn a_comma_beside_decimal_points_is_no_decimal_comma() {
    let text = |altitude: &str| wpl(&row(1, 16, 0).replace("\t30\t", &format!("\t{altitude}\t")));
    assert!(refused(&text("1,030")).contains("line 3: altitude is \"1,030\""));
    assert!(plan(&text("30,5").replace('.', ",")).file.items[0].params[6] == Some(30.5));
    let slip = "47.397 8,545\n47.397 8.545\n47.398 8.546\n47.398 8.545\n47.397 8,545\n";
    let said = crate::fence::read_list(slip).unwrap_err().to_string();
    assert!(said.contains("line 1 is \"47.397 8,545\""), "{said}");
}

#[test]
fn a_position_that_is_none_is_said_once() {
    let text = wpl(&(TAKEOFF.to_owned() + "2\t0\t3\t16\t0\t0\t0\t0\t473987420\t85455940\t30\t1\n"));
    assert_eq!(wrong(&text).len(), 1, "{:?}", wrong(&text));
    let exchanged = wpl("1\t0\t3\t16\t0\t0\t0\t0\t151.2\t-33.8\t30\t1\n");
    let said = wrong(&exchanged).join("\n");
    assert!(
        said.contains("which is no position; latitude and longitude seem exchanged"),
        "{said}"
    );
}

#[test]
fn commands_without_a_counterpart_can_be_left_out() {
    for command in [207, 208, 1001] {
        let text = wpl(&(row(1, 16, 0) + &row(2, command, 0) + &row(3, 16, 1)));
        let problems = wrong(&text);
        assert!(
            problems.len() == 1 && problems[0].contains("--leave-out"),
            "{problems:?}"
        );
        assert_eq!(route::route(&plan(&text), true).unwrap().waypoints.len(), 2);
    }
}

#[test]
fn a_landing_on_the_way_without_a_wait_is_no_charging_stop() {
    let way = |between: &str| {
        let (place, landing) = (row(2, 16, 0), row(3, 21, 0));
        let (takeoff, last) = (row(5, 22, 0), row(6, 16, 1));
        wpl(&format!("{TAKEOFF}{place}{landing}{between}{takeoff}{last}"))
    };
    let left_out = route::route(&plan(&way("")), false).unwrap().left_out;
    assert!(
        left_out
            .iter()
            .any(|left| left.what == "landing on the way" && left.items == [2, 3]),
        "{left_out:?}"
    );
    assert!(left_out.iter().all(|left| !left.why.contains("charge")), "{left_out:?}");
    let delivery = wrong(&way("4\t0\t3\t211\t1\t0\t0\t0\t0\t0\t0\t1\n"));
    assert!(
        delivery[0].contains("item 2 (NAV_LAND, line 5, number 3 in the file)"),
        "{delivery:?}"
    );
    assert!(
        delivery.iter().all(|said| !said.contains("a takeoff in the air")),
        "{delivery:?}"
    );
}

fn values(text: &str) -> Vec<(String, String)> {
    match recognize::read(text.as_bytes(), "file", None).unwrap().contents {
        Contents::Parameters(file) => profile(&file, None, &[]).unwrap().values.into_iter().collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn parameters_are_read_as_spreadsheets_save_them() {
    let expected =
        [("ATC_RAT_PIT_P", "0.135"), ("WPNAV_SPEED", "500")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    for text in [
        "ATC_RAT_PIT_P;0,135\nWPNAV_SPEED;500\n",
        "ATC_RAT_PIT_P;0.135;a remark\nWPNAV_SPEED;500;;\n",
        "\"ATC_RAT_PIT_P\";\"0,135\"\n\"WPNAV_SPEED\";\"500\"\n",
        "\"ATC_RAT_PIT_P\",\"0.135\"\n\"WPNAV_SPEED\",\"500\"\n",
        "Name,Value\nATC_RAT_PIT_P,0.135\nWPNAV_SPEED,500\n",
        "Command,Value,Units\nATC_RAT_PIT_P,0.135,\nWPNAV_SPEED,500,cm/s\n",
        "ATC_RAT_PIT_P , 0.135\nWPNAV_SPEED , 500\n",
        "ATC_RAT_PIT_P 0.135 ; a remark\nWPNAV_SPEED 500; 2 remarks\n",
    ] {
        assert_eq!(values(text), expected, "{text}");
    }
    let said = parameters::read("RTL_ALT;1500;3000\n").unwrap_err().to_string();
    assert!(
        said.contains("line 1 is \"RTL_ALT;1500;3000\", which has two values"),
        "{said}"
    );
    let said = parameters::read("RTL_ALT 1500\nRTL_ALT;high\n")
        .unwrap_err()
        .to_string();
    assert!(said.contains("line 2 is \"RTL_ALT;high\""), "{said}");
}

#[test]
fn a_parameter_without_a_number_is_left_out_and_named() {
    let file = parameters::read("RTL_ALT,nan\nWPNAV_SPEED,500\n").unwrap();
    let taken = profile(&file, None, &[]).unwrap();
    assert_eq!((taken.values.len(), taken.left_out.values().flatten().count()), (1, 1));
    assert!(parameters::read("RTL_ALT,inf\n").is_err());
}

#[test]
fn a_reference_is_wgs_84_in_degrees_by_each_of_its_names_only() {
    let read = |name: &str| {
        let ring = json!([[[8.5, 47.39], [8.501, 47.39], [8.501, 47.391], [8.5, 47.39]]]);
        let text =
            json!({"type": "Polygon", "coordinates": ring, "crs": {"type": "name", "properties": {"name": name}}});
        recognize::read(text.to_string().as_bytes(), "file", None).map(|_| ())
    };
    for name in [
        "CRS:84",
        "urn:ogc:def:crs:OGC::84",
        "urn:ogc:def:crs:OGC:1.3:CRS84",
        "WGS 84",
    ] {
        assert!(read(name).is_ok(), "{name}");
    }
    for name in ["WGS 84/Pseudo-Mercator", "WGS 84 / UTM zone 32N", "WGS84 UTM 32"] {
        assert!(
            read(name).unwrap_err().to_string().contains("save it in degrees"),
            "{name}"
        );
    }
}

#[test]
fn a_list_of_places_with_commas_is_a_fence() {
    for list in [
        "47.397,8.545\n47.398,8.545\n47.398,8.546\n47.397,8.545\n",
        "47.397, 8.545\n47.398, 8.545\n47.398, 8.546\n47.397, 8.545\n",
        "47,397 8,545\n47,398 8,545\n47,398 8,546\n47,397 8,545\n",
    ] {
        let shapes = plan(list).fence.shapes;
        assert!(
            matches!(&shapes[0].outline, Outline::Polygon(corners) if corners.len() == 3 && corners[0].latitude_deg == 47.397),
            "{list}"
        );
    }
}

#[test]
fn a_file_without_end_and_an_empty_show_are_named() {
    let long = Refused::TooLong(recognize::LONGEST_AREAS + 1, recognize::LONGEST_AREAS);
    assert_eq!(long.to_string(), "the file has more than 32 MiB; divide it");
    let empty = [&b"PK\x05\x06"[..], &[0; 18]].concat();
    let error = recognize::read(&empty, "a.skyc", None).unwrap_err();
    assert!(matches!(error, Refused::Skybrush), "{error}");
}

#[test]
fn a_shapefile_in_grads_or_from_paris_is_refused() {
    let bytes = super::forms::shapefile(&[super::forms::clockwise(0.0, 0.0, 100.0)]);
    let read = |meridian: &str, unit: &str| {
        let datum = "DATUM[\"D_WGS_1984\",SPHEROID[\"WGS_1984\",6378137.0,298.257223563]]";
        let text = format!("GEOGCS[\"GCS_WGS_1984\",{datum},PRIMEM[{meridian}],UNIT[{unit}]]");
        recognize::read(&bytes, "field.shp", Some(&text)).map(|_| ())
    };
    let (greenwich, degree) = ("\"Greenwich\",0.0", "\"Degree\",0.0174532925199433");
    assert!(read(greenwich, degree).is_ok());
    for odd in [
        read("\"Paris\",2.337229", degree),
        read(greenwich, "\"Grad\",0.015707963"),
    ] {
        assert!(odd.unwrap_err().to_string().contains("save it in degrees (WGS 84"));
    }
}
