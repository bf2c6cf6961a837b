//! Remote ID on an unmodified ArduCopter: no arming before it has its operator and a good transmitter. The test plays
//! the transmitter on the second serial port (component 236: heartbeats and OPEN_DRONE_ID_ARM_STATUS). Without an
//! autopilot (see tests/README.md) it prints `skipped:` and passes.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on ends here")]

use agent::uplink::{FromUplink, Outward};
use agent_testkit::on_real_autopilots::{Agent, say, url};
use agent_testkit::orders::assignment;
use link::dialect::{
    HEARTBEAT_DATA, MavAutopilot, MavMessage, MavOdidArmStatus, MavType, OPEN_DRONE_ID_ARM_STATUS_DATA,
};
use link::{Link, LinkUrl};
use model::assignment::{Desired, GroundedWhy, Order};
use model::ids::Term;
use model::remote_id::{AircraftId, AircraftIdKind, Location, Operator, RemoteIdOrder, Sending, Transmitter};
use model::report::Report;
use model::units::{Address, AltitudeAboveHome};
use model::vehicle::FlightTruth;
use std::time::{Duration, Instant};
use testkit::autopilots::{Autopilot, Firmware, Instance, Settings, Stack};
use tokio::sync::watch;

const FLY: Desired = Desired::Flying {
    altitude: AltitudeAboveHome(8.0),
};

fn operator() -> Operator {
    Operator {
        name: "north".to_owned(),
        id: "CHE87astrdge12k8".to_owned(),
        description: "Site patrol".to_owned(),
        location: Location::Takeoff,
        eu: None,
        aircraft: Some(AircraftId {
            kind: AircraftIdKind::SerialNumber,
            id: "1596F12345678".to_owned(),
        }),
    }
}

/// Until dropped, sends `says` each second; nothing while that is `None`.
async fn transmit(at: LinkUrl, system: u8, mut says: watch::Receiver<Option<&'static str>>) {
    let (_link, wire, mut events) = Link::open(at);
    let us = Address::new(system, 236);
    let mut second = tokio::time::interval(Duration::from_secs(1));
    loop {
        tokio::select! {
            event = events.recv() => if event.is_none() { return },
            _ = second.tick() => {
                let Some(words) = *says.borrow_and_update() else { continue };
                let beat = HEARTBEAT_DATA {
                    mavtype: MavType::MAV_TYPE_ODID,
                    autopilot: MavAutopilot::MAV_AUTOPILOT_INVALID,
                    mavlink_version: 3,
                    ..HEARTBEAT_DATA::default()
                };
                let status = OPEN_DRONE_ID_ARM_STATUS_DATA {
                    status: if words.is_empty() {
                        MavOdidArmStatus::MAV_ODID_ARM_STATUS_GOOD_TO_ARM
                    } else {
                        MavOdidArmStatus::MAV_ODID_ARM_STATUS_PRE_ARM_FAIL_GENERIC
                    },
                    error: words.into(),
                };
                for message in [MavMessage::HEARTBEAT(beat), MavMessage::OPEN_DRONE_ID_ARM_STATUS(status)] {
                    let _ = wire.send(us, &message, Duration::from_millis(500)).await;
                }
            }
        }
    }
}

async fn until(
    reports: &watch::Receiver<Outward>,
    what: &str,
    within_s: u64,
    holds: impl Fn(&Report) -> bool,
) -> Duration {
    let began = Instant::now();
    loop {
        let report = reports.borrow().report.clone();
        if report.as_ref().is_some_and(&holds) {
            say(&format!("{:6.1} s  {what}", began.elapsed().as_secs_f64()));
            return began.elapsed();
        }
        assert!(
            began.elapsed().as_secs() < within_s,
            "not within {within_s} s: {what}; {report:#?}"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn gives(text: &'static str) -> impl Fn(&Report) -> bool {
    move |report| report.reasons.iter().any(|reason| reason.text.contains(text))
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes three minutes of real time"]
async fn a_real_arducopter_that_enforces_remote_id_flies_once_it_was_sent_its_operator() {
    let firmware = match Firmware::find(Stack::ArduPilot) {
        Ok(firmware) => firmware,
        Err(missing) => return say(&format!("skipped: {missing}")),
    };
    let settings = Settings::default()
        .parameter("DID_ENABLE", 1.0)
        .parameter("DID_OPTIONS", 1.0)
        .parameter("DID_MAVPORT", 1.0);
    let autopilot = Autopilot::start(firmware, Instance::claim().unwrap(), settings).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let agent = Agent::start(&autopilot, dir.path(), None);
    let (orders, reports) = (agent.orders.clone(), agent.reports.clone());
    let assigned = |generation, desired| FromUplink::Order(Box::new(Order::Assigned(assignment(generation, desired))));
    orders.send(FromUplink::Opened).await.unwrap();
    orders.send(assigned(1, FLY)).await.unwrap();

    until(
        &reports,
        "it wants the id of its aircraft",
        120,
        gives("UA_TYPE required in BasicID"),
    )
    .await;
    until(
        &reports,
        "the agent says what to do",
        5,
        gives("no Operator selects the vehicle"),
    )
    .await;
    let (says, heard) = watch::channel(None);
    let transmitter = tokio::spawn(transmit(
        url(autopilot.stack(), autopilot.ground_link()),
        autopilot.system(),
        heard,
    ));

    let order = RemoteIdOrder {
        term: Term(3),
        operator: Some(operator()),
    };
    orders.send(FromUplink::RemoteId(order)).await.unwrap();
    until(
        &reports,
        "sent, and it wants its transmitter",
        90,
        gives("ARM_STATUS not available"),
    )
    .await;
    says.send_replace(Some("LOC SYS"));
    until(
        &reports,
        "the agent receives from the transmitter by way of the autopilot",
        10,
        |report| report.remote_id.transmitter == Transmitter::Fails("LOC SYS".to_owned()),
    )
    .await;
    until(
        &reports,
        "the transmitter's own words are the reason",
        90,
        gives("OpenDroneID: LOC SYS"),
    )
    .await;
    says.send_replace(Some(""));
    until(&reports, "in the air", 90, |report| {
        matches!(report.truth, FlightTruth::Airborne(_))
    })
    .await;
    let report = reports.borrow().report.clone().unwrap();
    assert_eq!(
        (report.remote_id.sending, &report.remote_id.transmitter),
        (Sending::Yes, &Transmitter::Good)
    );
    says.send_replace(None);
    until(&reports, "the transmitter is lost, and it flies on", 10, |report| {
        report.remote_id.transmitter == Transmitter::Lost && matches!(report.truth, FlightTruth::Airborne(_))
    })
    .await;
    let ordered = GroundedWhy::Ordered;
    orders
        .send(assigned(2, Desired::Grounded { why: ordered }))
        .await
        .unwrap();
    until(&reports, "landed and disarmed", 90, |report| {
        report.truth == FlightTruth::Disarmed
    })
    .await;
    transmitter.abort();
    agent.kill().await;
}
