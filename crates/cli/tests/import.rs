//! The program `skein import`: one file of each kind, its objects, messages and exit codes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Output, Stdio};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.0.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_string_lossy().into_owned()
    }
}

fn skein(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_skein"));
    command.args(args).stdin(Stdio::null()).env_clear();
    command.output().unwrap()
}

fn imported(args: &[&str]) -> (Vec<Value>, String) {
    let output = skein(&[&["import"], args].concat());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{args:?}: {said}");
    let documents = serde_saphyr::from_multiple(&String::from_utf8(output.stdout).unwrap()).unwrap();
    (documents, said)
}

/// Nothing is printed.
fn refused(args: &[&str]) -> (Option<i32>, String) {
    let output = skein(&[&["import"], args].concat());
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{args:?}");
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

fn titles(documents: &[Value]) -> Vec<String> {
    let part = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    documents
        .iter()
        .map(|document| format!("{} {}", part(&document["kind"]), part(&document["metadata"]["name"])))
        .collect()
}

fn item(id: usize, command: u16, place: Option<[f64; 2]>, altitude: f64) -> Value {
    let frame = if place.is_some() { 3 } else { 2 };
    json!({"autoContinue": true, "command": command, "doJumpId": id, "frame": frame, "type": "SimpleItem",
           "params": [0, 0, 0, null, place.map(|at| at[0]), place.map(|at| at[1]), altitude]})
}

fn plan(items: &[Value]) -> Value {
    json!({"fileType": "Plan", "version": 1, "groundStation": "QGroundControl",
           "geoFence": {"circles": [], "polygons": [], "version": 2}, "rallyPoints": {"points": [], "version": 2},
           "mission": {"items": items, "plannedHomePosition": [47.3977, 8.5456, 488], "vehicleType": 2, "version": 2}})
}

const NORTH: [f64; 2] = [47.3983, 8.5456];

fn whole_plan() -> String {
    let mut plan = plan(&[
        item(1, 22, Some([47.3977, 8.5456]), 20.0),
        item(2, 16, Some(NORTH), 20.0),
        item(3, 20, None, 0.0),
    ]);
    plan["geoFence"]["polygons"] = json!([{"inclusion": true, "version": 1, "polygon": [[47.396, 8.544], [47.396, 8.547], [47.3995, 8.547], [47.3995, 8.544]]}]);
    plan["geoFence"]["circles"] =
        json!([{"inclusion": false, "version": 1, "circle": {"center": [47.397, 8.546], "radius": 20}}]);
    plan["rallyPoints"]["points"] = json!([[47.397, 8.545, 30]]);
    plan.to_string()
}

#[test]
fn a_plan_becomes_a_mission_and_a_geofence_and_rally_points_are_said() {
    let folder = Folder::new();
    let file = folder.file("north field.plan", whole_plan());
    let (documents, said) = imported(&[&file]);
    assert_eq!(
        titles(&documents),
        ["Mission north-field", "Geofence north-field-fence"]
    );
    let fence = &documents[1]["spec"];
    assert_eq!(fence["include"][0]["polygon"].as_array().unwrap().len(), 4);
    assert_eq!(fence["exclude"][0]["circle"]["radiusMeters"], 20.0);
    for expected in [
        "rally points are not taken (1): Skein brings vehicles home",
        "left out: takeoff (1)",
        "holds for all Vehicles",
    ] {
        assert!(said.contains(expected), "{said}");
    }
    let (documents, said) = imported(&[&file, "--kind", "geofence", "--vehicles", "site=north", "--name", "pen"]);
    assert_eq!(titles(&documents), ["Geofence pen-fence"]);
    assert_eq!(documents[0]["spec"]["vehicleSelector"]["matchLabels"]["site"], "north");
    assert!(
        said.contains("left out: the mission (3 items)") && !said.contains("all Vehicles"),
        "{said}"
    );
    let out = folder.0.path().join("out");
    let output = skein(&["import", &file, "--output", &out.to_string_lossy()]);
    assert!(output.status.success());
    assert!(out.join("mission-north-field.yaml").exists() && out.join("geofence-north-field-fence.yaml").exists());
    let again = skein(&["import", &file, "--output", &out.to_string_lossy()]);
    assert!(String::from_utf8_lossy(&again.stderr).contains("cannot write"));
}

#[test]
fn places_outside_of_the_fence_of_their_own_file_are_named() {
    let folder = Folder::new();
    let file = |places: &[[f64; 2]]| {
        let items = (1..).zip(places).map(|(id, place)| item(id, 16, Some(*place), 20.0));
        let mut plan = plan(&items.collect::<Vec<_>>());
        let circle = |radius: u32, inclusion: bool, north: f64| json!({"inclusion": inclusion, "version": 1, "circle": {"center": [47.3977 + north, 8.5456], "radius": radius}});
        plan["geoFence"]["circles"] = json!([circle(300, true, 0.0), circle(20, false, 0.001)]);
        folder.file("fenced.plan", plan.to_string())
    };
    let far = [47.4022, 8.5456];
    let (documents, said) = imported(&[&file(&[NORTH, far, [47.3987, 8.5456]])]);
    assert_eq!(titles(&documents), ["Mission fenced", "Geofence fenced-fence"]);
    let named = "NOTE: places of the mission that the fence of the same file forbids: 2 (item 1 (NAV_WAYPOINT, number 2 in QGroundControl) by 2";
    assert!(
        said.contains(named) && said.contains("item 2 (NAV_WAYPOINT, number 3 in QGroundControl) by 20 m)"),
        "{said}"
    );
    let (_, said) = imported(&[&file(&[NORTH])]);
    assert!(!said.contains("NOTE:"), "{said}");
}

#[test]
fn files_are_written_all_or_none() {
    let folder = Folder::new();
    let file = folder.file("field.plan", whole_plan());
    let out = folder.0.path().join("out");
    std::fs::create_dir(&out).unwrap();
    // The second of two files exists already.
    let other = out.join("geofence-field-fence.yaml");
    std::fs::write(&other, "other").unwrap();
    let refused = skein(&["import", &file, "--output", &out.to_string_lossy()]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        said.contains("geofence-field-fence.yaml") && said.contains("no file was written"),
        "{said}"
    );
    assert_eq!(refused.stdout, b"");
    assert!(!out.join("mission-field.yaml").exists());
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "other");
    std::fs::remove_file(&other).unwrap();
    let bad = folder.file("bad.plan", "{");
    let refused = skein(&["import", &file, &bad, "--output", &out.to_string_lossy()]);
    assert_eq!(refused.status.code(), Some(1));
    assert_eq!(std::fs::read_dir(&out).unwrap().count(), 0);
}

