//! Files as people have them: one test for each kind met in the field, made again by hand around the simulators' home.

use super::zipped::zip;
use crate::check::Problem;
use crate::recognize::{self, Contents, Recognized, Refused};
use crate::route::{self, Routed, route};
use crate::{Plan, mav_cmd};
use mavlink::dialects::ardupilotmega::MavCmd;
use model::plan::{Action, Waypoint};
use model::rules::{Outline, Side};
use model::station::Altitude;
use model::units::{AltitudeAboveHome, AltitudeAmsl};
use model::vehicle::Autopilot;
use num_traits::FromPrimitive as _;
use serde_json::{Value, json};
use std::time::Duration;

const HOME: [f64; 2] = [47.397_742, 8.545_594];
const NORTH: [f64; 2] = [47.398_3, 8.545_594];
const EAST: [f64; 2] = [47.397_742, 8.546_2];

fn recognized(bytes: impl AsRef<[u8]>) -> Recognized {
    recognize::read(bytes.as_ref(), "file", None).unwrap()
}

fn refused(bytes: impl AsRef<[u8]>) -> String {
    recognize::read(bytes.as_ref(), "file", None).unwrap_err().to_string()
}

fn plan(bytes: impl AsRef<[u8]>) -> Plan {
    match recognized(bytes).contents {
        Contents::Plan(plan) => *plan,
        other => panic!("{other:?}"),
    }
}

fn routed(bytes: impl AsRef<[u8]>) -> Routed {
    route(&plan(bytes), false).unwrap()
}

fn wrong(bytes: impl AsRef<[u8]>) -> String {
    let refusal = route(&plan(bytes), false).unwrap_err();
    refusal
        .problems
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}

fn left_out(routed: &Routed) -> String {
    let words = |left: &route::LeftOut| format!("{} ({}): {}", left.what, left.items.len(), left.why);
    routed.left_out.iter().map(words).collect::<Vec<_>>().join("\n")
}

fn simple(id: i64, command: u16, place: Option<[f64; 2]>, altitude: Option<f64>, params: [f64; 4]) -> Value {
    let [a, b, c, d] = params;
    json!({
        "AMSLAltAboveTerrain": null, "Altitude": altitude, "AltitudeMode": 1, "autoContinue": true, "command": command,
        "doJumpId": id, "frame": if place.is_some() || altitude.is_some() { 3 } else { 2 },
        "params": [a, b, c, d, place.map(|at| at[0]), place.map(|at| at[1]), altitude], "type": "SimpleItem",
    })
}

fn qgc_with(items: &Value, change: impl FnOnce(&mut Value)) -> String {
    let mut plan = json!({
        "fileType": "Plan", "geoFence": {"circles": [], "polygons": [], "version": 2}, "groundStation": "QGroundControl",
        "mission": {
            "cruiseSpeed": 15, "firmwareType": 12, "globalPlanAltitudeMode": 1, "hoverSpeed": 5, "items": items,
            "plannedHomePosition": [HOME[0], HOME[1], 488], "vehicleType": 2, "version": 2,
        },
        "rallyPoints": {"points": [], "version": 2}, "version": 1,
    });
    change(&mut plan);
    plan.to_string()
}

fn qgc(items: &Value) -> String {
    qgc_with(items, |_| {})
}

type Line = (u8, u16, [f64; 4], [f64; 2], f64);

fn wpl(lines: &[Line]) -> String {
    let mut text = format!(
        "QGC WPL 110\n0\t1\t0\t16\t0\t0\t0\t0\t{}\t{}\t488.0\t1\n",
        HOME[0], HOME[1]
    );
    for (number, (frame, command, [a, b, c, d], [x, y], z)) in lines.iter().enumerate() {
        text += &format!(
            "{}\t0\t{frame}\t{command}\t{a}\t{b}\t{c}\t{d}\t{x}\t{y}\t{z}\t1\n",
            number + 1
        );
    }
    text
}

const ZERO: [f64; 4] = [0.0; 4];
const OPEN: [f64; 2] = [0.0; 2];

#[test]
fn each_command_of_mavlink_has_its_name() {
    /// Commands of PX4 1.18's development.xml or an older common.xml, not in the dialect that Skein speaks.
    const ELSEWHERE: [u16; 12] = [
        247, 309, 550, 610, 620, 2020, 2021, 5005, 12_900, 32_100, 43_004, 43_006,
    ];
    let mut named = 0;
    for number in 0..=u16::MAX {
        let defined = MavCmd::from_u16(number).map(|command| format!("{command:?}"));
        let defined = defined.as_deref().map(|name| name.strip_prefix("MAV_CMD_").unwrap());
        let name = mav_cmd::name(number);
        if ELSEWHERE.contains(&number) {
            assert!(defined.is_none() && name.is_some(), "{number}");
        } else {
            assert_eq!(name, defined, "{number}");
        }
        named += usize::from(name.is_some());
    }
    assert!(named > 200, "{named}");
    assert_eq!(mav_cmd::name(43_004), Some("EXTERNAL_WIND_ESTIMATE"));
}

fn survey() -> Value {
    let transect = json!([
        {"autoContinue": true, "command": 16, "doJumpId": 4, "frame": 3, "params": [0, 0, 0, null, NORTH[0], NORTH[1], 30], "type": "SimpleItem"},
        {"autoContinue": true, "command": 206, "doJumpId": 5, "frame": 2, "params": [12.5, 0, 1, 0, 0, 0, 0], "type": "SimpleItem"},
        {"autoContinue": true, "command": 16, "doJumpId": 6, "frame": 3, "params": [0, 0, 0, null, EAST[0], EAST[1], 30], "type": "SimpleItem"},
        {"autoContinue": true, "command": 206, "doJumpId": 7, "frame": 2, "params": [0, 0, 0, 0, 0, 0, 0], "type": "SimpleItem"},
    ]);
    json!([
        {"AMSLAltAboveTerrain": null, "Altitude": null, "AltitudeMode": 1, "autoContinue": true, "command": 530, "doJumpId": 1, "frame": 2,
         "params": [0, 2, null, null, null, null, null], "type": "SimpleItem"},
        simple(2, 22, Some(HOME), Some(30.0), ZERO),
        {"TransectStyleComplexItem": {"CameraShots": 2, "FollowTerrain": false, "Items": transect, "TurnAroundDistance": 10, "version": 1},
         "angle": 0, "complexItemType": "survey", "entryLocation": 0, "polygon": [HOME, NORTH, EAST], "type": "ComplexItem", "version": 5},
        simple(8, 20, None, None, ZERO),
    ])
}

