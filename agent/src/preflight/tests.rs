//! What is read of an autopilot before a flight, and what is found in it.

use super::*;
use crate::discovery::latched_as;
use model::units::SystemId;
use std::collections::BTreeSet;

fn at(s: u64) -> Moment {
    Moment::at(Duration::from_secs(s))
}

fn identity(autopilot: Autopilot) -> Identity {
    latched_as(autopilot, SystemId(7))
}

fn name_of(message: MavMessage) -> String {
    match message {
        MavMessage::PARAM_REQUEST_READ(m) => {
            assert_eq!((m.target_system, m.target_component, m.param_index), (7, 1, -1));
            m.param_id.to_str().unwrap().to_owned()
        }
        other => panic!("{other:?}"),
    }
}

fn asks(reader: &mut Reader, autopilot: Autopilot, s: u64) -> Option<String> {
    reader.next(&identity(autopilot), true, at(s), 1.0).map(name_of)
}

fn param(name: &str, value: f32, kind: MavParamType) -> PARAM_VALUE_DATA {
    PARAM_VALUE_DATA {
        param_value: value,
        param_id: name.into(),
        param_type: kind,
        ..PARAM_VALUE_DATA::default()
    }
}

const REAL32: MavParamType = MavParamType::MAV_PARAM_TYPE_REAL32;
const INT32: MavParamType = MavParamType::MAV_PARAM_TYPE_INT32;
const INT8: MavParamType = MavParamType::MAV_PARAM_TYPE_INT8;

/// As the autopilots are to be set, by the names of ArduCopter until 4.6, of ArduCopter from 4.7, and of PX4.
const OLD: [(&str, f32); 15] = [
    ("FS_GCS_ENABLE", 5.0),
    ("BATT_FS_LOW_ACT", 2.0),
    ("FS_GCS_TIMEOUT", 5.0),
    ("RTL_ALT", 1500.0),
    ("RTL_ALT_TYPE", 0.0),
    ("FS_OPTIONS", 16.0),
    ("BATT_LOW_VOLT", 10.5),
    ("BATT_LOW_MAH", 0.0),
    ("RTL_ALT_FINAL", 0.0),
    ("RTL_CLIMB_MIN", 0.0),
    ("WPNAV_RADIUS", 200.0),
    ("RALLY_TOTAL", 0.0),
    ("BATT_FS_CRT_ACT", 1.0),
    ("FS_THR_ENABLE", 1.0),
    ("FENCE_ACTION", 1.0),
];
const NEW: [(&str, f32); 15] = [
    ("FS_GCS_ENABLE", 5.0),
    ("BATT_FS_LOW_ACT", 2.0),
    ("FS_GCS_TIMEOUT", 5.0),
    ("RTL_ALT_M", 15.0),
    ("RTL_ALT_TYPE", 0.0),
    ("FS_OPTIONS", 16.0),
    ("BATT_LOW_VOLT", 10.5),
    ("BATT_LOW_MAH", 0.0),
    ("RTL_ALT_FINAL_M", 0.0),
    ("RTL_CLIMB_MIN_M", 0.0),
    ("WP_RADIUS_M", 2.0),
    ("RALLY_TOTAL", 0.0),
    ("BATT_FS_CRT_ACT", 1.0),
    ("FS_THR_ENABLE", 1.0),
    ("FENCE_ACTION", 1.0),
];
const PX4: [(&str, f32); 11] = [
    ("NAV_DLL_ACT", 3.0),
    ("COM_LOW_BAT_ACT", 3.0),
    ("COM_DL_LOSS_T", 10.0),
    ("RTL_RETURN_ALT", 60.0),
    ("RTL_LAND_DELAY", 0.0),
    ("RTL_TYPE", 0.0),
    ("COM_DLL_EXCEPT", 0.0),
    ("NAV_ACC_RAD", 2.0),
    ("NAV_RCL_ACT", 2.0),
    ("GF_ACTION", 2.0),
    ("COM_ARM_ODID", 2.0),
];

