//! Vehicles of the same name on one port.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use super::*;
use crate::framing::tests::{frame_of, hex};
use mavlink::dialects::ardupilotmega::{
    COMMAND_LONG_DATA, HEARTBEAT_DATA, MANUAL_CONTROL_DATA, MavMessage, PARAM_SET_DATA, PARAM_VALUE_DATA,
};
use model::units::Address;
use proptest::prelude::*;

fn frame(from: (u8, u8), message: &MavMessage) -> RawFrame {
    RawFrame::parse(&frame_of(from, 7, message)).unwrap()
}

fn command(system: u8) -> MavMessage {
    MavMessage::COMMAND_LONG(COMMAND_LONG_DATA {
        target_system: system,
        target_component: 1,
        ..COMMAND_LONG_DATA::default()
    })
}

fn beat() -> MavMessage {
    MavMessage::HEARTBEAT(HEARTBEAT_DATA::default())
}

fn twins() -> (Numbers, [Renumbered; 2]) {
    let mut numbers = Numbers::default();
    let twins = [(); 2].map(|()| Renumbered {
        own: SystemId(1),
        number: numbers.give(SystemId(1)),
    });
    (numbers, twins)
}

#[test]
fn each_vehicle_keeps_its_number_where_free_and_gets_the_lowest_free_elsewhere() {
    let mut numbers = Numbers::default();
    let given: Vec<(usize, u8)> = [3, 1, 1, 255, 3]
        .map(|own| numbers.give(SystemId(own)))
        .map(|number| (number.port, number.system.0))
        .into();
    assert_eq!(given, [(0, 3), (0, 1), (0, 2), (0, 4), (0, 5)]);
}

#[test]
fn more_than_250_vehicles_are_split_over_ports_and_no_number_is_given_twice() {
    let mut numbers = Numbers::default();
    let given: BTreeSet<(usize, u8)> = (0..600)
        .map(|_| numbers.give(SystemId(1)))
        .map(|number| (number.port, number.system.0))
        .collect();
    assert_eq!(given.len(), 600);
    assert_eq!(given.last(), Some(&(2, 101)), "51 only where nothing else is free");
    assert!(given.iter().all(|(_, system)| (1..=250).contains(system)));
}

#[test]
fn a_number_that_is_given_is_no_radio_s_and_none_that_something_else_has_on_a_wire() {
    let mut numbers = Numbers::default();
    assert!(numbers.observe_other(SystemId(3)) && !numbers.observe_other(SystemId(3)));
    let given: Vec<u8> = (0..250).map(|_| numbers.give(SystemId(1)).system.0).collect();
    assert_eq!(given[..4], [1, 2, 4, 5]);
    assert_eq!(given[48..50], [50, 52], "SiK radios call themselves 51");
    assert_eq!(given[248..], [3, 51], "rather than a further port");
    assert_eq!(Numbers::default().give(SystemId(51)).system, SystemId(51), "its own");
}

#[test]
fn two_vehicles_of_one_name_are_told_apart_and_an_order_reaches_the_one_meant() {
    let (numbers, [one, two]) = twins();
    let said = frame((1, 1), &beat());
    assert_eq!(one.to_guests(&said, &numbers).unwrap(), said, "nothing to change");
    let renamed = two.to_guests(&said, &numbers).unwrap();
    assert_eq!((renamed.system.0, renamed.component.0, renamed.sequence()), (2, 1, 7));
    assert_eq!(renamed.payload(), said.payload());
    assert!(RawFrame::parse(&renamed.bytes).is_ok(), "its checksum is right");

    let order = frame((255, 190), &command(2));
    assert_eq!(one.to_vehicle(&order, &numbers), None);
    let arrived = two.to_vehicle(&order, &numbers).unwrap();
    assert_eq!((arrived.system.0, arrived.target), (255, Some(Address::new(1, 1))));
    assert!(RawFrame::parse(&arrived.bytes).is_ok());
    let order = frame((255, 190), &command(1));
    assert_eq!(one.to_vehicle(&order, &numbers).unwrap(), order);
    assert_eq!(two.to_vehicle(&order, &numbers), None, "1 is the other's name here");
}

#[test]
fn sticks_move_the_vehicle_that_they_name_and_no_other() {
    let (numbers, [one, two]) = twins();
    let sticks = |target| {
        let data = MANUAL_CONTROL_DATA {
            target,
            ..MANUAL_CONTROL_DATA::default()
        };
        frame((255, 190), &MavMessage::MANUAL_CONTROL(data))
    };
    assert!(one.to_vehicle(&sticks(2), &numbers).is_none());
    assert_eq!(
        two.to_vehicle(&sticks(2), &numbers).unwrap().target,
        Some(Address::new(1, 0))
    );
    assert!(two.to_vehicle(&sticks(1), &numbers).is_none());
}

