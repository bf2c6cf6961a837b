//! Recorded events, without and with the autopilot's own descriptions.

use super::*;
use crate::metadata::samples;
use link::dialect::{CURRENT_EVENT_SEQUENCE_DATA, RESPONSE_EVENT_ERROR_DATA};
use std::time::Duration;

fn at(ms: u64) -> Moment {
    Moment::at(Duration::from_millis(ms))
}

/// Id, levels, and the first bytes of its arguments.
type Recorded<'a> = (u32, u8, &'a [u8]);

fn event(sequence: u16, (id, log_levels, arguments): Recorded<'_>) -> MavMessage {
    let mut data = EVENT_DATA {
        id,
        log_levels,
        sequence,
        ..EVENT_DATA::default()
    };
    data.arguments[..arguments.len()].copy_from_slice(arguments);
    MavMessage::EVENT(data)
}

fn receive(events: &mut Events, first: u16, recorded: &[Recorded<'_>]) -> Vec<EventMeaning> {
    let numbered = (0..).zip(recorded);
    numbered
        .flat_map(|(n, it): (u16, _)| events.receive(&event(first.wrapping_add(n), *it), at(u64::from(n))))
        .collect()
}

fn texts(said: &[EventMeaning]) -> Vec<&str> {
    let text = |said: &'_ EventMeaning| match said {
        EventMeaning::ChecksBegin => "begin".to_owned(),
        EventMeaning::Blocks { text, .. }
        | EventMeaning::Denied(text)
        | EventMeaning::Line(text)
        | EventMeaning::Failsafe(text) => text.clone(),
    };
    said.iter().map(|s| &*text(s).leak()).collect()
}

/// All modes, and the part of the vehicle.
const ALL: [u8; 5] = [0xff, 0xff, 0xff, 0xff, 12];
const POSITION: Recorded<'_> = (30_612_409, 0x33, &[0x7c, 0, 0x7e, 0, 0x11]);
const GLOBAL_POSITION: Recorded<'_> = (26_788_467, 0x33, &[0x38, 0, 0, 0, 0x18]);
const MISSION: Recorded<'_> = (17_154_777, 0x66, &[0x08, 0, 0, 0, 0x14]);
const OFFBOARD: Recorded<'_> = (19_865_031, 0x33, &[0, 0x40, 0, 0, 0x14]);
const MANUAL: Recorded<'_> = (17_231_145, 0x44, &[0xff, 0xff, 0xff, 0xff, 7]);
const GROUND_STATION: Recorded<'_> = (23_579_003, 0x66, &ALL);
const COMPASS: Recorded<'_> = (22_720_449, 0x33, &[0xff, 0xff, 0xff, 0xff, 0x1b, 1, 2]);
const UNKNOWN: Recorded<'_> = (0x0123_4567, 0x22, &[0xff, 0xff, 0xff, 0xff, 1]);
const BEGIN: Recorded<'_> = (ARMING_SUMMARY, 0x88, &[]);
const END: Recorded<'_> = (HEALTH_SUMMARY, 0x88, &[]);
const RECORDED: [Recorded<'_>; 11] = [
    BEGIN,
    POSITION,
    GLOBAL_POSITION,
    MISSION,
    OFFBOARD,
    MANUAL,
    GROUND_STATION,
    COMPASS,
    UNKNOWN,
    END,
    UNKNOWN,
];

#[test]
fn of_the_recorded_report_only_the_checks_that_block_our_mode_are_reasons() {
    let said = receive(&mut Events::default(), 65530, &RECORDED);
    let expected = [
        "begin",
        "Navigation error: No valid position estimate",
        "Navigation error: No valid global position estimate",
        "Found 1 compass (required: 2)",
        "PX4 event 0x01234567",
    ];
    assert_eq!(texts(&said), expected, "and none outside of a report");
}

#[test]
fn by_the_autopilots_own_descriptions_the_same_report_says_more() {
    let mut events = Events::default();
    events.described(samples::table());
    let said = receive(&mut events, 65530, &RECORDED);
    let expected = [
        "begin",
        "Navigation error: No valid position estimate",
        // Those that are not described are described by the built-in table.
        "Navigation error: No valid global position estimate",
        "Found 1 compass (required: 2): Make sure all required sensors are connected, see SYS_HAS_MAG.",
        "PX4 event 0x01234567",
    ];
    assert_eq!(texts(&said), expected);
    let codes: Vec<u32> = said
        .iter()
        .filter_map(|s| {
            if let EventMeaning::Blocks { code, .. } = s {
                Some(*code)
            } else {
                None
            }
        })
        .collect();
    assert_eq!(codes, [30_612_409, 26_788_467, 22_720_449, 0x0123_4567]);
}

