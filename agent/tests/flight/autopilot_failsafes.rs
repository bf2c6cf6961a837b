//! Invariant 15: during a failsafe of the autopilot the agent sends nothing until it is over or a person orders.

use super::*;
use link::dialect::MavState;
use model::alarm::Cause;
use model::assignment::OnLowBattery;
use model::failsafe::Diverted;

const GIVES_WAY: Activity = Activity::HandsOff(HandsOff::AutopilotFailsafe);

fn why(report: &Report) -> Option<Diverted> {
    report.diversion.as_ref().map(|diversion| diversion.why)
}

fn of(generation: i64, desired: Desired, failsafe: Failsafe) -> Order {
    Order::Assigned(Assignment {
        failsafe,
        ..assignment(generation, desired)
    })
}

const fn up_to(height: f64) -> Desired {
    Desired::Flying {
        altitude: AltitudeAboveHome(height),
    }
}

const fn down(why: GroundedWhy) -> Desired {
    Desired::Grounded { why }
}

/// A PX4 that holds at 10 m and enters the wait of a failsafe: Hold, CRITICAL, and its words.
async fn px4_waits(words: &'static str) -> (Vehicle, Agent) {
    let vehicle = Vehicle::new(Kind::Px4);
    let agent = vehicle.flown().await;
    vehicle.see(|w| {
        w.state = MavState::MAV_STATE_CRITICAL;
        w.texts = vec![words, "Failsafe activated: entering Hold for 5 seconds\t"];
    });
    agent.until("gives way", 3, |r| r.activity == GIVES_WAY).await;
    (vehicle, agent)
}

#[tokio::test(start_paused = true)]
async fn a_changed_height_is_not_sent_into_a_failsafe_and_is_followed_once_it_is_over() {
    let (vehicle, agent) = px4_waits("Connection to ground station lost\t").await;
    let report = agent.report().unwrap();
    assert_eq!(why(&report), Some(Diverted::Autopilot(Cause::GroundStation)));
    assert!(
        report
            .diversion
            .unwrap()
            .words
            .contains("Connection to ground station lost")
    );
    let before = vehicle.see(|w| w.steps().len());
    agent.order(of(2, up_to(25.0), Failsafe::default())).await;
    sleep(Duration::from_secs(60)).await;
    assert_eq!(vehicle.see(|w| w.steps().len()), before);
    assert_eq!(agent.report().unwrap().activity, GIVES_WAY);
    vehicle.see(|w| w.state = MavState::MAV_STATE_ACTIVE);
    agent
        .until("holding again", 10, |r| {
            r.activity == Activity::Holding && r.diversion.is_none()
        })
        .await;
    sleep(Duration::from_secs(5)).await;
    assert!(vehicle.see(|w| w.count(MavCmd::MAV_CMD_DO_REPOSITION)) > 0);
    agent.kill().await;
}

#[tokio::test(start_paused = true)]
async fn an_empty_battery_and_a_lost_coordinator_send_nothing_into_a_failsafe() {
    let (vehicle, agent) = px4_waits("Emergency battery level\t").await;
    assert_eq!(why(&agent.report().unwrap()), Some(Diverted::Autopilot(Cause::Battery)));
    let before = vehicle.see(|w| w.steps().len());
    let failsafe = Failsafe {
        on_coordinator_loss: OnCoordinatorLoss::Return,
        after: Duration::from_secs(5),
        on_low_battery: OnLowBattery::Return,
        ..Failsafe::default()
    };
    agent.order(of(2, up_to(10.0), failsafe)).await;
    vehicle.see(|w| w.remaining = 4);
    agent.orders.send(FromUplink::Closed).await.unwrap();
    sleep(Duration::from_secs(60)).await;
    assert_eq!(vehicle.see(|w| w.steps().len()), before);
    vehicle.see(|w| w.custom_mode = 0x0604_0000);
    let over = Activity::HandsOff(HandsOff::FlightOver);
    agent.until("over", 60, |r| r.activity == over).await;
    assert_eq!(why(&agent.report().unwrap()), Some(Diverted::Autopilot(Cause::Battery)));
    assert_eq!(vehicle.see(|w| w.steps().len()), before);
    agent.kill().await;
}

#[tokio::test(start_paused = true)]
async fn a_persons_ground_order_lands_a_vehicle_held_by_a_failsafe_and_a_drain_does_not() {
    let (vehicle, agent) = px4_waits("Geofence: approaching or outside geofence").await;
    assert_eq!(why(&agent.report().unwrap()), Some(Diverted::Autopilot(Cause::Fence)));
    for (generation, why) in [(2, GroundedWhy::Waiting), (3, GroundedWhy::Unbound)] {
        agent.order(of(generation, down(why), Failsafe::default())).await;
        sleep(Duration::from_secs(60)).await;
        assert_eq!(vehicle.see(|w| w.count(LAND)), 0, "{why:?}");
    }
    agent
        .order(of(4, down(GroundedWhy::Ordered), Failsafe::default()))
        .await;
    agent
        .until("landed", 60, |r| r.held.as_ref().is_some_and(|h| h.settled))
        .await;
    assert_eq!(vehicle.see(|w| w.count(LAND)), 1);
    agent.kill().await;
}

#[tokio::test(start_paused = true)]
async fn ardupilots_own_words_explain_why_it_changed_its_mode() {
    for (words, mode, cause) in [
        ("Battery Failsafe", 9, Cause::Battery),
        ("GCS Failsafe", 6, Cause::GroundStation),
        ("Max Alt fence breached", 6, Cause::Fence),
        ("Radio Failsafe", 6, Cause::RemoteControl),
        ("EKF Failsafe: changed to LAND Mode", 9, Cause::Position),
    ] {
        let vehicle = Vehicle::new(Kind::ArduCopter);
        let agent = vehicle.flown().await;
        let before = vehicle.see(|w| {
            w.texts = vec![words];
            w.custom_mode = mode;
            w.steps().len()
        });
        agent
            .until("hands off", 5, |r| {
                r.activity == Activity::HandsOff(HandsOff::OtherMode) && why(r) == Some(Diverted::Autopilot(cause))
            })
            .await;
        assert!(agent.report().unwrap().diversion.unwrap().words.contains(words));
        sleep(Duration::from_secs(20)).await;
        assert_eq!(vehicle.see(|w| w.steps().len()), before, "{words}");
        agent.kill().await;
    }
}

#[tokio::test(start_paused = true)]
async fn our_own_return_for_a_low_battery_is_reported_as_that_to_its_end() {
    for kind in BOTH {
        let vehicle = Vehicle::new(kind);
        let agent = vehicle.flown().await;
        vehicle.see(|w| {
            w.can_return = true;
            w.remaining = 15;
        });
        let low = |r: &Report| r.activity == Activity::LowBattery && why(r) == Some(Diverted::LowBattery);
        agent.until("returning", 30, low).await;
        sleep(Duration::from_secs(5)).await;
        assert!(
            agent.report().is_some_and(|r| low(&r)),
            "{kind:?}: {:#?}",
            agent.report()
        );
        vehicle.see(|w| w.custom_mode = if kind == Kind::Px4 { 0x0604_0000 } else { 9 });
        let over = Activity::HandsOff(HandsOff::FlightOver);
        agent.until("over", 60, |r| r.activity == over).await;
        assert_eq!(why(&agent.report().unwrap()), Some(Diverted::LowBattery), "{kind:?}");
        agent.kill().await;
        let next = vehicle.agent();
        next.until("over", 10, |r| {
            r.activity == over && why(r) == Some(Diverted::LowBattery)
        })
        .await;
        next.kill().await;
    }
}