#[test]
fn what_is_for_everybody_reaches_everybody() {
    let (numbers, twins) = twins();
    for message in [beat(), command(0)] {
        let said = frame((255, 190), &message);
        for vehicle in twins {
            assert_eq!(vehicle.to_vehicle(&said, &numbers).unwrap(), said);
        }
    }
}

#[test]
fn a_name_that_a_vehicle_has_only_on_its_own_wire_reaches_it_not() {
    let mut numbers = Numbers::default();
    numbers.give(SystemId(1));
    let renamed = Renumbered {
        own: SystemId(255),
        number: numbers.give(SystemId(255)),
    };
    assert_eq!(renamed.number.system, SystemId(2));
    assert!(
        renamed
            .to_vehicle(&frame((254, 190), &command(255)), &numbers)
            .is_none()
    );
    assert!(
        renamed.to_vehicle(&frame((254, 190), &command(9)), &numbers).is_some(),
        "behind it"
    );
}

#[test]
fn another_system_on_the_wire_never_passes_for_a_vehicle_of_the_port() {
    let (numbers, [one, two]) = twins();
    assert!(one.to_guests(&frame((2, 1), &beat()), &numbers).is_none());
    let radio = frame((51, 68), &beat());
    assert_eq!(two.to_guests(&radio, &numbers).unwrap(), radio);
}

#[test]
fn an_unknown_message_is_rebuilt_and_a_guests_reaches_only_a_vehicle_alone() {
    let (numbers, [_, two]) = twins();
    // Message 60000 with the bytes 1 and 9, of system 1; its CRC_EXTRA is 42.
    let mut bytes = vec![0xFD, 2, 0, 0, 7, 1, 1, 0x60, 0xEA, 0, 1, 9];
    bytes.extend_from_slice(&calculate_crc(&bytes[1..], 42).to_le_bytes());
    let unknown = RawFrame::parse(&bytes).unwrap();
    let renamed = two.to_guests(&unknown, &numbers).unwrap();
    assert_eq!(renamed.system.0, 2);
    let checksum = calculate_crc(&renamed.bytes[1..12], 42).to_le_bytes();
    assert_eq!(renamed.bytes[12..], checksum);
    assert!(
        two.to_vehicle(&unknown, &numbers).is_none(),
        "it may name the other one"
    );
    let mut alone = Numbers::default();
    let one = Renumbered {
        own: SystemId(9),
        number: alone.give(SystemId(9)),
    };
    assert_eq!(one.to_vehicle(&unknown, &alone).unwrap(), unknown);
}

#[test]
fn a_signature_passes_with_a_frame_that_is_not_changed_and_goes_with_one_that_is() {
    // HEARTBEAT of system 1, signed by pymavlink.
    let signed = RawFrame::parse(&hex(
        "fd0901000001010000000400000002035104039c560300000080841ed9bcc17be7be",
    ))
    .unwrap();
    let (numbers, [one, two]) = twins();
    assert_eq!(one.to_guests(&signed, &numbers).unwrap(), signed);
    let renamed = two.to_guests(&signed, &numbers).unwrap();
    assert_eq!((renamed.signed, renamed.system.0, renamed.bytes.len()), (false, 2, 21));
    assert!(RawFrame::parse(&renamed.bytes).is_ok());
}

#[test]
fn a_mavlink_1_frame_is_made_anew_as_one() {
    // PARAM_REQUEST_LIST to (1, 0), by pymavlink.
    let asked = RawFrame::parse(&hex("fe0205ffbe15010002de")).unwrap();
    let again = asked.renumbered(SystemId(255), Some(SystemId(9))).unwrap();
    assert_eq!((again.version, again.target), (Version::V1, Some(Address::new(9, 0))));
    assert_eq!(
        again.renumbered(SystemId(255), Some(SystemId(1))).unwrap().bytes,
        asked.bytes
    );
}

proptest! {
    #[test]
    fn an_answer_finds_its_way_back(own in 1_u8.., shown in 1_u8.., value: f32, sent in 1_u8..) {
        let set = frame((sent, 190), &MavMessage::PARAM_SET(PARAM_SET_DATA {
            target_system: shown, target_component: 1, param_value: value, ..PARAM_SET_DATA::default()
        }));
        let arrived = set.renumbered(SystemId(sent), Some(SystemId(own))).unwrap();
        prop_assert_eq!(arrived.target, Some(Address::new(own, 1)));
        prop_assert_eq!(RawFrame::parse(&arrived.bytes).unwrap().renumbered(SystemId(sent), Some(SystemId(shown))).unwrap().bytes, set.bytes);
        let answer = frame((own, 1), &MavMessage::PARAM_VALUE(PARAM_VALUE_DATA {
            param_value: value, ..PARAM_VALUE_DATA::default()
        }));
        let told = answer.renumbered(SystemId(shown), None).unwrap();
        prop_assert_eq!((RawFrame::parse(&told.bytes).unwrap().system.0, told.payload()), (shown, answer.payload()));
    }
}
