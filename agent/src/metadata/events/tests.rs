//! What events say by a file such as PX4 has, and that hostile files do no harm.

use super::super::table::Subject;
use super::*;
use proptest::prelude::*;

/// Two components: one takes an enum from the other. What is marked as broken makes no sense and is left out.
const FILE: &str = r#"{
  "version": 2, "something new": [1, 2],
  "components": {
    "0": {"namespace": "shared", "enums": {
      "colour_t": {"type": "int8_t", "entries": {"-1": {"name": "red", "description": "Red"}, "2": {"name": "blue"}}}}},
    "1": {"namespace": "px4",
      "enums": {
        "navigation_mode_group_t": {"type": "uint32_t", "is_bitfield": true, "entries": {
          "1": {"name": "manual", "description": "Manual"}, "32": {"name": "loiter", "description": "Hold"}}},
        "parts_t": {"type": "uint8_t", "is_bitfield": true, "separator": ", ", "entries": {
          "1": {"name": "a", "description": "Arm"}, "4": {"name": "b", "description": "Boom"}}},
        "broken_t": {"type": "complex", "entries": {}},
        "broken2_t": 7},
      "event_groups": {
        "default": {"events": {
          "5": {"name": "landed", "message": "Landed", "description": "At {1:.1m}, see <a href=\"x\">here</a>",
                "arguments": [{"type": "float", "name": "height"}]},
          "6": {"name": "mix", "message": "{1} {2} {3}",
                "arguments": [{"type": "shared::colour_t"}, {"type": "parts_t"}, {"type": "int64_t"}]},
          "7": {"name": "broken", "message": 3},
          "8": {"name": "broken_argument", "message": "x", "arguments": [{"type": "nothing_t"}]},
          "16777216": {"name": "broken_number", "message": "x"},
          "x": {"name": "broken_number", "message": "x"}}},
        "arming_check": {"events": {
          "10": {"name": "summary", "type": "summary", "message": "s", "arguments": [{"type": "uint8_t"}]},
          "11": {"name": "check_mag", "message": "Compass {3} missing",
                 "arguments": [{"type": "navigation_mode_group_t"}, {"type": "uint8_t"}, {"type": "uint8_t"}]},
          "12": {"name": "odd", "message": "no arguments"}}},
        "health": {"events": {
          "20": {"name": "summary", "type": "summary", "message": "s"},
          "21": {"name": "check_cpu", "message": "Busy", "arguments": [{"type": "navigation_mode_group_t"}, {"type": "uint8_t"}]}}},
        "calibration": {"events": {}}}}}}"#;
const PX4: u32 = 1 << 24;

fn table() -> Table {
    read(FILE.as_bytes()).unwrap()
}

fn message(table: &Table, id: u32, bytes: &[u8]) -> String {
    table.describe(PX4 | id, bytes).unwrap().message
}

#[test]
fn an_event_is_told_with_its_arguments_by_their_types_and_enums() {
    let table = table();
    let told = table.describe(PX4 | 5, &3.25_f32.to_le_bytes()).unwrap();
    assert_eq!((told.name, told.subject), ("landed", Subject::Other));
    assert_eq!(
        (told.message.as_str(), told.description.as_str()),
        ("Landed", "At 3.2 m, see here")
    );
    let bytes = |color: u8, parts: u8| [&[color, parts][..], &(-7_i64).to_le_bytes()].concat();
    assert_eq!(message(&table, 6, &bytes(0xFF, 0b101)), "Red Arm, Boom -7");
    assert_eq!(message(&table, 6, &bytes(2, 0)), "blue  -7".replace("  ", " "));
    assert_eq!(message(&table, 6, &bytes(3, 0b11)), "unknown (3) Arm, unknown (2) -7");
    assert_eq!(message(&table, 6, &[2]), "blue {2} {3}", "the rest was not sent");
}

#[test]
fn what_makes_no_sense_is_left_out_and_the_rest_is_kept() {
    let table = table();
    let mut ids: Vec<u32> = table.events.keys().map(|id| id - PX4).collect();
    ids.sort_unstable();
    assert_eq!(ids, [5, 6, 10, 11, 12, 20, 21]);
    assert_eq!(table.enums.len(), 3);
    assert_eq!(table.describe(5, &[]), None, "another component");
}