#[test]
fn a_survey_as_qgroundcontrol_saves_it_is_taken_and_its_camera_mode_named() {
    let routed = routed(qgc(&survey()));
    let actions: Vec<&[Action]> = routed
        .waypoints
        .iter()
        .map(|waypoint| waypoint.actions.as_slice())
        .collect();
    assert_eq!(
        actions,
        [
            &[Action::TriggerEvery(model::units::Meters(12.5))][..],
            &[Action::StopTrigger]
        ]
    );
    let said = left_out(&routed);
    assert!(said.contains("SET_CAMERA_MODE (1): it sets up a camera only"), "{said}");
    assert!(said.contains("takeoff (1): Skein takes vehicles off itself"), "{said}");
    assert!(
        said.contains("return or landing (1): Skein brings vehicles home itself"),
        "{said}"
    );
}

#[test]
fn a_survey_of_a_later_version_is_noted() {
    let mut later = survey();
    assert!(plan(qgc(&later)).notes.is_empty());
    later[2]["version"] = json!(9);
    let read = plan(qgc(&later));
    assert_eq!(read.file.items.len(), 7);
    assert!(
        read.notes[0].contains("item 2 of the plan is a survey of version 9, and 5 is the newest"),
        "{:?}",
        read.notes
    );
}

#[test]
fn a_mark_of_a_landing_is_said_to_be_of_planes_where_no_vehicle_is_named() {
    let marked = |command: u16| {
        wpl(&[
            (3, 16, ZERO, NORTH, 20.0),
            (3, command, ZERO, OPEN, 0.0),
            (0, 20, ZERO, OPEN, 0.0),
        ])
    };
    let said = crate::check::maybe_of_plane(&plan(marked(189))).unwrap();
    assert!(
        said.starts_with("item 1 (DO_LAND_START, line 4, ") && said.contains("mostly of missions for planes"),
        "{said}"
    );
    assert_eq!(crate::check::maybe_of_plane(&plan(marked(178))), None);
    let copter = json!([
        simple(1, 16, Some(NORTH), Some(20.0), ZERO),
        simple(2, 189, None, None, ZERO)
    ]);
    assert_eq!(crate::check::maybe_of_plane(&plan(qgc(&copter))), None);
}

#[test]
fn a_structure_scan_and_an_early_survey_are_refused_with_what_to_do() {
    for (kind, expected) in [
        ("StructureScan", "download it again, and save that"),
        (
            "survey",
            "open the plan with a current QGroundControl and save it again",
        ),
        ("fwLandingPattern", "it is the landing of a plane"),
    ] {
        let scan =
            json!([{"complexItemType": kind, "polygon": [HOME, NORTH, EAST], "type": "ComplexItem", "version": 3}]);
        let said = refused(qgc(&scan));
        assert!(said.contains(kind) && said.contains(expected), "{said}");
    }
}

#[test]
fn a_place_left_open_is_named_and_a_hold_without_a_place_is_here() {
    let open = json!([
        simple(1, 22, None, Some(10.0), ZERO),
        simple(2, 16, Some(NORTH), Some(10.0), ZERO),
        simple(3, 16, None, Some(10.0), ZERO),
        simple(4, 16, Some(EAST), Some(10.0), ZERO),
    ]);
    let said = wrong(qgc(&open));
    assert!(
        said.contains("item 2 (NAV_WAYPOINT, number 3 in QGroundControl) has no place"),
        "{said}"
    );
    let hold = |altitude: f64| {
        wpl(&[
            (3, 22, ZERO, HOME, 10.0),
            (3, 16, ZERO, NORTH, 10.0),
            (3, 19, [5.0, 0.0, 0.0, 0.0], OPEN, altitude),
            (3, 16, ZERO, EAST, 10.0),
            (0, 20, ZERO, OPEN, 0.0),
        ])
    };
    for (given, flown) in [(10.0, 10.0), (25.0, 25.0), (0.0, 10.0)] {
        let routed = routed(hold(given));
        let here = &routed.waypoints[1];
        assert_eq!((here.at.latitude_deg, here.at.longitude_deg), (NORTH[0], NORTH[1]));
        assert_eq!(
            (here.hold, here.altitude),
            (Duration::from_secs(5), Altitude::AboveHome(AltitudeAboveHome(flown)))
        );
        assert!(
            routed.notes[0].contains("holds where the vehicle is"),
            "{:?}",
            routed.notes
        );
    }
    let first = wpl(&[(3, 19, [5.0, 0.0, 0.0, 0.0], OPEN, 10.0), (3, 16, ZERO, EAST, 10.0)]);
    assert!(wrong(first).contains("item 0 (NAV_LOITER_TIME, line 3, number 1 in the file) has no place"));
    let no_altitude = json!([simple(1, 16, Some(NORTH), None, ZERO)]);
    assert!(wrong(qgc(&no_altitude)).contains("has no altitude"));
}

#[test]
fn altitudes_below_home_are_refused_with_how_to_put_them_above_it() {
    let text = wpl(&[
        (0, 22, ZERO, HOME, 40.0),
        (0, 16, ZERO, NORTH, 50.0),
        (0, 16, ZERO, EAST, 50.0),
        (0, 20, ZERO, OPEN, 0.0),
    ]);
    let said = wrong(&text);
    assert!(
        said.contains(
            "item 1 (NAV_WAYPOINT, line 4, number 2 in the file) is flown at 50 m above mean sea level, 438 m below home (488 m in this file)"
        ),
        "{said}"
    );
    assert!(said.contains("--above-home"), "{said}");
    assert!(crate::read(&text).unwrap_err().to_string().contains("438 m below home"));
    let above = route::above_home(plan(&text));
    let waypoints: Vec<Waypoint> = route(&above, false).unwrap().waypoints;
    assert_eq!(waypoints[0].altitude, Altitude::AboveHome(AltitudeAboveHome(50.0)));
    assert!(route(&plan(text.replace("488.0", "0")), false).is_ok());
    let high = wpl(&[(0, 16, ZERO, NORTH, 520.0)]);
    assert_eq!(routed(high).waypoints[0].altitude, Altitude::Amsl(AltitudeAmsl(520.0)));
}

fn corners(plan: &Plan) -> Vec<(Side, usize)> {
    let of = |outline: &Outline| match outline {
        Outline::Polygon(corners) => corners.len(),
        Outline::Circle { .. } => 1,
    };
    plan.fence
        .shapes
        .iter()
        .map(|shape| (shape.side, of(&shape.outline)))
        .collect()
}

