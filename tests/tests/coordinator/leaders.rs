//! Several coordinators: one leads, the others are on standby, and a change of the leader does not affect flights.

use crate::{Agent, crew, flying};
use crds::labels;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::ResourceExt;
use kube::api::{Api, Patch, PatchParams};
use model::assignment::Desired;
use proto::v1;
use serde_json::json;
use skein_tests::SYSTEM;
use skein_tests::cluster_field::{Coordinator, Field, PATIENCE};
use skein_tests::scripted_agent::Vehicle;
use std::time::{Duration, Instant};
use testkit::process::Signal;
use tonic::Code;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};

/// Longer than a leader acts without a renewal.
const DOUBTED: Duration = Duration::from_millis(7500);

pub async fn service_leads_to(field: &Field, address: &str) {
    let slices: Api<EndpointSlice> = Api::namespaced(field.client.clone(), SYSTEM);
    field
        .until("the Service to lead to the leader", async || {
            let slice = slices.get_opt("skein-coordinator").await.unwrap();
            let found = slice.map(|slice| slice.endpoints[0].addresses.clone());
            if found == Some(vec![address.to_owned()]) {
                Ok(())
            } else {
                Err(format!("{found:?}"))
            }
        })
        .await;
}

async fn health(coordinator: &Coordinator) -> (bool, bool) {
    let server = format!("http://{}", coordinator.address);
    let channel = tonic::transport::Channel::from_shared(server).unwrap();
    let mut client = HealthClient::new(channel.connect().await.unwrap());
    let mut serving = async |service: &str| {
        let request = HealthCheckRequest {
            service: service.into(),
        };
        client.check(request).await.unwrap().into_inner().status() == ServingStatus::Serving
    };
    (serving("").await, serving("skein.v1.Uplink").await)
}

async fn until_health(field: &Field, coordinator: &Coordinator, wanted: (bool, bool)) {
    field
        .until("the health to be as it should", async || {
            let seen = health(coordinator).await;
            if seen == wanted {
                Ok(())
            } else {
                Err(format!("{seen:?}"))
            }
        })
        .await;
}

fn terms(vehicles: &[Vehicle]) -> Vec<Option<u64>> {
    let term = |v: &Vehicle| v.state().fence.held.as_ref().map(|held| held.term.0);
    vehicles.iter().map(term).collect()
}

async fn until_led_above(field: &Field, vehicles: &[Vehicle], term: u64) -> Duration {
    let start = Instant::now();
    field
        .until("all to hold a higher term", async || {
            let terms = terms(vehicles);
            if terms.iter().all(|t| t.is_some_and(|t| t > term)) {
                Ok(())
            } else {
                Err(format!("{terms:?} after {term}"))
            }
        })
        .await;
    start.elapsed()
}

fn orders(vehicles: &[Vehicle]) -> Vec<usize> {
    vehicles.iter().map(|v| v.state().orders.len()).collect()
}

fn assert_nobody_was_told_to_land(vehicles: &[Vehicle], since: &[usize]) {
    for (vehicle, from) in vehicles.iter().zip(since) {
        assert!(vehicle.flies());
        assert!(!vehicle.ordered_to_land_since(*from), "{:#?}", vehicle.state().orders);
    }
}

fn also(vehicles: &[Vehicle], coordinator: &Coordinator) -> Vec<Agent> {
    vehicles.iter().map(|v| Agent::start(v, &coordinator.address)).collect()
}

pub async fn of_two_coordinators_one_leads_and_the_other_takes_over_and_nobody_comes_down(mut field: Field) {
    let first = field.coordinator();
    until_health(&field, &first, (true, true)).await;
    let second = field.coordinator();
    until_health(&field, &second, (true, false)).await;
    let mut to_second = v1::uplink_client::UplinkClient::connect(format!("http://{}", second.address))
        .await
        .unwrap();
    let refused = to_second.session(futures::stream::pending()).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unavailable, "{refused}");
    assert!(refused.message().contains("does not lead"), "{refused}");

    let (vehicles, _agents) = crew(&field, &first, &["n1", "n2", "n3"]);
    let _to_second = also(&vehicles, &second);
    field.swarm("north", "alpha", json!({"replicas": 2})).await;
    field.until_drones("two to fly", |drones| flying(drones) == 2).await;
    let fly: Vec<_> = vehicles.iter().filter(|v| v.flies()).cloned().collect();
    let (since, term) = (orders(&fly), terms(&fly)[0].unwrap());

    // Without warning: the second has to wait until the Lease expires.
    first.process.signal(Signal::SIGKILL).unwrap();
    let after = until_led_above(&field, &fly, term).await;
    println!("after a kill all are led again within {after:?}");
    assert!(after < Duration::from_secs(20), "{after:?}");
    until_health(&field, &second, (true, true)).await;
    field.scale("north", "alpha", 3).await;
    field.until_drones("three to fly", |drones| flying(drones) == 3).await;
    assert_nobody_was_told_to_land(&fly, &since);

    let third = field.coordinator();
    until_health(&field, &third, (true, false)).await;
    let _to_third = also(&vehicles, &third);
    let (since, term) = (orders(&vehicles), terms(&vehicles)[0].unwrap());
    assert_eq!(second.process.stop(PATIENCE).unwrap().code(), Some(0));
    let after = until_led_above(&field, &vehicles, term).await;
    println!("after an orderly end all are led again within {after:?}");
    assert!(after < Duration::from_secs(8), "{after:?}");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_nobody_was_told_to_land(&vehicles, &since);
}

