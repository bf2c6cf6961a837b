//! The pilot against simulated autopilots: Remote ID, and its effect on arming. The test plays the transmitter:
//! component 236 of the vehicle, heard by autopilot and agent. Must not: test each sent field, as
//! `agent/src/remote_id/tests.rs` does.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use agent::pilot::Pilot;
use agent::state_file::State;
use agent_testkit::line::{HOME, Line};
use agent_testkit::orders::assignment;
use link::dialect::{MavMessage, MavOdidArmStatus, OPEN_DRONE_ID_ARM_STATUS_DATA};
use link::{Frame, LinkEvent};
use mavlink::MavHeader;
use model::assignment::{Desired, GroundedWhy, Order};
use model::ids::{NodeName, Term};
use model::remote_id::{
    AircraftId, AircraftIdKind, Location, Operator, RemoteIdOrder, RemoteIdReport, SENDS_ALONE_FOR, Sending,
    Transmitter,
};
use model::time::Moment;
use model::units::{AltitudeAboveHome, SystemId};
use model::vehicle::FlightTruth;
use sitl::model::{Autopilot, VehicleConfig};
use sitl::wire::{Address, Incoming, RemoteIdMessage, Request};
use std::time::Duration;

const FLY: Desired = Desired::Flying {
    altitude: AltitudeAboveHome(10.0),
};

fn pilot(state: State, now: Moment) -> Pilot {
    let mut pilot = Pilot::new(NodeName::parse("pine").unwrap(), state, now).as_ground_station(Some(SystemId(255)));
    pilot.dated(Some(Duration::from_secs(1_764_036_000)));
    pilot
}

fn line(autopilot: Autopilot, parameters: &[(&str, f32)]) -> Line {
    let config = VehicleConfig {
        parameters: parameters
            .iter()
            .map(|(name, value)| ((*name).to_owned(), *value))
            .collect(),
        ..VehicleConfig::new(autopilot, 7, HOME)
    };
    Line::new(pilot(State::default(), Moment::default()), config)
}

fn enforced() -> Line {
    line(Autopilot::ArduPilot, &[("DID_ENABLE", 1.0), ("DID_OPTIONS", 1.0)])
}

fn operator() -> RemoteIdOrder {
    RemoteIdOrder {
        term: Term(3),
        operator: Some(Operator {
            name: "north".to_owned(),
            id: "CHE87astrdge12k8".to_owned(),
            description: "Site patrol".to_owned(),
            location: Location::Takeoff,
            eu: None,
            aircraft: Some(AircraftId {
                kind: AircraftIdKind::SerialNumber,
                id: "1596F12345678".to_owned(),
            }),
        }),
    }
}

fn transmits(line: &mut Line, error: Option<&str>) {
    let (good, error) = (error.is_none(), error.unwrap_or_default());
    let incoming = Incoming {
        from: Address {
            system: 7,
            component: 236,
        },
        request: Request::RemoteId(RemoteIdMessage::ArmStatus {
            good,
            error: error.to_owned(),
        }),
    };
    line.vehicle.on_message(&incoming);
    let status = OPEN_DRONE_ID_ARM_STATUS_DATA {
        status: if good {
            MavOdidArmStatus::MAV_ODID_ARM_STATUS_GOOD_TO_ARM
        } else {
            MavOdidArmStatus::MAV_ODID_ARM_STATUS_PRE_ARM_FAIL_GENERIC
        },
        error: error.into(),
    };
    let frame = Frame {
        header: MavHeader {
            system_id: 7,
            component_id: 236,
            sequence: 0,
        },
        message: MavMessage::OPEN_DRONE_ID_ARM_STATUS(status),
        at: tokio::time::Instant::now(),
        unchecked_signature: false,
    };
    let now = line.now();
    line.pilot.receive(&LinkEvent::Frame(Box::new(frame)), now, 0.5);
}

fn pass_with(line: &mut Line, seconds: u64, error: Option<&str>) {
    for _ in 0..seconds {
        transmits(line, error);
        line.pass(1);
    }
}

fn report(line: &Line) -> RemoteIdReport {
    line.pilot.report(line.now()).remote_id
}

