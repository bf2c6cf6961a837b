//! Commands of a person for vehicles that another station has taken over, or that have to land: ground, resume, kill.

use crate::{Agent, crew, flying};
use kube::ResourceExt;
use model::ground::GroundOrderId;
use proto::v1;
use proto::v1::kill_response::Step;
use serde_json::json;
use skein_tests::cluster_field::{Coordinator, Field, PATIENCE};
use skein_tests::scripted_agent::Vehicle;
use std::time::{Duration, Instant};
use testkit::process::Signal;
use tonic::Code;
use tonic::transport::Channel;

type Fleet = v1::fleet_client::FleetClient<Channel>;

async fn fleet(coordinator: &Coordinator) -> Fleet {
    Fleet::connect(format!("http://{}", coordinator.address)).await.unwrap()
}

fn alpha() -> v1::GroundRequest {
    v1::GroundRequest {
        target: Some(v1::ground_request::Target::Swarm(v1::SwarmTarget {
            namespace: "north".into(),
            name: "alpha".into(),
        })),
    }
}

async fn until_none_flies(vehicles: &[Vehicle]) {
    let start = Instant::now();
    while vehicles.iter().any(Vehicle::flies) {
        assert!(start.elapsed() < PATIENCE, "they were not brought down");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn latches(vehicles: &[Vehicle]) -> Vec<Option<u64>> {
    let latch = |v: &Vehicle| v.state().fence.ground_latch.map(|id| id.0);
    vehicles.iter().map(latch).collect()
}

async fn until_latches_are(vehicles: &[Vehicle], wanted: &[Option<u64>]) {
    let start = Instant::now();
    while latches(vehicles) != wanted {
        assert!(start.elapsed() < PATIENCE, "{:?}", latches(vehicles));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

pub async fn a_ground_order_that_only_agents_remember_is_given_anew(mut field: Field) {
    let coordinator = field.coordinator();
    let (vehicles, _agents) = crew(&field, &coordinator, &["n1", "n2", "n3"]);
    field.swarm("north", "alpha", json!({"replicas": 3})).await;
    field.until_drones("three to fly", |drones| flying(drones) == 3).await;

    // Reported by one agent only, an unknown order is taken in, and grounds no other.
    vehicles[0].state().fence.ground_latch = Some(GroundOrderId(41));
    let grounded = |n: usize| move |d: &[crds::Drone]| d.iter().filter(|d| d.spec.grounded).count() == n;
    field.until_drones("its Drone to be marked", grounded(1)).await;
    until_none_flies(&vehicles[..1]).await;
    until_latches_are(&vehicles, &[None, None, None]).await;
    assert!(!field.swarms("north").get("alpha").await.unwrap().spec.grounded);
    assert_eq!(vehicles.iter().filter(|v| v.flies()).count(), 2);
    let mut fleet = fleet(&coordinator).await;
    fleet.release(alpha()).await.unwrap();
    field
        .until_drones("the release of the Swarm to be that of its Drone too", |d| {
            flying(d) == 3 && !d.iter().any(|d| d.spec.grounded)
        })
        .await;

    // Two report the same: it was the whole Swarm's.
    for vehicle in &vehicles[..2] {
        vehicle.state().fence.ground_latch = Some(GroundOrderId(42));
    }
    until_none_flies(&vehicles).await;
    field
        .until("the Swarm to be marked", async || {
            let swarm = field.swarms("north").get("alpha").await.unwrap();
            let order = swarm.annotations().get(crds::labels::GROUND_ORDER).cloned();
            match (swarm.spec.grounded, order.as_deref()) {
                (true, Some("42")) => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })
        .await;
    until_latches_are(&vehicles, &[None, None, None]).await;
    fleet.release(alpha()).await.unwrap();
    field
        .until_drones("three to fly again", |drones| flying(drones) == 3)
        .await;

    // An agent that was away all the time comes back with the old order: it is known to be released.
    vehicles[2].state().fence.ground_latch = Some(GroundOrderId(42));
    until_latches_are(&vehicles, &[None, None, None]).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!field.swarms("north").get("alpha").await.unwrap().spec.grounded);
}

pub async fn a_ground_order_outlives_the_coordinator_that_could_not_write_it(mut field: Field) {
    let first = field.coordinator();
    let (vehicles, agents) = crew(&field, &first, &["n1", "n2"]);
    field.swarm("north", "alpha", json!({"replicas": 2})).await;
    field.until_drones("two to fly", |drones| flying(drones) == 2).await;
    let mut fleet_of_first = fleet(&first).await;
    field.cluster().api_server().pause().unwrap();
    let order = tokio::spawn(async move { fleet_of_first.ground(alpha()).await });
    until_none_flies(&vehicles).await;
    assert!(
        latches(&vehicles).iter().all(Option::is_some),
        "{:?}",
        latches(&vehicles)
    );
    first.process.signal(Signal::SIGKILL).unwrap();
    drop(agents);
    order.abort();
    field.cluster().api_server().signal(Signal::SIGCONT).unwrap();

    let flights: Vec<_> = vehicles.iter().map(|v| v.ordered_to_fly_for().len()).collect();
    let second = field.coordinator();
    let _agents: Vec<_> = vehicles.iter().map(|v| Agent::start(v, &second.address)).collect();
    field
        .until_drones("all to be down by a ground order", |drones| {
            let grounded = |d: &crds::Drone| crate::condition(d, "Ready").1 == "Grounded";
            drones.len() == 2 && drones.iter().all(grounded)
        })
        .await;
    until_latches_are(&vehicles, &[None, None]).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(!vehicles.iter().any(Vehicle::flies), "{flights:?}");
    fleet(&second).await.release(alpha()).await.unwrap();
    field
        .until_drones("two to fly again", |drones| flying(drones) == 2)
        .await;
}

pub async fn a_takeover_is_resumed_by_a_word_and_never_before_it(mut field: Field) {
    let coordinator = field.coordinator();
    let (vehicles, _agents) = crew(&field, &coordinator, &["n1"]);
    field.drone("south", json!({"name": "lone"}), json!({})).await;
    field.until_drones("it to fly", |drones| flying(drones) == 1).await;
    let mut fleet = fleet(&coordinator).await;
    let lone = |name: &str| v1::ResumeRequest {
        namespace: "south".into(),
        name: name.into(),
        node: String::new(),
    };
    assert_eq!(fleet.resume(lone("nobody")).await.unwrap_err().code(), Code::NotFound);
    let early = fleet.resume(lone("lone")).await.unwrap_err();
    assert_eq!(early.code(), Code::FailedPrecondition);
    assert!(early.message().contains("nobody has taken over"), "{early}");

    vehicles[0].state().takeovers = 2;
    field
        .until_drones("the status to count", |d| {
            d[0].status.as_ref().is_some_and(|s| s.takeovers == Some(2))
        })
        .await;
    let answer = fleet.resume(lone("lone")).await.unwrap().into_inner();
    assert_eq!(answer.takeovers, 2);
    let drone = field.drones("south").get("lone").await.unwrap();
    assert_eq!(drone.spec.resume_after_takeovers, 2);
    let start = Instant::now();
    while vehicles[0].state().fence.held.as_ref().map(|a| a.resume_after) != Some(2) {
        assert!(start.elapsed() < PATIENCE, "the agent got no order");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let again = fleet.resume(lone("lone")).await.unwrap_err();
    assert_eq!(again.code(), Code::FailedPrecondition);
    assert!(again.message().contains("after takeover 2"), "{again}");
}

pub async fn a_vehicle_that_stands_down_is_offered_to_nobody_until_a_person_says_so(mut field: Field) {
    let coordinator = field.coordinator();
    field.nodes(&["n1", "n2"]);
    let both = ["n1", "n2"].map(Vehicle::new);
    both.iter().for_each(|vehicle| vehicle.state().stand_down = Some(3));
    let _agents = both
        .each_ref()
        .map(|vehicle| Agent::start(vehicle, &coordinator.address));
    field
        .drone("south", json!({"name": "named"}), json!({"nodeName": "n1"}))
        .await;
    field.swarm("north", "alpha", json!({"replicas": 1})).await;
    let waits = |drone: &crds::Drone| {
        let conditions = drone.status.as_ref().map_or(&[][..], |status| &status.conditions);
        conditions
            .iter()
            .any(|one| one.type_ == "Assigned" && one.message.contains("stays down until a person acts"))
    };
    field
        .until_drones("both to wait for a person", |drones| {
            drones.len() == 2 && drones.iter().all(waits)
        })
        .await;
    assert!(both.iter().all(|vehicle| vehicle.ordered_to_fly_for().is_empty()));
    let mut fleet = fleet(&coordinator).await;
    let vehicle = v1::ResumeRequest {
        node: "n1".into(),
        ..v1::ResumeRequest::default()
    };
    let answer = fleet.resume(vehicle.clone()).await.unwrap().into_inner();
    assert_eq!(answer.stood_down.map(|down| down.number), Some(3));
    field.until_drones("one to fly", |drones| flying(drones) == 1).await;
    assert!(both[1].ordered_to_fly_for().is_empty());
    let again = fleet.resume(vehicle).await.unwrap_err();
    assert_eq!(again.code(), Code::FailedPrecondition);
    assert!(again.message().contains("does not stand down"), "{again}");
}

pub async fn motors_are_stopped_on_a_code_that_was_offered_and_on_nothing_else(mut field: Field) {
    let coordinator = field.coordinator();
    let (vehicles, _agents) = crew(&field, &coordinator, &["n1", "n2"]);
    for name in ["lone", "other"] {
        field.drone("south", json!({"name": name}), json!({})).await;
    }
    field.until_drones("two to fly", |drones| flying(drones) == 2).await;
    let mut fleet = fleet(&coordinator).await;
    let kill = |name: &str, code: &str| v1::KillRequest {
        namespace: "south".into(),
        name: name.into(),
        code: code.into(),
    };
    assert_eq!(fleet.kill(kill("nobody", "")).await.unwrap_err().code(), Code::NotFound);
    let offer = fleet.kill(kill("lone", "")).await.unwrap().into_inner();
    let Some(Step::Offer(v1::KillOffer { code, lives_ms })) = offer.step else {
        panic!("{offer:?}")
    };
    assert_eq!(lives_ms, 15_000);
    let vehicle = offer.vehicle.unwrap();
    assert_eq!(
        (vehicle.drone_name.as_str(), vehicle.report.unwrap().truth()),
        ("lone", v1::FlightTruth::InAir)
    );
    for wrong in [kill("other", &code), kill("lone", "guess"), kill("lone", &code)] {
        let refused = fleet.kill(wrong).await.unwrap_err();
        assert_eq!(refused.code(), Code::FailedPrecondition, "{refused}");
    }
    let killed = || vehicles.iter().map(|v| v.state().kills.len()).sum::<usize>();
    assert_eq!(killed(), 0, "the wrong guess has used up the code");

    let offer = fleet.kill(kill("lone", "")).await.unwrap().into_inner();
    let Some(Step::Offer(v1::KillOffer { code, .. })) = offer.step else {
        panic!("{offer:?}")
    };
    let done = fleet.kill(kill("lone", &code)).await.unwrap().into_inner();
    let Some(Step::Answer(answer)) = done.step else {
        panic!("{done:?}")
    };
    assert_eq!(answer.outcome(), v1::KillOutcome::Accepted);
    assert_eq!(
        fleet.kill(kill("lone", &code)).await.unwrap_err().code(),
        Code::FailedPrecondition
    );
    assert_eq!(killed(), 1);
    let drone = field.drones("south").get("lone").await.unwrap();
    let hit = vehicles.iter().find(|v| !v.state().kills.is_empty()).unwrap();
    let order = hit.state().kills[0].clone();
    assert_eq!(Some(&order.drone_uid), drone.metadata.uid.as_ref());
    assert_eq!(Some(hit.state().node.as_str()), drone.spec.node_name.as_deref());
    assert!(order.seen_report_ms > 0 && order.term > 0 && order.nonce > 0);
}
