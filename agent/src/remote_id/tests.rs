//! Tests of sending the operator: what goes out, how often, and when nothing does.

use super::*;
use model::remote_id::{AircraftId, SENDS_ALONE_FOR};
use model::units::{ComponentId, SystemId};
use model::vehicle::Airborne;

const HOME: Wgs84 = Wgs84 {
    latitude_deg: 47.397_742,
    longitude_deg: 8.545_594,
};
/// 2025-11-25 02:00 UTC.
const DATE: Duration = Duration::from_secs(1_764_036_000);

fn at(ms: u64) -> Moment {
    Moment::at(Duration::from_millis(ms))
}

fn operator() -> Operator {
    Operator {
        name: "north".to_owned(),
        id: "CHE87astrdge12k8".to_owned(),
        description: "Site patrol".to_owned(),
        location: Location::Takeoff,
        eu: Some(European {
            category: Category::Open,
            class: Some(2),
        }),
        aircraft: Some(AircraftId {
            kind: AircraftIdKind::SerialNumber,
            id: "1596F12345678".to_owned(),
        }),
    }
}

fn order(term: u64, operator: Option<Operator>) -> RemoteIdOrder {
    RemoteIdOrder {
        term: Term(term),
        operator,
    }
}

fn situation() -> Situation {
    Situation {
        to: Some(Address {
            system: SystemId(1),
            component: ComponentId(1),
        }),
        home: Some(HOME),
        truth: FlightTruth::Disarmed,
        silent: Duration::ZERO,
        date: Some(DATE),
    }
}

fn holding(operator: Operator) -> RemoteId {
    let mut remote_id = RemoteId::default();
    remote_id
        .take(order(1, Some(operator)), Term(1), FlightTruth::Disarmed)
        .unwrap();
    remote_id
}

fn sent(remote_id: &mut RemoteId, situation: &Situation, now: Moment) -> Vec<MavMessage> {
    std::iter::from_fn(|| remote_id.next(situation, now)).collect()
}

fn status(status: MavOdidArmStatus, error: &str) -> OPEN_DRONE_ID_ARM_STATUS_DATA {
    OPEN_DRONE_ID_ARM_STATUS_DATA {
        status,
        error: error.into(),
    }
}

#[test]
fn nothing_is_sent_while_no_operator_is_given() {
    let mut remote_id = RemoteId::default();
    for s in 0..10 {
        assert_eq!(remote_id.next(&situation(), at(s * 1000)), None);
    }
    assert_eq!(remote_id.report(&situation(), at(0)), RemoteIdReport::default());
}

#[test]
fn the_place_goes_first_then_who_why_and_which_aircraft() {
    let mut remote_id = holding(operator());
    let all = sent(&mut remote_id, &situation(), at(0));
    let [
        MavMessage::OPEN_DRONE_ID_SYSTEM(system),
        MavMessage::OPEN_DRONE_ID_OPERATOR_ID(id),
        MavMessage::OPEN_DRONE_ID_SELF_ID(description),
        MavMessage::OPEN_DRONE_ID_BASIC_ID(aircraft),
    ] = &all[..]
    else {
        panic!("{all:?}");
    };
    assert_eq!(
        (system.operator_latitude, system.operator_longitude),
        (473_977_420, 85_455_940)
    );
    assert_eq!((system.target_system, system.target_component), (1, 1));
    assert_eq!(
        system.operator_location_type,
        MavOdidOperatorLocationType::MAV_ODID_OPERATOR_LOCATION_TYPE_TAKEOFF
    );
    assert_eq!(system.timestamp, 217_735_200, "seconds since 2019");
    assert_eq!(system.operator_altitude_geo, NO_HEIGHT_M);
    assert_eq!(
        system.classification_type,
        MavOdidClassificationType::MAV_ODID_CLASSIFICATION_TYPE_EU
    );
    assert_eq!(
        (system.category_eu, system.class_eu),
        (
            MavOdidCategoryEu::MAV_ODID_CATEGORY_EU_OPEN,
            MavOdidClassEu::MAV_ODID_CLASS_EU_CLASS_2
        )
    );
    assert_eq!(id.operator_id.to_str(), Ok("CHE87astrdge12k8"));
    assert_eq!(description.description.to_str(), Ok("Site patrol"));
    assert_eq!(&aircraft.uas_id, b"1596F12345678\0\0\0\0\0\0\0");
    assert_eq!(aircraft.id_type, MavOdidIdType::MAV_ODID_ID_TYPE_SERIAL_NUMBER);
}

#[test]
fn only_what_is_given_is_sent_and_a_fixed_place_needs_no_home() {
    let there = Wgs84 {
        latitude_deg: -33.5,
        longitude_deg: -70.25,
    };
    let mut remote_id = holding(Operator {
        description: String::new(),
        aircraft: None,
        eu: None,
        location: Location::Fixed {
            at: there,
            altitude_m: Some(520.5),
        },
        ..operator()
    });
    let unhomed = Situation {
        home: None,
        ..situation()
    };
    let all = sent(&mut remote_id, &unhomed, at(0));
    let [
        MavMessage::OPEN_DRONE_ID_SYSTEM(system),
        MavMessage::OPEN_DRONE_ID_OPERATOR_ID(_),
    ] = &all[..]
    else {
        panic!("{all:?}");
    };
    assert_eq!(
        (system.operator_latitude, system.operator_longitude),
        (-335_000_000, -702_500_000)
    );
    assert_eq!(system.operator_altitude_geo, 520.5);
    assert_eq!(
        system.operator_location_type,
        MavOdidOperatorLocationType::MAV_ODID_OPERATOR_LOCATION_TYPE_FIXED
    );
    assert_eq!(
        system.classification_type,
        MavOdidClassificationType::MAV_ODID_CLASSIFICATION_TYPE_UNDECLARED
    );
}