#[test]
fn why_a_mission_is_not_flown_is_read_also_when_it_came_before_the_descriptions() {
    let mut events = Events::default();
    let landed = (0x0100_0062, 0x66, &[][..]);
    let early = receive(&mut events, 0, &[landed, (19_608_877, 0x63, &[3, 0])]);
    assert_eq!(early, [], "nobody can read that");
    events.described(samples::table());
    let late = receive(&mut events, 2, &[landed]);
    assert_eq!(texts(&late), ["Geofence violation for waypoint 3", "Landing detected"]);
    assert_eq!(texts(&receive(&mut events, 3, &[landed])), ["Landing detected"]);
}

#[test]
fn a_check_of_the_health_group_is_a_reason_with_its_numbers() {
    let mut events = Events::default();
    events.described(samples::table());
    let busy = [&ALL[..], &91.25_f32.to_le_bytes()].concat();
    let said = receive(
        &mut events,
        0,
        &[(0x0100_004E, 0x33, &busy), (0x0100_004E, 0x44, &busy)],
    );
    assert_eq!(texts(&said), ["CPU load too high: 91.2%"], "a warning does not block");
}

#[test]
fn a_description_that_would_change_the_class_of_a_reason_is_left_out() {
    let mut events = Events::default();
    events.described(samples::table());
    let said = receive(&mut events, 0, &[(0x0100_004D, 0x33, &ALL)]);
    assert_eq!(texts(&said), ["No valid altitude estimate"]);
    assert_eq!(
        class("No valid altitude estimate"),
        model::vehicle::ReasonClass::WillHeal
    );
}

#[test]
fn later_parts_of_a_report_do_not_put_the_first_one_out_of_date() {
    let mut events = Events::default();
    events.described(samples::table());
    let said = receive(
        &mut events,
        0,
        &[BEGIN, POSITION, END, (ARMING_SUMMARY, 0x88, &[1]), COMPASS, END],
    );
    assert_eq!(said.iter().filter(|s| **s == EventMeaning::ChecksBegin).count(), 1);
    assert_eq!(said.len(), 3);
}

#[test]
fn a_denial_says_why_and_other_events_are_lines_for_the_log() {
    let recorded = [
        (ARM_DENIED, 0x62, &[][..]),
        (0x0100_0063, 0x62, &[]),
        (0x0100_0062, 0x66, &[]),
        (0x0100_0062, 0x88, &[]),
    ];
    let unhelpful = EventMeaning::Denied("Resolve system health failures first".to_owned());
    assert_eq!(
        receive(&mut Events::default(), 0, &recorded),
        std::slice::from_ref(&unhelpful)
    );
    let mut events = Events::default();
    events.described(samples::table());
    let said = receive(&mut events, 0, &recorded);
    assert_eq!(
        said,
        [
            unhelpful,
            EventMeaning::Denied("high throttle".to_owned()),
            EventMeaning::Line("Landing detected".to_owned())
        ]
    );
}

#[test]
fn a_missing_ground_station_blocks_only_when_the_autopilot_says_so() {
    let mut events = Events::default();
    assert_eq!(receive(&mut events, 0, &[(23_579_003, 0x66, &ALL)]), []);
    assert_eq!(receive(&mut events, 1, &[(23_579_003, 0x33, &ALL)]).len(), 1);
}

#[test]
fn an_event_that_comes_twice_is_read_once_and_one_for_somebody_else_not_at_all() {
    let mut events = Events::default();
    assert_eq!(receive(&mut events, 7, &[COMPASS]).len(), 1);
    assert_eq!(receive(&mut events, 7, &[COMPASS]).len(), 0);
    let MavMessage::EVENT(mut data) = event(8, COMPASS) else {
        unreachable!()
    };
    data.destination_component = 190;
    assert_eq!(events.receive(&MavMessage::EVENT(data), at(0)).len(), 0);
    assert_eq!(receive(&mut events, 9, &[COMPASS]).len(), 1);
}

#[test]
fn a_lost_beginning_of_a_report_is_asked_for_and_read_before_what_came_behind_it() {
    let mut events = Events::default();
    assert_eq!(texts(&receive(&mut events, 3, &[POSITION])).len(), 1);
    // 4, the beginning, is lost; 5 waits for it.
    assert_eq!(events.receive(&event(5, COMPASS), at(1000)), []);
    assert_eq!(events.missed(at(1200)), Some((4, 4)));
    let said = events.receive(&event(4, BEGIN), at(1300));
    assert_eq!(texts(&said), ["begin", "Found 1 compass (required: 2)"]);
}