#[test]
fn an_output_that_is_named_like_a_file_becomes_no_folder() {
    let folder = Folder::new();
    let file = folder.file("field.plan", whole_plan());
    for name in ["field.yaml", "field.YML", "field.json"] {
        let out = folder.0.path().join(name);
        let path = out.to_string_lossy();
        let (code, said) = refused(&[&file, "--output", &path]);
        assert_eq!(code, Some(2), "{said}");
        assert!(
            said.contains("is taken for a folder") && said.contains(&format!("with > {path}")),
            "{said}"
        );
        assert!(!out.exists());
    }
    let (code, said) = refused(&[&file, "--output", &file]);
    assert!(
        code == Some(2) && said.contains("field.plan is a file, and has to be a folder"),
        "{said}"
    );
    let out = folder.0.path().join("is-a-folder.yaml");
    std::fs::create_dir(&out).unwrap();
    assert!(skein(&["import", &file, "-o", &out.to_string_lossy()]).status.success());
    assert!(out.join("mission-field.yaml").exists());
}

#[test]
fn an_option_that_fits_none_of_the_files_is_refused() {
    let folder = Folder::new();
    let plan = folder.file("field.plan", whole_plan());
    let parameters = folder.file("a.param", "WPNAV_SPEED,500\n");
    let (plan, parameters) = (plan.as_str(), parameters.as_str());
    for (args, option) in [
        (
            vec![plan, "--altitude", "40"],
            "--altitude is for areas of a map that become surveys",
        ),
        (vec![plan, "--as", "survey"], "--as is for areas of a map"),
        (vec![plan, "--autopilot", "px4"], "--autopilot is for a parameter file"),
        (vec![plan, "--only", "RTL"], "--only is for a parameter file"),
        (
            vec![plan, "--kind", "mission", "--vehicles", "a=b"],
            "--vehicles is for what becomes a Geofence",
        ),
        (
            vec![plan, "--kind", "geofence", "--keep-items"],
            "--keep-items is for a mission",
        ),
        (
            vec![parameters, "--autopilot", "ardupilot", "--leave-out"],
            "--leave-out is for a mission",
        ),
        (
            vec![parameters, "--autopilot", "ardupilot", "--spacing", "10"],
            "--spacing is for areas",
        ),
    ] {
        let (code, said) = refused(&args);
        assert_eq!(code, Some(2), "{args:?}: {said}");
        assert!(
            said.contains(option) && said.contains("leave it out"),
            "{args:?}: {said}"
        );
    }
    let (code, said) = refused(&[plan, "--vehicles", "a=b", "--vehicles", "a=c"]);
    assert!(code == Some(2) && said.contains("--vehicles names a twice"), "{said}");
    let (documents, _) = imported(&[plan, parameters, "--autopilot", "ardupilot", "--leave-out"]);
    assert_eq!(documents.len(), 3, "each option fits one of them");
    let (code, said) = refused(&[parameters, "--kind", "geofence"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("nothing was made"), "{said}");
}

#[test]
fn items_of_a_gimbal_are_kept_and_camera_setup_is_left_out() {
    let folder = Folder::new();
    let items = [
        item(1, 530, None, 0.0),
        item(2, 16, Some(NORTH), 20.0),
        item(3, 205, None, 0.0),
        item(4, 16, Some([47.3977, 8.5462]), 20.0),
    ];
    let file = folder.file("gimbal.plan", plan(&items).to_string());
    let (documents, said) = imported(&[&file]);
    assert_eq!(titles(&documents), ["ConfigMap gimbal", "Mission gimbal"]);
    assert!(
        !documents[0]["data"]["mission.plan"].as_str().unwrap().contains("530"),
        "{documents:?}"
    );
    assert!(
        said.contains("a route does not have item 2 (DO_MOUNT_CONTROL, number 3 in QGroundControl)")
            && said.contains("--leave-out"),
        "{said}"
    );
    assert!(said.contains("left out: SET_CAMERA_MODE (1)"), "{said}");
    let kept = folder.file("kept.yaml", skein(&["import", &file]).stdout);
    let preview = skein(&["mission", "preview", &kept]);
    assert!(preview.status.success() && !String::from_utf8_lossy(&preview.stdout).contains("does not fly"));
    let (documents, said) = imported(&[&file, "--leave-out"]);
    assert_eq!(documents[0]["spec"]["route"]["waypoints"].as_array().unwrap().len(), 2);
    assert!(said.contains("left out: DO_MOUNT_CONTROL (1)"), "{said}");
}

#[test]
fn a_kept_mission_is_previewed_without_its_takeoff_wherever_that_is() {
    let folder = Folder::new();
    let mut open = item(1, 22, None, 20.0);
    open["frame"] = json!(3);
    let takeoffs = [
        open,
        item(1, 22, Some([0.0, 0.0]), 20.0),
        item(1, 22, Some([47.3977, 8.5456]), 20.0),
    ];
    for takeoff in takeoffs {
        for end in [item(5, 20, None, 0.0), item(5, 21, Some([0.0, 0.0]), 0.0)] {
            let items = [
                takeoff.clone(),
                item(2, 16, Some(NORTH), 20.0),
                item(3, 205, None, 0.0),
                item(4, 16, Some([47.3977, 8.5462]), 20.0),
                end,
            ];
            let file = folder.file("gimbal.plan", plan(&items).to_string());
            let kept = folder.file("kept.yaml", skein(&["import", &file]).stdout);
            let preview = skein(&["mission", "preview", &kept]);
            let said = String::from_utf8_lossy(&preview.stderr).into_owned();
            assert!(preview.status.success(), "{takeoff}: {said}");
            let said = String::from_utf8(preview.stdout).unwrap();
            assert!(
                said.contains("  places   2\n") && !said.contains("does not fly"),
                "{takeoff}: {said}"
            );
        }
    }
}

#[test]
fn items_that_no_mission_flies_are_not_kept_and_nothing_is_printed() {
    let folder = Folder::new();
    let kept = |of: &[Value]| refused(&[&folder.file("a.plan", plan(of).to_string()), "--keep-items"]);
    let (first, last) = (
        item(1, 16, Some(NORTH), 20.0),
        item(3, 16, Some([47.3977, 8.5462]), 20.0),
    );
    let mut wide = first.clone();
    wide["params"][1] = json!(25);
    let mut local = item(2, 16, Some(NORTH), 20.0);
    local["frame"] = json!(1);
    let route = "leave out --keep-items, and the file becomes a route";
    for (items, why, advice) in [
        (
            vec![first.clone(), item(2, 177, None, 0.0), last.clone()],
            "item 1 (DO_JUMP, number 2 in QGroundControl) cannot be part of a flight; remove it",
            "with --leave-out",
        ),
        (vec![first.clone(), local, last.clone()], "item 1 ", ""),
        (vec![wide, last.clone()], "25 m from it", route),
        (
            vec![
                first.clone(),
                item(2, 21, Some(NORTH), 0.0),
                item(3, 22, Some(NORTH), 20.0),
                last.clone(),
            ],
            "comes after a landing or return",
            route,
        ),
        (
            vec![first, item(2, 82, Some(NORTH), 20.0), last],
            "leaves the straight way",
            "",
        ),
    ] {
        let (code, said) = kept(&items);
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains(why) && said.contains(advice), "{said}");
    }
}

