//! What goes over the wire for a kill, byte for byte, and what never does.

use super::*;
use crate::discovery::latched_as;
use link::dialect::MavResult;
use mavlink::{MAVLinkV2MessageRaw, MavHeader};
use model::assignment::{Assignment, Desired, Failsafe};
use model::ids::{DroneName, DroneUid, Term};
use model::kill::KillOrder;
use model::units::{AltitudeAboveHome, SystemId};
use model::vehicle::Autopilot;
use std::path::{Path, PathBuf};

fn at(ms: u64) -> Moment {
    Moment::at(Duration::from_millis(ms))
}

fn identity(autopilot: Autopilot) -> Identity {
    latched_as(autopilot, SystemId(7))
}

fn order(nonce: u64) -> KillOrder {
    KillOrder {
        nonce,
        uid: DroneUid("u".into()),
        term: Term(3),
        last_report: at(900),
    }
}

fn give(kills: &mut Kills, order: &KillOrder, to: Option<&Identity>) -> Option<Shot> {
    give_amid(kills, order, to, false)
}

/// The same; `arming`: while an arm command is under way.
fn give_amid(kills: &mut Kills, order: &KillOrder, to: Option<&Identity>, arming: bool) -> Option<Shot> {
    let held = Assignment {
        term: Term(3),
        uid: DroneUid("u".into()),
        name: DroneName {
            namespace: "field".into(),
            name: "alpha-1".into(),
        },
        generation: 1,
        desired: Desired::Flying {
            altitude: AltitudeAboveHome(10.0),
        },
        failsafe: Failsafe::default(),
        resume_after: 0,
        ground_mark: None,
        reported_flight: model::reported_flight::ReportedFlight::default(),
        routed: false,
        manner: model::station::Manner::default(),
        recalled: false,
        void: model::route_order::OrderNumber::default(),
        rules: None,
        plan: None,
        route: None,
    };
    let used = kills.used().clone();
    let question = KillQuestion {
        order,
        arrived: at(1000),
        held: Some(&held),
        highest_term: Term(3),
        confirmed: true,
        used: &used,
        now: at(1000),
    };
    kills.order(&question, to, Address::new(7, 191), arming)
}

fn ack(result: MavResult) -> COMMAND_ACK_DATA {
    COMMAND_ACK_DATA {
        command: MavCmd::MAV_CMD_COMPONENT_ARM_DISARM,
        result,
        target_system: 7,
        target_component: 191,
        ..COMMAND_ACK_DATA::default()
    }
}

fn outcome(kills: &Kills) -> Option<KillOutcome> {
    kills.answer().map(|answer| answer.outcome.clone())
}

#[test]
fn a_kill_is_this_frame_and_no_other() {
    for autopilot in [Autopilot::ArduPilot, Autopilot::Px4] {
        let shot = give(&mut Kills::default(), &order(5), Some(&identity(autopilot))).unwrap();
        let mut raw = MAVLinkV2MessageRaw::new();
        let header = MavHeader {
            system_id: 7,
            component_id: 191,
            sequence: 42,
        };
        raw.serialize_message(header, &shot.message);
        assert_eq!((shot.nonce, shot.from), (5, Address::new(7, 191)));
        #[rustfmt::skip]
        let frame = [
            0xFD, 32, 0, 0, 42, 7, 191, 76, 0, 0, // MAVLink 2, 32 bytes of COMMAND_LONG (76), unsigned
            0x00, 0x00, 0x00, 0x00,               // parameter 1: 0.0, disarm
            0x00, 0x98, 0xA5, 0x46,               // parameter 2: 21196.0, whatever the vehicle does
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,   // parameters 3 to 5
            0, 0, 0, 0, 0, 0, 0, 0,               // parameters 6 and 7
            0x90, 0x01, 7, 1,                     // command 400, to system 7, component 1; confirmation 0 is cut off
        ];
        let (body, checksum) = raw.raw_bytes().split_at(frame.len());
        assert_eq!(body, frame);
        assert_eq!(checksum, [0x2B, 0x02], "{checksum:02X?}");
    }
}