fn reasons(line: &Line) -> String {
    let reasons = line.pilot.report(line.now()).reasons;
    let texts: Vec<String> = reasons.into_iter().map(|reason| reason.text).collect();
    texts.join(" | ")
}

fn places_sent(line: &Line) -> usize {
    let is_place = |message: &MavMessage| matches!(message, MavMessage::OPEN_DRONE_ID_SYSTEM(_));
    line.wrote.iter().filter(|(_, message)| is_place(message)).count()
}

#[test]
fn an_ardupilot_that_enforces_remote_id_flies_once_it_has_operator_and_transmitter() {
    let mut line = enforced();
    line.pass(45);
    line.order(&Order::Assigned(assignment(1, FLY)));
    pass_with(&mut line, 60, None);
    assert_eq!(places_sent(&line), 0);
    assert!(!line.vehicle.truth().armed);
    let said = reasons(&line);
    assert!(said.contains("OpenDroneID: UA_TYPE required in BasicID"), "{said}");
    assert!(said.contains("no Operator selects the vehicle"), "{said}");

    let now = line.now();
    line.pilot.take_remote_id(operator(), now);
    pass_with(&mut line, 60, Some("LOC SYS"));
    assert!(!line.vehicle.truth().armed);
    assert_eq!(report(&line).transmitter, Transmitter::Fails("LOC SYS".to_owned()));
    assert!(reasons(&line).contains("OpenDroneID: LOC SYS"), "{}", reasons(&line));
    let before = places_sent(&line);
    pass_with(&mut line, 60, None);
    assert!(line.vehicle.truth().armed, "{:?}", line.pilot.report(line.now()));
    let sent_in_a_minute = places_sent(&line) - before;
    assert!((57..=60).contains(&sent_in_a_minute), "{sent_in_a_minute}");
    let good = RemoteIdReport {
        held: Some("north".to_owned()),
        sending: Sending::Yes,
        transmitter: Transmitter::Good,
    };
    assert_eq!(report(&line), good);

    // Removed in flight, over a restart of the agent: sent until it has landed.
    let now = line.now();
    let nobody = RemoteIdOrder {
        operator: None,
        ..operator()
    };
    line.pilot.take_remote_id(nobody, now);
    let state = line.pilot.state().clone();
    line.replace(pilot(state, line.now()));
    let before = places_sent(&line);
    pass_with(&mut line, 15, None);
    assert!(places_sent(&line) - before >= 8, "{}", places_sent(&line) - before);
    let ordered = GroundedWhy::Ordered;
    line.order(&Order::Assigned(assignment(2, Desired::Grounded { why: ordered })));
    line.until("on the ground", 120, |line| line.truth() == FlightTruth::Disarmed);
    let before = places_sent(&line);
    line.pass(10);
    assert_eq!((places_sent(&line), report(&line).sending), (before, Sending::Nothing));
}

#[test]
fn on_the_ground_without_its_coordinator_an_operator_is_vouched_for_a_stated_time() {
    let mut line = enforced();
    line.pass(45);
    line.order(&Order::unassigned(Term(3)));
    let now = line.now();
    line.pilot.take_remote_id(operator(), now);
    line.pass(5);
    let now = line.now();
    line.pilot.uplink_closed(now);
    line.pass(SENDS_ALONE_FOR.as_secs() - 5);
    assert_eq!(report(&line).sending, Sending::Yes);
    line.pass(10);
    assert_eq!(report(&line).sending, Sending::Alone);
    let before = places_sent(&line);
    line.pass(60);
    assert_eq!(places_sent(&line), before);
}

#[test]
fn px4_is_sent_the_same_and_flies_with_it_and_without() {
    for operated in [true, false] {
        let mut line = line(Autopilot::Px4, &[("NAV_DLL_ACT", 2.0), ("COM_LOW_BAT_ACT", 3.0)]);
        line.pass(30);
        let now = line.now();
        if operated {
            line.pilot.take_remote_id(operator(), now);
        }
        line.order(&Order::Assigned(assignment(1, FLY)));
        line.until("in the air", 60, |line| {
            matches!(line.truth(), FlightTruth::Airborne(_))
        });
        assert_eq!(places_sent(&line) > 0, operated);
    }
}