#[test]
fn a_servo_is_not_blamed_for_what_another_item_prevents() {
    let folder = Folder::new();
    let said = |second: Value| {
        let items = [
            item(1, 16, Some(NORTH), 20.0),
            item(2, 183, None, 0.0),
            second,
            item(4, 16, Some([47.3977, 8.5456]), 20.0),
        ];
        let (code, said) = refused(&[&folder.file("servo.plan", plan(&items).to_string())]);
        assert_eq!(code, Some(1), "{said}");
        said
    };
    let mut wide = item(3, 16, Some([47.3977, 8.5462]), 20.0);
    wide["params"][1] = json!(25);
    let mut open = item(3, 19, None, 20.0);
    open["frame"] = json!(3);
    let named = "a route does not have item 1 (DO_SET_SERVO, number 2 in QGroundControl); mend what is said above";
    for (second, why) in [
        (wide, "item 2 takes its place for reached 25 m from it"),
        (
            open,
            "item 2 (NAV_LOITER_TIME, number 3 in QGroundControl) has no place",
        ),
    ] {
        let said = said(second);
        let why = format!("skein: the items cannot be kept unchanged: {why}");
        assert!(said.contains(&why) && said.contains(named), "{said}");
        assert!(said.contains("--leave-out"), "{said}");
    }
    let high = said(item(3, 16, Some([47.3977, 8.5462]), 150.0));
    assert!(
        high.contains("150 m above home") && !high.contains("DO_SET_SERVO"),
        "{high}"
    );
    let jump = said(item(3, 177, None, 0.0));
    assert!(jump.contains("DO_JUMP") && !jump.contains("DO_SET_SERVO"), "{jump}");
}

#[test]
fn a_preview_names_what_is_not_flown_as_the_file_does() {
    let folder = Folder::new();
    let preview = |item_3: Value| {
        let takeoff = item(1, 22, Some([0.0, 0.0]), 20.0);
        let last = item(4, 16, Some([47.3977, 8.5462]), 20.0);
        let plan = plan(&[takeoff, item(2, 16, Some(NORTH), 20.0), item_3, last]).to_string();
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}, "data": {"c": plan}});
        let mission = "apiVersion: skein.dev/v1alpha1\nkind: Mission\nmetadata: {name: a}\n\
                       spec: {planFrom: {configMapKeyRef: {name: b, key: c}}}\n";
        skein(&[
            "mission",
            "preview",
            &folder.file("a.yaml", format!("{map}\n---\n{mission}")),
        ])
    };
    let drawn = preview(item(3, 208, None, 0.0));
    let said = String::from_utf8_lossy(&drawn.stdout).into_owned();
    assert!(drawn.status.success(), "{}", String::from_utf8_lossy(&drawn.stderr));
    assert!(
        said.contains("  places   2\n")
            && said.contains(
                "unchanged: item 2 (DO_PARACHUTE, number 3 in QGroundControl) cannot be part of a flight; remove it"
            ),
        "{said}"
    );
    let mut local = item(3, 16, Some(NORTH), 20.0);
    local["frame"] = json!(1);
    let said = String::from_utf8(preview(local).stderr).unwrap();
    assert!(
        said.contains(
            "item 2 (NAV_WAYPOINT, number 3 in QGroundControl): frame 1 has no counterpart in a route; change it"
        ),
        "{said}"
    );
}

#[test]
fn kept_items_say_what_is_not_flown_and_where_the_file_lands() {
    let folder = Folder::new();
    let mut photos = item(3, 2000, None, 0.0);
    photos["params"] = json!([0, 2, 0, 0, null, null, null]);
    let items = [
        item(1, 22, Some([47.3977, 8.5456]), 20.0),
        item(2, 16, Some(NORTH), 20.0),
        photos,
        item(4, 16, Some([47.3977, 8.5462]), 20.0),
        item(5, 21, Some([47.4007, 8.5456]), 0.0),
    ];
    let file = folder.file("timed.plan", plan(&items).to_string());
    for options in [&[][..], &["--keep-items"]] {
        let (documents, said) = imported(&[&[file.as_str()], options].concat());
        assert_eq!(titles(&documents), ["ConfigMap timed", "Mission timed"]);
        for part in [
            "left out: takeoff (1)",
            "left out: return or landing (1)",
            " m from home: Skein lands vehicles where they took off",
        ] {
            assert!(said.contains(part), "{options:?}: {said}");
        }
    }
    let import = skein(&["import", &file]);
    let said = String::from_utf8(import.stderr).unwrap();
    assert!(
        said.contains("the items are kept, except those named as left out, and flown"),
        "{said}"
    );
    let preview = skein(&["mission", "preview", &folder.file("kept.yaml", import.stdout)]);
    let said = String::from_utf8(preview.stdout).unwrap();
    assert!(said.contains("  photos   by time, not counted\n"), "{said}");
    let bare = folder.file(
        "bare.plan",
        plan(&[item(1, 16, Some(NORTH), 20.0), item(2, 205, None, 0.0)]).to_string(),
    );
    let (_, said) = imported(&[&bare]);
    assert!(
        said.contains("the items are kept unchanged and flown") && !said.contains("left out:"),
        "{said}"
    );
}