#[test]
fn fences_and_rally_points_are_recognized_in_each_form() {
    let places = [
        [47.3972, 8.5448],
        [47.3972, 8.5464],
        [47.3983, 8.5464],
        [47.3983, 8.5448],
    ];
    let rows = |first: usize, command: u16| {
        let row = |(index, [x, y]): (usize, &[f64; 2])| {
            format!(
                "{}\t0\t3\t{command}\t4\t0\t0\t0\t{x}\t{y}\t{index}\t1\r\n",
                index + first
            )
        };
        places.iter().enumerate().map(row).collect::<String>()
    };
    let home = "QGC WPL 110\r\n0\t1\t0\t16\t0\t0\t0\t0\t47.397742\t8.545594\t488.0\t1\r\n";
    let inside = [(Side::Inside, 4)];
    assert_eq!(corners(&plan(format!("{home}{}", rows(1, 5001)))), inside);
    assert_eq!(corners(&plan(format!("QGC WPL 110\n{}", rows(0, 5001)))), inside);
    let more = format!(
        "{home}{}{}{}9\t0\t3\t5004\t25\t0\t0\t0\t47.3977\t8.5456\t0\t1\n10\t0\t3\t5000\t0\t0\t0\t0\t47.3977\t8.5456\t0\t1\n11\t0\t3\t5100\t0\t0\t0\t0\t47.3977\t8.5456\t0\t1\n",
        rows(1, 5001),
        rows(5, 5002),
        ""
    );
    let more = plan(more);
    assert_eq!(
        corners(&more),
        [(Side::Inside, 4), (Side::Outside, 4), (Side::Outside, 1)]
    );
    assert!(more.fence.has_return_point && more.rally == 1);
    let short = format!("{home}{}", rows(1, 5001).lines().take(3).collect::<Vec<_>>().join("\n"));
    assert!(refused(short).contains("line 3: a polygon of the fence has 3 corners and says that it has 4"));
    let list = |places: &[[f64; 2]]| places.iter().map(|[x, y]| format!("{x} {y}\n")).collect::<String>();
    let walk = [places[0], places[1], places[2], places[3], places[0]];
    let with_return = plan(format!("#saved by Mission Planner\n{}{}", list(&[HOME]), list(&walk)));
    assert!(with_return.fence.has_return_point);
    assert_eq!(corners(&with_return), inside);
    assert_eq!(corners(&plan(list(&walk))), inside);
    assert!(refused(list(&places)).contains("the last repeats the first of them"));
    let rally = plan("RALLY 47.398012 8.545993 40 20 0 0\nRALLY 47.398012 8.545195 40 20 0 0\n");
    assert_eq!(
        (rally.rally, rally.file.not_taken[0].to_string()),
        (2, "rally points are not taken (2)".to_owned())
    );
    let fence = json!({
        "circles": [{"circle": {"center": HOME, "radius": 25}, "inclusion": false, "version": 1}],
        "polygons": [{"inclusion": true, "polygon": places, "version": 1}], "version": 2,
    });
    let only = plan(qgc_with(&json!([]), |plan| plan["geoFence"] = fence.clone()));
    assert_eq!(corners(&only), [(Side::Inside, 4), (Side::Outside, 1)]);
    let first = plan(qgc_with(&survey(), |plan| {
        plan["geoFence"] = json!({"polygon": places, "version": 1})
    }));
    assert_eq!(corners(&first), inside);
    assert_eq!(
        first.file.not_taken[0].to_string(),
        "the geofence is not taken (polygons: 1, circles: 0)"
    );
    let alone = json!({"fileType": "GeoFence", "polygon": places, "version": 1, "groundStation": "QGroundControl"});
    assert_eq!(corners(&plan(alone.to_string())), inside);
    let said = crate::read(&qgc_with(&json!([]), |plan| plan["geoFence"] = fence))
        .unwrap_err()
        .to_string();
    assert_eq!(
        said,
        "the file has a geofence, and no mission items; use `skein import`"
    );
    let said = crate::read(&format!("{home}{}", rows(1, 5001)))
        .unwrap_err()
        .to_string();
    assert!(said.contains("a geofence, and no mission items"), "{said}");
}

#[test]
fn lines_are_read_however_a_program_has_written_them() {
    let text = wpl(&[
        (3, 22, ZERO, HOME, 10.0),
        (3, 16, ZERO, NORTH, 10.0),
        (0, 20, ZERO, OPEN, 0.0),
    ]);
    let expected = plan(&text).file;
    let utf16 = |big: bool, mark: bool| -> Vec<u8> {
        let units = mark.then_some(0xfeff).into_iter().chain(text.encode_utf16());
        units
            .flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() })
            .collect()
    };
    for bytes in [
        text.replace('\n', "\r\n").into_bytes(),
        text.replace('\n', "\r").into_bytes(),
        format!("\u{feff}{}", text.replace('\n', "\r\n")).into_bytes(),
        utf16(true, true),
        utf16(false, true),
        utf16(true, false),
        utf16(false, false),
        text.replace('\t', "   ").into_bytes(),
        text.replace('\n', "\n\n").into_bytes(),
        format!("\n  {}", text.replacen("QGC WPL 110", "QGC  WPL\t110 ", 1)).into_bytes(),
        format!("# a remark with an umlaut: \u{e4}\n{text}")
            .chars()
            .map(|c| u8::try_from(u32::from(c)).unwrap())
            .collect(),
        text.replace('.', ",").into_bytes(),
        format!("{text}\u{1a}").into_bytes(),
        // As spreadsheets save it.
        text.replace('\t', ",")
            .replace("QGC WPL 110", "QGC WPL 110,,,,,,,,,,,")
            .into_bytes(),
        text.replace('\t', ", ").into_bytes(),
        text.replace('.', ",").replace('\t', ";").into_bytes(),
    ] {
        assert_eq!(plan(&bytes).file, expected, "{:?}", String::from_utf8_lossy(&bytes));
    }
    let gaps = plan(text.replace("\n3\t", "\n12\t"));
    assert_eq!(gaps.file, expected);
    assert!(
        gaps.notes[0].contains("gaps (1, the first before line 5)"),
        "{:?}",
        gaps.notes
    );
    // Without home, a file begins with 1.
    let no_home = "QGC WPL 110\n1   0   3   22   0   0   0   0   47,397742   8,545594   10   1\n2   0   3   16   0   0   0   0   47,3983   8,545594   10   1\n";
    let no_home = plan(no_home);
    assert_eq!((no_home.file.home, no_home.file.items.len()), (None, 2));
    assert_eq!(no_home.file.items[1].params[4], Some(47.3983));
    assert!(refused(text.replace("\t10\t1\n2", "\tten\t1\n2")).contains("line 3: altitude is \"ten\""));
    // Files of scripts have home as 0 m above itself, files for PX4 begin with the takeoff.
    let relative = text.replacen("0\t1\t0\t16", "0\t1\t3\t16", 1);
    assert_eq!(plan(relative.replace("488.0", "0")).file.items, expected.items);
    assert!(refused(&relative).contains("item 0 is home"));
    let takeoff = plan("QGC WPL 110\n0 1 3 22 0 0 0 nan 47.3977 8.5456 10 1\n1 0 3 16 0 0 0 nan 47.398 8.5456 10 1\n");
    assert_eq!((takeoff.file.home, takeoff.file.items.len()), (None, 2));
    assert!(refused("QGC WPL 120\n").contains("begins with \"QGC WPL 120\""));
    assert!(refused(format!("QGC WPL 120 {}\n", "x".repeat(5000))).len() < 200);
    assert!(refused(text.replace("\t10\t1\n2", "\t10\n2")).contains("line 3 has 11 values, not 12"));
}

