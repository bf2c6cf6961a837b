//! Both formats, on samples and round trips.

mod field;
mod forms;
mod gathered;
mod mended;
mod zipped;

use super::*;
use model::plan::item;
use proptest::prelude::*;

const SIMPLE: &str = include_str!("../samples/simple.plan");
const SURVEY: &str = include_str!("../samples/survey.plan");
const CORRIDOR: &str = include_str!("../samples/corridor.plan");
const WAYPOINTS: &str = include_str!("../samples/patrol.waypoints");

/// Excludes fences and rally points, which are no items of a mission.
fn items() -> impl Strategy<Value = Item> {
    let params = prop::array::uniform7(prop::option::of(-1000.0..1000.0_f64));
    let command = any::<u16>().prop_filter("a fence", |command| !(5000..=5100).contains(command));
    (command, any::<u8>(), params, any::<bool>()).prop_map(|(command, frame, params, goes_on)| Item {
        command,
        frame,
        params,
        goes_on,
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_as_it_was(items in prop::collection::vec(items(), 1..30), east in 1.0..179.0_f64) {
        let at = Wgs84 { latitude_deg: 47.5, longitude_deg: east };
        let file = PlanFile { items, home: Some((at, AltitudeAmsl(488.0))), not_taken: Vec::new() };
        prop_assert_eq!(&parse(&write(&file, Format::Plan)).unwrap().file, &file);
        let mut without_nan = file.clone();
        for item in &mut without_nan.items {
            item.params = item.params.map(|param| Some(param.unwrap_or_default()));
        }
        prop_assert_eq!(parse(&write(&file, Format::Wpl)).unwrap().file, without_nan);
    }

    #[test]
    fn no_text_is_too_odd(text in ".{0,300}", tail in prop::collection::vec("[-0-9a-z.]{0,6}", 0..14)) {
        let _ = read(&text);
        let _ = read(&format!("QGC WPL 110\n{}\n", tail.join("\t")));
        let _ = read(&SURVEY.replacen("47.39", &text, 1));
    }
}

#[test]
fn the_samples_of_both_formats_are_read() {
    let simple = read(SIMPLE).unwrap();
    let commands: Vec<u16> = simple.items.iter().map(|item| item.command).collect();
    assert_eq!(commands, [22, 178, 16, 2000, 19, 16, 20]);
    assert_eq!(simple.items[0].params[3], None);
    assert_eq!(simple.home.unwrap().1, AltitudeAmsl(487.989));
    assert_eq!(
        simple.not_taken,
        [
            NotTaken::Geofence {
                polygons: 1,
                circles: 1
            },
            NotTaken::RallyPoints(2)
        ]
    );
    let survey = read(SURVEY).unwrap();
    let commands: Vec<u16> = survey.items.iter().map(|item| item.command).collect();
    assert_eq!(commands, [22, 16, 206, 16, 206, 16, 206, 16, 206, 20]);
    let corridor = read(CORRIDOR).unwrap();
    assert_eq!(corridor.items.len(), 7);
    let patrol = read(WAYPOINTS).unwrap();
    assert_eq!(patrol.items.len(), 5);
    assert!(patrol.not_taken.is_empty());
}

#[test]
fn a_route_can_say_what_the_samples_say() {
    for (text, waypoints) in [(SIMPLE, 3), (SURVEY, 4), (CORRIDOR, 3), (WAYPOINTS, 3)] {
        let (found, omitted) = item::to_waypoints(&read(text).unwrap().items).unwrap();
        assert_eq!(found.len(), waypoints);
        assert_eq!((omitted.takeoffs, omitted.landings), (1, 1));
    }
}

#[test]
fn what_is_no_plan_is_refused_with_what_to_do() {
    let plan = |from: &str, to: &str| {
        assert!(SIMPLE.contains(from), "{from}");
        read(&SIMPLE.replacen(from, to, 1)).unwrap_err()
    };
    let text = |error: Unreadable| error.to_string();
    assert!(matches!(
        plan("\"Plan\"", "\"Parameters\""),
        Unreadable::Plan(qgc::BadPlan::FileType(_))
    ));
    assert!(matches!(
        read("{").unwrap_err(),
        Unreadable::Plan(qgc::BadPlan::Json(_))
    ));
    assert!(matches!(
        plan(
            "\"vehicleType\": 2,\n        \"version\": 2",
            "\"vehicleType\": 2, \"version\": 3"
        ),
        Unreadable::Plan(qgc::BadPlan::Version {
            part: "mission",
            got: 3,
            known: 2
        })
    ));
    assert!(matches!(
        read("{\"fileType\": \"Plan\", \"version\": 2}").unwrap_err(),
        Unreadable::Plan(qgc::BadPlan::Version {
            part: "file",
            got: 2,
            known: 1
        })
    ));
    for empty in [
        "{\"fileType\": \"Plan\", \"version\": 1}",
        "{\"fileType\": \"Plan\", \"version\": 1, \"mission\": {\"version\": 2, \"items\": []}}",
    ] {
        assert!(matches!(
            read(empty).unwrap_err(),
            Unreadable::Plan(qgc::BadPlan::Empty)
        ));
    }
    let item = |from, to| match plan(from, to) {
        Unreadable::Plan(qgc::BadPlan::Item { number, why }) => (number, why),
        other => panic!("{other}"),
    };
    assert_eq!(item("\"SimpleItem\"", "\"Simple\"").0, 0);
    assert!(item("\"command\": 22", "\"command\": 70000").1.contains("70000"));
    assert!(item("15,\n                    0,", "15,").1.contains("6 params"));
    let scan = SURVEY
        .replacen("\"Items\":", "\"None\":", 1)
        .replacen("\"survey\"", "\"StructureScan\"", 1);
    let refused = text(read(&scan).unwrap_err());
    assert!(refused.contains("item 1 of the plan is a StructureScan"), "{refused}");
    assert!(matches!(
        read("QGC WPL 100\n").unwrap_err(),
        Unreadable::Wpl(wpl::BadWpl::Header(_))
    ));
    assert!(matches!(read("<kml/>").unwrap_err(), Unreadable::NoFormat));
    assert!(matches!(
        read(&" ".repeat(LONGEST + 1)).unwrap_err(),
        Unreadable::TooLong(_)
    ));
    let many = |count: usize| {
        let items = vec![read(WAYPOINTS).unwrap().items[0]; count];
        PlanFile {
            items,
            ..PlanFile::default()
        }
    };
    assert!(read(&write(&many(MOST_ITEMS), Format::Wpl)).is_ok());
    let too_many = many(MOST_ITEMS + 1);
    assert!(matches!(
        read(&write(&too_many, Format::Wpl)).unwrap_err(),
        Unreadable::Wpl(wpl::BadWpl::TooMany)
    ));
    assert!(matches!(
        read(&write(&too_many, Format::Plan)).unwrap_err(),
        Unreadable::Plan(qgc::BadPlan::TooMany)
    ));
}

#[test]
fn a_broken_line_is_named() {
    let with = |lines: &str| match read(&format!("QGC WPL 110\n{lines}")).unwrap_err() {
        Unreadable::Wpl(error) => error,
        other => panic!("{other}"),
    };
    let home = "0\t1\t0\t16\t0\t0\t0\t0\t47.4\t8.5\t488\t1\n";
    assert_eq!(with(""), wpl::BadWpl::Empty);
    assert_eq!(with(home), wpl::BadWpl::Empty);
    assert_eq!(
        with(&format!("{home}1\t0\t3\n")),
        wpl::BadWpl::Count { line: 3, count: 3 }
    );
    for (frame, command) in [(3, 16), (0, 22)] {
        let item = format!("0\t1\t{frame}\t{command}\t0\t0\t0\t0\t47.4\t8.5\t30\t1\n");
        let line = 2;
        assert_eq!(with(&item), wpl::BadWpl::Home { line, command, frame });
    }
    let order = wpl::BadWpl::Order {
        line: 4,
        got: 2,
        before: 3,
    };
    let second = "2\t0\t3\t16\t0\t0\t0\t0\t47\t8\t30\t1\n";
    let third = second.replacen('2', "3", 1);
    assert_eq!(with(&format!("{home}{third}{second}")), order);
    // Empty lines and comments are counted.
    let same = with(&format!("{home}{second}\n{second}")).to_string();
    assert_eq!(same, "lines 3 and 5 both have number 2; number the lines on");
    for (field, line, text) in [
        ("command", "1\t0\t3\tx\t0\t0\t0\t0\t47\t8\t30\t1", "x"),
        ("frame", "1\t0\t300\t16\t0\t0\t0\t0\t47\t8\t30\t1", "300"),
        ("latitude", "1\t0\t3\t16\t0\t0\t0\t0\tnorth\t8\t30\t1", "north"),
        ("altitude", "1\t0\t3\t16\t0\t0\t0\t0\t47\t8\tinf\t1", "inf"),
        ("autocontinue", "1\t0\t3\t16\t0\t0\t0\t0\t47\t8\t30\t2", "2"),
        ("number", "-1\t0\t3\t16\t0\t0\t0\t0\t47\t8\t30\t1", "-1"),
    ] {
        let expected = wpl::BadWpl::Number {
            line: 3,
            field,
            text: text.to_owned(),
        };
        assert_eq!(with(&format!("{home}{line}\n")), expected);
    }
}

/// A Mission's status is read by people who may not read the ConfigMap with its file.
#[test]
fn a_fault_can_be_said_without_a_word_of_the_file() {
    let home = "0\t1\t0\t16\t0\t0\t0\t0\t47.4\t8.5\t488\t1\n";
    let rows = |row: &str| format!("QGC WPL 110\n{home}{row}\n");
    for (text, place) in [
        ("QGC WPL password 70707\n".to_owned(), "the first line"),
        (rows("1\t0\t3\t16\t70707x\t0\t0\t0\t47\t8\t30\t1"), "line 3: param1"),
        (rows("1\t0\t3\t70707\t0\t0\t0\t0\t47\t8\t30\t1"), "line 3: command"),
        (rows("1\t0\t3\t16\t0\t0\t0\t0\t47\t8\t30\t70707"), "line 3: autocontinue"),
        (rows("70707 70707"), "line 3 has 2 values"),
        (
            format!("{}{}", rows("70707\t0\t3\t16\t0\t0\t0\t0\t47\t8\t30\t1"), home),
            "line 4",
        ),
        ("QGC WPL 110\n0\t1\t3\t707\t0\t0\t0\t0\t47\t8\t30\t1\n".to_owned(), "line 2"),
        (
            rows("1\t0\t3\t5001\t70707\t0\t0\t0\t47\t8\t0\t1"),
            "line 3: a polygon",
        ),
        (rows("1\t0\t0\t16\t0\t0\t0\t0\t47\t8\t70.707\t1"), "line 3"),
        (r#"{"fileType": "password 70707"}"#.to_owned(), "fileType"),
        (r#"{"fileType": "Plan", "mission": {"password": 70707,,}}"#.to_owned(), "line 1, column 52"),
        (r#"{"fileType": "Plan", "version": 70707}"#.to_owned(), "version"),
        (
            r#"{"fileType": "Plan", "version": 1, "mission": {"version": 2, "items": [{"type": "password"}]}}"#.to_owned(),
            "item 0",
        ),
        (
            r#"{"fileType": "Plan", "version": 1, "mission": {"version": 2, "items": [{"type": "ComplexItem", "complexItemType": "password"}]}}"#
                .to_owned(),
            "item 0",
        ),
        (
            r#"{"fileType": "Plan", "version": 1, "mission": {"version": 2, "items": [{"type": "SimpleItem", "command": 70707}]}}"#
                .to_owned(),
            "item 0",
        ),
    ] {
        let why = read(&text).unwrap_err().without_content();
        assert!(why.contains(place), "{place}: {why}");
        assert!(!why.contains("password") && !why.contains("707"), "{why}");
    }
}

#[test]
fn what_is_not_taken_is_said_in_words() {
    let fence = NotTaken::Geofence {
        polygons: 1,
        circles: 2,
    };
    assert_eq!(fence.to_string(), "the geofence is not taken (polygons: 1, circles: 2)");
    assert_eq!(NotTaken::RallyPoints(3).to_string(), "rally points are not taken (3)");
}
