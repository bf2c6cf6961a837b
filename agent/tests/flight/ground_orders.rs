//! A ground order is on the agent's disk before it is acted on, and stays until it is reported done.

use super::*;
use fleet::safety::NoArm;
use model::ground::{GroundMark, GroundOrderId};

const ID: GroundOrderId = GroundOrderId(77);

fn marked(order: Order, mark: GroundMark) -> Order {
    match order {
        Order::Assigned(a) => Order::Assigned(Assignment {
            ground_mark: Some(mark),
            ..a
        }),
        none @ Order::Unassigned { .. } => none,
    }
}

fn given() -> Order {
    marked(grounded(1), GroundMark::Given(ID))
}

async fn landed(agent: &Agent) {
    agent
        .until("landed", 60, |r| {
            r.held.as_ref().is_some_and(|h| h.grounded && h.settled)
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_ground_order_outlives_agent_and_coordinator_until_it_is_done() {
    for kind in BOTH {
        let vehicle = Vehicle::new(kind);
        let agent = vehicle.flown().await;
        agent.order(given()).await;
        landed(&agent).await;
        assert_eq!(agent.report().unwrap().ground_latch, Some(ID));
        agent.kill().await;
        // A restarted coordinator without the order orders flight again and again.
        let agent = vehicle.agent();
        for term in [3, 4, 5] {
            let Order::Assigned(assigned) = flying(2) else { panic!() };
            let assigned = Assignment {
                term: Term(term),
                ..assigned
            };
            agent.connect(Order::Assigned(assigned)).await;
            sleep(Duration::from_secs(20)).await;
            let report = agent.report().unwrap();
            assert_eq!(report.ground_latch, Some(ID), "{kind:?}");
            assert!(report.held.unwrap().grounded);
        }
        assert_eq!(vehicle.see(|w| w.count(ARM)), 1, "{kind:?}: not armed again");
        agent.kill().await;
        let agent = vehicle.agent();
        let Order::Assigned(assigned) = marked(flying(2), GroundMark::Done(ID)) else {
            panic!()
        };
        agent
            .connect(Order::Assigned(Assignment {
                term: Term(5),
                ..assigned
            }))
            .await;
        agent.until_holding().await;
        assert_eq!(agent.report().unwrap().ground_latch, None);
        agent.kill().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_ground_order_is_written_down_before_the_land_command() {
    let vehicle = Vehicle::new(Kind::Px4);
    let agent = vehicle.flown().await;
    agent.order(given()).await;
    while vehicle.see(|w| w.count(LAND)) == 0 {
        sleep(Duration::from_millis(10)).await;
    }
    let state = std::fs::read_to_string(vehicle.dir.path().join("state.json")).unwrap();
    assert!(state.contains("\"ground_latch\": 77"), "{state}");
    agent.kill().await;
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_dies_in_the_landing_goes_on_with_it_in_its_next_life() {
    let vehicle = Vehicle::new(Kind::ArduCopter);
    let agent = vehicle.flown().await;
    vehicle.unplug().await;
    agent.order(given()).await;
    agent.until("kept", 10, |r| r.ground_latch == Some(ID)).await;
    agent.kill().await;
    vehicle.plugged.store(true, Ordering::SeqCst);
    let agent = vehicle.agent();
    landed(&agent).await;
    assert_eq!(vehicle.see(|w| w.count(LAND)), 1, "without any coordinator");
    agent.kill().await;
}

#[test]
fn a_kept_ground_order_is_a_reason_of_its_own_not_to_arm() {
    assert!(NoArm::GroundOrder.to_string().contains("skein release"));
}