#[test]
fn a_kill_is_one_frame_whatever_the_autopilot_answers() {
    for (result, came_of_it) in [
        (MavResult::MAV_RESULT_ACCEPTED, KillOutcome::Accepted),
        (MavResult::MAV_RESULT_FAILED, KillOutcome::Refused("FAILED".into())),
        (
            MavResult::MAV_RESULT_COMMAND_INT_ONLY,
            KillOutcome::Refused("COMMAND_INT_ONLY".into()),
        ),
        (
            MavResult::MAV_RESULT_TEMPORARILY_REJECTED,
            KillOutcome::Refused("TEMPORARILY_REJECTED".into()),
        ),
    ] {
        let mut kills = Kills::default();
        assert!(give(&mut kills, &order(5), Some(&identity(Autopilot::Px4))).is_some());
        kills.written(Written::Yes);
        kills.at(at(1500));
        assert_eq!(outcome(&kills), None);
        kills.acknowledged(&ack(result), at(1600));
        assert_eq!(outcome(&kills), Some(came_of_it));
        assert!(give(&mut kills, &order(5), Some(&identity(Autopilot::Px4))).is_none());
    }
}

#[test]
fn a_repeated_or_refused_order_does_not_hide_what_came_of_the_one_that_was_sent() {
    let mut kills = Kills::default();
    let px4 = identity(Autopilot::Px4);
    give(&mut kills, &order(5), Some(&px4)).unwrap();
    kills.written(Written::Yes);
    assert!(give(&mut kills, &order(5), Some(&px4)).is_none());
    assert_eq!(kills.answer(), None);
    let another = KillOrder {
        uid: DroneUid("v".into()),
        ..order(6)
    };
    assert!(give(&mut kills, &another, Some(&px4)).is_none());
    assert_eq!(kills.answer().map(|answer| answer.nonce), Some(6));
    kills.acknowledged(&ack(MavResult::MAV_RESULT_ACCEPTED), at(1600));
    let answer = kills.answer().unwrap();
    assert_eq!((answer.nonce, &answer.outcome), (5, &KillOutcome::Accepted));
}

#[test]
fn an_autopilot_that_does_not_answer_leaves_open_what_came_of_it() {
    let mut kills = Kills::default();
    give(&mut kills, &order(5), Some(&identity(Autopilot::Px4))).unwrap();
    kills.written(Written::Unsure);
    kills.at(at(2999));
    assert_eq!(outcome(&kills), None);
    kills.at(at(3000));
    assert_eq!(outcome(&kills), Some(KillOutcome::NoAnswer));
}

#[test]
fn the_answer_to_an_arm_command_before_it_is_not_taken_for_its_own() {
    let px4 = identity(Autopilot::Px4);
    for (obeyed, came_of_it) in [(true, KillOutcome::Accepted), (false, KillOutcome::NoAnswer)] {
        let mut kills = Kills::default();
        give_amid(&mut kills, &order(5), Some(&px4), true).unwrap();
        kills.written(Written::Yes);
        // It is not armed yet.
        kills.beat(false);
        // To the arm command; the kill may be lost.
        kills.acknowledged(&ack(MavResult::MAV_RESULT_ACCEPTED), at(1400));
        assert_eq!(outcome(&kills), None);
        kills.beat(true);
        assert_eq!(outcome(&kills), None, "its motors run");
        if obeyed {
            kills.acknowledged(&ack(MavResult::MAV_RESULT_ACCEPTED), at(1600));
            kills.beat(false);
        }
        kills.at(at(3000));
        assert_eq!(outcome(&kills), Some(came_of_it));
    }
}