/// A parameter as the stack sends it; whole numbers of PX4 are integers here, but for its lengths.
fn sent(autopilot: Autopilot, name: &str, value: f32) -> PARAM_VALUE_DATA {
    let real = ["RTL_RETURN_ALT", "RTL_LAND_DELAY", "NAV_ACC_RAD"].contains(&name);
    match autopilot {
        Autopilot::Px4 if !real => {
            #[allow(clippy::cast_possible_truncation, reason = "small and whole")]
            let bits = f32::from_bits((value as i32).cast_unsigned());
            param(name, bits, INT32)
        }
        _ => param(name, value, REAL32),
    }
}

fn read(autopilot: Autopilot, fine: &[(&str, f32)], changed: &[(&str, f32)]) -> Reader {
    let mut reader = Reader::default();
    for (name, value) in fine.iter().chain(changed) {
        reader.receive(autopilot, &sent(autopilot, name, *value), at(0));
    }
    reader
}

fn problems(autopilot: Autopilot, fine: &[(&str, f32)], changed: &[(&str, f32)]) -> Vec<String> {
    let reader = read(autopilot, fine, changed);
    assert!(reader.findings().complete);
    reader.findings().problems.clone()
}

fn asks_in_vain(reader: &mut Reader, autopilot: Autopilot, seconds: u64) -> Vec<String> {
    let to = identity(autopilot);
    let ask = |ms| {
        let now = Moment::at(Duration::from_millis(ms));
        reader.next(&to, true, now, 1.0).map(name_of)
    };
    (0..seconds * 10).map(|tenth| tenth * 100).filter_map(ask).collect()
}

#[test]
fn each_parameter_is_asked_for_until_it_comes_and_again_much_later() {
    let mut reader = Reader::default();
    let ardupilot = Autopilot::ArduPilot;
    assert_eq!(asks(&mut reader, ardupilot, 0).as_deref(), Some("FS_GCS_ENABLE"));
    assert_eq!(
        asks(&mut reader, ardupilot, 1).as_deref(),
        Some("FS_GCS_ENABLE"),
        "again, for it did not come"
    );
    let mut asked = Vec::new();
    for s in 2..60 {
        let Some(name) = asks(&mut reader, ardupilot, s) else {
            continue;
        };
        if let Some((name, value)) = OLD.iter().find(|(known, _)| *known == name) {
            reader.receive(ardupilot, &param(name, *value, INT8), at(s));
        }
        asked.push(name);
    }
    for (name, _) in OLD {
        assert_eq!(
            asked.iter().filter(|asked| *asked == name).count(),
            1,
            "{name}: {asked:?}"
        );
    }
    assert_eq!(reader.return_altitude(ardupilot), Some(AltitudeAboveHome(15.0)));
    let findings = reader.findings().clone();
    assert_eq!((findings.complete, findings.problems.len()), (true, 0), "{findings:?}");
    assert_eq!(asks(&mut reader, ardupilot, 200), None);
    let in_the_air = reader.clone().next(&identity(ardupilot), false, at(400), 1.0);
    assert_eq!(in_the_air, None, "what is known is not read again in the air");
    assert!(asks(&mut reader, ardupilot, 400).is_some());
}

#[test]
fn the_return_altitude_is_read_under_the_name_and_unit_of_each_version() {
    for (fine, name, stored) in [(NEW, "RTL_ALT_M", 100.0), (OLD, "RTL_ALT", 10_000.0)] {
        let reader = read(Autopilot::ArduPilot, &fine, &[(name, stored)]);
        assert_eq!(
            reader.return_altitude(Autopilot::ArduPilot),
            Some(AltitudeAboveHome(100.0)),
            "{name}"
        );
        assert_eq!(reader.findings().problems, [""; 0]);
    }
    let asked = asks_in_vain(&mut Reader::default(), Autopilot::ArduPilot, 20);
    for name in ["RTL_ALT_M", "RTL_ALT"] {
        assert!(asked.iter().any(|asked| asked == name), "{name}: {asked:?}");
    }
}