#[test]
fn each_second_has_one_set_and_a_time_of_its_own() {
    let mut remote_id = holding(operator());
    let mut stamps = Vec::new();
    for ms in (0..10_000).step_by(100) {
        let situation = Situation {
            date: Some(DATE + Duration::from_millis(ms)),
            ..situation()
        };
        for message in sent(&mut remote_id, &situation, at(ms)) {
            if let MavMessage::OPEN_DRONE_ID_SYSTEM(system) = message {
                stamps.push(system.timestamp);
            }
        }
    }
    assert_eq!(stamps.len(), 10);
    assert!(stamps.windows(2).all(|two| two[1] == two[0] + 1), "{stamps:?}");
}

#[test]
fn a_computer_that_does_not_know_the_date_sends_none_and_not_a_wrong_one() {
    let mut remote_id = holding(operator());
    for date in [
        None,
        Some(Duration::from_secs(3600)),
        Some(Duration::from_secs(CLOCK_IS_SET_S - 1)),
    ] {
        assert_eq!(Situation { date, ..situation() }.timestamp(), 0, "{date:?}");
    }
    assert!(
        !sent(
            &mut remote_id,
            &Situation {
                date: None,
                ..situation()
            },
            at(0)
        )
        .is_empty()
    );
}

#[test]
fn where_takeoff_is_not_known_nothing_is_sent_and_the_report_says_why() {
    let mut remote_id = holding(operator());
    let unhomed = Situation {
        home: None,
        ..situation()
    };
    assert_eq!(remote_id.next(&unhomed, at(0)), None);
    assert_eq!(remote_id.report(&unhomed, at(0)).sending, Sending::NoLocation);
    assert_eq!(
        sent(&mut remote_id, &situation(), at(10)).len(),
        4,
        "at once when it is"
    );
    let elsewhere = Situation {
        to: None,
        ..situation()
    };
    assert_eq!(remote_id.next(&elsewhere, at(2000)), None);
    assert_eq!(remote_id.report(&elsewhere, at(2000)).sending, Sending::NoVehicle);
}

#[test]
fn without_its_coordinator_it_sends_on_in_flight_and_as_long_as_stated_when_down() {
    let mut remote_id = holding(operator());
    let alone = |truth, silent| Situation {
        truth,
        silent,
        ..situation()
    };
    let late = SENDS_ALONE_FOR + Duration::from_secs(1);
    assert_eq!(
        sent(&mut remote_id, &alone(FlightTruth::Disarmed, SENDS_ALONE_FOR), at(0)).len(),
        4
    );
    let grounded = alone(FlightTruth::Disarmed, late);
    assert!(sent(&mut remote_id, &grounded, at(2000)).is_empty());
    assert_eq!(remote_id.report(&grounded, at(2000)).sending, Sending::Alone);
    let flying = alone(FlightTruth::Airborne(Airborne::InAir), late);
    assert_eq!(sent(&mut remote_id, &flying, at(3000)).len(), 4);
}

#[test]
fn an_operator_taken_away_in_flight_is_sent_until_the_vehicle_is_down() {
    let mut remote_id = holding(operator());
    let flying = Situation {
        truth: FlightTruth::Airborne(Airborne::InAir),
        ..situation()
    };
    remote_id.take(order(1, None), Term(1), flying.truth).unwrap();
    assert_eq!(sent(&mut remote_id, &flying, at(0)).len(), 4);
    // It is remembered over a restart that it ends.
    let mut remote_id = RemoteId::new(remote_id.memory().clone());
    assert_eq!(sent(&mut remote_id, &flying, at(1000)).len(), 4);
    assert!(sent(&mut remote_id, &situation(), at(2000)).is_empty());
    assert_eq!(remote_id.memory(), &Remembered::default());
}

#[test]
fn orders_of_a_coordinator_that_no_longer_leads_are_refused() {
    let mut remote_id = holding(operator());
    assert_eq!(
        remote_id.take(order(1, None), Term(2), FlightTruth::Disarmed),
        Err(Term(1))
    );
    assert_eq!(remote_id.memory().held, Some(operator()));
}

#[test]
fn a_transmitter_counts_for_three_seconds_by_its_last_word() {
    let mut remote_id = RemoteId::default();
    let of = |remote_id: &RemoteId, ms| remote_id.report(&situation(), at(ms)).transmitter;
    assert_eq!(of(&remote_id, 0), Transmitter::Unheard);
    let fails = MavOdidArmStatus::MAV_ODID_ARM_STATUS_PRE_ARM_FAIL_GENERIC;
    remote_id.heard(&status(fails, "LOC SYS"), at(0));
    assert_eq!(of(&remote_id, 100), Transmitter::Fails("LOC SYS".to_owned()));
    remote_id.heard(&status(fails, ""), at(500));
    assert_eq!(
        of(&remote_id, 600),
        Transmitter::Fails("it does not say why".to_owned())
    );
    remote_id.heard(&status(MavOdidArmStatus::MAV_ODID_ARM_STATUS_GOOD_TO_ARM, ""), at(1000));
    assert_eq!(of(&remote_id, 4000), Transmitter::Good);
    assert_eq!(of(&remote_id, 4001), Transmitter::Lost);
}