#[test]
fn an_error_in_answer_to_us_ends_the_wait_and_one_in_answer_to_others_does_not() {
    let mut events = Events::default();
    receive(&mut events, 3, &[POSITION]);
    assert_eq!(events.receive(&event(5, COMPASS), at(1000)), []);
    let error = |target_component| {
        MavMessage::RESPONSE_EVENT_ERROR(RESPONSE_EVENT_ERROR_DATA {
            sequence: 4,
            sequence_oldest_available: 5,
            target_component,
            ..RESPONSE_EVENT_ERROR_DATA::default()
        })
    };
    assert_eq!(events.receive(&error(190), at(1100)), []);
    assert_eq!(events.receive(&error(OUR_COMPONENT.0), at(1100)).len(), 1);
}

#[test]
fn after_a_reboot_the_same_numbers_are_new_events() {
    let mut events = Events::default();
    assert_eq!(receive(&mut events, 65534, &[BEGIN, COMPASS]).len(), 2);
    let count = CURRENT_EVENT_SEQUENCE_DATA {
        sequence: 65534,
        flags: MavEventCurrentSequenceFlags::MAV_EVENT_CURRENT_SEQUENCE_FLAGS_RESET,
    };
    assert_eq!(events.receive(&MavMessage::CURRENT_EVENT_SEQUENCE(count), at(50)), []);
    assert_eq!(receive(&mut events, 65534, &[BEGIN, COMPASS]).len(), 2);
}

#[test]
fn the_events_that_begin_a_failsafe_name_its_cause_as_they_were_recorded_from_px4() {
    // Mode (u32), action, wait in seconds (u16), cause; then the same without the wait, and without a cause.
    let hold: Recorded<'_> = (FAILSAFE_HOLD, 0x42, &[0, 0, 4, 3, 6, 5, 0, 4]);
    let acts: Recorded<'_> = (FAILSAFE, 0x42, &[0, 0, 4, 3, 6, 2]);
    let generic: Recorded<'_> = (FAILSAFE_GENERIC, 0x42, &[0, 0, 4, 3, 5]);
    let said = receive(&mut Events::default(), 0, &[hold, acts, generic]);
    assert_eq!(
        said,
        [
            "Failsafe activated (critical battery level), waiting in Hold",
            "Failsafe activated (ground station loss)",
            "Failsafe activated",
        ]
        .map(|text| EventMeaning::Failsafe(text.to_owned()))
    );
}

/// Of a PX4 that can be armed in our mode, and of one that cannot.
const CAN_ARM: Recorded<'_> = (
    ARMING_SUMMARY,
    0x88,
    &[
        0, 0, 0, 0x10, 0, 0x80, 0, 0, 0, 0xb0, 0x3b, 0x7f, 0x80, 0xb0, 0x3b, 0x7f, 0x80,
    ],
);
const CANNOT_ARM: Recorded<'_> = (
    ARMING_SUMMARY,
    0x88,
    &[0, 0, 0, 0x10, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0xb0, 0x3b, 0x7f, 0x80],
);
/// With COM_ARM_MIS_REQ: for all modes, and still no more than information.
const MISSION_REQUIRED: Recorded<'_> = (17_154_777, 0x66, &[0xff, 0xff, 0xff, 0xff, 0x14]);

#[test]
fn a_lesser_check_is_the_reason_where_the_report_forbids_arming_without_an_error() {
    for described in [false, true] {
        let mut events = Events::default();
        if described {
            events.described(samples::table());
        }
        let armable = [CAN_ARM, MISSION, OFFBOARD, MANUAL, END];
        assert_eq!(texts(&receive(&mut events, 0, &armable)), ["begin"]);
        let refused = [CANNOT_ARM, MISSION_REQUIRED, OFFBOARD, MANUAL, END];
        let said = receive(&mut events, 5, &refused);
        assert_eq!(texts(&said), ["begin", "No valid mission available"]);

        // An agent that has not observed it armable cannot tell which of them it is.
        let said = receive(&mut Events::default(), 0, &refused);
        let both = ["begin", "No valid mission available", "No manual control input"];
        assert_eq!(texts(&said), both);
        // An error says it all.
        let said = receive(&mut events, 10, &[CANNOT_ARM, MISSION_REQUIRED, COMPASS, END]);
        assert_eq!(said.len(), 2, "{said:?}");
    }
}
