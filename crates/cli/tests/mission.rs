//! The program `skein mission` on the documented example and on files of ground stations: texts, numbers, exit codes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn skein(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_skein"));
    command.arg("mission").args(args).stdin(Stdio::null()).env_clear();
    command.output().unwrap()
}

fn printed(args: &[&str]) -> String {
    let output = skein(args);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

fn refusal(args: &[&str]) -> (Option<i32>, String) {
    let output = skein(args);
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn sample(name: &str) -> String {
    workspace()
        .join("crates/plan-files/samples")
        .join(name)
        .to_string_lossy()
        .into_owned()
}

fn documented() -> String {
    let page = std::fs::read_to_string(workspace().join("docs/concepts/mission.md")).unwrap();
    let block = page.split("```yaml\n").nth(1).unwrap();
    block.split("```").next().unwrap().to_owned()
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_string_lossy().into_owned()
    }
}

#[test]
fn the_mission_of_the_documents_is_previewed_with_its_numbers_and_a_map() {
    let folder = Folder::new();
    let file = folder.file("field.yaml", &documented());
    let map = folder.file("field.geojson", "");
    let starts = ["--start", "47.3972,8.5460", "--start", "47.3972,8.5464"];
    let numbers = printed(&[&["preview", &file, "--geojson", &map][..], &starts].concat());
    assert!(numbers.contains("Mission field: survey"), "{numbers}");
    assert!(numbers.contains("100.0 % covered"), "{numbers}");
    // 13.2 mm of sensor behind 8.8 mm cover 60 m from 40 m, of which 30 % are new.
    assert!(numbers.contains("18.0 m apart"), "{numbers}");
    assert_eq!(
        numbers.matches("\n1 ").count() + numbers.matches("\n2 ").count(),
        2,
        "{numbers}"
    );
    let map: Value = serde_json::from_str(&std::fs::read_to_string(map).unwrap()).unwrap();
    let kinds: Vec<&str> = map["features"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["properties"]["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["area", "start", "start", "share", "work", "share", "work"]);
    assert_eq!(
        map["features"][0]["geometry"]["coordinates"].as_array().unwrap().len(),
        2
    );
    let share = &map["features"][3];
    let path = share["geometry"]["coordinates"].as_array().unwrap();
    assert_eq!(path.first(), path.last());
    let first = path[0].as_array().unwrap();
    assert!((first[0].as_f64().unwrap() - 8.546).abs() < 0.001 && (first[1].as_f64().unwrap() - 47.3972).abs() < 1e-6);
    let seconds = |index: usize| map["features"][index]["properties"]["seconds"].as_f64().unwrap();
    assert!(
        (seconds(3) / seconds(5) - 1.0).abs() < 0.1,
        "{} and {} s",
        seconds(3),
        seconds(5)
    );
}

fn longitudes(coordinates: &Value, lines: &mut Vec<Vec<f64>>) {
    let list = coordinates.as_array().unwrap();
    if list.first().is_some_and(|first| first[0].is_number()) {
        lines.push(list.iter().map(|place| place[0].as_f64().unwrap()).collect());
    } else {
        list.iter().for_each(|part| longitudes(part, lines));
    }
}

#[test]
fn a_survey_across_the_180th_meridian_is_cut_there_on_the_map() {
    let folder = Folder::new();
    let corner =
        |latitude: f64, longitude: f64| format!("{{latitudeDegrees: {latitude}, longitudeDegrees: {longitude}}}");
    let corners = [
        corner(-16.843, 179.9985),
        corner(-16.843, -179.999),
        corner(-16.841, -179.9992),
        corner(-16.8408, 179.9987),
    ];
    let file = folder.file(
        "fiji.yaml",
        &format!(
            "apiVersion: skein.dev/v1alpha1\nkind: Mission\nmetadata: {{name: fiji}}\nspec: {{survey: {{altitudeMeters: 40, lineSpacingMeters: 20, \
             area: {{polygon: [{}]}}}}}}\n",
            corners.join(", ")
        ),
    );
    let map = folder.file("fiji.geojson", "");
    let numbers = printed(&["preview", &file, "--geojson", &map]);
    // 0.0025 degrees of longitude are 266 m there.
    assert!(
        numbers.contains("area     5.") && numbers.contains("100.0 % covered"),
        "{numbers}"
    );
    let map: Value = serde_json::from_str(&std::fs::read_to_string(map).unwrap()).unwrap();
    let features = map["features"].as_array().unwrap();
    let of = |kind: &str| {
        let feature = features.iter().find(|f| f["properties"]["kind"] == kind).unwrap();
        &feature["geometry"]
    };
    assert_eq!(of("area")["type"], "MultiPolygon");
    assert_eq!(of("share")["type"], "MultiLineString");
    for kind in ["area", "share", "work"] {
        let mut lines = Vec::new();
        longitudes(&of(kind)["coordinates"], &mut lines);
        // Both sides occur, and no line or ring goes around the Earth.
        for side in [-1.0, 1.0] {
            assert!(
                lines.iter().flatten().any(|longitude| longitude * side > 179.9),
                "{kind}"
            );
        }
        for line in lines {
            assert!(
                line.iter().all(|longitude| longitude.abs() <= 180.0)
                    && line.windows(2).all(|leg| (leg[1] - leg[0]).abs() < 0.01),
                "{kind}: {line:?}"
            );
        }
    }
}

#[test]
fn a_short_flying_time_takes_more_flights() {
    let folder = Folder::new();
    let file = folder.file("field.yaml", &documented());
    let numbers = printed(&["preview", &file, "--vehicles", "1", "--flying-time", "5"]);
    assert!(
        numbers.contains("left after these flights") && numbers.contains("more are needed"),
        "{numbers}"
    );
    let numbers = printed(&["preview", &file, "--start", "47.3,8.5", "--flying-time", "1"]);
    assert!(numbers.contains("cannot be flown in this time"), "{numbers}");
}

#[test]
fn plans_of_ground_stations_become_missions_and_plans_again() {
    let folder = Folder::new();
    for (name, waypoints) in [
        ("simple.plan", 3),
        ("survey.plan", 4),
        ("corridor.plan", 3),
        ("patrol.waypoints", 3),
    ] {
        let output = skein(&["import", &sample(name)]);
        let notes = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{name}: {notes}");
        assert!(
            notes.contains("takeoff (1)") && notes.contains("return or landing (1)"),
            "{notes}"
        );
        assert_eq!(
            notes.contains("the geofence is not taken"),
            name == "simple.plan",
            "{notes}"
        );
        let yaml = String::from_utf8(output.stdout).unwrap();
        let mission: Value = serde_saphyr::from_str(&yaml).unwrap();
        assert_eq!(mission["metadata"]["name"], name.split('.').next().unwrap());
        assert_eq!(
            mission["spec"]["route"]["waypoints"].as_array().unwrap().len(),
            waypoints
        );
        let file = folder.file("mission.yaml", &yaml);
        assert!(printed(&["preview", &file]).contains(": route\n"));
        for format in ["plan", "wpl"] {
            let exported = printed(&["export", &file, "--format", format]);
            let exported = folder.file("exported", &exported);
            let again: Value = serde_saphyr::from_str(&printed(&["import", &exported, "--name", "again"])).unwrap();
            assert_eq!(again["spec"]["route"], mission["spec"]["route"], "{name} as {format}");
        }
    }
}

#[test]
fn a_preview_does_not_write_its_map_over_the_mission() {
    let folder = Folder::new();
    let file = folder.file("field.yaml", &documented());
    let (code, said) = refusal(&["preview", &file, "--geojson", &file]);
    assert!(code == Some(2) && said.contains("of the Mission itself"), "{said}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), documented());
}

#[test]
fn a_survey_is_exported_with_its_camera() {
    let folder = Folder::new();
    let file = folder.file("field.yaml", &documented());
    let plan: Value = serde_json::from_str(&printed(&["export", &file, "--format", "plan"])).unwrap();
    let items = plan["mission"]["items"].as_array().unwrap();
    let count = |command: i64| items.iter().filter(|item| item["command"] == command).count();
    assert!(count(16) > 20, "{}", count(16));
    assert_eq!(count(178), 1);
    let starts = items
        .iter()
        .filter(|item| item["command"] == 206 && item["params"][0] != 0.0)
        .count();
    assert_eq!(count(206), 2 * starts);
}

#[test]
fn items_that_no_route_has_are_named_and_kept_as_they_stand_on_request() {
    let folder = Folder::new();
    let jump = "QGC WPL 110\n0\t1\t0\t16\t0\t0\t0\t0\t47.4\t8.5\t488\t1\n1\t0\t3\t16\t0\t0\t0\t0\t47.401\t8.5\t30\t1\n\
                2\t0\t3\t177\t1\t3\t0\t0\t0\t0\t0\t1\n";
    let file = folder.file("jump.waypoints", jump);
    let (code, said) = refusal(&["import", &file]);
    assert_eq!(code, Some(1));
    assert!(
        said.contains(
            "item 1 (DO_JUMP, line 4, number 2 in the file) cannot be part of a route: command 177 has no counterpart"
        ),
        "{said}"
    );
    assert!(said.contains("--leave-out") && !said.contains("--keep-items"), "{said}");
    let (code, said) = refusal(&["import", &file, "--keep-items"]);
    assert!(code == Some(1) && said.contains("cannot be part of a flight"), "{said}");
    let servo = jump.replace("177\t1\t3\t", "183\t9\t1500\t");
    let file = folder.file("servo.waypoints", &servo);
    let kept = folder.file("kept.yaml", &printed(&["import", &file, "--keep-items"]));
    assert!(printed(&["preview", &kept]).contains(": plan\n"));
    let again = printed(&["export", &kept, "--format", "wpl"]);
    assert!(
        again.lines().nth(3).unwrap().starts_with("2\t0\t3\t183\t9\t1500\t"),
        "{again}"
    );
}

#[test]
fn what_is_wrong_is_said_with_what_to_do() {
    let folder = Folder::new();
    let with = |from: &str, to: &str| {
        let text = documented();
        assert!(text.contains(from), "{from}");
        refusal(&["preview", &folder.file("wrong.yaml", &text.replacen(from, to, 1))])
    };
    for (from, to, expected) in [
        (
            "altitudeMeters: 40",
            "altitudeMeters: 400",
            "altitudeMeters above home must be from 1 to 120",
        ),
        (
            "speedMetersPerSecond: 6",
            "speedMetersPerSecond: 60",
            "must be above 0 and up to 20",
        ),
        (
            "    camera:",
            "    lineSpacingMeters: 5\n    camera:",
            "exactly one of lineSpacingMeters and camera",
        ),
        (
            "    altitudeMeters: 40\n",
            "",
            "spec.survey.altitudeMeters: Required value",
        ),
        ("parallelism: 2", "paralelism: 2", "unknown field \"spec.paralelism\""),
        ("parallelism: 2", "repeat: Forever\n  completions: 2", "never completes"),
        ("kind: Mission", "kind: Swarm", "no object of kind Mission"),
        ("v1alpha1", "v1", "apiVersion must be skein.dev/v1alpha1"),
        (
            "longitudeDegrees: 8.5470}",
            "longitudeDegrees: 8.5400}",
            "crosses itself",
        ),
        (
            "latitudeDegrees: 47.3982, longitudeDegrees: 8.5456",
            "latitudeDegrees: 47.3, longitudeDegrees: 8.5456",
            "hole 0 of the area",
        ),
        (
            "spec:\n",
            "spec:\n  route: {waypoints: [{latitudeDegrees: 1, longitudeDegrees: 2, altitudeMeters: 3}]}\n",
            "exactly one of spec.route, spec.survey and spec.planFrom",
        ),
    ] {
        let (code, said) = with(from, to);
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains(expected), "{to}: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    let (code, said) = refusal(&["preview", "nowhere.yaml"]);
    assert!(code == Some(1) && said.contains("cannot read nowhere.yaml"), "{said}");
    let two = format!(
        "{}---\n{}",
        documented(),
        documented().replace("name: field", "name: other")
    );
    let two = folder.file("two.yaml", &two);
    let (code, said) = refusal(&["preview", &two]);
    assert!(
        code == Some(2) && said.contains("2 Missions; say which one with --mission NAME"),
        "{said}"
    );
    assert!(printed(&["preview", &two, "--mission", "other"]).contains("Mission other"));
    let (_, said) = refusal(&["preview", &two, "--mission", "none"]);
    assert!(said.contains("no Mission none"), "{said}");
    let field = folder.file("field.yaml", &documented());
    let (_, said) = refusal(&["preview", &field, "--start", "47.3984,8.5458"]);
    assert!(said.contains("vehicle 0 lies in a hole"), "{said}");
    let (code, said) = refusal(&["preview", &field, "--start", "47.3984"]);
    assert!(code == Some(2) && said.contains("LATITUDE,LONGITUDE"), "{said}");
    let (code, said) = refusal(&["import", &sample("survey.plan"), "--name", "Not A Name"]);
    assert!(code == Some(1) && said.contains("metadata.name"), "{said}");
    let mut with_server = Command::new(env!("CARGO_BIN_EXE_skein"));
    let output = with_server
        .args(["--server", "http://127.0.0.1:1", "mission", "preview", &field])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let from = "apiVersion: skein.dev/v1alpha1\nkind: Mission\nmetadata: {name: a}\nspec: {planFrom: {configMapKeyRef: {name: b, key: c}}}\n";
    let (_, said) = refusal(&["preview", &folder.file("from.yaml", from)]);
    assert!(said.contains("no ConfigMap b with key c"), "{said}");
}

const ROUTE: &str = "apiVersion: skein.dev/v1alpha1
kind: Mission
metadata: {name: field}
spec:
  route:
    waypoints:
    - {latitudeDegrees: 47.0, longitudeDegrees: 8.0, altitudeMeters: 20}
    - {latitudeDegrees: 47.001, longitudeDegrees: 8.0, altitudeMeters: 20}
";

#[test]
fn a_file_in_utf_16_is_read_and_one_in_neither_is_refused_with_how_to_convert_it() {
    let folder = Folder::new();
    let path = folder.0.path().join("field.yaml");
    let bytes = "\u{feff}".to_owned() + ROUTE;
    std::fs::write(
        &path,
        bytes.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>(),
    )
    .unwrap();
    assert!(printed(&["preview", path.to_str().unwrap()]).contains("Mission field: route"));
    std::fs::write(&path, b"name: \xe9\n").unwrap();
    let (code, said) = refusal(&["preview", path.to_str().unwrap()]);
    assert_eq!(code, Some(1));
    assert!(
        said.contains("no text in UTF-8 or UTF-16") && said.contains("iconv -f"),
        "{said}"
    );
}

#[test]
fn what_is_wrong_with_a_file_is_one_line_in_its_own_words() {
    let folder = Folder::new();
    for (text, part) in [
        (
            ROUTE.replace("altitudeMeters: 20}", "altitudeMeters: 20, altitudeMeters: 30}"),
            "cannot be read as YAML at line 7, column ",
        ),
        (
            "apiVersion: skein.dev/v1alpha1\nkind: Mission\nmetadata: {name: a}\nspec: {}\n".to_owned(),
            "skein: Mission a: a Mission needs exactly one of spec.route",
        ),
        (
            "apiVersion: skein.dev/v1alpha1\nkind: Mission\nmetadata: {name: a}\n".to_owned(),
            "skein: Mission a: spec: Required value\n",
        ),
        (
            ROUTE.replace("spec:\n", "spec:\n  nodeSelector: {site: north field}\n"),
            "Mission field: spec.nodeSelector: no label can have the value \"north field\"",
        ),
    ] {
        let (code, said) = refusal(&["preview", &folder.file("a.yaml", &text)]);
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains(part), "{said}");
        assert!(!said.contains("<nil>") && !said.contains("olicy"), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

#[test]
fn a_place_at_0_0_is_doubted_whether_it_can_be_planned_or_not() {
    let folder = Folder::new();
    let doubt = "spec.route.waypoints[1] is at latitude 0, longitude 0";
    let one = ROUTE.replace("47.001", "0");
    let one = one.replace(
        "latitudeDegrees: 0, longitudeDegrees: 8.0",
        "latitudeDegrees: 0, longitudeDegrees: 0",
    );
    let (_, said) = refusal(&["preview", &folder.file("one.yaml", &one)]);
    assert!(said.contains(doubt), "{said}");
    let both = one.replace(
        "latitudeDegrees: 47.0, longitudeDegrees: 8.0",
        "latitudeDegrees: 0, longitudeDegrees: 0",
    );
    let said = printed(&["preview", &folder.file("both.yaml", &both)]);
    assert!(
        said.contains("spec.route.waypoints[0] is at latitude 0, longitude 0"),
        "{said}"
    );
    let fine = folder.file("fine.yaml", ROUTE);
    let (_, said) = refusal(&["preview", &fine, "--start", "0,0"]);
    assert!(said.contains("--start is at latitude 0, longitude 0"), "{said}");
    assert!(!printed(&["preview", &fine]).contains("NOTE"));
}