#[test]
fn altitudes_above_the_sea_without_a_home_are_named_on_import_and_in_preview() {
    let folder = Folder::new();
    let row =
        |number: u32, place: &str, altitude: u32| format!("{number}\t0\t0\t16\t0\t0\t0\t0\t{place}\t{altitude}\t1\n");
    let of = |home: u32| {
        let rows = [
            row(0, "47.397742\t8.545594", home),
            row(1, "47.398\t8.5456", 500),
            row(2, "47.3983\t8.5462", 500),
        ];
        format!("QGC WPL 110\n{}", rows.concat())
    };
    let named = "altitudes above mean sea level (item 0 (NAV_WAYPOINT, line 3, number 1 in the file) is flown at 500 m, and 1 more)";
    for (home, is_named) in [(0, true), (488, false)] {
        let file = folder.file("sea.waypoints", of(home));
        let import = skein(&["import", &file, "--keep-items"]);
        assert_eq!(String::from_utf8_lossy(&import.stderr).contains(named), is_named);
        let kept = folder.file("kept.yaml", import.stdout);
        let preview = skein(&["mission", "preview", &kept]);
        let said = String::from_utf8(preview.stdout).unwrap();
        assert!(preview.status.success(), "{said}");
        assert_eq!(said.contains(&format!("NOTE: {named}")), is_named, "{said}");
    }
}

