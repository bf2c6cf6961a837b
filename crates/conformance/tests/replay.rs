//! The simulated autopilots answer the inputs of recorded flights as the real ones did, except for explained
//! deviations. `conformance::replay` states the tolerances. SKEIN_REPLAY_FOLDERS (separated by colons) replaces the
//! checked-in recordings.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use conformance::differ::{Outcome, judge, load};
use conformance::replay::{self, Explained, Judgment};

fn checked_in(stack: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../sitl/tests/recordings")
        .join(stack)
}

fn assert_same(folder: &Path) {
    let explained = Explained::in_folder(folder).expect("a list that can be read");
    let outcomes = replay::folder(folder).expect("a folder of recordings");
    let table = replay::table(&outcomes, &explained);
    // Past the test harness, so that the table is shown also when the test passes.
    let _ = writeln!(std::io::stderr(), "{}\n{table}", folder.display());
    assert_eq!(replay::judge(&outcomes, &explained), Judgment::Same, "\n{table}");
}

fn others() -> Vec<PathBuf> {
    let folders = std::env::var_os("SKEIN_REPLAY_FOLDERS");
    folders.map_or(Vec::new(), |folders| std::env::split_paths(&folders).collect())
}

#[test]
fn the_simulated_arducopter_answers_as_the_recorded_one() {
    if others().is_empty() {
        assert_same(&checked_in("ardupilot"));
    }
}

#[test]
fn the_simulated_px4_answers_as_the_recorded_one() {
    if others().is_empty() {
        assert_same(&checked_in("px4"));
    }
}

#[test]
fn the_simulated_arducopter_4_8_answers_as_the_recorded_one() {
    if others().is_empty() {
        assert_same(&checked_in("copter-4.8"));
    }
}

#[test]
fn the_simulated_px4_1_18_answers_as_the_recorded_one() {
    if others().is_empty() {
        assert_same(&checked_in("px4-1.18"));
    }
}

/// Scripts of `cargo xtask differ` in which the simulator differed once, judged as there.
#[test]
fn the_simulated_autopilots_do_with_random_scripts_what_the_real_ones_did() {
    for stack in ["scripts/ardupilot", "scripts/px4"] {
        let runs = load(&checked_in(stack)).expect("a folder of scripts");
        assert!(runs.len() >= 15, "{stack} has {} scripts", runs.len());
        for (name, run, script) in runs {
            if let Outcome::Differs(comparison) = judge(&run) {
                panic!("{stack} {name}\n{script}\n{comparison:?}");
            }
        }
    }
}

#[test]
fn the_simulated_autopilots_answer_as_those_of_the_folders_in_the_environment() {
    for folder in others() {
        assert_same(&folder);
    }
}

fn folder_of_one() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for extension in ["tlog", "jsonl"] {
        let from = checked_in("ardupilot").join(format!("00_boot_silent_client.{extension}"));
        std::fs::copy(&from, folder.path().join(format!("good.{extension}"))).expect("a copy");
    }
    folder
}

fn run(arguments: &[&Path]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_skein-replay"))
        .args(arguments)
        .output()
        .expect("the program runs");
    (
        output.status.code(),
        String::from_utf8_lossy(&output.stdout).into_owned(),
    )
}

#[test]
fn a_folder_that_agrees_ends_with_status_0() {
    let folder = folder_of_one();
    let (status, table) = run(&[folder.path()]);
    assert_eq!(status, Some(0), "{table}");
    assert!(table.starts_with("good  same"), "{table}");
    assert!(table.ends_with("1 of 1 recordings are the same\n"), "{table}");
}