#[test]
fn a_return_altitude_that_cannot_be_read_is_a_finding_and_no_number() {
    let mut reader = Reader::default();
    asks_in_vain(&mut reader, Autopilot::ArduPilot, 20);
    assert_eq!(reader.return_altitude(Autopilot::ArduPilot), None);
    let findings = &reader.findings().problems;
    assert!(
        findings
            .iter()
            .any(|line| line.contains("RTL_ALT_M or RTL_ALT") && line.contains("the highest that it could be")),
        "{findings:?}"
    );
}

#[test]
fn a_name_that_the_autopilot_does_not_have_is_not_asked_for_again() {
    let autopilot = Autopilot::ArduPilot;
    let missing = |name: &str, error| PARAM_ERROR_DATA {
        param_id: name.into(),
        error,
        ..PARAM_ERROR_DATA::default()
    };
    let does_not_exist = MavParamError::MAV_PARAM_ERROR_DOES_NOT_EXIST;
    let mut reader = Reader::default();
    for name in ["RTL_ALT_M", "RTL_ALT"] {
        reader.failed(autopilot, &missing(name, does_not_exist), at(0));
    }
    reader.failed(
        autopilot,
        &missing("FS_OPTIONS", MavParamError::MAV_PARAM_ERROR_READ_FAIL),
        at(0),
    );
    let mut asked = asks_in_vain(&mut reader, autopilot, 3600);
    reader.read_again(at(3600));
    reader.not_before = Moment::default();
    asked.extend(asks_in_vain(&mut reader, autopilot, 3600));
    assert!(
        !asked
            .iter()
            .any(|name| name.starts_with("RTL_ALT_M") || name == "RTL_ALT"),
        "{asked:?}"
    );
    assert!(asked.iter().any(|name| name == "FS_OPTIONS"), "it may have it");
    let findings = &reader.findings().problems;
    assert!(
        findings.iter().any(|line| line.contains("RTL_ALT_M or RTL_ALT")),
        "{findings:?}"
    );
    assert_eq!(reader.return_altitude(autopilot), None);
    for (name, value) in [("RTL_ALT", 3000.0), ("RTL_ALT_TYPE", 0.0), ("RTL_CLIMB_MIN", 0.0)] {
        reader.receive(autopilot, &param(name, value, REAL32), at(9000));
    }
    assert_eq!(
        reader.return_altitude(autopilot),
        Some(AltitudeAboveHome(30.0)),
        "it has one after all"
    );
}

#[test]
fn one_of_two_names_that_has_answered_ends_the_questions_for_the_other() {
    let mut reader = Reader::default();
    reader.receive(Autopilot::ArduPilot, &param("RTL_ALT", 1500.0, REAL32), at(0));
    let asked = asks_in_vain(&mut reader, Autopilot::ArduPilot, 3600);
    assert!(!asked.iter().any(|name| name == "RTL_ALT_M"), "{asked:?}");
}

#[test]
fn a_parameter_that_not_every_version_has_is_asked_for_a_few_times_only() {
    let mut reader = read(Autopilot::Px4, &PX4[..6], &PX4[7..]);
    let asked = asks_in_vain(&mut reader, Autopilot::Px4, 3600);
    let asked = asked.iter().filter(|name| *name == "COM_DLL_EXCEPT").count();
    assert_eq!(asked, 8, "PX4 1.15 has none, and says nothing");
    assert_eq!(reader.findings().problems, [""; 0]);
    assert!(reader.findings().complete);
}

