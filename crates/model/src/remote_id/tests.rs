//! Remote ID: who counts, for how long, and the text for people.

use super::*;
use crate::units::{ComponentId, SystemId};
use crate::vehicle::{Airborne, WhyUnknown};

fn operator(name: &str) -> Operator {
    Operator {
        name: name.to_owned(),
        id: "CHE-OP-1".to_owned(),
        description: String::new(),
        location: Location::Takeoff,
        eu: None,
        aircraft: None,
    }
}

fn report(held: Option<&str>, sending: Sending, transmitter: Transmitter) -> RemoteIdReport {
    RemoteIdReport {
        held: held.map(str::to_owned),
        sending,
        transmitter,
    }
}

#[test]
fn of_several_operators_that_select_one_vehicle_none_counts() {
    assert_eq!(choose(&[]), Choice::None);
    assert_eq!(choose(&[(3, "north")]), Choice::One(3));
    assert_eq!(
        choose(&[(0, "all"), (3, "north")]),
        Choice::Several(vec!["all", "north"])
    );
}

#[test]
fn without_its_coordinator_an_agent_sends_to_a_flights_end_or_for_ten_minutes() {
    let (soon, late) = (SENDS_ALONE_FOR, SENDS_ALONE_FOR + Duration::from_millis(1));
    assert!(may_send(FlightTruth::Disarmed, soon));
    assert!(!may_send(FlightTruth::Disarmed, late));
    for truth in [
        FlightTruth::Airborne(Airborne::InAir),
        FlightTruth::ArmedOnGround,
        FlightTruth::Unknown(WhyUnknown::LinkLost),
    ] {
        assert!(may_send(truth, late), "{truth:?}");
    }
}

#[test]
fn an_operator_taken_away_is_sent_until_landing_and_another_counts_at_once() {
    let (north, south) = (operator("north"), operator("south"));
    let held = || Some(north.clone());
    assert_eq!(take(held(), None, FlightTruth::Disarmed), (None, false));
    for truth in [
        FlightTruth::Airborne(Airborne::InAir),
        FlightTruth::Unknown(WhyUnknown::LinkLost),
    ] {
        assert_eq!(take(held(), None, truth), (held(), true), "{truth:?}");
        assert_eq!(take(held(), Some(south.clone()), truth), (Some(south.clone()), false));
        assert_eq!(take(None, None, truth), (None, false));
    }
}

#[test]
fn the_place_is_fixed_or_that_of_takeoff_once_it_is_known() {
    let (home, there) = (
        Wgs84 {
            latitude_deg: 47.0,
            longitude_deg: 8.0,
        },
        Wgs84 {
            latitude_deg: 48.0,
            longitude_deg: 9.0,
        },
    );
    assert_eq!(Location::Takeoff.place(None), None);
    assert_eq!(Location::Takeoff.place(Some(home)), Some(home));
    let fixed = Location::Fixed {
        at: there,
        altitude_m: None,
    };
    assert_eq!(fixed.place(Some(home)), Some(there));
}

#[test]
fn only_printable_ascii_that_is_not_too_long_can_be_broadcast() {
    for (text, can) in [
        ("CHE-OP-1", true),
        ("", false),
        ("exactly-20-character", true),
        ("more-than-20-charactr", false),
        ("Zürich", false),
        ("a\tb", false),
    ] {
        assert_eq!(can_be_broadcast(text, LONGEST_ID), can, "{text:?}");
    }
}

#[test]
fn transmitters_are_components_236_to_238_of_the_vehicle() {
    let from = |system, component| Address {
        system: SystemId(system),
        component: ComponentId(component),
    };
    let is = |system, component| is_transmitter(from(system, component), SystemId(1));
    assert_eq!(
        [235, 236, 238, 239].map(|component| is(1, component)),
        [false, true, true, false]
    );
    assert!(!is(2, 236), "that of another vehicle");
}

#[test]
fn a_vehicle_is_ready_only_when_its_operator_is_sent_and_its_transmitter_is_good() {
    use Transmitter::{Fails, Good, Lost, Unheard};
    let of = |wanted, report| {
        let said = assess(wanted, &report);
        (said.ready, said.reason)
    };
    let (north, yes, no) = (Some("north"), Sending::Yes, Some(false));
    assert_eq!(of(north, report(north, yes, Good)), (Some(true), "Ready"));
    assert_eq!(of(north, report(north, yes, Unheard)), (None, "TransmitterUnheard"));
    assert_eq!(of(north, report(Some("south"), yes, Good)), (no, "NotTaken"));
    assert_eq!(of(north, report(None, Sending::Nothing, Good)), (no, "NotTaken"));
    assert_eq!(of(north, report(north, yes, Lost)), (no, "TransmitterLost"));
    assert_eq!(of(north, report(north, Sending::NoLocation, Good)), (no, "NoLocation"));
    assert_eq!(of(north, report(north, Sending::Alone, Good)), (no, "CoordinatorLost"));
    assert_eq!(
        of(north, report(north, Sending::NoVehicle, Good)),
        (no, "AutopilotSilent")
    );
    assert_eq!(of(None, report(None, Sending::Nothing, Good)), (no, "NoOperator"));
    let fails = assess(north, &report(north, yes, Fails("LOC SYS".to_owned())));
    assert_eq!((fails.ready, fails.reason), (no, "TransmitterFails"));
    assert!(fails.message.ends_with(": LOC SYS"), "{}", fails.message);
}

#[test]
fn each_reason_of_ardupilot_about_remote_id_says_what_to_do_where_somebody_can() {
    let sent = report(Some("north"), Sending::Yes, Transmitter::Good);
    let unsent = report(None, Sending::Nothing, Transmitter::Unheard);
    for (reason, of, words) in [
        (
            "OpenDroneID: UA_TYPE required in BasicID",
            &sent,
            Some("skein.dev/uas-id"),
        ),
        (
            "OpenDroneID: UA_TYPE required in BasicID",
            &unsent,
            Some("no Operator selects"),
        ),
        (
            "OpenDroneID: operator location must be set",
            &unsent,
            Some("no Operator selects"),
        ),
        ("OpenDroneID: operator location must be set", &sent, None),
        ("OpenDroneID: SYSTEM not available", &unsent, Some("make one")),
        ("OpenDroneID: ARM_STATUS not available", &sent, Some("DID_MAVPORT")),
        (
            "OpenDroneID: DID_ENABLE must be 1",
            &unsent,
            Some("set DID_ENABLE to 1"),
        ),
        ("OpenDroneID: LOC SYS", &sent, None),
        ("operator location must be set", &unsent, None),
    ] {
        let said = advice(reason, of);
        assert_eq!(said.is_some(), words.is_some(), "{reason}: {said:?}");
        assert!(said.unwrap_or_default().contains(words.unwrap_or_default()), "{said:?}");
    }
}