#[test]
fn a_malformed_recording_has_one_clear_error_and_the_others_go_on() {
    let folder = folder_of_one();
    let write = |name: &str, content: &[u8]| {
        std::fs::write(folder.path().join(name), content).expect("a file");
    };
    write("a.tlog", &[0; 40]);
    write("a.jsonl", b"{}\n");
    write("b.tlog", &[]);
    write("b.jsonl", b"{}\n");
    std::fs::copy(folder.path().join("good.tlog"), folder.path().join("c.tlog")).expect("a copy");
    write("c.jsonl", b"{\"t\": 1}\nno json\n");
    std::fs::copy(folder.path().join("good.tlog"), folder.path().join("d.tlog")).expect("a copy");
    let (status, table) = run(&[folder.path()]);
    assert_eq!(status, Some(2), "{table}");
    let lines: Vec<&str> = table.lines().collect();
    for (line, start, part) in [
        (0, "a ", "no frame begins with 0x00"),
        (1, "b ", "has no heartbeat of an autopilot"),
        (2, "c ", "line 2"),
        (3, "d ", "cannot read"),
    ] {
        assert!(
            lines[line].starts_with(start) && lines[line].contains("UNREADABLE") && lines[line].contains(part),
            "{table}"
        );
    }
    assert!(lines[4].starts_with("good  same"), "{table}");
}

#[test]
fn an_explanation_that_explains_nothing_ends_with_status_1() {
    let folder = folder_of_one();
    let list = r#"[{"recording": "good", "channel": "acks", "place": 3, "reason": "it was so once"}]"#;
    std::fs::write(folder.path().join("explained.json"), list).expect("a list");
    let (status, table) = run(&[folder.path()]);
    assert_eq!(status, Some(1), "{table}");
    assert!(table.contains("IDLE        acks #3"), "{table}");
}

#[test]
fn a_deviation_ends_with_status_1_and_an_explanation_of_it_with_0() {
    // The real autopilot of this recording was never ordered to arm; one that armed at 20 s would differ.
    let folder = folder_of_one();
    let tlog = folder.path().join("good.tlog");
    let bytes = std::fs::read(&tlog).expect("a recording");
    std::fs::write(&tlog, with_other_state(&bytes)).expect("a changed recording");
    let (status, table) = run(&[folder.path()]);
    assert_eq!(status, Some(1), "{table}");
    assert!(table.contains("DIFFERS     status: #2"), "{table}");
    let list = r#"[{"recording": "good", "channel": "status", "place": 2, "reason": "changed by this test"}]"#;
    std::fs::write(folder.path().join("explained.json"), list).expect("a list");
    let (status, table) = run(&[folder.path()]);
    assert_eq!(status, Some(0), "{table}");
    assert!(table.contains("explained   status: #2") && table.contains("(changed by this test)"));
}

/// Changes all heartbeats of the autopilot but the first to MAV_STATE 4.
fn with_other_state(tlog: &[u8]) -> Vec<u8> {
    const HEARTBEAT_CRC_EXTRA: u8 = 50;
    let mut changed = tlog.to_vec();
    let (mut at, mut count) = (0, 0);
    while at + 20 <= changed.len() {
        let length = usize::from(changed[at + 9]);
        let frame = at + 8;
        let is_heartbeat = changed[frame + 7..frame + 10] == [0, 0, 0] && changed[frame + 5] == 1;
        if is_heartbeat {
            count += 1;
        }
        if is_heartbeat && count > 1 {
            changed[frame + 10 + 7] = 4;
            let mut summed = changed[frame + 1..frame + 10 + length].to_vec();
            summed.push(HEARTBEAT_CRC_EXTRA);
            let crc = crc(&summed).to_le_bytes();
            changed[frame + 10 + length..frame + 12 + length].copy_from_slice(&crc);
        }
        at = frame + 12 + length;
    }
    changed
}

/// CRC-16/MCRF4XX.
fn crc(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0xFFFF, |crc: u16, byte| {
        (0..8).fold(crc ^ u16::from(*byte), |crc, _| {
            if crc & 1 == 1 { (crc >> 1) ^ 0x8408 } else { crc >> 1 }
        })
    })
}

#[test]
fn a_folder_without_recordings_ends_with_status_2() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(run(&[folder.path()]).0, Some(2));
    assert_eq!(run(&[&folder.path().join("none")]).0, Some(2));
}

#[test]
fn the_help_explains_the_columns() {
    let (status, help) = run(&[Path::new("--help")]);
    assert_eq!(status, Some(0));
    for part in ["DIFFERS", "explained", "UNREADABLE", "IDLE", "Channels:", "status 0"] {
        assert!(help.contains(part), "{part}");
    }
}