#[test]
fn what_comes_before_the_takeoff_is_named_and_the_speed_kept() {
    let routed = routed(wpl(&[
        (2, 178, [1.0, 3.0, -1.0, 0.0], OPEN, 0.0),
        (3, 93, [5.0, 0.0, 0.0, 0.0], OPEN, 0.0),
        (3, 22, ZERO, HOME, 10.0),
        (3, 16, ZERO, NORTH, 10.0),
        (0, 20, ZERO, OPEN, 0.0),
    ]));
    assert_eq!(routed.waypoints[0].speed, Some(model::units::MetersPerSecond(3.0)));
    assert!(
        left_out(&routed).contains("wait before takeoff (1): a wait before takeoff"),
        "{}",
        left_out(&routed)
    );
}

#[test]
fn a_stop_to_charge_is_left_out_as_a_relief() {
    let stop = json!([
        simple(1, 22, Some(HOME), Some(20.0), ZERO),
        simple(2, 16, Some(NORTH), Some(20.0), ZERO),
        simple(3, 21, Some([47.3981, 8.5456]), Some(0.0), ZERO),
        simple(4, 93, None, None, [3600.0, -1.0, -1.0, -1.0]),
        simple(5, 22, Some([47.3981, 8.5456]), Some(20.0), ZERO),
        simple(6, 16, Some(EAST), Some(20.0), ZERO),
        simple(7, 20, None, None, ZERO),
    ]);
    let taken = routed(qgc(&stop));
    assert_eq!(taken.waypoints.len(), 2);
    assert_eq!(taken.waypoints[0].hold, Duration::ZERO);
    let said = left_out(&taken);
    assert!(
        said.contains("stop on the way (3): a landing, a wait and a takeoff, as to charge")
            && said.contains("a relief"),
        "{said}"
    );
    let mut delivery = stop.clone();
    delivery[3] = simple(4, 211, None, None, [1.0, 0.0, 0.0, 0.0]);
    let said = wrong(qgc(&delivery));
    assert!(
        said.contains("item 2 (NAV_LAND,") && said.contains("not the last item"),
        "{said}"
    );
    let mut without_takeoff = stop;
    without_takeoff.as_array_mut().unwrap().remove(4);
    let said = wrong(qgc(&without_takeoff));
    assert!(
        said.contains("item 2 (NAV_LAND, number 3 in QGroundControl)") && said.contains("not the last item"),
        "{said}"
    );
    let elsewhere = json!([
        simple(1, 16, Some(NORTH), Some(20.0), ZERO),
        simple(2, 21, Some(EAST), Some(0.0), ZERO)
    ]);
    assert!(routed(qgc(&elsewhere)).notes[0].contains("from home: Skein lands vehicles where they took off"));
}

#[test]
fn a_mission_of_another_vehicle_is_refused() {
    let place = json!([simple(1, 16, Some(NORTH), Some(50.0), ZERO)]);
    for (kind, what) in [
        (1, "a plane"),
        (10, "a ground rover"),
        (11, "a boat"),
        (12, "a submarine"),
        (20, "a VTOL plane"),
        (22, "a VTOL plane"),
    ] {
        let said = wrong(qgc_with(&place, |plan| plan["mission"]["vehicleType"] = json!(kind)));
        assert!(
            said.contains(&format!("planned for {what} (vehicleType {kind})")),
            "{said}"
        );
    }
    for copter in [0, 2, 3, 4, 13, 14, 15, 29, 35] {
        assert!(
            route(
                &plan(qgc_with(&place, |plan| plan["mission"]["vehicleType"] = json!(copter))),
                false
            )
            .is_ok()
        );
    }
    let vtol = json!([
        simple(1, 84, Some(HOME), Some(30.0), ZERO),
        simple(2, 3000, None, None, [4.0, 0.0, 0.0, 0.0]),
        simple(3, 16, Some(NORTH), Some(30.0), ZERO),
        simple(4, 85, Some(HOME), Some(0.0), ZERO),
    ]);
    let said = wrong(qgc(&vtol));
    for name in [
        "item 0 (NAV_VTOL_TAKEOFF,",
        "item 1 (DO_VTOL_TRANSITION,",
        "item 3 (NAV_VTOL_LAND,",
    ] {
        assert!(said.contains(name), "{said}");
    }
}

#[test]
fn what_refuses_the_whole_file_is_named_first_and_each_kind_once() {
    let mut lines = vec![(0, 16, ZERO, NORTH, 50.0); 20];
    lines.push((2, 3000, [3.0, 0.0, 0.0, 0.0], OPEN, 0.0));
    lines.push((3, 82, ZERO, EAST, 20.0));
    lines.push((3, 18, ZERO, EAST, 20.0));
    let problems = route(&plan(wpl(&lines)), false).unwrap_err().problems;
    assert!(problems.len() > 20);
    let said = crate::check::summary(&problems);
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(
        said[0].contains("(DO_VTOL_TRANSITION, ") && said[0].ends_with("plan it for a multicopter"),
        "{said:?}"
    );
    assert!(
        said[1].contains("438 m below home") && said[1].contains(" (20 items; also item 1 ("),
        "{said:?}"
    );
    assert!(said[1].ends_with(", and 15 more)"), "{said:?}");
    assert!(
        said[2].contains("NAV_SPLINE_WAYPOINT") && said[2].contains("(2 items; also item 22 (NAV_LOITER_TURNS,"),
        "{said:?}"
    );
}

