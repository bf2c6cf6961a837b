//! The life of a Vehicle object, as sentences.

use super::*;
use kube::core::ObjectMeta;
use model::inventory::Inventory;
use model::units::Percent;
use model::vehicle::{Airborne, Autopilot, Identity, WhyUnknown};

const UID: HardwareUid = HardwareUid::Short(0x2a);

fn node() -> NodeName {
    NodeName::parse("gate-1").unwrap()
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn report(truth: FlightTruth) -> Report {
    Report {
        link_alive: true,
        truth,
        ready: Some(true),
        identity: Some(Identity {
            autopilot: Autopilot::Px4,
            system: model::units::SystemId(3),
            component: model::units::ComponentId(1),
            firmware: Some("1.17.0".into()),
            hardware: Some(UID),
        }),
        ..Report::of_nothing(node())
    }
}

fn snapshot<'a>(node: &'a NodeName, report: Option<&'a Report>) -> NodeSnapshot<'a> {
    NodeSnapshot {
        node,
        drone: None,
        report,
        airframe: report.and_then(|report| airframe(report, false)),
        same_hardware: None,
        free: Some(Ok(())),
        rules: None,
        remote_id: None,
        declared_down: false,
    }
}

fn object(uid: Option<HardwareUid>, status: VehicleStatus) -> Arc<Vehicle> {
    let spec = VehicleSpec {
        node_name: "gate-1".into(),
        hardware_uid: uid.map(|uid| uid.to_string()),
    };
    Arc::new(Vehicle {
        metadata: ObjectMeta {
            name: Some(name("gate-1", Airframe(uid))),
            creation_timestamp: Some(Time(at(0))),
            ..ObjectMeta::default()
        },
        spec,
        status: (!status.conditions.is_empty()).then_some(status),
    })
}

/// The one write of the status that follows, and its urgency.
fn written(snapshot: &NodeSnapshot<'_>, known: &Arc<Vehicle>, second: i64) -> (VehicleStatus, Urgency) {
    let steps = steps(
        snapshot,
        std::slice::from_ref(known),
        &mut Counted::default(),
        at(second),
    );
    match &steps[..] {
        [(of, Step::Write(status), urgency)] if *of == known.name_any() => (status.clone(), *urgency),
        other => panic!("{other:?}"),
    }
}

fn reason<'a>(of: &'a VehicleStatus, kind: &str) -> (&'a str, &'a str) {
    let condition = status(of, kind).unwrap();
    (&condition.status, &condition.reason)
}

#[test]
fn an_aircraft_that_is_heard_for_the_first_time_gets_an_object_and_then_a_status() {
    let (node, report) = (node(), report(FlightTruth::Disarmed));
    let snapshot = snapshot(&node, Some(&report));
    let first = steps(&snapshot, &[], &mut Counted::default(), at(1));
    let [(made, Step::Create(spec), Urgency::Now)] = &first[..] else {
        panic!("{first:?}")
    };
    assert_eq!(spec.hardware_uid.as_deref(), Some("000000000000002a"));
    assert!(
        made.starts_with("gate-1-") && made.len() == "gate-1-".len() + 8,
        "{made}"
    );
    let (status, urgency) = written(&snapshot, &object(Some(UID), VehicleStatus::default()), 2);
    assert_eq!(urgency, Urgency::Now);
    assert_eq!((status.autopilot.as_str(), status.system_id), ("PX4", Some(3)));
    assert_eq!(reason(&status, READY), ("True", "Heard"));
    assert_eq!(reason(&status, FREE), ("True", "Free"));
    assert_eq!(reason(&status, ARMABLE), ("True", "ChecksPass"));
    let (same, urgency) = written(&snapshot, &object(Some(UID), status.clone()), 60);
    assert_eq!(
        (same, urgency),
        (status, Urgency::None),
        "nothing is written while nothing changes"
    );
}

#[test]
fn why_no_drone_can_be_bound_to_it_is_said_at_once() {
    let (node, report) = (node(), report(FlightTruth::Disarmed));
    let free = snapshot(&node, Some(&report));
    let (before, _) = written(&free, &object(Some(UID), VehicleStatus::default()), 1);
    let known = object(Some(UID), before);
    let drone = DroneName {
        namespace: "field".into(),
        name: "alpha".into(),
    };
    let changes = [
        (
            NodeSnapshot {
                drone: Some((&drone, None)),
                ..free
            },
            "ServesDrone",
        ),
        (NodeSnapshot { free: None, ..free }, "NoDroneNode"),
        (
            NodeSnapshot {
                free: Some(Err(Why::Cordoned)),
                ..free
            },
            "NodeCordoned",
        ),
    ];
    for (snapshot, why) in changes {
        let (status, urgency) = written(&snapshot, &known, 9);
        assert_eq!((reason(&status, FREE), urgency), (("False", why), Urgency::Now));
        assert_eq!(status.drone, snapshot.drone.map(|(drone, _)| drone.to_string()));
    }
}