#[test]
fn what_was_read_long_ago_or_of_another_airframe_is_not_known_any_more() {
    let ardupilot = Autopilot::ArduPilot;
    let mut reader = Reader::default();
    for (name, value) in OLD {
        reader.receive(ardupilot, &param(name, value, INT8), at(10));
    }
    assert!(reader.findings().complete);
    reader.forget_old(at(369));
    assert!(reader.findings().complete);
    let mut old = reader.clone();
    old.forget_old(at(370));
    assert!(!old.findings().complete, "asked for again at 310 s, and nothing came");
    assert_eq!(asks(&mut old, ardupilot, 371).as_deref(), Some("FS_GCS_ENABLE"));
    assert!(old.return_altitude(ardupilot).is_some(), "as high as it was said to be");
    let mut again = reader.clone();
    again.read_again(at(20));
    assert!(!again.findings().complete);
    let of = |uid| Identity {
        hardware: HardwareUid::of(uid, [0; 18]),
        ..identity(ardupilot)
    };
    assert_eq!(reader.next(&of(1), true, at(21), 1.0), None, "first heard of");
    assert!(reader.findings().complete);
    assert!(reader.next(&of(2), true, at(22), 1.0).is_some());
    assert!(!reader.findings().complete && reader.return_altitude(ardupilot).is_none());
}

#[test]
fn without_a_drone_an_autopilot_is_asked_only_for_what_says_where_it_may_be() {
    for (autopilot, names) in [
        (
            Autopilot::ArduPilot,
            [
                "FS_GCS_ENABLE",
                "BATT_FS_LOW_ACT",
                "RTL_ALT_M",
                "RTL_ALT",
                "RTL_ALT_TYPE",
                "RTL_CLIMB_MIN_M",
                "RTL_CLIMB_MIN",
                "WP_RADIUS_M",
                "WPNAV_RADIUS",
                "RALLY_TOTAL",
                "BATT_FS_CRT_ACT",
                "FS_THR_ENABLE",
                "FENCE_ACTION",
            ]
            .as_slice(),
        ),
        (Autopilot::Px4, ["RTL_RETURN_ALT", "RTL_TYPE"].as_slice()),
    ] {
        let mut reader = Reader::default();
        let asks = |reader: &mut Reader, again, ms| {
            let now = Moment::at(Duration::from_millis(ms));
            reader.next_of_place(&identity(autopilot), again, now, 1.0).map(name_of)
        };
        let ask = |reader: &mut Reader, ms| asks(reader, false, ms);
        let asked: Vec<String> = (0..100).filter_map(|tenth| ask(&mut reader, tenth * 100)).collect();
        let all: BTreeSet<&str> = asked.iter().map(String::as_str).collect();
        assert_eq!(all, names.iter().copied().collect::<BTreeSet<&str>>());
        assert!(asked.iter().filter(|name| *name == names[0]).count() > 1, "again");
        assert_eq!(reader.detours(autopilot), None, "nothing came");
        for (name, value) in [
            ("FS_GCS_ENABLE", 5.0),
            ("BATT_FS_LOW_ACT", 2.0),
            ("BATT_FS_CRT_ACT", 1.0),
            ("FS_THR_ENABLE", 1.0),
            ("FENCE_ACTION", 1.0),
            ("RTL_RETURN_ALT", 60.0),
            ("RTL_ALT_M", 60.0),
            ("RTL_ALT_TYPE", 0.0),
            ("RTL_CLIMB_MIN_M", 0.0),
            ("WP_RADIUS_M", 2.0),
            ("RALLY_TOTAL", 0.0),
            ("RTL_TYPE", 0.0),
        ] {
            reader.receive(autopilot, &param(name, value, REAL32), at(2));
        }
        assert_eq!(reader.return_altitude(autopilot), Some(AltitudeAboveHome(60.0)));
        assert_eq!(reader.detours(autopilot), Some(false));
        assert_eq!(ask(&mut reader, 2_000_000), None, "in the air");
        assert_eq!(asks(&mut reader, true, 200_000), None);
        reader.read_again(at(200));
        assert!(asks(&mut reader, true, 201_000).is_some(), "it was silent");
        assert_eq!(reader.return_altitude(autopilot), Some(AltitudeAboveHome(60.0)));
    }
}

#[test]
fn an_integer_of_px4_is_read_from_its_bits() {
    let problems = problems(Autopilot::Px4, &PX4, &[("COM_LOW_BAT_ACT", 0.0)]);
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].starts_with("COM_LOW_BAT_ACT is 0: "), "{problems:?}");
}