#[test]
fn an_altitude_that_is_shown_and_not_flown_is_refused() {
    let with = |altitude: Value, mode: i64, amsl: Value| {
        let mut item = simple(1, 16, Some(NORTH), Some(12.0), ZERO);
        item["Altitude"] = altitude;
        item["AltitudeMode"] = json!(mode);
        item["AMSLAltAboveTerrain"] = amsl;
        qgc(&json!([item]))
    };
    let said = wrong(with(json!(30), 1, Value::Null));
    assert!(said.contains("shows an altitude of 30 m and flies at 12 m"), "{said}");
    assert!(crate::read(&with(json!(30), 1, Value::Null)).is_err());
    for text in [
        with(json!(12.01), 1, Value::Null),
        with(Value::Null, 1, Value::Null),
        with(json!(30), 3, json!(12)),
    ] {
        assert!(route(&plan(text), false).is_ok());
    }
    let mut rtl = simple(2, 20, None, None, ZERO);
    rtl["Altitude"] = json!(50);
    assert!(
        route(
            &plan(qgc(&json!([simple(1, 16, Some(NORTH), Some(12.0), ZERO), rtl]))),
            false
        )
        .is_ok()
    );
}

#[test]
fn a_place_on_the_ground_is_refused_and_a_speed_for_nothing_is_named() {
    let items = |altitude: f64| {
        let item = simple(2, 16, Some(NORTH), Some(altitude), ZERO);
        qgc(&json!([
            simple(1, 22, Some(HOME), Some(20.0), ZERO),
            item,
            simple(3, 178, None, None, [1.0, 25.0, -1.0, 0.0])
        ]))
    };
    for altitude in [0.0, 121.0] {
        let said = wrong(items(altitude));
        assert!(said.contains(&format!("item 1 (NAV_WAYPOINT, number 2 in QGroundControl) is flown at {altitude} m above home, and a Mission flies from 1 to 120 m")), "{said}");
    }
    assert!(left_out(&routed(items(20.0))).contains("DO_CHANGE_SPEED (1): nothing is flown after it"));
}

#[test]
fn plans_of_early_versions_are_read() {
    let four = json!([{"autoContinue": true, "command": 16, "coordinate": [NORTH[0], NORTH[1], 10], "doJumpId": 1, "frame": 3, "params": [0, 0, 0, 0], "type": "SimpleItem"}]);
    assert_eq!(routed(qgc(&four)).waypoints[0].at.latitude_deg, NORTH[0]);
    let item = |id: i64, command: u16, place: [f64; 2], altitude: f64| {
        json!({"autoContinue": true, "command": command, "coordinate": [place[0], place[1], altitude], "frame": 3, "id": id,
               "param1": 15, "param2": 0, "param3": 0, "param4": 0, "type": "missionItem"})
    };
    let mut first = json!({
        "MAV_AUTOPILOT": 12, "complexItems": [], "groundStation": "QGroundControl", "version": "1.0",
        "items": [item(1, 22, HOME, 10.0), item(2, 16, NORTH, 10.0)], "plannedHomePosition": item(0, 16, HOME, 0.0),
    });
    let read = routed(first.to_string());
    assert_eq!(
        (read.waypoints.len(), read.waypoints[0].hold),
        (1, Duration::from_secs(15))
    );
    let mut alone = first.clone();
    alone["items"].as_array_mut().unwrap().pop();
    assert!(wrong(alone.to_string()).contains("no item of the mission has a place that is flown to"));
    first["complexItems"] = json!([{"type": "survey", "id": 3}]);
    assert!(refused(first.to_string()).contains("open the plan with a current QGroundControl"));
    let second = json!({"fileType": "Mission", "version": 2, "groundStation": "QGroundControl", "items": four, "plannedHomePosition": [HOME[0], HOME[1], 488]});
    assert_eq!(routed(second.to_string()).waypoints.len(), 1);
    let said = refused(qgc_with(&four, |plan| plan["version"] = json!(7)));
    assert!(said.contains("the file of the plan has version 7"), "{said}");
}

#[test]
fn a_mission_beyond_a_site_is_refused_with_the_distance() {
    for (place, expected) in [
        ([47.6, 8.7], "is 25 km from the first place"),
        ([38.4, 8.5], "1000 km from the first place"),
        ([-62.0, 8.5], "from the first place"),
    ] {
        let text = wpl(&[(3, 16, ZERO, NORTH, 20.0), (3, 16, ZERO, place, 20.0)]);
        let said = wrong(&text);
        assert!(
            said.contains(expected) && said.contains("a site reaches 20 km"),
            "{said}"
        );
        let unchanged: Vec<String> = route::unchanged(&plan(&text)).iter().map(ToString::to_string).collect();
        assert!(unchanged[0].contains(expected), "{unchanged:?}");
    }
    for (distance, words) in [(20_440.0, "20.4 km"), (20_012.0, "20.012 km"), (24_800.0, "25 km")] {
        assert_eq!(crate::check::beyond_reach(distance), words);
    }
    let said = wrong(wpl(&[(3, 16, ZERO, [-71.5, 8.5], 20.0)]));
    assert!(
        said.contains("latitude -71.5, and Skein flies between 70° south and 70° north"),
        "{said}"
    );
    assert!(
        wrong(wpl(&[(3, 16, ZERO, [147.0, 8.5], 20.0)])).contains("latitude 147, longitude 8.5, which is no position")
    );
}

#[test]
fn items_that_a_route_does_not_have_are_named_and_can_be_kept_or_left_out() {
    let text = wpl(&[
        (3, 16, ZERO, NORTH, 20.0),
        (3, 183, [9.0, 1500.0, 0.0, 0.0], OPEN, 0.0),
        (3, 205, [-90.0, 0.0, 0.0, 0.0], OPEN, 0.0),
        (3, 16, ZERO, EAST, 20.0),
    ]);
    let problems = route(&plan(&text), false).unwrap_err().problems;
    assert!(route::may_be_kept(&problems) && route::unchanged(&plan(&text)).is_empty());
    assert!(problems[0].to_string().starts_with(
        "item 1 (DO_SET_SERVO, line 4, number 2 in the file) cannot be part of a route: command 183 has no counterpart"
    ));
    let routed = route(&plan(&text), true).unwrap();
    assert_eq!(routed.waypoints.len(), 2);
    assert!(left_out(&routed).contains("DO_MOUNT_CONTROL (1)"));
    for (command, expected) in [
        (18, "leaves the straight way"),
        (82, "leaves the straight way"),
        (179, "moves home in flight"),
        (400, "COMPONENT_ARM_DISARM"),
        (9999, "MAVLink does not define it"),
    ] {
        let text = wpl(&[(3, 16, ZERO, NORTH, 20.0), (3, command, ZERO, EAST, 20.0)]);
        let problems = route(&plan(&text), false).unwrap_err().problems;
        assert!(!route::may_be_kept(&problems));
        assert!(problems[0].to_string().contains(expected), "{problems:?}");
    }
    let jump = wpl(&[(3, 16, ZERO, NORTH, 20.0), (3, 177, [1.0, 3.0, 0.0, 0.0], OPEN, 0.0)]);
    assert!(
        wrong(&jump).contains(
            "(DO_JUMP, line 4, number 2 in the file) cannot be part of a route: command 177 has no counterpart in a route, which has no jumps"
        ),
        "{}",
        wrong(&jump)
    );
    assert!(
        route::unchanged(&plan(&jump))[0]
            .to_string()
            .contains("item 1 (DO_JUMP, line 4, number 2 in the file) cannot be part of a flight")
    );
    let scan = json!([
        simple(1, 530, None, None, [0.0, 2.0, 0.0, 0.0]),
        simple(2, 16, Some(NORTH), Some(20.0), ZERO),
        simple(3, 205, None, None, ZERO)
    ]);
    let scan = plan(qgc(&scan));
    let trimmed = route::trimmed(&scan, &route(&scan, false).unwrap_err().left_out);
    assert_eq!(
        trimmed.file.items.iter().map(|item| item.command).collect::<Vec<_>>(),
        [16, 205]
    );
    assert!(route::unchanged(&trimmed).is_empty());
    let endless = wpl(&[(3, 16, ZERO, NORTH, 20.0), (3, 17, ZERO, EAST, 20.0)]);
    let routed = self::routed(endless);
    assert!(routed.waypoints.len() == 2 && routed.notes[0].contains("holds without end"));
    let shoot = wpl(&[(3, 16, ZERO, NORTH, 20.0), (3, 203, ZERO, [1.0, 0.0], 0.0)]);
    assert_eq!(self::routed(shoot).waypoints[0].actions, [Action::Photo]);
    assert!(matches!(
        route(&plan(qgc(&json!([]))), false).unwrap_err().problems[..],
        [Problem::Mission(_)]
    ));
}