#[test]
fn what_contradicts_itself_is_refused_on_import_and_in_preview() {
    let folder = Folder::new();
    let below = "QGC WPL 110\n0\t1\t0\t16\t0\t0\t0\t0\t47.397742\t8.545594\t488.0\t1\n1\t0\t0\t16\t0\t0\t0\t0\t47.398\t8.5456\t50\t1\n";
    let file = folder.file("below.waypoints", below);
    for args in [&[file.as_str()][..], &[&file, "--keep-items"]] {
        let (code, said) = refused(args);
        assert_eq!(code, Some(1));
        assert!(
            said.contains("438 m below home") && said.contains("--above-home"),
            "{said}"
        );
    }
    let (documents, _) = imported(&[&file, "--above-home"]);
    assert_eq!(documents[0]["spec"]["route"]["waypoints"][0]["altitudeMeters"], 50.0);
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}, "data": {"c": below}});
    let mission = "apiVersion: skein.dev/v1alpha1\nkind: Mission\nmetadata: {name: a}\nspec: {planFrom: {configMapKeyRef: {name: b, key: c}}}\n";
    let kept = folder.file("kept.yaml", format!("{map}\n---\n{mission}"));
    let preview = skein(&["mission", "preview", &kept]);
    assert!(String::from_utf8_lossy(&preview.stderr).contains("438 m below home"));
    let far = folder.file(
        "far.plan",
        plan(&[item(1, 16, Some(NORTH), 20.0), item(2, 16, Some([47.62, 8.6]), 20.0)]).to_string(),
    );
    for args in [&[far.as_str()][..], &[&far, "--keep-items"]] {
        let (code, said) = refused(args);
        assert!(
            code == Some(1) && said.contains("is 25 km from the first place"),
            "{said}"
        );
    }
    let left = "QGC WPL 110\n0\t1\t0\t16\t0\t0\t0\t0\t47.397742\t8.545594\t488.0\t1\n1\t0\t3\t16\t0\t0\t0\t0\t0\t0\t20\t1\n2\t0\t3\t16\t0\t0\t0\t0\t47.398\t8.5456\t20\t1\n";
    let (code, said) = refused(&[&folder.file("left.waypoints", left), "--keep-items"]);
    assert!(
        code == Some(1) && said.contains("item 0 (NAV_WAYPOINT, line 3, number 1 in the file) has no place"),
        "{said}"
    );
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}, "data": {"c": left}});
    let preview = skein(&[
        "mission",
        "preview",
        &folder.file("left.yaml", format!("{map}\n---\n{mission}")),
    ]);
    let said = String::from_utf8_lossy(&preview.stderr).into_owned();
    assert!(
        said.contains("item 0 (NAV_WAYPOINT, line 3, number 1 in the file) has no place"),
        "{said}"
    );
    let open = plan(&[item(1, 16, None, 20.0), item(2, 16, Some(NORTH), 0.0)]).to_string();
    let (_, said) = refused(&[&folder.file("open.plan", open)]);
    assert!(
        said.contains("item 0 (NAV_WAYPOINT, number 1 in QGroundControl) has no place"),
        "{said}"
    );
    assert!(
        said.contains("\nskein: item 1 (NAV_WAYPOINT, number 2 in QGroundControl) is flown at 0 m above home"),
        "{said}"
    );
    let (code, said) = refused(&[&folder.file("rally.txt", "RALLY 47.398012 8.545993 40 20 0 0\n")]);
    assert!(code == Some(1) && said.contains("rally points only"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn the_kind_of_vehicle_is_refused_before_its_items() {
    let folder = Folder::new();
    let items: Vec<Value> = (1..=15).map(|id| item(id, 16, Some(NORTH), 300.0)).collect();
    let mut file = plan(&items);
    file["mission"]["vehicleType"] = json!(1);
    let file = folder.file("wing.plan", file.to_string());
    for options in [&[][..], &["--keep-items"]] {
        let (code, said) = refused(&[&[file.as_str()], options].concat());
        assert!(
            code == Some(1) && said.starts_with("skein: the mission was planned for a plane"),
            "{said}"
        );
        assert!(!said.contains("more like these"), "{said}");
    }
    let (_, said) = refused(&[&file]);
    assert!(
        said.contains("(15 items; also item 1 (") && said.lines().count() == 2,
        "{said}"
    );
}

#[test]
fn beyond_70_degrees_of_latitude_the_latitude_is_said_and_below_all_is_as_usual() {
    let folder = Folder::new();
    let field = |latitude: f64| {
        let ring = [
            [10.0, latitude],
            [10.002, latitude],
            [10.002, latitude + 0.001],
            [10.0, latitude],
        ];
        let text = json!({"type": "Polygon", "coordinates": [ring]}).to_string();
        folder.file("field.geojson", text)
    };
    let survey = ["--as", "survey", "--altitude", "40", "--spacing", "20"];
    for latitude in [-60.5, 69.9] {
        let file = field(latitude);
        let (documents, _) = imported(&[&[file.as_str()][..], &survey].concat());
        assert_eq!(titles(&documents), ["Mission field"], "{latitude}");
        assert_eq!(imported(&[&file, "--as", "inclusion"]).0.len(), 1);
    }
    for (latitude, words) in [(-71.0, "latitude -71.0000"), (85.0, "latitude 85.00")] {
        let file = field(latitude);
        for purpose in [&survey[..], &["--as", "exclusion"]] {
            let (code, said) = refused(&[&[file.as_str()][..], purpose].concat());
            assert!(
                code == Some(1) && said.contains(words) && said.contains("between 70° south and 70° north"),
                "{said}"
            );
        }
    }
    let route = "apiVersion: skein.dev/v1alpha1\nkind: Mission\nmetadata: {name: a}\nspec: {route: {waypoints: [\
                 {latitudeDegrees: 72.5, longitudeDegrees: 0, altitudeMeters: 40}, {latitudeDegrees: 72.501, longitudeDegrees: 0, altitudeMeters: 40}]}}\n";
    let preview = skein(&["mission", "preview", &folder.file("route.yaml", route)]);
    let said = String::from_utf8_lossy(&preview.stderr).into_owned();
    assert!(
        said.contains("latitude 72.5 is too near to a pole; Skein flies between"),
        "{said}"
    );
}

#[test]
fn an_area_across_the_180th_meridian_is_a_survey_and_no_fence() {
    let folder = Folder::new();
    let ring = json!([
        [179.9985, -16.843],
        [-179.999, -16.843],
        [-179.9992, -16.841],
        [179.9987, -16.8408],
        [179.9985, -16.843]
    ]);
    let file = folder.file(
        "fiji.geojson",
        json!({"type": "Polygon", "coordinates": [ring]}).to_string(),
    );
    let (documents, _) = imported(&[&file, "--as", "survey", "--altitude", "40", "--spacing", "20"]);
    assert_eq!(titles(&documents), ["Mission fiji"]);
    for purpose in ["inclusion", "exclusion"] {
        let (code, said) = refused(&[&file, "--as", purpose]);
        assert!(
            code == Some(1) && said.contains("it crosses the 180th meridian") && said.contains("let it end there"),
            "{said}"
        );
    }
}

fn geojson(count: u32, radius: f64) -> String {
    let corner = |index: u32| {
        let angle = std::f64::consts::TAU * f64::from(index % count) / f64::from(count);
        [
            8.5456 + radius * angle.cos() / 75_000.0,
            47.3977 + radius * angle.sin() / 111_000.0,
        ]
    };
    let ring: Vec<[f64; 2]> = (0..=count).map(corner).collect();
    json!({"type": "FeatureCollection", "features": [{"type": "Feature", "properties": {"name": "meadow"}, "geometry": {"type": "Polygon", "coordinates": [ring]}}]}).to_string()
}

#[test]
fn an_area_is_what_it_is_said_to_be() {
    let folder = Folder::new();
    let file = folder.file("field.geojson", geojson(1100, 150.0));
    let (code, said) = refused(&[&file]);
    assert_eq!(code, Some(2));
    assert!(
        said.contains("\"meadow\"") && said.contains("--as survey --altitude METERS --spacing METERS"),
        "{said}"
    );
    assert_eq!(refused(&[&file, "--as", "survey"]).0, Some(2));
    let check = skein(&["import", "--check", &file]);
    let said = String::from_utf8(check.stdout).unwrap();
    assert_eq!(check.status.code(), Some(0), "{said}");
    assert!(
        said.contains("GeoJSON: 1 area; say what it is with --as survey|inclusion|exclusion\n  an area (\"meadow\""),
        "{said}"
    );
    let check = skein(&["import", "--check", &file, "--as", "inclusion"]);
    assert!(
        String::from_utf8(check.stdout)
            .unwrap()
            .contains("GeoJSON: Geofence field\n")
    );
    let (documents, said) = imported(&[&file, "--as", "survey", "--altitude", "40", "--spacing", "20"]);
    assert_eq!(titles(&documents), ["Mission field"]);
    assert_eq!(
        documents[0]["spec"]["survey"]["area"]["polygon"]
            .as_array()
            .unwrap()
            .len(),
        500
    );
    assert!(
        said.contains("1100 corners were simplified to 500; its edge moved inward by up to 0.0"),
        "{said}"
    );
    let (documents, said) = imported(&[&file, "--as", "exclusion"]);
    assert_eq!(
        documents[0]["spec"]["exclude"][0]["polygon"].as_array().unwrap().len(),
        255
    );
    assert!(said.contains("moved outward by up to"), "{said}");
    assert_eq!(
        imported(&[&file, "--as", "inclusion"]).0[0]["spec"]["include"][0]["polygon"]
            .as_array()
            .unwrap()
            .len(),
        255
    );
    let bow = json!({"type": "Polygon", "coordinates": [[[8.545, 47.397], [8.547, 47.399], [8.547, 47.397], [8.545, 47.399], [8.545, 47.397]]]});
    let (code, said) = refused(&[&folder.file("bow.json", bow.to_string()), "--as", "inclusion"]);
    assert!(
        code == Some(1) && said.contains("the edge from corner 1 to 2 meets the edge from corner 3 to 4 at 47.398"),
        "{said}"
    );
}

#[test]
fn an_area_with_more_holes_than_a_mission_has_becomes_several() {
    let square = |east: f64, north: f64, half: f64| {
        let corners = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0)];
        corners.map(|(x, y)| {
            [
                8.5456 + (east + half * x) / 75_000.0,
                47.3977 + (north + half * y) / 111_000.0,
            ]
        })
    };
    let hole = |number: u32| {
        let at = [number % 8, number / 8].map(|place| (f64::from(place) - 3.5) * 40.0);
        square(at[0], at[1], 4.0)
    };
    let rings: Vec<[[f64; 2]; 5]> = std::iter::once(square(0.0, 0.0, 200.0))
        .chain((0..64).map(hole))
        .collect();
    let folder = Folder::new();
    let file = folder.file(
        "orchard.geojson",
        json!({"type": "Polygon", "coordinates": rings}).to_string(),
    );
    let (documents, said) = imported(&[&file, "--as", "survey", "--altitude", "40", "--spacing", "20"]);
    assert_eq!(titles(&documents), ["Mission orchard-1", "Mission orchard-2"]);
    assert!(
        said.contains("divided into 2 areas, as 260 corners and 64 holes are too many for one"),
        "{said}"
    );
    for document in &documents {
        let holes = document["spec"]["survey"]["area"]["holes"].as_array().unwrap();
        assert_eq!(holes.len(), 32, "{said}");
    }
}