#[test]
fn why_a_vehicles_link_is_not_open_is_said_also_after_its_agent_restarted() {
    let fault = "serial device /dev/ttyACM0 is missing; there is now /dev/ttyACM1";
    let (node, known) = (node(), object(Some(UID), VehicleStatus::default()));
    let lost = Report {
        link_alive: false,
        link_fault: Some(fault.to_owned()),
        ..report(FlightTruth::Disarmed)
    };
    let started = Report {
        link_fault: Some(fault.to_owned()),
        ..Report::of_nothing(node.clone())
    };
    for report in [lost, started] {
        let (status, _) = written(&snapshot(&node, Some(&report)), &known, 1);
        assert_eq!(reason(&status, READY), ("False", "AutopilotSilent"));
        let words = &status.conditions[0].message;
        assert!(words.ends_with(&format!("; on its link: {fault}")), "{words}");
    }
}

#[test]
fn two_vehicles_of_one_hardware_number_or_none_are_two_objects_and_warned_of() {
    for airframe in [Airframe(Some(UID)), Airframe(None)] {
        assert_ne!(name("gate-1", airframe), name("gate-2", airframe));
    }
    let (node, other) = (node(), NodeName::parse("gate-2").unwrap());
    let report = report(FlightTruth::Disarmed);
    let alone = snapshot(&node, Some(&report));
    let known = object(Some(UID), VehicleStatus::default());
    let message = |snapshot| written(snapshot, &known, 1).0.conditions[0].message.clone();
    assert_eq!(message(&alone), "its agent receives from its autopilot");
    let both = NodeSnapshot {
        same_hardware: Some(&other),
        ..alone
    };
    let words = message(&both);
    assert!(
        words.contains("the autopilot of node gate-2 reports the same hardware number")
            && words.contains("stop one of its agents"),
        "{words}"
    );
    let (status, _) = written(&both, &known, 1);
    assert_eq!(
        (reason(&status, READY), reason(&status, FREE)),
        (("True", "Heard"), ("True", "Free"))
    );
}

#[test]
fn its_flights_are_counted_by_its_autopilot_through_silence_and_coordinators() {
    let node = node();
    let mut status = VehicleStatus::default();
    let flight = [
        (10, Some(FlightTruth::Disarmed)),
        (20, Some(FlightTruth::ArmedOnGround)),
        (25, Some(FlightTruth::Airborne(Airborne::TakingOff))),
        (30, Some(FlightTruth::Airborne(Airborne::InAir))),
        (40, None),
        (50, Some(FlightTruth::Unknown(WhyUnknown::LandedStateUnknown))),
        (60, Some(FlightTruth::ArmedOnGround)),
    ];
    for (second, truth) in flight {
        let report = truth.map(report);
        (status, _) = written(&snapshot(&node, report.as_ref()), &object(Some(UID), status), second);
        let since = status.airborne_since.as_ref().map(|since| since.0);
        assert_eq!(since, (second >= 25).then(|| at(25)), "at {second} s");
        assert_eq!(status.flights, 0);
    }
    let down = report(FlightTruth::Disarmed);
    (status, _) = written(&snapshot(&node, Some(&down)), &object(Some(UID), status), 85);
    assert_eq!(
        (status.flights, status.flight_seconds, status.airborne_since),
        (1, 60, None)
    );
}

#[test]
fn a_person_ends_the_flight_of_one_that_is_not_heard_and_not_of_one_that_is_seen_in_the_air() {
    let (node, up) = (node(), report(FlightTruth::Airborne(Airborne::InAir)));
    let before = object(Some(UID), VehicleStatus::default());
    let (status, _) = written(&snapshot(&node, Some(&up)), &before, 10);
    let known = object(Some(UID), status);
    let declared = |report| NodeSnapshot {
        declared_down: true,
        ..snapshot(&node, report)
    };
    let (status, _) = written(&declared(Some(&up)), &known, 20);
    assert!(status.airborne_since.is_some() && status.flights == 0);
    let (status, urgency) = written(&declared(None), &known, 20);
    assert_eq!((status.airborne_since, status.flights), (None, 1));
    assert_eq!(urgency, Urgency::Now, "the next leader would wait for it");
}