/// Both autopilots take a photo where the third parameter is 1, also without a distance.
#[test]
fn a_photo_at_once_without_a_distance_is_one_photo_and_ends_a_series() {
    use model::units::Meters;
    let trigger = |meters: f64, at_once: f64| (2, 206, [meters, 0.0, at_once, 0.0], OPEN, 0.0);
    let file = |first: Line, second: Line| {
        let places = [(3, 16, ZERO, NORTH, 20.0), first, (3, 16, ZERO, EAST, 20.0), second];
        routed(wpl(&places))
    };
    let actions = |routed: &Routed| -> Vec<Vec<Action>> {
        let all = routed.waypoints.iter().map(|waypoint| waypoint.actions.clone());
        all.collect()
    };
    let each = file(trigger(0.0, 1.0), trigger(0.0, 1.0));
    assert_eq!(actions(&each), [[Action::Photo], [Action::Photo]]);
    // Exported as photos of another command, which mean the same.
    let exported = model::plan::item::of_waypoints(&each.waypoints);
    let commands: Vec<u16> = exported.iter().map(|item| item.command).collect();
    assert_eq!(commands, [16, 2000, 16, 2000]);
    let again = model::plan::item::to_waypoints(&exported).unwrap().0;
    assert_eq!(again, each.waypoints);
    let every = Action::TriggerEvery(Meters(12.5));
    for at_once in [0.0, 1.0] {
        let survey = file(trigger(12.5, at_once), trigger(0.0, 0.0));
        assert_eq!(actions(&survey), [[every], [Action::StopTrigger]]);
    }
    let ended = file(trigger(12.5, 1.0), trigger(0.0, 1.0));
    let photo_and_end = vec![Action::Photo, Action::StopTrigger];
    assert_eq!(actions(&ended), [vec![every], photo_and_end]);
    let early = routed(wpl(&[trigger(0.0, 1.0), (3, 16, ZERO, NORTH, 20.0)]));
    assert!(early.waypoints[0].actions.is_empty());
    let said = left_out(&early);
    assert!(
        said.contains("DO_SET_CAM_TRIGG_DIST (1): it would take a photo before the first place"),
        "{said}"
    );
}

fn parameters(text: &str) -> crate::parameters::ParameterFile {
    match recognized(text).contents {
        Contents::Parameters(file) => file,
        other => panic!("{other:?}"),
    }
}