pub async fn a_leader_that_cannot_renew_keeps_what_flies_begins_no_flight_and_still_grounds(mut field: Field) {
    let coordinator = field.coordinator();
    let (vehicles, mut agents) = crew(&field, &coordinator, &["n1", "n2", "n3"]);
    vehicles[1].state().ready = false;
    vehicles[2].state().ready = false;
    field.swarm("north", "alpha", json!({"replicas": 3})).await;
    field
        .until_drones("one to fly and two to wait", |d| {
            flying(d) == 1 && d.iter().filter(|d| crate::phase(d) == "Preparing").count() == 2
        })
        .await;
    let (since, term) = (orders(&vehicles), terms(&vehicles)[0]);
    drop(agents.remove(1));

    field.cluster().api_server().pause().unwrap();
    tokio::time::sleep(DOUBTED + Duration::from_secs(1)).await;
    field
        .until("the third to be ordered to wait", async || {
            match vehicles[2].state().fence.held {
                Some(ref held) if matches!(held.desired, Desired::Grounded { .. }) => Ok(()),
                ref held => Err(format!("{held:?}")),
            }
        })
        .await;
    // Its agent is back, and now it could take off, like the third, which was ordered to fly before.
    vehicles[1].state().ready = true;
    vehicles[2].state().ready = true;
    let asked = vehicles[1].ordered_to_fly_for().len();
    vehicles[1].state().fence = model::assignment::Fence::default();
    agents.push(Agent::start(&vehicles[1], &coordinator.address));
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(!vehicles[1].flies() && !vehicles[2].flies());
    assert_eq!(
        vehicles[1].ordered_to_fly_for().len(),
        asked,
        "it was ordered to fly in doubt"
    );
    assert_nobody_was_told_to_land(&vehicles[..1], &since[..1]);
    field.cluster().api_server().signal(Signal::SIGCONT).unwrap();
    field.until_drones("all to fly", |drones| flying(drones) == 3).await;
    assert_eq!(terms(&vehicles), [term; 3], "no other has led");

    field.cluster().api_server().pause().unwrap();
    tokio::time::sleep(DOUBTED).await;
    let mut fleet = v1::fleet_client::FleetClient::connect(format!("http://{}", coordinator.address))
        .await
        .unwrap();
    let all = v1::GroundRequest {
        target: Some(v1::ground_request::Target::All(v1::All {})),
    };
    let start = Instant::now();
    let order = tokio::spawn(async move { fleet.ground(all).await });
    while vehicles.iter().any(|v| !v.ordered_to_land_since(since[0])) {
        assert!(
            start.elapsed() < Duration::from_secs(1),
            "agents did not have the order at once"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let _ = order.await.unwrap();
    field.cluster().api_server().signal(Signal::SIGCONT).unwrap();
    field
        .until_drones("all to be down", |d| d.iter().all(|d| crate::phase(d) == "Grounded"))
        .await;
}

pub async fn a_leader_that_was_stopped_and_succeeded_moves_nobody_and_ends(mut field: Field) {
    let first = field.coordinator();
    until_health(&field, &first, (true, true)).await;
    let second = field.coordinator();
    let (vehicles, _agents) = crew(&field, &first, &["n1", "n2"]);
    let _to_second = also(&vehicles, &second);
    field.swarm("north", "alpha", json!({"replicas": 2})).await;
    field.until_drones("two to fly", |drones| flying(drones) == 2).await;
    let (since, term) = (orders(&vehicles), terms(&vehicles)[0].unwrap());

    first.process.pause().unwrap();
    until_led_above(&field, &vehicles, term).await;
    let next = terms(&vehicles);
    field.scale("north", "alpha", 1).await;
    field.until_drones("one to be left", |drones| drones.len() == 1).await;
    let left = field.until_drones("it to fly", |drones| flying(drones) == 1).await;
    first.process.signal(Signal::SIGCONT).unwrap();
    let status = first.process.wait_for_exit(PATIENCE).unwrap();
    assert_eq!(status.code(), Some(1));
    assert!(first.process.stderr().contains("deposed"), "{}", first.process.tail());
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (up, down): (Vec<_>, Vec<_>) = vehicles
        .iter()
        .zip(since)
        .partition(|(v, _)| v.state().node == crate::on(&left[0]));
    assert!(up.iter().all(|(v, from)| v.flies() && !v.ordered_to_land_since(*from)));
    assert!(down.iter().all(|(v, _)| !v.flies()), "the old leader lifted one");
    let highest: Vec<_> = vehicles.iter().map(|v| Some(v.state().fence.highest_term.0)).collect();
    assert_eq!(highest, next);
}

fn lease(field: &Field) -> Api<Lease> {
    Api::namespaced(field.client.clone(), SYSTEM)
}

async fn change_lease(field: &Field, change: serde_json::Value) {
    let (leases, params) = (lease(field), PatchParams::default());
    leases
        .patch("skein-coordinator", &params, &Patch::Merge(change))
        .await
        .unwrap();
}

pub async fn a_store_that_went_back_lifts_nobody_until_a_person_has_confirmed_it(mut field: Field) {
    let first = field.coordinator();
    let (vehicles, agents) = crew(&field, &first, &["n1", "n2", "n3"]);
    field.swarm("north", "alpha", json!({"replicas": 1})).await;
    field.until_drones("one to fly", |drones| flying(drones) == 1).await;
    let fly: Vec<_> = vehicles.iter().filter(|v| v.flies()).cloned().collect();
    let since = orders(&fly);

    // As after a restore: the term in the Lease is an earlier one.
    let count = lease(&field).get("skein-coordinator").await.unwrap();
    let count = count.spec.unwrap().lease_transitions.unwrap();
    change_lease(&field, json!({"spec": {"leaseTransitions": count - 1}})).await;
    assert_eq!(first.process.wait_for_exit(PATIENCE).unwrap().code(), Some(1));
    let said = first.process.stderr();
    assert!(
        said.contains("went back in time") && said.contains("After etcd was restored"),
        "{}",
        first.process.tail()
    );
    let noted = lease(&field).get("skein-coordinator").await.unwrap();
    assert!(noted.annotations().contains_key(labels::WENT_BACK), "{noted:#?}");
    drop(agents);

    // The next leader keeps what flies, and lets nothing take off and binds nothing.
    let second = field.coordinator();
    let _agents = also(&vehicles, &second);
    until_health(&field, &second, (true, true)).await;
    field.swarm("north", "bravo", json!({"replicas": 1})).await;
    field.scale("north", "alpha", 2).await;
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert_eq!(vehicles.iter().filter(|v| v.flies()).count(), 1);
    assert_eq!(field.all_drones().await.len(), 1, "nothing is made by it");
    assert_nobody_was_told_to_land(&fly, &since);
    let all = || v1::GroundRequest {
        target: Some(v1::ground_request::Target::All(v1::All {})),
    };
    let mut fleet = v1::fleet_client::FleetClient::connect(format!("http://{}", second.address))
        .await
        .unwrap();
    fleet.ground(all()).await.unwrap();
    let start = Instant::now();
    while vehicles.iter().any(Vehicle::flies) {
        assert!(start.elapsed() < PATIENCE, "it was not brought down");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    fleet.release(all()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(!vehicles.iter().any(Vehicle::flies), "a release is no confirmation");

    change_lease(&field, json!({"metadata": {"annotations": {labels::WENT_BACK: null}}})).await;
    field.until_drones("three to fly", |drones| flying(drones) == 3).await;
}

pub async fn a_new_epoch_is_followed_by_agents_that_refuse_all_terms_of_this_one(mut field: Field) {
    let first = field.coordinator();
    let (vehicles, agents) = crew(&field, &first, &["n1"]);
    field.swarm("north", "alpha", json!({"replicas": 1})).await;
    field.until_drones("one to fly", |drones| flying(drones) == 1).await;
    let since = orders(&vehicles);
    drop(agents);
    // It has served a coordinator of the highest possible term.
    let last = model::ids::Term(2_147_483_645);
    vehicles[0].state().fence.highest_term = last;
    change_lease(&field, json!({"metadata": {"annotations": {labels::TERM_EPOCH: "1"}}})).await;
    assert_eq!(first.process.wait_for_exit(PATIENCE).unwrap().code(), Some(1));
    let second = field.coordinator();
    let _agents = also(&vehicles, &second);
    until_led_above(&field, &vehicles, last.0).await;
    assert_nobody_was_told_to_land(&vehicles, &since);
    field.scale("north", "alpha", 0).await;
    field.until_drones("it to be gone", <[crds::Drone]>::is_empty).await;
}