#[test]
fn a_parameter_that_never_comes_is_a_problem_and_is_still_asked_for_now_and_then() {
    let mut reader = Reader::default();
    let names = asks_in_vain(&mut reader, Autopilot::ArduPilot, 3600);
    let asked = names.iter().filter(|name| *name == "FS_GCS_ENABLE").count();
    assert!((15..25).contains(&asked), "{asked} requests in an hour");
    let findings = reader.findings().clone();
    assert!(
        findings.complete && findings.problems.iter().all(|l| l.contains("could not be read")),
        "{findings:?}"
    );
}

#[test]
fn a_value_that_is_none_of_the_known_ones_is_no_failsafe() {
    for odd in [f32::NAN, f32::INFINITY, -1.0, 2.0, 0.5, 250.0] {
        let problems = problems(Autopilot::ArduPilot, &OLD, &[("FS_GCS_ENABLE", odd)]);
        assert_eq!(problems.len(), 1, "{odd}: {problems:?}");
        assert!(problems[0].contains("set it to 5 (land)"), "{problems:?}");
    }
    // The bits of a number where the autopilot says that it is one: PX4's integers are not.
    let mut reader = read(Autopilot::Px4, &PX4, &[]);
    reader.receive(Autopilot::Px4, &param("NAV_DLL_ACT", 2.0, INT32), at(0));
    assert_eq!(reader.findings().problems.len(), 1, "{:?}", reader.findings());
    for (value, stops_motors) in [(1.0, false), (2.0, false), (3.0, false), (5.0, true), (6.0, true)] {
        let problems = problems(Autopilot::Px4, &PX4, &[("NAV_DLL_ACT", value)]);
        assert_eq!(!problems.is_empty(), stops_motors, "{value}");
    }
}

#[test]
fn a_failsafe_that_is_on_and_does_nothing_is_a_finding() {
    for (autopilot, fine, changed, words) in [
        (
            Autopilot::ArduPilot,
            OLD.as_slice(),
            ("FS_OPTIONS", 18.0),
            "set it to 16",
        ),
        (
            Autopilot::ArduPilot,
            NEW.as_slice(),
            ("BATT_LOW_VOLT", 0.0),
            "BATT_LOW_VOLT and BATT_LOW_MAH are 0",
        ),
        (Autopilot::Px4, PX4.as_slice(), ("COM_DLL_EXCEPT", 7.0), "set it to 4"),
        (
            Autopilot::Px4,
            PX4.as_slice(),
            ("COM_DLL_EXCEPT", 2.0),
            "while it holds",
        ),
    ] {
        let problems = problems(autopilot, fine, &[changed]);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].contains(words), "{problems:?}");
    }
    assert_eq!(
        problems(
            Autopilot::ArduPilot,
            &OLD,
            &[("BATT_LOW_VOLT", 0.0), ("BATT_LOW_MAH", 900.0)]
        ),
        [""; 0]
    );
    assert_eq!(
        problems(Autopilot::Px4, &PX4, &[("COM_DLL_EXCEPT", 4.0)]),
        [""; 0],
        "no mode of ours"
    );
}