#[test]
fn parameter_files_of_three_programs_become_values_of_a_profile() {
    use crate::parameters::{BadParameters, profile};
    let planner = "#NOTE: saved at 14:03\r\nRTL_ALT,3000\r\nRTL_SPEED,0\r\nLAND_SPEED,50\r\nFS_GCS_ENABLE,5\r\nANGLE_MAX,3000\r\nARMING_CHECK,1\r\n\
                   BATT_CAPACITY,5200.000000\r\nCOMPASS_OFS_X,12.34\r\nSERIAL1_BAUD,57\r\n";
    let taken = profile(&parameters(planner), None, &[]).unwrap();
    assert_eq!(taken.autopilot, Autopilot::ArduPilot);
    assert_eq!(taken.values.get("BATT_CAPACITY").map(String::as_str), Some("5200"));
    let left: Vec<&String> = taken.left_out.values().flatten().collect();
    assert_eq!(left.len(), 3);
    assert!(
        ["ARMING_CHECK", "COMPASS_OFS_X", "SERIAL1_BAUD"]
            .iter()
            .all(|name| left.iter().any(|left| left == name))
    );
    assert!(
        taken
            .renamed
            .contains(&"RTL_ALT is named RTL_ALT_M from ArduCopter 4.7 on (cm, now m)".to_owned()),
        "{:?}",
        taken.renamed
    );
    let angle = "ANGLE_MAX is named ATC_ANGLE_MAX from ArduCopter 4.7 on (centidegrees, now degrees)";
    assert!(
        taken.renamed.iter().any(|renamed| renamed == angle),
        "{:?}",
        taken.renamed
    );
    let new = profile(&parameters("WP_SPD,5\nLAND_ALT_LOW_M,10\nFS_GCS_ENABLE,1\n"), None, &[]).unwrap();
    assert_eq!(
        new.renamed,
        [
            "LAND_ALT_LOW_M is named LAND_ALT_LOW until ArduCopter 4.6 (cm, now m)",
            "WP_SPD is named WPNAV_SPEED until ArduCopter 4.6 (cm/s, now m/s)",
        ]
    );
    let mavproxy = "# copter\nRTL_ALT          3000.000000\nFENCE_TYPE       7   # altitude, circle, polygon\n\nFS_THR_ENABLE    1\nBATT_FS_LOW_ACT  5\nATC_RAT_PIT_P 0.135000005\n";
    let taken = profile(&parameters(mavproxy), None, &[]).unwrap();
    assert_eq!(taken.values.get("ATC_RAT_PIT_P").map(String::as_str), Some("0.135"));
    assert_eq!(
        taken.left_out.values().flatten().collect::<Vec<_>>(),
        ["BATT_FS_LOW_ACT"]
    );
    let qgc = "# Onboard parameters for Vehicle 1\n#\n# Stack: PX4 Pro\n# Vehicle: Multi-Rotor\n#\n# Vehicle-Id Component-Id Name Value Type\n1\t1\tRTL_RETURN_ALT\t30.000000000000000000\t9\n\
               1\t1\tNAV_DLL_ACT\t2\t6\n1\t1\tCOM_OBC_LOSS_T\t5.0\t9\n1\t1\tCAL_ACC0_XOFF\t0.012345678000000000\t9\n";
    let taken = profile(&parameters(qgc), None, &[]).unwrap();
    assert_eq!(taken.autopilot, Autopilot::Px4);
    assert_eq!(taken.values.get("RTL_RETURN_ALT").map(String::as_str), Some("30"));
    assert_eq!(taken.renamed, ["COM_OBC_LOSS_T is gone from PX4 1.18"]);
    let brakes = profile(&parameters("PHLD_BRAKE_RATE,8\nFS_GCS_ENABLE,1\n"), None, &[]).unwrap();
    assert_eq!(
        brakes.renamed,
        ["PHLD_BRAKE_RATE is named PHLD_BRK_RATE from ArduCopter 4.7 on"]
    );
    assert_eq!(
        profile(&parameters(qgc), None, &["NAV_".to_owned()])
            .unwrap()
            .values
            .len(),
        1
    );
    let plane = "TECS_CLMB_MAX 5\nRTL_ALTITUDE 100\n";
    assert!(
        profile(&parameters(plane), None, &[])
            .unwrap_err()
            .to_string()
            .contains("those of a plane (TECS_CLMB_MAX)")
    );
    assert_eq!(
        profile(&parameters("1\t1\tFOO\t1\t9\n"), None, &[]),
        Err(BadParameters::Autopilot)
    );
    let odd = "LOG_BITMASK 0xff\nSIM_GPS1_BYTELOSS,0\nLOG_DISARMED 1 @READONLY\n";
    let odd = profile(&parameters(odd), None, &[]).unwrap();
    assert_eq!(odd.values.get("LOG_BITMASK").map(String::as_str), Some("255"));
    assert_eq!((odd.values.len(), odd.left_out.values().flatten().count()), (2, 1));
    let said = refused("@include ../defaults.parm\nLOG_BITMASK 1\n");
    assert!(
        said.contains("line 1 includes another file (@include ../defaults.parm); import that file too"),
        "{said}"
    );
    let none = profile(&parameters("COMPASS_OFS_X 1\nSERVO1_FUNCTION 33\n"), None, &[]).unwrap_err();
    let said = none.to_string();
    assert!(said.starts_with("none of the 2 parameters may be set"), "{said}");
    for part in [
        "COMPASS_OFS_X (1): it is measured",
        "SERVO1_FUNCTION (1): it can start or stop motors",
        "; give a file with others",
    ] {
        assert!(said.contains(part), "{said}");
    }
    let many: String = (0..200).map(|number| format!("PSC_X{number} 1\n")).collect();
    assert!(
        profile(&parameters(&many), None, &[])
            .unwrap_err()
            .to_string()
            .contains("200 parameters that may be set")
    );
    assert!(refused("RTL_ALT 1\nRTL_ALT 2\n").contains("line 2: RTL_ALT is 2, and 1 in line 1"));
    assert_eq!(
        parameters("RTL_ALT,3000\nATC_RAT_PIT_P 0,135\nA_B=1\n")
            .values
            .get("ATC_RAT_PIT_P")
            .map(|(value, _)| *value),
        Some(0.135)
    );
}

#[test]
fn files_of_other_kinds_are_refused_by_name_with_what_to_do() {
    let zip = |name: &str| zip(&[(name, "")]);
    for (bytes, expected) in [
        (zip("show.json"), "a Skybrush show"),
        (zip("wpmz/waylines.wpml"), "a mission of DJI"),
        (b"ULog\x01\x12".to_vec(), "a flight log of PX4"),
        (b"\n \n".to_vec(), "the file is empty"),
        (b"<?xml version=\"1.0\"?><gpx/>".to_vec(), "a GPX track"),
        (
            b"apiVersion: skein.dev/v1alpha1\nkind: Mission\n".to_vec(),
            "kubectl apply -f",
        ),
        (b"hello world\n".to_vec(), "of no kind that Skein reads"),
        (b"{\"fileType\": ".to_vec(), "JSON that is broken"),
        (
            b"[\n{\"type\": \"FeatureCollection\", \"features\": [},]}]".to_vec(),
            "JSON that is broken",
        ),
        (b"\x1f\x8b\x08\x00".to_vec(), "packed (gzip)"),
        (b"7z\xbc\xaf\x27\x1c\x00".to_vec(), "packed (7z)"),
        (b"<!DOCTYPE html>\n<html lang=\"en\">".to_vec(), "a web page"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n".to_vec(),
            "git lfs pull",
        ),
    ] {
        let said = refused(&bytes);
        assert!(said.contains(expected) && said.contains("; "), "{said}");
    }
    assert!(matches!(
        recognize::read(b"x", "show.SKYC", None),
        Err(Refused::Skybrush)
    ));
}

#[test]
fn a_refusal_sends_nobody_to_what_is_not_flown_either() {
    let jump = wpl(&[(3, 16, ZERO, NORTH, 20.0), (3, 177, [1.0, 3.0, 0.0, 0.0], OPEN, 0.0)]);
    let said = wrong(&jump);
    assert!(said.contains("--leave-out") && !said.contains("--keep-items"), "{said}");
    let above_terrain = wpl(&[
        (3, 22, ZERO, HOME, 20.0),
        (10, 16, ZERO, NORTH, 20.0),
        (11, 16, ZERO, EAST, 20.0),
    ]);
    let said = wrong(&above_terrain);
    for item in [
        "item 1 (NAV_WAYPOINT, line 4, number 2 in the file)",
        "item 2 (NAV_WAYPOINT, line 5, number 3 in the file)",
    ] {
        assert!(
            said.contains(&format!(
                "{item} cannot be flown by a Mission: its altitude is one above terrain"
            )),
            "{said}"
        );
    }
    assert!(!said.contains("--keep-items"), "{said}");
    let kept: Vec<String> = route::unchanged(&plan(&above_terrain))
        .iter()
        .map(ToString::to_string)
        .collect();
    assert!(kept.len() == 2 && kept[0].contains("above terrain"), "{kept:?}");
    let waits = wpl(&[(3, 16, ZERO, NORTH, 20.0), (3, 16, ZERO, EAST, 20.0)]).replace("\t20\t1\n", "\t20\t0\n");
    let said = wrong(&waits);
    assert!(
        said.contains(
            "item 1 (NAV_WAYPOINT, line 4, number 2 in the file) cannot be flown by a Mission: the vehicle would wait there for a person"
        ),
        "{said}"
    );
    assert!(!said.contains("--keep-items"), "{said}");
}