#[test]
fn flights_are_counted_that_begin_before_the_landing_of_the_last_is_written() {
    let node = node();
    let flies = FlightTruth::Airborne(Airborne::InAir);
    let aloft = report(flies);
    let empty = object(Some(UID), VehicleStatus::default());
    let (status, _) = written(&snapshot(&node, Some(&aloft)), &empty, 10);
    let known = [object(Some(UID), status)];
    let mut counted = Counted::default();
    let mut count = |known: &[Arc<Vehicle>], second: i64, truth: FlightTruth| {
        let report = report(truth);
        let steps = steps(&snapshot(&node, Some(&report)), known, &mut counted, at(second));
        let [(_, Step::Write(status), _)] = &steps[..] else {
            panic!("{steps:?}")
        };
        status.clone()
    };
    count(&known, 20, FlightTruth::Disarmed);
    count(&known, 30, flies);
    let status = count(&known, 50, FlightTruth::Disarmed);
    let seconds = |status: &VehicleStatus| (status.flights, status.flight_seconds);
    assert_eq!(seconds(&status), (2, 30));
    let known = [object(
        Some(UID),
        VehicleStatus {
            flights: 7,
            flight_seconds: 100,
            ..status
        },
    )];
    assert_eq!(seconds(&count(&known, 60, FlightTruth::Disarmed)), (7, 100));
}

#[test]
fn another_airframe_on_the_same_wire_is_another_vehicle_and_the_first_says_so() {
    let node = node();
    let first = report(FlightTruth::Disarmed);
    let (status, _) = written(
        &snapshot(&node, Some(&first)),
        &object(Some(UID), VehicleStatus::default()),
        1,
    );
    let other = HardwareUid::Long([7; 18]);
    let mut second = first.clone();
    second.identity.as_mut().unwrap().hardware = Some(other);
    let drone = DroneName {
        namespace: "field".into(),
        name: "alpha".into(),
    };
    let now = NodeSnapshot {
        drone: Some((&drone, Some(UID))),
        ..snapshot(&node, Some(&second))
    };
    let found = steps(&now, &[object(Some(UID), status)], &mut Counted::default(), at(5));
    let [(old, Step::Write(status), _), (new, Step::Create(spec), _)] = &found[..] else {
        panic!("{found:?}")
    };
    assert_eq!(reason(status, READY), ("False", "AnotherAirframe"));
    assert!(status.conditions[0].message.ends_with(new.as_str()) && old != new);
    assert_eq!(spec.hardware_uid, Some(other.to_string()));
    assert_eq!(status.drone.as_deref(), Some("field/alpha"), "its Drone waits for it");
    let (status, _) = written(&now, &object(Some(other), VehicleStatus::default()), 9);
    assert_eq!(
        (status.drone.as_deref(), reason(&status, FREE)),
        (None, ("False", "Taken"))
    );
}

#[test]
fn one_that_falls_silent_keeps_what_is_known_and_is_deleted_after_ninety_days() {
    let (node, report) = (node(), report(FlightTruth::Disarmed));
    let (heard, _) = written(
        &snapshot(&node, Some(&report)),
        &object(Some(UID), VehicleStatus::default()),
        1,
    );
    let (silent, urgency) = written(&snapshot(&node, None), &object(Some(UID), heard), 100);
    assert_eq!(urgency, Urgency::Later, "its agent may be back in a moment");
    assert_eq!(reason(&silent, FREE), ("False", "AgentSilent"));
    assert_eq!(silent.firmware.as_deref(), Some("1.17.0"));
    let known = object(Some(UID), silent.clone());
    let days = |days: i64| 100 + days * 86_400;
    assert_eq!(written(&snapshot(&node, None), &known, days(89)).1, Urgency::None);
    let gone = steps(
        &snapshot(&node, None),
        std::slice::from_ref(&known),
        &mut Counted::default(),
        at(days(90)),
    );
    assert_eq!(gone, [(known.name_any(), Step::Delete, Urgency::Now)]);
    let back = written(&snapshot(&node, Some(&report)), &known, days(91));
    assert_eq!((reason(&back.0, READY), back.1), (("True", "Heard"), Urgency::Now));
}