#[test]
fn a_return_that_is_flown_otherwise_than_it_is_claimed_is_a_finding() {
    for (autopilot, fine, changed, words) in [
        (
            Autopilot::ArduPilot,
            OLD.as_slice(),
            ("RTL_ALT_FINAL", 500.0),
            "RTL_ALT_FINAL is 500 cm (5 m): a return ends in a hover",
        ),
        (
            Autopilot::ArduPilot,
            NEW.as_slice(),
            ("RTL_ALT_FINAL_M", 5.0),
            "RTL_ALT_FINAL_M is 5 m: a return ends in a hover",
        ),
        (
            Autopilot::ArduPilot,
            NEW.as_slice(),
            ("RTL_CLIMB_MIN_M", 10.0),
            "climbs by that at least, from wherever the vehicle is",
        ),
        (
            Autopilot::ArduPilot,
            &NEW,
            ("RALLY_TOTAL", 2.0),
            "RALLY_TOTAL is 2: a return may lead to a rally point",
        ),
        (
            Autopilot::ArduPilot,
            &OLD,
            ("FS_THR_ENABLE", 4.0),
            "set it to 1 (return) or 3 (land)",
        ),
        (
            Autopilot::ArduPilot,
            &OLD,
            ("FENCE_ACTION", 3.0),
            "not the straight one",
        ),
        (
            Autopilot::ArduPilot,
            &OLD,
            ("BATT_FS_CRT_ACT", 4.0),
            "not the straight one",
        ),
        (
            Autopilot::ArduPilot,
            NEW.as_slice(),
            ("RTL_ALT_TYPE", 1.0),
            "above the terrain",
        ),
        (
            Autopilot::ArduPilot,
            NEW.as_slice(),
            ("FS_GCS_ENABLE", 3.0),
            "not the straight one",
        ),
        (
            Autopilot::ArduPilot,
            NEW.as_slice(),
            ("RTL_ALT_M", 3000.0),
            "in centimeters before",
        ),
        (
            Autopilot::Px4,
            PX4.as_slice(),
            ("RTL_LAND_DELAY", -1.0),
            "RTL_LAND_DELAY is -1 s: a return ends in a hover",
        ),
        (
            Autopilot::Px4,
            PX4.as_slice(),
            ("RTL_TYPE", 1.0),
            "elsewhere than straight home",
        ),
        (
            Autopilot::Px4,
            PX4.as_slice(),
            ("RTL_RETURN_ALT", f32::NAN),
            "hardly meant",
        ),
    ] {
        let problems = problems(autopilot, fine, &[changed]);
        assert_eq!(problems.len(), 1, "{changed:?}: {problems:?}");
        assert!(problems[0].contains(words), "{changed:?}: {problems:?}");
    }
    for (name, value) in [("RTL_ALT_TYPE", 1.0), ("RTL_CLIMB_MIN_M", 10.0)] {
        let any = read(Autopilot::ArduPilot, &NEW, &[(name, value)]);
        assert_eq!(
            any.return_altitude(Autopilot::ArduPilot),
            None,
            "{name}: above home it may be any"
        );
    }
    let unread: Vec<(&str, f32)> = NEW.into_iter().filter(|(name, _)| *name != "RTL_ALT_TYPE").collect();
    let unread = read(Autopilot::ArduPilot, &unread, &[]);
    assert_eq!(
        unread.return_altitude(Autopilot::ArduPilot),
        None,
        "above what it counts is not known"
    );
}

#[test]
fn a_failsafe_that_stops_motors_in_flight_is_found_and_an_unrequired_off_one_is_not() {
    for (autopilot, fine, (name, value), finds) in [
        (Autopilot::ArduPilot, OLD.as_slice(), ("BATT_FS_CRT_ACT", 5.0), true),
        (Autopilot::Px4, &PX4, ("NAV_RCL_ACT", 5.0), true),
        (Autopilot::Px4, &PX4, ("NAV_RCL_ACT", 6.0), true),
        (Autopilot::Px4, &PX4, ("GF_ACTION", 4.0), true),
        (Autopilot::ArduPilot, &OLD, ("BATT_FS_CRT_ACT", 0.0), false),
        (Autopilot::ArduPilot, &OLD, ("FS_THR_ENABLE", 0.0), false),
        (Autopilot::ArduPilot, &OLD, ("FENCE_ACTION", 0.0), false),
        (Autopilot::Px4, &PX4, ("NAV_RCL_ACT", 0.0), false),
        (Autopilot::Px4, &PX4, ("GF_ACTION", 0.0), false),
    ] {
        let problems = problems(autopilot, fine, &[(name, value)]);
        let stops = |line: &String| line.starts_with(&format!("{name} is {value}: it stops the motors in the air"));
        assert_eq!(problems.iter().filter(|line| stops(line)).count(), usize::from(finds));
        assert_eq!(problems.len(), usize::from(finds), "{problems:?}");
    }
}