#[test]
fn a_mission_without_a_place_is_told_so_at_once() {
    let said = wrong(wpl(&[
        (3, 22, ZERO, HOME, 20.0),
        (3, 211, [1.0, 0.0, 0.0, 0.0], OPEN, 0.0),
    ]));
    assert!(
        said.contains("DO_GRIPPER") && said.contains("no item of the mission has a place that is flown to"),
        "{said}"
    );
}

#[test]
fn a_home_far_from_its_mission_is_said() {
    let far = |altitude: &str| {
        format!(
            "QGC WPL 110\n0\t1\t0\t16\t0\t0\t0\t0\t34.05\t-84.09\t306.20695936\t1\n{altitude}\t0\t0\t0\t0\t47.3983\t8.545594\t30.48\t1\n"
        )
    };
    let taken = routed(far("1\t0\t3\t16"));
    let said = taken.notes.join("\n");
    assert!(
        said.contains("home of the file is at 34.050000, -84.090000, ")
            && said.contains(" km from item 0 (NAV_WAYPOINT, line 3, number 1 in the file)"),
        "{said}"
    );
    // Two altitudes above mean sea level at two places prove nothing; both are named.
    let said = wrong(far("1\t0\t0\t16"));
    assert!(said.starts_with("home of the file is at 34.05"), "{said}");
    assert!(
        said.contains("is flown at 30.48 m above mean sea level, 276 m below home (306.21 m in this file)"),
        "{said}"
    );
}

#[test]
fn an_altitude_above_sea_that_is_the_one_of_home_is_on_the_ground() {
    let said = wrong(wpl(&[(0, 16, ZERO, NORTH, 488.0)]));
    assert!(
        said.contains("is flown at 488 m above mean sea level, at the altitude of home (488 m in this file)"),
        "{said}"
    );
}

#[test]
fn home_that_stands_twice_before_a_fence_is_no_mission() {
    let text = wpl(&[
        (0, 16, ZERO, HOME, 490.1),
        (3, 5001, [3.0, 0.0, 0.0, 0.0], HOME, 0.0),
        (3, 5001, [3.0, 0.0, 0.0, 0.0], NORTH, 1.0),
        (3, 5001, [3.0, 0.0, 0.0, 0.0], EAST, 2.0),
    ]);
    let read = plan(&text);
    assert_eq!((read.file.items.len(), corners(&read)), (0, vec![(Side::Inside, 3)]));
    assert!(
        read.notes.join("\n").contains("home stands again in line 3"),
        "{:?}",
        read.notes
    );
    assert_eq!(
        plan(
            text.replace(
                "\t490.1\t1\n",
                "\t490.1\t1\n9\t0\t3\t16\t0\t0\t0\t0\t47.3983\t8.5456\t20\t1\n"
            )
            .replace("\n2\t", "\n12\t")
            .replace("\n3\t", "\n13\t")
            .replace("\n4\t", "\n14\t")
        )
        .file
        .items
        .len(),
        2
    );
}

#[test]
fn two_lists_in_one_file_and_a_misspelled_header_are_named() {
    let one = wpl(&[(3, 16, ZERO, NORTH, 20.0)]);
    let (_, rows) = one.split_once('\n').unwrap();
    let said = refused(format!("{one}{rows}"));
    assert!(
        said.contains("a second list of items begins in line 4 (number 0 after 1)"),
        "{said}"
    );
    let said = refused(one.replace("WPL 110", "WP L110"));
    assert!(
        said.contains("the file begins with \"QGC WP L110\", and \"QGC WPL 110\" is read"),
        "{said}"
    );
}

#[test]
fn parameters_of_other_vehicles_are_refused_however_the_file_says_so() {
    use crate::parameters::profile;
    let header = |vehicle: &str| {
        format!(
            "# Onboard parameters for Vehicle 1\n#\n# Stack: PX4 Pro\n# Vehicle: {vehicle}\n#\n1\t1\tMC_ROLL_P\t6.5\t9\n1\t1\tMPC_XY_CRUISE\t5\t9\n"
        )
    };
    for (vehicle, what) in [
        ("VTOL", "a VTOL plane"),
        ("Fixed Wing", "a plane"),
        ("Rover", "a rover"),
        ("Sub", "a submarine"),
    ] {
        let said = profile(&parameters(&header(vehicle)), None, &[])
            .unwrap_err()
            .to_string();
        assert!(
            said.contains(&format!("those of {what} (Vehicle: {vehicle})")),
            "{said}"
        );
    }
    for vehicle in ["Multi-Rotor", "Quadrotor", "Hexarotor", "Generic"] {
        assert!(profile(&parameters(&header(vehicle)), None, &[]).is_ok(), "{vehicle}");
    }
    let vtol = "MC_ROLL_P 6.5\nMPC_XY_CRUISE 5\nVT_TYPE 2\n";
    let said = profile(&parameters(vtol), None, &[]).unwrap_err().to_string();
    assert!(said.contains("those of a VTOL plane (VT_TYPE)"), "{said}");
    // Copters of PX4 list some of these.
    assert!(
        profile(
            &parameters("MC_ROLL_P 6.5\nFW_AIRSPD_MAX 20\nVT_B_DEC_MSS 2\n"),
            None,
            &[]
        )
        .is_ok()
    );
    for name in [
        "NAVL1_PERIOD",
        "LIM_PITCH_MAX",
        "RLL_RATE_P",
        "PTCH_LIM_MAX_DEG",
        "AIRSPEED_CRUISE",
    ] {
        let said = profile(&parameters(&format!("BATT_MONITOR 4\n{name} 20\n")), None, &[])
            .unwrap_err()
            .to_string();
        assert!(said.contains(&format!("those of a plane ({name})")), "{said}");
    }
}

#[test]
fn kml_with_a_remark_before_it_is_kml() {
    let polygon = "<Placemark><Polygon><outerBoundaryIs><LinearRing><coordinates>8.5456,47.3977 8.5466,47.3977 8.5466,47.3987 8.5456,47.3977\
                   </coordinates></LinearRing></outerBoundaryIs></Polygon></Placemark>";
    let text = format!(
        "exported by hand\n<?xml version=\"1.0\"?>\n<kml xmlns=\"http://www.opengis.net/kml/2.2\"><Document>{polygon}</Document></kml>\n"
    );
    assert_eq!(recognized(&text).kind, "KML");
    let said = refused("see <kml> in the manual");
    assert!(said.contains("of no kind that Skein reads"), "{said}");
}
