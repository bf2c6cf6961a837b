//! Other MAVLink implementations fly simulated vehicles of both profiles: pymavlink over a pseudo-terminal, MAVSDK over
//! UDP; and they read the mission files that Skein reads and writes.
#![allow(clippy::panic, reason = "helpers of tests fail like tests")]

use model::plan::item::Item;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs};

const DEADLINE: Duration = Duration::from_secs(180);

fn simulator() -> PathBuf {
    let here = env::current_exe().expect("this test has a path");
    let binary = here
        .ancestors()
        .nth(2)
        .map(|folder| folder.join("skein-sitl"))
        .unwrap_or_default();
    assert!(
        binary.exists(),
        "{} is missing; run `cargo xtask test` or `cargo build -p sitl`",
        binary.display()
    );
    binary
}

fn run(script: &str, autopilot: &str) {
    run_with(script, &[autopilot]);
}

/// Output and errors of the script. The simulator that it starts ends with it, because its input closes.
fn run_with(script: &str, args: &[&str]) -> String {
    let simulator = simulator().to_string_lossy().into_owned();
    testkit::peer::run(script, args, &[("SKEIN_SITL", &simulator)], DEADLINE)
        .unwrap_or_else(|error| panic!("{error:#}"))
}

#[test]
fn pymavlink_arms_flies_and_lands_a_simulated_ardupilot_over_a_pseudo_terminal() {
    run("fly_pymavlink.py", "ardupilot");
}

#[test]
fn pymavlink_arms_flies_and_lands_a_simulated_px4_over_a_pseudo_terminal() {
    run("fly_pymavlink.py", "px4");
}

#[test]
fn mavsdk_arms_flies_and_lands_a_simulated_ardupilot_over_udp() {
    run("fly_mavsdk.py", "ardupilot");
}

#[test]
fn mavsdk_arms_flies_and_lands_a_simulated_px4_over_udp() {
    run("fly_mavsdk.py", "px4");
}

fn sample(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/plan-files/samples");
    folder.join(name).to_string_lossy().into_owned()
}

/// Lines that begin with "item": command, frame, whether it goes on, seven numbers.
fn items(said: &str) -> Vec<Item> {
    let lines = said.lines().filter_map(|line| line.strip_prefix("item "));
    let item = |line: &str| -> Item {
        let (command, frame, goes_on, params) = serde_json::from_str(line).expect("an item of the script");
        Item {
            command,
            frame,
            params,
            goes_on,
        }
    };
    lines.map(item).collect()
}

/// MISSION_ITEM_INT has places as whole numbers and the rest as floats of 32 bits.
fn on_the_wire(item: &Item) -> Item {
    let mut item = *item;
    let has_place = item.place().is_some();
    for (index, param) in item.params.iter_mut().enumerate() {
        *param = match *param {
            Some(number) if has_place && (index == 4 || index == 5) => Some((number * 1e7).round() / 1e7),
            #[expect(clippy::cast_possible_truncation, reason = "as the wire has it")]
            Some(number) => Some(f64::from(number as f32)),
            // A whole number has no NaN.
            None if index == 4 || index == 5 => Some(0.0),
            None => None,
        };
    }
    item
}

fn ours(text: &str) -> Vec<Item> {
    let file = plan_files::read(text).expect("a mission");
    file.items.iter().map(on_the_wire).collect()
}

#[test]
fn mavsdk_reads_the_same_items_out_of_plans_of_qgroundcontrol() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["simple.plan", "survey.plan", "corridor.plan"] {
        let text = fs::read_to_string(sample(name)).expect("a sample");
        // MAVSDK 4.1 takes the expanded items of surveys only; those of a corridor are of the same form.
        let mut plan: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        for item in plan["mission"]["items"].as_array_mut().expect("items") {
            if item["complexItemType"] == "CorridorScan" {
                item["complexItemType"] = "survey".into();
                item["version"] = 5.into();
            }
        }
        let path = folder.path().join(name);
        fs::write(&path, plan.to_string()).expect("the folder can be written");
        let theirs = items(&run_with("read_mission.py", &["mavsdk-plan", &path.to_string_lossy()]));
        let wanted = ours(&text);
        assert!(wanted.len() > 5);
        assert_eq!(theirs, wanted, "{name}");
    }
}

#[test]
fn mavsdk_reads_a_plan_that_we_write_as_we_mean_it() {
    let file = plan_files::read(&fs::read_to_string(sample("simple.plan")).expect("a sample")).expect("a mission");
    let (waypoints, _) = model::plan::item::to_waypoints(&file.items).expect("a route");
    let written = plan_files::PlanFile {
        items: model::plan::item::of_waypoints(&waypoints),
        ..plan_files::PlanFile::default()
    };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("written.plan");
    let text = plan_files::write(&written, plan_files::Format::Plan);
    fs::write(&path, &text).expect("the folder can be written");
    let theirs = items(&run_with("read_mission.py", &["mavsdk-plan", &path.to_string_lossy()]));
    assert_eq!(theirs, ours(&text));
}

#[test]
fn pymavlink_reads_and_writes_the_same_waypoint_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let again = folder.path().join("again.waypoints").to_string_lossy().into_owned();
    let plan = fs::read_to_string(sample("survey.plan")).expect("a sample");
    let plan = plan_files::read(&plan).expect("a mission");
    let of_ours = folder.path().join("ours.waypoints").to_string_lossy().into_owned();
    fs::write(&of_ours, plan_files::write(&plan, plan_files::Format::Wpl)).expect("the folder can be written");
    for path in [sample("patrol.waypoints"), of_ours] {
        let theirs = items(&run_with("read_mission.py", &["mavwp", &path, &again]));
        let wanted = plan_files::read(&fs::read_to_string(&path).expect("a file"))
            .expect("a mission")
            .items;
        assert!(wanted.len() >= 5);
        // Theirs has home as its first.
        assert_eq!(theirs[1..], wanted[..], "{path}");
        // It writes six places.
        let rounded = |item: &Item| Item {
            params: item
                .params
                .map(|param| param.map(|number| (number * 1e6).round() / 1e6)),
            ..*item
        };
        let saved = plan_files::read(&fs::read_to_string(&again).expect("a file"))
            .expect("a mission")
            .items;
        let (saved, wanted): (Vec<Item>, Vec<Item>) = (
            saved.iter().map(rounded).collect(),
            wanted.iter().map(rounded).collect(),
        );
        assert_eq!(saved, wanted, "{path}");
    }
}
