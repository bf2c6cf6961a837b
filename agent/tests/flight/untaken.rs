//! Orders that are received and not taken still show what the leader wants; and an agent without a memory.

use super::*;
use model::reported_flight::{ReportedFlight, SoFar};

#[tokio::test(start_paused = true)]
async fn a_vehicle_whose_agent_cannot_write_is_not_alone_while_the_coordinator_speaks() {
    for term in [3, 4] {
        let vehicle = Vehicle::new(Kind::Px4);
        let agent = vehicle.agent();
        agent.connect(watched(3)).await;
        agent
            .until("armed", 30, |r| r.truth == FlightTruth::ArmedOnGround)
            .await;
        std::fs::create_dir(vehicle.dir.path().join("state.json.new")).unwrap();
        agent.until_holding().await;
        agent.orders.send(FromUplink::Closed).await.unwrap();
        sleep(Duration::from_secs(5)).await;
        agent.connect(watched(term)).await;
        sleep(Duration::from_secs(60)).await;
        assert_eq!(vehicle.see(|w| w.count(LAND)), 0, "term {term}");
        agent.orders.send(FromUplink::Closed).await.unwrap();
        agent.until_disarmed(90).await;
        assert_eq!(vehicle.see(|w| w.count(LAND)), 1, "term {term}: gone for good");
        agent.kill().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_vehicle_is_not_armed_for_a_drone_of_which_the_coordinator_has_let_go() {
    let vehicle = Vehicle::new(Kind::Px4);
    let agent = vehicle.agent();
    agent.until_disarmed(20).await;
    vehicle.unplug().await;
    agent.until("silent", 20, |r| !r.link_alive).await;
    agent.connect(flying(1)).await;
    agent.until("held", 5, |r| r.held.is_some()).await;
    let altitude = AltitudeAboveHome(10.0);
    let other = Assignment {
        uid: DroneUid("u-2".into()),
        ..assignment(1, Desired::Flying { altitude })
    };
    // Refused, as nothing is known of the vehicle; but no leader wants the first Drone in the air any more.
    agent.order(Order::Assigned(other.clone())).await;
    sleep(Duration::from_secs(1)).await;
    vehicle.plugged.store(true, Ordering::SeqCst);
    agent.until_disarmed(60).await;
    sleep(Duration::from_secs(30)).await;
    assert_eq!(vehicle.see(|w| w.count(ARM)), 0);
    agent.order(Order::Assigned(other)).await;
    agent.until_holding().await;
    assert_eq!(agent.report().unwrap().held.unwrap().uid, DroneUid("u-2".into()));
    agent.kill().await;
}

#[tokio::test(start_paused = true)]
async fn a_vehicle_that_came_down_by_itself_stays_down_although_its_agent_lost_its_disk() {
    let vehicle = Vehicle::new(Kind::Px4);
    let agent = vehicle.agent();
    let altitude = AltitudeAboveHome(10.0);
    let reported_flight = ReportedFlight {
        takeovers: 0,
        so_far: SoFar::Over,
        hardware: None,
    };
    agent
        .connect(Order::Assigned(Assignment {
            reported_flight,
            ..assignment(1, Desired::Flying { altitude })
        }))
        .await;
    agent
        .until("held", 30, |r| r.held.is_some() && r.so_far == SoFar::Over)
        .await;
    agent.order(flying(1)).await;
    sleep(Duration::from_secs(60)).await;
    assert_eq!(vehicle.see(|w| w.count(ARM)), 0);
    assert_eq!(
        agent.report().unwrap().activity,
        Activity::HandsOff(HandsOff::FlightOver)
    );
    agent.order(grounded(2)).await;
    agent.until("grounded", 10, |r| r.so_far == SoFar::Fresh).await;
    agent.order(flying(3)).await;
    agent.until_holding().await;
    assert_eq!(agent.report().unwrap().so_far, SoFar::Flown);
    agent.kill().await;
}