#[test]
fn rally_points_that_px4_reports_are_a_finding_until_they_are_removed() {
    let mut reader = read(Autopilot::Px4, &PX4, &[]);
    let mut current = |id| {
        let current = MISSION_CURRENT_DATA {
            rally_points_id: id,
            ..MISSION_CURRENT_DATA::default()
        };
        reader.hear_current(Autopilot::Px4, &current, at(1));
        reader.findings().problems.clone()
    };
    assert_eq!(current(0), [""; 0]);
    let problems = current(77);
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].contains("has rally points"), "{problems:?}");
    assert_eq!(current(0), [""; 0]);
}

#[test]
fn corners_that_are_cut_wider_than_is_claimed_are_a_finding() {
    for (autopilot, fine, changed, words) in [
        (
            Autopilot::ArduPilot,
            OLD.as_slice(),
            ("WPNAV_RADIUS", 500.0),
            "set it to 200 or less",
        ),
        (
            Autopilot::ArduPilot,
            NEW.as_slice(),
            ("WP_RADIUS_M", 5.0),
            "set it to 2 or less",
        ),
        (
            Autopilot::Px4,
            PX4.as_slice(),
            ("NAV_ACC_RAD", 10.0),
            "NAV_ACC_RAD is 10 m",
        ),
    ] {
        let problems = problems(autopilot, fine, &[changed]);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].contains(words), "{problems:?}");
    }
}

#[test]
fn a_way_home_that_is_not_the_straight_one_is_told() {
    for (autopilot, fine, changed) in [
        (Autopilot::ArduPilot, OLD.as_slice(), ("RALLY_TOTAL", 2.0)),
        (Autopilot::ArduPilot, &OLD, ("FS_GCS_ENABLE", 3.0)),
        (Autopilot::ArduPilot, &OLD, ("BATT_FS_LOW_ACT", 4.0)),
        (Autopilot::ArduPilot, &NEW, ("FENCE_ACTION", 3.0)),
        (Autopilot::Px4, &PX4, ("RTL_TYPE", 1.0)),
    ] {
        assert_eq!(read(autopilot, fine, &[]).detours(autopilot), Some(false));
        assert_eq!(
            read(autopilot, fine, &[changed]).detours(autopilot),
            Some(true),
            "{changed:?}"
        );
    }
    assert_eq!(Reader::default().detours(Autopilot::Px4), None);
    let mut reader = read(Autopilot::ArduPilot, &OLD, &[("FS_GCS_ENABLE", 3.0)]);
    reader.read_again(at(20));
    assert_ne!(
        reader.detours(Autopilot::ArduPilot),
        Some(false),
        "it is not known any more"
    );
    let mut px4 = read(Autopilot::Px4, &PX4, &[]);
    px4.read_again(at(20));
    assert_eq!(
        px4.detours(Autopilot::Px4),
        Some(false),
        "no action of its failsafes leads elsewhere"
    );
}

#[test]
fn how_far_before_a_place_a_copter_turns_is_told_in_meters_also_while_it_is_read_again() {
    let ardupilot = Autopilot::ArduPilot;
    for (fine, name, stored) in [
        (OLD.as_slice(), "WPNAV_RADIUS", 500.0),
        (NEW.as_slice(), "WP_RADIUS_M", 5.0),
    ] {
        let mut reader = read(ardupilot, fine, &[(name, stored)]);
        assert_eq!(reader.waypoint_radius(ardupilot), Some(Meters(5.0)), "{name}");
        reader.read_again(at(20));
        assert_eq!(reader.waypoint_radius(ardupilot), Some(Meters(5.0)), "{name}");
    }
    let broken = read(ardupilot, &NEW, &[("WP_RADIUS_M", f32::INFINITY)]);
    assert_eq!(broken.waypoint_radius(ardupilot), None);
    let px4 = read(Autopilot::Px4, &PX4, &[("NAV_ACC_RAD", 10.0)]);
    assert_eq!(px4.waypoint_radius(Autopilot::Px4), None, "its plan says it");
}