#[test]
fn a_refusal_of_the_arm_command_before_it_does_not_hide_that_the_motors_stand() {
    let mut kills = Kills::default();
    give_amid(&mut kills, &order(5), Some(&identity(Autopilot::ArduPilot)), true).unwrap();
    kills.written(Written::Yes);
    kills.acknowledged(&ack(MavResult::MAV_RESULT_FAILED), at(1100));
    assert_eq!(outcome(&kills), None);
    kills.acknowledged(&ack(MavResult::MAV_RESULT_ACCEPTED), at(1200));
    kills.beat(false);
    assert_eq!(outcome(&kills), Some(KillOutcome::Accepted));
    // The next order is another one.
    give(&mut kills, &order(6), Some(&identity(Autopilot::ArduPilot))).unwrap();
    kills.acknowledged(&ack(MavResult::MAV_RESULT_ACCEPTED), at(1300));
    assert_eq!(kills.answer().map(|answer| answer.nonce), Some(6));
}

#[test]
fn what_was_not_sent_says_so() {
    let mut kills = Kills::default();
    assert!(give(&mut kills, &order(5), None).is_none());
    assert!(matches!(outcome(&kills), Some(KillOutcome::NotSent(_))));
    give(&mut kills, &order(6), Some(&identity(Autopilot::Px4))).unwrap();
    kills.written(Written::No);
    assert!(matches!(outcome(&kills), Some(KillOutcome::NotSent(_))));
    let another = KillOrder {
        uid: DroneUid("v".into()),
        ..order(7)
    };
    assert!(give(&mut kills, &another, Some(&identity(Autopilot::Px4))).is_none());
    let answer = kills.answer().unwrap();
    assert!(matches!(&answer.outcome, KillOutcome::NotSent(why) if why.contains("does not serve Drone v")));
    assert_eq!(answer.nonce, 7);
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { rust_files(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|e| e == "rs"))
        .collect()
}

/// The files of `folder` whose programs, tests left out, contain one of `words`.
fn files_with(folder: &str, words: &[&str]) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut found: Vec<String> = rust_files(&root)
        .into_iter()
        .filter(|path| {
            !path.ends_with("tests.rs") && !path.strip_prefix(&root).unwrap().iter().any(|part| part == "tests")
        })
        .filter(|path| {
            let text = std::fs::read_to_string(path).unwrap();
            let program = text.split("#[cfg(test)]").next().unwrap_or_default();
            words.iter().any(|word| program.contains(word))
        })
        .map(|path| path.strip_prefix(&root).unwrap().display().to_string())
        .collect();
    found.sort();
    found
}

#[test]
fn nothing_but_this_file_can_make_a_command_that_disarms() {
    assert_eq!(
        files_with("src", &["ARM_DISARM"]),
        ["kill.rs", "recipe.rs"],
        "recipe.rs arms"
    );
    assert_eq!(files_with("src", &["21196", "21_196", "0x52CC"]), ["kill.rs"]);
    assert_eq!(files_with("src", &["FLIGHTTERMINATION"]), [""; 0]);
    assert_eq!(files_with("src", &["KillPermit"]), ["kill.rs"]);
    for other in [
        "../crates/link/src",
        "../coordinator/src",
        "../crates/cli/src",
        "../proto/src",
    ] {
        assert_eq!(
            files_with(other, &["ARM_DISARM", "21196", "KillPermit"]),
            [""; 0],
            "{other}"
        );
    }
    let recipe = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/recipe.rs")).unwrap();
    let (program, _) = recipe.split_once("#[cfg(test)]").unwrap();
    let arm = "Command::long(MavCmd::MAV_CMD_COMPONENT_ARM_DISARM, [1.0, 0.0, 0.0, 0.0])";
    // What distinguishes a command that may arm makes none.
    let tells = "MavCmd::MAV_CMD_COMPONENT_ARM_DISARM => param1.abs() > 0.0 || param1.is_nan(),";
    let code: String = program
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect();
    let disarm = code.matches("ARM_DISARM").count() - code.matches(arm).count() - code.matches(tells).count();
    assert_eq!(
        disarm, 0,
        "the recipe arms, without force, and does nothing else with this command"
    );
}