#[test]
fn the_groups_tell_checks_and_the_ends_of_a_report_apart() {
    let table = table();
    let subject = |id: u32, bytes: &[u8]| table.describe(PX4 | id, bytes).unwrap().subject;
    assert_eq!(
        subject(10, &[0]),
        Subject::ReportBegins {
            chunk: 0,
            can_arm: None
        }
    );
    assert_eq!(
        subject(10, &[3]),
        Subject::ReportBegins {
            chunk: 3,
            can_arm: None
        }
    );
    assert_eq!(subject(20, &[]), Subject::ReportEnds);
    assert_eq!(subject(12, &[]), Subject::Other, "a check has two arguments at least");
    for check in [11, 21] {
        assert_eq!(subject(check, &[0x20, 0, 0, 0, 5, 1]), Subject::Check { in_hold: true });
        assert_eq!(
            subject(check, &[0x01, 0, 0, 0, 5, 1]),
            Subject::Check { in_hold: false }
        );
    }
}

#[test]
fn which_modes_hold_the_place_is_read_from_the_groups_of_modes_if_they_are_there() {
    assert_eq!(table().hold, Some(32), "by the entry's name");
    let groups = r#""namespace": "px4", "navigation_mode_groups": {"groups": {"0": [65536], "7": [1, 50593792]}},"#;
    let text = FILE.replace(r#""namespace": "px4","#, groups);
    assert_eq!(read(text.as_bytes()).unwrap().hold, Some(1 << 7));
    let broken = groups.replace(r#""7""#, r#""700""#);
    let text = FILE.replace(r#""namespace": "px4","#, &broken);
    assert_eq!(read(text.as_bytes()).unwrap().hold, Some(32));
}

#[test]
fn a_file_that_is_no_events_file_is_refused() {
    for text in [
        "",
        "{}",
        "[]",
        "{\"components\": []}",
        "{\"components\": {}, \"version\": 1}",
    ] {
        assert!(read(text.as_bytes()).is_err(), "{text}");
    }
    let deep = "[".repeat(100_000);
    assert!(matches!(read(deep.as_bytes()), Err(Misread::Shape(_))));
    let deep = format!(r#"{{"components": {{"1": {{"namespace": "a", "x": {deep}"#);
    assert!(matches!(read(deep.as_bytes()), Err(Misread::Shape(_))));
}

#[test]
fn a_file_of_too_many_events_or_entries_is_refused() {
    let many = |count: usize, each: &dyn Fn(usize) -> String| (0..count).map(each).collect::<Vec<_>>().join(",");
    let event = |n: usize| format!(r#""{n}": {{"name": "e", "message": "m"}}"#);
    let file = |events: &str, enums: &str| {
        format!(
            r#"{{"components": {{"1": {{"namespace": "a", "enums": {{{enums}}}, "event_groups": {{"g": {{"events": {{{events}}}}}}}}}}}}}"#
        )
    };
    assert!(read(file(&many(EVENTS_AT_MOST, &event), "").as_bytes()).is_ok());
    assert!(matches!(
        read(file(&many(EVENTS_AT_MOST + 1, &event), "").as_bytes()),
        Err(Misread::TooMuch)
    ));
    let entries = many(ENTRIES_AT_MOST + 1, &|n| format!(r#""{n}": {{"name": "e"}}"#));
    let enums = format!(r#""e_t": {{"type": "uint32_t", "entries": {{{entries}}}}}"#);
    assert!(matches!(
        read(file(&event(1), &enums).as_bytes()),
        Err(Misread::TooMuch)
    ));
}

#[test]
fn long_texts_are_cut() {
    let text = FILE.replace("Landed", &"x".repeat(100_000));
    let table = read(text.as_bytes()).unwrap();
    assert!(message(&table, 5, &[0; 4]).len() <= 400);
    assert!(table.events.values().all(|event| event.message.len() <= TEXT_AT_MOST));
}

proptest! {
    #[test]
    fn a_file_with_a_broken_byte_is_refused_or_read_and_nothing_panics(place in 0..FILE.len(), byte: u8) {
        let mut bytes = FILE.as_bytes().to_vec();
        bytes[place] = byte;
        if let Ok(table) = read(&bytes) {
            for id in table.events.keys() {
                let _ = table.describe(*id, &[byte; 40]);
            }
        }
    }

    #[test]
    fn any_arguments_are_told_or_left_where_they_stand(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let table = table();
        for id in [5, 6, 10, 11, 20, 21] {
            let told = table.describe(PX4 | id, &bytes).unwrap();
            prop_assert!(told.message.chars().count() <= 400);
        }
    }
}