#[test]
fn parameters_become_a_profile_that_reports() {
    let folder = Folder::new();
    let file = folder.file(
        "x500.param",
        "RTL_ALT,3000\r\nCOMPASS_OFS_X,12.34\r\nFS_GCS_ENABLE,5\r\n",
    );
    let (documents, said) = imported(&[&file, "--vehicles", "model=x500"]);
    assert_eq!(titles(&documents), ["ParameterProfile x500"]);
    assert_eq!(
        documents[0]["spec"]["ardupilot"],
        json!({"RTL_ALT": "3000", "FS_GCS_ENABLE": "5"})
    );
    assert_eq!(documents[0]["spec"].get("enforce"), None);
    for expected in [
        "left out: COMPASS_OFS_X (1): it is measured on one vehicle",
        "RTL_ALT is named RTL_ALT_M from ArduCopter 4.7",
        "set spec.enforce to Apply",
    ] {
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn several_files_are_checked_at_once_and_nothing_is_printed_if_one_is_wrong() {
    let folder = Folder::new();
    let good = folder.file("good.plan", whole_plan());
    let bad = folder.file("bad.waypoints", "QGC WPL 110\n0\t1\t0\t16\t0\n");
    let (code, said) = refused(&[&good, &bad]);
    assert!(
        code == Some(1) && said.contains("bad.waypoints: line 2 has 5 values, not 12"),
        "{said}"
    );
    let output = skein(&["import", "--check", &good, &bad]);
    let report = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        report.contains("good.plan: a QGroundControl plan: Mission good, Geofence good-fence\n  "),
        "{report}"
    );
    let (code, said) = refused(&[&good, &good]);
    assert!(code == Some(1) && said.contains("Mission good is made twice"), "{said}");
    assert_eq!(
        skein(&["--server", "http://127.0.0.1:1", "import", &good])
            .status
            .code(),
        Some(2)
    );
    assert!(Path::new(&good).exists());
}

#[test]
fn an_object_that_is_too_large_for_an_annotation_is_said() {
    let folder = Folder::new();
    let row = |number: u32| match number % 7 {
        1 => format!("{number}\t0\t3\t16\t0\t0\t0\t0\t47.39{number:05}\t8.5456\t20\t1\n"),
        _ => format!("{number}\t0\t2\t205\t-45.5\t0\t0.25\t0\t0\t0\t0\t1\n"),
    };
    let rows: String = (1..=6000).map(row).collect();
    let home = "QGC WPL 110\n0\t1\t0\t16\t0\t0\t0\t0\t47.397742\t8.545594\t488.0\t1\n";
    let file = folder.file("long.waypoints", format!("{home}{rows}"));
    let (_, said) = imported(&[&file, "--keep-items"]);
    assert!(
        said.contains("ConfigMap long has ") && said.contains("kubectl apply --server-side"),
        "{said}"
    );
}

#[test]
fn an_area_at_0_0_is_doubted() {
    let folder = Folder::new();
    let area = r#"{"type":"Polygon","coordinates":[[[0,0],[0,0.001],[0.001,0.001],[0,0]]]}"#;
    let file = folder.file("z.geojson", area);
    let (_, said) = imported(&[&file, "--as", "survey", "--altitude", "40", "--spacing", "10"]);
    assert!(said.contains("of Mission z is at latitude 0, longitude 0"), "{said}");
}

#[test]
fn altitudes_above_sea_are_named_where_home_is_not_known_also_of_kept_items() {
    let folder = Folder::new();
    let place = |number: u32| format!("{number}\t0\t0\t16\t0\t0\t0\t0\t47.398{number}\t8.5456\t5\t1\n");
    let text = format!(
        "QGC WPL 110\n0\t1\t0\t16\t0\t0\t0\t0\t47.397742\t8.545594\t0\t1\n{}{}",
        place(1),
        place(2)
    );
    let file = folder.file("low.waypoints", text);
    for options in [&[][..], &["--keep-items"]] {
        let (documents, said) = imported(&[&[file.as_str()], options].concat());
        assert!(!documents.is_empty());
        assert!(
            said.contains("is flown at 5 m, and 1 more), and the file does not say how high home is"),
            "{said}"
        );
    }
    let (_, said) = imported(&[&file, "--above-home"]);
    assert!(!said.contains("how high home is"), "{said}");
}

#[test]
fn more_shapes_than_a_geofence_has_are_refused_with_what_to_do() {
    let folder = Folder::new();
    let square = |number: u32| {
        let west = 8.5 + f64::from(number) * 0.002;
        let (east, south, north) = (west + 0.001, 47.39, 47.391);
        let ring = json!([
            [west, south],
            [east, south],
            [east, north],
            [west, north],
            [west, south]
        ]);
        json!({"type": "Feature", "properties": {}, "geometry": {"type": "Polygon", "coordinates": [ring]}})
    };
    let features: Vec<Value> = (0..33).map(square).collect();
    let text = json!({"type": "FeatureCollection", "features": features}).to_string();
    let file = folder.file("zones.geojson", text);
    let (code, said) = refused(&[&file, "--as", "exclusion"]);
    assert_eq!(code, Some(1));
    assert!(
        said.contains(
            "would have 33 shapes to stay outside of, and one Geofence has at most 32; divide them into several files"
        ),
        "{said}"
    );
}

#[test]
fn what_is_said_of_several_files_names_the_file() {
    let folder = Folder::new();
    let plan = folder.file("field.plan", whole_plan());
    let parameters = folder.file("a.param", "WPNAV_SPEED,500\n");
    let (documents, said) = imported(&[&plan, &parameters]);
    assert_eq!(documents.len(), 3);
    let named = |file: &str, what: &str| {
        let named = |line: &str| line.starts_with(&format!("skein: {file}: {what}"));
        assert!(said.lines().any(named), "{said}");
    };
    named(&plan, "left out: takeoff (1)");
    named(&parameters, "ParameterProfile a holds for all Vehicles");
    let (_, said) = imported(&[&plan]);
    assert!(said.contains("skein: left out: takeoff (1)"), "{said}");
}

#[test]
fn mission_import_sends_who_has_another_file_to_import() {
    let folder = Folder::new();
    let area = r#"{"type":"Polygon","coordinates":[[[8.5,47.39],[8.501,47.39],[8.501,47.391],[8.5,47.39]]]}"#;
    for (name, text, kind) in [
        ("a.geojson", area, "GeoJSON"),
        ("a.param", "WPNAV_SPEED,500\n", "a parameter file"),
    ] {
        let output = skein(&["mission", "import", &folder.file(name, text)]);
        let said = String::from_utf8(output.stderr).unwrap();
        let expected = format!("the file is {kind}, and no mission of a ground station; use skein import");
        assert!(output.status.code() == Some(1) && said.contains(&expected), "{said}");
    }
}

#[test]
fn the_fence_of_a_plan_is_taken_whatever_its_mission_is() {
    let folder = Folder::new();
    let mut plan: Value = serde_json::from_str(&whole_plan()).unwrap();
    plan["mission"]["items"] = json!([{"type": "ComplexItem", "complexItemType": "StructureScan", "version": 3}]);
    let file = folder.file("tower.plan", plan.to_string());
    let (code, said) = refused(&[&file]);
    assert!(
        code == Some(1) && said.contains("does not save the places that it flies"),
        "{said}"
    );
    let (documents, said) = imported(&[&file, "--kind", "geofence"]);
    assert_eq!(titles(&documents), ["Geofence tower"]);
    assert!(said.contains("left out: the mission, which cannot be read"), "{said}");
}

#[test]
fn altitudes_far_above_home_are_named_on_import_and_in_preview() {
    let folder = Folder::new();
    let text = "QGC WPL 110\n0\t1\t0\t16\t0\t0\t0\t0\t47.397742\t8.545594\t488\t1\n\
                1\t0\t0\t16\t0\t0\t0\t0\t47.3981\t8.5456\t700\t1\n2\t0\t0\t16\t0\t0\t0\t0\t47.3983\t8.5456\t700\t1\n";
    let file = folder.file("high.waypoints", text);
    for options in [&[][..], &["--keep-items"]] {
        let output = skein(&[&["import", file.as_str()], options].concat());
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(
            said.contains("is flown 212 m above it, and 1 more"),
            "{options:?}: {said}"
        );
        assert_eq!(output.status.code(), Some(0));
        if !options.is_empty() {
            let kept = folder.file("kept.yaml", &output.stdout);
            let preview = skein(&["mission", "preview", &kept]);
            let said = String::from_utf8(preview.stdout).unwrap();
            assert!(
                said.contains("NOTE: altitudes above mean sea level are more than 120 m"),
                "{said}"
            );
        }
    }
}

#[test]
fn the_name_of_a_file_is_never_in_the_way() {
    let folder = Folder::new();
    let square = |west: f64| {
        let east = west + 0.001;
        let ring = json!([
            [west, 47.39],
            [east, 47.39],
            [east, 47.391],
            [west, 47.391],
            [west, 47.39]
        ]);
        json!({"type": "Feature", "properties": {}, "geometry": {"type": "Polygon", "coordinates": [ring]}})
    };
    let two = json!({"type": "FeatureCollection", "features": [square(8.5), square(8.51)]}).to_string();
    let stem = "map-export-of-the-large-field-north-east-of-the-river-2026-11-30".to_owned();
    let long = folder.file(&format!("{stem}.geojson"), &two);
    let (documents, said) = imported(&[&[long.as_str()][..], &SURVEY].concat());
    let name = |number: u32| format!("Mission {}-{number}", &stem[..61]);
    assert_eq!(titles(&documents), [name(1), name(2)], "{said}");
    let (_, said) = refused(&[&[long.as_str()][..], &SURVEY, &["--name", &stem[..63]]].concat());
    assert!(said.contains("choose a shorter name"), "{said}");
    let file = folder.file(&format!("{stem}.plan"), whole_plan());
    let (documents, _) = imported(&[&file]);
    let fence = format!("Geofence {}-fence", stem[..57].trim_end_matches('-'));
    assert_eq!(titles(&documents)[1], fence);

    let mut only_fence: Value = serde_json::from_str(&whole_plan()).unwrap();
    only_fence["mission"]["items"] = json!([]);
    let files = [
        folder.file("Поле.plan", whole_plan()),
        folder.file("Луг.plan", whole_plan()),
        folder.file("Граница.plan", only_fence.to_string()),
    ];
    let (documents, said) = imported(&files.each_ref().map(String::as_str));
    let expected = [
        "Mission mission",
        "Geofence mission-fence",
        "Mission mission-2",
        "Geofence mission-2-fence",
        "Geofence geofence",
    ];
    assert_eq!(titles(&documents), expected);
    assert!(
        said.contains("can be part of a name: it is named mission-2; choose another with --name"),
        "{said}"
    );
}

#[test]
fn equal_areas_are_said() {
    let folder = Folder::new();
    let square = |west: f64| {
        let east = west + 0.001;
        let ring = json!([
            [west, 47.39],
            [east, 47.39],
            [east, 47.391],
            [west, 47.391],
            [west, 47.39]
        ]);
        json!({"type": "Feature", "properties": {}, "geometry": {"type": "Polygon", "coordinates": [ring]}})
    };
    let features = [square(8.5), square(8.51), square(8.5)];
    let text = json!({"type": "FeatureCollection", "features": features}).to_string();
    let file = folder.file("field.geojson", text);
    let (documents, said) = imported(&[&[file.as_str()][..], &SURVEY].concat());
    assert_eq!(documents.len(), 3);
    assert!(
        said.contains("Mission field-3 has the same area as Mission field-1,")
            && said.matches("has the same area").count() == 1,
        "{said}"
    );
}

#[test]
fn what_kind_leaves_out_is_said_so_and_a_name_is_not_empty() {
    let folder = Folder::new();
    let file = folder.file("field.plan", whole_plan());
    let (_, said) = imported(&[&file, "--kind", "mission"]);
    assert!(
        said.contains("the geofence is not taken (polygons: 1, circles: 1); skein import takes it, unless --kind"),
        "{said}"
    );
    let (code, said) = refused(&[&file, "--name", ""]);
    assert!(code == Some(2) && said.contains("--name"), "{said}");
}

/// A square of 100 m.
fn shapefile() -> Vec<u8> {
    let corners = [
        (8.545, 47.397),
        (8.545, 47.398),
        (8.546, 47.398),
        (8.546, 47.397),
        (8.545, 47.397),
    ];
    let mut shape = 5_i32.to_le_bytes().to_vec();
    for bound in [8.0, 47.0, 9.0, 48.0_f64] {
        shape.extend(bound.to_le_bytes());
    }
    for number in [1, 5, 0_i32] {
        shape.extend(number.to_le_bytes());
    }
    for (longitude, latitude) in corners {
        shape.extend(f64::to_le_bytes(longitude));
        shape.extend(f64::to_le_bytes(latitude));
    }
    let words = |bytes: usize| i32::try_from(bytes / 2).unwrap().to_be_bytes();
    let mut bytes = 9994_i32.to_be_bytes().to_vec();
    bytes.extend([0_u8; 20]);
    bytes.extend(words(100 + 8 + shape.len()));
    bytes.extend(1000_i32.to_le_bytes());
    bytes.extend(5_i32.to_le_bytes());
    for bound in [8.0, 47.0, 9.0, 48.0, 0.0, 0.0, 0.0, 0.0_f64] {
        bytes.extend(bound.to_le_bytes());
    }
    bytes.extend(1_i32.to_be_bytes());
    bytes.extend(words(shape.len()));
    bytes.extend(shape);
    bytes
}

#[test]
fn all_files_of_a_shapefile_are_one_and_a_part_without_it_is_refused() {
    let folder = Folder::new();
    let all = [
        folder.file("field.cpg", "UTF-8"),
        folder.file("field.dbf", b"\x03\x7a\x01\x01\x01\0\0\0A\0\x0b\0"),
        folder.file("field.prj", "GEOGCS[\"GCS_WGS_1984\"]"),
        folder.file("field.shp", shapefile()),
        folder.file("field.shx", &shapefile()[..100]),
    ];
    let all = all.each_ref().map(String::as_str);
    let (documents, said) = imported(&[&all[..], &["--as", "exclusion"]].concat());
    assert_eq!(titles(&documents), ["Geofence field"], "{said}");
    assert!(!said.contains("has no .prj file"), "{said}");
    let check = skein(&[&["import"][..], &all[..], &["--as", "exclusion", "--check"]].concat());
    let said = String::from_utf8(check.stdout).unwrap();
    assert!(check.status.success(), "{said}");
    assert!(said.contains(&format!("{}: a part of {}\n", all[1], all[3])), "{said}");
    for part in [all[1], all[4]] {
        let (_, said) = refused(&[part, "--as", "exclusion"]);
        assert!(said.contains("only a part of a Shapefile"), "{said}");
    }
}

/// Written by Info-ZIP.
fn sample(name: &str) -> String {
    format!("{}/../plan-files/samples/{name}", env!("CARGO_MANIFEST_DIR"))
}

const SURVEY: [&str; 6] = ["--as", "survey", "--altitude", "40", "--spacing", "20"];

#[test]
fn a_kmz_and_a_zipped_shapefile_are_taken_as_they_come() {
    let (kmz, layers) = (sample("north-field.kmz"), sample("farm.zip"));
    let (documents, said) = imported(&[&[kmz.as_str()][..], &SURVEY].concat());
    assert_eq!(titles(&documents), ["Mission north-field"], "{said}");
    assert!(said.contains("skein: read from the archive: \"doc.kml\""), "{said}");
    let corners = documents[0]["spec"]["survey"]["area"]["polygon"].as_array().unwrap();
    let is_there = |corner: &Value| (corner["latitudeDegrees"].as_f64().unwrap() - 47.3975).abs() < 0.000_51;
    assert!(corners.len() == 4 && corners.iter().all(is_there), "{corners:?}");

    let (documents, said) = imported(&[&[layers.as_str()][..], &SURVEY].concat());
    let made = ["Mission farm-1", "Mission farm-2", "Mission farm-3"];
    assert_eq!(titles(&documents), made, "{said}");
    assert!(!said.contains("has no .prj file"), "{said}");
    let check = skein(&["import", "--check", &layers]);
    let said = String::from_utf8(check.stdout).unwrap();
    assert!(check.status.success(), "{said}");
    for part in [
        "farm.zip: a zipped Shapefile: 3 areas; say what they are with --as survey|inclusion|exclusion\n  read from the archive: \"export/",
        "an area (\"fields 1\", ",
        "an area (\"fields 2\", ",
        "an area (\"yard\", ",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn a_broken_archive_is_refused_and_its_entry_named() {
    let folder = Folder::new();
    let mut bytes = std::fs::read(sample("north-field.kmz")).unwrap();
    let whole = bytes.len();
    // In the first entry, which is packed.
    bytes[60] ^= 0xff;
    let damaged = folder.file("north-field.kmz", &bytes);
    let cut = folder.file("cut.kmz", &bytes[..whole / 2]);
    let (code, said) = refused(&[&damaged, "--check"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("\"doc.kml\" in the zip archive is damaged"), "{said}");
    let (_, said) = refused(&[&cut, "--check"]);
    assert!(said.contains("missing or broken; copy or download it again"), "{said}");
}