fn timeouts(autopilot: Autopilot, seconds: u8, ours: Ours) -> Vec<String> {
    let (fine, name) = match autopilot {
        Autopilot::ArduPilot => (OLD.as_slice(), "FS_GCS_TIMEOUT"),
        Autopilot::Px4 => (PX4.as_slice(), "COM_DL_LOSS_T"),
    };
    let mut reader = read(autopilot, fine, &[(name, f32::from(seconds))]);
    reader.compare_with(ours, autopilot, at(0));
    assert!(reader.findings().complete);
    reader.findings().problems.clone()
}

#[test]
fn the_autopilots_time_out_for_its_ground_station_is_compared_with_ours() {
    let ours = |heartbeat, loss_s| Ours {
        heartbeat,
        loss: Duration::from_secs(loss_s),
    };
    for autopilot in [Autopilot::ArduPilot, Autopilot::Px4] {
        for fits in [5, 10, 60] {
            assert_eq!(timeouts(autopilot, fits, ours(true, 60)), [""; 0]);
        }
        let line = |seconds, ours| {
            let lines = timeouts(autopilot, seconds, ours);
            assert_eq!(lines.len(), 1, "{lines:?}");
            lines[0].clone()
        };
        let long = line(120, ours(false, 60));
        assert!(
            long.contains(" is 120 s: ") && long.ends_with("set it to 60 or less"),
            "{long}"
        );
        let short = line(2, ours(true, 60));
        assert!(short.ends_with("set it to 4 or more"), "{short}");
        assert_eq!(
            timeouts(autopilot, 2, ours(false, 60)),
            [""; 0],
            "others send the heartbeat"
        );
        let fail_over = line(5, ours(true, 12));
        assert!(
            fail_over.contains("fail-over") && fail_over.contains("set it to 9 or more"),
            "{fail_over}"
        );
        assert_eq!(timeouts(autopilot, 9, ours(true, 12)), [""; 0], "what it says does fit");
        let hopeless = line(5, ours(true, 5));
        assert!(hopeless.ends_with("; set coordinatorLossSeconds to 24"), "{hopeless}");
        assert_eq!(timeouts(autopilot, 5, ours(true, 24)), [""; 0]);
    }
}

#[test]
fn a_time_out_that_cannot_be_read_or_of_a_failsafe_that_is_off_is_no_problem() {
    let ardupilot = Autopilot::ArduPilot;
    let others: Vec<(&str, f32)> = OLD.into_iter().filter(|(name, _)| *name != "FS_GCS_TIMEOUT").collect();
    let mut reader = read(ardupilot, &others, &[]);
    asks_in_vain(&mut reader, ardupilot, 300);
    assert_eq!(
        *reader.findings(),
        Findings {
            complete: true,
            problems: Vec::new()
        }
    );
    reader.receive(ardupilot, &param("FS_GCS_ENABLE", 0.0, INT8), at(300));
    reader.receive(ardupilot, &param("FS_GCS_TIMEOUT", 120.0, INT8), at(300));
    assert_eq!(reader.findings().problems.len(), 1, "that it is off says all");
}

#[test]
fn parameters_of_others_and_broken_names_change_nothing() {
    let mut reader = Reader::default();
    reader.receive(Autopilot::Px4, &param("FS_GCS_ENABLE", 1.0, INT8), at(0));
    let mut broken = param("NAV_DLL_ACT", 1.0, INT32);
    broken.param_id = [0xFF; 16].into();
    reader.receive(Autopilot::Px4, &broken, at(0));
    assert!(!reader.findings().complete);
}

#[test]
fn a_px4_that_acts_on_its_remote_id_in_flight_is_a_finding() {
    for (value, is_found) in [(0.0, false), (2.0, false), (3.0, true), (4.0, true)] {
        let found = problems(Autopilot::Px4, &PX4, &[("COM_ARM_ODID", value)]);
        let named = found
            .iter()
            .any(|line| line.contains("when its Remote ID fails in the air"));
        assert_eq!(
            (named, found.len()),
            (is_found, usize::from(is_found)),
            "{value}: {found:?}"
        );
    }
}