#[test]
fn a_home_that_an_autopilot_corrects_a_little_is_not_written_anew() {
    let node = node();
    let home = |latitude_deg, amsl| {
        let mut report = report(FlightTruth::Disarmed);
        report.home = Some(model::route_order::Waypoint {
            at: Wgs84 {
                latitude_deg,
                longitude_deg: 8.5,
            },
            amsl: model::units::AltitudeAmsl(amsl),
        });
        report
    };
    let first = home(47.0, 488.0);
    let (status, _) = written(
        &snapshot(&node, Some(&first)),
        &object(Some(UID), VehicleStatus::default()),
        1,
    );
    let known = object(Some(UID), status);
    for (report, urgency) in [
        (home(47.000_05, 490.0), Urgency::None),
        (home(47.000_2, 488.0), Urgency::Later),
        (home(47.0, 498.0), Urgency::Later),
    ] {
        assert_eq!(written(&snapshot(&node, Some(&report)), &known, 9).1, urgency);
    }
}

#[test]
fn an_airframe_is_known_once_its_autopilot_has_told_its_version_or_will_not() {
    let mut report = report(FlightTruth::Disarmed);
    assert_eq!(airframe(&report, false), Some(Airframe(Some(UID))));
    let identity = report.identity.as_mut().unwrap();
    (identity.hardware, identity.firmware) = (None, None);
    assert_eq!(
        (airframe(&report, false), airframe(&report, true)),
        (None, Some(Airframe(None)))
    );
    assert_eq!(airframe(&Report::of_nothing(node()), true), None);
    assert_eq!(name("gate-1", Airframe(None)), "gate-1");
    let long = "n".repeat(253);
    let names = [UID, HardwareUid::Short(9)].map(|uid| name(&long, Airframe(Some(uid))));
    assert!(names[0] != names[1] && names.iter().all(|name| name.len() <= 253));
}

/// The status that is written after `report` over the status `old`.
fn status_after(report: &Report, old: VehicleStatus) -> VehicleStatus {
    let node = node();
    let steps = steps(
        &snapshot(&node, Some(report)),
        &[object(Some(UID), old)],
        &mut Counted::default(),
        at(9),
    );
    let Some((_, Step::Write(status), _)) = steps.into_iter().next() else {
        panic!("no status")
    };
    status
}

#[test]
fn a_camera_battery_is_shown_beside_that_of_the_motors_and_written_by_quarters() {
    let mut report = report(FlightTruth::Disarmed);
    let camera = |left| {
        vec![model::monitored_battery::OtherBattery {
            id: 1,
            drives: Drives::Payload,
            remaining: Percent::new(left),
        }]
    };
    let shown = |status: &VehicleStatus| {
        status
            .other_batteries
            .first()
            .map(|of| (of.drives.clone(), of.remaining_percent))
    };
    report.other_batteries = camera(60);
    let first = status_after(&report, VehicleStatus::default());
    assert_eq!(shown(&first), Some(("Payload".to_owned(), Some(60))));
    assert_eq!(first.battery, None, "it is no charge of the vehicle");
    report.other_batteries = camera(40);
    // Something else has changed, so that the status is written.
    report.inventory.wear.cycles = Some(3);
    let near = status_after(&report, first);
    assert_eq!(shown(&near), Some(("Payload".to_owned(), Some(60))));
    report.other_batteries = camera(35);
    let far = status_after(&report, near);
    assert_eq!(shown(&far), Some(("Payload".to_owned(), Some(35))));
}

#[test]
fn its_board_stays_known_and_the_wear_is_that_of_the_battery_that_it_has_now() {
    let mut report = report(FlightTruth::Disarmed);
    report.inventory = Inventory {
        board: model::inventory::Board::of(9 << 16, 0x26ac, 0x11),
        wear: model::inventory::BatteryWear {
            cycles: Some(212),
            health: Percent::new(81),
        },
    };
    let first = status_after(&report, VehicleStatus::default());
    let board = Board {
        number: Some(9),
        usb: Some("26ac:0011".to_owned()),
    };
    assert_eq!(first.board.as_ref(), Some(&board));
    let wear = BatteryWear {
        cycles: Some(212),
        health_percent: Some(81),
    };
    assert_eq!(first.battery_wear, Some(wear));
    report.inventory = Inventory::default();
    let later = status_after(&report, first);
    assert_eq!((later.board, later.battery_wear), (Some(board), None));
}
